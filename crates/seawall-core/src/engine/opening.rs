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
use alloc::vec::Vec;

/// How a call began.
#[derive(Debug)]
#[must_use = "a call that began is settled or ended"]
pub enum Opened {
    /// Its first attempt is sent, for the reason `first` and within these limits, and it has no seat yet.
    Sent(Opening, Limits),
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

/// Names a call whose first attempt is out, and of which nothing else is known. Like a permit it is leave to send that
/// attempt: not Clone, and given back by [`settle_opening`](Engine::settle_opening), [`seat`](Engine::seat) or
/// [`drop_opening`](Engine::drop_opening).
#[derive(Debug)]
#[must_use = "an opening holds places until it is given back"]
pub struct Opening(u32);

/// What is known of it. It stays where it is written, and only its name goes around: to copy it is what it would cost.
#[derive(Debug)]
struct Known {
    number: u64,
    began: Instant,
    gate: GateId,
    credential: (CredentialId, u32),
    chain: Chain,
    /// By place in the chain: when its breaker let the attempt through.
    epochs: [Epoch; CHAIN_MAX],
    stage: Stage,
}

/// All that are out.
#[derive(Debug, Default)]
pub(super) struct Openings {
    all: Vec<Known>,
    free: Vec<u32>,
}

impl Known {
    /// A place for one.
    const NOTHING: Self = Self {
        number: 0,
        began: Instant::START,
        gate: GateId { number: 0, life: 0 },
        credential: (CredentialId::NONE, 0),
        chain: Chain::of(0),
        epochs: [Epoch::START; CHAIN_MAX],
        stage: Stage::Flying,
    };
}

impl Openings {
    pub(super) const fn out(&self) -> usize {
        self.all.len() - self.free.len()
    }

    #[cold]
    fn another(&mut self, known: Known) -> Opening {
        let place = u32::try_from(self.all.len()).expect("calls are counted in 32 bits");
        self.all.push(known);
        Opening(place)
    }

    #[inline]
    fn known(&self, opening: &Opening) -> &Known {
        &self.all[opening.0 as usize]
    }
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
    const fn pass(self, epoch: Epoch, began: Instant) -> Option<Pass> {
        match self {
            Self::Flying => Some(Pass::plain(epoch, began)),
            Self::Committed => None,
        }
    }
}

impl Engine {
    /// Begins a call and asks what to do with it: [`begin`](Self::begin) and [`poll`](Self::poll) in one, without a
    /// seat where none is needed.
    // Always inlined, with what it calls: what it returns is large, and would be copied while it is still being written.
    #[inline(always)]
    pub fn open(&mut self, now: Instant, spec: &Spec<'_>) -> Opened {
        let now = self.advance(now);
        if let [only] = spec.route
            && self.is_sent_at_once(now, spec, only)
        {
            let opening = self.send_first(now, spec, only);
            return Opened::Sent(opening, spec.limits(now));
        }
        let call = self.begin(now, *spec);
        Opened::Seated(call, self.poll(now, call))
    }

    /// Whether nothing stands in the way of the call's first attempt, and nothing can happen before that has landed.
    #[inline(always)]
    fn is_sent_at_once(&self, now: Instant, spec: &Spec<'_>, only: &Candidate) -> bool {
        spec.nth <= 1
            && spec.policy.hedge.is_none()
            && now < spec.deadline
            && !self.draining
            && spec.fits(only)
            && self.takes_calls(only.gate)
            && self.is_calm(now, only)
    }

    #[inline(always)]
    fn send_first(&mut self, now: Instant, spec: &Spec<'_>, only: &Candidate) -> Opening {
        self.begun += 1;
        self.attempts += 1;
        self.permits_out += 1;
        let replay = spec.replay_taken();
        let Self {
            gates,
            openings,
            begun,
            ..
        } = self;
        let opening = match openings.free.pop() {
            Some(place) => Opening(place),
            None => openings.another(Known::NOTHING),
        };
        let known = &mut openings.all[opening.0 as usize];
        known.number = *begun;
        known.began = now;
        known.gate = only.gate;
        known.credential = only.credential;
        known.stage = Stage::Flying;
        known.chain = gates[only.gate.number as usize].chain;
        for (epoch, number) in known.epochs.iter_mut().zip(known.chain.gates()) {
            *epoch = gates[*number as usize].let_first_in(now, replay);
        }
        gates[only.gate.number as usize].visits += 1;
        self.record_opening(&opening, What::Sent(Reason::First), Held::PLACE, Held::NOTHING);
        opening
    }

