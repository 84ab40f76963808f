//! What makes the attempts of a call: a closure, awaited or run.

use super::key::{Key, Origin};
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::OnceLock;

/// One attempt, as the closure that makes it may know it.
#[derive(Clone)]
pub struct Attempt {
    number: u32,
    left: Duration,
    sent_for: Reason,
    origin: Origin,
    /// Made when it is asked for: most calls never do.
    key: OnceLock<Key>,
}

impl Attempt {
    pub(super) const fn new(number: u32, left: Duration, sent_for: Reason, origin: Origin) -> Self {
        Self {
            number,
            left,
            sent_for,
            origin,
            key: OnceLock::new(),
        }
    }

    /// Which attempt of its call this is, from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The time that is left for it: it is cut when that has passed. A thread cannot be cut; give this to whatever
    /// limit its own call takes.
    pub const fn left(&self) -> Duration {
        self.left
    }

    /// Why it is made: `first`, `retry`, `probe` or `hedge`.
    pub const fn sent_for(&self) -> Reason {
        self.sent_for
    }

    /// The idempotency key of its call, the same for all attempts: give it to a server that takes one, and say
    /// [`replay(Replay::Keyed)`](super::Retry::replay) where it honours it.
    pub fn key(&self) -> &Key {
        self.key.get_or_init(|| self.origin.key())
    }
}

impl PartialEq for Attempt {
    fn eq(&self, other: &Self) -> bool {
        let seen = |attempt: &Self| (attempt.number, attempt.left, attempt.sent_for);
        seen(self) == seen(other) && self.key() == other.key()
    }
}

impl Eq for Attempt {}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("number", &self.number)
            .field("left", &self.left)
            .field("sent_for", &self.sent_for)
            .field("key", self.key())
            .finish()
    }
}

/// Makes attempts. Closures do, by way of [`retry`](super::retry()) and its like; there are no others.
pub trait Attempts: sealed::Sealed {
    /// What a call brings.
    type Answer;
    /// What an attempt fails with.
    type Error;
    /// One attempt.
    type Flight: Future<Output = Result<Self::Answer, Self::Error>>;

    /// Makes one attempt, which has not begun before it is polled, or, on a thread, is over. Asks `seen` what it may know
    /// of itself, if it wants to know.
    fn attempt(&mut self, seen: impl FnOnce() -> Attempt) -> Self::Flight;
}

/// Attempts that are awaited.
#[diagnostic::on_unimplemented(
    message = "a call of `seawall::blocking` is not awaited",
    label = "ends with `.call()`",
    note = "in async code: `seawall::retry(...).await`"
)]
pub trait Awaited: Attempts {}

/// Attempts that block their thread.
#[diagnostic::on_unimplemented(
    message = "a call of `seawall::retry` is awaited, and not made by `.call()`",
    label = "ends with `.await`",
    note = "on a thread: `seawall::blocking::retry(..).call()`"
)]
pub trait Blocked: Attempts {}

/// A closure without arguments that makes futures. See [`retry`](super::retry()).
#[derive(Clone, Copy, Debug)]
pub struct Each<F>(pub(super) F);

/// A closure that is told its attempt and makes futures. See [`retry_with`](super::retry_with).
#[derive(Clone, Copy, Debug)]
pub struct EachWith<F>(pub(super) F);

/// A closure without arguments that blocks its thread. See [`blocking::retry`](crate::blocking::retry).
#[derive(Clone, Copy, Debug)]
pub struct Blocking<F>(pub(crate) F);

/// A closure that is told its attempt and blocks its thread. See [`blocking::retry_with`](crate::blocking::retry_with).
#[derive(Clone, Copy, Debug)]
pub struct BlockingWith<F>(pub(crate) F);

impl<F, Fut, T, E> Attempts for Each<F>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Answer = T;
    type Error = E;
    type Flight = Fut;

    fn attempt(&mut self, _seen: impl FnOnce() -> Attempt) -> Fut {
        (self.0)()
    }
}

impl<F, Fut, T, E> Attempts for EachWith<F>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Answer = T;
    type Error = E;
    type Flight = Fut;

    fn attempt(&mut self, seen: impl FnOnce() -> Attempt) -> Fut {
        (self.0)(seen())
    }
}

impl<F, T, E> Attempts for Blocking<F>
where
    F: FnMut() -> Result<T, E>,
{
    type Answer = T;
    type Error = E;
    type Flight = Ready<Result<T, E>>;

    fn attempt(&mut self, _seen: impl FnOnce() -> Attempt) -> Self::Flight {
        ready((self.0)())
    }
}

impl<F, T, E> Attempts for BlockingWith<F>
where
    F: FnMut(Attempt) -> Result<T, E>,
{
    type Answer = T;
    type Error = E;
    type Flight = Ready<Result<T, E>>;

    fn attempt(&mut self, seen: impl FnOnce() -> Attempt) -> Self::Flight {
        ready((self.0)(seen()))
    }
}

impl<F> Awaited for Each<F> where Self: Attempts {}
impl<F> Awaited for EachWith<F> where Self: Attempts {}
impl<F> Blocked for Blocking<F> where Self: Attempts {}
impl<F> Blocked for BlockingWith<F> where Self: Attempts {}

mod sealed {
    pub trait Sealed {}
    impl<F> Sealed for super::Each<F> {}
    impl<F> Sealed for super::EachWith<F> {}
    impl<F> Sealed for super::Blocking<F> {}
    impl<F> Sealed for super::BlockingWith<F> {}
}
