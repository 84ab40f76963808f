//! What a search has found, for people and for other programs.

use super::candidate::{CameTo, Candidate, Constraint, Origin};
use super::proof::Proof;
use super::rank::{self, Score};
use super::{Demands, Search, notes, policy_table};
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
    /// How many seeds the best ran with.
    pub seeds: u32,
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
    /// Of the policies that closed forms hold nothing against, those that none beats in all figures: the wanted one first,
    /// then from the most calls answered to the fewest.
    pub front: Vec<Row>,
    /// The scenario's own policies.
    pub given: Vec<Row>,
    /// The one that is wanted; `None`: nothing ran, or no policy that ran meets every demand.
    pub winner: Option<Row>,
    /// What closed forms say of the winner.
    pub stability: Option<Stability>,
    /// The same, at length.
    pub precheck: Vec<Finding>,
    /// What seeds say that nothing was chosen by; `None`: the search did not come to that.
    pub proof: Option<Proof>,
    /// What to know beside the figures.
    pub notes: Vec<String>,
    /// What the policies came to that ran and are none of these.
    #[serde(skip)]
    pub beaten: Vec<Figures>,
    /// What is told of the world's figures: whether anything recovers in it, and whether anything costs.
    #[serde(skip)]
    pub tells: Tells,
}

/// Which figures a world has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tells {
    /// Whether an outage ends, so that there is a recovery.
    pub recovery: bool,
    /// Whether attempts cost money.
    pub cost: bool,
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
    /// What it came to.
    #[serde(flatten)]
    pub figures: Figures,
    /// The constraints of closed forms that it breaks: what the file has is run all the same.
    pub breaks: Vec<&'static str>,
    /// What it came to with seeds that nothing was chosen by; `None`: it did not run with them.
    pub held_out: Option<Figures>,
    /// The policy, as a `[policy]` table; null of one that does not wait, which no file can say.
    #[serde(rename = "toml", serialize_with = "as_table")]
    pub policy: Policy,
}

/// What a policy came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// With how many seeds it ran.
    pub seeds: u32,
    /// See [`Summary`](crate::sim::summary::Summary).
    pub success_rate: f64,
    /// See there.
    pub p_collapse: Option<f64>,
    /// See there.
    pub p99_ms: Option<f64>,
    /// Within which 99 of 100 calls were answered; `None`: fewer were.
    pub answered_99_ms: Option<f64>,
    /// See [`Summary`](crate::sim::summary::Summary).
    pub amplification: f64,
    /// See there.
    pub recovery_s: Option<f64>,
    /// See there.
    pub cost_usd: f64,
    /// Where the true figures are, 95 times of 100.
    pub ci: Intervals,
    /// Asserts that do not hold, as they were written.
    pub unmet: Vec<String>,
}

