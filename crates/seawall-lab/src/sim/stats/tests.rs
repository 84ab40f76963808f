//! Intervals held to published ones, and to the truth that they promise to hold.

use super::*;

fn near(measured: f64, expected: f64, within: f64, what: &str) {
    assert!(
        (measured - expected).abs() <= within,
        "{what}: {measured}, expected {expected}"
    );
}

#[test]
fn students_t_is_that_of_the_tables_to_nine_digits() {
    // Could break by a tail that is counted once instead of twice, by a fraction that is cut short at many degrees.
    let table = [
        (1, 12.706_204_736_2),
        (2, 4.302_652_729_75),
        (4, 2.776_445_105_20),
        (9, 2.262_157_162_80),
        (29, 2.045_229_642_13),
        (100, 1.983_971_518_52),
        (1_000, 1.962_339_080_83),
        (1_000_000, 1.959_966_357),
    ];
    for (freedom, expected) in table {
        near(student_t(freedom), expected, 5e-9, &format!("{freedom} degrees"));
    }
    near(student_t(0), student_t(1), 0.0, "none is taken for one");
}

#[test]
fn wilsons_interval_is_the_published_one() {
    // Could break by Wald's formula in its place, which says 0 to 0 of none of twenty. Figures: Newcombe (1998), table I.
    let table = [
        (81.0, 263.0, 0.2553, 0.3662),
        (15.0, 148.0, 0.0624, 0.1605),
        (0.0, 20.0, 0.0, 0.1611),
        (1.0, 29.0, 0.0061, 0.1718),
    ];
    for (of, all, low, high) in table {
        let interval = wilson(of, all).expect("some");
        near(interval.low, low, 6e-5, "low");
        near(interval.high, high, 6e-5, "high");
        let turned = wilson(all - of, all).expect("some");
        near(turned.low, 1.0 - interval.high, 1e-12, "its mirror");
    }
    assert_eq!(wilson(0.0, 0.0), None);
    assert_eq!(wilson(20.0, 20.0).expect("some").high, 1.0);
}

#[test]
fn the_ranks_that_bound_a_median_are_those_of_the_tables() {
    // Could break by a rank that is off by one: then 95 of 100 are 90.
    let table = [
        (6, 1),
        (8, 1),
        (9, 2),
        (10, 2),
        (20, 6),
        (30, 10),
        (50, 18),
        (100, 40),
    ];
    for (count, rank) in table {
        assert_eq!(median_rank(count), Some(rank), "of {count}");
    }
    for few in 0..6 {
        assert_eq!(median_rank(few), None, "{few} values bound no median");
    }
    let mut values: Vec<f64> = (1..=10).map(f64::from).collect();
    values[9] = f64::INFINITY;
    values[8] = f64::INFINITY;
    let interval = median(values).expect("ten");
    assert_eq!((interval.low, interval.high), (2.0, f64::INFINITY));
    assert_eq!(serde_json::to_string(&interval).expect("JSON"), "[2.0,null]");
}

#[test]
fn a_mean_has_the_interval_of_the_textbook() {
    // Could break by the deviation of all instead of a sample's, or by the normal distribution for Student's.
    let interval = mean(&[4.0, 5.0, 6.0, 7.0, 8.0]).expect("five");
    let half = 2.776_445_105_2 * libm::sqrt(2.5 / 5.0);
    near(interval.low, 6.0 - half, 1e-9, "low");
    near(interval.high, 6.0 + half, 1e-9, "high");
    assert_eq!(mean(&[4.0]), None, "one run says nothing of luck");
    // A constant amount better, on days that differ: only pairs can see it.
    let paired = difference(&[1.5, 7.5, 3.5], &[1.0, 7.0, 3.0]).expect("three");
    assert_eq!((paired.low, paired.high), (0.5, 0.5));
}

#[test]
fn calls_that_share_a_runs_luck_are_no_witnesses_each() {
    // Could break by an interval over all calls: then ten runs, of which half collapse, look certain.
    let all_or_none: Vec<Part> = (0..10)
        .map(|run| Part {
            of: if run % 2 == 0 { 100_000.0 } else { 0.0 },
            all: 100_000.0,
        })
        .collect();
    let interval = share(&all_or_none).expect("some");
    assert!(interval.low < 0.25 && interval.high > 0.75, "{interval:?}");
    let alike = [Part {
        of: 500.0,
        all: 1_000.0,
    }; 10];
    let (alike, plain) = (
        share(&alike).expect("some"),
        wilson(5_000.0, 10_000.0).expect("some"),
    );
    assert!(
        alike.low <= plain.low && alike.high >= plain.high,
        "never thinner than the calls allow"
    );
    near(
        alike.high - alike.low,
        plain.high - plain.low,
        0.004,
        "and near it where runs agree",
    );
    assert_eq!(share(&[Part { of: 0.0, all: 0.0 }; 3]), None);
    // Nothing tells how much the calls of a run share where none of any run fails.
    let all = [Part {
        of: 20_000.0,
        all: 20_000.0,
    }; 20];
    assert_eq!(share(&all), wilson(20.0, 20.0), "twenty witnesses");
    assert_eq!(
        share(&all[..1]),
        wilson(20_000.0, 20_000.0),
        "one run has but its calls"
    );
}

