//! An answer: its head, and a body that is read while its limits hold.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::{CONNECTION, HeaderMap};
use http::response::Parts;
use hyper::body::{Body, Frame, SizeHint};
use seawall_core::facts::{self, BodyState, Broke};
use seawall_core::hint;
use seawall_core::learned::Learned;
use seawall_core::time::{Duration, Instant, Wall};

use super::broken::{Broken, Head};
use super::limits::Timer;
use super::line::{Keep, Line, Piece};
use super::outgoing::ShownHeaders;
use super::pool::Pool;
use super::transport::Shared;
use crate::clock::Clock;

/// Frames that are ready together are handed on as one chunk up to this size: a stream of two hundred small events
/// that arrives in one read then costs its reader one write, not two hundred.
const MERGED_BYTES_MAX: usize = 16 * 1024;

/// A status, headers, and a body still to be read.
pub struct Answer {
    /// The status, whatever it is.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: AnswerBody,
}

impl Answer {
    pub(super) fn new(
        head: Parts,
        line: Line,
        shared: &Shared,
        idle: Duration,
        total_by: Instant,
    ) -> Result<Self, Broken> {
        let size = line.size_hint();
        if size.lower() > shared.body_bytes_max {
            return Err(too_long(&line, 0, shared.body_bytes_max));
        }
        let keep = keep_after(head.status, &head.headers);
        let live = Live {
            size,
            line,
            keep,
            pool: Arc::downgrade(&shared.pool),
            clock: Arc::clone(&shared.clock),
            idle,
            total_by,
            waits_since: None,
            timer: Timer::default(),
            bytes_max: shared.body_bytes_max,
        };
        // Without a body nobody may ever poll, and the connection would be lost for nothing.
        let state = if live.line.has_whole_answer() {
            live.release();
            State::Ended
        } else {
            State::Live(Box::new(live))
        };
        Ok(Self {
            status: head.status,
            headers: head.headers,
            body: AnswerBody {
                state,
                trailers: None,
                received_bytes: 0,
            },
        })
    }

    /// Reads the whole body, at most `bytes_max`; a longer one is [`Broke::Protocol`]. A break carries the head.
    ///
    /// # Errors
    /// The body broke off, was silent for too long, or is longer.
    pub async fn collect(mut self, bytes_max: usize) -> Result<Whole, Broken> {
        match self.body.collect(bytes_max).await {
            Ok(body) => Ok(Whole {
                status: self.status,
                headers: self.headers,
                body,
            }),
            Err(broken) => Err(Broken {
                head: Some(Box::new(Head {
                    status: self.status,
                    headers: self.headers,
                })),
                ..broken
            }),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("status", &self.status)
            .field("headers", &ShownHeaders(&self.headers))
            .field("body", &self.body)
            .finish()
    }
}

/// An answer that came whole.
#[derive(Clone)]
pub struct Whole {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as it came.
    pub body: Bytes,
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole")
            .field("status", &self.status)
            .field("headers", &ShownHeaders(&self.headers))
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// What [`AnswerBody::hold`] read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The whole rest of the body.
    Whole(Bytes),
    /// The first part of a longer body; the rest is still to be read.
    More(Bytes),
}

/// A body as it arrives: bytes unchanged, chunks merged where they are ready together.
///
/// Dropping it before its end closes the connection, or over HTTP/2 resets its stream. Also a
/// [`hyper::body::Body`], so that a server can pass it on.
pub struct AnswerBody {
    state: State,
    trailers: Option<HeaderMap>,
    received_bytes: u64,
}

enum State {
    Live(Box<Live>),
    /// The break comes after the bytes that had arrived before it.
    Broke(Broken),
    Ended,
}

struct Live {
    size: SizeHint,
    line: Line,
    keep: Keep,
    pool: Weak<Pool>,
    clock: Arc<dyn Clock>,
    idle: Duration,
    total_by: Instant,
    waits_since: Option<Instant>,
    timer: Timer,
    bytes_max: u64,
}

impl AnswerBody {
    /// The next chunk, never empty; `None` after the last, and after a break has been told.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Broken>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// As [`AnswerBody::chunk`], for hand-written futures.
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let State::Live(live) = &mut self.state else {
            return Poll::Ready(self.ended());
        };
        let (chunk, end) = ready!(live.poll(cx, &mut self.received_bytes, &mut self.trailers));
        match end {
            End::Not => {}
            End::Whole => {
                let ended = std::mem::replace(&mut self.state, State::Ended);
                if let State::Live(live) = ended {
                    live.release();
                }
            }
            End::Broke(broken) => self.state = State::Broke(broken),
        }
        Poll::Ready(chunk.map(Ok).or_else(|| self.ended()))
    }

