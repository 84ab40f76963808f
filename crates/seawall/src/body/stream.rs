//! Whether a stream of events came to its end (rule L3).
//!
//! What can go wrong: a server that dies in mid-sentence often ends its connection cleanly, and HTTP calls the
//! half of an answer whole. So only the dialect's own last word makes a stream complete: OpenAI's `[DONE]` or a
//! `finish_reason`, Anthropic's `message_stop`, a response's `completed` or `incomplete` (which the provider means),
//! Gemini's `finishReason`. What it does not cover: streams that are handed on as they come, whose breaks are told
//! in their own dialect.

use super::{OwnedBodyFacts, error_event};
use seawall_core::facts::BodyState;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a whole stream at an inference endpoint says: complete, cut short, or an error on the way, with its facts.
pub(super) fn whole_stream(bytes: &[u8]) -> OwnedBodyFacts {
    let mut facts = OwnedBodyFacts {
        state: BodyState::Truncated,
        ..OwnedBodyFacts::default()
    };
    for (name, data) in Events::of(bytes) {
        if let Some(error) = error_event(&name, &data) {
            return error;
        }
        if is_last_word(&data) {
            facts.state = BodyState::WellFormed;
        }
    }
    facts
}

/// What the last events of the dialects have in common: each says its end in a place of its own.
#[derive(Deserialize)]
struct Said {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    choices: Vec<Part>,
    #[serde(default)]
    candidates: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default, alias = "finishReason")]
    finish_reason: Option<IgnoredAny>,
}

fn is_last_word(data: &[u8]) -> bool {
    if data.trim_ascii() == b"[DONE]" {
        return true;
    }
    // An event that cannot be read ends nothing.
    let Ok(said) = serde_json::from_slice::<Said>(data) else {
        return false;
    };
    let last = ["message_stop", "response.completed", "response.incomplete"];
    let mut parts = said.choices.iter().chain(&said.candidates);
    said.kind.is_some_and(|kind| last.contains(&kind.as_str()))
        || parts.any(|part| part.finish_reason.is_some())
}

/// The events of a stream that carry data: name and data.
pub(crate) struct Events<'a> {
    rest: &'a [u8],
}

impl<'a> Events<'a> {
    pub(crate) const fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn line(&mut self) -> &'a [u8] {
        let end = self
            .rest
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
            .unwrap_or(self.rest.len());
        let (line, tail) = self.rest.split_at(end);
        self.rest = tail.strip_prefix(b"\r\n").or(tail.get(1..)).unwrap_or(b"");
        line
    }
}

impl Iterator for Events<'_> {
    type Item = (String, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let (mut name, mut data) = (String::new(), Vec::new());
        while !self.rest.is_empty() {
            let line = self.line();
            if line.is_empty() {
                if !data.is_empty() {
                    return Some((name, data));
                }
                name.clear();
                continue;
            }
            let (field, value) = match line.iter().position(|byte| *byte == b':') {
                Some(colon) => (&line[..colon], &line[colon + 1..]),
                None => (line, b"".as_slice()),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match field {
                b"event" => name = String::from_utf8_lossy(value).into_owned(),
                b"data" => {
                    if !data.is_empty() {
                        data.push(b'\n');
                    }
                    data.extend_from_slice(value);
                }
                _ => {}
            }
        }
        (!data.is_empty()).then_some((name, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_dialects_last_word_makes_a_stream_whole() {
        // Half an answer that is taken for a whole one is worse than none: nobody asks again.
        let delta = r#"data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}"#;
        for (events, state) in [
            (delta, BodyState::Truncated),
            (": ping", BodyState::Truncated),
            ("data: {\"choices\":[{\"finish_reason\":", BodyState::Truncated),
            (
                "data: {\"type\":\"response.output_item.done\"}",
                BodyState::Truncated,
            ),
            ("data: {\"type\":\"content_block_stop\"}", BodyState::Truncated),
            ("data: [DONE]", BodyState::WellFormed),
            (
                "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}",
                BodyState::WellFormed,
            ),
            (
                "event: message_stop\r\ndata: {\"type\":\"message_stop\"}",
                BodyState::WellFormed,
            ),
            (
                "data: {\"type\":\"response.completed\",\"response\":{\"error\":null}}",
                BodyState::WellFormed,
            ),
            ("data: {\"type\":\"response.incomplete\"}", BodyState::WellFormed),
            (
                "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}",
                BodyState::WellFormed,
            ),
            (
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
                BodyState::ErrorInside,
            ),
        ] {
            let stream = format!("{delta}\n\n{events}\n\n");
            assert_eq!(whole_stream(stream.as_bytes()).state, state, "{events}");
        }
        assert_eq!(whole_stream(b"\xff\xfe\n\n").state, BodyState::Truncated);
    }

    #[test]
    fn an_error_on_the_way_is_told_even_where_the_stream_ends_well() {
        // A gateway that closes each stream with `[DONE]` would hide what went wrong before.
        let stream =
            b"data: {\"choices\":[]}\n\ndata: {\"error\":{\"code\":\"server_error\"}}\n\ndata: [DONE]\n\n";
        let facts = whole_stream(stream);
        assert_eq!(
            (facts.state, facts.code.as_deref()),
            (BodyState::ErrorInside, Some("server_error"))
        );
    }
}
