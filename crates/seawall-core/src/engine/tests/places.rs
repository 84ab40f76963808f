//! Who goes first where several gates stand in a row (rules I1, C6 and H4).

use super::*;
use crate::policy::OnOpen;

#[test]
fn calls_that_wait_at_a_gate_and_at_its_parent_do_not_wake_each_other_for_ever() {
    // Could hang if a place promised at one gate makes the call that was promised one at the other give it back.
    let mut desk = Desk::new(plain());
    let all = desk.gate(plain().concurrency(Some(1)), &[]);
    let main = desk.gate(plain().concurrency(Some(1)), &[all]);
    let side = desk.gate(plain(), &[all]);
    let (main, side) = ([Candidate::at(main)], [Candidate::at(side)]);
    let first = desk.begin(&side);
    let first = desk.sent(first);
    // The parent is full and `main` is not: these wait at the parent.
    let mut calls: Vec<CallId> = (0..3).map(|_| desk.begin(&main)).collect();
    for call in calls.clone() {
        desk.told(call);
    }
    desk.answer(first);
    let mut out = desk.serve();
    // Now `main` is full too: these wait there.
    calls.extend((0..3).map(|_| desk.begin(&main)));
    for call in &calls[3..] {
        desk.told(*call);
    }
    let mut order = Vec::new();
    while let Some(permit) = out.pop() {
        order.push(permit.call());
        desk.answer(permit);
        out.extend(desk.serve());
        assert!(out.len() <= 1, "one place, one permit");
    }
    assert_eq!(order, calls, "first come, first served, over both queues");
}

#[test]
fn a_new_arrival_never_passes_a_woken_call_at_any_gate_of_its_chain() {
    // Could break if a woken call's place is kept at the gate that it waited at, and given away at the other.
    let mut desk = Desk::new(plain());
    let all = desk.gate(plain().concurrency(Some(1)), &[]);
    let main = desk.gate(plain().concurrency(Some(1)), &[all]);
    let side = desk.gate(plain(), &[all]);
    let (main, side) = ([Candidate::at(main)], [Candidate::at(side)]);
    let first = desk.begin(&main);
    let permit = desk.sent(first);
    let waits = desk.begin(&main);
    desk.told(waits);
    desk.answer(permit);
    let woken = desk.engine.woken(desk.now);
    assert!(woken.is_some());
    while desk.engine.woken(desk.now).is_some() {}
    let late = desk.begin(&side);
    assert_eq!(desk.told(late), "queued");
    drop(desk.sent(waits));
}

#[test]
fn a_place_that_was_promised_to_a_call_that_left_is_free() {
    // Could break if a promise is kept until it is taken: one caller that leaves then costs the gate a place for ever.
    let mut desk = Desk::new(plain());
    let main = [Candidate::at(desk.gate(plain().concurrency(Some(1)), &[]))];
    let first = desk.begin(&main);
    let permit = desk.sent(first);
    let leaves = desk.begin(&main);
    assert_eq!(desk.told(leaves), "queued");
    desk.answer(permit);
    assert_eq!(desk.engine.woken(desk.now), Some(leaves));
    desk.engine.end(desk.now, leaves);
    let late = desk.begin(&main);
    drop(desk.sent(late));
}

#[test]
fn safe_calls_are_probes_before_an_unsafe_one_that_came_first() {
    // Could break if an Unsafe call at the head of the queue, which must not be a probe while others come, keeps
    // the others from being one.
    let mut desk = Desk::new(plain());
    let broken = plain().edit_breaker(|b| {
        b.consecutive(1)
            .open_for(Duration::from_secs(5))
            .probes(1)
            .on_open(OnOpen::Wait)
    });
    let gate = [Candidate::at(desk.gate(broken, &[]))];
    for wait in [0, 600] {
        desk.pass(ms(wait));
        let call = desk.begin(&gate);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
    }
    let unsafe_call = desk.begin_as(&gate, |spec| spec.replay = Replay::Unsafe);
    assert_eq!(desk.told(unsafe_call), "breaker-wait");
    let mut probes = Vec::new();
    for _ in 0..20 {
        desk.pass(Duration::from_secs(1));
        let call = desk.begin(&gate);
        if let Action::Send(permit) = desk.poll(call).action {
            probes.push(permit);
        }
        probes.extend(desk.serve());
    }
    assert_eq!(probes.len(), 1);
    let probe = probes.remove(0);
    assert_ne!(probe.call(), unsafe_call);
    desk.answer(probe);
    assert_eq!(
        desk.serve()[0].call(),
        unsafe_call,
        "once it is closed, first come, first served"
    );
}

#[test]
fn an_attempt_gives_back_what_it_took_though_its_gate_has_other_parents_now() {
    // Could break, or panic, if an attempt's gates were looked up when it ends: a reload may come between.
    let mut desk = Desk::new(plain());
    let (old, new) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let main = desk.gate(plain(), &[old]);
    let key = GateKey(2);
    let call = desk.begin(&[Candidate::at(main)]);
    let permit = desk.sent(call);
    let policy = desk.policy.gate;
    desk.engine
        .configure(desk.now, key, &policy, &[new], None)
        .expect("few gates");
    desk.answer(permit);
    for gate in [old, new, main] {
        assert_eq!(desk.engine.load(gate).in_flight, 0);
    }
}

