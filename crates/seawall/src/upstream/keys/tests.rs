use super::*;
use crate::crank::CrankedClock;
use crate::hub::{CallGuard, Others, Step, Told};
use crate::upstream::{Upstream, UpstreamBuilder};
use seawall_core::call::Spec;
use seawall_core::facts::Replay;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::{Mode, Policy, PolicyError};
use seawall_core::time::Duration;

fn upstream(clock: &CrankedClock, with: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder) -> Upstream {
    let builder = Upstream::builder("http://h").unwrap().seed(1);
    with(builder.clock(Arc::new(clock.clone()))).build().unwrap()
}

/// Begins a call at its gate, without a socket.
fn begin(upstream: &Upstream) -> (CallGuard<'_>, Told<'_>) {
    let (route, policy) = ([upstream.candidate()], upstream.call_policy());
    upstream
        .hub()
        .begin(|now| Spec::new(now, &route, &policy, Replay::Idempotent))
}

/// Makes one call at its gate, which meets this; says why it ended.
fn call(upstream: &Upstream, outcome: Outcome) -> &'static str {
    let (mut call, told) = begin(upstream);
    let Step::Send(leave) = told.step else {
        return told.reason.code();
    };
    let told = call.settle_and_poll(leave, Report::of(outcome), Others::None);
    told.reason.code()
}

const BROKEN: Outcome = Outcome::Failed {
    cause: Cause::Status,
    sent: Sent::Maybe,
    hint: None,
};

fn gates(upstream: &Upstream) -> usize {
    upstream.hub().with(|engine, _| engine.gates_alive())
}

#[test]
fn ten_thousand_keys_need_no_more_gates_than_were_agreed() {
    // Broken if a gate for each key that ever was stayed, in the engine or in the map of keys; or if a key without a
    // gate were refused.
    let clock = CrankedClock::new();
    let upstream = upstream(&clock, |builder| builder.keys_max(100));
    for nth in 0..10_000 {
        let one = upstream.keyed(&format!("customer-{nth}"));
        assert_eq!(call(&one, Outcome::Answer), "succeeded");
        drop(one);
        clock.advance(Duration::from_secs(1));
        assert!(gates(&upstream) <= 101, "{nth}");
        assert!(upstream.state().keys.kept <= 100, "{nth}");
    }
    assert_eq!(
        upstream.state().keys.without_gate,
        0,
        "what is 30 s old knows nothing any more"
    );
}

#[test]
fn a_key_that_finds_no_room_passes_the_upstreams_gate_alone() {
    // Broken if a handle's gate were taken from it for another, or if the new key were refused or unbounded.
    let clock = CrankedClock::new();
    let policy = Policy::builder().concurrency(2).build().unwrap();
    let upstream = upstream(&clock, |builder| builder.keys_max(3).policy(policy));
    let kept: Vec<Upstream> = (0..3).map(|nth| upstream.keyed(&nth.to_string())).collect();
    let fourth = upstream.keyed("fourth");
    let state = fourth.state();
    assert!(!state.key.unwrap().has_gate);
    assert_eq!((state.keys.kept, state.keys.without_gate), (3, 1));
    assert_eq!(gates(&upstream), 4);
    assert_eq!(call(&fourth, Outcome::Answer), "succeeded");
    assert_eq!(fourth.force(Mode::Open), Err(PolicyError::GateGone));
    assert_eq!(fourth.configure(&policy), Err(PolicyError::GateGone));
    // The upstream's own limit holds for it.
    let (one, two) = (begin(&fourth), begin(&kept[0]));
    assert!(matches!(one.1.step, Step::Send(_)) && matches!(two.1.step, Step::Send(_)));
    assert_eq!(begin(&fourth).1.reason.code(), "queued");
    drop((one, two));
    // A minute later the third is a gate like a new one, and its handle is gone.
    clock.advance(Duration::from_secs(60));
    drop(kept);
    assert!(upstream.keyed("fourth").state().key.unwrap().has_gate);
    let nobody = super::tests::upstream(&clock, |builder| builder.keys_max(0)).keyed("any");
    assert_eq!(call(&nobody, Outcome::Answer), "succeeded");
}

#[test]
fn a_key_finds_its_gate_again_with_what_it_knows() {
    // Broken if the last handle took the gate with it: a customer's outage would be forgotten between two calls.
    let clock = CrankedClock::new();
    let upstream = upstream(&clock, |builder| builder.keys_max(2));
    let failing = upstream.keyed("failing");
    assert!(Arc::ptr_eq(&failing.shared, &upstream.shared));
    failing.force(Mode::Open).unwrap();
    assert_eq!(call(&failing, Outcome::Answer), "breaker-open");
    drop(failing);
    // Two others, in a place for one: the open gate stays whoever asks.
    for key in ["a", "b"] {
        drop(upstream.keyed(key));
    }
    assert_eq!(call(&upstream.keyed("failing"), Outcome::Answer), "breaker-open");
    assert_eq!(call(&upstream, Outcome::Answer), "succeeded");
    assert_eq!(call(&upstream.keyed("b"), Outcome::Answer), "succeeded");
}

#[test]
fn a_keys_failures_and_limits_are_its_own_and_the_sum_is_the_upstreams() {
    // Broken if one customer's failures closed the door on all, or if a customer's limit replaced the upstream's.
    let clock = CrankedClock::new();
    let each = Policy::builder().requests_per_minute(Some(2)).build().unwrap();
    let all = Policy::builder()
        .requests_per_minute(Some(9))
        .retries(0)
        .build()
        .unwrap();
    let upstream = upstream(&clock, |builder| builder.keys_policy(&each).policy(all));
    let (one, other) = (upstream.keyed("one"), upstream.keyed("other"));
    for _ in 0..2 {
        assert_eq!(call(&one, Outcome::Answer), "succeeded");
    }
    assert_eq!(call(&one, Outcome::Answer), "rate-wait");
    assert_eq!(one.load().queued, 0, "it left");
    assert_eq!(call(&other, Outcome::Answer), "succeeded");
    for _ in 0..6 {
        assert_eq!(call(&upstream, Outcome::Answer), "succeeded");
    }
    assert_eq!(call(&other, Outcome::Answer), "rate-wait", "the sum is spent");
    // Five failures in a row, with others' answers between them.
    for _ in 0..5 {
        clock.advance(Duration::from_secs(60));
        assert_eq!(call(&one, BROKEN), "attempts-spent");
        assert_eq!(call(&other, Outcome::Answer), "succeeded");
    }
    assert_eq!(call(&one, Outcome::Answer), "breaker-open");
    assert_eq!(call(&other, Outcome::Answer), "succeeded");
    // A bigger customer.
    let big = Policy::builder().requests_per_minute(Some(4)).build().unwrap();
    clock.advance(Duration::from_secs(60));
    other.configure(&big).unwrap();
    for _ in 0..4 {
        assert_eq!(call(&upstream.keyed("other"), Outcome::Answer), "succeeded");
    }
}
