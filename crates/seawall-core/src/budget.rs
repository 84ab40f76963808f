//! How many extras a gate allows: a bound on the load that retries and hedges add.
//!
//! What can go wrong: every call retries a few times, and an upstream that fails for a moment meets several times
//! its load, for as long as it fails. Per-call limits don't help, since it is their sum that hurts. A token bucket
//! saves its tokens through the quiet hours and spends them all at once; a ratio kept in floats, or as a truncated
//! reciprocal, allows half again what was written. So extras are counted over a sliding window against the
//! originals of that window, in integers, and each grant is checked against the bound itself:
//!
//! > extras granted in the last W, this one included ≤ floor × W + ratio × originals in the last W
//!
//! The window is a ring of eleven buckets of W/10. Extras are summed over all eleven, which reach back over the
//! last W whole; originals over the newest ten, which reach back less than W. So each side errs against the
//! caller and the bound holds for the exact window at every grant, though some extra that it would allow is
//! refused: one counts until it is at most 1.1 W old, an original while it is at least 0.9 W young.
//!
//! Not covered: the allowance of one window may go in one moment; processes do not share it; below floor/ratio
//! calls per second the floor is the larger part. Reference: Site Reliability Engineering, chapter 21, "Handling
//! Overload" (a retry budget per client of 10 %).

use crate::policy::{BudgetPolicy, OnEmpty};
use crate::ring::Ring;
use crate::time::{Duration, Instant};

/// Originals and extras of the last window at one gate.
///
/// One call's extra may be bounded by several budgets (the gate's own and its parents'). Ask [`room`](Self::room)
/// of each, and only when all have room, [`charge`](Self::charge) each: a refusal then takes nothing.
///
/// It never blocks a first attempt, and never speaks of one that has not ended.
///
/// ```
/// use seawall_core::{budget::Budget, policy::Policy, time::Instant};
/// let policy = Policy::builder().edit_budget(|b| b.floor_milli(0).ratio_per_mille(100)).build()?;
/// let mut budget = Budget::new(&policy.gate.budget().expect("the default policy has a budget"));
/// let now = Instant::START;
/// for _ in 0..19 {
///     budget.original(now);
/// }
/// assert!(budget.room(now).is_ok());
/// budget.charge(now);
/// let empty = budget.room(now).unwrap_err(); // 10 % of 19 is 1.9
/// assert_eq!((empty.granted, empty.allowed), (1, 1));
/// # Ok::<(), seawall_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    floor_milli: u64,
    ratio_per_mille: u32,
    on_empty: OnEmpty,
    ring: Ring<Bucket, 11>,
    era: u64,
    carried: Carried,
}

/// One granted extra: says where it is counted, so that it can be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an extra that is never sent is given back"]
pub struct Charge {
    era: u64,
    bucket: u64,
}

/// No room for one more extra, and the numbers that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Empty {
    /// Extras granted within the window.
    pub granted: u64,
    /// Extras that the window allows, the fraction cut off.
    pub allowed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    originals: u32,
    extras: u32,
}

// Counts are small, as every key of a process has eleven of these. What they cannot hold errs against the caller: an
// original that is not counted gives no credit, and where an extra would not be, none is granted.
impl Bucket {
    const fn of(originals: u64, extras: u64) -> Self {
        Self {
            originals: narrowed(originals),
            extras: narrowed(extras),
        }
    }

    const fn is_full(&self) -> bool {
        self.extras == u32::MAX
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what does not fit was taken for the most that does"
)]
const fn narrowed(count: u64) -> u32 {
    if count > u32::MAX as u64 {
        u32::MAX
    } else {
        count as u32
    }
}

/// Where the sums of the window before the last change stand.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    /// The oldest bucket of the old ring that was still counted.
    oldest: u64,
    /// The bucket of the new ring that they went to.
    into: u64,
}

impl Budget {
    /// A budget that has seen nothing: the floor alone.
    pub fn new(policy: &BudgetPolicy) -> Self {
        Self::reborn(policy, 0)
    }

    /// The same in the place of `earlier` others, to whom nothing of it is given back.
    pub(crate) fn reborn(policy: &BudgetPolicy, earlier: u32) -> Self {
        Self {
            floor_milli: floor_milli(policy),
            ratio_per_mille: policy.ratio_per_mille,
            on_empty: policy.on_empty,
            ring: Ring::new(policy.window),
            era: u64::from(earlier) << 32,
            carried: Carried::default(),
        }
    }

