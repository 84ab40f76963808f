//! Who gets credit where several budgets stand in a row (rules G2 to G5).

use super::*;
use crate::outcome::Cause;
use crate::policy::OnEmpty;

fn saving() -> PolicyBuilder {
    plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(100).on_empty(OnEmpty::Wait))
}

/// A call at `gate` that has failed once and was told this.
#[track_caller]
fn failed_call(desk: &mut Desk, gate: GateId, told: &str) -> CallId {
    let call = desk.begin(&[Candidate::at(gate)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), told);
    call
}

#[test]
fn a_new_extra_passes_nobody_who_waits_for_the_same_parent() {
    // Could break if a call stands in the line of its own gate alone, while its parent gives credit to whoever asks.
    let mut desk = Desk::new(plain());
    let all = desk.gate(saving(), &[]);
    let (main, side) = (desk.gate(saving(), &[all]), desk.gate(plain(), &[all]));
    let first = failed_call(&mut desk, main, "backing-off");
    // `main` and its parent have granted one extra each: this waits for both.
    let waits = failed_call(&mut desk, main, "budget-wait");
    desk.pass(ms(1));
    // And these for the parent alone.
    let late = failed_call(&mut desk, side, "budget-wait");
    let later = failed_call(&mut desk, side, "budget-wait");
    desk.engine.end(desk.now, first);
    let mut order = Vec::new();
    for _ in 0..60 {
        desk.pass(Duration::from_secs(1));
        for permit in desk.serve() {
            order.push(permit.call());
            desk.answer(permit);
        }
    }
    assert_eq!(order, [waits, late, later]);
}

#[test]
fn a_charge_goes_back_to_the_parent_that_gave_it_whatever_the_parents_are_by_now() {
    // Could break if a reload between a charge and its return sent the credit to the gate's new parent.
    let mut desk = Desk::new(plain());
    let (old, new) = (desk.gate(saving(), &[]), desk.gate(saving(), &[]));
    let key = GateKey(desk.keys);
    let main = desk.gate(plain(), &[old]);
    let waits = failed_call(&mut desk, main, "backing-off");
    let unbounded = plain().build().expect("a policy in range").gate;
    desk.engine
        .configure(desk.now, key, &unbounded, &[new], None)
        .expect("two gates");
    desk.engine.end(desk.now, waits);
    // The old parent's one extra is free again, and the new one has its own and no more.
    let side = desk.gate(plain(), &[old]);
    failed_call(&mut desk, side, "backing-off");
    failed_call(&mut desk, main, "backing-off");
    failed_call(&mut desk, main, "budget-wait");
}

#[test]
fn an_attempt_that_was_refused_here_is_no_original() {
    // Could break if a call that never left this process gave others the credit for a retry (rule G2).
    let mut desk = Desk::new(plain());
    let main = desk.gate(
        plain().edit_budget(|b| b.ratio_per_mille(1_000).floor_milli(0)),
        &[],
    );
    let unsendable = Outcome::Failed {
        cause: Cause::Request,
        sent: Sent::No,
        hint: None,
    };
    // No answer, so no server denied it: the credential could not be had.
    let no_credential = Outcome::Denied { latches: false };
    for (outcome, reason) in [(unsendable, "refused"), (no_credential, "denied")] {
        for _ in 0..5 {
            let call = desk.begin(&[Candidate::at(main)]);
            let permit = desk.sent(call);
            desk.settle(permit, Report::of(outcome));
            assert_eq!(desk.told(call), reason);
        }
    }
    let call = desk.begin_as(&[Candidate::at(main)], |spec| spec.nth = 2);
    assert_eq!(desk.told(call), "budget-empty");
}

#[test]
fn credit_that_ran_out_while_a_retry_stood_in_line_is_waited_for() {
    // Could break if a policy that waits for credit ends a call that finds none only because it queued elsewhere.
    let mut desk = Desk::new(plain().backoff_base(Duration::from_secs(2)));
    let (main, spare) = (desk.gate(saving(), &[]), desk.gate(plain(), &[]));
    let call = desk.begin(&[Candidate::at(main), Candidate::at(spare)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 1);
    desk.settle(permit, throttled(Duration::from_secs(30)));
    // It goes back to `main`, where it will be an extra; meanwhile another call takes the credit that there is.
    assert_eq!(desk.told(call), "backing-off");
    failed_call(&mut desk, main, "backing-off");
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.told(call), "budget-wait");
    desk.pass(Duration::from_secs(9));
    let permits = desk.serve();
    assert!(permits.iter().any(|permit| permit.call() == call));
}

