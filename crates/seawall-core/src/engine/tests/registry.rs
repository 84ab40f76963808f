//! Gates that come and go (reload, and a registry that forgets what it can afford to).

use super::*;
use crate::learned::{Kind, Learned, Word};

fn configured(desk: &mut Desk, key: u64, policy: PolicyBuilder) -> GateId {
    let policy = policy.build().unwrap().gate;
    desk.engine
        .configure(desk.now, GateKey(key), &policy, &[], None)
        .unwrap()
}

#[test]
fn an_id_names_one_gate_and_no_later_one_of_its_number() {
    // Broken if numbers were reused as they are: a call meant for one customer's gate would be sent through another's.
    let mut desk = Desk::new(plain());
    let old = configured(&mut desk, 1, plain());
    desk.engine.retire(desk.now, old);
    let new = configured(&mut desk, 2, plain());
    assert_eq!(old.number(), new.number());
    assert_ne!(old, new);
    let call = desk.begin(&[Candidate::at(old)]);
    assert_eq!(desk.told(call), "no-candidate");
    assert_eq!(desk.engine.state(desk.now, old), None);
    let below = plain().build().unwrap().gate;
    let below = desk.engine.configure(desk.now, GateKey(3), &below, &[old], None);
    assert_eq!(below, Err(crate::policy::PolicyError::GateGone));
    assert_eq!(desk.engine.gates_alive(), 1);
}

#[test]
fn a_retired_gate_takes_no_new_calls_and_goes_with_the_last_that_holds_it() {
    // Broken if it went while a call holds a place, a charge or a turn there, or if it never went.
    let mut desk = Desk::new(plain().deadline(Duration::from_secs(3_600)));
    let gate = desk.gate(plain().concurrency(Some(1)), &[]);
    let other = desk.gate(plain(), &[]);
    let route = [Candidate::at(gate)];
    let (flies, queued) = (desk.begin(&route), desk.begin(&route));
    let permit = desk.sent(flies);
    assert_eq!(desk.told(queued), "queued");
    desk.engine.retire(desk.now, gate);
    let late = desk.begin(&route);
    assert_eq!(desk.told(late), "no-candidate");
    let both = [Candidate::at(gate), Candidate::at(other)];
    let moved = desk.begin(&both);
    assert_eq!(desk.sent(moved).candidate(), 1, "the other candidate serves");
    desk.settle(permit, failed(503, Sent::NotDone));
    assert_eq!(desk.told(flies), "backing-off");
    let permits = desk.serve();
    assert_eq!(permits.len(), 1, "who stood there goes on");
    permits.into_iter().for_each(|permit| desk.answer(permit));
    for call in [flies, queued, late] {
        assert_eq!(desk.engine.gates_alive(), 2);
        desk.engine.end(desk.now, call);
    }
    assert_eq!(
        desk.engine.gates_alive(),
        2,
        "the moved call's route names it still"
    );
    desk.engine.end(desk.now, moved);
    assert_eq!(desk.engine.gates_alive(), 1);
}

#[test]
fn parents_go_with_the_last_of_their_children() {
    // Broken if a parent went first: its children's attempts pass it.
    let mut desk = Desk::new(plain());
    let top = desk.gate(plain(), &[]);
    let quota = desk.gate(plain(), &[]);
    let below = desk.gate_of_quota(plain(), &[top], Some(quota));
    desk.engine.retire(desk.now, top);
    assert_eq!(desk.engine.gates_alive(), 3);
    assert_eq!(
        desk.engine.sweep(desk.now, 0),
        1,
        "only the lowest is held by nobody"
    );
    assert_eq!(
        desk.engine.gates_alive(),
        1,
        "the retired parent went with it, the quota is idle now"
    );
    assert_eq!(desk.engine.sweep(desk.now, 0), 1);
    assert_eq!(desk.engine.gates_alive(), 0);
    assert_eq!(desk.engine.state(desk.now, below), None);
}

