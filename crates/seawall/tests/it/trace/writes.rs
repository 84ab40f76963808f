//! Writes, and where they may be sent again.

use super::check;
use expect_test::expect;

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
    // Trap G55.
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
