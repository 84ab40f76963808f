//! Any fallible call under the engine: not only HTTP.
//!
//! What can go wrong with a retry of one's own: it repeats what will fail for ever, undercuts the server's word, waits
//! past the time that its caller has, hides the error that mattered, and adds its attempts to everybody else's. So
//! [`retry`] makes a call of a closure and lets the engine decide on it, by the same loop as an HTTP call
//! ([`drive`](crate::drive)). Which failures are worth another attempt is never guessed: the error's type says so
//! ([`Classify`]), or the caller does ([`when`](Retry::when), [`classify`](Retry::classify)); without either it does
//! not compile.
//!
//! Under a [`Policy`] alone a call is **on its own**: it has the policy's retries, backoff, hints, limits of time and
//! deadline. It shares nothing with other calls, so it has **no budget, no breaker and no limit**, whatever the policy
//! says of them: in an outage a thousand such calls make a thousand times the retries. What shares is a
//! [`Gate`], or an [`Upstream`](crate::Upstream): give that instead of the policy.
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
mod desk;
mod error;
mod flights;
mod run;

pub use attempts::{Attempt, Attempts, Awaited, Blocking, BlockingWith, Each, EachWith};
pub use classify::{ByFailure, ByType, Classifier, Classify, Failure, When};
pub use error::{BoxedError, RetryError};
pub(crate) use run::Timers;

use crate::chance::entropy;
use crate::clock::Clock;
use crate::gate::Gate;
use crate::hub::Hub;
use flights::Flights;
use pin_project_lite::pin_project;
use run::{Hand, Stage};
use seawall_core::call::{Candidate, Spec};
use seawall_core::facts::Replay;
use seawall_core::policy::{CallPolicy, Policy};
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Recording;
use seawall_core::verdict::Endpoint;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Makes a call of `make`: it is called for each attempt, and what it makes is awaited.
///
/// `rules` is a [`&Policy`](Policy) for a call on its own, or a [`&Gate`](Gate) or [`&Upstream`](crate::Upstream) whose
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
pub fn retry_with<'a, F, Fut, T, E>(make: F, rules: impl Into<Rules<'a>>) -> Retry<'a, EachWith<F>>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    Retry::new(EachWith(make), rules.into())
}

pin_project! {
    /// A call of a closure, which begins when it is first polled: await it, or [`call`](Retry::call) it on a thread.
    ///
    /// Made by [`retry`], [`retry_with`] and their [`blocking`](crate::blocking) twins. Say all that there is to say of
    /// it before: what is said later begins it anew. It is `Send` where the closure, its futures and its answer are.
    #[must_use = "nothing is called before this is awaited or, on a thread, before `.call()`"]
    pub struct Retry<'a, M, C = ByType, N = Unheard>
    where
        M: Attempts,
    {
        // Before the stage: what is out goes first, then the loop that ordered it.
        #[pin]
        flights: Flights<M::Flight>,
        stage: Stage,
        hand: Hand<M, C, N, M::Answer, M::Error>,
        rules: Rules<'a>,
        promise: Promise,
        timers: Timers,
    }
}

/// What the caller says of its call.
#[derive(Clone, Copy, Debug)]
struct Promise {
    replay: Replay,
    deadline: Option<Duration>,
    retries_max: Option<u32>,
}

impl Promise {
    fn deadline(&self, policy: &CallPolicy) -> Duration {
        self.deadline
            .unwrap_or_else(|| policy.deadline_for(Endpoint::General))
    }

    fn spec<'s>(&self, now: Instant, route: &'s [Candidate], policy: &'s CallPolicy) -> Spec<'s> {
        Spec {
            retries_max: self.retries_max,
            deadline: now.after(self.deadline(policy)),
            ..Spec::new(now, route, policy, self.replay)
        }
    }
}

impl Promise {
    const NOTHING: Self = Self {
        replay: Replay::Declared,
        deadline: None,
        retries_max: None,
    };
}

impl<'a, M: Attempts> Retry<'a, M> {
    pub(crate) const fn new(make: M, rules: Rules<'a>) -> Self {
        let hand = Hand::new(make, ByType, Unheard);
        Self::unbegun(hand, rules, Promise::NOTHING, Timers::Runtime)
    }
}

