//! A gate: the state that calls to one upstream, model or quota share, and the queues in front of it.
//!
//! What can go wrong: two gates of one chain are taken one after the other and the second refuses, so that the first
//! has paid for nothing. So a chain is always asked whole before anything is taken, under one lock and at one
//! instant: `standing` asks, `take` takes, `give` gives back exactly what was taken.

use crate::breaker::{Breaker, Crowd, Epoch, Evidence, Pass, Ramp, Standing as BreakerStanding, Transition};
use crate::budget::Budget;
use crate::cooldown::Cooldown;
use crate::facts::Replay;
use crate::hedging::{self, Hedging};
use crate::learned::Windows;
use crate::limiter::Limiter;
use crate::policy::{GatePolicy, Hedge, HedgeAfter, Mode, OnOpen, PolicyError};
use crate::queue::Queue;
use crate::rate::Buckets;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Held, Trace, What};
use alloc::boxed::Box;

/// Gates that one attempt passes at the most: its own, its parents, its quota.
pub const CHAIN_MAX: usize = 4;

/// The driver's own number for what a gate stands for: an upstream, a model at an upstream, a quota key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateKey(pub u64);

/// Names a gate of one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateId {
    pub(crate) number: u32,
    /// Which gate of this number: one that is gone leaves its number to another.
    pub(crate) life: u32,
}

impl GateId {
    /// The gate's number in events.
    pub const fn number(self) -> u32 {
        self.number
    }
}

/// The gates that an attempt passes, its own first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    gates: [u32; CHAIN_MAX],
    len: u8,
    /// Which of them keeps the cool-down.
    quota: u8,
}

impl Chain {
    pub(crate) const fn of(own: u32) -> Self {
        Self {
            gates: [own; CHAIN_MAX],
            len: 1,
            quota: 0,
        }
    }

    pub(crate) fn gates(&self) -> &[u32] {
        &self.gates[..usize::from(self.len)]
    }

    pub(crate) const fn own(&self) -> u32 {
        self.gates[0]
    }

    pub(crate) const fn quota(&self) -> u32 {
        self.gates[self.quota as usize]
    }

    pub(crate) fn holds(&self, gate: u32) -> bool {
        self.gates().contains(&gate)
    }

    /// Adds a gate; once is enough.
    pub(crate) fn add(&mut self, gate: u32) -> Result<(), PolicyError> {
        if self.holds(gate) {
            return Ok(());
        }
        let place = usize::from(self.len);
        if place == CHAIN_MAX {
            return Err(PolicyError::TooManyParents { most: CHAIN_MAX });
        }
        self.gates[place] = gate;
        self.len += 1;
        Ok(())
    }

    /// Makes `gate`, which the chain holds, the keeper of the cool-down.
    pub(crate) fn cool_at(&mut self, gate: u32) {
        let place = self.gates().iter().position(|other| *other == gate);
        let place = place.expect("the quota was added to the chain before");
        self.quota = u8::try_from(place).expect("a chain is short");
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) life: u32,
    pub(crate) key: GateKey,
    pub(crate) tenure: Tenure,
    /// Routes of calls that are alive in which it stands.
    pub(crate) visits: u32,
    /// Gates of which it is a parent or the quota.
    pub(crate) children: u32,
    /// Budgets and breakers that it has had, those of the number's earlier gates included: what was taken of one
    /// comes not back to another.
    reborn: u32,
    pub(crate) chain: Chain,
    pub(crate) limiter: Limiter,
    pub(crate) cooldown: Cooldown,
    pub(crate) breaker: Option<Breaker>,
    /// What was forced where there is no breaker, which else keeps it itself.
    latch: Mode,
    pub(crate) on_open: OnOpen,
    pub(crate) probes: u32,
    pub(crate) budget: Option<Budget>,
    /// What may be sent in a minute; boxed, as most gates have no such limit.
    pub(crate) rates: Option<Box<Buckets>>,
    /// What the server said of its own limits; boxed, as most say nothing.
    pub(crate) windows: Option<Box<Windows>>,
    /// What hedges need to know; boxed, as most calls have none, or one after a fixed time.
    hedging: Option<Box<Hedging>>,
    /// Calls that wait for cool-down, breaker or place.
    pub(crate) queue: Queue,
    /// Calls that wait for credit.
    pub(crate) savers: Queue,
}

// A process may have a gate for each of a hundred thousand keys: what few policies ask for is boxed.
const _: () = assert!(size_of::<Gate>() <= 800);

/// Whether a gate is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    Kept,
    /// Takes no new calls, and goes with the last that holds it.
    Retired,
    /// Nothing, until another takes its number.
    Gone,
}

/// How a call stands to a gate that it would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has just come.
    Newcomer,
    /// It waits, here or at another gate of its chain.
    InLine,
    /// It was promised to go.
    Promised,
}

