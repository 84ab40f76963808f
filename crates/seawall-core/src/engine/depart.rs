//! Before a send: which candidate, which queue, and what is taken.

use super::Engine;
use crate::breaker::Standing as BreakerStanding;
use crate::budget::Empty;
use crate::call::{Call, Candidate, Charged, Choice, Others, Spec, Standing, State, choose};
use crate::facts::Replay;
use crate::gate::{CHAIN_MAX, Chain, Turn};
use crate::policy::{Mode, OnOpen, PROBE_LEASE_SLACK};
use crate::rate::{Cost, Reservation, Room};
use crate::reason::{Full, Reason};
use crate::time::{Duration, Instant};
use crate::trace::{Held, What};
use crate::verdict::{Action, Permit, Role, Verdict};

/// How a gate stands that somebody has forced open: nobody knows for how long.
const FORCED_OPEN: Standing = Standing::Refuses {
    reason: Reason::BreakerOpen {
        retry_in: Duration::MAX,
    },
    retry_at: None,
};

/// What an attempt is sent beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// It is alone.
    Nothing,
    /// A slow first one: it is a hedge, and was charged this.
    First(Held),
}

impl Engine {
    /// Skips candidates that cannot serve at all (rule K2): a window too small, a gate forced open or retired.
    #[inline]
    pub(super) fn settle_home(&mut self, slot: u32, spec: &Spec<'_>) {
        if let [only] = spec.route
            && spec.fits(only)
            && self.takes_calls(only.gate)
        {
            let call = &mut self.calls[slot as usize];
            (call.home, call.at) = (0, 0);
            let replay = call.replay;
            self.arrive(only.gate.number, replay);
            return;
        }
        let forced = |gate: u32| {
            let chain = self.gates[gate as usize].chain;
            let is_open = |gate: &u32| self.gates[*gate as usize].mode() == Mode::Open;
            chain.gates().iter().any(is_open)
        };
        let serves = |candidate: &Candidate| spec.fits(candidate) && self.takes_calls(candidate.gate);
        let fitting = spec.route.iter().position(serves);
        let mut all = spec.route.iter();
        let open = all.position(|candidate| serves(candidate) && !forced(candidate.gate.number));
        let home = open
            .or(fitting)
            .map_or(0, |place| u16::try_from(place).unwrap_or(u16::MAX));
        if fitting.is_none() {
            let takes_calls = |candidate: &Candidate| self.takes_calls(candidate.gate);
            let reason = if spec.route.iter().any(takes_calls) {
                Reason::ContextTooLong
            } else {
                Reason::NoCandidate
            };
            // Told by the first poll.
            self.close(self.now, slot, reason, None, Held::NOTHING);
        }
        let call = &mut self.calls[slot as usize];
        (call.home, call.at) = (home, home);
        let replay = call.replay;
        for place in 0..spec.route.len() {
            if !self.takes_calls(spec.route[place].gate) {
                self.calls[slot as usize].legs[place].spent = true;
            }
        }
        if let Some(candidate) = spec
            .route
            .get(usize::from(home))
            .filter(|it| self.takes_calls(it.gate))
        {
            self.arrive(candidate.gate.number, replay);
        }
    }

    /// Tells the breakers in front of a call's home that it came (rule H4).
    #[inline]
    fn arrive(&mut self, gate: u32, replay: Replay) {
        let chain = self.chain(gate);
        for gate in chain.gates() {
            if let Some(breaker) = &mut self.gates[*gate as usize].breaker {
                breaker.arrive(self.now, replay);
            }
        }
    }

