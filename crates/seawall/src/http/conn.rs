//! One HTTP/1.1 connection, driven by whoever holds it: no task, so nothing outlives its holder.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use seawall_core::facts::{BodyState, Broke};

use super::broken::Broken;
use super::line::{Met, Piece};
use super::outgoing::Place;
use super::socket::{Meter, Socket};

/// How often a connection is driven, at most, to become idle after its answer's last byte.
const SETTLING_TURNS: u32 = 4;

/// An open connection with its HTTP/1.1 state.
pub(super) struct Conn {
    // Dropped before the connection, which then sees that nobody reads on and no request can come.
    answer: Option<Incoming>,
    sender: SendRequest<Full<Bytes>>,
    connection: Connection<TokioIo<Socket>, Full<Bytes>>,
    meter: Arc<Meter>,
    place: Arc<Place>,
    sends: u64,
    ended: bool,
    sent_before: u64,
    answered_before: u64,
}

impl Conn {
    /// Sets up HTTP/1.1 on an open socket. Sends nothing.
    pub(super) async fn new(
        socket: Socket,
        place: Arc<Place>,
        http1: &Builder,
    ) -> Result<Self, hyper::Error> {
        let meter = socket.meter();
        let (sender, connection) = http1.handshake(TokioIo::new(socket)).await?;
        Ok(Self {
            answer: None,
            sender,
            connection,
            meter,
            place,
            sends: 0,
            ended: false,
            sent_before: 0,
            answered_before: 0,
        })
    }

    /// Sends one request and waits for the head of its answer.
    pub(super) async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Met {
        self.sends += 1;
        self.sent_before = self.meter.written_bytes();
        self.answered_before = self.meter.read_bytes();
        let mut answer = pin!(self.sender.try_send_request(request));
        let ended = &mut self.ended;
        let connection = &mut self.connection;
        let met = poll_fn(|cx| {
            drive(connection, ended, cx);
            match answer.as_mut().poll(cx) {
                Poll::Ready(met) => Poll::Ready(Some(met)),
                // hyper answers each request before its connection ends; were that to fail, this must not hang.
                Poll::Pending if *ended => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await;
        match met {
            Some(Ok(response)) => {
                let (head, answer) = response.into_parts();
                self.answer = Some(answer);
                Met::Head(head)
            }
            Some(Err(error)) => {
                let broken = Broken::from_exchange(&error.into_error(), self);
                if self.sent_bytes() == 0 {
                    Met::NeverSent(broken)
                } else {
                    Met::Broke(broken)
                }
            }
            None => Met::Broke(Broken::silent(self)),
        }
    }

    /// The next piece of the answer's body.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>, received_bytes: u64) -> Poll<Piece> {
        loop {
            drive(&mut self.connection, &mut self.ended, cx);
            let Some(answer) = &mut self.answer else {
                return Poll::Ready(Piece::End);
            };
            let piece = match Pin::new(answer).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data().map_err(Frame::into_trailers) {
                    Ok(data) => Piece::Data(data),
                    Err(Ok(trailers)) => Piece::Trailers(trailers),
                    Err(Err(_)) => continue,
                },
                Poll::Ready(Some(Err(error))) => {
                    Piece::Broke(Broken::from_body(&error, self, received_bytes))
                }
                Poll::Ready(None) => Piece::End,
                Poll::Pending if self.ended => Piece::Broke(self.cut(received_bytes)),
                Poll::Pending => return Poll::Pending,
            };
            return Poll::Ready(piece);
        }
    }

    /// Whether the answer has no body, or none any more.
    pub(super) fn has_whole_answer(&self) -> bool {
        self.answer.as_ref().is_none_or(Body::is_end_stream)
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.answer
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }

    /// Whether the connection is open and idle, as one look at its socket tells.
    pub(super) fn is_idle(&mut self) -> bool {
        // Unconstrained: a task that has used up its budget would see every connection as silent, hence alive.
        let mut look = pin!(tokio::task::unconstrained(poll_fn(|cx| {
            drive(&mut self.connection, &mut self.ended, cx);
            Poll::Ready(())
        })));
        let looked = look.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        looked.is_ready() && !self.ended && !self.was_reset() && self.sender.is_ready()
    }

    /// Whether the connection became idle after a whole answer, so that another request can use it.
    pub(super) fn settles(&mut self) -> bool {
        self.answer = None;
        (0..SETTLING_TURNS).any(|_| self.is_idle())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether this request is not the connection's first.
    pub(super) fn reused(&self) -> bool {
        self.sends > 1
    }

    pub(super) fn was_reset(&self) -> bool {
        self.meter.was_reset()
    }

    /// Bytes of the last request that reached the socket.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.meter.written_bytes() - self.sent_before
    }

    /// Bytes, heads included, that came since the last request was sent.
    pub(super) fn answer_bytes(&self) -> u64 {
        self.meter.read_bytes() - self.answered_before
    }

    pub(super) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    fn cut(&self, received_bytes: u64) -> Broken {
        let detail = format!("the connection to {} ended inside the body", self.place);
        Broken::inside(
            Broke::Closed,
            BodyState::Truncated,
            self.sent_bytes(),
            received_bytes,
            detail,
        )
    }
}

fn drive(connection: &mut Connection<TokioIo<Socket>, Full<Bytes>>, ended: &mut bool, cx: &mut Context<'_>) {
    if *ended {
        return;
    }
    match Pin::new(connection).poll(cx) {
        // An error that belongs to an exchange is told by that exchange; an idle connection's is no one's.
        Poll::Ready(Ok(()) | Err(_)) => *ended = true,
        Poll::Pending => {}
    }
}

#[cfg(test)]
mod tests;
