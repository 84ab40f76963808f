//! What a case says is right (`then`), against what was seen.

use super::given::key;
use super::setup::BODY;
use super::{Case, Ended, Ran};
use seawall_core::facts::BodyState;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use serde_json::Value;

/// What is asked of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ask {
    /// So many requests.
    N(usize),
    /// At most so many.
    NMost(usize),
    /// At most as many as the policy allows.
    NAllowed,
    /// The wait before request i+1, where there is one, in milliseconds.
    Gap {
        i: usize,
        from_ms: u64,
        to_ms: u64,
    },
    /// No gap at all, or one within these bounds.
    NoGapOr {
        i: usize,
        from_ms: u64,
    },
    /// A later gap is not below an earlier one.
    NotBelow {
        i: usize,
        earlier: usize,
    },
    Ok,
    Error,
    Status(u16),
    RetryAfter(u64),
    QuotaSpent,
    /// The last answer is known to be shorter than it should be.
    CutShort,
    Effects(usize),
    ElapsedBelowMs(u64),
    /// No single wait above the longest hint that is waited for.
    NoWaitAboveHintsMax,
    SameKey,
    SameBody,
    /// A body that is cut is not taken for an answer.
    NoShortBody,
}

const OWN_BACKOFF: Ask = Ask::Gap {
    i: 0,
    from_ms: 50,
    to_ms: 500,
};

const fn gap(from_ms: u64, to_ms: u64) -> Ask {
    Ask::Gap { i: 0, from_ms, to_ms }
}

/// What cases say in words: each way of being right, and all that it asks.
const WORDS: &[(&str, &str, &[&[Ask]])] = &[
    (
        "n",
        "2 with gap[0] >= 90, or 1 with outcome error:429",
        &[
            &[Ask::N(2), gap(90_000, u64::MAX)],
            &[Ask::N(1), Ask::Status(429)],
        ],
    ),
    (
        "n",
        "1 (error) or 2 with gap[0] 5..7",
        &[&[Ask::N(1), Ask::Error], &[Ask::N(2), gap(5_000, 7_000)]],
    ),
    (
        "n",
        "2 with gap[0] >= 60, or error with hint 60",
        &[
            &[Ask::N(2), gap(60_000, u64::MAX)],
            &[Ask::Error, Ask::RetryAfter(60)],
        ],
    ),
    ("n", "<= configured", &[&[Ask::NAllowed]]),
    (
        "gap[0]",
        ">=60 if durations are understood, else own backoff",
        &[&[gap(60_000, u64::MAX)], &[OWN_BACKOFF]],
    ),
    ("gap[0]", "own backoff", &[&[OWN_BACKOFF]]),
    ("gap[0]", "own backoff, not 0", &[&[OWN_BACKOFF]]),
    ("gap[0]", ">= backoff floor", &[&[gap(50, u64::MAX)]]),
    (
        "gap[0]",
        "5..7 or cap/error",
        &[&[gap(5_000, 7_000)], &[Ask::Error]],
    ),
    (
        "gap[2]",
        ">= gap[1] >= 1",
        &[&[
            Ask::Gap {
                i: 1,
                from_ms: 1_000,
                to_ms: u64::MAX,
            },
            Ask::NotBelow { i: 2, earlier: 1 },
        ]],
    ),
    ("outcome", "ok", &[&[Ask::Ok]]),
    ("outcome", "error", &[&[Ask::Error]]),
    ("outcome", "error:incomplete-stream", &[&[Ask::CutShort]]),
    ("outcome", "error:quota", &[&[Ask::QuotaSpent]]),
    (
        "outcome",
        "error:429 with retry_after=7200 exposed",
        &[&[Ask::Status(429), Ask::RetryAfter(7_200)]],
    ),
    (
        "outcome",
        "error:503 exposing 3600",
        &[&[Ask::Status(503), Ask::RetryAfter(3_600)]],
    ),
    (
        "never",
        "gap[0] < cap",
        &[&[Ask::NoGapOr {
            i: 0,
            from_ms: 60_000,
        }]],
    ),
    ("never", "sleep > cap", &[&[Ask::NoWaitAboveHintsMax]]),
    ("or", "an error, never a short body", &[&[Ask::NoShortBody]]),
    ("or", "n 1 with error", &[&[Ask::N(1), Ask::Error]]),
    ("or", "body_equal true", &[&[Ask::SameBody]]),
];

/// Whether a run is right, but for the case's `rule`; else everything that it is not. `or` is another way of being
/// right.
pub(super) fn check(case: &Case, ran: &Ran) -> Result<(), Vec<String>> {
    let mut wrong = Vec::new();
    for (name, value) in case
        .then
        .iter()
        .filter(|(name, _)| !["rule", "or"].contains(&name.as_str()))
    {
        let ways = ways(&case.id, name, value);
        if !ways.iter().any(|asks| asks.iter().all(|ask| holds(*ask, ran))) {
            wrong.push(format!("{name} is not {value}"));
        }
    }
    let other = case.then.get("or").map(|value| ways(&case.id, "or", value));
    let otherwise = other.is_some_and(|ways| ways.iter().any(|asks| asks.iter().all(|ask| holds(*ask, ran))));
    if wrong.is_empty() || otherwise {
        Ok(())
    } else {
        Err(wrong)
    }
}

