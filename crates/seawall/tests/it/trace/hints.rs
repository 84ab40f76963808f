//! What servers say about waiting.

use super::check;
use expect_test::expect;

#[test]
fn a_hint_over_the_time_left_ends_the_call_at_once() {
    check(
        "
        gate main
        call deadline=1s
          10ms 503+2s
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     gate 0 cools until 2010ms
            10ms     call 1 #1@0 server-asked-too-long: the server asked for 2s; the longest wait possible is 990ms
        "#]],
    );
}

#[test]
fn a_hint_over_the_maximum_ends_the_call_at_once() {
    // Trap C26.
    check(
        "
        gate main
        call hints=1s
          10ms 429+1500ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 1510ms
            10ms     call 1 #1@0 server-asked-too-long: the server asked for 1.5s; the longest wait possible is 1s
        "#]],
    );
}

#[test]
fn a_hint_equal_to_the_maximum_is_waited_for() {
    check(
        "
        gate main
        call hints=1s
          10ms 429+1s | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 1010ms
            10ms     call 1 #1@0 server-asked until 1010ms
            1010ms   call 1 #2@0 retry  +place
            1020ms   call 1 #2@0 met answer  -place
            1020ms   call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_hint_that_cools_nothing_gets_a_spread() {
    check(
        "
        gate main budget=1000
        call
          10ms 500~2s | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 server-asked until 2059.689009ms  +charge
            2059.689009ms call 1 #2@0 retry  +place
            2069.689009ms call 1 #2@0 met answer  -place
            2069.689009ms call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_hint_holds_for_the_whole_gate() {
    check(
        "
        gate main
        call
          10ms 429+300ms | 10ms answer
        call at=50ms
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 310ms
            10ms     call 1 #1@0 server-asked until 310ms
            50ms     call 2 #0@0 cooling-down until 310ms  +turn
            310ms    call 1 #1@0 queued until 120000ms  +turn
            310ms    call 2 #1@0 first  +place  -turn
            320ms    call 2 #1@0 met answer  -place
            320ms    call 2 #1@0 succeeded: the call has its answer
            320ms    call 1 #2@0 retry  +place  -turn
            330ms    call 1 #2@0 met answer  -place
            330ms    call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn after_a_throttle_half_goes_at_once() {
    check(
        "
        gate main
        call
          10ms 429+300ms | 10ms answer
        call
          400ms answer
        call
          400ms answer
        call
          400ms answer
        call at=100ms
          50ms answer
        call at=101ms
          50ms answer
        call at=102ms
          50ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            0ms      call 2 #1@0 first  +place
            0ms      call 3 #1@0 first  +place
            0ms      call 4 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 310ms
            10ms     call 1 #1@0 server-asked until 310ms
            100ms    call 5 #0@0 cooling-down until 310ms  +turn
            101ms    call 6 #0@0 cooling-down until 120101ms  +turn
            102ms    call 7 #0@0 cooling-down until 120102ms  +turn
            310ms    call 1 #1@0 queued until 120000ms  +turn
            310ms    call 5 #0@0 queued until 120100ms
            400ms    call 2 #1@0 met answer  -place
            400ms    call 2 #1@0 succeeded: the call has its answer
            400ms    call 5 #1@0 first  +place  -turn
            400ms    call 3 #1@0 met answer  -place
            400ms    call 3 #1@0 succeeded: the call has its answer
            400ms    call 6 #1@0 first  +place  -turn
            400ms    call 7 #1@0 first  +place  -turn
            400ms    call 1 #2@0 retry  +place  -turn
            400ms    call 4 #1@0 met answer  -place
            400ms    call 4 #1@0 succeeded: the call has its answer
            410ms    call 1 #2@0 met answer  -place
            410ms    call 1 #2@0 succeeded: the call has its answer
            450ms    call 5 #1@0 met answer  -place
            450ms    call 5 #1@0 succeeded: the call has its answer
            450ms    call 6 #1@0 met answer  -place
            450ms    call 6 #1@0 succeeded: the call has its answer
            450ms    call 7 #1@0 met answer  -place
            450ms    call 7 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn silent_throttles_cool_after_the_third() {
    check(
        "
        gate main budget=1000 floor=9000
        call retries=4
          10ms 429
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     call 1 #1@0 backing-off until 110ms  +charge
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met throttled  -place
            120ms    call 1 #2@0 backing-off until 320ms  +charge
            320ms    call 1 #3@0 retry  +place
            330ms    call 1 #3@0 met throttled  -place
            330ms    gate 0 cools until 430ms
            330ms    call 1 #3@0 backing-off until 730ms  +charge
            730ms    call 1 #4@0 retry  +place
            740ms    call 1 #4@0 met throttled  -place
            740ms    gate 0 cools until 940ms
            740ms    call 1 #4@0 backing-off until 1540ms  +charge
            1540ms   call 1 #5@0 retry  +place
            1550ms   call 1 #5@0 met throttled  -place
            1550ms   gate 0 cools until 1950ms
            1550ms   call 1 #5@0 attempts-spent: all 5 attempts that the policy allows were made
        "#]],
    );
}
