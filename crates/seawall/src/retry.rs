//! Any fallible call under the engine: not only HTTP.
//!
//! What can go wrong with a retry of one's own: it repeats what will fail for ever, undercuts the server's word, waits
//! past the time that its caller has, hides the error that mattered, and adds its attempts to everybody else's. So
//! [`retry`] makes a call of a closure and lets the engine decide on it, by the same loop as an HTTP call
//! ([`drive`](crate::drive)). Which failures are worth another attempt is never guessed: the error's type says so
//! ([`Classify`]), or the caller does ([`when`](Retry::when), [`classify`](Retry::classify)); without either it does
//! not compile.
//!
//! Under a [`Policy`](seawall_core::policy::Policy) alone a call is **on its own**: it has the policy's retries, backoff, hints, limits of time and
//! deadline. It shares nothing with other calls, so it has **no budget, no breaker and no limit**, whatever the policy
//! says of them: in an outage a thousand such calls make a thousand times the retries. What shares is a
//! [`Gate`](crate::Gate), or an [`Upstream`](crate::Upstream): give that instead of the policy.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::{Policy, Preset};
//! # async fn fetch() -> std::io::Result<u32> { Ok(7) }
//!
//! let policy = Policy::preset(Preset::Interactive);
//! let answer = seawall::retry(|| fetch(), &policy).await?;
//! # assert_eq!(answer, 7);
//! # Ok(()) }
//! ```
//!
//! A closure that is given to `retry` **may be called again after an attempt that may have acted**: whoever gives it
//! says that a repeat changes nothing ([`Replay::Declared`]). Where that is not so, say [`replay`](Retry::replay).
//!
//! Threads without a runtime have [`blocking::retry`](crate::blocking::retry).

mod attempts;
mod classify;
mod compose;
pub(crate) mod desk;
mod error;
pub(crate) mod flights;
mod held;
mod key;
mod notice;
mod promise;
mod rules;
mod run;
mod sieve;
mod values;

pub use attempts::{Attempt, Attempts, Awaited, Blocked, Blocking, BlockingWith, Each, EachWith};
pub use classify::{ByType, Classifier, Classify, Failure};
pub use compose::{CausedBy, Chain, Hint, Hinted, Hints, Only, Or, Within, caused_by};
#[doc(hidden)]
pub use error::ended_as_own;
pub use error::{BoxedError, Ends, RetryError};
pub use held::{Held, Hold};
pub use key::Key;
pub use notice::{Hear, Heard, Notice, Unheard};
pub use rules::{Alone, Rules};
pub(crate) use run::Timers;
pub use sieve::{By, Every, If, Sieve, Sifts, Unhinted};
pub use values::{Classified, Kept, Rejected, Unmet, Values};

use flights::Flights;
use pin_project_lite::pin_project;
use promise::Promise;
use run::{Hand, Stage};
use seawall_core::facts::Replay;
use seawall_core::time::Duration;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Makes a call of `make`: it is called for each attempt, and what it makes is awaited.
///
/// `rules` is a [`&Policy`](seawall_core::policy::Policy) for a call on its own, or a [`&Gate`](crate::Gate) or [`&Upstream`](crate::Upstream) whose
/// budget, breaker, limits and cool-down it shares. Nothing happens before the call is awaited; dropping it at any
/// point drops the attempt that is out and gives back what it held.
///
/// Each attempt is cut at the call's deadline, and at the policy's `total` where one is written. No other limit of an
/// attempt is known here: nobody sees a first byte in a closure.
///
/// # Errors
/// Awaited, it is a [`RetryError`]: why the call ended, and the last error of an attempt.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Duration, Policy};
/// # #[derive(Debug)] struct Busy;
/// # impl std::fmt::Display for Busy { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") } }
/// # impl std::error::Error for Busy {}
/// # async fn lookup(_: &str) -> Result<&'static str, Busy> { Ok("found") }
///
/// let policy = Policy::builder().retries(3).backoff_base(Duration::from_millis(50)).build()?;
/// let found = seawall::retry(|| lookup("name"), &policy).when(|error: &Busy| matches!(error, Busy)).await?;
/// # assert_eq!(found, "found");
/// # Ok(()) }
/// ```
#[inline]
pub fn retry<'a, F, Fut, T, E>(make: F, rules: impl Into<Rules<'a>>) -> Retry<'a, Each<F>>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retry::new(Each(make), rules.into())
}

