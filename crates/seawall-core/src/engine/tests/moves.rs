//! Where a call goes on, and where it must not (rules K1 to K4, E2 and C2).

use super::*;
use crate::call::DedupId;
use crate::outcome::{Refusal, Usage};
use crate::policy::OnOpen;

fn at(gate: GateId, domain: u32) -> Candidate {
    Candidate {
        honours_keys: true,
        dedup: DedupId(domain),
        ..Candidate::at(gate)
    }
}

#[test]
fn a_keyed_write_is_sent_once_where_keys_are_not_honoured() {
    // Could break if a key counts as one at a candidate that never looks at it.
    let mut desk = Desk::new(plain().hedge_after(ms(10)));
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let deaf = Candidate {
        honours_keys: false,
        ..at(spare, 1)
    };
    let route = [at(main, 1), deaf];
    let call = desk.begin_as(&route, |spec| spec.replay = Replay::Keyed);
    let permit = desk.sent(call);
    desk.settle(permit, Report::of(Outcome::Refused(Refusal::QuotaSpent)));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 1);
    desk.pass(ms(20));
    assert_eq!(
        desk.told(call),
        "fallback",
        "no hedge where it would be a second write"
    );
    desk.settle(permit, failed(500, Sent::Maybe));
    assert_eq!(desk.told(call), "may-have-acted");
    assert!(desk.engine.end(desk.now, call).unknown);
}

#[test]
fn a_write_that_was_dropped_on_its_way_may_have_acted() {
    // Could break if only an attempt that met something counts as one that left (E2).
    for (sent, unknown) in [
        (Sent::No, false),
        (Sent::NotDone, false),
        (Sent::Maybe, true),
        (Sent::Done, true),
    ] {
        let mut desk = Desk::new(plain());
        let route = [at(desk.gate(plain(), &[]), 1)];
        let call = desk.begin_as(&route, |spec| spec.replay = Replay::Keyed);
        let permit = desk.sent(call);
        desk.engine.abandon(desk.now, permit, sent, Usage::NONE);
        assert_eq!(desk.engine.end(desk.now, call).unknown, unknown, "{sent:?}");
    }
}

#[test]
fn a_hedge_that_was_dropped_keeps_the_write_where_its_key_is_known() {
    // Could break if the attempt that failed speaks for the one beside it that nobody heard of again (K4).
    let mut desk = Desk::new(plain().retries(1).hedge_after(ms(10)));
    let route = [at(desk.gate(plain(), &[]), 1), at(desk.gate(plain(), &[]), 2)];
    let call = desk.begin_as(&route, |spec| spec.replay = Replay::Keyed);
    let permit = desk.sent(call);
    desk.pass(ms(20));
    let hedge = desk.sent(call);
    assert_eq!(hedge.candidate(), 0);
    desk.engine.abandon(desk.now, hedge, Sent::Maybe, Usage::NONE);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(
        desk.told(call),
        "attempts-spent",
        "and nothing goes to the other domain"
    );
    assert!(desk.engine.end(desk.now, call).unknown);
}

#[test]
fn a_call_falls_back_no_more_often_than_its_policy_says() {
    // Could break if a candidate that was never sent to is free to try whatever went before (K1).
    let mut desk = Desk::new(plain().retries(0).fallbacks(1));
    let route = [1, 2, 3].map(|domain| at(desk.gate(plain(), &[]), domain));
    let call = desk.begin(&route);
    for candidate in [0, 1] {
        let permit = desk.sent(call);
        assert_eq!(permit.candidate(), candidate);
        desk.settle(permit, failed(500, Sent::No));
    }
    assert_eq!(desk.told(call), "attempts-spent");
}

#[test]
fn a_body_that_is_gone_goes_nowhere_else() {
    // Could break if only the retry at the same upstream asks whether there still is a body.
    for (outcome, code) in [
        (Outcome::Refused(Refusal::QuotaSpent), "quota-spent"),
        (Outcome::Denied { latches: false }, "denied"),
    ] {
        let mut desk = Desk::new(plain());
        let route = [at(desk.gate(plain(), &[]), 1), at(desk.gate(plain(), &[]), 2)];
        let call = desk.begin_as(&route, |spec| spec.once = true);
        let permit = desk.sent(call);
        desk.settle(permit, Report::of(outcome));
        assert_eq!(desk.told(call), code);
    }
}

