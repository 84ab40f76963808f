//! What a breaker means: when it opens for too little, and when it never does (rules H1, H3, H8, H10).
//!
//! A breaker over several parts (models, shards, keys of callers) that opens because one of them fails makes a partial
//! outage a whole one: M. Brooker, "Will circuit breakers solve my problems?" (2022).

use super::figures::attempts_until_run;
use super::subject::Subject;
use super::{Advice, Code, counted, percent};
use seawall_core::policy::{
    BREAKER_RUN_SPAN, BreakerPolicy, DEFAULT_BREAKER_CONSECUTIVE, DEFAULT_BREAKER_FAILURE_PERCENT, Mode,
    OnOpen,
};
use seawall_core::time::Duration;

/// Parts that an upstream may well consist of: a breaker that opens for one of so many opens too early.
const PARTS: u64 = 4;
/// The longest run that random errors bring about often.
const RUN_SHORT: u32 = 2;
/// An error rate to reckon runs with, in thousandths.
const ERRORS_PER_MILLE: u32 = 100;

const RATE: &str = "policy.breaker.failure_rate";
const CONSECUTIVE: &str = "policy.breaker.consecutive";
const MIN_CALLS: &str = "policy.breaker.min_calls";

pub(super) fn of(subject: &Subject<'_>) -> Vec<Advice> {
    let Some(breaker) = subject.gate().breaker() else {
        return vec![never_opens(subject)];
    };
    match breaker.mode() {
        Mode::Open => vec![forced_open(subject)],
        Mode::Closed => vec![never_opens(subject)],
        // It refuses nothing, and whoever wrote that wants to see what it would do.
        Mode::Observe => Vec::new(),
        Mode::Auto => {
            let checks = [
                opens_for_a_part(subject, &breaker),
                run_short(subject, &breaker),
                opens_on_few(subject, &breaker),
                rate_never_counts(subject, &breaker),
                waits_in_vain(subject, &breaker),
            ];
            checks.into_iter().flatten().collect()
        }
    }
}

fn never_opens(subject: &Subject<'_>) -> Advice {
    let longest = subject.deadline_longest();
    let text = format!(
        "nothing stops sending in an outage: every call finds out for itself, for up to {longest} each; a breaker answers \
         after half a second of failures"
    );
    let keys = ["policy.breaker", "policy.breaker.mode"];
    subject.advice(Code::NoBreaker, &keys, text, [("deadline_ms", longest.into())])
}

fn forced_open(subject: &Subject<'_>) -> Advice {
    let text = "mode = \"open\" refuses every call; \"auto\" lets the breaker decide".to_owned();
    subject.advice(Code::BreakerForcedOpen, &["policy.breaker.mode"], text, [])
}

fn opens_for_a_part(subject: &Subject<'_>, breaker: &BreakerPolicy) -> Option<Advice> {
    let rate = u64::from(breaker.failure_per_mille());
    let enough = 1_000 / rate;
    let stricter = rate < u64::from(DEFAULT_BREAKER_FAILURE_PERCENT) * 10;
    let models = subject.models;
    let (parts, what) = match models {
        2.. if stricter && models <= enough => (models, "models"),
        _ if enough >= PARTS => (enough, "parts (models, shards, keys)"),
        _ => return None,
    };
    let text = format!(
        "it opens when {} of attempts fail, and one of {parts} {what} of equal traffic is {}: when one fails, calls to \
         the other {} are refused, too; keep failure_rate above {}",
        percent(rate),
        percent(1_000 / parts),
        parts - 1,
        super::decimal(1_000_u64.div_ceil(parts)),
    );
    let numbers = [
        ("failure_rate", super::Figure::Milli(rate)),
        ("parts", parts.into()),
    ];
    Some(subject.advice(Code::BreakerOpensForAPart, &[RATE], text, numbers))
}

