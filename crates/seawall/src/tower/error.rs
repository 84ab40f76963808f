//! How a call of a service ended without a response.

use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::fmt;

/// How a call ended that has no good answer, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Why it ended.
    pub reason: Reason,
    /// Attempts that were made.
    pub attempts: u32,
    /// How long it waited between and before them, in all.
    pub waited: Duration,
    /// In how long it could be worth coming back, where anybody knows.
    pub retry_after: Option<Duration>,
    /// Whether it may have acted and got no definite answer (rule E2).
    pub unknown: bool,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.reason)
    }
}

/// A call of a service that has no response: who failed, and with what. Where `E` is an error type, so is this, with
/// the inner service's error as its source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error<E> {
    /// The inner service is not ready and never will be. Nothing was begun.
    Unready(E),
    /// An attempt failed, and there was no other.
    Failed {
        /// What the last attempt that failed by itself failed with.
        last: E,
        /// Why there was no other.
        ended: Ended,
    },
    /// Every attempt was cut: at its own limit of time, or at the call's deadline.
    TimedOut(Ended),
    /// The gate let no attempt go: its breaker is open, it is full, cools down or drains.
    Refused(Ended),
}

impl<E> Error<E> {
    pub(super) fn of(last: Option<E>, ended: Ended) -> Self {
        match last {
            Some(last) => Self::Failed { last, ended },
            None if ended.attempts == 0 => Self::Refused(ended),
            None => Self::TimedOut(ended),
        }
    }

    /// The same end, with another error of the service's in it.
    #[cfg(feature = "reqwest")]
    pub(crate) fn map<F>(self, map: impl FnOnce(E) -> F) -> Error<F> {
        match self {
            Self::Unready(error) => Error::Unready(map(error)),
            Self::Failed { last, ended } => Error::Failed {
                last: map(last),
                ended,
            },
            Self::TimedOut(ended) => Error::TimedOut(ended),
            Self::Refused(ended) => Error::Refused(ended),
        }
    }

    /// Why and how the call ended; nothing where it had not begun.
    pub const fn ended(&self) -> Option<&Ended> {
        match self {
            Self::Unready(_) => None,
            Self::Failed { ended, .. } | Self::TimedOut(ended) | Self::Refused(ended) => Some(ended),
        }
    }

    /// The reason, where the call had begun.
    pub fn reason(&self) -> Option<Reason> {
        self.ended().map(|ended| ended.reason)
    }

    /// Attempts that were made.
    pub fn attempts(&self) -> u32 {
        self.ended().map_or(0, |ended| ended.attempts)
    }

    /// In how long it could be worth coming back, where anybody knows.
    pub fn retry_after(&self) -> Option<Duration> {
        self.ended().and_then(|ended| ended.retry_after)
    }

    /// The inner service's own error, for those who do not care about the rest.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Unready(error) | Self::Failed { last: error, .. } => Some(error),
            Self::TimedOut(_) | Self::Refused(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unready(error) if f.alternate() => write!(f, "the service is not ready: {error:#}"),
            Self::Unready(_) => f.write_str("the service is not ready"),
            Self::Failed { last, ended } if f.alternate() => write!(f, "{ended}: {last:#}"),
            Self::Failed { ended, .. } | Self::TimedOut(ended) | Self::Refused(ended) => ended.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unready(error) | Self::Failed { last: error, .. } => Some(error),
            Self::TimedOut(_) | Self::Refused(_) => None,
        }
    }
}
