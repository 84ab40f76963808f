//! How much a minute: our own limits, a server's, and who waits for them.

use super::check;
use expect_test::expect;

#[test]
fn a_call_waits_for_a_rate_and_holds_no_place_meanwhile() {
    // Could break if the one that waits for the rate kept the only place from the one that need not.
    check(
        "
        gate all concurrency=1
        gate slow parent=all rpm=2
        gate fast parent=all
        call route=slow
        call route=slow at=20ms
        call route=slow at=40ms
        call route=slow at=50ms
        call route=fast at=60ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place+rate
            10ms     call 1 #1@0 met answer  -place+rate
            10ms     call 1 #1@0 succeeded: the call has its answer
            20ms     call 2 #1@0 first  +place+rate
            30ms     call 2 #1@0 met answer  -place+rate
            30ms     call 2 #1@0 succeeded: the call has its answer
            40ms     call 3 #0@0 rate-wait until 30000ms  +turn
            50ms     call 4 #0@0 rate-wait until 120050ms  +turn
            60ms     call 5 #1@0 first  +place
            70ms     call 5 #1@0 met answer  -place
            70ms     call 5 #1@0 succeeded: the call has its answer
            30000ms  call 3 #1@0 first  +place+rate  -turn
            30010ms  call 3 #1@0 met answer  -place+rate
            30010ms  call 3 #1@0 succeeded: the call has its answer
            60000ms  call 4 #1@0 first  +place+rate  -turn
            60010ms  call 4 #1@0 met answer  -place+rate
            60010ms  call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn of_two_limits_the_later_holds_and_the_other_has_lost_nothing() {
    // Could break if a call took its request before it found that there are no tokens: the second would find none left.
    check(
        "
        gate main rpm=3 tpm=60
        call tokens=20+20
          10ms answer=10+10
        call tokens=30+20 at=20ms
        call at=30ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place+rate
            10ms     call 1 #1@0 met answer  -place+rate
            10ms     call 1 #1@0 succeeded: the call has its answer
            20ms     call 2 #0@0 rate-wait until 10000ms  +turn
            30ms     call 3 #0@0 queued until 120030ms  +turn
            10000ms  call 2 #1@0 first  +place+rate  -turn
            10000ms  call 3 #1@0 first  +place+rate  -turn
            10010ms  call 2 #1@0 met answer  -place+rate
            10010ms  call 2 #1@0 succeeded: the call has its answer
            10010ms  call 3 #1@0 met answer  -place+rate
            10010ms  call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_call_larger_than_the_bucket_is_refused() {
    // Could break if it waited for what never comes.
    check(
        "
        gate main tpm=60
        call tokens=40+21
        ",
        &expect![[r#"
            0ms      call 1 #0@0 limiter-full: the call needs 61 of a limit that holds 60
        "#]],
    );
}

#[test]
fn who_leaves_the_line_for_a_rate_leaves_its_turn_to_the_next() {
    // Could break if the turn of one that left were kept for it, or if its tokens stayed taken.
    check(
        "
        gate main rpm=60 tpm=60
        call tokens=60+0
        call tokens=30+0 at=20ms
        call tokens=20+0 at=30ms
        leave 2 at=100ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place+rate
            10ms     call 1 #1@0 met answer  -place+rate
            10ms     call 1 #1@0 succeeded: the call has its answer
            20ms     call 2 #0@0 rate-wait until 30000ms  +turn
            30ms     call 3 #0@0 rate-wait until 120030ms  +turn
            100ms    call 2 #0@0 cancelled: the caller left  -turn
            20000ms  call 3 #1@0 first  +place+rate  -turn
            20010ms  call 3 #1@0 met answer  -place+rate
            20010ms  call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn what_a_head_tells_holds_up_the_next_before_the_body_has_come() {
    // Could break if the server's word were heard at the end of the answer: the second call would be the 429.
    check(
        "
        gate main
        call
          10ms told-0/2s 500ms answer
        call at=100ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            100ms    call 2 #0@0 rate-wait until 2010ms  +turn
            510ms    call 1 #1@0 met answer  -place
            510ms    call 1 #1@0 succeeded: the call has its answer
            2010ms   call 2 #1@0 first  +place+rate  -turn
            2020ms   call 2 #1@0 met answer  -place+rate
            2020ms   call 2 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_reload_that_allows_more_wakes_who_waits() {
    // Could break if those in line slept until the time that the old limit had told them.
    check(
        "
        gate main rpm=1
        call
        call at=20ms
        call at=30ms
        reload main at=1s rpm=60
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place+rate
            10ms     call 1 #1@0 met answer  -place+rate
            10ms     call 1 #1@0 succeeded: the call has its answer
            20ms     call 2 #0@0 rate-wait until 60000ms  +turn
            30ms     call 3 #0@0 rate-wait until 120030ms  +turn
            1000ms   call 2 #1@0 first  +place+rate  -turn
            1000ms   call 3 #1@0 first  +place+rate  -turn
            1010ms   call 2 #1@0 met answer  -place+rate
            1010ms   call 2 #1@0 succeeded: the call has its answer
            1010ms   call 3 #1@0 met answer  -place+rate
            1010ms   call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_reload_that_allows_less_forgets_nothing_that_was_taken() {
    // Could break if a new limit began with a full bucket: each reload would be a burst.
    check(
        "
        gate main rpm=60
        call
        call
        reload main at=500ms rpm=2
        call at=600ms
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place+rate
            0ms      call 2 #1@0 first  +place+rate
            10ms     call 1 #1@0 met answer  -place+rate
            10ms     call 1 #1@0 succeeded: the call has its answer
            10ms     call 2 #1@0 met answer  -place+rate
            10ms     call 2 #1@0 succeeded: the call has its answer
            600ms    call 3 #0@0 rate-wait until 15500ms  +turn
            15500ms  call 3 #1@0 first  +place+rate  -turn
            15510ms  call 3 #1@0 met answer  -place+rate
            15510ms  call 3 #1@0 succeeded: the call has its answer
        "#]],
    );
}
