//! What is asked of a model.

use super::Dialect;
use super::message::{Message, Role};
use super::tool::{Obedience, Schema, Tool, ToolChoice, ToolTurns};
use serde_json::Value;

/// A chat and how it is to be answered: one request for every dialect.
///
/// A setting that is not given is not sent, so that the provider's own default holds. What a dialect cannot say is an
/// error when the chat is encoded ([`EncodeError`](super::EncodeError)), or is left out and told where
/// [`Chat::unsupported`] says so; it is never dropped in silence.
///
/// ```
/// use seawall::ai::Chat;
/// let chat = Chat::new("gpt-5-mini")
///     .system("Answer in one sentence.")
///     .user("What is a seawall?")
///     .max_tokens(100);
/// assert_eq!(chat.messages.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chat {
    /// The model, by its provider's name for it.
    pub model: String,
    /// What was said so far.
    pub messages: Vec<Message>,
    /// How freely words are drawn, from 0.
    pub temperature: Option<f64>,
    /// From how much of the likeliest words they are drawn, from 0 to 1.
    pub top_p: Option<f64>,
    /// The most tokens of an answer, thinking included.
    pub max_tokens: Option<u32>,
    /// Texts at which the answer ends.
    pub stop: Vec<String>,
    /// Asks for the same answer to the same chat, as far as the provider can.
    pub seed: Option<i64>,
    /// How many answers are asked for; streams have one.
    pub choices: Option<u32>,
    /// What the model may have called.
    pub tools: Vec<Tool>,
    /// Whether it must.
    pub tool_choice: Option<ToolChoice>,
    /// How many tools it may call at once.
    pub tool_turns: ToolTurns,
    /// What the answer is written in.
    pub format: Format,
    /// How hard the model thinks before it speaks.
    pub reasoning: Option<Effort>,
    /// What OpenAI's dialect calls [`Chat::max_tokens`].
    pub limit_key: LimitKey,
    /// What becomes of what a dialect cannot say.
    pub unsupported: Unsupported,
    /// Members of the body that have no field here.
    pub extra: Vec<Extra>,
}

