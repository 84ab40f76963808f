//! What an answer says that it used, in the dialects that say so.

use seawall_core::outcome::Usage;
use serde::Deserialize;

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default, rename = "usageMetadata")]
    usage_metadata: Option<Tokens>,
}

/// OpenAI's, Anthropic's and Gemini's words for the same two counts.
#[derive(Deserialize)]
struct Tokens {
    #[serde(default, alias = "prompt_tokens", alias = "promptTokenCount")]
    input_tokens: Option<u64>,
    #[serde(default, alias = "completion_tokens", alias = "candidatesTokenCount")]
    output_tokens: Option<u64>,
}

/// The tokens that a JSON answer reports; nothing where it reports none, or is something else.
pub(super) fn read(body: &[u8]) -> Usage {
    let Ok(Body {
        usage,
        usage_metadata,
    }) = serde_json::from_slice(body)
    else {
        return Usage::NONE;
    };
    match usage.or(usage_metadata) {
        Some(tokens) => Usage {
            tokens_in: tokens.input_tokens.unwrap_or(0),
            tokens_out: tokens.output_tokens.unwrap_or(0),
        },
        None => Usage::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dialects_say_the_same_and_junk_says_nothing() {
        // Could break if a field that is null, missing or a float made the whole answer unreadable.
        let usage = Usage {
            tokens_in: 3,
            tokens_out: 5,
        };
        for body in [
            r#"{"usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}}"#,
            r#"{"usage":{"input_tokens":3,"output_tokens":5}}"#,
            r#"{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5}}"#,
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
}
