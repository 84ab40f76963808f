//! What happened over time, over all seeds: steps that a picture can show.

use super::Part;
use crate::sim::luck::Luck;
use crate::sim::model::{Capacity, Contender, Fleet, Model, Outage, Spread, Trouble};
use crate::sim::summary::float;
use crate::sim::tally::{BINS_PER_SECOND, Bin, Tally, bin_of};
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// So many steps at the most: a panel has hardly more pixels.
const STEPS_MAX: usize = 240;
/// Lengths of a step, in bins: 0.1 s to an hour.
const STEPS: [usize; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 600, 3_000, 6_000, 18_000, 36_000];
/// How many reasons are shown apart; the rest is one more.
const REASONS_MAX: usize = 5;

/// Up to so many runs a band reaches from the least to the most: a tenth of them is none.
pub(super) const WHOLE_BAND_MAX: u32 = 5;

/// The steps of a study's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// Bins in each; the last may have fewer.
    bins: usize,
    /// Bins in all.
    end: usize,
}

/// Something over time: the middle run and, where there are several, what eight of ten are within, or all of a few.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Course {
    pub(super) middle: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl Course {
    pub(super) fn most(&self) -> f64 {
        self.middle.iter().copied().fold(0.0, f64::max)
    }
}

impl Steps {
    /// Of all runs of a part: up to the horizon, or to where nothing happens any more.
    pub(super) fn of(part: &Part<'_>) -> Self {
        let end = end(part);
        let bins = STEPS.into_iter().find(|bins| end.div_ceil(*bins) <= STEPS_MAX);
        Self {
            bins: bins.unwrap_or_else(|| end.div_ceil(STEPS_MAX)),
            end,
        }
    }

    /// The same, in so many steps at the most.
    pub(super) fn at_most(part: &Part<'_>, steps_max: usize) -> Self {
        let end = end(part);
        Self {
            bins: end.div_ceil(steps_max.max(1)),
            end,
        }
    }

    pub(super) const fn count(self) -> usize {
        self.end.div_ceil(self.bins)
    }

    /// The whole time, in seconds.
    pub(super) fn seconds(self) -> f64 {
        float(self.end as u64) / float(BINS_PER_SECOND as u64)
    }

    /// The middle of a step, in seconds.
    pub(super) fn middle(self, step: usize) -> f64 {
        let (from, to) = self.bounds(step);
        float((from + to) as u64) / 2.0 / float(BINS_PER_SECOND as u64)
    }

    fn bounds(self, step: usize) -> (usize, usize) {
        (step * self.bins, ((step + 1) * self.bins).min(self.end))
    }

    /// What bins count, by the second, over the runs of a policy.
    pub(super) fn per_second(self, runs: &[Tally], of: fn(&Bin) -> u32) -> Course {
        self.course(runs, |tally, from, to| {
            let bins = tally.bins.get(from..to.min(tally.bins.len())).unwrap_or_default();
            let sum: u64 = bins.iter().map(|bin| u64::from(of(bin))).sum();
            float(sum) * float(BINS_PER_SECOND as u64) / float((to - from) as u64)
        })
    }

    /// The share of so many gates that were not closed.
    pub(super) fn open_share(self, runs: &[Tally], gates: u64) -> Course {
        self.course(runs, |tally, from, to| {
            let bins = tally.bins.get(from..to.min(tally.bins.len())).unwrap_or_default();
            let sum: u64 = bins.iter().map(|bin| u64::from(bin.open_gates)).sum();
            float(sum) / float((to - from) as u64) / float(gates.max(1))
        })
    }

    fn course(self, runs: &[Tally], value: impl Fn(&Tally, usize, usize) -> f64) -> Course {
        let mut course = Course::default();
        for step in 0..self.count() {
            let (from, to) = self.bounds(step);
            let mut values: Vec<f64> = runs.iter().map(|tally| value(tally, from, to)).collect();
            values.sort_by(f64::total_cmp);
            let last = values.len().saturating_sub(1);
            let at = |rank: usize| values.get(rank).copied().unwrap_or(0.0);
            // As many beyond one edge as beyond the other, together two of ten.
            let tenth = (last + 5) / 10;
            course.middle.push(at(last.div_ceil(2)));
            course.low.push(at(tenth));
            course.high.push(at(last - tenth));
        }
        course
    }

    /// Calls that failed for this reason, a second, the mean over runs. Means add up, and are stacked.
    fn failed(self, runs: &[Tally], code: &str) -> Vec<f64> {
        let mut seconds = vec![0_u64; self.end.div_ceil(BINS_PER_SECOND)];
        for counts in runs.iter().filter_map(|tally| tally.failures.get(code)) {
            for (sum, count) in seconds.iter_mut().zip(counts) {
                *sum += u64::from(*count);
            }
        }
        (0..self.count())
            .map(|step| {
                let (from, to) = self.bounds(step);
                let (from, to) = (from / BINS_PER_SECOND, to.div_ceil(BINS_PER_SECOND));
                let within = seconds.get(from..to).unwrap_or_default();
                let sum: u64 = within.iter().sum();
                float(sum) / float((within.len() * runs.len()).max(1) as u64)
            })
            .collect()
    }

