//! Promises of the engine that need more gates, or more exact moments, than a trace script has words for.

mod credit;
mod moves;
mod opening;
mod order;
mod places;
mod rates;
mod registry;
mod times;
mod traps;
mod words;

use super::*;
use crate::call::Candidate;
use crate::facts::Replay;
use crate::gate::{GateId, GateKey};
use crate::outcome::{Hint, HintSource, Outcome, Report};
use crate::policy::{Jitter, Mode, PolicyBuilder};
use crate::time::Duration;
use crate::verdict::Permit;
use alloc::string::{String, ToString};

/// More turns than any world here needs: a loop that goes on is a hang.
const TURNS_MAX: u32 = 10_000;

/// An engine, a clock and everybody who waits.
struct Desk {
    engine: Engine,
    now: Instant,
    policy: Policy,
    keys: u64,
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Calls without jitter at gates with neither breaker nor budget.
fn plain() -> PolicyBuilder {
    Policy::builder().jitter(Jitter::None).breaker(None).budget(None)
}

fn failed(status: u16, sent: Sent) -> Report {
    let cause = crate::outcome::Cause::Status;
    let outcome = Outcome::Failed {
        cause,
        sent,
        hint: None,
    };
    Report {
        status,
        ..Report::of(outcome)
    }
}

fn throttled(wait: Duration) -> Report {
    let hint = Hint {
        wait,
        cools: true,
        source: HintSource::RetryAfter,
    };
    Report {
        status: 429,
        ..Report::of(Outcome::Throttled { hint: Some(hint) })
    }
}

impl Desk {
    fn new(policy: PolicyBuilder) -> Self {
        Self {
            engine: Engine::new(1, Recording::On),
            now: Instant::START,
            policy: policy.build().expect("a policy in range"),
            keys: 0,
        }
    }

    fn gate(&mut self, policy: PolicyBuilder, parents: &[GateId]) -> GateId {
        self.gate_of_quota(policy, parents, None)
    }

    fn gate_of_quota(&mut self, policy: PolicyBuilder, parents: &[GateId], quota: Option<GateId>) -> GateId {
        let key = GateKey(self.keys);
        self.keys += 1;
        let policy = policy.build().expect("a policy in range").gate;
        self.engine
            .configure(self.now, key, &policy, parents, quota)
            .expect("few gates")
    }

    fn spec<'a>(now: Instant, policy: &'a Policy, route: &'a [Candidate]) -> Spec<'a> {
        Spec::new(now, route, &policy.call, Replay::Idempotent)
    }

    fn begin(&mut self, route: &[Candidate]) -> CallId {
        self.engine
            .begin(self.now, Self::spec(self.now, &self.policy, route))
    }

    fn begin_as(&mut self, route: &[Candidate], edit: impl FnOnce(&mut Spec<'_>)) -> CallId {
        let mut spec = Self::spec(self.now, &self.policy, route);
        edit(&mut spec);
        self.engine.begin(self.now, spec)
    }

    fn poll(&mut self, call: CallId) -> Verdict {
        self.engine.poll(self.now, call)
    }

    /// The permit that this call is granted now.
    #[track_caller]
    fn sent(&mut self, call: CallId) -> Permit {
        match self.poll(call) {
            Verdict {
                action: Action::Send(permit),
                ..
            } => permit,
            other => panic!("not sent: {other:?}"),
        }
    }

    /// The code of what this call is told, which is no permit.
    #[track_caller]
    fn told(&mut self, call: CallId) -> &'static str {
        let verdict = self.poll(call);
        assert!(!matches!(verdict.action, Action::Send(_)), "sent: {verdict:?}");
        verdict.reason.code()
    }

    fn settle(&mut self, permit: Permit, report: Report) {
        self.engine.settle(self.now, permit, report);
    }

    fn answer(&mut self, permit: Permit) {
        self.settle(permit, Report::of(Outcome::Answer));
    }

    fn pass(&mut self, length: Duration) {
        self.now = self.now.after(length);
    }

