//! Calls that move on.

use super::check;
use expect_test::expect;

#[test]
fn fallback_after_attempts_spent() {
    check(
        "
        gate main
        gate spare
        call route=main,spare retries=0
          10ms unconnected | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_budget_empty() {
    check(
        "
        gate main budget=1
        gate spare
        call route=main,spare
          10ms unconnected | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_cooling_down() {
    check(
        "
        gate main
        gate spare
        call hints=10s
          10ms 429+90s
        call at=20ms route=main,spare
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 90010ms
            10ms     call 1 #1@0 server-asked-too-long: the server asked for 1m30s; the longest wait possible is 10s
            20ms     call 2 #1@1 fallback  +place
            30ms     call 2 #1@1 met answer  -place
            30ms     call 2 #1@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_breaker_open() {
    check(
        "
        gate main breaker=2
        gate spare
        call retries=0
          10ms 503
        call at=600ms retries=0
          10ms 503
        call at=700ms route=main,spare
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            600ms    call 2 #1@0 first  +place
            610ms    gate 0 breaker opened until 1088.569058ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            700ms    call 3 #1@1 fallback  +place
            710ms    call 3 #1@1 met answer  -place
            710ms    call 3 #1@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_limiter_full() {
    check(
        "
        gate main concurrency=1 queue=0
        gate spare
        call
          100ms answer
        call at=10ms route=main,spare
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 2 #1@1 fallback  +place
            20ms     call 2 #1@1 met answer  -place
            20ms     call 2 #1@1 succeeded: the call has its answer
            100ms    call 1 #1@0 met answer  -place
            100ms    call 1 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_server_asked_too_long() {
    check(
        "
        gate main
        gate spare
        call route=main,spare hints=1s
          10ms 429+5s | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 5010ms
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_quota_spent() {
    check(
        "
        gate main
        gate spare
        call route=main,spare
          10ms quota | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met refused  -place
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_denied() {
    check(
        "
        gate main
        gate spare
        call route=main!,spare
          10ms 403 | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met denied  -place
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn fallback_after_denied_latched() {
    check(
        "
        gate main
        gate spare
        call route=main!
          10ms 401
        call at=20ms route=main!
          10ms 401
        call at=40ms route=main!,spare
          10ms answer
        call at=60ms route=main!
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met denied  -place
            10ms     call 1 #1@0 denied: the credential was not accepted: 401
            20ms     call 2 #1@0 first  +place
            30ms     call 2 #1@0 met denied  -place
            30ms     credential 1 latched until 60030ms
            30ms     call 2 #1@0 denied: the credential was not accepted: 401
            40ms     call 3 #1@1 fallback  +place
            50ms     call 3 #1@1 met answer  -place
            50ms     call 3 #1@1 succeeded: the call has its answer
            60ms     call 4 #0@0 denied-latched: the credential was denied twice in a row; it is not used for another 59.97s
        "#]],
    );
}

#[test]
fn fallback_after_context_too_long_to_a_larger_window_only() {
    check(
        "
        gate main
        gate small
        gate large
        call route=main/1/8000,small/2/4000,large/3/32000
          10ms context | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met refused  -place
            10ms     call 1 #2@2 fallback  +place
            20ms     call 1 #2@2 met answer  -place
            20ms     call 1 #2@2 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn no_fallback_after_a_refusal() {
    check(
        "
        gate main
        gate spare
        call route=main,spare
          10ms 400
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met refused  -place
            10ms     call 1 #1@0 refused: the request was refused with 400; the same request will fail again
        "#]],
    );
}

#[test]
fn a_second_try_is_made_elsewhere_while_another_could_send() {
    check(
        "
        gate main budget=1000
        gate spare
        call route=main,spare tries=1
          10ms 503 | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_wait_above_patience_moves_on() {
    check(
        "
        gate main
        gate spare
        call route=main,spare patience=200ms
          10ms 503+2s | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     gate 0 cools until 2010ms
            10ms     call 1 #2@1 fallback  +place
            20ms     call 1 #2@1 met answer  -place
            20ms     call 1 #2@1 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_full_gate_is_left_when_patience_ends() {
    check(
        "
        gate main concurrency=1
        gate spare
        call
          2s answer
        call at=10ms route=main,spare patience=300ms
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 2 #0@0 queued until 310ms  +turn
            310ms    call 2 #1@1 fallback  +place  -turn
            320ms    call 2 #1@1 met answer  -place
            320ms    call 2 #1@1 succeeded: the call has its answer
            2000ms   call 1 #1@0 met answer  -place
            2000ms   call 1 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn if_none_can_send_the_first_that_is_free() {
    check(
        "
        gate main
        gate spare
        call hints=60s
          10ms 429+20s | 10ms answer
        call route=spare hints=60s
          10ms 429+3s | 10ms answer
        call at=50ms route=main,spare
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            0ms      call 2 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 20010ms
            10ms     call 1 #1@0 server-asked until 20010ms
            10ms     call 2 #1@0 met throttled  -place
            10ms     gate 1 cools until 3010ms
            10ms     call 2 #1@0 server-asked until 3010ms
            50ms     call 3 #0@1 cooling-down until 1050ms  +turn
            3010ms   call 2 #1@0 queued until 120000ms  +turn
            3010ms   call 3 #1@1 fallback  +place  -turn
            3020ms   call 3 #1@1 met answer  -place
            3020ms   call 3 #1@1 succeeded: the call has its answer
            3020ms   call 2 #2@0 retry  +place  -turn
            3030ms   call 2 #2@0 met answer  -place
            3030ms   call 2 #2@0 succeeded: the call has its answer
            20010ms  call 1 #2@0 retry  +place
            20020ms  call 1 #2@0 met answer  -place
            20020ms  call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}