    /// Why calls failed, the same kinds for all policies of a part: the commonest, and the rest together.
    pub(super) fn failures(self, part: &Part<'_>) -> Failures {
        let mut totals: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (code, seconds) in part.tallies.iter().flat_map(|tally| &tally.failures) {
            *totals.entry(code).or_default() += seconds.iter().map(|count| u64::from(*count)).sum::<u64>();
        }
        let mut codes: Vec<(&'static str, u64)> = totals.into_iter().collect();
        codes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let codes: Vec<&'static str> = codes.into_iter().map(|(code, _)| code).collect();
        let apart = match codes.len() {
            all if all <= REASONS_MAX + 1 => all,
            _ => REASONS_MAX,
        };
        let by_policy = (0..part.policies())
            .map(|policy| {
                let runs = part.lined(policy);
                let (apart, rest) = codes.split_at(apart);
                let mut stack: Vec<Vec<f64>> = apart.iter().map(|code| self.failed(runs, code)).collect();
                if !rest.is_empty() {
                    let mut sum = vec![0.0; self.count()];
                    for code in rest {
                        sum.iter_mut()
                            .zip(self.failed(runs, code))
                            .for_each(|(sum, part)| *sum += part);
                    }
                    stack.push(sum);
                }
                stack
            })
            .collect();
        let mut names: Vec<String> = codes[..apart].iter().map(|code| (*code).to_owned()).collect();
        if codes.len() > apart {
            names.push(format!("{} others", codes.len() - apart));
        }
        Failures { names, by_policy }
    }
}

/// Why calls failed over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failures {
    pub(super) names: Vec<String>,
    /// By policy, kind and step, a second.
    pub(super) by_policy: Vec<Vec<Vec<f64>>>,
}

/// Where pictures end, in bins.
fn end(part: &Part<'_>) -> usize {
    let horizon = bin_of(Instant::START.after(part.study.model.horizon));
    let busy = part.tallies.iter().map(|tally| last_busy(&tally.bins)).max();
    // Chance has outages up to the horizon, however long before it all is quiet.
    let over = part.study.outage_end().map(|end| bin_of(end) + BINS_PER_SECOND);
    busy.unwrap_or(0).max(over.unwrap_or(0)).min(horizon).max(1)
}

fn last_busy(bins: &[Bin]) -> usize {
    let busy = |bin: &Bin| bin.due > 0 || bin.answered > 0 || bin.failed > 0 || bin.arrivals > 0;
    bins.iter().rposition(busy).map_or(0, |last| last + 1)
}

/// Every outage of the runs that lines are of, given or by chance, in the order of their beginnings.
pub(super) fn outages(part: &Part<'_>) -> Vec<Outage> {
    let (model, luck) = (&part.study.model, Luck::new(part.study.seed));
    let mut all: Vec<Outage> = (0..)
        .zip(&model.servers)
        .flat_map(|(number, server)| server.outages_in(luck, number, model.horizon))
        .collect();
    all.sort_by_key(|outage| (outage.at, outage.lasts));
    all.dedup();
    all
}

/// What is wrong in an outage, in a word or two.
pub(super) fn trouble(how: Trouble) -> String {
    match how {
        Trouble::FailFast => "fails at once".to_owned(),
        Trouble::Refuse => "refuses".to_owned(),
        Trouble::Hang => "hangs".to_owned(),
        Trouble::Slow { factor } => format!("{} slower", super::figures::times(factor)),
        Trouble::Throttle { retry_after: None } => "throttles".to_owned(),
        Trouble::Throttle {
            retry_after: Some(wait),
        } => format!("throttles for {}", wait),
        Trouble::Truncate => "cuts answers".to_owned(),
    }
}

/// How many gates with a breaker a policy has in a model: those of the clients and of every layer.
pub(super) fn breakers(model: &Model, contender: &Contender) -> u64 {
    let last = match model.spread {
        Spread::Route | Spread::ShardsOwnGates => model.servers.len() as u64,
        Spread::ShardsOneGate => 1,
    };
    let of = |number: usize, processes: u32, breaks: bool| {
        let gates = if number == model.layers.len() { last } else { 1 };
        if breaks { u64::from(processes) * gates } else { 0 }
    };
    let fleet: Fleet = contender.fleet;
    let own = of(
        0,
        fleet.processes(model.load.clients()),
        contender.policy.gate.breaker().is_some(),
    );
    let layers = model.layers.iter().enumerate().map(|(number, layer)| {
        let policy = layer.policy.as_ref().unwrap_or(&contender.policy);
        of(number + 1, layer.processes, policy.gate.breaker().is_some())
    });
    own + layers.sum::<u64>()
}

/// What the servers bear, in attempts a second, where that is a number: what their workers can do, as long as all is well.
pub(super) fn capacity(model: &Model) -> Option<f64> {
    let serving = model.serving();
    let rates = serving.iter().map(|server| match server.capacity {
        Capacity::Workers(workers) => {
            let mean = crate::sim::luck::nanos(model.service_mean(server)) / 1e9;
            (mean > 0.0).then(|| f64::from(workers) / mean)
        }
        Capacity::Unbounded | Capacity::Coupled { .. } | Capacity::OptimisticLock => None,
    });
    // Each gets an even share, so that the weakest decides.
    let each = rates
        .collect::<Option<Vec<f64>>>()?
        .into_iter()
        .reduce(f64::min)?;
    Some(each * float(serving.len() as u64))
}

/// Seconds since the beginning.
pub(super) fn seconds(at: Instant) -> f64 {
    length(at.since(Instant::START))
}

pub(super) fn length(length: Duration) -> f64 {
    crate::sim::luck::nanos(length) / 1e9
}

#[cfg(test)]
mod tests;