    /// Sends, queues or ends a call that may be sent.
    pub(super) fn depart(&mut self, now: Instant, slot: u32) -> Verdict {
        let call = &self.calls[slot as usize];
        if now >= call.deadline {
            let deadline = call.deadline_length;
            return self.finish(now, slot, Reason::DeadlinePassed { deadline }, None);
        }
        let at = call.at;
        if self.is_calm(now, &call.legs[usize::from(at)].candidate) {
            return self.send(now, slot, at, Beside::Nothing);
        }
        let here = self.standing(now, slot, at);
        if matches!(here, Standing::Now) {
            return self.send(now, slot, at, Beside::Nothing);
        }
        self.tell_ramps(now, slot, at, here);
        let others = self.others(now, slot, None);
        let call = &self.calls[slot as usize];
        // A call that lost its turn, because a breaker opened, has waited all the same.
        let waited = if call.ticket == 0 {
            Duration::ZERO
        } else {
            now.since(call.queued_since)
        };
        match choose((at, here), others, now, waited, call.policy.patience) {
            Choice::Send(leg) => self.send(now, slot, leg, Beside::Nothing),
            Choice::Stay => self.queue_up(now, slot, at, here, others),
            Choice::Move(leg) => match self.standing(now, slot, leg) {
                there @ Standing::Waits { .. } if self.may_go_at(slot, leg) <= now => {
                    self.queue_up(now, slot, leg, there, others)
                }
                Standing::Now | Standing::Waits { .. } | Standing::Refuses { .. } => {
                    self.leave_queues(now, slot);
                    self.go_on_at(now, slot, leg)
                }
            },
            Choice::Refuse(reason, retry_at) => self.finish(now, slot, reason, retry_at),
        }
    }

    /// Tells the ramps in front of `leg` of a call that has just come and is not sent at once: each is told of it once.
    fn tell_ramps(&mut self, now: Instant, slot: u32, leg: u16, here: Standing) {
        if self.turn(slot, leg) != Turn::Newcomer {
            return;
        }
        let stays = matches!(here, Standing::Waits { .. });
        for number in self.chain_at(slot, leg).gates() {
            self.gates[*number as usize].tell_ramp(now, stays);
        }
    }

    /// How a call stands to the gates in front of `leg`: it waits, or was promised to go, at one candidate alone.
    fn turn(&self, slot: u32, leg: u16) -> Turn {
        let call = &self.calls[slot as usize];
        if call.at != leg {
            return Turn::Newcomer;
        }
        match call.state {
            State::Promised { .. } => Turn::Promised,
            State::Queued { .. } => Turn::InLine,
            State::Gone
            | State::Ready
            | State::Waiting { .. }
            | State::Saving { .. }
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => Turn::Newcomer,
        }
    }

    /// The candidates that the call may move to after `why`, as they stand now.
    pub(super) fn others(&mut self, now: Instant, slot: u32, why: Option<&Reason>) -> Others {
        let mut others = Others::default();
        let legs = u16::try_from(self.calls[slot as usize].legs.len()).unwrap_or(u16::MAX);
        for leg in 0..legs {
            let call = &self.calls[slot as usize];
            if !call.may_move_to(leg, why) || (why.is_some() && self.shares_spent_quota(slot, leg)) {
                continue;
            }
            let may_go_at = self.may_go_at(slot, leg);
            let free_at = match self.standing(now, slot, leg) {
                Standing::Refuses { .. } => continue,
                _ if !self.affords(now, slot, leg) => continue,
                Standing::Now if may_go_at <= now => {
                    others.now = others.now.or(Some(leg));
                    continue;
                }
                Standing::Waits { known: None, .. } if may_go_at <= now => {
                    others.in_line = others.in_line.or(Some(leg));
                    continue;
                }
                Standing::Now | Standing::Waits { known: None, .. } => may_go_at,
                Standing::Waits {
                    known: Some(until), ..
                } => until.max(may_go_at),
            };
            if others.soonest.is_none_or(|(_, soonest)| free_at < soonest) {
                others.soonest = Some((leg, free_at));
            }
        }
        others
    }

    /// When the call may be sent at `leg` again, as far as its own attempts there say.
    fn may_go_at(&self, slot: u32, leg: u16) -> Instant {
        self.calls[slot as usize].legs[usize::from(leg)].not_before
    }

    /// Makes `leg` the call's candidate, to be sent to or queued at once its own wait there is over.
    pub(super) fn go_on_at(&mut self, now: Instant, slot: u32, leg: u16) -> Verdict {
        let until = self.may_go_at(slot, leg);
        let call = &mut self.calls[slot as usize];
        call.at = leg;
        if until <= now {
            call.state = State::Ready;
            return self.step(now, slot);
        }
        let wait = until.since(now);
        self.wait_until(
            now,
            slot,
            until,
            Reason::BackingOff { wait },
            Held::NOTHING,
            Held::NOTHING,
        )
    }

