//! Delays that are drawn.

use super::check;
use expect_test::expect;

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
            316ms    call 1 #2@0 backing-off until 890ms  +charge
            890ms    call 1 #3@0 retry  +place
            900ms    call 1 #3@0 met failed  -place
            900ms    call 1 #3@0 backing-off until 1354ms  +charge
            1354ms   call 1 #4@0 retry  +place
            1364ms   call 1 #4@0 met failed  -place
            1364ms   call 1 #4@0 attempts-spent: all 4 attempts that the policy allows were made
        "#]],
    );
}
