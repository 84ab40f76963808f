//! How an attempt ends: what it gives back, what its gates learn, and what its call has met.

use super::Engine;
use crate::breaker::Evidence;
use crate::call::{Call, Met, State};
use crate::cooldown::Cooled;
use crate::gate::Chain;
use crate::outcome::{Cause, Outcome, Report, Sent, Usage};
use crate::rate::{used, used_before_drop};
use crate::time::Instant;
use crate::trace::{Held, What};
use crate::verdict::Permit;

impl Engine {
    /// The attempt's first content was accepted by the caller: its health is judged now, a hedge has lost, and from
    /// here the call is not sent again. The place stays taken until the last byte.
    pub fn commit(&mut self, now: Instant, permit: &Permit) {
        let now = self.advance(now);
        let Some((slot, place)) = self.find(permit) else {
            return;
        };
        let name = (permit.attempt, permit.candidate);
        let call = &mut self.calls[slot as usize];
        if call.committed.is_some() || !matches!(call.state, State::Flying) {
            return;
        }
        call.committed = Some(permit.attempt);
        call.state = State::Streaming;
        self.agenda.disarm(slot);
        if self.calls[slot as usize].attempts_out() > 1 {
            // Its driver is to be told which attempt has lost.
            self.agenda.make_ready(slot);
        }
        self.first_content(now, slot, place);
        let (chain, gave) = self.judge_health(now, slot, place);
        self.learn_accepted(slot, permit.candidate, &chain);
        self.record_attempt(slot, name, What::Committed, gave);
        self.pump_chain(now, &chain);
        self.debug_check();
    }

    /// The attempt goes out with this version of its candidate's credential: what it meets from here speaks of that one,
    /// and what older versions met is forgotten (rules D6 and H9). Say so before it is sent, wherever the version is not
    /// the one that the call began with. An older version than is known changes nothing.
    pub fn renew(&mut self, now: Instant, permit: &Permit, version: u32) {
        self.advance(now);
        let Some((slot, _)) = self.find(permit) else {
            return;
        };
        let leg = &mut self.calls[slot as usize].legs[usize::from(permit.candidate)];
        let credential = &mut leg.candidate.credential;
        credential.1 = credential.1.max(version);
        self.latches.renewed(*credential);
    }

    /// The attempt is over, by its last byte or by failing. Records; `poll` says what follows.
    pub fn settle(&mut self, now: Instant, permit: Permit, report: Report) {
        let now = self.advance(now);
        let Some((slot, place)) = self.find(&permit) else {
            return;
        };
        let name @ (number, leg) = (permit.attempt, permit.candidate);
        self.permits_out -= 1;
        let began = self.calls[slot as usize].out[place].began;
        let first_byte = match self.calls[slot as usize].committed {
            Some(committed) if committed == number => FirstByte::Told,
            Some(_) | None => FirstByte::Open,
        };
        let (chain, gave) = self.land(now, slot, place, &report);
        if report.resent {
            self.record_attempt(slot, name, What::Resent, Held::NOTHING);
        }
        self.record_attempt(slot, name, What::Met(report.outcome), gave);
        self.learn(now, slot, (leg, began, first_byte), &chain, &report);
        self.remember(now, slot, (number, leg), &report);
        self.pump_chain(now, &chain);
        self.debug_check();
    }

    /// The attempt was dropped: its places go back, and it is no evidence of anything. `sent` says whether the server
    /// may have acted; one that never left gives its charge back too. `usage` is what it is known to have used.
    pub fn abandon(&mut self, now: Instant, permit: Permit, sent: Sent, usage: Usage) {
        let now = self.advance(now);
        let Some((slot, place)) = self.find(&permit) else {
            return;
        };
        let name = (permit.attempt, permit.candidate);
        let gave = self.drop_attempt(now, slot, place, sent, usage);
        self.record_attempt(slot, name, What::Abandoned(sent), gave);
        let call = &mut self.calls[slot as usize];
        let was_committed = call.committed == Some(name.0);
        match call.state {
            State::Streaming if was_committed => {
                call.met = None;
                call.state = State::Settled;
            }
            State::Flying if call.attempts_out() == 0 => {
                if !call.met_this_round {
                    call.met = None;
                }
                call.state = State::Settled;
                self.agenda.disarm(slot);
            }
            _ => {}
        }
        self.debug_check();
    }

