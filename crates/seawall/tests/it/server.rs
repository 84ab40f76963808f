//! A server that does what it is told, byte for byte, and remembers what it saw.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

/// What the server does with one request, in order. After the last step it waits for the next request, unless the
/// step ends the connection.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Writes these bytes.
    Write(Vec<u8>),
    /// Sends FIN.
    Close,
    /// Sends RST.
    Reset,
    /// Says nothing until the client goes.
    Hang,
    /// Says nothing until it is told to go on.
    Await(Arc<Notify>),
}

pub(crate) fn write(text: impl AsRef<[u8]>) -> Step {
    Step::Write(text.as_ref().to_vec())
}

/// A whole answer with a length.
pub(crate) fn answer(status: u16, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![write(format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}"
    ))]
}

/// One request, as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Which connection, counted from 0.
    pub(crate) connection: usize,
    /// The head's text.
    pub(crate) head: String,
    /// The body's bytes.
    pub(crate) body: Vec<u8>,
}

/// Decides what is done with the request of this number, counted from 0 over all connections.
type Script = Arc<dyn Fn(usize) -> Vec<Step> + Send + Sync>;

#[derive(Clone, Debug, Default)]
struct Counts {
    accepted: Vec<SocketAddr>,
    open: usize,
    requests: usize,
}

/// A listening server; its tasks end with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    counts: watch::Sender<Counts>,
    seen: Arc<Mutex<Vec<Seen>>>,
    script: Script,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Self {
        Self::listen(script, None).await
    }

    pub(crate) async fn start_tls(
        acceptor: TlsAcceptor,
        script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        Self::listen(script, Some(acceptor)).await
    }

    async fn listen(
        script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static,
        acceptor: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            counts: watch::Sender::new(Counts::default()),
            seen: Arc::default(),
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
                tokio::spawn(accepting.clone().connection(stream, number, acceptor.clone()));
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.counts.borrow().accepted.len()
    }

    /// Ends once this many requests have been read whole.
    pub(crate) async fn has_seen(&self, requests: usize) {
        self.wait_for(|counts| counts.requests >= requests).await;
    }

    /// Ends once the client has no connection open.
    pub(crate) async fn is_alone(&self) {
        self.wait_for(|counts| counts.open == 0).await;
    }

    /// Ends once every connection made before this call was accepted and closed again: connections are accepted in
    /// order, so one of our own comes after them.
    pub(crate) async fn is_alone_after_all(&self) {
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

    async fn connection(self, stream: TcpStream, number: usize, acceptor: Option<TlsAcceptor>) {
        match acceptor {
            None => {
                let mut stream = stream;
                if let Ended::Reset = self.serve(&mut stream, number).await {
                    stream.set_zero_linger().unwrap();
                }
            }
            Some(acceptor) => {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    self.serve(&mut stream, number).await;
                }
            }
        }
        self.counts.send_modify(|counts| counts.open -= 1);
    }

    async fn serve(&self, stream: &mut (impl AsyncRead + AsyncWrite + Unpin), number: usize) -> Ended {
        while let Some((head, body)) = read_request(stream).await {
            self.seen.lock().unwrap().push(Seen {
                connection: number,
                head,
                body,
            });
            let mut nth = 0;
            self.counts.send_modify(|counts| {
                nth = counts.requests;
                counts.requests += 1;
            });
            for step in (self.script)(nth) {
                match step {
                    Step::Write(bytes) => {
                        if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                            return Ended::Closed;
                        }
                        // Lets the client see this piece apart from the next.
                        tokio::task::yield_now().await;
                    }
                    Step::Await(word) => word.notified().await,
                    Step::Close => return Ended::Closed,
                    Step::Reset => return Ended::Reset,
                    Step::Hang => {
                        let mut rest = [0; 64];
                        while let Ok(1..) = stream.read(&mut rest).await {}
                        return Ended::Closed;
                    }
                }
            }
        }
        Ended::Closed
    }
}

enum Ended {
    Closed,
    Reset,
}

/// Reads a head and, where it says so, a body. `None` is a client that left.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let head_bytes = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let body = bytes.split_off(head_bytes);
    let head = String::from_utf8(bytes).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let mut body = body;
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some((head, body))
}
