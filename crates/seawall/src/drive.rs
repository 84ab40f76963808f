//! The loop that drives one call: ask the engine, do what it says, tell it what happened.
//!
//! There is one loop. On a runtime it is a future like any other; [`block_on`](crate::blocking::block_on) runs the
//! same one on a plain thread; a simulator calls the same engine from a heap of events. From one seed all three
//! print the same trace, byte for byte.

use crate::hub::{
    Aloft, Begun, CallGuard, Hub, Landed, Landing, Leave, Opened, Others, Step, Streaming, Told,
};
use pin_project_lite::pin_project;
use seawall_core::call::Spec;
use seawall_core::outcome::Report;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Why.
    pub reason: Reason,
    /// Whether this is a write that may have acted and got no definite answer (rule E2).
    pub unknown: bool,
    /// When it could be worth coming back.
    pub retry_at: Option<Instant>,
    /// Attempts that were sent.
    pub sends: u32,
}

/// What a caller is told on the way. A closure that takes what an attempt brought is one that ignores the waits.
pub trait Log<T> {
    /// An attempt ended and brought this.
    fn landed(&mut self, value: T);

    /// The call is about to wait this long, if nothing wakes it before.
    fn waits(&mut self, _reason: Reason, _length: Duration) {}

    /// The call waited this long for this reason.
    fn waited(&mut self, _reason: Reason, _length: Duration) {}
}

impl<T, F: FnMut(T)> Log<T> for F {
    fn landed(&mut self, value: T) {
        self(value);
    }
}

/// How an attempt came back, of a call that is handed on as it comes.
#[derive(Debug)]
pub enum Flown<'h, T, S> {
    /// It is over.
    Landed(Landed<'h, T>),
    /// It has brought content, and more follows: its call is not sent again.
    Content(Leave<'h>, S),
}

pin_project! {
    /// An attempt that is over when it comes back.
    struct Whole<F> {
        #[pin]
        flight: F,
    }
}

impl<'h, T, F: Future<Output = Landed<'h, T>>> Future for Whole<F> {
    type Output = Flown<'h, T, Infallible>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().flight.poll(context).map(Flown::Landed)
    }
}

/// How far a call was driven by [`drive_to_content`].
#[derive(Debug)]
#[must_use = "a stream that is dropped abandons its attempt"]
pub enum Driven<S> {
    /// To its end.
    Finished(Finished),
    /// To its first content.
    Streams(Streaming, S),
}

impl Driven<Infallible> {
    fn finished(self) -> Finished {
        match self {
            Self::Finished(finished) => finished,
            Self::Streams(_, never) => match never {},
        }
    }
}

