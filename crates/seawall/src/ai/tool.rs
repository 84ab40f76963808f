//! Tools: what a model may have called, what it wants called, and what that gave.

use super::message::Part;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// A JSON Schema as it was written: the order of its members is kept, since models answer in that order.
///
/// ```
/// use seawall::ai::Schema;
/// let schema = Schema::from_text(r#"{"type":"object","properties":{"why":{"type":"string"},"answer":{"type":"string"}}}"#)?;
/// assert!(schema.text().find("why") < schema.text().find("answer"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct Schema(Box<RawValue>);

impl Schema {
    /// The schema of a text, its order as it stands there.
    ///
    /// # Errors
    ///
    /// The text is not JSON.
    pub fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// As a value; the order of its members is lost.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    pub(super) fn raw(&self) -> &RawValue {
        &self.0
    }
}

impl From<Value> for Schema {
    /// The schema of a value, whose members are in alphabetical order.
    fn from(value: Value) -> Self {
        let raw = serde_json::value::to_raw_value(&value);
        Self(raw.expect("a value is JSON"))
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A function that the model may ask for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model to read.
    pub description: Option<String>,
    /// Its arguments, as a JSON Schema of an object.
    pub parameters: Schema,
    /// Whether arguments must follow the schema to the letter.
    pub obedience: Obedience,
}

/// How closely a model must follow a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obedience {
    /// As the provider does it where nothing is said.
    #[default]
    Default,
    /// To the letter (`strict`).
    Strict,
}

impl Tool {
    /// A tool with these arguments.
    ///
    /// ```
    /// use seawall::ai::Tool;
    /// use serde_json::json;
    /// let tool = Tool::new("weather", json!({ "type": "object", "properties": { "city": { "type": "string" } } }))
    ///     .description("The weather of a city, now.");
    /// assert_eq!(tool.name, "weather");
    /// ```
    pub fn new(name: impl Into<String>, parameters: impl Into<Schema>) -> Self {
        Self {
            name: name.into(),
            description: None,
            parameters: parameters.into(),
            obedience: Obedience::Default,
        }
    }

    /// What it does, for the model to read.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The model must follow the schema to the letter (OpenAI and Anthropic).
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.obedience = Obedience::Strict;
        self
    }
}

/// Whether the model must call tools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// It must not.
    None,
    /// It must call one at least.
    Required,
    /// It must call this one.
    Named(String),
}

/// How many tools a model may call in one answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolTurns {
    /// As many as it likes.
    #[default]
    Parallel,
    /// One at the most.
    OneByOne,
}

/// A tool that the model wants called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Which of the calls it is: its result names it. Where a provider gives none, the reader made one up.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments, as the model wrote them: JSON, if all is well, and half of it where a stream broke.
    pub arguments: String,
    /// The seal of the thought behind it, to be sent back with it (Gemini).
    pub signature: Option<String>,
}

impl ToolCall {
    /// A call with these arguments, which are JSON.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            signature: None,
        }
    }

    /// Its arguments as a type. A tool without arguments may be called with an empty text, which is read as `{}`.
    ///
    /// # Errors
    ///
    /// They are not JSON, or not of that type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.arguments_or_empty())
    }

    pub(super) fn arguments_or_empty(&self) -> &str {
        match self.arguments.trim() {
            "" => "{}",
            arguments => arguments,
        }
    }
}

impl From<ToolCall> for Part {
    fn from(call: ToolCall) -> Self {
        Self::ToolCall(call)
    }
}

/// What a called tool gave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// Which call it answers.
    pub id: String,
    /// The tool's name; Gemini needs it, and where it is not said it is taken from the call that it answers.
    pub name: Option<String>,
    /// What it gave: text, and images where the dialect takes them.
    pub parts: Vec<Part>,
    /// How it went.
    pub status: ToolStatus,
}

/// How the call of a tool went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolStatus {
    /// Well.
    #[default]
    Worked,
    /// It failed; the text says why.
    Failed,
}

impl ToolResult {
    /// The result of a call that went well.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            parts: vec![Part::Text(text.into())],
            status: ToolStatus::Worked,
        }
    }

    /// Why a call failed. OpenAI's dialect has no mark for it, so the text must say so.
    pub fn failed(id: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Failed,
            ..Self::new(id, why)
        }
    }

    /// With the tool's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Its texts, one after the other.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Image(_)
                | Part::Thinking(_)
                | Part::Refusal(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::Other(_) => "",
            })
            .collect()
    }
}

impl From<ToolResult> for Part {
    fn from(result: ToolResult) -> Self {
        Self::ToolResult(result)
    }
}