#[test]
fn a_prompt_never_goes_to_a_window_that_it_does_not_fit() {
    // Could break if windows are compared only after a candidate said that its own is too small (K2).
    let mut desk = Desk::new(plain().retries(0));
    let small = Candidate {
        window: 100,
        ..at(desk.gate(plain(), &[]), 2)
    };
    let route = [
        Candidate {
            window: 900,
            ..at(desk.gate(plain(), &[]), 1)
        },
        small,
    ];
    let call = desk.begin_as(&route, |spec| spec.tokens_in = 500);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), "attempts-spent");
}

#[test]
fn a_spent_quota_is_not_evaded_by_a_detour() {
    // Could break if only the candidate that said so is remembered as spent (K3).
    let mut desk = Desk::new(plain());
    let quota = desk.gate(plain(), &[]);
    let one = desk.gate_of_quota(plain(), &[], Some(quota));
    let other = desk.gate(plain(), &[]);
    let twin = desk.gate_of_quota(plain(), &[], Some(quota));
    let call = desk.begin(&[at(one, 1), at(other, 2), at(twin, 3)]);
    for candidate in [0, 1] {
        let permit = desk.sent(call);
        assert_eq!(permit.candidate(), candidate);
        desk.settle(permit, Report::of(Outcome::Refused(Refusal::QuotaSpent)));
    }
    assert_eq!(desk.told(call), "quota-spent");
}

#[test]
fn a_spent_quota_says_nothing_of_a_write_that_may_have_acted_before() {
    // Could break if every refusal counts as the definite answer that takes a write off the ledger (E2).
    let mut desk = Desk::new(plain());
    let route = [at(desk.gate(plain(), &[]), 1)];
    let call = desk.begin_as(&route, |spec| spec.replay = Replay::Keyed);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::Maybe));
    assert_eq!(desk.told(call), "backing-off");
    desk.pass(Duration::from_secs(1));
    let permit = desk.sent(call);
    desk.settle(permit, Report::of(Outcome::Refused(Refusal::QuotaSpent)));
    assert_eq!(desk.told(call), "quota-spent");
    assert!(desk.engine.end(desk.now, call).unknown);
}

#[test]
fn a_call_that_moved_on_does_not_come_back_before_its_own_wait_is_over() {
    // Could break if a candidate that was left because of a wait counts as one that could send now (C2).
    let mut desk = Desk::new(plain().backoff_base(Duration::from_secs(2)));
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    for candidate in [0, 1] {
        let permit = desk.sent(call);
        assert_eq!(permit.candidate(), candidate);
        desk.settle(permit, failed(500, Sent::No));
    }
    assert_eq!(desk.told(call), "backing-off");
}

#[test]
fn a_call_that_waits_elsewhere_does_not_come_back_before_its_own_wait_is_over() {
    // Could break if a cool-down at the next candidate makes the first one look free again at once.
    let mut desk = Desk::new(plain().backoff_base(Duration::from_secs(5)));
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let other = desk.begin(&[at(spare, 2)]);
    let permit = desk.sent(other);
    desk.settle(permit, throttled(Duration::from_secs(2)));
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), "cooling-down");
    desk.engine.end(desk.now, other);
    desk.pass(Duration::from_secs(2));
    let permits = desk.serve();
    assert_eq!(permits[0].candidate(), 1);
}

#[test]
fn the_first_that_is_free_may_be_one_that_the_call_was_at() {
    // Could break if a candidate whose wait is not over is forgotten, and not only not sent to (K1).
    let mut desk = Desk::new(
        plain()
            .backoff_base(Duration::from_secs(2))
            .hints_max(Duration::from_secs(60)),
    );
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 1);
    desk.settle(permit, throttled(Duration::from_secs(30)));
    assert_eq!(desk.told(call), "backing-off");
    desk.pass(Duration::from_secs(2));
    assert_eq!(desk.sent(call).candidate(), 0);
}

#[test]
fn a_call_queues_elsewhere_where_its_own_upstream_will_not_take_it() {
    // Could break if only waits whose end is known count as waits (K1: if none can send now, the first that is free).
    let mut desk = Desk::new(plain());
    let broken = plain().edit_breaker(|b| b.consecutive(1).on_open(OnOpen::Fail));
    let (main, spare) = (
        desk.gate(broken, &[]),
        desk.gate(plain().concurrency(Some(1)), &[]),
    );
    for wait in [0, 600] {
        desk.pass(ms(wait));
        let call = desk.begin(&[at(main, 1)]);
        let permit = desk.sent(call);
        desk.settle(permit, failed(500, Sent::Maybe));
        desk.engine.end(desk.now, call);
    }
    let busy = desk.begin(&[at(spare, 2)]);
    let busy = desk.sent(busy);
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    assert_eq!(desk.told(call), "queued");
    desk.answer(busy);
    let permits = desk.serve();
    assert_eq!(permits[0].candidate(), 1);
}

