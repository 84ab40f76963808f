//! Profiles: whole behaviours by one word.

use super::{Answers, Latency, Limit, Mix, Pattern, Rule, Weather, weather};
use crate::error::{ScriptError, Source, shown};
use crate::script::Action;
use seawall_core::time::{Duration, Instant};
use std::num::NonZeroU32;
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
/// The same where a stream is wanted: in the place of an answer that is cut in its middle, a stream that is cut or ends
/// before it has said anything. What a client has begun to hand on cannot be sent again, so nothing happens after that.
const FLAKY_STREAM: [(&str, u64); 8] = [
    ("200", 920),
    ("503", 20),
    ("500", 10),
    ("reset", 10),
    ("stream events=0 then=cut", 5),
    ("stream events=0 then=no-done", 5),
    ("error-in-200", 10),
    ("429 retry-after-ms=300", 20),
];
/// Ratelimited: attempts a minute.
const RATE: NonZeroU32 = NonZeroU32::new(60).unwrap();

/// A whole behaviour by one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// 200, log-normal latency with p50 60 ms and p99 600 ms.
    Steady,
    /// The same latency, and 2 % 503, 1 % 500, 1 % reset, 1 % truncate, 1 % error-in-200, 2 % 429 with 300 ms. A
    /// stream is cut or ends before its first content instead of being truncated, and meets nothing after that.
    Flaky,
    /// The same latency, and a true limit of 60 attempts a minute for all together.
    RateLimited,
    /// The same latency, and an outage of 20 s in each minute. See [`Profile::weather`].
    Outage,
    /// Latency that grows with the attempts in flight, and collapse beyond 50 of them.
    Storm,
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [
        Self::Steady,
        Self::Flaky,
        Self::RateLimited,
        Self::Outage,
        Self::Storm,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Flaky => "flaky",
            Self::RateLimited => "ratelimited",
            Self::Outage => "outage",
            Self::Storm => "storm",
        }
    }

    /// The one rule that this profile is: every method and path, in the dialect that the path speaks.
    pub fn rule(self) -> Rule {
        let answers = match self {
            Self::Steady | Self::RateLimited => Answers::Plain,
            Self::Flaky => Answers::Mixes {
                whole: mix(&FLAKY),
                stream: mix(&FLAKY_STREAM),
            },
            Self::Outage => Answers::Outage,
            Self::Storm => Answers::Storm,
        };
        let limit = match self {
            Self::RateLimited => Some(Limit::per_minute(RATE)),
            Self::Steady | Self::Flaky | Self::Outage | Self::Storm => None,
        };
        Rule {
            latency: Latency::LogNormal {
                p50: Duration::from_millis(60),
                p99: Duration::from_millis(600),
            },
            limit,
            ..Rule::new(Pattern::any(), answers)
        }
    }

    /// Whether its server listens, so long after the mock's start: from 0:10 to 0:30 of each minute an outage refuses
    /// connections and answers 503, in turns of 5 s. Of every other profile it is clear always.
    ///
    /// ```
    /// use seawall_core::time::{Duration, Instant};
    /// use seawall_lab::plan::{Profile, Weather};
    /// let at = |secs| Profile::Outage.weather(Instant::START.after(Duration::from_secs(secs)));
    /// assert_eq!([9, 10, 15, 30].map(at), [
    ///     Weather::Clear, Weather::Refuses, Weather::Answers503, Weather::Clear,
    /// ]);
    /// ```
    pub fn weather(self, now: Instant) -> Weather {
        match self {
            Self::Outage => weather::outage(now),
            Self::Steady | Self::Flaky | Self::RateLimited | Self::Storm => Weather::Clear,
        }
    }

    /// When [`Profile::weather`] changes next, so that who listens knows when to look again; never for all but an outage.
    pub fn weather_turns(self, now: Instant) -> Instant {
        match self {
            Self::Outage => weather::outage_turns(now),
            Self::Steady | Self::Flaky | Self::RateLimited | Self::Storm => Instant::NEVER,
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
        let error = source.error(0..text.len(), format!("`{}` is no profile", shown(text)));
        Err(error.expecting_one_of(text, &Self::ALL.map(Self::name)))
    }
}

fn mix(shares: &[(&str, u64)]) -> Mix {
    let part = |(text, thousandths): &(&str, u64)| {
        let action = Action::parse(text).expect("a built-in action is well formed");
        (action, thousandths * (Mix::WHOLE / 1_000))
    };
    Mix::new(shares.iter().map(part).collect()).expect("the built-in shares add up to one")
}