#[test]
fn the_charge_of_a_retry_that_is_never_sent_goes_to_the_next_who_asks() {
    // Could break if leaving gave back turns and places, and kept the extra (rule G2).
    let mut desk = Desk::new(plain());
    let main = desk.gate(
        plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(100)),
        &[],
    );
    for _ in 0..3 {
        let call = failed_call(&mut desk, main, "backing-off");
        failed_call(&mut desk, main, "budget-empty");
        desk.engine.end(desk.now, call);
    }
}

#[test]
fn credit_that_comes_early_is_not_for_who_comes_late() {
    // Could break if a new extra took the credit of the originals that ended before the line was asked again (G5).
    let mut desk = Desk::new(plain());
    let policy = plain().edit_budget(|b| b.ratio_per_mille(1_000).floor_milli(1).on_empty(OnEmpty::Wait));
    let main = [Candidate::at(desk.gate(policy, &[]))];
    let incoming = |spec: &mut Spec<'_>| spec.nth = 2;
    let original = desk.begin(&main);
    let permit = desk.sent(original);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(original), "backing-off");
    desk.pass(Duration::from_secs(1));
    let retry = desk.sent(original);
    desk.settle(retry, failed(500, Sent::No));
    assert_eq!(desk.told(original), "budget-wait");
    let other = desk.begin(&main);
    let permit = desk.sent(other);
    desk.answer(permit);
    let late = desk.begin_as(&main, incoming);
    assert_eq!(desk.told(late), "budget-empty");
    desk.pass(Duration::from_secs(1));
    assert_eq!(desk.serve()[0].call(), original);
}

#[test]
fn who_waits_at_another_gate_does_not_pass_who_waited_longer_for_the_parent() {
    // Could break if a line looked at its own members alone: the one that is asked first would win (G5).
    let mut desk = Desk::new(plain());
    let all = desk.gate(saving(), &[]);
    let main = desk.gate(saving(), &[all]);
    let side = desk.gate(plain(), &[all]);
    failed_call(&mut desk, main, "backing-off");
    // `main` and its parent have granted one extra each, and have the next one at the same instant.
    let older = failed_call(&mut desk, side, "budget-wait");
    let younger = failed_call(&mut desk, main, "budget-wait");
    assert_eq!(
        desk.told(older),
        "budget-wait",
        "asked last, and so asked again last"
    );
    let mut order = Vec::new();
    for _ in 0..40 {
        desk.pass(Duration::from_secs(1));
        order.extend(desk.serve().iter().map(Permit::call));
    }
    assert_eq!(order[1..], [older, younger]);
}

#[test]
fn a_reload_that_takes_the_budget_away_wakes_who_waits_for_its_credit() {
    // Could break if only places are looked at after a reload: the saver would sit out the old window's turn.
    let mut desk = Desk::new(plain());
    let key = GateKey(desk.keys);
    let main = desk.gate(saving(), &[]);
    let charged = failed_call(&mut desk, main, "backing-off");
    let waits = failed_call(&mut desk, main, "budget-wait");
    let unbounded = plain().build().expect("a policy in range").gate;
    desk.engine
        .configure(desk.now, key, &unbounded, &[], None)
        .expect("one gate");
    assert_eq!(desk.engine.woken(desk.now), Some(waits));
    assert_eq!(desk.told(waits), "backing-off");
    desk.engine.end(desk.now, charged);
}

#[test]
fn a_throttle_that_says_a_time_invites_its_retry_and_a_silent_one_does_not() {
    // Could break if every 429 were taken for an invitation: an overloaded server would be retried without bound.
    let mut desk = Desk::new(plain());
    let gate = desk.gate(saving(), &[]);
    let silent = Report::of(Outcome::Throttled { hint: None });
    for (report, took) in [(throttled(ms(5)), Held::NOTHING), (silent, Held::CHARGE)] {
        let call = desk.begin(&[Candidate::at(gate)]);
        let permit = desk.sent(call);
        desk.settle(permit, report);
        let _wait = desk.poll(call);
        let events: Vec<Event> = desk.engine.drain().collect();
        let waits = events
            .iter()
            .find(|event| matches!(event.what, What::Waits(..)))
            .expect("a throttle is waited out");
        assert!(
            waits.took.has(took) && (took == Held::CHARGE || !waits.took.has(Held::CHARGE)),
            "{waits}"
        );
        desk.pass(ms(10));
        desk.engine.end(desk.now, call);
    }
}