/// A gate whose breaker is half-open as soon as somebody asks.
fn half_open(desk: &mut Desk, probes: u32, on_open: OnOpen) -> [Candidate; 1] {
    let broken = plain().edit_breaker(|b| b.consecutive(1).probes(probes).on_open(on_open));
    let gate = [Candidate::at(desk.gate(broken, &[]))];
    for wait in [0, 600] {
        desk.pass(ms(wait));
        let call = desk.begin(&gate);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
    }
    desk.pass(Duration::from_secs(6));
    gate
}

#[test]
fn a_probe_holds_its_slot_as_long_as_its_attempt_may_run() {
    // Could break if the lease ends with the first byte's limit, and the body takes longer (rule H6).
    let mut desk = Desk::new(plain().deadline(Duration::from_secs(300)));
    let gate = half_open(&mut desk, 1, OnOpen::Fail);
    let probe = desk.begin(&gate);
    let permit = desk.sent(probe);
    for _ in 0..299 {
        desk.pass(Duration::from_secs(1));
        let other = desk.begin(&gate);
        assert_eq!(desk.told(other), "breaker-open", "at {:?}", desk.now);
    }
    desk.answer(permit);
    let other = desk.begin(&gate);
    drop(desk.sent(other));
}

#[test]
fn a_call_waits_for_a_probe_that_is_out_though_its_lease_outlasts_the_call() {
    // Could break if the end of the lease were taken for the earliest time at which a probe may go.
    let mut desk = Desk::new(plain().deadline(Duration::from_secs(300)));
    let gate = half_open(&mut desk, 1, OnOpen::Wait);
    let probe = desk.begin(&gate);
    let permit = desk.sent(probe);
    let now = desk.now;
    let call = desk.begin_as(&gate, |spec| spec.deadline = now.after(Duration::from_secs(30)));
    assert_eq!(desk.told(call), "breaker-wait");
    desk.answer(permit);
    assert_eq!(desk.serve()[0].call(), call);
}

#[test]
fn those_who_wait_are_told_at_once_of_a_cool_down_that_is_too_long_for_them() {
    // Could break if only the first in the queue, or only who comes later, hears of it (rule C6).
    let mut desk = Desk::new(plain());
    let main = [Candidate::at(desk.gate(plain().concurrency(Some(1)), &[]))];
    let first = desk.begin(&main);
    let permit = desk.sent(first);
    let calls: Vec<CallId> = (0..3).map(|_| desk.begin(&main)).collect();
    for call in &calls {
        assert_eq!(desk.told(*call), "queued");
    }
    desk.settle(permit, throttled(Duration::from_secs(3_600)));
    let mut woken = Vec::new();
    while let Some(call) = desk.engine.woken(desk.now) {
        woken.push(call);
        assert_eq!(desk.told(call), "cooling-down");
        let ended = desk.poll(call);
        assert!(matches!(
            ended.action,
            Action::Finish {
                retry_at: Some(_),
                ..
            }
        ));
    }
    assert_eq!(woken, calls);
}

#[test]
fn a_breaker_that_closes_with_care_gives_no_more_than_a_throttle_left() {
    // Could break if the second squeeze of a gate forgot the first.
    let mut desk = Desk::new(plain());
    let gate = half_open(&mut desk, 3, OnOpen::Fail);
    for _ in 0..2 {
        let call = desk.begin(&gate);
        let permit = desk.sent(call);
        desk.settle(permit, throttled(ms(10)));
        desk.pass(Duration::from_secs(3));
    }
    let first = desk.begin(&gate);
    drop(desk.sent(first));
    let second = desk.begin(&gate);
    assert_eq!(desk.told(second), "queued");
}

#[test]
fn a_probe_that_is_dropped_frees_its_slot_at_once() {
    // Trap B14.
    // Could break if only a report gave the slot back: every caller who hangs up would keep it for a lease (H6).
    let mut desk = Desk::new(plain());
    let gate = half_open(&mut desk, 1, OnOpen::Fail);
    for sent in [Sent::No, Sent::Maybe] {
        let call = desk.begin(&gate);
        let permit = desk.sent(call);
        let other = desk.begin(&gate);
        assert_eq!(desk.told(other), "breaker-open");
        desk.engine
            .abandon(desk.now, permit, sent, crate::outcome::Usage::NONE);
        desk.engine.end(desk.now, call);
    }
    let call = desk.begin(&gate);
    drop(desk.sent(call));
}

