//! What a stream of an answer tells, piece by piece, and the answer that the pieces make.
//!
//! What can go wrong: three dialects cut an answer in three ways, and a reader that joins them wrongly glues two tool
//! calls into one, loses the seal of a thought, or hands out half of a call's arguments as if they were whole. So every
//! decoder tells the same few [`Delta`]s, and an [`Assembly`] of them is at any time the answer so far: what is half is
//! known to be half.

#[cfg(test)]
mod tests;

use super::Dialect;
use super::answer::{ChatAnswer, Finish, Usage};
use super::message::{Message, Part, Role, Thinking};
use super::tool::ToolCall;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One piece of an answer that is streamed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// It has begun; told once, before all else.
    Began {
        /// The provider's name for the answer; empty where it gives none.
        id: String,
        /// The model that answers; empty where the provider does not say.
        model: String,
    },
    /// Some text.
    Text(String),
    /// Some of why it would not.
    Refusal(String),
    /// Some of a thought.
    Thinking {
        /// Whose.
        dialect: Dialect,
        /// The words.
        text: String,
    },
    /// The seal of the thought that was told last, or some of it.
    Signature {
        /// Whose.
        dialect: Dialect,
        /// The seal.
        text: String,
    },
    /// The model wants a tool called; its arguments follow.
    ToolCall {
        /// Which of the answer's calls, from 0.
        index: usize,
        /// Its id.
        id: String,
        /// The tool's name.
        name: String,
        /// The seal of the thought behind it.
        signature: Option<String>,
    },
    /// Some of the arguments of a call.
    Arguments {
        /// Which of the answer's calls, from 0.
        index: usize,
        /// The next piece of their JSON.
        text: String,
    },
    /// A part that came whole.
    Part(Part),
    /// The part that was being told is whole. Not every dialect says so.
    PartEnded,
    /// What was taken so far; a later one stands for all before.
    Usage(Usage),
    /// Why it ended. More may follow: usage comes last.
    Finish(Finish),
    /// A source that the text names, as it came. Those of an answer are the `citations` beside it.
    Cited(Value),
    /// Members beside all this, as they came: an object.
    Beside(Map<String, Value>),
}

/// An answer as it comes to be.
///
/// ```
/// use seawall::ai::{Assembly, Delta, Finish};
/// let mut assembly = Assembly::new();
/// assembly.push(Delta::Text("A sea".to_owned()));
/// assembly.push(Delta::Text("wall.".to_owned()));
/// assert_eq!(assembly.message().text(), "A seawall.");
/// assert_eq!(assembly.finish(), &Finish::Unsaid);
/// ```
#[derive(Clone, Debug)]
pub struct Assembly {
    id: String,
    model: String,
    message: Message,
    /// Where in the message each tool call stands, and whether more of its arguments may come.
    calls: Vec<Seat>,
    /// The place in `calls` of the newest call of each index: one search for each piece would be quadratic.
    seats: BTreeMap<usize, usize>,
    /// Of none before this place may more come.
    whole: usize,
    part: Open,
    finish: Finish,
    usage: Option<Usage>,
    beside: Map<String, Value>,
}

