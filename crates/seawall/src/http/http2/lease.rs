//! One attempt's part of a shared connection.

use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::RecvStream;
use http::{HeaderMap, Request, header};
use hyper::body::SizeHint;
use seawall_core::facts::{BodyState, Broke};
use seawall_core::time::{Duration, Instant};

use super::super::broken::Broken;
use super::super::line::{Met, Piece};
use super::super::outgoing::Place;
use super::super::pool::Pool;
use super::{Link, errors};
use crate::clock::Clock;

/// The most that is given to the connection in one piece: the protocol's bound on a window, which h2 takes for a bound
/// on a piece, leaves room above it.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// How long a connection must have been silent for an attempt that leaves it to take it out of use: 1 s. Below that
/// a hedge that lost, or a caller who changed their mind, would cost every other call a handshake.
const SUSPECT_AFTER: Duration = Duration::from_secs(1);

/// A place among a connection's streams, given back when dropped. Dropped before the answer's end, it resets its
/// stream.
pub(in crate::http) struct Lease {
    // Dropped before the connection may close, so that a reset can still leave.
    answer: Option<RecvStream>,
    size: SizeHint,
    state: State,
    link: Arc<Link>,
    serial: u64,
    origin: Origin,
    pool: Weak<Pool>,
    clock: Arc<dyn Clock>,
    sent_before: u64,
    answered_before: u64,
    asked_at: Instant,
}

/// Whom a lease's connection was opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Origin {
    /// This attempt.
    Fresh,
    /// Another attempt.
    Shared,
}

/// How far an exchange has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unsent,
    Waiting,
    Whole,
}

