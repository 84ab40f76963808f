//! Which candidates may serve a call, in order.
//!
//! What can go wrong: a call is sent on while the first may have acted, and acts twice; a chain of fallbacks multiplies an
//! outage by its length; each link has its own patience, and the sum is nobody's; the second sends the first one's key to
//! another company. So a route is one call for the engine, with one deadline, one count of retries and one of
//! fallbacks; what may have acted stays where it is (rule K4); an attempt elsewhere is charged as any other, and what a
//! candidate is sent is made for it.
//!
//! What it does not cover: candidates in different engines. Build upstreams that stand in for each other
//! [beside](crate::upstream::UpstreamBuilder::beside) each other.

mod build;
#[cfg(feature = "ai")]
mod serving;
mod written;

pub use build::{Candidate, Order, Price, RouteBuilder, RouteError};
pub use written::{Asked, MissingKey, Routes, RoutesError};

use crate::upstream::{
    Answer, Call, CallError, KeyOfCall, Made, Opened, OwnCredential, Stop, Upstream, Way, without_candidate,
};
use build::Inner;
use seawall_core::policy::CallPolicy;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The candidates that may serve a call, in order, and when a call moves on from one to the next. Cheap to clone.
///
/// A call walks it under one deadline. It moves on when a candidate has failed for good, is cooling down, latched, full
/// or out of quota, denies the credential, or is too small for the prompt; when it would have to wait longer than
/// [`patience`](RouteBuilder::patience) while another could take it at once; and when it was sent
/// [`tries`](RouteBuilder::tries) times there (rule K1). A refusal (400) is the caller's and moves nothing. A write that
/// may have acted stays where it is, but for a key within one store, or a repeat that does no harm (rule K4).
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Call, Route, Upstream};
///
/// let main = Upstream::builder("https://api.example.com/v1")?.build()?;
/// let spare = Upstream::builder("https://spare.example.com/v1")?.beside(&main).build()?;
/// let route = Route::builder()
///     .to_model(&main, "big-1")
///     .to_model(&spare, "big-1")
///     .to_model(&main, "small-1")
///     .build()?;
/// let answer = route.call(Call::post_json("/chat/completions", r#"{"messages":[]}"#)).await?;
/// println!("{} answered, after {} attempts", answer.upstream, answer.attempts.len());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Route {
    inner: Arc<Inner>,
}

/// A candidate, for whoever makes the call that it is sent.
#[derive(Clone, Copy)]
pub struct Leg<'r> {
    /// Its upstream.
    pub upstream: &'r Upstream,
    /// Its model, where the route names one.
    pub model: Option<&'r str>,
    /// Its place in the route as that was written, from 0.
    pub nth: usize,
}

impl Route {
    /// Begins to describe a route.
    pub fn builder() -> RouteBuilder {
        RouteBuilder::new()
    }

    /// Makes one call, along the route.
    ///
    /// It is written for the first candidate. What another one is sent has that one's model in place of the call's own, in
    /// the body's `model` or the path's `/models/…:`, and is else the same, byte for byte. To another upstream it goes
    /// without the headers that hold a credential of the caller's own: where the call has one, upstreams without a
    /// credential of their own are no candidates, and where it stands in the call's address, none but the first are
    /// (rule K5). For candidates that speak another dialect there is [`call_with`](Self::call_with).
    ///
    /// Dropping the future at any point cancels the call, as for [`Upstream::call`].
    ///
    /// # Errors
    /// [`CallError`]: why the call ended, the last real answer, and every attempt with its candidate. Where no candidate is
    /// left to begin with, the reason is `no-candidate`.
    pub async fn call(&self, call: Call) -> Result<Answer, Box<CallError>> {
        let (serves, make) = self.addressed(&call);
        self.walk(serves, make).await
    }

    /// Makes one call, along the route, of which `make` makes what each candidate is sent: with its model, in its dialect,
    /// at its path. It is asked once for each candidate that the call comes to, and always for the first.
    ///
    /// All that it makes must be the same call in other words: it has one deadline, one number of retries and one
    /// [`Replay`](seawall_core::facts::Replay), those of what the first candidate is sent, and one key. What `make` puts
    /// into it goes where it was made for: a credential that it adds is that candidate's.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// ```no_run
    /// # async fn example(route: seawall::Route) -> Result<(), Box<seawall::CallError>> {
    /// use seawall::Call;
    ///
    /// let answer = route
    ///     .call_with(|leg| match leg.model {
    ///         Some("claude-small") => Call::post_json("/v1/messages", r#"{"model":"claude-small"}"#),
    ///         _ => Call::post_json("/v1/chat/completions", r#"{"model":"big-1"}"#),
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub async fn call_with(&self, make: impl Fn(&Leg<'_>) -> Call) -> Result<Answer, Box<CallError>> {
        self.walk(|_| true, make).await
    }

    /// As [`call`](Self::call), and hands the answer on as it comes: see [`Upstream::open`]. A candidate that fails before
    /// its answer has brought content is left for the next; from there the call is never sent again.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn open(&self, call: Call) -> Result<Opened, Box<CallError>> {
        let (serves, make) = self.addressed(&call);
        self.walk_to_content(serves, make).await
    }

