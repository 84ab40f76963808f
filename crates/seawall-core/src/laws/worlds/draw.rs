//! What a world is made of, drawn from its seed: policies, and what servers do.

use crate::learned::{Kind, Learned, Word};
use crate::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent, Usage};
use crate::policy::{
    Concurrency, GatePolicy, Jitter, LongHint, OnEmpty, OnOpen, Policy, PolicyBuilder, Preset, SlowCall,
};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::verdict::Permit;

/// One of `all`.
pub(super) fn one<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    let place = rng.up_to(all.len() as u64 - 1);
    all[usize::try_from(place).expect("a place in a list")]
}

/// Whether something happens that happens `n` times of a hundred.
pub(super) fn percent(rng: &mut Rng, n: u64) -> bool {
    rng.up_to(99) < n
}

pub(super) fn millis(rng: &mut Rng, least: u64, most: u64) -> Duration {
    Duration::from_millis(rng.between(least, most))
}

/// A policy that somebody might write: a preset, and some of its settings changed.
pub(super) fn policy(rng: &mut Rng) -> Policy {
    let mut builder = PolicyBuilder::from_preset(one(rng, &Preset::ALL));
    if percent(rng, 60) {
        builder = call_settings(rng, builder);
    }
    if percent(rng, 70) {
        builder = gate_settings(rng, builder);
    }
    builder
        .build()
        .expect("every policy that a world draws is in range")
}

fn call_settings(rng: &mut Rng, builder: PolicyBuilder) -> PolicyBuilder {
    let jitters = [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Decorrelated,
        Jitter::Proportional { per_mille: 300 },
        Jitter::None,
    ];
    let mut builder = builder
        .retries(one(rng, &[0, 1, 2, 3, 5, 8]))
        .fallbacks(one(rng, &[0, 1, 2, 3]))
        .tries(one(rng, &[1, 2, 3, 4]))
        .patience(one(rng, &[0, 100, 1_000, 10_000].map(Duration::from_millis)))
        .backoff_base(one(rng, &[50, 500, 2_000].map(Duration::from_millis)))
        .jitter(one(rng, &jitters))
        .hints_max(one(rng, &[2, 10, 60, 900].map(Duration::from_secs)))
        .deadline(one(rng, &[1, 5, 30, 120, 3_600].map(Duration::from_secs)));
    if percent(rng, 15) {
        builder = builder.hints_long(LongHint::Clamp);
    }
    if percent(rng, 35) {
        let per_mille = one(rng, &[500, 900, 950]);
        builder = if percent(rng, 50) {
            builder.hedge_after(millis(rng, 20, 2_000))
        } else {
            builder.hedge_after_percentile(per_mille)
        };
        if percent(rng, 40) {
            builder = builder.hedge_at_most_per_mille(one(rng, &[50, 200, 1_000]));
        }
    }
    if percent(rng, 20) {
        builder = builder.total(Duration::from_secs(5));
    }
    builder
}

fn gate_settings(rng: &mut Rng, builder: PolicyBuilder) -> PolicyBuilder {
    let on_open = one(rng, &[OnOpen::Fail, OnOpen::Wait]);
    let (consecutive, probes, successes) = (rng.between(2, 6), rng.between(1, 3), rng.between(1, 3));
    let open_for = one(rng, &[1, 5, 20].map(Duration::from_secs));
    let slow_call = percent(rng, 25).then(|| SlowCall {
        over: one(rng, &[50, 500, 5_000].map(Duration::from_millis)),
        per_mille: one(rng, &[200, 500, 1_000]),
    });
    let ramp = percent(rng, 40).then(|| one(rng, &[1, 10, 60].map(Duration::from_secs)));
    let narrow = |n: u64| u32::try_from(n).expect("a small number");
    let places = [
        Concurrency::Unbounded,
        Concurrency::AtMost(1),
        Concurrency::AtMost(2),
        Concurrency::AtMost(3),
        Concurrency::AtMost(8),
        Concurrency::AtMost(64),
        Concurrency::Auto,
        Concurrency::Gradient,
    ];
    let builder = rated(rng, builder)
        .concurrency(one(rng, &places))
        .queue(one(rng, &[0, 3, 50, 1_000]))
        .edit_breaker(|breaker| {
            breaker
                .consecutive(narrow(consecutive))
                .probes(narrow(probes))
                .probe_successes(narrow(successes))
                .open_for(open_for)
                .on_open(on_open)
                .slow_call(slow_call)
                .ramp(ramp)
        });
    let builder = if percent(rng, 15) {
        builder.breaker(None)
    } else {
        builder
    };
    budgeted(rng, builder)
}

