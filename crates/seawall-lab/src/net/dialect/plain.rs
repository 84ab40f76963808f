//! Plain JSON: what a route answers whose path no provider speaks.

use super::events::{Event, Events, Speaker};
use super::text::{Pieces, Said};
use super::{Answer, Ask, Told};
use serde_json::{Value, json};

/// A good answer.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    Answer::json(
        200,
        &json!({ "ok": true, "model": "mock:generic", "attempt": ask.number }),
    )
}

/// A good answer as a stream.
pub(super) fn stream(ask: &Ask<'_>, events: Option<u32>) -> Events {
    let plain = PlainStream { attempt: ask.number };
    Events::sse(Speaker::Plain(plain), Said::to(&[], ask.body).pieces(events))
}

/// An error; its wait, where only the body tells it, stands in `retry_after`, as Discord has it.
pub(super) fn error(status: u16, message: &str, told: Told<'_>) -> Answer {
    let mut body = json!({ "error": { "message": message, "status": status } });
    if let Some(code) = told.code {
        body["error"]["code"] = json!(code);
    }
    if let Some(ms) = told.wait_ms {
        body["retry_after"] = match ms % 1_000 {
            0 => json!(ms / 1_000),
            // Milliseconds below 2^53 are exact.
            _ => json!(ms as f64 / 1_000.0),
        };
    }
    Answer::json(status, &body)
}

/// The error event of a stream that has begun.
pub(super) fn stream_error() -> Event {
    let message = "the mock ends this stream with an error, as it was told";
    Event::named(
        "error",
        &json!({ "error": { "message": message, "status": 500 } }),
    )
}

/// Numbered events, and one that says `done`.
#[derive(Clone, Debug)]
pub(super) struct PlainStream {
    attempt: u64,
}

impl PlainStream {
    pub(super) fn piece(&self, nth: u32, text: &str) -> Event {
        Event::bare(&self.event(nth, json!({ "text": text })))
    }

    pub(super) fn end(&self, pieces: &Pieces) -> Vec<Event> {
        vec![Event::named(
            "done",
            &self.event(pieces.total(), json!({ "done": true })),
        )]
    }

    fn event(&self, nth: u32, mut event: Value) -> Value {
        event["event"] = json!(u64::from(nth) + 1);
        event["model"] = json!("mock:generic");
        event["attempt"] = json!(self.attempt);
        event
    }
}