    /// Gives back what a dropped attempt held.
    pub(super) fn drop_attempt(
        &mut self,
        now: Instant,
        slot: u32,
        place: usize,
        sent: Sent,
        usage: Usage,
    ) -> Held {
        self.permits_out -= 1;
        let Self { calls, gates, .. } = self;
        let call = &mut calls[slot as usize];
        let attempt = &mut call.out[place];
        let (chain, leg) = (attempt.chain, attempt.leg);
        if call.committed != Some(attempt.number) && sent == Sent::Maybe {
            // It lost, or its caller left: it would have taken longer.
            let given = now.since(attempt.began);
            gates[chain.own() as usize].waited_in_vain(now, given);
        }
        let mut gave = Held::PLACE;
        for (index, number) in chain.gates().iter().enumerate() {
            let gate = &mut gates[*number as usize];
            gate.leave(now, attempt.original_at[index]);
            if let (Some(pass), Some(breaker)) = (attempt.passes[index].take(), &mut gate.breaker) {
                gave = gave.and(Held::PROBE.when(pass.is_probe()));
                breaker.release(now, pass);
            }
        }
        let (charged, reserved) = (attempt.charged.take(), attempt.reserved.take());
        attempt.come_back();
        gave = gave.and(self.settle_reserved(now, reserved, |cost| used_before_drop(sent, usage, cost)));
        match sent {
            Sent::No => {
                if let Some(charged) = charged {
                    gave = gave.and(self.give_back(now, &charged));
                }
            }
            Sent::NotDone => {}
            Sent::Maybe | Sent::Done => {
                let call = &mut self.calls[slot as usize];
                call.acted_in = Some(call.legs[usize::from(leg)].candidate.dedup);
            }
        }
        self.pump_chain(now, &chain);
        gave
    }

    /// Gives back the places of an attempt that has met something, counts it as an original where it was one
    /// (rule G2), and tells the breakers.
    fn land(&mut self, now: Instant, slot: u32, place: usize, report: &Report) -> (Chain, Held) {
        let Self {
            calls,
            gates,
            rng,
            trace,
            ..
        } = self;
        let attempt = &mut calls[slot as usize].out[place];
        let (chain, evidence) = (attempt.chain, evidence(report));
        let was_sent = report.was_sent();
        let mut gave = Held::PLACE;
        for (index, number) in chain.gates().iter().enumerate() {
            let gate = &mut gates[*number as usize];
            gate.leave(now, attempt.original_at[index] && was_sent);
            gave = gave.and(gate.judge(now, &mut attempt.passes[index], evidence, rng, trace));
        }
        let reserved = attempt.reserved.take();
        attempt.come_back();
        gave = gave.and(self.settle_reserved(now, reserved, |cost| used(report, cost)));
        (chain, gave)
    }

    /// Tells the breakers that the attempt's first content was accepted; they are told once per attempt.
    fn judge_health(&mut self, now: Instant, slot: u32, place: usize) -> (Chain, Held) {
        let Self {
            calls,
            gates,
            rng,
            trace,
            ..
        } = self;
        let attempt = &mut calls[slot as usize].out[place];
        let mut gave = Held::NOTHING;
        for (number, pass) in attempt.chain.gates().iter().zip(&mut attempt.passes) {
            let gate = &mut gates[*number as usize];
            gave = gave.and(gate.judge(now, pass, Evidence::Success, rng, trace));
        }
        (attempt.chain, gave)
    }

    /// The attempt's first content came, which is a stream's first byte (rules I3 and J1).
    fn first_content(&mut self, now: Instant, slot: u32, place: usize) {
        let Self {
            calls, gates, rng, ..
        } = self;
        let attempt = &calls[slot as usize].out[place];
        let (began, took) = (attempt.began, now.since(attempt.began));
        for number in attempt.chain.gates() {
            let gate = &mut gates[*number as usize];
            if gate.goes_by_time() {
                let in_flight = gate.limiter.in_flight();
                gate.came(now, began, took, in_flight, rng);
            }
        }
    }

    /// What cool-down, squeeze and credential learn from the outcome (rules C6 and H9).
    fn learn(
        &mut self,
        now: Instant,
        slot: u32,
        (leg, began, first_byte): (u16, Instant, FirstByte),
        chain: &Chain,
        report: &Report,
    ) {
        self.learn_load(now, (began, first_byte), chain, report);
        match report.outcome {
            Outcome::Answer | Outcome::Refused(_) => self.learn_accepted(slot, leg, chain),
            Outcome::Denied { latches } => {
                let credential = self.calls[slot as usize].legs[usize::from(leg)]
                    .candidate
                    .credential;
                if latches && let Some(until) = self.latches.denied(now, credential) {
                    self.record_gate(What::Latched(credential.0.0, until));
                }
            }
            Outcome::Throttled { hint } | Outcome::Failed { hint, .. } => {
                let call = &self.calls[slot as usize];
                let (hints, backoff) = (call.policy.hints, call.policy.backoff);
                let quota = chain.quota();
                let gate = &mut self.gates[quota as usize];
                let before = gate.cooldown.not_before();
                let cooled = match (hint, report.outcome) {
                    (Some(hint), _) if hint.cools => gate.cooldown.hint(now, hint.wait, &hints),
                    (None, Outcome::Throttled { .. }) => gate.cooldown.silent(now, began, &backoff),
                    (Some(_) | None, _) => Cooled::Not,
                };
                match cooled {
                    Cooled::Began => {
                        // The attempt that was throttled has given its place back already; it was in flight too.
                        gate.limiter.halve(gate.limiter.in_flight() + 1);
                        let until = gate.cooldown.not_before();
                        self.record_gate(What::Cooling(quota, until));
                    }
                    Cooled::WentOn | Cooled::Not => {}
                }
                if self.gates[quota as usize].cooldown.not_before() > before {
                    self.tell_line(now, quota);
                }
            }
        }
    }

