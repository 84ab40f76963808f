//! What a gate keeps for hedges: the times that a percentile is taken from, and how many calls were hedged (rule J1).
//!
//! What can go wrong: hedges are sent for the slowest twentieth of calls, an upstream slows down, and by what was known
//! a moment ago every call is among them: twice the load, just then. The budget bounds retries and hedges together, so
//! that one may use up what the other needs. So hedges can be given a share of their own, kept as the budget is and
//! over the same window, without a floor: hedges granted ≤ share × calls, at every instant. One that was granted counts
//! even if it never left.
//!
//! Nothing of it is kept at a gate whose calls are not hedged, or after a fixed time alone.

use crate::budget::Budget;
use crate::policy::{BudgetPolicy, DEFAULT_BUDGET_WINDOW, HedgeAfter, OnEmpty};
use crate::time::{Duration, Instant};
use crate::times::Times;

/// Kept by a gate from the first call on that needs it.
#[derive(Clone, Debug)]
pub(crate) struct Hedging {
    times: Times,
    share: Budget,
}

impl Hedging {
    pub(crate) fn new(now: Instant, window: Duration) -> Self {
        Self {
            times: Times::new(now),
            share: Budget::new(&share(0, window)),
        }
    }

    /// The gate's budget counts over another window.
    pub(crate) fn configure(&mut self, now: Instant, window: Duration) {
        self.share.configure(now, &share(0, window));
    }

    /// How long a first attempt runs alone that is sent now; `None` while nobody can say, and it runs alone to its end.
    pub(crate) fn delay(&mut self, now: Instant, after: HedgeAfter) -> Option<Duration> {
        match after {
            HedgeAfter::Fixed(length) => Some(length),
            HedgeAfter::Percentile { per_mille } => self.times.percentile(now, per_mille),
        }
    }

    /// Whether one more of a thousand calls may be hedged, where `most` may be.
    pub(crate) fn has_room(&mut self, now: Instant, most: u32, window: Duration) -> bool {
        self.share.configure(now, &share(most, window));
        self.share.room(now).is_ok()
    }

    /// Counts a hedge that is sent, where there was room for it just before.
    pub(crate) fn hedged(&mut self, now: Instant) {
        // Counted to its window's end, whatever becomes of it.
        let _ = self.share.charge(now);
    }

    /// Counts a call, as the budget does (rule G2).
    pub(crate) fn original(&mut self, now: Instant) {
        self.share.original(now);
    }

    /// An attempt's first byte came after `took`.
    pub(crate) fn came(&mut self, now: Instant, took: Duration) {
        self.times.came(now, took);
    }

    /// An attempt was dropped, or timed out, after `given` without a first byte.
    pub(crate) fn dropped(&mut self, now: Instant, given: Duration) {
        self.times.dropped(now, given);
    }
}

/// The window of a gate's budget, or the default's where it has none.
pub(crate) fn window_of(budget: Option<&Budget>) -> Duration {
    budget.map_or(DEFAULT_BUDGET_WINDOW, Budget::window)
}

const fn share(ratio_per_mille: u32, window: Duration) -> BudgetPolicy {
    BudgetPolicy {
        ratio_per_mille,
        floor_milli: 0,
        window,
        on_empty: OnEmpty::Stop,
    }
}