#[test]
fn a_sweep_lets_go_only_of_gates_that_know_nothing() {
    // Broken if an open breaker, a cool-down, a spent budget or a half-full rate were forgotten for want of room:
    // the next call would make the gate anew and find out again.
    let mut desk = Desk::new(Policy::builder().jitter(Jitter::None));
    let policy = || Policy::builder().edit_breaker(|b| b.consecutive(1));
    let idle = configured(&mut desk, 0, policy());
    let cools = configured(&mut desk, 1, policy());
    let failing = configured(&mut desk, 2, policy());
    let rated = configured(&mut desk, 3, plain().requests_per_minute(Some(60)));
    let busy = configured(&mut desk, 4, policy());
    let one = |desk: &mut Desk, gate, report| {
        let call = desk.begin(&[Candidate::at(gate)]);
        let permit = desk.sent(call);
        desk.settle(permit, report);
        desk.told(call);
        desk.engine.end(desk.now, call);
    };
    one(&mut desk, cools, throttled(Duration::from_secs(90)));
    one(&mut desk, failing, failed(500, Sent::Maybe));
    one(&mut desk, rated, Report::of(Outcome::Answer));
    let stays = desk.begin(&[Candidate::at(busy)]);
    assert_eq!(desk.engine.sweep(desk.now, 0), 1);
    assert_eq!(desk.engine.state(desk.now, idle), None);
    desk.pass(Duration::from_secs(45));
    assert_eq!(
        desk.engine.sweep(desk.now, 0),
        2,
        "the rate is full, the failure out of every window"
    );
    desk.pass(Duration::from_secs(46));
    assert_eq!(desk.engine.sweep(desk.now, 0), 1, "the cool-down is over");
    desk.engine.end(desk.now, stays);
    assert_eq!(desk.engine.sweep(desk.now, 1), 0, "as many as may be");
    assert_eq!(desk.engine.sweep(desk.now, 0), 1);
}

#[test]
fn a_sweep_keeps_a_gate_whose_budget_was_charged_or_whose_server_told_a_limit() {
    // Broken if either were forgotten for want of room: the budget made anew would allow the same extras again, and
    // the limit would be run into.
    let budget = || plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(100));
    let mut desk = Desk::new(budget());
    let charged = [Candidate::at(configured(&mut desk, 1, budget()))];
    let call = desk.begin(&charged);
    let permit = desk.sent(call);
    desk.settle(permit, failed(503, Sent::NotDone));
    assert_eq!(desk.told(call), "backing-off");
    desk.pass(ms(500));
    let permit = desk.sent(call);
    desk.answer(permit);
    assert_eq!(desk.told(call), "succeeded");
    desk.engine.end(desk.now, call);
    let told = [Candidate::at(configured(&mut desk, 2, plain()))];
    let call = desk.begin(&told);
    let permit = desk.sent(call);
    let word = Word {
        limit: Some(10),
        remaining: 3,
        resets_in: Some(Duration::from_secs(60)),
    };
    let learned = Learned::NOTHING.with(Kind::Requests, word);
    desk.engine.head(desk.now, &permit, &learned);
    desk.answer(permit);
    assert_eq!(desk.told(call), "succeeded");
    desk.engine.end(desk.now, call);
    assert_eq!(desk.engine.sweep(desk.now, 0), 0);
    desk.pass(Duration::from_secs(15));
    assert_eq!(
        desk.engine.sweep(desk.now, 0),
        1,
        "no extra of the window is owed"
    );
    desk.pass(Duration::from_secs(45));
    assert_eq!(
        desk.engine.sweep(desk.now, 0),
        1,
        "the server's window is full again"
    );
}

#[test]
fn a_sweep_keeps_a_gate_that_somebody_forced() {
    // Broken if an upstream that was closed by hand were forgotten for want of room: the next call would open it.
    for mode in [Mode::Open, Mode::Closed, Mode::Observe] {
        let mut desk = Desk::new(plain());
        let gate = configured(&mut desk, 1, plain().edit_breaker(|b| b.consecutive(1)));
        desk.engine.force(desk.now, gate, mode);
        assert_eq!(desk.engine.sweep(desk.now, 0), 0, "{mode:?}");
        desk.engine.force(desk.now, gate, Mode::Auto);
        assert_eq!(desk.engine.sweep(desk.now, 0), 1, "{mode:?}");
    }
}

