//! Breakers, and their probes.

use super::{check, check_last};
use expect_test::expect;

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
            560ms    gate 0 breaker opened until 1038.569058ms
            560ms    call 3 #1@0 met failed  -place
            560ms    call 3 #1@0 attempts-spent: the one attempt that the policy allows was made
            610ms    call 1 #1@0 breaker-open: the upstream is broken and not tried; the next probe may go in 429ms  -charge
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
            610ms    gate 0 breaker opened until 1088.569058ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            6200ms   gate 0 breaker half-opened
            6200ms   call 3 #1@0 probe  +place+probe
            6210ms   call 4 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 750ms
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
            610ms    gate 0 breaker opened until 1088.569058ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            6200ms   gate 0 breaker half-opened
            6200ms   call 3 #1@0 probe  +place+probe
            6250ms   gate 0 breaker opened until 7040.162875ms
            6250ms   call 3 #1@0 met failed  -place+probe
            6250ms   call 3 #1@0 attempts-spent: the one attempt that the policy allows was made
            6300ms   call 4 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 741ms
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
            610ms    gate 0 breaker opened until 1088.569058ms
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
            610ms    gate 0 breaker opened until 1088.569058ms
            610ms    call 2 #1@0 met failed  -place
            610ms    call 2 #1@0 attempts-spent: the one attempt that the policy allows was made
            700ms    call 3 #0@0 breaker-wait until 1088.569058ms  +turn
            701ms    call 4 #0@0 breaker-wait until 120701ms  +turn
            1088.569058ms gate 0 breaker half-opened
            1088.569058ms call 3 #1@0 probe  +place+probe  -turn
            1098.569058ms gate 0 breaker closed
            1098.569058ms call 3 #1@0 met answer  -place+probe
            1098.569058ms call 3 #1@0 succeeded: the call has its answer
            1098.569058ms call 4 #1@0 first  +place  -turn
            1108.569058ms call 4 #1@0 met answer  -place
            1108.569058ms call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn a_hang_opens_before_anything_has_ended() {
    // Could break if what is out were counted when it ends: the third call would hang as the first two do.
    check(
        "
        gate main breaker=9 slow=1s min_calls=2
        call
          3s answer
        call
          3s answer
        call at=1200ms
          3s answer
        ",
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            0ms      call 2 #1@0 first  +place
            1200ms   gate 0 breaker opened until 1678.569058ms
            1200ms   call 3 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 479ms
            3000ms   gate 0 breaker half-opened
            3000ms   call 1 #1@0 met answer  -place
            3000ms   call 1 #1@0 succeeded: the call has its answer
            3000ms   call 2 #1@0 met answer  -place
            3000ms   call 2 #1@0 succeeded: the call has its answer
        "#]],
    );
}

#[test]
fn after_a_break_calls_are_let_in_along_a_ramp() {
    // Could break if a driver told the ramp of a call once too often, or not at all where it is turned away.
    let broken = "gate main breaker=2 probes=1 ramp=10s\ncall retries=0\n 10ms 503\ncall at=600ms retries=0\n 10ms 503\n";
    let calls: String = (0..12)
        .map(|nth| format!("call at={}ms retries=0\n 5ms answer\n", 6_300 + nth))
        .collect();
    check_last(
        &format!("{broken}call at=6200ms\n 50ms answer\ncall at=6260ms\n 900ms answer\n{calls}"),
        18,
        &expect![[r#"
            6250ms   call 3 #1@0 succeeded: the call has its answer
            6260ms   call 4 #1@0 first  +place
            6300ms   call 5 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 9.95s
            6301ms   call 6 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 8.788s
            6302ms   call 7 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 7.625s
            6303ms   call 8 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 6.461s
            6304ms   call 9 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 5.296s
            6305ms   call 10 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 4.13s
            6306ms   call 11 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 2.963s
            6307ms   call 12 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 1.795s
            6308ms   call 13 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 626ms
            6309ms   call 14 #1@0 first  +place
            6310ms   call 15 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 9.395s
            6311ms   call 16 #0@0 breaker-open: the upstream is broken and not tried; the next probe may go in 8.223s
            6314ms   call 14 #1@0 met answer  -place
            6314ms   call 14 #1@0 succeeded: the call has its answer
            7160ms   call 4 #1@0 met answer  -place
            7160ms   call 4 #1@0 succeeded: the call has its answer
        "#]],
    );
}
