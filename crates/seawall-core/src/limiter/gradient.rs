//! As many in flight as an upstream answers without delay, found out by its first-byte times (rule I3).
//!
//! What can go wrong: an upstream that queues instead of refusing takes everything and answers ever later, which no
//! throttle tells. A limit by times sees that, and the published ones go wrong in turn: the time of an idle upstream is
//! measured once and is wrong for ever after, or drifts up with the very queue that it is to notice; a bound that
//! nobody uses grows; the times of attempts from before a change answer for the change; one odd time moves everything.
//!
//! So time is compared in steps, each of at least [`GRADIENT_SAMPLES_MIN`] attempts, as many as may be in flight and
//! all of them begun after the last change: `limit × base / mean + √limit`, the quotient between a half and one. The
//! root is the room for a queue that keeps the upstream busy, and the pace of growth. The base is what an upstream
//! takes that is not crowded: it is measured at half of the limit, at first and again every
//! [`GRADIENT_PROBE_EVERY`], at a point that is drawn, and wherever calls use less than half of their own accord.
//! Throttles and timeouts cut as they do without times, once per round trip.
//!
//! Not covered: the first byte of a plain answer of a model is its last, and speaks of how much was written; this limit
//! is for streams, and for answers that are alike. Reference: Netflix concurrency-limits, `Gradient2Limit`; Envoy's
//! adaptive concurrency, for the second measurement.

use super::auto::cut;
use crate::policy::{
    AUTO_CONCURRENCY_MAX, AUTO_CONCURRENCY_START, GRADIENT_PROBE_EVERY, GRADIENT_SAMPLES_MIN,
};
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// The most that one step takes away, as a quotient in thousandths.
const QUOTIENT_MIN: u64 = 500;
/// How far the next measurement is drawn to both sides, in hundredths of its time: callers of one upstream that begin
/// together do not all hold back together.
const JITTER_PERCENT: u64 = 15;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gradient {
    limit: u32,
    phase: Phase,
    /// What an upstream takes that is not crowded; nothing before the first measurement.
    base: Duration,
    /// The mean of the last step.
    mean: Duration,
    step: Step,
    /// An attempt that did not begin after this has nothing to say of the limit that holds.
    changed_at: Instant,
    probe_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The limit follows the times.
    Follows,
    /// Half of the limit holds, to measure what the upstream takes.
    Measures,
}

/// What the attempts of one step took.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    samples: u32,
    /// How many of them landed while at least half of the limit was in use.
    crowded: u32,
    sum: u64,
}

impl Gradient {
    pub(super) const fn new() -> Self {
        Self {
            limit: AUTO_CONCURRENCY_START,
            phase: Phase::Measures,
            base: Duration::ZERO,
            mean: Duration::ZERO,
            step: Step {
                samples: 0,
                crowded: 0,
                sum: 0,
            },
            changed_at: Instant::START,
            probe_at: Instant::NEVER,
        }
    }

    /// How many may be in flight.
    pub(super) const fn most(&self) -> u32 {
        match self.phase {
            Phase::Follows => self.limit,
            Phase::Measures => half(self.limit),
        }
    }

    pub(super) const fn base(&self) -> Duration {
        self.base
    }

    pub(super) const fn mean(&self) -> Duration {
        self.mean
    }

    /// The first byte of an attempt that began at `began` came after `took`, while `in_flight` were out, itself
    /// included.
    pub(super) fn came(
        &mut self,
        now: Instant,
        began: Instant,
        took: Duration,
        in_flight: u32,
        rng: &mut Rng,
    ) {
        if began <= self.changed_at {
            return;
        }
        let is_crowded = in_flight.saturating_mul(2) >= self.most();
        self.step.samples += 1;
        self.step.crowded += u32::from(is_crowded);
        self.step.sum = self.step.sum.saturating_add(took.as_nanos());
        if self.step.samples < self.most().max(GRADIENT_SAMPLES_MIN) {
            return;
        }
        let step = core::mem::take(&mut self.step);
        self.mean = Duration::from_nanos(step.sum / u64::from(step.samples));
        let is_crowded = step.crowded.saturating_mul(2) >= step.samples;
        match (self.phase, is_crowded) {
            // Held back by us or by itself: this is what the upstream takes.
            (Phase::Measures, _) | (Phase::Follows, false) => self.measured(now, rng),
            (Phase::Follows, true) => self.follow(now),
        }
    }

    /// An attempt that began at `began` was throttled or timed out.
    pub(super) fn overloaded(&mut self, now: Instant, began: Instant) {
        if began > self.changed_at {
            self.limit = cut(self.limit);
            self.begin_step(now);
        }
    }

    fn measured(&mut self, now: Instant, rng: &mut Rng) {
        self.base = self.mean;
        self.phase = Phase::Follows;
        let part = GRADIENT_PROBE_EVERY.times(JITTER_PERCENT).over(100);
        let wait = rng.length_between(GRADIENT_PROBE_EVERY.minus(part), GRADIENT_PROBE_EVERY.plus(part));
        self.probe_at = now.after(wait);
        self.begin_step(now);
    }

    fn follow(&mut self, now: Instant) {
        // Clearly quicker than the base: that was measured in a bad moment. The least mean ever is not taken for it, as
        // chance alone makes it ever less.
        if self.mean.times(4) < self.base.times(3) {
            self.base = self.mean;
        }
        let quotient = self.base.as_nanos().saturating_mul(1_000) / self.mean.as_nanos().max(1);
        let quotient = quotient.clamp(QUOTIENT_MIN, 1_000);
        let kept = u64::from(self.limit) * quotient / 1_000;
        let limit = kept + u64::from(self.limit.isqrt());
        self.limit = u32::try_from(limit)
            .unwrap_or(AUTO_CONCURRENCY_MAX)
            .clamp(1, AUTO_CONCURRENCY_MAX);
        if now >= self.probe_at {
            self.phase = Phase::Measures;
        }
        self.begin_step(now);
    }

    fn begin_step(&mut self, now: Instant) {
        self.step = Step::default();
        self.changed_at = now;
    }
}

/// Half of a limit; never nothing.
const fn half(limit: u32) -> u32 {
    if limit < 2 { 1 } else { limit / 2 }
}

#[cfg(test)]
mod tests;