/// Limits of a minute, in some worlds.
fn rated(rng: &mut Rng, builder: PolicyBuilder) -> PolicyBuilder {
    let mut builder = builder;
    if percent(rng, 20) {
        builder = builder.requests_per_minute(one(rng, &[Some(10), Some(60), Some(600)]));
    }
    if percent(rng, 15) {
        builder = builder.tokens_per_minute(one(rng, &[Some(5_000), Some(50_000)]));
    }
    if percent(rng, 10) {
        builder = builder
            .tokens_in_per_minute(Some(10_000))
            .tokens_out_per_minute(Some(2_000));
    }
    builder
}

fn budgeted(rng: &mut Rng, builder: PolicyBuilder) -> PolicyBuilder {
    if percent(rng, 15) {
        return builder.budget(None);
    }
    let ratio = one(rng, &[0, 50, 100, 200, 500]);
    let floor = one(rng, &[100, 500, 1_000, 2_000]);
    let window = one(rng, &[1, 10, 60].map(Duration::from_secs));
    let on_empty = one(rng, &[OnEmpty::Stop, OnEmpty::Wait]);
    builder.edit_budget(|budget| {
        budget
            .ratio_per_mille(ratio)
            .floor_milli(floor)
            .window(window)
            .on_empty(on_empty)
    })
}

/// The policy of a gate that upstreams have in common: it bounds places and extras, and has no breaker.
pub(super) fn common_policy(rng: &mut Rng) -> GatePolicy {
    let builder = Policy::builder()
        .breaker(None)
        .concurrency(one(rng, &[None, Some(2), Some(5), Some(20)]));
    let builder = rated(rng, builder);
    let policy = budgeted(rng, builder).build();
    policy.expect("every policy that a world draws is in range").gate
}

/// What a server does for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Up,
    Slow,
    Erring,
    Flapping,
    /// 429 with a time, of this many seconds at the most.
    Throttling(u64),
    ThrottlingSilently,
    /// 503 with a time.
    Busy,
    Hanging,
    Down,
    Denying,
    Refusing,
    /// Anything, from one attempt to the next.
    Mad,
}

impl Mood {
    const ALL: [Self; 14] = [
        Self::Up,
        Self::Up,
        Self::Up,
        Self::Slow,
        Self::Erring,
        Self::Flapping,
        Self::Throttling(5),
        Self::Throttling(3_000),
        Self::ThrottlingSilently,
        Self::Busy,
        Self::Hanging,
        Self::Down,
        Self::Denying,
        Self::Refusing,
    ];

    pub(super) fn draw(rng: &mut Rng) -> Self {
        if percent(rng, 10) {
            return Self::Mad;
        }
        one(rng, &Self::ALL)
    }
}

/// What becomes of one attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    pub(super) commits_at: Option<Instant>,
    pub(super) lands_at: Instant,
    pub(super) report: Report,
    /// What the answer's head tells of the server's limits.
    pub(super) learned: Option<Learned>,
}