    /// When the call of an opening began.
    pub fn began(&self, opening: &Opening) -> Instant {
        self.openings.known(opening).began
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
            Outcome::Answer => Settled::Answered(self.answer_opening(now, opening, &report)),
            Outcome::Refused(_)
            | Outcome::Throttled { .. }
            | Outcome::Failed { .. }
            | Outcome::Denied { .. } => {
                let spec = spec(self.began(&opening));
                let permit = self.seat(opening, &spec);
                let call = permit.call();
                self.settle(now, permit, report);
                Settled::Seated(call, self.poll(now, call))
            }
        }
    }

    /// The attempt of an opening has brought the answer of its call, which is over: [`settle_opening`](Self::settle_opening)
    /// for whoever knows that. The outcome in `report` is an answer.
    #[inline]
    pub fn answer_opening(&mut self, now: Instant, opening: Opening, report: &Report) -> Ended {
        let now = self.advance(now);
        self.permits_out -= 1;
        let Self {
            gates,
            rng,
            trace,
            openings,
            latches,
            ..
        } = self;
        let known = &openings.all[opening.0 as usize];
        for (number, epoch) in known.chain.gates().iter().zip(&known.epochs) {
            let gate = &mut gates[*number as usize];
            if known.stage == Stage::Flying && gate.goes_by_time() {
                let took = report.first_byte_in(now.since(known.began));
                let in_flight = gate.limiter.in_flight();
                gate.came(now, known.began, took, in_flight, rng);
            }
            gate.leave(now, true);
            let mut pass = known.stage.pass(*epoch, known.began);
            gate.judge(now, &mut pass, Evidence::Success, rng, trace);
            gate.limiter.succeeded();
            gate.limiter.answered();
        }
        latches.accepted(known.credential);
        gates[known.chain.quota() as usize].cooldown.answered();
        let gate = known.gate;
        if report.resent {
            self.record_opening(&opening, What::Resent, Held::NOTHING, Held::NOTHING);
        }
        self.record_opening(&opening, What::Met(report.outcome), Held::NOTHING, Held::PLACE);
        self.pump_opening(now, &opening);
        let finished = What::Finished(Reason::Succeeded, false);
        self.record_opening(&opening, finished, Held::NOTHING, Held::NOTHING);
        self.unvisit(gate);
        self.give_up(opening);
        Ended {
            unknown: false,
            sends: 1,
        }
    }

    /// The place of an opening is free again.
    #[inline]
    fn give_up(&mut self, Opening(place): Opening) {
        self.openings.free.push(place);
        self.debug_check();
    }

    /// Pumps each gate of an opening's chain that somebody waits at, the outermost first.
    #[inline]
    fn pump_opening(&mut self, now: Instant, opening: &Opening) {
        for place in (0..self.openings.known(opening).chain.gates().len()).rev() {
            self.pump(now, self.openings.known(opening).chain.gates()[place]);
        }
    }

    /// As [`commit`](Self::commit).
    pub fn commit_opening(&mut self, now: Instant, opening: &Opening) {
        let now = self.advance(now);
        let Self {
            gates,
            rng,
            trace,
            openings,
            latches,
            ..
        } = self;
        let known = &mut openings.all[opening.0 as usize];
        if known.stage == Stage::Committed {
            return;
        }
        for (number, epoch) in known.chain.gates().iter().zip(&known.epochs) {
            let gate = &mut gates[*number as usize];
            if gate.goes_by_time() {
                let in_flight = gate.limiter.in_flight();
                gate.came(now, known.began, now.since(known.began), in_flight, rng);
            }
            let mut pass = known.stage.pass(*epoch, known.began);
            gate.judge(now, &mut pass, Evidence::Success, rng, trace);
        }
        known.stage = Stage::Committed;
        latches.accepted(known.credential);
        gates[known.chain.quota() as usize].cooldown.answered();
        self.record_opening(opening, What::Committed, Held::NOTHING, Held::NOTHING);
        self.pump_opening(now, opening);
    }

