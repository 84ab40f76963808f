//! Streams: what each dialect says first, in between and at its end, one event at a time.
//!
//! What can go wrong: a stream that lacks the last word of its dialect is a broken one to every careful client, and
//! one that has it after a cut teaches the careless that all is well. So beginning, content, end, error and spoilt
//! event are told apart here, and whoever plays a stream leaves out the end and nothing else. Events are made when
//! they are sent: a script may ask for four billion.

use super::text::Pieces;
use super::{anthropic, gemini, openai, plain, responses};
use crate::script::StreamEnd;
use serde_json::Value;

/// How events stand in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Server-sent events.
    Sse,
    /// The elements of one JSON array: Gemini without `alt=sse`.
    JsonArray,
}

/// One event before it is bytes.
pub(super) struct Event {
    name: Option<&'static str>,
    data: String,
}

impl Event {
    /// An event of this name.
    pub(super) fn named(name: &'static str, data: &Value) -> Self {
        Self {
            name: Some(name),
            data: data.to_string(),
        }
    }

    /// An event without a name.
    pub(super) fn bare(data: &Value) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }

    /// OpenAI's last word, which is no JSON.
    pub(super) fn done() -> Self {
        Self {
            name: None,
            data: "[DONE]".to_owned(),
        }
    }
}

/// Whose stream it is, with what all of its events share.
#[derive(Clone, Debug)]
pub(super) enum Speaker {
    Chat(openai::ChatStream),
    Completion(openai::CompletionStream),
    Responses(responses::ResponseStream),
    Anthropic(anthropic::MessageStream),
    Gemini(gemini::ContentStream),
    Plain(plain::PlainStream),
}

/// The events of one streamed answer.
///
/// Ask for [`Events::head`] first, then for [`Events::next`] until it has no more, then for one of
/// [`Events::end`], [`Events::error`] and [`Events::bad_json`], or for none of them.
#[derive(Clone, Debug)]
pub(in crate::net) struct Events {
    speaker: Speaker,
    pieces: Pieces,
    form: Form,
}

impl Events {
    /// Server-sent events.
    pub(super) fn sse(speaker: Speaker, pieces: Pieces) -> Self {
        Self {
            speaker,
            pieces,
            form: Form::Sse,
        }
    }

    /// Elements of one array.
    pub(super) fn array(speaker: Speaker, pieces: Pieces) -> Self {
        Self {
            speaker,
            pieces,
            form: Form::JsonArray,
        }
    }

