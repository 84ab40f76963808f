//! How far a simulation and its twin agree.
//!
//! What can go wrong: two columns are called equal because they look alike, or different because a machine was busy. So a
//! figure agrees where the means over the runs are within two standard errors of their difference; and where they are not,
//! it is said whether the difference is one that the twin's clock could not have told apart.

use super::Speed;
use crate::sim::study::Study;
use crate::sim::summary::{float, millis};
use crate::sim::tally::Tally;
use serde::Serialize;

/// How many standard errors the two may be apart.
const ERRORS: f64 = 2.0;
/// What timers, sockets and a busy machine may add to an attempt, in real milliseconds.
const MACHINE_MS_PER_ATTEMPT: f64 = 2.0;

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// Its standard error; 0 of one run.
    pub error: f64,
}

/// One figure of one policy, simulated and lived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The policy.
    pub policy: String,
    /// Which figure, by its name in reports.
    pub what: &'static str,
    /// As simulated.
    pub simulated: Figure,
    /// As lived.
    pub live: Figure,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Whether two figures agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Within two standard errors.
    Agrees,
    /// Not so, but within what a clock at this speed cannot tell apart on a real machine.
    WithinTheClock,
    /// They differ.
    Differs,
}

impl Verdict {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::WithinTheClock => "within the clock",
            Self::Differs => "differs",
        }
    }
}

/// Compares the tallies of a study's jobs, simulated and lived, both in the order of the jobs.
pub fn compare(study: &Study, simulated: &[Tally], lived: &[Tally], speed: Speed) -> Vec<Agreement> {
    let seeds = study.seeds as usize;
    let pairs = simulated.chunks(seeds).zip(lived.chunks(seeds));
    let contenders = study.contenders.iter().zip(pairs);
    contenders
        .flat_map(|(contender, (simulated, lived))| {
            let attempts = Figure::of(lived, amplification).mean;
            let grain = match speed {
                Speed::Turned => 0.0,
                Speed::Times(scale) => {
                    f64::from(scale.per_mille()) / 1_000.0 * MACHINE_MS_PER_ATTEMPT * attempts
                }
            };
            let figure = |what, of: fn(&Tally) -> Option<f64>, grain| {
                let (simulated, live) = (Figure::of(simulated, of), Figure::of(lived, of));
                Agreement {
                    policy: contender.name.clone(),
                    what,
                    simulated,
                    live,
                    verdict: verdict(simulated, live, grain),
                }
            };
            [
                figure("success_rate", success, 0.0),
                figure("amplification", amplification, 0.0),
                figure("mean_ms", mean, grain),
            ]
        })
        .collect()
}

fn verdict(simulated: Figure, live: Figure, grain: f64) -> Verdict {
    let off = (simulated.mean - live.mean).abs();
    let error = libm::hypot(simulated.error, live.error);
    // What is equal but for the order of a sum is equal.
    let rounding = 1e-9 * simulated.mean.abs();
    if off <= ERRORS * error + rounding {
        Verdict::Agrees
    } else if off <= ERRORS * error + grain {
        Verdict::WithinTheClock
    } else {
        Verdict::Differs
    }
}

impl Figure {
    fn of(tallies: &[Tally], of: fn(&Tally) -> Option<f64>) -> Self {
        let values: Vec<f64> = tallies.iter().filter_map(of).collect();
        let runs = float(values.len() as u64);
        let mean = values.iter().sum::<f64>() / runs.max(1.0);
        let square = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum::<f64>();
        Self {
            mean,
            error: libm::sqrt(square / (runs - 1.0).max(1.0) / runs.max(1.0)),
        }
    }
}

fn success(tally: &Tally) -> Option<f64> {
    share(tally.succeeded, tally.calls)
}

fn amplification(tally: &Tally) -> Option<f64> {
    share(tally.arrivals, tally.calls)
}

fn mean(tally: &Tally) -> Option<f64> {
    tally.latency.mean().map(millis)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}
