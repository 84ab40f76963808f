//! How long attempts at a gate take to their first byte, lately: what a hedge waits for that goes by a percentile.
//!
//! What can go wrong: a delay that somebody wrote is wrong by evening, so that either every call is hedged or none; a
//! list of times grows with the traffic; times are kept of winners alone, and since those who lose are the slow ones,
//! the percentile sinks, more calls are hedged, and it sinks again; and a handful of times is taken for a
//! distribution. So times are counted in buckets that are an eighth of their value wide at the most; a percentile is
//! the upper end of its bucket, so that it is never below the true one; and an attempt that was dropped is known to
//! have taken longer than it was given: its part goes to those that took longer (the estimator of Kaplan and Meier,
//! 1958, in integers). Two generations are kept, and the older goes when the newer has lasted
//! [`HEDGE_TIMES_WINDOW`] and has seen enough.
//!
//! Not covered: calls of different kinds at one gate share one distribution. Key gates by model where that matters.

use crate::policy::{HEDGE_SAMPLES_MIN, HEDGE_TIMES_WINDOW};
use crate::time::{Duration, Instant};

/// The finest grain, in binary digits of a nanosecond: 65.5 µs.
const GRAIN_BITS: u32 = 16;
/// Buckets per doubling, in binary digits: eight.
const PART_BITS: u32 = 3;
/// Grains that are told apart, in binary digits: up to 18 minutes.
const SPAN_BITS: u32 = 24;
const PARTS: usize = 1 << PART_BITS;
const BUCKETS: usize = (SPAN_BITS - PART_BITS + 1) as usize * PARTS;
/// A generation that has not seen enough lasts so many windows at the most: what is older says nothing of now.
const WINDOWS_MAX: u64 = 10;
/// The weight of one attempt, whole: what is handed on is a part of it.
const WHOLE: u128 = 1 << 20;

/// The times of one gate. It never grows.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    newer: Generation,
    older: Generation,
    began: Instant,
}

#[derive(Clone, Debug)]
struct Generation {
    /// Attempts whose first byte came, by bucket of how long it took.
    came: [u32; BUCKETS],
    /// Attempts that were dropped, by bucket of how long they were given.
    dropped: [u32; BUCKETS],
    count: u32,
}

impl Generation {
    const EMPTY: Self = Self {
        came: [0; BUCKETS],
        dropped: [0; BUCKETS],
        count: 0,
    };
}

impl Times {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            newer: Generation::EMPTY,
            older: Generation::EMPTY,
            began: now,
        }
    }

    /// An attempt's first byte came after `took`.
    pub(crate) fn came(&mut self, now: Instant, took: Duration) {
        self.turn(now);
        let count = &mut self.newer.came[bucket(took)];
        *count = count.saturating_add(1);
        self.newer.count = self.newer.count.saturating_add(1);
    }

    /// An attempt was dropped, or timed out, after `given` without a first byte.
    pub(crate) fn dropped(&mut self, now: Instant, given: Duration) {
        self.turn(now);
        let count = &mut self.newer.dropped[bucket(given)];
        *count = count.saturating_add(1);
        self.newer.count = self.newer.count.saturating_add(1);
    }

    /// How long so many of a thousand attempts take at the most; `None` while too few are known to say.
    pub(crate) fn percentile(&mut self, now: Instant, per_mille: u32) -> Option<Duration> {
        self.turn(now);
        let known = u64::from(self.newer.count) + u64::from(self.older.count);
        let above = known.saturating_mul(u64::from(1_000_u32.saturating_sub(per_mille))) / 1_000;
        if known < u64::from(HEDGE_SAMPLES_MIN) || above == 0 {
            return None;
        }
        let target = (u128::from(known) * u128::from(per_mille) * WHOLE).div_ceil(1_000);
        let (mut weight, mut reached, mut left) = (WHOLE, 0, u128::from(known));
        let mut longest = Duration::ZERO;
        for place in 0..BUCKETS {
            let (came, dropped) = self.counts(place);
            if came + dropped == 0 {
                continue;
            }
            longest = upper_end(place);
            reached += weight * came;
            if reached >= target {
                return Some(longest);
            }
            left -= came + dropped;
            // Whoever was dropped here took longer: as long as one of those that are left.
            weight += (weight * dropped).checked_div(left).unwrap_or(0);
        }
        // All who took longer were dropped: as long as the longest of them was given, at the least.
        Some(longest)
    }

    fn counts(&self, place: usize) -> (u128, u128) {
        let both = |one: u32, two: u32| u128::from(one) + u128::from(two);
        (
            both(self.newer.came[place], self.older.came[place]),
            both(self.newer.dropped[place], self.older.dropped[place]),
        )
    }

    fn turn(&mut self, now: Instant) {
        let age = now.since(self.began);
        let has_enough = self.newer.count >= HEDGE_SAMPLES_MIN;
        if age < HEDGE_TIMES_WINDOW || (!has_enough && age < HEDGE_TIMES_WINDOW.times(WINDOWS_MAX)) {
            return;
        }
        // After so long a silence the newer one is as old as the older one was to become.
        let is_stale = age >= HEDGE_TIMES_WINDOW.times(WINDOWS_MAX);
        self.older = if is_stale {
            Generation::EMPTY
        } else {
            core::mem::replace(&mut self.newer, Generation::EMPTY)
        };
        self.newer = Generation::EMPTY;
        self.began = now;
    }
}

fn bucket(length: Duration) -> usize {
    let grains = (length.as_nanos() >> GRAIN_BITS).min((1 << SPAN_BITS) - 1);
    let doublings = grains
        .checked_ilog2()
        .map_or(0, |log| log.saturating_sub(PART_BITS));
    let place = (u64::from(doublings) << PART_BITS) + (grains >> doublings);
    usize::try_from(place).expect("buckets are few")
}

/// The longest that the bucket holds.
fn upper_end(place: usize) -> Duration {
    let (doublings, part) = match place.checked_sub(PARTS) {
        None => (0, place),
        Some(beyond) => (beyond / PARTS, PARTS + beyond % PARTS),
    };
    let grains = (part as u64 + 1) << doublings;
    Duration::from_nanos(grains << GRAIN_BITS)
}

#[cfg(test)]
mod tests;
