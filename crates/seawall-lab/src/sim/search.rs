//! The search for a better policy: what `seawall tune` does.
//!
//! What can go wrong: a policy is tuned to one run, and the next day's luck is another; it is best in one figure and ruins
//! another; it survives the outages of the scenario and no other; the search ends with what its author had. So every
//! candidate meets the same arrivals and the same luck (common random numbers), the better ones more often than the
//! others (successive halving); what is found is a front of six figures, not one, and is held to seeds that nothing was
//! chosen by; and what closed forms show to be unsafe ([`precheck`](super::precheck)) is never run: an overload that
//! keeps itself alive, a breaker that makes it worse. The scenario's own policy is one of the points that it looks around.
//!
//! It asks and is told, as the engine is: [`Search::ask`] says what to run next, [`Search::tell`] takes what came out,
//! and [`Search::found`] says at any time what is best so far. So threads, clocks and Ctrl-C are the driver's, and from
//! one seed the same is found on any number of them.
//!
//! Not covered: policies that layers have of their own, which stay as they are, and settings beyond [`Knob`]. Reference: Jamieson and
//! Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization" (2016); Deb et al., NSGA-II
//! (2002), whose crowding distance keeps a front wide.

mod candidate;
mod found;
mod notes;
mod plan;
mod proof;
mod rank;
mod space;
mod text;
mod written;

pub use candidate::Constraint;
pub use found::{Figures, Found, Limit, Round, Row, Tells};
pub use proof::{Proof, Standing};
pub use rank::{Objective, Prefers};
pub use space::Knob;
pub use written::policy_table;

use super::luck::{Luck, nanos, whole};
use super::model::{Contender, Model};
use super::precheck::Precheck;
use super::study::Study;
use super::summary::Summary;
use super::tally::Tally;
use candidate::{Candidate, Origin, unsafe_of};
use plan::Rungs;
use rank::Score;
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::Duration;
use space::{Point, Space};
use std::collections::{BTreeMap, BTreeSet};

/// Candidates that are asked for at once: what an interrupt loses.
const BATCH: usize = 12;
/// Points that tell whether anything can meet a constraint.
const SAMPLE: usize = 240;
/// How often as many points are drawn as are needed, where many are refused unrun.
const DRAWS_MAX: u64 = 12;

/// What must hold of a policy: the asserts of a file.
pub trait Demands {
    /// Each as it was written.
    fn texts(&self) -> Vec<String>;
    /// Whether the `nth` holds.
    fn holds(&self, nth: usize, summary: &Summary) -> bool;
}

/// What is searched, and how long.
#[derive(Clone, Debug)]
pub struct Task {
    /// The world, the policies that are there (the first is what the search is around), and how many seeds the best run
    /// with.
    pub study: Study,
    /// How many runs it may take, about.
    pub runs: u64,
    /// What is wanted of the front.
    pub prefers: Prefers,
    /// What to know of how the task came to be.
    pub notes: Vec<String>,
}

/// A search under way.
#[derive(Debug)]
pub struct Search<D> {
    task: Task,
    demands: D,
    space: Space,
    candidates: Vec<Candidate>,
    known: BTreeSet<Point>,
    /// Candidates that each constraint kept from being run, and those that are set aside since nothing meets them.
    refused: BTreeMap<Constraint, u64>,
    /// Points whose settings contradict each other.
    contradictions: u64,
    set_aside: BTreeSet<Constraint>,
    stage: Stage,
    rungs: Rungs,
    rung: usize,
    /// Who runs in this rung, and how many of them have.
    members: Vec<usize>,
    told: usize,
    rounds: Vec<Round>,
    runs: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Points from all over the grid.
    Wide,
    /// Neighbours of the best of them.
    Near,
    /// The best of all, with seeds that nothing was chosen by.
    Proof,
    Over,
}

impl<D: Demands> Search<D> {
    /// A search that has not run anything. A study without contenders is searched around the default policy.
    pub fn new(task: Task, demands: D) -> Self {
        let luck = Luck::new(task.study.seed);
        let base = task.study.contenders.first();
        let base_policy = base.map_or(Policy::preset(Preset::Default), |contender| contender.policy);
        let space = Space::new(base_policy, answer(&task.study.model), luck);
        let given: Vec<Candidate> = task
            .study
            .contenders
            .iter()
            .enumerate()
            .map(|(nth, contender)| {
                let point = if nth == 0 { space.own() } else { None };
                let mut given = Candidate::new(&task.study.model, contender.clone(), Origin::Given, point);
                // Whatever else the file has is nobody's neighbour, and so no simpler than any other.
                given.changes = if nth == 0 { 0 } else { Knob::ALL.len() };
                given
            })
            .collect();
        let runs = task.runs - proof::reserved(&task);
        let rungs = Rungs::within(runs / 2, task.study.seeds, given.len());
        let known = space.own().into_iter().collect();
        let mut search = Self {
            members: (0..given.len()).collect(),
            candidates: given,
            space,
            demands,
            known,
            refused: BTreeMap::new(),
            contradictions: 0,
            set_aside: BTreeSet::new(),
            stage: Stage::Wide,
            rungs,
            rung: 0,
            told: 0,
            rounds: Vec::new(),
            runs: 0,
            task,
        };
        search.set_aside_what_nothing_meets();
        search.draw();
        search
    }

