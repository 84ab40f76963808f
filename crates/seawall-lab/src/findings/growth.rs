//! The rules that take many waits to judge: whether they grow, and whether chance is in them.
//!
//! What can go wrong: with full jitter one wait of 3 ms is as likely as any, and four waits may shrink by chance; so a
//! single call proves nothing but the plainest cases. Growth is judged on the means of eight calls or more, jitter on
//! eight waits that stand at the same place; with fewer, it is not observable. A busy machine makes waits longer, never
//! shorter: on a real one the longest quarter of eight or more is not asked whether they are alike or whether they are none,
//! it is enough that those without it grow, and the shortest wait of all, up to 50 ms, is taken for the machine's own part
//! of each.
//!
//! Only waits of the client's own choice count: what a server asked for is the server's. Waits are judged from the end
//! of an answer to the next attempt.

use super::calls::Wait;
use super::log::Timing;
use super::rules::{RunSeen, unseen};
use super::timeline::{Proof, rounded};
use super::{Finding, Kind, Rule};
use seawall_core::policy::Backoff;
use seawall_core::time::Duration;

/// How many calls, or waits, are enough to speak of chance.
const SAMPLES_MIN: usize = 8;
/// Waits shorter than this are none: the least that anybody's backoff begins with.
const IMMEDIATE_MAX: Duration = Duration::from_millis(50);
/// So many waits that are none prove that there is no backoff, whatever is drawn: with a first ceiling of 500 ms, full
/// jitter draws three such once in ten thousand calls.
const IMMEDIATE_MIN: usize = 3;
/// Which wait is compared with the first, counted from 0.
const LATER: usize = 3;
/// How many times the first wait that one must be, in thousandths, where nothing is promised. Doubling makes 8 of it.
const GROWTH_PER_MILLE: u64 = 3_000;
/// Waits within this part of their mean are the same. A spread of a fifth to either side, as little as libraries draw,
/// seems so at one place of eight calls once in a thousand times.
const ALIKE_DIVISOR: u64 = 20;
/// On a real machine, all waits of one call within this are the same, and a schedule that does not grow.
const STEADY_MAX_REAL: Duration = Duration::from_millis(20);
/// On a real machine, only from this on, on average: drawn from nothing upwards, short waits are often as close.
const STEADY_MIN_REAL: Duration = Duration::from_millis(100);
/// On a real machine, waits shorter than this on average do not show their jitter: what is left of it beside the
/// machine's own is too little to tell.
const TELLING_MIN_REAL: Duration = Duration::from_millis(200);

/// The waits of one call, and its run.
struct Series {
    run: usize,
    waits: Vec<Wait>,
}

