//! A peer that says what it is told to, byte for byte, in the pieces that it is told to, and closes.

use seawall::Policy;
use seawall::ai::{Client, Dialect, Key, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A listening peer; its tasks end with the test's runtime.
pub(super) struct Peer {
    url: String,
    asked: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
}

impl Peer {
    /// Answers every request with these pieces, and closes.
    pub(super) async fn saying(pieces: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            asked: Arc::default(),
            open: Arc::default(),
        };
        let (asked, open, pieces) = (Arc::clone(&peer.asked), Arc::clone(&peer.open), Arc::new(pieces));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (asked, open, pieces) = (Arc::clone(&asked), Arc::clone(&open), Arc::clone(&pieces));
                open.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    say(stream, &asked, &pieces).await;
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        peer
    }

    /// Answers with a stream of events, cut into these pieces.
    pub(super) async fn streaming(pieces: Vec<Vec<u8>>) -> Self {
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec();
        Self::saying([vec![head], pieces].concat()).await
    }

    /// Answers with this JSON.
    pub(super) async fn answering(status: u16, more: &str, body: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n",
            body.len()
        );
        Self::saying(vec![head.into_bytes(), body.to_vec()]).await
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// How many requests came.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many connections it still talks on.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

async fn say(mut stream: TcpStream, asked: &AtomicUsize, pieces: &[Vec<u8>]) {
    stream.set_nodelay(true).unwrap();
    if !has_asked(&mut stream).await {
        return;
    }
    asked.fetch_add(1, Ordering::SeqCst);
    for piece in pieces {
        if stream.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
    // Until the other side has gone: what it has not read would be lost with a reset.
    let _ = stream.shutdown().await;
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
}

/// Reads a request to its end.
async fn has_asked(stream: &mut TcpStream) -> bool {
    let mut request = Vec::new();
    loop {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return false,
            Ok(read) => request.extend_from_slice(&part[..read]),
        }
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return true;
        }
    }
}

/// One attempt, and neither a breaker nor a budget in its way.
pub(super) fn policy() -> Policy {
    let builder = Policy::builder().retries(0).breaker(None).budget(None);
    builder.build().unwrap()
}

/// A client of the peer at this address, whose key is a known one.
pub(super) fn client(dialect: Dialect, url: &str) -> Client {
    let base_url = match dialect {
        Dialect::OpenAi => format!("{url}/v1"),
        _ => url.to_owned(),
    };
    let server = Server::of(dialect)
        .base_url(base_url)
        .key(Key::new("sk-very-secret-0123456789"));
    Client::builder().server(server).policy(policy()).build().unwrap()
}
