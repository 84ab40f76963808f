//! Hedges.

use super::{check, check_last};
use expect_test::expect;

#[test]
fn a_hedge_wins_and_the_first_is_abandoned() {
    check(
        "
        gate main budget=1000 floor=9000
        call hedge=100ms
          500ms answer | 50ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            100ms    call 1 #2@0 hedge  +place+charge
            150ms    call 1 #2@0 met answer  -place
            150ms    call 1 #2@0 succeeded: the call has its answer
            150ms    call 1 #1@0 abandoned, sent maybe  -place
        "#]],
    );
}

#[test]
fn a_hedge_fails_and_the_first_goes_on() {
    // Trap F51.
    check(
        "
        gate main budget=1000 floor=9000
        call hedge=100ms
          500ms answer | 50ms 503
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            100ms    call 1 #2@0 hedge  +place+charge
            150ms    call 1 #2@0 met failed  -place
            500ms    call 1 #1@0 met answer  -place
            500ms    call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn two_failures_are_judged_together() {
    check(
        "
        gate main budget=1000 floor=9000
        call hedge=100ms retries=1
          500ms 503 | 100ms 429+2s
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            100ms    call 1 #2@0 hedge  +place+charge
            200ms    call 1 #2@0 met throttled  -place
            200ms    gate 0 cools until 2200ms
            500ms    call 1 #1@0 met failed  -place
            500ms    call 1 #2@0 attempts-spent: all 2 attempts that the policy allows were made
        "#]],
    );
}

#[test]
fn no_credit_no_hedge() {
    // Trap D37.
    check(
        "
        gate main budget=1
        call hedge=100ms
          500ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            500ms    call 1 #1@0 met answer  -place
            500ms    call 1 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_stream_beats_its_hedge_at_its_commit() {
    check(
        "
        gate main budget=1000 floor=9000
        call hedge=100ms
          150ms commit 500ms answer | 300ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            100ms    call 1 #2@0 hedge  +place+charge
            150ms    call 1 #1@0 committed
            150ms    call 1 #2@0 abandoned, sent maybe  -place
            650ms    call 1 #1@0 met answer  -place
            650ms    call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_hedge_goes_by_how_long_others_took() {
    // Could break if the drivers asked for the delay at different moments: each would be told another one.
    let answered = "call hedge=p95\n 100ms answer\n".repeat(20);
    let last = "call at=1s hedge=p95\n 500ms answer | 50ms answer\n";
    check_last(
        &format!("gate main budget=1000 floor=9000\n{answered}{last}"),
        5,
        &expect![[r#"
            1000ms   call 21 #1@0 first  +place
            1100.663296ms call 21 #2@0 hedge  +place+charge
            1150.663296ms call 21 #2@0 met answer  -place
            1150.663296ms call 21 #2@0 succeeded: the call has its answer
            1150.663296ms call 21 #1@0 abandoned, sent maybe  -place
        "#]],
    );
}

#[test]
fn a_share_of_hedges_is_kept_beside_the_budget() {
    // Could break if the budget alone were asked: it has room here for both.
    check(
        "
        gate main budget=1000 floor=9000
        call hedge=100ms hedged_at_most=500
          200ms answer
        call at=1s hedge=100ms hedged_at_most=500
          200ms answer
        call at=2s hedge=100ms hedged_at_most=500
          200ms answer | 50ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            200ms    call 1 #1@0 met answer  -place
            200ms    call 1 #1@0 succeeded: the call has its answer
            1000ms   call 2 #1@0 first  +place
            1200ms   call 2 #1@0 met answer  -place
            1200ms   call 2 #1@0 succeeded: the call has its answer
            2000ms   call 3 #1@0 first  +place
            2100ms   call 3 #2@0 hedge  +place+charge
            2150ms   call 3 #2@0 met answer  -place
            2150ms   call 3 #2@0 succeeded: the call has its answer
            2150ms   call 3 #1@0 abandoned, sent maybe  -place
        "#]],
    );
}
