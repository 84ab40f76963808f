//! Kinds of errors, and which end of a call is which.

use crate::upstream::CallError;
use seawall_core::outcome::Cause;
use seawall_core::time::Duration;
use std::fmt;
use std::time::SystemTime;

/// What went wrong, as programs match on it.
///
/// ```
/// use seawall::ai::{Error, ErrorKind};
///
/// fn advice(error: &Error) -> String {
///     match error.kind() {
///         ErrorKind::RateLimited { retry_after: Some(wait), .. } => format!("come back in {wait}"),
///         ErrorKind::Authentication | ErrorKind::QuotaSpent => "a person must look".to_owned(),
///         ErrorKind::ContextTooLong => "shorten the prompt".to_owned(),
///         ErrorKind::StreamBroke { .. } => format!("{} came", error.received().map_or(0, |it| it.message().text().len())),
///         _ => error.to_string(),
///     }
/// }
/// # let _ = advice;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Too much at once or in a minute. Come back after the wait, where one is known; this was not done.
    RateLimited {
        /// In how long there may be room, where anybody knows.
        retry_after: Option<Duration>,
        /// Whose limit it is.
        by: LimitedBy,
    },
    /// The key or token was not accepted, or was denied twice and is kept back for a while.
    Authentication,
    /// The key is known and may not do this.
    PermissionDenied,
    /// The money or quota is gone. Waiting does not bring it back.
    QuotaSpent,
    /// The prompt is longer than the model's window.
    ContextTooLong,
    /// The call itself is at fault: it will be refused again. What is wrong with it, the provider says in
    /// [`Error::provider`](super::Error::provider).
    Refused {
        /// The status; 0 where nothing could be sent.
        status: u16,
    },
    /// The call asks for what the server's dialect has no words for. Nothing was sent.
    Inexpressible,
    /// The server failed: a status of 500 and above, or an error under a status of success.
    Server {
        /// The status.
        status: u16,
    },
    /// There was no connection, or it ended before the answer did.
    Connection,
    /// An attempt took longer than an attempt may.
    Timeout,
    /// The call took longer than the call may, or had no time left for another attempt.
    DeadlinePassed {
        /// Attempts that were made.
        attempts: u32,
        /// What the last of them met, where one ended.
        last: Option<Box<ErrorKind>>,
    },
    /// The answer came whole and cannot be read as one.
    Undecodable,
    /// A stream broke off after its first content was handed over. What came is in [`Error::received`](super::Error::received).
    StreamBroke {
        /// What broke it.
        by: Box<ErrorKind>,
    },
    /// It may have been done, nobody knows, and nothing makes a repeat safe.
    MayHaveActed,
    /// Several attempts were made, and there may be no more: the policy's retries or its budget are spent.
    Exhausted {
        /// Attempts that were made.
        attempts: u32,
        /// What the last of them met.
        last: Box<ErrorKind>,
    },
    /// The upstream is broken, and not tried before its next probe.
    BreakerOpen {
        /// In how long that is.
        retry_after: Duration,
        /// When that is, by this host's date.
        retry_at: SystemTime,
    },
    /// The money cap has nothing left.
    CostMax,
    /// The client was told to send nothing more.
    Draining,
    /// No server of the client's route can serve the call.
    NoUpstream,
}

/// Whose limit a call met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// The provider's.
    Provider,
    /// One of our own policy.
    Policy,
}

/// What an end means, by its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// What its last attempt met.
    OfLast,
    /// No attempt may follow: with several, that is what it is; with one, it is what that one met.
    Spent,
    Deadline,
    Cooling,
    OwnLimit,
    Latched,
    Quota,
    Context,
    MayHaveActed,
    Breaker,
    Broke,
    Unfit,
    Cost,
    Draining,
    NoUpstream,
}

