//! One HTTP/2 connection, shared by many attempts.
//!
//! What can go wrong: a request goes out to something that speaks no HTTP/2 and is then "maybe done"; streams beyond
//! the server's limit are refused; a reader that pauses starves its siblings of the connection's window; an attempt
//! that is dropped kills its siblings, or leaves its stream open; a connection that died without a word is offered
//! again and again; a peer that takes nothing holds the socket of a connection that nobody uses. So
//!
//! - a connection counts as open once the server's SETTINGS have come: until then nothing of a request leaves, and
//!   the server's limit of streams is known before the first;
//! - each stream has a window of its own and the connection's is as wide as the protocol allows, so memory is bounded
//!   by streams and no stream waits for another's reader;
//! - dropping an attempt resets its stream and nothing else;
//! - a connection that was silent while an attempt waited in vain takes no new streams;
//! - a connection has one task, the only one here: a shared socket has no single holder to drive it. The task ends
//!   when its last holder leaves, however little the peer takes.
//!
//! Liveness is not probed by PING: some servers take pings for an attack, and an attempt has limits of its own.
//! Reference: RFC 9113.

mod errors;
mod lease;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use seawall_core::facts::Broke;
use seawall_core::time::Instant;
use tokio::sync::Notify;

use super::broken::Broken;
use super::outgoing::Place;
use super::socket::{Meter, Socket};
use crate::clock::Clock;

pub(super) use lease::{Lease, Origin};

/// How far one answer may run ahead of its reader: 1 MiB, 10 MB/s at a round trip of 100 ms. This much may be held
/// in memory for each attempt whose reader pauses.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// How far all answers of a connection may: as far as the protocol allows (RFC 9113 6.9.1). A lower bound would let
/// readers that pause starve the others.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;
/// What small unread DATA frames may cost beside their bytes, over all streams: 32 MiB, a hundred paused readers of
/// small events. More than that is an attack on memory, and ends the connection.
const SMALL_FRAMES_BYTES_MAX: usize = 32 << 20;
/// Streams that we reset and still know, so that what the server had sent before it heard of it is let pass: 1 024,
/// a batch that is cancelled at once.
const RESET_STREAMS_MAX: usize = 1_024;
/// How often a connection is driven, at most, to send its last frames before it is closed.
const CLOSING_TURNS: u32 = 4;

/// How HTTP/2 connections are opened.
pub(super) struct Settings {
    builder: Builder,
    headers_max: usize,
}

impl Settings {
    pub(super) fn new(head_bytes_max: usize, headers_max: usize) -> Self {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            // None until the server has said how many: that is how its SETTINGS are noticed.
            .initial_max_send_streams(0)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .data_frame_budget(SMALL_FRAMES_BYTES_MAX)
            .max_concurrent_reset_streams(RESET_STREAMS_MAX)
            .max_header_list_size(u32::try_from(head_bytes_max).unwrap_or(u32::MAX));
        Self { builder, headers_max }
    }
}

/// An open connection. It closes when the last that holds it is gone.
pub(super) struct Link {
    // Dropped before the task is told, which then finds that no stream can come.
    sender: SendRequest<Bytes>,
    _left: Left,
    meter: Arc<Meter>,
    place: Arc<Place>,
    headers_max: usize,
    retired: AtomicBool,
    heard_at: Arc<HeardAt>,
}

impl Link {
    /// Sets up HTTP/2 on an open socket: sends the preface and waits for the server's SETTINGS. Needs a tokio runtime.
    pub(super) async fn open(
        socket: Socket,
        place: Arc<Place>,
        settings: &Settings,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, Broken> {
        let meter = socket.meter();
        let failed = |error: &h2::Error| errors::unopened_by(error, &place);
        let (sender, mut connection) = settings
            .builder
            .handshake(socket)
            .await
            .map_err(|error| failed(&error))?;
        poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Err(errors::closed_unopened(&place))),
            Poll::Ready(Err(error)) => Poll::Ready(Err(failed(&error))),
            Poll::Pending if connection.max_concurrent_send_streams() > 0 => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        })
        .await?;
        let left = Arc::new(Notify::new());
        let heard_at = Arc::new(HeardAt::new(clock, &meter));
        tokio::spawn(driven(connection, Arc::clone(&heard_at), Arc::clone(&left)));
        Ok(Self {
            sender,
            _left: Left(left),
            meter,
            place,
            headers_max: settings.headers_max,
            retired: AtomicBool::new(false),
            heard_at,
        })
    }

    /// Whether new streams may begin: it is open, the server has not said goodbye, and nobody has given it up.
    pub(super) fn is_usable(&self) -> bool {
        let mut sender = self.sender.clone();
        !self.retired.load(Ordering::Relaxed)
            && match sender.poll_ready(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(ready) => ready.is_ok(),
                Poll::Pending => true,
            }
    }

    /// How many streams the server takes at once.
    pub(super) fn streams_max(&self) -> usize {
        self.sender.current_max_send_streams()
    }

    /// Lets no new stream begin; those that are open go on.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn place(&self) -> &Arc<Place> {
        &self.place
    }
}

/// Tells a connection's task that its last holder is gone.
struct Left(Arc<Notify>);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// When a connection's last byte came.
struct HeardAt {
    clock: Arc<dyn Clock>,
    meter: Arc<Meter>,
    read_bytes: AtomicU64,
    nanos: AtomicU64,
}

impl HeardAt {
    fn new(clock: &Arc<dyn Clock>, meter: &Arc<Meter>) -> Self {
        Self {
            read_bytes: AtomicU64::new(meter.read_bytes()),
            nanos: AtomicU64::new(clock.now().as_nanos()),
            clock: Arc::clone(clock),
            meter: Arc::clone(meter),
        }
    }

    /// Looks whether bytes came since the last look.
    fn looks(&self) {
        let read_bytes = self.meter.read_bytes();
        if self.read_bytes.swap(read_bytes, Ordering::Relaxed) != read_bytes {
            self.nanos.store(self.clock.now().as_nanos(), Ordering::Relaxed);
        }
    }

    fn at(&self) -> Instant {
        Instant::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// Moves a connection's bytes until it ends or nobody holds it any more.
async fn driven(mut connection: Connection<Socket, Bytes>, heard_at: Arc<HeardAt>, left: Arc<Notify>) {
    {
        let mut left = pin!(left.notified());
        let ended = poll_fn(|cx| {
            let driven = Pin::new(&mut connection).poll(cx);
            heard_at.looks();
            match driven {
                // What broke is told to each stream; an idle connection's end is no one's.
                Poll::Ready(Ok(()) | Err(_)) => Poll::Ready(Ended::Itself),
                Poll::Pending => left.as_mut().poll(cx).map(|()| Ended::Left),
            }
        })
        .await;
        match ended {
            Ended::Itself => return,
            Ended::Left => {}
        }
    }
    // Resets and a goodbye go out if the socket takes them. A peer that takes nothing must not keep us.
    let mut turns = 0;
    poll_fn(|cx| {
        turns += 1;
        match Pin::new(&mut connection).poll(cx) {
            Poll::Pending if turns < CLOSING_TURNS => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending | Poll::Ready(_) => Poll::Ready(()),
        }
    })
    .await;
}

enum Ended {
    Itself,
    Left,
}

/// A connection that came up without HTTP/2 on it, or none that came up: nothing of a request has left.
fn unopened(place: &Place, why: &str) -> Broken {
    let detail = format!("{place} took the connection, and then {why}");
    Broken::unsent(Broke::Refused, detail)
}
