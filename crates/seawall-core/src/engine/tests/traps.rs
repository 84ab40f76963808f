//! Traps that published engines fall into, where no test of another promise holds them already. `docs/reference/traps.md`
//! has them all.

use super::*;
use crate::breaker::Breaker;
use crate::gate::Gate;
use crate::policy::PolicyError;

/// What a gate may take, its breaker's leases included, so that a million keys fit where a million keys are needed.
const GATE_BYTES_MAX: usize = 1_024;

/// Failures half a second long that nothing else is to be learnt from.
fn trip(desk: &mut Desk, route: &[Candidate]) {
    for _ in 0..6 {
        let call = desk.begin(route);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
        desk.pass(ms(120));
    }
}

#[test]
fn a_gate_takes_a_kilobyte_however_many_calls_it_has_seen() {
    // Trap V11.
    // Could break if a window kept a record per call: it would grow with the traffic, and so would the cost of a look.
    let policy = Policy::preset(Preset::Default);
    let leases = policy
        .gate
        .breaker()
        .as_ref()
        .map_or(0, |policy| Breaker::new(policy).bytes_kept());
    let bytes = size_of::<Gate>() + leases;
    assert!(bytes <= GATE_BYTES_MAX, "{bytes}");
    let mut desk = Desk::new(Policy::builder());
    let route = [Candidate::at(desk.gate(Policy::builder(), &[]))];
    let kept = |desk: &Desk| {
        let breaker = desk.engine.gates[0].breaker.as_ref();
        breaker.map(Breaker::bytes_kept)
    };
    let before = kept(&desk);
    for _ in 0..100_000 {
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.answer(permit);
        desk.engine.end(desk.now, call);
    }
    assert_eq!(kept(&desk), before);
}

#[test]
fn a_policy_that_cannot_be_right_is_refused() {
    // Traps V8c, V12.
    // Could break if a maximum below the minimum, or a delay of nothing, were bent into range: the first gives delays
    // above the maximum, the second a loop without an end.
    let short = Policy::builder().backoff_base(Duration::ZERO).build();
    assert!(matches!(short, Err(PolicyError::Length { .. })), "{short:?}");
    let below = Policy::builder().backoff_base(ms(100)).backoff_cap(ms(5)).build();
    assert!(matches!(below, Err(PolicyError::Above { .. })), "{below:?}");
}

#[test]
fn a_place_is_taken_to_send_and_held_over_no_wait() {
    // Trap V13.
    // Could break if a call took its place when it came, or kept it while it waits: those who do nothing would keep
    // those out who could go.
    let mut desk = Desk::new(plain().concurrency(Some(1)));
    let gate = desk.gate(plain().concurrency(Some(1)), &[]);
    let route = [Candidate::at(gate)];
    let idle = desk.begin(&route);
    let waits = desk.begin(&route);
    let permit = desk.sent(waits);
    desk.settle(permit, failed(503, Sent::Maybe));
    assert_eq!(desk.told(waits), "backing-off");
    assert_eq!(desk.engine.load(gate).in_flight, 0);
    let third = desk.begin(&route);
    let permit = desk.sent(third);
    desk.answer(permit);
    desk.pass(Duration::from_secs(60));
    let permit = desk.sent(idle);
    desk.answer(permit);
}

#[test]
fn a_refusal_by_the_breaker_is_no_failure_to_try_again_and_says_when() {
    // Traps A9, A10, B15.
    // Could break if a refusal were one more failed attempt: it would be retried and charged, or stand and wait for a
    // probe that takes a minute, and its caller would know neither why nor until when.
    let policy = || Policy::builder().retries(0);
    let mut desk = Desk::new(policy());
    let route = [Candidate::at(desk.gate(policy(), &[]))];
    trip(&mut desk, &route);
    desk.policy = Policy::preset(Preset::Default);
    let call = desk.begin(&route);
    let verdict = desk.poll(call);
    let Action::Finish {
        retry_at: Some(at), ..
    } = verdict.action
    else {
        panic!("a refusal says when to come back: {verdict:?}");
    };
    let Reason::BreakerOpen { retry_in } = verdict.reason else {
        panic!("refused by the breaker: {verdict:?}");
    };
    assert_eq!(desk.now.after(retry_in), at);
    assert!(
        retry_in > Duration::ZERO && retry_in <= Duration::from_secs(6),
        "{retry_in}"
    );
    assert_eq!(desk.engine.end(desk.now, call).sends, 0);
}

#[test]
fn a_deadline_covers_attempts_and_waits_alike() {
    // Trap C30.
    // Could break if only waits were summed up: an attempt that takes ten times the deadline would be made again.
    let policy = || plain().deadline(Duration::from_secs(1));
    let mut desk = Desk::new(policy());
    let route = [Candidate::at(desk.gate(policy(), &[]))];
    let call = desk.begin(&route);
    let permit = desk.sent(call);
    assert!(permit.limits().first_byte <= Duration::from_secs(1));
    desk.pass(Duration::from_secs(10));
    desk.settle(permit, failed(503, Sent::Maybe));
    assert_eq!(desk.told(call), "deadline-passed");
}

#[test]
fn nothing_is_taken_anywhere_where_one_of_two_gates_refuses() {
    // Trap E48.
    // Could break if the first gate were taken before the second was asked: what the second refuses would have cost
    // the first a place.
    let mut desk = Desk::new(plain());
    let parent = desk.gate(plain().concurrency(Some(1)), &[]);
    let own = desk.gate(plain().concurrency(Some(1)), &[parent]);
    let other = desk.gate(plain(), &[parent]);
    let holds = desk.begin(&[Candidate::at(other)]);
    let permit = desk.sent(holds);
    let refused = desk.begin(&[Candidate::at(own)]);
    assert_eq!(desk.told(refused), "queued");
    let load = desk.engine.load(own);
    assert_eq!((load.in_flight, load.promised), (0, 0));
    desk.answer(permit);
    assert_eq!(desk.serve().len(), 1);
}
