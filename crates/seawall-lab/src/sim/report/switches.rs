//! Every switch that decides an outcome, as rows: of the world and of a policy, under the keys that a file has for it.
//!
//! What can go wrong: two figures disagree, and the switch by which they do stands nowhere; or a page and a report tell
//! the same switch in two ways. So a page has the rows that the document's `scenario` has, and a test of the document
//! reads those back as a file that means the same.

use crate::sim::document;
use crate::sim::model::{Contender, Model};
use seawall_core::verdict::Endpoint;
use serde_json::{Map, Value};

/// A switch and where it stands.
pub(super) type Row = (String, String);

/// How many of a list are written one by one.
const LISTED_MAX: usize = 12;

/// Of a world.
pub(super) fn of_model(model: &Model) -> Vec<Row> {
    of_table(&document::model(model))
}

/// Of a policy for calls of a kind, and of who shares its gates.
pub(super) fn of_contender(contender: &Contender, endpoint: Endpoint) -> Vec<Row> {
    let mut all = document::contender(contender, endpoint);
    all.remove("name");
    of_table(&all)
}

fn of_table(table: &Map<String, Value>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (key, value) in table {
        add(&mut rows, key, value);
    }
    rows
}

fn add(rows: &mut Vec<Row>, key: &str, value: &Value) {
    match value {
        Value::Object(table) => {
            for (inner, value) in table {
                add(rows, &format!("{key}.{inner}"), value);
            }
        }
        Value::Array(list) if list.is_empty() => rows.push((key.to_owned(), "none".to_owned())),
        Value::Array(list) => add_list(rows, key, list),
        Value::String(text) => rows.push((key.to_owned(), text.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) => rows.push((key.to_owned(), value.to_string())),
    }
}

/// Neighbours that are alike, as shards mostly are, are told once.
fn add_list(rows: &mut Vec<Row>, key: &str, list: &[Value]) {
    let mut told = 0;
    for (number, alike) in list.chunk_by(|a, b| a == b).enumerate() {
        if number == LISTED_MAX {
            rows.push((
                key.to_owned(),
                format!("and {} more, in --json", list.len() - told),
            ));
            return;
        }
        let name = match alike.len() {
            _ if list.len() == 1 => key.to_owned(),
            1 => format!("{key} {}", told + 1),
            count => format!("{key} {} to {}", told + 1, told + count),
        };
        add(rows, &name, &alike[0]);
        told += alike.len();
    }
}

#[cfg(test)]
mod tests;
