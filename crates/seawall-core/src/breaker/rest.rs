//! How long a breaker stays open.
//!
//! What can go wrong: a rest of fixed length is too long for an outage of a second, which then costs many, and a time that
//! grows with each trip refuses most calls of an upstream that is well most of the time. One that never grows lets all
//! calls at an upstream that answers probes and not the load.
//!
//! So a rest is short at first, and half as long again whenever the last was not enough, up to the longest: a probe failed,
//! or it tripped again within one window, and as much of what it met in between failed as trips a breaker. An upstream
//! that was well in between is rested anew.
//!
//! Not covered: one lucky probe in each window, before an upstream that fails nearly all else. Why these times:
//! docs/decisions/043.

use super::words::{Counts, Trip};
use crate::policy::BreakerPolicy;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// What the next open time is drawn around.
    length: Duration,
    /// Later than this a trip says nothing of the closing before it.
    closing_judged_until: Instant,
    flapping: bool,
}

impl Rest {
    pub(super) const fn new(policy: &BreakerPolicy) -> Self {
        Self {
            length: policy.open_for,
            closing_judged_until: Instant::START,
            flapping: false,
        }
    }

    /// It tripped, having met `met` since it closed.
    pub(super) fn trip(&mut self, now: Instant, policy: &BreakerPolicy, trip: Trip, met: Counts) {
        self.flapping = now < self.closing_judged_until && was_as_bad(policy, trip, met);
        self.length = if self.flapping {
            self.longer(policy)
        } else {
            policy.open_for
        };
    }

    /// A probe failed.
    pub(super) fn go_on(&mut self, policy: &BreakerPolicy) {
        self.length = self.longer(policy);
    }

    /// It closed.
    pub(super) fn end(&mut self, now: Instant, policy: &BreakerPolicy) {
        self.closing_judged_until = now.after(policy.window);
    }

    /// The policy is another one now.
    pub(super) fn configure(&mut self, policy: &BreakerPolicy) {
        self.length = self.length.max(policy.open_for).min(policy.open_max);
    }

    /// What follows where this rest is not enough.
    pub(super) fn longer(&self, policy: &BreakerPolicy) -> Duration {
        policy.open_longer(self.length)
    }

    /// When a rest ends that begins now: within a tenth of its length, so that many do not end together.
    pub(super) fn until(&self, now: Instant, policy: &BreakerPolicy, rng: &mut Rng) -> Instant {
        let tenth = self.length.over(10);
        let longest = self.length.plus(tenth).min(policy.open_max);
        // Drawn inside the longest, never clipped to it: clipped times end together.
        now.after(rng.length_between(self.length.minus(tenth), longest))
    }

    /// Whether the last trip proved the closing before it too early.
    pub(super) const fn flapping(&self) -> bool {
        self.flapping
    }

    /// Whether the last closing has proved right.
    pub(super) fn is_calm(&self, now: Instant) -> bool {
        now >= self.closing_judged_until
    }
}

/// Whether as much failed since it closed, as far as the window still holds it, as trips a breaker. A run of failures may
/// follow on many successes; a failed probe trips one that is not closed, and is not asked here.
fn was_as_bad(policy: &BreakerPolicy, trip: Trip, met: Counts) -> bool {
    match trip {
        Trip::Share { .. } | Trip::Slow { .. } | Trip::Probe | Trip::SlowProbe { .. } => true,
        Trip::Run { .. } => policy.is_share_reached(met.failures, met.successes + met.failures),
    }
}