/// As [`retry`], for a closure that wants to know of its [`Attempt`]: which one it is, and how much time is left.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Attempt, Policy, Preset, retry_with};
/// # async fn fetch(patience: seawall::Duration) -> std::io::Result<u32> { Ok(u32::try_from(patience.as_secs()).unwrap_or(0)) }
///
/// let policy = Policy::preset(Preset::Interactive);
/// let answer = retry_with(|attempt: Attempt| fetch(attempt.left()), &policy).await?;
/// assert_eq!(answer, 30);
/// # Ok(()) }
/// ```
#[inline]
pub fn retry_with<'a, F, Fut, T, E>(make: F, rules: impl Into<Rules<'a>>) -> Retry<'a, EachWith<F>>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retry::new(EachWith(make), rules.into())
}

/// Functions and closures that make futures, as calls: `fetch.retry(&policy)` is [`retry(fetch, &policy)`](retry()).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Policy, Preset, Retryable as _};
/// # async fn fetch() -> std::io::Result<u32> { Ok(7) }
///
/// let policy = Policy::preset(Preset::Interactive);
/// let answer = fetch.retry(&policy).await?;
/// # assert_eq!(answer, 7);
/// # Ok(()) }
/// ```
pub trait Retryable: Sized {
    /// Makes a call of it. See [`retry`](retry()).
    fn retry<'a>(self, rules: impl Into<Rules<'a>>) -> Retry<'a, Each<Self>>
    where
        Each<Self>: Attempts;
}

impl<F, Fut, T, E> Retryable for F
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    fn retry<'a>(self, rules: impl Into<Rules<'a>>) -> Retry<'a, Each<Self>> {
        retry(self, rules)
    }
}

pin_project! {
    /// A call of a closure, which begins when it is first polled: await it, or [`call`](Retry::call) it on a thread.
    ///
    /// Made by [`retry`](retry()), [`retry_with`] and their [`blocking`](crate::blocking) twins. What is said of it is said
    /// in any order and means the same; what would contradict what was said before does not compile. It is `Send` where
    /// the closure, its futures and its answer are.
    ///
    /// | say | of |
    /// |---|---|
    /// | [`when`](Self::when), [`classify`](Self::classify), [`classify_by`](Self::classify_by), [`hint`](Self::hint) | errors |
    /// | [`reject`](Self::reject), [`classify_ok`](Self::classify_ok) | answers |
    /// | [`deadline`](Self::deadline), [`total`](Self::total), [`retries_max`](Self::retries_max) | limits |
    /// | [`replay`](Self::replay), [`key`](Self::key) | repeats |
    /// | [`notify`](Self::notify) | who hears |
    /// | [`hold`](Self::hold) | an answer that goes on |
    #[must_use = "nothing is called before this is awaited or, on a thread, before `.call()`"]
    pub struct Retry<'a, M, C = Sieve, N = Unheard, V = Kept>
    where
        M: Attempts,
    {
        // Before the stage: what is out goes first, then the loop that ordered it.
        #[pin]
        flights: Flights<M::Flight>,
        stage: Stage<'a>,
        hand: Hand<M, C, N, V, M::Answer, M::Error>,
        rules: Rules<'a>,
        promise: Promise,
        timers: Timers,
    }
}

impl<'a, M: Attempts> Retry<'a, M> {
    #[inline]
    pub(crate) const fn new(make: M, rules: Rules<'a>) -> Self {
        let hand = Hand::new(make, Sieve::UNSAID, Unheard, Kept, None);
        Self::unbegun(hand, rules, Promise::NOTHING, Timers::Host)
    }
}

impl<'a, M: Attempts, B, H, N, V> Retry<'a, M, Sieve<B, Every, H>, N, V> {
    /// Retries errors for which `when` is true, and no others. What such an error is beyond that, [`classify`](Self::classify)
    /// says where it is said; its type is not asked.
    #[inline]
    pub fn when<W: FnMut(&M::Error) -> bool>(self, when: W) -> Retry<'a, M, Sieve<B, If<W>, H>, N, V> {
        self.sieved(|Sieve { base, hint, .. }| Sieve {
            base,
            when: If(when),
            hint,
        })
    }
}

