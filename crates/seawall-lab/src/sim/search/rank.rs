//! Which candidate is better, where six figures have a say.
//!
//! What can go wrong: a weighted sum hides what was given up for what; where every last digit counts, nearly nothing is
//! worse than anything else in all respects; and who refuses most calls at once has the best times, the least load and
//! the smallest bill. So a candidate is worse only than one that is as good in every figure and better in one, each
//! figure rounded to what matters; those that nobody is better than are the front, and its knee is the one nearest to
//! having the best of everything. And a call that is not answered earns nothing: it counts as later than every answer,
//! load counts from one attempt a call, and money is for each call that was answered.

use crate::sim::summary::{Summary, float, millis};
use crate::sim::tally::{Histogram, Tally};
use seawall_core::time::Duration;
use serde::Serialize;

/// A figure that candidates are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Objective {
    /// Calls that are not answered.
    Success,
    /// Seeds that end in a collapse.
    Collapse,
    /// How soon 99 of 100 calls are answered.
    P99,
    /// Attempts for each call, from one on.
    Amplification,
    /// From the end of an outage until all is well.
    Recovery,
    /// Money for each call that is answered.
    Cost,
}

impl Objective {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::Success,
        Self::Collapse,
        Self::P99,
        Self::Amplification,
        Self::Recovery,
        Self::Cost,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Collapse => "collapse",
            Self::P99 => "p99",
            Self::Amplification => "amplification",
            Self::Recovery => "recovery",
            Self::Cost => "cost",
        }
    }

    /// Of what a candidate came to: the less, the better. What never came is without end.
    fn of(self, summary: &Summary, answered: Answered) -> f64 {
        match self {
            Self::Success => 1.0 - summary.success_rate,
            // Where nothing was due at the end there is nothing to hold against it.
            Self::Collapse => summary.p_collapse.unwrap_or(0.0),
            Self::P99 => answered.at_worst_ms,
            // Who sends fewer attempts than there are calls has refused some, which is no merit of its own.
            Self::Amplification => summary.amplification.max(1.0),
            Self::Recovery => summary.recovery_s.unwrap_or(f64::INFINITY),
            Self::Cost if summary.success_rate <= 0.0 => f64::INFINITY,
            Self::Cost => summary.cost_usd / (summary.success_rate * float(summary.calls)),
        }
    }

    /// Rounded to what matters: a thousandth of the calls, a hundredth of the seeds or of an attempt, half a second, 5 % of
    /// a latency, 1 % of the money.
    fn grained(self, figure: f64) -> f64 {
        let steps = match self {
            Self::Success => figure / 0.001,
            Self::Collapse | Self::Amplification => figure / 0.01,
            Self::Recovery => figure / 0.5,
            // Nothing has no logarithm; a microsecond and a billionth of a dollar are as good.
            Self::P99 => libm::log(figure.max(1e-3)) / libm::log(1.05),
            Self::Cost => libm::log(figure.max(1e-9)) / libm::log(1.01),
        };
        libm::round(steps)
    }
}

/// How soon calls are answered, where one that is not counts as later than every one that is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answered {
    /// Within which 99 of 100 calls were answered; `None`: fewer were.
    pub(super) within_ms: Option<f64>,
    /// The same, or else beyond the longest that anybody waits: the sooner who is not answered knows, the less.
    at_worst_ms: f64,
}

impl Answered {
    /// Of the runs of a policy whose calls wait so long at the most.
    pub(super) fn of(tallies: &[Tally], deadline: Duration) -> Self {
        let (mut all, mut answered) = (Histogram::default(), Histogram::default());
        for tally in tallies {
            all.merge(&tally.latency);
            answered.merge(&tally.latency_answered);
        }
        let within_ms = match all.count() {
            0 => None,
            calls => answered.at_rank((calls * 99).div_ceil(100)).map(millis),
        };
        let late = millis(deadline) + all.percentile(990).map_or(0.0, millis);
        Self {
            within_ms,
            at_worst_ms: within_ms.unwrap_or(late),
        }
    }
}

/// What a candidate is compared by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// How many demands it misses.
    unmet: usize,
    /// In how many settings it is another than the file's own.
    changes: usize,
    grained: [f64; Objective::ALL.len()],
}

impl Score {
    pub(super) fn of(summary: &Summary, answered: Answered, unmet: usize, changes: usize) -> Self {
        Self {
            unmet,
            changes,
            grained: Objective::ALL.map(|objective| objective.grained(objective.of(summary, answered))),
        }
    }

    /// Whether the other is worse: as good in nothing that counts, or as good and worse in one.
    pub(super) fn beats(&self, other: &Self) -> bool {
        if self.unmet != other.unmet {
            return self.unmet < other.unmet;
        }
        let mut pairs = self.grained.iter().zip(&other.grained);
        let nowhere_worse = pairs.clone().all(|(mine, others)| mine <= others);
        nowhere_worse && pairs.any(|(mine, others)| mine < others)
    }

    /// As if it missed no demand.
    pub(super) const fn forgiven(self) -> Self {
        Self { unmet: 0, ..self }
    }

