//! JSON as the TOML that says the same, so that one reader reads both and every mistake is told in one way.

use serde_json::{Map, Value};
use std::fmt::Write as _;

/// A JSON object as a TOML document; lists of objects become tables of their own.
///
/// # Errors
/// What TOML has no word for: a `null`, and anything that is no object.
pub(super) fn toml(value: &Value) -> Result<String, String> {
    let Value::Object(keys) = value else {
        return Err("the body is JSON, and no object".to_owned());
    };
    let (tables, plain): (Vec<_>, Vec<_>) = keys.iter().partition(|(_, value)| objects(value).is_some());
    let mut text = String::new();
    // Before any table: what stands below one belongs to it.
    for (key, value) in plain {
        line(&mut text, key, value)?;
    }
    for (key, value) in tables {
        for table in objects(value).into_iter().flatten() {
            text.push_str(&format!("[[{}]]\n", quoted(key)));
            for (key, value) in table {
                line(&mut text, key, value)?;
            }
        }
    }
    Ok(text)
}

/// The objects of a list of nothing else.
fn objects(value: &Value) -> Option<Vec<&Map<String, Value>>> {
    let list = value.as_array()?;
    (!list.is_empty()).then(|| list.iter().map(Value::as_object).collect())?
}

fn line(text: &mut String, key: &str, value: &Value) -> Result<(), String> {
    text.push_str(&key_of(key));
    text.push_str(" = ");
    inline(text, key, value)?;
    text.push('\n');
    Ok(())
}

fn inline(text: &mut String, key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Null => {
            let message = format!(
                "`{}` is null, which says nothing; leave the key out",
                crate::error::shown(key)
            );
            return Err(message);
        }
        Value::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&number.to_string()),
        Value::String(string) => text.push_str(&quoted(string)),
        Value::Array(list) => {
            text.push('[');
            for (nth, item) in list.iter().enumerate() {
                text.push_str(if nth > 0 { ", " } else { "" });
                inline(text, key, item)?;
            }
            text.push(']');
        }
        Value::Object(keys) => {
            text.push_str("{ ");
            for (nth, (key, item)) in keys.iter().enumerate() {
                text.push_str(if nth > 0 { ", " } else { "" });
                text.push_str(&key_of(key));
                text.push_str(" = ");
                inline(text, key, item)?;
            }
            text.push_str(" }");
        }
    }
    Ok(())
}

fn key_of(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    match !key.is_empty() && key.bytes().all(bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A basic string: what has a sign of its own in TOML is escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                write!(quoted, "\\U{:08X}", u32::from(c)).expect("a text takes what is written");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
