//! Every order of a few callers at the edge states of a gate.

use loom::thread;
use seawall::crank::CrankedClock;
use seawall::hub::{Others, Step};
use seawall_core::policy::{OnEmpty, OnOpen, Policy, PolicyBuilder};
use seawall_core::time::Duration;
use seawall_loom::{Hasty, Orders, Stage, answer, failed, leave_after, play, poll_once, sent, throttled};
use std::sync::Arc;

/// A gate with one place and nothing else.
fn one_place() -> PolicyBuilder {
    Policy::builder().concurrency(Some(1)).breaker(None).budget(None)
}

/// A gate with one probe and nothing else.
fn one_probe(on_open: OnOpen) -> PolicyBuilder {
    // Who waits for a probe looks again after a rest at the latest: a long one, so that only a wake lets it go on.
    let rest = Duration::from_secs(5);
    Policy::builder()
        .retries(0)
        .budget(None)
        .edit_breaker(|breaker| breaker.consecutive(2).probes(1).open_for(rest).on_open(on_open))
}

/// A gate that has credit for one extra in ten seconds.
fn one_credit(on_empty: OnEmpty) -> PolicyBuilder {
    Policy::builder()
        .retries(1)
        .breaker(None)
        .edit_budget(|budget| budget.ratio_per_mille(0).floor_milli(100).on_empty(on_empty))
}

// --- The last place ---------------------------------------------------------------------------------------------------

#[test]
fn two_callers_at_the_last_place_are_both_answered() {
    // Breaks when the wake that a settle sends falls between a caller's question and its sleep, and is lost.
    play(Orders::All, &["first", "queued", "succeeded"], || {
        let stage = Stage::new(one_place());
        let other = stage.spawn_call(vec![answer()]);
        assert_eq!(stage.call(&[answer()]), "succeeded");
        assert_eq!(other.join().unwrap(), "succeeded");
        stage
    });
}

#[test]
fn three_callers_at_the_last_place_are_all_answered() {
    // Breaks when one wake is sent for two places that came free, or to a caller that stands behind another.
    play(Orders::Preempted(3), &["first", "queued", "succeeded"], || {
        let stage = Stage::new(one_place());
        let others = [stage.spawn_call(vec![answer()]), stage.spawn_call(vec![answer()])];
        assert_eq!(stage.call(&[answer()]), "succeeded");
        for other in others {
            assert_eq!(other.join().unwrap(), "succeeded");
        }
        stage
    });
}

#[test]
fn a_place_that_is_promised_to_one_who_leaves_goes_to_the_next() {
    // Breaks when the wake of a call that has left dies with it: the one behind it sleeps for ever.
    play(Orders::All, &["first", "left", "queued", "succeeded"], || {
        let stage = Stage::new(one_place());
        let (mut holder, leave) = stage.send();
        let mut leaver = Box::pin({
            let stage = Arc::clone(&stage);
            async move { stage.drive(&[answer()]).await }
        });
        assert!(poll_once(leaver.as_mut()).is_pending());
        let next = stage.spawn_call(vec![answer()]);
        let leaver = thread::spawn(move || drop(leaver));
        assert!(matches!(
            holder.settle_and_poll(leave, answer(), Others::None).step,
            Step::Finish { .. }
        ));
        drop(holder);
        leaver.join().unwrap();
        assert_eq!(next.join().unwrap(), "succeeded");
        stage
    });
}

#[test]
fn a_caller_that_leaves_after_any_poll_leaves_the_place_to_the_other() {
    // Breaks when a dropped future keeps the place, the turn or the promise that it had.
    for polls in 1..4 {
        let mut wanted = vec!["first", "queued", "succeeded"];
        if polls == 1 {
            wanted.push("left");
        }
        play(Orders::All, &wanted, move || {
            let stage = Stage::new(one_place());
            let leaver = thread::spawn({
                let stage = Arc::clone(&stage);
                move || leave_after(&stage, polls, stage.drive(&[answer()]))
            });
            assert_eq!(stage.call(&[answer()]), "succeeded");
            leaver.join().unwrap();
            stage
        });
    }
}

