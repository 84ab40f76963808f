//! How a limit is told: headers and words, all made from one standing.
//!
//! | form | an answer | a refusal, beside that |
//! |---|---|---|
//! | `openai` | `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, resets as `6m0s`, `20ms` | `Retry-After`, `retry-after-ms`, "Please try again in 1.5s" |
//! | `groq` | the same | `Retry-After`, "Please try again in 1.5s"; what is larger than the limit is a 413 |
//! | `azure` | the same, resets in whole seconds | `Retry-After`, `retry-after-ms`, "Please retry after 2 seconds" |
//! | `anthropic` | `anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`, resets as dates | `Retry-After` |
//! | `gemini` | – | `RetryInfo` in the body, "Please retry in 1.5s" |
//! | `generic` | `RateLimit-Policy`, `RateLimit` (draft 10), `x-ratelimit-{limit,remaining,reset}` in whole seconds | `Retry-After` |
//!
//! `reset` says when the bucket is *full* again, as these providers document it; `Retry-After` says when the attempt would
//! be let in, which is sooner. Every number is rounded up, so that who obeys it is never early. A wait that nobody can
//! foretell, or that never ends, is not stated.

use super::{Bound, Form, Refusal, Standing, Wait, Window};
use seawall_core::time::{Duration, Wall};

const SECOND_NANOS: u64 = 1_000_000_000;
const DAY_SECS: i64 = 86_400;
/// The last second that RFC 3339 can write: 9999-12-31T23:59:59Z.
const LAST_UNIX_SECS: i64 = 253_402_300_799;

/// Headers by their lower-case names.
pub type Told = Vec<(&'static str, String)>;

/// The headers of an answer whose limits stand so. `wall` is the date now, for forms that tell dates.
pub fn headers(form: Form, standing: &Standing, wall: Wall) -> Told {
    let (requests, tokens) = (standing.requests(), standing.tokens());
    match form {
        Form::OpenAi | Form::Groq => split(X_RATELIMIT, requests, tokens, go_duration),
        Form::Azure => split(X_RATELIMIT, requests, tokens, |reset| secs_up(reset).to_string()),
        Form::Anthropic => split(ANTHROPIC, requests, tokens, |reset| rfc3339(wall, reset)),
        Form::Gemini => Vec::new(),
        Form::Generic | Form::ByDialect => generic(standing),
    }
}

/// The headers of a refusal.
pub fn refusal_headers(form: Form, refusal: &Refusal, wall: Wall) -> Told {
    let mut told = headers(form, &refusal.standing, wall);
    let Wait::For(wait) = refusal.wait else {
        return told;
    };
    match form {
        Form::Gemini => {}
        Form::Anthropic | Form::Groq | Form::Generic | Form::ByDialect => {
            told.push(("retry-after", secs_up(wait).to_string()));
        }
        Form::OpenAi | Form::Azure => {
            told.push(("retry-after", secs_up(wait).to_string()));
            told.push(("retry-after-ms", wait.as_millis_up().to_string()));
        }
    }
    told
}

/// The status of a refusal.
pub fn status(form: Form, refusal: &Refusal) -> u16 {
    match (form, refusal.wait) {
        (Form::Groq, Wait::Never) => 413,
        (
            Form::OpenAi
            | Form::Anthropic
            | Form::Azure
            | Form::Gemini
            | Form::Groq
            | Form::Generic
            | Form::ByDialect,
            Wait::For(_) | Wait::UntilOneEnds | Wait::Never,
        ) => 429,
    }
}

/// What a refusal says in words.
pub fn message(form: Form, refusal: &Refusal) -> String {
    let (words, limit, needs) = (refusal.bound.words(), refusal.limit, refusal.needs);
    let when = match (refusal.wait, form) {
        (Wait::For(wait), Form::OpenAi | Form::Groq) => {
            format!(" Please try again in {}.", go_duration(wait))
        }
        (Wait::For(wait), Form::Azure) => format!(" Please retry after {} seconds.", secs_up(wait)),
        (Wait::For(wait), Form::Gemini) => format!(" Please retry in {}.", go_duration(wait)),
        (Wait::For(wait), Form::Anthropic | Form::Generic | Form::ByDialect) => {
            format!(" Try again in {} seconds.", secs_up(wait))
        }
        (Wait::UntilOneEnds, _) => String::new(),
        (Wait::Never, _) => {
            return format!("mock: request too large on {words}: Limit {limit}, Requested {needs}.");
        }
    };
    let used = refusal
        .standing
        .windows()
        .find(|window| window.bound == refusal.bound)
        .map_or(limit, |window| limit - window.remaining);
    format!("mock: rate limit reached on {words}: Limit {limit}, Used {used}, Requested {needs}.{when}")
}

/// A wait as Google's `RetryInfo` writes it, exact: `34.074824224s`.
pub fn retry_delay(wait: Duration) -> String {
    let (secs, nanos) = (wait.as_secs(), wait.as_nanos() % SECOND_NANOS);
    let fraction = format!("{nanos:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{secs}s"),
        digits => format!("{secs}.{digits}s"),
    }
}

