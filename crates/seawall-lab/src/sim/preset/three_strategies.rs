//! Three ways of retrying, in four worlds that fail in different ways.
//!
//! An often-quoted comparison of a thousand calls, of which one in ten is made to fail, says: without retries 10.0 % are
//! lost at a mean of 142 ms; with a fixed wait of a second 2.3 % at 1 847 ms; with exponential waits and jitter 0.4 % at
//! 523 ms. It does not say how the calls were made to fail, and that decides everything. If failures are independent,
//! losses are powers of ten, and a mean of 1 847 ms would take a retry and a half for every call. If a server is down and
//! comes back, whoever waits longer loses less, and cannot be faster as well.
//!
//! So the same policies run here in four worlds: attempts that fail alike, calls whose retries fail more often, a server
//! that is down for 5 s of 50, and a pool of connections that waits between attempts fill up. Two more studies are the
//! readings under which the quoted figures can be: sticky failures and the mean of the *retried* calls (I), or the same
//! through a pool that is too small and the mean of all (II).
//!
//! What it does not cover: which of the readings was meant. Both need a number of retries that was chosen to fit.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{
    Capacity, Contender, Failures, Fleet, Gaps, Load, Model, Outage, Server, Tokens, Trouble,
};
use crate::sim::stats::{self, Interval, Moments};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::millis;
use crate::sim::tally::Tally;
use seawall_core::policy::{Jitter, Policy, PolicyBuilder, Preset};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "three-strategies",
    about: "no retries, a fixed wait, exponential waits with jitter and seawall's default, in four worlds that fail differently",
    source: "an often-quoted comparison of 10.0, 2.3 and 0.4 % lost, at 142, 1847 and 523 ms",
    seeds: 100,
    parts,
    findings,
};

/// What a call takes that nothing goes wrong with: the same there as back.
const ONE_WAY: Duration = Duration::from_micros(71_000);
/// Calls a second of the three worlds without a pool, and for how long: a thousand calls a run, on average.
const PER_SECOND: f64 = 10.0;
const HORIZON: Duration = secs(100);
/// Calls a second through the pool, and for how long: a thousand calls a run, on average.
const POOLED_PER_SECOND: f64 = 84.0;
const POOLED_HORIZON: Duration = ms(11_905);
const CONNECTIONS: u32 = 20;
/// How many attempts fail, and how many of those after a failed one do where failures stick.
const FAILS: f64 = 0.1;
const STICKS: f64 = 0.48;
/// How long the server is down, and how often.
const DOWN: Duration = secs(5);
const EVERY: Duration = secs(50);
/// What an attempt costs where every attempt that reaches a server is billed: a thousand tokens read at 0.42 and two
/// hundred written at 1.10 dollars a million.
const DOLLARS_PER_ATTEMPT: f64 = (1_000.0 * 0.42 + 200.0 * 1.10) / 1e6;
/// How many standard errors a figure may be from its closed form: what chance exceeds once in 16 000.
const ERRORS: f64 = 4.0;

/// A world, and who is compared in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Independent,
    Sticky,
    Outages,
    Pool,
    ReadingOne,
    ReadingTwo,
}

