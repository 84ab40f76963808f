//! What Responses answer, whole and in events.

use crate::ai::answer::{Finish, Usage};
use crate::ai::delta::Delta;
use crate::ai::dialect::stream::{Beside, StreamState};
use crate::ai::message::{Message, Part, Role, Thinking};
use crate::ai::read::At;
use crate::ai::responses::{ResponseStatus, ResponsesAnswer};
use crate::ai::tool::ToolCall;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;
use std::collections::BTreeMap;

/// What stands between two parts of a summary of what the model thought.
const BETWEEN_SUMMARIES: &str = "\n\n";

/// A whole answer.
pub(in crate::ai::dialect) fn decode(raw: Value) -> Result<ResponsesAnswer, DecodeError> {
    let body = At::body(&raw);
    let output = body.member("output");
    if output.value.is_null() {
        return Err(output.is_not("an array"));
    }
    let mut parts = Vec::new();
    for item in output.elements()? {
        read_item(&item, &mut parts)?;
    }
    let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
    Ok(ResponsesAnswer {
        id: body.member("id").hint().unwrap_or_default().to_owned(),
        model: body.member("model").hint().unwrap_or_default().to_owned(),
        status: status(body.member("status").hint()),
        message: Message::new(Role::Assistant, parts),
        finish: finish(&body, calls),
        usage: Usage::said_in(&raw),
        raw,
    })
}

fn read_item(item: &At<'_>, parts: &mut Vec<Part>) -> Result<(), DecodeError> {
    match item.member("type").hint() {
        Some("message") => {
            for part in item.member("content").elements()? {
                parts.push(said(&part)?);
            }
        }
        Some("function_call") => parts.push(Part::ToolCall(call(item)?)),
        Some("reasoning") => {
            let summary = item.member("summary");
            let texts: Vec<&str> = summary
                .elements()?
                .filter_map(|part| part.value.get("text")?.as_str())
                .collect();
            if !texts.is_empty() {
                let text = texts.join(BETWEEN_SUMMARIES);
                parts.push(Part::Thinking(Thinking::new(Dialect::OpenAi, text)));
            }
            parts.push(Part::Other(item.kept()));
        }
        Some(_) | None => parts.push(Part::Other(item.kept())),
    }
    Ok(())
}

fn said(part: &At<'_>) -> Result<Part, DecodeError> {
    Ok(match part.member("type").hint() {
        Some("output_text") => Part::Text(part.member("text").due_text()?.to_owned()),
        Some("refusal") => Part::Refusal(part.member("refusal").due_text()?.to_owned()),
        Some(_) | None => Part::Other(part.kept()),
    })
}

fn call(item: &At<'_>) -> Result<ToolCall, DecodeError> {
    Ok(ToolCall::new(
        item.member("call_id").due_text()?,
        item.member("name").due_text()?,
        item.member("arguments").owned_text()?,
    ))
}

fn status(word: Option<&str>) -> ResponseStatus {
    match word {
        Some("completed") => ResponseStatus::Completed,
        Some("incomplete") => ResponseStatus::Incomplete,
        Some("in_progress") => ResponseStatus::InProgress,
        Some("queued") => ResponseStatus::Queued,
        Some("failed") => ResponseStatus::Failed,
        Some("cancelled") => ResponseStatus::Cancelled,
        other => ResponseStatus::Other(other.unwrap_or_default().to_owned()),
    }
}

fn finish(response: &At<'_>, calls: bool) -> Finish {
    let details = response.member("incomplete_details");
    match (response.member("status").hint(), details.member("reason").hint()) {
        (Some("completed"), _) if calls => Finish::ToolCalls,
        (Some("completed"), _) => Finish::Stop,
        (Some("incomplete"), Some("max_output_tokens")) => Finish::Length,
        (Some("incomplete"), Some("content_filter")) => Finish::Refused,
        (Some("incomplete"), Some(other)) => Finish::Other(other.to_owned()),
        (Some("incomplete"), None) => Finish::Other("incomplete".to_owned()),
        (Some(_) | None, _) => Finish::Unsaid,
    }
}

/// A response in events, as far as it was read.
#[derive(Clone, Debug, Default)]
pub(in crate::ai::dialect) struct ResponseStream {
    /// How many calls began.
    calls: usize,
    /// Our index of each item that is a call.
    items: BTreeMap<u64, usize>,
    beside: Beside,
}

impl ResponseStream {
    /// One event.
    pub(in crate::ai::dialect) fn event(
        &mut self,
        value: &Value,
        out: &mut Vec<Delta>,
        state: &mut StreamState,
    ) -> Result<(), DecodeError> {
        let event = At::body(value);
        let response = event.member("response");
        match event.member("type").due_text()? {
            "response.created" => out.push(Delta::Began {
                id: response.member("id").hint().unwrap_or_default().to_owned(),
                model: response.member("model").hint().unwrap_or_default().to_owned(),
            }),
            "response.output_item.added" => self.begin(&event, out)?,
            "response.output_text.delta" => {
                out.push(Delta::Text(event.member("delta").due_text()?.to_owned()))
            }
            "response.refusal.delta" => {
                out.push(Delta::Refusal(event.member("delta").due_text()?.to_owned()))
            }
            "response.function_call_arguments.delta" => self.argue(&event, out)?,
            "response.reasoning_summary_part.added" if event.member("summary_index").count() > 0 => {
                let (dialect, text) = (Dialect::OpenAi, BETWEEN_SUMMARIES.to_owned());
                out.push(Delta::Thinking { dialect, text });
            }
            "response.reasoning_summary_text.delta" => {
                let (dialect, text) = (Dialect::OpenAi, event.member("delta").due_text()?.to_owned());
                out.push(Delta::Thinking { dialect, text });
            }
            "response.content_part.done" => self.part_ended(&event, out),
            "response.output_item.done" => self.end(&event, out),
            "response.completed" | "response.incomplete" => {
                *state = StreamState::Complete;
                let known = ["id", "object", "model", "output", "usage"];
                self.beside.tell(response.value, &known, out);
                out.push(Delta::Finish(finish(&response, self.calls > 0)));
            }
            // Whatever else is told says again in whole what was told in pieces, or how far an item has come.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, event: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let item = event.member("item");
        if item.member("type").hint() == Some("function_call") {
            let call = call(&item)?;
            out.push(Delta::ToolCall {
                index: self.calls,
                id: call.id,
                name: call.name,
                signature: None,
            });
            self.items
                .entry(event.member("output_index").count())
                .or_insert(self.calls);
            self.calls += 1;
        }
        Ok(())
    }

    fn argue(&mut self, event: &At<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let place = event.member("output_index");
        let index = self.items.get(&place.count()).copied();
        out.push(Delta::Arguments {
            index: index.ok_or_else(|| place.is_not("the place of a call that began"))?,
            text: event.member("delta").due_text()?.to_owned(),
        });
        Ok(())
    }

    /// A part is whole; one of a kind without pieces of its own comes now.
    fn part_ended(&self, event: &At<'_>, out: &mut Vec<Delta>) {
        let part = event.member("part");
        out.push(match part.member("type").hint() {
            Some("output_text" | "refusal" | "reasoning_text" | "summary_text") => Delta::PartEnded,
            Some(_) | None => Delta::Part(Part::Other(part.kept())),
        });
    }

    fn end(&self, event: &At<'_>, out: &mut Vec<Delta>) {
        let item = event.member("item");
        out.push(match item.member("type").hint() {
            Some("message" | "function_call") => Delta::PartEnded,
            Some(_) | None => Delta::Part(Part::Other(item.kept())),
        });
    }
}