#[test]
fn who_becomes_first_is_told_when_the_cool_down_ends() {
    // Could break if only the call that was first when the cool-down began kept its time, and took it along.
    let mut desk = Desk::new(plain());
    let main = [Candidate::at(desk.gate(plain(), &[]))];
    let first = desk.begin(&main);
    let permit = desk.sent(first);
    desk.settle(permit, throttled(ms(500)));
    let [one, two] = [(); 2].map(|()| desk.begin(&main));
    for call in [one, two] {
        assert_eq!(desk.told(call), "cooling-down");
    }
    desk.engine.end(desk.now, one);
    assert!(desk.serve().is_empty());
    desk.pass(ms(500));
    assert_eq!(desk.serve()[0].call(), two);
}

#[test]
fn an_auto_limit_learns_from_what_attempts_meet() {
    // Broken if the limit were told nothing, whatever way a call took: it would stand where it began. A refusal of the
    // caller's own, and a failure that is no sign of load, say nothing of how much is too much.
    use crate::engine::{Opened, Settled};
    use crate::outcome::{Cause, Refusal};
    use crate::policy::{AUTO_CONCURRENCY_START as START, Concurrency};
    let mut desk = Desk::new(plain().retries(0));
    let gate = desk.gate(plain().concurrency(Concurrency::Auto), &[]);
    let route = [Candidate::at(gate)];
    let places = |desk: &Desk| desk.engine.state(desk.now, gate).unwrap().places.unwrap();
    // Twenty calls fill it; all are answered and twenty more go, by way of a seat, until it has grown by one.
    let mut out: Vec<Permit> = Vec::new();
    for _ in 0..START {
        let call = desk.begin(&route);
        out.push(desk.sent(call));
    }
    for _ in 0..START {
        let permit = out.remove(0);
        desk.answer(permit);
        let call = desk.begin(&route);
        out.push(desk.sent(call));
    }
    assert_eq!(places(&desk), START + 1);
    // And without one.
    out.drain(..).for_each(|permit| desk.answer(permit));
    let policy = desk.policy;
    let open = |desk: &mut Desk| match desk.engine.open(desk.now, &Desk::spec(desk.now, &policy, &route)) {
        Opened::Sent(opening, _) => opening,
        Opened::Seated(..) => panic!("the gate is calm"),
    };
    let before = places(&desk);
    let mut out: Vec<_> = (0..before).map(|_| open(&mut desk)).collect();
    for _ in 0..2 * before {
        let opening = out.remove(0);
        let report = Report::of(Outcome::Answer);
        let settled = desk
            .engine
            .settle_opening(desk.now, opening, report, |_| unreachable!("it is answered"));
        assert!(matches!(settled, Settled::Answered(_)));
        out.push(open(&mut desk));
    }
    assert!(places(&desk) > before);
    out.into_iter()
        .for_each(|opening| desk.engine.drop_opening(desk.now, opening, Sent::No));
    let failed_by = |cause| {
        Report::of(Outcome::Failed {
            cause,
            sent: Sent::Maybe,
            hint: None,
        })
    };
    for (report, cuts) in [
        (Report::of(Outcome::Throttled { hint: None }), true),
        (failed_by(Cause::Timeout), true),
        (failed_by(Cause::Cut), false),
        (failed_by(Cause::Status), false),
        (Report::of(Outcome::Refused(Refusal::Caller)), false),
    ] {
        desk.pass(ms(1));
        let before = places(&desk);
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.settle(permit, report);
        let expected = if cuts { before * 7 / 10 } else { before };
        assert_eq!(places(&desk), expected, "{report:?}");
    }
}

#[test]
fn who_becomes_first_because_the_first_waits_elsewhere_is_told_its_time() {
    // Broken if the queue that a call moves away from were not looked at: the next in it was told nothing but its own
    // deadline, and sleeps until then beside a limit that has room.
    let mut desk = Desk::new(plain().retries(0).deadline(Duration::from_secs(3_600)));
    let all = desk.gate(plain().requests_per_minute(Some(60)), &[]);
    let breaks = plain().edit_breaker(|b| b.consecutive(1).on_open(OnOpen::Wait));
    let main = [Candidate::at(desk.gate(breaks, &[all]))];
    let side = [Candidate::at(desk.gate(plain(), &[all]))];
    let mut out: Vec<Permit> = Vec::new();
    for _ in 0..2 {
        let call = desk.begin(&main);
        out.push(desk.sent(call));
    }
    for _ in 0..58 {
        let call = desk.begin(&side);
        drop(desk.sent(call));
    }
    let (first, second) = (desk.begin(&main), desk.begin(&side));
    assert_eq!((desk.told(first), desk.told(second)), ("rate-wait", "rate-wait"));
    for wait in [0, 600] {
        desk.pass(ms(wait));
        let permit = out.remove(0);
        desk.settle(permit, failed(500, Sent::Maybe));
    }
    // It asks before its time, as a driver may.
    assert_eq!(desk.told(first), "breaker-wait");
    desk.pass(ms(400));
    let order: Vec<CallId> = desk.serve().iter().map(Permit::call).collect();
    assert_eq!(order, [second]);
}
