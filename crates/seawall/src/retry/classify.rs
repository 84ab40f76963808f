//! What an error says of another attempt.
//!
//! What can go wrong: a default. "Retry every error" repeats what is wrong in itself until the deadline; "retry none"
//! makes a retry of nothing; and a table of its own calls a 503 something else than the engine does. So there is no
//! default: a type says what its errors are, or the caller does; what they say are facts (a status, a break, a
//! server's word on waiting), and the engine's one table makes of them what it makes of any answer
//! ([`seawall_core::classify`]).
//!
//! What this does not cover: what providers write into bodies. That is an [`Upstream`](crate::Upstream)'s.

use super::compose::{Hint, Hinted, Only, Or, Within};
use seawall_core::classify::classify;
use seawall_core::facts::{BodyFacts, BodyState, Broke, Facts, Headers, NoHeaders};
use seawall_core::outcome::{Outcome, Refusal, Report};
use seawall_core::profile::Provider;
use seawall_core::time::{Duration, Wall};
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

/// An error type that says which of its errors are worth another attempt.
///
/// Implement it for the errors of your own calls; for a type that is not yours, or for one call, say
/// [`when`](super::Retry::when) or [`classify`](super::Retry::classify) instead.
///
/// ```
/// use seawall::{Classify, Duration, Failure};
///
/// enum ApiError {
///     Status { status: u16, retry_after: Option<std::time::Duration> },
///     Io(std::io::Error),
///     BadInput(String),
/// }
///
/// impl Classify for ApiError {
///     fn classify(&self) -> Failure {
///         match self {
///             Self::Status { status, retry_after: Some(wait) } => {
///                 Failure::status(*status).retry_after(Duration::from(*wait))
///             }
///             Self::Status { status, retry_after: None } => Failure::status(*status),
///             Self::Io(error) => error.classify(),
///             Self::BadInput(_) => Failure::permanent(),
///         }
///     }
/// }
/// ```
///
/// A call whose errors nobody classifies does not compile:
///
/// ```compile_fail,E0277
/// # async fn example(policy: seawall::Policy) {
/// struct Mine;
/// let _ = seawall::retry(async || Err::<(), _>(Mine), &policy).await;
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "nothing says which errors of type `{Self}` are worth another attempt",
    label = "`{Self}` is not `Classify`, and this call has no `.when(..)` and no `.classify(..)`",
    note = "for this call: `retry(..).when(|error| error.is_transient())`, or `.classify(|error| Failure::status(error.status()))`",
    note = "for every call: `impl seawall::Classify for {Self}`"
)]
pub trait Classify {
    /// What this error is to the engine.
    fn classify(&self) -> Failure;
}

/// What an attempt met that failed, as far as its error tells: facts for the engine's table, never its decision.
///
/// ```
/// use seawall::{Duration, Failure};
/// use seawall::seawall_core::facts::Broke;
///
/// let throttled = Failure::status(429).retry_after(Duration::from_secs(12));
/// let unreachable = Failure::broke(Broke::Refused);
/// assert_ne!(throttled, unreachable);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    met: Met,
    retry_after: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    Permanent,
    Status(u16),
    Broke(Broke),
}

impl Failure {
    /// It may go another time: as a connection that was cut. It may have acted.
    pub const fn transient() -> Self {
        Self::broke(Broke::Closed)
    }

    /// The same call will fail again: it is not repeated.
    pub const fn permanent() -> Self {
        Self::met(Met::Permanent)
    }

    /// The server asked for fewer calls: as a 429.
    pub const fn throttled() -> Self {
        Self::status(429)
    }

    /// The server answered with this status. One of success (below 400) is an answer with an error inside.
    pub const fn status(status: u16) -> Self {
        Self::met(Met::Status(status))
    }

    /// The attempt broke here. It says also whether the attempt may have acted.
    pub const fn broke(broke: Broke) -> Self {
        Self::met(Met::Broke(broke))
    }

    /// The server said to come back in this time, rounded up to the millisecond; zero says nothing. The same call is
    /// never repeated earlier.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = wait;
        self
    }

    /// Whether this is [`permanent`](Self::permanent). Of a status the engine's table says what it is.
    pub const fn is_permanent(&self) -> bool {
        matches!(self.met, Met::Permanent)
    }

    /// What the server said to wait; zero where it said nothing.
    pub(super) const fn wait(&self) -> Duration {
        self.retry_after
    }

    const fn met(met: Met) -> Self {
        Self {
            met,
            retry_after: Duration::ZERO,
        }
    }

    /// What the engine's table makes of it.
    pub(crate) fn report(self) -> Report {
        let (status, broke) = match self.met {
            Met::Permanent => return Report::of(Outcome::Refused(Refusal::Caller)),
            Met::Status(status) => (Some(status), None),
            Met::Broke(broke) => (None, Some(broke)),
        };
        let wait = Word::of(self.retry_after);
        let facts = Facts {
            status,
            headers: if self.retry_after.is_zero() {
                &NoHeaders
            } else {
                &wait
            },
            body: BodyFacts {
                state: BodyState::ErrorInside,
                ..BodyFacts::default()
            },
            broke,
            // Only dates are measured against it, and there is none.
            wall: Wall::from_unix_ms(0),
        };
        classify(Provider::Generic.profile(), &[], &facts).report
    }
}

/// A server's word on waiting, as the header that the table reads it from.
struct Word(String);

impl Word {
    fn of(wait: Duration) -> Self {
        Self(wait.as_millis_up().to_string())
    }
}

impl Headers for Word {
    fn get(&self, name: &str) -> Option<&[u8]> {
        (name == "retry-after-ms").then_some(self.0.as_bytes())
    }
}