#[test]
fn a_lower_limit_drains_and_nobody_sleeps_through_the_higher_one() {
    // Breaks when a reload frees a place and wakes nobody, or lowers a limit below what is out and loses the count.
    play(Orders::All, &["first", "queued", "succeeded"], || {
        let stage = Stage::new(one_place());
        let other = stage.spawn_call(vec![answer()]);
        let (mut holder, leave) = stage.send_or_wait();
        stage.reconfigure(one_place().concurrency(Some(2)));
        stage.reconfigure(one_place());
        drop(holder.settle_and_poll(leave, answer(), Others::None));
        drop(holder);
        assert_eq!(other.join().unwrap(), "succeeded");
        stage
    });
}

// --- The last probe ---------------------------------------------------------------------------------------------------

#[test]
fn two_callers_at_the_last_probe_send_one() {
    // Breaks when the state is read under one lock and the slot is taken under another: both are let in.
    play(
        Orders::All,
        &["first", "probe", "breaker-open", "succeeded"],
        || {
            let stage = Stage::half_open(one_probe(OnOpen::Fail));
            let other = stage.spawn_call(vec![answer()]);
            let ends = [stage.call(&[answer()]), other.join().unwrap()];
            // Where the one has closed the breaker before the other came, both are answered.
            assert!(ends.contains(&"succeeded"), "{ends:?}");
            stage
        },
    );
}

#[test]
fn who_waits_for_a_probe_is_woken_by_its_end() {
    // Breaks when a probe's end closes the breaker and wakes nobody.
    play(
        Orders::All,
        &["first", "probe", "breaker-wait", "succeeded"],
        || {
            let stage = Stage::half_open(one_probe(OnOpen::Wait));
            let other = stage.spawn_call(vec![answer()]);
            assert_eq!(stage.call(&[answer()]), "succeeded");
            assert_eq!(other.join().unwrap(), "succeeded");
            stage
        },
    );
}

#[test]
fn a_probe_that_is_dropped_leaves_its_slot_to_who_waits() {
    // Breaks when a probe's slot goes with a future that was dropped: nobody would probe this gate again.
    play(
        Orders::All,
        &["probe", "breaker-wait", "left", "succeeded"],
        || {
            let stage = Stage::half_open(one_probe(OnOpen::Wait));
            let (prober, leave) = stage.send();
            let waits = stage.spawn_call(vec![answer()]);
            drop(leave);
            drop(prober);
            assert_eq!(waits.join().unwrap(), "succeeded");
            stage
        },
    );
}

// --- The last credit --------------------------------------------------------------------------------------------------

#[test]
fn two_callers_at_the_last_credit_send_one_extra() {
    // Breaks when credit is looked at under one lock and taken under another: both retry.
    play(
        Orders::All,
        &["first", "backing-off", "retry", "budget-empty", "succeeded"],
        || {
            let stage = Stage::new(one_credit(OnEmpty::Stop));
            let other = stage.spawn_call(vec![failed(), answer()]);
            let mut ends = [stage.call(&[failed(), answer()]), other.join().unwrap()];
            ends.sort_unstable();
            assert_eq!(ends, ["budget-empty", "succeeded"]);
            stage
        },
    );
}

#[test]
fn a_charge_that_was_never_sent_goes_to_who_waits_for_it() {
    // Breaks when the charge of a call that leaves goes back and nobody is told, or does not go back.
    play(
        Orders::All,
        &[
            "first",
            "backing-off",
            "budget-wait",
            "left",
            "retry",
            "succeeded",
        ],
        || {
            let stage = Stage::new(one_credit(OnEmpty::Wait));
            let (mut charged, leave) = stage.send();
            let waits = charged.settle_and_poll(leave, failed(), Others::None);
            assert!(matches!(waits.step, Step::Wait(_)), "{waits:?}");
            drop(waits);
            let other = stage.spawn_call(vec![failed(), answer()]);
            drop(charged);
            assert_eq!(other.join().unwrap(), "succeeded");
            stage
        },
    );
}

// --- Two threads at one call ------------------------------------------------------------------------------------------

