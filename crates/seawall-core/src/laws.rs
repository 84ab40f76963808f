//! A world that does anything at all to an engine, and checks after every step what must never happen.
//!
//! Fed with bytes, so that property tests and a coverage-guided fuzzer drive the same one. Its [`Book`] keeps plain
//! lists of what was granted, when, and what the server said, and believes nothing that the engine says of itself.

mod book;
mod ramps;
mod rates;
pub mod worlds;

use crate::call::{Candidate, DedupId, Spec};
use crate::engine::Engine;
use crate::facts::Replay;
use crate::gate::{GateId, GateKey};
use crate::latch::CredentialId;
use crate::learned::{Kind, Learned, Word};
use crate::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent, Usage};
use crate::policy::{
    Concurrency, GatePolicy, LongHint, OnEmpty, OnOpen, Policy, PolicyBuilder, Preset, SlowCall,
};
use crate::reason::Reason;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Recording};
use crate::verdict::{Action, CallId, Permit, Role};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use book::{Begun, Book, GATES};

/// Steps of one run: enough to reach every state, few enough to replay by hand.
const STEPS_MAX: usize = 400;
/// Calls alive at once.
const CALLS_MAX: usize = 12;
/// Polls in a row that no engine needs.
const TURNS_MAX: usize = 10_000;

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
    if world.runs_out {
        world.run_out();
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

    fn coin(&mut self) -> bool {
        self.byte() & 1 != 0
    }
}

/// Three upstreams: two with a parent and a quota in common, and one alone.
struct World {
    engine: Engine,
    now: Instant,
    policy: Policy,
    gates: [GateId; GATES],
    calls: Vec<Live>,
    book: Book,
    trace: Vec<Event>,
    /// Whether woken calls are polled at once, as a driver does; only then is there an order to speak of.
    prompt: bool,
    /// Whether the calls run to their ends, or their callers leave.
    runs_out: bool,
}

struct Live {
    id: CallId,
    number: u64,
    permits: Vec<Permit>,
    finish: Option<(Reason, bool, Option<Instant>)>,
}

