//! A server that writes HTTP/2 frames as it is told, and remembers every frame that came.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};

const PREFACE_BYTES: usize = 24;
const MOST_BYTES_OF_A_FRAME: usize = 1 << 20;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const INTERNAL_ERROR: u32 = 2;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;

/// What the server does with one request, in order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Write(Vec<u8>),
    /// Says nothing until it is told to go on.
    Await(Arc<Notify>),
    /// Sends FIN.
    Close,
    /// Sends RST.
    Reset,
}

/// A request that came whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Counted from 0 over all connections.
    pub(super) nth: usize,
    pub(super) connection: usize,
    pub(super) stream: u32,
}

/// A frame, as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) connection: usize,
    pub(super) stream: u32,
    pub(super) kind: u8,
    pub(super) payload: Vec<u8>,
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Step {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    Step::Write(bytes)
}

/// `:status: 200`, and these headers, as literals that are not indexed.
pub(super) fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = vec![0x88];
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            // Lengths up to 126 are one byte.
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}

pub(super) fn head(stream: u32, headers: &[(&str, &str)]) -> Step {
    frame(HEADERS, END_HEADERS, stream, &block(headers))
}

pub(super) fn data(stream: u32, text: &str) -> Step {
    frame(DATA, 0, stream, text.as_bytes())
}

pub(super) fn last(stream: u32, text: &str) -> Step {
    frame(DATA, END_STREAM, stream, text.as_bytes())
}

pub(super) fn answer(stream: u32, text: &str) -> Vec<Step> {
    vec![head(stream, &[]), last(stream, text)]
}

pub(super) fn reset(stream: u32, code: u32) -> Step {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

pub(super) fn go_away(last_stream: u32, code: u32) -> Step {
    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

pub(super) fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = values
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
        .collect();
    let Step::Write(bytes) = frame(SETTINGS, 0, 0, &payload) else {
        unreachable!("a frame is written")
    };
    bytes
}

/// What a server does with the stream of this number, where it needs no state.
pub(super) type OneStep = fn(u32) -> Step;
pub(super) type Steps = fn(u32) -> Vec<Step>;

type Script = Arc<dyn Fn(Asked) -> Vec<Step> + Send + Sync>;

#[derive(Default)]
struct Counts {
    accepted: Vec<SocketAddr>,
    open: usize,
    asked: usize,
    closed: usize,
    frames: usize,
}

/// A listening server; its tasks end with the test's runtime.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    opening: Vec<u8>,
    counts: watch::Sender<Counts>,
    seen: Arc<Mutex<Vec<Seen>>>,
    orders: Arc<Mutex<Vec<mpsc::UnboundedSender<Step>>>>,
    script: Script,
}

impl Wire {
    pub(super) async fn start(script: impl Fn(Asked) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::opening(settings(&[]), script).await
    }

