//! One HTTP/1.1 connection: read, decide, play, again.

mod play;
mod wire;

use super::dialect;
use super::exchange::{Exchange, Request};
use super::score::{Performer, Score};
use super::socket::Socket;
use super::{Shared, control, counter};
use play::{Asked, play};
use std::sync::Arc;
use wire::{Head, Length, ReadError, Wire};

/// Leave to send a body.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What becomes of a connection.
enum Then {
    /// It takes the next request.
    Next(Wire),
    /// It is gone.
    Gone,
}

/// What becomes of the connection after a whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Alive,
    Close,
}

/// Serves a connection until one side ends it; `read` is what was already read of it.
pub(super) async fn run(socket: Socket, read: Vec<u8>, connection: u64, shared: Arc<Shared>) {
    let mut wire = Wire::new(socket, read, shared.pace.clone());
    let mut on_connection = 0;
    loop {
        let after = match wire.head().await {
            Ok(head) if control::is_control(head.request.path()) => serve_control(wire, &shared, &head).await,
            Ok(head) => {
                on_connection += 1;
                let exchange = Exchange::begin(&shared, &head.request, connection, on_connection);
                serve(wire, &shared, &head, exchange).await
            }
            Err(ReadError::Left) => Then::Gone,
            Err(ReadError::Bad { status, message }) => {
                on_connection += 1;
                let exchange = Exchange::begin_unread(&shared, connection, on_connection);
                refuse(wire, &shared, exchange, status, message).await
            }
        };
        match after {
            Then::Next(back) => wire = back,
            Then::Gone => return,
        }
    }
}

async fn serve(mut wire: Wire, shared: &Shared, head: &Head, mut exchange: Exchange<'_>) -> Then {
    let request = &head.request;
    if asks_to_continue(head) {
        if wire.send(CONTINUE).await.is_err() {
            exchange.left();
            return Then::Gone;
        }
        exchange.sent(CONTINUE.len() as u64);
    }
    let body = match wire.body(head.length).await {
        Ok((body, bytes)) => {
            exchange.read(bytes);
            body
        }
        Err(ReadError::Left) => {
            exchange.left();
            return Then::Gone;
        }
        Err(ReadError::Bad { status, message }) => {
            return refuse(wire, shared, exchange, status, message).await;
        }
    };
    let performer = match head.chunks {
        true => Performer::Http1,
        false => Performer::Http10,
    };
    if let Some(service) = counter::service(shared.setting.counter.as_deref(), request, &shared.pace) {
        match wire.while_there(service).await {
            Some(action) => exchange.meets(action),
            None => {
                exchange.left();
                return Then::Gone;
            }
        }
    }
    let score = exchange.decide(request, &body, performer);
    play(wire, &shared.pace, exchange, score, asked(head)).await
}

fn asked(head: &Head) -> Asked<'_> {
    Asked {
        method: &head.request.method,
        keep: head.keep,
        chunks: head.chunks,
    }
}

async fn serve_control(mut wire: Wire, shared: &Shared, head: &Head) -> Then {
    let Ok((body, _)) = wire.body(head.length).await else {
        return Then::Gone;
    };
    let answer = control::answer(shared, &head.request, &body).await;
    let bytes = answer.encode(&head.request.method, head.keep);
    match (wire.send(&bytes).await, head.keep) {
        (Ok(()), Keep::Alive) => Then::Next(wire),
        (Ok(()), Keep::Close) => {
            wire.close().await;
            Then::Gone
        }
        (Err(_), _) => Then::Gone,
    }
}

/// Answers what is no request, and closes.
async fn refuse(wire: Wire, shared: &Shared, exchange: Exchange<'_>, status: u16, message: &str) -> Then {
    let asked = Asked {
        method: "GET",
        keep: Keep::Close,
        chunks: false,
    };
    let score = Score::whole(dialect::refusal(status, message));
    play(wire, &shared.pace, exchange, score, asked).await
}

fn asks_to_continue(head: &Head) -> bool {
    let expects = head
        .request
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
    expects && head.length != Length::Bytes(0)
}
