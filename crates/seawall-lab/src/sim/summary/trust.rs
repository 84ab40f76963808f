//! How far each figure of a summary can be trusted: which interval belongs to which.

use super::{Collapsed, float, peak};
use crate::sim::luck::nanos;
use crate::sim::stats::{self, Interval, Part};
use crate::sim::tally::{Histogram, Tally};
use seawall_core::time::Duration;
use serde::Serialize;
use std::collections::BTreeMap;

/// Intervals by the names of the figures that they belong to; a figure that has none is absent.
pub type Intervals = BTreeMap<&'static str, Interval>;

/// A policy beside the first of its study, seed by seed: both met the same arrivals and the same luck, so that what is
/// left is what the policy does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// The first policy.
    pub than: String,
    /// By how much each of these figures is above its own, and the interval of that by pairs of seeds, by the figure's name.
    #[serde(flatten)]
    pub differences: BTreeMap<&'static str, Difference>,
}

/// By how much a figure is above another's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference of the two figures.
    pub mean: f64,
    /// Where the true one is.
    pub ci: Interval,
}

/// The intervals of a policy's figures. `recoveries` are what each seed took, in seconds.
pub(super) fn intervals(
    tallies: &[Tally],
    warmup: Duration,
    collapsed: Collapsed,
    recoveries: &[Option<f64>],
) -> Intervals {
    let parts = |part: fn(&Tally) -> Part| tallies.iter().map(part).collect::<Vec<_>>();
    let means = |value: &dyn Fn(&Tally) -> f64| stats::mean(&tallies.iter().map(value).collect::<Vec<_>>());
    let latencies: Vec<&Histogram> = tallies.iter().map(|tally| &tally.latency).collect();
    let percentiles = stats::percentiles(&latencies, [500, 950, 990]);
    let seeds = float(tallies.len() as u64);
    let (fell, tell) = (float(collapsed.seeds), float(collapsed.of));
    let never = recoveries
        .iter()
        .map(|seconds| seconds.unwrap_or(f64::INFINITY))
        .collect();
    let found = [
        ("success_rate", stats::share(&parts(answered))),
        (
            "amplification",
            stats::quotient(&parts(load)).map(Interval::above_zero),
        ),
        ("p_collapse", stats::wilson(fell, tell)),
        (
            "mean_ms",
            stats::quotient(&parts(|tally| mean_of(&tally.latency))).map(Interval::above_zero),
        ),
        (
            "mean_retried_ms",
            stats::quotient(&parts(|tally| mean_of(&tally.latency_retried))).map(Interval::above_zero),
        ),
        ("p50_ms", percentiles.map(|[p50, _, _]| p50)),
        ("p95_ms", percentiles.map(|[_, p95, _]| p95)),
        ("p99_ms", percentiles.map(|[_, _, p99]| p99)),
        (
            "peak_per_s",
            means(&|tally| peak(tally, warmup, 10)).map(Interval::above_zero),
        ),
        (
            "peak_per_100ms",
            means(&|tally| peak(tally, warmup, 1)).map(Interval::above_zero),
        ),
        ("recovery_s", stats::median(never)),
        (
            "cost_usd",
            means(&cost).map(|mean| mean.above_zero().times(seeds)),
        ),
    ];
    let known = found.into_iter();
    known
        .filter_map(|(name, interval)| Some((name, interval?)))
        .collect()
}

/// `ours` beside those of the first policy, which is called `than`; `None` of fewer than two seeds, or
/// where one of the two was never called.
pub(in crate::sim) fn beside(ours: &[Tally], than: &str, first: &[Tally]) -> Option<Beside> {
    type Figure = fn(&Tally) -> Part;
    let figures: [(&'static str, Figure); 3] = [
        ("success_rate", answered),
        ("amplification", load),
        ("mean_ms", |tally| mean_of(&tally.latency)),
    ];
    let mut differences = BTreeMap::new();
    for (name, figure) in figures {
        let of = |tallies: &[Tally]| tallies.iter().map(figure).collect::<Vec<_>>();
        if let Some(ci) = stats::difference_of_quotients(&of(ours), &of(first)) {
            let mean = f64::midpoint(ci.low, ci.high);
            differences.insert(name, Difference { mean, ci });
        }
    }
    (!differences.is_empty()).then(|| Beside {
        than: than.to_owned(),
        differences,
    })
}

fn answered(tally: &Tally) -> Part {
    Part {
        of: float(tally.succeeded),
        all: float(tally.calls),
    }
}

fn load(tally: &Tally) -> Part {
    Part {
        of: float(tally.arrivals),
        all: float(tally.calls),
    }
}

/// Milliseconds of calls.
fn mean_of(histogram: &Histogram) -> Part {
    let all = float(histogram.count());
    let mean = histogram.mean().map_or(0.0, |mean| nanos(mean) / 1e6);
    Part { of: mean * all, all }
}

fn cost(tally: &Tally) -> f64 {
    super::dollars(tally.cost_pico_dollars)
}

#[cfg(test)]
mod tests;