fn as_table<S: Serializer>(policy: &Policy, serializer: S) -> Result<S::Ok, S::Error> {
    match policy.call.backoff().base().is_zero() {
        true => serializer.serialize_none(),
        false => serializer.serialize_str(&policy_table(policy)),
    }
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
        let pool: Vec<usize> = self.pool();
        let scores = self.scores(&pool);
        let mut front: Vec<usize> = rank::front(&scores)
            .into_iter()
            .map(|place| pool[place])
            .collect();
        let chosen = self.chosen(&pool);
        front.sort_by(|a, b| {
            let success = |number: &usize| self.candidates[*number].came_to.summary.success_rate;
            let is_other = |number: &usize| Some(*number) != chosen;
            let by_success = success(b).total_cmp(&success(a));
            is_other(a).cmp(&is_other(b)).then(by_success).then(a.cmp(b))
        });
        let row = |candidate: &Candidate| self.row(candidate, &texts);
        let winner = chosen.map(|number| &self.candidates[number]);
        let ran = || self.candidates.iter().filter(|candidate| candidate.seeds > 0);
        let numbered = self.candidates.iter().enumerate();
        let study = &self.task.study;
        Found {
            name: study.name.clone(),
            seed: study.seed,
            seeds: study.seeds,
            complete: self.ask().is_none(),
            runs: self.runs,
            candidates: ran().count(),
            rounds: self.rounds.clone(),
            constraints: self.limits(&texts, chosen),
            front: front
                .iter()
                .map(|number| row(&self.candidates[*number]))
                .collect(),
            given: ran()
                .filter(|candidate| candidate.origin == Origin::Given)
                .map(row)
                .collect(),
            stability: winner.map(|winner| winner.precheck.stability),
            precheck: winner.map_or_else(Vec::new, |winner| winner.precheck.findings.clone()),
            winner: winner.map(row),
            proof: chosen.and_then(|number| self.proof_of(number)),
            notes: notes::of(&self.task, self.contradictions),
            beaten: numbered
                .filter(|(number, candidate)| {
                    candidate.seeds > 0 && candidate.origin == Origin::Drawn && !front.contains(number)
                })
                .map(|(_, candidate)| figures(&candidate.came_to, candidate.seeds, &texts))
                .collect(),
            tells: Tells {
                recovery: study.recovers_from().is_some(),
                cost: ran().any(|candidate| candidate.came_to.summary.cost_usd > 0.0),
            },
        }
    }

    /// The one of these that is wanted: it meets every demand.
    pub(super) fn chosen(&self, pool: &[usize]) -> Option<usize> {
        let scores = self.scores(pool);
        let right: Vec<usize> = rank::front(&scores)
            .into_iter()
            .filter(|place| self.candidates[pool[*place]].came_to.unmet.is_empty())
            .collect();
        rank::chosen(&scores, &right, self.task.prefers).map(|place| pool[place])
    }

    pub(super) fn scores(&self, pool: &[usize]) -> Vec<Score> {
        let scores = pool.iter().map(|number| self.candidates[*number].score());
        scores.collect()
    }

    fn limits(&self, texts: &[String], chosen: Option<usize>) -> Vec<Limit> {
        let point = chosen.and_then(|number| self.candidates[number].point);
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
            let ran = self.candidates.iter().filter(|candidate| candidate.seeds > 0);
            Limit {
                name: text.clone(),
                text: "an assert of the file".to_owned(),
                refused: ran
                    .filter(|candidate| candidate.came_to.unmet.contains(&nth))
                    .count() as u64,
                set_aside: false,
                binds: chosen.map_or_else(Vec::new, |chosen| self.kept_out(nth, chosen)),
            }
        });
        checked.chain(asserts).collect()
    }

    /// The policies that miss this demand alone, and that would be wanted more than the one that was chosen without it.
    fn kept_out(&self, nth: usize, chosen: usize) -> Vec<String> {
        let mut rivals = vec![chosen];
        rivals.extend((0..self.candidates.len()).filter(|number| {
            let candidate = &self.candidates[*number];
            candidate.seeds > 0 && candidate.came_to.unmet == [nth] && self.may_win(*number)
        }));
        let scores: Vec<Score> = rivals
            .iter()
            .map(|number| self.candidates[*number].score().forgiven())
            .collect();
        let order = rank::order(&scores, &rank::front(&scores), self.task.prefers);
        let before = order.into_iter().take_while(|place| *place != 0);
        before
            .map(|place| self.candidates[rivals[place]].contender.name.clone())
            .collect()
    }

    fn row(&self, candidate: &Candidate, texts: &[String]) -> Row {
        let held_out = candidate.proven.as_ref();
        Row {
            name: candidate.contender.name.clone(),
            figures: figures(&candidate.came_to, candidate.seeds, texts),
            breaks: self
                .broken(&candidate.precheck)
                .into_iter()
                .map(Constraint::name)
                .collect(),
            held_out: held_out.map(|(came_to, tallies)| {
                let seeds = u32::try_from(tallies.len()).expect("seeds are counted in 32 bits");
                figures(came_to, seeds, texts)
            }),
            policy: candidate.contender.policy,
        }
    }
}

fn figures(came_to: &CameTo, seeds: u32, texts: &[String]) -> Figures {
    let summary = &came_to.summary;
    Figures {
        seeds,
        success_rate: summary.success_rate,
        p_collapse: summary.p_collapse,
        p99_ms: summary.p99_ms,
        answered_99_ms: came_to.answered.within_ms,
        amplification: summary.amplification,
        recovery_s: summary.recovery_s,
        cost_usd: summary.cost_usd,
        ci: summary.ci.clone(),
        unmet: came_to.unmet.iter().map(|nth| texts[*nth].clone()).collect(),
    }
}
