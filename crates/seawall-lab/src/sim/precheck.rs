//! What closed forms say of a policy in a world, before anything runs.
//!
//! What can go wrong: a simulation shows one trigger, and the policy that survives it is believed to survive any; or it
//! runs for an hour to find what a line of arithmetic says. So before a run it is said whether an overload, once begun,
//! keeps itself alive (λ and all the extras that the policy may add, against what the servers bear), whether the outages
//! of the model begin one, how long what they leave takes to drain, what a herd's peak is, what layers multiply to, and
//! whether a breaker refuses more than it saves. What no closed form covers is said to be unknown; nothing is guessed.
//!
//! Not covered: policies that pass by chance near an edge; that is what P(collapse) over seeds is for. Reference:
//! Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021); M. Brooker, "Will circuit breakers solve
//! my problems?" (2022). Forms about the policy alone are [`seawall_core::load`]'s, which `seawall check` uses as well.

mod chance;
mod forms;
mod harm;
mod herd;
mod overload;
mod world;

use super::model::{Contender, Model};
use serde::Serialize;
use std::collections::BTreeMap;
use world::Reckoned;

/// What holds of one policy in a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Precheck {
    /// The policy's name.
    pub policy: String,
    /// What becomes of it when something overloads the servers.
    pub stability: Stability,
    /// All that was found, each with its numbers.
    pub findings: Vec<Finding>,
}

/// What becomes of a policy's load when something has overloaded the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stability {
    /// An overload ends by itself.
    Stable,
    /// An overload may keep itself alive; whether the model's outages begin one is not certain.
    Vulnerable,
    /// One of the model's outages begins an overload that keeps itself alive.
    Metastable,
    /// More comes in than the servers bear, whatever the policy.
    Overloaded,
    /// No closed form covers this model.
    Unknown,
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about; stable.
    pub code: Code,
    /// How much it matters.
    pub weight: Weight,
    /// A sentence with the numbers.
    pub text: String,
    /// The numbers, by names that end in their units.
    pub numbers: BTreeMap<&'static str, f64>,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Weight {
    /// It is so, and fine.
    Fact,
    /// It is likely to hurt.
    Warning,
    /// It cannot be said.
    Unknown,
}

/// What a finding is about. Never renamed, never used for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The servers bear what comes in with all extras: λ(1+β) < C.
    Headroom,
    /// They do not: an overload may keep itself alive.
    NoHeadroom,
    /// They do not bear what comes in without any extra.
    OverCapacity,
    /// A server's own limit is below what comes in.
    OverLimit,
    /// Answers take longer than anybody waits, with nothing else there.
    AnswersLate,
    /// What servers bear is not known in closed form.
    CapacityUnknown,
    /// How much comes in is not known in closed form.
    LoadUnknown,
    /// Answers take longer the more attempts there are: where the answer's length and the load meet.
    LatencyCoupled,
    /// An overload would keep itself alive, and the breaker ends it.
    HeldByBreaker,
    /// The queue is so short that whoever is in it is answered in time.
    HeldByQueue,
    /// Who came last is served first, and is answered in time.
    HeldByNewestFirst,
    /// There are too few callers to make anyone wait too long.
    HeldByFewCallers,
    /// An outage of the model leaves a queue that nobody in it waits for.
    Trigger,
    /// Whether an outage does is a matter of chance.
    TriggerUnknown,
    /// The breaker ends each overload, and the usual load begins the next without any outage.
    ChanceBegins,
    /// How long what an outage leaves takes to drain.
    Drain,
    /// What layers multiply to.
    Layers,
    /// What clients that all fail at once do to the servers.
    Herd,
    /// A pool's connections are all taken.
    PoolSaturates,
    /// A pool has connections to spare.
    PoolHolds,
    /// This breaker makes a partial failure worse.
    BreakerHarms,
    /// It does not.
    BreakerHarmless,
    /// This breaker sees the failure of a part, and refuses that part alone.
    BreakerPerPart,
    /// This breaker lets in more at once, of those that it kept waiting, than the servers can take.
    BreakerReleases,
}