    /// A server whose first bytes are these.
    pub(super) async fn opening(
        opening: Vec<u8>,
        script: impl Fn(Asked) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            opening,
            counts: watch::Sender::new(Counts::default()),
            seen: Arc::default(),
            orders: Arc::default(),
            script: Arc::new(script),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, peer) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut number = 0;
                accepting.counts.send_modify(|counts| {
                    number = counts.accepted.len();
                    counts.accepted.push(peer);
                    counts.open += 1;
                });
                tokio::spawn(accepting.clone().connection(stream, number));
            }
        });
        server
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub(super) fn accepted(&self) -> usize {
        self.counts.borrow().accepted.len()
    }

    /// Makes the connection of this number do this, without being asked.
    pub(super) fn says(&self, connection: usize, step: Step) {
        self.orders.lock().unwrap()[connection].send(step).unwrap();
    }

    /// All frames so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Ends once this many requests have come whole.
    pub(super) async fn was_asked(&self, requests: usize) {
        self.wait_for(|counts| counts.asked >= requests).await;
    }

    /// Ends once such a frame has come.
    pub(super) async fn has_seen(&self, what: impl Fn(&Seen) -> bool) {
        self.wait_for(|_| self.seen.lock().unwrap().iter().any(&what))
            .await;
    }

    /// Ends once this many connections were ended by this side.
    pub(super) async fn has_closed(&self, connections: usize) {
        self.wait_for(|counts| counts.closed >= connections).await;
    }

    /// Ends once the client has no connection open.
    pub(super) async fn is_alone(&self) {
        self.wait_for(|counts| counts.open == 0).await;
    }

    /// Ends once every connection made before this call was accepted and closed again: connections are accepted in
    /// order, so one of our own comes after them.
    pub(super) async fn is_alone_after_all(&self) {
        let last = TcpStream::connect(self.address).await.unwrap();
        let ours = last.local_addr().unwrap();
        self.wait_for(|counts| counts.accepted.contains(&ours)).await;
        drop(last);
        self.is_alone().await;
    }

    async fn wait_for(&self, mut what: impl FnMut(&Counts) -> bool) {
        let mut counts = self.counts.subscribe();
        counts.wait_for(|counts| what(counts)).await.unwrap();
    }

    async fn connection(self, stream: TcpStream, number: usize) {
        let (mut reads, mut writes) = stream.into_split();
        let (orders, mut ordered) = mpsc::unbounded_channel();
        orders.send(Step::Write(self.opening.clone())).unwrap();
        self.orders.lock().unwrap().push(orders.clone());
        let counts = self.counts.clone();
        let writing = tokio::spawn(async move {
            while let Some(step) = ordered.recv().await {
                match step {
                    Step::Write(bytes) => {
                        if writes.write_all(&bytes).await.is_err() {
                            break;
                        }
                        // Lets the client see this frame apart from the next.
                        tokio::task::yield_now().await;
                    }
                    Step::Await(_) => {}
                    Step::Close => {
                        writes.shutdown().await.unwrap();
                        counts.send_modify(|counts| counts.closed += 1);
                        break;
                    }
                    Step::Reset => {
                        writes.as_ref().set_zero_linger().unwrap();
                        writes.forget();
                        return Ended::Reset;
                    }
                }
            }
            Ended::Closed
        });
        let reset = Arc::new(Notify::new());
        let word = Arc::clone(&reset);
        tokio::spawn(async move {
            if let Ok(Ended::Reset) = writing.await {
                word.notify_one();
            }
        });
        // A reset needs both halves gone.
        tokio::select! {
            () = self.read(&mut reads, number, &orders) => {}
            () = reset.notified() => {}
        }
        drop(reads);
        self.counts.send_modify(|counts| counts.open -= 1);
    }

    async fn read(&self, reads: &mut OwnedReadHalf, number: usize, orders: &mpsc::UnboundedSender<Step>) {
        let mut preface = [0; PREFACE_BYTES];
        if reads.read_exact(&mut preface).await.is_err() {
            return;
        }
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        while let Some((kind, flags, stream, payload)) = read_frame(reads).await {
            let ends = [DATA, HEADERS].contains(&kind) && flags & END_STREAM != 0;
            let answered = [SETTINGS, PING].contains(&kind) && flags & ACK == 0;
            let echo = if kind == PING { payload.clone() } else { Vec::new() };
            self.seen.lock().unwrap().push(Seen {
                connection: number,
                stream,
                kind,
                payload,
            });
            let mut nth = 0;
            self.counts.send_modify(|counts| {
                counts.frames += 1;
                nth = counts.asked;
                counts.asked += usize::from(ends);
            });
            if answered {
                // A client that has gone takes nothing more.
                let _ = orders.send(frame(kind, ACK, 0, &echo));
            }
            if ends {
                let steps = (self.script)(Asked {
                    nth,
                    connection: number,
                    stream,
                });
                let orders = orders.clone();
                tokio::spawn(async move {
                    for step in steps {
                        if let Step::Await(word) = &step {
                            word.notified().await;
                        }
                        let _ = orders.send(step);
                    }
                });
            }
        }
    }
}

enum Ended {
    Closed,
    Reset,
}

async fn read_frame(reads: &mut OwnedReadHalf) -> Option<(u8, u8, u32, Vec<u8>)> {
    let mut head = [0; 9];
    reads.read_exact(&mut head).await.ok()?;
    let [a, b, c, kind, flags, stream @ ..] = head;
    let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap();
    assert!(length < MOST_BYTES_OF_A_FRAME);
    let mut payload = vec![0; length];
    reads.read_exact(&mut payload).await.ok()?;
    Some((kind, flags, u32::from_be_bytes(stream), payload))
}
