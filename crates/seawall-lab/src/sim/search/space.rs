//! What is searched: a grid of settings, and the policy at each of its points.
//!
//! What can go wrong: a search over numbers that nobody would write, of which two that differ by a hair are two
//! candidates. So each setting has a few values, a factor of two or so apart, as people write them; what the search does
//! not touch (deadline, hints, limits, on_empty, on_open) stays as the scenario's own policy has it.

use crate::sim::luck::{Luck, Purpose};
use seawall_core::policy::{Jitter, Policy, PolicyBuilder};
use seawall_core::time::Duration;

/// A setting that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knob {
    /// `retries`.
    Retries,
    /// `backoff.base`; `backoff.min` is a tenth of it.
    Base,
    /// `backoff.cap`.
    Cap,
    /// `backoff.jitter`.
    Jitter,
    /// `timeouts.first_byte`.
    FirstByte,
    /// `budget.ratio`, or no budget.
    Ratio,
    /// `budget.floor`.
    Floor,
    /// `breaker.failure_rate`, or no breaker.
    FailureRate,
    /// `breaker.consecutive`.
    Consecutive,
    /// `breaker.window`.
    Window,
    /// `breaker.open_for`.
    OpenFor,
    /// `hedge.after` and `hedge.at_most`, or no hedge.
    Hedge,
}

impl Knob {
    /// All of them, in the order of a point.
    pub const ALL: [Self; 12] = [
        Self::Retries,
        Self::Base,
        Self::Cap,
        Self::Jitter,
        Self::FirstByte,
        Self::Ratio,
        Self::Floor,
        Self::FailureRate,
        Self::Consecutive,
        Self::Window,
        Self::OpenFor,
        Self::Hedge,
    ];

    /// Its key in a `[policy]` table.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Retries => "retries",
            Self::Base => "backoff.base",
            Self::Cap => "backoff.cap",
            Self::Jitter => "backoff.jitter",
            Self::FirstByte => "timeouts.first_byte",
            Self::Ratio => "budget.ratio",
            Self::Floor => "budget.floor",
            Self::FailureRate => "breaker.failure_rate",
            Self::Consecutive => "breaker.consecutive",
            Self::Window => "breaker.window",
            Self::OpenFor => "breaker.open_for",
            Self::Hedge => "hedge",
        }
    }
}

const RETRIES: [u32; 7] = [0, 1, 2, 3, 5, 8, 10];
const BASES: [Duration; 7] = millis([50, 100, 200, 500, 1_000, 2_000, 5_000]);
const CAPS: [Duration; 5] = millis([1_000, 5_000, 10_000, 30_000, 60_000]);
const JITTERS: [Jitter; 3] = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated];
/// Thousandths; `None` is no budget.
const RATIOS: [Option<u32>; 6] = [Some(20), Some(50), Some(100), Some(200), Some(500), None];
/// Thousandths of an extra a second.
const FLOORS: [u64; 3] = [0, 100, 1_000];
/// Thousandths; `None` is no breaker.
const FAILURE_RATES: [Option<u32>; 6] = [Some(100), Some(300), Some(500), Some(700), Some(900), None];
const CONSECUTIVES: [u32; 4] = [5, 10, 20, 50];
const WINDOWS: [Duration; 3] = millis([10_000, 30_000, 60_000]);
const OPEN_FORS: [Duration; 4] = millis([1_000, 2_000, 5_000, 15_000]);
/// The percentile, and the largest share of calls, both in thousandths; `None` is no hedge.
const HEDGES: [Option<(u32, u32)>; 4] = [None, Some((990, 20)), Some((950, 50)), Some((900, 100))];
/// Limits of an attempt to its first byte that a scenario may have; those are tried that its answers fit into.
const FIRST_BYTES: [Duration; 10] =
    millis([100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000]);

const fn millis<const N: usize>(all: [u64; N]) -> [Duration; N] {
    let mut lengths = [Duration::ZERO; N];
    let mut nth = 0;
    while nth < N {
        lengths[nth] = Duration::from_millis(all[nth]);
        nth += 1;
    }
    lengths
}

/// One point of the grid: which value each setting has, in the order of [`Knob::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point([u8; Knob::ALL.len()]);

/// The grid around a policy.
#[derive(Clone, Debug)]
pub(super) struct Space {
    base: Policy,
    /// Shorter than the deadline, and longer than most answers.
    first_bytes: Vec<Duration>,
    luck: Luck,
}

