//! What an attempt's body gives to an object: its fields, each with its JSON text.
//!
//! What can go wrong: an amount that went through a float, or fields in another order, and a test compares what the
//! server kept with what the client sent. So values are never parsed: each keeps the bytes it came with. A form has no
//! types; its values are texts, and `a[b]=c` nests as such servers read it.

use crate::percent;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// How deep a form's names may nest; one that goes deeper is a name like any other.
const FORM_DEPTH_MAX: usize = 8;

/// Names, each with its JSON text, in order.
pub(super) type Fields = Vec<(String, String)>;

/// The fields of a body: those of a JSON object or of a form; any other body is one field, `data`, and one that is no
/// text at all only says how long it was, as `data_bytes`.
pub(super) fn of_body(body: &[u8], content_type: Option<&[u8]>) -> Fields {
    if body.is_empty() {
        return Fields::new();
    }
    let Ok(text) = std::str::from_utf8(body) else {
        return vec![("data_bytes".to_owned(), body.len().to_string())];
    };
    // The body before its name: `curl -d '{...}'` calls JSON a form.
    if let Ok(Json(fields)) = serde_json::from_str(text) {
        return merged(Fields::new(), fields);
    }
    if let Ok(value) = serde_json::from_str::<&RawValue>(text) {
        return vec![("data".to_owned(), value.get().to_owned())];
    }
    if content_type.is_some_and(is_form) {
        return of_form(text);
    }
    vec![("data".to_owned(), quoted(text))]
}

/// `base` with the fields of `over` in place of its own; new ones come last, and of equal names the last counts.
pub(super) fn merged(base: Fields, over: Fields) -> Fields {
    let mut fields = base;
    let mut places: BTreeMap<String, usize> = fields
        .iter()
        .enumerate()
        .map(|(place, (name, _))| (name.clone(), place))
        .collect();
    for (name, value) in over {
        match places.get(&name) {
            Some(place) => fields[*place].1 = value,
            None => {
                places.insert(name.clone(), fields.len());
                fields.push((name, value));
            }
        }
    }
    fields
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A JSON object whose values are left as they are.
struct Json(Fields);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut fields = Fields::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((name, value.get().to_owned()));
                }
                Ok(Json(fields))
            }
        }

        deserializer.deserialize_map(Reading)
    }
}

fn is_form(content_type: &[u8]) -> bool {
    let name = b"application/x-www-form-urlencoded";
    let given = content_type.trim_ascii();
    given.len() >= name.len() && given[..name.len()].eq_ignore_ascii_case(name)
}

fn of_form(text: &str) -> Fields {
    let mut order: Vec<String> = Vec::new();
    let mut root = Map::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name);
        let (first, inner) = nested(&name);
        if !root.contains_key(first) {
            order.push(first.to_owned());
        }
        put(
            root.entry(first.to_owned()).or_insert(Value::Null),
            &inner,
            decoded(value),
        );
    }
    order
        .into_iter()
        .filter_map(|name| root.remove(&name).map(|value| (name, value.to_string())))
        .collect()
}

/// `a[b][c]` is `a`, then `b` and `c`; a name whose brackets do not fit stands as it is.
fn nested(name: &str) -> (&str, Vec<&str>) {
    let whole = (name, Vec::new());
    let Some(inner) = name.strip_suffix(']') else {
        return whole;
    };
    let Some((first, inner)) = inner.split_once('[') else {
        return whole;
    };
    let parts: Vec<&str> = inner.split("][").collect();
    let fits = !first.is_empty()
        && parts.len() <= FORM_DEPTH_MAX
        && parts.iter().all(|part| !part.contains(['[', ']']));
    if fits { (first, parts) } else { whole }
}

fn put(slot: &mut Value, path: &[&str], text: String) {
    let Some((next, rest)) = path.split_first() else {
        *slot = Value::from(text);
        return;
    };
    if next.is_empty() {
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        if let Value::Array(list) = slot {
            list.push(Value::Null);
            put(list.last_mut().expect("one was just pushed"), rest, text);
        }
        return;
    }
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    if let Value::Object(map) = slot {
        put(map.entry((*next).to_owned()).or_insert(Value::Null), rest, text);
    }
}

/// A form's text without its escapes.
pub(super) fn decoded(text: &str) -> String {
    percent::decode(text.as_bytes()).lossy()
}
