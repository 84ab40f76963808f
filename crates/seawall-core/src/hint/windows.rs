//! The resets of rate-limit windows: what remains of rule C1 when nobody stated a wait.
//!
//! What can go wrong: a response carries several windows, most of them with room left, and their resets say when
//! they are *full* again. So only a window that is exhausted (0 remaining, or none stated) counts, and of several
//! the longest, because the call needs all of them.

use super::scan::Scan;
use super::{delta, stated_wait, text};
use crate::facts::Headers;
use crate::time::{Duration, Wall};

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
    remaining: &'static str,
    reset: &'static str,
    form: Form,
}

const fn window(remaining: &'static str, reset: &'static str, form: Form) -> Window {
    Window {
        remaining,
        reset,
        form,
    }
}

const WINDOWS: [Window; 13] = [
    window(
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
        Form::Units,
    ),
    window(
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-reset-tokens",
        Form::Units,
    ),
    window(
        "x-ratelimit-remaining-project-tokens",
        "x-ratelimit-reset-project-tokens",
        Form::Units,
    ),
    window(
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
        Form::Date,
    ),
    window(
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
        Form::Date,
    ),
    window(
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
        Form::Date,
    ),
    window(
        "anthropic-ratelimit-output-tokens-remaining",
        "anthropic-ratelimit-output-tokens-reset",
        Form::Date,
    ),
    // The plan's windows state no remainder but a verdict, which `exhausted` reads in its place.
    window(
        "anthropic-ratelimit-unified-status",
        "anthropic-ratelimit-unified-reset",
        Form::Epoch,
    ),
    window(
        "anthropic-ratelimit-unified-5h-status",
        "anthropic-ratelimit-unified-5h-reset",
        Form::Epoch,
    ),
    window(
        "anthropic-ratelimit-unified-7d-status",
        "anthropic-ratelimit-unified-7d-reset",
        Form::Epoch,
    ),
    window("ratelimit-remaining", "ratelimit-reset", Form::Delta),
    window("x-ratelimit-remaining", "x-ratelimit-reset-after", Form::Delta),
    window("x-ratelimit-remaining", "x-ratelimit-reset", Form::Any),
];

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
    let mut scan = Scan(text.as_bytes());
    let mut found = Resets::Silent;
    let mut dictionary = Item::default();
    let mut is_dictionary = false;
    loop {
        let Some(member) = member(&mut scan) else {
            return Resets::Malformed;
        };
        match member {
            Member::Pair { key, value } => {
                is_dictionary = true;
                dictionary.set(key, value, b"remaining", b"reset");
            }
            Member::Item(Item { remaining: None, .. }) => return Resets::Malformed,
            Member::Item(item) => found = found.or(item.resets()),
        }
        spaces(&mut scan);
        if scan.end().is_some() {
            break;
        }
        if scan.byte(b',').is_none() {
            return Resets::Malformed;
        }
        spaces(&mut scan);
    }
    if is_dictionary {
        found.or(dictionary.resets())
    } else {
        found
    }
}

enum Member<'a> {
    Pair { key: &'a [u8], value: Option<i64> },
    Item(Item),
}

#[derive(Default)]
struct Item {
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
