//! `/__seawall/`: what happened, what is told to happen, and begin again.

use super::Shared;
use super::dialect::{Answer, refusal};
use super::journal::{Attempt, Journal};
use crate::plan::{Answers, Latency, State};
use seawall_core::time::Instant;
use serde_json::{Value, json};

/// Where the control plane begins. No route matches below it, and it is in no journal.
const PREFIX: &str = "/__seawall/";
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
            None => refusal(400, "journal takes one parameter, since=N"),
        },
        ("GET", "routes") => Answer::json(200, &routes(shared)),
        ("POST", "reset") => {
            shared.reset();
            Answer::json(200, &json!({ "reset": true }))
        }
        (_, "journal" | "routes") => refusal(405, "this is read with GET"),
        (_, "reset") => refusal(405, "this is done with POST"),
        (_, name) if name == "verify" || name == "clock" || name.starts_with("resources") => {
            refusal(501, "this mock does not serve that yet")
        }
        (_, _) => refusal(404, "the control plane knows journal, routes and reset"),
    }
}

fn since(query: &str) -> Option<u64> {
    match query {
        "" => Some(0),
        query => query.strip_prefix("since=")?.parse().ok(),
    }
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
            Answers::Script(script) => (Value::from(script.to_string()), Value::Null),
            Answers::Mix(mix) => {
                let parts = mix
                    .parts()
                    .iter()
                    .map(|(action, share)| json!({ "action": action.to_string(), "share_ppb": share }));
                (Value::Null, parts.collect())
            }
        };
        json!({
            "match": rule.pattern.to_string(),
            "script": script,
            "mix": mix,
            "latency": latency(rule.latency),
            "dialect": rule.dialect.name(),
            "state": match &rule.state {
                State::Route => Value::Null,
                State::Header(name) => Value::from(format!("header:{name}")),
            },
            "attempts": plan.attempts(place),
            "steps": positions,
        })
    });
    json!({ "routes": routes.collect::<Vec<_>>() })
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