    /// Reads until the end or until more than `bytes_max` bytes are in hand, whichever comes first. What was read
    /// is lost if the future is dropped.
    ///
    /// # Errors
    /// The body broke off, or was silent for too long.
    pub async fn hold(&mut self, bytes_max: usize) -> Result<Hold, Broken> {
        let Some(first) = self.chunk().await.transpose()? else {
            return Ok(Hold::Whole(Bytes::new()));
        };
        let Some(second) = self.chunk_within(first.len(), bytes_max).await? else {
            return Ok(self.held(first, bytes_max));
        };
        let mut held = BytesMut::from(first);
        held.extend_from_slice(&second);
        while let Some(next) = self.chunk_within(held.len(), bytes_max).await? {
            held.extend_from_slice(&next);
        }
        Ok(self.held(held.freeze(), bytes_max))
    }

    /// Reads the whole rest, at most `bytes_max`; a longer one is [`Broke::Protocol`].
    ///
    /// # Errors
    /// The body broke off, was silent for too long, or is longer.
    pub async fn collect(&mut self, bytes_max: usize) -> Result<Bytes, Broken> {
        match self.hold(bytes_max).await? {
            Hold::Whole(bytes) => Ok(bytes),
            Hold::More(_) => Err(match &self.state {
                State::Live(live) => too_long(&live.line, self.received_bytes, bytes_max as u64),
                State::Broke(broken) => broken.clone(),
                State::Ended => Broken {
                    received_bytes: self.received_bytes,
                    ..Broken::unsent(Broke::Protocol, longer_than(bytes_max as u64))
                },
            }),
        }
    }

    /// Another total limit than that of its attempt: a call's deadline holds up to its first content, and no further.
    pub(crate) fn end_by(&mut self, total_by: Instant) {
        match &mut self.state {
            State::Live(live) => live.total_by = total_by,
            State::Broke(_) | State::Ended => {}
        }
    }

    /// Bytes of the body that have come so far.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// The trailers, once the body has ended with some.
    pub fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    async fn chunk_within(&mut self, held_bytes: usize, bytes_max: usize) -> Result<Option<Bytes>, Broken> {
        if held_bytes > bytes_max {
            return Ok(None);
        }
        self.chunk().await.transpose()
    }

    fn held(&self, bytes: Bytes, bytes_max: usize) -> Hold {
        if bytes.len() > bytes_max {
            Hold::More(bytes)
        } else {
            Hold::Whole(bytes)
        }
    }

    fn ended(&mut self) -> Option<Result<Bytes, Broken>> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Broke(broken) => Some(Err(broken)),
            State::Ended => None,
            live @ State::Live(_) => {
                self.state = live;
                None
            }
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let frame = match ready!(self.poll_chunk(cx)) {
            Some(chunk) => Some(chunk.map(Frame::data)),
            None => self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers))),
        };
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Live(_) | State::Broke(_) => false,
            State::Ended => self.trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Live(live) => match live.size.exact() {
                Some(bytes) => SizeHint::with_exact(bytes.saturating_sub(self.received_bytes)),
                None => SizeHint::new(),
            },
            State::Broke(_) => SizeHint::new(),
            State::Ended => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody")
            .field("received_bytes", &self.received_bytes)
            .finish_non_exhaustive()
    }
}

/// How far a body has come.
enum End {
    Not,
    Whole,
    Broke(Broken),
}