impl Space {
    /// Around `base`, of a world whose answers take `answer` on average.
    pub(super) fn new(base: Policy, answer: Duration, luck: Luck) -> Self {
        let deadline = base.call.deadline();
        let mut first_bytes: Vec<Duration> = FIRST_BYTES
            .into_iter()
            .filter(|length| *length >= answer.times(2) && *length < deadline)
            .collect();
        if first_bytes.is_empty() {
            first_bytes.push(deadline);
        }
        Self {
            base,
            first_bytes,
            luck,
        }
    }

    /// How many values a setting has.
    fn values(&self, knob: Knob) -> usize {
        match knob {
            Knob::Retries => RETRIES.len(),
            Knob::Base => BASES.len(),
            Knob::Cap => CAPS.len(),
            Knob::Jitter => JITTERS.len(),
            Knob::FirstByte => self.first_bytes.len(),
            Knob::Ratio => RATIOS.len(),
            Knob::Floor => FLOORS.len(),
            Knob::FailureRate => FAILURE_RATES.len(),
            Knob::Consecutive => CONSECUTIVES.len(),
            Knob::Window => WINDOWS.len(),
            Knob::OpenFor => OPEN_FORS.len(),
            Knob::Hedge => HEDGES.len(),
        }
    }

    /// So many points, each value of each setting as often as the others; `nth` tells sets apart.
    pub(super) fn spread(&self, count: usize, nth: u64) -> Vec<Point> {
        let mut points = vec![Point([0; Knob::ALL.len()]); count];
        for (place, knob) in Knob::ALL.into_iter().enumerate() {
            let mut order: Vec<usize> = (0..count).collect();
            let mut draws = self.luck.of(Purpose::Search, nth, place as u64);
            for last in (1..count).rev() {
                let below = u32::try_from(last + 1).expect("points are counted in 32 bits");
                order.swap(last, draws.below(below) as usize);
            }
            for (point, drawn) in points.iter_mut().zip(order) {
                point.0[place] = u8::try_from(drawn % self.values(knob)).expect("a few values each");
            }
        }
        points
    }

    /// Every point that differs in one setting by one value, with that setting.
    pub(super) fn neighbours(&self, point: Point) -> Vec<(Knob, Point)> {
        let mut all = Vec::new();
        for (place, knob) in Knob::ALL.into_iter().enumerate() {
            let value = usize::from(point.0[place]);
            let (below, above) = (value.checked_sub(1), Some(value + 1));
            for value in [below, above].into_iter().flatten() {
                if value < self.values(knob) {
                    let mut other = point;
                    other.0[place] = u8::try_from(value).expect("a few values each");
                    all.push((knob, other));
                }
            }
        }
        all
    }

    /// The policy at a point; `None` where its settings contradict each other.
    pub(super) fn policy(&self, point: Point) -> Option<Policy> {
        let value = |knob: Knob| {
            let place = Knob::ALL.into_iter().position(|known| known == knob);
            usize::from(point.0[place.expect("every knob is among all")])
        };
        let base = BASES[value(Knob::Base)];
        let builder = self
            .plain()
            .retries(RETRIES[value(Knob::Retries)])
            .backoff_base(base)
            .backoff_min(base.over(10))
            .backoff_cap(CAPS[value(Knob::Cap)])
            .jitter(JITTERS[value(Knob::Jitter)])
            .first_byte(self.first_bytes[value(Knob::FirstByte)]);
        let builder = match RATIOS[value(Knob::Ratio)] {
            None => builder.budget(None),
            Some(ratio) => builder.edit_budget(|budget| {
                budget
                    .ratio_per_mille(ratio)
                    .floor_milli(FLOORS[value(Knob::Floor)])
            }),
        };
        let builder = match FAILURE_RATES[value(Knob::FailureRate)] {
            None => builder.breaker(None),
            Some(share) => builder.edit_breaker(|breaker| {
                breaker
                    .failure_per_mille(share)
                    .consecutive(CONSECUTIVES[value(Knob::Consecutive)])
                    .window(WINDOWS[value(Knob::Window)])
                    .open_for(OPEN_FORS[value(Knob::OpenFor)])
            }),
        };
        let builder = match HEDGES[value(Knob::Hedge)] {
            None => builder,
            Some((percentile, at_most)) => builder
                .hedge_after_percentile(percentile)
                .hedge_at_most_per_mille(at_most),
        };
        builder.build().ok()
    }

    /// The scenario's own policy without the parts that a point decides.
    const fn plain(&self) -> PolicyBuilder {
        PolicyBuilder::from_policy(self.base).no_hedge()
    }
}
