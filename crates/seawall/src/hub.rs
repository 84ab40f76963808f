//! The engine behind one lock, and who is to be woken.
//!
//! What can go wrong: a caller leaves while it waits, parks, sends or streams, and what it held stays taken; a wake
//! goes to a caller that has died and is lost; a waker runs under the lock and asks for it again. So every hold is a
//! guard ([`CallGuard`], [`Leave`]) that gives back on drop; whoever changes the engine passes its wakes on before it
//! lets go; and wakers are called after the lock is open.

mod streaming;
mod unborrowed;

pub(crate) use unborrowed::{Aloft, Begun, Unborrowed};

use crate::clock::{Clock, Sleep};
use crate::sync::{Mutex, MutexGuard};
use seawall_core::call::Spec;
use seawall_core::engine::{self, Engine, Opening};
use seawall_core::learned::Learned;
use seawall_core::outcome::{Report, Sent, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Instant;
use seawall_core::trace::Event;
use seawall_core::verdict::{Action, CallId, Ended, Limits, Permit, Role, Verdict};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

pub use streaming::{Closed, Streaming};

/// An engine that many callers share.
pub struct Hub {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

struct State {
    engine: Engine,
    /// By the slot of a call.
    seats: Vec<Seat>,
}

/// Where a call waits to be asked again, and keeps the permits of its attempts that are out.
// A permit is large: it stays here, where the engine's lock is held anyway, and a loop passes its smaller `Leave` around.
#[derive(Default)]
struct Seat {
    waker: Option<Waker>,
    woken: bool,
    out: [Option<Permit>; OUT_MAX],
}

/// Attempts of a call that may be out at once: the first and its hedge.
const OUT_MAX: usize = 2;

/// What to do with a call now, and why: the engine's [`Verdict`] with a [`Leave`] for its permit.
#[derive(Debug)]
#[must_use = "it may hold a leave, which abandons its attempt when it is dropped"]
pub struct Told<'h> {
    /// What to do.
    pub step: Step<'h>,
    /// Why.
    pub reason: Reason,
}

/// What to do with a call now.
#[derive(Debug)]
pub enum Step<'h> {
    /// Send one attempt.
    Send(Leave<'h>),
    /// Nothing before this point; then ask again.
    Wait(Instant),
    /// Stand in a queue, until woken or until this point at the latest.
    Park {
        /// When to ask even if nothing woke the call.
        until: Instant,
    },
    /// Attempts are out; ask again when one ends, or at `hedge_at`.
    InFlight {
        /// When a second attempt may go beside the first.
        hedge_at: Option<Instant>,
        /// The attempt that lost: drop it and ask again.
        lost: Option<u32>,
    },
    /// The call is over.
    Finish {
        /// Whether this is a write that may have acted and got no definite answer (rule E2).
        unknown: bool,
        /// When it could be worth coming back.
        retry_at: Option<Instant>,
    },
}

/// How a call began.
#[derive(Debug)]
pub(crate) enum Opened<'h> {
    /// Its first attempt is to be sent; it needs no seat before that has landed.
    Sent(Leave<'h>),
    /// It has a seat, and this is what to do.
    Seated(CallGuard<'h>, Told<'h>),
}

/// How a call went on after its opening.
#[derive(Debug)]
pub(crate) enum Landing<'h> {
    /// It was answered, and is over.
    Answered(Ended),
    /// It has a seat now, and this is what to do.
    Seated(CallGuard<'h>, Told<'h>),
}

