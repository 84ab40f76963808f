//! What an answer says that it used, in the dialects that say so.
//!
//! What can go wrong: a stream says its usage in pieces (Anthropic what was read at its start and what was written at
//! its end, OpenAI all in a last event, Gemini a running sum in each), and an answer that is given up on the way was
//! paid for as far as it came. So each event is read, and of each count the greatest holds.

use crate::body::Events;
use crate::json::{self, Path, Value};
use seawall_core::outcome::Usage;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The longest part of a broken-off answer that is searched for its usage: 1 MiB, above any stream's.
const PART_BYTES_MAX: usize = 1 << 20;

#[derive(Default, Deserialize)]
struct Body {
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default, rename = "usageMetadata")]
    usage_metadata: Option<Tokens>,
    /// Where Anthropic's first event has it.
    #[serde(default)]
    message: Option<Inner>,
    /// Where the last event of OpenAI's responses has it.
    #[serde(default)]
    response: Option<Inner>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Inner {
    Usage {
        usage: Tokens,
    },
    /// Elsewhere the same names stand for text.
    Other(IgnoredAny),
}

/// OpenAI's, Anthropic's and Gemini's words for the same two counts. Each stands in a field of its own: some servers
/// say both of the first two.
#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default, rename = "promptTokenCount")]
    prompt_token_count: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default, rename = "candidatesTokenCount")]
    candidates_token_count: Option<u64>,
}

impl Tokens {
    fn usage(&self) -> Usage {
        let tokens_in = self
            .input_tokens
            .or(self.prompt_tokens)
            .or(self.prompt_token_count);
        let tokens_out = self
            .output_tokens
            .or(self.completion_tokens)
            .or(self.candidates_token_count);
        Usage {
            tokens_in: tokens_in.unwrap_or(0),
            tokens_out: tokens_out.unwrap_or(0),
        }
    }
}

impl Body {
    fn usage(self) -> Usage {
        let inner = |inner: Option<Inner>| match inner {
            Some(Inner::Usage { usage }) => Some(usage),
            Some(Inner::Other(_)) | None => None,
        };
        self.usage
            .or(self.usage_metadata)
            .or_else(|| inner(self.message))
            .or_else(|| inner(self.response))
            .map_or(Usage::NONE, |tokens| tokens.usage())
    }
}

/// The tokens that an answer reports, JSON or a stream of events; nothing where it reports none, or is something else.
pub(super) fn read(body: &[u8]) -> Usage {
    if !body.windows(5).any(|word| word == b"usage") {
        return Usage::NONE;
    }
    if let Some(usage) = scanned(body) {
        return usage;
    }
    match serde_json::from_slice::<Body>(body) {
        Ok(body) => body.usage(),
        Err(_) => of_events(body),
    }
}

/// Where a body of JSON says what it used: the first of these that is an object counts.
const PLACES: [&[&str]; 4] = [
    &["usage"],
    &["usageMetadata"],
    &["message", "usage"],
    &["response", "usage"],
];
/// The words for tokens read, and for those written, in the order in which they count.
const READ: [&str; 3] = ["input_tokens", "prompt_tokens", "promptTokenCount"];
const WRITTEN: [&str; 3] = ["output_tokens", "completion_tokens", "candidatesTokenCount"];

/// The tokens that a plain answer reports, without building it: nearly always. Nothing where it is no JSON, or says them
/// in a way that the parser is to judge.
fn scanned(body: &[u8]) -> Option<Usage> {
    let mut found = [None; PLACES.len()];
    let mut is_plain = true;
    json::walk(body, &mut |path, value, _| {
        for (keys, counts) in PLACES.into_iter().zip(&mut found) {
            is_plain &= note(path, value, keys, counts);
        }
    })?;
    if !is_plain {
        return None;
    }
    let said = found.into_iter().flatten().next();
    let [tokens_in, tokens_out] = said.unwrap_or_default().map(|counts: [Option<u64>; 3]| {
        let first = counts.into_iter().flatten().next();
        first.unwrap_or(0)
    });
    Some(Usage {
        tokens_in,
        tokens_out,
    })
}

