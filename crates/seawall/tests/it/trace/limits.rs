//! What stops a call from being sent again, or at all.

use super::check;
use expect_test::expect;

#[test]
fn a_stream_that_breaks_is_not_sent_again() {
    // Trap G57.
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
    // Trap G60.
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
    // Trap G59.
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
    // Trap E45.
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
