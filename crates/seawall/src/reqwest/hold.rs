//! What an attempt ends with: the head of its answer, or the whole of it.

use crate::clock::Clock;
use crate::tower::{Answers, Ended, HttpAnswers};
use ::reqwest::{Body, Request, Response, ResponseBuilderExt};
use bytes::{Bytes, BytesMut};
use hyper::body::{Frame, SizeHint};
use pin_project_lite::pin_project;
use seawall_core::learned::Learned;
use seawall_core::outcome::Report;
use seawall_core::time::Duration;
use seawall_core::verdict::Limits;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

/// How much of an answer belongs to its attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    Head,
    Whole { bytes_max: usize },
}

/// A client as a service of attempts.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) client: ::reqwest::Client,
    pub(super) hold: Hold,
}

pin_project! {
    /// One attempt.
    #[project = Step]
    pub(super) enum Sending {
        Head { #[pin] head: <::reqwest::Client as Service<Request>>::Future },
        // In a box: reading a body takes states that only a block of async code is short in.
        Whole { whole: Pin<Box<dyn Future<Output = Result<Response, ::reqwest::Error>> + Send>> },
    }
}

impl Future for Sending {
    type Output = Result<Response, ::reqwest::Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Step::Head { head } => head.poll(context),
            Step::Whole { whole } => whole.as_mut().poll(context),
        }
    }
}

impl Service<Request> for Sender {
    type Response = Response;
    type Error = ::reqwest::Error;
    type Future = Sending;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ::reqwest::Error>> {
        self.client.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Sending {
        let head = self.client.call(request);
        match self.hold {
            Hold::Head => Sending::Head { head },
            Hold::Whole { bytes_max } => Sending::Whole {
                whole: Box::pin(async move { whole(head.await?, bytes_max).await }),
            },
        }
    }
}

/// The same answer with its body in hand; of one that is longer, with its beginning in hand.
async fn whole(mut response: Response, bytes_max: usize) -> Result<Response, ::reqwest::Error> {
    let mut held = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        held.extend_from_slice(&chunk);
        if held.len() > bytes_max {
            let url = response.url().clone();
            let (head, rest) = http::Response::<Body>::from(response).into_parts();
            let begun = Begun {
                held: Some(held.freeze()),
                rest,
            };
            return Ok(rebuilt(head, url, Body::wrap(begun)));
        }
    }
    let url = response.url().clone();
    let (head, _read) = http::Response::<Body>::from(response).into_parts();
    Ok(rebuilt(head, url, Body::from(held.freeze())))
}

fn rebuilt(head: http::response::Parts, url: ::reqwest::Url, body: Body) -> Response {
    let built = http::Response::builder().url(url).body(body);
    let mut response = built.expect("an answer without headers of its own is one");
    *response.status_mut() = head.status;
    *response.version_mut() = head.version;
    *response.headers_mut() = head.headers;
    // The address is among the extensions: it is added to, not replaced.
    response.extensions_mut().extend(head.extensions);
    Response::from(response)
}

/// A body of which the beginning was read.
struct Begun {
    held: Option<Bytes>,
    rest: Body,
}

impl hyper::body::Body for Begun {
    type Data = Bytes;
    type Error = ::reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ::reqwest::Error>>> {
        match self.held.take() {
            Some(held) => Poll::Ready(Some(Ok(Frame::data(held)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.held {
            Some(_) => SizeHint::new(),
            None => self.rest.size_hint(),
        }
    }
}

impl Answers<Response> for HttpAnswers {
    fn report(&self, response: &Response, clock: &dyn Clock) -> Report {
        self.judge(response.status(), response.headers(), clock)
    }

    fn learned(&self, response: &Response, clock: &dyn Clock) -> Learned {
        crate::http::learned(response.status(), response.headers(), clock.wall())
    }

    fn limit(&self, limits: &Limits) -> Duration {
        crate::tower::http::head_limit(limits)
    }

    fn ended(&self, response: &mut Response, ended: Ended) {
        response.extensions_mut().insert(ended);
    }
}
