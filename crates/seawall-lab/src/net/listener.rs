//! The port, and what connections meet at it before any request.
//!
//! What can go wrong: a listener that is told to refuse goes on listening, the system completes the handshake, and the
//! client meets a reset in place of a refusal. So a refusal that holds for a time closes the socket, and the system itself
//! refuses. While it is closed nobody else gets the port: on Unix a second socket is bound to it and never listens. A
//! connection that was refused was never seen, so a counted refusal is what is left: accepted, and reset at once.
//!
//! | step | the client sees |
//! |---|---|
//! | `for 5s refuse` | its connect fails: ECONNREFUSED |
//! | `2x refuse`, `reset` | its connect succeeds, and the first read or write fails: ECONNRESET |
//! | `close` | an end without a byte |
//! | `hang` | nothing; what it sends is not read |
//! | `tls-fail` | a fatal alert, handshake_failure |
//! | `tls-hang` | no answer to its hello |
//! | `bad-cert`, `expired-cert` | a handshake that only a client can end, by looking at the certificate |

use super::exchange::Exchange;
use super::pace::{ACCEPT_PAUSE, DRAIN_MAX, moment};
use super::socket::{Socket, awake, until_left};
use super::tls::Shown;
use super::{CONNECTIONS_MAX, Shared, http1, http2};
use crate::listener::{Arrival, Arrivals, Door, HttpVersions, Version};
use crate::plan::Weather;
use crate::script::listener::{ListenerScript, Reception, Welcome};
use seawall::crank::WireEnd;
use seawall_core::time::{Duration, Instant};
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

/// Connections that may wait to be accepted: a client that opens thousands at once is no error.
const BACKLOG: u32 = 4_096;
/// How every HTTP/2 connection begins (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How much is asked of the system at once, before the protocol is known.
const READ_STEP: usize = 4 * 1024;
/// A fatal handshake_failure, as a record of TLS 1.2, which every client reads (RFC 8446, 5.1 and 6.2).
const HANDSHAKE_FAILURE: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 40];
/// The longest record of TLS, header included.
const TLS_RECORD_BYTES_MAX: usize = 5 + (1 << 14) + 256;

/// How far a listener has come; without a script, nowhere.
#[derive(Debug)]
pub(super) struct Progress {
    script: Option<(ListenerScript, Arrivals)>,
}

impl Progress {
    pub(super) fn new(script: Option<ListenerScript>, now: Instant) -> Self {
        Self {
            script: script.map(|script| {
                let arrivals = Arrivals::new(&script, now);
                (script, arrivals)
            }),
        }
    }

    /// Begins again.
    pub(super) fn reset(&mut self, now: Instant) {
        if let Some((script, arrivals)) = &mut self.script {
            *arrivals = Arrivals::new(script, now);
        }
    }

    fn next(&mut self, now: Instant) -> Arrival {
        match &mut self.script {
            Some((script, arrivals)) => arrivals.next(script, now),
            None => Arrival::Plain,
        }
    }

    fn door(&mut self, now: Instant) -> Door {
        match &mut self.script {
            Some((script, arrivals)) => arrivals.door(script, now),
            None => Door::Open(Instant::NEVER),
        }
    }
}

/// A port that can be closed and opened again.
#[derive(Debug)]
pub(super) struct Port {
    address: SocketAddr,
    listener: Option<TcpListener>,
    /// Holds the port while nobody listens. It is never listened on.
    _holder: Option<TcpSocket>,
}

impl Port {
    /// Binds and listens.
    pub(super) async fn open(address: &str) -> io::Result<Self> {
        let mut found = tokio::net::lookup_host(address).await?;
        let address = found
            .next()
            .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address"))?;
        let listener = bound(address)?.listen(BACKLOG)?;
        Ok(Self {
            address: listener.local_addr()?,
            listener: Some(listener),
            _holder: None,
        })
    }