    /// Whether every budget in front of `leg` that this call would be an extra to has room for it now.
    fn affords(&mut self, now: Instant, slot: u32, leg: u16) -> bool {
        let call = &self.calls[slot as usize];
        // What is charged already goes with the call.
        if (call.sends == 0 && call.nth == 1) || call.charged.as_ref().is_some_and(Charged::is_paid) {
            return true;
        }
        self.without_room(now, slot, leg).is_none()
    }

    /// Rule K3: a throttled or spent quota is never evaded inside itself.
    fn shares_spent_quota(&self, slot: u32, leg: u16) -> bool {
        let call = &self.calls[slot as usize];
        let quota = |leg: u16| self.chain_at(slot, leg).quota();
        let spent = call.met.as_ref().is_some_and(|met| {
            use crate::outcome::{Outcome, Refusal};
            matches!(
                met.outcome,
                Outcome::Throttled { .. } | Outcome::Refused(Refusal::QuotaSpent)
            )
        });
        spent && quota(leg) == quota(call.at)
    }

    #[inline]
    pub(super) fn chain(&self, gate: u32) -> Chain {
        self.gates[gate as usize].chain
    }

    /// The gates that an attempt at candidate `leg` passes.
    #[inline]
    pub(super) fn chain_at(&self, slot: u32, leg: u16) -> Chain {
        let leg = &self.calls[slot as usize].legs[usize::from(leg)];
        self.chain(leg.candidate.gate.number)
    }

    /// How a candidate stands towards the call: rule N1's order before a send. Asks; takes nothing.
    pub(super) fn standing(&mut self, now: Instant, slot: u32, leg: u16) -> Standing {
        let call = &self.calls[slot as usize];
        let candidate = &call.legs[usize::from(leg)].candidate;
        let latched = self.latches.left(now, candidate.credential);
        if !latched.is_zero() {
            let reason = Reason::DeniedLatched { left: latched };
            return Standing::Refuses {
                reason,
                retry_at: Some(now.after(latched)),
            };
        }
        let promise = match call.state {
            State::Promised { chain, .. } => Some(chain),
            _ => None,
        };
        let chain = self.chain(candidate.gate.number);
        let cooling = self.gates[chain.quota() as usize].cooldown.left(now);
        let mut waits: Option<Standing> = None;
        if !cooling.is_zero() {
            let (reason, until) = (Reason::CoolingDown { left: cooling }, now.after(cooling));
            if self.calls[slot as usize].is_outlasted_by(now, cooling) {
                return Standing::Refuses {
                    reason,
                    retry_at: Some(until),
                };
            }
            waits = Some(Standing::Waits {
                gate: chain.quota(),
                reason,
                known: Some(until),
            });
        }
        for number in chain.gates() {
            match self.gate_stands(now, (slot, leg), *number, chain.quota(), promise) {
                Standing::Now => {}
                refuses @ Standing::Refuses { .. } => return refuses,
                stands @ Standing::Waits { .. } => waits = waits.or(Some(stands)),
            }
        }
        match waits {
            Some(Standing::Waits { gate, .. }) if !self.has_room_in_line(slot, gate) => {
                let waiting = self.gates[gate as usize].queue.len();
                let full = Full::Queue { waiting };
                Standing::Refuses {
                    reason: Reason::LimiterFull { full },
                    retry_at: None,
                }
            }
            Some(waits) => waits,
            None => Standing::Now,
        }
    }

    /// Whether nothing at all stands in the way of any call to `candidate`, asked once instead of gate by gate:
    /// nearly always. Where it says no, `standing` may still find that this call may go.
    #[inline(always)]
    pub(super) fn is_calm(&self, now: Instant, candidate: &Candidate) -> bool {
        let chain = &self.gates[candidate.gate.number as usize].chain;
        // A loop, as an iterator's own is a function of its own here.
        for number in chain.gates() {
            if !self.gates[*number as usize].is_calm() {
                return false;
            }
        }
        self.gates[chain.quota() as usize].cooldown.left(now).is_zero()
            && self.latches.left(now, candidate.credential).is_zero()
    }

