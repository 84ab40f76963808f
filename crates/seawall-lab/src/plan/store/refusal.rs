//! Why a store does not do what an attempt asks, with the status, the word and the sentence.

use super::KEY_BYTES_MAX;
use std::fmt;

/// Why a store refuses an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The route does no write without a key, which this header carries.
    KeyMissing {
        /// The header's name.
        header: String,
    },
    /// The key has no letter.
    KeyEmpty,
    /// The key is longer than [`KEY_BYTES_MAX`].
    KeyTooLong {
        /// How long it is.
        bytes: usize,
    },
    /// The key stands for something else.
    KeyReused,
    /// The first attempt with this key is not over.
    KeyInFlight,
    /// A list was asked for that cannot be.
    BadQuery {
        /// The parameter.
        name: &'static str,
        /// What would be right.
        expected: String,
    },
    /// There is no room, and nothing whose time is over.
    Full {
        /// The most that is kept.
        bytes_max: usize,
    },
}

impl Refusal {
    /// The status that says so.
    pub const fn status(&self) -> u16 {
        match self {
            Self::KeyMissing { .. } | Self::KeyEmpty | Self::KeyTooLong { .. } | Self::BadQuery { .. } => 400,
            Self::KeyInFlight => 409,
            Self::KeyReused => 422,
            Self::Full { .. } => 500,
        }
    }

    /// The word that says so, in bodies and in the journal.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyMissing { .. } => "key-missing",
            Self::KeyEmpty => "key-empty",
            Self::KeyTooLong { .. } => "key-too-long",
            Self::KeyReused => "key-reused",
            Self::KeyInFlight => "key-in-flight",
            Self::BadQuery { .. } => "bad-query",
            Self::Full { .. } => "store-full",
        }
    }

    /// Whose rule was broken.
    pub const fn about(&self) -> About {
        match self {
            Self::KeyMissing { .. }
            | Self::KeyEmpty
            | Self::KeyTooLong { .. }
            | Self::KeyReused
            | Self::KeyInFlight => About::Key,
            Self::BadQuery { .. } => About::Query,
            Self::Full { .. } => About::Mock,
        }
    }
}

/// What a refusal is about; dialects have words for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The idempotency key.
    Key,
    /// The query.
    Query,
    /// The mock itself.
    Mock,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyMissing { header } => write!(
                f,
                "this route does no write without a key in the header `{header}`; make one for each call and send it with \
                 every attempt"
            ),
            Self::KeyEmpty => f.write_str("the idempotency key is empty; make one for each call"),
            Self::KeyTooLong { bytes } => write!(
                f,
                "the idempotency key is {bytes} bytes long; the most is {KEY_BYTES_MAX}"
            ),
            Self::KeyReused => f.write_str(
                "this idempotency key was used before for something else (method, path, query or body differ); make a \
                 new one for each call",
            ),
            Self::KeyInFlight => f.write_str(
                "the first attempt with this idempotency key is still being answered; send it again later",
            ),
            Self::BadQuery { name, expected } => {
                write!(f, "`{name}` of this query cannot be right; expected {expected}")
            }
            Self::Full { bytes_max } => write!(
                f,
                "this mock keeps {bytes_max} bytes of objects and keys, and no more; reset it"
            ),
        }
    }
}
