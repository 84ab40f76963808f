//! How long a call may take, by the schedule of its waits.
//!
//! What can go wrong: a fixed limit on a retried call's time either passes a client that never waits, or fails one that
//! drew long by chance. So the limit is computed: what each wait may be, by the policy's own arithmetic (rules B1 to
//! B4), no less than the hint that was told before it (C2), and the time that the server itself took. Real time has a
//! slack above; below it has none but a timer's, because nothing makes a wait shorter.
//!
//! Not covered: what holds a call up that is not its own (another call's cool-down, a full queue, a breaker). Where
//! calls run side by side, only the lower bound is a promise.

use super::Schedule;
use crate::findings::{Attempt, Met, Timing};
use seawall_core::time::Duration;

/// The most that is added to a hint that cools nothing (rule C2), and its part of the hint.
const SPREAD_MAX: Duration = Duration::from_secs(1);
const SPREAD_DIVISOR: u64 = 10;

/// From the first attempt's arrival to the last one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No less than this.
    pub least: Duration,
    /// No more than this.
    pub most: Duration,
}

impl Bounds {
    /// Whether a length is within them.
    pub fn hold(self, length: Duration) -> bool {
        self.least <= length && length <= self.most
    }
}

/// The bounds of one call: the attempts that it had, by the schedule that it follows.
pub fn bounds<'a>(
    schedule: &Schedule,
    timing: Timing,
    attempts: impl ExactSizeIterator<Item = &'a Attempt>,
) -> Bounds {
    let waits = attempts.len().saturating_sub(1);
    let (mut least, mut most) = (Duration::ZERO, Duration::ZERO);
    let (mut previous, mut throttled) = (Duration::ZERO, 0_u32);
    for (retries, attempt) in attempts.take(waits).enumerate() {
        let range = schedule
            .backoff
            .range(u32::try_from(retries).unwrap_or(u32::MAX), previous);
        let hint = attempt.hint.as_ref().filter(|_| attempt.met() != Met::Answered);
        let hint = hint.map(|hint| hint.wait.min(schedule.hint_max.unwrap_or(Duration::MAX)));
        let (mut shortest, mut longest) = (range.shortest, range.longest);
        if let Some(hint) = hint {
            let spread = hint.over(SPREAD_DIVISOR).min(SPREAD_MAX);
            shortest = shortest.max(hint);
            longest = longest.max(hint).plus(spread);
        }
        throttled = match (attempt.met(), hint) {
            (Met::Throttled, None) => throttled + 1,
            (_, _) => 0,
        };
        // Three throttles in a row without a hint cool the gate, up to the cap (rule C6).
        if throttled >= 3 {
            longest = longest.max(schedule.backoff.cap());
        }
        // Another connection, or once more after an early one, at once (rule D5).
        if matches!(attempt.status, Some(421 | 425)) {
            shortest = Duration::ZERO;
        }
        let took = attempt
            .over()
            .map_or(Duration::ZERO, |over| over.since(attempt.at));
        // A hint runs from the answer's first byte, however long its last takes.
        let told = attempt
            .answered
            .map_or(Duration::ZERO, |answered| answered.since(attempt.at));
        let floor = took
            .plus(range.shortest.min(shortest))
            .max(told.plus(hint.unwrap_or(Duration::ZERO)));
        least = least.plus(floor.minus(timing.early_slack()));
        let longest = longest.up_to_millis();
        // A decorrelated draw follows the wait before it, a hint's too.
        previous = longest;
        most = most.plus(took).plus(longest).plus(timing.late_slack(longest));
    }
    Bounds { least, most }
}

#[cfg(test)]
mod tests;
