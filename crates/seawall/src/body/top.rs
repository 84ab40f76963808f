use serde::de::{Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The members of a body's top-level object that some provider gives a meaning. All else is passed over without
/// being built: an answer can be megabytes of embeddings.
const KNOWN: [&str; 14] = [
    "__type",
    "code",
    "detail",
    "error",
    "error_description",
    "error_name",
    "message",
    "response",
    "retry_after",
    "status",
    "title",
    "type",
    "errors",
    "object",
];

/// What a JSON body says at its top: an object's known members; of a list its first element's, because Gemini
/// wraps the errors of its streams so; of any other value nothing.
#[derive(Debug, Default)]
pub(super) struct Top {
    members: BTreeMap<String, Value>,
    others: usize,
}

impl Top {
    /// Nothing where the bytes are not one JSON value.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let top = json.deserialize_any(TopVisitor).ok()?;
        json.end().is_ok().then_some(top)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.members.get(key).and_then(Value::as_str)
    }

    pub(super) fn number_or_text(&self, key: &str) -> Option<String> {
        match self.members.get(key)? {
            Value::Number(number) => Some(number.to_string()),
            Value::String(text) => Some(text.clone()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The member `error` where it is an object that says something, else the first of `errors`.
    pub(super) fn error_object(&self) -> Option<&Value> {
        let first = || self.members.get("errors")?.as_array()?.first();
        [self.members.get("error"), first()]
            .into_iter()
            .flatten()
            .find(|error| error.as_object().is_some_and(|members| !members.is_empty()))
    }

    /// Whether the whole body is `{"error":"text"}`.
    pub(super) fn is_error_text_alone(&self) -> bool {
        self.text("error").is_some_and(|text| !text.is_empty()) && self.members.len() == 1 && self.others == 0
    }

    /// The object under this key as a top of its own.
    pub(super) fn take_nested(&mut self, key: &str) -> Option<Self> {
        match self.members.remove(key) {
            Some(Value::Object(members)) => Some(Self {
                others: 0,
                members: members.into_iter().collect(),
            }),
            Some(_) | None => None,
        }
    }
}

struct TopVisitor;

impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top, A::Error> {
        let mut top = Top::default();
        while let Some(key) = map.next_key::<String>()? {
            if KNOWN.contains(&key.as_str()) {
                let value = map.next_value::<Value>()?;
                top.members.insert(key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
                top.others += 1;
            }
        }
        Ok(top)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Top, A::Error> {
        let first = list.next_element::<Value>()?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(match first {
            Some(Value::Object(members)) => Top {
                others: 0,
                members: members.into_iter().collect(),
            },
            Some(_) | None => Top::default(),
        })
    }

    fn visit_bool<E>(self, _: bool) -> Result<Top, E> {
        Ok(Top::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Top, E> {
        Ok(Top::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Top, E> {
        Ok(Top::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Top, E> {
        Ok(Top::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Top, E> {
        Ok(Top::default())
    }

    fn visit_unit<E>(self) -> Result<Top, E> {
        Ok(Top::default())
    }
}
