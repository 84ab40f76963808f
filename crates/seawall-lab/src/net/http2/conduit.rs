//! The bytes of one HTTP/2 connection, between the library that makes frames and the socket.
//!
//! What can go wrong: the library keeps a connection orderly by design. It names no last stream but the newest in a
//! GOAWAY, sends nothing that is no frame, and says goodbye before it ends; and whoever writes beside it lands in the
//! middle of a frame. So what the library writes is followed frame by frame, other bytes are let in only where a frame has
//! ended (and a block of headers with it), and the socket can be taken away from under it.

use crate::net::socket::Socket;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a frame's header takes on the wire.
const FRAME_HEADER_BYTES: usize = 9;

/// The library's end and the mock's end of one connection; `read` was already read from the socket.
pub(super) fn over(socket: Socket, read: Vec<u8>) -> (Conduit, Valve) {
    let pipe = Arc::new(Mutex::new(Pipe {
        socket: Some(socket),
        unread: read,
        frames: Frames::default(),
        inserted: Vec::new(),
        flow: Flow::Free,
    }));
    (Conduit(Arc::clone(&pipe)), Valve(pipe))
}

/// What the library takes for the socket.
pub(super) struct Conduit(Arc<Mutex<Pipe>>);

/// What the mock does to the connection beside the library. Both ends belong to one task, so neither waits for the other.
pub(super) struct Valve(Arc<Mutex<Pipe>>);

struct Pipe {
    socket: Option<Socket>,
    unread: Vec<u8>,
    frames: Frames,
    /// What waits for a gap between two frames.
    inserted: Vec<u8>,
    flow: Flow,
}

/// Whether the socket took what was last offered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Free,
    Blocked,
}

impl Valve {
    /// Lets these bytes in at the next gap between two frames.
    pub(super) fn insert(&self, bytes: &[u8]) {
        pipe(&self.0).inserted.extend_from_slice(bytes);
    }

    /// Whether everything that was offered has reached the system. Ask after the library was polled, in its task.
    pub(super) fn poll_clear(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pipe = pipe(&self.0);
        if !pipe.frames.at_gap() {
            return Poll::Pending;
        }
        ready!(pipe.poll_insert(context))?;
        match pipe.flow {
            Flow::Free => pipe.poll_flush(context),
            Flow::Blocked => Poll::Pending,
        }
    }

    /// Takes the socket away. What the library still writes goes nowhere.
    pub(super) fn take(&self) -> Option<Socket> {
        pipe(&self.0).socket.take()
    }
}

// A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
fn pipe(shared: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipe {
    fn poll_insert(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.inserted.is_empty() {
            let Some(socket) = &mut self.socket else {
                self.inserted.clear();
                break;
            };
            let written = ready!(Pin::new(socket).poll_write(context, &self.inserted))?;
            self.inserted.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let offered = match self.inserted.is_empty() {
            true => bytes,
            false if self.frames.at_gap() => {
                ready!(self.poll_insert(context))?;
                bytes
            }
            // Up to the gap and no further.
            false => &bytes[..bytes.len().min(self.frames.to_gap())],
        };
        let Some(socket) = &mut self.socket else {
            return Poll::Ready(Ok(bytes.len()));
        };
        let written = Pin::new(socket).poll_write(context, offered);
        self.flow = match written {
            Poll::Pending => Flow::Blocked,
            Poll::Ready(_) => Flow::Free,
        };
        if let Poll::Ready(Ok(written)) = written {
            self.frames.pass(&offered[..written]);
        }
        written
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Some(socket) => Pin::new(socket).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Conduit {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = pipe(&self.0);
        if !pipe.unread.is_empty() {
            let some = pipe.unread.len().min(buffer.remaining());
            buffer.put_slice(&pipe.unread[..some]);
            pipe.unread.drain(..some);
            return Poll::Ready(Ok(()));
        }
        match &mut pipe.socket {
            Some(socket) => Pin::new(socket).poll_read(context, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Conduit {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        pipe(&self.0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        pipe(&self.0).poll_flush(context)
    }

    /// The mock ends connections itself.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        pipe(&self.0).poll_flush(context)
    }
}

/// Where frames begin and end in what is written.
#[derive(Debug, Default)]
struct Frames {
    header: [u8; FRAME_HEADER_BYTES],
    header_bytes: usize,
    payload_left: usize,
    block: Block,
}

/// Whether a block of headers is whole: between its frames no other may stand (RFC 9113, 6.10).
#[derive(Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Whole,
    Continued,
}

impl Frames {
    const HEADERS: u8 = 1;
    const PUSH_PROMISE: u8 = 5;
    const CONTINUATION: u8 = 9;
    const END_HEADERS: u8 = 4;

    /// Whether other bytes may stand here.
    fn at_gap(&self) -> bool {
        self.header_bytes == 0 && self.payload_left == 0 && self.block == Block::Whole
    }

    /// At most so many bytes until there may be a gap.
    fn to_gap(&self) -> usize {
        match self.payload_left {
            0 => FRAME_HEADER_BYTES - self.header_bytes,
            left => left,
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let some = bytes.len().min(self.to_gap());
            let (passed, rest) = bytes.split_at(some);
            bytes = rest;
            if self.payload_left > 0 {
                self.payload_left -= some;
                continue;
            }
            self.header[self.header_bytes..self.header_bytes + some].copy_from_slice(passed);
            self.header_bytes += some;
            if self.header_bytes == FRAME_HEADER_BYTES {
                self.begin();
            }
        }
    }

    fn begin(&mut self) {
        self.header_bytes = 0;
        let [high, middle, low, kind, flags, ..] = self.header;
        self.payload_left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        if [Self::HEADERS, Self::PUSH_PROMISE, Self::CONTINUATION].contains(&kind) {
            self.block = match flags & Self::END_HEADERS {
                0 => Block::Continued,
                _ => Block::Whole,
            };
        }
    }
}

#[cfg(test)]
mod tests;