    /// Polls all that are woken until nobody is; gives the permits that were granted, in order.
    #[track_caller]
    fn serve(&mut self) -> Vec<Permit> {
        let mut permits = Vec::new();
        for _ in 0..TURNS_MAX {
            let Some(call) = self.engine.woken(self.now) else {
                return permits;
            };
            if let Action::Send(permit) = self.engine.poll(self.now, call).action {
                permits.push(permit);
            }
        }
        panic!("calls wake each other without end");
    }
}

fn codes(engine: &mut Engine) -> Vec<String> {
    engine.drain().map(|event| event.to_string()).collect()
}

#[test]
fn draining_ends_what_waits_and_lets_what_is_out_end() {
    // Could break if a queued call went on waiting for a place that nobody may use any more.
    let policy = PolicyBuilder::from_preset(Preset::Default)
        .concurrency(Some(1))
        .build()
        .unwrap();
    let mut engine = Engine::new(1, Recording::On);
    let now = Instant::START;
    let gate = engine
        .configure(now, GateKey(1), &policy.gate, &[], None)
        .unwrap();
    let route = [Candidate::at(gate)];
    let begin =
        |engine: &mut Engine| engine.begin(now, Spec::new(now, &route, &policy.call, Replay::Idempotent));
    let (out, queued) = (begin(&mut engine), begin(&mut engine));
    let Action::Send(permit) = engine.poll(now, out).action else {
        panic!("the gate is empty")
    };
    assert!(matches!(engine.poll(now, queued).action, Action::Park { .. }));
    engine.drain_calls(now);
    assert_eq!(engine.woken(now), Some(queued));
    assert_eq!(engine.poll(now, queued).reason, Reason::Draining);
    let late = begin(&mut engine);
    assert_eq!(engine.poll(now, late).reason, Reason::Draining);
    let now = now + Duration::from_millis(5);
    engine.settle(now, permit, Report::of(Outcome::Answer));
    assert_eq!(engine.poll(now, out).reason, Reason::Succeeded);
    for call in [out, queued, late] {
        engine.end(now, call);
    }
    assert_eq!(engine.load(gate).in_flight, 0);
    assert_eq!(codes(&mut engine).len(), 6);
}

#[test]
fn draining_sends_no_hedge_beside_what_is_out() {
    // Could break if the hedge of an attempt that was out before is taken for part of it.
    let mut desk = Desk::new(plain().hedge_after(ms(10)));
    let gate = desk.gate(plain(), &[]);
    let call = desk.begin(&[Candidate::at(gate)]);
    let permit = desk.sent(call);
    desk.engine.drain_calls(desk.now);
    desk.pass(ms(20));
    assert_eq!(desk.told(call), "first");
    desk.answer(permit);
    assert_eq!(desk.told(call), "succeeded");
}

#[test]
fn a_clock_that_goes_back_makes_no_wait_shorter() {
    // Could break if each step believes the time it is told: a wait that began "earlier" ends earlier (A1).
    let mut desk = Desk::new(plain().backoff_base(ms(100)));
    let route = [Candidate::at(desk.gate(plain(), &[]))];
    desk.pass(Duration::from_secs(10));
    let call = desk.begin(&route);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    let before = Instant::START.after(Duration::from_secs(5));
    assert_eq!(desk.engine.poll(before, call).reason.code(), "backing-off");
    desk.pass(ms(99));
    assert_eq!(desk.told(call), "backing-off");
    desk.pass(ms(1));
    drop(desk.sent(call));
}

#[test]
fn nothing_is_sent_at_the_deadline_or_after() {
    // Could break if only waits look at the deadline, and a driver that comes late is let go (F1).
    for (late, told) in [
        (0, None),
        (1, Some("deadline-passed")),
        (2_000, Some("deadline-passed")),
    ] {
        let mut desk = Desk::new(plain());
        let route = [Candidate::at(desk.gate(plain(), &[]))];
        let call = desk.begin_as(&route, |spec| {
            spec.deadline = Instant::START.after(Duration::from_secs(3));
        });
        desk.pass(ms(2_999 + late));
        match told {
            None => drop(desk.sent(call)),
            Some(code) => assert_eq!(desk.told(call), code),
        }
    }
}
