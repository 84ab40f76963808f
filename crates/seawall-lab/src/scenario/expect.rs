//! What must come of a scenario.

mod range;

pub(super) use range::NoRange;
pub use range::{CountRange, LengthRange};

use super::{JsonPath, Place, Written};
use crate::findings::Rule;
use crate::plan::Pattern;
use seawall_core::policy::Backoff;
use std::fmt;

/// `[expect]`: what must hold of a whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// How many attempts each of these may see.
    pub attempts: Vec<Written<PathCount>>,
    /// Every write carries a key, and all attempts of one call the same.
    pub same_key: Option<Place>,
    /// All attempts of one call have the same body.
    pub same_body: Option<Place>,
    /// How many resources were made, by name.
    pub resources: Vec<Written<(String, CountRange)>>,
    /// How long it took.
    pub elapsed: Option<Written<Elapsed>>,
    /// The waits of every call that was sent again, in order; each has at least so many.
    pub waits: Option<Written<Vec<LengthRange>>>,
    /// Rules that must not be broken.
    pub never: Vec<Written<Never>>,
    /// How a client ended.
    pub exit: Option<Written<ExitIs>>,
    /// What a client's output has in it.
    pub stdout: Vec<Written<String>>,
    /// What a client's errors have in them.
    pub stderr: Vec<Written<String>>,
    /// What a client promises about its waits, for `elapsed = "backoff"` and `no-backoff`.
    pub schedule: Option<Written<Promised>>,
    /// What becomes of an expectation that nothing was seen of.
    pub observe: Observe,
}

/// `expect = { … }` of a step: what its caller must get.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepExpect {
    /// The status.
    pub status: Option<Written<StatusIs>>,
    /// The reason's code.
    pub reason: Option<Written<String>>,
    /// How many attempts the call took.
    pub attempts: Option<Written<CountRange>>,
    /// What stands in the answer's body.
    pub body: Vec<Written<BodyIs>>,
    /// What stands in the answer's headers.
    pub headers: Vec<Written<HeaderIs>>,
    /// How long the call took.
    pub elapsed: Option<Written<Elapsed>>,
    /// Its waits, in order; it has at least so many.
    pub waits: Option<Written<Vec<LengthRange>>>,
    /// What the error says.
    pub error: Option<Written<String>>,
}

/// Attempts at paths: `"/v1/payments" = "2..=3"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathCount {
    /// Which attempts.
    pub pattern: Pattern,
    /// How many of them.
    pub count: CountRange,
}

/// A status, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusIs {
    /// One of these.
    OneOf(Vec<u16>),
    /// One of a hundred: `"2xx"` is 2.
    Class(u16),
    /// None: no answer came.
    None,
}

/// What stands in a body.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyIs {
    /// This text, anywhere.
    Has(String),
    /// This value at this path.
    At(JsonPath, Scalar),
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A text.
    Text(String),
    /// A number, digit by digit as it is written.
    Number(String),
    /// A truth.
    Bool(bool),
}

/// What stands in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderIs {
    /// Its name, in small letters.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// How long something takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elapsed {
    /// Within what the schedule of its waits allows.
    Backoff,
    /// Between two lengths, ends included.
    Within(LengthRange),
}

/// A rule, and its own limit where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Never {
    /// The rule.
    pub rule: Rule,
    /// For [`Rule::Endless`]: more attempts than this.
    pub attempts_max: u32,
}

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitIs {
    /// With this code.
    Code(i32),
    /// With any code but 0.
    NotZero,
    /// Not by itself: it is killed when its time is over.
    TimedOut,
}

/// What a client promises about its waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promised {
    /// Its waits.
    pub backoff: Backoff,
}

/// What becomes of an expectation that nothing was seen of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observe {
    /// It is told, and the scenario passes.
    #[default]
    May,
    /// It is told, and the scenario fails: `observe = "must"`.
    Must,
}

impl fmt::Display for StatusIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneOf(statuses) => {
                let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
                f.write_str(&statuses.join(" or "))
            }
            Self::Class(class) => write!(f, "{class}xx"),
            Self::None => f.write_str("no answer"),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Number(number) => f.write_str(number),
            Self::Bool(truth) => write!(f, "{truth}"),
        }
    }
}

impl fmt::Display for ExitIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::NotZero => f.write_str("an exit code other than 0"),
            Self::TimedOut => f.write_str("to be killed when its time is over"),
        }
    }
}