impl Default for Assembly {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a tool call stands.
#[derive(Clone, Copy, Debug)]
struct Seat {
    part: usize,
    state: Open,
}

/// Whether more may be added to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

impl Assembly {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            id: String::new(),
            model: String::new(),
            message: Message::new(Role::Assistant, []),
            calls: Vec::new(),
            seats: BTreeMap::new(),
            whole: 0,
            part: Open::No,
            finish: Finish::Unsaid,
            usage: None,
            beside: Map::new(),
        }
    }

    /// Adds a piece. Pieces that fit to nothing (arguments of a call that never began) begin a part of their own, so that
    /// nothing is lost.
    pub fn push(&mut self, delta: Delta) {
        match delta {
            Delta::Began { id, model } => {
                self.id = id;
                self.model = model;
            }
            Delta::Text(text) => match self.open_part() {
                Some(Part::Text(told)) => told.push_str(&text),
                Some(_) | None => self.begin(Part::Text(text)),
            },
            Delta::Refusal(text) => match self.open_part() {
                Some(Part::Refusal(told)) => told.push_str(&text),
                Some(_) | None => self.begin(Part::Refusal(text)),
            },
            Delta::Thinking { dialect, text } => match self.open_part() {
                Some(Part::Thinking(told)) if told.signature.is_none() => told.text.push_str(&text),
                Some(_) | None => self.begin(Part::Thinking(Thinking::new(dialect, text))),
            },
            Delta::Signature { dialect, text } => self.sign(dialect, &text),
            Delta::ToolCall {
                index,
                id,
                name,
                signature,
            } => {
                let mut call = ToolCall::new(id, name, "");
                call.signature = signature;
                self.begin_call(index, call);
            }
            Delta::Arguments { index, text } => self.argue(index, &text),
            Delta::Part(part) => {
                self.begin(part);
                self.part = Open::No;
            }
            Delta::PartEnded => self.end_part(),
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::Finish(finish) => {
                self.end_part();
                for seat in &mut self.calls[self.whole..] {
                    seat.state = Open::No;
                }
                self.whole = self.calls.len();
                self.finish = finish;
            }
            Delta::Cited(source) => match self
                .beside
                .entry("citations")
                .or_insert_with(|| Value::Array(Vec::new()))
            {
                Value::Array(sources) => sources.push(source),
                other => *other = Value::Array(vec![source]),
            },
            Delta::Beside(members) => self.beside.extend(members),
        }
    }

    /// The message so far, half of its last part included.
    pub const fn message(&self) -> &Message {
        &self.message
    }

    /// The calls of tools whose arguments lack something, or may: never to be obeyed. Among them those whose arguments are
    /// no JSON though the answer has ended, as where it came to its greatest length.
    ///
    /// ```
    /// use seawall::ai::{Assembly, Delta};
    /// let mut assembly = Assembly::new();
    /// assembly.push(Delta::ToolCall { index: 0, id: "c1".into(), name: "weather".into(), signature: None });
    /// assembly.push(Delta::Arguments { index: 0, text: r#"{"city":"#.into() });
    /// assert_eq!(assembly.half_tool_calls().count(), 1);
    /// ```
    pub fn half_tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter().filter_map(|seat| {
            let Part::ToolCall(call) = self.message.parts.get(seat.part)? else {
                return None;
            };
            (seat.state == Open::Yes || call.parse::<IgnoredAny>().is_err()).then_some(call)
        })
    }

    /// Why the answer ended, if that was told.
    pub const fn finish(&self) -> &Finish {
        &self.finish
    }

    /// What was taken, as far as it was told.
    pub const fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The answer. Whether it is whole is the decoder's to say, not the pieces'.
    pub fn into_answer(self) -> ChatAnswer {
        ChatAnswer {
            id: self.id,
            model: self.model,
            message: self.message,
            finish: self.finish,
            usage: self.usage,
            more: Vec::new(),
            raw: match self.beside.is_empty() {
                true => Value::Null,
                false => Value::Object(self.beside),
            },
        }
    }

    /// The last part, where more of it may come.
    fn open_part(&mut self) -> Option<&mut Part> {
        match self.part {
            Open::Yes => self.message.parts.last_mut(),
            Open::No => None,
        }
    }

    fn begin(&mut self, part: Part) {
        self.message.parts.push(part);
        self.part = Open::Yes;
    }

    fn sign(&mut self, dialect: Dialect, text: &str) {
        if let Some(Part::Thinking(told)) = self.open_part() {
            told.signature.get_or_insert_default().push_str(text);
            return;
        }
        let mut thinking = Thinking::new(dialect, "");
        thinking.signature = Some(text.to_owned());
        self.begin(Part::Thinking(thinking));
    }

    fn begin_call(&mut self, index: usize, call: ToolCall) {
        // The pieces of parallel calls come mixed, so that a new one ends none.
        self.seats.insert(index, self.calls.len());
        self.calls.push(Seat {
            part: self.message.parts.len(),
            state: Open::Yes,
        });
        self.begin(Part::ToolCall(call));
    }

    fn argue(&mut self, index: usize, text: &str) {
        if !self.seats.contains_key(&index) {
            self.begin_call(index, ToolCall::default());
        }
        let seat = self.seats.get(&index).and_then(|place| self.calls.get(*place));
        let part = seat.and_then(|seat| self.message.parts.get_mut(seat.part));
        if let Some(Part::ToolCall(call)) = part {
            call.arguments.push_str(text);
        }
    }

    fn end_part(&mut self) {
        self.part = Open::No;
        let last = self.message.parts.len().saturating_sub(1);
        // Seats stand in the order of their parts.
        if let Some(seat) = self.calls.last_mut().filter(|seat| seat.part == last) {
            seat.state = Open::No;
        }
    }
}
