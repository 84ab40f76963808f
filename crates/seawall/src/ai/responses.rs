//! OpenAI's Responses: what is asked, and what comes back.

use super::answer::{Finish, NotTheJson, Usage};
use super::chat::{Effort, Extra, Format, Unsupported};
use super::message::{Message, Part};
use super::tool::{Obedience, Schema, Tool, ToolCall, ToolChoice, ToolTurns};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// A call of OpenAI's Responses.
///
/// With [`Responses::conversation`] or [`Responses::background`] it changes something at the provider, so that it is
/// repeated only where that is known to be harmless (rule E1).
///
/// ```
/// use seawall::ai::{Delivery, Dialect, Responses};
/// let call = Responses::new("gpt-5-mini").instructions("Be brief.").user("What is a seawall?");
/// let sent = Dialect::OpenAi.encode_responses(&call, Delivery::Whole)?;
/// assert_eq!(
///     sent.body,
///     r#"{"model":"gpt-5-mini","instructions":"Be brief.","input":"What is a seawall?"}"#
/// );
/// # Ok::<(), seawall::ai::EncodeError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Responses {
    /// The model.
    pub model: String,
    /// What was said so far. The message of an answer can be put here as it is: a part that is [`Part::Other`] is an
    /// item of its own, as it stands, unless its type begins with `input_`.
    pub input: Vec<Message>,
    /// What the system says.
    pub instructions: Option<String>,
    /// How freely words are drawn, from 0.
    pub temperature: Option<f64>,
    /// From how much of the likeliest words they are drawn, from 0 to 1.
    pub top_p: Option<f64>,
    /// The most tokens of an answer, thinking included.
    pub max_tokens: Option<u32>,
    /// What the model may have called; the provider's own tools go into [`Responses::extra`].
    pub tools: Vec<Tool>,
    /// Whether it must.
    pub tool_choice: Option<ToolChoice>,
    /// How many tools it may call at once.
    pub tool_turns: ToolTurns,
    /// What the answer is written in.
    pub format: Format,
    /// How hard the model thinks before it speaks.
    pub reasoning: Option<Effort>,
    /// The response that this one follows.
    pub previous: Option<String>,
    /// The stored conversation that it belongs to.
    pub conversation: Option<String>,
    /// Where it is worked at.
    pub place: Place,
    /// Whether the provider keeps it; its own default where nothing is said.
    pub storage: Option<Storage>,
    /// Members of the body that have no field here; see [`Chat::extra`](super::Chat::extra).
    pub extra: Vec<Extra>,
}

/// Where a response is worked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// While the caller waits.
    #[default]
    Foreground,
    /// At the provider; it is fetched later.
    Background,
}

/// Whether a provider keeps a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Storage {
    /// It is kept.
    Kept,
    /// It is forgotten.
    Forgotten,
}

impl Responses {
    /// An empty call of this model.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            input: Vec::new(),
            instructions: None,
            temperature: None,
            top_p: None,
            max_tokens: None,
            tools: Vec::new(),
            tool_choice: None,
            tool_turns: ToolTurns::default(),
            format: Format::default(),
            reasoning: None,
            previous: None,
            conversation: None,
            place: Place::default(),
            storage: None,
            extra: Vec::new(),
        }
    }

    /// What the system says.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Says something as the user.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.input.push(message);
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.input.extend(messages);
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

    /// The answer is a JSON object.
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

    /// The response that this one follows.
    #[must_use]
    pub fn previous(mut self, id: impl Into<String>) -> Self {
        self.previous = Some(id.into());
        self
    }

    /// The stored conversation that it belongs to, and is added to.
    #[must_use]
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// The provider works at it alone, and it is fetched later.
    #[must_use]
    pub const fn background(mut self) -> Self {
        self.place = Place::Background;
        self
    }

    /// Whether the provider keeps it.
    #[must_use]
    pub const fn storage(mut self, storage: Storage) -> Self {
        self.storage = Some(storage);
        self
    }

    /// A member of the body; see [`Chat::extra`](super::Chat::extra).
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.push(Extra {
            dialect: None,
            key: key.into(),
            value: value.into(),
        });
        self
    }

    /// Settings are never left out: there is one dialect.
    pub(super) const UNSUPPORTED: Unsupported = Unsupported::Refuse;
}

/// What OpenAI's Responses answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResponsesAnswer {
    /// Its id, by which it is fetched or followed.
    pub id: String,
    /// The model that answered.
    pub model: String,
    /// How far it has come.
    pub status: ResponseStatus,
    /// What the model says: texts, refusals, calls of tools, and as [`Part::Other`] every other item as it came
    /// (reasoning, searches).
    pub message: Message,
    /// Why it ended.
    pub finish: Finish,
    /// What it took, where that is told.
    pub usage: Option<Usage>,
    /// The whole body.
    pub raw: Value,
}

impl ResponsesAnswer {
    /// What the model says, in one text.
    pub fn text(&self) -> Cow<'_, str> {
        self.message.text()
    }

    /// The tools that it wants called, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.message.tool_calls()
    }

    /// Its text as JSON of a type.
    ///
    /// # Errors
    ///
    /// The text is not JSON, or not of that type; see [`ChatAnswer::json`](super::ChatAnswer::json).
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, NotTheJson> {
        serde_json::from_str(&self.text()).map_err(|source| NotTheJson {
            finish: self.finish.clone(),
            source,
        })
    }

    /// The items that have no shape of their own here.
    pub fn other_items(&self) -> impl Iterator<Item = &Value> {
        self.message.parts.iter().filter_map(|part| match part {
            Part::Other(item) => Some(item),
            Part::Text(_)
            | Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_) => None,
        })
    }
}

/// How far a response has come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseStatus {
    /// It is done.
    Completed,
    /// It was cut; [`ResponsesAnswer::finish`] says why.
    Incomplete,
    /// It is being worked at.
    InProgress,
    /// It waits to be worked at.
    Queued,
    /// It failed: the body's `error` says why.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// In the provider's own word; empty where it has none.
    Other(String),
}
