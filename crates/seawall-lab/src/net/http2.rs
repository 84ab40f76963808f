//! One HTTP/2 connection: many attempts at once, each with its own score, and the faults that take all of them.
//!
//! What can go wrong: a fault of one attempt that ends the connection is a fault of its siblings, who know nothing of it;
//! one that should end the stream ends the connection, and a client is blamed for it. So a stream does by itself what ends
//! a stream, and asks this task for what ends the connection: it lets the library write what it holds, does the deed on
//! the socket below it, and tells every sibling what it fell to.
//!
//! Bounded are: streams at once, a head, a body, what may arrive unread, and streams that are reset before anybody saw
//! them; what a peer sends in frames that mean nothing is bounded by the library.

mod conduit;
mod play;
mod stream;

use super::Shared;
use super::exchange::{Exchange, HEAD_BYTES_MAX};
use super::listener;
use super::socket::{Socket, Waited};
use crate::script::ErrorCode;
use bytes::Bytes;
use conduit::{Conduit, Valve};
use h2::RecvStream;
use h2::server::{Builder, Connection, SendResponse};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

/// The most streams of a connection at once. A client that wants more waits, as it does with every server.
const STREAMS_MAX: u32 = 1_000;
/// How far one request's body may run ahead of its reader.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// How far all of a connection's may.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Streams that a client may give up before they were seen: a batch that is cancelled at once, and no flood.
const UNSEEN_RESETS_MAX: usize = STREAMS_MAX as usize;
/// How much of an answer waits in memory for a client that does not read.
const UNSENT_BYTES_MAX: usize = 256 * 1024;

type Incoming = (http::Request<RecvStream>, SendResponse<Bytes>);

/// What becomes of the streams of a connection.
#[derive(Clone, Debug)]
enum Fate {
    Served,
    ClientLeft,
    /// Those above this number fall to a fault of one of them.
    Fell {
        above: u32,
        fault: Cow<'static, str>,
    },
}

/// What only the connection's own task can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Everything so far is written; the stream does the rest.
    Flush,
    /// RST of the TCP connection, at once.
    Reset,
    /// The same, once what was sent has arrived.
    DeliverAndReset,
    /// FIN.
    Close,
    /// FIN, and reading on.
    HalfClose,
    /// Bytes that are no frame, and FIN.
    Garbage(&'static [u8]),
    /// GOAWAY without this stream, and FIN once the streams before it have ended.
    Goaway(ErrorCode),
}

/// A stream's wish.
struct Demand {
    stream: u32,
    order: Order,
    fault: Cow<'static, str>,
    told: oneshot::Sender<Parting>,
}

/// How a demand went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parting {
    Done,
    ClientLeft,
}

/// The client is gone, or what it sends is no HTTP/2.
struct Over;

/// Serves a connection until one side ends it; `read` is what was already read of it.
pub(super) async fn run(socket: Socket, read: Vec<u8>, connection: u64, shared: Arc<Shared>) {
    let (conduit, valve) = conduit::over(socket, read);
    let Ok(library) = settings().handshake(conduit).await else {
        Exchange::begin_unread(&shared, connection, 1).left();
        return part(&valve).await;
    };
    let (demands, demanded) = mpsc::unbounded_channel();
    let host = Host {
        library,
        valve,
        shared,
        connection,
        taken: 0,
        fate: watch::Sender::new(Fate::Served),
        demands,
        demanded,
        streams: JoinSet::new(),
        live: BTreeSet::new(),
        leaving: None,
    };
    host.serve().await;
}

fn settings() -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX))
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_pending_accept_reset_streams(UNSEEN_RESETS_MAX)
        .max_concurrent_reset_streams(UNSEEN_RESETS_MAX)
        .max_send_buffer_size(UNSENT_BYTES_MAX);
    builder
}

/// Ends the connection as the library left it.
async fn part(valve: &Valve) {
    if let Some(socket) = valve.take() {
        listener::close(socket).await;
    }
}

/// The task of a connection.
struct Host {
    library: Connection<Conduit, Bytes>,
    valve: Valve,
    shared: Arc<Shared>,
    connection: u64,
    /// Attempts so far.
    taken: u64,
    fate: watch::Sender<Fate>,
    demands: mpsc::UnboundedSender<Demand>,
    demanded: mpsc::UnboundedReceiver<Demand>,
    streams: JoinSet<u32>,
    /// The streams that are being served, by number.
    live: BTreeSet<u32>,
    /// Once a GOAWAY was said: the last stream that it keeps, and who asked for it.
    leaving: Option<Leaving>,
}