/// Notes what one value says at one place. Says whether that is as it should be: once, and in whole numbers.
fn note(
    path: &Path<'_>,
    value: Value<'_>,
    keys: &[&str],
    counts: &mut Option<[[Option<u64>; 3]; 2]>,
) -> bool {
    if path.is(keys) {
        let is_first = counts.is_none();
        if is_first && value == Value::Object {
            *counts = Some([[None; 3]; 2]);
        }
        return is_first && matches!(value, Value::Object | Value::Null);
    }
    let (Some([read, written]), true) = (counts.as_mut(), path.depth() == keys.len() + 1) else {
        return true;
    };
    let Some(key) = path.last_key().filter(|_| path.is_under(keys)) else {
        return true;
    };
    let mut words = READ.iter().zip(read).chain(WRITTEN.iter().zip(written));
    let Some((_, count)) = words.find(|(word, _)| key.is(word)) else {
        return true;
    };
    let is_said = value.as_u64().is_some() && count.is_none();
    *count = value.as_u64();
    is_said || value == Value::Null
}

/// The tokens that the first part of an answer reports. Only a stream says them before its end.
pub(super) fn of_part(bytes: &[u8]) -> Usage {
    of_events(&bytes[..bytes.len().min(PART_BYTES_MAX)])
}

fn of_events(bytes: &[u8]) -> Usage {
    Events::of(bytes).fold(Usage::NONE, |used, (_, data)| with_event(used, &data))
}

/// What a stream has used by this event, which had used this much before.
pub(super) fn with_event(before: Usage, data: &[u8]) -> Usage {
    // Most events are content.
    if !data.windows(5).any(|word| word == b"usage") {
        return before;
    }
    let said = serde_json::from_slice::<Body>(data).unwrap_or_default().usage();
    Usage {
        tokens_in: before.tokens_in.max(said.tokens_in),
        tokens_out: before.tokens_out.max(said.tokens_out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dialects_say_the_same_and_junk_says_nothing() {
        // Could break if a server that says a count in two dialects at once, or junk, made the answer unreadable.
        let usage = Usage {
            tokens_in: 3,
            tokens_out: 5,
        };
        for body in [
            r#"{"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}"#,
            r#"{"usage":{"input_tokens":3,"output_tokens":5}}"#,
            r#"{"usage":{"input_tokens":3,"output_tokens":5,"prompt_tokens":3,"completion_tokens":5}}"#,
            r#"{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5}}"#,
            r#"{"message":"text","response":["list"],"usage":{"input_tokens":3,"output_tokens":5}}"#,
        ] {
            assert_eq!(read(body.as_bytes()), usage, "{body}");
        }
        for body in [
            "",
            "<html>",
            "[]",
            r#"{"usage":null}"#,
            r#"{"usage":{"prompt_tokens":-1}}"#,
        ] {
            assert_eq!(read(body.as_bytes()), Usage::NONE, "{body}");
        }
    }

    #[test]
    fn a_stream_says_in_pieces_what_it_used() {
        // Could break if a stream were settled by its estimate for ever, if the sum so far were added up, or if a
        // first part were worth nothing.
        let anthropic = concat!(
            "event: message_start\n",
            r#"data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}"#,
            "\n\nevent: message_delta\n",
            r#"data: {"type":"message_delta","usage":{"output_tokens":15}}"#,
            "\n\n"
        );
        let openai = concat!(
            r#"data: {"choices":[{"delta":{"content":"usage"}}],"usage":null}"#,
            "\n\n",
            r#"data: {"choices":[],"usage":{"prompt_tokens":25,"completion_tokens":15}}"#,
            "\n\ndata: [DONE]\n\n"
        );
        let responses = r#"data: {"type":"response.completed","response":{"usage":{"input_tokens":25,"output_tokens":15}}}"#;
        let gemini = concat!(
            r#"data: {"usageMetadata":{"promptTokenCount":25,"candidatesTokenCount":7}}"#,
            "\n\n",
            r#"data: {"usageMetadata":{"promptTokenCount":25,"candidatesTokenCount":15}}"#,
            "\n\n"
        );
        let usage = Usage {
            tokens_in: 25,
            tokens_out: 15,
        };
        for stream in [anthropic, openai, responses, gemini] {
            assert_eq!(read(stream.as_bytes()), usage, "{stream}");
        }
        let part = of_part(&anthropic.as_bytes()[..anthropic.len() / 2 + 20]);
        assert_eq!((part.tokens_in, part.tokens_out), (25, 1));
        let cut = br#"{"usage":{"prompt_tokens":3"#;
        assert_eq!(of_part(cut), Usage::NONE);
    }
}