#[test]
fn a_call_without_credit_waits_elsewhere_and_not_in_vain() {
    // Could break if a candidate without credit counts as one that could send now.
    let empty = plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(0));
    let mut desk = Desk::new(plain());
    let (main, spare) = (desk.gate(empty, &[]), desk.gate(plain(), &[]));
    let other = desk.begin(&[at(spare, 2)]);
    let permit = desk.sent(other);
    desk.settle(permit, throttled(Duration::from_secs(3)));
    desk.engine.end(desk.now, other);
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), "cooling-down");
    desk.pass(Duration::from_secs(3));
    assert_eq!(desk.serve()[0].candidate(), 1);
}

#[test]
fn a_fallback_that_a_parent_has_no_credit_for_leaves_the_next_one_free() {
    // Could break if the first candidate that could send ends the call when it turns out not to be paid for.
    let empty = plain().edit_budget(|b| b.ratio_per_mille(0).floor_milli(0));
    let mut desk = Desk::new(plain().retries(0));
    let all = desk.gate(empty, &[]);
    let (main, twin) = (desk.gate(plain(), &[all]), desk.gate(plain(), &[all]));
    let other = desk.gate(plain(), &[]);
    let call = desk.begin(&[at(main, 1), at(twin, 2), at(other, 3)]);
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.sent(call).candidate(), 2);
}

#[test]
fn a_call_moves_on_where_the_queue_in_front_of_a_cool_down_is_full() {
    // Could break if a full queue ends the call where it would have waited for a cool-down (K1: limiter-full moves on).
    let mut desk = Desk::new(plain());
    let (main, spare) = (desk.gate(plain().queue(0), &[]), desk.gate(plain(), &[]));
    let other = desk.begin(&[at(main, 1)]);
    let permit = desk.sent(other);
    desk.settle(permit, throttled(ms(500)));
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    assert_eq!(desk.sent(call).candidate(), 1);
    let call = desk.begin(&[at(main, 1)]);
    assert_eq!(desk.told(call), "limiter-full");
}

#[test]
fn a_wait_that_does_not_fit_moves_on_where_another_could_send_now() {
    // Could break if a wait too long for the deadline ends the call, though the same wait in good time would have
    // moved it on (K1, patience).
    let mut desk = Desk::new(plain().backoff_base(Duration::from_secs(5)));
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let call = desk.begin_as(&[at(main, 1), at(spare, 2)], |spec| {
        spec.deadline = Instant::START.after(Duration::from_secs(3));
    });
    let permit = desk.sent(call);
    desk.settle(permit, failed(500, Sent::No));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 1);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), "deadline-too-near");
}

#[test]
fn a_throttled_attempt_of_a_batch_does_not_count_wherever_the_call_goes_next() {
    // Could break if only a wait at the same upstream remembers that the attempt was throttled (preset `batch`).
    let mut desk = Desk::new(
        plain()
            .retries(1)
            .tries(2)
            .throttled_counts(false)
            .backoff_base(Duration::from_secs(2)),
    );
    let (main, spare) = (desk.gate(plain(), &[]), desk.gate(plain(), &[]));
    let call = desk.begin(&[at(main, 1), at(spare, 2)]);
    let permit = desk.sent(call);
    desk.settle(permit, Report::of(Outcome::Throttled { hint: None }));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 1);
    desk.pass(Duration::from_secs(3));
    desk.settle(permit, Report::of(Outcome::Throttled { hint: None }));
    let permit = desk.sent(call);
    assert_eq!(permit.candidate(), 0);
    desk.settle(permit, failed(500, Sent::No));
    assert_eq!(desk.told(call), "backing-off", "one retry is left");
}

#[test]
fn a_call_comes_back_to_no_candidate_that_has_had_its_tries() {
    // Could break if tries were counted only where the call is, and not where it goes (K1).
    for (tries, told) in [(1, "backing-off"), (2, "retry")] {
        let mut desk = Desk::new(plain().tries(tries).backoff_base(Duration::from_secs(2)));
        let route = [at(desk.gate(plain(), &[]), 1), at(desk.gate(plain(), &[]), 2)];
        let call = desk.begin(&route);
        for candidate in [0, 1] {
            let permit = desk.sent(call);
            assert_eq!(permit.candidate(), candidate);
            desk.pass(Duration::from_secs(3));
            desk.settle(permit, failed(500, Sent::No));
        }
        let verdict = desk.poll(call);
        assert_eq!(verdict.reason.code(), told);
    }
}
