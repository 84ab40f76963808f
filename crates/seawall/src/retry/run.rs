//! A call of a closure, as a future.
//!
//! The first attempt is made before the engine is: a call on its own meets nobody, so a fresh engine would let it go
//! at once, and most calls need no more. Where it fails, the engine is made, told when the call began, and asked as if
//! it had been there; the tests hold the trace of that to the trace of a gate that was there. From then on the loop of
//! [`drive`](crate::drive) decides, and this future makes the attempts that it orders over a [`Desk`].

use super::attempts::{Attempt, Attempts};
use super::classify::{Classifier, Failure};
use super::desk::{Change, Desk, Order, PLACES};
use super::error::RetryError;
use super::flights::{Flights, Landed};
use super::{Alone, By, Hear, Notice, Promise, Retry, Rules};
use crate::blocking::StdClock;
use crate::clock::{Clock, HostClock};
use crate::drive::{Finished, drive, drive_since};
use crate::hub::Hub;
use seawall_core::call::Candidate;
use seawall_core::engine::Engine;
use seawall_core::facts::Broke;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::outcome::{Outcome, Report};
use seawall_core::policy::{CallPolicy, GatePolicy};
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Role;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// The engine's loop on one call; it holds nothing of the caller's.
type Driver = Pin<Box<dyn Future<Output = Finished> + Send>>;

/// How far a call is.
pub(super) enum Stage {
    Unbegun,
    /// The first attempt is out, and there is no engine yet.
    Ahead(Ahead),
    // In a box: most calls never come here.
    Driven(Box<Driven>),
    Over,
}

pub(super) struct Ahead {
    clock: Ticking,
    began: Instant,
}

pub(super) struct Driven {
    driver: Driver,
    desk: Desk,
    hub: Arc<Hub>,
    told: Option<(u32, &'static str)>,
}

/// Whose timers wake a call on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timers {
    Runtime,
    /// Those of a thread's park, by a clock that begins with the call.
    Thread(StdClock),
}

