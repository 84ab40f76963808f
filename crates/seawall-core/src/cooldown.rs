//! An upstream's stated "not before" (rule C6).
//!
//! What can go wrong: every call of a process learns of a limit by running into it on its own. So the hint of one
//! throttled attempt holds for the whole quota, until the time that the server said and not a moment less. A server
//! that throttles without a word is believed after the third time in a row; what was in flight together says it once,
//! or a burst of calls would wait out the whole doubling at its first throttle.

use crate::policy::{Backoff, Hints, LongHint};
use crate::time::{Duration, Instant};

/// Throttles in a row without a hint that begin a cool-down of our own.
const SILENT_THROTTLES: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cooldown {
    not_before: Instant,
    silent: u32,
    /// When a silent throttle was last counted.
    counted_at: Instant,
}

/// Whether a cool-down began or only went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cooled {
    Began,
    WentOn,
    Not,
}

impl Cooldown {
    /// How much of it is left; zero where none holds.
    pub(crate) const fn left(&self, now: Instant) -> Duration {
        self.not_before.since(now)
    }

    pub(crate) const fn not_before(&self) -> Instant {
        self.not_before
    }

    /// The server said to come back after `asked`.
    pub(crate) fn hint(&mut self, now: Instant, asked: Duration, hints: &Hints) -> Cooled {
        self.silent = 0;
        let believed = match hints.long {
            LongHint::Stop => asked.min(hints.cooldown_max),
            LongHint::Clamp => asked.min(hints.max),
        };
        self.hold(now, believed)
    }

    /// The server throttled an attempt that began at `began`, and did not say for how long.
    pub(crate) fn silent(&mut self, now: Instant, began: Instant, backoff: &Backoff) -> Cooled {
        if self.silent > 0 && began <= self.counted_at {
            return Cooled::Not;
        }
        self.silent = self.silent.saturating_add(1);
        self.counted_at = now;
        let Some(doublings) = self.silent.checked_sub(SILENT_THROTTLES) else {
            return Cooled::Not;
        };
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        self.hold(now, backoff.base.times(factor).min(backoff.cap))
    }

    /// The server answered: silent throttles are no longer in a row.
    pub(crate) const fn answered(&mut self) {
        self.silent = 0;
    }

    /// Somebody who knows better ends it.
    pub(crate) const fn end(&mut self) {
        self.not_before = Instant::START;
    }

    fn hold(&mut self, now: Instant, length: Duration) -> Cooled {
        let cooling = self.not_before > now;
        self.not_before = self.not_before.max(now.after(length));
        if cooling { Cooled::WentOn } else { Cooled::Began }
    }
}

#[cfg(test)]
mod tests;
