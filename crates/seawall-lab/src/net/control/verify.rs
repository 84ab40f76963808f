//! What must have come.

use super::query::Query;
use super::tables;
use crate::error::shown;
use crate::net::Shared;
use crate::net::dialect::{Answer, refusal};
use crate::scenario::{Passed, Scenario, ScenarioErrors, checks, failures};
use serde_json::{Map, Value, json};

/// What errors call what was asked.
const NAME: &str = "expected";
/// The answer where something did not come as expected: no route's own word, and an error to every client library.
const NOT_AS_EXPECTED: u16 = 417;

/// Judges by a body: TOML as below `[expect]`, or the same as JSON.
pub(super) async fn judge(shared: &Shared, query: &Query, body: &str) -> Result<Answer, Answer> {
    let format = Format::of(query.get("format"))?;
    let text = match body.trim_start().starts_with('{') {
        true => {
            let value: Value = serde_json::from_str(body)
                .map_err(|error| refusal(400, &format!("the body is no JSON: {error}")))?;
            tables::toml(&value).map_err(|error| refusal(400, &error))?
        }
        false => body.to_owned(),
    };
    judged(shared, &text, format).await
}

/// Judges by parameters: `same_key=true`, `never=overlap,endless`, `attempts./v1/payments=2..=3`.
pub(super) async fn judge_query(shared: &Shared, query: &str) -> Result<Answer, Answer> {
    let mut expected = Map::new();
    let mut format = Format::Document;
    for (name, value) in Query::pairs(query)? {
        let (key, below) = match name.split_once('.') {
            Some((key, below)) => (key, Some(below)),
            None => (name.as_str(), None),
        };
        match (key, below) {
            ("format", None) => format = Format::of(Some(&value))?,
            ("never", None) => {
                let rules = value.split(',').map(str::trim);
                expected.insert(name, rules.collect());
            }
            (_, None) => {
                expected.insert(name, bare(&value));
            }
            (key, Some(below)) => {
                let table = expected.entry(key.to_owned()).or_insert_with(|| json!({}));
                match table.as_object_mut() {
                    Some(table) => table.insert(below.to_owned(), bare(&value)),
                    None => {
                        let message = format!("`{}` cannot be both one value and several", shown(key));
                        return Err(refusal(400, &message));
                    }
                };
            }
        }
    }
    let text = tables::toml(&Value::Object(expected)).map_err(|error| refusal(400, &error))?;
    judged(shared, &text, format).await
}

/// A number or a truth where it is one, else a text.
fn bare(value: &str) -> Value {
    match (value.parse::<u64>(), value) {
        (Ok(number), _) => number.into(),
        (Err(_), "true") => true.into(),
        (Err(_), "false") => false.into(),
        (Err(_), text) => text.into(),
    }
}

enum Format {
    Document,
    Text,
}

impl Format {
    fn of(name: Option<&str>) -> Result<Self, Answer> {
        match name {
            None | Some("json") => Ok(Self::Document),
            Some("text") => Ok(Self::Text),
            Some(other) => {
                let message = format!("format is json or text, not `{}`", shown(other));
                Err(refusal(400, &message))
            }
        }
    }
}

async fn judged(shared: &Shared, text: &str, format: Format) -> Result<Answer, Answer> {
    let scenario = Scenario::expectations(NAME, text).map_err(|errors| unread(&errors))?;
    let verdict = shared.judge(&scenario).await;
    let (status, passed) = match verdict.passed() {
        Passed::Yes => (200, true),
        Passed::No => (NOT_AS_EXPECTED, false),
    };
    let told = failures(&scenario, &verdict);
    Ok(match format {
        Format::Document => {
            let document = json!({ "passed": passed, "checks": checks(&verdict), "text": told });
            Answer::json(status, &document)
        }
        Format::Text => Answer {
            content_type: Some("text/plain; charset=utf-8"),
            body: match told.is_empty() {
                true => b"as expected\n".to_vec(),
                false => told.into_bytes(),
            },
            ..Answer::empty(status)
        },
    })
}

fn unread(errors: &ScenarioErrors) -> Answer {
    let first = errors.first();
    let told = json!({
        "message": errors.to_string(),
        "status": 400,
        "line": first.line(),
        "column": first.column(),
    });
    Answer::json(400, &json!({ "error": told }))
}
