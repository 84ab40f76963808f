//! JSON as it is written: members stay in the order in which they are put, and what is JSON already is not read again.
//!
//! What can go wrong: a body that goes through a sorted map comes out with its schemas in alphabetical order, and
//! models answer in the order of the schema; a body whose bytes differ from turn to turn misses the provider's cache.

use super::tool::Schema;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A value that is to be written.
pub(super) enum Node<'a> {
    Text(Cow<'a, str>),
    Value(Value),
    Raw(&'a RawValue),
    Array(Vec<Node<'a>>),
    Object(Members<'a>),
}

impl<'a> From<&'a str> for Node<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Node<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Node<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a Schema> for Node<'a> {
    fn from(schema: &'a Schema) -> Self {
        Self::Raw(schema.raw())
    }
}

impl From<Value> for Node<'_> {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl<'a> From<Members<'a>> for Node<'a> {
    fn from(members: Members<'a>) -> Self {
        Self::Object(members)
    }
}

impl<'a> From<Vec<Node<'a>>> for Node<'a> {
    fn from(elements: Vec<Node<'a>>) -> Self {
        Self::Array(elements)
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(value) => value.serialize(serializer),
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Array(elements) => {
                let mut out = serializer.serialize_seq(Some(elements.len()))?;
                for element in elements {
                    out.serialize_element(element)?;
                }
                out.end()
            }
            Self::Object(members) => {
                let mut out = serializer.serialize_map(Some(members.0.len()))?;
                for (key, value) in &members.0 {
                    out.serialize_entry(key, value)?;
                }
                out.end()
            }
        }
    }
}

/// The members of an object, in their order.
#[derive(Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Members<'a> {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// An object with a `type`.
    pub(super) fn typed(kind: &'static str) -> Self {
        Self::new().with("type", kind)
    }

    /// One member more. The caller puts no key twice.
    pub(super) fn put(&mut self, key: &'static str, value: impl Into<Node<'a>>) {
        self.0.push((Cow::Borrowed(key), value.into()));
    }

    /// A member where there is a value for it.
    pub(super) fn put_some(&mut self, key: &'static str, value: Option<impl Into<Node<'a>>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// With one member more.
    pub(super) fn with(mut self, key: &'static str, value: impl Into<Node<'a>>) -> Self {
        self.put(key, value);
        self
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lays a value over what is there: objects are merged, null takes a member away, anything else replaces it.
    pub(super) fn lay(&mut self, key: &'a str, value: &'a Value) {
        let there = self.0.iter().position(|(known, _)| known == key);
        match (value, there) {
            (Value::Null, Some(at)) => {
                self.0.remove(at);
            }
            (Value::Null, None) => {}
            (Value::Object(over), Some(at)) if matches!(self.0[at].1, Node::Object(_)) => {
                if let Node::Object(members) = &mut self.0[at].1 {
                    for (key, value) in over {
                        members.lay(key, value);
                    }
                }
            }
            (value, Some(at)) => self.0[at].1 = Node::Value(value.clone()),
            (value, None) => self.0.push((Cow::Borrowed(key), Node::Value(value.clone()))),
        }
    }

    /// As bytes.
    pub(super) fn bytes(self) -> bytes::Bytes {
        let bytes = serde_json::to_vec(&Node::Object(self));
        bytes
            .expect("keys are texts and nothing here fails to be written")
            .into()
    }
}
