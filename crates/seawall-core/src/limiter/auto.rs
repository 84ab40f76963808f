//! As many in flight as the upstream bears, found out (rule I3): additive increase, multiplicative decrease.
//!
//! What can go wrong: one burst of refusals halves the bound again and again until nothing flows, though it said one
//! thing once; and a bound that nobody uses grows without ever having been tried. So it is cut once per round trip,
//! by an attempt that began after the last cut, and grows only while at least half of it is in use.

use crate::policy::{AUTO_CONCURRENCY_MAX, AUTO_CONCURRENCY_START};
use crate::time::Instant;

/// What is left of the bound by a cut, in tenths.
const CUT_TENTHS: u32 = 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct Auto {
    most: u32,
    /// Answers since it last grew.
    earned: u32,
    /// An attempt that began before this has nothing new to say.
    cut_at: Instant,
}

impl Auto {
    pub(super) const fn new() -> Self {
        Self {
            most: AUTO_CONCURRENCY_START,
            earned: 0,
            cut_at: Instant::START,
        }
    }

    pub(super) const fn most(&self) -> u32 {
        self.most
    }

    /// An attempt was answered while `in_flight` were out, itself included.
    pub(super) fn answered(&mut self, in_flight: u32) {
        if in_flight.saturating_mul(2) < self.most {
            return;
        }
        self.earned += 1;
        if self.earned >= self.most {
            self.most = (self.most + 1).min(AUTO_CONCURRENCY_MAX);
            self.earned = 0;
        }
    }

    /// An attempt that began at `began` was throttled or timed out.
    pub(super) fn overloaded(&mut self, now: Instant, began: Instant) {
        if began < self.cut_at {
            return;
        }
        self.most = cut(self.most);
        self.earned = 0;
        self.cut_at = now;
    }
}

/// What is left of a bound by a cut; never nothing.
pub(super) fn cut(most: u32) -> u32 {
    (most * CUT_TENTHS / 10).max(1)
}
