//! The bytes below a connection, plain or through TLS, that can still be reset and half closed.
//!
//! What can go wrong: a TLS layer says goodbye on its own, and a "reset" comes out as an orderly end. So the TCP
//! stream below stays within reach, whatever stands on it.

use super::pace::{DELIVERY_PAUSE, moment};
use seawall::crank::WireEnd;
use seawall_core::time::Duration;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// How often it is asked whether what was sent has arrived: at first, and later.
const DELIVERY_STEP_MIN: Duration = Duration::from_millis(1);
const DELIVERY_STEP_MAX: Duration = Duration::from_millis(16);

/// One accepted connection's bytes.
#[derive(Debug)]
pub(super) enum Socket {
    /// TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<TlsStream<TcpStream>>),
    /// Either, with what passes told to whoever cranks the clock.
    Counted(Box<Counted>),
}

/// A socket whose bytes are counted.
#[derive(Debug)]
pub(super) struct Counted {
    socket: Socket,
    // Dropped after the socket: it says that this end is gone.
    end: WireEnd,
}

impl Socket {
    /// Tells what passes to whoever cranks the clock.
    pub(super) fn counted(self, end: WireEnd) -> Self {
        Self::Counted(Box::new(Counted { socket: self, end }))
    }

    /// Resets the connection (RST): with a linger of zero, a close throws the connection away. A peer that is
    /// already gone cannot be reset.
    pub(super) fn reset(self) -> io::Result<()> {
        self.tcp().set_zero_linger()
    }

    /// Waits until every byte that was sent has left for the peer, however slowly it reads, and gives the last ones
    /// a moment to arrive: a reset throws away what is still here, and on some systems what is there unread.
    pub(super) async fn delivered(&self) -> Waited {
        let mut pause = DELIVERY_STEP_MIN;
        loop {
            match sending(self.tcp()) {
                Sending::Done | Sending::Unknown => break,
                Sending::Broken => return Waited::ClientLeft,
                Sending::UnderWay => moment(pause).await,
            }
            pause = pause.times(2).min(DELIVERY_STEP_MAX);
        }
        moment(DELIVERY_PAUSE).await;
        Waited::Whole
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref().0,
            Self::Counted(counted) => counted.socket.tcp(),
        }
    }
}

/// How a wait for something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// What was waited for is there.
    Whole,
    /// The client left first.
    ClientLeft,
}

/// How far what was sent has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// Nothing is left on this side.
    Done,
    /// The peer's system has no room for the rest yet.
    UnderWay,
    /// The connection is no more.
    Broken,
    /// This system does not say.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux says, others do not"))]
    Unknown,
}

/// A Linux socket whose low-water mark of unsent bytes is one counts as writable once none are left.
#[cfg(target_os = "linux")]
fn sending(stream: &TcpStream) -> Sending {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    if socket2::SockRef::from(stream).set_tcp_notsent_lowat(1).is_err() {
        return Sending::Broken;
    }
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut asked = [PollFd::new(stream, PollFlags::OUT)];
    let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    match poll(&mut asked, Some(&at_once)) {
        Err(rustix::io::Errno::INTR) => Sending::UnderWay,
        Err(_) => Sending::Broken,
        Ok(_) if asked[0].revents().intersects(broken) => Sending::Broken,
        Ok(_) if asked[0].revents().contains(PollFlags::OUT) => Sending::Done,
        Ok(_) => Sending::UnderWay,
    }
}

#[cfg(not(target_os = "linux"))]
fn sending(_stream: &TcpStream) -> Sending {
    Sending::Unknown
}

/// Waits until the peer has ended its side or is gone, without reading a byte: what it sends stays where it is. A peer
/// that ends its side behind bytes that nobody takes is not seen to, and the stream's own reads hear no more of what has
/// come by now: see [`awake`].
pub(super) async fn until_left(stream: &TcpStream) {
    loop {
        match stream.ready(Interest::READABLE).await {
            Ok(ready) if ready.is_read_closed() => return,
            // Said to be unread, so that the next wait ends with news only.
            Ok(_) => {
                let _unread = stream.try_io(Interest::READABLE, || {
                    Err::<(), _>(io::ErrorKind::WouldBlock.into())
                });
            }
            Err(_) => return,
        }
    }
}

/// The stream as new, so that what came unread wakes its reader.
pub(super) fn awake(stream: TcpStream) -> io::Result<TcpStream> {
    TcpStream::from_std(stream.into_std()?)
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Counted(counted) => {
                let before = buffer.filled().len();
                ready!(Pin::new(&mut counted.socket).poll_read(context, buffer))?;
                counted.end.read((buffer.filled().len() - before) as u64);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Counted(counted) => {
                let written = ready!(Pin::new(&mut counted.socket).poll_write(context, bytes))?;
                counted.end.wrote(written as u64);
                Poll::Ready(Ok(written))
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
            Self::Counted(counted) => Pin::new(&mut counted.socket).poll_flush(context),
        }
    }

    /// Ends the sending side: FIN, after TLS's own goodbye where there is TLS.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Counted(counted) => Pin::new(&mut counted.socket).poll_shutdown(context),
        }
    }
}
