//! `/__seawall/`: what happened, what is told to happen, and begin again.

use super::Shared;
use super::dialect::{Answer, refusal};
use super::journal::{Attempt, Journal};
use crate::plan::{
    Answers, Idempotency, Latency, Limit, LimitKey, Mix, STORE_BYTES_MAX, Scope, State, Unkeyed,
};
use seawall_core::time::Instant;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Where the control plane begins. No route matches below it, and it is in no journal.
const PREFIX: &str = "/__seawall/";
/// Where the resources stand below it, each by its name.
const RESOURCES: &str = "resources/";
/// The most objects that one answer holds.
const OBJECTS_SHOWN_MAX: usize = 1_000;
const SINCE_ONLY: &str = "this takes one parameter, since=N";
/// The most script positions that `routes` shows of one rule.
const POSITIONS_SHOWN_MAX: usize = 100;

/// Whether a path is the control plane's.
pub(super) fn is_control(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// Answers a control request.
pub(super) fn answer(shared: &Shared, method: &str, target: &str) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match (method, path.strip_prefix(PREFIX).unwrap_or_default()) {
        ("GET", "journal") => match since(query) {
            Some(since) => {
                // Copied first: attempts must not wait while a long journal is printed.
                let copy = shared.log().journal_since(since);
                Answer::json(200, &journal(&copy))
            }
            None => refusal(400, SINCE_ONLY),
        },
        ("GET", "resources") => Answer::json(200, &resources(shared)),
        ("GET", name) if name.starts_with(RESOURCES) => resource(shared, &name[RESOURCES.len()..], query),
        ("GET", "routes") => Answer::json(200, &routes(shared)),
        ("POST", "reset") => {
            shared.reset();
            Answer::json(200, &json!({ "reset": true }))
        }
        (_, "journal" | "routes" | "resources") => refusal(405, "this is read with GET"),
        (_, "reset") => refusal(405, "this is done with POST"),
        (_, name) if name.starts_with(RESOURCES) => refusal(405, "this is read with GET"),
        (_, name) if name == "verify" || name == "clock" => refusal(501, "this mock does not serve that yet"),
        (_, _) => refusal(
            404,
            "the control plane knows journal, routes, resources and reset",
        ),
    }
}

fn since(query: &str) -> Option<u64> {
    match query {
        "" => Some(0),
        query => query.strip_prefix("since=")?.parse().ok(),
    }
}

/// Every resource by name, those included that nothing was made in yet.
fn resources(shared: &Shared) -> Value {
    let names = resource_names(shared);
    let store = shared.store();
    let resources = names
        .iter()
        .map(|name| json!({ "name": name, "count": store.count(name), "made": store.made(name) }));
    json!({
        "resources": resources.collect::<Vec<_>>(),
        "keys": { "known": store.keys(), "in_flight": store.keys_in_flight() },
        "bytes": store.bytes(),
        "bytes_max": STORE_BYTES_MAX,
    })
}

