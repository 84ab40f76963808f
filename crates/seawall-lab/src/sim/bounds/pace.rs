//! Whether a run gets anywhere.
//!
//! What can go wrong: clients that call again at once, at a server that refuses at once, let hardly any time pass; such a run
//! takes all its steps within a second of its hour, and says so after a quarter of a real one. And what is too slow for a
//! moment need not stay so: a million clients begin together, an outage of four seconds is full of retries. So a pace is
//! taken over many steps, more than all clients have for one call, twice in a row, and never past the time that the
//! world stays as it is: up to the next beginning or end of an outage or a burst. Only where that alone takes twice
//! the steps that a run may have, it is given up.
//!
//! What it does not judge: loads whose calls are counted, which come to their end whatever the horizon. Steps and times are
//! those of the run, so that it is given up at the same step on every machine.

use super::{HowFar, Overrun, STEPS_MAX};
use crate::sim::model::{Burst, Contender, Load, Model, Outage};
use seawall_core::load::attempts_max;
use seawall_core::time::Instant;

/// The fewest steps that a pace is taken over: some seconds.
const STEPS_MIN: u64 = 1 << 25;
/// So many for each attempt that each client may have out for one call.
const STEPS_EACH: u64 = 16;
/// How often in a row it is too slow.
const TIMES: u32 = 2;

/// How fast the time of a run passes.
#[derive(Debug)]
pub(super) struct Pace {
    /// How many steps it is taken over.
    over: u64,
    steps_max: u64,
    /// When the world becomes another, in order; the horizon is the last.
    changes: Vec<Instant>,
    /// Since when it is taken.
    since: HowFar,
    /// How often in a row it was too slow.
    slow: u32,
}

impl Pace {
    /// Of a run that has not begun; `None` of one that is not judged by it.
    pub(super) fn new(model: &Model, contender: &Contender, outages: &[Outage]) -> Option<Self> {
        let bursts: &[Burst] = match &model.load {
            Load::Open { bursts, .. } => bursts,
            Load::Closed { calls_each: None, .. } | Load::Pool { .. } => &[],
            Load::Closed {
                calls_each: Some(_), ..
            }
            | Load::Trace { .. } => return None,
        };
        let between = model.layers.iter();
        let between = between.map(|layer| layer.policy.as_ref().unwrap_or(&contender.policy));
        let policies = [&contender.policy].into_iter().chain(between);
        let attempts = policies
            .map(|policy| attempts_max(&policy.call))
            .fold(1, u64::saturating_mul);
        let each = STEPS_EACH.saturating_mul(attempts);
        let outages = outages
            .iter()
            .flat_map(|outage| [outage.at, outage.at.after(outage.lasts)]);
        let bursts = bursts
            .iter()
            .flat_map(|burst| [burst.at, burst.at.after(burst.lasts)]);
        let horizon = Instant::START.after(model.horizon);
        let mut changes: Vec<Instant> = outages.chain(bursts).filter(|at| *at < horizon).collect();
        changes.push(horizon);
        changes.sort_unstable();
        let over = each
            .saturating_mul(u64::from(model.load.clients()))
            .max(STEPS_MIN);
        Some(Self::over(over, STEPS_MAX, changes))
    }

    const fn over(over: u64, steps_max: u64, changes: Vec<Instant>) -> Self {
        Self {
            over,
            steps_max,
            changes,
            since: HowFar {
                now: Instant::START,
                steps: 0,
            },
            slow: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn taken_over(self, steps: u64) -> Self {
        Self { over: steps, ..self }
    }

    /// That the run is too slow, where it is.
    pub(super) fn too_slow(&mut self, far: HowFar) -> Option<Overrun> {
        let next = self.changes.partition_point(|change| *change <= self.since.now);
        // After the horizon nobody calls any more, and what is there ends.
        let change = *self.changes.get(next)?;
        if far.now >= change {
            (self.since, self.slow) = (far, 0);
            return None;
        }
        let steps = far.steps - self.since.steps;
        if steps < self.over {
            return None;
        }
        let passed = far.now.since(self.since.now).as_nanos();
        let left = u128::from(change.since(far.now).as_nanos()) * u128::from(steps);
        let is_slow = left > 2 * u128::from(self.steps_max) * u128::from(passed);
        self.slow = if is_slow { self.slow + 1 } else { 0 };
        self.since = far;
        (self.slow >= TIMES).then_some(Overrun::Pace {
            passed: far.now.since(Instant::START),
            steps: far.steps,
        })
    }
}

#[cfg(test)]
mod tests;