impl Hub {
    /// A hub around `engine`, which was told nothing later than `clock` says now.
    pub fn new(engine: Engine, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                engine,
                seats: Vec::new(),
            }),
            clock,
        })
    }

    /// The clock that the engine is told the time by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Does something to the engine, then passes on whatever wakes follow from it.
    pub fn with<R>(&self, act: impl FnOnce(&mut Engine, Instant) -> R) -> R {
        self.with_state(|state, now| act(&mut state.engine, now))
    }

    // Inlined, and what is rare kept out of it: this is most of what a call that is answered costs beside the engine.
    #[inline(always)]
    fn with_state<R>(&self, act: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        // Read under the lock, so that the engine is told times in order.
        let now = self.clock.now();
        let result = act(&mut state, now);
        if state.engine.next_wake().is_some_and(|at| at <= now) {
            let wakers = state.wake(now);
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
        }
        result
    }

    /// What happened since the last drain, in order.
    pub fn drain(&self) -> Vec<Event> {
        self.lock().engine.drain().collect()
    }

    /// As [`begin`](Self::begin), for a call that has no seat as long as it needs none.
    // What a seat brings is large and rare, and is handed on beside what is small and is there nearly always: in one value
    // both would be copied at every level.
    #[inline(always)]
    pub(crate) fn open<'s>(self: &Arc<Self>, spec: impl FnOnce(Instant) -> Spec<'s>) -> Opened<'_> {
        let mut seated = None;
        let sent = self.with_state(|state, now| match state.engine.open(now, &spec(now)) {
            engine::Opened::Sent(opening, limits) => Some((opening, limits)),
            engine::Opened::Seated(call, verdict) => {
                seated = Some(self.take_seat(state, call, verdict));
                None
            }
        });
        match sent {
            Some((opening, limits)) => Opened::Sent(Leave {
                out: Out::of(self, Flight::Opening(opening)),
                limits,
            }),
            None => {
                let (guard, told) = seated.expect("a call that is not sent has a seat");
                Opened::Seated(guard, told)
            }
        }
    }

    /// The guard of a call that has a seat now, and what it was told first.
    #[cold]
    fn take_seat<'h>(
        self: &'h Arc<Self>,
        state: &mut State,
        call: CallId,
        verdict: Verdict,
    ) -> (CallGuard<'h>, Told<'h>) {
        state.seat(call);
        (CallGuard::of(self, call), self.tell(state, call, verdict))
    }

    /// Tells how the first attempt of a call ended that has no seat, and asks what to do now, under one lock; where that
    /// is the end of the call, it ends under the same lock. `spec` is the call's, told when it began.
    #[inline]
    pub(crate) fn land_opening<'h, 's>(
        self: &'h Arc<Self>,
        mut out: Out<'_>,
        report: Report,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Landing<'h> {
        let opening = match std::mem::replace(&mut out.flight, Flight::Over) {
            Flight::Opening(opening) => opening,
            Flight::Seated(_) | Flight::Over => unreachable!("a call's first leave is its opening"),
        };
        self.settle_opening(opening, report, spec)
    }

    #[inline(always)]
    fn settle_opening<'h, 's>(
        self: &'h Arc<Self>,
        opening: Opening,
        report: Report,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Landing<'h> {
        // As in `open`.
        let mut seated = None;
        let answered =
            self.with_state(
                |state, now| match state.engine.settle_opening(now, opening, report, spec) {
                    engine::Settled::Answered(ended) => Some(ended),
                    engine::Settled::Seated(call, verdict) => {
                        let (mut guard, told) = self.take_seat(state, call, verdict);
                        if matches!(told.step, Step::Finish { .. }) {
                            guard.ended = Some(state.end(now, call));
                        }
                        seated = Some((guard, told));
                        None
                    }
                },
            );
        match answered {
            Some(ended) => Landing::Answered(ended),
            None => {
                let (guard, told) = seated.expect("a call that goes on has a seat");
                Landing::Seated(guard, told)
            }
        }
    }

    /// Begins a call and asks what to do with it, under one lock. `spec` is told the time.
    #[inline]
    pub fn begin<'s>(self: &Arc<Self>, spec: impl FnOnce(Instant) -> Spec<'s>) -> (CallGuard<'_>, Told<'_>) {
        let (call, told) = self.with_state(|state, now| self.begin_with(state, now, spec(now)));
        (CallGuard::of(self, call), told)
    }

    /// Begins a call that began at `began`, later than anything that the engine was told: as [`begin`](Self::begin) would
    /// have done then.
    pub(crate) fn begin_at<'h>(
        self: &'h Arc<Self>,
        began: Instant,
        spec: Spec<'_>,
    ) -> (CallGuard<'h>, Told<'h>) {
        let (call, told) = self.begin_with(&mut self.lock(), began, spec);
        (CallGuard::of(self, call), told)
    }

    #[inline(always)]
    fn begin_with<'h>(
        self: &'h Arc<Self>,
        state: &mut State,
        now: Instant,
        spec: Spec<'_>,
    ) -> (CallId, Told<'h>) {
        let call = state.engine.begin(now, spec);
        state.seat(call);
        (call, self.ask(state, now, call))
    }

    /// Asks the engine, and keeps the permit that it may grant.
    #[inline(always)]
    fn ask<'h>(self: &'h Arc<Self>, state: &mut State, now: Instant, call: CallId) -> Told<'h> {
        let verdict = state.engine.poll(now, call);
        self.tell(state, call, verdict)
    }

    #[inline(always)]
    fn tell<'h>(self: &'h Arc<Self>, state: &mut State, call: CallId, verdict: Verdict) -> Told<'h> {
        let Verdict { action, reason } = verdict;
        let step = match action {
            Action::Send(permit) => {
                let leave = Leave {
                    out: Out::of(self, Flight::Seated(Seated::of(&permit))),
                    limits: *permit.limits(),
                };
                let mut places = state.seats[call.slot()].out.iter_mut();
                let place = places.find(|place| place.is_none());
                *place.expect("the engine has two attempts of a call out at the most") = Some(permit);
                Step::Send(leave)
            }
            Action::Wait(until) => Step::Wait(until),
            Action::Park { until } => Step::Park { until },
            Action::InFlight { hedge_at, lost } => Step::InFlight { hedge_at, lost },
            Action::Finish { unknown, retry_at } => Step::Finish { unknown, retry_at },
        };
        Told { step, reason }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock left the engine between two statements of its own, never between two of ours: its
        // counts may be off by one attempt, and refusing every later call would be worse.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A call has taken the seat of its slot.
    #[inline(always)]
    fn seat(&mut self, call: CallId) {
        if self.seats.len() <= call.slot() {
            self.seats.resize_with(call.slot() + 1, Seat::default);
        }
        let seat = &mut self.seats[call.slot()];
        // The slot's last tenant may have been woken and never have looked.
        (seat.waker, seat.woken) = (None, false);
    }

    /// Tells those whose time has come, and says whom to wake once the lock is open.
    #[cold]
    fn wake(&mut self, now: Instant) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(call) = self.engine.woken(now) {
            // A call that was begun past the hub has no seat: whoever began it asks by itself.
            if let Some(seat) = self.seats.get_mut(call.slot()) {
                seat.woken = true;
                wakers.extend(seat.waker.take());
            }
        }
        wakers
    }

    /// The call ends; permits of it that are out are void.
    fn end(&mut self, now: Instant, call: CallId) -> Ended {
        self.seats[call.slot()].out = [const { None }; OUT_MAX];
        self.engine.end(now, call)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// A call that is alive. Dropping it ends the call, in whatever state it is.
#[derive(Debug)]
pub struct CallGuard<'h> {
    hub: &'h Arc<Hub>,
    call: CallId,
    ended: Option<Ended>,
}

