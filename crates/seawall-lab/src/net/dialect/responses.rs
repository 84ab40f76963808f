//! OpenAI's Responses: one object in the end, told in many named and numbered events on the way.

use super::events::{Event, Events, Speaker};
use super::text::{Pieces, Said, request_of, text_of, texts_of, tokens};
use super::{Answer, Ask, CREATED_UNIX_SECS, openai, plain};
use serde_json::{Value, json};

/// How many events come before the first content.
const HEAD_EVENTS: u64 = 4;

/// A good answer in one piece.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    let (mut response, said) = ResponseStream::parts(ask);
    match (ask.method, ask.path.rsplit_once("/responses/")) {
        ("POST", None) => {}
        // What was made earlier is not kept: the mock has the same to say to it again.
        ("GET", Some((_, id))) if !id.contains('/') => response.id = id.to_owned(),
        ("POST", Some((_, rest))) if rest.ends_with("/cancel") => {
            response.id = rest.trim_end_matches("/cancel").to_owned();
        }
        ("DELETE", Some((_, id))) => {
            let deleted = json!({ "id": id, "object": "response", "deleted": true });
            return Answer::json(200, &deleted);
        }
        _ => return plain::answer(ask),
    }
    Answer::json(200, &response.completed(&said.text, said.completion_tokens()))
}

/// A good answer as a stream.
pub(super) fn stream(ask: &Ask<'_>, events: Option<u32>) -> Events {
    let (response, said) = ResponseStream::parts(ask);
    Events::sse(Speaker::Responses(response), said.pieces(events))
}

/// The error event of a stream that has told so many pieces.
pub(super) fn stream_error(told: u32) -> Event {
    let message = "mock: an error in the middle of the stream, as the script says";
    Event::named(
        "error",
        &json!({
            "type": "error",
            "sequence_number": HEAD_EVENTS + u64::from(told),
            "code": "server_error",
            "message": message,
            "param": null,
        }),
    )
}

/// A response as it comes to be.
#[derive(Clone, Debug)]
pub(super) struct ResponseStream {
    id: String,
    item: String,
    model: String,
    prompt_tokens: u64,
}

impl ResponseStream {
    fn parts(ask: &Ask<'_>) -> (Self, Said) {
        let request = request_of(ask.body);
        let texts = match &request["input"] {
            Value::Null => Vec::new(),
            Value::Array(_) => texts_of(&request["input"], "content"),
            input => vec![text_of(input)],
        };
        let said = Said::to(&texts, ask.body);
        let response = Self {
            id: format!("resp_mock_{}_{}", ask.rule, ask.number),
            item: format!("msg_mock_{}_{}", ask.rule, ask.number),
            model: openai::model(&request, ask.path),
            prompt_tokens: said.prompt_tokens + tokens(&text_of(&request["instructions"])),
        };
        (response, said)
    }

    pub(super) fn head(&self) -> Vec<Event> {
        let begun = || self.object("in_progress", json!([]), Value::Null);
        let item = self.message("in_progress", json!([]));
        vec![
            Event::named(
                "response.created",
                &json!({ "type": "response.created", "sequence_number": 0, "response": begun() }),
            ),
            Event::named(
                "response.in_progress",
                &json!({ "type": "response.in_progress", "sequence_number": 1, "response": begun() }),
            ),
            Event::named(
                "response.output_item.added",
                &json!({
                    "type": "response.output_item.added",
                    "sequence_number": 2,
                    "output_index": 0,
                    "item": item,
                }),
            ),
            self.of_part("response.content_part.added", 3, "part", text_part("")),
        ]
    }

    pub(super) fn piece(&self, nth: u32, text: &str) -> Event {
        let sequence = HEAD_EVENTS + u64::from(nth);
        self.of_part("response.output_text.delta", sequence, "delta", json!(text))
    }

    pub(super) fn end(&self, pieces: &Pieces) -> Vec<Event> {
        let text = pieces.retold();
        let sequence = HEAD_EVENTS + u64::from(pieces.total());
        let item = self.message("completed", json!([text_part(&text)]));
        vec![
            self.of_part("response.output_text.done", sequence, "text", json!(text)),
            self.of_part(
                "response.content_part.done",
                sequence + 1,
                "part",
                text_part(&text),
            ),
            Event::named(
                "response.output_item.done",
                &json!({
                    "type": "response.output_item.done",
                    "sequence_number": sequence + 2,
                    "output_index": 0,
                    "item": item,
                }),
            ),
            Event::named(
                "response.completed",
                &json!({
                    "type": "response.completed",
                    "sequence_number": sequence + 3,
                    "response": self.completed(&text, pieces.tokens()),
                }),
            ),
        ]
    }

    /// An event about the one part of the one item; what it says stands in `member`.
    fn of_part(&self, name: &'static str, sequence: u64, member: &str, value: Value) -> Event {
        let mut event = json!({
            "type": name,
            "sequence_number": sequence,
            "item_id": self.item,
            "output_index": 0,
            "content_index": 0,
        });
        if member != "part" {
            event["logprobs"] = json!([]);
        }
        event[member] = value;
        Event::named(name, &event)
    }

    fn completed(&self, text: &str, completion_tokens: u64) -> Value {
        let usage = json!({
            "input_tokens": self.prompt_tokens,
            "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": completion_tokens,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": self.prompt_tokens + completion_tokens,
        });
        let message = self.message("completed", json!([text_part(text)]));
        self.object("completed", json!([message]), usage)
    }

    fn message(&self, status: &str, content: Value) -> Value {
        json!({
            "id": self.item,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        })
    }

    fn object(&self, status: &str, output: Value, usage: Value) -> Value {
        json!({
            "id": self.id,
            "object": "response",
            "created_at": CREATED_UNIX_SECS,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {},
            "model": self.model,
            "output": output,
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "store": false,
            "temperature": 1.0,
            "text": { "format": { "type": "text" } },
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": usage,
        })
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}
