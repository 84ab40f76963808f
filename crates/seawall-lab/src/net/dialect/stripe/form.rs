//! Forms with brackets: how Stripe's clients write nested fields (`metadata[order]=7`, `items[0][price]=p`).
//!
//! What can go wrong: a stranger's body that costs more than its length, by depth or by number. So both are bounded,
//! and what lies beyond is left out: nothing is decided by it.

use crate::percent;
use serde_json::{Map, Value};

/// The most fields that are read.
const FIELDS_MAX: usize = 1_000;
/// The most brackets of one name.
const DEPTH_MAX: usize = 8;

/// The fields of a form; a list is an object whose names are its places.
pub(super) fn read(body: &[u8]) -> Value {
    let mut top = Map::new();
    for pair in body.split(|byte| *byte == b'&').take(FIELDS_MAX) {
        let (name, value) = match pair.iter().position(|byte| *byte == b'=') {
            Some(equals) => (&pair[..equals], &pair[equals + 1..]),
            None => (pair, &b""[..]),
        };
        let name = percent::decode(name).lossy();
        let path: Vec<&str> = name.split('[').map(|part| part.trim_end_matches(']')).collect();
        if !name.is_empty() && path.len() <= DEPTH_MAX {
            put(&mut top, &path, percent::decode(value).lossy());
        }
    }
    Value::Object(top)
}

fn put(table: &mut Map<String, Value>, path: &[&str], value: String) {
    let Some((name, inner)) = path.split_first() else {
        return;
    };
    if inner.is_empty() {
        table.insert((*name).to_owned(), Value::String(value));
        return;
    }
    let entry = table.entry((*name).to_owned()).or_insert(Value::Null);
    if !entry.is_object() {
        *entry = Value::Object(Map::new());
    }
    if let Value::Object(inside) = entry {
        put(inside, inner, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn brackets_nest_and_signs_are_read() {
        // Could break: a plus that stays a plus, a bracket in a name that was encoded, a half percent sign that
        // swallows what follows.
        for (form, fields) in [
            (
                "amount=500&currency=eur",
                json!({ "amount": "500", "currency": "eur" }),
            ),
            (
                "metadata%5Border%5D=a+b&metadata[x]=%C3%A9",
                json!({ "metadata": { "order": "a b", "x": "é" } }),
            ),
            (
                "items[0][price]=p&items[1][price]=q",
                json!({ "items": { "0": { "price": "p" }, "1": { "price": "q" } } }),
            ),
            ("a=1%&b=%zz&c", json!({ "a": "1%", "b": "%zz", "c": "" })),
            ("a=1&a[b]=2", json!({ "a": { "b": "2" } })),
            ("", json!({})),
        ] {
            assert_eq!(read(form.as_bytes()), fields, "{form}");
        }
    }

    #[test]
    fn what_is_too_deep_or_too_much_is_left_out() {
        // Could break: a name of a million brackets would be a stack of a million calls.
        let deep = format!("a{}=1&b=2", "[x]".repeat(1_000_000));
        assert_eq!(read(deep.as_bytes()), json!({ "b": "2" }));
        let many: Vec<String> = (0..10_000).map(|nth| format!("f{nth}=1")).collect();
        let fields = read(many.join("&").as_bytes());
        assert_eq!(fields.as_object().map(Map::len), Some(FIELDS_MAX));
    }
}
