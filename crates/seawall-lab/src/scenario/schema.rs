//! The JSON Schema of scenario files.

use crate::file;
use serde_json::Value;

/// The JSON Schema (2020-12) of a scenario file, for editors; what it cannot say (which keys a client answers to, which
/// names were captured before) only [`Scenario::parse`](super::Scenario::parse) does.
pub fn schema() -> Value {
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("a schema of ours is JSON") };
    let mut schema = read(include_str!("schema.json"));
    // A mock's own names stand apart, so that both schemas may call something `length`.
    let mut mock = read(&file::SCHEMA.replace("\"#/$defs/", "\"#/$defs/mock-"));
    let defs = mock["$defs"].take();
    for (name, def) in defs.as_object().into_iter().flatten() {
        schema["$defs"][format!("mock-{name}")] = def.clone();
    }
    mock["properties"]["listen"] = Value::Bool(false);
    if let Some(mock) = mock.as_object_mut() {
        mock.retain(|key, _| !key.starts_with('$') && key != "title" && key != "description");
    }
    schema["properties"]["mock"]["anyOf"][1] = mock;
    schema
}