/// The policy of every upstream, and of every call.
fn upstream_policy(input: &mut Input<'_>) -> Policy {
    let preset = Preset::ALL[input.below(Preset::ALL.len())];
    let (flags, more) = (input.byte(), input.byte());
    let mut builder = PolicyBuilder::from_preset(preset)
        .retries(u32::from(input.byte() % 6))
        .fallbacks(u32::from(more & 3))
        .tries(1 + u32::from(more >> 2 & 3))
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
        })
        .hints_long(if flags & 16 != 0 {
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
    if more & 16 != 0 {
        builder = builder.breaker(None);
    }
    if more & 32 != 0 {
        builder = builder.patience(Duration::from_millis(100));
    }
    if more & 64 != 0 {
        builder = builder
            .requests_per_minute(Some(7))
            .tokens_in_per_minute(Some(4_000));
    }
    if more & 128 != 0 && flags & 1 == 0 {
        builder = builder.concurrency(Concurrency::Auto);
    }
    if more & 3 == 3 {
        let slow = SlowCall {
            over: Duration::from_millis(200),
            per_mille: 500,
        };
        builder = builder.edit_breaker(|b| {
            b.slow_call(Some(slow))
                .ramp(Some(Duration::from_secs(2)))
                .min_calls(4)
        });
    }
    builder
        .build()
        .expect("every policy that the world makes is in range")
}

/// The policy of a gate that others have in common.
fn common_policy(input: &mut Input<'_>) -> GatePolicy {
    let flags = input.byte();
    let on_empty = if flags & 1 != 0 {
        OnEmpty::Wait
    } else {
        OnEmpty::Stop
    };
    let mut builder = Policy::builder()
        .breaker(None)
        .edit_budget(|b| b.ratio_per_mille(500).floor_milli(1_000).on_empty(on_empty))
        .concurrency((flags & 2 != 0).then_some(1 + u32::from(flags >> 2 & 3)));
    if flags & 16 != 0 {
        builder = builder.budget(None);
    }
    if flags & 32 != 0 {
        builder = builder.requests_per_minute(Some(11));
    }
    if flags & 64 != 0 {
        builder = builder
            .tokens_per_minute(Some(5_000))
            .tokens_out_per_minute(Some(900));
    }
    let policy = builder
        .build()
        .expect("every policy that the world makes is in range");
    policy.gate
}

impl World {
    fn new(input: &mut Input<'_>) -> Self {
        let policy = upstream_policy(input);
        let (parent_policy, quota_policy) = (common_policy(input), common_policy(input));
        let mut engine = Engine::new(u64::from(input.byte()), Recording::On);
        let now = Instant::START;
        let mut gate = |key, policy, parents: &[GateId], quota| {
            let gate = engine.configure(now, GateKey(key), policy, parents, quota);
            gate.expect("three gates in a row at the most")
        };
        let parent = gate(0, &parent_policy, &[], None);
        let quota = gate(1, &quota_policy, &[], None);
        let one = gate(2, &policy.gate, &[parent], Some(quota));
        let two = gate(3, &policy.gate, &[parent], Some(quota));
        let alone = gate(4, &policy.gate, &[], None);
        let policies = [parent_policy, quota_policy, policy.gate, policy.gate, policy.gate];
        let prompt = input.coin();
        Self {
            engine,
            now,
            policy,
            gates: [parent, quota, one, two, alone],
            calls: Vec::new(),
            book: Book::new(policies, prompt),
            trace: Vec::new(),
            prompt,
            runs_out: input.coin(),
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
        if self.prompt {
            self.serve();
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
        let (shape, more) = (input.byte(), input.byte());
        let candidate = |place: usize, domain: u32| Candidate {
            credential: (CredentialId(u32::from(shape & 1)), 1),
            honours_keys: more & (1 << place) == 0,
            dedup: DedupId(domain),
            window: if more & (8 << place) == 0 { 0 } else { 1_000 },
            ..Candidate::at(self.gates[2 + place])
        };
        let second = candidate(1, if shape & 2 != 0 { 1 } else { 2 });
        let all = [candidate(0, 1), second, candidate(2, 1)];
        let route = match shape >> 2 & 3 {
            0 => &all[..1],
            1 => &all[..2],
            2 => &all[..],
            _ => &all[1..2],
        };
        let mut spec = Spec::new(self.now, route, &self.policy.call, replay);
        spec.deadline = self.now.after(Duration::from_millis(200 * u64::from(shape)));
        spec.once = more & 192 == 192;
        spec.nth = 1 + u32::from(shape & 96 == 96);
        spec.tokens_in = if more & 192 == 64 { 2_000 } else { 0 };
        spec.tokens_out = if more & 32 == 0 { 0 } else { 300 };
        let id = self.engine.begin(self.now, spec);
        let number = self.book.begin(&Begun {
            route,
            first: if shape >> 2 & 3 == 3 { 1 } else { 0 },
            replay: match replay {
                Replay::Declared if !self.policy.call.declared_counts() => Replay::Unsafe,
                replay => replay,
            },
            policy: self.policy.call,
            deadline: spec.deadline,
            once: spec.once,
            nth: spec.nth,
            tokens_in: spec.tokens_in,
            tokens_out: spec.tokens_out,
        });
        self.calls.push(Live {
            id,
            number,
            permits: Vec::new(),
            finish: None,
        });
        if self.prompt {
            self.poll_call(self.calls.len() - 1);
        }
    }

    fn poll(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        self.poll_call(which);
    }

    fn poll_call(&mut self, which: usize) {
        let Some(call) = self.calls.get(which) else { return };
        let id = call.id;
        let verdict = self.engine.poll(self.now, id);
        self.heard(which, verdict.reason, verdict.action, true);
        // A poll that changes nothing says the same again; only a hedge may be due beside what was just sent.
        let again = self.engine.poll(self.now, id);
        self.heard(which, again.reason, again.action, false);
    }

    fn heard(&mut self, which: usize, reason: Reason, action: Action, first: bool) {
        let call = &mut self.calls[which];
        let ended = call.finish.is_some();
        match action {
            Action::Send(permit) => {
                if !first && permit.role() != Role::Hedge {
                    self.book.break_law("a second poll granted a second permit");
                }
                if call.permits.len() >= 2 {
                    self.book.break_law("more than two attempts of one call are out");
                }
                call.permits.push(permit);
            }
            Action::Finish { unknown, retry_at } => {
                let finish = (reason, unknown, retry_at);
                if *call.finish.get_or_insert(finish) != finish {
                    self.book.break_law("a call was told two ends");
                }
                return;
            }
            Action::Wait(until) | Action::Park { until } if until < self.now => {
                self.book.break_law("a call was told to wait for the past");
            }
            Action::Wait(_) | Action::Park { .. } | Action::InFlight { .. } => {}
        }
        if ended {
            self.book.break_law("a call went on after its end");
        }
    }

    fn take_permit(&mut self, input: &mut Input<'_>) -> Option<(usize, Permit)> {
        let which = input.below(self.calls.len());
        let call = self.calls.get_mut(which)?;
        if call.permits.is_empty() {
            return None;
        }
        let place = input.below(call.permits.len());
        Some((which, call.permits.swap_remove(place)))
    }

    fn settle(&mut self, input: &mut Input<'_>) {
        let Some((which, permit)) = self.take_permit(input) else {
            return;
        };
        self.settle_with(which, permit, report(input));
    }

    fn settle_with(&mut self, which: usize, permit: Permit, report: Report) {
        self.book
            .settled(self.now, self.calls[which].number, &permit, &report);
        self.engine.settle(self.now, permit, report);
        if self.prompt {
            self.poll_call(which);
        }
    }

    fn commit(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        let Some(call) = self.calls.get(which) else { return };
        let word = input.byte();
        let place = usize::from(word) % call.permits.len().max(1);
        if let Some(permit) = call.permits.get(place) {
            if word & 128 != 0 {
                self.engine.head(self.now, permit, &learned(word));
            }
            self.book.committed(call.number);
            self.engine.commit(self.now, permit);
        }
    }

    fn abandon(&mut self, input: &mut Input<'_>) {
        let Some((which, permit)) = self.take_permit(input) else {
            return;
        };
        let sent = [Sent::No, Sent::Maybe][input.below(2)];
        self.book.abandoned(self.calls[which].number, &permit, sent);
        self.engine.abandon(self.now, permit, sent, Usage::NONE);
        if self.prompt {
            self.poll_call(which);
        }
    }

    fn leave(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.calls.len());
        if which >= self.calls.len() {
            return;
        }
        let mut call = self.calls.swap_remove(which);
        // Half of the callers drop what is out first, as a guard does; the others just go.
        if !input.coin() {
            for permit in call.permits.drain(..) {
                self.engine.abandon(self.now, permit, Sent::Maybe, Usage::NONE);
            }
        }
        self.engine.end(self.now, call.id);
        // After the end nothing of it moves anything.
        for permit in call.permits {
            self.engine.commit(self.now, &permit);
            self.engine.settle(self.now, permit, Report::of(Outcome::Answer));
        }
        let stale = self.engine.poll(self.now, call.id);
        if !matches!(stale.action, Action::Finish { .. }) {
            self.book
                .break_law("a call that was ended was told to do something");
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
                if self
                    .engine
                    .woken(self.now.before(Duration::from_secs(1)))
                    .is_some()
                    && self.prompt
                {
                    // Whoever asks who is woken polls them: this one is not told twice.
                    for which in 0..self.calls.len() {
                        self.poll_call(which);
                    }
                }
                return;
            }
        };
        let then = self.now.after(Duration::from_millis(millis));
        // A prompt driver is there when each wake is due.
        while self.prompt && self.engine.next_wake().is_some_and(|at| at <= then) {
            self.wake();
            if self.book.is_broken() {
                return;
            }
        }
        self.now = then;
    }

    fn wake(&mut self) {
        if let Some(at) = self.engine.next_wake() {
            self.now = self.now.max(at);
        }
        self.serve();
    }

    /// Polls all that are woken until nobody is.
    fn serve(&mut self) {
        for _ in 0..TURNS_MAX {
            let Some(id) = self.engine.woken(self.now) else {
                return;
            };
            match self.calls.iter().position(|call| call.id == id) {
                Some(which) => self.poll_call(which),
                None => self.book.break_law("a call was woken that is not there"),
            }
        }
        self.book.break_law("a wake that never ends");
    }

    /// From here the world is a driver: attempts end, time passes, and who is woken is polled. Nobody may be left.
    fn run_out(&mut self) {
        for which in 0..self.calls.len() {
            self.poll_call(which);
        }
        for _ in 0..TURNS_MAX {
            self.serve();
            let out = self.calls.iter().position(|call| !call.permits.is_empty());
            if let Some(which) = out {
                let permit = self.calls[which].permits.remove(0);
                let outcome = Outcome::Failed {
                    cause: Cause::Status,
                    sent: Sent::NotDone,
                    hint: None,
                };
                self.settle_with(which, permit, Report::of(outcome));
                self.poll_call(which);
            } else if let Some(at) = self.engine.next_wake() {
                self.now = self.now.max(at);
            } else {
                break;
            }
            if self.book.is_broken() {
                return;
            }
        }
        if self.calls.iter().any(|call| call.finish.is_none()) {
            self.book
                .break_law("a call that nobody wakes any more has no end");
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

    fn verify(&mut self) -> Result<(), String> {
        let events: Vec<Event> = self.engine.drain().collect();
        for event in events {
            self.trace.push(event);
            self.book.verify(&event);
        }
        let load = |gate: usize| self.engine.load(self.gates[gate]);
        let held = |gate: usize| u64::from(load(gate).in_flight);
        if held(2) + held(3) + held(4) != self.engine.permits_out()
            || held(2) + held(3) != held(0)
            || held(0) != held(1)
        {
            self.book.break_law("in flight is not what is out");
        }
        for gate in 0..GATES {
            let load = load(gate);
            if let Some(most) = self.book.concurrency(gate)
                && load.in_flight + load.promised > most
            {
                let law = format!("more than {most} places are taken at gate {gate}: {load:?}");
                self.book.break_law(&law);
            }
        }
        match self.book.broken() {
            None => Ok(()),
            Some(law) => Err(format!("{law}\n{}", self.story())),
        }
    }

    /// Once every call has ended nothing may be held, and in a while every upstream is tried again.
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
        self.now = self.now.after(Duration::from_secs(2 * 86_400));
        for gate in &self.gates[2..] {
            let route = [Candidate::at(*gate)];
            let spec = Spec::new(self.now, &route, &self.policy.call, Replay::Idempotent);
            let call = self.engine.begin(self.now, spec);
            if !matches!(self.engine.poll(self.now, call).action, Action::Send(_)) {
                return Err(format!("gate {gate:?} is closed for good\n{}", self.story()));
            }
            self.engine.end(self.now, call);
        }
        Ok(())
    }

    fn story(&self) -> String {
        let from = self.trace.len().saturating_sub(60);
        let lines = self.trace[from..].iter().map(ToString::to_string);
        lines.map(|line| line + "\n").collect()
    }
}

fn learned(word: u8) -> Learned {
    let told = Word {
        limit: (word & 64 != 0).then_some(5),
        remaining: u64::from(word & 3),
        resets_in: (word & 32 != 0).then(|| Duration::from_secs(1 + u64::from(word >> 2 & 7))),
    };
    Learned::NOTHING.with(Kind::Requests, told)
}

fn report(input: &mut Input<'_>) -> Report {
    let first = input.byte();
    let wait = Duration::from_millis(u64::from(first) * 97);
    let usage = if first & 3 == 0 {
        Usage::NONE
    } else {
        Usage {
            tokens_in: u64::from(first) * 10,
            tokens_out: u64::from(first),
        }
    };
    let bits = input.byte();
    let hint = (bits & 1 != 0).then_some(Hint {
        wait,
        cools: bits & 2 != 0,
        source: HintSource::RetryAfter,
    });
    let sent = [Sent::No, Sent::NotDone, Sent::Maybe][usize::from(bits >> 2) % 3];
    let outcome = match input.below(11) {
        0 | 1 => Outcome::Answer,
        2 => {
            Outcome::Refused([Refusal::Caller, Refusal::QuotaSpent, Refusal::ContextTooLong][input.below(3)])
        }
        3 | 4 => Outcome::Throttled { hint },
        5 => Outcome::Denied {
            latches: bits & 16 != 0,
        },
        6 => Outcome::Failed {
            cause: Cause::Request,
            sent: Sent::No,
            hint: None,
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
        usage,
        resent: bits & 32 != 0,
        earlier: [Sent::No, Sent::Maybe][usize::from(bits & 32 != 0)],
        first_byte: None,
    }
}

#[cfg(test)]
mod tests;
