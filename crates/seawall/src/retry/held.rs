//! An answer that goes on: a stream, a session, a connection.
//!
//! What can go wrong: the call of `connect()` ends when the stream begins, and its place at the gate goes back; a limit of
//! eight then lets in eight *beginnings* at a time, and any number of streams. So an answer may keep its place until
//! it is dropped: the call is committed (its health is judged, and it is never sent again), and the gate counts it as one
//! that is out (rule I1).

use super::desk::Desk;
use super::notice::{Hear, Unheard};
use super::run::{Driver, Ending, Timers};
use super::sieve::{Sieve, Sifts};
use super::values::{Kept, Values};
use super::{Attempts, Awaited, Retry, RetryError};
use pin_project_lite::pin_project;
use seawall_core::outcome::{Outcome, Report};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};

pin_project! {
    /// A call whose answer keeps its place at the gate. Made by [`Retry::hold`]; awaited like it.
    #[must_use = "nothing is called before this is awaited or, on a thread, before `.call()`"]
    pub struct Hold<'a, M, C = Sieve, N = Unheard, V = Kept>
    where
        M: Attempts,
    {
        #[pin]
        call: Retry<'a, M, C, N, V>,
    }
}

impl<'a, M: Attempts, C, N, V> Hold<'a, M, C, N, V> {
    pub(super) const fn of(call: Retry<'a, M, C, N, V>) -> Self {
        Self { call }
    }

    /// The same call by other timers.
    pub(crate) fn timed(self, timers: Timers) -> Self {
        Self::of(self.call.timed(timers))
    }

    pub(crate) fn poll_call(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Ending<Held<M::Answer>, V::Error>
    where
        C: Sifts<M::Error>,
        N: Hear<M::Error>,
        V: Values<M::Answer, M::Error>,
    {
        let end = ready!(self.project().call.poll_held(context));
        Poll::Ready(end.map(|(value, slot)| Held { value, slot }))
    }
}

impl<M, C, N, V> Future for Hold<'_, M, C, N, V>
where
    M: Awaited,
    C: Sifts<M::Error>,
    N: Hear<M::Error>,
    V: Values<M::Answer, M::Error>,
{
    type Output = Result<Held<M::Answer>, RetryError<V::Error>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_call(context)
    }
}

impl<M: Attempts, C, N, V> fmt::Debug for Hold<'_, M, C, N, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hold").field(&self.call).finish()
    }
}

/// What a call brought, with its place at the gate: it goes back when this is dropped.
///
/// It is used as what it holds. Of a call under a policy alone it is nothing more: there is no gate whose place it could
/// keep.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Gate, Policy};
/// # async fn connect() -> std::io::Result<Vec<&'static str>> { Ok(vec!["one", "two"]) }
///
/// let gate = Gate::new(&Policy::builder().concurrency(Some(8)).build()?);
/// let mut stream = seawall::retry(connect, &gate).hold().await?;
/// assert_eq!(gate.attempts_out(), 1);
/// while let Some(event) = stream.pop() {
///     # let _ = event;
///     // From the first event on, nothing is sent again.
/// }
/// drop(stream);
/// assert_eq!(gate.attempts_out(), 0);
/// # Ok(()) }
/// ```
pub struct Held<T> {
    value: T,
    slot: Option<Slot>,
}

impl<T> Held<T> {
    /// What is held; its place goes back now.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Held<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.slot {
            Some(_) => "kept",
            None => "none",
        };
        f.debug_struct("Held")
            .field("value", &self.value)
            .field("place", &place)
            .finish()
    }
}

/// The place of an attempt whose answer goes on, with the loop that holds it.
pub(super) struct Slot {
    // In a lock so that what is held may be shared; it is never taken.
    driver: Mutex<Driver>,
    desk: Desk,
    place: usize,
}

impl Slot {
    pub(super) fn of(driver: Driver, desk: Desk, place: usize) -> Self {
        Self {
            driver: Mutex::new(driver),
            desk,
            place,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.desk.land(self.place, Report::of(Outcome::Answer));
        let driver = self.driver.get_mut();
        let driver = driver.unwrap_or_else(PoisonError::into_inner).as_mut();
        // A committed call is over when its attempt is: the loop tells the engine, and waits for nothing.
        let ended = driver.poll(&mut Context::from_waker(Waker::noop()));
        debug_assert!(ended.is_ready(), "a committed call ends with its attempt");
    }
}
