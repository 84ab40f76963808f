//! After a breaker closed: how large a share of the calls goes to an upstream that has just come back (rule H5).
//!
//! What can go wrong: one probe is answered, and everything that waited, and every caller who kept asking, arrives at
//! once at an upstream whose caches are cold; it falls over, and the breaker teaches it to do so every few seconds. A
//! coin for each call lets bursts through and cannot be replayed. So the share that is let in grows along a line, from
//! [`RAMP_FIRST_PER_MILLE`] to all, and is kept by counting: every call that comes adds the present share to a credit,
//! and one that is let in takes a whole call from it, so that who was let in is never a whole call off the line. One
//! call at a time is always let in: without any there would be nothing to learn from.
//!
//! Calls that wait where others are refused must not all go at the line's end. While there are `n` of them, the rest of
//! the line has `n` parts, and at the end of each one the first of them goes; a newcomer's credit lets the first go, too.
//!
//! Not covered: what is in flight. An upstream that fails in the ramp trips the breaker as at any other time.

use crate::policy::RAMP_FIRST_PER_MILLE;
use crate::time::{Duration, Instant};

/// The whole share, and one whole call: millionths, so that the line is straight.
const WHOLE: u64 = 1_000_000;
const FIRST: u64 = RAMP_FIRST_PER_MILLE as u64 * (WHOLE / 1_000);

/// The ramps of a gate whose policy has them: one at a time, after each closing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ramps {
    /// Of the next one.
    length: Duration,
    running: Option<Ramp>,
}

impl Ramps {
    pub(super) const fn new(length: Duration) -> Self {
        Self {
            length,
            running: None,
        }
    }

    /// Takes another length, for the next one.
    pub(super) const fn configure(&mut self, length: Duration) {
        self.length = length;
    }

    /// The breaker closed.
    pub(super) const fn begin(&mut self, now: Instant) {
        self.running = Some(Ramp::new(now, self.length));
    }

    /// The breaker is closed no more.
    pub(super) const fn stop(&mut self) {
        self.running = None;
    }

    /// Tells the time: one that runs ends.
    pub(super) fn turn_to(&mut self, now: Instant) {
        self.running = self.running.filter(|ramp| now < ramp.end());
    }

    pub(super) const fn running(&self) -> Option<&Ramp> {
        self.running.as_ref()
    }

    pub(super) const fn running_mut(&mut self) -> Option<&mut Ramp> {
        self.running.as_mut()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ramp {
    began: Instant,
    length: Duration,
    /// Of a call, what has been earned and not been taken.
    credit: u64,
    /// The share at which the last of those that wait went.
    released: u64,
}

/// Who wants to go, and who goes before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    /// Attempts in flight.
    pub(crate) in_flight: u32,
    /// Calls that have been promised to go, and have not gone.
    pub(crate) promised: u32,
    /// Calls that wait.
    pub(crate) waiting: u32,
}

impl Ramp {
    pub(crate) const fn new(now: Instant, length: Duration) -> Self {
        Self {
            began: now,
            length,
            credit: 0,
            released: FIRST,
        }
    }

    /// When everything goes again.
    pub(crate) const fn end(&self) -> Instant {
        self.began.after(self.length)
    }

    /// The share that is let in at `now`, in thousandths.
    pub(crate) fn per_mille(&self, now: Instant) -> u32 {
        u32::try_from(self.share(now) / (WHOLE / 1_000)).unwrap_or(1_000)
    }

    /// Whether a call that has just come may go, or when one would if nobody else came.
    pub(crate) fn newcomer(&self, now: Instant, crowd: Crowd) -> Result<(), Instant> {
        let promised = u64::from(crowd.promised).saturating_mul(WHOLE);
        let needs = WHOLE.saturating_add(promised).saturating_sub(self.credit);
        if crowd.in_flight + crowd.promised == 0 || self.share(now) >= needs {
            return Ok(());
        }
        Err(self.when(needs))
    }

    /// Whether the first of those that wait may go, or when it may if nobody else comes.
    pub(crate) fn first_in_line(&self, now: Instant, crowd: Crowd) -> Result<(), Instant> {
        let promised = u64::from(crowd.promised);
        let is_earned = self.credit >= WHOLE.saturating_mul(promised + 1);
        let due = self.released + self.part(crowd) * (promised + 1);
        if crowd.in_flight + crowd.promised == 0 || is_earned || self.share(now) >= due {
            return Ok(());
        }
        Err(self.when(due))
    }

    /// A call came and goes: at once, or when it gets a place.
    pub(crate) fn let_in(&mut self, now: Instant) {
        self.credit = (self.credit + self.share(now)).saturating_sub(WHOLE);
    }

    /// A call came and goes not; `crowd` is as it found it.
    pub(crate) fn turn_away(&mut self, now: Instant, crowd: Crowd) {
        if crowd.waiting + crowd.promised == 0 {
            // Whoever waits from here on shares what is left of the line, not what is behind.
            self.released = self.share(now);
        }
        self.credit = self.credit.saturating_add(self.share(now));
    }

    /// The first of those that waited goes; `crowd` is as it was while it waited.
    pub(crate) fn release(&mut self, crowd: Crowd) {
        if self.credit >= WHOLE {
            self.credit -= WHOLE;
        } else {
            self.released += self.part(crowd);
        }
    }

    /// How much of the line's rest each of those that wait has for itself.
    fn part(&self, crowd: Crowd) -> u64 {
        let all = u64::from(crowd.waiting) + u64::from(crowd.promised);
        (WHOLE - self.released) / all.max(1)
    }

    fn share(&self, now: Instant) -> u64 {
        let passed = now.since(self.began).min(self.length);
        let grown = u128::from(WHOLE - FIRST) * u128::from(passed.as_nanos());
        let grown = grown / u128::from(self.length.as_nanos().max(1));
        FIRST + u64::try_from(grown).unwrap_or(WHOLE - FIRST)
    }

    /// When the share is as large as that; the end at the latest.
    fn when(&self, share: u64) -> Instant {
        let grown = u128::from(share.clamp(FIRST, WHOLE) - FIRST);
        let passed = (grown * u128::from(self.length.as_nanos())).div_ceil(u128::from(WHOLE - FIRST));
        self.began
            .after(Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX)))
            .min(self.end())
    }
}

#[cfg(test)]
mod tests;
