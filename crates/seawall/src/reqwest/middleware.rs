//! The same in a chain of reqwest-middleware.

use super::broken::without_secrets;
use super::client::Gating;
use crate::clock::Clock;
use crate::tower::{Answers, Ended, HttpAnswers, PerCall};
use ::reqwest::{Request, Response};
use ::reqwest_middleware::{Error, Next};
use http::Extensions;
use seawall_core::learned::Learned;
use seawall_core::outcome::Report;
use seawall_core::time::Duration;
use seawall_core::verdict::Limits;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A middleware that makes each request a call: what stands after it in the chain is run for each attempt.
///
/// [`PerCall`] in a request's extensions is heard. Where no response came, the error is
/// `Error::Middleware`, and in it a [`tower::Error`](crate::tower::Error) of what the chain failed with: it is got at by
/// `downcast_ref::<seawall::tower::Error<reqwest_middleware::Error>>()`.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::reqwest::Middleware;
/// use seawall::{Policy, Preset};
///
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
///     .with(Middleware::new(&Policy::preset(Preset::Interactive)))
///     .build();
/// let answer = client.get("https://api.example.com/v1/models").send().await?;
/// # drop(answer); Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Middleware {
    gating: Gating,
}

impl Middleware {
    /// Behind these gates, as for a [`Client`](super::Client).
    pub fn new(gating: impl Into<Gating>) -> Self {
        let gating = gating.into();
        Self { gating }
    }
}

impl ::reqwest_middleware::Middleware for Middleware {
    // What the trait's macro makes of an async function, written out: a dependency less.
    fn handle<'me, 'ext, 'next, 'all>(
        &'me self,
        request: Request,
        extensions: &'ext mut Extensions,
        next: Next<'next>,
    ) -> Boxed<'all, Result<Response, Error>>
    where
        'me: 'all,
        'ext: 'all,
        'next: 'all,
        Self: 'all,
    {
        Box::pin(async move {
            let per_call = extensions.get::<PerCall>().copied().unwrap_or_default();
            let rest = Rest {
                next,
                extensions: extensions.clone(),
            };
            let reply = self.gating.calling(rest, request, per_call).await;
            let reply = reply.map_err(|error| {
                Error::middleware(error.map(|last| match last {
                    Error::Reqwest(last) => Error::Reqwest(without_secrets(last)),
                    Error::Middleware(_) => last,
                }))
            })?;
            *extensions = reply.extensions;
            Ok(reply.response)
        })
    }
}

/// The rest of the chain as a service of attempts.
#[derive(Clone)]
struct Rest<'a> {
    next: Next<'a>,
    /// As they were when the call began: an attempt does not see what another left.
    extensions: Extensions,
}

/// What an attempt brought, and what the chain noted on the way.
struct Reply {
    response: Response,
    extensions: Extensions,
}

impl<'a> Service<Request> for Rest<'a> {
    type Response = Reply;
    type Error = Error;
    type Future = Boxed<'a, Result<Reply, Error>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Self { next, mut extensions } = self.clone();
        Box::pin(async move {
            let response = next.run(request, &mut extensions).await?;
            Ok(Reply { response, extensions })
        })
    }
}

impl Answers<Reply> for HttpAnswers {
    fn report(&self, reply: &Reply, clock: &dyn Clock) -> Report {
        self.report(&reply.response, clock)
    }

    fn learned(&self, reply: &Reply, clock: &dyn Clock) -> Learned {
        self.learned(&reply.response, clock)
    }

    fn limit(&self, limits: &Limits) -> Duration {
        Answers::<Response>::limit(self, limits)
    }

    fn ended(&self, reply: &mut Reply, ended: Ended) {
        self.ended(&mut reply.response, ended);
    }
}
