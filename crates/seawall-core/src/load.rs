//! What a policy can do to an upstream's load, in closed form.
//!
//! What can go wrong: advice, a report and a simulation each reckon how much a policy adds, and disagree at the edge.
//! So the forms stand here once, in whole thousandths: each is the engine's own arithmetic (the limits that a permit
//! carries, the budget's bound) summed up, and a bound is rounded away from comfort.
//!
//! Not covered: what happens over time, such as queues that fill and drain. Reference: Site Reliability Engineering,
//! chapters 21 and 22; Bronson et al., "Metastable Failures in Distributed Systems" (HotOS 2021).

use crate::policy::{BudgetPolicy, CallPolicy};
use crate::time::{Duration, Instant};
use crate::verdict::Endpoint;

/// The most attempts of one call at one upstream: itself and its retries, each of them hedged once where hedges are on.
///
/// ```
/// use seawall_core::{load, policy::{Policy, Preset}};
/// assert_eq!(load::attempts_max(&Policy::preset(Preset::Default).call), 6);
/// ```
pub fn attempts_max(call: &CallPolicy) -> u64 {
    let each = if call.hedge().is_some() { 2 } else { 1 };
    each * (1 + u64::from(call.retries()))
}

/// Attempts of one call that begin, where each gets no answer until its limit ends it and each wait is as short as
/// may be: the most that fit before the deadline.
pub fn hung_attempts(call: &CallPolicy, endpoint: Endpoint) -> u32 {
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

/// What a budget allows, from its bound (rule G1): extras ≤ floor × W + ratio × originals.
///
/// ```
/// use seawall_core::{load::Bound, policy::{Policy, Preset}};
/// let budget = Policy::preset(Preset::Default).gate.budget().expect("the default policy has one");
/// let bound = Bound::new(&budget, 1);
/// // 100 calls a second that all fail become 110 attempts and the floor's one; 280 fit into 310 a second.
/// assert_eq!(bound.attempts_max_milli(100_000, 6), 111_000);
/// assert_eq!(bound.calls_borne_milli(310_000), 280_909);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    floor_milli: u128,
    ratio_per_mille: u128,
    window_nanos: u128,
    processes: u128,
}

const SECOND: u128 = 1_000_000_000;

impl Bound {
    /// Of this budget in each of so many processes.
    pub fn new(budget: &BudgetPolicy, processes: u32) -> Self {
        Self {
            floor_milli: u128::from(budget.floor_milli()),
            ratio_per_mille: u128::from(budget.ratio_per_mille()),
            window_nanos: u128::from(budget.window().as_nanos()),
            processes: u128::from(processes),
        }
    }

    /// The floors of all processes, in thousandths of an extra a second.
    pub fn floors_milli(&self) -> u64 {
        whole(self.floor_milli * self.processes)
    }

    /// Calls a second, in thousandths, at which the floors are as much as the ratio; nothing where the ratio adds nothing.
    pub fn floor_rules_below_milli(&self) -> Option<u64> {
        let calls = (self.floor_milli * self.processes * 1_000).checked_div(self.ratio_per_mille)?;
        Some(whole(calls))
    }

    /// Extras that one window's floors allow at once, in thousandths.
    pub fn burst_of_floors_milli(&self) -> u64 {
        whole(self.floor_milli * self.processes * self.window_nanos / SECOND)
    }

    /// Extras for each call of a second that one window's ratio allows at once, in thousandths: ratio × W.
    pub fn burst_of_ratio_per_mille(&self) -> u64 {
        whole(self.ratio_per_mille * self.window_nanos / SECOND)
    }

    /// Calls a second, of one process, below which a whole window never allows a single extra; zero where it always
    /// does, nothing where it never does.
    pub fn starves_below(&self) -> Starving {
        let of_floor = self.floor_milli * self.window_nanos / SECOND;
        let lacking = 1_000_u128.saturating_sub(of_floor);
        let per_call = self.ratio_per_mille * self.window_nanos;
        match (lacking, per_call) {
            (0, _) => Starving::Never,
            (_, 0) => Starving::Always,
            (lacking, per_call) => Starving::BelowMilli(whole((lacking * 1_000 * SECOND).div_ceil(per_call))),
        }
    }

    /// Attempts a second at the most, in thousandths, where so many calls come in and all fail: λ(1+β) and the floors,
    /// and never more than each call's own attempts.
    pub fn attempts_max_milli(&self, calls_milli: u64, attempts_per_call: u64) -> u64 {
        let calls = u128::from(calls_milli);
        let bounded =
            (calls * (1_000 + self.ratio_per_mille)).div_ceil(1_000) + self.floor_milli * self.processes;
        whole(bounded.min(calls * u128::from(attempts_per_call)))
    }

    /// Calls a second that a capacity bears, in thousandths, extras included: (C − floors) ÷ (1+β).
    pub fn calls_borne_milli(&self, capacity_milli: u64) -> u64 {
        let left = u128::from(capacity_milli).saturating_sub(self.floor_milli * self.processes);
        whole(left * 1_000 / (1_000 + self.ratio_per_mille))
    }
}

/// When a budget lets no extra through at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starving {
    /// Its floor is at least one extra a window.
    Never,
    /// While fewer calls a second come in, in thousandths.
    BelowMilli(u64),
    /// It adds up to nothing.
    Always,
}

fn whole(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