impl<M, C, N> Retry<'_, M, C, N>
where
    M: Attempts,
    C: Classifier<M::Error>,
{
    #[inline]
    pub(crate) fn poll_call(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<M::Answer, RetryError<M::Error>>>
    where
        N: Hear<M::Error>,
    {
        if let Some(answer) = self.as_mut().poll_ahead(context) {
            return Poll::Ready(Ok(answer));
        }
        let mut this = self.project();
        match this.stage {
            Stage::Unbegun | Stage::Ahead(_) => Poll::Pending,
            Stage::Driven(driven) => {
                let finished = driven.poll(this.flights.as_mut(), this.hand, context);
                let end = this.hand.end(ready!(finished), driven);
                // What is still out has lost.
                this.flights.set(Flights::none());
                *this.stage = Stage::Over;
                Poll::Ready(end)
            }
            Stage::Over => panic!("a call is not polled after its end"),
        }
    }

    /// The answer of a call whose first attempt succeeds while it is ahead of its engine. Does nothing once there is one,
    /// and asks nothing of `context` for an attempt that is over as soon as it is made: a thread needs no park for it.
    #[inline]
    pub(crate) fn poll_ahead(self: Pin<&mut Self>, context: &mut Context<'_>) -> Option<M::Answer> {
        let mut this = self.project();
        if let Stage::Unbegun = this.stage {
            *this.stage = begin(this.rules, this.promise, *this.timers);
            if let (Stage::Ahead(ahead), By::Alone(alone)) = (&*this.stage, &this.rules.0) {
                let length = this.promise.deadline(alone.policy);
                let flight = this.hand.make(1, Role::First, length);
                let cut_at = ahead.cut_at(length, alone.policy);
                this.flights.as_mut().take_off(0, flight, cut_at);
            }
        }
        let (Stage::Ahead(ahead), By::Alone(alone)) = (&*this.stage, &this.rules.0) else {
            return None;
        };
        match this.flights.as_mut().poll(0, &*ahead.clock, context) {
            Poll::Pending => None,
            Poll::Ready(Landed::ByItself(Ok(answer))) => {
                *this.stage = Stage::Over;
                Some(answer)
            }
            Poll::Ready(landed) => {
                let report = this.hand.met(landed);
                *this.stage = Stage::Driven(Box::new(ahead.met(alone, report, *this.promise)));
                None
            }
        }
    }
}

/// A call on its own is ahead of its engine, unless the engine has a say before the first attempt ends: whether there
/// is time for one at all, and when a hedge is due.
#[inline]
fn begin(rules: &Rules<'_>, promise: &Promise, timers: Timers) -> Stage {
    let (hub, candidate, policy) = match &rules.0 {
        By::Alone(alone) => {
            let (clock, began) = Ticking::of(alone, timers);
            if alone.policy.hedge().is_none() && !promise.deadline(alone.policy).is_zero() {
                return Stage::Ahead(Ahead { clock, began });
            }
            let (hub, gate) = own_hub(alone, clock.shared(), began);
            (hub, Candidate::at(gate), alone.policy)
        }
        By::Shared {
            hub,
            candidate,
            policy,
        } => (Arc::clone(hub), *candidate, policy),
    };
    Stage::Driven(Box::new(Driven::new(hub, candidate, *policy, *promise)))
}

/// An engine for one call, with a gate that bounds nothing.
fn own_hub(alone: &Alone<'_>, clock: Arc<dyn Clock>, began: Instant) -> (Arc<Hub>, GateId) {
    let mut engine = Engine::new(alone.seed_or_entropy(), alone.recording);
    let gate = engine
        .configure(began, GateKey(0), &GatePolicy::UNBOUNDED, &[], None)
        .expect("a gate without parents has a chain of one");
    let hub = Hub::new(engine, clock);
    #[cfg(test)]
    super::tests::OWN_HUB.set(Some(Arc::clone(&hub)));
    (hub, gate)
}

impl Ahead {
    /// When the first attempt of a call of this length is cut: what a permit would say.
    fn cut_at(&self, length: Duration, policy: &CallPolicy) -> Instant {
        let total = policy.timeouts().total().unwrap_or(Duration::MAX);
        self.began.after(length.min(total))
    }

    /// The first attempt has ended without an answer: here the engine comes in.
    fn met(&self, alone: &Alone<'_>, report: Report, promise: Promise) -> Driven {
        let (hub, gate) = own_hub(alone, self.clock.shared(), self.began);
        let (policy, began) = (*alone.policy, self.began);
        let desk = Desk::new(Some(report));
        let (loops, mut log) = ((Arc::clone(&hub), desk.clone()), desk.clone());
        let driver = Box::pin(async move {
            let (hub, desk) = loops;
            let route = [Candidate::at(gate)];
            let spec = |now| promise.spec(now, &route, &policy);
            drive_since(&hub, began, spec, |leave| desk.order(leave), &mut log).await
        });
        Driven {
            driver,
            desk,
            hub,
            told: None,
        }
    }
}

impl Driven {
    fn new(hub: Arc<Hub>, candidate: Candidate, policy: CallPolicy, promise: Promise) -> Self {
        let desk = Desk::new(None);
        let (loops, mut log) = ((Arc::clone(&hub), desk.clone()), desk.clone());
        let driver = Box::pin(async move {
            let (hub, desk) = loops;
            let route = [candidate];
            let spec = |now| promise.spec(now, &route, &policy);
            drive(&hub, spec, |leave| desk.order(leave), &mut log).await
        });
        Self {
            driver,
            desk,
            hub,
            told: None,
        }
    }

    /// Attempts first, then the loop, then what it ordered; until nobody has anything to say.
    fn poll<M, C, N>(
        &mut self,
        mut flights: Pin<&mut Flights<M::Flight>>,
        hand: &mut Hand<M, C, N, M::Answer, M::Error>,
        context: &mut Context<'_>,
    ) -> Poll<Finished>
    where
        M: Attempts,
        C: Classifier<M::Error>,
        N: Hear<M::Error>,
    {
        let clock = Arc::clone(self.hub.clock());
        loop {
            for place in 0..PLACES {
                if let Poll::Ready(landed) = flights.as_mut().poll(place, &*clock, context) {
                    self.desk.land(place, hand.met(landed));
                }
            }
            if let Poll::Ready(finished) = self.driver.as_mut().poll(context) {
                return Poll::Ready(finished);
            }
            self.tell(hand);
            let mut changed = false;
            for place in 0..PLACES {
                match self.desk.change(place) {
                    Change::Nothing => continue,
                    Change::Drop => flights.as_mut().drop(place),
                    Change::Make(Order { number, role, limits }) => {
                        let now = clock.now();
                        let flight = hand.make(number, role, limits.deadline.since(now));
                        let cut_at = limits.deadline.min(now.after(limits.total));
                        flights.as_mut().take_off(place, flight, cut_at);
                    }
                }
                changed = true;
            }
            if !changed {
                return Poll::Pending;
            }
        }
    }

    /// Tells of a wait that has begun, once for each attempt and reason: a wait that is looked at again is the same.
    fn tell<M, C, N>(&mut self, hand: &mut Hand<M, C, N, M::Answer, M::Error>)
    where
        M: Attempts,
        N: Hear<M::Error>,
    {
        let Some((reason, wait)) = self.desk.take_waits() else {
            return;
        };
        let told = Some((hand.attempts, reason.code()));
        if self.told == told {
            return;
        }
        self.told = told;
        hand.hook.hear(&Notice {
            attempts: hand.attempts,
            error: hand.last.as_ref(),
            reason,
            wait,
        });
    }
}

/// What is the caller's, and what its attempts brought.
pub(super) struct Hand<M, C, N, T, E> {
    pub(super) make: M,
    pub(super) classifier: C,
    pub(super) hook: N,
    attempts: u32,
    answer: Option<T>,
    last: Option<E>,
}

impl<M: Attempts, C, N> Hand<M, C, N, M::Answer, M::Error> {
    pub(super) const fn new(make: M, classifier: C, hook: N) -> Self {
        Self {
            make,
            classifier,
            hook,
            attempts: 0,
            answer: None,
            last: None,
        }
    }

    fn make(&mut self, number: u32, role: Role, left: Duration) -> M::Flight {
        self.attempts = number;
        self.make.attempt(Attempt {
            number,
            left,
            sent_for: role.reason(),
        })
    }

    /// Keeps what an attempt brought, and says what the engine is to make of it.
    fn met(&mut self, landed: Landed<M::Answer, M::Error>) -> Report
    where
        C: Classifier<M::Error>,
    {
        match landed {
            Landed::ByItself(Ok(answer)) => {
                self.answer = Some(answer);
                Report::of(Outcome::Answer)
            }
            Landed::ByItself(Err(error)) => {
                let failure = self.classifier.failure(&error);
                self.last = Some(error);
                failure.report()
            }
            Landed::Cut => Failure::broke(Broke::Timeout).report(),
        }
    }

    fn end(&mut self, finished: Finished, driven: &Driven) -> Result<M::Answer, RetryError<M::Error>> {
        if let Some(answer) = self.answer.take()
            && finished.reason == Reason::Succeeded
        {
            return Ok(answer);
        }
        let now = driven.hub.clock().now();
        Err(RetryError {
            reason: finished.reason,
            last: self.last.take(),
            attempts: finished.sends,
            waited: driven.desk.waited(),
            retry_after: finished.retry_at.map(|at| at.since(now)),
            unknown: finished.unknown,
        })
    }
}

/// The clock of a call on its own.
enum Ticking {
    Given(Arc<dyn Clock>),
    Runtime(HostClock),
    Thread(StdClock),
}

impl Ticking {
    /// The clock, and when the call begins by it. A clock of its own begins with it, and so is read once.
    #[inline]
    fn of(alone: &Alone<'_>, timers: Timers) -> (Self, Instant) {
        match (&alone.clock, timers) {
            (Some(clock), _) => (Self::Given(Arc::clone(clock)), clock.now()),
            (None, Timers::Runtime) => (Self::Runtime(HostClock::new()), Instant::START),
            (None, Timers::Thread(clock)) => (Self::Thread(clock), Instant::START),
        }
    }

    fn shared(&self) -> Arc<dyn Clock> {
        match self {
            Self::Given(clock) => Arc::clone(clock),
            Self::Runtime(clock) => Arc::new(*clock),
            Self::Thread(clock) => Arc::new(*clock),
        }
    }
}

impl std::ops::Deref for Ticking {
    type Target = dyn Clock;

    fn deref(&self) -> &(dyn Clock + 'static) {
        match self {
            Self::Given(clock) => &**clock,
            Self::Runtime(clock) => clock,
            Self::Thread(clock) => clock,
        }
    }
}