impl Chat {
    /// An empty chat with this model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            messages: Vec::new(),
            temperature: None,
            top_p: None,
            max_tokens: None,
            stop: Vec::new(),
            seed: None,
            choices: None,
            tools: Vec::new(),
            tool_choice: None,
            tool_turns: ToolTurns::default(),
            format: Format::default(),
            reasoning: None,
            limit_key: LimitKey::default(),
            unsupported: Unsupported::default(),
            extra: Vec::new(),
        }
    }

    /// The same for another model.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Says something as the system.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::system(text))
    }

    /// Says something as the user.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Says something as the model.
    #[must_use]
    pub fn assistant(self, text: impl Into<String>) -> Self {
        self.message(Message::assistant(text))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.messages.extend(messages);
        self
    }

    /// How freely words are drawn, from 0.
    #[must_use]
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// From how much of the likeliest words they are drawn, from 0 to 1.
    #[must_use]
    pub const fn top_p(mut self, top_p: f64) -> Self {
        self.top_p = Some(top_p);
        self
    }

    /// The most tokens of an answer, thinking included.
    #[must_use]
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// A text at which the answer ends; one more with each call.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }

    /// Asks for the same answer to the same chat, as far as the provider can.
    #[must_use]
    pub const fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How many answers are asked for.
    #[must_use]
    pub const fn choices(mut self, choices: u32) -> Self {
        self.choices = Some(choices);
        self
    }

    /// A tool that the model may have called; one more with each call.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Whether it must call tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// How many tools it may call at once.
    #[must_use]
    pub const fn tool_turns(mut self, turns: ToolTurns) -> Self {
        self.tool_turns = turns;
        self
    }

    /// The answer is a JSON object. OpenAI wants the chat to say so as well; Anthropic has no such setting.
    #[must_use]
    pub fn json(mut self) -> Self {
        self.format = Format::Json;
        self
    }

    /// The answer is JSON of this schema, to the letter.
    #[must_use]
    pub fn json_schema(mut self, name: impl Into<String>, schema: impl Into<Schema>) -> Self {
        self.format = Format::Schema {
            name: name.into(),
            schema: schema.into(),
            obedience: Obedience::Strict,
        };
        self
    }

    /// How hard the model thinks before it speaks; for models that do.
    #[must_use]
    pub const fn reasoning(mut self, effort: Effort) -> Self {
        self.reasoning = Some(effort);
        self
    }

    /// What OpenAI's dialect calls the limit of tokens.
    #[must_use]
    pub const fn limit_key(mut self, key: LimitKey) -> Self {
        self.limit_key = key;
        self
    }

    /// What becomes of what a dialect cannot say.
    #[must_use]
    pub const fn unsupported(mut self, unsupported: Unsupported) -> Self {
        self.unsupported = unsupported;
        self
    }

    /// A member of the body, for whichever dialect it is sent in. It stands over what the settings say: an object is
    /// merged with an object, `null` takes a member away, anything else replaces it.
    ///
    /// ```
    /// use seawall::ai::{Chat, Delivery, Dialect};
    /// let chat = Chat::new("m").user("Hello").extra("service_tier", "flex");
    /// let sent = Dialect::OpenAi.encode(&chat, Delivery::Whole)?;
    /// assert!(sent.body.ends_with(br#""service_tier":"flex"}"#));
    /// # Ok::<(), seawall::ai::EncodeError>(())
    /// ```
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.push(Extra {
            dialect: None,
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// As [`Chat::extra`], for one dialect alone: for chats that may fall back to another.
    #[must_use]
    pub fn extra_for(mut self, dialect: Dialect, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.push(Extra {
            dialect: Some(dialect),
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// What the user said last, in one text.
    pub fn last_user_text(&self) -> Option<std::borrow::Cow<'_, str>> {
        let mut messages = self.messages.iter().rev();
        messages
            .find(|message| message.role == Role::User)
            .map(Message::text)
    }
}

/// What an answer is written in.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Format {
    /// Text.
    #[default]
    Text,
    /// A JSON object.
    Json,
    /// JSON of a schema.
    Schema {
        /// Its name, which OpenAI asks for.
        name: String,
        /// The schema.
        schema: Schema,
        /// Whether the answer must follow it to the letter.
        obedience: Obedience,
    },
}

/// How hard a model thinks before it speaks.
///
/// | | OpenAI | Anthropic | Gemini |
/// |---|---|---|---|
/// | `Off` | `none` | thinking disabled | a thinking budget of 0 |
/// | `Minimal` | `minimal` | cannot be said | `MINIMAL` |
/// | `Low`, `Medium`, `High`, `XHigh` | the same | adaptive thinking with that effort | the same |
/// | `Max` | `max` | adaptive thinking, `max` | cannot be said |
///
/// Which of them a model takes is the model's to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effort {
    /// Not at all.
    Off,
    /// As little as can be.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More.
    XHigh,
    /// As much as can be.
    Max,
}

/// What OpenAI's dialect calls the limit of an answer's tokens.
///
/// OpenAI renamed it, and its thinking models refuse the old name; many other servers that speak the dialect know the
/// old name alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKey {
    /// `max_completion_tokens` for models with OpenAI's names (`gpt-…`, `o1`, `o3-…`, `chatgpt-…`, `ft:…`, with or
    /// without `openai/` before), `max_tokens` for all others.
    #[default]
    ByModel,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `max_tokens`.
    MaxTokens,
}

/// What becomes of a setting that a dialect has no words for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The chat is not encoded; the error names the setting.
    #[default]
    Refuse,
    /// It is left out, and [`Encoded::changes`](super::Encoded::changes) says so: for chats that may fall back to
    /// another dialect.
    LeaveOut,
}

/// A member of a body that has no field in [`Chat`]; see [`Chat::extra`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extra {
    /// The one dialect that it is for; all where there is none.
    pub dialect: Option<Dialect>,
    /// Its name.
    pub key: String,
    /// What it is.
    pub value: Value,
}