    /// Counts one original. Tell it once per call, when the first attempt is settled or abandoned and before the
    /// retry is asked for, so that the credit is there when the failure is (rule G2).
    #[inline]
    pub fn original(&mut self, now: Instant) {
        self.ring.turn_to(now);
        let bucket = self.ring.newest_mut();
        bucket.originals = bucket.originals.saturating_add(1);
    }

    /// Says whether one more extra fits now. Takes nothing.
    ///
    /// # Errors
    /// [`Empty`] with the numbers, where it does not fit.
    pub fn room(&mut self, now: Instant) -> Result<(), Empty> {
        self.ring.turn_to(now);
        let (granted, allowed) = (self.granted(), self.allowed());
        if self.ring.all().iter().any(Bucket::is_full) {
            return Err(Empty { granted, allowed });
        }
        if granted < allowed {
            Ok(())
        } else {
            Err(Empty { granted, allowed })
        }
    }

    /// Counts one extra. Call it only after [`room`](Self::room) had room at the same `now`, under the same lock.
    pub fn charge(&mut self, now: Instant) -> Charge {
        self.ring.turn_to(now);
        let bucket = self.ring.newest_mut();
        bucket.extras = bucket.extras.saturating_add(1);
        debug_assert!(
            self.granted() <= self.allowed(),
            "an extra is charged only where there was room"
        );
        Charge {
            era: self.era,
            bucket: self.ring.newest_number(),
        }
    }

    /// Takes back an extra that was never sent. Counts while the charge's bucket is in the ring; after that the
    /// extra no longer counts anyway. Call it at most once per charge.
    pub fn give_back(&mut self, now: Instant, charge: Charge) {
        self.ring.turn_to(now);
        let number = if charge.era == self.era {
            charge.bucket
        } else if charge.era.wrapping_add(1) == self.era && charge.bucket >= self.carried.oldest {
            self.carried.into
        } else {
            return;
        };
        if let Some(bucket) = self.ring.numbered_mut(number)
            && !bucket.is_full()
        {
            bucket.extras = bucket.extras.saturating_sub(1);
        }
    }

    /// Takes another policy and keeps what was counted (a reload). The ring of a changed window starts with the
    /// old sums in the oldest bucket in which both count: they bear on the next grant, and leave within two turns.
    pub fn configure(&mut self, now: Instant, policy: &BudgetPolicy) {
        self.ring.turn_to(now);
        if policy.window != self.ring.window() {
            let carried = Bucket::of(self.originals(), self.granted());
            self.carried.oldest = self.ring.oldest_number();
            self.carried.into = self.ring.restart(now, policy.window, carried);
            self.era = self.era.wrapping_add(1);
        }
        self.floor_milli = floor_milli(policy);
        self.ratio_per_mille = policy.ratio_per_mille;
        self.on_empty = policy.on_empty;
    }

    /// When the newest bucket ends, as of the last time told: the next instant at which room can come back by
    /// itself. Those who wait for credit are asked again then.
    pub const fn next_turn(&self) -> Instant {
        self.ring.next_turn()
    }

    /// Over how long it counts.
    pub(crate) const fn window(&self) -> Duration {
        self.ring.window()
    }

    /// What a call does that finds no room.
    pub const fn on_empty(&self) -> OnEmpty {
        self.on_empty
    }

    /// Extras granted within the ring, as of the last time told.
    pub fn granted(&self) -> u64 {
        self.ring
            .all()
            .iter()
            .map(|bucket| u64::from(bucket.extras))
            .sum()
    }

    /// Extras that the ring allows, as of the last time told, the fraction cut off.
    pub fn allowed(&self) -> u64 {
        let credit_milli = u64::from(self.ratio_per_mille).saturating_mul(self.originals());
        self.floor_milli.saturating_add(credit_milli) / 1_000
    }

    /// Whether no extra of its window is owed any more.
    pub(crate) fn owes_nothing(&mut self, now: Instant) -> bool {
        self.ring.turn_to(now);
        self.granted() == 0
    }

    /// Originals of the newest ten buckets.
    fn originals(&self) -> u64 {
        let all = self.ring.all().iter();
        let all: u64 = all.map(|bucket| u64::from(bucket.originals)).sum();
        all - u64::from(self.ring.oldest().originals)
    }
}

/// What the floor gives per window, in thousandths of an extra. The rest that is cut off never decides: the other
/// terms of the bound are whole thousandths.
fn floor_milli(policy: &BudgetPolicy) -> u64 {
    let per_second = u128::from(Duration::from_secs(1).as_nanos());
    let milli = u128::from(policy.floor_milli) * u128::from(policy.window.as_nanos()) / per_second;
    u64::try_from(milli).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
