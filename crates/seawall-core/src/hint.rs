//! What a server said about waiting (rules C1, C3 and A2).
//!
//! What can go wrong: clients read a prefix (`1m0s` as one second, `2026-11-30` as two thousand), take a date in
//! the past or a `0` for "now", let an overflow become a short wait, or crash on what they do not know. So a hint
//! is the *whole* trimmed string in a known form or it is absent; absent means our own backoff, never no wait;
//! and a number too large to hold is a long wait, not junk. What was there and said nothing usable is told in
//! [`Reading::ignored`], so that it can be counted. Sources stand in one order, and the first that parses wins.
//!
//! What this does not cover: how long a hint is honoured, and whom it holds up, is the call's and the gate's
//! (rules C2, C4 and C6). Reference: RFC 9110 10.2.3; gRPC A6 for the push-back.

mod date;
mod scan;
#[cfg(test)]
mod tests;
mod windows;

use crate::facts::Facts;
use crate::learned::Learned;
use crate::outcome::HintSource;
use crate::profile::Profile;
use crate::time::{Duration, Wall};
pub use date::{http_date, rfc3339};
use windows::Resets;

/// Numbers from here on are seconds since 1970, not from now: no server asks for 31 years.
const EPOCH_SECS_MIN: Duration = Duration::from_secs(1_000_000_000);
/// Numbers of so many digits before the point are milliseconds since 1970.
const EPOCH_MS_DIGITS: usize = 13;
/// A `Date` further than this from the host's own date is not believed (rule A2).
const SKEW_MAX_MS: u64 = 86_400_000;
/// What GitHub asks for where its secondary limit states nothing (rule C1).
pub const GITHUB_SECONDARY_WAIT: Duration = Duration::from_secs(60);

/// What a response said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing usable.
    Nothing,
    /// Not before this long from when the answer came.
    Wait {
        /// How long, never zero; [`Duration::MAX`] where the number was too large to hold.
        wait: Duration,
        /// Where it was said.
        source: HintSource,
    },
    /// Do not send it again at all (a negative gRPC push-back).
    DoNotRetry,
}

/// What a response said, and what it tried to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it said.
    pub found: Found,
    /// The first source that was there and said nothing usable: junk, zero, negative or in the past.
    pub ignored: Option<HintSource>,
}

/// Which sources an outcome lets speak (rule C1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Waits that were stated as such.
    Stated,
    /// Those, else the resets of exhausted rate-limit windows, else the provider's documented rule: for a
    /// Throttled outcome or a 503.
    StatedOrReset,
}

/// Reads what a response said about waiting. Never fails: what cannot be read is absent.
pub fn find(profile: &Profile, facts: &Facts<'_>, scope: Scope) -> Reading {
    let reference = reference(facts);
    let mut reading = Reading {
        found: Found::Nothing,
        ignored: None,
    };
    for (source, name) in [
        (HintSource::RetryAfterMs, "retry-after-ms"),
        (HintSource::XMsRetryAfterMs, "x-ms-retry-after-ms"),
        (HintSource::XAmzRetryAfter, "x-amz-retry-after"),
        (HintSource::GrpcRetryPushbackMs, "grpc-retry-pushback-ms"),
        (HintSource::RetryAfter, "retry-after"),
    ] {
        let Some(bytes) = facts.headers.get(name) else {
            continue;
        };
        let found = text(bytes).map_or(Found::Nothing, |text| header(source, text, reference));
        if reading.take(source, found).is_some() {
            return reading;
        }
    }
    let retry_delay = facts
        .body
        .retry_delay
        .map(|text| Duration::parse_units(text.trim()));
    let retry_after = facts.body.retry_after.map(|text| seconds(text.trim()));
    for said in [retry_delay, retry_after].into_iter().flatten() {
        if reading
            .take(HintSource::Body, waiting(said, HintSource::Body))
            .is_some()
        {
            return reading;
        }
    }
    match scope {
        Scope::Stated => reading,
        Scope::StatedOrReset => reading.or_reset(profile, facts, reference),
    }
}

