use super::*;
use crate::blocking;
use crate::crank::CrankedClock;
use crate::retry::Failure;
use seawall_core::time::Duration;

fn gates(max: usize) -> (Gates, CrankedClock) {
    let clock = CrankedClock::new();
    let policy = Policy::builder()
        .retries(0)
        .edit_breaker(|breaker| breaker.consecutive(2).open_for(Duration::from_secs(60)))
        .build()
        .unwrap();
    let gates = Gates::builder(&policy)
        .clock(Arc::new(clock.clone()))
        .seed(1)
        .gates_max(max)
        .build();
    (gates, clock)
}

/// How a call through this gate ends that fails where it is made.
fn failed(gate: &Gate) -> &'static str {
    let ended = blocking::retry(|| Err::<(), _>(Failure::transient()), gate).call();
    ended.unwrap_err().reason.code()
}

fn break_it(gate: &Gate, clock: &CrankedClock) {
    for _ in 0..3 {
        failed(gate);
        clock.advance(Duration::from_millis(500));
    }
    assert_eq!(failed(gate), "breaker-open");
}

#[test]
fn one_key_that_is_down_leaves_the_others_alone() {
    // Breaks when two keys share a gate: the breaker of one refuses the calls of both.
    let (gates, clock) = gates(8);
    break_it(&gates.gate("a"), &clock);
    assert_eq!(failed(&gates.gate("a")), "breaker-open");
    assert_eq!(failed(&gates.gate("b")), "attempts-spent");
}

#[test]
fn a_gate_that_nobody_has_in_hand_keeps_what_it_knows() {
    // Breaks when a gate goes with its last handle: each call would meet the outage anew.
    let (gates, clock) = gates(2);
    break_it(&gates.gate("a"), &clock);
    for other in 0..20 {
        gates.gate(&format!("other {other}"));
        assert!(gates.len() <= 2);
    }
    assert_eq!(failed(&gates.gate("a")), "breaker-open");
}

#[test]
fn keys_beyond_the_agreed_number_share_one_gate_and_are_not_refused() {
    // Breaks when a key from outside makes a gate without an end to them, or is refused for want of one.
    let (gates, clock) = gates(2);
    let kept = [gates.gate("a"), gates.gate("b")];
    let (c, d) = (gates.gate("c"), gates.gate("d"));
    assert_eq!(gates.len(), 2);
    assert_eq!(failed(&c), "attempts-spent");
    clock.advance(Duration::from_secs(60));
    break_it(&c, &clock);
    assert_eq!(failed(&d), "breaker-open");
    assert_eq!(failed(&kept[0]), "attempts-spent");
    // Where one of the others is let go, there is room again.
    drop(kept);
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(failed(&gates.gate("e")), "attempts-spent");
}