    /// Whether the call may stand in gate `number`'s queue: it does already, or the queue is not full.
    fn has_room_in_line(&self, slot: u32, number: u32) -> bool {
        let stands_here =
            matches!(self.calls[slot as usize].state, State::Queued { gate, .. } if gate == number);
        let gate = &self.gates[number as usize];
        stands_here || gate.queue.len() < gate.limiter.queue_max()
    }

    /// How one gate of the chain stands: breaker, rates, places, then whether others stand in line.
    fn gate_stands(
        &mut self,
        now: Instant,
        (slot, leg): (u32, u16),
        number: u32,
        quota: u32,
        promise: Option<Chain>,
    ) -> Standing {
        self.advance_breaker(now, number);
        self.look(now, number);
        let promised_here = promise.is_some_and(|chain| chain.holds(number));
        let promised = self.gates[number as usize].limiter.promised();
        let promised_to_others = promised - u32::from(promised_here);
        if let Some(stands) = self.breaker_stands(now, (slot, leg), number, promised_to_others) {
            return stands;
        }
        if !promised_here && let Some(stands) = self.rate_stands(now, slot, number, quota) {
            return stands;
        }
        let gate = &self.gates[number as usize];
        if promised_here || (gate.limiter.has_place() && !self.others_ahead(slot, number)) {
            return Standing::Now;
        }
        let stands_here =
            matches!(self.calls[slot as usize].state, State::Queued { gate, .. } if gate == number);
        let ahead = if stands_here {
            gate.queue.ahead_of(&self.links, slot)
        } else {
            gate.queue.len()
        };
        Standing::Waits {
            gate: number,
            reason: Reason::Queued { ahead },
            known: None,
        }
    }

    /// How the breaker of one gate of the chain stands; `None` where it lets the call through.
    fn breaker_stands(
        &self,
        now: Instant,
        (slot, leg): (u32, u16),
        number: u32,
        promised_to_others: u32,
    ) -> Option<Standing> {
        let call = &self.calls[slot as usize];
        let gate = &self.gates[number as usize];
        if gate.mode() == Mode::Open {
            return Some(FORCED_OPEN);
        }
        let breaker = gate.breaker.as_ref()?;
        // Probes that are promised, and not sent, say nothing of when the next is free.
        let retry_at = match breaker.standing(call.replay) {
            // Nobody else is told when the ramp lets one go.
            BreakerStanding::Admits => {
                Some(gate.held_by_ramp(now, self.turn(slot, leg), promised_to_others)?)
            }
            BreakerStanding::AdmitsProbe if breaker.free_probes() > promised_to_others => return None,
            BreakerStanding::AdmitsProbe => breaker.next_change(),
            BreakerStanding::Refuses { retry_at } => Some(retry_at),
            BreakerStanding::ForcedOpen => return Some(FORCED_OPEN),
        };
        let retry_in = retry_at.map_or(Duration::ZERO, |at| at.since(now));
        let in_time = retry_at.is_none_or(|at| at.after(call.policy.timeouts.min_attempt) <= call.deadline);
        Some(match gate.on_open {
            OnOpen::Wait if in_time => Standing::Waits {
                gate: number,
                reason: Reason::BreakerWait { left: retry_in },
                known: retry_at,
            },
            OnOpen::Wait | OnOpen::Fail => Standing::Refuses {
                reason: Reason::BreakerOpen { retry_in },
                retry_at,
            },
        })
    }

    /// How the rates of one gate of the chain stand; `None` where they have room.
    fn rate_stands(&self, now: Instant, slot: u32, number: u32, quota: u32) -> Option<Standing> {
        let call = &self.calls[slot as usize];
        let refuses = |full, retry_at| Standing::Refuses {
            reason: Reason::LimiterFull { full },
            retry_at,
        };
        let waits = |left, known| Standing::Waits {
            gate: number,
            reason: Reason::RateWait { left },
            known,
        };
        Some(match self.rate_room(now, slot, number, quota) {
            Room::Now => return None,
            Room::Never { needs, holds } => refuses(Full::Bucket { needs, holds }, None),
            Room::At(at) if at.after(call.policy.timeouts.min_attempt) > call.deadline => {
                let (free_in, left) = (at.since(now), call.deadline.since(now));
                refuses(Full::Rate { free_in, left }, Some(at))
            }
            // Whoever stands in front takes what is there at that time.
            Room::At(at) if self.others_ahead(slot, number) => waits(at.since(now), None),
            Room::At(at) => waits(at.since(now), Some(at)),
            Room::Later => waits(Duration::ZERO, None),
        })
    }

