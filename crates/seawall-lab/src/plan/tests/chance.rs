//! Whether what is drawn by chance is drawn as often as it was told. Seeds are fixed, so nothing here is flaky; the bounds
//! are those that a right generator exceeds for one seed in a million, and each is shown to tell a wrong one.

use super::*;

const DRAWS: u32 = 100_000;

/// Pearson's statistic of what was met against weights, for 7 parts.
fn chi_square(met: &[u64], weights: &[u64]) -> f64 {
    let (all, sum) = (met.iter().sum::<u64>(), weights.iter().sum::<u64>());
    let parts = met.iter().zip(weights);
    let part = |(met, weight): (&u64, &u64)| {
        let due = real(all) * real(*weight) / real(sum);
        (real(*met) - due).powi(2) / due
    };
    parts.map(part).sum()
}

/// What it exceeds for one in a million, with six degrees of freedom.
const CHI_SQUARE_6_MAX: f64 = 38.26;

#[expect(clippy::cast_precision_loss, reason = "counts of draws are small")]
fn real(number: u64) -> f64 {
    number as f64
}

fn mix(weights: &[u64]) -> Mix {
    let action = |place: usize| Action::parse(&format!("{}", 500 + place)).unwrap();
    let parts = weights.iter().enumerate();
    Mix::new(parts.map(|(place, weight)| (action(place), *weight)).collect()).unwrap()
}

fn met(weights: &[u64], seed: u64) -> Vec<u64> {
    let rule = Rule::new(Pattern::any(), Answers::Mix(mix(weights)));
    let mut plan = Plan::new(vec![rule], seed);
    let mut met = vec![0; weights.len()];
    for _ in 0..DRAWS {
        match plan.turn(secs(0), 0, b"").unwrap().choice {
            Choice::Part(part) => met[part] += 1,
            other => panic!("{other:?}"),
        }
    }
    met
}

#[test]
fn each_part_of_a_mix_comes_as_often_as_its_share() {
    // Could break if a draw fell on its neighbour now and then, or if the streams of a rule's attempts were not apart.
    let flaky = [920, 20, 10, 10, 10, 10, 20];
    let even = [1; 7];
    for (weights, seed) in [(flaky, 1), (flaky, 2), (even, 3)] {
        let is = chi_square(&met(&weights, seed), &weights);
        assert!(is < CHI_SQUARE_6_MAX, "{is} for {weights:?}");
    }
    // It would tell a share of 1.2 % from one of 1 %.
    let is = chi_square(&met(&[918, 20, 12, 10, 10, 10, 20], 1), &flaky);
    assert!(is > CHI_SQUARE_6_MAX, "{is}");
}

#[test]
fn a_share_of_nothing_is_never_met() {
    // Could break if a share of 0 at the beginning, in the middle or at the end caught a draw at its neighbour's edge.
    for seed in 0..5 {
        let met = met(&[0, 1, 0, Mix::WHOLE, 0], seed);
        assert_eq!([met[0], met[2], met[4]], [0, 0, 0]);
    }
}

/// The farthest that the drawn are from their distribution, in the units of Kolmogorov and Smirnov.
fn farthest(latency: Latency, seed: u64, distribution: impl Fn(f64) -> f64) -> f64 {
    let rule = Rule {
        latency,
        ..Rule::new(Pattern::any(), Answers::Plain)
    };
    let mut plan = Plan::new(vec![rule], seed);
    let mut drawn: Vec<u64> = (0..DRAWS)
        .map(|_| plan.turn(secs(0), 0, b"").unwrap().latency.as_nanos())
        .collect();
    drawn.sort_unstable();
    let all = f64::from(DRAWS);
    let distances = drawn.iter().enumerate().map(|(place, nanos)| {
        let (below, due) = (real(place as u64) / all, distribution(real(*nanos)));
        (below - due).abs().max((below + 1.0 / all - due).abs())
    });
    distances.fold(0.0, f64::max) * all.sqrt()
}

/// What that distance exceeds for one in a million.
const FARTHEST_MAX: f64 = 2.70;

/// The standard normal distribution (Abramowitz and Stegun 26.2.17, good to 7.5e-8).
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let terms = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let tail = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    let above = tail * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    if z < 0.0 { above } else { 1.0 - above }
}

/// A log-normal distribution by its percentiles, in milliseconds.
fn log_normal(p50: f64, p99: f64) -> impl Fn(f64) -> f64 {
    let sigma = (p99 / p50).ln() / 2.326_347_874;
    move |nanos| normal((nanos / 1e6 / p50).ln() / sigma)
}

#[test]
fn latencies_have_the_distribution_that_they_were_told() {
    // Could break if the tail were clipped, if sigma were of another percentile, or if an end of the even one were left
    // out by rounding.
    let ms = Duration::from_millis;
    let steady = Latency::LogNormal {
        p50: ms(60),
        p99: ms(600),
    };
    let even = Latency::Uniform {
        shortest: ms(100),
        longest: ms(300),
    };
    for seed in 0..3 {
        let is = farthest(steady, seed, log_normal(60.0, 600.0));
        assert!(is < FARTHEST_MAX, "{is} of a log-normal, seed {seed}");
        let is = farthest(even, seed, |nanos| (nanos / 1e6 - 100.0) / 200.0);
        assert!(is < FARTHEST_MAX, "{is} of an even one, seed {seed}");
    }
    // It would tell a p99 that is a fifth too long.
    let is = farthest(steady, 0, log_normal(60.0, 500.0));
    assert!(is > FARTHEST_MAX, "{is}");
}
