//! Anthropic's messages, token counts and models; its errors.
//!
//! What can go wrong: a client for it that decides by OpenAI's codes, or that takes a stream for whole which lacks its
//! `message_stop`. So an error has no code but a type, 529 is a status like any other, and a stream tells its usage in
//! two halves, at its beginning and at its end.

use super::events::{Event, Events, Speaker};
use super::text::{Pieces, Said, model_of, request_of, text_of, texts_of, tokens};
use super::{Answer, Ask, CREATED_RFC3339, Told, Wanted, plain};
use crate::plan::limit::go_duration;
use seawall_core::time::Duration;
use serde_json::{Value, json};

/// What an error of one status is called.
const KINDS: [(u16, &str); 9] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

fn is_message(ask: &Ask<'_>) -> bool {
    ask.method == "POST" && ask.path.ends_with("/messages")
}

/// Whether the request asks for its answer as a stream.
pub(super) fn wanted(ask: &Ask<'_>) -> Wanted {
    match is_message(ask) && request_of(ask.body)["stream"] == Value::Bool(true) {
        true => Wanted::Stream,
        false => Wanted::Whole,
    }
}

/// A good answer in one piece.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    match (ask.method, ask.path) {
        ("POST", path) if path.ends_with("/messages/count_tokens") => {
            let (message, _) = MessageStream::parts(ask);
            Answer::json(
                200,
                &json!({ "input_tokens": message.prompt_tokens, "model": message.model }),
            )
        }
        ("POST", path) if path.ends_with("/messages") => {
            let (message, said) = MessageStream::parts(ask);
            let content = json!([{ "type": "text", "text": said.text }]);
            Answer::json(
                200,
                &message.object(content, json!("end_turn"), said.completion_tokens()),
            )
        }
        ("GET", path) if path.ends_with("/models") => {
            let small = model("mock:small");
            let page = json!({
                "data": [small],
                "has_more": false,
                "first_id": "mock:small",
                "last_id": "mock:small",
            });
            Answer::json(200, &page)
        }
        ("GET", path) => match path.split_once("/models/") {
            Some((_, name)) => Answer::json(200, &model(&model_of(Some(name)))),
            None => plain::answer(ask),
        },
        _ => plain::answer(ask),
    }
}

/// A good answer as a stream.
pub(super) fn stream(ask: &Ask<'_>, events: Option<u32>) -> Events {
    if !is_message(ask) {
        return plain::stream(ask, events);
    }
    let (message, said) = MessageStream::parts(ask);
    Events::sse(Speaker::Anthropic(message), said.pieces(events))
}

/// An error; `code` is its type.
pub(super) fn error(status: u16, message: &str, ask: &Ask<'_>, told: Told<'_>) -> Answer {
    let known = KINDS.iter().find(|(of, _)| *of == status);
    let kind = match (told.code, known) {
        (Some(code), _) => code,
        (None, Some((_, kind))) => kind,
        (None, None) if status < 500 => "invalid_request_error",
        (None, None) => "api_error",
    };
    let mut message = message.to_owned();
    if let Some(ms) = told.wait_ms {
        message.push_str(&format!(
            ". Please try again in {}.",
            go_duration(Duration::from_millis(ms))
        ));
    }
    let body = json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": request_id(ask),
    });
    Answer::json(status, &body)
}

/// The headers of every answer.
pub(super) fn headers(ask: &Ask<'_>) -> Vec<(&'static str, String)> {
    vec![("request-id", request_id(ask))]
}

/// The error event of a stream that has begun.
pub(super) fn stream_error() -> Event {
    let message = "Overloaded (mock: in the middle of the stream, as the script says)";
    let error = json!({ "type": "overloaded_error", "message": message });
    Event::named("error", &json!({ "type": "error", "error": error }))
}

/// A sign of life.
pub(super) fn ping() -> Event {
    Event::named("ping", &json!({ "type": "ping" }))
}

fn request_id(ask: &Ask<'_>) -> String {
    format!("req_mock_{}_{}", ask.rule, ask.number)
}

fn model(name: &str) -> Value {
    json!({ "type": "model", "id": name, "display_name": name, "created_at": CREATED_RFC3339 })
}

/// A message as it comes to be.
#[derive(Clone, Debug)]
pub(super) struct MessageStream {
    id: String,
    model: String,
    prompt_tokens: u64,
}

impl MessageStream {
    fn parts(ask: &Ask<'_>) -> (Self, Said) {
        let request = request_of(ask.body);
        let said = Said::to(&texts_of(&request["messages"], "content"), ask.body);
        let message = Self {
            id: format!("msg_mock_{}_{}", ask.rule, ask.number),
            model: model_of(request["model"].as_str()),
            prompt_tokens: said.prompt_tokens + tokens(&text_of(&request["system"])),
        };
        (message, said)
    }

    pub(super) fn head(&self) -> Vec<Event> {
        // The first count is that of the beginning: what was said in all stands in `message_delta`.
        let message = self.object(json!([]), Value::Null, 1);
        let block = json!({ "type": "text", "text": "" });
        vec![
            Event::named(
                "message_start",
                &json!({ "type": "message_start", "message": message }),
            ),
            Event::named(
                "content_block_start",
                &json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            ),
            ping(),
        ]
    }

    pub(super) fn piece(&self, text: &str) -> Event {
        let delta = json!({ "type": "text_delta", "text": text });
        Event::named(
            "content_block_delta",
            &json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        )
    }

    pub(super) fn end(&self, pieces: &Pieces) -> Vec<Event> {
        let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
        let usage = json!({ "output_tokens": pieces.tokens() });
        vec![
            Event::named(
                "content_block_stop",
                &json!({ "type": "content_block_stop", "index": 0 }),
            ),
            Event::named(
                "message_delta",
                &json!({ "type": "message_delta", "delta": delta, "usage": usage }),
            ),
            Event::named("message_stop", &json!({ "type": "message_stop" })),
        ]
    }

    fn object(&self, content: Value, stop_reason: Value, output_tokens: u64) -> Value {
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.prompt_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": output_tokens,
            },
        })
    }
}
