//! A sliding window cut into buckets: what the budget and the breaker count in.
//!
//! What can go wrong: a window whose length depends on how often it is touched, a loop over every bucket that an
//! idle year held, and a bucket width that was rounded, so that ten of them are not a window. So a bucket's number
//! is a pure function of the time, `⌊10 × now / window⌋`, exact for every window; turning clears at most as many
//! buckets as there are; and time told backwards lands in the newest bucket.

use crate::time::{Duration, Instant};

/// Buckets per window.
const PARTS: u128 = 10;

/// Numbers start here, so that the buckets before the driver's first moment have numbers too.
const FIRST: u64 = 16;

/// `N` buckets of a tenth of a window each.
#[derive(Clone, Debug)]
pub(crate) struct Ring<B, const N: usize> {
    window: Duration,
    newest: u64,
    turn: Instant,
    buckets: [B; N],
}

impl<B: Copy + Default, const N: usize> Ring<B, N> {
    /// An empty ring that stands at the driver's first moment.
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window,
            newest: FIRST,
            turn: end_of(FIRST, window),
            buckets: [B::default(); N],
        }
    }

    /// Turns the ring to `now` and returns how many buckets that emptied, at most `N` after any idle time. A `now`
    /// before the newest bucket turns nothing.
    pub(crate) fn turn_to(&mut self, now: Instant) -> u64 {
        if now < self.turn {
            return 0;
        }
        let number = number_at(now, self.window).max(self.newest);
        let emptied = (number - self.newest).min(N as u64);
        for age in 0..emptied {
            *self.slot_mut(number - age) = B::default();
        }
        self.newest = number;
        self.turn = end_of(number, self.window);
        emptied
    }

    /// Empties every bucket where it stands.
    pub(crate) fn clear(&mut self) {
        self.buckets = [B::default(); N];
    }

    /// Cuts time anew for another window: `carried` stands in the oldest of ten buckets, the others are empty.
    /// Returns the number of the bucket that carries it.
    pub(crate) fn restart(&mut self, now: Instant, window: Duration, carried: B) -> u64 {
        *self = Self::new(window);
        self.turn_to(now);
        let number = self.newest - 9;
        *self.slot_mut(number) = carried;
        number
    }

    /// The bucket that `now` stands in, as of the last turn.
    pub(crate) fn newest_mut(&mut self) -> &mut B {
        self.slot_mut(self.newest)
    }

    /// The bucket of this number, while it is in the ring.
    pub(crate) fn numbered_mut(&mut self, number: u64) -> Option<&mut B> {
        let held = self.oldest_number()..=self.newest;
        held.contains(&number).then(|| self.slot_mut(number))
    }

    /// The bucket that `then` stood in, while it is in the ring.
    pub(crate) fn at_mut(&mut self, then: Instant) -> Option<&mut B> {
        self.numbered_mut(number_at(then, self.window))
    }

    /// The number of the newest bucket.
    pub(crate) const fn newest_number(&self) -> u64 {
        self.newest
    }

    /// The number of the oldest bucket.
    pub(crate) const fn oldest_number(&self) -> u64 {
        self.newest - (N as u64 - 1)
    }

    /// The oldest bucket.
    pub(crate) fn oldest(&self) -> B {
        self.buckets[Self::place(self.oldest_number())]
    }

    /// Every bucket, in no order that means anything.
    pub(crate) const fn all(&self) -> &[B; N] {
        &self.buckets
    }

    /// The length of the window.
    pub(crate) const fn window(&self) -> Duration {
        self.window
    }

    /// The first instant that is no longer in the newest bucket.
    pub(crate) const fn next_turn(&self) -> Instant {
        self.turn
    }

    fn slot_mut(&mut self, number: u64) -> &mut B {
        &mut self.buckets[Self::place(number)]
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder of N is below N")]
    const fn place(number: u64) -> usize {
        (number % N as u64) as usize
    }
}

fn number_at(now: Instant, window: Duration) -> u64 {
    let tenths = u128::from(now.as_nanos()) * PARTS / u128::from(window.as_nanos().max(1));
    u64::try_from(tenths).unwrap_or(u64::MAX).saturating_add(FIRST)
}

fn end_of(number: u64, window: Duration) -> Instant {
    let tenths = u128::from(number - FIRST) + 1;
    let nanos = (tenths * u128::from(window.as_nanos().max(1))).div_ceil(PARTS);
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
