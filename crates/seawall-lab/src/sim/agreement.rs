//! How far a simulation and its live twin agree.
//!
//! What can go wrong: two columns are called equal because they look alike, or different because a machine was busy. So a
//! figure agrees where the means over the runs are within two standard errors of their difference; and where they are not,
//! it is said whether the difference is one that the twin's clock could not have told apart.
//!
//! Both have the same seeds, and so most of the day's luck is in both: two that agree by their errors may still differ by
//! something small in every run. So figures that are equal say so, and what separates the two is told run by run. Of one
//! run nothing says how much is luck: it has no standard error, and what is not equal in it is neither near nor far.

use super::stats::Moments;
use super::study::Study;
use super::summary::{float, millis};
use super::tally::Tally;
use crate::passage::{TimeScale, TimeScaleError};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// How many standard errors the two may be apart.
const ERRORS: f64 = 2.0;
/// What timers, sockets and a busy machine may add to an attempt, in real milliseconds.
const MACHINE_MS_PER_ATTEMPT: f64 = 2.0;

/// How a twin's time passes.
///
/// ```
/// use seawall_lab::sim::agreement::Speed;
/// assert_eq!("turned".parse(), Ok(Speed::Turned));
/// assert_eq!("2.5".parse::<Speed>()?.to_string(), "2.5");
/// # Ok::<(), seawall_lab::passage::TimeScaleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// So many times as fast as real time. Timers are exact to about a tenth of a millisecond of real time, which is this
    /// many times as much here.
    Times(TimeScale),
    /// On, whenever nothing can move by itself: as fast as the machine is, and the same on every machine.
    Turned,
}

impl Speed {
    /// What it is called where it is typed and read: a number is a scale.
    const TURNED: &str = "turned";

    /// How far two times of an attempt may be apart that this clock cannot tell apart, in milliseconds.
    fn grain_ms(self) -> f64 {
        match self {
            Self::Turned => 0.0,
            Self::Times(scale) => f64::from(scale.per_mille()) / 1_000.0 * MACHINE_MS_PER_ATTEMPT,
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(scale) => scale.fmt(f),
            Self::Turned => f.write_str(Self::TURNED),
        }
    }
}

impl FromStr for Speed {
    type Err = TimeScaleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            Self::TURNED => Ok(Self::Turned),
            scale => scale.parse().map(Self::Times),
        }
    }
}

impl Serialize for Speed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// Its standard error; `None` of one run, which tells nothing of its luck.
    pub error: Option<f64>,
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
    /// Lived less simulated, run by run: the mean, and how far that can be trusted.
    pub difference: Figure,
    /// Whether they agree.
    #[serde(rename = "verdict")]
    pub accord: Accord,
}

/// Whether two figures agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Accord {
    /// In every run, but for the order of a sum.
    Equal,
    /// Within two standard errors.
    Agrees,
    /// Not so, but within what a clock at this speed cannot tell apart on a real machine.
    WithinTheClock,
    /// They are not equal, and one run has no standard error to tell how far that is.
    OneRun,
    /// They differ.
    Differs,
}

impl Accord {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Agrees => "agrees",
            Self::WithinTheClock => "within the clock",
            Self::OneRun => "one run",
            Self::Differs => "differs",
        }
    }
}

/// Compares the tallies of a study's jobs, simulated and lived at this speed, both in the order of the jobs.
pub fn compare(study: &Study, simulated: &[Tally], lived: &[Tally], speed: Speed) -> Vec<Agreement> {
    let seeds = study.seeds.max(1) as usize;
    let pairs = simulated.chunks(seeds).zip(lived.chunks(seeds));
    let contenders = study.contenders.iter().zip(pairs);
    contenders
        .flat_map(|(contender, (simulated, lived))| {
            let grain = speed.grain_ms() * Figure::of(lived, amplification).mean;
            let figure = |what, of: fn(&Tally) -> Option<f64>, grain| {
                let pairs = simulated.iter().zip(lived);
                let differences = pairs.filter_map(|(simulated, live)| Some(of(live)? - of(simulated)?));
                let difference = Figure::over(&differences.collect::<Vec<f64>>());
                let (simulated, live) = (Figure::of(simulated, of), Figure::of(lived, of));
                Agreement {
                    policy: contender.name.clone(),
                    what,
                    simulated,
                    live,
                    difference,
                    accord: accord(simulated, live, difference, grain),
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

/// How many of these figures agree, in a sentence without its end; each that differs by its name.
pub fn sentence<'a>(agreement: impl Iterator<Item = &'a Agreement>) -> String {
    let all: Vec<&Agreement> = agreement.collect();
    let count = |accord| all.iter().filter(|one| one.accord == accord).count();
    let (equal, clock) = (count(Accord::Equal), count(Accord::WithinTheClock));
    let one_run = count(Accord::OneRun);
    let agree = equal + count(Accord::Agrees);
    let mut text = format!(
        "{agree} of {} figures agree within two standard errors",
        all.len()
    );
    match equal {
        0 => {}
        equal if equal == agree => text.push_str(", all of them equal"),
        equal => text.push_str(&format!(", {equal} of them equal")),
    }
    if clock > 0 {
        text.push_str(&format!(", {clock} within what the clock can tell at this speed"));
    }
    if one_run > 0 {
        text.push_str(&format!(", {one_run} of one run, which has no standard error"));
    }
    let differ = all.iter().filter(|one| one.accord == Accord::Differs);
    let differ: Vec<String> = differ
        .map(|one| format!("{} of {}", one.what, one.policy))
        .collect();
    if !differ.is_empty() {
        text.push_str(&format!("; not so: {}", differ.join(", ")));
    }
    text
}

fn accord(simulated: Figure, live: Figure, difference: Figure, grain: f64) -> Accord {
    let off = (simulated.mean - live.mean).abs();
    let errors = simulated.error.zip(live.error);
    let near = errors.map(|(simulated, live)| ERRORS * libm::hypot(simulated, live));
    // What is equal but for the order of a sum is equal.
    let rounding = 1e-9 * simulated.mean.abs();
    if difference.mean.abs() <= rounding && difference.error.is_none_or(|error| error <= rounding) {
        return Accord::Equal;
    }
    match near {
        Some(near) if off <= near => Accord::Agrees,
        near if off <= near.unwrap_or(0.0) + grain => Accord::WithinTheClock,
        Some(_) => Accord::Differs,
        None => Accord::OneRun,
    }
}

impl Figure {
    fn of(tallies: &[Tally], of: fn(&Tally) -> Option<f64>) -> Self {
        Self::over(&tallies.iter().filter_map(of).collect::<Vec<f64>>())
    }

    fn over(values: &[f64]) -> Self {
        let moments = Moments::of(values);
        Self {
            mean: moments.mean,
            error: (values.len() > 1).then(|| moments.error()),
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

#[cfg(test)]
mod tests;
