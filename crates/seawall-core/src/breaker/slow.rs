//! Attempts that take too long, and those that have taken too long already and are out still (rule H1).
//!
//! What can go wrong: an upstream that hangs fails nobody until the first attempt times out a minute later, and by then
//! a thousand wait; so a breaker that hears of ends alone opens last where it is needed first. To look through every
//! attempt that is out costs more the worse things stand. So those that are out are counted by the tenth of `over` that
//! they began in: as time turns, a tenth that is older than `over` joins the overdue as one number, and an attempt that
//! comes back is taken out where it stands. An attempt is overdue between `over` and a tenth more, never before.

use crate::policy::SlowCall;
use crate::ring::Ring;
use crate::time::{Duration, Instant};

/// Tenths of `over`, the present one included, of whose attempts none is older than `over`.
const TENTHS: usize = 11;

#[derive(Clone, Debug)]
pub(super) struct Slow {
    policy: SlowCall,
    /// Slow ends, in the buckets that the breaker counts in.
    ended: Ring<u32, 10>,
    /// Attempts that are out, by the tenth that they began in.
    out: Ring<u32, TENTHS>,
    /// Attempts that are out and began before all of those.
    overdue: u32,
    /// When the first of those that are overdue without a break began, at the latest.
    overdue_from: Instant,
    /// Which attempts it has counted: a transition and a reload begin anew.
    life: u32,
}

/// In which life an attempt is counted among those that are out; a pass is copied at every send, and this is kept short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watch(u32);

impl Watch {
    /// In none.
    pub(super) const NONE: Self = Self(0);
}

impl Slow {
    pub(super) fn new(policy: SlowCall, window: Duration) -> Self {
        Self {
            policy,
            ended: Ring::new(window),
            out: Ring::new(policy.over),
            overdue: 0,
            overdue_from: Instant::START,
            life: 1,
        }
    }

    /// Takes another policy: what is out is counted from here on.
    pub(super) fn configure(&mut self, now: Instant, policy: SlowCall, window: Duration) {
        let carried = u32::try_from(self.ended(now)).unwrap_or(u32::MAX);
        if self.ended.window() != window {
            self.ended.restart(now, window, carried);
        }
        if self.policy.over != policy.over {
            self.out = Ring::new(policy.over);
            self.begin_life();
        }
        self.policy = policy;
    }

    /// Forgets the ends, and whom it watched: another epoch begins.
    pub(super) fn clear(&mut self, now: Instant) {
        self.ended.turn_to(now);
        self.ended.clear();
        self.out.clear();
        self.begin_life();
    }

    const fn begin_life(&mut self) {
        self.overdue = 0;
        self.life = self.life.wrapping_add(1);
        if self.life == Watch::NONE.0 {
            self.life = 1;
        }
    }

    pub(super) const fn per_mille(&self) -> u32 {
        self.policy.per_mille
    }

    /// Whether an attempt of this length is slow.
    pub(super) fn is_slow(&self, took: Duration) -> bool {
        took > self.policy.over
    }

    /// Counts an attempt that is sent.
    pub(super) fn watch(&mut self, now: Instant) -> Watch {
        self.turn(now);
        let count = self.out.newest_mut();
        *count = count.saturating_add(1);
        Watch(self.life)
    }

    /// The attempt that began at `began` is out no more, or has proved to be well.
    pub(super) fn unwatch(&mut self, now: Instant, began: Instant, watch: Watch) {
        self.turn(now);
        if watch.0 != self.life {
            return;
        }
        let count = match self.out.at_mut(began) {
            Some(count) => count,
            None => &mut self.overdue,
        };
        *count = count.saturating_sub(1);
    }

    /// Counts an attempt that ended slow.
    pub(super) fn end(&mut self, now: Instant) {
        self.ended.turn_to(now);
        let count = self.ended.newest_mut();
        *count = count.saturating_add(1);
    }

    /// Attempts that ended slow within the window.
    pub(super) fn ended(&mut self, now: Instant) -> u64 {
        self.ended.turn_to(now);
        self.seen()
    }

    /// The same as of the last time told.
    pub(super) fn seen(&self) -> u64 {
        self.ended.all().iter().map(|count| u64::from(*count)).sum()
    }

    /// Attempts that are out and have taken too long already, and since when there are any.
    pub(super) fn overdue(&mut self, now: Instant) -> (u64, Instant) {
        self.turn(now);
        (u64::from(self.overdue), self.overdue_from)
    }

    fn turn(&mut self, now: Instant) {
        if now < self.out.next_turn() {
            return;
        }
        let before = self.out_young();
        self.out.turn_to(now);
        // What the ring let go of is out still.
        let more = before - self.out_young();
        if self.overdue == 0 && more > 0 {
            self.overdue_from = now.before(self.policy.over);
        }
        self.overdue = self.overdue.saturating_add(more);
    }

    fn out_young(&self) -> u32 {
        self.out
            .all()
            .iter()
            .fold(0, |sum: u32, count| sum.saturating_add(*count))
    }
}
