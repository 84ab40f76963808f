//! What may be wrong with a translation.

use super::Dialect;
use bytes::Bytes;
use std::fmt;

/// A request as the bytes of its body, and what the dialect made of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Encoded {
    /// The body: JSON. The same request gives the same bytes.
    pub body: Bytes,
    /// What is not as it was asked for; empty where all is.
    pub changes: Vec<Change>,
}

/// Something that a dialect could not say as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It was left out.
    LeftOut(&'static str),
    /// It stands at another place.
    Moved(&'static str),
    /// The dialect must have it, and it was not given.
    Filled(&'static str),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(what) => write!(f, "left out: {what}"),
            Self::Moved(what) => write!(f, "moved: {what}"),
            Self::Filled(what) => write!(f, "filled in: {what}"),
        }
    }
}

/// A request cannot be said in a dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It has a setting, or a part, that the dialect has no words for. Leave it out, or let it be left out
    /// ([`Unsupported::LeaveOut`](super::Unsupported::LeaveOut)).
    #[error("{dialect} has no words for {what}; {instead}")]
    Unsupported {
        /// The dialect.
        dialect: Dialect,
        /// What it cannot say.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// It lacks something that the dialect must have.
    #[error("{dialect} needs {what}; {instead}")]
    Missing {
        /// The dialect.
        dialect: Dialect,
        /// What it lacks.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// The arguments of a tool call must be an object in this dialect, and are not: half a call of a broken stream.
    #[error(
        "{dialect} takes the arguments of a tool call as a JSON object; those of `{id}` ({name}) are none: {problem}"
    )]
    Arguments {
        /// The dialect.
        dialect: Dialect,
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// What is wrong with them.
        problem: String,
    },
    /// A number is none that JSON has: infinite, or not a number.
    #[error("{what} is not a finite number")]
    NotFinite {
        /// Which setting.
        what: &'static str,
    },
}

/// An answer is not in its dialect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It is not JSON.
    #[error("the body is not JSON: {problem}")]
    NotJson {
        /// What is wrong, and where.
        problem: String,
    },
    /// Something in it is not what it should be.
    #[error("{place} should be {due} and is {found}")]
    Not {
        /// Where, from the body's root: `$.choices[0].message`.
        place: String,
        /// What it should be.
        due: &'static str,
        /// What it is.
        found: &'static str,
    },
}