    /// What limits learn from the outcome of an attempt that has given its places back: those that find themselves (rule
    /// I3), what a throttle squeezed (rule C6), and how long a first byte takes (rule J1), where that is `first_byte`'s to
    /// say.
    #[inline]
    fn learn_load(
        &mut self,
        now: Instant,
        (began, first_byte): (Instant, FirstByte),
        chain: &Chain,
        report: &Report,
    ) {
        let Self { gates, rng, .. } = self;
        for number in chain.gates() {
            let gate = &mut gates[*number as usize];
            match report.outcome {
                Outcome::Answer => {
                    gate.limiter.succeeded();
                    gate.limiter.answered();
                    if first_byte == FirstByte::Open && gate.goes_by_time() {
                        let took = report.first_byte_in(now.since(began));
                        let in_flight = gate.limiter.in_flight() + 1;
                        gate.came(now, began, took, in_flight, rng);
                    }
                }
                Outcome::Refused(_) => gate.limiter.answered(),
                Outcome::Denied { .. } if report.was_sent() => gate.limiter.answered(),
                Outcome::Throttled { .. }
                | Outcome::Failed {
                    cause: Cause::Timeout,
                    ..
                } => gate.limiter.overloaded(now, began),
                Outcome::Denied { .. } | Outcome::Failed { .. } => {}
            }
        }
        if let Outcome::Failed {
            cause: Cause::Timeout,
            ..
        } = report.outcome
            && first_byte == FirstByte::Open
        {
            gates[chain.own() as usize].waited_in_vain(now, now.since(began));
        }
    }

    /// Wakes those in gate `number`'s queue for whom it cools longer than they would wait (rule C6).
    fn tell_line(&mut self, now: Instant, number: u32) {
        let cooling = self.gates[number as usize].cooldown.left(now);
        let mut next = self.gates[number as usize].queue.head();
        while let Some(slot) = next {
            next = self.gates[number as usize].queue.behind(&self.links, slot);
            let call = &self.calls[slot as usize];
            if call.is_outlasted_by(now, cooling) {
                self.agenda.make_ready(slot);
            }
        }
    }

    /// The server took the credential and did not throttle.
    fn learn_accepted(&mut self, slot: u32, leg: u16, chain: &Chain) {
        let credential = self.calls[slot as usize].legs[usize::from(leg)]
            .candidate
            .credential;
        self.latches.accepted(credential);
        self.gates[chain.quota() as usize].cooldown.answered();
    }

    /// What the call has met by this outcome, and where it stands now.
    fn remember(&mut self, now: Instant, slot: u32, (number, leg): (u32, u16), report: &Report) {
        let call = &mut self.calls[slot as usize];
        let lost = match (call.state, call.committed) {
            (State::Flying | State::Streaming, Some(committed)) => committed != number,
            (State::Flying, None) => false,
            _ => true,
        };
        if report.outcome.sent() == Sent::Maybe || report.earlier == Sent::Maybe {
            call.acted_in = Some(call.legs[usize::from(leg)].candidate.dedup);
        }
        if lost {
            return;
        }
        // The committed one has decided; any other is merged with what its round has met before.
        match &mut call.met {
            Some(earlier) if call.met_this_round && call.committed.is_none() => {
                *earlier = earlier.merged(Met::of(now, report));
            }
            met => *met = Some(Met::of(now, report)),
        }
        call.met_this_round = true;
        let answered = matches!(report.outcome, Outcome::Answer);
        if answered || call.committed.is_some() || call.attempts_out() == 0 {
            call.state = State::Settled;
            self.agenda.disarm(slot);
        }
    }

    /// The slot and place of an attempt that is still out.
    pub(super) fn find(&self, permit: &Permit) -> Option<(u32, usize)> {
        let slot = self.slot(permit.call)?;
        let mut out = self.calls[slot as usize].out.iter();
        let place = out.position(|attempt| attempt.number == permit.attempt)?;
        Some((slot, place))
    }

    /// Law: what the gates hold is what the permits that are out hold.
    pub(super) fn debug_check(&self) {
        if cfg!(debug_assertions) {
            let out: usize = self.calls.iter().map(Call::attempts_out).sum();
            debug_assert_eq!(
                (out + self.openings.out()) as u64,
                self.permits_out,
                "in flight is what is out"
            );
            let reserved: usize = self.calls.iter().map(Call::reservations).sum();
            debug_assert_eq!(reserved, self.reserved.out(), "what is reserved is somebody's");
        }
    }
}

/// What an outcome says of an upstream's health (rule H2).
const fn evidence(report: &Report) -> Evidence {
    match report.outcome {
        _ if !report.was_sent() => Evidence::Neutral,
        Outcome::Answer => Evidence::Success,
        // About one request, not about the upstream.
        Outcome::Failed { .. } if matches!(report.status, 409 | 421 | 425) => Evidence::Answered,
        Outcome::Failed { .. } => Evidence::Failure,
        Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. } => Evidence::Answered,
    }
}

/// Whether the gates have heard how long an attempt's first byte took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstByte {
    /// Not yet.
    Open,
    /// At its commit.
    Told,
}
