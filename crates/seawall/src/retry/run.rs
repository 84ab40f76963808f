//! A call of a closure, as a future.
//!
//! The first attempt is made before the engine is: a call on its own meets nobody, so a fresh engine would let it go
//! at once, and most calls need no more. Where it fails, the engine is made, told when the call began, and asked as if
//! it had been there; the tests hold the trace of that to the trace of a gate that was there. From then on the loop of
//! [`drive`](crate::drive) decides, and this future makes the attempts that it orders over a [`Desk`]. At a gate it is
//! alike: the first attempt goes by a hold of this future's own on the gate ([`Aloft`]), and the loop comes in where it
//! fails, or where the gate has more to say than "go".

use super::Retry;
use super::attempts::{Attempt, Attempts};
use super::classify::Failure;
use super::desk::{Change, Desk, Order, PLACES};
use super::error::RetryError;
use super::flights::{Flights, Landed};
use super::held::Slot;
use super::key::Origin;
use super::notice::{Hear, Notice};
use super::promise::Promise;
use super::rules::{Alone, By, Rules};
use super::sieve::Sifts;
use super::values::Values;
use crate::blocking::StdClock;
use crate::chance::entropy;
use crate::clock::{Clock, HostClock};
use crate::drive::{Finished, Start, drive, drive_from, drive_since};
use crate::hub::{Aloft, Hub, Unborrowed};
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
pub(super) type Driver = Pin<Box<dyn Future<Output = Finished> + Send>>;

/// How far a call is.
pub(super) enum Stage<'a> {
    Unbegun,
    /// The first attempt is out, and there is no engine yet.
    Ahead(Ahead),
    /// The first attempt is out at the call's gate, and there is no loop yet.
    Aloft(Aloft<&'a Arc<Hub>>),
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
    Host,
    /// Those of a thread's park, by a clock that begins with the call.
    Thread(StdClock),
}

/// What a call has left when it has its answer.
pub(super) enum Keep {
    /// Nothing: the place of its last attempt goes back with the answer.
    Nothing,
    /// The place of the attempt that brought it.
    Place,
}

/// How a call ends, once it does.
pub(super) type Ending<T, E> = Poll<Result<T, RetryError<E>>>;

/// An answer, and the place that it keeps.
type Kept<T> = (T, Option<Slot>);

