//! The journal as JSON.

use super::query::Query;
use super::{ms, null_or};
use crate::error::shown;
use crate::findings::{Hint, Word};
use crate::net::Shared;
use crate::net::dialect::{Answer, refusal};
use crate::net::journal::{Attempt, Journal};
use seawall_core::time::Instant;
use serde_json::{Value, json};

/// What came in.
pub(super) async fn tell(shared: &Shared, query: &Query) -> Result<Answer, Answer> {
    let since = match query.get("since") {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            let message = format!("since is the number of an attempt, not `{}`", shown(text));
            refusal(400, &message)
        })?,
    };
    let shape = match query.get("format") {
        None | Some("json") => Shape::Document,
        Some("jsonl") => Shape::Lines,
        Some(other) => {
            let message = format!("format is json or jsonl, not `{}`", shown(other));
            return Err(refusal(400, &message));
        }
    };
    shared.settled().await;
    // Copied first: attempts must not wait while a long journal is printed.
    let mut journal = shared.log().journal_since(since);
    if let Some(route) = query.get("route") {
        let pattern = shared.known_route(route).map_err(super::unknown)?.to_string();
        journal
            .attempts
            .retain(|attempt| attempt.route.as_deref() == Some(&pattern));
    }
    Ok(match shape {
        Shape::Document => Answer::json(200, &document(&journal)),
        Shape::Lines => lines(&journal),
    })
}

enum Shape {
    /// One object with a list.
    Document,
    /// One object a line, one line an attempt.
    Lines,
}

fn document(journal: &Journal) -> Value {
    let attempts: Vec<Value> = journal.attempts.iter().map(entry).collect();
    json!({ "dropped": journal.dropped, "open": journal.open, "attempts": attempts })
}

fn lines(journal: &Journal) -> Answer {
    let mut body = Vec::new();
    for attempt in &journal.attempts {
        body.extend_from_slice(entry(attempt).to_string().as_bytes());
        body.push(b'\n');
    }
    Answer {
        content_type: Some("application/jsonl"),
        body,
        ..Answer::empty(200)
    }
}

fn entry(attempt: &Attempt) -> Value {
    let at = |at: Instant| ms(at.as_nanos());
    json!({
        "number": attempt.number,
        "connection": attempt.connection,
        "on_connection": attempt.on_connection,
        "method": attempt.method,
        "path": attempt.path,
        "route": attempt.route.as_deref(),
        "status": attempt.status,
        "fault": attempt.fault,
        "key": attempt.key,
        "work": attempt.work,
        "object": attempt.object,
        "retry_count": attempt.retry_count,
        "hint": null_or(attempt.hint.as_ref().map(hint)),
        "should_retry": match attempt.word {
            Word::None => Value::Null,
            Word::Again => Value::Bool(true),
            Word::NotAgain => Value::Bool(false),
        },
        "at_ms": at(attempt.at),
        "answered_ms": attempt.answered.map(at),
        "ended_ms": attempt.ended.map(at),
        "client_abort_ms": attempt.client_left.map(at),
        "events": attempt.events,
        "bytes_in": attempt.bytes_in,
        "bytes_out": attempt.bytes_out,
    })
}

fn hint(hint: &Hint) -> Value {
    json!({ "source": hint.source, "text": hint.text, "wait_ms": ms(hint.wait.as_nanos()) })
}