fn ways(id: &str, name: &str, value: &Value) -> Vec<Vec<Ask>> {
    if let Some(text) = value.as_str() {
        let known = WORDS
            .iter()
            .find(|(key, words, _)| *key == name && *words == text);
        if let Some((_, _, ways)) = known {
            return ways.iter().map(|asks| asks.to_vec()).collect();
        }
    }
    let ask = numbers(name, value);
    vec![vec![ask.unwrap_or_else(|| {
        panic!("{id}: nobody knows what {name} {value} asks")
    })]]
}

/// What is said in numbers.
fn numbers(name: &str, value: &Value) -> Option<Ask> {
    let text = value.as_str().map(|text| text.replace(' ', ""));
    let text = text.as_deref();
    match name {
        "n" => match value.as_u64() {
            Some(n) => Some(Ask::N(usize::try_from(n).ok()?)),
            None => Some(Ask::NMost(text?.strip_prefix("<=")?.parse().ok()?)),
        },
        "effects" => Some(Ask::Effects(usize::try_from(value.as_u64()?).ok()?)),
        "same_key" => value.as_bool()?.then_some(Ask::SameKey),
        "body_equal" => value.as_bool()?.then_some(Ask::SameBody),
        "outcome" => Some(Ask::Status(text?.strip_prefix("error:")?.parse().ok()?)),
        "elapsed" => {
            let most = text?.trim_start_matches(['<', '=']).strip_suffix('s')?;
            Some(Ask::ElapsedBelowMs(thousandths(most)?))
        }
        "never" => {
            let from_ms = thousandths(text?.strip_prefix("gap[0]<")?)?;
            Some(Ask::NoGapOr { i: 0, from_ms })
        }
        _ => {
            let i = name.strip_prefix("gap[")?.strip_suffix(']')?.parse().ok()?;
            let (from, to) = match text?.strip_prefix(">=") {
                Some(from) => (from, None),
                None => text?.split_once("..").map(|(from, to)| (from, Some(to)))?,
            };
            let to_ms = to.map_or(Some(u64::MAX), thousandths)?;
            Some(Ask::Gap {
                i,
                from_ms: thousandths(from)?,
                to_ms,
            })
        }
    }
}

fn thousandths(text: &str) -> Option<u64> {
    Duration::parse_decimal(text, 1_000_000_000).map(Duration::as_millis)
}

pub(super) fn holds(ask: Ask, ran: &Ran) -> bool {
    let error = ran.ended.error();
    let status = error.and_then(|error| Some(error.answer.as_ref()?.status.as_u16()));
    match ask {
        Ask::N(n) => ran.requests.len() == n,
        Ask::NMost(n) => ran.requests.len() <= n,
        Ask::NAllowed => ran.requests.len() <= 1 + ran.policy.call.retries() as usize,
        Ask::Gap { i, from_ms, to_ms } => ran.gap_ms(i).is_some_and(|ms| (from_ms..=to_ms).contains(&ms)),
        Ask::NoGapOr { i, from_ms } => ran.gap_ms(i).is_none_or(|ms| ms >= from_ms),
        Ask::NotBelow { i, earlier } => {
            matches!((ran.gap_ms(i), ran.gap_ms(earlier)), (Some(gap), Some(earlier)) if gap >= earlier)
        }
        Ask::Ok => matches!(ran.ended, Ended::Answered(_)),
        Ask::Error => error.is_some(),
        Ask::Status(wanted) => status == Some(wanted),
        Ask::RetryAfter(seconds) => {
            error.is_some_and(|error| error.retry_after == Some(Duration::from_secs(seconds)))
        }
        Ask::QuotaSpent => error.is_some_and(|error| error.reason == Reason::QuotaSpent),
        Ask::CutShort => error
            .and_then(|error| error.answer.as_ref())
            .is_some_and(|answer| answer.state == BodyState::Truncated),
        Ask::Effects(n) => ran.requests.iter().filter(|request| request.effect).count() == n,
        Ask::ElapsedBelowMs(ms) => ran.took.as_millis() < ms,
        Ask::NoWaitAboveHintsMax => {
            let most_ms = ran.policy.call.hints().max().as_millis();
            (0..ran.requests.len()).all(|i| ran.gap_ms(i).is_none_or(|ms| ms <= most_ms + 1_000))
        }
        Ask::SameKey => {
            let first = ran.requests.first().and_then(key);
            first.is_some() && ran.requests.iter().all(|request| key(request) == first)
        }
        Ask::SameBody => ran.requests.iter().all(|request| request.body == BODY),
        Ask::NoShortBody => match &ran.ended {
            Ended::Answered(answer) => serde_json::from_slice::<Value>(&answer.body).is_ok(),
            Ended::Failed(_) => true,
            Ended::Left => false,
        },
    }
}
