//! Facts → outcome: the classification table (rules D1 to D4, C5, C6's `cools`).
//!
//! What can go wrong: a write is repeated because a status was thought harmless, a call is given up because one
//! was thought final, money is burnt on a quota that is gone, and a body that could not be read decides what its
//! status should have. So there is one table, and nothing further in the core looks at a status:
//!
//! | outcome | what |
//! |---|---|
//! | Answer | a final 1xx–3xx; 2xx with a well-formed body |
//! | Refused | 400 402 404 405 406 409 410 411 413 414 415 416 417 422 423 424 428 431 451 501 505 511 and other 4xx |
//! | Denied | 401 403 407; a provider's invalid-key code at 400 |
//! | Throttled | 429; 413 with a hint; GitHub's 403 with `x-ratelimit-remaining: 0` or its secondary-limit text; Groq's 498 |
//! | Failed, not sent | DNS, connect refused, connect timeout, TLS handshake cut, REFUSED_STREAM, GOAWAY above our stream, 521, 523 |
//! | Failed, not done by convention | 425; 421; 503 or 529 with a hint; 409 where the provider says that it is a lock |
//! | Failed, maybe done | 408 500 502 503 504 507–509 520 522 524–527 529 530, any other from 500 on; a timeout, reset or close after the request left; a truncated, undecodable or missing body; an error inside a 200 |
//! | Failed, cause `request`, not sent | a URL, header, body or certificate at fault on this side: the caller's, never retried |
//!
//! The order: a head that refuses, whatever broke after it; what broke; then the user's overrides, the status, the
//! body. A body decides only where it was read and only what its provider's table names. What it does not cover: whether a failure is retried,
//! which is the call's. Reference: RFC 9110 15; RFC 8470.

use alloc::string::String;

use crate::facts::{BodyState, Broke, Facts};
use crate::hint::{self, Found, Scope};
use crate::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent, Usage};
use crate::profile::Profile;

/// A user's own word on a status or a provider code: `classify = [{ status = 446, code = "x", as = "failed" }]`.
/// All that is written must match; the first that does wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The status; `None` is any.
    pub status: Option<u16>,
    /// The provider's code or type; `None` is any.
    pub code: Option<String>,
    /// What it is.
    pub class: Class,
}

/// What an [`Override`] turns an answer into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The call's answer, even with an error inside; a truncated body is still a failure.
    Answer,
    /// The caller's fault.
    Refused,
    /// The server asked for fewer requests.
    Throttled,
    /// A failure that may have acted.
    Failed,
    /// The credential was not accepted for this request.
    Denied,
}

impl Class {
    /// Every class, in the order that error messages list them.
    pub const ALL: [Self; 5] = [
        Self::Answer,
        Self::Refused,
        Self::Throttled,
        Self::Failed,
        Self::Denied,
    ];

    /// The name in files, the same as the outcome's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Refused => "refused",
            Self::Throttled => "throttled",
            Self::Failed => "failed",
            Self::Denied => "denied",
        }
    }

    /// The class of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// What an attempt met, and what its hints were worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classified {
    /// For the engine.
    pub report: Report,
    /// A source of a hint that was there and said nothing usable: for the counter of malformed hints.
    pub hint_ignored: Option<HintSource>,
}

/// Turns the facts of an attempt that ended into what the engine is told. Never fails and never reads more than
/// the facts; usage and re-sends are the adapter's to add.
///
/// ```
/// use seawall_core::{classify::classify, facts::*, outcome::*, profile::Provider, time::Wall};
/// let facts = Facts {
///     status: Some(503),
///     headers: &NoHeaders,
///     body: BodyFacts::default(),
///     broke: None,
///     wall: Wall::from_unix_ms(0),
/// };
/// let met = classify(Provider::Generic.profile(), &[], &facts).report.outcome;
/// assert_eq!(met, Outcome::Failed { cause: Cause::Status, sent: Sent::Maybe, hint: None });
/// ```
pub fn classify(profile: &Profile, overrides: &[Override], facts: &Facts<'_>) -> Classified {
    let mut table = Table {
        profile,
        facts,
        pushed_back: false,
        hint_ignored: None,
    };
    let outcome = match (facts.status, facts.broke) {
        // A head that refuses has said all; the rest of its body can only explain.
        (Some(status @ 400..), Some(_)) => table.answered(status, overrides),
        (_, Some(broke)) => table.broken(broke),
        (Some(status), None) => table.answered(status, overrides),
        (None, None) => MALFORMED,
    };
    let should_retry = match should_retry(facts) {
        _ if table.pushed_back => Some(false),
        said => said,
    };
    let outcome = match should_retry {
        Some(true) => table.invited(outcome),
        Some(false) | None => outcome,
    };
    let report = Report {
        outcome,
        status: facts.status.unwrap_or(0),
        should_retry,
        usage: Usage::NONE,
        resent: false,
        earlier: Sent::No,
        first_byte: None,
    };
    Classified {
        report,
        hint_ignored: table.hint_ignored,
    }
}

