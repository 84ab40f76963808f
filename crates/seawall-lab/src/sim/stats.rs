//! How far a figure can be trusted: intervals that hold the true value 95 times of 100.
//!
//! What can go wrong: a million calls of one run are taken for a million witnesses, though they all met the same outage,
//! and an interval as thin as a hair is drawn around luck; a mean gets an interval that reaches below nothing; the
//! interval of a percentile is taken from a formula for means; a run that never recovers is left out of how long a
//! recovery takes. So the runs are the witnesses, never the calls in them:
//!
//! - a share of *runs* has Wilson's interval (1927), which stays within 0 and 1 and is honest at both ends;
//! - a share of *calls* has the same for as many calls as would tell as much if each met its own day (Korn and
//!   Graubard, 1998): a run's calls share its luck;
//! - a mean, and a quotient of sums, has Student's t over the runs, around the quotient itself;
//! - a percentile has a bootstrap: the runs are drawn again, whole, and their histograms pooled;
//! - a median of recoveries is bounded by two of the recoveries themselves, by rank, and "never" is the longest.
//!
//! What this does not cover: a model that is wrong is wrong within every interval. Of one run only shares have an
//! interval, and too thin a one for calls; everything else has none, and none is shown.

use super::luck::{Luck, Purpose};
use super::summary::float;
use super::tally::Histogram;
use seawall_core::time::Duration;
use serde::Serialize;

/// How often an interval holds the true value: 95 of 100 times.
const CONFIDENCE: f64 = 0.95;
/// The 97.5th percentile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// How often a bootstrap draws the runs anew: the two ends are then the 26th least and the 26th greatest.
const RESAMPLES: usize = 1_000;
/// What a bootstrap's luck is seeded with: it belongs to the figures and not to a run.
const BOOTSTRAP_SEED: u64 = 0;

/// From where to where the true value is, 95 times of 100. In JSON `[low, high]`, where an end that is infinite, a
/// recovery that never comes, is `null`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Serialize for Interval {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let end = |value: f64| value.is_finite().then_some(value);
        [end(self.low), end(self.high)].serialize(serializer)
    }
}

impl Interval {
    fn around(middle: f64, half: f64) -> Self {
        Self {
            low: middle - half,
            high: middle + half,
        }
    }

    /// The same, of something so many times as large.
    pub(super) fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            high: self.high * factor,
        }
    }

    /// The same, of something that is never below nothing.
    pub(super) fn above_zero(self) -> Self {
        Self {
            low: self.low.max(0.0),
            high: self.high.max(0.0),
        }
    }
}

/// One run's part of a quotient of sums: calls answered of calls, attempts of calls, milliseconds of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// What is summed above the line.
    pub of: f64,
    /// What is summed below it.
    pub all: f64,
}

/// A mean over runs, and how far each of them is from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments {
    /// 0 of no runs.
    pub(super) mean: f64,
    /// The square of one run's deviation, by one run less than there are; 0 of one.
    pub(super) variance: f64,
    pub(super) runs: f64,
}

impl Moments {
    pub(super) fn of(values: &[f64]) -> Self {
        let runs = float(values.len() as u64);
        let mean = values.iter().sum::<f64>() / runs.max(1.0);
        let squares = values.iter().map(|value| (value - mean) * (value - mean));
        Self {
            mean,
            variance: squares.sum::<f64>() / (runs - 1.0).max(1.0),
            runs,
        }
    }

    /// How far one run is from the mean.
    pub(super) fn deviation(&self) -> f64 {
        libm::sqrt(self.variance)
    }

    /// How far the mean is off by the luck of the runs.
    pub(super) fn error(&self) -> f64 {
        libm::sqrt(self.variance / self.runs.max(1.0))
    }
}

/// A share of things that have each a luck of their own, as runs have; `None` of nothing.
///
/// ```
/// use seawall_lab::sim::stats::wilson;
/// let interval = wilson(0.0, 20.0).expect("twenty runs");
/// assert!(interval.low == 0.0 && (interval.high - 0.1611).abs() < 1e-4, "none of 20 is not never");
/// ```
pub fn wilson(of: f64, all: f64) -> Option<Interval> {
    wilson_at(of, all, Z)
}

fn wilson_at(of: f64, all: f64, z: f64) -> Option<Interval> {
    if all <= 0.0 {
        return None;
    }
    let share = of / all;
    let stretch = 1.0 + z * z / all;
    let middle = (share + z * z / (2.0 * all)) / stretch;
    let half = z / stretch * libm::sqrt(share * (1.0 - share) / all + z * z / (4.0 * all * all));
    Some(Interval {
        // An end at the border is the border: rounding would leave 1e-17 of it.
        low: if of <= 0.0 { 0.0 } else { (middle - half).max(0.0) },
        high: if of >= all { 1.0 } else { (middle + half).min(1.0) },
    })
}