fn run_short(subject: &Subject<'_>, breaker: &BreakerPolicy) -> Option<Advice> {
    let run = breaker.consecutive();
    (run <= RUN_SHORT).then(|| {
        let once = attempts_until_run(run, ERRORS_PER_MILLE);
        let usual = attempts_until_run(DEFAULT_BREAKER_CONSECUTIVE, ERRORS_PER_MILLE);
        let runs = match run {
            1 => "a failure comes".to_owned(),
            run => format!("{run} failures in a row come"),
        };
        let text = format!(
            "where {} of attempts fail at random, {runs} once in {once} attempts, and a run that lasts {BREAKER_RUN_SPAN} \
             refuses every call for {}; {DEFAULT_BREAKER_CONSECUTIVE} in a row come once in {usual}",
            percent(ERRORS_PER_MILLE.into()),
            breaker.open_for(),
        );
        let numbers = [
            ("consecutive", run.into()),
            ("attempts_until_run", once.into()),
            ("attempts_until_usual_run", usual.into()),
        ];
        subject.advice(Code::BreakerRunShort, &[CONSECUTIVE], text, numbers)
    })
}

fn opens_on_few(subject: &Subject<'_>, breaker: &BreakerPolicy) -> Option<Advice> {
    let (min, rate) = (
        u64::from(breaker.min_calls()),
        u64::from(breaker.failure_per_mille()),
    );
    let failures = (min * rate).div_ceil(1_000);
    (failures < u64::from(DEFAULT_BREAKER_CONSECUTIVE)).then(|| {
        let advised = (u64::from(DEFAULT_BREAKER_CONSECUTIVE) * 1_000).div_ceil(rate);
        let text = format!(
            "it opens on {} among {} within {}: that is chance, not an outage; min_calls = {advised} asks for \
             {DEFAULT_BREAKER_CONSECUTIVE}",
            counted(failures, "failure", "failures"),
            counted(min, "attempt", "attempts"),
            breaker.window(),
        );
        let numbers = [
            ("failures", failures.into()),
            ("min_calls", min.into()),
            ("min_calls_for_usual", advised.into()),
        ];
        subject.advice(Code::BreakerOpensOnFew, &[MIN_CALLS, RATE], text, numbers)
    })
}

fn rate_never_counts(subject: &Subject<'_>, breaker: &BreakerPolicy) -> Option<Advice> {
    let calls = subject.calls?;
    let nanos = u128::from(breaker.window().as_nanos()) * u128::from(calls.milli());
    let seen = u64::try_from(nanos / 1_000_000_000_000 / u128::from(subject.processes)).unwrap_or(u64::MAX);
    let min = u64::from(breaker.min_calls());
    (seen < min).then(|| {
        let text = format!(
            "failure_rate never counts: {} are {seen} in a window of {} in each process, and it asks \
             for {min}; only {} failures in a row open it",
            super::calls_a_second(calls),
            breaker.window(),
            breaker.consecutive(),
        );
        let numbers = [("calls_in_window", seen.into()), ("min_calls", min.into())];
        subject.advice(
            Code::BreakerRateSilent,
            &[MIN_CALLS, "policy.breaker.window"],
            text,
            numbers,
        )
    })
}

fn waits_in_vain(subject: &Subject<'_>, breaker: &BreakerPolicy) -> Option<Advice> {
    let longest = subject.deadline_longest();
    // Opened for nine tenths at the least (rule H3).
    let open = Duration::from_nanos(breaker.open_for().as_nanos() / 10 * 9);
    (breaker.on_open() == OnOpen::Wait && open >= longest).then(|| {
        let text = format!(
            "a call that comes when the breaker opens waits for {open} at the least, and has {longest}: it waits in vain; \
             lower open_for, or on_open = \"fail\""
        );
        let numbers = [("open_ms", open.into()), ("deadline_ms", longest.into())];
        let keys = ["policy.breaker.open_for", "policy.breaker.on_open"];
        subject.advice(Code::BreakerWaitsInVain, &keys, text, numbers)
    })
}
