//! What the runs of one policy come to.
//!
//! The names are those of the JSON report, which others read: add, never rename.

mod trust;

use super::model::Model;
use super::tally::{BIN, Bin, Histogram, Tally, bin_of};
use seawall_core::time::{Duration, Instant};
use serde::Serialize;
use std::collections::BTreeMap;
pub(super) use trust::beside;
pub use trust::{Beside, Difference, Intervals};

/// Bins over which a mean tells a recovery: 5 s. One second alone would raise false alarms, since arrivals at 1 000 a
/// second vary by 3 %.
const RECOVERY_BINS: usize = 50;
/// Bins at the end of a run that tell whether it has collapsed: 20 s.
const COLLAPSE_BINS: usize = 200;

/// What the runs of one policy come to. Figures that nothing was measured for are absent, but for shares of no calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The policy.
    pub name: String,
    /// Calls that ended, over all seeds.
    pub calls: u64,
    /// Attempts that reached a server, over all seeds.
    pub attempts: u64,
    /// Attempts that reached a server for each call.
    pub amplification: f64,
    /// Calls that were answered before their deadline, of all.
    pub success_rate: f64,
    /// Seeds in which less than half of what was due in the last 20 s was answered, of those in which anything was due or
    /// waited for then; `None`: in no seed.
    pub p_collapse: Option<f64>,
    /// The mean latency of all calls, failed ones included, from when they were due.
    pub mean_ms: Option<f64>,
    /// The same of calls with more than one attempt.
    pub mean_retried_ms: Option<f64>,
    /// Half of the calls took at most this.
    pub p50_ms: Option<f64>,
    /// 95 of 100 did.
    pub p95_ms: Option<f64>,
    /// 99 of 100 did.
    pub p99_ms: Option<f64>,
    /// The most attempts that reached the servers within one second after the warm-up, the mean over seeds.
    pub peak_per_s: f64,
    /// The most within 100 ms.
    pub peak_per_100ms: f64,
    /// From the end of the last outage to the first 5 s in which 97 % of what was due was answered, the median over
    /// seeds; `None`: never, or no outage.
    pub recovery_s: Option<f64>,
    /// What the servers billed, all seeds together.
    pub cost_usd: f64,
    /// How often each reason was told to a client's call.
    pub reasons: BTreeMap<&'static str, u64>,
    /// What happened, counted.
    pub events: u64,
    /// Where the true figures are, 95 times of 100: by the name of the figure, `[low, high]`.
    pub ci: Intervals,
    /// This policy beside the first of its study, on the same seeds; of the first itself, and of one seed, absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

impl Summary {
    /// Of the tallies of all seeds.
    pub fn of(name: &str, model: &Model, outage_end: Option<Instant>, tallies: &[Tally]) -> Self {
        let sum = |count: fn(&Tally) -> u64| tallies.iter().map(count).sum::<u64>();
        let merged = |pick: fn(&Tally) -> &Histogram| {
            let mut all = Histogram::default();
            tallies.iter().for_each(|tally| all.merge(pick(tally)));
            all
        };
        let (calls, attempts) = (sum(|tally| tally.calls), sum(|tally| tally.arrivals));
        let latency = merged(|tally| &tally.latency);
        let mut reasons = BTreeMap::new();
        for (code, count) in tallies.iter().flat_map(|tally| &tally.reasons) {
            *reasons.entry(*code).or_insert(0) += count;
        }
        let horizon = Instant::START.after(model.horizon);
        let ends: Vec<End> = tallies.iter().map(|tally| end(tally, horizon)).collect();
        let count = |of: End| ends.iter().filter(|end| **end == of).count() as u64;
        let collapsed = Collapsed {
            seeds: count(End::Collapsed),
            of: count(End::Collapsed) + count(End::Answered),
        };
        let recoveries = outage_end.map_or_else(Vec::new, |end| recoveries(tallies, end, horizon));
        let ci = trust::intervals(tallies, model.warmup, collapsed, &recoveries);
        Self {
            name: name.to_owned(),
            calls,
            attempts,
            amplification: share(attempts, calls),
            success_rate: share(sum(|tally| tally.succeeded), calls),
            p_collapse: (collapsed.of > 0).then(|| share(collapsed.seeds, collapsed.of)),
            mean_ms: latency.mean().map(millis),
            mean_retried_ms: merged(|tally| &tally.latency_retried).mean().map(millis),
            p50_ms: latency.percentile(500).map(millis),
            p95_ms: latency.percentile(950).map(millis),
            p99_ms: latency.percentile(990).map(millis),
            peak_per_s: mean(tallies.iter().map(|tally| peak(tally, model.warmup, 10))),
            peak_per_100ms: mean(tallies.iter().map(|tally| peak(tally, model.warmup, 1))),
            recovery_s: median_with_never(recoveries),
            cost_usd: dollars(tallies.iter().map(|tally| tally.cost_pico_dollars).sum()),
            reasons,
            events: sum(|tally| tally.events),
            ci,
            beside: None,
        }
    }
}

/// In how many seeds a policy has collapsed, of those whose end tells.
#[derive(Clone, Copy, Debug)]
struct Collapsed {
    seeds: u64,
    of: u64,
}