    /// Puts the call into the queue that `stands` names, in front of candidate `leg`.
    fn queue_up(&mut self, now: Instant, slot: u32, leg: u16, stands: Standing, others: Others) -> Verdict {
        let Standing::Waits { gate, reason, known } = stands else {
            // What stood a moment ago stands now: nothing moved in between.
            unreachable!("a call queues only where it was told to wait");
        };
        let state = self.calls[slot as usize].state;
        let stays = matches!(state, State::Queued { gate: old, .. } if old == gate);
        let left = if stays {
            None
        } else {
            self.turn_to(now, slot, gate)
        };
        let call = &mut self.calls[slot as usize];
        call.at = leg;
        let told = matches!(call.state, State::Queued { gate: old, reason: said } if old == gate && said.code() == reason.code());
        call.state = State::Queued { gate, reason };
        let patient_until = call.queued_since.after(call.policy.patience);
        let mut until = call.deadline;
        if others.now.is_some() || others.to_wait_for().is_some() {
            until = if patient_until > now {
                until.min(patient_until)
            } else {
                until
            };
        }
        if self.gates[gate as usize].queue.head() == Some(slot)
            && let Some(known) = known
        {
            until = until.min(known);
        }
        self.agenda.arm(slot, until);
        if !told {
            self.record(
                slot,
                What::Waits(reason, until),
                Held::TURN.when(!stays),
                Held::NOTHING,
            );
        }
        if let Some(gates) = left {
            self.pump_chain(now, &gates);
        }
        if !stays && self.gates[gate as usize].lets_go_by_credit() {
            self.pump(now, gate);
            if !matches!(self.calls[slot as usize].state, State::Queued { .. }) {
                // It was its own turn: it is told so now, and need not be woken.
                self.agenda.polled(slot);
                return self.step(now, slot);
            }
        }
        Verdict {
            action: Action::Park { until },
            reason,
        }
    }

    /// Puts the call into gate `gate`'s queue, out of whatever it stands in or was promised. Says which gates are to be
    /// pumped once it stands there: before that, one that came later would be let go before it.
    fn turn_to(&mut self, now: Instant, slot: u32, gate: u32) -> Option<Chain> {
        match self.calls[slot as usize].state {
            State::Queued { gate: old, .. } => {
                self.change_queue(slot, old, gate);
                Some(Chain::of(old))
            }
            State::Promised { chain, reserved } => {
                self.keep_promises(&chain);
                self.settle_reserved(now, reserved, |_| Cost::NOTHING);
                self.join(now, slot, gate);
                Some(chain)
            }
            State::Gone
            | State::Ready
            | State::Waiting { .. }
            | State::Saving { .. }
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => {
                self.leave_queues(now, slot);
                self.join(now, slot, gate);
                None
            }
        }
    }

    fn join(&mut self, now: Instant, slot: u32, gate: u32) {
        let call = &mut self.calls[slot as usize];
        if call.ticket == 0 {
            self.tickets += 1;
            call.ticket = self.tickets;
            call.queued_since = now;
        }
        let ticket = call.ticket;
        self.gates[gate as usize]
            .queue
            .join(&mut self.links, slot, ticket);
    }

