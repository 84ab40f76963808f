//! How far a model's stream of events has come: before its content, in it, at its end.
//!
//! What can go wrong: a server that dies in mid-sentence often ends its connection cleanly, and HTTP calls the half of an
//! answer whole; a stream is handed on at its greeting, and what could have been asked again is lost; one that is asked
//! for several answers is taken for complete at the end of the first; an event that nobody can read leaves a hole in the
//! text. So only the dialect's own last word makes a stream complete (rule L3): OpenAI's `[DONE]` or a `finish_reason` of
//! every choice, Anthropic's `message_stop`, a response's `completed` or `incomplete` (which the provider means), Gemini's
//! `finishReason`, or its word that the prompt is blocked. Content is whatever is not known to be a greeting: an event of
//! a new kind is handed on, not held back. What it does not cover: whether the text makes sense.

use super::{OwnedBodyFacts, error_event};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;

/// What one event is to who waits for an answer.
#[derive(Debug)]
pub(crate) enum Word {
    /// It says that an answer will come, or nothing.
    Greeting,
    /// Part of the answer, or its end.
    Content,
    /// The server failed.
    Error(Box<OwnedBodyFacts>),
    /// It is no JSON, which every event of these dialects is.
    Unreadable,
}

/// Whether a stream has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Complete {
    Not,
    /// Its answer is; what it cost may follow.
    Answer,
    /// Nothing follows its last word.
    Whole,
}

/// Where a stream of events at an inference endpoint is.
#[derive(Debug, Default)]
pub(crate) struct Course {
    begun: bool,
    over: bool,
    /// The answers that have said something, and those that have ended, a bit for each; the last bit is that of all from
    /// the 128th on.
    speaking: u128,
    finished: u128,
}

/// What the events of the dialects have in common.
#[derive(Default, Deserialize)]
struct Said<'a> {
    #[serde(default, borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    choices: Option<Vec<Part<'a>>>,
    #[serde(default, borrow)]
    candidates: Option<Vec<Part<'a>>>,
    #[serde(default, borrow, rename = "promptFeedback")]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    errors: Option<IgnoredAny>,
    #[serde(default)]
    response: Option<Nested>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(default, borrow, alias = "finishReason")]
    finish_reason: Option<Stated<'a>>,
}

#[derive(Deserialize)]
struct Feedback<'a> {
    #[serde(default, borrow, rename = "blockReason")]
    block_reason: Option<Stated<'a>>,
}

/// A reason, whatever it is.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stated<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Else(IgnoredAny),
}

impl Stated<'_> {
    /// Some servers state none by an empty text, in every event.
    fn is_one(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Else(IgnoredAny) => true,
        }
    }
}

#[derive(Deserialize)]
struct Nested {
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl Course {
    /// Hears the next event.
    pub(crate) fn hear(&mut self, name: &str, data: &[u8]) -> Word {
        let data = data.trim_ascii();
        if self.over || (data.is_empty() && name != "error") {
            return Word::Greeting;
        }
        if data == b"[DONE]" {
            self.over = true;
            return Word::Content;
        }
        let text = std::str::from_utf8(data).ok();
        match text.and_then(|text| serde_json::from_str::<Said<'_>>(text).ok()) {
            Some(said) if name != "error" && !said.may_be_error() => self.take(&said, data),
            said => match (error_event(name, data), said) {
                (Some(error), _) => Word::Error(Box::new(error)),
                (None, Some(said)) => self.take(&said, data),
                (None, None) if is_json(text) => Word::Content,
                (None, None) if name == "ping" => Word::Greeting,
                (None, None) => Word::Unreadable,
            },
        }
    }

    pub(crate) const fn complete(&self) -> Complete {
        match (self.over, self.finished) {
            (true, _) => Complete::Whole,
            (false, 0) => Complete::Not,
            (false, finished) if finished == self.speaking => Complete::Answer,
            (false, _) => Complete::Not,
        }
    }

    fn take(&mut self, said: &Said<'_>, data: &[u8]) -> Word {
        let parts = said.choices.iter().chain(&said.candidates).flatten();
        for part in parts {
            let bit = 1 << part.index.unwrap_or(0).min(u128::BITS - 1);
            self.speaking |= bit;
            if part.finish_reason.as_ref().is_some_and(Stated::is_one) {
                self.finished |= bit;
            }
        }
        if said.is_blocked() {
            (self.speaking, self.finished) = (self.speaking | 1, self.finished | 1);
        }
        self.over = matches!(
            said.kind.as_deref(),
            Some("message_stop" | "response.completed" | "response.incomplete")
        );
        // Read as a whole only until the first content has come.
        let has_come = self.begun || self.complete() != Complete::Not;
        self.begun = has_come || serde_json::from_slice(data).is_ok_and(|event| has_content(&event));
        match self.begun {
            true => Word::Content,
            false => Word::Greeting,
        }
    }
}

impl Said<'_> {
    fn may_be_error(&self) -> bool {
        let in_response = || {
            self.response
                .as_ref()
                .is_some_and(|nested| nested.error.is_some())
        };
        self.error.is_some()
            || self.errors.is_some()
            || matches!(self.kind.as_deref(), Some("error" | "response.failed"))
            || in_response()
    }

