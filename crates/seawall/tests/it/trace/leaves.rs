//! Callers that leave.

use super::check;
use expect_test::expect;

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