    /// Sends one attempt to `leg`: everything was asked before, now it is taken.
    pub(super) fn send(&mut self, now: Instant, slot: u32, leg: u16, beside: Beside) -> Verdict {
        let (paid, gave) = match self.ready_to_pay(now, slot, leg) {
            Ok(paid) => paid,
            Err((gate, empty, gave)) => return self.unpaid(now, slot, leg, gate, empty, gave),
        };
        let (turn, left_queue, promised) = match self.calls[slot as usize].state {
            State::Ready => (Turn::Newcomer, None, None),
            State::Gone
            | State::Waiting { .. }
            | State::Queued { .. }
            | State::Promised { .. }
            | State::Saving { .. }
            | State::Flying
            | State::Streaming
            | State::Settled
            | State::Ended(_) => self.unqueue_for_send(slot, leg),
        };
        let chain = self.chain_at(slot, leg);
        let original_at = self.first_sends(slot, &chain);
        let reserved = self.reserve(now, slot, &chain, promised);
        self.attempts += 1;
        self.permits_out += 1;
        let ticket = self.attempts;
        let Self { calls, gates, .. } = self;
        let call = &mut calls[slot as usize];
        let limits = call.policy.limits_for(call.endpoint, now, call.deadline);
        // Up to the commit, which judges a probe, nothing else ends an attempt that makes progress (rule H6).
        let lease = now
            .after(limits.total)
            .min(call.deadline)
            .after(PROBE_LEASE_SLACK);
        let (mut role, paid) = match beside {
            Beside::Nothing => (call.role_at(leg), paid),
            Beside::First(paid_before) => (Role::Hedge, paid_before),
        };
        let mut took = Held::PLACE.and(paid).and(Held::RATE.when(reserved.is_some()));
        call.count_send(leg);
        if beside == Beside::Nothing {
            call.met_this_round = false;
            if let Some(hedge) = call.policy.hedge {
                let delay = gates[chain.own() as usize].hedge_delay(now, hedge);
                call.hedge_at = delay.map(|delay| now.after(delay));
            }
        }
        let (number, replay) = (call.sends, call.replay);
        let attempt = call.put_out(now, leg, role, &chain);
        attempt.original_at = original_at;
        attempt.reserved = reserved;
        for (pass, number) in attempt.passes.iter_mut().zip(chain.gates()) {
            let gate = &mut gates[*number as usize];
            gate.pass_ramp(now, turn);
            took = took.and(gate.enter(now, replay, (ticket, lease), pass));
        }
        if took.has(Held::PROBE) && beside == Beside::Nothing {
            role = Role::Probe;
            attempt.role = role;
        }
        let permit = Permit {
            call: self.id(slot),
            attempt: number,
            candidate: leg,
            role,
            limits,
        };
        let gave = gave.and(Held::TURN.when(left_queue.is_some()));
        self.record(slot, What::Sent(role.reason()), took, gave);
        if let Some(gates) = left_queue {
            // The next in line is told its time, or woken where there is room for it too.
            self.pump_chain(now, &gates);
        }
        Verdict {
            action: Action::Send(permit),
            reason: role.reason(),
        }
    }

    /// Takes the call out of its queue, or keeps the promise made to it, with what was reserved by it. Says how it stood
    /// to the gates in front of `leg`, and at which it waited, to be pumped once its places are taken: before that, its own
    /// place would be promised to the next.
    #[cold]
    fn unqueue_for_send(&mut self, slot: u32, leg: u16) -> (Turn, Option<Chain>, Option<Reservation>) {
        let turn = self.turn(slot, leg);
        match self.calls[slot as usize].state {
            State::Queued { gate, .. } => {
                self.gates[gate as usize].queue.leave(&mut self.links, slot);
                self.agenda.disarm(slot);
                (turn, Some(Chain::of(gate)), None)
            }
            State::Promised { chain, reserved } => {
                self.keep_promises(&chain);
                (turn, Some(chain), reserved)
            }
            _ => (turn, None, None),
        }
    }

    /// At which gates of the chain this would be the call's first send.
    #[inline(always)]
    fn first_sends(&self, slot: u32, chain: &Chain) -> [bool; CHAIN_MAX] {
        let call = &self.calls[slot as usize];
        match (call.nth, call.sends) {
            (2.., _) => [false; CHAIN_MAX],
            (_, 0) => [true; CHAIN_MAX],
            (_, _) => self.first_sends_of_more(call, chain),
        }
    }

