//! A server written by hand: it does on the wire what a step says, to the byte, and remembers what it saw.
//!
//! Its delays pass on the clock that is cranked, and it tells how many requests it keeps waiting on purpose: only
//! while that is all that is in flight may time pass (see `stage`).

use bytes::Bytes;
use seawall::clock::Clock as _;
use seawall::crank::CrankedClock;
use seawall_core::time::{Duration, Instant};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Whether reading the request does its work, for counting what was done twice.
    pub(crate) effect: bool,
    /// How long it waits before anything else.
    pub(crate) delay: Duration,
    pub(crate) deed: Deed,
}

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Writes these bytes and waits for the next request.
    Write(Vec<u8>),
    /// Writes these bytes and closes.
    WriteClose(Vec<u8>),
    /// Writes these bytes and is silent until the client leaves.
    WriteStall(Vec<u8>),
    /// RST.
    Reset,
    /// FIN without a byte.
    Close,
    /// Silent until the client leaves.
    Stall,
}

impl Step {
    pub(crate) const fn of(deed: Deed) -> Self {
        Self {
            effect: false,
            delay: Duration::ZERO,
            deed,
        }
    }

    /// A whole answer.
    pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self::of(Deed::Write(answer(status, headers, body, body.len())))
    }

    pub(crate) const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// An answer's bytes, with the length that its head promises.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str, promised_bytes: usize) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} X\r\ncontent-length: {promised_bytes}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// When it had been read whole.
    pub(crate) at: Instant,
    /// Which connection, counted from 0.
    pub(crate) connection: usize,
    /// The head's text.
    pub(crate) head: String,
    pub(crate) body: Bytes,
    /// Whether it did its work.
    pub(crate) effect: bool,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Which of several callers sent it; they count their requests apart.
    pub(crate) fn lane(&self) -> &str {
        self.header(LANE).unwrap_or("")
    }
}

/// The header that tells callers apart whose requests are counted apart.
pub(crate) const LANE: &str = "x-lane";

/// Decides what is done with a lane's request of this number, counted from 0; it is told the time.
type Script = dyn Fn(usize, &Request) -> Step + Send + Sync;

/// A listening server; its tasks end with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    clock: CrankedClock,
    script: Box<Script>,
    state: Mutex<State>,
    /// Connections that are open.
    open: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    accepted: usize,
    requests: Vec<Request>,
    kept_waiting: Vec<Waits>,
    watcher: Option<Waker>,
}

/// A request that is kept waiting on purpose.
struct Waits {
    connection: usize,
    until: Instant,
    /// It counts once somebody began to wait after this many waits: what was written has then been read.
    waits_begun: u64,
}

impl Server {
    pub(crate) async fn start(
        clock: &CrankedClock,
        script: impl Fn(usize, &Request) -> Step + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::new(Shared {
                clock: clock.clone(),
                script: Box::new(script),
                state: Mutex::default(),
                open: watch::Sender::new(0),
            }),
        };
        let accepting = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                let number = accepting.lock().accepted;
                accepting.lock().accepted += 1;
                accepting.shared.open.send_modify(|open| *open += 1);
                tokio::spawn(accepting.clone().connection(stream, number));
            }
        });
        server
    }

    /// A server that does these steps one after the other, and then the last one for ever.
    pub(crate) async fn with_steps(clock: &CrankedClock, steps: Vec<Step>) -> Self {
        Self::start(clock, move |nth, _| steps[nth.min(steps.len() - 1)].clone()).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in the order in which they had been read.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    /// How many connections were made.
    pub(crate) fn accepted(&self) -> usize {
        self.lock().accepted
    }

    /// How many requests are kept waiting now, by nothing but the clock.
    pub(crate) fn kept_waiting(&self) -> usize {
        let (now, begun) = (self.shared.clock.now(), self.shared.clock.waits_begun());
        let state = self.lock();
        let kept = state
            .kept_waiting
            .iter()
            .filter(|waits| waits.until > now && waits.waits_begun < begun);
        kept.count()
    }

    /// Wakes this one when something here has changed.
    pub(crate) fn watch(&self, waker: &Waker) {
        self.lock().watcher = Some(waker.clone());
    }

    /// Ends once so many connections are open.
    pub(crate) async fn has_open(&self, connections: usize) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open == connections).await.unwrap();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }

    fn changed(&self) {
        let watcher = self.lock().watcher.take();
        if let Some(watcher) = watcher {
            watcher.wake();
        }
    }

    async fn connection(self, mut stream: TcpStream, number: usize) {
        if let Ended::Reset = self.serve(&mut stream, number).await {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        self.shared.open.send_modify(|open| *open -= 1);
        self.changed();
    }

    async fn serve(&self, stream: &mut TcpStream, number: usize) -> Ended {
        while let Some((head, body)) = read_request(stream).await {
            let step = self.note(number, head, body);
            if !step.delay.is_zero() {
                let until = self.shared.clock.now().after(step.delay);
                if let Client::Left = self.keep_waiting(stream, number, until, 0).await {
                    return Ended::Closed;
                }
            }
            let begun = self.shared.clock.waits_begun();
            let (bytes, then) = match step.deed {
                Deed::Write(bytes) => (bytes, None),
                Deed::WriteClose(bytes) => (bytes, Some(Ended::Closed)),
                Deed::WriteStall(bytes) => {
                    if stream.write_all(&bytes).await.is_ok() {
                        self.keep_waiting(stream, number, Instant::NEVER, begun).await;
                    }
                    return Ended::Closed;
                }
                Deed::Reset => return Ended::Reset,
                Deed::Close => return Ended::Closed,
                Deed::Stall => {
                    self.keep_waiting(stream, number, Instant::NEVER, 0).await;
                    return Ended::Closed;
                }
            };
            match (stream.write_all(&bytes).await, then) {
                (Ok(()), None) => {}
                (Ok(()), Some(ended)) => return ended,
                (Err(_), _) => return Ended::Closed,
            }
        }
        Ended::Closed
    }

    /// Enters a request and says what is done with it.
    fn note(&self, connection: usize, head: String, body: Vec<u8>) -> Step {
        let mut request = Request {
            at: self.shared.clock.now(),
            connection,
            head,
            body: body.into(),
            effect: false,
        };
        let mut state = self.lock();
        let before = state
            .requests
            .iter()
            .filter(|other| other.lane() == request.lane());
        let step = (self.shared.script)(before.count(), &request);
        request.effect = step.effect;
        state.requests.push(request);
        step
    }

    async fn keep_waiting(
        &self,
        stream: &TcpStream,
        connection: usize,
        until: Instant,
        waits_begun: u64,
    ) -> Client {
        self.lock().kept_waiting.push(Waits {
            connection,
            until,
            waits_begun,
        });
        self.changed();
        let mut byte = [0];
        let client = tokio::select! {
            biased;
            () = self.shared.clock.sleep_until(until) => Client::Waits,
            // A client that waits for an answer sends nothing: whatever is there to be read is its end.
            _ = stream.peek(&mut byte) => Client::Left,
        };
        let mut state = self.lock();
        state.kept_waiting.retain(|waits| waits.connection != connection);
        drop(state);
        self.changed();
        client
    }
}

enum Client {
    Waits,
    Left,
}

enum Ended {
    Closed,
    Reset,
}

/// Reads a head and, where it says so, a body. `None` is a client that left.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let head_bytes = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(head_bytes);
    let head = String::from_utf8(bytes).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, body))
}
