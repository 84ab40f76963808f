//! The resets of rate-limit windows: what remains of rule C1 when nobody stated a wait.
//!
//! What can go wrong: a response carries several windows, most of them with room left, and their resets say when
//! they are *full* again. So only a window that is exhausted (0 remaining, or none stated) counts, and of several
//! the longest, because the call needs all of them.

use super::scan::Scan;
use super::{delta, stated_wait, text};
use crate::facts::Headers;
use crate::learned::{Kind, Learned, Word};
use crate::time::{Duration, Wall};
use alloc::vec::Vec;

/// How a reset is written.
#[derive(Clone, Copy)]
enum Form {
    /// A Go duration, or seconds as LiteLLM rewrites them.
    Units,
    /// RFC 3339.
    Date,
    /// Seconds since 1970.
    Epoch,
    /// Seconds from now.
    Delta,
    /// Anything that `Retry-After` may be: nobody agrees on `x-ratelimit-reset`.
    Any,
}

struct Window {
    /// What it counts; `None` where it states no remainder.
    kind: Option<Kind>,
    limit: &'static str,
    remaining: &'static str,
    reset: &'static str,
    form: Form,
}

const fn window(
    kind: Kind,
    limit: &'static str,
    remaining: &'static str,
    reset: &'static str,
    form: Form,
) -> Window {
    Window {
        kind: Some(kind),
        limit,
        remaining,
        reset,
        form,
    }
}

/// One of the windows of a plan, which state no remainder but a verdict, that `exhausted` reads in its place.
const fn plan(status: &'static str, reset: &'static str) -> Window {
    Window {
        kind: None,
        limit: status,
        remaining: status,
        reset,
        form: Form::Epoch,
    }
}

const WINDOWS: [Window; 13] = [
    window(
        Kind::Requests,
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
        Form::Units,
    ),
    window(
        Kind::Tokens,
        "x-ratelimit-limit-tokens",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-reset-tokens",
        Form::Units,
    ),
    window(
        Kind::Tokens,
        "x-ratelimit-limit-project-tokens",
        "x-ratelimit-remaining-project-tokens",
        "x-ratelimit-reset-project-tokens",
        Form::Units,
    ),
    window(
        Kind::Requests,
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
        Form::Date,
    ),
    window(
        Kind::Tokens,
        "anthropic-ratelimit-tokens-limit",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
        Form::Date,
    ),
    window(
        Kind::TokensIn,
        "anthropic-ratelimit-input-tokens-limit",
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
        Form::Date,
    ),
    window(
        Kind::TokensOut,
        "anthropic-ratelimit-output-tokens-limit",
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
        Form::Date,
    ),
    plan(
        "anthropic-ratelimit-unified-status",
        "anthropic-ratelimit-unified-reset",
    ),
    plan(
        "anthropic-ratelimit-unified-5h-status",
        "anthropic-ratelimit-unified-5h-reset",
    ),
    plan(
        "anthropic-ratelimit-unified-7d-status",
        "anthropic-ratelimit-unified-7d-reset",
    ),
    window(
        Kind::Requests,
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        Form::Delta,
    ),
    window(
        Kind::Requests,
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset-after",
        Form::Delta,
    ),
    window(
        Kind::Requests,
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        Form::Any,
    ),
];

/// What the windows say of themselves, exhausted or not (rule I4). Where several count the same, the lesser remainder
/// holds.
pub(super) fn learned(headers: &dyn Headers, reference: Wall) -> Learned {
    let mut learned = Learned::NOTHING;
    for window in &WINDOWS {
        let whole = |name: &str| headers.get(name).and_then(text)?.parse::<u64>().ok();
        let (Some(kind), Some(remaining)) = (window.kind, whole(window.remaining)) else {
            continue;
        };
        let reset = headers.get(window.reset).and_then(text);
        let resets_in = reset.and_then(|text| read(window.form, text, reference));
        let word = Word {
            limit: whole(window.limit),
            remaining,
            resets_in,
        };
        learned = learned.with(kind, word);
    }
    // A policy names its unit where it does not count requests.
    let counts_requests = headers
        .get("ratelimit-policy")
        .and_then(text)
        .is_none_or(|policy| !policy.contains("qu=") || policy.contains("qu=\"requests\""));
    let items = headers.get("ratelimit").and_then(text).and_then(items);
    for word in items.into_iter().flatten().filter_map(|item| item.word()) {
        if counts_requests {
            learned = learned.with(Kind::Requests, word);
        }
    }
    learned
}

