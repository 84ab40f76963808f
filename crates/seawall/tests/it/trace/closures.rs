//! Calls of closures at gates: each kind of thing that a closure can say, and each that a gate can do about it.

use super::{Script, check, live};
use expect_test::{Expect, expect};

/// As [`check`], of a script that closures are known to fit. Could break if closures were quietly left out.
fn check_closures(text: &str, expected: &Expect) {
    assert!(live::run_closures(&Script::parse(text), 1).is_some());
    check(text, expected);
}

#[test]
fn closures_share_the_breaker_of_their_gate() {
    // Could break if each closure had a breaker of its own: none would ever see two failures in a row.
    check_closures(
        "
        gate main breaker=2
        call retries=0
          10ms 503
        call at=700ms retries=0
          10ms cut
        call at=800ms
        call at=7s
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            700ms    call 2 #1@0 first  +place
            710ms    gate 0 breaker opened until 1188.569058ms
            710ms    call 2 #1@0 met failed  -place
            710ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            800ms    call 3 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 389ms
            7000ms   gate 0 breaker half-opened
            7000ms   call 4 #1@0 probe  +place+probe
            7010ms   gate 0 breaker closed
            7010ms   call 4 #1@0 met answer  -place+probe
            7010ms   call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn closures_share_the_cool_down_of_their_gate() {
    // Could break if a closure kept the server's word to itself.
    check_closures(
        "
        gate main
        call
          10ms 429+2s | 10ms answer
        call at=100ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 2010ms
            10ms     call 1 #1@0 server-asked until 2010ms
            100ms    call 2 #0@0 cooling-down until 2010ms  +turn
            2010ms   call 1 #1@0 queued until 120000ms  +turn
            2010ms   call 2 #1@0 first  +place  -turn
            2020ms   call 2 #1@0 met answer  -place
            2020ms   call 2 #1@0 succeeded: the call has its answer
            2020ms   call 1 #2@0 retry  +place  -turn
            2030ms   call 1 #2@0 met answer  -place
            2030ms   call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn closures_share_the_budget_and_the_places_of_their_gate() {
    // Could break if a closure were sent past the line, or retried on nobody's budget.
    check_closures(
        "
        gate main concurrency=1 floor=100
        call
          10ms 500 | 10ms answer
        call at=1ms
          10ms unconnected
        call at=2ms replay=unsafe
          10ms timeout
        call at=3ms
          10ms 403
        leave 4 at=4ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1ms      call 2 #0@0 queued until 120001ms  +turn
            2ms      call 3 #0@0 queued until 120002ms  +turn
            3ms      call 4 #0@0 queued until 120003ms  +turn
            4ms      call 4 #0@0 cancelled: the caller left  -turn
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms  +charge
            10ms     call 2 #1@0 first  +place  -turn
            20ms     call 2 #1@0 met failed  -place
            20ms     call 2 #1@0 budget-empty: the retry budget is empty: 1 extra in its window, 1 allowed
            20ms     call 3 #1@0 first  +place  -turn
            30ms     call 3 #1@0 met failed  -place
            30ms     call 3 #1@0 may-have-acted (unknown): the write may have acted, and nothing makes a repeat safe
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met answer  -place
            120ms    call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_closure_is_hedged_where_the_policy_says_so() {
    // Could break if a closure's loop kept one attempt at a time.
    check_closures(
        "
        gate main
        call hedge=20ms
          100ms answer | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            20ms     call 1 #2@0 hedge  +place
            30ms     call 1 #2@0 met answer  -place
            30ms     call 1 #2@0 succeeded: the call has its answer
            30ms     call 1 #1@0 abandoned, sent maybe  -place
        "#]],
    );
}
