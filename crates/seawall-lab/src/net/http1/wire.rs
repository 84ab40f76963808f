//! One connection's bytes: reading requests, sending answers, and noticing that the client left.
//!
//! What can go wrong: a request that is read in part leaves bytes in the socket, and a close then turns into a
//! reset. So every request is read to its end before it is answered. Everything a peer sends is bounded: the head,
//! a chunk's line, the body, and what may arrive while an answer waits.

use super::{Keep, Request};
use crate::net::exchange::{BODY_BYTES_MAX, BODY_KEPT_MAX, HEAD_BYTES_MAX};
use crate::net::pace::{DRAIN_MAX, Pace, moment};
use crate::net::socket::{Socket, Waited};
use seawall_core::time::Duration;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The most headers of a request.
const HEADERS_MAX: usize = 128;
/// The longest line of chunked coding, in bytes.
const CHUNK_LINE_MAX: usize = 4 * 1024;
/// The most trailer lines.
const TRAILERS_MAX: usize = 64;
/// How much of the next request is taken in while an answer waits.
const READ_AHEAD_MAX: usize = 64 * 1024;
/// How much is asked of the system at once.
const READ_STEP: usize = 4 * 1024;

/// A request's head, and what it says about the connection.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) request: Request,
    pub(super) length: Length,
    pub(super) keep: Keep,
    /// Whether the client knows chunks.
    pub(super) chunks: bool,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    Bytes(u64),
    Chunked,
}

/// Why no request came.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The client left.
    Left,
    /// What came is no request, or too much of one.
    Bad { status: u16, message: &'static str },
}

impl From<io::Error> for ReadError {
    fn from(_error: io::Error) -> Self {
        Self::Left
    }
}

/// What the client may still have to receive, also from answers before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Nothing,
    Something,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Socket,
    sent: Sent,
    // Read, and not used yet.
    buffer: Vec<u8>,
    pace: Pace,
}

impl Wire {
    pub(super) fn new(stream: Socket, read: Vec<u8>, pace: Pace) -> Self {
        Self {
            stream,
            sent: Sent::Nothing,
            buffer: read,
            pace,
        }
    }

    /// Reads the next head; waits for it as long as the client keeps the connection.
    pub(super) async fn head(&mut self) -> Result<Head, ReadError> {
        let mut searched = 0;
        let mut blank_bytes = 0;
        let end = loop {
            // Empty lines before a request are old clients' habit (RFC 9112, 2.2).
            if searched == 0 {
                let blank = self
                    .buffer
                    .iter()
                    .take_while(|b| matches!(b, b'\r' | b'\n'))
                    .count();
                self.buffer.drain(..blank);
                blank_bytes += blank;
            }
            let end = head_end(&self.buffer, searched);
            searched = self.buffer.len();
            if end.unwrap_or(searched) + blank_bytes > HEAD_BYTES_MAX {
                return Err(ReadError::Bad {
                    status: 431,
                    message: "the head is too long",
                });
            }
            match end {
                Some(end) => break end,
                None => self.fill().await?,
            }
        };
        let mut head = parse_head(&self.buffer[..end])?;
        head.request.bytes += blank_bytes as u64;
        self.buffer.drain(..end);
        Ok(head)
    }

    /// Reads the body to its end. Gives what is kept of it and how many bytes it took on the wire.
    pub(super) async fn body(&mut self, length: Length) -> Result<(Vec<u8>, u64), ReadError> {
        let mut kept = Vec::new();
        match length {
            Length::Bytes(bytes) => {
                self.take(bytes, &mut kept).await?;
                Ok((kept, bytes))
            }
            Length::Chunked => {
                let bytes = self.chunks(&mut kept).await?;
                Ok((kept, bytes))
            }
        }
    }