const ALL: [Part; 6] = [
    Part::Independent,
    Part::Sticky,
    Part::Outages,
    Part::Pool,
    Part::ReadingOne,
    Part::ReadingTwo,
];

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent 10 %",
            Self::Sticky => "sticky 10 %, then 48 %",
            Self::Outages => "down 5 s of 50",
            Self::Pool => "pool of 20, sticky",
            Self::ReadingOne => "reading I: sticky, retried calls",
            Self::ReadingTwo => "reading II: pool, all calls",
        }
    }

    fn model(self) -> Model {
        let failures = match self {
            Self::Independent => Failures::Independent { chance: FAILS },
            Self::Outages => Failures::None,
            Self::Sticky | Self::Pool | Self::ReadingOne | Self::ReadingTwo => Failures::Sticky {
                first: FAILS,
                again: STICKS,
            },
        };
        let outages = match self {
            Self::Outages => windows(),
            Self::Independent | Self::Sticky | Self::Pool | Self::ReadingOne | Self::ReadingTwo => Vec::new(),
        };
        let (load, horizon) = match self {
            Self::Pool | Self::ReadingTwo => (pooled(), POOLED_HORIZON),
            Self::Independent | Self::Sticky | Self::Outages | Self::ReadingOne => {
                (open(100, PER_SECOND), HORIZON)
            }
        };
        let server = Server {
            capacity: Capacity::Unbounded,
            failures,
            outages,
            ..Server::default()
        };
        Model {
            tokens: Tokens::NONE,
            hop: Length::Fixed(ONE_WAY),
            ..plain(load, server, horizon)
        }
    }

    fn contenders(self) -> Vec<Contender> {
        let all = |name: &str, policy| contender(name, policy, Fleet::One);
        match self {
            Self::Independent | Self::Sticky | Self::Outages | Self::Pool => vec![
                all("none", built(bare(0))),
                all("fixed 1 s × 3", built(fixed(3))),
                all(
                    "exponential 100 ms × 3, full jitter",
                    built(exponential(3, ms(100))),
                ),
                all("seawall's default", Policy::preset(Preset::Default)),
            ],
            Self::ReadingOne => vec![
                all("none", built(bare(0))),
                all("fixed 1 s × 2", built(fixed(2))),
                all(
                    "exponential 60 ms × 4, full jitter",
                    built(exponential(4, ms(60))),
                ),
                all(
                    "exponential 50 ms × 5, full jitter",
                    built(exponential(5, ms(50))),
                ),
            ],
            Self::ReadingTwo => vec![
                all("none", built(bare(0))),
                all("fixed 1 s × 2", built(fixed(2))),
                all(
                    "exponential 420 ms × 4, full jitter",
                    built(exponential(4, ms(420))),
                ),
                all(
                    "exponential 340 ms × 5, full jitter",
                    built(exponential(5, ms(340))),
                ),
            ],
        }
    }
}

fn pooled() -> Load {
    Load::Pool {
        connections: CONNECTIONS,
        per_second: POOLED_PER_SECOND,
        gaps: Gaps::Poisson,
    }
}

/// The times in which the server is down: in the middle of each 50 s.
fn windows() -> Vec<Outage> {
    let first = Instant::START.after(ms(22_500));
    let count = HORIZON.as_nanos() / EVERY.as_nanos();
    let outage = |nth| Outage {
        at: first.after(EVERY.times(nth)),
        lasts: DOWN,
        how: Trouble::FailFast,
        share: 1.0,
    };
    (0..count).map(outage).collect()
}

fn fixed(retries: u32) -> PolicyBuilder {
    let wait = secs(1);
    bare(retries)
        .backoff_base(wait)
        .backoff_cap(wait)
        .jitter(Jitter::None)
}