    /// What to run next; `None`: it is over. Asked again before it is told, it says the same.
    pub fn ask(&self) -> Option<Study> {
        let batch = self.batch();
        let first = *batch.first()?;
        let study = &self.task.study;
        let from = match self.stage {
            Stage::Proof => study.seeds,
            Stage::Wide | Stage::Near | Stage::Over => self.candidates[first].seeds,
        };
        Some(Study {
            name: study.name.clone(),
            model: study.model.clone(),
            contenders: batch
                .iter()
                .map(|number| self.candidates[*number].contender.clone())
                .collect(),
            seed: study.seed.wrapping_add(u64::from(from)),
            seeds: self.seeds_lacking(first),
        })
    }

    /// With how many seeds this one is run next.
    fn seeds_lacking(&self, number: usize) -> u32 {
        match self.stage {
            Stage::Proof => self.task.study.seeds,
            Stage::Wide | Stage::Near | Stage::Over => {
                self.rungs.0[self.rung].seeds - self.candidates[number].seeds
            }
        }
    }

    /// What came of it, in the order of its jobs.
    pub fn tell(&mut self, tallies: Vec<Tally>) {
        let batch = self.batch();
        let Some(first) = batch.first() else {
            return;
        };
        let more = self.seeds_lacking(*first);
        self.runs += tallies.len() as u64;
        let mut tallies = tallies.into_iter();
        for number in &batch {
            let candidate = &mut self.candidates[*number];
            let told = tallies.by_ref().take(more as usize);
            match self.stage {
                Stage::Proof => candidate.prove(&self.task.study, &self.demands, told.collect()),
                Stage::Wide | Stage::Near | Stage::Over => {
                    candidate.tallies.extend(told);
                    candidate.seeds += more;
                    candidate.sum_up(&self.task.study, &self.demands);
                }
            }
        }
        self.told += batch.len();
        if self.told >= self.members.len() {
            match self.stage {
                Stage::Proof => self.stage = Stage::Over,
                Stage::Wide | Stage::Near | Stage::Over => self.end_rung(),
            }
        }
    }

    /// Runs that were made so far.
    pub const fn runs(&self) -> u64 {
        self.runs
    }

    /// How many it makes at the most.
    pub const fn runs_max(&self) -> u64 {
        self.task.runs
    }

    /// Those that are run next: of one number of seeds, so that one study is all of them.
    fn batch(&self) -> Vec<usize> {
        if self.stage == Stage::Over {
            return Vec::new();
        }
        let left = &self.members[self.told..];
        let seeds = |number: &usize| self.seeds_lacking(*number);
        let Some(first) = left.first().map(seeds) else {
            return Vec::new();
        };
        let alike = left
            .iter()
            .take(BATCH)
            .take_while(|number| seeds(number) == first);
        alike.copied().collect()
    }

    fn end_rung(&mut self) {
        let rung = self.rungs.0[self.rung];
        let next = self.rungs.0.get(self.rung + 1).copied();
        let (given, drawn): (Vec<usize>, Vec<usize>) = self
            .members
            .iter()
            .partition(|number| self.candidates[**number].origin == Origin::Given);
        let count = next.map_or(drawn.len(), |next| next.candidates);
        let scores: Vec<Score> = drawn
            .iter()
            .map(|number| self.candidates[*number].score())
            .collect();
        let kept: Vec<usize> = rank::best(&scores, count)
            .into_iter()
            .map(|place| drawn[place])
            .collect();
        self.rounds.push(Round {
            candidates: drawn.len(),
            seeds: rung.seeds,
            kept: if next.is_some() { kept.len() } else { 0 },
        });
        for number in &drawn {
            if next.is_none() || !kept.contains(number) {
                self.candidates[*number].tallies = Vec::new();
            }
        }
        if next.is_none() {
            return self.end_stage();
        }
        self.rung += 1;
        self.members = given;
        self.members.extend(kept);
        self.skip_to_who_lacks_seeds();
    }

    fn end_stage(&mut self) {
        match self.stage {
            Stage::Wide => {
                self.stage = Stage::Near;
                // What is left of the runs; the given ones have all of theirs.
                let left = self.task.runs.saturating_sub(self.runs);
                let left = left.saturating_sub(proof::reserved(&self.task));
                self.rungs = Rungs::within(left, self.task.study.seeds, 0);
                self.rung = 0;
                self.draw_near();
                if self.members.is_empty() {
                    self.begin_proof();
                }
            }
            Stage::Near => self.begin_proof(),
            Stage::Proof | Stage::Over => self.stage = Stage::Over,
        }
        self.told = 0;
    }

