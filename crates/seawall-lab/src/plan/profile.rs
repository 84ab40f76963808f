//! Profiles: whole behaviours by one word.

use super::{Answers, Latency, Mix, Pattern, Rule};
use crate::error::{ScriptError, Source, shown};
use crate::script::Action;
use seawall_core::time::Duration;
use std::str::FromStr;

/// Flaky: what each action's share is, in thousandths. The rest is 200.
const FLAKY: [(&str, u64); 7] = [
    ("200", 920),
    ("503", 20),
    ("500", 10),
    ("reset", 10),
    ("truncate at=50%", 10),
    ("error-in-200", 10),
    ("429 retry-after-ms=300", 20),
];
/// Named in the formats, and not served yet.
const LATER: [&str; 3] = ["ratelimited", "outage", "storm"];

/// A whole behaviour by one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// 200, log-normal latency with p50 60 ms and p99 600 ms.
    Steady,
    /// The same latency, and 2 % 503, 1 % 500, 1 % reset, 1 % truncate, 1 % error-in-200, 2 % 429 with 300 ms.
    Flaky,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 2] = [Self::Steady, Self::Flaky];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Flaky => "flaky",
        }
    }

    /// The one rule that this profile is: every method and path, in the dialect that the path speaks.
    pub fn rule(self) -> Rule {
        let answers = match self {
            Self::Steady => Answers::Plain,
            Self::Flaky => Answers::Mix(flaky()),
        };
        Rule {
            latency: Latency::LogNormal {
                p50: Duration::from_millis(60),
                p99: Duration::from_millis(600),
            },
            ..Rule::new(Pattern::any(), answers)
        }
    }
}

impl FromStr for Profile {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        if let Some(profile) = Self::ALL.into_iter().find(|profile| profile.name() == text) {
            return Ok(profile);
        }
        let source = Source::bare(text);
        let what = if LATER.contains(&text) {
            "not served yet"
        } else {
            "no profile"
        };
        let error = source.error(0..text.len(), format!("`{}` is {what}", shown(text)));
        Err(error.expecting_one_of(text, &Self::ALL.map(Self::name)))
    }
}

fn flaky() -> Mix {
    let part = |(text, thousandths): (&str, u64)| {
        let action = Action::parse(text).expect("a built-in action is well formed");
        (action, thousandths * (Mix::WHOLE / 1_000))
    };
    Mix::new(FLAKY.into_iter().map(part).collect()).expect("the built-in shares add up to one")
}
