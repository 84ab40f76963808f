//! Closed forms, in seconds and in counts a second.

use seawall_core::policy::{BREAKER_RATE_SPAN, BREAKER_RUN_SPAN, Backoff, BreakerPolicy, Jitter};
use seawall_core::time::Duration;

/// The width in which a herd's peak is counted: 100 ms, as the bins of a run.
pub(super) const BUCKET_S: f64 = 0.1;
/// Attempts up to which the chance that a breaker opens is added up one by one; from there on its hazard is constant.
const STEPS_MAX: usize = 2_000;
/// Mean attempts until it opens beyond which a breaker counts as one that stays closed.
const HARDLY_EVER: f64 = 1e9;

/// Calls a second that servers bear whose answers take `alone_s`, and each of those that are there longer for every
/// other: from there on an answer takes longer than the `patience_s` of who waits for it.
///
/// In flight n = λ·L and L = alone + slope·n, so L = alone ÷ (1 − slope·λ).
pub(super) fn coupled_bears(alone_s: f64, slope_s: f64, patience_s: f64) -> f64 {
    if alone_s >= patience_s {
        return 0.0;
    }
    (1.0 - alone_s / patience_s) / slope_s
}

/// How long answers take there at so many attempts a second; `None` where no length is long enough.
pub(super) fn coupled_answer_s(alone_s: f64, slope_s: f64, per_s: f64) -> Option<f64> {
    let left = 1.0 - slope_s * per_s;
    (left > 0.0).then(|| alone_s / left)
}

/// Of answers at so many attempts a second, those that take longer than `patience_s` by chance: how many attempts are there
/// varies around its mean as a birth and death process does, with λ ÷ k where k is how fast it returns to the mean.
pub(super) fn coupled_late_share(alone_s: f64, slope_s: f64, per_s: f64, patience_s: f64) -> f64 {
    let Some(answer_s) = coupled_answer_s(alone_s, slope_s, per_s) else {
        return 1.0;
    };
    let returns_per_s = alone_s / (answer_s * answer_s);
    let deviation = libm::sqrt(per_s / returns_per_s);
    let room = (patience_s - answer_s) / slope_s;
    libm::erfc(room / deviation / std::f64::consts::SQRT_2) / 2.0
}

/// A server that slows down with its load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coupled {
    pub(super) alone_s: f64,
    pub(super) slope_s: f64,
    /// So many attempts there make answers as long as anybody waits.
    pub(super) most: f64,
}

impl Coupled {
    /// How long answers are late after a burst of `lasts_s`, each load without extras and with all of them, which come
    /// where answers are late. Steps of a hundredth of an answer are small against how fast it changes; `None` where
    /// it takes longer than a day of answers.
    pub(super) fn drain_s(&self, usual: (f64, f64), burst: (f64, f64), lasts_s: f64) -> Option<f64> {
        const STEPS_MAX: u32 = 10_000_000;
        let step_s = self.alone_s / 100.0;
        let next = |there: f64, (calls, all): (f64, f64)| {
            let comes = if there < self.most { calls } else { all };
            (there + step_s * (comes - there / (self.alone_s + self.slope_s * there))).max(0.0)
        };
        let mut there = usual.0 * coupled_answer_s(self.alone_s, self.slope_s, usual.0)?;
        let mut at_s = 0.0;
        for _ in 0..STEPS_MAX {
            let load = if at_s < lasts_s { burst } else { usual };
            if at_s >= lasts_s && there < self.most {
                return Some((at_s - lasts_s).max(0.0));
            }
            there = next(there, load);
            at_s += step_s;
        }
        None
    }
}

/// How many of those that come find all taken: so many seats, so many places to wait, and `load` seats busy in the mean
/// (Erlang's B, carried on along the queue).
pub(super) fn turned_away(seats: f64, places: f64, load: f64) -> f64 {
    /// Of more than so many seats the share is taken for none where they are enough, as it is by far.
    const STEPS_MAX: f64 = 1e6;
    if load <= 0.0 || seats + places > STEPS_MAX {
        return if load > seats { 1.0 - seats / load } else { 0.0 };
    }
    let mut away = 1.0;
    let mut taken = 0.0;
    while taken < seats {
        taken += 1.0;
        away = load * away / (taken + load * away);
    }
    let mut waiting = 0.0;
    while waiting < places {
        waiting += 1.0;
        away = load / seats * away / (1.0 + load / seats * away);
    }
    away
}

/// How long a queue of so much work takes, until who joins it is answered within `patience_s`; `None`: for ever.
pub(super) fn drain_s(per_s: f64, bears_per_s: f64, backlog: f64, patience_s: f64) -> Option<f64> {
    let spare = bears_per_s - per_s;
    (spare > 0.0).then(|| ((backlog - bears_per_s * patience_s) / spare).max(0.0))
}

/// The mean of the wait before each retry, in seconds.
pub(super) fn mean_waits(backoff: Backoff, retries: u32) -> Vec<f64> {
    let mut previous = Duration::ZERO;
    let wait = |nth| {
        let range = backoff.range(nth, previous);
        previous = range.shortest.plus(range.longest).over(2);
        seconds(previous)
    };
    (0..retries).map(wait).collect()
}

