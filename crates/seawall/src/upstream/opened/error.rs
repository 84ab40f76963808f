//! Why an answer that was being handed on is not complete.

use crate::upstream::UnknownWrite;
use seawall_core::outcome::{Cause, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::fmt;

/// An answer that broke after its first content. What had come is with its reader; its call was not sent again.
#[derive(Clone)]
#[non_exhaustive]
pub struct StreamError {
    /// Why the call ended: `already-streaming`.
    pub reason: Reason,
    /// What broke.
    pub cause: Cause,
    /// The same, for people.
    pub detail: String,
    /// The provider's error code, where an error event broke it.
    pub code: Option<String>,
    /// The provider's error type.
    pub kind: Option<String>,
    /// The provider's message; never part of what this prints.
    pub message: Option<String>,
    /// Bytes of the body that had come.
    pub received_bytes: u64,
    /// Events that had come, those before the first content included; the one that broke it is none of them.
    pub received_events: u64,
    /// Tokens over all attempts, as far as the server had said.
    pub usage: Usage,
    /// In how long it could be worth coming back, where anybody knows.
    pub retry_after: Option<Duration>,
    /// A write that may have acted and got no definite answer (rule E2).
    pub unknown: Option<UnknownWrite>,
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} ({}; {} bytes had come",
            self.reason.code(),
            self.reason,
            self.detail,
            self.received_bytes
        )?;
        if self.received_events > 0 {
            write!(f, ", {} events", self.received_events)?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamError")
            .field("reason", &self.reason)
            .field("cause", &self.cause)
            .field("detail", &self.detail)
            .field("code", &self.code)
            .field("kind", &self.kind)
            .field("received_bytes", &self.received_bytes)
            .field("received_events", &self.received_events)
            .field("usage", &self.usage)
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for StreamError {}
