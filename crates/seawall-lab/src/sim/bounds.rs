//! How large one run may get.
//!
//! What can go wrong: a file of ten lines asks for a billion calls a second into a queue without end, and the machine kills
//! the simulator for its memory, or nobody ever hears of it again. So a run measures itself now and then, and one that
//! has become too large ends there and says so: it is no result, and nobody may take it for one. The bounds are numbers
//! of the program and not of the machine, so that what runs on one runs on every other.
//!
//! A bound that is met after half an hour is told too late. So a run says now and then how far it is ([`HowFar`]), and one
//! whose time hardly passes is ended by its `Pace`, long before it has taken all its steps.
//!
//! What this does not cover: many runs side by side, each within its bounds, on a machine with little memory; and what
//! all of them keep, which whoever keeps it bounds.

use super::luck::nanos;
use super::model::{Contender, Load, Model, Outage, Renewal};
use super::summary::float;
use super::tally::{BIN, Bin};
use pace::Pace;
use seawall_core::time::{Duration, Instant};
use std::fmt;

mod pace;

/// The most that one run may hold: 4 GiB, twenty million calls at once.
pub const RUN_BYTES_MAX: u64 = 4 << 30;
/// The most steps of one run: ten thousand million, half an hour or more of one core.
pub const STEPS_MAX: u64 = 10_000_000_000;
/// The longest horizon: 60 days, whose pictures take 1.2 GB.
pub const HORIZON_MAX: Duration = Duration::from_secs(60 * 86_400);
/// The most bins: calls that are open at the horizon have 17 days and more to end.
pub(super) const BINS_MAX: usize = 1 << 26;
/// How many steps lie between two looks.
const LOOK_EVERY: u64 = 1 << 14;
/// After how many steps somebody hears how far the run is: less than a tenth of a second, of all that one may take.
const TOLD_EVERY: u64 = 1 << 18;
/// What a process takes before anybody calls, and each of its gates, as measured.
const PROCESS_BYTES: u64 = 512;
const GATE_BYTES: u64 = 1_024;

const _: () = assert!(
    HORIZON_MAX.as_nanos() / BIN.as_nanos() < BINS_MAX as u64,
    "a horizon fits"
);

/// What a run had too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overrun {
    /// Calls, attempts or work that were there at once, or clients with gates of their own.
    Memory,
    /// Things that happened.
    Steps,
    /// Time after the horizon, with calls that were still open.
    Time,
    /// Things that happen within a little of its time, so that all of it would be far too many.
    Pace {
        /// How much of its time had passed.
        passed: Duration,
        /// In so many steps.
        steps: u64,
    },
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => write!(
                f,
                "takes more than {} GiB for what is there at once, which is the most of one run; fewer clients or a \
                 lower rate, a shorter deadline, or a bounded queue make it smaller",
                RUN_BYTES_MAX >> 30
            ),
            Self::Steps => write!(
                f,
                "takes more than {} million steps, which is the most of one run; a shorter horizon, a lower rate, or \
                 fewer retries in fewer layers make it smaller",
                STEPS_MAX / 1_000_000
            ),
            Self::Time => write!(
                f,
                "has calls that are open {} days after its beginning, which is the longest that is written down; a \
                 shorter horizon or a shorter deadline ends them",
                BIN.as_nanos() * BINS_MAX as u64 / 1_000_000_000 / 86_400
            ),
            Self::Pace { passed, steps } => write!(
                f,
                "has taken {} million steps for its first {passed}, and at this pace needs more than the {} million that \
                 are the most of one run; a longer time to think, fewer clients, a lower rate, or a shorter horizon make it \
                 smaller",
                steps / 1_000_000,
                STEPS_MAX / 1_000_000
            ),
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HowFar {
    /// Its time.
    pub now: Instant,
    /// What it has done so far.
    pub steps: u64,
}

/// The bounds of a run.
#[derive(Debug)]
pub(super) struct Bounds {
    bytes_max: u64,
    steps_max: u64,
    pace: Option<Pace>,
    steps: u64,
}

impl Bounds {
    /// Those of a run of `contender` in `model`, with these times in which it is not as it is otherwise.
    pub(super) fn new(model: &Model, contender: &Contender, outages: &[Outage]) -> Self {
        Self {
            pace: Pace::new(model, contender, outages),
            ..Self::of(RUN_BYTES_MAX, STEPS_MAX)
        }
    }

    /// The same, with a pace that is taken over so few steps.
    #[cfg(test)]
    pub(super) fn with_pace_over(mut self, steps: u64) -> Self {
        self.pace = self.pace.map(|pace| pace.taken_over(steps));
        self
    }

    pub(super) const fn of(bytes_max: u64, steps_max: u64) -> Self {
        Self {
            bytes_max,
            steps_max,
            pace: None,
            steps: 0,
        }
    }

    /// Counts a step; whether it is time to look how large the run is.
    #[inline]
    pub(super) const fn steps(&mut self) -> Look {
        self.steps += 1;
        if self.steps.is_multiple_of(LOOK_EVERY) {
            Look::Now
        } else {
            Look::Later
        }
    }

    /// What is too much of a run that is at `now` and takes so many bytes.
    pub(super) fn broken(&mut self, now: Instant, bytes: u64) -> Option<Overrun> {
        if bytes > self.bytes_max {
            Some(Overrun::Memory)
        } else if self.steps > self.steps_max {
            Some(Overrun::Steps)
        } else {
            let far = HowFar {
                now,
                steps: self.steps,
            };
            self.pace.as_mut()?.too_slow(far)
        }
    }

    /// How far a run is that is at `now`, where it is time to tell it.
    pub(super) fn told(&self, now: Instant) -> Option<HowFar> {
        self.steps.is_multiple_of(TOLD_EVERY).then_some(HowFar {
            now,
            steps: self.steps,
        })
    }
}

/// Whether a run looks at itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Now,
    Later,
}

/// What a run will have too much of for certain, whatever happens in it.
pub(super) fn overran_before(model: &Model, contender: &Contender) -> Option<Overrun> {
    if bytes_before(model, contender) > RUN_BYTES_MAX {
        return Some(Overrun::Memory);
    }
    let comes = match &model.load {
        Load::Open { per_second, .. } | Load::Pool { per_second, .. } => {
            per_second * nanos(model.horizon) / 1e9
        }
        Load::Closed { .. } | Load::Trace { .. } => 0.0,
    };
    (comes > float(STEPS_MAX)).then_some(Overrun::Steps)
}

/// What a run takes before anybody calls: engines with their gates, and outages by chance.
fn bytes_before(model: &Model, contender: &Contender) -> u64 {
    let clients = u64::from(contender.fleet.processes(model.load.clients()));
    let between = model.layers.iter().map(|layer| u64::from(layer.processes));
    let processes: Vec<u64> = [clients].into_iter().chain(between).collect();
    let gates = processes
        .last()
        .map_or(0, |last| last * (model.servers.len() as u64 - 1));
    let processes: u64 = processes.into_iter().sum();
    let horizon = model.horizon.as_nanos();
    let outages = model.servers.iter().filter_map(|server| {
        let Renewal { up, down, .. } = server.renewal?;
        Some(horizon / up.mean().plus(down.mean()).as_nanos().max(1))
    });
    let outages: u64 = outages.sum();
    processes * (PROCESS_BYTES + GATE_BYTES) + gates * GATE_BYTES + outages * size_of::<Outage>() as u64
}

/// What bins take.
pub(super) const fn bins_bytes(bins: usize) -> u64 {
    (bins * size_of::<Bin>()) as u64
}
