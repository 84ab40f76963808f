//! What a server saw of its clients, as plain data.

use crate::fnv::{self, Fnv};
use seawall_core::classify::classify;
use seawall_core::facts::Facts;
use seawall_core::outcome::Report;
use seawall_core::profile::Profile;
use seawall_core::time::{Duration, Instant};
use std::borrow::Cow;

/// Faults after which a client holds no whole answer, by their names in scripts.
const BREAKING: [&str; 18] = [
    "reset",
    "close",
    "hang",
    "truncate",
    "garbage",
    "wrong-length",
    "bad-chunk",
    "half-close",
    "bad-gzip",
    "goaway",
    "rst-stream",
    "error-in-200",
    "stop",
    "cut",
    "error",
    "stall",
    "bad-json",
    "no-done",
];

/// Methods that are not idempotent.
const WRITES: [&str; 2] = ["POST", "PATCH"];

/// Every attempt that a server saw in one run, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The attempts.
    pub attempts: Vec<Attempt>,
    /// How many older ones were not kept; what they would show is not observable.
    pub dropped: u64,
    /// How far its times can be trusted.
    pub timing: Timing,
}

/// How far times can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Sockets, schedulers and two clocks stand between what was done and what was seen: judged with the slack of
    /// [`Timing::early_slack`] and [`Timing::late_slack`].
    #[default]
    Real,
    /// One clock that stands still while anybody works: judged to the nanosecond.
    Virtual,
}

impl Timing {
    /// How much too early something may seem that was not: a timer that fires a little before its time, an answer that
    /// was read before its sending was noted. 50 ms.
    pub const fn early_slack(self) -> Duration {
        match self {
            Self::Real => Duration::from_millis(50),
            Self::Virtual => Duration::ZERO,
        }
    }

    /// How much too late something of this length may seem that was not: a tenth of it, and 250 ms for a busy machine.
    pub const fn late_slack(self, length: Duration) -> Duration {
        match self {
            Self::Real => length.over(10).plus(Duration::from_millis(250)),
            Self::Virtual => Duration::ZERO,
        }
    }
}

/// One attempt, as the server saw it. Times count from the run's start.
///
/// Whoever keeps a log fills in what it knows and leaves the rest as [`Attempt::default`] has it; what is left out makes
/// rules that need it *not observable*.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// Whose call it is, where that is known and not guessed: attempts of one call have one name.
    pub call: Option<String>,
    /// On which connection.
    pub connection: u64,
    /// The method.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The idempotency key.
    pub key: Option<String>,
    /// What tells bodies apart; `None` where there was none, or where nobody looked.
    pub body: Option<Fingerprint>,
    /// When its head was read.
    pub at: Instant,
    /// When the first byte of the answer was sent.
    pub answered: Option<Instant>,
    /// When the answer's last byte was sent, or it broke; `None` where it never ended.
    pub ended: Option<Instant>,
    /// When the client left before it had the whole answer.
    pub client_left: Option<Instant>,
    /// The status that was answered.
    pub status: Option<u16>,
    /// The fault that was injected, by its name in scripts.
    pub fault: Option<Cow<'static, str>>,
    /// Whether the client holds the whole answer; where nobody looked, the fault's name says.
    pub whole: Whole,
    /// What the answer said about waiting.
    pub hint: Option<Hint>,
    /// What the answer said about sending it again.
    pub word: Word,
    /// What it did to the server's resources.
    pub effect: Effect,
    /// How many content events of a stream were sent; `None` for an answer that is no stream.
    pub events: Option<u64>,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
}

impl Attempt {
    /// When neither side had to do with it any more; `None` where that never came.
    pub fn over(&self) -> Option<Instant> {
        match (self.client_left, self.ended) {
            (Some(left), Some(ended)) => Some(left.min(ended)),
            (left, ended) => left.or(ended),
        }
    }

    /// Takes what the answer's head says about waiting and about sending it again, by the engine's own reading (rules C1,
    /// C3 and C5). Whoever keeps a log calls it once, with the answer that it sends.
    ///
    /// ```
    /// use seawall_core::facts::{BodyFacts, Facts};
    /// use seawall_core::profile::Provider;
    /// use seawall_core::time::{Duration, Wall};
    /// use seawall_lab::findings::Attempt;
    /// let headers: &[(&str, &[u8])] = &[("retry-after", b"5")];
    /// let mut attempt = Attempt::default();
    /// attempt.hear(Provider::Generic.profile(), &Facts {
    ///     status: Some(429),
    ///     headers: &headers,
    ///     body: BodyFacts::default(),
    ///     broke: None,
    ///     wall: Wall::from_unix_ms(0),
    /// });
    /// let hint = attempt.hint.expect("the answer told one");
    /// assert_eq!((hint.text.as_str(), hint.wait), ("5", Duration::from_secs(5)));
    /// ```
    pub fn hear(&mut self, profile: &Profile, facts: &Facts<'_>) {
        let Report {
            outcome,
            should_retry,
            ..
        } = classify(profile, &[], facts).report;
        self.word = match should_retry {
            None => Word::None,
            Some(true) => Word::Again,
            Some(false) => Word::NotAgain,
        };
        self.hint = outcome.hint().map(|hint| {
            let source = hint.source.name();
            let written = facts.headers.get(source).map(String::from_utf8_lossy);
            Hint {
                source: Cow::Borrowed(source),
                text: written.map_or_else(|| hint.wait.to_string(), Cow::into_owned),
                wait: hint.wait,
            }
        });
    }

