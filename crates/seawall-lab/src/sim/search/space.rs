//! What is searched: a grid of settings, and the policy at each of its points.
//!
//! What can go wrong: a search over numbers that nobody would write, of which two that differ by a hair are two
//! candidates, and so are two that differ in what neither uses; or one that never looks near the policy that is there. So
//! each setting has a few values, a factor of two or so apart, as people write them, and beside them the scenario's own;
//! a setting of a breaker, a budget or a wait that a point has not stays at that; and what the search does not touch
//! (deadline, hints, limits, on_empty, on_open) stays as the scenario's own policy has it.

use crate::sim::luck::{Luck, Purpose};
use seawall_core::policy::{Hedge, HedgeAfter, Jitter, Policy, PolicyBuilder};
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
/// Thousandths; no budget comes behind them.
const RATIOS: [u32; 5] = [20, 50, 100, 200, 500];
/// Thousandths of an extra a second.
const FLOORS: [u64; 3] = [0, 100, 1_000];
/// Thousandths; no breaker comes behind them.
const FAILURE_RATES: [u32; 5] = [100, 300, 500, 700, 900];
const CONSECUTIVES: [u32; 4] = [5, 10, 20, 50];
const WINDOWS: [Duration; 3] = millis([10_000, 30_000, 60_000]);
const OPEN_FORS: [Duration; 4] = millis([500, 1_000, 5_000, 15_000]);
/// The percentile, and the largest share of calls, both in thousandths.
const HEDGES: [(u32, u32); 3] = [(990, 20), (950, 50), (900, 100)];
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

/// The grid around a policy: the values of each setting, the policy's own among them.
#[derive(Clone, Debug)]
pub(super) struct Space {
    base: Policy,
    retries: Vec<u32>,
    bases: Vec<Duration>,
    caps: Vec<Duration>,
    jitters: Vec<Jitter>,
    /// Shorter than the deadline, and longer than most answers; `None` is as the policy has it.
    first_bytes: Vec<Option<Duration>>,
    ratios: Vec<Option<u32>>,
    floors: Vec<u64>,
    failure_rates: Vec<Option<u32>>,
    consecutives: Vec<u32>,
    windows: Vec<Duration>,
    open_fors: Vec<Duration>,
    hedges: Vec<Option<Hedged>>,
    /// The policy's own values.
    own: Point,
    luck: Luck,
}

/// When a hedge is sent, and to how many calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hedged {
    after: HedgeAfter,
    at_most_per_mille: Option<u32>,
}

impl Hedged {
    const fn of(hedge: Hedge) -> Self {
        Self {
            after: hedge.after(),
            at_most_per_mille: hedge.at_most_per_mille(),
        }
    }

    const fn at((per_mille, at_most): (u32, u32)) -> Self {
        Self {
            after: HedgeAfter::Percentile { per_mille },
            at_most_per_mille: Some(at_most),
        }
    }
}

impl Space {
    /// Around `base`, of a world whose answers take `answer` on average.
    pub(super) fn new(base: Policy, answer: Duration, luck: Luck) -> Self {
        let (call, gate) = (base.call, base.gate);
        let deadline = call.deadline();
        let fits = |length: &Duration| *length >= answer.times(2) && *length < deadline;
        let mut space = Self {
            base,
            retries: ladder(RETRIES, [call.retries()]),
            // One that does not wait has no base that a file can say.
            bases: ladder(BASES, Some(call.backoff().base()).filter(|base| !base.is_zero())),
            caps: ladder(CAPS, Some(call.backoff().cap()).filter(|cap| !cap.is_zero())),
            // Who waits without chance comes back with everybody else, which a world without a herd does not show.
            jitters: apart(
                JITTERS,
                Some(call.backoff().jitter()).filter(|own| *own != Jitter::None),
            ),
            first_bytes: apart(
                ladder(FIRST_BYTES.into_iter().filter(fits), call.timeouts().first_byte())
                    .into_iter()
                    .map(Some),
                [call.timeouts().first_byte()],
            ),
            ratios: apart(
                ladder(RATIOS, gate.budget().map(|budget| budget.ratio_per_mille()))
                    .into_iter()
                    .map(Some),
                [None],
            ),
            floors: ladder(FLOORS, gate.budget().map(|budget| budget.floor_milli())),
            failure_rates: apart(
                ladder(
                    FAILURE_RATES,
                    gate.breaker().map(|breaker| breaker.failure_per_mille()),
                )
                .into_iter()
                .map(Some),
                [None],
            ),
            consecutives: ladder(CONSECUTIVES, gate.breaker().map(|breaker| breaker.consecutive())),
            windows: ladder(WINDOWS, gate.breaker().map(|breaker| breaker.window())),
            open_fors: ladder(OPEN_FORS, gate.breaker().map(|breaker| breaker.open_for())),
            hedges: apart(
                [None].into_iter().chain(HEDGES.map(|at| Some(Hedged::at(at)))),
                [call.hedge().map(Hedged::of)],
            ),
            own: Point([0; Knob::ALL.len()]),
            luck,
        };
        space.own = space.point_of(&base);
        space
    }