/// Reckons. Cheap: no run, no chance.
///
/// ```
/// use seawall_core::policy::{Policy, Preset};
/// use seawall_core::time::Duration;
/// use seawall_lab::sim::luck::Length;
/// use seawall_lab::sim::model::{Capacity, Contender, Fleet, Gaps, Load, Model, Server, Spread, Tokens};
/// use seawall_lab::sim::precheck::{Stability, precheck};
/// let server = Server {
///     capacity: Capacity::Workers(30),
///     service: Length::Fixed(Duration::from_millis(100)),
///     ..Server::default()
/// };
/// let model = Model {
///     load: Load::Open { clients: 100, per_second: 200.0, gaps: Gaps::Poisson, bursts: vec![] },
///     tokens: Tokens::NONE,
///     hop: Length::ZERO,
///     layers: vec![],
///     servers: vec![server],
///     spread: Spread::Route,
///     horizon: Duration::from_secs(60),
///     warmup: Duration::ZERO,
/// };
/// let contender = Contender { name: "ours".into(), policy: Policy::preset(Preset::Default), fleet: Fleet::One };
/// assert_eq!(precheck(&model, &contender).stability, Stability::Stable);
/// ```
pub fn precheck(model: &Model, contender: &Contender) -> Precheck {
    let reckoned = Reckoned::of(model, contender);
    let mut findings = Vec::new();
    let stability = overload::of(&reckoned, &mut findings);
    herd::of(&reckoned, &mut findings);
    harm::of(&reckoned, &mut findings);
    Precheck {
        policy: contender.name.clone(),
        stability,
        findings,
    }
}

impl Precheck {
    /// The finding of this code.
    pub fn finding(&self, code: Code) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code)
    }
}

impl Finding {
    fn new<const N: usize>(code: Code, text: String, numbers: [(&'static str, f64); N]) -> Self {
        Self {
            code,
            weight: code.weight(),
            text,
            // Of what has no end there is no number.
            numbers: numbers
                .into_iter()
                .filter(|(_, number)| number.is_finite())
                .map(|(name, number)| (name, rounded(number)))
                .collect(),
        }
    }
}

impl Code {
    const fn weight(self) -> Weight {
        match self {
            Self::Headroom
            | Self::LatencyCoupled
            | Self::HeldByBreaker
            | Self::HeldByQueue
            | Self::HeldByNewestFirst
            | Self::HeldByFewCallers
            | Self::Drain
            | Self::Layers
            | Self::Herd
            | Self::PoolHolds
            | Self::BreakerHarmless
            | Self::BreakerPerPart => Weight::Fact,
            Self::NoHeadroom
            | Self::OverCapacity
            | Self::OverLimit
            | Self::AnswersLate
            | Self::Trigger
            | Self::ChanceBegins
            | Self::PoolSaturates
            | Self::BreakerHarms
            | Self::BreakerReleases => Weight::Warning,
            Self::CapacityUnknown | Self::LoadUnknown | Self::TriggerUnknown => Weight::Unknown,
        }
    }
}

/// To thousandths: what a report shows, and the same bytes on every machine.
fn rounded(number: f64) -> f64 {
    libm::round(number * 1e3) / 1e3
}

/// As people write it: three digits that count, and none after the point from a hundred on; of what is below a hundredth one.
fn shown(number: f64) -> String {
    debug_assert!(
        !number.is_nan(),
        "a form was asked about a world that it does not cover"
    );
    if number.is_infinite() {
        return "endless".to_owned();
    }
    let decimals = match number.abs() {
        magnitude if magnitude >= 100.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        // A rate that is rounded to nothing would be none at all.
        magnitude if magnitude > 0.0 && magnitude < 0.01 => return below_a_hundredth(number),
        _ => 2,
    };
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// With the first digit that is not 0, as in 0.002; what is smaller still in powers of ten.
fn below_a_hundredth(number: f64) -> String {
    let places = -libm::floor(libm::log10(number.abs()));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 3 and 324"
    )]
    let decimals = places as usize;
    match decimals {
        0..=6 => format!("{number:.decimals$}").trim_end_matches('0').to_owned(),
        _ => format!("{number:.0e}"),
    }
}

/// A share as people say it.
fn percent(share: f64) -> String {
    format!("{} %", shown(100.0 * share))
}

#[cfg(test)]
mod tests;
