//! The engine: gates and the calls that can meet at them, behind one `&mut self`.
//!
//! A driver *tells* it what happened ([`begin`](Engine::begin), [`settle`](Engine::settle),
//! [`abandon`](Engine::abandon), [`end`](Engine::end)) and *asks* it what to do ([`poll`](Engine::poll)); nothing
//! else speaks. Every method takes the time. After each, the driver polls the calls that [`woken`](Engine::woken)
//! names, and again at [`next_wake`](Engine::next_wake).

mod depart;
mod judge;
mod opening;
mod rates;
mod registry;
mod settle;
mod state;

use crate::agenda::Agenda;
use crate::breaker::Transition;
use crate::call::{Call, Finish, Spec, State};
use crate::facts::Replay;
use crate::gate::{Admits, Chain, Gate};
use crate::latch::Latches;
pub use crate::limiter::GradientState;
use crate::outcome::{Sent, Usage};
use crate::policy::{Policy, Preset};
use crate::queue::Links;
use crate::rate::{Cost, Room};
use crate::reason::Reason;
use crate::rng::Rng;
use crate::time::Instant;
use crate::trace::{Event, Held, Recording, Trace, What};
use crate::verdict::{Action, CallId, Ended, Verdict};
use alloc::vec::Vec;
use opening::Openings;
pub use opening::{Opened, Opening, Settled};
use rates::Reservations;
use registry::Registry;
pub use state::{BudgetState, GateLoad, GateState, RateState, Waits};

/// Gates, and the calls that can meet at them. See the [module](self).
///
/// ```
/// use seawall_core::call::{Candidate, Spec};
/// use seawall_core::engine::Engine;
/// use seawall_core::facts::Replay;
/// use seawall_core::gate::GateKey;
/// use seawall_core::outcome::{Outcome, Report};
/// use seawall_core::policy::{Policy, Preset};
/// use seawall_core::time::{Duration, Instant};
/// use seawall_core::trace::Recording;
/// use seawall_core::verdict::Action;
///
/// let policy = Policy::preset(Preset::Default);
/// let mut engine = Engine::new(7, Recording::On);
/// let now = Instant::START;
/// let gate = engine.configure(now, GateKey(1), &policy.gate, &[], None)?;
/// let call = engine.begin(now, Spec::new(now, &[Candidate::at(gate)], &policy.call, Replay::Idempotent));
/// let Action::Send(permit) = engine.poll(now, call).action else { panic!("a fresh gate sends at once") };
/// let now = now + Duration::from_millis(20);
/// engine.settle(now, permit, Report::of(Outcome::Answer));
/// assert_eq!(engine.poll(now, call).reason.code(), "succeeded");
/// engine.end(now, call);
/// # Ok::<(), seawall_core::policy::PolicyError>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    seed: u64,
    now: Instant,
    calls: Vec<Call>,
    free: Vec<u32>,
    begun: u64,
    tickets: u64,
    attempts: u64,
    permits_out: u64,
    /// Calls whose first attempt is out and that have no seat.
    openings: Openings,
    draining: bool,
    gates: Vec<Gate>,
    registry: Registry,
    latches: Latches,
    agenda: Agenda,
    links: Links,
    reserved: Reservations,
    trace: Trace,
    rng: Rng,
}

impl Engine {
    /// An engine without gates. Same seed and same inputs: same trace, byte for byte.
    pub fn new(seed: u64, recording: Recording) -> Self {
        Self {
            seed,
            now: Instant::START,
            calls: Vec::new(),
            free: Vec::new(),
            begun: 0,
            tickets: 0,
            attempts: 0,
            permits_out: 0,
            openings: Openings::default(),
            draining: false,
            gates: Vec::new(),
            registry: Registry::default(),
            latches: Latches::default(),
            agenda: Agenda::default(),
            links: Links::default(),
            reserved: Reservations::default(),
            trace: Trace::new(recording),
            // Calls have the streams from 1; what no call draws for itself is drawn from 0.
            rng: Rng::new(seed, 0),
        }
    }

    /// Sends nothing more, for good: what is out may end, and every other call ends with `draining` at its next poll,
    /// for which it is woken.
    pub fn drain_calls(&mut self, now: Instant) {
        self.advance(now);
        self.draining = true;
        let waits = |call: &Call| call.state != State::Gone && call.attempts_out() == 0;
        let slots = (0_u32..).zip(&self.calls);
        let mut waiting: Vec<(u64, u32)> = slots
            .filter(|(_, call)| waits(call))
            .map(|(slot, call)| (call.number, slot))
            .collect();
        // In the order in which they began, whatever seats they got.
        waiting.sort_unstable();
        for (_, slot) in waiting {
            self.agenda.make_ready(slot);
        }
    }

