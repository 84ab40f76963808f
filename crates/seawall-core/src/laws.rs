//! A world that does anything at all to an engine, and checks after every step what must never happen.
//!
//! Fed with bytes, so that property tests and a coverage-guided fuzzer drive the same one. It keeps its own plain
//! lists of what was granted, when, and what the server said, and believes nothing that the engine says of itself.

use crate::call::{Candidate, DedupId, Spec};
use crate::engine::Engine;
use crate::facts::Replay;
use crate::gate::{GateId, GateKey};
use crate::latch::CredentialId;
use crate::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent, Usage};
use crate::policy::{GatePolicy, LongHint, OnEmpty, OnOpen, Policy, Preset};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Held, Recording, What};
use crate::verdict::{Action, CallId, Permit, Role};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Steps of one run: enough to reach every state, few enough to replay by hand.
const STEPS_MAX: usize = 400;
/// Calls alive at once.
const CALLS_MAX: usize = 12;

/// Does what `bytes` say, and says which law broke.
///
/// # Errors
/// The law that broke, with the trace up to there.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let mut input = Input(bytes);
    let mut world = World::new(&mut input);
    for _ in 0..STEPS_MAX {
        if input.0.is_empty() {
            break;
        }
        world.step(&mut input);
        world.verify()?;
    }
    world.end_all();
    world.verify()?;
    world.at_rest()
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }
}

struct World {
    engine: Engine,
    now: Instant,
    policy: Policy,
    gates: [GateId; 3],
    parent_policy: GatePolicy,
    calls: Vec<Live>,
    known: BTreeMap<u64, Known>,
    extras: [Vec<Instant>; 3],
    originals: [Vec<Instant>; 3],
    trace: Vec<Event>,
    broken: Option<String>,
}

struct Live {
    id: CallId,
    number: u64,
    permits: Vec<Permit>,
}

/// What the world knows of a call by itself.
struct Known {
    replay: Replay,
    deadline: Instant,
    sends: u32,
    visited: [bool; 3],
    /// Attempts that are out, and the gates where each is an original.
    out: BTreeMap<u32, Flown>,
    /// What its next send was charged.
    pending: Option<Extra>,
    domains: [DedupId; 2],
    acted_in: Option<DedupId>,
    committed: bool,
    finished: bool,
    not_before: [Instant; 2],
}

/// An attempt that is out: the gates where it is an original, and what it was charged.
struct Flown {
    original_at: [bool; 3],
    charge: Option<Extra>,
}

