//! What a raw client saw: every byte with its virtual time, how the connection ended, and what the journal says of it.
//!
//! What can go wrong: a test of a fault that asks another HTTP library trusts that library with the answer. So this is
//! a socket that is written to and read from, and nothing more. The mock's clock is cranked: it is turned only when the
//! mock waits for it and every byte that was sent before has been read, so that times are exact on any machine.

use super::super::*;
use seawall::crank::CrankedClock;
use seawall_core::time::{Duration, Instant};
use std::fmt::Write;

/// What a plain client asks.
pub(super) const GET: &str = "GET /report HTTP/1.1\r\nhost: mock\r\n\r\n";
/// What a client of a model asks that wants a stream.
pub(super) const CHAT_BODY: &str =
    r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Why?"}]}"#;
/// Asked once everything is over, to see whether the connection goes on; a fault must not announce its end.
const AFTER: &[u8] = b"GET /after HTTP/1.1\r\nconnection: close\r\n\r\n";
/// What is sent into a connection that the mock has half closed: more than any buffer on the way holds.
const MORE_BYTES: usize = 8 * 1024 * 1024;
/// How many equal bytes in a row are shown by their number.
const RUN_MIN: usize = 12;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It did not: the next request on it was answered.
    GoesOn,
    /// FIN.
    Fin,
    /// FIN, and the mock takes what is still sent.
    FinAndReads,
    /// ECONNRESET.
    Rst,
    /// Not a byte more, until the client left.
    Silence,
}

/// Bytes that came at one time.
struct Group {
    at: Instant,
    bytes: Vec<u8>,
}

/// What one raw client saw.
pub(super) struct Seen {
    groups: Vec<Group>,
    pub(super) ended: Ended,
    pub(super) ended_at: Instant,
    pub(super) attempts: Vec<Attempt>,
}

/// The request of a client of a model that wants a stream.
pub(super) fn chat() -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n\r\n{CHAT_BODY}",
        CHAT_BODY.len()
    )
}

/// Lets one raw client send these bytes, which are so many requests, to a mock whose every route has this script.
pub(super) async fn see(script: &str, requests: &str, count: usize) -> Seen {
    let clock = CrankedClock::new();
    let mock = Mock::builder()
        .route("GET /after = 200 body=on")
        .route(format!("* /* = {script}"))
        .clock(Arc::new(clock.clone()))
        .start()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    tokio::time::timeout(PATIENCE, Client::new(&mock, clock, count).run(requests))
        .await
        .unwrap_or_else(|_| panic!("`{script}` comes to no end: {:?}", mock.journal()))
}

struct Client<'m> {
    mock: &'m Mock,
    clock: CrankedClock,
    attempts: usize,
    groups: Vec<Group>,
    received: u64,
    /// How many bytes were there before the last question.
    asked_after: Option<u64>,
}

impl<'m> Client<'m> {
    fn new(mock: &'m Mock, clock: CrankedClock, attempts: usize) -> Self {
        Self {
            mock,
            clock,
            attempts,
            groups: Vec::new(),
            received: 0,
            asked_after: None,
        }
    }

    async fn run(mut self, requests: &str) -> Seen {
        let mut stream = TcpStream::connect(self.mock.address()).await.unwrap();
        stream.write_all(requests.as_bytes()).await.unwrap();
        let ended = self.watch(&mut stream).await;
        let ended_at = self.clock.now();
        let ended = self.what_end(ended, &mut stream).await;
        drop(stream);
        self.mock.quiet().await;
        let mut attempts = self.mock.journal().attempts;
        attempts.retain(|attempt| attempt.path != "/after");
        Seen {
            groups: self.groups,
            ended,
            ended_at,
            attempts,
        }
    }

