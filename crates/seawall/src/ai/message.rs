//! What is said in a chat: messages, and the parts that they are made of.
//!
//! What can go wrong: each provider has a shape of its own, and a shape that holds only what all three share loses
//! parallel tool calls, the signatures without which thinking cannot be sent back, or a part that came up last week. So
//! a message is a role and parts in order, what has no name here is kept as it came ([`Part::Other`]), and as JSON a
//! message has OpenAI's shape, which conversations in files have.

#[cfg(test)]
mod tests;
pub(super) mod wire;

use super::Dialect;
use super::tool::{ToolCall, ToolResult};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Who set the model up: above the user.
    System,
    /// OpenAI's newer word for [`Role::System`]; the other dialects take both for the same.
    Developer,
    /// Who asks.
    User,
    /// The model.
    Assistant,
    /// The caller's program, with what its tools gave.
    Tool,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 5] = [
        Self::System,
        Self::Developer,
        Self::User,
        Self::Assistant,
        Self::Tool,
    ];

    /// The word of OpenAI's dialect.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Developer => "developer",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// One message of a chat.
///
/// As JSON it has the shape of OpenAI's chats, both ways. Parts that have no place there (thinking, several tool results
/// in one message) are written as content parts of their own type and read back as what they were; tool calls stand
/// behind the content, wherever they stood among the parts. Anthropic's blocks `tool_use`, `tool_result`, `thinking` and
/// `image` are read as well.
///
/// ```
/// use seawall::ai::{Message, Role};
/// let message: Message = serde_json::from_str(r#"{"role":"user","content":"Hello"}"#)?;
/// assert_eq!(message, Message::user("Hello"));
/// assert_eq!((message.role, message.text().as_ref()), (Role::User, "Hello"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
    /// Members of its JSON that have no field here (`name`, `annotations`, …); OpenAI's dialect alone sends them.
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            role,
            parts: parts.into_iter().collect(),
            extra: Map::new(),
        }
    }

    /// A message of the system.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, [Part::Text(text.into())])
    }

    /// A message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, [Part::Text(text.into())])
    }

    /// A message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, [Part::Text(text.into())])
    }

    /// What a tool gave.
    pub fn tool(result: ToolResult) -> Self {
        Self::new(Role::Tool, [Part::ToolResult(result)])
    }

    /// The same with one part more.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Its texts, one after the other; no thinking, no refusal.
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            // A text with something beside it, such as a mark for the cache.
            Part::Other(value) if value["type"] == "text" => value["text"].as_str(),
            Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::Other(_) => None,
        });
        let first = texts.next().unwrap_or("");
        match texts.next() {
            None => Cow::Borrowed(first),
            Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
        }
    }

    /// The tools that it wants called, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text(_)
            | Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolResult(_)
            | Part::Other(_) => None,
        })
    }

    /// What tools gave, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            Part::Text(_)
            | Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolCall(_)
            | Part::Other(_) => None,
        })
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(String),
    /// An image.
    Image(Image),
    /// What a model thought before it spoke.
    Thinking(Thinking),
    /// Why the model would not (OpenAI).
    Refusal(String),
    /// The model wants a tool called.
    ToolCall(ToolCall),
    /// What a called tool gave.
    ToolResult(ToolResult),
    /// A part as it stands on the wire: audio, documents, results of a provider's own tools, what comes up next week.
    /// It is sent as it is, to whichever dialect.
    Other(Value),
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// Where it is.
    pub source: ImageSource,
    /// How closely it is looked at, in OpenAI's words (`low`, `high`, `auto`); the other dialects have no such word.
    pub detail: Option<String>,
}

impl Image {
    /// An image that the provider fetches.
    pub fn url(url: impl Into<String>) -> Self {
        Self {
            source: ImageSource::Url(url.into()),
            detail: None,
        }
    }

    /// An image that is sent along: base64 of its bytes, and their type (`image/png`).
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            source: ImageSource::Base64 {
                media_type: media_type.into(),
                data: data.into(),
            },
            detail: None,
        }
    }
}

impl From<Image> for Part {
    fn from(image: Image) -> Self {
        Self::Image(image)
    }
}

/// Where an image is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageSource {
    /// At this address.
    Url(String),
    /// Here.
    Base64 {
        /// What it is: `image/png`.
        media_type: String,
        /// Its bytes, in standard base64.
        data: String,
    },
}

/// What a model thought. It is sent back to the dialect that it came from and to no other, since its signature means
/// nothing elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinking {
    /// The thought, or what the provider shows of it; may be empty.
    pub text: String,
    /// The provider's seal. With it, the thought can be sent back.
    pub signature: Option<String>,
    /// The thought in the provider's cipher, where it shows nothing (Anthropic's `redacted_thinking`).
    pub redacted: Option<String>,
    /// Whose thought it is, where that is known.
    pub dialect: Option<Dialect>,
}

impl Thinking {
    /// A thought of a model that is spoken to in this dialect.
    pub fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            dialect: Some(dialect),
            ..Self::default()
        }
    }
}
