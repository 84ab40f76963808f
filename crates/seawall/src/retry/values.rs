//! Answers that are not good enough.
//!
//! What can go wrong: a server says 200 and means no: half a page, an empty list, a body that ends too soon. What counts
//! errors alone hands that on as an answer, and its breaker learns that all is well. So a call may say which answers are
//! failures; such a one is a failure to everybody: the engine, the gate, and at the end whoever called.

use super::classify::Failure;
use std::error::Error;
use std::fmt;

/// What a call of a closure that rejects answers ended with: see [`Retry::reject`](super::Retry::reject).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmet<T, E> {
    /// The last attempt brought this, and it was rejected.
    Rejected(T),
    /// The last attempt failed with this.
    Failed(E),
}

impl<T, E> Unmet<T, E> {
    /// The answer that was rejected, for those who take it all the same.
    pub fn into_rejected(self) -> Option<T> {
        match self {
            Self::Rejected(answer) => Some(answer),
            Self::Failed(_) => None,
        }
    }
}

impl<T, E: fmt::Display> fmt::Display for Unmet<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(_) => f.write_str("the answer was rejected"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl<T: fmt::Debug, E: Error> Error for Unmet<T, E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Rejected(_) => None,
            // It stands for the error, and says its words: its cause comes next.
            Self::Failed(error) => error.source(),
        }
    }
}

/// Says which answers of a call are none. Calls of closures do, by [`reject`](super::Retry::reject) and
/// [`classify_ok`](super::Retry::classify_ok); there are no others.
pub trait Values<T, E>: sealed::Sealed {
    /// What the call ends with where it has no answer.
    type Error;

    /// What an answer is to the engine that is not one.
    fn rejects(&mut self, answer: &T) -> Option<Failure>;

    /// The end, by an error of an attempt.
    fn failed(error: E) -> Self::Error;

    /// The end, by an answer that was rejected.
    fn rejected(answer: T) -> Option<Self::Error>;
}

/// Every answer is one.
#[derive(Clone, Copy, Debug)]
pub struct Kept;

/// A closure says which are rejected. See [`Retry::reject`](super::Retry::reject).
#[derive(Clone, Copy, Debug)]
pub struct Rejected<R>(pub(super) R);

/// A closure says what each is. See [`Retry::classify_ok`](super::Retry::classify_ok).
#[derive(Clone, Copy, Debug)]
pub struct Classified<R>(pub(super) R);

impl<T, E> Values<T, E> for Kept {
    type Error = E;

    #[inline]
    fn rejects(&mut self, _answer: &T) -> Option<Failure> {
        None
    }

    fn failed(error: E) -> E {
        error
    }

    fn rejected(_answer: T) -> Option<E> {
        None
    }
}

impl<T, E, R: FnMut(&T) -> bool> Values<T, E> for Rejected<R> {
    type Error = Unmet<T, E>;

    fn rejects(&mut self, answer: &T) -> Option<Failure> {
        (self.0)(answer).then_some(Failure::transient())
    }

    fn failed(error: E) -> Unmet<T, E> {
        Unmet::Failed(error)
    }

    fn rejected(answer: T) -> Option<Unmet<T, E>> {
        Some(Unmet::Rejected(answer))
    }
}

impl<T, E, R: FnMut(&T) -> Option<Failure>> Values<T, E> for Classified<R> {
    type Error = Unmet<T, E>;

    fn rejects(&mut self, answer: &T) -> Option<Failure> {
        (self.0)(answer)
    }

    fn failed(error: E) -> Unmet<T, E> {
        Unmet::Failed(error)
    }

    fn rejected(answer: T) -> Option<Unmet<T, E>> {
        Some(Unmet::Rejected(answer))
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Kept {}
    impl<R> Sealed for super::Rejected<R> {}
    impl<R> Sealed for super::Classified<R> {}
}
