//! What chat completions answer.

use crate::ai::answer::{ChatAnswer, Choice, Finish, Usage};
use crate::ai::message::wire::said_parts;
use crate::ai::message::{Message, Part, Role, Thinking};
use crate::ai::read::At;
use crate::ai::{DecodeError, Dialect};
use serde_json::Value;

/// Where servers that show thinking have it: DeepSeek's word and its successors'.
pub(super) const THINKING: [&str; 2] = ["reasoning_content", "reasoning"];

/// A whole answer.
pub(in crate::ai::dialect) fn decode(raw: Value) -> Result<ChatAnswer, DecodeError> {
    let body = At::body(&raw);
    let all = body.member("choices");
    let mut choices = Vec::new();
    for choice in all.elements()? {
        choices.push(read_choice(&choice)?);
    }
    let mut choices = choices.into_iter();
    let first = choices
        .next()
        .ok_or_else(|| all.is_not("an array with an answer"))?;
    Ok(ChatAnswer {
        id: body.member("id").hint().unwrap_or_default().to_owned(),
        model: body.member("model").hint().unwrap_or_default().to_owned(),
        message: first.message,
        finish: first.finish,
        usage: Usage::said_in(&raw),
        more: choices.collect(),
        raw,
    })
}

fn read_choice(choice: &At<'_>) -> Result<Choice, DecodeError> {
    let message = choice.member("message");
    message.object()?;
    let mut parts = thinking(&message).into_iter().collect::<Vec<_>>();
    for mut part in said_parts(&message)? {
        if let Part::ToolCall(call) = &mut part
            && call.id.is_empty()
        {
            call.id = made_up_id(parts.len());
        }
        parts.push(part);
    }
    let calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
    Ok(Choice {
        message: Message::new(Role::Assistant, parts),
        finish: match finish(choice.member("finish_reason").hint()) {
            // Some servers say `stop` and mean the calls.
            Finish::Stop if calls => Finish::ToolCalls,
            finish => finish,
        },
    })
}

fn thinking(message: &At<'_>) -> Option<Part> {
    let text = THINKING.iter().find_map(|key| message.value.get(key)?.as_str())?;
    (!text.is_empty()).then(|| Part::Thinking(Thinking::new(Dialect::OpenAi, text)))
}

/// An id for a call whose server gave it none.
pub(super) fn made_up_id(nth: usize) -> String {
    format!("call_{nth}")
}

/// Why it ended.
pub(super) fn finish(word: Option<&str>) -> Finish {
    match word {
        // Some servers say nothing by an empty word.
        None | Some("") => Finish::Unsaid,
        Some("stop") => Finish::Stop,
        Some("length") => Finish::Length,
        Some("tool_calls" | "function_call") => Finish::ToolCalls,
        Some("content_filter") => Finish::Refused,
        Some(other) => Finish::Other(other.to_owned()),
    }
}
