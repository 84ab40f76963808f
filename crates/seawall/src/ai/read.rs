//! JSON read with its place kept: an answer that is not what it should be is told with where in it that is.

use super::DecodeError;
use serde_json::{Map, Value};
use std::fmt;

/// A value inside a body, and the way to it. Made on the stack: the way is written out only where something is wrong.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) value: &'a Value,
    way: Option<(&'a At<'a>, Step<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Member(&'a str),
    Element(usize),
}

impl<'a> At<'a> {
    /// A body.
    pub(super) const fn body(value: &'a Value) -> Self {
        Self { value, way: None }
    }

    /// A member; null where there is none.
    pub(super) fn member(&'a self, key: &'a str) -> At<'a> {
        At {
            value: self.value.get(key).unwrap_or(&Value::Null),
            way: Some((self, Step::Member(key))),
        }
    }

    /// The elements; none where it is null.
    pub(super) fn elements(&'a self) -> Result<impl Iterator<Item = At<'a>>, DecodeError> {
        let elements = match self.value {
            Value::Null => &[],
            Value::Array(elements) => elements.as_slice(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(self.is_not("an array"));
            }
        };
        Ok(elements.iter().enumerate().map(|(index, value)| At {
            value,
            way: Some((self, Step::Element(index))),
        }))
    }

    /// A text; none where it is null.
    pub(super) fn text(&self) -> Result<Option<&'a str>, DecodeError> {
        match self.value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(self.is_not("a text"))
            }
        }
    }

    /// A text that must be there.
    pub(super) fn due_text(&self) -> Result<&'a str, DecodeError> {
        self.text()?.ok_or_else(|| self.is_not("a text"))
    }

    /// An owned text; empty where it is null.
    pub(super) fn owned_text(&self) -> Result<String, DecodeError> {
        Ok(self.text()?.unwrap_or_default().to_owned())
    }

    /// A text, where it is one: for what is good to know and no reason to refuse an answer.
    pub(super) fn hint(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// An object.
    pub(super) fn object(&self) -> Result<&'a Map<String, Value>, DecodeError> {
        self.value.as_object().ok_or_else(|| self.is_not("an object"))
    }

    /// A part of an answer, to be kept and sent back: without the members that are null, which answers have and requests
    /// may not.
    pub(super) fn kept(&self) -> Value {
        let mut value = self.value.clone();
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        value
    }

    /// A count; 0 where it is none.
    pub(super) fn count(&self) -> u64 {
        self.value.as_u64().unwrap_or(0)
    }

    /// That it is not what it should be.
    pub(super) fn is_not(&self, due: &'static str) -> DecodeError {
        DecodeError::Not {
            place: self.to_string(),
            due,
            found: kind(self.value),
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.way {
            None => f.write_str("$"),
            Some((from, Step::Member(key))) => write!(f, "{from}.{key}"),
            Some((from, Step::Element(index))) => write!(f, "{from}[{index}]"),
        }
    }
}

/// What a value is, in a word.
const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
