//! How a call of a closure ended without an answer.

use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::error::Error;
use std::fmt;
use std::io;

/// A call that has no answer: why it ended, and what its last attempt failed with.
///
/// `{}` is the reason; `{:#}` is the reason and the error. The error is also its [`source`](Error::source), where it is
/// an error type. Of one that is not (`String`, `anyhow::Error`), [`boxed`](Self::boxed) makes one for `?`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use seawall::{Duration, Policy};
/// use std::io::{Error, ErrorKind};
///
/// let policy = Policy::builder().retries(0).build().expect("a policy that can be");
/// let error = seawall::retry(async || Err::<(), _>(Error::from(ErrorKind::ConnectionReset)), &policy)
///     .await
///     .expect_err("there is no retry");
/// assert_eq!(error.reason.code(), "attempts-spent");
/// assert!(format!("{error:#}").ends_with("connection reset"));
/// let last: Error = error.into_last().expect("an attempt failed by itself");
/// assert_eq!(last.kind(), ErrorKind::ConnectionReset);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryError<E> {
    /// Why the call ended.
    pub reason: Reason,
    /// What the last attempt that failed by itself failed with. `None` where none did: it was cut at the deadline, or
    /// none was made because the gate would not have it.
    pub last: Option<E>,
    /// Attempts that were made.
    pub attempts: u32,
    /// How long the call waited between and before them, in all.
    pub waited: Duration,
    /// In how long it could be worth coming back, where anybody knows.
    pub retry_after: Option<Duration>,
    /// Whether this is a write that may have acted and got no definite answer (rule E2); never of a call whose
    /// [`replay`](super::Retry::replay) is idempotent or declared.
    pub unknown: bool,
}

impl<E> RetryError<E> {
    /// The last attempt's error, for those who do not care why there was no other.
    pub fn into_last(self) -> Option<E> {
        self.last
    }

    /// The same with another error in it.
    pub fn map<F>(self, map: impl FnOnce(E) -> F) -> RetryError<F> {
        RetryError {
            reason: self.reason,
            last: self.last.map(map),
            attempts: self.attempts,
            waited: self.waited,
            retry_after: self.retry_after,
            unknown: self.unknown,
        }
    }

    /// The same as an error type, where `E` is none itself but becomes one in a box: `String`, `Box<dyn Error>`,
    /// `anyhow::Error`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use seawall::{Policy, Preset, RetryError};
    ///
    /// async fn answer() -> Result<u32, Box<dyn std::error::Error>> {
    ///     let policy = Policy::preset(Preset::Interactive);
    ///     let answer = seawall::retry(async || Err("no such thing".to_owned()), &policy)
    ///         .when(|_: &String| false)
    ///         .await
    ///         .map_err(RetryError::boxed)?;
    ///     Ok(answer)
    /// }
    /// let error = answer().await.expect_err("it is refused");
    /// assert_eq!(error.source().expect("what it failed with").to_string(), "no such thing");
    /// # }
    /// ```
    pub fn boxed(self) -> RetryError<BoxedError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.map(|error| BoxedError(error.into()))
    }
}

impl<E: fmt::Display> fmt::Display for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.reason)?;
        match &self.last {
            Some(last) if f.alternate() => write!(f, ": {last:#}"),
            Some(_) | None => Ok(()),
        }
    }
}

impl<E: Error + 'static> Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.last.as_ref().map(|last| last as &(dyn Error + 'static))
    }
}

/// What an [attribute](macro@crate::retry)'s function ends with that returns an error of its own: one that is made of how its
/// call ended.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say how a call ended",
    label = "`{Self}` is not `From<RetryError<{Self}>>`",
    note = "let the function say all of it: `-> Result<.., seawall::RetryError<{Self}>>`",
    note = "or make its end one of its errors: `impl From<seawall::RetryError<{Self}>> for {Self}`"
)]
pub trait Ends: Sized {
    /// The error that says how the call ended.
    fn of_end(end: RetryError<Self>) -> Self;
}

impl<E: From<RetryError<E>>> Ends for E {
    fn of_end(end: RetryError<E>) -> E {
        end.into()
    }
}

/// For the attribute.
#[doc(hidden)]
pub fn ended_as_own<T, E: Ends>(end: Result<T, RetryError<E>>) -> Result<T, E> {
    end.map_err(E::of_end)
}

/// Of the last attempt's kind, or `TimedOut` where none failed by itself; the whole is inside.
impl From<RetryError<io::Error>> for io::Error {
    fn from(end: RetryError<Self>) -> Self {
        let kind = end.last.as_ref().map_or(io::ErrorKind::TimedOut, Self::kind);
        Self::new(kind, end)
    }
}

/// Any error in a box, as an error type. See [`RetryError::boxed`].
pub struct BoxedError(Box<dyn Error + Send + Sync>);

impl BoxedError {
    /// What is in the box.
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

impl fmt::Display for BoxedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for BoxedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for BoxedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
