//! Streams: events in, deltas out.
//!
//! What can go wrong: a stream that ends cleanly in the middle is taken for a whole answer, an error that comes as an
//! event is taken for content, and an event of a kind that is new ends a stream that is well. So an event is an error
//! only where it says so or cannot be read, what is unknown is handed on, and the last word of the dialect alone makes a
//! stream complete (rule L3).

use super::anthropic::MessageStream;
use super::gemini::ContentStream;
use super::openai::ChatStream;
use super::responses::ResponseStream;
use crate::ai::answer::Usage;
use crate::ai::delta::Delta;
use crate::ai::{DecodeError, ProviderError};
use crate::body::{Counts, error_event};
use serde_json::{Map, Value};

/// Reads the events of one streamed answer; see [`Dialect::stream`](super::Dialect::stream).
#[derive(Clone, Debug)]
pub struct StreamDecoder {
    speaker: Speaker,
    state: StreamState,
    /// Of all events so far, as limits hear them.
    used: Counts,
}

/// Whose events they are.
#[derive(Clone, Debug)]
pub(super) enum Speaker {
    Chat(ChatStream),
    Responses(ResponseStream),
    Anthropic(MessageStream),
    Gemini(ContentStream),
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamState {
    /// More must come: if it ends here, it broke.
    Open,
    /// The dialect's last word was said. Usage may follow.
    Complete,
}

/// An event of a stream is no piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// It is the provider's error.
    #[error(transparent)]
    Provider(Box<ProviderError>),
    /// It cannot be read.
    #[error(transparent)]
    Undecodable(#[from] DecodeError),
}

impl StreamDecoder {
    pub(super) const fn new(speaker: Speaker) -> Self {
        Self {
            speaker,
            state: StreamState::Open,
            used: Counts::NONE,
        }
    }

    /// Reads one event: its name, empty where it has none, and its data.
    ///
    /// ```
    /// use seawall::ai::{Delta, Dialect, StreamState};
    /// let mut stream = Dialect::OpenAi.stream();
    /// let deltas = stream.event("", br#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"A wall."}}]}"#)?;
    /// assert_eq!(deltas[1], Delta::Text("A wall.".to_owned()));
    /// assert_eq!(stream.state(), StreamState::Open);
    /// stream.event("", b"[DONE]")?;
    /// assert_eq!(stream.state(), StreamState::Complete);
    /// # Ok::<(), seawall::ai::EventError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The event is an error of the provider's, or cannot be read. The stream is broken then: what was told before is all
    /// that there is.
    pub fn event(&mut self, name: &str, data: &[u8]) -> Result<Vec<Delta>, EventError> {
        let mut deltas = Vec::new();
        match &mut self.speaker {
            Speaker::Chat(_) if data.trim_ascii() == b"[DONE]" => self.state = StreamState::Complete,
            speaker => {
                let value = parsed(data)?;
                if let Some(error) = error_in(name, data, &value) {
                    return Err(EventError::Provider(Box::new(error)));
                }
                match speaker {
                    Speaker::Chat(chat) => chat.chunk(&value, &mut deltas)?,
                    Speaker::Responses(response) => response.event(&value, &mut deltas, &mut self.state)?,
                    Speaker::Anthropic(message) => message.event(&value, &mut deltas, &mut self.state)?,
                    Speaker::Gemini(content) => content.chunk(&value, &mut deltas)?,
                }
                self.count(&value, &mut deltas);
            }
        }
        if deltas.iter().any(|delta| matches!(delta, Delta::Finish(_))) && self.ends_with_its_reason() {
            self.state = StreamState::Complete;
        }
        Ok(deltas)
    }

    /// Tells what was used, where this event says more of it than those before: before the reason of the end, which is the
    /// last word.
    fn count(&mut self, event: &Value, deltas: &mut Vec<Delta>) {
        let before = Usage::of(&self.used);
        self.used.grow(&Counts::of_value(event));
        let now = Usage::of(&self.used);
        if let Some(usage) = now.filter(|_| now != before) {
            let ends = |delta: &Delta| matches!(delta, Delta::Finish(_));
            let at = deltas.iter().position(ends).unwrap_or(deltas.len());
            deltas.insert(at, Delta::Usage(usage));
        }
    }

    /// How far it has come.
    pub const fn state(&self) -> StreamState {
        self.state
    }

    /// In OpenAI's chats and in Gemini's the reason of the end is the last word; elsewhere an event of its own is.
    const fn ends_with_its_reason(&self) -> bool {
        match self.speaker {
            Speaker::Chat(_) | Speaker::Gemini(_) => true,
            Speaker::Responses(_) | Speaker::Anthropic(_) => false,
        }
    }
}

/// JSON of a body or an event.
pub(super) fn parsed(data: &[u8]) -> Result<Value, DecodeError> {
    serde_json::from_slice(data).map_err(|problem| DecodeError::NotJson {
        problem: problem.to_string(),
    })
}

/// The error that an event is. The reader of bodies decides; it is asked only where there may be one.
fn error_in(name: &str, data: &[u8], value: &Value) -> Option<ProviderError> {
    let kind = value["type"].as_str();
    let may_be = name == "error"
        || matches!(kind, Some("error" | "response.failed"))
        || value.get("error").is_some_and(|error| !error.is_null());
    if !may_be {
        return None;
    }
    let facts = error_event(name, data)?;
    let inner = value.get("response").unwrap_or(value);
    Some(ProviderError::of_facts(facts, inner))
}

/// Whether something was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Told {
    #[default]
    No,
    Yes,
}

/// What stands beside the pieces, told when it is new.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside(Map<String, Value>);

impl Beside {
    /// Tells the members of an object that are not among `known` and were not told as they are.
    pub(super) fn tell(&mut self, value: &Value, known: &[&str], out: &mut Vec<Delta>) {
        let mut new = Map::new();
        for (key, value) in value.as_object().into_iter().flatten() {
            if !value.is_null() && !known.contains(&key.as_str()) && self.0.get(key) != Some(value) {
                self.0.insert(key.clone(), value.clone());
                new.insert(key.clone(), value.clone());
            }
        }
        if !new.is_empty() {
            out.push(Delta::Beside(new));
        }
    }
}
