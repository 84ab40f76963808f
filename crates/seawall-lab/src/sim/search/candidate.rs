//! A policy that may be the one, and what is known of it.

use super::rank::{Answered, Score};
use super::space::Point;
use super::{Demands, Study};
use crate::sim::model::{Contender, Model};
use crate::sim::precheck::{Code, Precheck, Stability, precheck};
use crate::sim::summary::Summary;
use crate::sim::tally::Tally;

/// A policy that may be the one.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) contender: Contender,
    pub(super) origin: Origin,
    /// Where it is on the grid; `None`: it is not.
    pub(super) point: Option<Point>,
    /// In how many settings it is another than the file's own.
    pub(super) changes: usize,
    pub(super) precheck: Precheck,
    /// Of its runs so far; let go once it is out.
    pub(super) tallies: Vec<Tally>,
    pub(super) seeds: u32,
    pub(super) came_to: CameTo,
    /// The same with seeds that nothing was chosen by, and the runs that it is of.
    pub(super) proven: Option<(CameTo, Vec<Tally>)>,
}

/// Where a policy is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The file has it.
    Given,
    /// The search has made it.
    Drawn,
}

/// What the runs of a policy came to.
#[derive(Clone, Debug, Default)]
pub(super) struct CameTo {
    pub(super) summary: Summary,
    pub(super) answered: Answered,
    /// The demands that it misses.
    pub(super) unmet: Vec<usize>,
}

impl Candidate {
    pub(super) fn new(model: &Model, contender: Contender, origin: Origin, point: Option<Point>) -> Self {
        Self {
            precheck: precheck(model, &contender),
            contender,
            origin,
            point,
            changes: 0,
            tallies: Vec::new(),
            seeds: 0,
            came_to: CameTo::default(),
            proven: None,
        }
    }

    pub(super) fn sum_up(&mut self, study: &Study, demands: &impl Demands) {
        self.came_to = self.of(study, demands, &self.tallies);
    }

    /// Takes what it came to with other seeds.
    pub(super) fn prove(&mut self, study: &Study, demands: &impl Demands, tallies: Vec<Tally>) {
        self.proven = Some((self.of(study, demands, &tallies), tallies));
    }

    fn of(&self, study: &Study, demands: &impl Demands, tallies: &[Tally]) -> CameTo {
        let name = &self.contender.name;
        let summary = Summary::of(name, &study.model, study.recovers_from(), tallies);
        let all = 0..demands.texts().len();
        CameTo {
            answered: Answered::of(tallies, self.contender.policy.call.deadline()),
            unmet: all.filter(|nth| !demands.holds(*nth, &summary)).collect(),
            summary,
        }
    }

    pub(super) fn score(&self) -> Score {
        self.score_of(&self.came_to)
    }

    pub(super) fn score_of(&self, came_to: &CameTo) -> Score {
        let CameTo {
            summary,
            answered,
            unmet,
        } = came_to;
        Score::of(summary, *answered, unmet.len(), self.changes)
    }
}

/// What closed forms ask of a policy before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Constraint {
    /// An overload ends by itself.
    Headroom,
    /// Its breaker does not make a partial failure worse.
    BreakerHarm,
}

impl Constraint {
    /// All of them.
    pub(super) const ALL: [Self; 2] = [Self::Headroom, Self::BreakerHarm];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Headroom => "headroom",
            Self::BreakerHarm => "breaker-harm",
        }
    }

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Headroom => "an overload that has begun ends by itself",
            Self::BreakerHarm => "a breaker does not make a partial failure worse",
        }
    }
}

/// What closed forms hold against a policy.
pub(super) fn unsafe_of(precheck: &Precheck) -> Vec<Constraint> {
    let mut broken = Vec::new();
    match precheck.stability {
        Stability::Vulnerable | Stability::Metastable => broken.push(Constraint::Headroom),
        // Of what is overloaded whatever the policy, and of what is not known, no policy is to blame.
        Stability::Stable | Stability::Overloaded | Stability::Unknown => {}
    }
    if precheck.finding(Code::BreakerHarms).is_some() {
        broken.push(Constraint::BreakerHarm);
    }
    broken
}