#[test]
fn a_retired_parent_that_its_children_left_is_swept_once_no_attempt_passes_it() {
    // Broken if it went while an attempt holds a place there, or if a sweep looked at kept gates alone: it has no child
    // and no call by then, so that nobody else lets it go.
    let mut desk = Desk::new(plain());
    let top = desk.gate(plain(), &[]);
    let below = desk.gate(plain(), &[top]);
    let call = desk.begin(&[Candidate::at(below)]);
    let permit = desk.sent(call);
    let alone = plain().build().unwrap().gate;
    desk.engine
        .configure(desk.now, GateKey(1), &alone, &[], None)
        .unwrap();
    desk.engine.retire(desk.now, top);
    assert_eq!(desk.engine.sweep(desk.now, 0), 0);
    assert_eq!(desk.engine.load(top).in_flight, 1);
    desk.answer(permit);
    assert_eq!(desk.told(call), "succeeded");
    desk.engine.end(desk.now, call);
    assert_eq!(desk.engine.sweep(desk.now, 1), 1);
    assert_eq!(desk.engine.state(desk.now, top), None);
    assert!(desk.engine.state(desk.now, below).is_some(), "as many as may be");
}

#[test]
fn a_sweep_looks_at_a_bounded_number_and_goes_on_the_next_time() {
    // Broken if one call of ten thousand paid for looking at all of them.
    let mut desk = Desk::new(plain());
    for key in 0..1_000 {
        configured(&mut desk, key, plain());
    }
    assert_eq!(desk.engine.sweep(desk.now, 10), 64);
    let mut sweeps = 1;
    while desk.engine.gates_alive() > 10 {
        desk.engine.sweep(desk.now, 10);
        sweeps += 1;
    }
    assert_eq!(sweeps, 16);
}

#[test]
fn a_budget_that_comes_back_owes_nothing_to_those_who_paid_an_earlier_one() {
    // Broken if a charge of the budget that was removed were given back to the one that replaced it: it would allow
    // one extra more than its bound.
    let budget = || plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(100));
    let mut desk = Desk::new(budget());
    let gate = configured(&mut desk, 1, budget());
    let route = [Candidate::at(gate)];
    let waits = |desk: &mut Desk| {
        let call = desk.begin(&route);
        let permit = desk.sent(call);
        desk.settle(permit, failed(503, Sent::NotDone));
        (call, desk.told(call))
    };
    let (paid_before, code) = waits(&mut desk);
    assert_eq!(code, "backing-off");
    configured(&mut desk, 1, plain());
    configured(&mut desk, 1, budget());
    assert_eq!(waits(&mut desk).1, "backing-off");
    desk.engine.end(desk.now, paid_before);
    assert_eq!(waits(&mut desk).1, "budget-empty");
}

#[test]
fn an_attempt_of_a_breaker_that_was_removed_is_no_evidence_for_the_next() {
    // Broken if epochs began at nothing again: an old failure would trip a breaker that has seen none.
    let broken = || plain().edit_breaker(|b| b.consecutive(1));
    let mut desk = Desk::new(plain().retries(0));
    let gate = configured(&mut desk, 1, broken());
    let route = [Candidate::at(gate)];
    let begun: Vec<Permit> = (0..2)
        .map(|_| {
            let call = desk.begin(&route);
            desk.sent(call)
        })
        .collect();
    configured(&mut desk, 1, plain());
    configured(&mut desk, 1, broken());
    for permit in begun {
        desk.pass(Duration::from_secs(1));
        desk.settle(permit, failed(500, Sent::Maybe));
    }
    let breaker = desk.engine.state(desk.now, gate).unwrap().breaker.unwrap();
    assert_eq!((breaker.state, breaker.counts.failures), ("closed", 0));
}