    async fn watch(&mut self, stream: &mut TcpStream) -> Ended {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match stream.try_read(&mut buffer) {
                Ok(0) => return Ended::Fin,
                Ok(read) => {
                    self.take(&buffer[..read]);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ended::Rst,
                Err(error) => panic!("unexpected: {error}"),
            }
            let journal = self.mock.journal();
            let sent: u64 = journal.attempts.iter().map(|attempt| attempt.bytes_out).sum();
            let over = journal.attempts.len() == self.attempts && journal.open == 0;
            if self.received == sent && self.mock.kept_waiting() > 0 {
                if self.clock.step().is_none() {
                    return Ended::Silence;
                }
            } else if self.received == sent && over && self.asked_after.is_none() {
                self.asked_after = Some(self.received);
                match stream.write_all(AFTER).await {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ended::Rst,
                    Err(error) => panic!("unexpected: {error}"),
                }
            }
            // The mock runs on the same thread: whoever was woken has run when this is over.
            tokio::task::yield_now().await;
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        let at = self.clock.now();
        match self.groups.last_mut() {
            Some(group) if group.at == at => group.bytes.extend_from_slice(bytes),
            Some(_) | None => self.groups.push(Group {
                at,
                bytes: bytes.to_vec(),
            }),
        }
    }

    /// Tells an end from an end: by the answer to the question after, or by what the mock does with more bytes.
    async fn what_end(&mut self, ended: Ended, stream: &mut TcpStream) -> Ended {
        if ended != Ended::Fin {
            return ended;
        }
        if let Some(before) = self.asked_after.filter(|before| *before < self.received) {
            let last = self.groups.last_mut().expect("what was received is kept");
            let answer = last
                .bytes
                .split_off(last.bytes.len() - usize::try_from(self.received - before).unwrap());
            let answer = String::from_utf8(answer).unwrap();
            assert_eq!((status(&answer), body(&answer)), (200, "on"));
            self.groups.retain(|group| !group.bytes.is_empty());
            return Ended::GoesOn;
        }
        if self.mock.kept_waiting() > 0 {
            stream.write_all(&vec![b'x'; MORE_BYTES]).await.unwrap();
            assert_eq!(self.mock.journal().open, 1);
            return Ended::FinAndReads;
        }
        Ended::Fin
    }
}

impl Seen {
    /// Everything that came.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.groups
            .iter()
            .flat_map(|group| group.bytes.iter().copied())
            .collect()
    }

    /// Byte groups with their times, and the end.
    pub(super) fn wire(&self) -> String {
        let mut text = String::new();
        let mut rest = &self.groups[..];
        while let Some(first) = rest.first() {
            let run = run(rest);
            let size = first.bytes.len();
            match run.gap {
                None => writeln!(text, "at {}: {}", first.at, counted(size)),
                Some(gap) => writeln!(
                    text,
                    "from {} on, every {gap}, {} times: {}",
                    first.at,
                    run.length,
                    counted(size)
                ),
            }
            .unwrap();
            let bytes: Vec<u8> = rest[..run.length]
                .iter()
                .flat_map(|group| group.bytes.clone())
                .collect();
            text += &shown(&bytes);
            rest = &rest[run.length..];
        }
        let ended = match self.ended {
            Ended::GoesOn => "the connection goes on".to_owned(),
            Ended::Fin => format!("at {}: FIN", self.ended_at),
            Ended::FinAndReads => format!("at {}: FIN; what is sent is still read", self.ended_at),
            Ended::Rst => format!("at {}: RST", self.ended_at),
            Ended::Silence => format!("after {}: silence", self.ended_at),
        };
        text + &ended + "\n"
    }

    /// The journal's word on the same.
    pub(super) fn journal(&self) -> String {
        let mut text = String::new();
        for attempt in &self.attempts {
            let time = |time: Option<Instant>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
            writeln!(
                text,
                "journal: status {}, fault {}, {} in, {} out, answered {}, client left {}, ended {}",
                attempt
                    .status
                    .map_or_else(|| "-".to_owned(), |status| status.to_string()),
                attempt.fault.as_deref().unwrap_or("-"),
                attempt.bytes_in,
                attempt.bytes_out,
                time(attempt.answered),
                time(attempt.client_left),
                time(attempt.ended)
            )
            .unwrap();
        }
        text
    }
}

struct Run {
    length: usize,
    gap: Option<Duration>,
}

/// How many groups from the first on have its size and follow each other evenly.
fn run(groups: &[Group]) -> Run {
    let alone = Run { length: 1, gap: None };
    let [first, second, ..] = groups else {
        return alone;
    };
    let gap = second.at.since(first.at);
    let even = groups
        .windows(2)
        .take_while(|two| two[1].at.since(two[0].at) == gap && two[1].bytes.len() == first.bytes.len());
    match even.count() + 1 {
        1 | 2 => alone,
        length => Run {
            length,
            gap: Some(gap),
        },
    }
}

fn counted(bytes: usize) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        more => format!("{more} bytes"),
    }
}

/// Bytes as text, exactly: a line for each line, `\n` and what is no ASCII escaped, long runs counted.
pub(super) fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        text += "    ";
        let mut rest = line;
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|byte| *byte == first).count();
            let escaped = match first {
                b'"' | b'\'' => char::from(*first).to_string(),
                other => std::ascii::escape_default(*other).to_string(),
            };
            if run >= RUN_MIN {
                write!(text, "[{run} times `{escaped}`]").unwrap();
            } else {
                text += &escaped.repeat(run);
            }
            rest = &rest[run..];
        }
        text.push('\n');
    }
    text
}
