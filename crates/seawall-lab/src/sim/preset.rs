//! Published experiments: what others measured, run again by the engine that runs live, with both figures side by side.
//!
//! What can go wrong: a simulator is believed because its pictures look right. So each preset names what was published,
//! what came out here, and how far apart the two may be; a claim that does not hold says so.
//!
//! A preset is data and two functions: [`Preset::parts`] makes its studies, whoever runs their jobs hands the tallies
//! back in the order of the jobs, and [`Preset::findings`] reads them.

mod aws_contention;
mod collapse;
mod google_budget;
mod half_open_herd;
mod herd;
mod kit;
mod layers;
mod metastable;
mod real_outage;
mod retry_storm;
mod sharded_breaker;
mod three_strategies;

use super::study::{Claim, Study};
use super::tally::Tally;

/// A published experiment.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it shows, in a sentence.
    pub about: &'static str,
    /// Who published what, or what else its claims are of.
    pub source: &'static str,
    /// How many seeds its figures need to be within their tolerances.
    pub seeds: u32,
    /// Its studies. Each is run whole, all its contenders over all its seeds.
    pub parts: fn(&Scale) -> Vec<Study>,
    /// What came out, from the studies and, for each, the tallies of its jobs in their order.
    pub findings: fn(&[Study], &[Vec<Tally>]) -> Findings,
}

/// How large a preset is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The first seed.
    pub seed: u64,
    /// How many seeds, at least one: fewer than [`Preset::seeds`] are quicker and prove less.
    pub seeds: u32,
}

/// What a preset found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What was published, and what came out.
    pub claims: Vec<Claim>,
    /// The experiment's own grid: rows, each an object.
    pub table: Option<serde_json::Value>,
    /// What a reader should know beside the figures, each a sentence or two.
    pub notes: Vec<String>,
}

/// Every preset, in the order that a reader meets them.
pub const ALL: &[Preset] = &[
    aws_contention::PRESET,
    google_budget::PRESET,
    retry_storm::PRESET,
    herd::PRESET,
    layers::PRESET,
    metastable::PRESET,
    collapse::PRESET,
    half_open_herd::PRESET,
    sharded_breaker::PRESET,
    three_strategies::PRESET,
    real_outage::PRESET,
];

/// The preset of this name.
pub fn named(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests;