#[test]
fn a_gate_is_small() {
    // Broken if a limit that few have grew what everybody has: a gate per customer is a plan that people have.
    const KIB: usize = 1_024;
    let gate = core::mem::size_of::<Gate>();
    let boxed =
        core::mem::size_of::<crate::rate::Buckets>() + core::mem::size_of::<crate::learned::Windows>();
    let leases = 3 * core::mem::size_of::<[u64; 3]>();
    assert!(gate + leases <= KIB, "{gate}");
    assert!(boxed <= KIB, "{boxed}");
}

#[test]
fn a_gate_that_is_held_is_not_swept() {
    // Broken if a sweep looked at calls alone: who keeps a gate for the calls to come would find it gone.
    let mut desk = Desk::new(plain());
    let gate = configured(&mut desk, 1, plain());
    desk.engine.hold(gate).unwrap();
    desk.engine.hold(gate).unwrap();
    desk.engine.let_go(gate);
    assert_eq!(desk.engine.sweep(desk.now, 0), 0, "one holder is left");
    desk.engine.let_go(gate);
    assert_eq!(desk.engine.sweep(desk.now, 0), 1);
    let gone = Err(crate::policy::PolicyError::GateGone);
    assert_eq!(desk.engine.hold(gate), gone);
    // Too late, and so of nothing.
    desk.engine.let_go(gate);
}

#[test]
fn who_waits_is_counted_by_what_it_was_told() {
    // Broken if a page named one cause for all, counted those that fly, or forgot those that stand at a gate below.
    let mut desk = Desk::new(plain());
    let above = desk.gate(plain().requests_per_minute(Some(2)), &[]);
    let gate = desk.gate(plain().concurrency(Some(1)), &[above]);
    let beside = desk.gate(plain(), &[above]);
    let calls: Vec<CallId> = (0..3).map(|_| desk.begin(&[Candidate::at(gate)])).collect();
    let permit = desk.sent(calls[0]);
    assert_eq!(desk.told(calls[1]), "queued");
    assert_eq!(desk.told(calls[2]), "queued");
    let takes_the_rest = desk.begin(&[Candidate::at(beside)]);
    let other = desk.sent(takes_the_rest);
    desk.settle(other, failed(503, Sent::NotDone));
    assert_eq!(desk.told(takes_the_rest), "backing-off");
    let rated = desk.begin(&[Candidate::at(beside)]);
    assert_eq!(desk.told(rated), "rate-wait");
    let counted = |desk: &Desk, gate| desk.engine.waits(gate).counted().collect::<Vec<_>>();
    assert_eq!(counted(&desk, gate), [("queued", 2)]);
    assert_eq!(counted(&desk, beside), [("rate-wait", 1), ("backing-off", 1)]);
    let all = desk.engine.waits(above);
    assert_eq!((all.of("queued"), all.of("rate-wait"), all.sum()), (2, 1, 4));
    desk.answer(permit);
    let rates = desk.engine.state(desk.now, above).unwrap().rates[0];
    assert_eq!((rates.per_minute, rates.left), (Some(2), Some(0)));
}

#[test]
fn a_gate_without_a_breaker_is_forced_all_the_same_and_stays_so_over_reloads() {
    // Broken if the latch were a part of the breaker: who forces an upstream off while it has none would be obeyed by
    // nobody, and a reload would switch one on again that somebody has switched off.
    let mut desk = Desk::new(plain());
    let gate = configured(&mut desk, 1, plain().concurrency(Some(1)));
    let route = [Candidate::at(gate)];
    let out = desk.begin(&route);
    let permit = desk.sent(out);
    let queued = desk.begin(&route);
    assert_eq!(desk.told(queued), "queued");
    desk.engine.force(desk.now, gate, Mode::Open);
    assert_eq!(desk.engine.woken(desk.now), Some(queued));
    assert_eq!(desk.told(queued), "breaker-open");
    desk.answer(permit);
    for policy in [plain(), Policy::builder(), plain(), Policy::builder()] {
        configured(&mut desk, 1, policy);
        assert_eq!(desk.engine.state(desk.now, gate).unwrap().mode, Mode::Open);
        let call = desk.begin(&route);
        assert_eq!(desk.told(call), "breaker-open");
    }
    desk.engine.force(desk.now, gate, Mode::Auto);
    let call = desk.begin(&route);
    drop(desk.sent(call));
}