/// Reads what a response says of the limits in front of its server, before any of them is reached (rule I4). What
/// cannot be read is absent.
pub fn learned(facts: &Facts<'_>) -> Learned {
    // A server with several quotas behind one credential names the one that it speaks of; only its main one holds
    // for every call.
    let resource = facts.headers.get("x-ratelimit-resource");
    if resource.is_some_and(|resource| resource != b"core") {
        return Learned::NOTHING;
    }
    windows::learned(facts.headers, reference(facts))
}

impl Reading {
    /// Notes what one source said; something where that ends the search.
    fn take(&mut self, source: HintSource, found: Found) -> Option<()> {
        match found {
            Found::Nothing => {
                self.ignored.get_or_insert(source);
                None
            }
            Found::Wait { .. } | Found::DoNotRetry => {
                self.found = found;
                Some(())
            }
        }
    }

    fn or_reset(mut self, profile: &Profile, facts: &Facts<'_>, reference: Wall) -> Self {
        let source = HintSource::RateLimitReset;
        match windows::resets(facts.headers, reference) {
            Resets::Wait(wait) => self.found = Found::Wait { wait, source },
            Resets::Malformed => {
                self.ignored.get_or_insert(source);
            }
            Resets::Silent => {}
        }
        if self.found == Found::Nothing && profile.is_secondary_limit(facts) {
            self.found = Found::Wait {
                wait: GITHUB_SECONDARY_WAIT,
                source: HintSource::Provider,
            };
        }
        self
    }
}

/// The date that dates in this response are measured against: its own `Date` where that is sane, so that a
/// server whose clock is off still means what it says (rule A2).
fn reference(facts: &Facts<'_>) -> Wall {
    facts
        .headers
        .get("date")
        .and_then(text)
        .and_then(|text| http_date(text, facts.wall))
        .filter(|date| date.unix_ms.abs_diff(facts.wall.unix_ms) <= SKEW_MAX_MS)
        .unwrap_or(facts.wall)
}

fn header(source: HintSource, text: &str, reference: Wall) -> Found {
    let said = match source {
        HintSource::RetryAfterMs | HintSource::XMsRetryAfterMs | HintSource::XAmzRetryAfter => {
            Duration::parse_decimal(text, 1_000_000)
        }
        HintSource::GrpcRetryPushbackMs => {
            let negative = text.strip_prefix('-').and_then(seconds);
            if negative.is_some_and(|length| !length.is_zero()) {
                return Found::DoNotRetry;
            }
            Duration::parse_decimal(text, 1_000_000)
        }
        HintSource::RetryAfter => stated_wait(text, reference),
        HintSource::Body | HintSource::RateLimitReset | HintSource::Provider => None,
    };
    waiting(said, source)
}

fn waiting(said: Option<Duration>, source: HintSource) -> Found {
    match said {
        Some(wait) if !wait.is_zero() => Found::Wait { wait, source },
        Some(_) | None => Found::Nothing,
    }
}

/// The grammar of `Retry-After`, and of `x-ratelimit-reset`: digits, decimals, a Go duration, RFC 3339 or an HTTP
/// date; large numbers are dates. `None` is another form or a date that is not to come.
fn stated_wait(text: &str, reference: Wall) -> Option<Duration> {
    let Some(number) = seconds(text) else {
        return Duration::parse_units(text).or_else(|| {
            rfc3339(text)
                .or_else(|| http_date(text, reference))?
                .since(reference)
        });
    };
    if number < EPOCH_SECS_MIN {
        return Some(number);
    }
    let whole = text.split('.').next().unwrap_or(text).trim_start_matches('0');
    let epoch = if whole.len() >= EPOCH_MS_DIGITS {
        Duration::parse_decimal(text, 1_000_000)?
    } else {
        number
    };
    Some(delta(epoch, reference))
}

/// From the reference to a date given as time since 1970; what was too large to hold stays so.
fn delta(epoch: Duration, reference: Wall) -> Duration {
    match epoch {
        Duration::MAX => Duration::MAX,
        epoch => epoch.minus(Duration::from_millis(
            u64::try_from(reference.unix_ms).unwrap_or(0),
        )),
    }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::parse_decimal(text, 1_000_000_000)
}

/// A header's value as trimmed text; nothing where it is not text.
fn text(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes)
        .ok()
        .map(|text| text.trim_matches([' ', '\t']))
}
