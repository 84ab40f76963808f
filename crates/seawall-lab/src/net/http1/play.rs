//! Plays a score over HTTP/1.1.

use super::wire::Wire;
use super::{Keep, Then};
use crate::net::exchange::Exchange;
use crate::net::pace::Pace;
use crate::net::score::{Body, Claim, Ending, Finish, Opening, Pieces, Score};
use crate::net::socket::Waited;
use seawall_core::time::Duration;
use std::io;

/// The longest answer that is put into one write with its head; a longer one takes several writes anyway.
const JOINED_BYTES_MAX: usize = 16 * 1024;
/// What `bad-chunk` sends where the next chunk's length is due.
const BAD_CHUNK: &[u8] = b"not-a-length\r\nseawall\r\n";

/// Plays it; gives the connection back where it goes on.
pub(super) async fn play(
    wire: Wire,
    pace: &Pace,
    exchange: Exchange<'_>,
    score: Score,
    asked: Asked<'_>,
) -> Then {
    let mut player = Player {
        wire,
        pace,
        exchange,
        asked,
    };
    let ending = score.ending;
    match player.send_all(score).await {
        Ok(keep) => player.end(ending, keep).await,
        Err(Gone) => {
            player.exchange.left();
            Then::Gone
        }
    }
}

/// What the request says about its answer.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    pub(super) keep: Keep,
    /// Whether its answer may come in chunks: HTTP/1.0 knows none.
    pub(super) chunks: bool,
}

/// The client left.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_error: io::Error) -> Self {
        Self
    }
}

struct Player<'a> {
    wire: Wire,
    pace: &'a Pace,
    exchange: Exchange<'a>,
    asked: Asked<'a>,
}