/// One extra: when it was charged, and at which gates.
#[derive(Clone, Copy)]
struct Extra {
    at: Instant,
    gates: [bool; 3],
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let preset = Preset::ALL[input.below(Preset::ALL.len())];
        let flags = input.byte();
        let mut builder = crate::policy::PolicyBuilder::from_preset(preset)
            .retries(u32::from(input.byte() % 6))
            .concurrency((flags & 1 != 0).then_some(1 + u32::from(input.byte() % 3)))
            .queue(u32::from(input.byte() % 5))
            .edit_budget(|b| b.ratio_per_mille(u32::from(flags) * 4).floor_milli(400))
            .edit_breaker(|b| {
                b.consecutive(2)
                    .probes(1 + u32::from(flags & 3))
                    .on_open(if flags & 8 != 0 {
                        OnOpen::Wait
                    } else {
                        OnOpen::Fail
                    })
            });
        builder = builder.hints_long(if flags & 16 != 0 {
            LongHint::Clamp
        } else {
            LongHint::Stop
        });
        if flags & 32 != 0 {
            builder = builder.hedge_after(Duration::from_millis(50));
        }
        if flags & 64 != 0 {
            builder = builder.edit_budget(|b| b.on_empty(OnEmpty::Wait));
        }
        let policy = builder
            .build()
            .expect("every policy that the world makes is in range");
        let mut engine = Engine::new(u64::from(input.byte()), Recording::On);
        let now = Instant::START;
        let parent_policy = Policy::builder()
            .breaker(None)
            .edit_budget(|b| b.ratio_per_mille(500).floor_milli(1_000))
            .build()
            .expect("the parent's policy is in range")
            .gate;
        let parent = engine
            .configure(now, GateKey(0), &parent_policy, &[], None)
            .expect("one gate");
        let one = engine
            .configure(now, GateKey(1), &policy.gate, &[parent], None)
            .expect("two gates");
        let two = engine
            .configure(now, GateKey(2), &policy.gate, &[parent], None)
            .expect("two gates");
        Self {
            engine,
            now,
            policy,
            gates: [parent, one, two],
            parent_policy,
            calls: Vec::new(),
            known: BTreeMap::new(),
            extras: Default::default(),
            originals: Default::default(),
            trace: Vec::new(),
            broken: None,
        }
    }

    fn step(&mut self, input: &mut Input<'_>) {
        match input.below(12) {
            0 | 1 => self.begin(input),
            2..=4 => self.poll(input),
            5 | 6 => self.settle(input),
            7 => self.commit(input),
            8 => self.abandon(input),
            9 => self.leave(input),
            10 => self.pass_time(input),
            _ => self.wake(),
        }
    }

    fn begin(&mut self, input: &mut Input<'_>) {
        if self.calls.len() >= CALLS_MAX {
            return;
        }
        let replay = [
            Replay::Idempotent,
            Replay::Keyed,
            Replay::Declared,
            Replay::Unsafe,
        ][input.below(4)];
        let shape = input.byte();
        let candidate = |gate: GateId, domain: u32| Candidate {
            credential: (CredentialId(u32::from(shape & 1)), 1),
            honours_keys: true,
            dedup: DedupId(domain),
            ..Candidate::at(gate)
        };
        let second = candidate(self.gates[2], if shape & 2 != 0 { 1 } else { 2 });
        let both = [candidate(self.gates[1], 1), second];
        let route = if shape & 4 != 0 { &both[..] } else { &both[..1] };
        let mut spec = Spec::new(self.now, route, &self.policy.call, replay);
        spec.deadline = self.now.after(Duration::from_millis(200 * u64::from(shape)));
        spec.once = shape & 24 == 24;
        spec.nth = 1 + u32::from(shape & 96 == 96);
        let id = self.engine.begin(self.now, spec);
        let number = self.known.len() as u64 + 1;
        let effective = match replay {
            Replay::Declared if !self.policy.call.declared_counts() => Replay::Unsafe,
            replay => replay,
        };
        let visited = [spec.nth > 1; 3];
        self.known.insert(
            number,
            Known {
                replay: effective,
                deadline: spec.deadline,
                sends: 0,
                visited,
                out: BTreeMap::new(),
                pending: None,
                domains: [both[0].dedup, both[1].dedup],
                acted_in: None,
                committed: false,
                finished: false,
                not_before: [Instant::START; 2],
            },
        );
        self.calls.push(Live {
            id,
            number,
            permits: Vec::new(),
        });
    }

    fn poll(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        self.poll_call(which);
    }

    fn poll_call(&mut self, which: usize) {
        let Some(call) = self.calls.get_mut(which) else {
            return;
        };
        if let Action::Send(permit) = self.engine.poll(self.now, call.id).action {
            let call = &mut self.calls[which];
            if call.permits.len() >= 2 {
                self.break_law("more than two attempts of one call are out");
                return;
            }
            call.permits.push(permit);
        }
        // A poll that changes nothing says the same again.
        let again = self.engine.poll(self.now, self.calls[which].id);
        if let Action::Send(permit) = again.action {
            if permit.role() != Role::Hedge {
                self.break_law("a second poll granted a second permit");
            }
            self.calls[which].permits.push(permit);
        }
    }

    fn take_permit(&mut self, input: &mut Input<'_>) -> Option<(u64, Permit)> {
        let which = input.below(self.calls.len());
        let call = self.calls.get_mut(which)?;
        if call.permits.is_empty() {
            return None;
        }
        let place = input.below(call.permits.len());
        Some((call.number, call.permits.swap_remove(place)))
    }

    fn settle(&mut self, input: &mut Input<'_>) {
        let Some((number, permit)) = self.take_permit(input) else {
            return;
        };
        let report = report(input);
        let known = self.known.get_mut(&number).expect("every call is known");
        let domain = known.domains[permit.candidate()];
        let acted = match report.outcome {
            Outcome::Failed { sent, .. } => sent == Sent::Maybe,
            Outcome::Answer | Outcome::Refused(_) | Outcome::Denied { .. } | Outcome::Throttled { .. } => {
                false
            }
        };
        if acted && known.acted_in.is_none() {
            known.acted_in = Some(domain);
        }
        if let Some(hint) = report.outcome.hint()
            && self.policy.call.hints().long() == LongHint::Stop
        {
            let at = &mut known.not_before[permit.candidate()];
            *at = (*at).max(self.now.after(hint.wait));
        }
        self.engine.settle(self.now, permit, report);
    }

    fn commit(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        let Some(call) = self.calls.get(which) else { return };
        if let Some(permit) = call.permits.first() {
            self.engine.commit(self.now, permit);
        }
    }

    fn abandon(&mut self, input: &mut Input<'_>) {
        let Some((number, permit)) = self.take_permit(input) else {
            return;
        };
        let sent = [Sent::No, Sent::Maybe][input.below(2)];
        let known = self.known.get_mut(&number).expect("every call is known");
        if sent == Sent::Maybe && known.acted_in.is_none() {
            known.acted_in = Some(known.domains[permit.candidate()]);
        }
        self.engine.abandon(self.now, permit, sent, Usage::NONE);
    }

    fn leave(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        if which >= self.calls.len() {
            return;
        }
        let mut call = self.calls.swap_remove(which);
        // Half of the callers drop what is out first, as a guard does; the others just go.
        if input.byte() & 1 == 0 {
            for permit in call.permits.drain(..) {
                self.engine.abandon(self.now, permit, Sent::Maybe, Usage::NONE);
            }
        }
        self.engine.end(self.now, call.id);
        // After the end nothing of it moves anything.
        for permit in call.permits {
            self.engine.settle(self.now, permit, Report::of(Outcome::Answer));
        }
        let stale = self.engine.poll(self.now, call.id);
        if !matches!(stale.action, Action::Finish { .. }) {
            self.break_law("a call that was ended was told to do something");
        }
    }

    fn pass_time(&mut self, input: &mut Input<'_>) {
        let kind = input.byte();
        let millis = match kind & 3 {
            0 => u64::from(kind),
            1 => u64::from(kind) * 20,
            2 => u64::from(kind) * 500,
            // Back, which the engine takes for no time at all.
            _ => {
                self.engine.woken(self.now.before(Duration::from_secs(1)));
                return;
            }
        };
        self.now = self.now.after(Duration::from_millis(millis));
    }

    fn wake(&mut self) {
        if let Some(at) = self.engine.next_wake() {
            self.now = self.now.max(at);
        }
        let mut asked = 0;
        while let Some(id) = self.engine.woken(self.now) {
            asked += 1;
            if asked > 10_000 {
                self.break_law("a wake that never ends");
                return;
            }
            if let Some(which) = self.calls.iter().position(|call| call.id == id) {
                self.poll_call(which);
            } else {
                self.break_law("a call was woken that is not there");
            }
        }
    }

    fn end_all(&mut self) {
        for mut call in core::mem::take(&mut self.calls) {
            for permit in call.permits.drain(..) {
                self.engine.abandon(self.now, permit, Sent::No, Usage::NONE);
            }
            self.engine.end(self.now, call.id);
        }
    }

    fn break_law(&mut self, law: &str) {
        self.broken.get_or_insert_with(|| law.to_string());
    }

    fn verify(&mut self) -> Result<(), String> {
        let events: Vec<Event> = self.engine.drain().collect();
        for event in events {
            self.trace.push(event);
            self.verify_event(&event);
        }
        let places: u32 = self.gates[1..]
            .iter()
            .map(|gate| self.engine.load(*gate).in_flight)
            .sum();
        if u64::from(places) != self.engine.permits_out()
            || places != self.engine.load(self.gates[0]).in_flight
        {
            self.break_law("in flight is not what is out");
        }
        if let Some(limit) = self.policy.gate.limits().concurrency() {
            for gate in &self.gates[1..] {
                let load = self.engine.load(*gate);
                if load.in_flight + load.promised > limit {
                    self.broken
                        .get_or_insert_with(|| format!("more than {limit} places are taken: {load:?}"));
                }
            }
        }
        match self.broken.take() {
            None => Ok(()),
            Some(law) => Err(format!("{law}\n{}", self.story())),
        }
    }

    fn verify_event(&mut self, event: &Event) {
        match event.what {
            What::Sent(_) => self.verify_send(event),
            What::Waits(_, until) => {
                if event.took.has(Held::CHARGE) {
                    self.count_extra(event);
                }
                let known = self.known.get(&event.call).expect("every call is known");
                if until > known.deadline.max(event.at) {
                    self.break_law("a wait ends past the deadline");
                }
            }
            What::Committed => {
                self.known
                    .get_mut(&event.call)
                    .expect("every call is known")
                    .committed = true
            }
            What::Finished(..) => {
                self.uncount_pending(event);
                let known = self.known.get_mut(&event.call).expect("every call is known");
                if core::mem::replace(&mut known.finished, true) {
                    self.break_law("a call ended twice");
                }
            }
            What::Met(_) | What::Abandoned(_) => {
                let known = self.known.get_mut(&event.call).expect("every call is known");
                match known.out.remove(&event.attempt) {
                    Some(flown) => {
                        self.count_original(event.at, flown.original_at);
                        if event.gave.has(Held::CHARGE) {
                            self.uncount_extra(flown.charge);
                        }
                    }
                    None => self.break_law("an attempt ended that was not out"),
                }
            }
            What::Left => {
                let known = self.known.get_mut(&event.call).expect("every call is known");
                for flown in core::mem::take(&mut known.out).into_values() {
                    self.count_original(event.at, flown.original_at);
                }
                self.uncount_pending(event);
            }
            What::Resent | What::Breaker(..) | What::Cooling(..) | What::Latched(..) => {}
            What::Lost(_) => self.break_law("an event was lost"),
        }
    }

    fn verify_send(&mut self, event: &Event) {
        self.uncount_pending(event);
        if event.took.has(Held::CHARGE) {
            self.count_extra(event);
        }
        let retries = self.policy.call.retries();
        let throttled_counts = self.policy.call.throttled_counts();
        let fallbacks = self.policy.call.fallbacks();
        let known = self.known.get_mut(&event.call).expect("every call is known");
        let domain = known.domains[usize::from(event.candidate)];
        let mut law = None;
        if known.committed {
            law = Some("a call was sent again after its commit");
        }
        if known.finished {
            law = Some("a call was sent after its end");
        }
        match (known.acted_in, known.replay) {
            (Some(_), Replay::Unsafe) => law = Some("an unsafe write that may have acted was sent again"),
            (Some(acted), Replay::Keyed) if acted != domain => {
                law = Some("a keyed write crossed into another dedup domain");
            }
            _ => {}
        }
        if event.at > known.deadline {
            law = Some("an attempt began after the deadline");
        }
        if event.at < known.not_before[usize::from(event.candidate)] {
            law = Some("an attempt began before the server's stated time");
        }
        known.sends += 1;
        if throttled_counts && known.sends > 1 + retries + fallbacks {
            law = Some("more sends than 1 + retries + fallbacks");
        }
        let gate = usize::from(event.candidate) + 1;
        let mut original_at = [false; 3];
        for gate in [0, gate] {
            original_at[gate] = !core::mem::replace(&mut known.visited[gate], true);
        }
        let charge = known.pending.take();
        known.out.insert(event.attempt, Flown { original_at, charge });
        if let Some(law) = law {
            self.break_law(law);
        }
    }

    /// Which gates an extra of this event was charged at: those that the call had visited.
    fn charged_gates(&self, event: &Event) -> [bool; 3] {
        let known = self.known.get(&event.call).expect("every call is known");
        let own = usize::from(event.candidate) + 1;
        let mut gates = [false; 3];
        gates[0] = known.visited[0];
        gates[own] = known.visited[own];
        gates
    }

    fn count_extra(&mut self, event: &Event) {
        let gates = self.charged_gates(event);
        for (gate, charged) in gates.into_iter().enumerate() {
            if !charged {
                continue;
            }
            self.extras[gate].push(event.at);
            let policy = if gate == 0 {
                self.parent_policy
            } else {
                self.policy.gate
            };
            let Some(budget) = policy.budget() else { continue };
            let from = event.at.before(budget.window());
            let within = |times: &Vec<Instant>, from: Instant| {
                times.iter().filter(|at| **at >= from && **at <= event.at).count() as u128
            };
            let starts = event.at.as_nanos() >= budget.window().as_nanos();
            let granted = within(
                &self.extras[gate],
                if starts {
                    from.after(Duration::from_nanos(1))
                } else {
                    from
                },
            );
            let originals = within(&self.originals[gate], from);
            let floor =
                u128::from(budget.floor_milli()) * u128::from(budget.window().as_nanos()) / 1_000_000_000;
            if granted * 1_000 > floor + u128::from(budget.ratio_per_mille()) * originals {
                let law = format!("gate {gate} granted {granted} extras for {originals} originals");
                self.break_law(&law);
            }
        }
        let known = self.known.get_mut(&event.call).expect("every call is known");
        known.pending = Some(Extra { at: event.at, gates });
    }

    /// What the call's next send was charged went back, where this event says so.
    fn uncount_pending(&mut self, event: &Event) {
        if event.gave.has(Held::CHARGE) {
            let known = self.known.get_mut(&event.call).expect("every call is known");
            let pending = known.pending.take();
            self.uncount_extra(pending);
        }
    }

    fn uncount_extra(&mut self, extra: Option<Extra>) {
        let Some(extra) = extra else {
            self.break_law("a charge was given back that was never taken");
            return;
        };
        for (gate, charged) in extra.gates.into_iter().enumerate() {
            if charged && let Some(place) = self.extras[gate].iter().position(|at| *at == extra.at) {
                self.extras[gate].remove(place);
            }
        }
    }

    fn count_original(&mut self, at: Instant, original_at: [bool; 3]) {
        for (gate, original) in original_at.into_iter().enumerate() {
            if original {
                self.originals[gate].push(at);
            }
        }
    }

    /// Once every call has ended nothing may be held.
    fn at_rest(&mut self) -> Result<(), String> {
        for gate in self.gates {
            let load = self.engine.load(gate);
            if (load.in_flight, load.promised, load.queued, load.saving) != (0, 0, 0, 0) {
                return Err(format!("something is still held: {load:?}\n{}", self.story()));
            }
        }
        if self.engine.permits_out() != 0 || self.engine.calls_alive() != 0 {
            return Err(format!("a call or permit is left\n{}", self.story()));
        }
        Ok(())
    }

    fn story(&self) -> String {
        let from = self.trace.len().saturating_sub(60);
        self.trace[from..]
            .iter()
            .map(|event| format!("{event}\n"))
            .collect()
    }
}

fn report(input: &mut Input<'_>) -> Report {
    let wait = Duration::from_millis(u64::from(input.byte()) * 97);
    let bits = input.byte();
    let hint = (bits & 1 != 0).then_some(Hint {
        wait,
        cools: bits & 2 != 0,
        source: HintSource::RetryAfter,
    });
    let sent = [Sent::No, Sent::NotDone, Sent::Maybe][usize::from(bits >> 2) % 3];
    let outcome = match input.below(10) {
        0 | 1 => Outcome::Answer,
        2 => {
            Outcome::Refused([Refusal::Caller, Refusal::QuotaSpent, Refusal::ContextTooLong][input.below(3)])
        }
        3 | 4 => Outcome::Throttled { hint },
        5 => Outcome::Denied {
            latches: bits & 16 != 0,
        },
        _ => Outcome::Failed {
            cause: Cause::Status,
            sent,
            hint,
        },
    };
    let should_retry = [None, None, Some(true), Some(false)][usize::from(bits >> 6)];
    Report {
        outcome,
        status: 503,
        should_retry,
        usage: Usage::NONE,
        resent: bits & 32 != 0,
    }
}

#[cfg(test)]
mod tests;
