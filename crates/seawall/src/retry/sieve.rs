//! What one call says of its errors: what they are, which of them are worth another attempt, and what a server said.
//!
//! What can go wrong: three closures that say something of the same error, and an order of theirs that decides which is
//! heard. So each has a place of its own, is said once, and what they say together is one sentence: *an error is what
//! `classify` says, or else its type; only those for which `when` is true are worth another attempt; and it waits at least as
//! long as `hint` says*. With `when` and no `classify` the type is not asked: a type that says nothing needs not to.

use super::classify::{ByType, Classifier, Classify, Failure};
use super::compose::Hints;

/// What one call says of its errors. Made by [`Retry`](super::Retry)'s `when`, `classify` and `hint`, in any order.
#[derive(Clone, Copy, Debug)]
pub struct Sieve<B = ByType, W = Every, H = Unhinted> {
    pub(super) base: B,
    pub(super) when: W,
    pub(super) hint: H,
}

/// This call's own classifier, instead of the errors' type.
#[derive(Clone, Copy, Debug)]
pub struct By<K>(pub(super) K);

/// Every error is as it is classified.
#[derive(Clone, Copy, Debug)]
pub struct Every;

/// Only errors for which it is true are worth another attempt. See [`Retry::when`](super::Retry::when).
#[derive(Clone, Copy, Debug)]
pub struct If<W>(pub(super) W);

/// Nothing but the classifier says how long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Unhinted;

impl Sieve {
    pub(super) const UNSAID: Self = Self {
        base: ByType,
        when: Every,
        hint: Unhinted,
    };
}

/// Says what an error of a call is: a [`Sieve`] does whose parts do. A trait of its own, beside [`Classifier`], so that the
/// compiler names the one part that is missing.
pub trait Sifts<E>: sealed::Sealed {
    /// What `error` is to the engine.
    fn failure(&mut self, error: &E) -> Failure;
}

impl<E: Classify, H: Hints<E>> Sifts<E> for Sieve<ByType, Every, H> {
    fn failure(&mut self, error: &E) -> Failure {
        self.hint.hinted(error, error.classify())
    }
}

impl<E, W: FnMut(&E) -> bool, H: Hints<E>> Sifts<E> for Sieve<ByType, If<W>, H> {
    fn failure(&mut self, error: &E) -> Failure {
        if (self.when.0)(error) {
            self.hint.hinted(error, Failure::transient())
        } else {
            Failure::permanent()
        }
    }
}

impl<E, K: Classifier<E>, H: Hints<E>> Sifts<E> for Sieve<By<K>, Every, H> {
    fn failure(&mut self, error: &E) -> Failure {
        let failure = self.base.0.failure(error);
        self.hint.hinted(error, failure)
    }
}

impl<E, K: Classifier<E>, W: FnMut(&E) -> bool, H: Hints<E>> Sifts<E> for Sieve<By<K>, If<W>, H> {
    fn failure(&mut self, error: &E) -> Failure {
        if (self.when.0)(error) {
            let failure = self.base.0.failure(error);
            self.hint.hinted(error, failure)
        } else {
            Failure::permanent()
        }
    }
}

mod sealed {
    pub trait Sealed {}
    impl<B, W, H> Sealed for super::Sieve<B, W, H> {}
}
