//! What the engine answers: a [`Verdict`] is an [`Action`] and the [`Reason`] for it.

use crate::policy::{
    CallPolicy, DEFAULT_CONNECT, DEFAULT_FIRST_BYTE, DEFAULT_IDLE, INFERENCE_DEADLINE, INFERENCE_FIRST_BYTE,
    INFERENCE_IDLE, STREAM_TOTAL,
};
use crate::reason::Reason;
use crate::time::{Duration, Instant};

/// Names one call for as long as it lives: a slot and its generation. A stale one is answered, never confused with
/// the slot's next tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl CallId {
    /// The slot that the call lives in, for drivers that keep a table beside the engine. Reused after the call.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

/// The engine's answer.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a verdict may carry a permit, which holds places until it is settled or abandoned"]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

/// What to do with a call now.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send one attempt, then settle or abandon its permit.
    Send(Permit),
    /// Do nothing before this point, then poll again. A fact to be re-checked, not a promise.
    Wait(Instant),
    /// Stand in a queue: poll again when woken, or at this point at the latest.
    Park {
        /// When to poll even if nothing woke the call.
        until: Instant,
    },
    /// Attempts are out; poll again when one ends, or at `hedge_at`.
    InFlight {
        /// When a second attempt may go beside the first.
        hedge_at: Option<Instant>,
        /// The attempt that lost when the other was committed: drop it, which abandons it, and poll again.
        lost: Option<u32>,
    },
    /// The call is over.
    Finish {
        /// Whether this is a write that may have acted and got no definite answer: one for the ledger (rule E2).
        unknown: bool,
        /// When it could be worth coming back.
        retry_at: Option<Instant>,
    },
}

/// Leave to send one attempt at one candidate. Not `Clone`: it is settled or abandoned once.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit holds places until it is settled or abandoned"]
pub struct Permit {
    pub(crate) call: CallId,
    pub(crate) attempt: u32,
    pub(crate) candidate: u16,
    pub(crate) role: Role,
    pub(crate) limits: Limits,
}

impl Permit {
    /// The call that this attempt belongs to.
    pub const fn call(&self) -> CallId {
        self.call
    }

    /// Which attempt of its call this is, from 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Which candidate of the call's route to send to.
    pub const fn candidate(&self) -> usize {
        self.candidate as usize
    }

    /// What the attempt is for.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The attempt's limits.
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// What an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The call's first send.
    First,
    /// Another send after a failed one.
    Retry,
    /// Finds out whether a broken upstream is back.
    Probe,
    /// Runs beside a slow first one.
    Hedge,
    /// The call's first send at another upstream.
    Fallback,
}

impl Role {
    /// The role as a reason.
    pub const fn reason(self) -> Reason {
        match self {
            Self::First => Reason::First,
            Self::Retry => Reason::Retry,
            Self::Probe => Reason::Probe,
            Self::Hedge => Reason::Hedge,
            Self::Fallback => Reason::Fallback,
        }
    }
}

/// Limits of one attempt, each at most the time left before the call's deadline (rule F2), but `idle` and `total`,
/// which also hold after the commit, when the deadline no longer does: until then `deadline` ends the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Name look-up, connect and TLS together.
    pub connect: Duration,
    /// From the request's last byte to the answer's first.
    pub first_byte: Duration,
    /// Silence inside an answer.
    pub idle: Duration,
    /// The whole attempt; [`Duration::MAX`] is no limit.
    pub total: Duration,
    /// Ends the attempt wherever it is, up to the commit.
    pub deadline: Instant,
}

/// What kind of endpoint a call goes to: decides the limits that nobody wrote (rules F1 and F2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endpoint {
    /// Anything else.
    #[default]
    General,
    /// A model that answers in one piece: its first byte is its last.
    Inference,
    /// A model that streams its answer.
    InferenceStream,
}

impl CallPolicy {
    /// How long a call to `endpoint` may take up to its commit.
    pub const fn deadline_for(&self, endpoint: Endpoint) -> Duration {
        match endpoint {
            Endpoint::Inference | Endpoint::InferenceStream if !self.deadline_written => INFERENCE_DEADLINE,
            Endpoint::General | Endpoint::Inference | Endpoint::InferenceStream => self.deadline,
        }
    }

    /// The limits of an attempt to `endpoint` that begins at `now`.
    #[inline]
    pub fn limits_for(&self, endpoint: Endpoint, now: Instant, deadline: Instant) -> Limits {
        let left = deadline.since(now);
        let (first_byte, idle, total) = match endpoint {
            Endpoint::General => (DEFAULT_FIRST_BYTE, DEFAULT_IDLE, Duration::MAX),
            Endpoint::Inference => (INFERENCE_FIRST_BYTE, INFERENCE_IDLE, Duration::MAX),
            Endpoint::InferenceStream => (DEFAULT_FIRST_BYTE, INFERENCE_IDLE, STREAM_TOTAL),
        };
        let timeouts = &self.timeouts;
        Limits {
            connect: timeouts.connect.unwrap_or(DEFAULT_CONNECT).min(left),
            first_byte: timeouts.first_byte.unwrap_or(first_byte).min(left),
            idle: timeouts.idle.unwrap_or(idle),
            total: timeouts.total.unwrap_or(total),
            deadline,
        }
    }
}

/// What was left of a call when its caller left, or when it was over and its slot went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether this is a write that may have acted and got no definite answer (rule E2).
    pub unknown: bool,
    /// Attempts that were sent, or may have been.
    pub sends: u32,
}
