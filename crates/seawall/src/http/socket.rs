//! A socket, plain or encrypted, that counts what passes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::crank::WireEnd;

/// What has passed through a socket. Shared with hyper, which owns the socket and keeps such things to itself.
#[derive(Default)]
pub(super) struct Meter {
    read: AtomicU64,
    written: AtomicU64,
    reset: AtomicBool,
}

impl Meter {
    /// Bytes that came so far.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Bytes that left so far.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether the peer was found to be gone without a word.
    pub(super) fn was_reset(&self) -> bool {
        self.reset.load(Ordering::Relaxed)
    }

    /// Counts what was written. Once the peer takes no more, the rest is thrown away without an error: an answer may
    /// be on its way (a 413 before the end of the upload), and hyper would drop it for the write's sake. The read
    /// side tells the end.
    fn written(&self, met: Poll<io::Result<usize>>, offered: usize) -> Poll<io::Result<usize>> {
        match met {
            Poll::Ready(Ok(bytes)) => {
                self.written.fetch_add(bytes as u64, Ordering::Relaxed);
                met
            }
            Poll::Ready(Err(error)) if self.notes_reset(&error) => Poll::Ready(Ok(offered)),
            Poll::Ready(Err(_)) | Poll::Pending => met,
        }
    }

    fn flushed(&self, met: Poll<io::Result<()>>) -> Poll<io::Result<()>> {
        match met {
            Poll::Ready(Err(error)) if self.notes_reset(&error) => Poll::Ready(Ok(())),
            Poll::Ready(Ok(()) | Err(_)) | Poll::Pending => met,
        }
    }

    fn came(&self, met: &Poll<io::Result<()>>, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Poll::Ready(Err(error)) = met {
            self.notes_reset(error);
        }
    }

    /// Whether the error says that the peer is gone; kept, because hyper's own error may not say it.
    fn notes_reset(&self, error: &io::Error) -> bool {
        let gone = [
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::BrokenPipe,
        ]
        .contains(&error.kind());
        if gone {
            self.reset.store(true, Ordering::Relaxed);
        }
        gone
    }
}

/// A stream that counts.
pub(super) struct Socket {
    stream: Stream,
    meter: Arc<Meter>,
    // Dropped after the stream: it says that this end is gone.
    end: Option<WireEnd>,
}

impl Socket {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            meter: Arc::default(),
            end: None,
        }
    }

    /// Counts for whoever cranks a clock, too.
    pub(super) fn told_to(mut self, end: Option<WireEnd>) -> Self {
        self.end = end;
        self
    }

    fn tell_written(&self, met: &Poll<io::Result<usize>>) {
        if let (Some(end), Poll::Ready(Ok(bytes))) = (&self.end, met) {
            end.wrote(*bytes as u64);
        }
    }

    /// What has passed, for whoever no longer owns the socket.
    pub(super) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }
}

/// A plain or an encrypted stream.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let met = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        let came = buf.filled().len() - before;
        self.meter.came(&met, came);
        if let Some(end) = &self.end {
            end.read(came as u64);
        }
        met
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let met = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.tell_written(&met);
        self.meter.written(met, buf.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let met = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.tell_written(&met);
        self.meter.written(met, bufs.iter().map(|buf| buf.len()).sum())
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let met = match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.meter.flushed(met)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