/// An attempt that ended with neither a status nor a reason: nobody can tell what happened.
const MALFORMED: Outcome = Outcome::Failed {
    cause: Cause::Malformed,
    sent: Sent::Maybe,
    hint: None,
};

/// The server's own word on retrying (rule C5): exactly `true` or `false`, anything else is not said.
fn should_retry(facts: &Facts<'_>) -> Option<bool> {
    let said = |name| match facts.headers.get(name).map(<[u8]>::trim_ascii) {
        Some(b"true") => Some(true),
        Some(b"false") => Some(false),
        Some(_) | None => None,
    };
    // A "no" from either stands: of two contradicting words the careful one is taken.
    match (said("x-should-retry"), said("stripe-should-retry")) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, None) => None,
    }
}

/// Whom a hint holds up.
#[derive(Clone, Copy)]
enum Reach {
    /// The whole gate (rule C6).
    Gate,
    /// This call alone.
    Call,
}

struct Table<'a> {
    profile: &'a Profile,
    facts: &'a Facts<'a>,
    /// The server said by a negative push-back not to retry.
    pushed_back: bool,
    hint_ignored: Option<HintSource>,
}

impl Table<'_> {
    fn broken(&mut self, broke: Broke) -> Outcome {
        let (cause, sent) = match broke {
            Broke::Dns | Broke::Refused | Broke::ConnectTimeout | Broke::Tls => (Cause::Connect, Sent::No),
            Broke::BadCertificate | Broke::Request => (Cause::Request, Sent::No),
            Broke::RefusedStream | Broke::GoAway => (Cause::Cut, Sent::No),
            Broke::Reset | Broke::Closed | Broke::ReusedClosed => (Cause::Cut, Sent::Maybe),
            Broke::Timeout | Broke::Idle => (Cause::Timeout, Sent::Maybe),
            Broke::Protocol => (Cause::Malformed, Sent::Maybe),
        };
        let hint = match sent {
            Sent::No => None,
            // A head may have come before the break, and its hints hold.
            Sent::NotDone | Sent::Maybe | Sent::Done => self.hint(Scope::Stated, Reach::Call),
        };
        Outcome::Failed { cause, sent, hint }
    }

    fn answered(&mut self, status: u16, overrides: &[Override]) -> Outcome {
        let body = &self.facts.body;
        let matches = |rule: &&Override| {
            let code = rule.code.as_deref();
            rule.status.is_none_or(|given| given == status)
                && (code.is_none() || code == body.code || code == body.kind)
        };
        match overrides.iter().find(matches).map(|rule| rule.class) {
            Some(class) => self.overridden(status, class),
            None => self.by_status(status),
        }
    }

    fn overridden(&mut self, status: u16, class: Class) -> Outcome {
        match class {
            Class::Answer => match self.facts.body.state {
                BodyState::WellFormed | BodyState::ErrorInside => Outcome::Answer,
                BodyState::Empty | BodyState::Truncated | BodyState::Undecodable => {
                    self.body_state(Sent::Maybe).unwrap_or(Outcome::Answer)
                }
            },
            Class::Refused => Outcome::Refused(Refusal::Caller),
            Class::Throttled => self.throttled(),
            Class::Failed => self.failed_with(status, Sent::Maybe),
            Class::Denied => Outcome::Denied { latches: false },
        }
    }

    fn by_status(&mut self, status: u16) -> Outcome {
        let (profile, body) = (self.profile, &self.facts.body);
        match status {
            0..400 => self.body_state(Sent::Maybe).unwrap_or(Outcome::Answer),
            429 if profile.says_quota_spent(body) => Outcome::Refused(Refusal::QuotaSpent),
            429 => self.throttled(),
            400 | 402 if profile.says_quota_spent(body) => Outcome::Refused(Refusal::QuotaSpent),
            400 | 413 if profile.says_context_too_long(body) => Outcome::Refused(Refusal::ContextTooLong),
            400 if profile.says_invalid_key(body) => Outcome::Denied { latches: true },
            401 => Outcome::Denied { latches: true },
            403 if profile.is_rate_limit_403(self.facts) => self.throttled(),
            403 => Outcome::Denied {
                latches: profile.says_invalid_key(body),
            },
            407 => Outcome::Denied { latches: false },
            408 => self.failed_with(status, Sent::Maybe),
            409 if profile.is_lock(body) => self.failed_with(status, Sent::NotDone),
            413 => match self.hint(Scope::Stated, Reach::Call) {
                None => Outcome::Refused(Refusal::TooLarge),
                hint @ Some(_) => Outcome::Throttled { hint },
            },
            421 | 425 => self.failed_with(status, Sent::NotDone),
            status if profile.is_over_capacity(status) => self.throttled(),
            400..500 => Outcome::Refused(Refusal::Caller),
            501 | 505 | 511 => Outcome::Refused(Refusal::Caller),
            521 | 523 => self.failed_with(status, Sent::No),
            500.. => self.failed_with(status, Sent::Maybe),
        }
    }

    fn throttled(&mut self) -> Outcome {
        Outcome::Throttled {
            hint: self.hint(Scope::StatedOrReset, Reach::Gate),
        }
    }

    /// A failure status. At 503 and 529 a hint holds up the gate, and says that the work was not begun.
    fn failed_with(&mut self, status: u16, sent: Sent) -> Outcome {
        let (scope, reach) = match status {
            503 => (Scope::StatedOrReset, Reach::Gate),
            529 => (Scope::Stated, Reach::Gate),
            _ => (Scope::Stated, Reach::Call),
        };
        let hint = self.hint(scope, reach);
        let sent = match (reach, hint) {
            (Reach::Gate, Some(_)) => Sent::NotDone,
            (Reach::Gate, None) | (Reach::Call, _) => sent,
        };
        Outcome::Failed {
            cause: Cause::Status,
            sent,
            hint,
        }
    }

    /// What the server's own "do retry" makes of an outcome (rule C5): a refusal of the caller, and a 403, become a
    /// failure that may have acted.
    fn invited(&mut self, outcome: Outcome) -> Outcome {
        match (outcome, self.facts.status) {
            (Outcome::Refused(Refusal::Caller | Refusal::TooLarge), Some(status))
            | (Outcome::Denied { .. }, Some(status @ 403)) => self.failed_with(status, Sent::Maybe),
            (Outcome::Refused(_) | Outcome::Denied { .. }, _)
            | (Outcome::Answer | Outcome::Throttled { .. } | Outcome::Failed { .. }, _) => outcome,
        }
    }

    /// The failure that a body makes of an answer; nothing where the body is well-formed.
    fn body_state(&mut self, sent: Sent) -> Option<Outcome> {
        let cause = match self.facts.body.state {
            BodyState::WellFormed => return None,
            BodyState::Truncated => Cause::Cut,
            BodyState::Empty | BodyState::Undecodable | BodyState::ErrorInside => Cause::Malformed,
        };
        let hint = self.hint(Scope::Stated, Reach::Call);
        Some(Outcome::Failed { cause, sent, hint })
    }

    fn hint(&mut self, scope: Scope, reach: Reach) -> Option<Hint> {
        let reading = hint::find(self.profile, self.facts, scope);
        self.hint_ignored = self.hint_ignored.or(reading.ignored);
        match reading.found {
            Found::Nothing => None,
            Found::DoNotRetry => {
                self.pushed_back = true;
                None
            }
            Found::Wait { wait, source } => Some(Hint {
                wait,
                cools: matches!(reach, Reach::Gate),
                source,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