impl Lease {
    pub(in crate::http) fn new(
        link: Arc<Link>,
        serial: u64,
        origin: Origin,
        pool: Weak<Pool>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            answer: None,
            size: SizeHint::default(),
            state: State::Unsent,
            asked_at: clock.now(),
            sent_before: link.meter.written_bytes(),
            answered_before: link.meter.read_bytes(),
            link,
            serial,
            origin,
            pool,
            clock,
        }
    }

    /// Sends one request and waits for the head of its answer.
    pub(in crate::http) async fn exchange(&mut self, request: Request<()>, body: Bytes) -> Met {
        self.sent_before = self.link.meter.written_bytes();
        self.answered_before = self.link.meter.read_bytes();
        self.asked_at = self.clock.now();
        let mut sender = self.link.sender.clone();
        let (answer, mut upload) = match sender.send_request(request, body.is_empty()) {
            Ok(streams) => streams,
            Err(error) => return errors::not_taken(&error, self),
        };
        self.state = State::Waiting;
        // The whole body at once: it is in memory already, and leaves as the server's windows allow. An upload that the
        // server ends early is told by the answer.
        let mut rest = body;
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_BYTES_MAX));
            if upload.send_data(piece, rest.is_empty()).is_err() {
                break;
            }
        }
        drop(upload);
        match answer.await {
            Ok(response) => {
                let (head, answer) = response.into_parts();
                if head.headers.len() > self.link.headers_max {
                    return Met::Broke(self.too_many_headers(0));
                }
                self.size = size(&head.headers, &answer);
                self.answer = Some(answer);
                Met::Head(head)
            }
            Err(error) => errors::before_head(&error, self),
        }
    }

    /// The next piece of the answer's body.
    pub(in crate::http) fn poll_piece(&mut self, cx: &mut Context<'_>, received_bytes: u64) -> Poll<Piece> {
        let Some(answer) = &mut self.answer else {
            return Poll::Ready(Piece::End);
        };
        // The last frame is often empty, and a reader is promised bytes. Other empty frames never come this far: h2
        // bounds their number, and they are no sign of the answer's life.
        let data = loop {
            match ready!(answer.poll_data(cx)) {
                Some(Ok(data)) if data.is_empty() => {}
                Some(Ok(data)) => break Some(Ok(data)),
                Some(Err(error)) => break Some(Err(error)),
                None => break None,
            }
        };
        let met = match data {
            Some(Ok(data)) => {
                // Handed on is read: the reader holds it from here, and asks for the next piece when it has room. An
                // error would say that the stream is gone, which the next poll tells.
                let _ = answer.flow_control().release_capacity(data.len());
                return Poll::Ready(Piece::Data(data));
            }
            Some(Err(error)) => Err(error),
            None => ready!(answer.poll_trailers(cx)),
        };
        Poll::Ready(match met {
            Ok(Some(trailers)) if trailers.len() > self.link.headers_max => {
                Piece::Broke(self.too_many_headers(received_bytes))
            }
            Ok(Some(trailers)) => Piece::Trailers(trailers),
            Ok(None) => {
                self.state = State::Whole;
                Piece::End
            }
            Err(error) => Piece::Broke(errors::inside(&error, self, received_bytes)),
        })
    }

    /// Whether the answer has no body, or none any more.
    pub(in crate::http) fn has_whole_answer(&self) -> bool {
        self.answer.as_ref().is_none_or(RecvStream::is_end_stream)
    }

    pub(in crate::http) fn size_hint(&self) -> SizeHint {
        self.size
    }

    pub(in crate::http) fn reused(&self) -> bool {
        match self.origin {
            Origin::Fresh => false,
            Origin::Shared => true,
        }
    }

    /// Bytes that left over the connection since the request was sent. Zero proves that nothing of it did.
    pub(in crate::http) fn sent_bytes(&self) -> u64 {
        self.link.meter.written_bytes() - self.sent_before
    }

    pub(in crate::http) fn place(&self) -> &Arc<Place> {
        self.link.place()
    }

    /// Counts connections in the order in which they were opened.
    pub(in crate::http) fn serial(&self) -> u64 {
        self.serial
    }

    /// Lets no new stream begin on the connection.
    pub(in crate::http) fn retire(&self) {
        self.link.retire();
    }

    /// A limit passed while this stream was waited for. A connection that was silent may be dead: whoever comes next
    /// gets another, and who is on it may go on.
    pub(in crate::http) fn was_late(&self) {
        let heard_at = self.link.heard_at.at();
        let silent_for = self.clock.now().since(heard_at);
        if heard_at <= self.asked_at || silent_for >= SUSPECT_AFTER {
            self.retire();
        }
    }

    /// Bytes that came over the connection since the request was sent.
    pub(super) fn answer_bytes(&self) -> u64 {
        self.link.meter.read_bytes() - self.answered_before
    }

    pub(super) fn was_reset(&self) -> bool {
        self.link.meter.was_reset()
    }

    pub(super) fn link_is_usable(&self) -> bool {
        self.link.is_usable()
    }

    pub(super) fn promised_more_than(&self, received_bytes: u64) -> bool {
        self.size.lower() > received_bytes
    }

    fn too_many_headers(&self, received_bytes: u64) -> Broken {
        let detail = format!(
            "{} sent more than {} headers",
            self.place(),
            self.link.headers_max
        );
        Broken::inside(
            Broke::Protocol,
            BodyState::WellFormed,
            self.sent_bytes(),
            received_bytes,
            detail,
        )
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let now = self.clock.now();
        let in_vain = match (self.state, &self.answer) {
            (State::Waiting, Some(answer)) => !answer.is_end_stream(),
            (State::Waiting, None) => true,
            (State::Unsent | State::Whole, _) => false,
        };
        let silent_since = self.asked_at.max(self.link.heard_at.at());
        if in_vain && now.since(silent_since) >= SUSPECT_AFTER {
            self.retire();
        }
        if let Some(pool) = self.pool.upgrade() {
            pool.leave(self.place(), self.serial, now);
        }
    }
}

/// How long a body is, as its head says. h2 holds it to that.
fn size(headers: &HeaderMap, answer: &RecvStream) -> SizeHint {
    if answer.is_end_stream() {
        return SizeHint::with_exact(0);
    }
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok())
        .map_or_else(SizeHint::new, SizeHint::with_exact)
}
