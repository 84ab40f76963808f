//! A study: policies side by side in one world, over many seeds.
//!
//! What can go wrong: one seed is shown and was lucky; a mean over runs that either recover or never do describes
//! none of them; two policies are compared on two different days. So every contender meets the same arrivals and the
//! same luck, seed by seed, what may collapse is told as a share of seeds, and every figure comes with how far it can
//! be trusted.

use super::bounds::HowFar;
use super::model::{Contender, Model};
use super::summary::{Summary, beside, sees_recovery};
use super::tally::Tally;
use seawall_core::time::Instant;
use serde::Serialize;

/// What is compared in what, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Its name: a preset's, or a file's.
    pub name: String,
    /// The world.
    pub model: Model,
    /// The policies, in the order of the report.
    pub contenders: Vec<Contender>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds: this one and those after it.
    pub seeds: u32,
}

/// One run of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which contender.
    pub contender: usize,
    /// Which seed.
    pub seed: u64,
}

impl Study {
    /// Every run, contender by contender: whoever runs them, in whatever order, hands the tallies back in this one.
    pub fn jobs(&self) -> impl Iterator<Item = Job> + '_ {
        (0..self.contenders.len()).flat_map(move |contender| {
            (0..u64::from(self.seeds)).map(move |nth| Job {
                contender,
                seed: self.seed.wrapping_add(nth),
            })
        })
    }

    /// How many runs that are.
    pub fn runs(&self) -> u64 {
        self.contenders.len() as u64 * u64::from(self.seeds)
    }

    /// Does one run.
    pub fn run(&self, job: Job) -> Tally {
        self.run_watched(job, |_far| {})
    }

    /// The same; `watch` hears now and then how far it is.
    pub fn run_watched(&self, job: Job, watch: impl FnMut(HowFar)) -> Tally {
        super::run_watched(&self.model, &self.contenders[job.contender], job.seed, watch)
    }

    /// What came out, from the tallies of all jobs in their order.
    pub fn summaries(&self, tallies: &[Tally]) -> Vec<Summary> {
        let outage_end = self.recovers_from();
        let runs = tallies.chunks(self.seeds.max(1) as usize);
        let mut summaries: Vec<Summary> = self
            .contenders
            .iter()
            .zip(runs.clone())
            .map(|(contender, tallies)| Summary::of(&contender.name, &self.model, outage_end, tallies))
            .collect();
        let first = runs.clone().next().zip(self.contenders.first());
        if let Some((first, than)) = first {
            for (summary, ours) in summaries.iter_mut().zip(runs).skip(1) {
                summary.beside = beside(ours, &than.name, first);
            }
        }
        summaries
    }

    /// The end of the last given outage, from which runs recover; `None` where there is none, and where the horizon is too
    /// near to tell.
    pub fn recovers_from(&self) -> Option<Instant> {
        let horizon = Instant::START.after(self.model.horizon);
        self.outage_end().filter(|end| sees_recovery(*end, horizon))
    }

    /// When the last given outage ends; `None` where there is none.
    pub fn outage_end(&self) -> Option<Instant> {
        let servers = self.model.servers.iter();
        servers
            .flat_map(|server| &server.outages)
            .map(|outage| outage.at.after(outage.lasts))
            .max()
    }
}

/// A published figure beside our own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// What is claimed, with its source.
    pub name: String,
    /// The published figure.
    pub published: f64,
    /// Ours.
    pub measured: f64,
    /// Whether ours is within the published one's tolerance.
    pub holds: bool,
}