impl Live {
    /// Everything that is ready, up to a bound, and whether the body ends there. Bytes that came before a break or
    /// trailers are never lost to them.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        received_bytes: &mut u64,
        trailers: &mut Option<HeaderMap>,
    ) -> Poll<(Option<Bytes>, End)> {
        if self.total_by < Instant::NEVER && self.clock.now() >= self.total_by {
            return Poll::Ready((None, End::Broke(self.late(*received_bytes))));
        }
        let mut gathered = Gathered::default();
        let end = loop {
            match self.line.poll_piece(cx, *received_bytes) {
                Poll::Ready(Piece::Data(data)) => {
                    *received_bytes += data.len() as u64;
                    self.waits_since = None;
                    gathered.add(data);
                    if *received_bytes > self.bytes_max {
                        break End::Broke(too_long(&self.line, *received_bytes, self.bytes_max));
                    }
                    if gathered.len() >= MERGED_BYTES_MAX {
                        break End::Not;
                    }
                }
                Poll::Ready(Piece::Trailers(found)) => *trailers = Some(found),
                Poll::Ready(Piece::Broke(broken)) => break End::Broke(broken),
                Poll::Ready(Piece::End) => break End::Whole,
                Poll::Pending if gathered.len() > 0 => break End::Not,
                Poll::Pending => break End::Broke(ready!(self.poll_late(cx, *received_bytes))),
            }
        };
        Poll::Ready((gathered.take(), end))
    }

    /// Pending until the idle or the total limit has passed.
    fn poll_late(&mut self, cx: &mut Context<'_>, received_bytes: u64) -> Poll<Broken> {
        // Idle time begins when somebody waits: a reader that pauses is not the server's silence.
        let since = *self.waits_since.get_or_insert_with(|| self.clock.now());
        let by = since.after(self.idle).min(self.total_by);
        ready!(self.timer.poll(cx, &*self.clock, by));
        Poll::Ready(self.late(received_bytes))
    }

    fn late(&self, received_bytes: u64) -> Broken {
        self.line.was_late();
        let place = self.line.place();
        let (broke, detail) = if self.clock.now() >= self.total_by {
            let detail =
                format!("{place} had sent {received_bytes} bytes of the body when the total limit passed");
            (Broke::Timeout, detail)
        } else {
            let idle = self.idle.up_to_millis();
            let detail = format!("{place} was silent for {idle} after {received_bytes} bytes of the body");
            (Broke::Idle, detail)
        };
        Broken::inside(
            broke,
            BodyState::WellFormed,
            self.line.sent_bytes(),
            received_bytes,
            detail,
        )
    }

    /// Hands the connection back after a whole answer, or closes it.
    fn release(self) {
        self.line.release(self.keep, &self.pool, self.clock.now());
    }
}

/// Whether a connection may serve again after this answer.
fn keep_after(status: StatusCode, headers: &HeaderMap) -> Keep {
    let poisoned = [StatusCode::REQUEST_TIMEOUT, StatusCode::SWITCHING_PROTOCOLS].contains(&status);
    let closes = headers.get_all(CONNECTION).iter().any(|value| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    });
    if poisoned || closes {
        return Keep::Never;
    }
    Keep::For(keep_alive_timeout(headers))
}

/// The `timeout` of a `Keep-Alive` header, in whole seconds.
fn keep_alive_timeout(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("keep-alive")?.to_str().ok()?;
    value
        .split([',', ';'])
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))
        .and_then(|(_, seconds)| seconds.trim().trim_matches('"').parse().ok())
        .map(Duration::from_secs)
}

/// Chunks that are ready together: the first as it is, copied only if a second follows.
#[derive(Default)]
enum Gathered {
    #[default]
    None,
    One(Bytes),
    Merged(BytesMut),
}

impl Gathered {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(bytes) => bytes.len(),
            Self::Merged(bytes) => bytes.len(),
        }
    }

    fn add(&mut self, data: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(data),
            Self::One(first) => {
                let mut merged = BytesMut::with_capacity(MERGED_BYTES_MAX.max(first.len() + data.len()));
                merged.extend_from_slice(&first);
                merged.extend_from_slice(&data);
                Self::Merged(merged)
            }
            Self::Merged(mut merged) => {
                merged.extend_from_slice(&data);
                Self::Merged(merged)
            }
        };
    }

    fn take(self) -> Option<Bytes> {
        match self {
            Self::None => None,
            Self::One(bytes) => Some(bytes),
            Self::Merged(bytes) => Some(bytes.freeze()),
        }
    }
}

fn too_long(line: &Line, received_bytes: u64, bytes_max: u64) -> Broken {
    Broken::inside(
        Broke::Protocol,
        BodyState::WellFormed,
        line.sent_bytes(),
        received_bytes,
        longer_than(bytes_max),
    )
}

fn longer_than(bytes_max: u64) -> String {
    format!("the answer's body is longer than {bytes_max} bytes")
}

/// An answer's headers as the engine looks them up.
///
/// ```
/// use seawall_core::facts::Headers;
/// let mut map = http::HeaderMap::new();
/// map.insert("retry-after", http::HeaderValue::from_static("12"));
/// assert_eq!(seawall::http::HeaderFacts(&map).get("retry-after"), Some(&b"12"[..]));
/// ```
#[derive(Clone, Copy)]
pub struct HeaderFacts<'a>(pub &'a HeaderMap);

impl facts::Headers for HeaderFacts<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(|value| value.as_bytes())
    }
}

impl fmt::Debug for HeaderFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ShownHeaders(self.0).fmt(f)
    }
}

/// What an answer's head says of the limits in front of its server (rule I4), on this date.
pub(crate) fn learned(status: StatusCode, headers: &HeaderMap, wall: Wall) -> Learned {
    hint::learned(&facts::Facts {
        status: Some(status.as_u16()),
        headers: &HeaderFacts(headers),
        body: facts::BodyFacts::default(),
        broke: None,
        wall,
    })
}

#[cfg(test)]
mod tests;