/// A share of calls, by runs; `None` where there were no calls. Where it is all or none of every run, nothing tells how
/// much a run's calls share its luck, and each run is one witness. Of one run it is as if each call had a luck of its own.
pub fn share(runs: &[Part]) -> Option<Interval> {
    let (of, all) = sums(runs);
    let share = of / all;
    let plain = share * (1.0 - share) / all;
    let Some(error) = standard_error(runs) else {
        return wilson(of, all);
    };
    if plain <= 0.0 {
        let witnesses = float(runs.iter().filter(|run| run.all > 0.0).count() as u64);
        return wilson(share * witnesses, witnesses);
    }
    // As many independent calls as tell as much as these; never more than there are.
    let worth = (all * plain / (error * error)).min(all);
    let t = student_t(runs.len() as u64 - 1);
    let worth = worth * (Z / t) * (Z / t);
    wilson_at(share * worth, worth, Z)
}

/// A quotient of sums, by runs: the mean over all calls, the attempts for each call; `None` of fewer than two runs, or
/// of nothing.
pub fn quotient(runs: &[Part]) -> Option<Interval> {
    let (of, all) = sums(runs);
    let error = standard_error(runs)?;
    let t = student_t(runs.len() as u64 - 1);
    Some(Interval::around(of / all, t * error))
}

/// A mean over runs; `None` of fewer than two.
pub fn mean(values: &[f64]) -> Option<Interval> {
    let runs: Vec<Part> = values.iter().map(|of| Part { of: *of, all: 1.0 }).collect();
    quotient(&runs)
}

/// By how much one policy's mean over runs is above another's, where both met the same seeds in the same order: what is
/// luck of the day falls out, so that the interval is often far thinner than those of the two. `None` of fewer than two.
pub fn difference(ours: &[f64], theirs: &[f64]) -> Option<Interval> {
    let pairs: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .map(|(ours, theirs)| ours - theirs)
        .collect();
    mean(&pairs)
}

/// By how much one policy's quotient of sums is above another's, where both met the same seeds in the same order; the
/// difference itself is in the middle. `None` of fewer than two, or of nothing.
pub fn difference_of_quotients(ours: &[Part], theirs: &[Part]) -> Option<Interval> {
    let (our_sum, their_sum) = (sums(ours), sums(theirs));
    if ours.len() < 2 || our_sum.1 <= 0.0 || their_sum.1 <= 0.0 {
        return None;
    }
    let count = float(ours.len() as u64);
    // By how much a run moves its quotient.
    let moves = |run: &Part, (of, all): (f64, f64)| (run.of - of / all * run.all) / all;
    let pairs = ours.iter().zip(theirs);
    let squares: f64 = pairs
        .map(|(ours, theirs)| {
            let moves = moves(ours, our_sum) - moves(theirs, their_sum);
            moves * moves
        })
        .sum();
    let error = libm::sqrt(squares * count / (count - 1.0));
    let t = student_t(ours.len() as u64 - 1);
    let middle = our_sum.0 / our_sum.1 - their_sum.0 / their_sum.1;
    Some(Interval::around(middle, t * error))
}

/// The median of times of which some never were, which are infinite; `None` of fewer than six, which bound no median.
pub fn median(mut values: Vec<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let rank = median_rank(values.len() as u64)?;
    Some(Interval {
        low: values[rank - 1],
        high: values[values.len() - rank],
    })
}

/// The rank, from either end and from 1, of the values that bound the median of so many.
fn median_rank(count: u64) -> Option<usize> {
    let whole = libm::lgamma(float(count) + 1.0) - float(count) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut rank = 0;
    loop {
        let k = float(rank as u64);
        below += libm::exp(whole - libm::lgamma(k + 1.0) - libm::lgamma(float(count) - k + 1.0));
        if below > (1.0 - CONFIDENCE) / 2.0 || 2 * rank as u64 >= count {
            return (rank > 0).then_some(rank);
        }
        rank += 1;
    }
}

