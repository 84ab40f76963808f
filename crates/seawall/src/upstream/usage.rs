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

/// The tokens that a JSON answer reports; nothing where it reports none, or is something else.
pub(super) fn read(body: &[u8]) -> Usage {
    let Ok(Body {
        usage,
        usage_metadata,
    }) = serde_json::from_slice(body)
    else {
        return Usage::NONE;
    };
    usage
        .or(usage_metadata)
        .map_or(Usage::NONE, |tokens| tokens.usage())
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
