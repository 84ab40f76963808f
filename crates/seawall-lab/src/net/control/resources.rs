//! What the routes keep.

use super::query::Query;
use crate::error::shown;
use crate::net::Shared;
use crate::net::dialect::{Answer, refusal};
use crate::plan::STORE_BYTES_MAX;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The most objects that one answer holds.
const OBJECTS_SHOWN_MAX: usize = 1_000;

/// Every resource by name, those included that nothing was made in yet.
pub(super) fn tell(shared: &Shared) -> Answer {
    let names = names(shared);
    let store = shared.store();
    let resources = names
        .iter()
        .map(|name| json!({ "name": name, "count": store.count(name), "made": store.made(name) }));
    let told = json!({
        "resources": resources.collect::<Vec<_>>(),
        "keys": { "known": store.keys(), "in_flight": store.keys_in_flight() },
        "bytes": store.bytes(),
        "bytes_max": STORE_BYTES_MAX,
    });
    drop(store);
    Answer::json(200, &told)
}

/// The objects of one resource, in the order of making.
pub(super) fn tell_one(shared: &Shared, name: &str, query: &Query) -> Result<Answer, Answer> {
    let since = match query.get("since") {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            let message = format!("since is a number, not `{}`", shown(text));
            refusal(400, &message)
        })?,
    };
    let names = names(shared);
    if !names.contains(name) {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        let message = format!("no route of this mock keeps that; it keeps: {known}");
        return Err(refusal(404, &message));
    }
    let (count, made, page) = {
        let store = shared.store();
        let page = store.page(name, since, OBJECTS_SHOWN_MAX);
        (store.count(name), store.made(name), page)
    };
    let items: Vec<String> = page.objects.iter().map(|object| object.to_json()).collect();
    // Written by hand: objects keep the bytes that they came with.
    let text = format!(
        "{{\"name\":{},\"count\":{count},\"made\":{made},\"next\":{},\"items\":[{}]}}",
        Value::from(name),
        page.next.map_or(Value::Null, Value::from),
        items.join(",")
    );
    Ok(Answer {
        body: text.into_bytes(),
        ..Answer::json(200, &Value::Null)
    })
}

/// The names that routes keep something by, and those that something is kept by.
fn names(shared: &Shared) -> BTreeSet<String> {
    let plan = shared.plan();
    let mut names: BTreeSet<String> = plan.rules().filter_map(|rule| rule.resource.clone()).collect();
    names.extend(shared.store().resources().map(str::to_owned));
    names
}
