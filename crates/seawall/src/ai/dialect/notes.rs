//! What an encoder could not say as it was asked for, and what to do about it.

use crate::ai::chat::{Chat, Extra, Unsupported};
use crate::ai::node::{Members, Node};
use crate::ai::tool::ToolCall;
use crate::ai::{Change, Dialect, EncodeError, Encoded};
use serde_json::Value;

/// The notes of one encoding.
pub(super) struct Notes {
    dialect: Dialect,
    unsupported: Unsupported,
    changes: Vec<Change>,
}

impl Notes {
    pub(super) const fn new(dialect: Dialect, unsupported: Unsupported) -> Self {
        Self {
            dialect,
            unsupported,
            changes: Vec::new(),
        }
    }

    /// The dialect has no words for a setting that was given: an error, unless it may be left out.
    pub(super) fn unsupported(
        &mut self,
        what: &'static str,
        instead: &'static str,
    ) -> Result<(), EncodeError> {
        match self.unsupported {
            Unsupported::LeaveOut => {
                self.left_out(what);
                Ok(())
            }
            Unsupported::Refuse => Err(EncodeError::Unsupported {
                dialect: self.dialect,
                what,
                instead,
            }),
        }
    }

    /// Something that never crosses into this dialect was left out.
    pub(super) fn left_out(&mut self, what: &'static str) {
        self.changed(Change::LeftOut(what));
    }

    /// Something is not as it was asked for. Told once, however often it is met.
    pub(super) fn changed(&mut self, change: Change) {
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    pub(super) const fn missing(&self, what: &'static str, instead: &'static str) -> EncodeError {
        EncodeError::Missing {
            dialect: self.dialect,
            what,
            instead,
        }
    }

    /// The arguments of a call as the object that they must be, in the model's own bytes.
    pub(super) fn arguments<'a>(&self, call: &'a ToolCall) -> Result<Node<'a>, EncodeError> {
        let read = serde_json::from_str::<serde_json::Map<String, Value>>(call.arguments_or_empty())
            .and_then(|_| serde_json::from_str(call.arguments_or_empty()));
        read.map(Node::Raw).map_err(|problem| EncodeError::Arguments {
            dialect: self.dialect,
            id: call.id.clone(),
            name: call.name.clone(),
            problem: problem.to_string(),
        })
    }

    /// The body with what the caller lays over it.
    pub(super) fn encoded<'a>(self, mut body: Members<'a>, extra: &'a [Extra]) -> Encoded {
        let meant = |extra: &&Extra| extra.dialect.is_none_or(|dialect| dialect == self.dialect);
        for extra in extra.iter().filter(meant) {
            body.lay(&extra.key, &extra.value);
        }
        Encoded {
            body: body.bytes(),
            changes: self.changes,
        }
    }
}

/// A share or a temperature as JSON, which has no infinity.
pub(super) fn finite(what: &'static str, number: Option<f64>) -> Result<Option<Value>, EncodeError> {
    match number {
        Some(number) if !number.is_finite() => Err(EncodeError::NotFinite { what }),
        Some(number) => Ok(Some(Value::from(number))),
        None => Ok(None),
    }
}

/// Several answers to one call.
pub(super) fn several(chat: &Chat) -> Option<u32> {
    chat.choices.filter(|choices| *choices > 1)
}
