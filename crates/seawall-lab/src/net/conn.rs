//! One connection: read, match, note, answer, again.

use super::act::{self, Then};
use super::journal::{Attempt, Outcome, kept};
use super::wire::{Ending, Head, Length, ReadError, Wire};
use super::{Shared, control, dialect};
use crate::plan::{Choice, Dialect, State, StateFull, Turn};
use crate::script::Deed;
use seawall_core::time::Instant;
use std::borrow::Cow;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Serves a connection until one side ends it.
pub(super) async fn run(stream: TcpStream, connection: u64, shared: Arc<Shared>) {
    // An answer must not wait for the client to confirm the head. A socket that refuses is only slower.
    stream.set_nodelay(true).ok();
    let mut wire = Wire::new(stream, shared.pace);
    let mut on_connection = 0;
    loop {
        let head = match wire.head().await {
            Ok(head) => head,
            Err(ReadError::Left) => return,
            Err(ReadError::Bad { status, message }) => {
                on_connection += 1;
                let attempt = unread(connection, on_connection, shared.pace.now());
                let number = shared.log().begin(attempt);
                return refuse(wire, &shared, number, 0, status, message).await;
            }
        };
        let after = if control::is_control(head.path()) {
            serve_control(wire, &shared, &head).await
        } else {
            on_connection += 1;
            serve(wire, &shared, &head, connection, on_connection).await
        };
        match after {
            Then::Next(back) => wire = back,
            Then::Gone => return,
        }
    }
}

async fn serve(mut wire: Wire, shared: &Shared, head: &Head, connection: u64, on_connection: u64) -> Then {
    let rule = shared.plan.matching(&head.method, head.path());
    let attempt = Attempt {
        method: kept(head.method.as_bytes()),
        path: kept(head.path().as_bytes()),
        rule,
        key: head.header("idempotency-key").map(kept),
        retry_count: head.header("x-stainless-retry-count").map(kept),
        bytes_in: head.bytes as u64,
        ..unread(connection, on_connection, shared.pace.now())
    };
    let (number, fate) = begin(shared, head, attempt);
    if asks_to_continue(head) && wire.send(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err() {
        return left(shared, number, head.bytes as u64);
    }
    let (body, body_bytes) = match wire.body(head.length).await {
        Ok(read) => read,
        Err(ReadError::Left) => return left(shared, number, head.bytes as u64),
        Err(ReadError::Bad { status, message }) => {
            refuse(wire, shared, number, head.bytes as u64, status, message).await;
            return Then::Gone;
        }
    };
    let ask = dialect::Ask {
        method: &head.method,
        path: head.path(),
        query: head.query(),
        credential: ["api-key", "authorization"]
            .into_iter()
            .find_map(|name| head.header(name)),
        body: &body,
        rule: rule.unwrap_or(0),
        number,
    };
    let performance = act::Performance {
        shared,
        number,
        ask,
        dialect: rule.map_or(Dialect::Generic, |rule| {
            shared.plan.rules()[rule].dialect.at(head.path())
        }),
        ending: head.ending,
        outcome: Outcome {
            bytes_in: head.bytes as u64 + body_bytes,
            ..Outcome::default()
        },
    };
    match fate {
        Fate::Turn(turn) => performance.turn(wire, turn).await,
        Fate::NoRoute => performance.no_route(wire).await,
        Fate::StateFull => performance.state_full(wire).await,
    }
}

/// What was decided when the attempt was matched.
enum Fate<'p> {
    Turn(Turn<'p>),
    NoRoute,
    StateFull,
}

/// Decides and notes in one go: the journal's order is the order of the turns.
fn begin<'p>(shared: &'p Shared, head: &Head, mut attempt: Attempt) -> (u64, Fate<'p>) {
    let mut stage = shared.stage();
    let fate = match attempt.rule {
        None => Fate::NoRoute,
        Some(rule) => {
            let state = match &shared.plan.rules()[rule].state {
                State::Route => &[][..],
                State::Header(name) => head.header(name).unwrap_or_default(),
            };
            match shared.plan.turn(&mut stage, attempt.at, rule, state) {
                Ok(turn) => Fate::Turn(turn),
                Err(StateFull) => Fate::StateFull,
            }
        }
    };
    attempt.fault = match &fate {
        Fate::Turn(turn) => fault_of(turn),
        Fate::NoRoute => None,
        Fate::StateFull => Some(Cow::Borrowed(act::STATE_FULL)),
    };
    (shared.log().begin(attempt), fate)
}

/// The injected fault's name; a good answer is none, unless it is made late.
pub(super) fn fault_of(turn: &Turn<'_>) -> Option<Cow<'static, str>> {
    match turn.choice {
        Choice::Plain => None,
        Choice::Stop => Some(Cow::Borrowed("stop")),
        Choice::Action(action) => match &action.deed {
            Deed::Status(reply) if reply.status < 400 => {
                (!action.delay.is_zero()).then_some(Cow::Borrowed("delay"))
            }
            deed => Some(Cow::Owned(deed.name())),
        },
    }
}

async fn serve_control(mut wire: Wire, shared: &Shared, head: &Head) -> Then {
    if wire.body(head.length).await.is_err() {
        return Then::Gone;
    }
    let answer = control::answer(shared, &head.method, &head.target);
    let bytes = answer.encode(&head.method, head.ending);
    match (wire.send(&bytes).await, head.ending) {
        (Ok(()), Ending::KeepAlive) => Then::Next(wire),
        (Ok(()), Ending::Close) => {
            wire.close().await;
            Then::Gone
        }
        (Err(_), _) => Then::Gone,
    }
}

/// Answers what is no request, and closes.
async fn refuse(mut wire: Wire, shared: &Shared, number: u64, bytes_in: u64, status: u16, message: &str) {
    let bytes = dialect::refusal(status, message).encode("GET", Ending::Close);
    let answered = shared.pace.now();
    let sent = wire.send(&bytes).await.is_ok();
    let outcome = Outcome {
        status: Some(status),
        answered: sent.then_some(answered),
        client_left: (!sent).then(|| shared.pace.now()),
        bytes_in,
        bytes_out: if sent { bytes.len() as u64 } else { 0 },
        fault: None,
    };
    end(shared, number, outcome);
    wire.close().await;
}

fn left(shared: &Shared, number: u64, bytes_in: u64) -> Then {
    let outcome = Outcome {
        client_left: Some(shared.pace.now()),
        bytes_in,
        ..Outcome::default()
    };
    end(shared, number, outcome);
    Then::Gone
}

/// Completes an attempt in the journal.
pub(super) fn end(shared: &Shared, number: u64, outcome: Outcome) {
    shared.log().end(number, shared.pace.now(), outcome);
    shared.ended.notify_waiters();
}

fn asks_to_continue(head: &Head) -> bool {
    let expects = head
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
    expects && head.length != Length::Bytes(0)
}

/// An attempt of which nothing is known yet.
pub(super) fn unread(connection: u64, on_connection: u64, at: Instant) -> Attempt {
    Attempt {
        number: 0,
        connection,
        on_connection,
        method: String::new(),
        path: String::new(),
        rule: None,
        key: None,
        retry_count: None,
        status: None,
        fault: None,
        at,
        answered: None,
        ended: None,
        client_left: None,
        bytes_in: 0,
        bytes_out: 0,
    }
}