impl End {
    /// A code that is not here is that of a send or a wait, which end no call; a test holds that.
    fn of(code: &str) -> Option<Self> {
        Some(match code {
            "refused"
            | "denied"
            | "told-not-to"
            | "server-asked-too-long"
            | "body-too-large"
            | "key-reused"
            | "key-in-flight"
            | "row-too-large" => Self::OfLast,
            "attempts-spent" | "budget-empty" => Self::Spent,
            "deadline-too-near" | "deadline-passed" => Self::Deadline,
            "cooling-down" => Self::Cooling,
            "limiter-full" => Self::OwnLimit,
            "denied-latched" => Self::Latched,
            "quota-spent" => Self::Quota,
            "context-too-long" => Self::Context,
            "may-have-acted" => Self::MayHaveActed,
            "breaker-open" => Self::Breaker,
            "already-streaming" => Self::Broke,
            "answer-unfit" => Self::Unfit,
            "cost-max" => Self::Cost,
            "cancelled" | "draining" => Self::Draining,
            "no-candidate" => Self::NoUpstream,
            _ => return None,
        })
    }
}

impl ErrorKind {
    /// What is at the bottom of it; see [`Error::root`](super::Error::root).
    pub fn root(&self) -> &Self {
        match self {
            Self::Exhausted { last, .. } => last.root(),
            Self::StreamBroke { by } => by.root(),
            Self::RateLimited { .. }
            | Self::Authentication
            | Self::PermissionDenied
            | Self::QuotaSpent
            | Self::ContextTooLong
            | Self::Refused { .. }
            | Self::Inexpressible
            | Self::Server { .. }
            | Self::Connection
            | Self::Timeout
            | Self::DeadlinePassed { .. }
            | Self::Undecodable
            | Self::MayHaveActed
            | Self::BreakerOpen { .. }
            | Self::CostMax
            | Self::Draining
            | Self::NoUpstream => self,
        }
    }

    /// What a call's end comes to.
    pub(super) fn of(call: &CallError, now: SystemTime) -> Self {
        let attempts = u32::try_from(call.attempts.len()).unwrap_or(u32::MAX);
        let last = || Self::of_last(call);
        match End::of(call.reason.code()) {
            None | Some(End::OfLast) => last().unwrap_or(Self::Refused { status: 0 }),
            Some(End::Spent) => match last() {
                Some(last) if attempts > 1 => Self::Exhausted {
                    attempts,
                    last: Box::new(last),
                },
                Some(last) => last,
                None => Self::Timeout,
            },
            Some(End::Deadline) => Self::DeadlinePassed {
                attempts,
                last: last().map(Box::new),
            },
            Some(End::Cooling) => Self::RateLimited {
                retry_after: call.retry_after,
                by: LimitedBy::Provider,
            },
            Some(End::OwnLimit) => Self::RateLimited {
                retry_after: call.retry_after,
                by: LimitedBy::Policy,
            },
            Some(End::Latched) => Self::Authentication,
            Some(End::Quota) => Self::QuotaSpent,
            Some(End::Context) => Self::ContextTooLong,
            Some(End::MayHaveActed) => Self::MayHaveActed,
            Some(End::Breaker) => {
                let retry_after = call.retry_after.unwrap_or(Duration::ZERO);
                Self::BreakerOpen {
                    retry_after,
                    retry_at: now.checked_add(retry_after.into()).unwrap_or(now),
                }
            }
            Some(End::Broke) => Self::StreamBroke {
                by: Box::new(last().unwrap_or(Self::Connection)),
            },
            Some(End::Unfit) => Self::Undecodable,
            Some(End::Cost) => Self::CostMax,
            Some(End::Draining) => Self::Draining,
            Some(End::NoUpstream) => Self::NoUpstream,
        }
    }

    /// What the last attempt met.
    fn of_last(call: &CallError) -> Option<Self> {
        let last = call.attempts.last()?;
        let status = last.status.unwrap_or(0);
        Some(match (last.outcome, call.cause) {
            ("throttled", _) => Self::RateLimited {
                retry_after: call.retry_after,
                by: LimitedBy::Provider,
            },
            ("denied", _) if status == 403 => Self::PermissionDenied,
            ("denied", _) => Self::Authentication,
            ("failed", Some(cause)) => Self::of_cause(cause, status),
            ("failed", None) => Self::Server { status },
            _ => Self::Refused { status },
        })
    }