/// Whether a gate would let one of its queue go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    Now,
    /// Not before this point.
    At(Instant),
    /// When something changes.
    Later,
    /// Not at all: its breaker is open and nobody waits for that.
    Never,
}

impl Gate {
    pub(crate) fn new(now: Instant, id: GateId, key: GateKey, reborn: u32, policy: &GatePolicy) -> Self {
        Self {
            life: id.life,
            key,
            tenure: Tenure::Kept,
            visits: 0,
            children: 0,
            reborn,
            chain: Chain::of(id.number),
            limiter: Limiter::new(&policy.limits),
            cooldown: Cooldown::default(),
            breaker: policy
                .breaker
                .as_ref()
                .map(|policy| Breaker::reborn(policy, reborn)),
            latch: Mode::Auto,
            on_open: policy.breaker.map_or(OnOpen::Fail, |breaker| breaker.on_open),
            probes: policy.breaker.map_or(1, |breaker| breaker.probes),
            budget: policy
                .budget
                .as_ref()
                .map(|policy| Budget::reborn(policy, reborn)),
            rates: Buckets::new(now, &policy.limits.rates).map(Box::new),
            windows: None,
            hedging: None,
            queue: Queue::new(),
            savers: Queue::new(),
        }
    }

    /// Takes another policy and keeps its state.
    pub(crate) fn configure(&mut self, now: Instant, policy: &GatePolicy) {
        self.tenure = Tenure::Kept;
        self.reborn = self.reborn.wrapping_add(1);
        let reborn = self.reborn;
        self.limiter.configure(&policy.limits);
        self.on_open = policy.breaker.map_or(OnOpen::Fail, |breaker| breaker.on_open);
        self.probes = policy.breaker.map_or(1, |breaker| breaker.probes);
        match (&mut self.breaker, &policy.breaker) {
            (Some(breaker), Some(policy)) => breaker.configure(now, policy),
            (Some(breaker), None) => {
                self.latch = breaker.forced();
                self.breaker = None;
            }
            (None, Some(policy)) => {
                let mut breaker = Breaker::reborn(policy, reborn);
                match core::mem::replace(&mut self.latch, Mode::Auto) {
                    Mode::Auto => {}
                    forced @ (Mode::Open | Mode::Closed | Mode::Observe) => breaker.force(now, forced),
                }
                self.breaker = Some(breaker);
            }
            (None, None) => {}
        }
        match (&mut self.budget, &policy.budget) {
            (Some(budget), Some(policy)) => budget.configure(now, policy),
            (budget, policy) => *budget = policy.as_ref().map(|policy| Budget::reborn(policy, reborn)),
        }
        if let Some(hedging) = &mut self.hedging {
            // Now and not when it is asked next: what has left the window by then is not to come back.
            hedging.configure(now, hedging::window_of(self.budget.as_ref()));
        }
        match &mut self.rates {
            Some(buckets) => buckets.configure(now, &policy.limits.rates),
            rates => *rates = Buckets::new(now, &policy.limits.rates).map(Box::new),
        }
    }

    /// Latches it, or gives it back to its breaker (rule H8).
    pub(crate) fn force(&mut self, now: Instant, mode: Mode) {
        match &mut self.breaker {
            Some(breaker) => breaker.force(now, mode),
            None => self.latch = mode,
        }
    }

    /// The latch that holds.
    pub(crate) fn mode(&self) -> Mode {
        self.breaker.as_ref().map_or(self.latch, Breaker::mode)
    }

    /// How many budgets and breakers the next gate of this number finds used up.
    pub(crate) const fn reborn(&self) -> u32 {
        self.reborn.wrapping_add(1)
    }

    /// Whether nobody holds anything of it: no call could tell if it were gone.
    pub(crate) const fn is_idle(&self) -> bool {
        self.visits == 0
            && self.children == 0
            && self.limiter.in_flight() == 0
            && self.limiter.promised() == 0
            && self.queue.is_empty()
            && self.savers.is_empty()
    }

    /// Whether it stands as a new one would: a gate that knows anything of its upstream is worth more than its room.
    /// How many places a limit has found, or a throttle left, is worth less: without calls it is soon out of date.
    pub(crate) fn knows_nothing(&mut self, now: Instant) -> bool {
        self.cooldown.left(now).is_zero()
            && self.latch == Mode::Auto
            && self
                .breaker
                .as_mut()
                .is_none_or(|breaker| breaker.knows_nothing(now))
            && self.budget.as_mut().is_none_or(|budget| budget.owes_nothing(now))
            && self.rates.as_ref().is_none_or(|rates| rates.is_full(now))
            && self
                .windows
                .as_ref()
                .is_none_or(|windows| windows.bounds_nothing(now))
    }

