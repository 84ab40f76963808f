//! What a search has found, for people and for other programs.

use super::rank::{self, Score};
use super::{Candidate, Demands, Search, policy_table};
use crate::sim::precheck::{Finding, Stability};
use crate::sim::summary::Intervals;
use seawall_core::policy::Policy;
use serde::{Serialize, Serializer};

/// What a search has found. The names are those of the JSON: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The scenario's name.
    pub name: String,
    /// The first seed.
    pub seed: u64,
    /// Whether the search came to its end, and not to its driver's.
    pub complete: bool,
    /// Runs that were made.
    pub runs: u64,
    /// Policies that ran.
    pub candidates: usize,
    /// The rounds that ended.
    pub rounds: Vec<Round>,
    /// What had to hold.
    pub constraints: Vec<Limit>,
    /// Those that nothing beats in all figures, the wanted one first, then from the most calls answered to the fewest.
    pub front: Vec<Row>,
    /// The scenario's own policies.
    pub given: Vec<Row>,
    /// The one that is wanted; `None`: nothing ran, or no policy that ran meets every demand.
    pub winner: Option<Row>,
    /// What closed forms say of the winner.
    pub stability: Option<Stability>,
    /// The same, at length.
    pub precheck: Vec<Finding>,
}

/// A round of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Candidates that ran.
    pub candidates: usize,
    /// With how many seeds each has run at its end.
    pub seeds: u32,
    /// Those that went on; 0 of a last round.
    pub kept: usize,
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

    const fn text(self) -> &'static str {
        match self {
            Self::Headroom => "an overload that has begun ends by itself",
            Self::BreakerHarm => "a breaker does not make a partial failure worse",
        }
    }
}

/// A constraint, and what it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Its name: `headroom`, `breaker-harm`, or an assert as it was written.
    pub name: String,
    /// What it asks for.
    pub text: String,
    /// Policies that it kept out: before they ran, or after.
    pub refused: u64,
    /// Whether nothing meets it, so that it was left out.
    pub set_aside: bool,
    /// What it keeps the winner from: one step in these settings, and it breaks. Of an assert: the policies that would
    /// be wanted more.
    pub binds: Vec<String>,
}

/// A policy and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name: the scenario's, or a number.
    pub name: String,
    /// With how many seeds it ran.
    pub seeds: u32,
    /// See [`Summary`](crate::sim::summary::Summary).
    pub success_rate: f64,
    /// See there.
    pub p_collapse: f64,
    /// See there.
    pub p99_ms: Option<f64>,
    /// See there.
    pub amplification: f64,
    /// See there.
    pub recovery_s: Option<f64>,
    /// See there.
    pub cost_usd: f64,
    /// Where the true figures are, 95 times of 100.
    pub ci: Intervals,
    /// Asserts that do not hold, as they were written.
    pub unmet: Vec<String>,
    /// The policy, as a `[policy]` table.
    #[serde(rename = "toml", serialize_with = "as_table")]
    pub policy: Policy,
}

fn as_table<S: Serializer>(policy: &Policy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&policy_table(policy))
}

impl Found {
    /// One JSON document, over several lines.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers, texts and lists become JSON")
    }
}

impl<D: Demands> Search<D> {
    /// What is best so far.
    pub fn found(&self) -> Found {
        let texts = self.demands.texts();
        let pool = self.pool();
        let scores: Vec<Score> = pool
            .iter()
            .map(|number| self.candidates[*number].score())
            .collect();
        let mut front = rank::front(&scores);
        let chosen = self.wanted(&pool, &scores, &front);
        front.sort_by(|a, b| {
            let success = |place: &usize| self.candidates[pool[*place]].summary.success_rate;
            let is_other = |place: &usize| Some(*place) != chosen;
            let by_success = success(b).total_cmp(&success(a));
            is_other(a).cmp(&is_other(b)).then(by_success).then(a.cmp(b))
        });
        let row = |candidate: &Candidate| candidate.row(&texts);
        let winner = chosen.map(|place| &self.candidates[pool[place]]);
        Found {
            name: self.task.study.name.clone(),
            seed: self.task.study.seed,
            complete: self.ask().is_none(),
            runs: self.runs,
            candidates: self
                .candidates
                .iter()
                .filter(|candidate| candidate.seeds > 0)
                .count(),
            rounds: self.rounds.clone(),
            constraints: self.limits(&texts, chosen, &pool, &scores),
            front: front
                .iter()
                .map(|place| row(&self.candidates[pool[*place]]))
                .collect(),
            given: self
                .candidates
                .iter()
                .filter(|candidate| candidate.point.is_none() && candidate.seeds > 0)
                .map(row)
                .collect(),
            stability: winner.map(|winner| winner.precheck.stability),
            precheck: winner.map_or_else(Vec::new, |winner| winner.precheck.findings.clone()),
            winner: winner.map(row),
        }
    }