    /// As [`call_with`](Self::call_with), and hands the answer on as it comes, as [`open`](Self::open) does.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn open_with(&self, make: impl Fn(&Leg<'_>) -> Call) -> Result<Opened, Box<CallError>> {
        self.walk_to_content(|_| true, make).await
    }

    /// Which candidates a call may go to that is written for the first, and what each of them is sent.
    fn addressed<'c>(
        &'c self,
        call: &'c Call,
    ) -> (impl Fn(&Stop<'_>) -> bool + 'c, impl Fn(&Leg<'_>) -> Call + 'c) {
        let first = self.inner.first().upstream;
        let keyed_by = first.key_header();
        let own = call.own_credential(keyed_by);
        let serves = move |stop: &Stop<'_>| match own {
            OwnCredential::None => true,
            OwnCredential::InHeaders => stop.upstream.is_same(first) || stop.upstream.has_credential(),
            OwnCredential::InAddress => stop.upstream.is_same(first),
        };
        let make = move |leg: &Leg<'_>| {
            let mut call = call.clone();
            if !leg.upstream.is_same(first) {
                call = call.without_credential(keyed_by);
            }
            match leg.model {
                Some(model) => call.for_model(model),
                None => call,
            }
        };
        (serves, make)
    }

    async fn walk(
        &self,
        serves: impl Fn(&Stop<'_>) -> bool,
        make: impl Fn(&Leg<'_>) -> Call,
    ) -> Result<Answer, Box<CallError>> {
        let key = KeyOfCall::new();
        let make_at = |stop: &Stop<'_>| self.inner.make(stop, &make, &key);
        match self.inner.along(serves, make_at) {
            Some(along) => along.way().walk(|nth| make_at(&along.stops[nth])).await,
            None => Err(self.without_candidate().await),
        }
    }

    async fn walk_to_content(
        &self,
        serves: impl Fn(&Stop<'_>) -> bool,
        make: impl Fn(&Leg<'_>) -> Call,
    ) -> Result<Opened, Box<CallError>> {
        let key = KeyOfCall::new();
        let make_at = |stop: &Stop<'_>| self.inner.make(stop, &make, &key);
        match self.inner.along(serves, make_at) {
            Some(along) => {
                along
                    .way()
                    .walk_to_content(|nth| make_at(&along.stops[nth]))
                    .await
            }
            None => Err(self.without_candidate().await),
        }
    }

    async fn without_candidate(&self) -> Box<CallError> {
        let first = self.inner.first();
        without_candidate(&first, &self.inner.policy(first.upstream)).await
    }
}

/// The candidates that one call has, in the order in which they are asked.
struct Along<'r> {
    stops: Vec<Stop<'r>>,
    candidates: Vec<seawall_core::call::Candidate>,
    made: Vec<OnceLock<Made>>,
    policy: CallPolicy,
}

impl Along<'_> {
    fn way(&self) -> Way<'_> {
        Way {
            stops: &self.stops,
            candidates: &self.candidates,
            made: &self.made,
            policy: &self.policy,
        }
    }
}

impl Inner {
    /// The policy of a call whose first candidate is at `upstream`, with the route's own word on moves.
    fn policy(&self, upstream: &Upstream) -> CallPolicy {
        let policy = upstream.call_policy();
        policy.routed(
            self.fallbacks.unwrap_or(policy.fallbacks()),
            self.tries.unwrap_or(policy.tries()),
            self.patience.unwrap_or(policy.patience()),
        )
    }

    /// The candidates that serve a call, and what the first of them is sent; nothing where there are none.
    fn along(
        &self,
        serves: impl Fn(&Stop<'_>) -> bool,
        make_at: impl Fn(&Stop<'_>) -> Made,
    ) -> Option<Along<'_>> {
        let mut stops: Vec<Stop<'_>> = self.stops().filter(|stop| serves(stop)).collect();
        let first = *stops.first()?;
        // The order may go by what the call is, and that shows in what the first candidate is sent.
        let made = make_at(&first);
        self.put_in_order(&mut stops, &made);
        let mut made = Some(made);
        let cell = |stop: &Stop<'_>| match made.take_if(|_| stop.nth == first.nth) {
            Some(made) => OnceLock::from(made),
            None => OnceLock::new(),
        };
        Some(Along {
            made: stops.iter().map(cell).collect(),
            candidates: stops.iter().map(|stop| self.candidate(stop)).collect(),
            policy: self.policy(stops[0].upstream),
            stops,
        })
    }

    /// The candidates that are not too dear and lack no key, as they were written.
    fn stops(&self) -> impl Iterator<Item = Stop<'_>> {
        let all = (0..self.candidates.len()).map(|nth| self.stop(nth));
        all.filter(|stop| !self.cannot_serve(stop.nth))
    }

    /// The candidate that calls are written for.
    fn first(&self) -> Stop<'_> {
        self.stop(0)
    }

    fn stop(&self, nth: usize) -> Stop<'_> {
        let candidate = &self.candidates[nth];
        Stop {
            upstream: &candidate.upstream,
            model: candidate.model.as_ref(),
            nth,
        }
    }

    fn make(&self, stop: &Stop<'_>, make: impl Fn(&Leg<'_>) -> Call, key: &KeyOfCall) -> Made {
        let leg = Leg {
            upstream: stop.upstream,
            model: stop.model.map(|model| &**model),
            nth: stop.nth,
        };
        let call = make(&leg).with_replay_unless_said(self.replay);
        stop.upstream.prepare(call, key)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("to", &self.inner.candidates)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Leg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leg")
            .field("upstream", &self.upstream.name())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