impl Player<'_> {
    /// Everything up to the ending.
    async fn send_all(&mut self, score: Score) -> Result<Keep, Gone> {
        self.wait(score.delay).await?;
        self.exchange.settle();
        let chunked = score.claim == Claim::Open && self.asked.chunks;
        let (keep, said_keep) = self.keeps(&score);
        let bodiless = score.answer.is_bodiless() || self.asked.method == "HEAD";
        let framing = if chunked { Framing::Chunks } else { Framing::Bare };
        let body = match (bodiless, score.body) {
            (true, _) => None,
            (false, body) => Some(body),
        };
        let length = match score.claim {
            Claim::Bytes(bytes) => Some(bytes),
            Claim::Open => None,
        };
        let mut head = score.answer.head(length, chunked, said_keep);
        let mut whole = score.answer.body;
        let status = Some(score.answer.status);
        let last = Last::before(score.ending);
        match score.opening {
            Opening::Silent => return Ok(keep),
            Opening::Garbage(bytes) => {
                self.exchange.answering(None);
                self.send_last(bytes, last).await?;
                return Ok(keep);
            }
            Opening::Slow(pieces) => {
                self.exchange.answering(status);
                let of_all = if body.is_none() { last } else { Last::OfPart };
                self.slowly(&head, pieces, Framing::Bare, of_all).await?;
            }
            Opening::Whole => {
                let joined = matches!(body, Some(Body::Whole)) && !chunked && whole.len() <= JOINED_BYTES_MAX;
                if joined {
                    // In one write: most clients then have all of it in one read.
                    head.append(&mut whole);
                }
                self.exchange.answering(status);
                let of_all = if joined || body.is_none() {
                    last
                } else {
                    Last::OfPart
                };
                self.send_last(&head, of_all).await?;
                if joined {
                    return Ok(keep);
                }
            }
        }
        if let Some(body) = body {
            self.send_body(body, &whole, framing, last).await?;
            self.end_body(score.ending, framing).await?;
        }
        Ok(keep)
    }

    /// What becomes of the connection, and what the head says of that.
    fn keeps(&self, score: &Score) -> (Keep, Keep) {
        match (score.ending.finish(), score.claim) {
            // A fault is not announced.
            (Finish::Fault, Claim::Bytes(_) | Claim::Open) => (Keep::Close, self.asked.keep),
            // Nothing but the connection's end says where such a body ends.
            (Finish::Right, Claim::Open) if !self.asked.chunks => (Keep::Close, Keep::Close),
            (Finish::Right, Claim::Bytes(_) | Claim::Open) => (self.asked.keep, self.asked.keep),
        }
    }

    async fn send_body(
        &mut self,
        body: Body,
        whole: &[u8],
        framing: Framing,
        last: Last,
    ) -> Result<(), Gone> {
        match body {
            Body::Whole => self.framed_last(whole, framing, last).await,
            Body::Slow(pieces) => self.slowly(whole, pieces, framing, last).await,
            Body::Parts { parts, gap } => {
                for (place, part) in parts.enumerate() {
                    if place > 0 {
                        self.wait(gap).await?;
                    }
                    self.framed(&part.bytes, framing).await?;
                    self.exchange.said(part.kind);
                }
                Ok(())
            }
        }
    }

    /// What stands after the last part of a body and is still of it.
    async fn end_body(&mut self, ending: Ending, framing: Framing) -> Result<(), Gone> {
        match (ending, framing) {
            (Ending::BadChunk, _) => self.send_last(BAD_CHUNK, Last::OfAll).await,
            (Ending::Done, Framing::Chunks) => self.send_last(b"0\r\n\r\n", Last::OfAll).await,
            (Ending::Done, Framing::Bare)
            | (
                Ending::Reset
                | Ending::Close
                | Ending::Hang
                | Ending::HalfClose
                | Ending::ResetStream(_)
                | Ending::Goaway(_),
                _,
            ) => Ok(()),
        }
    }

    /// Waits on purpose. What has been sent by then is in the journal.
    async fn wait(&mut self, length: Duration) -> Result<(), Gone> {
        if length.is_zero() {
            return Ok(());
        }
        self.exchange.show();
        match self.wire.wait(length).await {
            Waited::Whole => Ok(()),
            Waited::ClientLeft => Err(Gone),
        }
    }

    async fn slowly(
        &mut self,
        bytes: &[u8],
        pieces: Pieces,
        framing: Framing,
        last: Last,
    ) -> Result<(), Gone> {
        let count = bytes.len().div_ceil(pieces.bytes);
        for (place, piece) in bytes.chunks(pieces.bytes).enumerate() {
            if place > 0 {
                self.wait(pieces.gap).await?;
            }
            match place + 1 == count {
                true => self.framed_last(piece, framing, last).await?,
                false => self.framed(piece, framing).await?,
            }
        }
        Ok(())
    }

    /// Sends bytes; frees the attempt's place before those by which the client learns that it is over. Who is slow to take
    /// all before them holds it.
    async fn send_last(&mut self, bytes: &[u8], last: Last) -> Result<(), Gone> {
        let (most, rest) = bytes.split_at(bytes.len().saturating_sub(JOINED_BYTES_MAX));
        self.send(most).await?;
        match last {
            Last::OfAll => self.exchange.ending(),
            Last::OfPart => {}
        }
        self.send(rest).await
    }

    async fn framed_last(&mut self, bytes: &[u8], framing: Framing, last: Last) -> Result<(), Gone> {
        match framing {
            Framing::Bare => self.send_last(bytes, last).await,
            // The end of chunks is a chunk of its own.
            Framing::Chunks => self.framed(bytes, framing).await,
        }
    }

    async fn framed(&mut self, bytes: &[u8], framing: Framing) -> Result<(), Gone> {
        match framing {
            Framing::Bare => self.send(bytes).await,
            // An empty chunk would be the end.
            Framing::Chunks if bytes.is_empty() => Ok(()),
            Framing::Chunks => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                self.send(&chunk).await
            }
        }
    }

    /// Sends bytes; counts them as they go, so that the journal is right about a client that leaves in the middle.
    async fn send(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        let mut left = bytes;
        if left.is_empty() {
            return Ok(());
        }
        while !left.is_empty() {
            let sent = self.wire.send_some(left).await?;
            self.exchange.sent(sent as u64);
            left = &left[sent..];
        }
        Ok(self.wire.flush().await?)
    }

    async fn keep_until_left(&mut self) {
        let _kept = self.pace.keep_waiting();
        self.wire.until_left().await;
    }

    /// Ends as the score says, once everything before is sent.
    async fn end(mut self, ending: Ending, keep: Keep) -> Then {
        match ending {
            Ending::Done => {
                drop(self.exchange);
                match keep {
                    Keep::Alive => return Then::Next(self.wire),
                    Keep::Close => self.wire.close().await,
                }
            }
            Ending::Reset => {
                let delivered = self.wire.delivered().await;
                self.exchange.ending();
                match (delivered, self.wire.reset()) {
                    (Waited::Whole, Ok(())) => drop(self.exchange),
                    // A peer that is already gone cannot be reset, which is all that may fail here.
                    (Waited::ClientLeft, _) | (_, Err(_)) => self.exchange.left(),
                }
            }
            Ending::Close | Ending::BadChunk => {
                drop(self.exchange);
                self.wire.close().await;
            }
            Ending::Hang => {
                self.exchange.show();
                self.keep_until_left().await;
                self.exchange.left();
            }
            // Composed for HTTP/2 alone; over HTTP/1.1 the nearest thing to giving up an exchange is to end it.
            Ending::ResetStream(_) | Ending::Goaway(_) => {
                drop(self.exchange);
                self.wire.close().await;
            }
            Ending::HalfClose => {
                self.exchange.show();
                if self.wire.end_sending().await.is_ok() {
                    self.keep_until_left().await;
                }
                self.exchange.left();
            }
        }
        Then::Gone
    }
}

/// Of what some bytes are the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// Of everything that the client gets: it may come again as soon as it has them.
    OfAll,
    /// Of a part after which something still comes, be it an RST or silence.
    OfPart,
}

impl Last {
    /// What the last bytes before this ending are the last of.
    const fn before(ending: Ending) -> Self {
        match ending {
            Ending::Done | Ending::Close => Self::OfAll,
            Ending::Reset
            | Ending::Hang
            | Ending::HalfClose
            | Ending::BadChunk
            | Ending::ResetStream(_)
            | Ending::Goaway(_) => Self::OfPart,
        }
    }
}

/// How a part of the body goes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Bare,
    Chunks,
}