    /// As [`head`](Self::head).
    pub fn head_opening(&mut self, now: Instant, opening: &Opening, learned: &Learned) {
        let now = self.advance(now);
        let quota = self.openings.known(opening).chain.quota();
        self.learn_at(now, quota, &Sight::NONE, Cost::NOTHING, learned);
    }

    /// As [`renew`](Self::renew).
    pub fn renew_opening(&mut self, now: Instant, opening: &Opening, version: u32) {
        self.advance(now);
        let credential = &mut self.openings.all[opening.0 as usize].credential;
        credential.1 = credential.1.max(version);
        self.latches.renewed(*credential);
    }

    /// Gives the call a seat, as if it had had one from its begin: for whatever comes before its attempt has landed.
    /// `spec` is the call's, told when it began.
    pub fn seat(&mut self, opening: Opening, spec: &Spec<'_>) -> Permit {
        let known = self.openings.known(&opening);
        let (began, number) = (known.began, known.number);
        let slot = self.take_seat(began, number, spec);
        let Self {
            calls,
            gates,
            openings,
            ..
        } = self;
        let known = openings.known(&opening);
        let call = &mut calls[slot as usize];
        (call.home, call.at) = (0, 0);
        call.count_send(0);
        let attempt = call.put_out(began, 0, Role::First, &known.chain);
        attempt.original_at = [true; CHAIN_MAX];
        let passed = known.chain.gates().iter().zip(known.epochs);
        for (pass, (number, epoch)) in attempt.passes.iter_mut().zip(passed) {
            let has_breaker = gates[*number as usize].breaker.is_some();
            *pass = known.stage.pass(epoch, known.began).filter(|_| has_breaker);
        }
        call.legs[0].candidate.credential = known.credential;
        match known.stage {
            Stage::Flying => {}
            Stage::Committed => {
                call.committed = Some(1);
                call.state = State::Streaming;
            }
        }
        let permit = Permit {
            call: CallId {
                slot,
                generation: call.generation,
            },
            attempt: 1,
            candidate: 0,
            role: Role::First,
            limits: spec.limits(began),
        };
        self.give_up(opening);
        permit
    }

    /// The caller left while its first attempt was out: what it held goes back, and the call is over. `sent` is as
    /// for [`abandon`](Self::abandon).
    pub fn drop_opening(&mut self, now: Instant, opening: Opening, sent: Sent) {
        let now = self.advance(now);
        self.permits_out -= 1;
        let Self { gates, openings, .. } = self;
        let known = openings.known(&opening);
        if known.stage == Stage::Flying && sent == Sent::Maybe {
            let given = now.since(known.began);
            gates[known.chain.own() as usize].waited_in_vain(now, given);
        }
        for (number, epoch) in known.chain.gates().iter().zip(known.epochs) {
            let gate = &mut gates[*number as usize];
            gate.leave(now, true);
            if let (Some(breaker), Some(pass)) = (&mut gate.breaker, known.stage.pass(epoch, known.began)) {
                breaker.release(now, pass);
            }
        }
        let gate = known.gate;
        self.record_opening(&opening, What::Abandoned(sent), Held::NOTHING, Held::PLACE);
        self.pump_opening(now, &opening);
        self.record_opening(&opening, What::Left, Held::NOTHING, Held::NOTHING);
        self.unvisit(gate);
        self.give_up(opening);
    }

    #[inline]
    fn record_opening(&mut self, opening: &Opening, what: What, took: Held, gave: Held) {
        if !self.trace.is_on() {
            return;
        }
        self.trace.push(Event {
            at: self.now,
            call: self.openings.known(opening).number,
            attempt: 1,
            candidate: 0,
            what,
            took,
            gave,
        });
    }
}