impl<'h> CallGuard<'h> {
    const fn of(hub: &'h Arc<Hub>, call: CallId) -> Self {
        Self {
            hub,
            call,
            ended: None,
        }
    }

    /// Asks what to do with the call now.
    pub fn poll(&self) -> Told<'h> {
        self.hub
            .with_state(|state, now| self.hub.ask(state, now, self.call))
    }

    /// Tells how an attempt ended and asks what to do now, under one lock. Where that is the end of the call and
    /// `others` says that nothing of it is out, the call ends under the same lock.
    pub fn settle_and_poll(&mut self, leave: Leave<'_>, report: Report, others: Others) -> Told<'h> {
        self.land(leave.out, report, others)
    }

    /// The same, of an attempt that has landed.
    pub(crate) fn land(&mut self, mut out: Out<'_>, report: Report, others: Others) -> Told<'h> {
        let (hub, call, ended) = (self.hub, self.call, &mut self.ended);
        let flight = std::mem::replace(&mut out.flight, Flight::Over);
        hub.with_state(|state, now| {
            if let Flight::Seated(seated) = &flight
                && let Some(permit) = place_of(&mut state.seats, seated).and_then(Option::take)
            {
                state.engine.settle(now, permit, report);
            }
            let told = hub.ask(state, now, call);
            match (&told.step, others) {
                (Step::Finish { .. }, Others::None) => *ended = Some(state.end(now, call)),
                (Step::Finish { .. }, Others::Out)
                | (
                    Step::Send(_) | Step::Wait(_) | Step::Park { .. } | Step::InFlight { .. },
                    Others::None | Others::Out,
                ) => {}
            }
            told
        })
    }

    /// Waits until the call is woken, or until `until` at the latest.
    pub fn turn(&self, until: Instant) -> Turn<'_> {
        Turn {
            guard: self,
            until,
            sleep: None,
        }
    }

    /// Ends the call and says what was left of it.
    pub fn end(mut self) -> Ended {
        self.end_once()
    }

    fn end_once(&mut self) -> Ended {
        let (hub, call) = (self.hub, self.call);
        *self
            .ended
            .get_or_insert_with(|| hub.with_state(|state, now| state.end(now, call)))
    }
}