#[test]
fn a_call_that_ends_while_its_attempt_lands_gives_back_once() {
    // Breaks when the end of a call and the end of its attempt both give the place back, or neither does.
    play(Orders::All, &["first", "left", "queued", "succeeded"], || {
        let stage = Stage::new(one_place());
        let (call, leave) = stage.for_good().send();
        let waits = stage.spawn_call(vec![answer()]);
        let ends = thread::spawn(move || drop(call));
        drop(leave);
        ends.join().unwrap();
        assert_eq!(waits.join().unwrap(), "succeeded");
        stage
    });
}

#[test]
fn a_hedge_that_wins_while_the_other_is_dropped_gives_back_both() {
    // Breaks when the commit of the one and the end of the other, at the same time, give a place back twice or never.
    play(Orders::All, &["first", "hedge", "succeeded"], || {
        let hedged = Policy::builder()
            .hedge_after(Duration::from_secs(1))
            .concurrency(Some(2))
            .breaker(None)
            .budget(None);
        let clock = Hasty::default();
        let stage = Stage::with_clock(hedged, clock.clone());
        let (mut call, slow) = stage.for_good().send();
        clock.advance(Duration::from_secs(2));
        let mut hedge = sent(call.poll());
        let loses = thread::spawn(move || drop(slow));
        hedge.commit();
        stage.in_flight_is_what_is_out();
        let told = call.settle_and_poll(hedge, answer(), Others::Out);
        loses.join().unwrap();
        assert_eq!(
            (told.reason.code(), call.poll().reason.code()),
            ("succeeded", "succeeded")
        );
        stage
    });
}

// --- The whole gate ---------------------------------------------------------------------------------------------------

#[test]
fn a_drain_leaves_nobody_asleep() {
    // Breaks when a call that is about to sleep hears neither of the drain nor of the place that came free.
    play(Orders::All, &["first", "queued", "draining", "succeeded"], || {
        let stage = Stage::new(one_place());
        let (mut holder, leave) = stage.send();
        let waits = stage.spawn_call(vec![answer()]);
        let drains = thread::spawn({
            let stage = Arc::clone(&stage);
            move || stage.hub().with(|engine, now| engine.drain_calls(now))
        });
        assert_eq!(
            holder
                .settle_and_poll(leave, answer(), Others::None)
                .reason
                .code(),
            "succeeded"
        );
        drop(holder);
        drains.join().unwrap();
        let end = waits.join().unwrap();
        assert!(["draining", "succeeded"].contains(&end), "{end}");
        stage
    });
}

#[test]
fn a_drain_wakes_who_waits_though_no_place_comes_free() {
    // Breaks when a drain is heard of only by those whom a settle wakes.
    play(Orders::All, &["first", "queued", "draining", "succeeded"], || {
        let stage = Stage::new(one_place());
        let (mut holder, leave) = stage.send();
        let waits = stage.spawn_call(vec![answer()]);
        stage.hub().with(|engine, now| engine.drain_calls(now));
        assert_eq!(waits.join().unwrap(), "draining");
        assert_eq!(
            holder
                .settle_and_poll(leave, answer(), Others::None)
                .reason
                .code(),
            "succeeded"
        );
        drop(holder);
        stage
    });
}

#[test]
fn two_callers_that_wait_for_a_cool_down_go_when_it_ends() {
    // Breaks when the clock's wake meets the engine's, or a caller that has just looked at the time sleeps past it.
    play(
        Orders::Preempted(3),
        &[
            "first",
            "server-asked",
            "left",
            "cooling-down",
            "queued",
            "succeeded",
        ],
        || {
            let clock = CrankedClock::new();
            let stage = Stage::with_clock(one_place().concurrency(None), clock.clone());
            let (mut throttles, leave) = stage.send();
            drop(throttles.settle_and_poll(leave, throttled(Duration::from_secs(5)), Others::None));
            drop(throttles);
            let callers = [stage.spawn_call(vec![answer()]), stage.spawn_call(vec![answer()])];
            // Before, while or after they come to wait; one that comes after it has nothing to wait for.
            clock.advance(Duration::from_secs(6));
            for caller in callers {
                assert_eq!(caller.join().unwrap(), "succeeded");
            }
            stage
        },
    );
}
