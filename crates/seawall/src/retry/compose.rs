//! Classifiers that are values, made of others.
//!
//! What can go wrong: each call site says anew which errors are worth another attempt, and one of them says it wrong; or a
//! service's error holds another library's, whose own classifier nobody asks. So a classifier is a value like any other: a
//! function returns it, calls share it, and `or`, `when`, `hint` and `within` make one of several. They keep laws that a test
//! attacks: `or` is associative, and what says "permanent" to everything changes nothing on either side of it.

use super::classify::{Classifier, Classify, Failure};
use super::sieve::Unhinted;
use seawall_core::time::Duration;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// The first that does not say "permanent". See [`Classifier::or`].
#[derive(Clone, Copy, Debug)]
pub struct Or<A, B>(pub(super) A, pub(super) B);

/// Only some errors are classified; others are permanent. See [`Classifier::when`].
#[derive(Clone, Copy, Debug)]
pub struct Only<C, W>(pub(super) C, pub(super) W);

/// A server's word on waiting is read as well. See [`Classifier::hint`].
#[derive(Clone, Copy, Debug)]
pub struct Hinted<C, H>(pub(super) C, pub(super) Hint<H>);

/// A part of an error is classified. See [`Classifier::within`].
pub struct Within<C, P, E> {
    pub(super) part: P,
    pub(super) classifier: C,
    pub(super) of: PhantomData<fn(&E)>,
}

/// An error in a box is what it, or the first of its causes that is a `T`, says. See [`caused_by`].
pub struct CausedBy<T>(PhantomData<fn(&T)>);

impl<E, A: Classifier<E>, B: Classifier<E>> Classifier<E> for Or<A, B> {
    fn failure(&mut self, error: &E) -> Failure {
        let failure = self.0.failure(error);
        if failure.is_permanent() {
            self.1.failure(error)
        } else {
            failure
        }
    }
}

impl<E, C: Classifier<E>, W: FnMut(&E) -> bool> Classifier<E> for Only<C, W> {
    fn failure(&mut self, error: &E) -> Failure {
        if (self.1)(error) {
            self.0.failure(error)
        } else {
            Failure::permanent()
        }
    }
}

impl<E, C: Classifier<E>, H> Classifier<E> for Hinted<C, H>
where
    Hint<H>: Hints<E>,
{
    fn failure(&mut self, error: &E) -> Failure {
        let failure = self.0.failure(error);
        self.1.hinted(error, failure)
    }
}

impl<O, E, C, P> Classifier<O> for Within<C, P, E>
where
    C: Classifier<E>,
    P: FnMut(&O) -> Option<&E>,
{
    fn failure(&mut self, error: &O) -> Failure {
        match (self.part)(error) {
            Some(part) => self.classifier.failure(part),
            None => Failure::permanent(),
        }
    }
}

impl<C: fmt::Debug, P, E> fmt::Debug for Within<C, P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Within").field(&self.classifier).finish()
    }
}

/// Classifies errors in boxes (`Box<dyn Error>`, `anyhow::Error`, `Arc<dyn Error>`): the error itself where it is a `T`, or
/// else the nearest of its causes that is one. Where none is, it is permanent.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// use seawall::retry::{Classifier, caused_by};
/// use seawall::{Policy, Preset, RetryError};
/// use std::io;
///
/// type AnyError = Box<dyn std::error::Error + Send + Sync>;
/// async fn fetch() -> Result<u32, AnyError> { Ok(u32::from_str_radix("7", 10)?) }
///
/// let policy = Policy::preset(Preset::Interactive);
/// let answer = seawall::retry(fetch, &policy)
///     .classify_by(caused_by::<io::Error>())
///     .await
///     .map_err(RetryError::boxed)?;
/// # assert_eq!(answer, 7);
/// # Ok(()) }
/// ```
pub const fn caused_by<T: Classify + Error + 'static>() -> CausedBy<T> {
    CausedBy(PhantomData)
}

impl<E, T> Classifier<E> for CausedBy<T>
where
    E: Deref,
    E::Target: Chain,
    T: Classify + Error + 'static,
{
    fn failure(&mut self, error: &E) -> Failure {
        let mut link = Some(error.first());
        while let Some(error) = link {
            if let Some(found) = error.downcast_ref::<T>() {
                return found.classify();
            }
            link = error.source();
        }
        Failure::permanent()
    }
}

impl<T> Clone for CausedBy<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CausedBy<T> {}

impl<T> fmt::Debug for CausedBy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CausedBy")
    }
}

/// What boxes of errors hold.
pub trait Chain: sealed::Sealed {
    /// The error in the box.
    fn first(&self) -> &(dyn Error + 'static);
}

impl Chain for dyn Error {
    fn first(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl Chain for dyn Error + Send {
    fn first(&self) -> &(dyn Error + 'static) {
        self
    }
}

impl Chain for dyn Error + Send + Sync {
    fn first(&self) -> &(dyn Error + 'static) {
        self
    }
}

/// Says how long a server asked to wait. See [`Retry::hint`](super::Retry::hint).
pub trait Hints<E>: sealed::Sealed {
    /// `failure` with that.
    fn hinted(&mut self, error: &E, failure: Failure) -> Failure;
}

/// A closure says. See [`Retry::hint`](super::Retry::hint).
#[derive(Clone, Copy, Debug)]
pub struct Hint<H>(pub(super) H);

impl<E> Hints<E> for Unhinted {
    fn hinted(&mut self, _error: &E, failure: Failure) -> Failure {
        failure
    }
}

impl<E, D: Into<Duration>, H: FnMut(&E) -> Option<D>> Hints<E> for Hint<H> {
    fn hinted(&mut self, error: &E, failure: Failure) -> Failure {
        match (self.0)(error) {
            // The longer of two words: a server is never undercut.
            Some(wait) => failure.retry_after(failure.wait().max(wait.into())),
            None => failure,
        }
    }
}

mod sealed {
    use std::error::Error;

    pub trait Sealed {}
    impl Sealed for dyn Error {}
    impl Sealed for dyn Error + Send {}
    impl Sealed for dyn Error + Send + Sync {}
    impl Sealed for super::Unhinted {}
    impl<H> Sealed for super::Hint<H> {}
}
