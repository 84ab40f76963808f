//! A call of a closure on the thread that wants its answer.

use super::{StdClock, block_on};
use crate::retry::{
    Attempt, Attempts, Blocked, Blocking, BlockingWith, Hear, Held, Hold, Retry, RetryError, Rules, Sifts,
    Timers, Values,
};
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Waker};

/// Makes a call of `make` on this thread: as [`seawall::retry`](crate::retry()), and ended by [`call`](Retry::call).
///
/// `rules` is a [`&Policy`](crate::Policy) for a call on its own, which shares nothing and so has no budget, no breaker
/// and no limit; or a [`&Gate`](crate::Gate) that threads and tasks share. Needs no runtime. An attempt is not cut, and
/// never hedged: its thread is busy with it.
///
/// ```
/// use seawall::{Policy, Preset, blocking};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = "/dev/null";
///
/// let policy = Policy::preset(Preset::Interactive);
/// let text = blocking::retry(|| std::fs::read_to_string(path), &policy).call()?;
/// # assert_eq!(text, "");
/// # Ok(()) }
/// ```
#[inline]
pub fn retry<'a, F, T, E>(make: F, rules: impl Into<Rules<'a>>) -> Retry<'a, Blocking<F>>
where
    F: FnMut() -> Result<T, E>,
{
    Retry::new(Blocking(make), rules.into())
}

/// As [`retry`], for a closure that wants to know of its [`Attempt`]: which one it is, and how much time is left.
///
/// ```
/// use seawall::{Attempt, Policy, Preset, blocking};
/// use std::net::TcpStream;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
/// # let address = listener.local_addr()?;
///
/// let policy = Policy::preset(Preset::Interactive);
/// let connect = |attempt: Attempt| TcpStream::connect_timeout(&address, attempt.left().into());
/// let socket = blocking::retry_with(connect, &policy).call()?;
/// # drop(socket);
/// # Ok(()) }
/// ```
#[inline]
pub fn retry_with<'a, F, T, E>(make: F, rules: impl Into<Rules<'a>>) -> Retry<'a, BlockingWith<F>>
where
    F: FnMut(Attempt) -> Result<T, E>,
{
    Retry::new(BlockingWith(make), rules.into())
}

/// Functions and closures that block, as calls: `read.retry(&policy)` is [`retry(read, &policy)`](retry()).
///
/// ```
/// use seawall::blocking::Retryable as _;
/// use seawall::{Policy, Preset};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
///
/// let policy = Policy::preset(Preset::Interactive);
/// let text = (|| std::fs::read_to_string("/dev/null")).retry(&policy).call()?;
/// # assert_eq!(text, "");
/// # Ok(()) }
/// ```
pub trait Retryable: Sized {
    /// Makes a call of it. See [`retry`](retry()).
    fn retry<'a>(self, rules: impl Into<Rules<'a>>) -> Retry<'a, Blocking<Self>>
    where
        Blocking<Self>: Attempts;
}

impl<F, T, E> Retryable for F
where
    F: FnMut() -> Result<T, E>,
{
    fn retry<'a>(self, rules: impl Into<Rules<'a>>) -> Retry<'a, Blocking<Self>> {
        retry(self, rules)
    }
}

impl<M, C, N, V> Retry<'_, M, C, N, V>
where
    M: Blocked,
{
    /// Makes the call and waits for its end on this thread.
    ///
    /// # Errors
    /// Why the call ended, and the last error of an attempt.
    pub fn call(self) -> Result<M::Answer, RetryError<V::Error>>
    where
        C: Sifts<M::Error>,
        N: Hear<M::Error>,
        V: Values<M::Answer, M::Error>,
    {
        let clock = StdClock::new();
        let mut call = pin!(self.timed(Timers::Thread(clock)));
        let nobody = &mut Context::from_waker(Waker::noop());
        match call.as_mut().poll_ahead(nobody) {
            Some(answer) => Ok(answer),
            None => block_on(&clock, poll_fn(|context| call.as_mut().poll_call(context))),
        }
    }
}

impl<M, C, N, V> Hold<'_, M, C, N, V>
where
    M: Blocked,
    C: Sifts<M::Error>,
    N: Hear<M::Error>,
    V: Values<M::Answer, M::Error>,
{
    /// Makes the call and waits for its end on this thread.
    ///
    /// # Errors
    /// Why the call ended, and the last error of an attempt.
    pub fn call(self) -> Result<Held<M::Answer>, RetryError<V::Error>> {
        let clock = StdClock::new();
        let mut call = pin!(self.timed(Timers::Thread(clock)));
        block_on(&clock, poll_fn(|context| call.as_mut().poll_call(context)))
    }
}