/// What the last 20 s before the horizon tell of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Less than half of what was due was answered; or nothing was due since all who call wait, and nobody was answered.
    Collapsed,
    /// It was not so.
    Answered,
    /// Nothing was due, and nobody waited.
    Silent,
}

/// Whether less than half of what was due in the last 20 s before the horizon was answered in that time; where nothing was
/// due, since those who call wait for answers, whether none came. Where nobody waited either, nothing has collapsed.
pub fn has_collapsed(tally: &Tally, horizon: Instant) -> bool {
    end(tally, horizon) == End::Collapsed
}

/// What the last 20 s before the horizon tell.
fn end(tally: &Tally, horizon: Instant) -> End {
    let end = bin_of(horizon);
    // Bins end with the last thing that happened: what is not there is nothing, and no part of an earlier time.
    let there = |bin: usize| bin.min(tally.bins.len());
    let last = &tally.bins[there(end.saturating_sub(COLLAPSE_BINS))..there(end)];
    let due: u64 = last.iter().map(|bin| u64::from(bin.due)).sum();
    let answered: u64 = last.iter().map(|bin| u64::from(bin.answered)).sum();
    let waiting = |bin: &Bin| i64::from(bin.due) - i64::from(bin.answered) - i64::from(bin.failed);
    let waits = || tally.bins[..there(end)].iter().map(waiting).sum::<i64>() > 0;
    match (due, answered) {
        (0, 0) if waits() => End::Collapsed,
        (0, 0) => End::Silent,
        (due, answered) if 2 * answered < due => End::Collapsed,
        (_, _) => End::Answered,
    }
}

/// Seconds from the end of an outage to the first 5 s of which 97 % of what was due was answered; `None`: not before
/// the horizon. Where nothing was due nothing has recovered.
pub fn recovery(tally: &Tally, outage_end: Instant, horizon: Instant) -> Option<f64> {
    let first = first_window(outage_end);
    let last = bin_of(horizon).checked_sub(RECOVERY_BINS)?;
    // Bins end with the last thing that happened; a window goes up to the horizon all the same.
    let there = |bin: usize| bin.min(tally.bins.len());
    let recovered = (first..=last).find(|from| {
        let bins = &tally.bins[there(*from)..there(from + RECOVERY_BINS)];
        let count = |of: fn(&Bin) -> u32| bins.iter().map(|bin| u64::from(of(bin))).sum::<u64>();
        let due = count(|bin| bin.due);
        due > 0 && 100 * count(|bin| bin.answered) >= 97 * due
    })?;
    let at = Instant::START.after(BIN.times(recovered as u64));
    Some(millis(at.since(outage_end)) / 1_000.0)
}

/// The least that is needed from the end of an outage to the horizon, for a recovery to be seen.
pub const RECOVERY_SEEN_IN: Duration = BIN.times(RECOVERY_BINS as u64);

/// Whether a recovery from an outage that ends then could be seen before the horizon.
pub fn sees_recovery(outage_end: Instant, horizon: Instant) -> bool {
    let last = bin_of(horizon).checked_sub(RECOVERY_BINS);
    last.is_some_and(|last| first_window(outage_end) <= last)
}

/// The first bin that is wholly after an outage.
fn first_window(outage_end: Instant) -> usize {
    bin_of(outage_end.after(BIN).before(Duration::from_nanos(1)))
}

/// The same of each seed.
fn recoveries(tallies: &[Tally], outage_end: Instant, horizon: Instant) -> Vec<Option<f64>> {
    tallies
        .iter()
        .map(|tally| recovery(tally, outage_end, horizon))
        .collect()
}

/// The median of that over seeds; `None`: in most of them never.
pub(super) fn median_recovery(tallies: &[Tally], outage_end: Instant, horizon: Instant) -> Option<f64> {
    median_with_never(recoveries(tallies, outage_end, horizon))
}

/// The most arrivals within so many bins in a row, a bin's beginning being the beginning of each. Those of the warm-up
/// are none.
pub(super) fn peak(tally: &Tally, warmup: Duration, bins: usize) -> f64 {
    let from = bin_of(Instant::START.after(warmup)).min(tally.bins.len());
    let counted = &tally.bins[from..];
    // A run that is shorter than a window is one.
    let windows = counted.windows(bins.min(counted.len()).max(1));
    let most = windows
        .map(|bins| bins.iter().map(|bin| u64::from(bin.arrivals)).sum::<u64>())
        .max();
    float(most.unwrap_or(0))
}

/// The middle of these, of which some never were, and of two in the middle the longer: `None` where half or more never
/// were, and of nothing.
fn median_with_never(mut values: Vec<Option<f64>>) -> Option<f64> {
    values.sort_by(|a, b| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(b),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => std::cmp::Ordering::Equal,
    });
    values.get(values.len() / 2).copied().flatten()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / float(count) }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        float(part) / float(whole)
    }
}

pub(crate) fn millis(length: Duration) -> f64 {
    float(length.as_nanos()) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "a cost that is shown to the cent")]
fn dollars(pico: u128) -> f64 {
    pico as f64 / 1e12
}

#[expect(clippy::cast_precision_loss, reason = "a report shows a few digits")]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
