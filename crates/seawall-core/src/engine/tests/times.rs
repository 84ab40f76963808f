//! What the engine makes of time: hedges by the live percentile, a share of hedges, slow calls and the ramp (rules J1, H1,
//! H5 and I3).

use super::*;
use crate::policy::{Concurrency, OnOpen, SlowCall};

/// A desk with one gate, and its route.
fn desk(call: PolicyBuilder, gate: PolicyBuilder) -> (Desk, [Candidate; 1]) {
    let mut desk = Desk::new(call);
    let gate = desk.gate(gate, &[]);
    (desk, [Candidate::at(gate)])
}

/// A call that is answered after `took`.
fn answered(desk: &mut Desk, route: &[Candidate], took: Duration) {
    let call = desk.begin(route);
    let permit = desk.sent(call);
    desk.pass(took);
    desk.answer(permit);
    desk.engine.end(desk.now, call);
}

fn hedge_at(desk: &mut Desk, call: CallId) -> Option<Instant> {
    match desk.poll(call).action {
        Action::InFlight { hedge_at, .. } => hedge_at,
        other => panic!("not in flight: {other:?}"),
    }
}

#[test]
fn a_hedge_waits_for_the_live_percentile_and_for_enough_to_know_it_by() {
    // Could break if the delay were taken from a handful of calls, or were another one at each poll.
    let (mut desk, route) = desk(plain().hedge_after_percentile(950), plain());
    for _ in 0..19 {
        answered(&mut desk, &route, ms(100));
    }
    let call = desk.begin(&route);
    let permit = desk.sent(call);
    assert_eq!(hedge_at(&mut desk, call), None, "19 are too few");
    let began = desk.now;
    desk.pass(ms(100));
    desk.answer(permit);
    desk.engine.end(desk.now, call);
    let call = desk.begin(&route);
    let permit = desk.sent(call);
    let due = hedge_at(&mut desk, call).expect("20 are enough");
    let delay = due.since(desk.now);
    assert!(delay >= ms(100) && delay < ms(114), "{delay}");
    // What others take meanwhile changes nothing of a call that is out.
    let mut sent = Vec::new();
    for _ in 0..50 {
        let other = desk.begin(&route);
        sent.push((other, desk.sent(other)));
    }
    desk.pass(ms(1));
    for (other, permit) in sent {
        desk.answer(permit);
        desk.engine.end(desk.now, other);
    }
    assert_eq!(hedge_at(&mut desk, call), Some(due));
    desk.now = due;
    let hedge = desk.sent(call);
    assert_eq!(hedge.role(), crate::verdict::Role::Hedge);
    desk.answer(hedge);
    assert_eq!(desk.told(call), "succeeded");
    desk.engine.abandon(desk.now, permit, Sent::Maybe, Usage::NONE);
    desk.engine.end(desk.now, call);
    assert!(began < due);
}

#[test]
fn a_gate_without_such_hedges_keeps_nothing_for_them() {
    // Could break if every gate had room for a distribution: a million keys would not fit where a million are needed.
    let (mut desk, route) = desk(plain().hedge_after(ms(10)), plain());
    answered(&mut desk, &route, ms(5));
    let gate = &desk.engine.gates[0];
    assert_eq!(size_of_val(gate), size_of::<crate::gate::Gate>());
    assert!(!gate.keeps_times());
    let (mut desk, route) = super::times::desk(plain().hedge_after_percentile(950), plain());
    answered(&mut desk, &route, ms(5));
    assert!(desk.engine.gates[0].keeps_times());
}

#[test]
fn no_more_calls_are_hedged_than_the_share_that_may_be() {
    // Could break if the budget alone bounded hedges: all that retries left of it would go into an upstream that slows.
    let call = plain().hedge_after(ms(10)).hedge_at_most_per_mille(50);
    let (mut desk, route) = desk(call, plain());
    let (mut originals, mut hedges) = (0_u32, 0_u32);
    for _ in 0..200 {
        let call = desk.begin(&route);
        let first = desk.sent(call);
        desk.pass(ms(10));
        if let Action::Send(hedge) = desk.poll(call).action {
            hedges += 1;
            assert!(hedges * 1_000 <= originals * 50, "{hedges} of {originals}");
            desk.answer(hedge);
        } else {
            desk.answer(first);
        }
        assert_eq!(desk.told(call), "succeeded");
        desk.engine.end(desk.now, call);
        originals += 1;
    }
    assert_eq!(hedges, 9, "and no fewer");
}

/// Breaks the gate's breaker and has a probe close it.
fn break_and_close(desk: &mut Desk, route: &[Candidate]) {
    for _ in 0..6 {
        let call = desk.begin(route);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
        desk.pass(ms(120));
    }
    desk.pass(ms(5_500));
    answered(desk, route, ms(1));
}

fn ramped(on_open: OnOpen) -> PolicyBuilder {
    plain()
        .breaker(Policy::preset(Preset::Default).gate.breaker())
        .edit_breaker(|b| b.on_open(on_open).ramp(Some(ms(10_000))))
}