fn series(runs: &[RunSeen<'_>]) -> Vec<Series> {
    let of_run = |(run, seen): (usize, &RunSeen<'_>)| -> Vec<Series> {
        let waits = seen.calls.iter().map(|call| call.own_waits(&seen.log.attempts));
        waits
            .filter(|waits| !waits.is_empty())
            .map(|waits| Series { run, waits })
            .collect()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

fn timing(runs: &[RunSeen<'_>]) -> Timing {
    match runs.iter().all(|run| run.log.timing == Timing::Virtual) {
        true => Timing::Virtual,
        false => Timing::Real,
    }
}

fn finding(expected: String, seen: String, series: &[&Series]) -> Vec<Finding> {
    vec![Finding {
        kind: Kind::Broken,
        run: None,
        expected,
        seen,
        proof: Proof::waits(series.iter().map(|one| (one.run, one.waits.as_slice()))),
    }]
}

pub(super) fn no_backoff(promised: Option<Backoff>, runs: &[RunSeen<'_>]) -> Vec<Finding> {
    let (series, timing) = (series(runs), timing(runs));
    let mut all: Vec<Duration> = series
        .iter()
        .flat_map(|one| &one.waits)
        .map(|wait| wait.length)
        .collect();
    let everything: Vec<&Series> = series.iter().collect();
    let at_once = asked(&mut all, Share::of(timing));
    if let Some(longest) = at_once.last().filter(|longest| **longest < IMMEDIATE_MAX)
        && at_once.len() >= IMMEDIATE_MIN
    {
        let seen = format!(
            "{} attempts came at once, after {} at the most",
            at_once.len(),
            rounded(*longest)
        );
        return finding(
            "a wait before each attempt but the first".to_owned(),
            seen,
            &everything,
        );
    }
    let long: Vec<&Series> = series.iter().filter(|one| one.waits.len() > LATER).collect();
    let steady = |one: &&Series| is_steady(one.waits.iter().map(|wait| wait.length).collect(), timing);
    if let Some(one) = long.iter().copied().find(steady) {
        let seen = format!("{} waits of {}", one.waits.len(), rounded(one.waits[0].length));
        return finding("waits that grow".to_owned(), seen, &[one]);
    }
    if long.len() < SAMPLES_MIN {
        let why = format!(
            "growth takes {SAMPLES_MIN} calls with four waits each; {} had as many",
            long.len()
        );
        return vec![unseen(Rule::NoBackoff, why)];
    }
    // What the machine adds to every wait would make the first look longer than it was chosen.
    let machine = match timing {
        Timing::Virtual => Duration::ZERO,
        Timing::Real => all.first().copied().unwrap_or_default().min(IMMEDIATE_MAX),
    };
    let growth = growth_per_mille(promised);
    let means = |share: Share| {
        let mean = |place: usize| {
            let mut waits: Vec<Duration> = long.iter().map(|one| one.waits[place].length).collect();
            mean(asked(&mut waits, share).iter().copied()).minus(machine)
        };
        (mean(0), mean(LATER))
    };
    // All of them, too: by chance the shorter ones of a right client are ten times as often without growth.
    let grows = |(first, later): (Duration, Duration)| later >= Duration::from_nanos(share(first, growth));
    let (first, later) = means(Share::All);
    if grows((first, later)) || grows(means(Share::of(timing))) {
        return Vec::new();
    }
    finding(
        format!(
            "the fourth wait to be at least {}.{} times the first, on average",
            growth / 1_000,
            growth % 1_000 / 100
        ),
        format!(
            "{} calls waited {} first and {} at the fourth, on average",
            long.len(),
            rounded(first),
            rounded(later)
        ),
        &long,
    )
}

/// How much growth may be asked for: three eighths of what was promised, as 3 is of doubling's 8, and no more than 3.
fn growth_per_mille(promised: Option<Backoff>) -> u64 {
    let Some(backoff) = promised else {
        return GROWTH_PER_MILLE;
    };
    let middle = |retries: u32| {
        let range = backoff.range(retries, Duration::ZERO);
        range.shortest.plus(range.longest).over(2).as_nanos().max(1)
    };
    let ratio = u128::from(middle(3)) * 1_000 / u128::from(middle(0));
    GROWTH_PER_MILLE.min(u64::try_from(ratio * 3 / 8).unwrap_or(u64::MAX))
}

pub(super) fn no_jitter(runs: &[RunSeen<'_>]) -> Vec<Finding> {
    let (series, timing) = (series(runs), timing(runs));
    let telling = |waits: &[Duration]| {
        let mean = mean(waits.iter().copied());
        !mean.is_zero() && (timing == Timing::Virtual || mean >= TELLING_MIN_REAL)
    };
    let mut judged = 0;
    for place in 0.. {
        let long: Vec<&Series> = series.iter().filter(|one| one.waits.len() > place).collect();
        if long.len() < SAMPLES_MIN {
            break;
        }
        let waits: Vec<Duration> = long.iter().map(|one| one.waits[place].length).collect();
        if !telling(&waits) {
            continue;
        }
        judged += 1;
        let (middle, count) = (mean(waits.iter().copied()), waits.len());
        if is_alike(waits) {
            let seen = format!(
                "wait {} of {count} calls is {}, again and again",
                place + 1,
                rounded(middle)
            );
            return finding("waits that differ from call to call".to_owned(), seen, &long);
        }
    }
    let lone = series.iter().find(|one| {
        let waits: Vec<Duration> = one
            .waits
            .iter()
            .rev()
            .take(SAMPLES_MIN)
            .map(|wait| wait.length)
            .collect();
        waits.len() == SAMPLES_MIN && telling(&waits) && is_alike(waits)
    });
    if let Some(one) = lone {
        let last = one.waits.last().map_or(Duration::ZERO, |wait| wait.length);
        let seen = format!("the last {SAMPLES_MIN} waits of a call are {}", rounded(last));
        return finding("waits that differ".to_owned(), seen, &[one]);
    }
    let long = series.iter().any(|one| one.waits.len() >= SAMPLES_MIN);
    match judged > 0 || long {
        true => Vec::new(),
        false => {
            let why = format!(
                "jitter takes {SAMPLES_MIN} calls with a wait of {TELLING_MIN_REAL} or more; {} waited",
                series.len()
            );
            vec![unseen(Rule::NoJitter, why)]
        }
    }
}

/// Whether all waits of a call are the same.
fn is_steady(mut waits: Vec<Duration>, timing: Timing) -> bool {
    let middle = mean(waits.iter().copied());
    let part = middle.over(ALIKE_DIVISOR);
    let spread = spread_of(&mut waits, Share::All);
    match timing {
        Timing::Virtual => spread <= part,
        Timing::Real => middle >= STEADY_MIN_REAL && spread <= part.max(STEADY_MAX_REAL),
    }
}

/// Whether the shorter three quarters of waits are the same: a busy machine makes the others longer.
fn is_alike(mut waits: Vec<Duration>) -> bool {
    let middle = mean(waits.iter().copied());
    spread_of(&mut waits, Share::ShorterThreeQuarters) <= middle.over(ALIKE_DIVISOR)
}

/// Which waits are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Share {
    All,
    ShorterThreeQuarters,
}

impl Share {
    const fn of(timing: Timing) -> Self {
        match timing {
            Timing::Virtual => Self::All,
            Timing::Real => Self::ShorterThreeQuarters,
        }
    }
}

/// Those that are asked, the shortest first. Of a few, all are: one of four is no quarter of what a client does.
fn asked(waits: &mut [Duration], of: Share) -> &[Duration] {
    waits.sort_unstable();
    match of {
        Share::ShorterThreeQuarters if waits.len() >= SAMPLES_MIN => &waits[..(waits.len() * 3).div_ceil(4)],
        Share::All | Share::ShorterThreeQuarters => waits,
    }
}

/// From the shortest wait to the longest of those that are asked.
fn spread_of(waits: &mut [Duration], of: Share) -> Duration {
    match asked(waits, of) {
        [shortest, .., longest] => longest.minus(*shortest),
        [] | [_] => Duration::ZERO,
    }
}

fn mean(waits: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = u128::try_from(waits.len()).unwrap_or(u128::MAX).max(1);
    let sum: u128 = waits.map(|wait| u128::from(wait.as_nanos())).sum();
    Duration::from_nanos(u64::try_from(sum / count).unwrap_or(u64::MAX))
}

fn share(length: Duration, per_mille: u64) -> u64 {
    let nanos = u128::from(length.as_nanos()) * u128::from(per_mille) / 1_000;
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