/// Ceilings of `base`, twice that, and so on, each wait drawn evenly below its ceiling.
fn exponential(retries: u32, base: Duration) -> PolicyBuilder {
    bare(retries)
        .backoff_base(base)
        .backoff_min(Duration::ZERO)
        .backoff_factor_tenths(20)
        .jitter(Jitter::Full)
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |part: Part| Study {
        name: part.name().to_owned(),
        model: part.model(),
        contenders: part.contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    ALL.into_iter().map(study).collect()
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut findings = Findings::default();
    let mut rows = Vec::new();
    for (part, study, tallies) in found(ALL, |part| part.name().to_owned(), studies, tallies) {
        let seen: Vec<Seen> = by_contender(study, tallies)
            .map(|(_, tallies)| Seen::of(tallies))
            .collect();
        findings.claims.extend(claims_of(part, &seen));
        let named = study.contenders.iter().zip(&seen);
        rows.extend(named.map(|(contender, seen)| seen.row(study, contender)));
        findings.notes.extend(notes_of(part, &seen));
    }
    findings.notes.push(format!(
        "Every attempt that reaches the server is billed here, at {:.2} dollars for a thousand: an upper bound, since most \
         providers bill neither failures nor refusals.",
        1_000.0 * DOLLARS_PER_ATTEMPT
    ));
    findings.table = Some(Value::Array(rows));
    findings
}

/// A figure over the runs: what it is, and how far it can be trusted.
#[derive(Clone, Copy, Debug)]
struct OverRuns {
    /// 0 where there is nothing, as of the retried calls of a policy without retries.
    value: f64,
    runs: f64,
    ci: Option<Interval>,
    /// The standard error over the runs.
    error: f64,
}

impl OverRuns {
    /// The mean over runs of what each came to; runs that came to nothing are none.
    fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let values: Vec<f64> = values.flatten().collect();
        let moments = Moments::of(&values);
        Self {
            value: moments.mean,
            runs: moments.runs,
            ci: stats::mean(&values),
            error: moments.error(),
        }
    }

    fn shown(&self, decimals: u32) -> Option<f64> {
        (self.runs > 0.0).then(|| rounded(self.value, decimals))
    }

    fn ends(&self) -> Option<[f64; 2]> {
        self.ci.map(|ci| [rounded(ci.low, 4), rounded(ci.high, 4)])
    }
}

/// What one policy came to in one world.
#[derive(Clone, Copy, Debug)]
struct Seen {
    calls: u64,
    lost: OverRuns,
    mean: OverRuns,
    retried: OverRuns,
    p50: OverRuns,
    p95: OverRuns,
    p99: OverRuns,
    load: OverRuns,
}

impl Seen {
    fn of(tallies: &[Tally]) -> Self {
        let figure = |of: &dyn Fn(&Tally) -> Option<f64>| OverRuns::of(tallies.iter().map(of));
        let percentile = |per_mille| figure(&|tally: &Tally| tally.latency.percentile(per_mille).map(millis));
        Self {
            calls: sum(tallies, |tally| tally.calls),
            lost: figure(&|tally| Some(100.0 * ratio(tally.calls - tally.succeeded, tally.calls))),
            mean: figure(&|tally| tally.latency.mean().map(millis)),
            retried: figure(&|tally| tally.latency_retried.mean().map(millis)),
            p50: percentile(500),
            p95: percentile(950),
            p99: percentile(990),
            load: figure(&|tally| Some(ratio(tally.arrivals, tally.calls))),
        }
    }

    fn row(&self, study: &Study, contender: &Contender) -> Value {
        let cost = self.load.value * 1_000.0 * DOLLARS_PER_ATTEMPT;
        json!({
            "model": study.name,
            "strategy": contender.name,
            "error_percent": rounded(self.lost.value, 3),
            "error_percent_ci": self.lost.ends(),
            "mean_ms": rounded(self.mean.value, 1),
            "mean_ms_ci": self.mean.ends(),
            "mean_retried_ms": self.retried.shown(1),
            "mean_retried_ms_ci": self.retried.ends(),
            "p50_ms": rounded(self.p50.value, 1),
            "p95_ms": rounded(self.p95.value, 1),
            "p95_ms_ci": self.p95.ends(),
            "p99_ms": rounded(self.p99.value, 1),
            "p99_ms_ci": self.p99.ends(),
            "attempts_per_call": rounded(self.load.value, 4),
            "attempts_per_call_ci": self.load.ends(),
            "cost_usd_per_1000_calls": rounded(cost, 4),
        })
    }
}