    /// Takes a place for an attempt, and the breaker's leave where there is one. Says what that took.
    // The leave is written where it stays: handed back it would be copied while it is still being written.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        replay: Replay,
        (ticket, lease_until): (u64, Instant),
        pass: &mut Option<Pass>,
    ) -> Held {
        self.limiter.take();
        let Some(breaker) = &mut self.breaker else {
            return Held::NOTHING;
        };
        if let Some(epoch) = breaker.admit_plain(now) {
            *pass = Some(Pass::plain(epoch, now));
            return Held::NOTHING;
        }
        let admitted = breaker.admit(now, replay, ticket, lease_until);
        let took = Held::PROBE.when(admitted.is_probe());
        *pass = Some(admitted);
        took
    }

    /// Takes a place for a call's first attempt that comes while the gate is calm. Says when its breaker, if there is
    /// one, let it through.
    #[inline]
    pub(crate) fn let_first_in(&mut self, now: Instant, replay: Replay) -> Epoch {
        self.limiter.take();
        match &mut self.breaker {
            Some(breaker) => {
                breaker.arrive(now, replay);
                breaker.epoch()
            }
            None => Epoch::default(),
        }
    }

    /// Gives an attempt's place back, and counts it as an original where it was one here (rule G2).
    #[inline]
    pub(crate) fn leave(&mut self, now: Instant, is_original: bool) {
        self.limiter.give();
        if !is_original {
            return;
        }
        if let Some(budget) = &mut self.budget {
            budget.original(now);
        }
        if let Some(hedging) = &mut self.hedging {
            hedging.original(now);
        }
    }

    /// Whether anything here goes by how long first bytes take.
    #[inline]
    pub(crate) const fn goes_by_time(&self) -> bool {
        self.hedging.is_some() || self.limiter.goes_by_time()
    }

    /// The first byte of an attempt that began at `began` came after `took`, while `in_flight` were out, itself included.
    /// To be told where it [goes by time](Self::goes_by_time).
    #[cold]
    pub(crate) fn came(
        &mut self,
        now: Instant,
        began: Instant,
        took: Duration,
        in_flight: u32,
        rng: &mut Rng,
    ) {
        self.limiter.came(now, began, took, in_flight, rng);
        if let Some(hedging) = &mut self.hedging {
            hedging.came(now, took);
        }
    }

    /// An attempt was dropped, or timed out, after `given` without a first byte.
    pub(crate) fn waited_in_vain(&mut self, now: Instant, given: Duration) {
        if let Some(hedging) = &mut self.hedging {
            hedging.dropped(now, given);
        }
    }

    /// Whether it has room for what hedges need to know.
    #[cfg(test)]
    pub(crate) const fn keeps_times(&self) -> bool {
        self.hedging.is_some()
    }

    /// How long a first attempt runs alone that is sent now; `None` where no hedge is to come.
    pub(crate) fn hedge_delay(&mut self, now: Instant, hedge: Hedge) -> Option<Duration> {
        if hedge.needs_the_gate() && self.hedging.is_none() {
            let window = hedging::window_of(self.budget.as_ref());
            self.hedging = Some(Box::new(Hedging::new(now, window)));
        }
        match (&mut self.hedging, hedge.after()) {
            (Some(hedging), after) => hedging.delay(now, after),
            (None, HedgeAfter::Fixed(length)) => Some(length),
            (None, HedgeAfter::Percentile { .. }) => None,
        }
    }

    /// Whether the share of calls that may be hedged has room for one more.
    pub(crate) fn may_hedge(&mut self, now: Instant, hedge: Hedge) -> bool {
        let window = hedging::window_of(self.budget.as_ref());
        match (&mut self.hedging, hedge.at_most_per_mille()) {
            (Some(hedging), Some(most)) => hedging.has_room(now, most, window),
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }

    /// A hedge is sent.
    pub(crate) fn hedged(&mut self, now: Instant, hedge: Hedge) {
        if let (Some(hedging), Some(_)) = (&mut self.hedging, hedge.at_most_per_mille()) {
            hedging.hedged(now);
        }
    }

    /// Tells the breaker what the attempt with this pass met, once, and the trace what follows. Says what that gave back.
    #[inline]
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        pass: &mut Option<Pass>,
        evidence: Evidence,
        rng: &mut Rng,
        trace: &mut Trace,
    ) -> Held {
        let (Some(pass), Some(breaker)) = (pass.take(), &mut self.breaker) else {
            return Held::NOTHING;
        };
        let gave = Held::PROBE.when(pass.is_probe());
        if let Some(transition) = breaker.record(now, pass, evidence, rng) {
            self.turned(transition);
            trace.push(Event::of_gate(now, What::Breaker(self.chain.own(), transition)));
        }
        gave
    }

    /// Whether its breaker looks at what is out, and would open by that; what follows is told to the trace.
    #[inline]
    pub(crate) fn look(&mut self, now: Instant, rng: &mut Rng, trace: &mut Trace) -> Option<Transition> {
        let transition = self.breaker.as_mut()?.look(now, rng)?;
        self.turned(transition);
        trace.push(Event::of_gate(now, What::Breaker(self.chain.own(), transition)));
        Some(transition)
    }

    /// Who is here, beside a call that asks: `promised` are those of the promised that are others.
    fn crowd(&self, promised: u32) -> Crowd {
        Crowd {
            in_flight: self.limiter.in_flight(),
            promised,
            waiting: self.queue.len(),
        }
    }

    fn ramp(&self) -> Option<&Ramp> {
        self.breaker.as_ref()?.ramp()
    }

    /// Until when the ramp holds a call back, if it does (rule H5). Who waits where others are refused has been let in.
    pub(crate) fn held_by_ramp(&self, now: Instant, turn: Turn, promised: u32) -> Option<Instant> {
        let ramp = self.ramp()?;
        let stands = match (turn, self.on_open) {
            (Turn::Newcomer, OnOpen::Fail | OnOpen::Wait) => ramp.newcomer(now, self.crowd(promised)),
            (Turn::InLine, OnOpen::Wait) => ramp.first_in_line(now, self.crowd(promised)),
            (Turn::InLine, OnOpen::Fail) | (Turn::Promised, OnOpen::Fail | OnOpen::Wait) => Ok(()),
        };
        stands.err()
    }

    /// A newcomer stands in line, or has gone elsewhere: tells the ramp whether that was a call let in.
    pub(crate) fn tell_ramp(&mut self, now: Instant, stays: bool) {
        let crowd = self.crowd(self.limiter.promised());
        let on_open = self.on_open;
        let Some(ramp) = self.breaker.as_mut().and_then(Breaker::ramp_mut) else {
            return;
        };
        match on_open {
            OnOpen::Fail if stays && ramp.newcomer(now, crowd).is_ok() => ramp.let_in(now),
            OnOpen::Fail | OnOpen::Wait => ramp.turn_away(now, crowd),
        }
    }

    /// A call is sent through: tells the ramp who that was. It stands in no queue any more, and has no promise.
    #[inline]
    pub(crate) fn pass_ramp(&mut self, now: Instant, turn: Turn) {
        if let Some(ramp) = self.breaker.as_mut().and_then(Breaker::ramp_mut) {
            let waited = Crowd {
                in_flight: self.limiter.in_flight(),
                promised: self.limiter.promised(),
                waiting: self.queue.len() + 1,
            };
            match (turn, self.on_open) {
                (Turn::Newcomer, OnOpen::Fail | OnOpen::Wait) => ramp.let_in(now),
                (Turn::InLine | Turn::Promised, OnOpen::Wait) => ramp.release(waited),
                (Turn::InLine | Turn::Promised, OnOpen::Fail) => {}
            }
        }
    }

    /// Whether a newcomer's credit may let the first of those that wait go.
    pub(crate) fn lets_go_by_credit(&self) -> bool {
        self.ramp().is_some() && self.on_open == OnOpen::Wait
    }

    /// What follows here from a transition of the breaker.
    pub(crate) fn turned(&mut self, transition: Transition) {
        match transition {
            Transition::ClosedCautiously => self.limiter.start_with(self.probes),
            Transition::Opened { .. } | Transition::HalfOpened | Transition::Closed => {}
        }
    }

    /// Whether any call may go at once, as far as this gate's rates, breaker, places and queue decide: nearly always.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        self.queue.is_empty()
            && self.rates.is_none()
            && self.windows.is_none()
            && self.limiter.has_place()
            && self
                .breaker
                .as_ref()
                .map_or(self.latch != Mode::Open, Breaker::is_calm)
    }

    /// Whether a call that waits here may go, as far as this gate's breaker and places decide.
    ///
    /// The breaker was told the time before.
    pub(crate) fn admits(&self, now: Instant, replay: Replay) -> Admits {
        if self.mode() == Mode::Open {
            return Admits::Never;
        }
        if let Some(breaker) = &self.breaker {
            match breaker.standing(replay) {
                BreakerStanding::Admits => {}
                BreakerStanding::AdmitsProbe if breaker.free_probes() > self.limiter.promised() => {}
                BreakerStanding::AdmitsProbe => return Admits::Later,
                BreakerStanding::ForcedOpen => return Admits::Never,
                BreakerStanding::Refuses { retry_at } => {
                    return match self.on_open {
                        OnOpen::Fail => Admits::Never,
                        OnOpen::Wait => Admits::At(retry_at),
                    };
                }
            }
        }
        if let Some(at) = self.held_by_ramp(now, Turn::InLine, self.limiter.promised()) {
            return Admits::At(at);
        }
        if self.limiter.has_place() {
            Admits::Now
        } else {
            Admits::Later
        }
    }
}