impl<'a, M: Attempts, C, N> Retry<'a, M, C, N> {
    /// Retries errors for which `when` is true, and no others; instead of what their type says.
    pub fn when<W: FnMut(&M::Error) -> bool>(self, when: W) -> Retry<'a, M, When<W>, N> {
        let Hand { make, hook, .. } = self.hand;
        let hand = Hand::new(make, When(when), hook);
        Retry::unbegun(hand, self.rules, self.promise, self.timers)
    }

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
    ///     .classify(|error: &ApiError| match error.retry_after {
    ///         Some(wait) => Failure::status(error.status).retry_after(wait),
    ///         None => Failure::status(error.status),
    ///     })
    ///     .await?;
    /// # assert_eq!(answer, 1);
    /// # Ok(()) }
    /// ```
    pub fn classify<F: FnMut(&M::Error) -> Failure>(self, classify: F) -> Retry<'a, M, ByFailure<F>, N> {
        let Hand { make, hook, .. } = self.hand;
        let hand = Hand::new(make, ByFailure(classify), hook);
        Retry::unbegun(hand, self.rules, self.promise, self.timers)
    }

    /// Tells `hook` of each wait before it begins: for logs. It is called between attempts, outside any lock.
    pub fn notify<H: FnMut(&Notice<'_, M::Error>)>(self, hook: H) -> Retry<'a, M, C, Heard<H>> {
        let Hand { make, classifier, .. } = self.hand;
        let hand = Hand::new(make, classifier, Heard(hook));
        Retry::unbegun(hand, self.rules, self.promise, self.timers)
    }

    /// How long the call may take, instead of the policy's deadline: waits and attempts together.
    pub fn deadline(mut self, length: Duration) -> Self {
        self.promise.deadline = Some(length);
        self
    }

    /// Fewer retries than the policy's.
    pub fn retries_max(mut self, retries: u32) -> Self {
        self.promise.retries_max = Some(retries);
        self
    }

    /// What a repeat would do (rule E1). [`Replay::Declared`] unless it is said: who gives a closure to be called again
    /// says that it may be. [`Replay::Unsafe`] repeats only what provably did not act; under the preset `writes`, which
    /// does not take a declaration, so does `Declared`.
    pub fn replay(mut self, replay: Replay) -> Self {
        self.promise.replay = replay;
        self
    }

    /// The same call by other timers.
    pub(crate) fn timed(mut self, timers: Timers) -> Self {
        self.timers = timers;
        self
    }

    const fn unbegun(
        hand: Hand<M, C, N, M::Answer, M::Error>,
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

impl<M, C, N> Future for Retry<'_, M, C, N>
where
    M: Awaited,
    C: Classifier<M::Error>,
    N: Hear<M::Error>,
{
    type Output = Result<M::Answer, RetryError<M::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_call(context)
    }
}

impl<M: Attempts, C, N> fmt::Debug for Retry<'_, M, C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("rules", &self.rules)
            .field("promise", &self.promise)
            .finish_non_exhaustive()
    }
}

/// Whose rules a call goes by: a policy's alone, or those of a gate that it shares. Made of a reference to either.
#[derive(Clone, Debug)]
pub struct Rules<'a>(By<'a>);

#[derive(Clone, Debug)]
enum By<'a> {
    Alone(Alone<'a>),
    Shared {
        hub: &'a Arc<Hub>,
        candidate: Candidate,
        /// A copy: that of an upstream may be another for the next call.
        policy: CallPolicy,
    },
}

impl<'a> Rules<'a> {
    /// Those of a gate of your own engine, for drivers; a [`Gate`] or an [`Upstream`](crate::Upstream) is one already.
    pub const fn shared(hub: &'a Arc<Hub>, candidate: Candidate, policy: &CallPolicy) -> Self {
        Self(By::Shared {
            hub,
            candidate,
            policy: *policy,
        })
    }
}

impl<'a> From<&'a Policy> for Rules<'a> {
    fn from(policy: &'a Policy) -> Self {
        Alone::by(policy).into()
    }
}

impl<'a> From<Alone<'a>> for Rules<'a> {
    fn from(alone: Alone<'a>) -> Self {
        Self(By::Alone(alone))
    }
}

impl<'a> From<&'a Gate> for Rules<'a> {
    fn from(gate: &'a Gate) -> Self {
        gate.rules()
    }
}

#[cfg(feature = "http")]
impl<'a> From<&'a crate::Upstream> for Rules<'a> {
    fn from(upstream: &'a crate::Upstream) -> Self {
        upstream.rules()
    }
}

/// A policy for a call on its own, with a clock or a seed of the caller's: for tests, and for runtimes other than
/// tokio. A plain `&policy` does without.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::crank::CrankedClock;
/// use seawall::retry::Alone;
/// use seawall::{Policy, Preset};
/// use std::sync::Arc;
///
/// let policy = Policy::preset(Preset::Default);
/// let clock = CrankedClock::new();
/// let alone = Alone::by(&policy).clock(Arc::new(clock)).seed(7);
/// assert_eq!(seawall::retry(async || std::io::Result::Ok(1), alone).await?, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Alone<'a> {
    policy: &'a CallPolicy,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
    /// For tests of the engine that the call makes for itself: nobody else can see it.
    recording: Recording,
}

impl<'a> Alone<'a> {
    /// A call by the call policy of `policy`; its gate policy has nothing to rule.
    pub const fn by(policy: &'a Policy) -> Self {
        Self {
            policy: &policy.call,
            clock: None,
            seed: None,
            recording: Recording::Off,
        }
    }

    /// The clock to live by; the runtime's, or on a thread the host's, unless it is given.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from: the same seed draws the same delays. From the operating system unless it is given.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn seed_or_entropy(&self) -> u64 {
        self.seed.unwrap_or_else(entropy)
    }
}

/// What [`notify`](Retry::notify) tells: the call is about to wait.
#[derive(Debug)]
#[non_exhaustive]
pub struct Notice<'n, E> {
    /// How many attempts were made so far.
    pub attempts: u32,
    /// What the last one failed with; `None` before the first, and where none failed by itself but was cut.
    pub error: Option<&'n E>,
    /// Why the call waits.
    pub reason: Reason,
    /// For how long, if nothing wakes it before.
    pub wait: Duration,
}

/// Who is told of waits.
pub trait Hear<E> {
    /// The call is about to wait.
    fn hear(&mut self, notice: &Notice<'_, E>);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug)]
pub struct Unheard;

impl<E> Hear<E> for Unheard {
    fn hear(&mut self, _notice: &Notice<'_, E>) {}
}

/// A closure is told. See [`Retry::notify`].
#[derive(Clone, Copy, Debug)]
pub struct Heard<H>(H);

impl<E, H: FnMut(&Notice<'_, E>)> Hear<E> for Heard<H> {
    fn hear(&mut self, notice: &Notice<'_, E>) {
        (self.0)(notice);
    }
}

#[cfg(test)]
mod tests;