/// What is known of the worlds without a simulator, and what was said of them.
fn claims_of(part: Part, seen: &[Seen]) -> Vec<Claim> {
    let [none, fixed, exponential, last] = seen else {
        return Vec::new();
    };
    let held = Held { world: part.name() };
    match part {
        Part::Independent => vec![
            held.loses("none", 10.0, none),
            held.takes("none", 142.0, &none.mean),
            held.loses("fixed 1 s × 3", 0.01, fixed),
            held.takes("fixed 1 s × 3", after(FAILS, FAILS, &FIXED_MS), &fixed.mean),
            held.loses("exponential 100 ms × 3", 0.01, exponential),
            held.takes(
                "exponential 100 ms × 3",
                after(FAILS, FAILS, &EXPONENTIAL_MS),
                &exponential.mean,
            ),
        ],
        Part::Sticky => {
            let lost = 100.0 * FAILS * libm::pow(STICKS, 3.0);
            vec![
                held.loses("fixed 1 s × 3", lost, fixed),
                held.takes("fixed 1 s × 3", after(FAILS, STICKS, &FIXED_MS), &fixed.mean),
                held.loses("exponential 100 ms × 3", lost, exponential),
                held.takes(
                    "exponential 100 ms × 3",
                    after(FAILS, STICKS, &EXPONENTIAL_MS),
                    &exponential.mean,
                ),
            ]
        }
        // Whoever is 3.43 s or less from the end of the 5 s is there with the last of four attempts.
        Part::Outages => vec![
            held.loses("none", 10.0, none),
            held.loses("fixed 1 s × 3", 10.0 * (5.0 - 3.0 * 1.142) / 5.0, fixed),
        ],
        Part::Pool => Vec::new(),
        Part::ReadingOne => retried_calls(&held, fixed, exponential, last),
        Part::ReadingTwo => all_calls(&held, fixed, exponential, last),
    }
}

/// The reading in which the quoted times are those of calls that were retried.
fn retried_calls(held: &Held, fixed: &Seen, exponential: &Seen, last: &Seen) -> Vec<Claim> {
    vec![
        held.loses("fixed 1 s × 2", 100.0 * FAILS * STICKS * STICKS, fixed),
        held.takes(
            "fixed 1 s × 2, of all calls,",
            after(FAILS, STICKS, &FIXED_MS[..2]),
            &fixed.mean,
        ),
        held.quoted("fixed loses 2.3 %", 2.3, &fixed.lost, 0.1),
        held.quoted(
            "fixed takes 1 847 ms, of retried calls",
            1_847.0,
            &fixed.retried,
            0.02,
        ),
        held.quoted(
            "exponential × 4 takes 523 ms, of retried calls",
            523.0,
            &exponential.retried,
            0.05,
        ),
        held.quoted(
            "exponential × 5 takes 523 ms, of retried calls",
            523.0,
            &last.retried,
            0.05,
        ),
    ]
}

/// The reading in which they are those of all calls.
fn all_calls(held: &Held, fixed: &Seen, exponential: &Seen, last: &Seen) -> Vec<Claim> {
    vec![
        held.quoted("fixed loses 2.3 %", 2.3, &fixed.lost, 0.1),
        held.quoted("fixed takes 1 847 ms, of all calls", 1_847.0, &fixed.mean, 0.1),
        held.quoted(
            "exponential × 4 takes 523 ms, of all calls",
            523.0,
            &exponential.mean,
            0.1,
        ),
        held.quoted(
            "exponential × 5 takes 523 ms, of all calls",
            523.0,
            &last.mean,
            0.1,
        ),
    ]
}

/// Mean waits before each retry.
const FIXED_MS: [f64; 3] = [1_000.0; 3];
const EXPONENTIAL_MS: [f64; 3] = [50.0, 100.0, 200.0];

/// Figures of one world, held to what they should be.
struct Held {
    world: &'static str,
}

impl Held {
    fn loses(&self, who: &str, percent: f64, seen: &Seen) -> Claim {
        // Counted calls: where the runs happen to agree, chance is that of the calls.
        #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
        let by_calls = libm::sqrt(percent * (100.0 - percent) / seen.calls.max(1) as f64);
        let error = seen.lost.error.max(by_calls);
        let name = format!("{}: {who} loses, in percent (closed form)", self.world);
        claim(name, percent, seen.lost.value, Within::Amount(ERRORS * error))
    }