struct Leaving {
    last: u32,
    fault: Cow<'static, str>,
    told: Vec<oneshot::Sender<Parting>>,
}

impl Host {
    async fn serve(mut self) {
        loop {
            tokio::select! {
                accepted = self.library.accept() => match accepted {
                    Some(Ok(incoming)) => self.take(incoming),
                    Some(Err(error)) => return self.broken(&error).await,
                    None => return self.left().await,
                },
                Some(demand) = self.demanded.recv() => match demand.order {
                    Order::Flush => {
                        let parting = match self.flush().await {
                            Ok(()) => Parting::Done,
                            Err(Over) => Parting::ClientLeft,
                        };
                        tell(demand.told, parting);
                    }
                    Order::Goaway(code) => if self.say_goodbye(demand, code).await.is_err() {
                        return self.left().await;
                    },
                    Order::Reset
                    | Order::DeliverAndReset
                    | Order::Close
                    | Order::HalfClose
                    | Order::Garbage(_) => {
                        return self.fall(demand).await;
                    }
                },
                Some(ended) = self.streams.join_next(), if !self.streams.is_empty() => match ended {
                    Ok(stream) => { self.live.remove(&stream); }
                    // A stream's panic has been printed by the hook; what it held is in no order.
                    Err(_) => return self.left().await,
                },
            }
            if let Some(leaving) = &self.leaving
                && self.live.range(..=leaving.last).next().is_none()
            {
                return self.leave().await;
            }
        }
    }

    /// Begins to serve a stream.
    fn take(&mut self, (request, respond): Incoming) {
        let stream = respond.stream_id().as_u32();
        let felled = match &self.leaving {
            Some(leaving) if stream > leaving.last => Some(leaving.fault.clone()),
            Some(_) | None => None,
        };
        let place = stream::Place {
            shared: Arc::clone(&self.shared),
            connection: self.connection,
            on_connection: self.taken + 1,
            stream,
        };
        if !place.is_control(&request) {
            self.taken += 1;
        }
        if let Some(fault) = felled {
            // It was on its way when the GOAWAY was said, which told the client that it was not looked at.
            return place.refuse(&request, respond, fault);
        }
        self.live.insert(stream);
        let (fate, demands) = (self.fate.subscribe(), self.demands.clone());
        self.streams
            .spawn(stream::run(place, request, respond, fate, demands));
    }

    /// Lets the library write what it holds, and what stands between its frames.
    async fn flush(&mut self) -> Result<(), Over> {
        let mut came = Vec::new();
        let flushed = poll_fn(|context| self.poll_flush(context, &mut came)).await;
        came.into_iter().for_each(|incoming| self.take(incoming));
        flushed
    }

    fn poll_flush(&mut self, context: &mut Context<'_>, came: &mut Vec<Incoming>) -> Poll<Result<(), Over>> {
        loop {
            match self.library.poll_accept(context) {
                Poll::Ready(Some(Ok(incoming))) => came.push(incoming),
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(Err(Over)),
                Poll::Pending => break,
            }
        }
        self.valve.poll_clear(context).map_err(|_| Over)
    }

    /// Says GOAWAY. Streams above the one before the demand's fall with it, whatever was done for them.
    async fn say_goodbye(&mut self, demand: Demand, code: ErrorCode) -> Result<(), Over> {
        let before = demand.stream.saturating_sub(2);
        let last = self
            .leaving
            .as_ref()
            .map_or(before, |leaving| leaving.last.min(before));
        self.valve.insert(&goaway(last, code));
        if self.flush().await.is_err() {
            tell(demand.told, Parting::ClientLeft);
            return Err(Over);
        }
        let fault = demand.fault;
        self.fate.send_replace(Fate::Fell {
            above: last,
            fault: fault.clone(),
        });
        let leaving = self.leaving.get_or_insert(Leaving {
            last,
            fault,
            told: Vec::new(),
        });
        leaving.last = last;
        leaving.told.push(demand.told);
        Ok(())
    }