/// Names of a limit, a remainder and a reset.
type Names = [&'static str; 3];
const X_RATELIMIT: [Names; 2] = [
    [
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ],
    [
        "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-reset-tokens",
    ],
];
const ANTHROPIC: [Names; 2] = [
    [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ],
    [
        "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ],
];
const PLAIN: Names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

fn split(
    names: [Names; 2],
    requests: Option<Window>,
    tokens: Option<Window>,
    reset: impl Fn(Duration) -> String,
) -> Told {
    let mut told = Vec::new();
    for (names, window) in names.into_iter().zip([requests, tokens]) {
        if let Some(window) = window {
            told.extend(three(names, window, reset(window.full_in)));
        }
    }
    told
}

fn three([limit, remaining, reset]: Names, window: Window, resets: String) -> [(&'static str, String); 3] {
    [
        (limit, window.limit.to_string()),
        (remaining, window.remaining.to_string()),
        (reset, resets),
    ]
}

/// `RateLimit` and its policy by draft 10 of the IETF, and the three headers that most servers had before it.
fn generic(standing: &Standing) -> Told {
    let mut told = Vec::new();
    let list = |write: &dyn Fn(Window) -> String| {
        let items: Vec<String> = standing.windows().map(write).collect();
        (!items.is_empty()).then(|| items.join(", "))
    };
    let policy = list(&|window| {
        let unit = match window.bound {
            Bound::TokensPerMinute => ";qu=\"tokens\"",
            Bound::RequestsPerMinute | Bound::RequestsPerSecond | Bound::Concurrency => "",
        };
        let (name, secs) = (item_name(window.bound), secs_up(window.lasts));
        format!("\"{name}\";q={}{unit};w={secs}", window.limit)
    });
    let now = list(&|window| {
        let (name, secs) = (item_name(window.bound), secs_up(window.full_in));
        format!("\"{name}\";r={};t={secs}", window.remaining)
    });
    told.extend(policy.map(|policy| ("ratelimit-policy", policy)));
    told.extend(now.map(|now| ("ratelimit", now)));
    if let Some(window) = standing.requests() {
        told.extend(three(PLAIN, window, secs_up(window.full_in).to_string()));
    }
    told
}

const fn item_name(bound: Bound) -> &'static str {
    match bound {
        Bound::RequestsPerMinute => "requests",
        Bound::RequestsPerSecond => "requests-a-second",
        Bound::TokensPerMinute => "tokens",
        Bound::Concurrency => "at-once",
    }
}

/// Whole seconds, rounded up.
pub(super) fn secs_up(length: Duration) -> u64 {
    length.as_nanos().div_ceil(SECOND_NANOS)
}

/// `2m59.56s`, `7.66s`, `120ms`, `0s`: how Go prints it, rounded up to the millisecond.
pub fn go_duration(length: Duration) -> String {
    let ms = length.as_millis_up();
    match ms {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{ms}ms"),
        1_000.. => {}
    }
    let (hours, minutes, rest) = (ms / 3_600_000, ms / 60_000 % 60, ms % 60_000);
    let fraction = format!("{:03}", rest % 1_000);
    let fraction = match fraction.trim_end_matches('0') {
        "" => String::new(),
        digits => format!(".{digits}"),
    };
    let seconds = format!("{}{fraction}s", rest / 1_000);
    match (hours, minutes) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

/// The date `length` after `wall`, rounded up to the second: `2026-11-30T02:00:00Z`.
pub(super) fn rfc3339(wall: Wall, length: Duration) -> String {
    let nanos = i128::from(wall.unix_ms) * 1_000_000 + i128::from(length.as_nanos());
    let second = i128::from(SECOND_NANOS);
    let secs = nanos.div_euclid(second) + i128::from(nanos.rem_euclid(second) > 0);
    let secs = i64::try_from(secs).map_or(LAST_UNIX_SECS, |secs| secs.clamp(0, LAST_UNIX_SECS));
    let (year, month, day) = civil(secs.div_euclid(DAY_SECS));
    let clock = secs.rem_euclid(DAY_SECS);
    let (hour, minute, second) = (clock / 3_600, clock / 60 % 60, clock % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day counted from 1970-01-01 (Howard Hinnant's `civil_from_days`).
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March here, so that the day that leap years add is their last.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