/// Percentiles, each in thousandths, of what the runs measured together; `None` of fewer than two runs, or of nothing.
pub fn percentiles<const N: usize>(runs: &[&Histogram], per_mille: [u32; N]) -> Option<[Interval; N]> {
    let pool = Pool::of(runs);
    if runs.len() < 2 || pool.edges.is_empty() {
        return None;
    }
    let mut draws = Luck::new(BOOTSTRAP_SEED).of(Purpose::Bootstrap, 0, 0);
    let count = u32::try_from(runs.len()).ok()?;
    let mut found = per_mille.map(|_| Vec::with_capacity(RESAMPLES));
    let mut times = vec![0_u64; runs.len()];
    for _ in 0..RESAMPLES {
        times.fill(0);
        (0..count).for_each(|_| times[draws.below(count) as usize] += 1);
        for (found, per_mille) in found.iter_mut().zip(per_mille) {
            found.extend(pool.percentile(&times, per_mille));
        }
    }
    Some(found.map(|mut found| {
        found.sort_unstable();
        // A run without calls may have been drawn alone; then there is no percentile, and the ends are of those there are.
        let cut = found.len() * 25 / 1_000;
        let at = |index: usize| found.get(index).copied().map_or(0.0, super::summary::millis);
        Interval {
            low: at(cut),
            high: at(found.len().saturating_sub(cut + 1)),
        }
    }))
}

/// Histograms of several runs over one list of edges.
#[derive(Debug)]
struct Pool {
    edges: Vec<Duration>,
    /// By edge and run: how many are not above it.
    within: Vec<u64>,
    runs: usize,
    max: Duration,
}

impl Pool {
    fn of(runs: &[&Histogram]) -> Self {
        let mut edges: Vec<Duration> = runs
            .iter()
            .flat_map(|run| run.buckets().map(|(edge, _)| edge))
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let mut within = vec![0; edges.len() * runs.len()];
        for (number, run) in runs.iter().enumerate() {
            let mut buckets = run.buckets().peekable();
            let mut sum = 0;
            for (at, edge) in edges.iter().enumerate() {
                if let Some((_, count)) = buckets.next_if(|(upper, _)| upper == edge) {
                    sum += count;
                }
                within[at * runs.len() + number] = sum;
            }
        }
        Self {
            edges,
            within,
            runs: runs.len(),
            max: runs.iter().map(|run| run.max()).max().unwrap_or(Duration::ZERO),
        }
    }

    /// The percentile of the runs, each taken so many times.
    fn percentile(&self, times: &[u64], per_mille: u32) -> Option<Duration> {
        let up_to = |edge: usize| -> u64 {
            let row = &self.within[edge * self.runs..][..self.runs];
            row.iter().zip(times).map(|(count, times)| count * times).sum()
        };
        let count = up_to(self.edges.len() - 1);
        if count == 0 {
            return None;
        }
        let rank = (count * u64::from(per_mille)).div_ceil(1_000).max(1);
        let (mut low, mut high) = (0, self.edges.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if up_to(middle) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(self.edges[low].min(self.max))
    }
}

fn sums(runs: &[Part]) -> (f64, f64) {
    runs.iter()
        .fold((0.0, 0.0), |(of, all), run| (of + run.of, all + run.all))
}

/// How far a quotient of sums is off by the luck of the runs; `None` of fewer than two, or of nothing.
fn standard_error(runs: &[Part]) -> Option<f64> {
    let (of, all) = sums(runs);
    if runs.len() < 2 || all <= 0.0 {
        return None;
    }
    let count = float(runs.len() as u64);
    let quotient = of / all;
    let off = |run: &Part| run.of - quotient * run.all;
    let squares: f64 = runs.iter().map(|run| off(run) * off(run)).sum();
    Some(libm::sqrt(squares * count / (count - 1.0)) / all)
}

/// Student's t of so many degrees of freedom, beyond which there are 5 of 100 at both ends together. Right to nine
/// digits, which the tests hold to the tables.
fn student_t(freedom: u64) -> f64 {
    let freedom = float(freedom.max(1));
    let beyond = |t: f64| beta(freedom / 2.0, 0.5, freedom / (freedom + t * t));
    // One degree of freedom has 12.7, more have less; the normal distribution, 1.96, is the least.
    let (mut low, mut high) = (1.9, 13.0);
    while high - low > 1e-12 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if beyond(middle) > 1.0 - CONFIDENCE {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22), which is quick where `x` is
/// below the mean; above it the other tail is.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(front + a * libm::log(x) + b * libm::log1p(-x)) / a;
    front / fraction(a, b, x)
}

/// From the innermost term outwards: no term is ever nothing, and so many terms are enough for the degrees of freedom
/// that seeds make.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut value = 1.0;
    for m in (1..=400_u32).rev() {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        value = 1.0 + even / (1.0 + odd / value);
    }
    1.0 - (a + b) * x / (a + 1.0) / value
}

#[cfg(test)]
mod tests;
