//! Which candidate is better, where six figures have a say.
//!
//! What can go wrong: a weighted sum hides what was given up for what; and where every last digit counts, nearly nothing
//! is worse than anything else in all respects. So a candidate is worse only than one that is as good in every figure
//! and better in one, each figure rounded to what matters; those that nobody is better than are the front. Its knee is
//! the one nearest to having the best of everything.

use crate::sim::summary::Summary;
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
    /// The latency that 99 of 100 do not exceed.
    P99,
    /// Attempts for each call.
    Amplification,
    /// From the end of an outage until all is well.
    Recovery,
    /// Money.
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
    fn of(self, summary: &Summary) -> f64 {
        match self {
            Self::Success => 1.0 - summary.success_rate,
            Self::Collapse => summary.p_collapse,
            Self::P99 => summary.p99_ms.unwrap_or(f64::INFINITY),
            Self::Amplification => summary.amplification,
            Self::Recovery => summary.recovery_s.unwrap_or(f64::INFINITY),
            Self::Cost => summary.cost_usd / crate::sim::summary::float(summary.calls.max(1)),
        }
    }

    /// Rounded to what matters: a thousandth of the calls, a hundredth of the seeds or of an attempt, half a second, 5 % of
    /// a latency, 1 % of the money.
    fn grained(self, figure: f64) -> f64 {
        let steps = match self {
            Self::Success => figure / 0.001,
            Self::Collapse | Self::Amplification => figure / 0.01,
            Self::Recovery => figure / 0.5,
            Self::P99 => libm::log(figure.max(f64::MIN_POSITIVE)) / libm::log(1.05),
            Self::Cost => libm::log(figure.max(f64::MIN_POSITIVE)) / libm::log(1.01),
        };
        libm::round(steps)
    }
}

/// What a candidate is compared by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// How many demands it misses.
    pub(super) unmet: usize,
    exact: [f64; Objective::ALL.len()],
    grained: [f64; Objective::ALL.len()],
}

impl Score {
    pub(super) fn of(summary: &Summary, unmet: usize) -> Self {
        let exact = Objective::ALL.map(|objective| objective.of(summary));
        let mut grained = exact;
        for (figure, objective) in grained.iter_mut().zip(Objective::ALL) {
            *figure = objective.grained(*figure);
        }
        Self {
            unmet,
            exact,
            grained,
        }
    }

    /// Whether the other is worse: as good in nothing that counts, or as good and worse in one.
    fn beats(&self, other: &Self) -> bool {
        if self.unmet != other.unmet {
            return self.unmet < other.unmet;
        }
        let mut pairs = self.grained.iter().zip(&other.grained);
        let nowhere_worse = pairs.clone().all(|(mine, others)| mine <= others);
        nowhere_worse && pairs.any(|(mine, others)| mine < others)
    }

    const fn figure(&self, objective: Objective) -> f64 {
        self.exact[objective as usize]
    }
}

/// The numbers of those that nobody beats, in their own order.
pub(super) fn front(scores: &[Score]) -> Vec<usize> {
    let unbeaten = |number: &usize| !scores.iter().any(|other| other.beats(&scores[*number]));
    let mut front: Vec<usize> = (0..scores.len()).filter(unbeaten).collect();
    // Of those that are alike in all that matters the first stands for all.
    let mut seen: Vec<[f64; Objective::ALL.len()]> = Vec::new();
    front.retain(|number| {
        let grained = scores[*number].grained;
        let is_new = !seen.contains(&grained);
        if is_new {
            seen.push(grained);
        }
        is_new
    });
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

/// How far each stands from having the best of everything that the front has, as shares of the front's spans.
pub(super) fn distances(scores: &[Score], front: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; scores.len()];
    for objective in Objective::ALL {
        let of_front = || front.iter().map(|number| scores[*number].figure(objective));
        let least = of_front().fold(f64::INFINITY, f64::min);
        let most = of_front()
            .filter(|figure| figure.is_finite())
            .fold(least, f64::max);
        let (span, ends) = (most - least, of_front().all(f64::is_finite));
        for (sum, score) in sums.iter_mut().zip(scores) {
            let figure = score.figure(objective);
            let off = match (figure.is_finite(), span > 0.0) {
                (true, true) => (figure - least) / span,
                (true, false) => 0.0,
                // What never came is worse than all that came.
                (false, _) if least.is_finite() => 2.0,
                (false, _) => 0.0,
            };
            *sum += if ends || off.is_finite() { off * off } else { 4.0 };
        }
    }
    sums.into_iter().map(libm::sqrt).collect()
}

/// The one of the front that is wanted.
pub(super) fn chosen(scores: &[Score], front: &[usize], prefers: Prefers) -> Option<usize> {
    let distances = distances(scores, front);
    let mut order = front.to_vec();
    order.sort_by(|a, b| {
        let by_figure = match prefers {
            Prefers::Knee => std::cmp::Ordering::Equal,
            Prefers::Best(objective) => {
                let place = objective as usize;
                scores[*a].grained[place].total_cmp(&scores[*b].grained[place])
            }
        };
        by_figure
            .then(distances[*a].total_cmp(&distances[*b]))
            .then(a.cmp(b))
    });
    order.first().copied()
}