    /// In steps that matter.
    const fn figure(&self, objective: Objective) -> f64 {
        self.grained[objective as usize]
    }
}

/// The numbers of those that nobody beats, in their own order.
pub(super) fn front(scores: &[Score]) -> Vec<usize> {
    let unbeaten = |number: &usize| !scores.iter().any(|other| other.beats(&scores[*number]));
    let mut front: Vec<usize> = (0..scores.len()).filter(unbeaten).collect();
    // Of those that are alike in all that matters the one that changes least stands for all.
    front.sort_by_key(|number| (scores[*number].changes, *number));
    let mut seen: Vec<[f64; Objective::ALL.len()]> = Vec::new();
    front.retain(|number| {
        let grained = scores[*number].grained;
        let is_new = !seen.contains(&grained);
        if is_new {
            seen.push(grained);
        }
        is_new
    });
    front.sort_unstable();
    front
}

/// The better so many, best first: front by front, and of one front those that stand farthest from the others.
pub(super) fn best(scores: &[Score], count: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..scores.len()).collect();
    let mut kept = Vec::new();
    while kept.len() < count && !left.is_empty() {
        let unbeaten = |number: &usize| !left.iter().any(|other| scores[*other].beats(&scores[*number]));
        let mut front: Vec<usize> = left.iter().copied().filter(unbeaten).collect();
        left.retain(|number| !front.contains(number));
        if kept.len() + front.len() > count {
            let room = room(scores, &front);
            let mut order: Vec<usize> = (0..front.len()).collect();
            order.sort_by(|a, b| room[*b].total_cmp(&room[*a]).then(a.cmp(b)));
            front = order.into_iter().map(|place| front[place]).collect();
        }
        kept.extend(front);
    }
    kept.truncate(count);
    kept
}

/// How far each of a front stands from its neighbours, over all figures; those at an end stand farthest.
fn room(scores: &[Score], front: &[usize]) -> Vec<f64> {
    let mut room = vec![0.0; front.len()];
    for objective in Objective::ALL {
        let figure = |place: usize| scores[front[place]].figure(objective).min(f64::MAX / 4.0);
        let mut order: Vec<usize> = (0..front.len()).collect();
        order.sort_by(|a, b| figure(*a).total_cmp(&figure(*b)).then(a.cmp(b)));
        let (Some(first), Some(last)) = (order.first().copied(), order.last().copied()) else {
            return room;
        };
        let span = figure(last) - figure(first);
        if span <= 0.0 {
            continue;
        }
        (room[first], room[last]) = (f64::INFINITY, f64::INFINITY);
        for three in order.windows(3) {
            room[three[1]] += (figure(three[2]) - figure(three[0])) / span;
        }
    }
    room
}

/// What is wanted most of the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefers {
    /// The best of everything, as near as may be.
    #[default]
    Knee,
    /// The best in this; of equals, the nearest to the best of everything.
    Best(Objective),
}

impl Prefers {
    /// All of them, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Knee].into_iter().chain(Objective::ALL.map(Self::Best))
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Knee => "knee",
            Self::Best(objective) => objective.name(),
        }
    }
}

/// A front that is narrower than so many steps in a figure decides nothing by it: a hair is no half of anything.
const SPAN_MIN: f64 = 5.0;

/// How far each stands from having the best of everything that the front has, as shares of the front's spans.
pub(super) fn distances(scores: &[Score], front: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; scores.len()];
    for objective in Objective::ALL {
        let of_front = || front.iter().map(|number| scores[*number].figure(objective));
        let least = of_front().fold(f64::INFINITY, f64::min);
        let finite = of_front().filter(|figure| figure.is_finite());
        let span = (finite.fold(least, f64::max) - least).max(SPAN_MIN);
        for (sum, score) in sums.iter_mut().zip(scores) {
            let figure = score.figure(objective);
            let off = match (figure.is_finite(), least.is_finite()) {
                (true, true) => (figure - least) / span,
                // What never came is worse than all that came.
                (false, true) => 2.0,
                // It came for none of them.
                (true | false, false) => 0.0,
            };
            *sum += off * off;
        }
    }
    sums.into_iter().map(libm::sqrt).collect()
}

/// The one of the front that is wanted.
pub(super) fn chosen(scores: &[Score], front: &[usize], prefers: Prefers) -> Option<usize> {
    order(scores, front, prefers).first().copied()
}

/// The front, what is wanted most first.
pub(super) fn order(scores: &[Score], front: &[usize], prefers: Prefers) -> Vec<usize> {
    let distances = distances(scores, front);
    let mut order = front.to_vec();
    order.sort_by(|a, b| {
        let by_figure = match prefers {
            Prefers::Knee => std::cmp::Ordering::Equal,
            Prefers::Best(objective) => {
                let (a, b) = (scores[*a].figure(objective), scores[*b].figure(objective));
                a.total_cmp(&b)
            }
        };
        by_figure
            .then(distances[*a].total_cmp(&distances[*b]))
            .then(a.cmp(b))
    });
    order
}

#[cfg(test)]
mod tests;