/// Drives one call to its end. `send` makes the future of one attempt, which lands with a report; `log` is told what
/// each attempt brought, in the order in which they ended, and what was waited for.
///
/// Dropping the future at any point abandons what is out and ends the call.
pub async fn drive<'h, 's, T, F>(
    hub: &'h Arc<Hub>,
    spec: impl Fn(Instant) -> Spec<'s>,
    mut send: impl FnMut(Leave<'h>) -> F,
    log: &mut impl Log<T>,
) -> Finished
where
    F: Future<Output = Landed<'h, T>>,
{
    let send = move |leave| Whole { flight: send(leave) };
    drive_to_content(hub, spec, send, log).await.finished()
}

/// As [`drive`], up to the first content that an attempt brings: the call is committed there, and never sent again;
/// whatever else is out has lost, and is dropped. The place of the attempt stays taken until what is given back is settled
/// or dropped.
pub async fn drive_to_content<'h, 's, T, S, F>(
    hub: &'h Arc<Hub>,
    spec: impl Fn(Instant) -> Spec<'s>,
    mut send: impl FnMut(Leave<'h>) -> F,
    log: &mut impl Log<T>,
) -> Driven<S>
where
    F: Future<Output = Flown<'h, T, S>>,
{
    let mut hedges = false;
    let opened = hub.open(|now| {
        let spec = spec(now);
        hedges = spec.policy.hedge().is_some();
        spec
    });
    let (call, told) = match opened {
        Opened::Seated(call, told) => (call, told),
        Opened::Sent(leave) => {
            let Landed { out, report, value } = match send(leave).await {
                Flown::Landed(landed) => landed,
                Flown::Content(leave, stream) => {
                    return Driven::Streams(hub.commit_opening(leave, spec), stream);
                }
            };
            let landing = hub.land_opening(out, report, spec);
            log.landed(value);
            match landing {
                Landing::Seated(call, told) => (call, told),
                Landing::Answered(ended) => {
                    return Driven::Finished(Finished {
                        reason: Reason::Succeeded,
                        unknown: ended.unknown,
                        retry_at: None,
                        sends: ended.sends,
                    });
                }
            }
        }
    };
    follow(hub, call, told, hedges, send, log).await
}

/// As [`drive`], for a call that began at `began` and whose first attempt was made before the hub was asked. The hub is
/// its own, and new: nothing at all stood in the way of that attempt.
pub(crate) async fn drive_since<'h, 's, T, F>(
    hub: &'h Arc<Hub>,
    began: Instant,
    spec: impl FnOnce(Instant) -> Spec<'s>,
    mut send: impl FnMut(Leave<'h>) -> F,
    log: &mut impl Log<T>,
) -> Finished
where
    F: Future<Output = Landed<'h, T>>,
{
    let send = move |leave| Whole { flight: send(leave) };
    let (call, told) = hub.begin_at(began, spec(began));
    follow(hub, call, told, false, send, log).await.finished()
}

/// How far a call is that its own future has begun, and the loop goes on with.
pub(crate) enum Start {
    /// It has a seat and its first verdict.
    Begun(Begun),
    /// Its first attempt was made without a seat, and met this.
    Landed(Aloft<Arc<Hub>>, Report),
}

/// As [`drive`], for a call that has begun already, by a policy with a hedge or without. `spec` is the call's, told when
/// it began.
pub(crate) async fn drive_from<'h, 's, T, F>(
    hub: &'h Arc<Hub>,
    start: Start,
    hedges: bool,
    spec: impl FnOnce(Instant) -> Spec<'s>,
    mut send: impl FnMut(Leave<'h>) -> F,
    log: &mut impl Log<T>,
) -> Finished
where
    F: Future<Output = Landed<'h, T>>,
{
    let send = move |leave| Whole { flight: send(leave) };
    let (call, told) = match start {
        Start::Begun(begun) => begun.take_up(hub),
        Start::Landed(aloft, report) => match aloft.land(hub, report, spec) {
            Landing::Seated(call, told) => (call, told),
            Landing::Answered(ended) => {
                return Finished {
                    reason: Reason::Succeeded,
                    unknown: ended.unknown,
                    retry_at: None,
                    sends: ended.sends,
                };
            }
        },
    };
    follow(hub, call, told, hedges, send, log).await.finished()
}

/// Does what the verdicts on a call say, until one of them is that it is over, or an attempt brings content.
async fn follow<'h, T, S, F>(
    hub: &'h Arc<Hub>,
    mut call: CallGuard<'h>,
    mut told: Told<'h>,
    hedges: bool,
    mut send: impl FnMut(Leave<'h>) -> F,
    log: &mut impl Log<T>,
) -> Driven<S>
where
    F: Future<Output = Flown<'h, T, S>>,
{
    let mut flights = Flights { out: [None, None] };
    loop {
        told = match told.step {
            // Nothing changes for it before it lands: no flight to keep, no lock to ask under, nothing to allocate.
            Step::Send(leave) if !hedges => match send(leave).await {
                Flown::Landed(Landed { out, report, value }) => {
                    let told = call.land(out, report, Others::None);
                    log.landed(value);
                    told
                }
                Flown::Content(leave, stream) => return Driven::Streams(call.commit(leave), stream),
            },
            Step::Send(leave) => {
                flights.add(leave.attempt(), Box::pin(send(leave)));
                call.poll()
            }
            Step::InFlight {
                lost: Some(attempt), ..
            } => {
                flights.drop_lost(attempt);
                call.poll()
            }
            Step::InFlight { hedge_at, lost: None } => {
                match flights.next(&call, hedge_at).await {
                    Some(Flown::Landed(Landed { out, report, value })) => {
                        let told = call.land(out, report, flights.others());
                        log.landed(value);
                        told
                    }
                    Some(Flown::Content(leave, stream)) => {
                        let streaming = call.commit(leave);
                        // The other has lost: it is abandoned before the caller gets a byte.
                        drop(flights);
                        return Driven::Streams(streaming, stream);
                    }
                    None => call.poll(),
                }
            }
            Step::Wait(until) | Step::Park { until } => {
                let began = hub.clock().now();
                log.waits(told.reason, until.since(began));
                call.turn(until).await;
                log.waited(told.reason, hub.clock().now().since(began));
                call.poll()
            }
            Step::Finish { unknown, retry_at } => {
                // What is still out has lost: it is abandoned before the call ends.
                drop(flights);
                return Driven::Finished(Finished {
                    reason: told.reason,
                    unknown,
                    retry_at,
                    sends: call.end().sends,
                });
            }
        };
    }
}

/// The attempts of one call that are out, where a hedge may go beside the first.
struct Flights<F> {
    out: [Option<(u32, Pin<Box<F>>)>; 2],
}

impl<F> Flights<F> {
    fn add(&mut self, attempt: u32, flight: Pin<Box<F>>) {
        let place = self.out.iter_mut().find(|place| place.is_none());
        *place.expect("the engine has two attempts of a call out at the most") = Some((attempt, flight));
    }

    /// Drops the attempt of this number, which abandons it.
    fn drop_lost(&mut self, attempt: u32) {
        for place in &mut self.out {
            if place.as_ref().is_some_and(|(number, _)| *number == attempt) {
                *place = None;
            }
        }
    }

    /// Whether any is out.
    fn others(&self) -> Others {
        if self.out.iter().all(Option::is_none) {
            Others::None
        } else {
            Others::Out
        }
    }

    /// The next attempt that lands; `None` when it is time to ask: about a hedge, or about which of two has lost.
    async fn next(&mut self, call: &CallGuard<'_>, hedge_at: Option<Instant>) -> Option<F::Output>
    where
        F: Future,
    {
        let both = self.out.iter().all(Option::is_some);
        let until = if both { Some(Instant::NEVER) } else { hedge_at };
        let mut turn = until.map(|at| call.turn(at));
        let out = &mut self.out;
        std::future::poll_fn(move |context: &mut Context<'_>| {
            for place in out.iter_mut() {
                if let Some((_, flight)) = place
                    && let Poll::Ready(landed) = flight.as_mut().poll(context)
                {
                    *place = None;
                    return Poll::Ready(Some(landed));
                }
            }
            match &mut turn {
                Some(turn) => Pin::new(turn).poll(context).map(|()| None),
                None => Poll::Pending,
            }
        })
        .await
    }
}
