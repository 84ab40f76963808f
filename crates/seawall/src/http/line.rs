//! What one request goes over: a connection of its own in HTTP/1.1, a stream of a shared one in HTTP/2.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http::response::Parts;
use hyper::body::SizeHint;
use seawall_core::time::{Duration, Instant};

use super::broken::Broken;
use super::conn::Conn;
use super::http2::Lease;
use super::outgoing::{Outgoing, Place, Target};
use super::pool::Pool;

/// Where a request goes out and its answer comes in. Dropped, it takes both back: a connection is closed, a stream
/// is reset and its siblings go on.
pub(super) enum Line {
    One(Box<Conn>),
    Two(Box<Lease>),
}

/// How one send over a line ended.
pub(super) enum Met {
    /// The head came.
    Head(Parts),
    /// Not one byte of the request left: sending it elsewhere is a first send.
    NeverSent(Broken),
    /// It may have left, and the server says that it did not look at it: it was closing the connection (HTTP/2's
    /// GOAWAY without an error).
    TurnedAway(Broken),
    /// The line broke when some of the request may have left.
    Broke(Broken),
}

/// What came of a body.
pub(super) enum Piece {
    Data(Bytes),
    Trailers(HeaderMap),
    End,
    Broke(Broken),
}

impl Line {
    /// Sends one request and waits for the head of its answer.
    pub(super) async fn exchange(&mut self, out: &Outgoing, target: &Target) -> Met {
        match self {
            Self::One(conn) => conn.exchange(out.request(target)).await,
            Self::Two(lease) => match out.request_http2(target) {
                Ok(request) => lease.exchange(request, out.body.clone()).await,
                Err(error) => Met::Broke(Broken::from(error)),
            },
        }
    }

    /// The next piece of the answer's body.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>, received_bytes: u64) -> Poll<Piece> {
        match self {
            Self::One(conn) => conn.poll_piece(cx, received_bytes),
            Self::Two(lease) => lease.poll_piece(cx, received_bytes),
        }
    }

    /// Whether the answer has no body, or none any more.
    pub(super) fn has_whole_answer(&self) -> bool {
        match self {
            Self::One(conn) => conn.has_whole_answer(),
            Self::Two(lease) => lease.has_whole_answer(),
        }
    }

    /// How long the answer's body is, as far as its head says.
    pub(super) fn size_hint(&self) -> SizeHint {
        match self {
            Self::One(conn) => conn.size_hint(),
            Self::Two(lease) => lease.size_hint(),
        }
    }

    /// Whether the request was not the first on its connection.
    pub(super) fn reused(&self) -> bool {
        match self {
            Self::One(conn) => conn.reused(),
            Self::Two(lease) => lease.reused(),
        }
    }

    /// Bytes that left since the request was sent; on a shared connection those of its siblings too.
    pub(super) fn sent_bytes(&self) -> u64 {
        match self {
            Self::One(conn) => conn.sent_bytes(),
            Self::Two(lease) => lease.sent_bytes(),
        }
    }

    pub(super) fn place(&self) -> &Arc<Place> {
        match self {
            Self::One(conn) => conn.place(),
            Self::Two(lease) => lease.place(),
        }
    }

    /// Where a second send has to look for its line, to be sure not to meet the same fault again.
    pub(super) fn elsewhere(&self) -> Source {
        match self {
            Self::One(_) => Source::New,
            Self::Two(lease) => Source::OpenedAfter(lease.serial()),
        }
    }

    /// Says that a limit passed while this line was waited for.
    pub(super) fn was_late(&self) {
        match self {
            // Its end closes the connection anyway.
            Self::One(_) => {}
            Self::Two(lease) => lease.was_late(),
        }
    }

    /// Hands the line back after a whole answer, or closes it.
    pub(super) fn release(self, keep: Keep, pool: &Weak<Pool>, now: Instant) {
        match (self, keep) {
            (Self::One(mut conn), Keep::For(server_keeps_for)) => {
                if let Some(pool) = pool.upgrade()
                    && conn.settles()
                {
                    pool.keep(*conn, server_keeps_for, now);
                }
            }
            (Self::Two(lease), Keep::Never) => lease.retire(),
            (Self::One(_), Keep::Never) | (Self::Two(_), Keep::For(_)) => {}
        }
    }
}

/// Whether a connection may serve again after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// It may, for as long as the server said, if it said.
    For(Option<Duration>),
    Never,
}

/// Where a line may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A kept or a shared connection, or else a new one.
    KeptOrNew,
    /// A shared connection that was opened after the one of this serial number, or else a new one.
    OpenedAfter(u64),
    /// A new one.
    New,
}