    /// A call begins. It holds a slot until [`end`](Self::end); nothing is sent before a poll grants it.
    pub fn begin(&mut self, now: Instant, spec: Spec<'_>) -> CallId {
        let now = self.advance(now);
        self.begun += 1;
        let slot = self.take_seat(now, self.begun, &spec);
        for candidate in spec.route {
            self.visit(candidate.gate);
        }
        self.settle_home(slot, &spec);
        self.id(slot)
    }

    /// Seats the call of this number, which began at `began`.
    fn take_seat(&mut self, began: Instant, number: u64, spec: &Spec<'_>) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| self.another_slot());
        let rng = Rng::new(self.seed, number);
        self.calls[slot as usize].begin(began, number, rng, spec);
        slot
    }

    /// What to do with `call` now. The only thing that speaks: grants at most one permit, tells again what it told
    /// where nothing has changed, and after the end the same finish for ever.
    pub fn poll(&mut self, now: Instant, call: CallId) -> Verdict {
        let now = self.advance(now);
        let Some(slot) = self.slot(call) else {
            return Verdict {
                action: Action::Finish {
                    unknown: false,
                    retry_at: None,
                },
                reason: Reason::Cancelled,
            };
        };
        self.agenda.polled(slot);
        self.step(now, slot)
    }

    /// The caller has what it wants, or left, in whatever state the call is: its place, promise, charge and turn go
    /// back, its wake passes on, and its slot is free. A permit that is still out is void.
    pub fn end(&mut self, now: Instant, call: CallId) -> Ended {
        let now = self.advance(now);
        let Some(slot) = self.slot(call) else {
            return Ended {
                unknown: false,
                sends: 0,
            };
        };
        let held = self.release(now, slot);
        let it = &mut self.calls[slot as usize];
        let ended = match it.state {
            State::Ended(finish) => Ended {
                unknown: finish.unknown,
                sends: it.sends,
            },
            _ => Ended {
                unknown: it.unknown(),
                sends: it.sends,
            },
        };
        let was_over = matches!(it.state, State::Ended(_));
        it.state = State::Gone;
        it.generation = it.generation.wrapping_add(1);
        if !was_over || held != Held::NOTHING {
            self.record(slot, What::Left, Held::NOTHING, held);
        }
        for leg in 0..self.calls[slot as usize].legs.len() {
            self.unvisit(self.calls[slot as usize].legs[leg].candidate.gate);
        }
        self.free.push(slot);
        ended
    }

    /// When [`woken`](Self::woken) will have something to say; a point in the past means now.
    pub fn next_wake(&self) -> Option<Instant> {
        self.agenda.next_wake()
    }

    /// A call to poll: something made it ready, or its time has come. In order; ask until there is none.
    pub fn woken(&mut self, now: Instant) -> Option<CallId> {
        let now = self.advance(now);
        loop {
            if let Some(slot) = self.agenda.next_ready() {
                return Some(self.id(slot));
            }
            let slot = self.agenda.next_due(now)?;
            if self.is_due(now, slot) {
                return Some(self.id(slot));
            }
        }
    }

