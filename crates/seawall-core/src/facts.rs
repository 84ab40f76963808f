//! What adapters extract from the wire, and what callers promise about a call.
//!
//! The core parses strings, never JSON: an adapter finds the provider's code, type and message in a body and hands
//! them over as strings.

use crate::time::Wall;

/// What the caller promises about sending one call more than once (rule E1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// The method itself is idempotent: GET HEAD OPTIONS TRACE PUT DELETE.
    Idempotent,
    /// The call carries an idempotency key that the upstream honours.
    Keyed,
    /// A repeat costs money but changes nothing.
    Declared,
    /// A repeat may act twice.
    Unsafe,
}

impl Replay {
    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idempotent => "idempotent",
            Self::Keyed => "keyed",
            Self::Declared => "declared",
            Self::Unsafe => "unsafe",
        }
    }

    /// The promise of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Idempotent, Self::Keyed, Self::Declared, Self::Unsafe]
            .into_iter()
            .find(|r| r.name() == name)
    }
}

/// A response's headers, as the adapter holds them.
pub trait Headers {
    /// The first value of the header of this lower-case name, as bytes: a value need not be text.
    fn get(&self, name: &str) -> Option<&[u8]>;
}

/// No headers at all.
#[derive(Clone, Copy, Debug)]
pub struct NoHeaders;

impl Headers for NoHeaders {
    fn get(&self, _name: &str) -> Option<&[u8]> {
        None
    }
}

/// Headers in a slice of lower-case names and values, for tests and small callers.
impl Headers for [(&str, &[u8])] {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

impl<H: Headers + ?Sized> Headers for &H {
    fn get(&self, name: &str) -> Option<&[u8]> {
        (**self).get(name)
    }
}

/// What became of an attempt's answer body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyState {
    /// Whole and decodable, or nobody looked: a body that can't be read decides nothing.
    #[default]
    WellFormed,
    /// Empty where one was due.
    Empty,
    /// Shorter than the answer said it would be.
    Truncated,
    /// Whole, and not what its content type says.
    Undecodable,
    /// An error inside a 200: a provider's error object, or an error as a stream's first event.
    ErrorInside,
}

/// What an adapter found in an answer's body.
#[derive(Clone, Copy, Debug, Default)]
pub struct BodyFacts<'a> {
    /// What became of it.
    pub state: BodyState,
    /// The provider's error code (`error.code`, Google's `error.status`).
    pub code: Option<&'a str>,
    /// The provider's error type (`error.type`).
    pub kind: Option<&'a str>,
    /// The provider's message, or the first part of a body that is text.
    pub message: Option<&'a str>,
    /// Google's `RetryInfo.retryDelay` (`"34.07s"`), as it stands.
    pub retry_delay: Option<&'a str>,
    /// Discord's `retry_after` in seconds (`64.57`), as it stands.
    pub retry_after: Option<&'a str>,
    /// Google's quota ids, or a limit of 0, that say the quota is spent for the day.
    pub quota_spent: bool,
}

/// Where an attempt broke, when it was not the server's status that said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broke {
    /// The name did not resolve.
    Dns,
    /// Nobody listens at the address.
    Refused,
    /// No connection within the limit.
    ConnectTimeout,
    /// The connection ended inside the TLS handshake.
    Tls,
    /// The certificate is not valid for the name: the caller's to mend (rule D4).
    BadCertificate,
    /// A URL, header or body that cannot be sent: the caller's to mend (rule D4).
    Request,
    /// The connection was reset after the request may have left.
    Reset,
    /// The connection was closed before a complete answer.
    Closed,
    /// A pooled connection was closed before any byte of an answer.
    ReusedClosed,
    /// No first byte, or no whole answer, within the limit.
    Timeout,
    /// Silence inside an answer for longer than the limit.
    Idle,
    /// The answer broke HTTP itself: a bad chunk, a bad header, too much of either.
    Protocol,
    /// HTTP/2 REFUSED_STREAM: the server did not act.
    RefusedStream,
    /// HTTP/2 GOAWAY below our stream: the server did not act.
    GoAway,
}

/// Everything known about how an attempt ended.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The status that was answered, whole or not.
    pub status: Option<u16>,
    /// The answer's headers.
    pub headers: &'a dyn Headers,
    /// The answer's body.
    pub body: BodyFacts<'a>,
    /// Where the attempt broke.
    pub broke: Option<Broke>,
    /// The host's date, for headers that hold dates (rule A2).
    pub wall: Wall,
}