    /// The place in the pool of the one that is wanted: it meets every demand, breaks nothing, and a file can say it.
    fn wanted(&self, pool: &[usize], scores: &[Score], front: &[usize]) -> Option<usize> {
        let right = |place: &usize| {
            let candidate = &self.candidates[pool[*place]];
            let written = !candidate.contender.policy.call.backoff().base().is_zero();
            candidate.unmet.is_empty() && written && self.broken(&candidate.precheck).is_empty()
        };
        let right: Vec<usize> = front.iter().copied().filter(right).collect();
        rank::chosen(scores, &right, self.task.prefers)
    }

    fn limits(
        &self,
        texts: &[String],
        chosen: Option<usize>,
        pool: &[usize],
        scores: &[Score],
    ) -> Vec<Limit> {
        let point = chosen.and_then(|place| self.candidates[pool[place]].point);
        let checked = Constraint::ALL.into_iter().map(|constraint| {
            let steps = point.map_or_else(Vec::new, |point| self.space.neighbours(point));
            let mut binds: Vec<String> = steps
                .into_iter()
                .filter(|(_, step)| {
                    let candidate = self.candidate(*step);
                    candidate.is_some_and(|candidate| self.broken(&candidate.precheck).contains(&constraint))
                })
                .map(|(knob, _)| knob.key().to_owned())
                .collect();
            binds.dedup();
            Limit {
                name: constraint.name().to_owned(),
                text: constraint.text().to_owned(),
                refused: self.refused.get(&constraint).copied().unwrap_or(0),
                set_aside: self.set_aside.contains(&constraint),
                binds,
            }
        });
        let asserts = texts.iter().enumerate().map(|(nth, text)| {
            let alone = |candidate: &&Candidate| candidate.unmet == [nth];
            let ran = self.candidates.iter().filter(|candidate| candidate.seeds > 0);
            let missing = ran.filter(|candidate| candidate.unmet.contains(&nth)).count() as u64;
            let tempting = chosen.map_or_else(Vec::new, |chosen| {
                let front: Vec<usize> = rank::front(scores);
                let distances = rank::distances(scores, &front);
                let nearer = |place: &usize| distances[*place] < distances[chosen];
                (0..pool.len())
                    .filter(nearer)
                    .map(|place| &self.candidates[pool[place]])
                    .collect()
            });
            Limit {
                name: text.clone(),
                text: "an assert of the file".to_owned(),
                refused: missing,
                set_aside: false,
                binds: tempting
                    .into_iter()
                    .filter(alone)
                    .map(|candidate| candidate.contender.name.clone())
                    .collect(),
            }
        });
        checked.chain(asserts).collect()
    }
}

impl Candidate {
    fn row(&self, texts: &[String]) -> Row {
        Row {
            name: self.contender.name.clone(),
            seeds: self.seeds,
            success_rate: self.summary.success_rate,
            p_collapse: self.summary.p_collapse,
            p99_ms: self.summary.p99_ms,
            amplification: self.summary.amplification,
            recovery_s: self.summary.recovery_s,
            cost_usd: self.summary.cost_usd,
            ci: self.summary.ci.clone(),
            unmet: self.unmet.iter().map(|nth| texts[*nth].clone()).collect(),
            policy: self.contender.policy,
        }
    }
}