/// What the windows say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resets {
    /// No window speaks of a time to come.
    Silent,
    /// Only windows that could not be read speak.
    Malformed,
    /// The longest reset of an exhausted window.
    Wait(Duration),
}

/// Reads every window of a response.
pub(super) fn resets(headers: &dyn Headers, reference: Wall) -> Resets {
    let mut found = Resets::Silent;
    for window in &WINDOWS {
        let Some(bytes) = headers.get(window.reset) else {
            continue;
        };
        if !exhausted(headers.get(window.remaining)) {
            continue;
        }
        let wait = text(bytes).and_then(|text| read(window.form, text, reference));
        found = found.or(wait.map_or(Resets::Malformed, Resets::Wait));
    }
    if let Some(bytes) = headers.get("ratelimit") {
        found = found.or(text(bytes).map_or(Resets::Malformed, ietf));
    }
    found
}

impl Resets {
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Wait(one), Self::Wait(two)) => Self::Wait(one.max(two)),
            (Self::Wait(wait), Self::Silent | Self::Malformed) => Self::Wait(wait),
            (Self::Silent | Self::Malformed, Self::Wait(wait)) => Self::Wait(wait),
            (Self::Malformed, Self::Silent | Self::Malformed) => Self::Malformed,
            (Self::Silent, other @ (Self::Silent | Self::Malformed)) => other,
        }
    }
}

/// A remainder of nothing, or none that can be read: what is not stated cannot clear a window of suspicion.
fn exhausted(remaining: Option<&[u8]>) -> bool {
    let Some(text) = remaining.and_then(text) else {
        return true;
    };
    if text.starts_with("allowed") {
        return false;
    }
    Duration::parse_decimal(text, 1_000_000_000).is_none_or(Duration::is_zero)
}

fn read(form: Form, text: &str, reference: Wall) -> Option<Duration> {
    let seconds = || Duration::parse_decimal(text, 1_000_000_000);
    match form {
        Form::Units => Duration::parse_units(text).or_else(seconds),
        Form::Date => super::rfc3339(text)?.since(reference),
        Form::Epoch => seconds().map(|epoch| delta(epoch, reference)),
        Form::Delta => seconds(),
        Form::Any => stated_wait(text, reference),
    }
    .filter(|wait| !wait.is_zero())
}

/// The `RateLimit` field of the IETF drafts: 10 is a list (`"burst";r=0;t=30`), 7 a dictionary
/// (`limit=100, remaining=0, reset=30`). What is malformed anywhere is ignored as a whole, as the drafts ask.
fn ietf(text: &str) -> Resets {
    match items(text) {
        None => Resets::Malformed,
        Some(items) => items
            .iter()
            .fold(Resets::Silent, |found, item| found.or(item.resets())),
    }
}

/// The items of that field; of a dictionary, the one that it is.
fn items(text: &str) -> Option<Vec<Item>> {
    let mut scan = Scan(text.as_bytes());
    let mut items = Vec::new();
    let mut dictionary = Item::default();
    let mut is_dictionary = false;
    loop {
        match member(&mut scan)? {
            Member::Pair { key, value } => {
                is_dictionary = true;
                dictionary.set(key, value, b"remaining", b"reset");
                if key == b"limit" {
                    dictionary.limit = value;
                }
            }
            Member::Item(Item { remaining: None, .. }) => return None,
            Member::Item(item) => items.push(item),
        }
        spaces(&mut scan);
        if scan.end().is_some() {
            break;
        }
        scan.byte(b',')?;
        spaces(&mut scan);
    }
    if is_dictionary {
        items.push(dictionary);
    }
    Some(items)
}

enum Member<'a> {
    Pair { key: &'a [u8], value: Option<i64> },
    Item(Item),
}