    fn takes(&self, who: &str, expected: f64, figure: &OverRuns) -> Claim {
        let name = format!("{}: {who} takes, in ms (closed form)", self.world);
        let amount = (ERRORS * figure.error).max(0.5);
        claim(name, expected, figure.value, Within::Amount(amount))
    }

    /// Near, and as near as so many runs can tell: through a pool they differ much.
    fn quoted(&self, what: &str, published: f64, figure: &OverRuns, share: f64) -> Claim {
        let name = format!("{}: quoted, {what}", self.world);
        let amount = share * published + ERRORS / 2.0 * figure.error;
        claim(name, published, figure.value, Within::Amount(amount))
    }
}

/// The mean of a call whose attempts take 142 ms each, whose first fails with this chance and whose others with that, with
/// these mean waits before the others.
fn after(first: f64, again: f64, waits_ms: &[f64]) -> f64 {
    let mut chance = first;
    let mut mean = 142.0;
    for wait in waits_ms {
        mean += chance * (wait + 142.0);
        chance *= again;
    }
    mean
}

fn notes_of(part: Part, seen: &[Seen]) -> Vec<String> {
    let [none, fixed, exponential, last] = seen else {
        return Vec::new();
    };
    let pair = |seen: &Seen| format!("{:.2} % and {:.0} ms", seen.lost.value, seen.mean.value);
    match part {
        Part::Independent => vec![format!(
            "The often-quoted 10.0 / 2.3 / 0.4 % at 142 / 1847 / 523 ms cannot come from independent failures: of one in ten, \
             losses are powers of ten, and here no retries, a fixed wait and exponential waits lose and take {}, {} and {}. \
             A mean of 1847 ms would need 1.49 retries for every call, 15 for every one that fails.",
            pair(none),
            pair(fixed),
            pair(exponential)
        )],
        Part::Outages => vec![format!(
            "Nor from a server that is down and comes back, whatever the load: whoever waits longer loses less. A fixed wait \
             loses and takes {}, shorter exponential waits {}: none is better at both. seawall's default loses and takes {}: \
             its breaker spares the server ({:.2} attempts a call) and keeps calls out until a probe has found it well.",
            pair(fixed),
            pair(exponential),
            pair(last),
            last.load.value
        )],
        Part::ReadingOne => vec![format!(
            "Reading I comes near: retries of a failed call fail in 48 of 100, and the mean is of the retried calls alone. \
             Two fixed retries lose {:.2} % and take {:.0} ms; four exponential ones {:.2} % and {:.0} ms, five {:.2} % and \
             {:.0} ms. The numbers of retries were chosen to fit.",
            fixed.lost.value,
            fixed.retried.value,
            exponential.lost.value,
            exponential.retried.value,
            last.lost.value,
            last.retried.value
        )],
        Part::ReadingTwo => vec![format!(
            "Reading II comes near as well: the same failures, 84 calls a second through 20 connections that stay taken \
             between attempts, and the mean of all calls from when they were due. Two fixed retries lose and take {}, four \
             exponential ones {}. It is a transient: fixed waits fill the pool, and with more calls their mean has no end.",
            pair(fixed),
            pair(exponential)
        )],
        Part::Pool => vec![format!(
            "Whoever sleeps with a connection in hand takes it from others: through the pool, three fixed retries take \
             {:.0} ms on average, where exponential ones take {:.0}.",
            fixed.mean.value, exponential.mean.value
        )],
        Part::Sticky => vec![format!(
            "seawall's default is made for servers that are called by many: its budget lets one call in ten go again, so where \
             failures stick it loses {:.2} % at {:.3} attempts a call, where three retries for everybody lose {:.2} % at {:.3}.",
            last.lost.value, last.load.value, exponential.lost.value, exponential.load.value
        )],
    }
}
