//! Plays a score over HTTP/2, as far as one stream can.

use super::Order;
use crate::net::dialect::{self, Answer};
use crate::net::exchange::Exchange;
use crate::net::pace::Pace;
use crate::net::score::{Body, Claim, Ending, Finish, Opening, Pieces, Score};
use crate::script::ErrorCode;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, SendStream};
use http::{HeaderName, HeaderValue, Response};
use seawall_core::time::Duration;
use std::future::poll_fn;
use std::task::Poll;

/// How much is asked of a stream's window at once.
const PIECE_BYTES_MAX: usize = 64 * 1024;
/// Headers that HTTP/2 does not have (RFC 9113, 8.2.2); a client takes an answer with one for broken.
const CONNECTION_HEADERS: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// How a stream's part went.
pub(super) enum Played {
    /// To its end.
    Whole,
    /// The client left before that.
    ClientLeft,
    /// Up to RST_STREAM.
    Reset(ErrorCode),
    /// Up to what takes the connection.
    Falls(Order),
}

/// The client gave the stream up, or is gone.
struct Gone;

impl From<h2::Error> for Gone {
    fn from(_error: h2::Error) -> Self {
        Self
    }
}

/// Whether something follows on the stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    No,
    Yes,
}

/// Sends one stream's answer.
pub(super) struct Player<'p> {
    pace: &'p Pace,
    respond: SendResponse<Bytes>,
    /// Once the head is sent.
    body: Option<SendStream<Bytes>>,
}

impl<'p> Player<'p> {
    pub(super) fn new(pace: &'p Pace, respond: SendResponse<Bytes>) -> Self {
        Self {
            pace,
            respond,
            body: None,
        }
    }

    /// Plays it as far as the stream can.
    pub(super) async fn play(&mut self, score: Score, method: &str, exchange: &mut Exchange<'_>) -> Played {
        let ending = score.ending;
        match self.send_all(score, method, exchange).await {
            Ok(Some(order)) => return Played::Falls(order),
            Ok(None) => {}
            Err(Gone) => return Played::ClientLeft,
        }
        match ending {
            Ending::Done => Played::Whole,
            Ending::Reset if exchange.has_sent() => Played::Falls(Order::DeliverAndReset),
            Ending::Reset => Played::Falls(Order::Reset),
            // A bad chunk is composed for HTTP/1.1 alone.
            Ending::Close | Ending::BadChunk => Played::Falls(Order::Close),
            Ending::HalfClose => Played::Falls(Order::HalfClose),
            Ending::ResetStream(code) => Played::Reset(code),
            Ending::Goaway(code) => Played::Falls(Order::Goaway(code)),
            Ending::Hang => {
                exchange.show();
                let _kept = self.pace.keep_waiting();
                self.left().await;
                Played::ClientLeft
            }
        }
    }

    /// Sends a whole answer that is in no journal.
    pub(super) async fn answer(&mut self, answer: &Answer, method: &str) {
        let bodiless = answer.is_bodiless() || method == "HEAD" || answer.body.is_empty();
        let length = Some(answer.body.len() as u64);
        let last = if bodiless { Last::Yes } else { Last::No };
        if self.head(answer, length, last).is_ok() && !bodiless {
            // A client that left wants no answer.
            self.data(&answer.body, Last::Yes, |_, _| ()).await.ok();
        }
    }

    /// Gives the stream up.
    pub(super) fn reset(&mut self, code: ErrorCode) {
        let reason = Reason::from(code.number());
        match &mut self.body {
            Some(body) => body.send_reset(reason),
            None => self.respond.send_reset(reason),
        }
    }

    /// Everything up to the ending.
    async fn send_all(
        &mut self,
        score: Score,
        method: &str,
        exchange: &mut Exchange<'_>,
    ) -> Result<Option<Order>, Gone> {
        self.wait(score.delay, exchange).await?;
        exchange.settle();
        match score.opening {
            Opening::Silent => return Ok(None),
            Opening::Garbage(bytes) => {
                exchange.answering(None);
                exchange.sent(bytes.len() as u64);
                return Ok(Some(Order::Garbage(bytes)));
            }
            // Slow heads are composed for HTTP/1.1 alone: here a head is one frame.
            Opening::Whole | Opening::Slow(_) => {}
        }
        let answer = &score.answer;
        let length = match score.claim {
            Claim::Bytes(bytes) => Some(bytes),
            Claim::Open => None,
        };
        let nothing = matches!(score.body, Body::Whole | Body::Slow(_)) && answer.body.is_empty();
        let bodiless = answer.is_bodiless() || method == "HEAD" || nothing;
        let ends = match score.ending.finish() {
            Finish::Right => Last::Yes,
            Finish::Fault => Last::No,
        };
        let last = if bodiless { ends } else { Last::No };
        exchange.answering(Some(answer.status));
        if last == Last::Yes {
            exchange.ending();
        }
        exchange.sent(self.head(answer, length, last)?);
        if bodiless {
            return Ok(None);
        }
        match score.body {
            Body::Whole => self.data(&answer.body, ends, counted(exchange)).await?,
            Body::Slow(pieces) => {
                return self
                    .slowly(&answer.body, pieces, ends, exchange)
                    .await
                    .map(|()| None);
            }
            Body::Parts { parts, gap } => {
                for (place, part) in parts.enumerate() {
                    if place > 0 {
                        self.wait(gap, exchange).await?;
                    }
                    self.data(&part.bytes, Last::No, counted(exchange)).await?;
                    exchange.said(part.kind);
                }
                if ends == Last::Yes {
                    self.data(&[], ends, counted(exchange)).await?;
                }
            }
        }
        Ok(None)
    }