impl Drop for CallGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.end_once();
        }
    }
}

/// Whether attempts of a call are out beside the one that landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// It was the only one.
    None,
    /// Another is out, and is abandoned before the call ends.
    Out,
}

/// Leave to send one attempt. Dropping it abandons the attempt: its places go back, and it is no evidence.
#[derive(Debug)]
#[must_use = "a leave that is dropped abandons its attempt"]
pub struct Leave<'h> {
    out: Out<'h>,
    limits: Limits,
}

/// What of a leave goes with its attempt to the end. Dropping it abandons the attempt.
// Kept small: it is handed on at every landing, and a limit is of no use by then.
#[derive(Debug)]
pub(crate) struct Out<'h> {
    hub: &'h Arc<Hub>,
    flight: Flight,
    sent: Sent,
    used: Usage,
}

/// The attempt that a leave is for.
#[derive(Debug)]
enum Flight {
    /// The first of a call that has no seat.
    Opening(Opening),
    /// One of a call that keeps the permit in its seat.
    Seated(Seated),
    /// None any more.
    Over,
}

#[derive(Debug)]
struct Seated {
    call: CallId,
    attempt: u32,
    candidate: u16,
    role: Role,
}

impl Seated {
    fn of(permit: &Permit) -> Self {
        let candidate = u16::try_from(permit.candidate());
        Self {
            call: permit.call(),
            attempt: permit.attempt(),
            candidate: candidate.expect("candidates are counted in 16 bits"),
            role: permit.role(),
        }
    }
}

impl<'h> Out<'h> {
    const fn of(hub: &'h Arc<Hub>, flight: Flight) -> Self {
        Self {
            hub,
            flight,
            sent: Sent::No,
            used: Usage::NONE,
        }
    }

    const fn leaving(&mut self) {
        self.sent = Sent::Maybe;
    }
}

impl Leave<'_> {
    /// Which candidate of the route to send to.
    pub const fn candidate(&self) -> usize {
        match &self.out.flight {
            Flight::Seated(seated) => seated.candidate as usize,
            Flight::Opening(_) | Flight::Over => 0,
        }
    }

    /// Which attempt of its call this is, from 1.
    pub const fn attempt(&self) -> u32 {
        match &self.out.flight {
            Flight::Seated(seated) => seated.attempt,
            Flight::Opening(_) | Flight::Over => 1,
        }
    }

    /// What the attempt is for.
    pub const fn role(&self) -> Role {
        match &self.out.flight {
            Flight::Seated(seated) => seated.role,
            Flight::Opening(_) | Flight::Over => Role::First,
        }
    }

    /// The attempt's limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The attempt has these limits instead, which its candidate's own policy gives it (rule K1).
    pub const fn limit_to(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// From here on the server may have acted. Say so before the first byte of the request is written.
    pub const fn leaving(&mut self) {
        self.out.leaving();
    }

    /// The server has answered that it did not act on what was sent, and the attempt is not over: it goes out once more.
    pub const fn sent_back(&mut self) {
        self.out.sent = Sent::NotDone;
    }

    /// The attempt goes out with this version of its candidate's credential, which is not the one that its call began
    /// with (rule D6).
    pub fn renew(&mut self, version: u32) {
        self.tell(
            |engine, now, permit| engine.renew(now, permit, version),
            |engine, now, opening| engine.renew_opening(now, opening, version),
        );
    }

    /// The answer's head says this of the server's limits (rule I4). Say so before the body is read: others wait that
    /// would run into them.
    pub fn learned(&mut self, learned: &Learned) {
        if *learned != Learned::NOTHING {
            self.tell(
                |engine, now, permit| engine.head(now, permit, learned),
                |engine, now, opening| engine.head_opening(now, opening, learned),
            );
        }
    }

    /// What the answer says that it used, as far as it came: for an attempt that is dropped on the way.
    pub const fn used(&mut self, usage: Usage) {
        self.out.used = usage;
    }

    /// The caller accepted the first content: from here the call is not sent again.
    pub fn commit(&mut self) {
        self.tell(
            |engine, now, permit| engine.commit(now, permit),
            |engine, now, opening| engine.commit_opening(now, opening),
        );
    }

    /// Tells the engine something of the attempt, whichever way it was sent. Of one that is over there is nothing to
    /// tell.
    fn tell(
        &mut self,
        seated: impl FnOnce(&mut Engine, Instant, &Permit),
        opening: impl FnOnce(&mut Engine, Instant, &Opening),
    ) {
        let flight = &mut self.out.flight;
        self.out.hub.with_state(|state, now| match flight {
            Flight::Opening(it) => opening(&mut state.engine, now, it),
            Flight::Seated(it) => {
                if let Some(Some(permit)) = place_of(&mut state.seats, it) {
                    seated(&mut state.engine, now, permit);
                }
            }
            Flight::Over => {}
        });
    }
}

