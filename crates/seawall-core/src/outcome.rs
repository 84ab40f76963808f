//! What an attempt met, in the engine's words.
//!
//! Adapters extract facts ([`crate::facts`]); the classification table ([`crate::classify`]) turns them into an
//! [`Outcome`]; nothing further in the core looks at a status or a header.

use crate::time::Duration;

/// What one attempt met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A whole, well-formed answer.
    Answer,
    /// The request itself is at fault, or will stay refused: sending it again changes nothing.
    Refused(Refusal),
    /// The server asked for fewer requests.
    Throttled {
        /// When to come back, where the server said.
        hint: Option<Hint>,
    },
    /// The attempt failed.
    Failed {
        /// What broke.
        cause: Cause,
        /// Whether the server may have acted.
        sent: Sent,
        /// When to come back, where the server said.
        hint: Option<Hint>,
    },
    /// The credential was not accepted.
    Denied {
        /// Whether this speaks of the credential itself (401, an invalid-key code) and counts towards its latch
        /// (rule H9), or of this request alone (403).
        latches: bool,
    },
}

impl Outcome {
    /// The outcome's name in JSON, metrics and `classify` overrides.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Refused(_) => "refused",
            Self::Throttled { .. } => "throttled",
            Self::Failed { .. } => "failed",
            Self::Denied { .. } => "denied",
        }
    }

    /// Whether the server may have acted on the request, as far as this outcome tells.
    pub const fn sent(&self) -> Sent {
        match self {
            Self::Answer | Self::Refused(_) | Self::Denied { .. } => Sent::Done,
            Self::Throttled { .. } => Sent::NotDone,
            Self::Failed { sent, .. } => *sent,
        }
    }

    /// What the server said about waiting.
    pub const fn hint(&self) -> Option<Hint> {
        match self {
            Self::Throttled { hint } | Self::Failed { hint, .. } => *hint,
            Self::Answer | Self::Refused(_) | Self::Denied { .. } => None,
        }
    }
}

/// Why a request was refused for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The caller's request is wrong.
    Caller,
    /// The money or the quota is gone; waiting does not bring it back (rule D1).
    QuotaSpent,
    /// The prompt is longer than the model's window (rule D3).
    ContextTooLong,
    /// The body is larger than the server takes.
    TooLarge,
}

/// What broke in a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No connection: name, refusal, connect timeout, TLS handshake.
    Connect,
    /// A per-attempt limit passed.
    Timeout,
    /// The connection ended before a complete answer.
    Cut,
    /// The answer could not be read: undecodable, empty where a body was due, an error inside a 200.
    Malformed,
    /// The server answered with a failure status.
    Status,
    /// The request could not be built or sent for a local reason: the caller's to mend (rule D4).
    Request,
}

impl Cause {
    /// The cause's name in JSON and error rows.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::Status => "status",
            Self::Request => "request",
        }
    }
}

/// Whether the server may have acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sent {
    /// Provably not: the request never reached the server.
    No,
    /// The server says that it did not act, or does not by convention.
    NotDone,
    /// Nobody can tell.
    Maybe,
    /// It did, and answered.
    Done,
}

impl Sent {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::NotDone => "not-done",
            Self::Maybe => "maybe",
            Self::Done => "done",
        }
    }
}

/// What a server said about waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// From when the answer came.
    pub wait: Duration,
    /// Whether it holds for the whole gate (a cool-down, rule C6) or for this call alone.
    pub cools: bool,
    /// Where it was said.
    pub source: HintSource,
}

/// Where a hint was found (rule C1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HintSource {
    /// `retry-after-ms`.
    RetryAfterMs,
    /// `x-ms-retry-after-ms`.
    XMsRetryAfterMs,
    /// `x-amz-retry-after`.
    XAmzRetryAfter,
    /// `grpc-retry-pushback-ms`.
    GrpcRetryPushbackMs,
    /// `Retry-After`.
    RetryAfter,
    /// The body: Google's `RetryInfo`, Discord's `retry_after`.
    Body,
    /// The reset of an exhausted rate-limit window.
    RateLimitReset,
    /// A provider's documented rule (GitHub's secondary limit).
    Provider,
}

impl HintSource {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryAfterMs => "retry-after-ms",
            Self::XMsRetryAfterMs => "x-ms-retry-after-ms",
            Self::XAmzRetryAfter => "x-amz-retry-after",
            Self::GrpcRetryPushbackMs => "grpc-retry-pushback-ms",
            Self::RetryAfter => "retry-after",
            Self::Body => "body",
            Self::RateLimitReset => "ratelimit-reset",
            Self::Provider => "provider",
        }
    }
}

/// All that an adapter tells the engine when an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What the attempt met.
    pub outcome: Outcome,
    /// The status that was answered, 0 where there was none.
    pub status: u16,
    /// What `x-should-retry` or `stripe-should-retry` said (rule C5). The classification table has heard a `true`: it
    /// made a refusal a failure. The engine hears a `false`.
    pub should_retry: Option<bool>,
    /// What the attempt used.
    pub usage: Usage,
    /// Whether the request was sent again inside the attempt (rules D5 and D6).
    pub resent: bool,
    /// What a send before the last, inside the attempt, may have done: [`Sent::Maybe`] where its connection broke under
    /// it (rule D5), whatever the last one met; [`Sent::No`] where there was none, or the server turned it away.
    pub earlier: Sent,
    /// How long the answer's first byte took, where that is known and the answer was whole before it was accepted; else
    /// the attempt's whole length stands for it. A stream's first byte is its commit.
    pub first_byte: Option<Duration>,
}

impl Report {
    /// A report of this outcome and nothing else.
    pub const fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            status: 0,
            should_retry: None,
            usage: Usage::NONE,
            resent: false,
            earlier: Sent::No,
            first_byte: None,
        }
    }

    /// How long the first byte took of an attempt of this length that was not committed.
    pub(crate) fn first_byte_in(&self, length: Duration) -> Duration {
        self.first_byte.map_or(length, |took| took.min(length))
    }

    /// Whether the attempt left: one that was refused here earns nobody a retry (rule G2), counts against no limit and is
    /// no sign of life. So is a denial without an answer: the credential could not be had (rule D6).
    pub(crate) const fn was_sent(&self) -> bool {
        match self.outcome {
            Outcome::Failed {
                cause: Cause::Request,
                ..
            } => false,
            Outcome::Denied { latches: false } => self.status != 0,
            Outcome::Denied { latches: true }
            | Outcome::Failed { .. }
            | Outcome::Answer
            | Outcome::Refused(_)
            | Outcome::Throttled { .. } => true,
        }
    }
}

/// What an attempt used, as the server reported it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens read.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
}

impl Usage {
    /// Nothing, or nothing that was reported.
    pub const NONE: Self = Self {
        tokens_in: 0,
        tokens_out: 0,
    };

    /// This and another's, each count at most what it can hold: what servers report is a stranger's number.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            tokens_in: self.tokens_in.saturating_add(other.tokens_in),
            tokens_out: self.tokens_out.saturating_add(other.tokens_out),
        }
    }
}
