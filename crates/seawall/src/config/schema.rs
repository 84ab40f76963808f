//! The JSON Schema of a `seawall.toml`, made from the table of its keys.
//!
//! What can go wrong: a schema that is written beside the parser underlines what works, or offers what is refused. So
//! nothing is written here but how each [kind of value](Takes) looks to an editor. It knows names, types, ranges and
//! words; what one key says about another, and how long a length of time may be, [`Config::parse`] alone tells.
//!
//! [`Config::parse`]: super::Config::parse

use super::keys::{self, Held, Key, Takes, Text, decimal};
use serde_json::{Map, Value, json};

/// A length of time, as [`seawall_core::time::Duration::parse_units`] reads it.
const LENGTH: &str =
    "^(([0-9]+\\.?[0-9]*|\\.[0-9]+)d)?(([0-9]+\\.?[0-9]*|\\.[0-9]+)(h|m|s|ms|us|µs|μs|ns))*$";

/// The JSON Schema (2020-12) of a `seawall.toml`, for editors.
///
/// ```
/// let schema = seawall::config::schema();
/// assert_eq!(schema["properties"]["policy"]["$ref"], "#/$defs/policy");
/// assert_eq!(schema["$defs"]["policy"]["properties"]["retries"]["maximum"], 100);
/// ```
pub fn schema() -> Value {
    let mut root = table("");
    for (name, about) in [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("title", "seawall.toml"),
        ("description", "What seawall does with calls to AI and HTTP APIs."),
    ] {
        root.insert(name.to_owned(), about.into());
    }
    let mut policy = table("policy");
    policy.insert("description".to_owned(), "The keys of [policy].".into());
    let lengths = json!({ "type": "string", "minLength": 2, "pattern": LENGTH, "examples": ["500ms", "30s", "2m", "1h30m", "1d"] });
    let sizes = json!({ "type": "string", "pattern": "^[0-9]+(B|KiB|MiB|GiB)$", "examples": ["64KiB"] });
    root.insert(
        "$defs".to_owned(),
        json!({ "policy": policy, "length": lengths, "size": sizes }),
    );
    root.into()
}

/// A table with the keys below this path.
fn table(path: &str) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys::within(path) {
        properties.insert(key.name().to_owned(), property(key));
        if is_required(key) {
            required.push(key.name());
        }
    }
    let mut table = Map::new();
    table.insert("type".to_owned(), "object".into());
    table.insert("additionalProperties".to_owned(), false.into());
    table.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        table.insert("required".to_owned(), required.into());
    }
    table
}

fn property(key: &Key) -> Value {
    let mut property = match (key.path, value(key, &key.takes)) {
        ("policy", _) => reference("policy"),
        (_, value) => value,
    };
    property.insert("description".to_owned(), description(key).into());
    // A table's example is one of its keys' examples, which stand below it.
    let is_table = matches!(
        key.takes,
        Takes::Table | Takes::Tables | Takes::Policy | Takes::Pairs
    );
    if !is_table && let Some(example) = example(key) {
        property.insert("examples".to_owned(), json!([example]));
    }
    property.into()
}

fn description(key: &Key) -> String {
    let mut text = key.about.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text += &format!(". Takes: {}.", key.takes);
    text += &match is_required(key) {
        true => " It must be written.".to_owned(),
        false => format!(" Left out: {}.", key.default),
    };
    match key.holds() {
        Held::Today => {}
        Held::Later(missing) => text += &format!(" Read, and not obeyed yet: {missing}."),
    }
    text
}

/// What the table of keys says of a key without which its table means nothing.
fn is_required(key: &Key) -> bool {
    key.default == "must be written"
}

/// The key's example as JSON.
fn example(key: &Key) -> Option<Value> {
    let file = format!("example = {}", key.example);
    let mut table: Map<String, Value> = toml::from_str(&file).ok()?;
    table.remove("example")
}

fn value(key: &Key, takes: &Takes) -> Map<String, Value> {
    let schema = match takes {
        Takes::Length { .. } => return reference("length"),
        Takes::Size { .. } => return reference("size"),
        Takes::Policy => return reference("policy"),
        Takes::Table => return table(key.path),
        Takes::Tables => json!({ "type": "array", "items": table(key.path) }),
        Takes::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Takes::Decimal { places, min, max, .. } => {
            json!({ "type": "number", "minimum": number(*min, *places), "maximum": number(*max, *places) })
        }
        Takes::Word(words) => json!({ "enum": words }),
        Takes::Text(kind) => text(*kind),
        Takes::Texts(kind) => json!({ "type": "array", "items": text(*kind) }),
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::Pairs => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Takes::Either(some) => {
            let each: Vec<Value> = some.iter().map(|takes| value(key, takes).into()).collect();
            json!({ "anyOf": each })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("each of these is an object")
        }
    }
}

fn reference(name: &str) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
    schema
}

/// Units of the last place, as JSON writes the number.
fn number(units: u64, places: u8) -> Value {
    serde_json::from_str(&decimal(units, places)).expect("a decimal is JSON")
}

fn text(kind: Text) -> Value {
    let pattern = match kind {
        Text::Any | Text::File | Text::Pattern | Text::Destination => "\\S",
        Text::Name => "^[A-Za-z0-9._-]{1,128}$",
        Text::Url => "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s?#@]+(\\?api-version=[A-Za-z0-9._~-]*)?$",
        Text::Env => "^[A-Za-z_][A-Za-z0-9_]{0,127}$",
        Text::Header => "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$",
        Text::Path => "^/",
        Text::Listen => ":[0-9]+$",
        Text::Host => "^[A-Za-z0-9.:\\[\\]-]+$",
        Text::Origin => "^https?://[A-Za-z0-9.:\\[\\]-]+$",
        Text::Hash => "^sha256:[0-9A-Fa-f]{64}$",
        Text::Percentile => "^p([5-8][0-9]|9[0-9])(\\.[0-9])?$",
        Text::Target => "^[A-Za-z0-9._-]{1,128}(/.+)?$",
    };
    json!({ "type": "string", "pattern": pattern })
}
