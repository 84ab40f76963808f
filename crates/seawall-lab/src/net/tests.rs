use super::*;
use serde_json::Value;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

mod faults;
mod http;
mod http2;
mod limits;
mod listener;
mod profiles;
mod providers;
mod storm;
mod streams;
mod work;

/// Long enough for a machine that is loaded and slow; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(600);

/// How a raw client saw a connection end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Fin,
    Rst,
}

/// Reads to the end of the connection.
pub(super) async fn read_out(stream: &mut TcpStream) -> (String, End) {
    let mut bytes = Vec::new();
    let end = tokio::time::timeout(PATIENCE, async {
        loop {
            match stream.read_buf(&mut bytes).await {
                Ok(0) => return End::Fin,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return End::Rst,
                Err(error) => panic!("unexpected: {error}"),
            }
        }
    })
    .await
    .expect("the mock ends the connection");
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

/// Sends bytes on a connection of their own and reads to its end.
pub(super) async fn raw(mock: &Mock, bytes: &str) -> (String, End) {
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    read_out(&mut stream).await
}

/// One request that asks to close, one answer.
pub(super) async fn ask(mock: &Mock, method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let (answer, end) = raw(mock, &request).await;
    assert_eq!(end, End::Fin, "{answer}");
    answer
}

pub(super) fn status(answer: &str) -> u16 {
    answer
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("no status: {answer:?}"))
}

pub(super) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split("\r\n\r\n").next()?;
    head.lines()
        .find_map(|line| line.split_once(": ").filter(|(key, _)| *key == name))
        .map(|(_, value)| value)
}

pub(super) fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

pub(super) fn json(answer: &str) -> Value {
    serde_json::from_str(body(answer)).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn journal_entry() -> Attempt {
    exchange::unread(1, 1, seawall_core::time::Instant::START)
}

/// Reads exactly one answer with a length from a connection that stays open.
async fn one_answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = async {
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let length = header(&text, "content-length").and_then(|length| length.parse().ok());
            if length == Some(body(&text).len()) && text.contains("\r\n\r\n") {
                return text;
            }
            assert_ne!(
                stream.read_buf(&mut bytes).await.unwrap(),
                0,
                "ended early: {text}"
            );
        }
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .expect("an answer comes")
}
