//! What comes back of a chat.

use super::message::Message;
use super::tool::ToolCall;
use crate::body::Counts;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// The answer to a chat.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatAnswer {
    /// The provider's name for it; empty where it gives none.
    pub id: String,
    /// The model that answered, which may say more than what was asked for; empty where the provider does not say.
    pub model: String,
    /// What the model says.
    pub message: Message,
    /// Why it ended.
    pub finish: Finish,
    /// What it took; nothing where the provider does not say, which is not the same as nothing taken.
    pub usage: Option<Usage>,
    /// The other answers, where more than one was asked for.
    pub more: Vec<Choice>,
    /// The whole body, with what has no field here. Of a stream: what stands beside the deltas.
    pub raw: Value,
}

impl ChatAnswer {
    /// What the model says, in one text; no thinking, no refusal.
    pub fn text(&self) -> Cow<'_, str> {
        self.message.text()
    }

    /// The tools that it wants called, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.message.tool_calls()
    }

    /// Its text as JSON of a type.
    ///
    /// ```
    /// # use seawall::ai::{Assembly, Delta};
    /// # let mut assembly = Assembly::new();
    /// # assembly.push(Delta::Text(r#"{"city":"Oslo"}"#.to_owned()));
    /// # let answer = assembly.into_answer();
    /// #[derive(serde::Deserialize)]
    /// struct Place {
    ///     city: String,
    /// }
    /// assert_eq!(answer.json::<Place>()?.city, "Oslo");
    /// # Ok::<(), seawall::ai::NotTheJson>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is not JSON, or not of that type; the error says how the answer ended, since one that was cut at its
    /// limit is half of its JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, NotTheJson> {
        serde_json::from_str(&self.text()).map_err(|source| NotTheJson {
            finish: self.finish.clone(),
            source,
        })
    }
}

/// An answer's text is not the JSON that was wanted.
#[derive(Debug, thiserror::Error)]
#[error("the answer is not the JSON that was wanted ({finish}): {source}")]
#[non_exhaustive]
pub struct NotTheJson {
    /// How the answer ended.
    pub finish: Finish,
    /// What is wrong with its text.
    pub source: serde_json::Error,
}

/// One of several answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// What the model says.
    pub message: Message,
    /// Why it ended.
    pub finish: Finish,
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// It has said everything, or met a stop text.
    Stop,
    /// At the limit of its tokens, or of the model's window.
    Length,
    /// It wants tools called.
    ToolCalls,
    /// The provider or the model would not: a filter, a refusal.
    Refused,
    /// The provider paused it; sent back as it is, the chat goes on (Anthropic's `pause_turn`).
    Paused,
    /// In the provider's own word.
    Other(String),
    /// Nothing was said of an end: a stream that broke, or a server that does not say.
    #[default]
    Unsaid,
}

impl std::fmt::Display for Finish {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stop => "it ended by itself",
            Self::Length => "it was cut at its limit of tokens",
            Self::ToolCalls => "it wants tools called",
            Self::Refused => "it was refused",
            Self::Paused => "it was paused",
            Self::Other(word) => return write!(f, "it ended with `{word}`"),
            Self::Unsaid => "its end was not told",
        })
    }
}

/// Tokens that an answer took, counted alike for every dialect.
///
/// | | OpenAI | Anthropic | Gemini |
/// |---|---|---|---|
/// | `input` | `prompt_tokens` | `input_tokens` + both cache counts | `promptTokenCount` + `toolUsePromptTokenCount` |
/// | `output` | `completion_tokens` | `output_tokens` | `candidatesTokenCount` + `thoughtsTokenCount` |
///
/// It is the same sum that [`Error::usage`](super::Error::usage) and the usage of an [`Upstream`](crate::Upstream)'s calls
/// are told by. A count that is no whole number of 64 bits is taken for unsaid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// All that was read, from a cache or not.
    pub input: u64,
    /// All that was written, thinking included.
    pub output: u64,
    /// Of the input: read from a cache.
    pub cached: u64,
    /// Of the input: written to a cache.
    pub cache_written: u64,
    /// Of what was written to a cache: for an hour, which costs more (Anthropic).
    pub cache_written_1h: u64,
    /// Of the output: thinking.
    pub reasoning: u64,
}

impl Usage {
    /// All tokens of the input, and all of the output.
    pub fn new(input: u64, output: u64) -> Self {
        Self {
            input,
            output,
            ..Self::default()
        }
    }

    /// What a body or an event says, wherever its dialect says it: by the reader that limits are settled by.
    pub(super) fn said_in(body: &Value) -> Option<Self> {
        Self::of(&Counts::of_value(body))
    }

    pub(super) fn of(counts: &Counts) -> Option<Self> {
        counts.tokens().map(|tokens| Self {
            input: tokens.input,
            output: tokens.output,
            cached: tokens.cached,
            cache_written: tokens.cache_written,
            cache_written_1h: tokens.cache_written_1h,
            reasoning: tokens.thinking,
        })
    }

    /// Input and output together.
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