#[test]
fn a_difference_is_of_the_figures_that_stand_beside_it() {
    // Could break by a mean of each run's quotient, which takes a run of ten calls for one of a thousand.
    let run = |of: f64, all: f64| Part { of, all };
    let ours = [run(9.0, 10.0), run(500.0, 1_000.0), run(55.0, 100.0)];
    let theirs = [run(1.0, 10.0), run(510.0, 1_000.0), run(50.0, 100.0)];
    let found = difference_of_quotients(&ours, &theirs).expect("three runs");
    near(
        f64::midpoint(found.low, found.high),
        564.0 / 1_110.0 - 561.0 / 1_110.0,
        1e-12,
        "of sums",
    );
    assert_eq!(difference_of_quotients(&ours[..1], &theirs[..1]), None);
    assert_eq!(difference_of_quotients(&ours, &[run(0.0, 0.0); 3]), None);
}

/// How many of a thousand studies hold the truth in their interval.
fn holds(mut study: impl FnMut(&mut super::super::luck::Draws) -> Option<Interval>, truth: f64) -> u32 {
    (0..1_000)
        .map(|nth| {
            let mut draws = Luck::new(3).of(Purpose::Service, nth, 0);
            let interval = study(&mut draws).expect("enough runs");
            u32::from(interval.low <= truth && truth <= interval.high)
        })
        .sum()
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    // Could break by any factor in any of them. A thousand studies whose truth is known; 95 of 100 ± 3 deviations of
    // the count.
    let unit = |draws: &mut super::super::luck::Draws| draws.unit();
    let means = holds(
        |draws| mean(&(0..20).map(|_| unit(draws)).collect::<Vec<_>>()),
        0.5,
    );
    assert!((929..=971).contains(&means), "means: {means}");
    let medians = holds(|draws| median((0..20).map(|_| unit(draws)).collect()), 0.5);
    assert!((929..=985).contains(&medians), "medians: {medians}");
    let shares = holds(
        |draws| {
            let runs: Vec<Part> = (0..20)
                .map(|_| {
                    let chance = 0.2 + 0.6 * unit(draws);
                    let of: u32 = (0..50).map(|_| u32::from(draws.happens(chance))).sum();
                    Part {
                        of: f64::from(of),
                        all: 50.0,
                    }
                })
                .collect();
            share(&runs)
        },
        0.5,
    );
    assert!((925..=975).contains(&shares), "shares: {shares}");
    // Runs of many lengths, longer ones with less of it: 0.5 · 100 of 150 on the mean.
    let quotients = holds(
        |draws| {
            let run = |draws: &mut super::super::luck::Draws| {
                let all = 100.0 + 100.0 * unit(draws);
                Part {
                    of: 100.0 * unit(draws),
                    all,
                }
            };
            quotient(&(0..20).map(|_| run(draws)).collect::<Vec<_>>())
        },
        50.0 / 150.0,
    );
    assert!((929..=971).contains(&quotients), "quotients: {quotients}");
}

#[test]
fn a_bootstrap_holds_the_truth_as_often_as_it_says() {
    // Could break by a resampling of calls, or by a cut at other ends; it is known to be a little thin at twenty runs. Each
    // run's calls all take one time, uniform up to a second, so that half of them together take less than half a second.
    let holds: u32 = (0..200)
        .map(|nth| {
            let mut draws = Luck::new(5).of(Purpose::Service, nth, 0);
            let runs: Vec<Histogram> = (0..20)
                .map(|_| {
                    let mut histogram = Histogram::default();
                    histogram.add(Duration::from_nanos(1 + u64::from(draws.below(1_000_000_000))));
                    histogram
                })
                .collect();
            let runs: Vec<&Histogram> = runs.iter().collect();
            let [p50] = percentiles(&runs, [500]).expect("twenty runs");
            u32::from(p50.low <= 500.0 && 500.0 <= p50.high)
        })
        .sum();
    assert!((176..=199).contains(&holds), "of two hundred studies: {holds}");
}

#[test]
fn a_percentile_of_pooled_runs_is_bounded_by_whole_runs() {
    // Could break by a bootstrap over calls, which sees nothing of what differs between runs; by a rank in the wrong
    // pool; by a luck that is not the same twice.
    let run = |millis: u64| {
        let mut histogram = Histogram::default();
        (0..1_000).for_each(|_| histogram.add(Duration::from_millis(millis)));
        histogram
    };
    let runs: Vec<Histogram> = (0..20).map(|n| run(if n < 10 { 10 } else { 100 })).collect();
    let runs: Vec<&Histogram> = runs.iter().collect();
    let [p50, p99] = percentiles(&runs, [500, 990]).expect("twenty runs");
    near(p50.low, 10.0, 0.2, "half of the runs may be a little fewer");
    near(p50.high, 100.0, 1.6, "or a little more");
    near(p99.low, 100.0, 1.6, "but some are among them nearly always");
    assert_eq!(Some([p50, p99]), percentiles(&runs, [500, 990]), "the same twice");
    assert_eq!(percentiles(&runs[..1], [500]), None);
    let empty = Histogram::default();
    assert_eq!(percentiles(&[&empty, &empty], [500]), None);
    let [some] = percentiles(&[&empty, runs[0]], [500]).expect("one of two measured");
    near(some.high, 10.0, 0.2, "a run without calls moves nothing");
}
