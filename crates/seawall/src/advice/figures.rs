//! Closed forms: what a policy comes to, in whole thousandths and nanoseconds.
//!
//! What can go wrong: a figure that is nearly right is believed and is wrong at the edge. So each is the engine's own
//! arithmetic (the ranges that delays are drawn from, the limits that a permit carries, the budget's bound) summed up,
//! or the integer that the bound gives; rates and shares are thousandths, and a bound is rounded away from comfort.
//! Reference for the forms about load: Site Reliability Engineering, chapters 21 and 22; Bronson et al., "Metastable
//! Failures in Distributed Systems" (HotOS 2021).

use super::traffic::Rate;
use seawall_core::policy::{BudgetPolicy, CallPolicy};
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;

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

/// Attempts of one call that begin, where each gets no answer until its limit ends it and each wait is as short as
/// may be: the most that fit before the deadline.
pub(super) fn hung_attempts(call: &CallPolicy, endpoint: Endpoint) -> u32 {
    let deadline = Instant::START.after(call.deadline_for(endpoint));
    let limit = |now| call.limits_for(endpoint, now, deadline).first_byte;
    let mut now = Instant::START.after(limit(Instant::START));
    let mut begun = 1;
    while begun <= call.retries() {
        let wait = call.backoff().range(begun - 1, Duration::ZERO).shortest;
        let next = now.after(wait);
        if deadline.since(next) < call.timeouts().min_attempt() || next >= deadline {
            break;
        }
        begun += 1;
        now = next.after(limit(next));
    }
    begun
}

/// The most attempts of one call, those at other upstreams included (rule K1).
pub(super) fn sends_max(retries: u32, fallbacks: u32) -> u64 {
    1 + u64::from(retries) + u64::from(fallbacks)
}

/// What a budget allows, from its bound (rule G1): extras ≤ floor × W + ratio × originals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    floor_milli: u128,
    ratio_per_mille: u128,
    window_nanos: u128,
    processes: u128,
}

const SECOND: u128 = 1_000_000_000;

impl Bound {
    pub(super) fn new(budget: &BudgetPolicy, processes: u32) -> Self {
        Self {
            floor_milli: u128::from(budget.floor_milli()),
            ratio_per_mille: u128::from(budget.ratio_per_mille()),
            window_nanos: u128::from(budget.window().as_nanos()),
            processes: u128::from(processes),
        }
    }

    /// The floors of all processes.
    pub(super) fn floors(&self) -> Rate {
        rate(self.floor_milli * self.processes)
    }

    /// Calls a second at which the floors are as much as the ratio; nothing where the ratio adds nothing.
    pub(super) fn floor_rules_below(&self) -> Option<Rate> {
        let calls = (self.floor_milli * self.processes * 1_000).checked_div(self.ratio_per_mille)?;
        Some(rate(calls))
    }

    /// Extras that one window's floors allow at once, in thousandths.
    pub(super) fn burst_of_floors_milli(&self) -> u64 {
        whole(self.floor_milli * self.processes * self.window_nanos / SECOND)
    }

    /// Extras for each call of a second that one window's ratio allows at once, in thousandths: ratio × W.
    pub(super) fn burst_of_ratio_per_mille(&self) -> u64 {
        whole(self.ratio_per_mille * self.window_nanos / SECOND)
    }

    /// Calls a second, of one process, below which a whole window never allows a single extra; zero where it always
    /// does, nothing where it never does.
    pub(super) fn starves_below(&self) -> Starving {
        let of_floor = self.floor_milli * self.window_nanos / SECOND;
        let lacking = 1_000_u128.saturating_sub(of_floor);
        let per_call = self.ratio_per_mille * self.window_nanos;
        match (lacking, per_call) {
            (0, _) => Starving::Never,
            (_, 0) => Starving::Always,
            (lacking, per_call) => Starving::Below(rate((lacking * 1_000 * SECOND).div_ceil(per_call))),
        }
    }

    /// Attempts a second at the most where `calls` come in and all fail: λ(1+β) and the floors, and never more than
    /// each call's own attempts.
    pub(super) fn attempts_max(&self, calls: Rate, attempts_per_call: u64) -> Rate {
        let calls = u128::from(calls.milli());
        let bounded =
            (calls * (1_000 + self.ratio_per_mille)).div_ceil(1_000) + self.floor_milli * self.processes;
        rate(bounded.min(calls * u128::from(attempts_per_call)))
    }

    /// Calls a second that a capacity bears, extras included: (C − floors) ÷ (1+β).
    pub(super) fn calls_borne(&self, capacity: Rate) -> Rate {
        let left = u128::from(capacity.milli()).saturating_sub(self.floor_milli * self.processes);
        rate(left * 1_000 / (1_000 + self.ratio_per_mille))
    }
}

/// When a budget lets no extra through at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Starving {
    /// Its floor is at least one extra a window.
    Never,
    /// While fewer calls come in.
    Below(Rate),
    /// It adds up to nothing.
    Always,
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

fn rate(milli: u128) -> Rate {
    Rate::from_milli(whole(milli))
}

fn whole(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