/// Says what an error of a call is. Closures do, the errors' own type does ([`ByType`]), and classifiers that are made of
/// others; [`Retry::classify_by`](super::Retry::classify_by) takes any of them.
///
/// ```
/// use seawall::retry::{ByType, Classifier};
/// use seawall::{Duration, Failure};
/// use std::io;
///
/// enum ApiError {
///     Io(io::Error),
///     Status { code: u16, wait: Option<Duration> },
/// }
///
/// /// Which errors of the API are worth another attempt, for all its calls.
/// fn transient() -> impl Classifier<ApiError> {
///     let sockets = ByType.within(|error: &ApiError| match error {
///         ApiError::Io(error) => Some(error),
///         ApiError::Status { .. } => None,
///     });
///     let statuses = |error: &ApiError| match error {
///         ApiError::Status { code, .. } => Failure::status(*code),
///         ApiError::Io(_) => Failure::permanent(),
///     };
///     sockets.or(statuses).hint(|error| match error {
///         ApiError::Status { wait, .. } => *wait,
///         ApiError::Io(_) => None,
///     })
/// }
///
/// let cut = ApiError::Io(io::Error::from(io::ErrorKind::ConnectionReset));
/// let busy = ApiError::Status { code: 503, wait: Some(Duration::from_secs(2)) };
/// assert!(!transient().failure(&cut).is_permanent());
/// assert_eq!(transient().failure(&busy), Failure::status(503).retry_after(Duration::from_secs(2)));
/// ```
pub trait Classifier<E> {
    /// What `error` is to the engine.
    fn failure(&mut self, error: &E) -> Failure;

    /// This classifier's word, and `other`'s on errors that this one calls permanent.
    fn or<B: Classifier<E>>(self, other: B) -> Or<Self, B>
    where
        Self: Sized,
    {
        Or(self, other)
    }

    /// This classifier's word on errors for which `when` is true; all others are permanent.
    fn when<W: FnMut(&E) -> bool>(self, when: W) -> Only<Self, W>
    where
        Self: Sized,
    {
        Only(self, when)
    }

    /// This classifier's word, and to wait at least as long as `hint` says.
    fn hint<D: Into<Duration>, H: FnMut(&E) -> Option<D>>(self, hint: H) -> Hinted<Self, H>
    where
        Self: Sized,
    {
        Hinted(self, Hint(hint))
    }

    /// This classifier's word on the `part` of a larger error; one without it is permanent.
    fn within<O, P: FnMut(&O) -> Option<&E>>(self, part: P) -> Within<Self, P, E>
    where
        Self: Sized,
    {
        Within {
            part,
            classifier: self,
            of: PhantomData,
        }
    }
}

/// The error's own type says.
#[derive(Clone, Copy, Debug)]
pub struct ByType;

impl<E: Classify> Classifier<E> for ByType {
    fn failure(&mut self, error: &E) -> Failure {
        error.classify()
    }
}

impl<E, F: FnMut(&E) -> Failure> Classifier<E> for F {
    fn failure(&mut self, error: &E) -> Failure {
        self(error)
    }
}

/// What the operating system says of sockets and names; files and arguments that are wrong stay wrong.
impl Classify for io::Error {
    fn classify(&self) -> Failure {
        use io::ErrorKind as Kind;
        match self.kind() {
            Kind::ConnectionRefused => Failure::broke(Broke::Refused),
            Kind::ConnectionReset | Kind::BrokenPipe => Failure::broke(Broke::Reset),
            Kind::TimedOut | Kind::WouldBlock => Failure::broke(Broke::Timeout),
            Kind::ConnectionAborted
            | Kind::NotConnected
            | Kind::UnexpectedEof
            | Kind::WriteZero
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown => Failure::broke(Broke::Closed),
            Kind::Interrupted | Kind::ResourceBusy | Kind::Deadlock => Failure::transient(),
            _ if is_lookup(self) => Failure::broke(Broke::Dns),
            _ => Failure::permanent(),
        }
    }
}

/// Whether a name did not resolve: the standard library has no kind for that, only these words.
fn is_lookup(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
        && error
            .to_string()
            .starts_with("failed to lookup address information")
}

/// A limit of the caller's own passed.
#[cfg(feature = "tokio")]
impl Classify for tokio::time::error::Elapsed {
    fn classify(&self) -> Failure {
        Failure::broke(Broke::Timeout)
    }
}

/// For closures that say it themselves.
impl Classify for Failure {
    fn classify(&self) -> Failure {
        *self
    }
}

impl Classify for Infallible {
    fn classify(&self) -> Failure {
        match *self {}
    }
}

impl<E: Classify + ?Sized> Classify for &E {
    fn classify(&self) -> Failure {
        (**self).classify()
    }
}

impl<E: Classify + ?Sized> Classify for Box<E> {
    fn classify(&self) -> Failure {
        (**self).classify()
    }
}

impl<E: Classify + ?Sized> Classify for Arc<E> {
    fn classify(&self) -> Failure {
        (**self).classify()
    }
}

#[cfg(feature = "http")]
impl Classify for http::StatusCode {
    fn classify(&self) -> Failure {
        Failure::status(self.as_u16())
    }
}

/// One attempt over the transport. An [`Upstream`](crate::Upstream)'s `CallError` is not `Classify`, on purpose: that call
/// was repeated already, and repeats of repeats multiply.
#[cfg(feature = "http")]
impl Classify for crate::http::Broken {
    fn classify(&self) -> Failure {
        Failure::broke(self.broke)
    }
}
