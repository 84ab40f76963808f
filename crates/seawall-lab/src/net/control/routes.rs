//! What is answered: told, put in, taken out.

use super::query::Query;
use super::{bad_script, tables, unknown};
use crate::error::ScriptError;
use crate::file::routes_alone;
use crate::net::Shared;
use crate::net::dialect::{Answer, refusal};
use crate::plan::{
    Answers, Dialect, Form, Idempotency, Latency, Limit, LimitKey, Mix, Rule, Scope, State, Unkeyed,
};
use serde_json::{Value, json};

/// The most script positions that are shown of one rule.
const POSITIONS_SHOWN_MAX: usize = 100;
/// What errors call a body.
const BODY: &str = "body";
/// What a right body looks like.
const RIGHT: &str = "`METHOD PATH = SCRIPT`, or [[route]] tables of a mock file, or a route as JSON";

/// The routes in order, and how far each has come.
pub(super) fn tell(shared: &Shared) -> Answer {
    // Copied first: attempts must not wait while it is printed.
    let plan = shared.plan();
    let routes = plan.rules().enumerate().map(|(place, rule)| {
        let positions: Vec<usize> = plan.positions(place, POSITIONS_SHOWN_MAX).collect();
        told(rule, plan.attempts(place), &positions)
    });
    let routes: Vec<Value> = routes.collect();
    drop(plan);
    Answer::json(200, &json!({ "routes": routes }))
}

/// Puts routes in; answers with what stands then.
pub(super) fn put(shared: &Shared, body: &str) -> Result<Answer, Answer> {
    let rules = match body.trim_start().bytes().next() {
        None => return Err(refusal(400, &format!("the body is empty; expected {RIGHT}"))),
        Some(b'{') => from_json(body)?,
        Some(b'[') if !body.trim_start().starts_with("[[") => from_json(body)?,
        Some(b'[' | b'#') => from_toml(body)?,
        Some(_) => vec![Rule::parse(body).map_err(|error| bad_script(&error))?],
    };
    shared.put(rules).map_err(|error| bad_script(&error))?;
    Ok(tell(shared))
}

/// Takes a route out; answers with what stands then.
pub(super) fn take_out(shared: &Shared, query: &Query) -> Result<Answer, Answer> {
    let Some(route) = query.get("route") else {
        return Err(refusal(400, "say which: ?route=METHOD PATH, percent-encoded"));
    };
    shared.take_out(route).map_err(unknown)?;
    Ok(tell(shared))
}

fn from_toml(text: &str) -> Result<Vec<Rule>, Answer> {
    routes_alone(BODY, text).map_err(|error: ScriptError| bad_script(&error))
}

/// One route, a list of them, or a mock file's `{"route":[...]}`.
fn from_json(text: &str) -> Result<Vec<Rule>, Answer> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| refusal(400, &format!("the body is no JSON: {error}; expected {RIGHT}")))?;
    let whole = match value {
        Value::Array(_) => json!({ "route": value }),
        Value::Object(ref keys) if keys.contains_key("route") => value,
        one => json!({ "route": [one] }),
    };
    let table = tables::toml(&whole).map_err(|error| refusal(400, &error))?;
    from_toml(&table)
}

fn told(rule: &Rule, attempts: u64, positions: &[usize]) -> Value {
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
        // What a file leaves out, so that what is told here can be put in again.
        "dialect": (rule.dialect != Dialect::ByPath).then(|| rule.dialect.name()),
        "state": match &rule.state {
            State::Route => Value::Null,
            State::Header(name) => Value::from(format!("header:{name}")),
        },
        "limit": rule.limit.as_ref().map(limit),
        "resource": rule.resource,
        "idempotency": rule.idempotency.as_ref().map(idempotency),
        "attempts": attempts,
        "steps": positions,
    })
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
        "form": (limit.form != Form::ByDialect).then(|| limit.form.name()),
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
