//! What messages answer.

use crate::ai::answer::{ChatAnswer, Finish, Usage};
use crate::ai::message::wire::thinking;
use crate::ai::message::{Message, Part, Role};
use crate::ai::read::At;
use crate::ai::tool::ToolCall;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;

/// A whole answer.
pub(in crate::ai::dialect) fn decode(raw: Value) -> Result<ChatAnswer, DecodeError> {
    let body = At::body(&raw);
    let content = body.member("content");
    if content.value.is_null() {
        return Err(content.is_not("an array"));
    }
    let mut parts = Vec::new();
    for block in content.elements()? {
        parts.push(part(&block)?);
    }
    Ok(ChatAnswer {
        id: body.member("id").hint().unwrap_or_default().to_owned(),
        model: body.member("model").hint().unwrap_or_default().to_owned(),
        message: Message::new(Role::Assistant, parts),
        finish: finish(body.member("stop_reason").hint()),
        usage: Usage::said_in(&raw),
        more: Vec::new(),
        raw,
    })
}

/// A block as a part. What stands beside a text (citations) is in the body.
pub(super) fn part(block: &At<'_>) -> Result<Part, DecodeError> {
    Ok(match block.member("type").hint() {
        Some("text") => Part::Text(block.member("text").due_text()?.to_owned()),
        Some("thinking" | "redacted_thinking") => {
            let mut thought = thinking(block)?;
            thought.dialect = Some(Dialect::Anthropic);
            // A stream begins it with an empty seal.
            thought.signature = thought.signature.filter(|signature| !signature.is_empty());
            Part::Thinking(thought)
        }
        Some("tool_use") => Part::ToolCall(ToolCall::new(
            block.member("id").due_text()?,
            block.member("name").due_text()?,
            arguments(&block.member("input")),
        )),
        Some(_) | None => Part::Other(block.kept()),
    })
}

/// An input as text; a tool without arguments has an empty one.
fn arguments(input: &At<'_>) -> String {
    match input.value {
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

pub(super) fn finish(word: Option<&str>) -> Finish {
    match word {
        // Some servers say nothing by an empty word.
        None | Some("") => Finish::Unsaid,
        Some("end_turn" | "stop_sequence") => Finish::Stop,
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("tool_use") => Finish::ToolCalls,
        Some("refusal") => Finish::Refused,
        Some("pause_turn") => Finish::Paused,
        Some(other) => Finish::Other(other.to_owned()),
    }
}
