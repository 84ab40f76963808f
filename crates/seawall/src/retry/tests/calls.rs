//! Whole calls: what they show, on their own and behind a gate.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use seawall_core::facts::Broke;

/// Makes the call on its own and behind a gate that bounds nothing. Could break if the engine that comes late knew less
/// than one that was there.
fn check(world: &World, expected: &Expect) {
    let (alone, trace) = world.alone();
    let (behind, gate_trace) = world.behind_a_gate();
    expected.assert_eq(&told(&alone, trace.as_deref()));
    assert_eq!(alone, behind);
    assert!(trace.is_none_or(|trace| trace == gate_trace));
}

fn told(shown: &Shown, trace: Option<&[String]>) -> String {
    let mut lines: Vec<String> = trace.unwrap_or(&["no engine was made".to_owned()]).to_vec();
    lines.extend(shown.notices.iter().map(|notice| format!("told: {notice}")));
    lines.push(match &shown.end {
        Ok(answer) => format!("answer of attempt {answer} after {}", shown.took),
        Err(error) => format!(
            "{} with {:?} after {}",
            error.reason.code(),
            error.last,
            shown.took
        ),
    });
    lines.join("\n") + "\n"
}

const BUSY: Failure = Failure::status(503);

#[test]
fn a_call_that_succeeds_at_once_makes_no_engine() {
    // Could break if every call paid for an engine that nothing is asked of.
    check(
        &World::of(&[Step::ok(20)]),
        &expect![[r#"
            no engine was made
            answer of attempt 1 after 20ms
        "#]],
    );
}

#[test]
fn a_call_is_made_again_as_long_as_its_policy_says() {
    // Could break if the attempt that came before the engine were not counted: one retry too many, or a wait too short.
    check(
        &World::of(&[Step::fails(10, BUSY), Step::fails(0, BUSY), Step::ok(5)]),
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms
            110ms    call 1 #2@0 retry  +place
            110ms    call 1 #2@0 met failed  -place
            110ms    call 1 #2@0 backing-off until 310ms
            310ms    call 1 #3@0 retry  +place
            315ms    call 1 #3@0 met answer  -place
            315ms    call 1 #3@0 succeeded: the call has its answer
            told: 1 backing-off 100ms
            told: 2 backing-off 200ms
            answer of attempt 3 after 315ms
        "#]],
    );
}

#[test]
fn a_servers_word_is_kept_to_the_millisecond() {
    // Could break if the wait were counted from when the engine was made, or rounded down.
    let throttled = Failure::throttled().retry_after(Duration::from_secs(12));
    check(
        &World::of(&[Step::fails(10, throttled), Step::ok(5)]),
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met throttled  -place
            10ms     gate 0 cools until 12010ms
            10ms     call 1 #1@0 server-asked until 12010ms
            12010ms  call 1 #2@0 retry  +place
            12015ms  call 1 #2@0 met answer  -place
            12015ms  call 1 #2@0 succeeded: the call has its answer
            told: 1 server-asked 12s
            answer of attempt 2 after 12.015s
        "#]],
    );
}

#[test]
fn what_is_wrong_in_itself_is_not_repeated() {
    // Could break if an error that comes late were taken for the kind of the first.
    check(
        &World::of(&[Step::fails(10, BUSY), Step::fails(10, Failure::permanent())]),
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met refused  -place
            120ms    call 1 #2@0 refused: the request was refused; the same request will fail again
            told: 1 backing-off 100ms
            refused with Some(Failure { met: Permanent, retry_after: 0s }) after 120ms
        "#]],
    );
}

#[test]
fn an_attempt_is_cut_at_the_deadline_and_hides_no_earlier_error() {
    // Could break if only waits were bounded, or if the error that people look for were lost with the cut attempt.
    let world = World {
        deadline: Some(Duration::from_secs(1)),
        ..World::of(&[Step::fails(10, BUSY), Step::ok(10_000)])
    };
    check(
        &world,
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms
            110ms    call 1 #2@0 retry  +place
            1000ms   call 1 #2@0 met failed  -place
            1000ms   call 1 #2@0 deadline-passed: the deadline of 1s passed
            told: 1 backing-off 100ms
            deadline-passed with Some(Failure { met: Status(503), retry_after: 0s }) after 1s
        "#]],
    );
    assert_eq!(world.alone().0.end.unwrap_err().last, Some(BUSY));
}

#[test]
fn a_first_attempt_is_cut_at_the_deadline_too() {
    // Could break if only attempts that the engine ordered had a limit.
    let world = World {
        deadline: Some(Duration::from_secs(1)),
        ..World::of(&[Step::ok(10_000)])
    };
    check(
        &world,
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1000ms   call 1 #1@0 met failed  -place
            1000ms   call 1 #1@0 deadline-passed: the deadline of 1s passed
            deadline-passed with None after 1s
        "#]],
    );
    assert_eq!(world.alone().0.end.unwrap_err().last, None);
}

#[test]
fn a_slow_attempt_is_cut_where_a_limit_is_written_and_made_again() {
    // Could break if a cut attempt were taken for one without an answer to come, and ended the call.
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .total(Duration::from_secs(1))
        .build()
        .unwrap();
    check(
        &World {
            policy,
            ..World::of(&[Step::ok(10_000), Step::ok(10)])
        },
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            1000ms   call 1 #1@0 met failed  -place
            1000ms   call 1 #1@0 backing-off until 1100ms
            1100ms   call 1 #2@0 retry  +place
            1110ms   call 1 #2@0 met answer  -place
            1110ms   call 1 #2@0 succeeded: the call has its answer
            told: 1 backing-off 100ms
            answer of attempt 2 after 1.11s
        "#]],
    );
}

#[test]
fn a_deadline_of_nothing_makes_no_attempt() {
    // Could break if the attempt that comes before the engine were made without asking whether there is time.
    let world = World {
        deadline: Some(Duration::ZERO),
        ..World::of(&[Step::ok(0)])
    };
    check(
        &world,
        &expect![[r#"
            0ms      call 1 #0@0 deadline-passed: the deadline of 0s passed
            deadline-passed with None after 0s
        "#]],
    );
    assert_eq!(world.alone().0.attempts, []);
}

#[test]
fn what_may_have_acted_is_not_repeated_where_that_is_unsafe() {
    // Could break if whoever gives a closure had declared a repeat safe, whatever they say of it.
    let world = World {
        replay: Replay::Unsafe,
        ..World::of(&[
            Step::fails(10, Failure::broke(Broke::Refused)),
            Step::fails(10, Failure::transient()),
        ])
    };
    check(
        &world,
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 backing-off until 110ms
            110ms    call 1 #2@0 retry  +place
            120ms    call 1 #2@0 met failed  -place
            120ms    call 1 #2@0 may-have-acted (unknown): the write may have acted, and nothing makes a repeat safe
            told: 1 backing-off 100ms
            may-have-acted with Some(Failure { met: Broke(Closed), retry_after: 0s }) after 120ms
        "#]],
    );
    assert!(world.alone().0.end.unwrap_err().unknown);
}

#[test]
fn the_preset_for_writes_does_not_take_a_declaration() {
    // Could break if the declaration that every closure is stood above the policy.
    let world = World {
        policy: Policy::preset(seawall_core::policy::Preset::Writes),
        ..World::of(&[Step::fails(10, Failure::transient()), Step::ok(10)])
    };
    check(
        &world,
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            10ms     call 1 #1@0 met failed  -place
            10ms     call 1 #1@0 may-have-acted: the write may have acted, and nothing makes a repeat safe
            may-have-acted with Some(Failure { met: Broke(Closed), retry_after: 0s }) after 10ms
        "#]],
    );
}

#[test]
fn a_hedge_goes_beside_a_slow_attempt_and_the_first_answer_ends_both() {
    // Could break if a call that is ahead of its engine were never asked for a hedge, or waited for the one that lost.
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .hedge_after(Duration::from_millis(50))
        .build()
        .unwrap();
    check(
        &World {
            policy,
            ..World::of(&[Step::ok(10_000), Step::ok(20)])
        },
        &expect![[r#"
            0ms      call 1 #1@0 first  +place
            50ms     call 1 #2@0 hedge  +place
            70ms     call 1 #2@0 met answer  -place
            70ms     call 1 #2@0 succeeded: the call has its answer
            70ms     call 1 #1@0 abandoned, sent maybe  -place
            answer of attempt 2 after 70ms
        "#]],
    );
}

#[test]
fn an_attempt_knows_which_it_is_and_what_time_is_left() {
    // Could break if the time were counted anew for each attempt, or the first were told of another than the rest.
    let shown = World {
        deadline: Some(Duration::from_secs(10)),
        ..World::of(&[Step::fails(50, BUSY), Step::ok(5)])
    }
    .alone()
    .0;
    let seen = shown.attempts.iter().map(|attempt| {
        format!(
            "{} {} {}",
            attempt.number(),
            attempt.sent_for().code(),
            attempt.left()
        )
    });
    expect![[r#"
        1 first 10s
        2 retry 9.85s"#]]
    .assert_eq(&seen.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_call_may_go_to_another_thread_where_its_closure_may() {
    // Could break if anything that the call keeps for itself were bound to a thread: no task could be spawned of it.
    fn may_go<T: Send>(call: T) -> T {
        call
    }
    let policy = policy();
    let gate = Gate::new(&policy);
    let quiet = may_go(retry(async || Ok::<_, Failure>(1), &policy));
    let told = may_go(retry(async || Ok::<_, Failure>(2), &gate).notify(|_| ()));
    let (quiet, told) = (run(&CrankedClock::new(), quiet), run(&CrankedClock::new(), told));
    assert_eq!((quiet, told), (Ok(1), Ok(2)));
}

fn failures() -> impl Strategy<Value = Option<Failure>> {
    let hint = prop_oneof![Just(0), 1..3_000_u64, 50_000..70_000_u64];
    let failure = prop_oneof![
        4 => Just(BUSY),
        4 => Just(Failure::transient()),
        3 => Just(Failure::throttled()),
        1 => Just(Failure::permanent()),
        1 => Just(Failure::broke(Broke::Refused)),
        1 => any::<u16>().prop_map(Failure::status),
    ];
    let failure = (failure, hint).prop_map(|(failure, ms)| failure.retry_after(Duration::from_millis(ms)));
    prop_oneof![1 => Just(None), 5 => failure.prop_map(Some)]
}

prop_compose! {
    fn worlds()(
        steps in prop::collection::vec((prop_oneof![Just(0), 1..400_u64], failures()), 1..8),
        retries in 0..6_u32,
        deadline in prop_oneof![Just(0), 1..200_u64, 200..90_000_u64],
        total in prop::option::of(1..300_u64),
        replay in prop_oneof![Just(Replay::Declared), Just(Replay::Unsafe), Just(Replay::Idempotent)],
        hedge in prop::option::weighted(0.2, 1..300_u64),
        preset in prop::sample::select(seawall_core::policy::Preset::ALL.to_vec()),
    ) -> World {
        let mut builder = seawall_core::policy::PolicyBuilder::from_preset(preset)
            .retries(retries);
        if let Some(total) = total {
            builder = builder.total(Duration::from_millis(total));
        }
        if let Some(after) = hedge {
            builder = builder.hedge_after(Duration::from_millis(after));
        }
        let steps = steps.into_iter().map(|(after, met)| Step { after: Duration::from_millis(after), met });
        World {
            steps: steps.collect(),
            policy: builder.build().expect("in range"),
            replay,
            deadline: Some(Duration::from_millis(deadline)),
        }
    }
}

proptest! {
    /// Could break if the first attempt that is made ahead of the engine told it anything else, or another time, than
    /// one that the engine sent.
    #[test]
    fn a_call_ahead_of_its_engine_shows_what_one_at_a_gate_shows(world in worlds()) {
        let (alone, trace) = world.alone();
        let (behind, gate_trace) = world.behind_a_gate();
        prop_assert_eq!(&alone, &behind);
        match trace {
            Some(trace) => prop_assert_eq!(trace, gate_trace),
            None => prop_assert_eq!(alone.end, Ok(1)),
        }
    }
}
