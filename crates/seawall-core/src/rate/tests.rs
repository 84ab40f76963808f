use super::{Bucket, Buckets, Cost, MINUTE, Room, used, used_before_drop};
use crate::outcome::{Cause, Outcome, Refusal, Report, Sent, Usage};
use crate::policy::Rates;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::vec::Vec;
use proptest::prelude::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// Takes as much as there is room for until an hour has passed, and says how many calls of `needs` units went.
fn greedy_hour(per_minute: u64, needs: u64) -> u64 {
    let mut bucket = Bucket::new(Instant::START, Some(per_minute));
    let (mut now, mut went) = (Instant::START, 0);
    let end = now.after(HOUR);
    while now < end {
        match bucket.room(now, needs) {
            Room::Now => {
                bucket.reserve(now, needs);
                went += 1;
            }
            Room::At(at) => now = at,
            Room::Later | Room::Never { .. } => panic!("{needs} fit into {per_minute}"),
        }
    }
    went
}

#[test]
fn an_hour_admits_what_the_bucket_allows_and_not_one_more() {
    // Broken by any rounding: 60e9 / 7 is no whole number of nanoseconds, and an hour of sevenths adds up.
    // What a bucket allows before the hour is over: its fill, and what runs off in an hour less the last instant.
    for per_minute in [1, 7, 59, 60, 61, 1_000, 9_999] {
        assert_eq!(greedy_hour(per_minute, 1), per_minute + 60 * per_minute - 1);
    }
    // 10 000 tokens a minute by calls of 300: the fill of 33, and one for each 300 that ran off since.
    let allowed = (10_000 + 10_000 * 60 - 1) / 300;
    assert_eq!(greedy_hour(10_000, 300), allowed);
}

#[test]
fn a_call_larger_than_the_bucket_is_told_so_at_once() {
    // Broken if it were given a time: it would be woken, refused and woken for ever.
    let bucket = Bucket::new(Instant::START, Some(10));
    assert_eq!(bucket.room(Instant::START, 10), Room::Now);
    assert_eq!(
        bucket.room(Instant::START, 11),
        Room::Never { needs: 11, holds: 10 }
    );
}

#[test]
fn a_reload_keeps_what_has_not_run_off() {
    // Broken if a reload filled the bucket: each change of a file would send a minute's worth at once.
    let rates = |n| Rates {
        requests_per_minute: n,
        ..Rates::NONE
    };
    let now = Instant::START;
    let mut buckets = Buckets::new(now, &rates(Some(60))).unwrap();
    let one = Cost::of(0, 0);
    for _ in 0..60 {
        assert_eq!(buckets.room(now, one), Room::Now);
        buckets.reserve(now, one);
    }
    buckets.configure(now, &rates(Some(60)));
    assert_eq!(
        buckets.room(now, one),
        Room::At(now.after(Duration::from_secs(1)))
    );
    buckets.configure(now, &rates(Some(30)));
    assert_eq!(
        buckets.room(now, one),
        Room::At(now.after(Duration::from_secs(62)))
    );
    buckets.configure(now, &rates(None));
    assert_eq!(buckets.room(now, one), Room::Now);
}

#[test]
fn a_limit_that_was_away_owes_nobody_what_it_never_took() {
    // Broken if a reservation of the old bucket were given back to the new one.
    let rates = |n| Rates {
        tokens_per_minute: n,
        ..Rates::NONE
    };
    let now = Instant::START;
    let mut buckets = Buckets::new(now, &rates(Some(100))).unwrap();
    let cost = Cost::of(100, 0);
    let marks = buckets.reserve(now, cost);
    buckets.configure(now, &rates(None));
    buckets.reserve(now, cost);
    buckets.configure(now, &rates(Some(100)));
    buckets.reserve(now, cost);
    buckets.settle(now, &marks, cost, Cost::NOTHING);
    assert_eq!(buckets.left(now)[1], Some(0));
}

#[test]
fn what_an_attempt_used_is_what_the_server_counted() {
    // Broken if a refused call's tokens stayed taken, if a timed-out one's came back, or if a re-send were free.
    let estimate = Cost::of(70, 30);
    let usage = Usage {
        tokens_in: 5,
        tokens_out: 6,
    };
    let failed = |sent| Outcome::Failed {
        cause: Cause::Cut,
        sent,
        hint: None,
    };
    let answered_badly = Outcome::Failed {
        cause: Cause::Status,
        sent: Sent::Maybe,
        hint: None,
    };
    let reported = |outcome| Report {
        usage,
        ..Report::of(outcome)
    };
    let resent = Report {
        resent: true,
        ..reported(Outcome::Answer)
    };
    for (report, expected) in [
        (Report::of(Outcome::Answer), [1, 100, 70, 30]),
        (reported(Outcome::Answer), [1, 11, 5, 6]),
        (resent, [2, 11, 5, 6]),
        (Report::of(Outcome::Throttled { hint: None }), [1, 0, 0, 0]),
        (Report::of(Outcome::Refused(Refusal::Caller)), [1, 0, 0, 0]),
        // No answer: the credential could not be had, and nothing was sent.
        (Report::of(Outcome::Denied { latches: false }), [0; 4]),
        (Report::of(Outcome::Denied { latches: true }), [1, 0, 0, 0]),
        (Report::of(failed(Sent::No)), [0, 0, 0, 0]),
        (Report::of(failed(Sent::NotDone)), [1, 0, 0, 0]),
        (Report::of(failed(Sent::Maybe)), [1, 100, 70, 30]),
        (Report::of(answered_badly), [1, 0, 0, 0]),
        (reported(failed(Sent::Maybe)), [1, 11, 5, 6]),
    ] {
        assert_eq!(used(&report, estimate), Cost(expected), "{report:?}");
    }
    assert_eq!(used_before_drop(Sent::No, Usage::NONE, estimate), Cost::NOTHING);
    assert_eq!(used_before_drop(Sent::Maybe, Usage::NONE, estimate), estimate);
    assert_eq!(
        used_before_drop(Sent::Maybe, usage, estimate),
        Cost([1, 11, 5, 6])
    );
}

