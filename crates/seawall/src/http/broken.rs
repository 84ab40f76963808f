//! How an attempt broke, told apart as far as the wire allows.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use http::{HeaderMap, StatusCode};
use seawall_core::facts::{BodyState, Broke};

use super::conn::Conn;
use super::outgoing::{RequestError, ShownHeaders};

/// An attempt that did not end in a whole answer.
///
/// `Display` and `detail` name hosts, limits and counts, never a header's value, a path, a query or a body.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct Broken {
    /// Where it broke.
    pub broke: Broke,
    /// What became of the answer's body: `Truncated` where a head promised more than came.
    pub body: BodyState,
    /// A sentence for people.
    pub detail: String,
    /// The head of the answer, where one had come and [`Answer::collect`](super::Answer::collect) met the break.
    pub head: Option<Box<Head>>,
    /// Bytes of the request that had been handed to the socket (under TLS: to the TLS layer) in the last send; over
    /// HTTP/2 those of the requests beside it too. Zero proves that the server saw nothing of it.
    pub sent_bytes: u64,
    /// Bytes of the answer's body that had come.
    pub received_bytes: u64,
}

/// The status and headers of an answer.
#[derive(Clone)]
pub struct Head {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("status", &self.status)
            .field("headers", &ShownHeaders(&self.headers))
            .finish()
    }
}

impl Broken {
    /// A break before any byte of the request left.
    pub(super) fn unsent(broke: Broke, detail: String) -> Self {
        Self {
            broke,
            body: BodyState::WellFormed,
            detail,
            head: None,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// An answer that is longer than its reader takes.
    pub(crate) fn too_long(detail: String, received_bytes: u64) -> Self {
        Self {
            body: BodyState::Truncated,
            received_bytes,
            ..Self::unsent(Broke::Protocol, detail)
        }
    }

    /// A break between sending and a whole head.
    pub(super) fn headless(broke: Broke, sent_bytes: u64, detail: String) -> Self {
        Self {
            sent_bytes,
            ..Self::unsent(broke, detail)
        }
    }

    /// What hyper's error means for an exchange that has no whole head yet.
    pub(super) fn from_exchange(error: &hyper::Error, conn: &Conn) -> Self {
        let place = conn.place();
        let (broke, detail) = if error.is_user() && !conn.has_ended() {
            (
                Broke::Request,
                format!("the request cannot be sent: {}", chain(error)),
            )
        } else if error.is_parse() || is_malformed(error) {
            (
                Broke::Protocol,
                format!(
                    "{place} answered with something other than HTTP/1.1: {}",
                    chain(error)
                ),
            )
        } else if conn.sent_bytes() == 0 && conn.answer_bytes() == 0 {
            // As good as refused: somebody took the connection, and nobody the request.
            (
                Broke::Refused,
                format!("{place} closed the connection before anything was sent"),
            )
        } else if conn.reused() && conn.answer_bytes() == 0 {
            (
                Broke::ReusedClosed,
                format!("{place} closed a kept-alive connection before any byte of an answer"),
            )
        } else if conn.was_reset() {
            (
                Broke::Reset,
                format!("{place} reset the connection before a whole head"),
            )
        } else {
            (
                Broke::Closed,
                format!("{place} closed the connection before a whole head"),
            )
        };
        Self::headless(broke, conn.sent_bytes(), detail)
    }

    /// What hyper's error means inside a body.
    pub(super) fn from_body(error: &hyper::Error, conn: &Conn, received_bytes: u64) -> Self {
        let place = conn.place();
        let (broke, body, detail) = if conn.was_reset() {
            let detail = format!("{place} reset the connection after {received_bytes} bytes of the body");
            (Broke::Reset, BodyState::Truncated, detail)
        } else if is_malformed(error) {
            let detail = format!(
                "{place} broke the framing after {received_bytes} bytes of the body: {}",
                chain(error)
            );
            (Broke::Protocol, BodyState::WellFormed, detail)
        } else {
            let detail = format!("{place} closed the connection after {received_bytes} bytes of the body");
            (Broke::Closed, BodyState::Truncated, detail)
        };
        Self::inside(broke, body, conn.sent_bytes(), received_bytes, detail)
    }

    /// The connection ended under the exchange, and nothing more is known.
    pub(super) fn silent(conn: &Conn) -> Self {
        let broke = if conn.reused() && conn.answer_bytes() == 0 {
            Broke::ReusedClosed
        } else {
            Broke::Closed
        };
        Self::headless(
            broke,
            conn.sent_bytes(),
            format!("the connection to {} ended before a whole head", conn.place()),
        )
    }

    /// A break after the head.
    pub(super) fn inside(
        broke: Broke,
        body: BodyState,
        sent_bytes: u64,
        received_bytes: u64,
        detail: String,
    ) -> Self {
        Self {
            body,
            received_bytes,
            ..Self::headless(broke, sent_bytes, detail)
        }
    }
}

impl From<RequestError> for Broken {
    fn from(error: RequestError) -> Self {
        Self::unsent(Broke::Request, error.to_string())
    }
}

/// Whether bytes came that HTTP, or TLS under it, forbids.
pub(super) fn is_malformed(error: &(dyn StdError + 'static)) -> bool {
    match io_kind(error) {
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => true,
        Some(_) | None => false,
    }
}

/// The kind of the first I/O error in the chain.
fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

/// An error and its sources in one line.
pub(super) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = error.source();
    }
    text
}
