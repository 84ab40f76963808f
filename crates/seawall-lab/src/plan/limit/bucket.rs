//! One bucket, exact to the nanosecond.
//!
//! What can go wrong: a level kept as a float, or run off once a tick, lets a few more or a few less through over an
//! hour than the limit says, and then a client that waited exactly as long as it was told is refused. So nothing is
//! rounded: a unit weighs as many parts as the rate's time has nanoseconds, and the rate's number of parts runs off in
//! each nanosecond.

use seawall_core::time::{Duration, Instant};
use std::num::NonZeroU32;

/// How much a bucket holds, and how fast it runs off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many units it holds: so many go at once.
    pub holds: NonZeroU32,
    /// How many units run off in [`Rate::time`].
    pub units: NonZeroU32,
    /// In how long they do; never zero.
    pub time: Duration,
}

impl Rate {
    /// How long a bucket that was filled takes to run off.
    pub fn lasts(self) -> Duration {
        nanos(self.weight(u64::from(self.holds.get())), self.units)
    }

    fn weight(self, units: u64) -> u128 {
        u128::from(units) * u128::from(self.time.as_nanos())
    }
}

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Now.
    Now,
    /// After this long, to the nanosecond, if nobody else takes it.
    In(Duration),
    /// Never: more is needed than there ever is.
    Never,
}

/// What has come in and has not run off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    level: u128,
    at: Instant,
}

impl Bucket {
    /// An empty one: there is room for all that it holds.
    pub(super) fn new(now: Instant) -> Self {
        Self { level: 0, at: now }
    }

    /// Lets run off what has by `now`. An earlier time than the last one moves nothing.
    pub(super) fn advance(&mut self, now: Instant, rate: Rate) {
        let gone = u128::from(now.since(self.at).as_nanos()) * u128::from(rate.units.get());
        self.level = self.level.saturating_sub(gone);
        self.at = self.at.max(now);
    }

    /// Whether `needs` units have room, at the time that it was advanced to.
    pub(super) fn room(&self, rate: Rate, needs: u64) -> Room {
        let holds = u64::from(rate.holds.get());
        if needs > holds {
            return Room::Never;
        }
        match self.level.checked_sub(rate.weight(holds - needs)) {
            None | Some(0) => Room::Now,
            Some(over) => Room::In(nanos(over, rate.units)),
        }
    }

    /// Takes `needs` units, for which there was room.
    pub(super) fn take(&mut self, rate: Rate, needs: u64) {
        self.level += rate.weight(needs);
        debug_assert!(
            self.level <= rate.weight(u64::from(rate.holds.get())),
            "what is taken had room"
        );
    }

    /// How many whole units have room.
    pub(super) fn left(&self, rate: Rate) -> u64 {
        let holds = rate.weight(u64::from(rate.holds.get()));
        let left = holds.saturating_sub(self.level) / u128::from(rate.time.as_nanos());
        u64::try_from(left).expect("what is left is at most what it holds, 32 bits")
    }

    /// How long until all of it has run off, and it is as new.
    pub(super) fn full_in(&self, rate: Rate) -> Duration {
        nanos(self.level, rate.units)
    }
}

/// How long a weight takes to run off, rounded up: a nanosecond less, and some of it is still there.
fn nanos(weight: u128, units: NonZeroU32) -> Duration {
    let nanos = weight.div_ceil(u128::from(units.get()));
    u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
}
