//! A call's opening: its begin and its first attempt, before it has a seat in the table of calls.
//!
//! Nearly every call is sent at once and answered, and nothing of it is ever asked again; to fill a seat for it, and
//! to clear it, is most of what it costs. So a call at a calm gate is sent without one, and gets it when something
//! happens that a seat is for. What can go wrong is that the two ways differ: a test drives both through the same
//! random worlds and compares the traces byte for byte.

use super::Engine;
use crate::breaker::{Epoch, Evidence, Pass};
use crate::call::{Candidate, Spec, State};
use crate::gate::{CHAIN_MAX, Chain, GateId};
use crate::latch::CredentialId;
use crate::learned::{Learned, Sight};
use crate::outcome::{Outcome, Report, Sent};
use crate::rate::Cost;
use crate::reason::Reason;
use crate::time::Instant;
use crate::trace::{Event, Held, What};
use crate::verdict::{CallId, Ended, Limits, Permit, Role, Verdict};

/// How a call began.
#[derive(Debug)]
#[must_use = "a call that began is settled or ended"]
pub enum Opened {
    /// Its first attempt is sent, for the reason `first`, and it has no seat yet.
    Sent(Opening),
    /// It has a seat, and this is what to do.
    Seated(CallId, Verdict),
}

/// How a call went on after its opening.
#[derive(Debug)]
#[must_use = "a call that goes on is ended"]
pub enum Settled {
    /// It was answered, and is over, for the reason `succeeded`.
    Answered(Ended),
    /// It has a seat now, and this is what to do.
    Seated(CallId, Verdict),
}

/// A call whose first attempt is out, and of which nothing else is known. Like a permit it is leave to send that
/// attempt: not Clone, and given back by [`settle_opening`](Engine::settle_opening), [`seat`](Engine::seat) or
/// [`drop_opening`](Engine::drop_opening).
#[derive(Debug)]
#[must_use = "an opening holds places until it is given back"]
pub struct Opening {
    number: u64,
    began: Instant,
    gate: GateId,
    credential: (CredentialId, u32),
    chain: Chain,
    /// By place in the chain: when its breaker let the attempt through.
    epochs: [Epoch; CHAIN_MAX],
    limits: Limits,
    stage: Stage,
}

/// How far the attempt of an opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Flying,
    /// Its first content was handed on, and its health is judged.
    Committed,
}

impl Stage {
    /// What the attempt's breaker is still to be told of it.
    const fn pass(self, epoch: Epoch) -> Option<Pass> {
        match self {
            Self::Flying => Some(Pass::plain(epoch)),
            Self::Committed => None,
        }
    }
}

impl Opening {
    /// When the call began.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// The attempt's limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl Engine {
    /// Begins a call and asks what to do with it: [`begin`](Self::begin) and [`poll`](Self::poll) in one, without a
    /// seat where none is needed.
    #[inline]
    pub fn open(&mut self, now: Instant, spec: &Spec<'_>) -> Opened {
        let now = self.advance(now);
        if let [only] = spec.route
            && self.is_sent_at_once(now, spec, only)
        {
            return Opened::Sent(self.send_first(now, spec, only));
        }
        let call = self.begin(now, *spec);
        Opened::Seated(call, self.poll(now, call))
    }

    /// Whether nothing stands in the way of the call's first attempt, and nothing can happen before that has landed.
    #[inline]
    fn is_sent_at_once(&self, now: Instant, spec: &Spec<'_>, only: &Candidate) -> bool {
        spec.nth <= 1
            && spec.policy.hedge.is_none()
            && now < spec.deadline
            && !self.draining
            && spec.fits(only)
            && self.takes_calls(only.gate)
            && self.is_calm(now, only)
    }

    #[inline]
    fn send_first(&mut self, now: Instant, spec: &Spec<'_>, only: &Candidate) -> Opening {
        self.begun += 1;
        self.attempts += 1;
        self.permits_out += 1;
        self.openings += 1;
        let replay = spec.replay_taken();
        let chain = self.chain(only.gate.number);
        let mut epochs = [Epoch::default(); CHAIN_MAX];
        for (epoch, number) in epochs.iter_mut().zip(chain.gates()) {
            *epoch = self.gates[*number as usize].let_first_in(now, replay);
        }
        self.gates[only.gate.number as usize].visits += 1;
        let opening = Opening {
            number: self.begun,
            began: now,
            gate: only.gate,
            credential: only.credential,
            chain,
            epochs,
            limits: spec.policy.limits_for(spec.endpoint, now, spec.deadline),
            stage: Stage::Flying,
        };
        self.record_opening(&opening, What::Sent(Reason::First), Held::PLACE, Held::NOTHING);
        opening
    }

    /// The attempt of an opening has met something: settles it and asks what to do. `spec` is the call's, told when it
    /// began; it is asked for only where the call goes on.
    #[inline]
    pub fn settle_opening<'s>(
        &mut self,
        now: Instant,
        opening: Opening,
        report: Report,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Settled {
        match report.outcome {
            Outcome::Answer => Settled::Answered(self.answered_first(now, &opening, &report)),
            Outcome::Refused(_)
            | Outcome::Throttled { .. }
            | Outcome::Failed { .. }
            | Outcome::Denied { .. } => {
                let spec = spec(opening.began);
                let permit = self.seat(opening, &spec);
                let call = permit.call();
                self.settle(now, permit, report);
                Settled::Seated(call, self.poll(now, call))
            }
        }
    }

