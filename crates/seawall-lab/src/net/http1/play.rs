//! Plays a score over HTTP/1.1.

use super::wire::{Waited, Wire};
use super::{Keep, Then};
use crate::net::exchange::Exchange;
use crate::net::pace::{DELIVERY_PAUSE, Pace, moment};
use crate::net::score::{Body, Claim, Ending, Opening, Pieces, Score};
use std::io;

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
        if self.wire.wait(score.delay).await == Waited::ClientLeft {
            return Err(Gone);
        }
        self.exchange.settle();
        let keep = match (score.ending, score.claim) {
            (Ending::Done, Claim::Open) if !self.asked.chunks => Keep::Close,
            (Ending::Done, _) => self.asked.keep,
            _ => Keep::Close,
        };
        let chunked = score.claim == Claim::Open && self.asked.chunks;
        let length = match score.claim {
            Claim::Bytes(bytes) => Some(bytes),
            Claim::Open => None,
        };
        let said_keep = match score.ending {
            Ending::Done => keep,
            // A fault is not announced.
            _ => self.asked.keep,
        };
        let head = score.answer.head(length, chunked, said_keep);
        let bodiless = score.answer.is_bodiless() || self.asked.method == "HEAD";
        match score.opening {
            Opening::Silent => return Ok(keep),
            Opening::Garbage(bytes) => {
                self.exchange.answering(None);
                self.send(bytes).await?;
                return Ok(keep);
            }
            Opening::Whole if bodiless => {
                self.exchange.answering(Some(score.answer.status));
                self.exchange.ending();
                self.send(&head).await?;
                return Ok(keep);
            }
            Opening::Whole if matches!(score.body, Body::Whole) && !chunked => {
                // In one write: most clients then have all of it in one read.
                let mut bytes = head;
                bytes.extend_from_slice(&score.answer.body);
                self.exchange.answering(Some(score.answer.status));
                if matches!(score.ending, Ending::Done | Ending::Close) {
                    self.exchange.ending();
                }
                self.send(&bytes).await?;
                return Ok(keep);
            }
            Opening::Whole => {
                self.exchange.answering(Some(score.answer.status));
                self.send(&head).await?;
            }
            Opening::Slow(pieces) => {
                self.exchange.answering(Some(score.answer.status));
                self.slowly(&head, pieces, Framing::Bare).await?;
                if bodiless {
                    return Ok(keep);
                }
            }
        }
        let framing = if chunked { Framing::Chunks } else { Framing::Bare };
        match score.body {
            Body::Whole => self.framed(&score.answer.body, framing).await?,
            Body::Slow(pieces) => self.slowly(&score.answer.body, pieces, framing).await?,
            Body::Parts { parts, gap } => {
                for (place, part) in parts.enumerate() {
                    if place > 0 && self.wire.wait(gap).await == Waited::ClientLeft {
                        return Err(Gone);
                    }
                    self.framed(&part, framing).await?;
                }
            }
        }
        if chunked && score.ending == Ending::Done {
            self.exchange.ending();
            self.send(b"0\r\n\r\n").await?;
        }
        Ok(keep)
    }

    async fn slowly(&mut self, bytes: &[u8], pieces: Pieces, framing: Framing) -> Result<(), Gone> {
        for (place, piece) in bytes.chunks(pieces.bytes).enumerate() {
            if place > 0 && self.wire.wait(pieces.gap).await == Waited::ClientLeft {
                return Err(Gone);
            }
            self.framed(piece, framing).await?;
        }
        Ok(())
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

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Gone> {
        self.wire.send(bytes).await?;
        self.exchange.sent(bytes.len() as u64);
        Ok(())
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
                if self.exchange.has_sent() {
                    moment(DELIVERY_PAUSE).await;
                }
                self.exchange.ending();
                match self.wire.reset() {
                    Ok(()) => drop(self.exchange),
                    // A peer that is already gone cannot be reset, which is all that may fail here.
                    Err(_) => self.exchange.left(),
                }
            }
            Ending::Close => {
                drop(self.exchange);
                self.wire.close().await;
            }
            Ending::BadChunk => {
                let sent = self.send(b"not-a-length\r\nseawall\r\n").await;
                match sent {
                    Ok(()) => drop(self.exchange),
                    Err(Gone) => self.exchange.left(),
                }
                self.wire.close().await;
            }
            Ending::Hang => {
                let kept = self.pace.keep_waiting();
                self.wire.until_left().await;
                drop(kept);
                self.exchange.left();
            }
            Ending::HalfClose => {
                if self.wire.end_sending().await.is_ok() {
                    let kept = self.pace.keep_waiting();
                    self.wire.until_left().await;
                    drop(kept);
                }
                self.exchange.left();
            }
        }
        Then::Gone
    }
}

/// How a part of the body goes on the wire.
#[derive(Clone, Copy)]
enum Framing {
    Bare,
    Chunks,
}
