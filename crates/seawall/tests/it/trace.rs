//! One trace from three drivers, byte for byte: a bare heap of events, the live loop as tasks, and the live loop on a
//! thread for each call. What stands beside each script is what all three print.

mod heap;
mod live;
mod script;

use expect_test::{Expect, expect};
use script::Script;

/// Any other would do; with this one the drawn delays below were drawn.
const SEED: u64 = 42;

/// Could break if a driver asked in another order, at another time or once too often, or forgot to give back.
fn check(text: &str, expected: &Expect) {
    let script = Script::parse(text);
    let heap = heap::run(&script, SEED).join("\n");
    expected.assert_eq(&format!("{heap}\n"));
    assert_eq!(
        live::run_async(&script, SEED).join("\n"),
        heap,
        "the tasks' trace is the heap's"
    );
    assert_eq!(
        live::run_blocking(&script, SEED).join("\n"),
        heap,
        "the threads' trace is the heap's"
    );
}

#[test]
fn a_caller_leaves_while_it_waits() {
    check(
        "
        gate main budget=1000
        call backoff=400ms
          10ms 503
        leave 1 at=100ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 410ms  +charge
            100ms    call 1 #1@0 cancelled: the caller left  -charge
        "#]],
    );
}

#[test]
fn a_caller_leaves_while_it_is_parked_and_the_next_goes() {
    check(
        "
        gate main concurrency=1
        call
          100ms answer
        call at=1ms
        call at=2ms
        leave 2 at=50ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1ms      call 2 #0@0 queued until 120001ms  +turn
            2ms      call 3 #0@0 queued until 120002ms  +turn
            50ms     call 2 #0@0 cancelled: the caller left  -turn
            100ms    call 1 #1@0 met answer  -place
            100ms    call 1 #1@0 succeeded: the call has its answer
            100ms    call 3 #1@0 first  +place  -turn
            110ms    call 3 #1@0 met answer  -place
            110ms    call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_caller_leaves_while_it_sends() {
    check(
        "
        gate main
        call replay=unsafe
          100ms answer
        leave 1 at=50ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            50ms     call 1 #1@0 abandoned, sent maybe  -place
            50ms     call 1 #1@0 cancelled: the caller left
        "#]],
    );
}

#[test]
fn a_caller_leaves_while_it_streams() {
    check(
        "
        gate main
        call
          20ms commit 500ms answer
        leave 1 at=50ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            20ms     call 1 #1@0 committed
            50ms     call 1 #1@0 abandoned, sent maybe  -place
            50ms     call 1 #1@0 cancelled: the caller left
        "#]],
    );
}

#[test]
fn a_woken_call_whose_owner_dies_passes_its_place_on() {
    check(
        "
        gate main concurrency=1
        call
          100ms kills-2 0ms answer
        call at=1ms
        call at=2ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1ms      call 2 #0@0 queued until 120001ms  +turn
            2ms      call 3 #0@0 queued until 120002ms  +turn
            100ms    call 1 #1@0 met answer  -place
            100ms    call 1 #1@0 succeeded: the call has its answer
            100ms    call 2 #0@0 cancelled: the caller left  -turn
            100ms    call 3 #1@0 first  +place  -turn
            110ms    call 3 #1@0 met answer  -place
            110ms    call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}

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

#[test]
fn a_breaker_opens_between_two_polls() {
    check(
        "
        gate main breaker=2 budget=1000 floor=9000
        call backoff=600ms
          10ms 503
        call at=5ms retries=0
          10ms 503
        call at=550ms retries=0
          10ms 503
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            5ms      call 2 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 610ms  +charge
            15ms     call 2 #1@0 met failed  -place
            15ms     call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            550ms    call 3 #1@0 first  +place
            560ms    gate 0 breaker opened until 5345.690579ms
            560ms    call 3 #1@0 met failed  -place
            560ms    call 3 #1@0 attempts-spent: the one attempt that the policy allows was made
            610ms    call 1 #1@0 breaker-open: the upstream is broken and not tried; the next probe may go in 4.736s  -charge
        "#]],
    );
}

#[test]
fn a_broken_upstream_is_probed_by_one() {
    check(
        "
        gate main breaker=2 probes=1
        call retries=0
          10ms 503
        call at=600ms retries=0
          10ms 503
        call at=6200ms
          50ms answer
        call at=6210ms
          50ms answer
        call at=6300ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            600ms    call 2 #1@0 first  +place
            610ms    gate 0 breaker opened until 5395.690579ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            6200ms   gate 0 breaker half-opened
            6200ms   call 3 #1@0 probe  +place+probe
            6210ms   call 4 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 5s
            6250ms   gate 0 breaker closed
            6250ms   call 3 #1@0 met answer  -place+probe
            6250ms   call 3 #1@0 succeeded: the call has its answer
            6300ms   call 5 #1@0 first  +place
            6310ms   call 5 #1@0 met answer  -place
            6310ms   call 5 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_probe_that_fails_opens_it_again() {
    check(
        "
        gate main breaker=2 probes=1
        call retries=0
          10ms 503
        call at=600ms retries=0
          10ms 503
        call at=6200ms retries=0
          50ms 503
        call at=6300ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            600ms    call 2 #1@0 first  +place
            610ms    gate 0 breaker opened until 5395.690579ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            6200ms   gate 0 breaker half-opened
            6200ms   call 3 #1@0 probe  +place+probe
            6250ms   gate 0 breaker opened until 11517.7525ms
            6250ms   call 3 #1@0 met failed  -place+probe
            6250ms   call 3 #1@0 attempts-spent: the one attempt that the policy allows was made
            6300ms   call 4 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 5.218s
        "#]],
    );
}

#[test]
fn a_probe_that_is_cancelled_is_no_evidence() {
    check(
        "
        gate main breaker=2 probes=1
        call retries=0
          10ms 503
        call at=600ms retries=0
          10ms 503
        call at=6200ms retries=0
          500ms answer
        leave 3 at=6300ms
        call at=6400ms
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            600ms    call 2 #1@0 first  +place
            610ms    gate 0 breaker opened until 5395.690579ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            6200ms   gate 0 breaker half-opened
            6200ms   call 3 #1@0 probe  +place+probe
            6300ms   call 3 #1@0 abandoned, sent maybe  -place+probe
            6300ms   call 3 #1@0 cancelled: the caller left
            6400ms   call 4 #1@0 probe  +place+probe
            6410ms   gate 0 breaker closed
            6410ms   call 4 #1@0 met answer  -place+probe
            6410ms   call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn calls_wait_for_a_broken_upstream_where_they_may() {
    check(
        "
        gate main breaker=2 probes=1 on_open=wait
        call retries=0
          10ms 503
        call at=600ms retries=0
          10ms 503
        call at=700ms
          10ms answer
        call at=701ms
          10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent: the one attempt that the policy allows was made
            600ms    call 2 #1@0 first  +place
            610ms    gate 0 breaker opened until 5395.690579ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            700ms    call 3 #0@0 breaker-wait until 5395.690579ms  +turn
            701ms    call 4 #0@0 breaker-wait until 120701ms  +turn
            5395.690579ms gate 0 breaker half-opened
            5395.690579ms call 3 #1@0 probe  +place+probe  -turn
            5405.690579ms gate 0 breaker closed
            5405.690579ms call 3 #1@0 met answer  -place+probe
            5405.690579ms call 3 #1@0 succeeded: the call has its answer
            5405.690579ms call 4 #1@0 first  +place  -turn
            5415.690579ms call 4 #1@0 met answer  -place
            5415.690579ms call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}

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
            610ms    gate 0 breaker opened until 5395.690579ms
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

#[test]
fn a_keyed_write_never_crosses_a_dedup_domain() {
    check(
        "
        gate main
        gate spare
        call route=main/1,spare/2 replay=keyed retries=0
          10ms timeout
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 attempts-spent (unknown): the one attempt that the policy allows was made
        "#]],
    );
}

#[test]
fn a_keyed_write_moves_within_its_dedup_domain() {
    check(
        "
        gate main
        gate spare
        call route=main/1,spare/1 replay=keyed retries=0
          10ms timeout | 10ms answer
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
fn a_keyed_write_that_was_never_sent_may_cross() {
    check(
        "
        gate main
        gate spare
        call route=main/1,spare/2 replay=keyed retries=0
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
fn an_unsafe_write_is_sent_once() {
    check(
        "
        gate main budget=1000
        gate spare
        call route=main,spare replay=unsafe
          10ms cut
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 may-have-acted (unknown): the write may have acted, and nothing makes a repeat safe
        "#]],
    );
}

#[test]
fn an_unsafe_write_is_sent_again_where_it_was_not_done() {
    check(
        "
        gate main
        call replay=unsafe
          10ms 503+100ms | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     gate 0 cools until 110ms
            10ms     call 1 #1@0 server-asked until 110ms
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met answer  -place
            120ms    call 1 #2@0 succeeded: the call has its answer
        "#]],
    );
}

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
fn a_stream_that_breaks_is_not_sent_again() {
    check(
        "
        gate main budget=1000
        call
          20ms commit 100ms cut
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            20ms     call 1 #1@0 committed
            120ms    call 1 #1@0 met failed  -place
            120ms    call 1 #1@0 already-streaming: content was handed on before the failure
        "#]],
    );
}

#[test]
fn a_body_that_cannot_be_sent_again_is_sent_once() {
    check(
        "
        gate main
        call once
          10ms 503
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 body-too-large: the body is too large to be kept for a second send
        "#]],
    );
}

#[test]
fn told_not_to_retry() {
    check(
        "
        gate main
        call
          10ms 503!false
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 told-not-to: the server said not to retry
        "#]],
    );
}

#[test]
fn a_retry_made_elsewhere_is_an_extra() {
    check(
        "
        gate main budget=1
        call nth=2
        ",
        &expect![[r#"
            0ms      call 1 #0@0 budget-empty: the retry budget is empty: 0 extras in its window, 0 allowed
        "#]],
    );
}

#[test]
fn calls_stand_in_line_for_credit() {
    check(
        "
        gate main budget=1 floor=100 on_empty=wait
        call retries=1
          10ms 503 | 10ms answer
        call at=1ms retries=1
          10ms 503 | 10ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1ms      call 2 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms  +charge
            11ms     call 2 #1@0 met failed  -place
            11ms     call 2 #1@0 budget-wait until 1000ms  +turn
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met answer  -place
            120ms    call 1 #2@0 succeeded: the call has its answer
            11000ms  call 2 #1@0 backing-off until 11000ms  +charge  -turn
            11000ms  call 2 #2@0 retry  +place
            11010ms  call 2 #2@0 met answer  -place
            11010ms  call 2 #2@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_parent_bounds_both_its_gates() {
    check(
        "
        gate all concurrency=1
        gate main parent=all
        gate spare parent=all
        call route=main
          100ms answer
        call at=10ms route=spare
          100ms answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 2 #0@0 queued until 120010ms  +turn
            100ms    call 1 #1@0 met answer  -place
            100ms    call 1 #1@0 succeeded: the call has its answer
            100ms    call 2 #1@0 first  +place  -turn
            200ms    call 2 #1@0 met answer  -place
            200ms    call 2 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn the_deadline_passes_in_the_queue() {
    check(
        "
        gate main concurrency=1
        call
          3s answer
        call at=10ms deadline=1s
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 2 #0@0 queued until 1010ms  +turn
            1010ms   call 2 #0@0 deadline-passed: the deadline of 1s passed  -turn
            3000ms   call 1 #1@0 met answer  -place
            3000ms   call 1 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn drawn_delays_come_from_the_seed() {
    check(
        "
        gate main budget=1000 floor=9000
        call jitter=full retries=3
          10ms 503
        call jitter=full retries=3
          10ms 503
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            0ms      call 2 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 108ms  +charge
            10ms     call 2 #1@0 met failed  -place
            10ms     call 2 #1@0 backing-off until 92ms  +charge
            92ms     call 2 #2@0 retry  +place
            102ms    call 2 #2@0 met failed  -place
            102ms    call 2 #2@0 backing-off until 231ms  +charge
            108ms    call 1 #2@0 retry  +place
            118ms    call 1 #2@0 met failed  -place
            118ms    call 1 #2@0 backing-off until 243ms  +charge
            231ms    call 2 #3@0 retry  +place
            241ms    call 2 #3@0 met failed  -place
            241ms    call 2 #3@0 backing-off until 318ms  +charge
            243ms    call 1 #3@0 retry  +place
            253ms    call 1 #3@0 met failed  -place
            253ms    call 1 #3@0 backing-off until 349ms  +charge
            318ms    call 2 #4@0 retry  +place
            328ms    call 2 #4@0 met failed  -place
            328ms    call 2 #4@0 attempts-spent: all 4 attempts that the policy allows were made
            349ms    call 1 #4@0 retry  +place
            359ms    call 1 #4@0 met failed  -place
            359ms    call 1 #4@0 attempts-spent: all 4 attempts that the policy allows were made
        "#]],
    );
}

#[test]
fn decorrelated_delays_come_from_the_seed() {
    check(
        "
        gate main budget=1000 floor=9000
        call jitter=decorrelated retries=3
          10ms 503
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 306ms  +charge
            306ms    call 1 #2@0 retry  +place
            316ms    call 1 #2@0 met failed  -place
            316ms    call 1 #2@0 backing-off until 891ms  +charge
            891ms    call 1 #3@0 retry  +place
            901ms    call 1 #3@0 met failed  -place
            901ms    call 1 #3@0 backing-off until 1356ms  +charge
            1356ms   call 1 #4@0 retry  +place
            1366ms   call 1 #4@0 met failed  -place
            1366ms   call 1 #4@0 attempts-spent: all 4 attempts that the policy allows were made
        "#]],
    );
}