    #[inline]
    fn answered_first(&mut self, now: Instant, opening: &Opening, report: &Report) -> Ended {
        let now = self.advance(now);
        self.permits_out -= 1;
        self.openings -= 1;
        let Self {
            gates, rng, trace, ..
        } = self;
        for (number, epoch) in opening.chain.gates().iter().zip(&opening.epochs) {
            let gate = &mut gates[*number as usize];
            gate.leave(now, true);
            let mut pass = opening.stage.pass(*epoch);
            let (_, transition) = gate.judge(now, &mut pass, Evidence::Success, rng);
            if let Some(transition) = transition {
                trace.push(Event::of_gate(now, What::Breaker(*number, transition)));
            }
            gate.limiter.succeeded();
            gate.limiter.answered();
        }
        if report.resent {
            self.record_opening(opening, What::Resent, Held::NOTHING, Held::NOTHING);
        }
        self.record_opening(opening, What::Met(report.outcome), Held::NOTHING, Held::PLACE);
        self.latches.accepted(opening.credential);
        self.gates[opening.chain.quota() as usize].cooldown.answered();
        self.pump_chain(now, &opening.chain);
        self.debug_check();
        let finished = What::Finished(Reason::Succeeded, false);
        self.record_opening(opening, finished, Held::NOTHING, Held::NOTHING);
        self.unvisit(opening.gate);
        Ended {
            unknown: false,
            sends: 1,
        }
    }

    /// As [`commit`](Self::commit).
    pub fn commit_opening(&mut self, now: Instant, opening: &mut Opening) {
        let now = self.advance(now);
        if opening.stage == Stage::Committed {
            return;
        }
        let Self {
            gates, rng, trace, ..
        } = self;
        for (number, epoch) in opening.chain.gates().iter().zip(&opening.epochs) {
            let mut pass = opening.stage.pass(*epoch);
            let (_, transition) = gates[*number as usize].judge(now, &mut pass, Evidence::Success, rng);
            if let Some(transition) = transition {
                trace.push(Event::of_gate(now, What::Breaker(*number, transition)));
            }
        }
        opening.stage = Stage::Committed;
        self.latches.accepted(opening.credential);
        self.gates[opening.chain.quota() as usize].cooldown.answered();
        self.record_opening(opening, What::Committed, Held::NOTHING, Held::NOTHING);
        self.pump_chain(now, &opening.chain);
    }

    /// As [`head`](Self::head).
    pub fn head_opening(&mut self, now: Instant, opening: &Opening, learned: &Learned) {
        let now = self.advance(now);
        self.learn_at(now, opening.chain.quota(), &Sight::NONE, Cost::NOTHING, learned);
    }

    /// As [`renew`](Self::renew).
    pub fn renew_opening(&mut self, now: Instant, opening: &mut Opening, version: u32) {
        self.advance(now);
        let credential = &mut opening.credential;
        credential.1 = credential.1.max(version);
        self.latches.renewed(*credential);
    }

    /// Gives the call a seat, as if it had had one from its begin: for whatever comes before its attempt has landed.
    /// `spec` is the call's, told when it began.
    pub fn seat(&mut self, opening: Opening, spec: &Spec<'_>) -> Permit {
        self.openings -= 1;
        let slot = self.take_seat(opening.began, opening.number, spec);
        let call = &mut self.calls[slot as usize];
        (call.home, call.at) = (0, 0);
        call.count_send(0);
        let attempt = call.put_out(opening.began, 0, Role::First, &opening.chain);
        attempt.original_at = [true; CHAIN_MAX];
        let gates = opening.chain.gates().iter();
        for ((pass, number), epoch) in attempt.passes.iter_mut().zip(gates).zip(opening.epochs) {
            let has_breaker = self.gates[*number as usize].breaker.is_some();
            *pass = opening.stage.pass(epoch).filter(|_| has_breaker);
        }
        let leg = &mut call.legs[0];
        leg.candidate.credential = opening.credential;
        match opening.stage {
            Stage::Flying => {}
            Stage::Committed => {
                call.committed = Some(1);
                call.state = State::Streaming;
            }
        }
        Permit {
            call: self.id(slot),
            attempt: 1,
            candidate: 0,
            role: Role::First,
            limits: opening.limits,
        }
    }

    /// The caller left while its first attempt was out: what it held goes back, and the call is over. `sent` is as
    /// for [`abandon`](Self::abandon).
    pub fn drop_opening(&mut self, now: Instant, opening: Opening, sent: Sent) {
        let now = self.advance(now);
        self.permits_out -= 1;
        self.openings -= 1;
        for (number, epoch) in opening.chain.gates().iter().zip(opening.epochs) {
            let gate = &mut self.gates[*number as usize];
            gate.leave(now, true);
            if let (Some(breaker), Some(pass)) = (&mut gate.breaker, opening.stage.pass(epoch)) {
                breaker.release(now, pass);
            }
        }
        self.record_opening(&opening, What::Abandoned(sent), Held::NOTHING, Held::PLACE);
        self.pump_chain(now, &opening.chain);
        self.debug_check();
        self.record_opening(&opening, What::Left, Held::NOTHING, Held::NOTHING);
        self.unvisit(opening.gate);
    }

    #[inline]
    fn record_opening(&mut self, opening: &Opening, what: What, took: Held, gave: Held) {
        if !self.trace.is_on() {
            return;
        }
        self.trace.push(Event {
            at: self.now,
            call: opening.number,
            attempt: 1,
            candidate: 0,
            what,
            took,
            gave,
        });
    }
}