    /// Those that have run with as many seeds already are not run again.
    fn skip_to_who_lacks_seeds(&mut self) {
        let seeds = self.rungs.0[self.rung].seeds;
        let (done, lacking): (Vec<usize>, Vec<usize>) = self
            .members
            .iter()
            .partition(|number| self.candidates[**number].seeds >= seeds);
        self.told = done.len();
        self.members = done;
        self.members.extend(lacking);
    }

    /// A constraint that no point of a sample meets decides nothing: the world is as it is.
    fn set_aside_what_nothing_meets(&mut self) {
        let mut met = BTreeSet::new();
        let mut any = false;
        for point in self.space.spread(SAMPLE, 0) {
            let Some(candidate) = self.candidate(point) else {
                continue;
            };
            any = true;
            let broken = unsafe_of(&candidate.precheck);
            met.extend(
                Constraint::ALL
                    .into_iter()
                    .filter(|constraint| !broken.contains(constraint)),
            );
        }
        if any {
            self.set_aside = Constraint::ALL
                .into_iter()
                .filter(|one| !met.contains(one))
                .collect();
        }
    }

    /// Candidates from all over the grid.
    fn draw(&mut self) {
        let wanted = self.rungs.0[0].candidates + self.members.len();
        for nth in 1..=DRAWS_MAX {
            for point in self.space.spread(wanted, nth) {
                if self.members.len() >= wanted {
                    return;
                }
                self.admit(point);
            }
        }
    }

    /// The neighbours of the front, the best one's first.
    fn draw_near(&mut self) {
        let wanted = self.rungs.0[0].candidates;
        let pool = self.pool();
        let scores = self.scores(&pool);
        let near = rank::order(&scores, &rank::front(&scores), self.task.prefers);
        let mut queue: Vec<Point> = near
            .into_iter()
            .filter_map(|place| self.candidates[pool[place]].point)
            .collect();
        self.members = Vec::new();
        let mut next = 0;
        // Where the neighbours are few, theirs are next.
        while self.members.len() < wanted && next < queue.len() {
            let steps = self.space.neighbours(queue[next]).into_iter();
            let nearer = self.space.nearer_to_own(queue[next]);
            for point in nearer.into_iter().chain(steps.map(|(_, point)| point)) {
                if self.members.len() < wanted && self.admit(point) == Admitted::Runs {
                    queue.push(point);
                }
            }
            next += 1;
        }
    }

    /// Takes a point among those that run, unless it is known or closed forms refuse it.
    fn admit(&mut self, point: Point) -> Admitted {
        if !self.known.insert(point) {
            return Admitted::Not;
        }
        let Some(candidate) = self.candidate(point) else {
            self.contradictions += 1;
            return Admitted::Not;
        };
        let broken = self.broken(&candidate.precheck);
        if !broken.is_empty() {
            for constraint in broken {
                *self.refused.entry(constraint).or_insert(0) += 1;
            }
            return Admitted::Not;
        }
        self.members.push(self.candidates.len());
        self.candidates.push(candidate);
        Admitted::Runs
    }

    fn candidate(&self, point: Point) -> Option<Candidate> {
        let policy = self.space.policy(point)?;
        let study = &self.task.study;
        let contender = Contender {
            name: format!("#{}", self.candidates.len()),
            policy,
            fleet: study
                .contenders
                .first()
                .map_or(super::model::Fleet::One, |given| given.fleet),
        };
        let mut candidate = Candidate::new(&study.model, contender, Origin::Drawn, Some(point));
        candidate.changes = self.space.changes(point);
        Some(candidate)
    }

    /// The constraints that this breaks, of those that are not set aside.
    fn broken(&self, precheck: &Precheck) -> Vec<Constraint> {
        let mut broken = unsafe_of(precheck);
        broken.retain(|constraint| !self.set_aside.contains(constraint));
        broken
    }

    /// Those that are compared: all that may win and have run with as many seeds as any drawn one has.
    fn pool(&self) -> Vec<usize> {
        let most = |among: Option<Origin>| {
            let mut seeds = 0;
            for candidate in &self.candidates {
                if among.is_none_or(|origin| candidate.origin == origin) {
                    seeds = candidate.seeds.max(seeds);
                }
            }
            seeds
        };
        let most = match most(Some(Origin::Drawn)) {
            0 => most(None),
            drawn => drawn,
        };
        (0..self.candidates.len())
            .filter(|number| self.candidates[*number].seeds >= most.max(1) && self.may_win(*number))
            .collect()
    }

    /// Whether closed forms hold nothing against a candidate, and a file can say it.
    fn may_win(&self, number: usize) -> bool {
        let candidate = &self.candidates[number];
        let written = !candidate.contender.policy.call.backoff().base().is_zero();
        written && self.broken(&candidate.precheck).is_empty()
    }
}

/// Whether a point became a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admitted {
    Runs,
    Not,
}

/// How long a server takes and messages are on their way, where nobody waits for anybody.
fn answer(model: &Model) -> Duration {
    let services = model
        .servers
        .iter()
        .map(|server| nanos(model.service_mean(server)));
    let longest = services.fold(0.0, f64::max);
    whole(longest + 2.0 * nanos(model.hop.mean()))
}

#[cfg(test)]
mod tests;