    /// Whether it would do something a second time if it were sent a second time (RFC 9110 9.2.2), or its client thinks so.
    pub fn writes(&self) -> bool {
        self.key.is_some() || WRITES.contains(&self.method.as_str())
    }

    /// What the client met.
    pub fn met(&self) -> Met {
        if self.client_left.is_some() {
            return Met::Left;
        }
        let breaking = match (self.whole, self.fault.as_deref()) {
            (Whole::No, _) => true,
            (Whole::Yes, _) | (Whole::ByFault, None) => false,
            (Whole::ByFault, Some(fault)) => {
                let mut words = fault.split([' ', '=']);
                words.any(|word| BREAKING.contains(&word))
            }
        };
        match self.status {
            _ if self.ended.is_none() => Met::Broken,
            None => Met::Broken,
            Some(_) if breaking => Met::Broken,
            Some(429) => Met::Throttled,
            // A hint with a 403 or a 413 is a limit's way to speak (GitHub's, and RFC 9110 15.5.14).
            Some(403 | 413) if self.hint.is_some() => Met::Throttled,
            Some(status) if status < 400 => Met::Answered,
            // A lock in use, a body lost on the way, a wrong connection, too early: the same again may go well.
            Some(408 | 409 | 421 | 425) => Met::Failed,
            Some(status) if status < 500 => Met::Refused,
            Some(501 | 505 | 511) => Met::Refused,
            Some(_) => Met::Failed,
        }
    }
}

/// What a client met at one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// A whole answer.
    Answered,
    /// A whole answer that says: not like this.
    Refused,
    /// A whole answer that says: not now.
    Throttled,
    /// A whole answer that says: something broke here.
    Failed,
    /// No whole answer, by the server's doing.
    Broken,
    /// No whole answer, because it did not wait for one.
    Left,
}

/// Whether a client holds the whole answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// Nobody looked: by the name of the fault.
    #[default]
    ByFault,
    /// To its end.
    Yes,
    /// Not to its end, or not one that can be read.
    No,
}

/// What an answer said about waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Where it stood, as in `retry-after`.
    pub source: Cow<'static, str>,
    /// What stood there, as in `5` or `Mon, 30 Nov 2026 11:00:05 GMT`.
    pub text: String,
    /// How long that is from when the answer's first byte was sent. A date is read against the answer's own `Date`.
    pub wait: Duration,
}

/// What an answer said about sending it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Word {
    /// Nothing.
    #[default]
    None,
    /// `x-should-retry: true`.
    Again,
    /// `x-should-retry: false`.
    NotAgain,
}

/// What an attempt did to the server's resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// Nobody kept count.
    #[default]
    Unknown,
    /// Nothing.
    None,
    /// The work was done, whatever became of its answer.
    Done,
    /// The answer of work that an earlier attempt had done, given again.
    Replayed,
}

/// What tells bodies apart without keeping them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The same for the same bytes.
    pub exact: u64,
    /// The same for bodies that differ only in what is made anew each time: timestamps, UUIDs, long random names.
    pub shape: u64,
}

/// A run of letters, digits and joints from this length on that has a digit in it is taken for something made anew:
/// shorter than that are amounts and model names, as long as that are timestamps (10) and UUIDs (36).
const VOLATILE_BYTES_MIN: usize = 10;

impl Fingerprint {
    /// The fingerprint of a body. It is for telling attempts apart, never for secrets: whoever knows a body can find it.
    ///
    /// ```
    /// use seawall_lab::findings::Fingerprint;
    /// let [one, two, other] = [
    ///     r#"{"prompt":"hello","at":1764500000.25}"#,
    ///     r#"{"prompt":"hello","at":1764500003.75}"#,
    ///     r#"{"prompt":"goodbye","at":1764500000.25}"#,
    /// ].map(|body| Fingerprint::of(body.as_bytes()));
    /// assert!(one.exact != two.exact && one.shape == two.shape);
    /// assert!(one.shape != other.shape);
    /// ```
    pub fn of(body: &[u8]) -> Self {
        let mut shape = Fnv::default();
        let mut rest = body;
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|byte| joins(**byte)).count();
            let (head, tail) = rest.split_at(run.max(1));
            let counts = head.iter().filter(|byte| byte.is_ascii_digit()).count();
            // A third of digits: a long word with a number at its end is a name that somebody chose.
            let volatile = joins(*first) && run >= VOLATILE_BYTES_MIN && counts * 3 >= run;
            match volatile {
                true => shape.write(b"\0"),
                false => shape.write(head),
            }
            rest = tail;
        }
        Self {
            exact: fnv::hash(body),
            shape: shape.sum(),
        }
    }
}

/// What stands inside a UUID, a timestamp or a random name.
fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'.' | b'_' | b'+')
}

#[cfg(test)]
mod tests;
