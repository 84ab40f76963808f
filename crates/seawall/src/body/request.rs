mod scan;

use seawall_core::profile::RequestFacts;
use serde_json::{Map, Value};

/// Tools that the caller runs, or that only read; any other kind is taken for one that acts.
const HARMLESS_TOOLS: [&str; 13] = [
    "apply_patch",
    "bash",
    "computer",
    "custom",
    "file_search",
    "function",
    "image_generation",
    "local_shell",
    "memory",
    "text_editor",
    "tool_search",
    "web_fetch",
    "web_search",
];

/// What a call is taken to be answered with where it states no limit of its own: 256 tokens, a few paragraphs. The
/// answer's own figure replaces it.
pub const ANSWER_TOKENS_DEFAULT: u64 = 256;
/// Bytes of text to a token: 4, OpenAI's and Gemini's rule of thumb for English.
const TEXT_BYTES_PER_TOKEN: u64 = 4;
/// What one image, sound or file inside a body is taken for: 1 000 tokens, between the 258 of Gemini and the 1 600 of
/// Anthropic for an image.
const MEDIUM_TOKENS: u64 = 1_000;
/// A string that is longer than this and in the letters of base64 is a medium, and no text.
const MEDIUM_BYTES_MIN: usize = 1_024;
/// The most that is looked at of a long string to tell what it is.
const MEDIUM_LOOKED_AT_BYTES: usize = 256;

/// What a request's body says before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestBody {
    /// What decides whether it may be repeated.
    pub facts: RequestFacts,
    /// An estimate of the tokens that are read: a quarter of its bytes, and a thousand for each image or file inside.
    pub tokens_in: u64,
    /// The most tokens that it asks for, over all its answers; 0 where it states no such limit.
    pub tokens_out_max: u64,
    /// How many answers it asks for; 0 is 1.
    pub answers: u64,
}

impl RequestBody {
    /// Reads a body. A body that is not JSON says nothing but its length.
    ///
    /// ```
    /// use seawall::body::RequestBody;
    /// let body = RequestBody::read(br#"{"messages":[],"max_tokens":50,"n":2}"#);
    /// assert_eq!((body.tokens_in, body.tokens_out()), (10, 100));
    /// ```
    pub fn read(bytes: &[u8]) -> Self {
        // Nearly always. What is not plainly JSON is for the parser to say.
        scan::read(bytes).unwrap_or_else(|| Self::built(bytes))
    }

    /// As [`read`](Self::read), by way of a tree.
    fn built(bytes: &[u8]) -> Self {
        let Ok(Value::Object(body)) = serde_json::from_slice(bytes) else {
            return Self {
                tokens_in: text_tokens(bytes.len()),
                ..Self::default()
            };
        };
        let number = |key| body.get(key).and_then(Value::as_u64);
        let gemini = |key| body.get("generationConfig")?.get(key)?.as_u64();
        // OpenAI counts the answers that it throws away (`best_of`).
        let answers = number("n").max(number("best_of")).or(gemini("candidateCount"));
        let each = number("max_completion_tokens")
            .or(number("max_output_tokens"))
            .or(number("max_tokens"))
            .or(gemini("maxOutputTokens"));
        let answers = answers.unwrap_or(1);
        let media = Media::default().and(body.values());
        Self {
            facts: facts(&body),
            tokens_in: text_tokens(bytes.len().saturating_sub(media.bytes))
                .saturating_add(media.count.saturating_mul(MEDIUM_TOKENS)),
            tokens_out_max: each.unwrap_or(0).saturating_mul(answers.max(1)),
            answers,
        }
    }

    /// An estimate of the tokens that it is answered with at the most.
    pub const fn tokens_out(&self) -> u64 {
        match (self.tokens_out_max, self.answers) {
            (0, 0) => ANSWER_TOKENS_DEFAULT,
            (0, answers) => ANSWER_TOKENS_DEFAULT.saturating_mul(answers),
            (most, _) => most,
        }
    }
}

/// Reads from a request's body what decides whether it may be repeated (rule E1): a stored conversation, work in
/// the background, a server-side tool that acts. The key is a header, the adapter's to set.
///
/// A body that is not JSON says nothing. A tool of an unknown kind counts as one that acts: a repeat that is not
/// made is cheaper than one that acts twice.
pub fn request_facts(bytes: &[u8]) -> RequestFacts {
    RequestBody::read(bytes).facts
}

fn facts(body: &Map<String, Value>) -> RequestFacts {
    let mut facts = RequestFacts::default();
    let is_true = |key| body.get(key).and_then(Value::as_bool) == Some(true);
    let is_there = |key| body.get(key).is_some_and(|value| !value.is_null());
    facts.stream = is_true("stream");
    facts.background = is_true("background");
    facts.conversation = is_there("conversation");
    let tools = body.get("tools").and_then(Value::as_array);
    let acts = |tool: &Value| {
        tool.get("type")
            .and_then(Value::as_str)
            .is_some_and(acts_on_the_world)
    };
    let servers = body.get("mcp_servers").and_then(Value::as_array);
    facts.acting_tool =
        tools.is_some_and(|tools| tools.iter().any(acts)) || servers.is_some_and(|all| !all.is_empty());
    facts
}

const fn text_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(TEXT_BYTES_PER_TOKEN)
}

/// The images, sounds and files inside a body. As text they would be a hundred times what a provider counts, and a
/// call that needs more than its bucket holds is refused.
#[derive(Clone, Copy, Default)]
struct Media {
    count: u64,
    bytes: usize,
}

impl Media {
    /// These, and those inside `values`. As deep as the parser lets a body be.
    fn and<'v>(self, values: impl IntoIterator<Item = &'v Value>) -> Self {
        values.into_iter().fold(self, |media, value| match value {
            Value::String(text) if is_medium(text) => Self {
                count: media.count + 1,
                bytes: media.bytes + text.len(),
            },
            Value::Array(values) => media.and(values),
            Value::Object(members) => media.and(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => media,
        })
    }
}

fn is_medium(text: &str) -> bool {
    let start = &text.as_bytes()[..text.len().min(MEDIUM_LOOKED_AT_BYTES)];
    text.len() > MEDIUM_BYTES_MIN && is_medium_start(start)
}

/// Whether a long text that begins so is no text.
fn is_medium_start(start: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    start.starts_with(b"data:") || start.iter().all(is_base64)
}

/// Kinds carry versions and previews: `web_search_20250305`, `computer_use_preview`.
fn acts_on_the_world(kind: &str) -> bool {
    !HARMLESS_TOOLS.iter().any(|harmless| {
        kind.strip_prefix(harmless)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

#[cfg(test)]
mod tests;
