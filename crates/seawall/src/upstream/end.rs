//! How a call ended: its answer, or everything that is known of why there is none.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use seawall_core::outcome::{Cause, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::fmt;

/// The answer of a call.
#[derive(Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
    /// Every attempt that the call made, in the order in which they ended.
    pub attempts: Vec<AttemptNote>,
    /// What was waited for, and how long.
    pub waited: Vec<(&'static str, Duration)>,
    /// Tokens over all attempts, as far as the server said.
    pub usage: Usage,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// One attempt of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptNote {
    /// Why it was sent, as a reason code: `first`, `retry`, `probe`, `hedge`, `fallback`.
    pub sent_for: &'static str,
    /// What it met, as an outcome's name.
    pub outcome: &'static str,
    /// The status that was answered, where one was.
    pub status: Option<u16>,
    /// Whether the request went out more than once inside it (rules D5 and D6).
    pub resent: bool,
    /// From its beginning to the first byte of its answer, where one came.
    pub first_byte: Option<Duration>,
}

/// A call that has no good answer, and why.
#[derive(Clone)]
pub struct CallError {
    /// Why the call ended.
    pub reason: Reason,
    /// What broke in the last attempt, where something did.
    pub cause: Option<Cause>,
    /// What the last attempt said of itself, for people.
    pub detail: Option<String>,
    /// The last real answer that any attempt got: its error, unchanged. Its body is as much as came.
    pub answer: Option<Box<RefusedAnswer>>,
    /// Every attempt that the call made, in the order in which they ended.
    pub attempts: Vec<AttemptNote>,
    /// What was waited for, and how long.
    pub waited: Vec<(&'static str, Duration)>,
    /// Tokens over all attempts, as far as the server said.
    pub usage: Usage,
    /// In how long it could be worth coming back, where anybody knows.
    pub retry_after: Option<Duration>,
    /// A write that may have acted and got no definite answer (rule E2).
    pub unknown: Option<UnknownWrite>,
}

/// An answer that the call could not end with.
#[derive(Clone)]
pub struct RefusedAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as much as came.
    pub body: Bytes,
    /// Whether it is shorter than the answer said, empty where one was due, or not what it says it is.
    pub state: seawall_core::facts::BodyState,
}

impl fmt::Debug for RefusedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusedAnswer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// A write whose outcome nobody knows: one for the ledger. Never holds its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWrite {
    /// The upstream that may have acted.
    pub upstream: String,
    /// The call's method.
    pub method: String,
    /// The call's path, without its query.
    pub path: String,
    /// The idempotency key that was sent, where one was.
    pub key: Option<String>,
    /// What the last attempt met, as an outcome's name.
    pub outcome: &'static str,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.reason)?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("reason", &self.reason)
            .field("cause", &self.cause)
            .field("detail", &self.detail)
            .field("answer", &self.answer)
            .field("attempts", &self.attempts)
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for CallError {}