    /// Where it listens, or did.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens or closes it.
    fn turn(&mut self, door: Door) -> io::Result<()> {
        match door {
            Door::Open(_) if self.listener.is_none() => {
                self.listener = Some(bound(self.address)?.listen(BACKLOG)?);
            }
            Door::Shut(_) if self.listener.is_some() => {
                self.listener = None;
                // Only a convenience: where the system does not let two sockets share the port, nobody holds it.
                self._holder = match cfg!(unix) {
                    true => bound(self.address).ok(),
                    false => None,
                };
            }
            Door::Open(_) | Door::Shut(_) => {}
        }
        Ok(())
    }

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.listener {
            Some(listener) => listener.accept().await,
            None => std::future::pending().await,
        }
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A test that starts a mock on the port of the last one must not wait for its old connections.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Takes connections for ever.
pub(super) async fn accept(mut port: Port, shared: Arc<Shared>) {
    // Dropping the set, with this task, ends every connection.
    let mut connections = JoinSet::new();
    let mut number = 0_u64;
    loop {
        let begun_again = shared.begun_again.notified();
        let door = door(&shared);
        if port.turn(door).is_err() {
            // The port was taken while it was closed; it may come free.
            moment(ACCEPT_PAUSE).await;
            continue;
        }
        let (Door::Open(until) | Door::Shut(until)) = door;
        tokio::select! {
            accepted = port.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, caller)) => {
                    number += 1;
                    let arrival = shared.progress().next(shared.pace.now());
                    // An answer must not wait for the client to confirm the head. A socket that refuses is only slower.
                    stream.set_nodelay(true).ok();
                    let end = shared.setting.wires.as_ref().map(|wires| wires.server(caller));
                    let visit = Visit { stream, end, number };
                    connections.spawn(receive(visit, Arc::clone(&shared), arrival));
                }
                // Out of file handles, most often: one may be free in a moment, and until then asking again at
                // once would only burn the machine.
                Err(_) => moment(ACCEPT_PAUSE).await,
            },
            () = shared.pace.until(until), if until < Instant::NEVER => {}
            () = begun_again => {}
            // A connection's panic has been printed by the hook; the others go on.
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

/// Whether the port is open: by the listener's script, and by the weather of the plan.
fn door(shared: &Shared) -> Door {
    let now = shared.pace.now();
    let scripted = shared.progress().door(now);
    let (weather, turns) = shared.plan().weather(now);
    match (weather, scripted) {
        (Weather::Refuses, Door::Open(until) | Door::Shut(until)) => Door::Shut(until.min(turns)),
        (Weather::Clear | Weather::Answers503, Door::Open(until)) => Door::Open(until.min(turns)),
        (Weather::Clear | Weather::Answers503, Door::Shut(until)) => Door::Shut(until.min(turns)),
    }
}

/// A connection that was accepted.
struct Visit {
    stream: TcpStream,
    /// What passes, for whoever cranks the clock.
    end: Option<WireEnd>,
    number: u64,
}

/// Does with a connection what the listener's script says.
async fn receive(visit: Visit, shared: Arc<Shared>, arrival: Arrival) {
    let (welcome, delay, fault) = match arrival {
        Arrival::Plain => (Welcome::Accept, Duration::ZERO, None),
        Arrival::Stop => (Welcome::Close, Duration::ZERO, Some("stop")),
        Arrival::Met(Reception { welcome, delay }) => match (welcome, delay.is_zero()) {
            (Welcome::Accept, true) => (welcome, delay, None),
            (Welcome::Accept, false) => (welcome, delay, Some("delay")),
            (_, _) => (welcome, delay, Some(welcome.name())),
        },
    };
    let Some(fault) = fault else {
        return serve(visit, &shared, Shown::Right).await;
    };
    let Visit {
        mut stream,
        // Held until the fault is done: it says that this end is there.
        end,
        number,
    } = visit;
    // No request of this connection is the fault's, so it has an entry of its own.
    let mut exchange = Exchange::begin_unread(&shared, number, 0);
    exchange.met(Cow::Borrowed(fault));
    if !delay.is_zero() {
        exchange.show();
        tokio::select! {
            () = shared.pace.pause(delay) => {}
            () = until_left(&stream) => return exchange.left(),
        }
        stream = match awake(stream) {
            Ok(stream) => stream,
            Err(_) => return exchange.left(),
        };
    }
    match welcome {
        Welcome::Accept => {
            drop(exchange);
            serve(Visit { stream, end, number }, &shared, Shown::Right).await;
        }
        Welcome::BadCert => {
            drop(exchange);
            serve(Visit { stream, end, number }, &shared, Shown::Misnamed).await;
        }
        Welcome::ExpiredCert => {
            drop(exchange);
            serve(Visit { stream, end, number }, &shared, Shown::Expired).await;
        }
        Welcome::Refuse | Welcome::Reset => {
            // A peer that is already gone cannot be reset, which is all that may fail here.
            if Socket::Plain(stream).reset().is_err() {
                exchange.left();
            }
        }
        Welcome::Close => {
            drop(exchange);
            close(stream).await;
        }
        Welcome::TlsFail => fail_handshake(stream, exchange).await,
        Welcome::Hang => keep_silent(&stream, &shared, exchange).await,
        Welcome::TlsHang => match read_record(&mut stream).await {
            Ok(()) => keep_silent(&stream, &shared, exchange).await,
            Err(_) => exchange.left(),
        },
    }
}

async fn keep_silent(stream: &TcpStream, shared: &Shared, mut exchange: Exchange<'_>) {
    exchange.show();
    let kept = shared.pace.keep_waiting();
    until_left(stream).await;
    drop(kept);
    exchange.left();
}

/// Reads the client's hello first: an alert that comes before it was asked for is a broken connection to some clients.
async fn fail_handshake(mut stream: TcpStream, mut exchange: Exchange<'_>) {
    if read_record(&mut stream).await.is_err() {
        return exchange.left();
    }
    exchange.answering(None);
    match stream.write_all(HANDSHAKE_FAILURE).await {
        Ok(()) => {
            exchange.sent(HANDSHAKE_FAILURE.len() as u64);
            drop(exchange);
            close(stream).await;
        }
        Err(_) => exchange.left(),
    }
}

/// Reads one record of TLS, whatever is in it; also what is none, as far as its first bytes claim.
async fn read_record(stream: &mut TcpStream) -> io::Result<()> {
    let mut header = [0; 5];
    stream.read_exact(&mut header).await?;
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    let mut rest = vec![0; length.min(TLS_RECORD_BYTES_MAX)];
    stream.read_exact(&mut rest).await?;
    Ok(())
}

/// Ends the sending side (FIN), then lets the client finish for a moment: closing a socket with unread bytes would send a
/// reset in place of the end.
pub(super) async fn close(mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let mut thrown = vec![0; READ_STEP];
    let drained = async { while matches!(stream.read(&mut thrown).await, Ok(1..)) {} };
    tokio::select! {
        () = drained => {}
        () = moment(DRAIN_MAX) => {}
    }
}

/// Does TLS where the listener does, finds out which HTTP it is, and serves it.
async fn serve(visit: Visit, shared: &Arc<Shared>, shown: Shown) {
    let Visit { stream, end, number } = visit;
    let (mut socket, agreed) = match &shared.setting.identity {
        None => (Socket::Plain(stream), None),
        Some(identity) => match Box::pin(identity.accept(stream, shown)).await {
            Ok(accepted) => accepted,
            Err(_) => {
                // What never became a connection of HTTP is still something that a client did.
                return Exchange::begin_unread(shared, number, 0).left();
            }
        },
    };
    if let Some(end) = end {
        socket = socket.counted(end);
    }
    let (version, read) = match (shared.setting.http, agreed) {
        (HttpVersions::Http1, _) | (HttpVersions::Auto, Some(Version::Http1)) => (Version::Http1, Vec::new()),
        (HttpVersions::Http2, _) | (HttpVersions::Auto, Some(Version::Http2)) => (Version::Http2, Vec::new()),
        (HttpVersions::Auto, None) => match recognise(&mut socket).await {
            Ok(known) => known,
            Err(_) => return,
        },
    };
    match version {
        Version::Http1 => http1::run(socket, read, number, Arc::clone(shared)).await,
        // Boxed, so that ten thousand connections of HTTP/1.1 do not each hold the room for one of HTTP/2.
        Version::Http2 => Box::pin(http2::run(socket, read, number, Arc::clone(shared))).await,
    }
}

/// Reads until it is clear which HTTP this is. Gives what was read.
async fn recognise(socket: &mut Socket) -> io::Result<(Version, Vec<u8>)> {
    let mut read = Vec::with_capacity(READ_STEP);
    loop {
        if socket.read_buf(&mut read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let compared = read.len().min(PREFACE.len());
        if read[..compared] != PREFACE[..compared] {
            return Ok((Version::Http1, read));
        }
        if compared == PREFACE.len() {
            return Ok((Version::Http2, read));
        }
    }
}