impl<'a, M: Attempts, W, H, N, V> Retry<'a, M, Sieve<ByType, W, H>, N, V> {
    /// Says what each error is: a status, a break, a server's word on waiting; instead of what its type says.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::{Failure, Policy, Preset};
    /// # #[derive(Debug)] struct ApiError { status: u16, retry_after: Option<seawall::Duration> }
    /// # impl std::fmt::Display for ApiError { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { self.status.fmt(f) } }
    /// # impl std::error::Error for ApiError {}
    /// # async fn fetch() -> Result<u32, ApiError> { Ok(1) }
    ///
    /// let policy = Policy::preset(Preset::Default);
    /// let answer = seawall::retry(|| fetch(), &policy)
    ///     .classify(|error: &ApiError| Failure::status(error.status))
    ///     .hint(|error| error.retry_after)
    ///     .await?;
    /// # assert_eq!(answer, 1);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn classify<F: FnMut(&M::Error) -> Failure>(
        self,
        classify: F,
    ) -> Retry<'a, M, Sieve<By<F>, W, H>, N, V> {
        self.classify_by(classify)
    }

    /// Says what each error is by a [`Classifier`]: one that calls share, or that is made of others.
    #[inline]
    pub fn classify_by<K: Classifier<M::Error>>(
        self,
        classifier: K,
    ) -> Retry<'a, M, Sieve<By<K>, W, H>, N, V> {
        self.sieved(|Sieve { when, hint, .. }| Sieve {
            base: By(classifier),
            when,
            hint,
        })
    }
}

impl<'a, M: Attempts, B, W, N, V> Retry<'a, M, Sieve<B, W, Unhinted>, N, V> {
    /// Waits at least as long as `hint` says that the server asked; longer where the classifier says so too. What is longer
    /// than the policy takes ends the call: a server is never undercut.
    #[inline]
    pub fn hint<D: Into<Duration>, F: FnMut(&M::Error) -> Option<D>>(
        self,
        hint: F,
    ) -> Retry<'a, M, Sieve<B, W, Hint<F>>, N, V> {
        self.sieved(|Sieve { base, when, .. }| Sieve {
            base,
            when,
            hint: Hint(hint),
        })
    }
}

impl<'a, M: Attempts, C, V> Retry<'a, M, C, Unheard, V> {
    /// Tells `hook` of each wait before it begins: for logs. It is called between attempts, outside any lock.
    #[inline]
    pub fn notify<H: FnMut(&Notice<'_, M::Error>)>(self, hook: H) -> Retry<'a, M, C, Heard<H>, V> {
        self.again(|hand| {
            let Hand {
                make,
                classifier,
                values,
                key,
                ..
            } = hand;
            Hand::new(make, classifier, Heard(hook), values, key)
        })
    }
}

impl<'a, M: Attempts, C, N> Retry<'a, M, C, N> {
    /// Takes an answer for a failure where `reject` is true: it is worth another attempt. The call's error holds
    /// [`Unmet`], which is the last answer that was rejected or the last error.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::{Policy, Preset};
    /// # async fn list() -> std::io::Result<Vec<u32>> { Ok(vec![1]) }
    ///
    /// let policy = Policy::preset(Preset::Interactive);
    /// let rows = seawall::retry(list, &policy).reject(|rows| rows.is_empty()).await?;
    /// # assert_eq!(rows, [1]);
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn reject<R: FnMut(&M::Answer) -> bool>(self, reject: R) -> Retry<'a, M, C, N, Rejected<R>> {
        self.valued(Rejected(reject))
    }

    /// As [`reject`](Self::reject), saying what an answer is that is none: throttled, a status inside, permanent.
    pub fn classify_ok<R: FnMut(&M::Answer) -> Option<Failure>>(
        self,
        classify: R,
    ) -> Retry<'a, M, C, N, Classified<R>> {
        self.valued(Classified(classify))
    }

    #[inline]
    fn valued<V2>(self, values: V2) -> Retry<'a, M, C, N, V2> {
        self.again(|hand| {
            let Hand {
                make,
                classifier,
                hook,
                key,
                ..
            } = hand;
            Hand::new(make, classifier, hook, values, key)
        })
    }
}

