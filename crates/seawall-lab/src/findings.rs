//! Checks over what a server saw: rules that a client's retries may break, each proved by a time-line.
//!
//! What can go wrong: a grader that groups attempts by their bodies takes a fresh timestamp for a new call and three
//! equal prompts for one; one that looks at the server alone blames a client for a cut answer that it refused; one
//! that has too little to judge by says "pass". So attempts are grouped by what is known first and by likeness last
//! ([`calls`]), every finding says what proves it, and what cannot be judged is told as [`Kind::NotObservable`], never
//! left out.
//!
//! Nothing here reads a clock or a socket. What it does not cover: how a log comes to be, which is the mock's, and what
//! a scenario expects, which is [`scenario`](crate::scenario)'s.

mod calls;
mod growth;
mod log;
mod rules;
mod timeline;

pub use calls::{CallSeen, Likeness, Wait, calls, calls_by_path};
pub use log::{Attempt, Effect, Fingerprint, Hint, Log, Met, Timing, Whole, Word};
pub use rules::{Content, Limits, RunSeen, check};
#[cfg(feature = "net")]
pub(crate) use timeline::shown;
pub use timeline::{Proof, Row, TimeLine, WaitsOf, rounded};

use std::fmt;

/// A rule that a client's attempts must not break: what `never = [...]` of a scenario names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An attempt of a call before a wait that its server had asked for ran off.
    RetryBeforeHint,
    /// Two attempts of one call at the same time.
    Overlap,
    /// A call sent again after an answer that would be the same again: 400, 401, 403, 404, 422 and their kin.
    RetryOfRefused,
    /// A call sent again although the server had said `x-should-retry: false`.
    RetryWhenToldNotTo,
    /// A write sent again under another key than before, or without the one that it had.
    NewKey,
    /// A call sent again with another body.
    NewBody,
    /// Waits that do not grow, or none at all.
    NoBackoff,
    /// Waits that are the same for every call.
    NoJitter,
    /// More attempts of one call than anybody needs.
    Endless,
    /// A write that was done twice.
    DuplicateWrite,
    /// A stream taken again after some of its content had been handed out.
    RetryAfterCommit,
    /// An attempt of another call inside a wait that the server had asked everybody for.
    NoSharedCoolDown,
    /// A cut answer that the client was content with.
    CutTakenAsWhole,
}

impl Rule {
    /// Every rule, in the order that messages list them.
    pub const ALL: [Self; 13] = [
        Self::RetryBeforeHint,
        Self::Overlap,
        Self::RetryOfRefused,
        Self::RetryWhenToldNotTo,
        Self::NewKey,
        Self::NewBody,
        Self::NoBackoff,
        Self::NoJitter,
        Self::Endless,
        Self::DuplicateWrite,
        Self::RetryAfterCommit,
        Self::NoSharedCoolDown,
        Self::CutTakenAsWhole,
    ];

    /// The name in files and reports. It is never renamed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryBeforeHint => "retry-before-hint",
            Self::Overlap => "overlap",
            Self::RetryOfRefused => "retry-of-refused",
            Self::RetryWhenToldNotTo => "retry-when-told-not-to",
            Self::NewKey => "new-key",
            Self::NewBody => "new-body",
            Self::NoBackoff => "no-backoff",
            Self::NoJitter => "no-jitter",
            Self::Endless => "endless",
            Self::DuplicateWrite => "duplicate-write",
            Self::RetryAfterCommit => "retry-after-commit",
            Self::NoSharedCoolDown => "no-shared-cool-down",
            Self::CutTakenAsWhole => "cut-taken-as-whole",
        }
    }

    /// The rule of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a finding says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It was broken, and the time-line proves it.
    Broken,
    /// Nothing was seen by which it could be judged: neither a pass nor a failure.
    NotObservable,
}

/// One thing that was expected and did not come, or could not be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it was broken, or could not be judged.
    pub kind: Kind,
    /// In which run, counted from 1; `None` where it is about all of them.
    pub run: Option<usize>,
    /// What should have been.
    pub expected: String,
    /// What was.
    pub seen: String,
    /// What proves it.
    pub proof: Proof,
}

#[cfg(test)]
pub(crate) mod tests;