    async fn slowly(
        &mut self,
        bytes: &[u8],
        pieces: Pieces,
        ends: Last,
        exchange: &mut Exchange<'_>,
    ) -> Result<(), Gone> {
        let count = bytes.len().div_ceil(pieces.bytes);
        for (place, piece) in bytes.chunks(pieces.bytes).enumerate() {
            if place > 0 {
                self.wait(pieces.gap, exchange).await?;
            }
            let last = if place + 1 == count { ends } else { Last::No };
            self.data(piece, last, counted(exchange)).await?;
        }
        Ok(())
    }

    /// Sends the head; gives what is counted of it.
    fn head(&mut self, answer: &Answer, length: Option<u64>, last: Last) -> Result<u64, Gone> {
        let (response, counted) = match head(answer, length) {
            Ok(made) => made,
            Err(Unsayable(name)) => {
                let message = format!("HTTP/2 cannot say the scripted header {name}");
                let mut refusal = dialect::refusal(500, &message);
                refusal.fault = Some(dialect::NOT_SERVED.into());
                head(&refusal, None).map_err(|Unsayable(_)| Gone)?
            }
        };
        self.body = Some(self.respond.send_response(response, last == Last::Yes)?);
        Ok(counted)
    }

    /// Sends DATA, as far as the client's windows let it. `going` hears of each piece before it goes: how long it is, and
    /// whether it is the stream's last.
    async fn data(
        &mut self,
        mut bytes: &[u8],
        last: Last,
        mut going: impl FnMut(u64, Last),
    ) -> Result<(), Gone> {
        let body = self.body.as_mut().ok_or(Gone)?;
        if bytes.is_empty() {
            going(0, last);
            body.send_data(Bytes::new(), last == Last::Yes)?;
            return Ok(());
        }
        while !bytes.is_empty() {
            let wanted = bytes.len().min(PIECE_BYTES_MAX);
            body.reserve_capacity(wanted);
            let granted = poll_fn(|context| {
                if body.poll_reset(context).is_ready() {
                    return Poll::Ready(Err(Gone));
                }
                match body.capacity() {
                    0 => match body.poll_capacity(context) {
                        Poll::Ready(Some(Ok(granted))) => Poll::Ready(Ok(granted)),
                        Poll::Ready(Some(Err(_)) | None) => Poll::Ready(Err(Gone)),
                        Poll::Pending => Poll::Pending,
                    },
                    granted => Poll::Ready(Ok(granted)),
                }
            })
            .await?;
            let (piece, rest) = bytes.split_at(granted.min(wanted));
            bytes = rest;
            if !piece.is_empty() {
                let last = if rest.is_empty() { last } else { Last::No };
                going(piece.len() as u64, last);
                body.send_data(Bytes::copy_from_slice(piece), last == Last::Yes)?;
            }
        }
        Ok(())
    }

    /// Waits on purpose, and sees if the client gives the stream up meanwhile.
    async fn wait(&mut self, length: Duration, exchange: &mut Exchange<'_>) -> Result<(), Gone> {
        if length.is_zero() {
            return Ok(());
        }
        exchange.show();
        let pace = self.pace;
        tokio::select! {
            () = pace.pause(length) => Ok(()),
            () = self.left() => Err(Gone),
        }
    }

    /// Waits until the client gives the stream up.
    async fn left(&mut self) {
        poll_fn(|context| match &mut self.body {
            Some(body) => body.poll_reset(context).map(|_| ()),
            None => self.respond.poll_reset(context).map(|_| ()),
        })
        .await;
    }
}

/// Counts what goes, so that the journal is right about a client that leaves in the middle, and frees the attempt's place
/// before the piece by which the client learns that it is over.
fn counted(exchange: &mut Exchange<'_>) -> impl FnMut(u64, Last) {
    |bytes, last| {
        if last == Last::Yes {
            exchange.ending();
        }
        exchange.sent(bytes);
    }
}

/// A header that HTTP/2 has no form for.
struct Unsayable(String);

/// The head, and what is counted of it: names and values, as nobody knows what they take compressed.
fn head(answer: &Answer, length: Option<u64>) -> Result<(Response<()>, u64), Unsayable> {
    let mut response = Response::new(());
    *response.status_mut() =
        http::StatusCode::from_u16(answer.status).map_err(|_| Unsayable(":status".to_owned()))?;
    let mut counted = 3;
    let length = length
        .filter(|_| !answer.is_bodiless())
        .map(|length| length.to_string());
    let length = length.as_deref().map(|length| ("content-length", length));
    for (name, value) in answer.fields().chain(length) {
        if CONNECTION_HEADERS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
        {
            continue;
        }
        let unsayable = || Unsayable(name.to_owned());
        counted += (name.len() + value.len()) as u64;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsayable())?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| unsayable())?;
        response.headers_mut().append(name, value);
    }
    Ok((response, counted))
}