    /// The point whose values are this policy's, where they are on the grid; where one is not, its first value.
    fn point_of(&self, policy: &Policy) -> Point {
        let (backoff, gate) = (policy.call.backoff(), policy.gate);
        let (budget, breaker) = (gate.budget(), gate.breaker());
        Point(Knob::ALL.map(|knob| match knob {
            Knob::Retries => place(&self.retries, Some(policy.call.retries())),
            Knob::Base => place(&self.bases, Some(backoff.base())),
            Knob::Cap => place(&self.caps, Some(backoff.cap())),
            Knob::Jitter => place(&self.jitters, Some(backoff.jitter())),
            Knob::FirstByte => place(&self.first_bytes, Some(policy.call.timeouts().first_byte())),
            Knob::Ratio => place(&self.ratios, Some(budget.map(|budget| budget.ratio_per_mille()))),
            Knob::Floor => place(&self.floors, budget.map(|budget| budget.floor_milli())),
            Knob::FailureRate => place(
                &self.failure_rates,
                Some(breaker.map(|breaker| breaker.failure_per_mille())),
            ),
            Knob::Consecutive => place(&self.consecutives, breaker.map(|breaker| breaker.consecutive())),
            Knob::Window => place(&self.windows, breaker.map(|breaker| breaker.window())),
            Knob::OpenFor => place(&self.open_fors, breaker.map(|breaker| breaker.open_for())),
            Knob::Hedge => place(&self.hedges, Some(policy.call.hedge().map(Hedged::of))),
        }))
    }

    /// Where the scenario's own policy is; `None` where no point is it: it does not wait, or without any chance.
    pub(super) fn own(&self) -> Option<Point> {
        Some(self.own).filter(|own| self.policy(*own) == Some(self.base))
    }

    /// In how many settings a point is not as the scenario's own policy.
    pub(super) fn changes(&self, point: Point) -> usize {
        let pairs = point.0.iter().zip(&self.own.0);
        pairs.filter(|(value, own)| value != own).count()
    }

    /// How many values a setting has.
    const fn values(&self, knob: Knob) -> usize {
        match knob {
            Knob::Retries => self.retries.len(),
            Knob::Base => self.bases.len(),
            Knob::Cap => self.caps.len(),
            Knob::Jitter => self.jitters.len(),
            Knob::FirstByte => self.first_bytes.len(),
            Knob::Ratio => self.ratios.len(),
            Knob::Floor => self.floors.len(),
            Knob::FailureRate => self.failure_rates.len(),
            Knob::Consecutive => self.consecutives.len(),
            Knob::Window => self.windows.len(),
            Knob::OpenFor => self.open_fors.len(),
            Knob::Hedge => self.hedges.len(),
        }
    }

    /// The point without what it does not use: that is as the scenario's own policy has it.
    fn plain(&self, mut point: Point) -> Point {
        let value = |knob: Knob| usize::from(point.0[knob as usize]);
        let retries = self.retries[value(Knob::Retries)] > 0;
        let hedge = self.hedges[value(Knob::Hedge)].is_some();
        let budget = self.ratios[value(Knob::Ratio)].is_some();
        let breaker = self.failure_rates[value(Knob::FailureRate)].is_some();
        for knob in Knob::ALL {
            let is_used = match knob {
                Knob::Retries | Knob::FirstByte | Knob::FailureRate | Knob::Hedge => true,
                Knob::Base | Knob::Cap | Knob::Jitter => retries,
                Knob::Ratio => retries || hedge,
                Knob::Floor => budget && (retries || hedge),
                Knob::Consecutive | Knob::Window | Knob::OpenFor => breaker,
            };
            if !is_used {
                point.0[knob as usize] = self.own.0[knob as usize];
            }
        }
        point
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
        points.into_iter().map(|point| self.plain(point)).collect()
    }