    async fn chunks(&mut self, kept: &mut Vec<u8>) -> Result<u64, ReadError> {
        let (mut wire_bytes, mut body_bytes) = (0_u64, 0_u64);
        loop {
            let line = self.line().await?;
            wire_bytes += line.len() as u64;
            let size = chunk_size(&line).ok_or(ReadError::Bad {
                status: 400,
                message: "a chunk's length is no number",
            })?;
            body_bytes = body_bytes.saturating_add(size);
            if body_bytes > BODY_BYTES_MAX {
                return Err(TOO_LARGE);
            }
            if size == 0 {
                break;
            }
            self.take(size, kept).await?;
            let after = self.line().await?;
            if !after.trim_ascii().is_empty() {
                return Err(ReadError::Bad {
                    status: 400,
                    message: "a chunk is longer than it says",
                });
            }
            wire_bytes += size + after.len() as u64;
        }
        for _ in 0..TRAILERS_MAX {
            let line = self.line().await?;
            wire_bytes += line.len() as u64;
            if line.trim_ascii().is_empty() {
                return Ok(wire_bytes);
            }
        }
        Err(ReadError::Bad {
            status: 431,
            message: "too many trailers",
        })
    }

    async fn take(&mut self, bytes: u64, kept: &mut Vec<u8>) -> Result<(), ReadError> {
        let mut left = bytes;
        while left > 0 {
            if self.buffer.is_empty() {
                self.fill().await?;
            }
            let some = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            let room = BODY_KEPT_MAX - kept.len();
            kept.extend_from_slice(&self.buffer[..some.min(room)]);
            self.buffer.drain(..some);
            left -= some as u64;
        }
        Ok(())
    }

    async fn line(&mut self) -> Result<Vec<u8>, ReadError> {
        loop {
            if let Some(end) = self.buffer.iter().take(CHUNK_LINE_MAX).position(|b| *b == b'\n') {
                return Ok(self.buffer.drain(..=end).collect());
            }
            if self.buffer.len() >= CHUNK_LINE_MAX {
                return Err(ReadError::Bad {
                    status: 400,
                    message: "a line of the body's framing is too long",
                });
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), ReadError> {
        self.buffer.reserve(READ_STEP);
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ReadError::Left),
            _ => Ok(()),
        }
    }

    /// Sends bytes.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent = Sent::Something;
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Sends as many of these bytes as the system takes now, at least one of them.
    pub(super) async fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sent = Sent::Something;
        match self.stream.write(bytes).await? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            sent => Ok(sent),
        }
    }

    /// Sees that what was sent is on its way.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().await
    }

    /// Waits until everything that was sent on this connection is with the client, or the client has left.
    pub(super) async fn delivered(&mut self) -> Waited {
        match self.sent {
            Sent::Nothing => Waited::Whole,
            Sent::Something => self.stream.delivered().await,
        }
    }

    /// Waits, and sees if the client leaves meanwhile. A client that ends its sending side counts as gone, as it
    /// does with most servers.
    pub(super) async fn wait(&mut self, length: Duration) -> Waited {
        if length.is_zero() {
            return Waited::Whole;
        }
        let pace = self.pace.clone();
        match self.while_there(pace.pause(length)).await {
            Some(()) => Waited::Whole,
            None => Waited::ClientLeft,
        }
    }

    /// Waits for something; `None` where the client leaves before.
    pub(super) async fn while_there<T>(&mut self, something: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(something);
        loop {
            let room = self.buffer.len() < READ_AHEAD_MAX;
            tokio::select! {
                // In this order: a client that leaves at the very time has its answer sent all the same, each time.
                biased;
                end = &mut something => return Some(end),
                more = self.fill(), if room => if more.is_err() {
                    return None;
                },
            }
        }
    }

    /// Waits until the client leaves, whatever it sends.
    pub(super) async fn until_left(&mut self) {
        loop {
            self.buffer.clear();
            if self.fill().await.is_err() {
                return;
            }
        }
    }

    /// Ends the sending side (FIN), then reads what still comes for a moment: closing a socket with unread bytes
    /// would send a reset in place of the end.
    pub(super) async fn close(mut self) {
        if self.end_sending().await.is_ok() {
            tokio::select! {
                () = self.until_left() => {}
                () = moment(DRAIN_MAX) => {}
            }
        }
    }

    /// Ends the sending side (FIN).
    pub(super) async fn end_sending(&mut self) -> io::Result<()> {
        self.stream.shutdown().await
    }

    /// Resets the connection (RST).
    pub(super) fn reset(self) -> io::Result<()> {
        self.stream.reset()
    }
}

