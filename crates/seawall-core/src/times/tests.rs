use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const NOW: Instant = Instant::START;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// What so many of a thousand of these are at the most.
fn exact(times: &[Duration], per_mille: u32) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = (times.len() * per_mille as usize).div_ceil(1_000);
    times[rank.max(1) - 1]
}

/// The widest that a bucket may be beyond a time in it.
fn ceiling(time: Duration) -> Duration {
    time.plus(time.over(8))
        .plus(Duration::from_nanos(1 << GRAIN_BITS))
}

#[test]
fn every_time_is_below_the_end_of_its_bucket_and_near_it() {
    // Could break at a power of two, where one row of buckets ends and the next begins: a time would be counted among
    // those that are half or twice as long.
    let last = upper_end(BUCKETS - 1).minus(Duration::from_nanos(1));
    for bits in 0..41 {
        for near in [-1_i64, 0, 1] {
            let nanos = (1_u64 << bits).saturating_add_signed(near);
            let time = Duration::from_nanos(nanos).min(last);
            let end = upper_end(bucket(time));
            assert!(time < end && end <= ceiling(time), "{time}: {end}");
        }
    }
    assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    for place in 0..BUCKETS - 1 {
        assert_eq!(bucket(upper_end(place)), place + 1);
    }
}

#[test]
fn a_handful_of_times_is_no_distribution() {
    // Could break if a percentile were given from the first time on: the first call after a quiet night decides.
    let mut times = Times::new(NOW);
    for nth in 1..HEDGE_SAMPLES_MIN {
        times.came(NOW, ms(10 * u64::from(nth)));
        assert_eq!(times.percentile(NOW, 950), None);
    }
    times.came(NOW, ms(200));
    assert!(times.percentile(NOW, 950).is_some());
    assert_eq!(times.percentile(NOW, 999), None, "nobody is above it yet");
}

#[test]
fn losers_do_not_make_the_percentile_sink() {
    // Trap 54. Could break if those that were dropped were left out: each round of hedges would cut the tail that the
    // next one is taken from, until every call is hedged.
    let mut times = Times::new(NOW);
    let mut first = None;
    for round in 0..50 {
        // Each round outlasts the window: what is known is of the last two.
        let now = NOW.after(HEDGE_TIMES_WINDOW.times(round));
        let delay = times.percentile(now, 900).unwrap_or(Duration::MAX);
        let first_delay = *first.get_or_insert(delay);
        for nth in 0..100_u64 {
            // Nine of ten take up to 90 ms, the tenth up to 1 s; whoever is hedged is dropped, and won by a quick one.
            let took = if nth < 90 {
                ms(nth + 1)
            } else {
                ms(100 * (nth - 89))
            };
            if took > delay {
                times.dropped(now, delay.plus(ms(5)));
                times.came(now, ms(nth % 10 + 1));
            } else {
                times.came(now, took);
            }
        }
        if first_delay == Duration::MAX {
            first = None;
        } else {
            assert!(delay >= first_delay.minus(first_delay.over(8)), "{delay}");
        }
    }
}

#[test]
fn who_was_dropped_is_among_those_that_took_longer() {
    // Could break if those that were dropped were left out: sixty of eighty that are left are three quarters, and seven of ten
    // would seem to take 10 ms.
    let mut times = Times::new(NOW);
    for nth in 0..100 {
        match nth {
            0..60 => times.came(NOW, ms(10)),
            60..80 => times.dropped(NOW, ms(50)),
            _ => times.came(NOW, ms(1_000)),
        }
    }
    let told = times.percentile(NOW, 600).unwrap();
    assert!(told >= ms(10) && told <= ceiling(ms(10)), "{told}");
    let told = times.percentile(NOW, 700).unwrap();
    assert!(told >= ms(1_000) && told <= ceiling(ms(1_000)), "{told}");
}

#[test]
fn what_is_long_ago_is_forgotten() {
    // Could break if times were kept for ever: an upstream that was slow in spring is waited for in summer.
    let mut times = Times::new(NOW);
    for _ in 0..100 {
        times.came(NOW, ms(5_000));
    }
    let mut now = NOW;
    for _ in 0..3 {
        now = now.after(HEDGE_TIMES_WINDOW);
        for _ in 0..HEDGE_SAMPLES_MIN {
            times.came(now, ms(10));
        }
    }
    let p95 = times.percentile(now, 950).unwrap();
    assert!(p95 < ms(12), "{p95}");
    // And a gate that slept for an hour knows nothing, however much it knew.
    now = now.after(Duration::from_secs(3_600));
    assert_eq!(times.percentile(now, 950), None);
}

proptest! {
    #[test]
    fn a_percentile_is_never_below_the_true_one_and_an_eighth_above_it_at_the_most(
        nanos in prop::collection::vec(1_u64..600_000_000_000, 20..400), per_mille in 500_u32..1_000
    ) {
        // Could break by an end that is taken for the beginning of its bucket, or by a rank that is rounded down: a hedge
        // would go for more calls than were meant.
        let all: Vec<Duration> = nanos.into_iter().map(Duration::from_nanos).collect();
        let mut times = Times::new(NOW);
        for time in &all {
            times.came(NOW, *time);
        }
        let above = all.len() * (1_000 - per_mille as usize) / 1_000;
        match times.percentile(NOW, per_mille) {
            None => prop_assert_eq!(above, 0),
            Some(told) => {
                let exact = exact(&all, per_mille);
                prop_assert!(told >= exact && told <= ceiling(exact), "{} for {}", told, exact);
            }
        }
    }

    #[test]
    fn who_was_dropped_counts_as_at_least_what_it_was_given(
        all in prop::collection::vec((1_u64..10_000, any::<bool>()), 20..300), per_mille in 500_u32..1_000
    ) {
        // Could break if the part of one that was dropped went to those that were quicker.
        let mut times = Times::new(NOW);
        for (millis, is_dropped) in &all {
            if *is_dropped {
                times.dropped(NOW, ms(*millis));
            } else {
                times.came(NOW, ms(*millis));
            }
        }
        let floor: Vec<Duration> = all.iter().map(|(millis, _)| ms(*millis)).collect();
        if let Some(told) = times.percentile(NOW, per_mille) {
            prop_assert!(told >= exact(&floor, per_mille), "{}", told);
        }
    }
}