#[derive(Default)]
struct Item {
    limit: Option<i64>,
    remaining: Option<i64>,
    reset: Option<i64>,
}

impl Item {
    fn set(&mut self, key: &[u8], value: Option<i64>, remaining: &[u8], reset: &[u8]) {
        if key == remaining {
            self.remaining = value;
        } else if key == reset {
            self.reset = value;
        }
    }

    /// What it says of its window, taken for one that counts requests.
    fn word(&self) -> Option<Word> {
        let whole = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        Some(Word {
            limit: whole(self.limit),
            remaining: whole(self.remaining)?,
            resets_in: whole(self.reset)
                .filter(|secs| *secs > 0)
                .map(Duration::from_secs),
        })
    }

    fn resets(&self) -> Resets {
        let secs = self.reset.and_then(|secs| u64::try_from(secs).ok()).unwrap_or(0);
        match self.remaining {
            Some(1..) => Resets::Silent,
            Some(_) | None if secs == 0 => Resets::Silent,
            Some(_) | None => Resets::Wait(Duration::from_secs(secs)),
        }
    }
}

/// One member of a structured field's list or dictionary (RFC 9651), as far as these drafts use them.
fn member<'a>(scan: &mut Scan<'a>) -> Option<Member<'a>> {
    let mut item = Item::default();
    if scan.0.first() == Some(&b'"') {
        bare(scan)?;
    } else {
        let key = key(scan)?;
        if scan.byte(b'=').is_some() {
            let value = bare(scan)?;
            parameters(scan, &mut item)?;
            return Some(Member::Pair { key, value });
        }
    }
    parameters(scan, &mut item)?;
    Some(Member::Item(item))
}

fn parameters(scan: &mut Scan<'_>, item: &mut Item) -> Option<()> {
    while scan.byte(b';').is_some() {
        spaces(scan);
        let key = key(scan)?;
        let value = match scan.byte(b'=') {
            Some(()) => bare(scan)?,
            None => None,
        };
        item.set(key, value, b"r", b"t");
    }
    Some(())
}

fn key<'a>(scan: &mut Scan<'a>) -> Option<&'a [u8]> {
    let key = scan.run(|byte| byte.is_ascii_alphanumeric() || b"_-.*".contains(&byte));
    (!key.is_empty()).then_some(key)
}

/// A bare item: its number where it is an integer, nothing where it is another kind of value.
#[expect(
    clippy::option_option,
    reason = "the outer level is a parse error, the inner a value that is no integer"
)]
fn bare(scan: &mut Scan<'_>) -> Option<Option<i64>> {
    match *scan.0.first()? {
        b'"' => {
            scan.byte(b'"')?;
            loop {
                scan.run(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\');
                match scan.one_of(b"\"\\")? {
                    b'"' => return Some(None),
                    _ => scan.one_of(b"\"\\")?,
                };
            }
        }
        b':' => {
            scan.byte(b':')?;
            scan.run(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
            scan.byte(b':')?;
            Some(None)
        }
        b'-' | b'0'..=b'9' => number(scan),
        _ => {
            let token =
                scan.run(|byte| byte.is_ascii_alphanumeric() || b"?!#$%&'*+-.^_`|~:/".contains(&byte));
            (!token.is_empty()).then_some(None)
        }
    }
}

#[expect(clippy::option_option, reason = "as in `bare`")]
fn number(scan: &mut Scan<'_>) -> Option<Option<i64>> {
    let negative = scan.byte(b'-').is_some();
    let length = scan.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Fifteen digits are the most that a structured field allows.
    if !(1..=15).contains(&length) {
        return None;
    }
    let value = scan.digits(length)?;
    if scan.byte(b'.').is_some() {
        let fraction = scan.run(|byte| byte.is_ascii_digit());
        return (!fraction.is_empty()).then_some(None);
    }
    Some(Some(if negative { -value } else { value }))
}

fn spaces(scan: &mut Scan<'_>) {
    scan.run(|byte| byte == b' ' || byte == b'\t');
}

#[cfg(test)]
mod tests;