    /// What the head says of the body.
    pub(in crate::net) fn content_type(&self) -> &'static str {
        match self.form {
            Form::Sse => "text/event-stream",
            Form::JsonArray => "application/json",
        }
    }

    /// What comes before the first content; nothing in some dialects.
    pub(in crate::net) fn head(&self) -> Vec<u8> {
        let events = match &self.speaker {
            Speaker::Chat(chat) => chat.head(),
            Speaker::Responses(response) => response.head(),
            Speaker::Anthropic(message) => message.head(),
            Speaker::Completion(_) | Speaker::Gemini(_) | Speaker::Plain(_) => Vec::new(),
        };
        self.bytes(&events)
    }

    /// The next event with content.
    pub(in crate::net) fn next(&mut self) -> Option<Vec<u8>> {
        let (nth, piece) = self.pieces.next()?;
        let event = self.speaker.piece(nth, piece);
        let mut bytes = Vec::new();
        self.push(&mut bytes, &event, nth == 0);
        Some(bytes)
    }

    /// The right end, which alone makes the stream complete.
    pub(in crate::net) fn end(&self) -> Vec<u8> {
        let events = match &self.speaker {
            Speaker::Chat(chat) => chat.end(&self.pieces),
            Speaker::Completion(completion) => completion.end(&self.pieces),
            Speaker::Responses(response) => response.end(&self.pieces),
            Speaker::Anthropic(message) => message.end(&self.pieces),
            Speaker::Gemini(content) => content.end(&self.pieces),
            Speaker::Plain(plain) => plain.end(&self.pieces),
        };
        let mut bytes = self.bytes(&events);
        if self.form == Form::JsonArray {
            bytes.extend_from_slice(b"]\n");
        }
        bytes
    }

    /// An error in the middle, in the dialect's own shape.
    pub(in crate::net) fn error(&self) -> Vec<u8> {
        let told = self.pieces.told();
        self.bytes(&[match &self.speaker {
            Speaker::Chat(_) | Speaker::Completion(_) => openai::stream_error(),
            Speaker::Responses(_) => responses::stream_error(told),
            Speaker::Anthropic(_) => anthropic::stream_error(),
            Speaker::Gemini(_) => gemini::stream_error(),
            Speaker::Plain(_) => plain::stream_error(),
        }])
    }

    /// An event of content whose JSON breaks off.
    pub(in crate::net) fn bad_json(&self) -> Vec<u8> {
        let mut event = self.speaker.piece(self.pieces.told(), "mock");
        let half = event.data.floor_char_boundary(event.data.len() / 2);
        event.data.truncate(half);
        self.bytes(&[event])
    }

    /// Everything that goes out, event by event, where the stream ends like this.
    pub(in crate::net) fn parts(self, then: StreamEnd) -> Parts {
        Parts {
            events: self,
            then,
            stage: Stage::Head,
        }
    }

    /// The whole stream in one go, as a body of known length; for streams of their natural length only.
    pub(in crate::net) fn whole(mut self) -> Vec<u8> {
        let mut bytes = self.head();
        while let Some(event) = self.next() {
            bytes.extend_from_slice(&event);
        }
        bytes.extend_from_slice(&self.end());
        bytes
    }

    fn bytes(&self, events: &[Event]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (nth, event) in events.iter().enumerate() {
            self.push(&mut bytes, event, nth == 0 && self.pieces.told() == 0);
        }
        bytes
    }

    fn push(&self, bytes: &mut Vec<u8>, event: &Event, is_first: bool) {
        match self.form {
            Form::Sse => {
                if let Some(name) = event.name {
                    bytes.extend_from_slice(format!("event: {name}\n").as_bytes());
                }
                bytes.extend_from_slice(format!("data: {}\n\n", event.data).as_bytes());
            }
            Form::JsonArray => {
                bytes.extend_from_slice(if is_first { b"[" } else { b",\n" });
                bytes.extend_from_slice(event.data.as_bytes());
            }
        }
    }
}

/// The parts of a stream in their order; empty ones are left out.
#[derive(Debug)]
pub(in crate::net) struct Parts {
    events: Events,
    then: StreamEnd,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    Content,
    Over,
}

impl Parts {
    /// What comes after the content.
    fn tail(&self) -> Vec<u8> {
        match self.then {
            StreamEnd::Done => self.events.end(),
            StreamEnd::Error => self.events.error(),
            // One fault and no other: after it the stream is as it should be.
            StreamEnd::BadJson => [self.events.bad_json(), self.events.end()].concat(),
            StreamEnd::Cut | StreamEnd::Stall | StreamEnd::NoDone => Vec::new(),
        }
    }
}

/// One part of a stream.
#[derive(Debug)]
pub(in crate::net) struct Part {
    pub(in crate::net) bytes: Vec<u8>,
    pub(in crate::net) kind: PartKind,
}

/// What a part of a stream is to who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::net) enum PartKind {
    /// An event that is handed on: after it nothing may be taken again.
    Content,
    /// What stands around the content: a beginning, an end, an error.
    Frame,
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let part = |bytes, kind| Some(Part { bytes, kind });
        if self.stage == Stage::Head {
            self.stage = Stage::Content;
            let head = self.events.head();
            if !head.is_empty() {
                return part(head, PartKind::Frame);
            }
        }
        if self.stage == Stage::Content {
            if let Some(event) = self.events.next() {
                return part(event, PartKind::Content);
            }
            self.stage = Stage::Over;
            let tail = self.tail();
            if !tail.is_empty() {
                return part(tail, PartKind::Frame);
            }
        }
        None
    }
}

impl Speaker {
    fn piece(&self, nth: u32, text: &str) -> Event {
        match self {
            Self::Chat(chat) => chat.piece(text),
            Self::Completion(completion) => completion.piece(text),
            Self::Responses(response) => response.piece(nth, text),
            Self::Anthropic(message) => message.piece(text),
            Self::Gemini(content) => content.piece(text),
            Self::Plain(plain) => plain.piece(nth, text),
        }
    }
}