/// One reservation as a plain list keeps it: when, how much by the estimate, and how much in truth.
struct Entry {
    at: u64,
    mark: u64,
    reserved: u64,
    truth: u64,
    settled: bool,
}

/// How high a bucket stands at `now` by the truth alone: replays everything.
fn level_by_truth(entries: &[Entry], per_minute: u64, now: u64) -> u128 {
    let (mut level, mut last) = (0_u128, 0_u64);
    let runs_off = |level: u128, nanos: u64| level.saturating_sub(u128::from(nanos) * u128::from(per_minute));
    for entry in entries {
        level = runs_off(level, entry.at - last) + u128::from(entry.truth) * MINUTE;
        last = entry.at;
    }
    runs_off(level, now - last)
}

proptest! {
    #[test]
    fn no_order_of_estimates_and_corrections_lets_more_through_than_the_limit(
        seed: u64,
        per_minute in 1_u64..500,
    ) {
        // Broken if what is given back has run off before, which no single reservation shows: only others in between.
        let mut rng = Rng::new(seed, 1);
        let mut bucket = Bucket::new(Instant::START, Some(per_minute));
        let mut entries: Vec<Entry> = Vec::new();
        let mut now = 0_u64;
        for _ in 0..200 {
            now += rng.up_to(20_000_000_000);
            let at = Instant::from_nanos(now);
            let unsettled: Vec<usize> = (0..entries.len()).filter(|i| !entries[*i].settled).collect();
            if !unsettled.is_empty() && rng.up_to(1) == 0 {
                let which = unsettled[usize::try_from(rng.up_to(unsettled.len() as u64 - 1)).unwrap()];
                let used = rng.up_to(entries[which].reserved);
                let entry = &mut entries[which];
                bucket.settle(at, entry.mark, entry.reserved, used);
                (entry.truth, entry.settled) = (used, true);
            } else {
                let needs = rng.up_to(per_minute);
                match bucket.room(at, needs) {
                    Room::Now => {
                        let mark = bucket.reserve(at, needs);
                        entries.push(Entry { at: now, mark, reserved: needs, truth: needs, settled: false });
                    }
                    Room::At(free) => {
                        prop_assert!(free > at);
                        prop_assert_eq!(bucket.room(free, needs), Room::Now);
                        prop_assert_ne!(bucket.room(Instant::from_nanos(free.as_nanos() - 1), needs), Room::Now);
                    }
                    Room::Later | Room::Never { .. } => prop_assert!(false, "it fits"),
                }
            }
            let truth = level_by_truth(&entries, per_minute, now);
            prop_assert!(bucket.level(at) >= truth, "seed {}: {} under {}", seed, bucket.level(at), truth);
        }
    }

    #[test]
    fn what_is_given_back_at_once_leaves_no_trace(per_minute in 1_u64..10_000, part in 0_u64..100, wait in 0_u64..60) {
        // Broken if a refusal of one limit cost another anything.
        let mut bucket = Bucket::new(Instant::START, Some(per_minute));
        bucket.reserve(Instant::START, per_minute * part / 100);
        let now = Instant::START.after(Duration::from_secs(wait));
        let before = bucket.level(now);
        let needs = per_minute * (100 - part) / 100;
        let mark = bucket.reserve(now, needs);
        bucket.settle(now, mark, needs, 0);
        prop_assert_eq!(bucket.level(now), before);
    }
}

#[test]
fn a_count_that_nobody_can_have_used_closes_a_limit_for_minutes_and_not_for_years() {
    // Broken if a server's number were believed as it stands: one answer that says 2^64 tokens would have the gate wait
    // for centuries, and a limit that comes with a later reload find its count at the end of the scale.
    let now = Instant::START;
    for lie in [10_000, 1_000_000_000, u64::MAX] {
        let mut bucket = Bucket::new(now, Some(1_000));
        // However many say so at once.
        let marks = [10, 10, 10].map(|reserved| bucket.reserve(now, reserved));
        for mark in marks {
            bucket.settle(now, mark, 10, lie);
        }
        assert_eq!(
            bucket.room(now, 1_000),
            Room::At(now.after(Duration::from_secs(600)))
        );
    }
    let mut unlimited = Bucket::new(now, None);
    let mark = unlimited.reserve(now, 10);
    unlimited.settle(now, mark, 10, u64::MAX);
    unlimited.configure(now, Some(1_000));
    unlimited.reserve(now, 1_000);
    assert_eq!(
        unlimited.room(now, 1),
        Room::At(now.after(Duration::from_millis(60)))
    );
}

#[test]
fn two_limits_together_are_as_strict_as_the_stricter_of_them() {
    // Broken if the earlier of two times were told: a call would wait for it that is too late by the other, and not be
    // told so; or if a time were told where one of them has none.
    let at = |secs| Room::At(Instant::START.after(Duration::from_secs(secs)));
    let never = Room::Never { needs: 2, holds: 1 };
    let by_strictness = [Room::Now, at(1), at(2), Room::Later, never];
    for (n, one) in by_strictness.into_iter().enumerate() {
        for two in &by_strictness[n..] {
            assert_eq!((one.and(*two), two.and(one)), (*two, *two));
        }
    }
}