fn resource(shared: &Shared, name: &str, query: &str) -> Answer {
    let Some(since) = since(query) else {
        return refusal(400, SINCE_ONLY);
    };
    let names = resource_names(shared);
    if !names.contains(name) {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        return refusal(
            404,
            &format!("no route of this mock keeps that; it keeps: {known}"),
        );
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
    Answer {
        body: text.into_bytes(),
        ..Answer::json(200, &Value::Null)
    }
}

fn resource_names(shared: &Shared) -> BTreeSet<String> {
    let plan = shared.plan();
    let mut names: BTreeSet<String> = plan.rules().filter_map(|rule| rule.resource.clone()).collect();
    names.extend(shared.store().resources().map(str::to_owned));
    names
}

fn journal(journal: &Journal) -> Value {
    let attempts: Vec<Value> = journal.attempts.iter().map(entry).collect();
    json!({ "dropped": journal.dropped, "open": journal.open, "attempts": attempts })
}

fn entry(attempt: &Attempt) -> Value {
    json!({
        "number": attempt.number,
        "connection": attempt.connection,
        "on_connection": attempt.on_connection,
        "method": attempt.method,
        "path": attempt.path,
        "route": attempt.route.as_deref(),
        "status": attempt.status,
        "fault": attempt.fault,
        "key": attempt.key,
        "work": attempt.work,
        "object": attempt.object,
        "retry_count": attempt.retry_count,
        "at_ms": ms(attempt.at),
        "answered_ms": attempt.answered.map(ms),
        "ended_ms": attempt.ended.map(ms),
        "client_abort_ms": attempt.client_left.map(ms),
        "bytes_in": attempt.bytes_in,
        "bytes_out": attempt.bytes_out,
    })
}

/// Milliseconds since the mock's start, to the microsecond.
#[expect(clippy::cast_precision_loss, reason = "exact for the first 285 years")]
fn ms(at: Instant) -> f64 {
    (at.as_nanos() / 1_000) as f64 / 1_000.0
}

fn routes(shared: &Shared) -> Value {
    let plan = shared.plan();
    let routes = plan.rules().enumerate().map(|(place, rule)| {
        let positions: Vec<usize> = plan.positions(place, POSITIONS_SHOWN_MAX).collect();
        let (script, mix) = match &rule.answers {
            Answers::Plain => (Value::from("200"), Value::Null),
            Answers::Outage => (Value::from("outage"), Value::Null),
            Answers::Storm => (Value::from("storm"), Value::Null),
            Answers::Script(script) => (Value::from(script.to_string()), Value::Null),
            Answers::Mix(mix) => (Value::Null, shares(mix)),
            Answers::Mixes { whole, .. } => (Value::Null, shares(whole)),
        };
        json!({
            "match": rule.pattern.to_string(),
            "script": script,
            "mix": mix,
            "stream_mix": match &rule.answers {
                Answers::Mixes { stream, .. } => shares(stream),
                Answers::Plain | Answers::Script(_) | Answers::Mix(_) | Answers::Outage | Answers::Storm => Value::Null,
            },
            "latency": latency(rule.latency),
            "dialect": rule.dialect.name(),
            "state": match &rule.state {
                State::Route => Value::Null,
                State::Header(name) => Value::from(format!("header:{name}")),
            },
            "limit": rule.limit.as_ref().map(limit),
            "resource": rule.resource,
            "idempotency": rule.idempotency.as_ref().map(idempotency),
            "attempts": plan.attempts(place),
            "steps": positions,
        })
    });
    json!({ "routes": routes.collect::<Vec<_>>() })
}

fn shares(mix: &Mix) -> Value {
    let parts = mix
        .parts()
        .iter()
        .map(|(action, share)| json!({ "action": action.to_string(), "share_ppb": share }));
    parts.collect()
}

fn limit(limit: &Limit) -> Value {
    json!({
        "key": match &limit.key {
            LimitKey::Route => "route".to_owned(),
            LimitKey::Header(name) => format!("header:{name}"),
        },
        "rpm": limit.requests_per_minute,
        "rps": limit.requests_per_second,
        "tpm": limit.tokens_per_minute,
        "concurrency": limit.concurrency,
        "burst": limit.burst,
        "form": limit.form.name(),
    })
}

fn idempotency(keys: &Idempotency) -> Value {
    json!({
        "header": keys.header,
        "ttl": keys.ttl.to_string(),
        "scope": match &keys.scope {
            Scope::Route => "route".to_owned(),
            Scope::Header(name) => format!("header:{name}"),
        },
        "required": keys.unkeyed == Unkeyed::Refused,
    })
}

fn latency(latency: Latency) -> Value {
    match latency {
        Latency::None => Value::Null,
        Latency::Fixed(length) => Value::from(length.to_string()),
        Latency::Uniform { shortest, longest } => {
            json!({ "uniform": [shortest.to_string(), longest.to_string()] })
        }
        Latency::LogNormal { p50, p99 } => json!({ "p50": p50.to_string(), "p99": p99.to_string() }),
    }
}
