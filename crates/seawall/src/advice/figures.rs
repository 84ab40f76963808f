//! Closed forms: what a policy comes to, in whole thousandths and nanoseconds.
//!
//! What can go wrong: a figure that is nearly right is believed and is wrong at the edge. So each is the engine's own
//! arithmetic (the ranges that delays are drawn from, the limits that a permit carries, the budget's bound) summed up,
//! or the integer that the bound gives; rates and shares are thousandths, and a bound is rounded away from comfort.
//! Reference for the forms about load: Site Reliability Engineering, chapters 21 and 22; Bronson et al., "Metastable
//! Failures in Distributed Systems" (HotOS 2021).

use super::traffic::Rate;
use seawall_core::load;
pub(super) use seawall_core::load::{Starving, hung_attempts};
use seawall_core::policy::{BudgetPolicy, CallPolicy};
use seawall_core::time::Duration;

/// The waits of a call that fails to its end, by our own guess alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnWaits {
    /// All of them together, each drawn as short as may be.
    pub(super) shortest: Duration,
    /// All of them together, each drawn as long as may be.
    pub(super) longest: Duration,
}

/// The waits before all retries that the policy allows, before the deadline cuts them.
pub(super) fn own_waits(call: &CallPolicy) -> OwnWaits {
    let backoff = call.backoff();
    let mut waits = OwnWaits {
        shortest: Duration::ZERO,
        longest: Duration::ZERO,
    };
    let mut previous = Duration::ZERO;
    for retries_made in 0..call.retries() {
        let shortest = backoff.range(retries_made, Duration::ZERO).shortest;
        previous = backoff.range(retries_made, previous).longest;
        waits.shortest = waits.shortest.plus(shortest);
        waits.longest = waits.longest.plus(previous);
    }
    waits
}

/// The most attempts of one call, those at other upstreams included (rule K1).
pub(super) fn sends_max(retries: u32, fallbacks: u32) -> u64 {
    1 + u64::from(retries) + u64::from(fallbacks)
}

/// What a budget allows ([`load::Bound`]), in rates as they are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(load::Bound);

impl Bound {
    pub(super) fn new(budget: &BudgetPolicy, processes: u32) -> Self {
        Self(load::Bound::new(budget, processes))
    }

    /// The floors of all processes.
    pub(super) fn floors(&self) -> Rate {
        Rate::from_milli(self.0.floors_milli())
    }

    /// See [`load::Bound::floor_rules_below_milli`].
    pub(super) fn floor_rules_below(&self) -> Option<Rate> {
        self.0.floor_rules_below_milli().map(Rate::from_milli)
    }

    /// See [`load::Bound::burst_of_floors_milli`].
    pub(super) fn burst_of_floors_milli(&self) -> u64 {
        self.0.burst_of_floors_milli()
    }

    /// See [`load::Bound::burst_of_ratio_per_mille`].
    pub(super) fn burst_of_ratio_per_mille(&self) -> u64 {
        self.0.burst_of_ratio_per_mille()
    }

    /// See [`load::Bound::starves_below`].
    pub(super) fn starves_below(&self) -> Starving {
        self.0.starves_below()
    }

    /// See [`load::Bound::attempts_max_milli`].
    pub(super) fn attempts_max(&self, calls: Rate, attempts_per_call: u64) -> Rate {
        Rate::from_milli(self.0.attempts_max_milli(calls.milli(), attempts_per_call))
    }

    /// See [`load::Bound::calls_borne_milli`].
    pub(super) fn calls_borne(&self, capacity: Rate) -> Rate {
        Rate::from_milli(self.0.calls_borne_milli(capacity.milli()))
    }
}

/// Attempts that go by on average until `run` in a row fail, where each fails with this chance in thousandths:
/// (1 − pⁿ) ÷ (pⁿ(1 − p)), rounded down.
pub(super) fn attempts_until_run(run: u32, fails_per_mille: u32) -> u64 {
    // Backwards from a whole run: E(n) = (E(n − 1) + 1) ÷ p, in thousandths.
    let p = u128::from(fails_per_mille.clamp(1, 1_000));
    let mut milli: u128 = 0;
    for _ in 0..run {
        milli = (milli + 1_000) * 1_000 / p;
        if milli > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    whole(milli / 1_000)
}

fn whole(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