#[test]
fn the_share_let_in_after_closing_is_within_one_call_of_its_line() {
    // Could break if a refusal were not counted as one that came, or a poll as two.
    let (mut desk, route) = desk(plain().retries(0), ramped(OnOpen::Fail));
    break_and_close(&mut desk, &route);
    let began = desk.now;
    // One is out all along, so that the ramp decides.
    let held = desk.begin(&route);
    let held_permit = desk.sent(held);
    let (mut line_milli, mut let_in) = (0_u64, 0_u64);
    while desk.now.since(began) < ms(9_990) {
        desk.pass(ms(10));
        let share = 100 + 900 * desk.now.since(began).as_millis() / 10_000;
        line_milli += share;
        let call = desk.begin(&route);
        match desk.poll(call).action {
            Action::Send(permit) => {
                let_in += 1;
                desk.answer(permit);
            }
            Action::Finish { retry_at, .. } => {
                assert!(
                    retry_at.is_some_and(|at| at > desk.now),
                    "it is told when to come back"
                );
                assert_eq!(desk.told(call), "breaker-open");
            }
            other => panic!("{other:?}"),
        }
        desk.engine.end(desk.now, call);
        assert!(
            line_milli.abs_diff(let_in * 1_000) <= 1_001,
            "{let_in} of {line_milli}"
        );
    }
    let gate = route[0].gate;
    assert!(
        desk.engine
            .state(desk.now, gate)
            .unwrap()
            .breaker
            .unwrap()
            .ramp_per_mille
            .is_some()
    );
    desk.pass(ms(10));
    let call = desk.begin(&route);
    let last = desk.sent(call);
    assert_eq!(
        desk.engine
            .state(desk.now, gate)
            .unwrap()
            .breaker
            .unwrap()
            .ramp_per_mille,
        None
    );
    desk.answer(last);
    desk.answer(held_permit);
}

#[test]
fn those_who_waited_for_an_upstream_come_back_along_the_ramp() {
    // Could break if whoever waits for a broken upstream went as soon as it is whole, or all at the end of the ramp.
    let (mut desk, route) = desk(plain().retries(0), ramped(OnOpen::Wait));
    for _ in 0..6 {
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
        desk.pass(ms(120));
    }
    let waiting: Vec<CallId> = (0..23).map(|_| desk.begin(&route)).collect();
    for call in &waiting {
        assert_eq!(desk.told(*call), "breaker-wait");
    }
    // Probes go first; the first that is answered closes it.
    desk.now = desk.engine.next_wake().expect("somebody waits");
    let mut out: Vec<Permit> = desk.serve();
    assert_eq!(out.len(), 3);
    let probe = out.pop().unwrap();
    desk.answer(probe);
    let began = desk.now;
    let mut went = Vec::new();
    out.extend(desk.serve());
    while let Some(wake) = desk.engine.next_wake().filter(|_| went.len() < 20) {
        desk.now = desk.now.max(wake);
        let permits = desk.serve();
        went.extend(permits.iter().map(|_| desk.now.since(began).as_millis()));
        out.extend(permits);
    }
    assert_eq!(went.len(), 20, "{went:?}");
    for (nth, pair) in went.windows(2).enumerate() {
        assert!((450..=550).contains(&(pair[1] - pair[0])), "{nth}: {went:?}");
    }
    assert_eq!(went.last(), Some(&10_000));
}

#[test]
fn a_hang_is_noticed_by_the_call_that_comes_next() {
    // Wish 6. Could break if what is out were looked at only when something of it ends.
    let slow = SlowCall {
        over: ms(1_000),
        per_mille: 500,
    };
    let policy = ramped(OnOpen::Fail).edit_breaker(|b| b.slow_call(Some(slow)).ramp(None));
    let (mut desk, route) = desk(plain(), policy);
    let mut out = Vec::new();
    for _ in 0..20 {
        let call = desk.begin(&route);
        out.push((call, desk.sent(call)));
        desk.pass(ms(10));
    }
    desk.pass(ms(1_200));
    let late = desk.begin(&route);
    assert_eq!(desk.told(late), "breaker-open");
    for (call, permit) in out {
        desk.answer(permit);
        assert_eq!(desk.told(call), "succeeded");
        desk.engine.end(desk.now, call);
    }
    assert_eq!(desk.engine.load(route[0].gate).in_flight, 0);
}

#[test]
fn who_waits_for_a_place_behind_a_hang_is_told_when_the_gate_opens() {
    // Could break if a breaker that opens by what is out told nobody: the queue would wait for the hang to end.
    let slow = SlowCall {
        over: ms(1_000),
        per_mille: 500,
    };
    let gate = ramped(OnOpen::Fail)
        .edit_breaker(|b| b.slow_call(Some(slow)).ramp(None).min_calls(5))
        .concurrency(Some(5));
    let (mut desk, route) = desk(plain(), gate);
    let mut out = Vec::new();
    for _ in 0..5 {
        let call = desk.begin(&route);
        out.push(desk.sent(call));
    }
    let queued = desk.begin(&route);
    assert_eq!(desk.told(queued), "queued");
    desk.pass(ms(1_300));
    let late = desk.begin(&route);
    assert_eq!(desk.told(late), "breaker-open");
    assert!(desk.serve().is_empty());
    assert_eq!(desk.told(queued), "breaker-open");
    drop(out);
}

#[test]
fn a_limit_by_first_bytes_hears_of_streams_at_their_commit_and_of_answers_by_their_report() {
    // Could break if the whole length of a stream were taken for its first byte: a limit would follow how much is said.
    let (mut desk, route) = desk(plain(), plain().concurrency(Concurrency::Gradient));
    let gate = route[0].gate;
    desk.pass(ms(1));
    for nth in 0..10 {
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.pass(ms(100));
        if nth % 2 == 0 {
            desk.engine.commit(desk.now, &permit);
            desk.pass(ms(5_000));
            desk.answer(permit);
        } else {
            desk.pass(ms(5_000));
            let first_byte = Some(ms(100));
            desk.settle(
                permit,
                Report {
                    first_byte,
                    ..Report::of(Outcome::Answer)
                },
            );
        }
        desk.engine.end(desk.now, call);
    }
    let state = desk.engine.state(desk.now, gate).unwrap();
    let gradient = state.gradient.expect("it goes by first bytes");
    assert_eq!((gradient.base, gradient.mean), (ms(100), ms(100)));
    assert_eq!(state.places, Some(crate::policy::AUTO_CONCURRENCY_START));
}