impl<'a, M, C, N, V> Retry<'a, M, C, N, V>
where
    M: Attempts,
    C: Sifts<M::Error>,
    V: Values<M::Answer, M::Error>,
{
    #[inline]
    pub(crate) fn poll_call(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Result<M::Answer, RetryError<V::Error>>>
    where
        N: Hear<M::Error>,
    {
        if let Some(answer) = self.as_mut().poll_ahead(context) {
            return Poll::Ready(Ok(answer));
        }
        self.poll_driven(&Keep::Nothing, context)
            .map_ok(|(answer, _)| answer)
    }

    /// As [`poll_call`](Self::poll_call), keeping with the answer the place of the attempt that brought it.
    pub(super) fn poll_held(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Ending<Kept<M::Answer>, V::Error>
    where
        N: Hear<M::Error>,
    {
        // On its own a call has no place that another could want.
        if let Some(answer) = self.as_mut().poll_first(&Keep::Place, context) {
            return Poll::Ready(Ok((answer, None)));
        }
        self.poll_driven(&Keep::Place, context)
    }

    fn poll_driven(
        self: Pin<&mut Self>,
        keep: &Keep,
        context: &mut Context<'_>,
    ) -> Ending<Kept<M::Answer>, V::Error>
    where
        N: Hear<M::Error>,
    {
        let mut this = self.project();
        let driven = match this.stage {
            Stage::Unbegun | Stage::Ahead(_) | Stage::Aloft(_) => return Poll::Pending,
            Stage::Driven(driven) => driven,
            Stage::Over => panic!("a call is not polled after its end"),
        };
        let told = Told {
            hand: this.hand,
            promise: this.promise,
            keep,
        };
        let end = ready!(driven.poll(this.flights.as_mut(), told, context));
        // What is still out has lost.
        this.flights.set(Flights::none());
        let Stage::Driven(driven) = std::mem::replace(this.stage, Stage::Over) else {
            unreachable!("it was driven above")
        };
        Poll::Ready(match end {
            End::Finished(finished) => this.hand.end(finished, &driven).map(|answer| (answer, None)),
            End::Held(place) => {
                let answer = this.hand.answer.take();
                let answer = answer.expect("what is held was brought");
                Ok((answer, Some(Slot::of(driven.driver, driven.desk, place))))
            }
        })
    }

    /// The answer of a call whose first attempt succeeds while it is ahead of the loop. Does nothing once there is one,
    /// and asks nothing of `context` for an attempt that is over as soon as it is made: a thread needs no park for it.
    #[inline]
    pub(crate) fn poll_ahead(self: Pin<&mut Self>, context: &mut Context<'_>) -> Option<M::Answer> {
        self.poll_first(&Keep::Nothing, context)
    }

    #[inline]
    fn poll_first(mut self: Pin<&mut Self>, keep: &Keep, context: &mut Context<'_>) -> Option<M::Answer> {
        if let Stage::Unbegun = self.stage {
            self.as_mut().begin(keep);
        }
        let this = self.project();
        let clock: &dyn Clock = match &*this.stage {
            Stage::Ahead(ahead) => &*ahead.clock,
            Stage::Aloft(aloft) => &**aloft.hub().clock(),
            Stage::Unbegun | Stage::Driven(_) | Stage::Over => return None,
        };
        let Poll::Ready(landed) = this.flights.poll(0, clock, context) else {
            return None;
        };
        match this.hand.brought(landed) {
            Ok(answer) => {
                if let Stage::Aloft(aloft) = &mut *this.stage {
                    aloft.answered(&Report::of(Outcome::Answer));
                }
                *this.stage = Stage::Over;
                Some(answer)
            }
            Err(report) => {
                let first = std::mem::replace(this.stage, Stage::Over);
                *this.stage = first.met(this.rules, report, *this.promise);
                None
            }
        }
    }

    /// Makes the first attempt, if nothing stands in its way.
    #[inline]
    fn begin(self: Pin<&mut Self>, keep: &Keep) {
        match (&self.rules.0, keep) {
            (By::Alone(alone), _) if needs_no_engine(alone, &self.promise) => self.begin_alone(),
            (By::Shared { .. }, Keep::Nothing) => self.begin_at_gate(),
            (By::Alone(_), Keep::Nothing | Keep::Place) | (By::Shared { .. }, Keep::Place) => {
                let this = self.project();
                *this.stage = begin(this.rules, this.promise, *this.timers);
            }
        }
    }

    #[inline]
    fn begin_alone(self: Pin<&mut Self>) {
        let this = self.project();
        let By::Alone(alone) = &this.rules.0 else {
            return;
        };
        let (clock, began) = Ticking::of(alone, *this.timers);
        let length = this.promise.deadline(alone.policy);
        let origin = || drawn(&*clock, alone.seed_or_entropy());
        let flight = this.hand.make(1, Role::First, length, origin);
        let total = alone.policy.timeouts().total().unwrap_or(Duration::MAX);
        let cut_at = this.promise.cut_at(began, total, began.after(length));
        this.flights.take_off(0, flight, cut_at);
        *this.stage = Stage::Ahead(Ahead { clock, began });
    }

    fn begin_at_gate(self: Pin<&mut Self>) {
        let this = self.project();
        let By::Shared {
            hub,
            candidate,
            policy,
        } = &this.rules.0
        else {
            return;
        };
        let (hub, route, policy, promise) = (*hub, [*candidate], policy.policy(), *this.promise);
        let mut began = Instant::START;
        let opened = Hub::open_unborrowed(hub, |now| {
            began = now;
            promise.spec(now, &route, policy)
        });
        match opened {
            Unborrowed::Sent(aloft, limits) => {
                let origin = || drawn(&**hub.clock(), entropy());
                let left = limits.deadline.since(began);
                let flight = this.hand.make(1, Role::First, left, origin);
                let cut_at = promise.cut_at(began, limits.total, limits.deadline);
                this.flights.take_off(0, flight, cut_at);
                *this.stage = Stage::Aloft(aloft);
            }
            Unborrowed::Seated(begun) => {
                let (start, hub) = (Start::Begun(begun), Arc::clone(hub));
                let driven = Driven::from(start, hub, *candidate, *policy, promise);
                *this.stage = Stage::Driven(Box::new(driven));
            }
        }
    }
}

impl<'a> Stage<'a> {
    /// The first attempt has ended without an answer: here the loop comes in.
    #[cold]
    fn met(self, rules: &Rules<'a>, report: Report, promise: Promise) -> Self {
        let driven = match (self, &rules.0) {
            (Self::Ahead(ahead), By::Alone(alone)) => ahead.met(alone, report, promise),
            (
                Self::Aloft(aloft),
                By::Shared {
                    hub,
                    candidate,
                    policy,
                },
            ) => {
                let start = Start::Landed(aloft.owned(), report);
                Driven::from(start, Arc::clone(hub), *candidate, *policy.policy(), promise)
            }
            (Self::Unbegun | Self::Ahead(_) | Self::Aloft(_) | Self::Driven(_) | Self::Over, _) => {
                unreachable!(
                    "a first attempt that is out is ahead of its engine, or at the gate of its call's rules"
                )
            }
        };
        Self::Driven(Box::new(driven))
    }
}

fn drawn(clock: &dyn Clock, seed: u64) -> Origin {
    let date = clock.wall();
    Origin::Drawn { date, seed }
}

/// A call on its own is ahead of its engine, unless the engine has a say before the first attempt ends: whether there
/// is time for one at all, and when a hedge is due.
#[inline]
fn needs_no_engine(alone: &Alone<'_>, promise: &Promise) -> bool {
    alone.policy.hedge().is_none() && !promise.deadline(alone.policy).is_zero()
}

/// A call that its engine lets go. Kept out of the way of those that need none.
#[cold]
fn begin<'a>(rules: &Rules<'_>, promise: &Promise, timers: Timers) -> Stage<'a> {
    let (hub, candidate, policy) = match &rules.0 {
        By::Alone(alone) => {
            let (clock, began) = Ticking::of(alone, timers);
            let (hub, gate) = own_hub(alone, clock.shared(), began);
            (hub, Candidate::at(gate), alone.policy)
        }
        By::Shared {
            hub,
            candidate,
            policy,
        } => (Arc::clone(hub), *candidate, policy.policy()),
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
    /// A call whose own future has begun it.
    fn from(start: Start, hub: Arc<Hub>, candidate: Candidate, policy: CallPolicy, promise: Promise) -> Self {
        let desk = Desk::new(None);
        let (loops, mut log) = ((Arc::clone(&hub), desk.clone()), desk.clone());
        let hedges = policy.hedge().is_some();
        let driver = Box::pin(async move {
            let (hub, desk) = loops;
            let route = [candidate];
            let spec = |began| promise.spec(began, &route, &policy);
            drive_from(&hub, start, hedges, spec, |leave| desk.order(leave), &mut log).await
        });
        Self {
            driver,
            desk,
            hub,
            told: None,
        }
    }

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
    fn poll<M, C, N, V>(
        &mut self,
        mut flights: Pin<&mut Flights<M::Flight>>,
        told: Told<'_, M, C, N, V>,
        context: &mut Context<'_>,
    ) -> Poll<End>
    where
        M: Attempts,
        C: Sifts<M::Error>,
        N: Hear<M::Error>,
        V: Values<M::Answer, M::Error>,
    {
        let Told { hand, promise, keep } = told;
        let clock = Arc::clone(self.hub.clock());
        loop {
            for place in 0..PLACES {
                if let Poll::Ready(landed) = flights.as_mut().poll(place, &*clock, context) {
                    let report = hand.met(landed);
                    match (keep, report.outcome) {
                        (Keep::Place, Outcome::Answer) => self.desk.accept(place),
                        (Keep::Nothing | Keep::Place, _) => self.desk.land(place, report),
                    }
                }
            }
            if let Poll::Ready(finished) = self.driver.as_mut().poll(context) {
                return Poll::Ready(End::Finished(finished));
            }
            if let Some(place) = self.desk.held() {
                return Poll::Ready(End::Held(place));
            }
            self.tell(hand);
            let mut changed = false;
            for place in 0..PLACES {
                match self.desk.change(place) {
                    Change::Nothing => continue,
                    Change::Drop => flights.as_mut().drop(place),
                    Change::Make(Order { number, role, limits }) => {
                        let now = clock.now();
                        let origin = || drawn(&*clock, entropy());
                        let flight = hand.make(number, role, limits.deadline.since(now), origin);
                        let cut_at = promise.cut_at(now, limits.total, limits.deadline);
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
    fn tell<M, C, N, V>(&mut self, hand: &mut Hand<M, C, N, V, M::Answer, M::Error>)
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
        let error = match &hand.last {
            Some(Last::Failed(error)) => Some(error),
            Some(Last::Rejected(_)) | None => None,
        };
        hand.hook.hear(&Notice {
            attempts: hand.attempts,
            error,
            reason,
            wait,
        });
    }
}

/// What a call that is driven is asked with.
struct Told<'r, M: Attempts, C, N, V> {
    hand: &'r mut Hand<M, C, N, V, M::Answer, M::Error>,
    promise: &'r Promise,
    keep: &'r Keep,
}

/// How a call stands that asks nothing more.
enum End {
    Finished(Finished),
    /// It has its answer, and the attempt at this place is held.
    Held(usize),
}

/// What is the caller's, and what its attempts brought.
pub(super) struct Hand<M, C, N, V, T, E> {
    pub(super) make: M,
    pub(super) classifier: C,
    pub(super) hook: N,
    pub(super) values: V,
    pub(super) key: Option<Origin>,
    attempts: u32,
    answer: Option<T>,
    last: Option<Last<T, E>>,
}

/// What the last attempt brought that brought no answer and was not cut.
enum Last<T, E> {
    Failed(E),
    Rejected(T),
}

impl<M: Attempts, C, N, V> Hand<M, C, N, V, M::Answer, M::Error> {
    pub(super) const fn new(make: M, classifier: C, hook: N, values: V, key: Option<Origin>) -> Self {
        Self {
            make,
            classifier,
            hook,
            values,
            key,
            attempts: 0,
            answer: None,
            last: None,
        }
    }

    #[inline]
    fn make(
        &mut self,
        number: u32,
        role: Role,
        left: Duration,
        origin: impl FnOnce() -> Origin,
    ) -> M::Flight {
        self.attempts = number;
        let own = &mut self.key;
        self.make.attempt(|| {
            Attempt::new(
                number,
                left,
                role.reason(),
                own.get_or_insert_with(origin).clone(),
            )
        })
    }

    /// Keeps what an attempt brought, and says what the engine is to make of it.
    fn met(&mut self, landed: Landed<M::Answer, M::Error>) -> Report
    where
        C: Sifts<M::Error>,
        V: Values<M::Answer, M::Error>,
    {
        match self.brought(landed) {
            Ok(answer) => {
                self.answer = Some(answer);
                Report::of(Outcome::Answer)
            }
            Err(report) => report,
        }
    }

    /// The answer that an attempt brought; or, of one that brought none, what the engine is to make of it.
    #[inline]
    fn brought(&mut self, landed: Landed<M::Answer, M::Error>) -> Result<M::Answer, Report>
    where
        C: Sifts<M::Error>,
        V: Values<M::Answer, M::Error>,
    {
        let (last, failure) = match landed {
            Landed::ByItself(Ok(answer)) => match self.values.rejects(&answer) {
                None => return Ok(answer),
                Some(failure) => (Last::Rejected(answer), failure),
            },
            Landed::ByItself(Err(error)) => {
                let failure = self.classifier.failure(&error);
                (Last::Failed(error), failure)
            }
            Landed::Cut => return Err(Failure::broke(Broke::Timeout).report()),
        };
        self.last = Some(last);
        Err(failure.report())
    }

    fn end(&mut self, finished: Finished, driven: &Driven) -> Result<M::Answer, RetryError<V::Error>>
    where
        V: Values<M::Answer, M::Error>,
    {
        if let Some(answer) = self.answer.take()
            && finished.reason == Reason::Succeeded
        {
            return Ok(answer);
        }
        let last = self.last.take().and_then(|last| match last {
            Last::Failed(error) => Some(V::failed(error)),
            Last::Rejected(answer) => V::rejected(answer),
        });
        let now = driven.hub.clock().now();
        Err(RetryError {
            reason: finished.reason,
            last,
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
    Host(HostClock),
    Thread(StdClock),
}

impl Ticking {
    /// The clock, and when the call begins by it. A clock of its own begins with it, and so is read once.
    #[inline]
    fn of(alone: &Alone<'_>, timers: Timers) -> (Self, Instant) {
        match (&alone.clock, timers) {
            (Some(clock), _) => (Self::Given(Arc::clone(clock)), clock.now()),
            (None, Timers::Host) => (Self::Host(HostClock::new()), Instant::START),
            (None, Timers::Thread(clock)) => (Self::Thread(clock), Instant::START),
        }
    }

    fn shared(&self) -> Arc<dyn Clock> {
        match self {
            Self::Given(clock) => Arc::clone(clock),
            Self::Host(clock) => Arc::new(*clock),
            Self::Thread(clock) => Arc::new(*clock),
        }
    }
}

impl std::ops::Deref for Ticking {
    type Target = dyn Clock;

    fn deref(&self) -> &(dyn Clock + 'static) {
        match self {
            Self::Given(clock) => &**clock,
            Self::Host(clock) => clock,
            Self::Thread(clock) => clock,
        }
    }
}