impl<'a, M: Attempts, C, N, V> Retry<'a, M, C, N, V> {
    /// How long the call may take, instead of the policy's deadline: waits and attempts together.
    pub fn deadline(mut self, length: Duration) -> Self {
        self.promise.deadline = Some(length);
        self
    }

    /// A shorter limit of each attempt than the policy's `total`: one that takes longer is cut, and is worth another.
    pub fn total(mut self, length: Duration) -> Self {
        self.promise.total = Some(length);
        self
    }

    /// Fewer retries than the policy's.
    pub fn retries_max(mut self, retries: u32) -> Self {
        self.promise.retries_max = Some(retries);
        self
    }

    /// What a repeat would do (rule E1). [`Replay::Declared`] unless it is said: who gives a closure to be called again
    /// says that it may be. [`Replay::Unsafe`] repeats only what provably did not act; under the preset `writes`, which
    /// does not take a declaration, so does `Declared`. [`Replay::Keyed`] says that the server honours the key that each
    /// attempt carries.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::seawall_core::facts::Replay;
    /// use seawall::{Attempt, Policy, Preset, retry_with};
    /// # async fn pay(cents: u32, key: String) -> std::io::Result<String> { Ok(format!("{cents} by {key}")) }
    ///
    /// let policy = Policy::preset(Preset::Writes);
    /// let receipt = retry_with(|attempt: Attempt| pay(499, attempt.key().to_string()), &policy)
    ///     .replay(Replay::Keyed)
    ///     .key("order-7")
    ///     .await?;
    /// assert_eq!(receipt, "499 by order-7");
    /// # Ok(()) }
    /// ```
    pub fn replay(mut self, replay: Replay) -> Self {
        self.promise.replay = replay;
        self
    }

    /// The caller's own idempotency key, instead of one that is made for the call. The closure finds it in
    /// [`Attempt::key`]; that the server honours it is said by [`replay`](Self::replay).
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.hand.key = Some(key.into().into());
        self
    }

    /// Keeps the call's place at its gate for as long as the answer lives: for a stream, a session, a connection. The
    /// answer comes as [`Held`].
    pub fn hold(self) -> Hold<'a, M, C, N, V> {
        Hold::of(self)
    }

    /// The same call by other timers.
    pub(crate) fn timed(mut self, timers: Timers) -> Self {
        self.timers = timers;
        self
    }

    #[inline]
    fn sieved<C2>(self, sieve: impl FnOnce(C) -> C2) -> Retry<'a, M, C2, N, V> {
        self.again(|hand| {
            let Hand {
                make,
                classifier,
                hook,
                values,
                key,
                ..
            } = hand;
            Hand::new(make, sieve(classifier), hook, values, key)
        })
    }

    /// The same call by another hand.
    #[inline]
    fn again<C2, N2, V2>(
        self,
        change: impl FnOnce(Hand<M, C, N, V, M::Answer, M::Error>) -> Hand<M, C2, N2, V2, M::Answer, M::Error>,
    ) -> Retry<'a, M, C2, N2, V2> {
        Retry::unbegun(change(self.hand), self.rules, self.promise, self.timers)
    }

    #[inline]
    const fn unbegun(
        hand: Hand<M, C, N, V, M::Answer, M::Error>,
        rules: Rules<'a>,
        promise: Promise,
        timers: Timers,
    ) -> Self {
        Self {
            flights: Flights::none(),
            stage: Stage::Unbegun,
            hand,
            rules,
            promise,
            timers,
        }
    }
}

impl<M, C, N, V> Future for Retry<'_, M, C, N, V>
where
    M: Awaited,
    C: Sifts<M::Error>,
    N: Hear<M::Error>,
    V: Values<M::Answer, M::Error>,
{
    type Output = Result<M::Answer, RetryError<V::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_call(context)
    }
}

impl<M: Attempts, C, N, V> fmt::Debug for Retry<'_, M, C, N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("rules", &self.rules)
            .field("promise", &self.promise)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