impl<'h> Leave<'h> {
    /// How the attempt ended, with what the caller wants of it.
    pub fn landed<T>(self, report: Report, value: T) -> Landed<'h, T> {
        Landed {
            out: self.out,
            report,
            value,
        }
    }
}

impl Drop for Out<'_> {
    #[inline]
    fn drop(&mut self) {
        let flight = std::mem::replace(&mut self.flight, Flight::Over);
        match flight {
            Flight::Opening(opening) => self
                .hub
                .with_state(|state, now| state.engine.drop_opening(now, opening, self.sent)),
            Flight::Seated(seated) => self.hub.with_state(|state, now| {
                if let Some(permit) = place_of(&mut state.seats, &seated).and_then(Option::take) {
                    state.engine.abandon(now, permit, self.sent, self.used);
                }
            }),
            Flight::Over => {}
        }
    }
}

/// Where the permit of an attempt that is out is kept; nowhere once it was settled or abandoned, or its call has ended.
fn place_of<'s>(seats: &'s mut [Seat], leave: &Seated) -> Option<&'s mut Option<Permit>> {
    let is_its_own = |permit: &Permit| permit.call() == leave.call && permit.attempt() == leave.attempt;
    let mut places = seats.get_mut(leave.call.slot())?.out.iter_mut();
    places.find(|place| place.as_ref().is_some_and(is_its_own))
}

/// An attempt that ended.
#[derive(Debug)]
pub struct Landed<'h, T> {
    pub(crate) out: Out<'h>,
    pub(crate) report: Report,
    pub(crate) value: T,
}

/// A wait for a call's turn. See [`CallGuard::turn`].
pub struct Turn<'a> {
    guard: &'a CallGuard<'a>,
    until: Instant,
    sleep: Option<Sleep>,
}

impl Future for Turn<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let hub = self.guard.hub;
        let earlier = {
            let mut state = hub.lock();
            let seat = &mut state.seats[self.guard.call.slot()];
            if std::mem::take(&mut seat.woken) {
                return Poll::Ready(());
            }
            seat.waker.replace(context.waker().clone())
        };
        drop(earlier);
        let (clock, until) = (Arc::clone(&hub.clock), self.until);
        let sleep = self.sleep.get_or_insert_with(|| clock.sleep_until(until));
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        // Trust the clock, not the timer: the engine says whose time has come, in its own order, and this call's
        // waker is among those that it has called when the call's time is up.
        let hub = self.guard.hub;
        let now = hub.with(|_, now| now);
        let told = hub.lock().seats[self.guard.call.slot()].woken;
        match (told, now >= self.until) {
            (true, _) => Poll::Pending,
            (false, true) => Poll::Ready(()),
            (false, false) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A waker keeps its task: a thousand callers who left would stay in memory until others have their seats. It goes
        // outside the lock, as its task may hold a call.
        let waker = self.guard.hub.lock().seats[self.guard.call.slot()].waker.take();
        drop(waker);
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}