    fn is_blocked(&self) -> bool {
        let reason = self
            .prompt_feedback
            .as_ref()
            .and_then(|feedback| feedback.block_reason.as_ref());
        reason.is_some_and(Stated::is_one)
    }
}

/// Kinds of events that come before anything of an answer, in Anthropic's messages and OpenAI's responses.
const GREETINGS: [&str; 9] = [
    "ping",
    "message_start",
    "message_delta",
    "content_block_stop",
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.content_part.added",
    "response.reasoning_summary_part.added",
];

fn is_json(text: Option<&str>) -> bool {
    text.is_some_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn has_content(event: &Value) -> bool {
    let Some(members) = event.as_object() else {
        return true;
    };
    match event.get("type").and_then(Value::as_str) {
        Some(kind) if GREETINGS.contains(&kind) => return false,
        Some("content_block_start") => return says_more(event.get("content_block"), &["text", "thinking"]),
        Some("content_block_delta") => {
            return event.get("delta").is_none_or(|delta| is_said(delta, &["type"]));
        }
        Some("response.output_item.added") => {
            return says_more(event.get("item"), &["message", "reasoning"]);
        }
        Some(_) => return true,
        None => {}
    }
    if let Some(choices) = event.get("choices").and_then(Value::as_array) {
        let delta = |choice: &Value| choice.get("delta").is_some_and(|delta| is_said(delta, &["role"]));
        let text = |choice: &Value| choice.get("text").is_some_and(|text| is_said(text, &[]));
        return choices.iter().any(|choice| delta(choice) || text(choice));
    }
    if let Some(candidates) = event.get("candidates").and_then(Value::as_array) {
        let parts = |candidate: &Value| {
            let content = candidate.get("content")?;
            content.get("parts").map(|parts| is_said(parts, &[]))
        };
        return candidates.iter().any(|candidate| parts(candidate) == Some(true));
    }
    // Gemini says what it counts before it says anything.
    !members.contains_key("usageMetadata")
}

/// Whether a part that begins is more than a place for the text that follows: a tool's call begins with its name.
fn says_more(part: Option<&Value>, texts: &[&str]) -> bool {
    let Some(part) = part else {
        return true;
    };
    let kind = part.get("type").and_then(Value::as_str);
    match kind {
        Some(kind) if texts.contains(&kind) => is_said(part, &["type", "id", "status", "role"]),
        Some(_) | None => true,
    }
}

/// Whether there is anything in it, apart from members of these names.
fn is_said(value: &Value, but: &[&str]) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => values.iter().any(|value| is_said(value, but)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| !but.contains(&name.as_str()) && is_said(value, but)),
    }
}

#[cfg(test)]
mod tests;