    /// What happened since the last drain, in order.
    pub fn drain(&mut self) -> impl Iterator<Item = Event> + '_ {
        self.trace.drain()
    }

    /// One row of the table in `call.rs`. Where it moves the call on, the row that it moved to answers; every move is
    /// forward (settled, waited, queued, sent or ended), so that a few rows are the most.
    // The verdict is handed through and never unwrapped: it is large, and copied while it is still being written.
    fn step(&mut self, now: Instant, slot: u32) -> Verdict {
        let call = &self.calls[slot as usize];
        match call.state {
            State::Ready
            | State::Promised { .. }
            | State::Queued { .. }
            | State::Waiting { .. }
            | State::Saving { .. }
                if self.draining =>
            {
                self.finish(now, slot, Reason::Draining, None)
            }
            State::Ready | State::Promised { .. } | State::Queued { .. } => self.depart(now, slot),
            State::Waiting { until, reason } => {
                if now < until {
                    return Verdict {
                        action: Action::Wait(until),
                        reason,
                    };
                }
                self.calls[slot as usize].state = State::Ready;
                self.depart(now, slot)
            }
            State::Saving { gate, resume_at } => self.save(now, slot, gate, resume_at),
            State::Flying => self.fly(now, slot),
            State::Streaming => {
                let lost = call
                    .attempts()
                    .find(|attempt| call.committed != Some(attempt.number))
                    .map(|lost| lost.number);
                let mut out = call.attempts();
                let committed = out.find(|attempt| call.committed == Some(attempt.number));
                let reason = committed.map_or(Reason::First, |attempt| attempt.role.reason());
                Verdict {
                    action: Action::InFlight { hedge_at: None, lost },
                    reason,
                }
            }
            State::Settled => self.judge(now, slot),
            State::Ended(finish) => finish.verdict(),
            State::Gone => unreachable!("a live call is not gone"),
        }
    }

    /// Ends the call with `reason`, and says so.
    fn finish(&mut self, now: Instant, slot: u32, reason: Reason, retry_at: Option<Instant>) -> Verdict {
        self.close(now, slot, reason, retry_at, Held::NOTHING).verdict()
    }

    /// Ends the call with `reason`: what it still holds goes back, beside `gave`, which went back before.
    #[inline(always)]
    fn close(
        &mut self,
        now: Instant,
        slot: u32,
        reason: Reason,
        retry_at: Option<Instant>,
        gave: Held,
    ) -> Finish {
        let gave = gave
            .and(self.leave_queues(now, slot))
            .and(self.give_charges(now, slot));
        let call = &mut self.calls[slot as usize];
        let unknown = call.unknown();
        let retry_at = retry_at.or_else(|| {
            let met = call.met.as_ref()?;
            Some(met.at.after(met.hint?.wait))
        });
        let finish = Finish {
            reason,
            unknown,
            retry_at,
        };
        call.state = State::Ended(finish);
        self.record(slot, What::Finished(reason, unknown), Held::NOTHING, gave);
        finish
    }

    /// Gives back all that a call holds, in any state.
    fn release(&mut self, now: Instant, slot: u32) -> Held {
        let mut held = self.leave_queues(now, slot).and(self.give_charges(now, slot));
        for place in 0..crate::call::OUT_MAX {
            if self.calls[slot as usize].out[place].is_out() {
                // Nobody said what became of it: it may have acted, and was an attempt.
                held = held.and(self.drop_attempt(now, slot, place, Sent::Maybe, Usage::NONE));
            }
        }
        self.agenda.forget(slot);
        held
    }

    /// Pumps each gate of a chain, the outermost first: those who wait there have waited for it longest.
    #[inline]
    fn pump_chain(&mut self, now: Instant, chain: &Chain) {
        for gate in chain.gates().iter().rev() {
            self.pump(now, *gate);
        }
    }

    /// Wakes as many of a gate's queue as it admits now, each with its places promised.
    #[inline]
    fn pump(&mut self, now: Instant, number: u32) {
        if let Some(head) = self.gates[number as usize].queue.head() {
            self.wake_from(now, number, head);
        }
    }

    #[cold]
    fn wake_from(&mut self, now: Instant, number: u32, head: u32) {
        let mut next = Some(head);
        while let Some(slot) = next {
            next = self.gates[number as usize].queue.behind(&self.links, slot);
            match self.admits(now, slot, number) {
                Admits::Now => self.promise(now, slot, number),
                Admits::Never => self.turn_out(slot, number),
                Admits::At(at) => {
                    // The first in the queue keeps the gate's time; a new first must be told it.
                    if self.agenda.armed_at(slot).is_none_or(|told| told > at) {
                        self.agenda.arm(slot, at);
                        self.agenda.make_ready(slot);
                    }
                    // A write that is no probe yet keeps nobody else from being one (rule H4).
                    let call = &self.calls[slot as usize];
                    let gate = &self.gates[number as usize];
                    let is_no_probe = call.replay == Replay::Unsafe
                        && gate.admits(now, Replay::Unsafe) != Admits::Now
                        && gate.admits(now, Replay::Idempotent) == Admits::Now;
                    if !is_no_probe {
                        return;
                    }
                }
                Admits::Later => return,
            }
        }
    }

    /// Whether `slot`, which waits at a gate of its chain, may go as far as gate `number` decides.
    fn admits(&mut self, now: Instant, slot: u32, number: u32) -> Admits {
        self.advance_breaker(now, number);
        let call = &self.calls[slot as usize];
        let gate = &self.gates[number as usize];
        let not_before = gate.cooldown.not_before();
        let quota = self.chain(call.leg().candidate.gate.number).quota();
        if not_before > now && quota == number {
            return Admits::At(not_before);
        }
        match (
            gate.admits(now, call.replay),
            self.rate_room(now, slot, number, quota),
        ) {
            (Admits::Never, _) | (_, Room::Never { .. }) => Admits::Never,
            (Admits::Later, _) | (_, Room::Later) => Admits::Later,
            (Admits::At(one), Room::At(two)) => Admits::At(one.max(two)),
            (admits, Room::Now) => admits,
            (Admits::Now, Room::At(at)) => Admits::At(at),
        }
    }

    /// Gate `number` admits the first of its queue: keeps a place and takes its part of the rates for it at every gate
    /// of its chain at once, or has it stand in line at the one that has none.
    ///
    /// A place that is kept at one gate and not at the next would be given back when the call asks, to one that
    /// lacks the other place: two such calls would wake each other for ever.
    fn promise(&mut self, now: Instant, slot: u32, number: u32) {
        let chain = self.chain(self.calls[slot as usize].leg().candidate.gate.number);
        for other in chain.gates().iter().filter(|other| **other != number) {
            match self.admits(now, slot, *other) {
                Admits::Now if !self.others_ahead(slot, *other) => {}
                Admits::Now | Admits::Later => return self.change_queue(slot, number, *other),
                Admits::At(at) => {
                    self.change_queue(slot, number, *other);
                    if self.agenda.armed_at(slot).is_none_or(|told| told > at) {
                        self.agenda.arm(slot, at);
                    }
                    return;
                }
                Admits::Never => return self.turn_out(slot, number),
            }
        }
        for gate in chain.gates() {
            self.gates[*gate as usize].limiter.promise();
        }
        let reserved = self.pledge(now, slot, &chain);
        self.turn_out(slot, number);
        self.calls[slot as usize].state = State::Promised { chain, reserved };
    }

    /// Takes a call out of a gate's queue and wakes it, to ask anew.
    fn turn_out(&mut self, slot: u32, number: u32) {
        self.gates[number as usize].queue.leave(&mut self.links, slot);
        self.calls[slot as usize].state = State::Ready;
        self.agenda.disarm(slot);
        self.agenda.make_ready(slot);
    }

    /// Moves a call to another queue of its chain, to the place that its ticket gives it, without waking it. That
    /// queue may be full: who stands in line already is not sent away.
    fn change_queue(&mut self, slot: u32, from: u32, to: u32) {
        let call = &mut self.calls[slot as usize];
        if let State::Queued { gate, .. } = &mut call.state {
            *gate = to;
        }
        let ticket = call.ticket;
        self.gates[from as usize].queue.leave(&mut self.links, slot);
        self.gates[to as usize].queue.join(&mut self.links, slot, ticket);
    }

    /// Whether somebody waits at gate `number` who goes before `slot`.
    fn others_ahead(&self, slot: u32, number: u32) -> bool {
        let call = &self.calls[slot as usize];
        let gate = &self.gates[number as usize];
        let mut next = gate.queue.head();
        if next.is_none() {
            return false;
        }
        let ticket = if call.ticket == 0 { u64::MAX } else { call.ticket };
        // Only a half-open breaker lets others before a write that is no probe yet.
        let passes_unsafe = call.replay != Replay::Unsafe
            && gate
                .breaker
                .as_ref()
                .is_some_and(|breaker| breaker.free_probes() > 0);
        while let Some(waits) = next.map(|waits| &self.calls[waits as usize]) {
            if waits.ticket >= ticket {
                return false;
            }
            if !passes_unsafe || waits.replay != Replay::Unsafe {
                return true;
            }
            next = next.and_then(|waits| gate.queue.behind(&self.links, waits));
        }
        false
    }

    /// Tells a gate's breaker the time, and what follows from a transition by the clock.
    #[inline]
    fn advance_breaker(&mut self, now: Instant, number: u32) {
        let breaker = self.gates[number as usize].breaker.as_mut();
        if let Some(transition) = breaker.and_then(|breaker| breaker.advance(now)) {
            self.turned(number, transition);
        }
    }

    /// Has a gate's breaker look at what is out (rule H1); who waits behind one that opens is told.
    #[inline]
    fn look(&mut self, now: Instant, number: u32) {
        let Self {
            gates, rng, trace, ..
        } = self;
        if gates[number as usize].look(now, rng, trace).is_some() {
            self.pump(now, number);
        }
    }

    /// A gate's breaker moved.
    fn turned(&mut self, number: u32, transition: Transition) {
        self.gates[number as usize].turned(transition);
        self.record_gate(What::Breaker(number, transition));
    }

    /// Whether a call whose time has come has something to ask; a queue's first may only have kept its gate's time.
    fn is_due(&mut self, now: Instant, slot: u32) -> bool {
        match self.calls[slot as usize].state {
            State::Queued { gate, .. } => {
                self.pump(now, gate);
                // Promised, it stands among the ready; still queued, it asks whether to go on waiting.
                matches!(self.calls[slot as usize].state, State::Queued { .. })
            }
            State::Gone => false,
            State::Ready
            | State::Waiting { .. }
            | State::Promised { .. }
            | State::Saving { .. }
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => true,
        }
    }

    /// Takes the call out of whatever queue it stands in, and breaks a promise made to it.
    #[inline]
    fn leave_queues(&mut self, now: Instant, slot: u32) -> Held {
        match self.calls[slot as usize].state {
            State::Queued { .. } | State::Promised { .. } | State::Saving { .. } | State::Waiting { .. } => {
                self.give_turn(now, slot)
            }
            State::Gone
            | State::Ready
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => Held::NOTHING,
        }
    }

    #[cold]
    fn give_turn(&mut self, now: Instant, slot: u32) -> Held {
        match self.calls[slot as usize].state {
            State::Queued { gate, .. } => {
                self.gates[gate as usize].queue.leave(&mut self.links, slot);
                self.agenda.disarm(slot);
                self.calls[slot as usize].state = State::Ready;
                self.pump(now, gate);
                Held::TURN
            }
            State::Promised { chain, reserved } => {
                self.keep_promises(&chain);
                self.calls[slot as usize].state = State::Ready;
                self.settle_reserved(now, reserved, |_| Cost::NOTHING);
                self.pump_chain(now, &chain);
                Held::TURN
            }
            State::Saving { gate, .. } => {
                self.gates[gate as usize].savers.leave(&mut self.links, slot);
                self.agenda.disarm(slot);
                self.calls[slot as usize].state = State::Ready;
                self.wake_saver(now, gate);
                Held::TURN
            }
            State::Waiting { .. } => {
                self.agenda.disarm(slot);
                Held::NOTHING
            }
            State::Gone
            | State::Ready
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => Held::NOTHING,
        }
    }

    /// The places that were kept at a chain's gates are kept no longer: taken, or not needed.
    fn keep_promises(&mut self, chain: &Chain) {
        for gate in chain.gates() {
            self.gates[*gate as usize].limiter.keep_promise();
        }
    }

    fn another_slot(&mut self) -> u32 {
        let slot = u32::try_from(self.calls.len()).expect("calls are counted in 32 bits");
        self.calls.push(Call::vacant(&Policy::preset(Preset::Off).call));
        self.agenda.grow_to(self.calls.len());
        self.links.grow_to(self.calls.len());
        slot
    }

    fn advance(&mut self, now: Instant) -> Instant {
        self.now = self.now.max(now);
        self.now
    }

    #[inline]
    fn slot(&self, id: CallId) -> Option<u32> {
        let call = self.calls.get(id.slot())?;
        (call.generation == id.generation && !matches!(call.state, State::Gone)).then_some(id.slot)
    }

    fn id(&self, slot: u32) -> CallId {
        CallId {
            slot,
            generation: self.calls[slot as usize].generation,
        }
    }

    #[inline]
    fn record(&mut self, slot: u32, what: What, took: Held, gave: Held) {
        if !self.trace.is_on() {
            return;
        }
        let call = &self.calls[slot as usize];
        let (number, attempt, candidate) = (call.number, call.sends, call.at);
        self.trace.push(Event {
            at: self.now,
            call: number,
            attempt,
            candidate,
            what,
            took,
            gave,
        });
    }

    /// As `record`, of an attempt that need not be the call's last.
    #[inline]
    fn record_attempt(&mut self, slot: u32, (attempt, candidate): (u32, u16), what: What, gave: Held) {
        if !self.trace.is_on() {
            return;
        }
        let call = self.calls[slot as usize].number;
        let took = Held::NOTHING;
        self.trace.push(Event {
            at: self.now,
            call,
            attempt,
            candidate,
            what,
            took,
            gave,
        });
    }

    fn record_gate(&mut self, what: What) {
        self.trace.push(Event::of_gate(self.now, what));
    }
}

#[cfg(test)]
mod tests;