    pub(super) const fn of_cause(cause: Cause, status: u16) -> Self {
        match cause {
            Cause::Connect | Cause::Cut => Self::Connection,
            Cause::Timeout => Self::Timeout,
            // An error under a status of success, or an answer that is none: the server's failure either way.
            Cause::Malformed | Cause::Status => Self::Server { status },
            Cause::Request => Self::Refused { status: 0 },
        }
    }
}

impl ErrorKind {
    pub(super) const fn is_a_break(&self) -> bool {
        matches!(self, Self::StreamBroke { .. })
    }

    /// Whether the server did not take the key, or not for this.
    pub(in crate::ai) const fn is_a_denial(&self) -> bool {
        matches!(self, Self::Authentication | Self::PermissionDenied)
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, model: Option<&str>) -> fmt::Result {
        match self {
            Self::RateLimited { retry_after, by } => {
                f.write_str(match by {
                    LimitedBy::Provider => "the rate limit is reached",
                    LimitedBy::Policy => "a limit of the policy has no room",
                })?;
                match retry_after {
                    Some(wait) => write!(f, "; retry after {}", wait.up_to_millis()),
                    None => Ok(()),
                }
            }
            Self::Authentication => f.write_str("the key was not accepted"),
            Self::PermissionDenied => f.write_str("the key may not do this"),
            Self::QuotaSpent => f.write_str("the money or quota is gone; waiting does not bring it back"),
            Self::ContextTooLong => match model {
                Some(model) => write!(f, "the prompt is longer than the window of {model}"),
                None => f.write_str("the prompt is longer than the model's window"),
            },
            Self::Refused { status: 0 } => f.write_str("the call cannot be sent"),
            Self::Refused { status } => write!(f, "the call was refused with {status}"),
            Self::Inexpressible => f.write_str("the call cannot be said in this dialect"),
            Self::Server { status: 0 } => f.write_str("the server failed"),
            Self::Server { status } => write!(f, "the server failed with {status}"),
            Self::Connection => f.write_str("the connection could not be made, or broke"),
            Self::Timeout => f.write_str("the server took too long"),
            Self::DeadlinePassed { attempts, last } => {
                f.write_str("the call's time is up")?;
                match last {
                    Some(last) => {
                        write!(f, " after {}, in the last: ", counted(*attempts))?;
                        last.write(f, model)
                    }
                    None => Ok(()),
                }
            }
            Self::Undecodable => f.write_str("the answer cannot be read"),
            Self::StreamBroke { by } => {
                f.write_str("the stream broke off: ")?;
                by.write(f, model)
            }
            Self::MayHaveActed => {
                f.write_str("it may have been done, and nothing makes a repeat safe; look whether it was")
            }
            Self::Exhausted { attempts, last } => {
                write!(f, "all {} failed, the last: ", counted(*attempts))?;
                last.write(f, model)
            }
            Self::BreakerOpen { retry_after, .. } => write!(
                f,
                "the breaker is open; retry after {}",
                retry_after.up_to_millis()
            ),
            Self::CostMax => f.write_str("the money cap has nothing left"),
            Self::Draining => f.write_str("the client was told to send nothing more"),
            Self::NoUpstream => f.write_str("no server of the route can serve the call"),
        }
    }
}

fn counted(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".to_owned(),
        attempts => format!("{attempts} attempts"),
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seawall_core::reason::{CATALOGUE, Stage};

    #[test]
    fn every_reason_that_ends_a_call_has_a_kind() {
        // Breaks when a new reason is added and is taken for a refusal by the provider.
        for entry in CATALOGUE {
            let is_end = matches!(entry.stage, Stage::End) && entry.code != "succeeded";
            assert!(!is_end || End::of(entry.code).is_some(), "{}", entry.code);
        }
        assert_eq!(
            End::of("cooling-down"),
            Some(End::Cooling),
            "a wait that ends calls as well"
        );
    }
}