    /// Ends the connection after a GOAWAY: whom it kept has been served.
    async fn leave(mut self) {
        let parting = match self.flush().await {
            Ok(()) => Parting::Done,
            Err(Over) => Parting::ClientLeft,
        };
        for told in self.leaving.take().into_iter().flat_map(|leaving| leaving.told) {
            tell(told, parting);
        }
        self.end(Fate::ClientLeft).await;
    }

    /// Does what takes the whole connection.
    async fn fall(mut self, demand: Demand) {
        let written = match demand.order {
            // Who does not read what a sibling is owed is reset all the same.
            Order::Reset => Ok(()),
            Order::Flush
            | Order::DeliverAndReset
            | Order::Close
            | Order::HalfClose
            | Order::Garbage(_)
            | Order::Goaway(_) => self.flush().await,
        };
        let socket = self.valve.take();
        let fell = Fate::Fell {
            above: 0,
            fault: demand.fault,
        };
        self.fate.send_replace(fell);
        self.dismiss(Parting::Done);
        match (socket, written) {
            (Some(socket), Ok(())) => self.undo(socket, demand.order, demand.told).await,
            (None, _) | (_, Err(Over)) => tell(demand.told, Parting::ClientLeft),
        }
        while self.streams.join_next().await.is_some() {}
    }

    /// Tells whoever waits for the end of the connection, or still asks for one, that there is nothing to wait for: else
    /// the connection would wait for its streams, and they for it, for ever.
    fn dismiss(&mut self, parting: Parting) {
        self.demanded.close();
        while let Ok(demand) = self.demanded.try_recv() {
            tell(demand.told, parting);
        }
        for told in self.leaving.take().into_iter().flat_map(|leaving| leaving.told) {
            // Its GOAWAY is on the wire, whoever ended the connection after it.
            tell(told, Parting::Done);
        }
    }

    /// Does it to the socket, and tells who asked for it: before a close, whose end is the client's to choose.
    async fn undo(&self, mut socket: Socket, order: Order, told: oneshot::Sender<Parting>) {
        match order {
            Order::Reset => tell(told, reset(socket)),
            Order::DeliverAndReset => match socket.delivered().await {
                Waited::Whole => tell(told, reset(socket)),
                Waited::ClientLeft => tell(told, Parting::ClientLeft),
            },
            Order::Flush | Order::Goaway(_) | Order::Close => {
                tell(told, Parting::Done);
                listener::close(socket).await;
            }
            Order::Garbage(bytes) => match socket.write_all(bytes).await {
                Ok(()) => {
                    tell(told, Parting::Done);
                    listener::close(socket).await;
                }
                Err(_) => tell(told, Parting::ClientLeft),
            },
            Order::HalfClose => {
                if socket.shutdown().await.is_ok() {
                    let _kept = self.shared.pace.keep_waiting();
                    let mut thrown = [0; 4 * 1024];
                    while matches!(socket.read(&mut thrown).await, Ok(1..)) {}
                }
                tell(told, Parting::ClientLeft);
            }
        }
    }

    /// What came is no HTTP/2, or the client said that it goes.
    async fn broken(self, error: &h2::Error) {
        if error.is_library() {
            // An attempt, perhaps: nobody can tell.
            drop(Exchange::begin_unread(
                &self.shared,
                self.connection,
                self.taken + 1,
            ));
        }
        self.left().await;
    }

    async fn left(self) {
        self.end(Fate::ClientLeft).await;
    }

    async fn end(mut self, fate: Fate) {
        self.dismiss(Parting::ClientLeft);
        let Self {
            library,
            valve,
            fate: told,
            mut streams,
            ..
        } = self;
        told.send_replace(fate);
        while streams.join_next().await.is_some() {}
        drop(library);
        part(&valve).await;
    }
}

/// Tells a stream how its demand went. One that is gone wants to know nothing.
fn tell(told: oneshot::Sender<Parting>, parting: Parting) {
    told.send(parting).ok();
}

/// A peer that is already gone cannot be reset, which is all that may fail here.
fn reset(socket: Socket) -> Parting {
    match socket.reset() {
        Ok(()) => Parting::Done,
        Err(_) => Parting::ClientLeft,
    }
}

/// A GOAWAY frame (RFC 9113, 6.8).
fn goaway(last: u32, code: ErrorCode) -> [u8; 17] {
    let mut frame = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    frame[9..13].copy_from_slice(&last.to_be_bytes());
    frame[13..].copy_from_slice(&code.number().to_be_bytes());
    frame
}