/// The most first retries and later ones of `clients` that all fail at once, within one bucket.
///
/// Of full jitter with no lower end, up to the base: the sum of k delays is below x with chance
/// xᵏ ÷ (k!·bᵏ·2^(k(k−1)/2)).
pub(super) fn herd_peak(clients: f64, backoff: Backoff) -> f64 {
    let base = seconds(backoff.base());
    match backoff.jitter() {
        Jitter::None => clients,
        Jitter::Full => clients * full_jitter_peak(base),
        Jitter::Equal => clients * (BUCKET_S / (base / 2.0)).min(1.0),
        Jitter::Decorrelated | Jitter::DecorrelatedAws => clients * (BUCKET_S / (2.0 * base)).min(1.0),
        Jitter::Proportional { per_mille } => {
            let wide = 2.0 * base * f64::from(per_mille) / 1_000.0;
            clients * (BUCKET_S / wide).min(1.0)
        }
    }
}

fn full_jitter_peak(base_s: f64) -> f64 {
    if base_s <= BUCKET_S {
        return attempts_within(base_s, base_s);
    }
    let mut most = 0.0_f64;
    let (mut from, mut before) = (0.0, 0.0);
    while from + BUCKET_S <= base_s + 1e-9 {
        let all = attempts_within(from + BUCKET_S, base_s);
        most = most.max(all - before);
        (from, before) = (from + BUCKET_S, all);
    }
    most
}

/// Retries of one client within `x` seconds, x at most the base.
fn attempts_within(x_s: f64, base_s: f64) -> f64 {
    let (mut sum, mut term) = (0.0, 1.0);
    for k in 1..=12_u32 {
        // From k − 1 to k the power of two grows by k − 1.
        term *= x_s / base_s / f64::from(k) / f64::from(1_u32 << (k - 1));
        sum += term;
    }
    sum
}

/// The least base with which full jitter keeps a herd's peak at what `per_s` serve: 1.5·N·w ÷ P, and P is per_s·w.
pub(super) fn herd_base_s(clients: f64, per_s: f64) -> f64 {
    1.5 * clients / per_s
}

/// Attempts that go by until a breaker opens, where each fails with chance `fails`, and `None` where it as good as
/// never does.
pub(super) fn until_open(breaker: &BreakerPolicy, fails: f64, per_s: f64) -> Option<f64> {
    let of_share = until_share(breaker, fails, per_s);
    let run = f64::from(breaker.consecutive()).max(libm::ceil(per_s * seconds(BREAKER_RUN_SPAN)));
    let power = libm::pow(fails, run);
    let of_run = if power <= 0.0 {
        f64::INFINITY
    } else if fails >= 1.0 {
        run
    } else {
        (1.0 - power) / (power * (1.0 - fails))
    };
    // What is certain comes at its time, whatever else does; of two things of chance either may come first.
    let both = if fails >= 1.0 {
        of_share.min(of_run)
    } else {
        1.0 / (1.0 / of_share + 1.0 / of_run)
    };
    (both < HARDLY_EVER).then_some(both)
}

/// By the share of failures in its window: while that fills, one by one; once it is full, by how often a sliding
/// window crosses from below.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of attempts in a window"
)]
fn until_share(breaker: &BreakerPolicy, fails: f64, per_s: f64) -> f64 {
    let threshold = f64::from(breaker.failure_per_mille()) / 1_000.0;
    // The ring holds nine tenths of the window and a part of the last.
    let full = 0.95 * per_s * seconds(breaker.window());
    let span = seconds(BREAKER_RATE_SPAN.min(breaker.window().over(2)));
    let from = f64::from(breaker.min_calls()).max(per_s * span);
    if from > full / 0.95 {
        return f64::INFINITY;
    }
    let needed = |counted: f64| libm::ceil(threshold * counted - 1e-9);
    if from > STEPS_MAX as f64 {
        return if fails >= threshold {
            from
        } else {
            1.0 / hazard(fails, full, needed(full))
        };
    }
    let first = libm::ceil(from) as usize;
    let last = (libm::floor(full) as usize).clamp(first, first + STEPS_MAX);
    let mut chances = binomial(first, fails);
    let (mut survive, mut mean) = (1.0, 0.0);
    for counted in first..=last {
        let least = needed(counted as f64) as usize;
        let opens: f64 = chances.iter().skip(least).sum();
        chances.truncate(least);
        mean += opens * counted as f64;
        survive -= opens;
        if survive <= 1e-9 {
            return mean;
        }
        step(&mut chances, fails);
    }
    // What one more attempt turns, of those that are still below.
    let hazard = hazard(fails, full, needed(full)) / survive.max(1e-9);
    mean + survive * (last as f64 + 1.0 / hazard.min(1.0))
}

/// The chance that a full window goes from one failure too few to enough with one attempt.
fn hazard(fails: f64, counted: f64, least: f64) -> f64 {
    if least < 1.0 || least > counted {
        return if least < 1.0 { 1.0 } else { 0.0 };
    }
    let (n, k) = (counted - 1.0, least - 1.0);
    let ways = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let power = k * libm::log(fails) + (n - k) * libm::log(1.0 - fails);
    fails * (1.0 - fails) * libm::exp(ways + power)
}

/// The chances of each number of failures among so many.
fn binomial(count: usize, fails: f64) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..count {
        step(&mut chances, fails);
    }
    chances
}

/// One attempt more.
fn step(chances: &mut Vec<f64>, fails: f64) {
    chances.push(0.0);
    for k in (0..chances.len()).rev() {
        let below = if k == 0 { 0.0 } else { chances[k - 1] };
        chances[k] = chances[k] * (1.0 - fails) + below * fails;
    }
}

/// In seconds.
pub(super) fn seconds(length: Duration) -> f64 {
    crate::sim::luck::nanos(length) / 1e9
}