    /// Every point that differs in one setting by one value, with that setting.
    pub(super) fn neighbours(&self, point: Point) -> Vec<(Knob, Point)> {
        let mut all = Vec::new();
        for knob in Knob::ALL {
            let value = usize::from(point.0[knob as usize]);
            let (below, above) = (value.checked_sub(1), Some(value + 1));
            for value in [below, above].into_iter().flatten() {
                if value < self.values(knob) {
                    all.push((knob, self.with(point, knob, value)));
                }
            }
        }
        all.retain(|(_, other)| *other != point);
        all
    }

    /// Every point that is the scenario's own in one setting more.
    pub(super) fn nearer_to_own(&self, point: Point) -> Vec<Point> {
        let differing = Knob::ALL
            .into_iter()
            .filter(|knob| point.0[*knob as usize] != self.own.0[*knob as usize]);
        differing
            .map(|knob| self.with(point, knob, usize::from(self.own.0[knob as usize])))
            .collect()
    }

    fn with(&self, mut point: Point, knob: Knob, value: usize) -> Point {
        point.0[knob as usize] = u8::try_from(value).expect("a few values each");
        self.plain(point)
    }

    /// The policy at a point; `None` where its settings contradict each other.
    pub(super) fn policy(&self, point: Point) -> Option<Policy> {
        let value = |knob: Knob| usize::from(point.0[knob as usize]);
        let (base, jitter) = (self.bases[value(Knob::Base)], self.jitters[value(Knob::Jitter)]);
        let own = self.base.call.backoff();
        let min = match (own.base(), own.jitter()) == (base, jitter) {
            true => own.min(),
            false => base.over(10),
        };
        let builder = PolicyBuilder::from_policy(self.base)
            .no_hedge()
            .retries(self.retries[value(Knob::Retries)])
            .backoff_base(base)
            .backoff_min(min)
            .backoff_cap(self.caps[value(Knob::Cap)])
            .jitter(jitter);
        let builder = match self.first_bytes[value(Knob::FirstByte)] {
            None => builder,
            Some(length) => builder.first_byte(length),
        };
        let builder = match self.ratios[value(Knob::Ratio)] {
            None => builder.budget(None),
            Some(ratio) => builder.edit_budget(|budget| {
                budget
                    .ratio_per_mille(ratio)
                    .floor_milli(self.floors[value(Knob::Floor)])
            }),
        };
        let builder = match self.failure_rates[value(Knob::FailureRate)] {
            None => builder.breaker(None),
            Some(share) => builder.edit_breaker(|breaker| {
                breaker
                    .failure_per_mille(share)
                    .consecutive(self.consecutives[value(Knob::Consecutive)])
                    .window(self.windows[value(Knob::Window)])
                    .open_for(self.open_fors[value(Knob::OpenFor)])
            }),
        };
        let hedged = self.hedges[value(Knob::Hedge)];
        let builder = match hedged.map(|hedged| hedged.after) {
            None => builder,
            Some(HedgeAfter::Fixed(length)) => builder.hedge_after(length),
            Some(HedgeAfter::Percentile { per_mille }) => builder.hedge_after_percentile(per_mille),
        };
        let builder = match hedged.and_then(|hedged| hedged.at_most_per_mille) {
            None => builder,
            Some(most) => builder.hedge_at_most_per_mille(most),
        };
        builder.build().ok()
    }
}

/// Values in their order, the policy's own among them.
fn ladder<T: Ord>(usual: impl IntoIterator<Item = T>, own: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = usual.into_iter().chain(own).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Values as they stand, and the policy's own behind them where it is another.
fn apart<T: PartialEq>(usual: impl IntoIterator<Item = T>, own: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for value in usual.into_iter().chain(own) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

fn place<T: PartialEq>(values: &[T], own: Option<T>) -> u8 {
    let place = own.and_then(|own| values.iter().position(|value| *value == own));
    u8::try_from(place.unwrap_or(0)).expect("a few values each")
}
