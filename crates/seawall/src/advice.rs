//! What is right in a `seawall.toml` and may still hurt, in the user's own numbers.
//!
//! What can go wrong: a policy is valid, and in an outage it multiplies the load, keeps callers waiting for minutes,
//! never retries at all, or repeats a payment; the arithmetic that says so is simple, and nobody does it. And advice
//! that is wrong once, or that complains about what is fine, is never read again. So each piece of advice is a closed
//! form over what is written, with its numbers; what the file cannot say (how many calls come in, what an upstream
//! takes) is asked for and never assumed; and a plain file gets [notes](Severity::Note) that say what it means, and no
//! [warning](Severity::Warning).
//!
//! Not covered: what happens over time, such as queues that fill and drain; that is what a simulation is for.
//! Reference: rules G8 and F2, and those that each check names.

mod breaker;
mod calls;
mod catalogue;
mod fallback;
mod figures;
mod load;
mod repeats;
mod subject;
#[cfg(test)]
mod tests;
mod traffic;

pub use catalogue::{CATALOGUE, Code, Entry};
pub use traffic::{Rate, RateError, Traffic};

use crate::config::{Config, Place, keys};
use seawall_core::time::Duration;
use std::fmt;
use subject::Subject;

/// How much a piece of advice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A fact about what is written that people do not expect.
    Note,
    /// What is written is likely to hurt.
    Warning,
}

impl Severity {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// One piece of advice about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advice {
    /// What it is about; its code is stable.
    pub code: Code,
    /// The upstreams that it is about; none where it is about the file.
    pub upstreams: Vec<String>,
    /// Where the setting stands that decides it; nothing where that is a default.
    pub at: Option<Place>,
    /// The sentence: what is so, and what to do about it.
    pub text: String,
    /// The numbers of the sentence, by name.
    pub numbers: Vec<(&'static str, Figure)>,
}

impl Advice {
    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.code.entry().severity
    }
}

/// A number of a piece of advice; its unit ends its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A whole number.
    Count(u64),
    /// In whole thousandths.
    Milli(u64),
    /// In whole millionths, as money is.
    Micro(u64),
    /// A length of time; its name ends in `_ms`.
    Length(Duration),
}

impl From<u64> for Figure {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

impl From<u32> for Figure {
    fn from(n: u32) -> Self {
        Self::Count(n.into())
    }
}

impl From<Rate> for Figure {
    fn from(rate: Rate) -> Self {
        Self::Milli(rate.milli())
    }
}

impl From<Duration> for Figure {
    fn from(length: Duration) -> Self {
        Self::Length(length)
    }
}

/// As JSON shows it: a whole number where it is one, milliseconds for a length of time.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => n.fmt(f),
            Self::Milli(milli) => f.write_str(&decimal(*milli)),
            Self::Micro(micro) => f.write_str(&self::micro(*micro)),
            Self::Length(length) => f.write_str(&micro(length.as_nanos())),
        }
    }
}

/// Everything there is to say about a file, warnings first, then notes, each in the order of the file.
///
/// `traffic` is what the user said beside the file; with [`Traffic::default`] only what holds for any traffic is said.
///
/// ```
/// use seawall::advice::{self, Code, Traffic};
/// use seawall::config::Config;
/// let config = Config::parse("seawall.toml", "policy = { budget = \"off\" }")?;
/// let advice = advice::of(&config, &Traffic::default());
/// assert_eq!(advice[0].code, Code::NoBudget);
/// assert!(advice[0].text.starts_with("nothing bounds retries: in an outage every call is sent up to 6 times"));
/// # Ok::<(), seawall::config::ConfigErrors>(())
/// ```
pub fn of(config: &Config, traffic: &Traffic) -> Vec<Advice> {
    let mut advice: Vec<Advice> = Vec::new();
    for subject in Subject::all(config, traffic) {
        for part in [calls::of(&subject), load::of(&subject), breaker::of(&subject)] {
            part.into_iter().for_each(|one| add(&mut advice, one));
        }
    }
    for part in [fallback::of(config), repeats::of(config)] {
        part.into_iter().for_each(|one| add(&mut advice, one));
    }
    let place = |advice: &Advice| advice.at.as_ref().map_or(usize::MAX, |at| at.span.start);
    // Stable: what has no place of its own keeps the order in which it was found.
    advice.sort_by_key(|advice| (std::cmp::Reverse(advice.severity()), place(advice)));
    advice
}

/// Adds a piece of advice; what was said of another upstream in the same words is said once, of both.
fn add(all: &mut Vec<Advice>, one: Advice) {
    let alike = |known: &&mut Advice| {
        known.code == one.code && known.at == one.at && known.text == one.text && known.numbers == one.numbers
    };
    match all.iter_mut().find(alike) {
        Some(known) => known.upstreams.extend(one.upstreams),
        None => all.push(one),
    }
}

/// Thousandths as people write them: 1500 is 1.5.
fn decimal(milli: u64) -> String {
    keys::decimal(milli, 3)
}

/// Millionths as people write them: 420000 is 0.42.
fn micro(micro: u64) -> String {
    keys::decimal(micro, 6)
}

/// A share in thousandths as people say it: 125 is 12.5 %.
fn percent(per_mille: u64) -> String {
    format!("{} %", decimal(per_mille * 100))
}

/// `1 retry`, `5 retries`.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// `1 call a second`, `2.5 calls a second`.
fn a_second(rate: Rate, one: &str, many: &str) -> String {
    format!(
        "{rate} {} a second",
        if rate.milli() == 1_000 { one } else { many }
    )
}

fn calls_a_second(rate: Rate) -> String {
    a_second(rate, "call", "calls")
}