/// What a server in this mood does to an attempt that is sent now.
pub(super) fn fate(rng: &mut Rng, mood: Mood, now: Instant, permit: &Permit) -> Fate {
    let mood = match mood {
        Mood::Mad => one(rng, &Mood::ALL),
        Mood::Flapping if (now.since(Instant::START).as_millis() / 2_000).is_multiple_of(2) => Mood::Up,
        Mood::Flapping => Mood::Erring,
        mood => mood,
    };
    let limits = permit.limits();
    let took = match mood {
        Mood::Slow => millis(rng, 500, 20_000),
        Mood::Hanging => Duration::MAX,
        Mood::Up => millis(rng, 5, 300),
        _ => millis(rng, 1, 50),
    };
    let limit = limits.first_byte.min(limits.total);
    let limit_at = now.after(limit).min(limits.deadline);
    let lands_at = now.after(took);
    if lands_at >= limit_at {
        return Fate {
            commits_at: None,
            lands_at: limit_at,
            report: report(failed(Cause::Timeout, Sent::Maybe, None), 0),
            learned: None,
        };
    }
    let (outcome, status) = outcome(rng, mood);
    let mut fate = Fate {
        commits_at: None,
        lands_at,
        learned: percent(rng, 20).then(|| learned(rng)),
        report: Report {
            should_retry: one(
                rng,
                &[None, None, None, None, None, None, Some(true), Some(false)],
            ),
            resent: percent(rng, 3),
            earlier: one(rng, &[Sent::No, Sent::No, Sent::No, Sent::Maybe]),
            usage: usage(rng),
            ..report(outcome, status)
        },
    };
    if outcome == Outcome::Answer && percent(rng, 40) {
        // A stream: its first content now, its last byte later, or never.
        fate.commits_at = Some(lands_at);
        fate.lands_at = lands_at.after(millis(rng, 1, 3_000));
        if percent(rng, 20) {
            fate.report = report(failed(Cause::Cut, Sent::Maybe, None), 0);
        }
    }
    fate
}

fn outcome(rng: &mut Rng, mood: Mood) -> (Outcome, u16) {
    match mood {
        Mood::Throttling(most) => {
            let hint = Some(hint(rng, most, 90));
            (Outcome::Throttled { hint }, 429)
        }
        Mood::ThrottlingSilently => (Outcome::Throttled { hint: None }, 429),
        Mood::Busy => (failed(Cause::Status, Sent::NotDone, Some(hint(rng, 8, 60))), 503),
        Mood::Down => (failed(Cause::Connect, Sent::No, None), 0),
        Mood::Denying => {
            let latches = percent(rng, 70);
            (Outcome::Denied { latches }, if latches { 401 } else { 403 })
        }
        Mood::Refusing => {
            let why = one(
                rng,
                &[
                    Refusal::Caller,
                    Refusal::QuotaSpent,
                    Refusal::ContextTooLong,
                    Refusal::TooLarge,
                ],
            );
            (Outcome::Refused(why), 400)
        }
        Mood::Erring if percent(rng, 5) => (failed(Cause::Request, Sent::No, None), 0),
        Mood::Erring => {
            let status = one(rng, &[500, 502, 504, 409, 425]);
            (failed(Cause::Status, Sent::Maybe, None), status)
        }
        Mood::Up | Mood::Slow | Mood::Hanging | Mood::Flapping | Mood::Mad if percent(rng, 4) => {
            (failed(Cause::Cut, Sent::Maybe, None), 0)
        }
        Mood::Up | Mood::Slow | Mood::Hanging | Mood::Flapping | Mood::Mad => (Outcome::Answer, 200),
    }
}

fn learned(rng: &mut Rng) -> Learned {
    let told = Word {
        limit: percent(rng, 50).then_some(60),
        remaining: rng.up_to(3),
        resets_in: percent(rng, 70).then(|| millis(rng, 100, 8_000)),
    };
    Learned::NOTHING.with(Kind::Requests, told)
}

fn usage(rng: &mut Rng) -> Usage {
    if percent(rng, 60) {
        return Usage::NONE;
    }
    Usage {
        tokens_in: rng.up_to(3_000),
        tokens_out: rng.up_to(500),
    }
}

fn hint(rng: &mut Rng, seconds_max: u64, cools_percent: u64) -> Hint {
    Hint {
        wait: millis(rng, 1, seconds_max * 1_000),
        cools: percent(rng, cools_percent),
        source: HintSource::RetryAfter,
    }
}

const fn failed(cause: Cause, sent: Sent, hint: Option<Hint>) -> Outcome {
    Outcome::Failed { cause, sent, hint }
}

const fn report(outcome: Outcome, status: u16) -> Report {
    Report {
        outcome,
        status,
        should_retry: None,
        usage: Usage::NONE,
        resent: false,
        earlier: Sent::No,
        first_byte: None,
    }
}