    #[cold]
    fn first_sends_of_more(&self, call: &Call, chain: &Chain) -> [bool; CHAIN_MAX] {
        let mut first = [true; CHAIN_MAX];
        for (place, gate) in chain.gates().iter().enumerate() {
            let mut used = call.legs.iter().filter(|leg| leg.sends > 0);
            first[place] = !used.any(|leg| self.chain(leg.candidate.gate.number).holds(*gate));
        }
        first
    }

    /// Makes sure that a send at `leg` is paid for where it is an extra (rules G2, G3, K1).
    /// Says what was taken for it and what an earlier candidate's charge gave back.
    fn ready_to_pay(
        &mut self,
        now: Instant,
        slot: u32,
        leg: u16,
    ) -> Result<(Held, Held), (u32, Empty, Held)> {
        let call = &self.calls[slot as usize];
        if call.charged.as_ref().is_some_and(|charged| charged.leg == leg)
            || (call.sends == 0 && call.nth == 1)
        {
            return Ok((Held::NOTHING, Held::NOTHING));
        }
        let gave = self.give_charges(now, slot);
        match self.charge(now, slot, leg) {
            Ok(took) => Ok((took, gave)),
            Err((gate, empty)) => Err((gate, empty, gave)),
        }
    }

    /// Charges a send at `leg` at every gate where it is an extra: all or none. Says which gate had no credit.
    pub(super) fn charge(&mut self, now: Instant, slot: u32, leg: u16) -> Result<Held, (u32, Empty)> {
        if let Some(without) = self.without_room(now, slot, leg) {
            return Err(without);
        }
        let chain = self.chain_at(slot, leg);
        let first = self.first_sends(slot, &chain);
        let mut charged = Charged::nothing(leg, chain);
        for (place, number) in chain.gates().iter().enumerate() {
            if let Some(budget) = &mut self.gates[*number as usize].budget
                && !first[place]
            {
                charged.charges[place] = Some(budget.charge(now));
            }
        }
        self.calls[slot as usize].charged = Some(charged);
        Ok(Held::CHARGE.when(charged.is_paid()))
    }

    /// The first gate where a send at `leg` would be an extra without credit, or would pass those who wait for it.
    fn without_room(&mut self, now: Instant, slot: u32, leg: u16) -> Option<(u32, Empty)> {
        let call = &self.calls[slot as usize];
        // Who stands in one of the lines has a place in all of them.
        let ticket = match call.state {
            State::Saving { .. } => Some(call.ticket),
            _ => None,
        };
        let chain = self.chain_at(slot, leg);
        let first = self.first_sends(slot, &chain);
        for (place, number) in chain.gates().iter().enumerate() {
            let gate = &mut self.gates[*number as usize];
            let Some(budget) = &mut gate.budget else { continue };
            if first[place] {
                continue;
            }
            let empty = budget.room(now).err();
            let behind_others = gate
                .savers
                .head()
                .is_some_and(|head| ticket.is_none_or(|ticket| self.calls[head as usize].ticket < ticket));
            if let Some(empty) = empty.or_else(|| {
                behind_others.then(|| Empty {
                    granted: budget.granted(),
                    allowed: budget.allowed(),
                })
            }) {
                return Some((*number, empty));
            }
        }
        None
    }

    /// Gives back what a send that never happened was charged.
    #[inline]
    pub(super) fn give_charges(&mut self, now: Instant, slot: u32) -> Held {
        // Looked at before it is taken: to take it is to copy it, and nearly always there is nothing.
        if self.calls[slot as usize].charged.is_none() {
            return Held::NOTHING;
        }
        let charged = self.calls[slot as usize].charged.take();
        charged.map_or(Held::NOTHING, |charged| self.give_back(now, &charged))
    }

    /// Gives back charges at the gates that took them.
    #[cold]
    pub(super) fn give_back(&mut self, now: Instant, charged: &Charged) -> Held {
        let mut gave = Held::NOTHING;
        for (charge, number) in charged.charges.iter().zip(charged.chain.gates()) {
            if let (Some(charge), Some(budget)) = (charge, &mut self.gates[*number as usize].budget) {
                budget.give_back(now, *charge);
                gave = Held::CHARGE;
            }
        }
        gave
    }
}
