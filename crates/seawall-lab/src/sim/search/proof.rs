//! The best of a search, held to seeds that nothing was chosen by.
//!
//! What can go wrong: of a hundred policies that are alike, the one that is best is the one that was lucky, and its
//! figures are its luck's. So the last runs are with seeds that the search has not seen: of the policy that is wanted,
//! of those that it was wanted over, and of the file's own. They choose nothing; they say whether the choice stands.
//!
//! Not covered: a choice that falls is told, not made anew, for what was chosen by these seeds would need others again.
//! More seeds make it stand.

use super::candidate::{CameTo, Candidate, Origin};
use super::rank::{self, Score};
use super::{Demands, Search, Stage, Task};
use crate::sim::summary::{Beside, beside};
use serde::Serialize;

/// Policies that are held to other seeds beside the file's own first.
const HELD_MAX: usize = 8;
/// The largest part of the runs that it may take: one in so many.
const PART_MAX: u64 = 4;

/// What other seeds say of the choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// The first of these seeds.
    pub seed: u64,
    /// How many.
    pub seeds: u32,
    /// How many policies ran with them.
    pub policies: usize,
    /// What they say of the winner.
    pub standing: Standing,
    /// The policy that these seeds alone would choose; `None`: none of them meets every assert.
    pub wanted: Option<String>,
    /// The winner beside the file's first policy, seed by seed; `None` of that policy itself, and of one seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// How the winner stands with seeds that it was not chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Standing {
    /// It is the one there as well.
    Wanted,
    /// Another would be wanted more, and none beats it.
    Unbeaten,
    /// One is as good in all figures and better in some.
    Beaten,
    /// It misses an assert there.
    Misses,
}

impl Proof {
    /// What they say, in words.
    pub fn text(&self) -> String {
        let other = match &self.wanted {
            Some(name) => format!("{name} would be the one"),
            None => "no policy meets every assert".to_owned(),
        };
        match self.standing {
            Standing::Wanted if self.policies < 2 => {
                "nothing else is of the front, so that it ran with these alone".to_owned()
            }
            Standing::Wanted => format!("it is the one of {} here as well", self.policies),
            Standing::Unbeaten => {
                format!("nothing beats it here either, though {other}: more seeds tell them apart")
            }
            Standing::Beaten => format!("it is beaten here, and {other}: search with more seeds"),
            Standing::Misses => format!("it misses an assert here, and {other}: search with more seeds"),
        }
    }
}

/// Runs that are kept for it.
pub(super) fn reserved(task: &Task) -> u64 {
    let given = task.study.contenders.len().min(1);
    let wanted = (HELD_MAX + given) as u64 * u64::from(task.study.seeds);
    wanted.min(task.runs / PART_MAX)
}

impl<D: Demands> Search<D> {
    /// Who runs with other seeds: the best, as many as runs are left for, and the file's first policy.
    pub(super) fn begin_proof(&mut self) {
        let pool = self.pool();
        let Some(chosen) = self.chosen(&pool) else {
            self.stage = Stage::Over;
            return;
        };
        let scores = self.scores(&pool);
        let order = rank::order(&scores, &rank::front(&scores), self.task.prefers);
        let left = self.task.runs.saturating_sub(self.runs) / u64::from(self.task.study.seeds.max(1));
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(HELD_MAX + 1);
        let first = (!self.task.study.contenders.is_empty()).then_some(0);
        let others = order.into_iter().map(|place| pool[place]);
        self.members = vec![chosen];
        for number in first.into_iter().chain(others) {
            // The two that are compared are held to them in any case.
            if self.members.len() < room.max(2) && !self.members.contains(&number) {
                self.members.push(number);
            }
        }
        self.stage = Stage::Proof;
    }

    /// What the other seeds say of this candidate; `None` before it has run with them.
    pub(super) fn proof_of(&self, winner: usize) -> Option<Proof> {
        let (mine, tallies) = self.candidates[winner].proven.as_ref()?;
        let held: Vec<(usize, &CameTo)> = (0..self.candidates.len())
            .filter_map(|number| Some((number, &self.candidates[number].proven.as_ref()?.0)))
            .collect();
        let scores: Vec<Score> = held
            .iter()
            .map(|(number, came_to)| self.candidates[*number].score_of(came_to))
            .collect();
        let able: Vec<usize> = (0..held.len())
            .filter(|place| self.may_win(held[*place].0))
            .collect();
        let scores_of_able: Vec<Score> = able.iter().map(|place| scores[*place]).collect();
        let right: Vec<usize> = rank::front(&scores_of_able)
            .into_iter()
            .filter(|place| held[able[*place]].1.unmet.is_empty())
            .collect();
        let wanted =
            rank::chosen(&scores_of_able, &right, self.task.prefers).map(|place| held[able[place]].0);
        let place = held.iter().position(|(number, _)| *number == winner)?;
        let standing = if !mine.unmet.is_empty() {
            Standing::Misses
        } else if wanted == Some(winner) {
            Standing::Wanted
        } else if scores_of_able.iter().any(|other| other.beats(&scores[place])) {
            Standing::Beaten
        } else {
            Standing::Unbeaten
        };
        let given = |candidate: &&Candidate| candidate.origin == Origin::Given;
        let first = self.candidates.first().filter(given).filter(|_| winner != 0);
        let study = &self.task.study;
        Some(Proof {
            seed: study.seed.wrapping_add(u64::from(study.seeds)),
            seeds: study.seeds,
            policies: held.len(),
            standing,
            wanted: wanted.map(|number| self.candidates[number].contender.name.clone()),
            beside: first.and_then(|first| {
                let (_, theirs) = first.proven.as_ref()?;
                beside(tallies, &first.contender.name, theirs)
            }),
        })
    }
}
