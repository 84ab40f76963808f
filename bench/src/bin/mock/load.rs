//! Clients as cheap as they can be: raw sockets that send one fixed request and look for one fixed length.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const REQUEST: &[u8] = b"GET /plain HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

/// Connections that each keep one request in flight.
pub(crate) struct Load {
    address: String,
    connections: usize,
}

impl Load {
    pub(crate) fn new(address: &str, connections: usize) -> Self {
        Self {
            address: address.to_owned(),
            connections,
        }
    }

    /// Loads the server for so long; how many answers came.
    pub(crate) async fn run(self, length: Duration) -> u64 {
        let until = tokio::time::Instant::now() + length;
        let mut tasks = JoinSet::new();
        for _ in 0..self.connections {
            let address = self.address.clone();
            tasks.spawn(async move {
                let mut stream = connect(&address).await;
                let answer_bytes = answer(&mut stream).await;
                let mut buffer = vec![0; answer_bytes];
                let mut answered = 1_u64;
                while tokio::time::Instant::now() < until {
                    stream.write_all(REQUEST).await.expect("the server listens");
                    stream
                        .read_exact(&mut buffer)
                        .await
                        .expect("every answer is as long as the first");
                    answered += 1;
                }
                answered
            });
        }
        let mut answered = 0;
        while let Some(task) = tasks.join_next().await {
            answered += task.expect("a client does not panic");
        }
        answered
    }
}

/// One request and one whole answer.
pub(crate) async fn one(address: &str) {
    let mut stream = connect(address).await;
    answer(&mut stream).await;
}

/// So many connections with a request each, of which none is answered.
pub(crate) async fn hang(address: &str, connections: usize) -> Vec<TcpStream> {
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let mut stream = connect(address).await;
        stream.write_all(REQUEST).await.expect("the mock listens");
        streams.push(stream);
    }
    streams
}

async fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).await.expect("the server listens");
    stream.set_nodelay(true).expect("a TCP socket takes the option");
    stream
}

/// How many bytes an answer takes.
async fn answer(stream: &mut TcpStream) -> usize {
    stream.write_all(REQUEST).await.expect("the server listens");
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length: usize = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .and_then(|length| length.parse().ok())
                .expect("the answer says its length");
            assert!(head.starts_with("http/1.1 200"), "no good answer: {head}");
            if body.len() == length {
                return bytes.len();
            }
        }
        let read = stream.read_buf(&mut bytes).await.expect("the server answers");
        assert!(read > 0, "the server hung up");
    }
}