const TOO_LARGE: ReadError = ReadError::Bad {
    status: 413,
    message: "the body is too large",
};

/// Where the head ends, looking only at what came since `searched`.
fn head_end(bytes: &[u8], searched: usize) -> Option<usize> {
    // The end mark may straddle what was there before.
    let from = searched.saturating_sub(3);
    (from..bytes.len()).find_map(|at| {
        let rest = &bytes[at..];
        if rest.starts_with(b"\n\r\n") {
            Some(at + 3)
        } else if rest.starts_with(b"\n\n") {
            Some(at + 2)
        } else {
            None
        }
    })
}

fn parse_head(bytes: &[u8]) -> Result<Head, ReadError> {
    let bad = |message| ReadError::Bad { status: 400, message };
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => {
            return Err(ReadError::Bad {
                status: 431,
                message: "too many headers",
            });
        }
        Err(httparse::Error::Version) => {
            return Err(ReadError::Bad {
                status: 505,
                message: "this mock speaks HTTP/1.1 only",
            });
        }
        Ok(httparse::Status::Partial) | Err(_) => return Err(bad("the head is no HTTP")),
    }
    let headers: Vec<(String, Vec<u8>)> = request
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), header.value.to_vec()))
        .collect();
    let length = body_length(&headers)?;
    let asked_to_close = headers.iter().any(|(name, value)| {
        name == "connection"
            && value
                .split(|b| *b == b',')
                .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
    });
    let chunks = request.version == Some(1);
    let keep = match chunks && !asked_to_close {
        true => Keep::Alive,
        false => Keep::Close,
    };
    Ok(Head {
        request: Request {
            method: request.method.unwrap_or_default().to_owned(),
            target: origin_form(request.path.unwrap_or_default()).to_owned(),
            headers,
            bytes: bytes.len() as u64,
        },
        length,
        keep,
        chunks,
    })
}

/// `http://host/path` as a proxy's client sends it, without what stands before the path.
fn origin_form(target: &str) -> &str {
    match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |at| &rest[at..]),
        Some(_) | None => target,
    }
}

/// RFC 9112, 6.3, without its leniencies: a length that two readers may read differently is refused.
fn body_length(headers: &[(String, Vec<u8>)]) -> Result<Length, ReadError> {
    let bad = |message| Err(ReadError::Bad { status: 400, message });
    let all = |name: &'static str| {
        headers
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.trim_ascii())
    };
    let mut codings = all("transfer-encoding");
    let mut lengths = all("content-length");
    match (codings.next(), lengths.next()) {
        (None, None) => Ok(Length::Bytes(0)),
        (Some(_), Some(_)) => bad("both a length and a transfer coding"),
        (Some(coding), None) => match coding.eq_ignore_ascii_case(b"chunked") && codings.next().is_none() {
            true => Ok(Length::Chunked),
            false => bad("a transfer coding other than chunked"),
        },
        (None, Some(length)) => {
            if lengths.any(|other| other != length) {
                return bad("two lengths that differ");
            }
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let text = std::str::from_utf8(length).unwrap_or_default();
            match text.parse::<u64>() {
                Ok(bytes) if digits && bytes <= BODY_BYTES_MAX => Ok(Length::Bytes(bytes)),
                Ok(_) | Err(_) if digits => Err(TOO_LARGE),
                Ok(_) | Err(_) => bad("a length that is no number"),
            }
        }
    }
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|b| *b == b';').next()?.trim_ascii();
    let hex = !digits.is_empty() && digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| hex)?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests;
