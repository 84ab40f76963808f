//! `/__seawall/`: what happened, what is told to happen, and begin again.
//!
//! What can go wrong: a page that a developer has open re-scripts the mock on the same machine, by a cross-origin POST or
//! by a name that suddenly points to loopback; so a request with a foreign `Origin`, or to a name that this mock would
//! not be called by, is refused, whatever it asks ([`stranger`]). A word that is misspelt does nothing and looks like
//! success; so unknown paths, parameters and keys are errors that name the nearest known one.
//!
//! No route matches below it, and it is in no journal.

mod clock;
mod journal;
mod query;
mod resources;
mod routes;
mod stranger;
mod tables;
mod verify;

use super::Shared;
use super::dialect::{Answer, refusal};
use super::exchange::Request;
use super::live::{ClockError, RouteError};
use crate::error::{ScriptError, nearest};
use crate::plan::StateReset;
use query::Query;
use serde_json::{Value, json};

/// Where the control plane begins.
const PREFIX: &str = "/__seawall";
/// The longest body of a control request, in bytes.
const BODY_BYTES_MAX: usize = 512 * 1024;

/// Where the resources stand below it, each by its name.
const RESOURCES: &str = "resources/";

/// What there is.
const ENDPOINTS: [Endpoint; 8] = [
    endpoint("", &[(Verb::Get, Deed::Index)], "this list"),
    endpoint(
        "journal",
        &[(Verb::Get, Deed::Journal)],
        "every attempt so far; ?since=NUMBER, ?route=METHOD PATH, ?format=jsonl",
    ),
    endpoint(
        "verify",
        &[(Verb::Get, Deed::VerifyQuery), (Verb::Post, Deed::Verify)],
        "what must have come, as in a scenario's [expect]: attempts, same_key, resources, never, …; 417 where it did not",
    ),
    endpoint(
        "reset",
        &[(Verb::Post, Deed::Reset)],
        "begin everything again; ?route=METHOD PATH and ?state=VALUE: that script alone",
    ),
    endpoint(
        "resources",
        &[(Verb::Get, Deed::Resources)],
        "what routes keep, and how much of it; resources/NAME?since=NUMBER: the objects of one",
    ),
    endpoint(
        "routes",
        &[
            (Verb::Get, Deed::Routes),
            (Verb::Post, Deed::PutRoutes),
            (Verb::Delete, Deed::TakeOutRoute),
        ],
        "what is answered; POST `METHOD PATH = SCRIPT`, TOML or JSON puts routes in, DELETE ?route=METHOD PATH takes one out",
    ),
    endpoint(
        "ca.pem",
        &[(Verb::Get, Deed::Authority)],
        "the certificate of the mock's authority, where it speaks TLS",
    ),
    endpoint(
        "clock",
        &[(Verb::Get, Deed::Clock), (Verb::Post, Deed::TurnClock)],
        "the mock's own time; POST {\"advance\":\"5s\"}, {\"step\":true}, {\"scale\":10} or {\"manual\":true}",
    ),
];

/// A name, what each of its methods does, and that in words.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    name: &'static str,
    deeds: &'static [(Verb, Deed)],
    does: &'static str,
}

const fn endpoint(name: &'static str, deeds: &'static [(Verb, Deed)], does: &'static str) -> Endpoint {
    Endpoint { name, deeds, does }
}

/// What a method does at one of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Index,
    Journal,
    Verify,
    VerifyQuery,
    Reset,
    Resources,
    Routes,
    PutRoutes,
    TakeOutRoute,
    Authority,
    Clock,
    TurnClock,
}

/// A method that something here takes. HEAD goes wherever GET does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Get,
    Post,
    Delete,
}

impl Verb {
    fn of(method: &str) -> Option<Self> {
        match method {
            "GET" | "HEAD" => Some(Self::Get),
            "POST" => Some(Self::Post),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }

    fn allowed(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// Whether a path is the control plane's.
pub(super) fn is_control(path: &str) -> bool {
    path.strip_prefix(PREFIX)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Answers a control request; `body` is as much of its body as was kept.
pub(super) async fn answer(shared: &Shared, request: &Request, body: &[u8]) -> Answer {
    respond(shared, request, body)
        .await
        .unwrap_or_else(|refused| refused)
}

fn authority(shared: &Shared) -> Result<Answer, Answer> {
    match &shared.setting.identity {
        Some(identity) => Ok(Answer {
            content_type: Some("application/x-pem-file"),
            body: identity.ca_pem().as_bytes().to_vec(),
            ..Answer::empty(200)
        }),
        None => Err(refusal(404, "this mock speaks no TLS")),
    }
}

async fn respond(shared: &Shared, request: &Request, body: &[u8]) -> Result<Answer, Answer> {
    stranger::refuse(&shared.setting.name, request)?;
    let name = request.path().strip_prefix(PREFIX).unwrap_or_default();
    let name = name.trim_start_matches('/');
    if let Some(resource) = name.strip_prefix(RESOURCES) {
        deed("resources", &request.method)?;
        let query = Query::read(request.query(), &["since"])?;
        return resources::tell_one(shared, resource, &query);
    }
    let deed = deed(name, &request.method)?;
    if body.len() > BODY_BYTES_MAX {
        let message = format!("a body here is at most {BODY_BYTES_MAX} bytes long");
        return Err(refusal(413, &message));
    }
    let text = || {
        std::str::from_utf8(body).map_err(|error| {
            let message = format!("byte {} of the body is no UTF-8", error.valid_up_to());
            refusal(400, &message)
        })
    };
    let query = |known: &[&str]| Query::read(request.query(), known);
    let nothing_asked = || query(&[]).map(|_| ());
    match deed {
        Deed::Index => nothing_asked().map(|()| index()),
        Deed::Journal => journal::tell(shared, &query(&["since", "route", "format"])?).await,
        Deed::Verify => verify::judge(shared, &query(&["format"])?, text()?).await,
        Deed::VerifyQuery => verify::judge_query(shared, request.query()).await,
        Deed::Reset => reset(shared, &query(&["route", "state"])?),
        Deed::Resources => nothing_asked().map(|()| resources::tell(shared)),
        Deed::Routes => nothing_asked().map(|()| routes::tell(shared)),
        Deed::PutRoutes => {
            nothing_asked()?;
            routes::put(shared, text()?)
        }
        Deed::TakeOutRoute => routes::take_out(shared, &query(&["route"])?),
        Deed::Authority => nothing_asked().and_then(|()| authority(shared)),
        Deed::Clock => nothing_asked().map(|()| clock::tell(shared)),
        Deed::TurnClock => {
            nothing_asked()?;
            clock::turn(shared, text()?).await
        }
    }
}

/// What is to be done with this name, where there is such a thing.
fn deed(name: &str, method: &str) -> Result<Deed, Answer> {
    let Some(Endpoint { deeds, .. }) = ENDPOINTS.iter().find(|known| known.name == name) else {
        let known: Vec<&str> = ENDPOINTS
            .iter()
            .map(|known| known.name)
            .filter(|known| !known.is_empty())
            .collect();
        let meant = match nearest(name, &known) {
            Some(word) => format!("; did you mean {PREFIX}/{word}?"),
            None => String::new(),
        };
        let message = format!(
            "the control plane has no such thing; it has {}, and {PREFIX}/ says what each does{meant}",
            known.join(", ")
        );
        return Err(refusal(404, &message));
    };
    let asked = Verb::of(method);
    match deeds.iter().find(|(verb, _)| Some(*verb) == asked) {
        Some((_, deed)) => Ok(*deed),
        None => {
            let allowed: Vec<&str> = deeds.iter().map(|(verb, _)| verb.allowed()).collect();
            let allowed = allowed.join(", ");
            let mut answer = refusal(405, &format!("{PREFIX}/{name} takes {allowed}"));
            answer.headers.push(("allow".to_owned(), allowed));
            Err(answer)
        }
    }
}

fn index() -> Answer {
    let endpoints = ENDPOINTS.iter().map(|Endpoint { name, deeds, does }| {
        let methods: Vec<&str> = deeds
            .iter()
            .flat_map(|(verb, _)| verb.allowed().split(", "))
            .collect();
        json!({ "path": format!("{PREFIX}/{name}"), "methods": methods, "does": does })
    });
    Answer::json(
        200,
        &json!({ "mock": "seawall", "version": env!("CARGO_PKG_VERSION"), "endpoints": endpoints.collect::<Vec<_>>() }),
    )
}

fn reset(shared: &Shared, query: &Query) -> Result<Answer, Answer> {
    match (query.get("route"), query.get("state")) {
        (None, None) => {
            shared.reset();
            Ok(Answer::json(200, &json!({ "reset": true })))
        }
        (None, Some(_)) => Err(refusal(
            400,
            "state is a value of one route: say ?route=METHOD PATH too",
        )),
        (Some(route), None) => {
            shared.begin_again(route).map_err(unknown)?;
            Ok(Answer::json(200, &json!({ "reset": true, "route": route })))
        }
        (Some(route), Some(state)) => {
            let met = match shared.begin_state_again(route, state).map_err(unknown)? {
                StateReset::Done => true,
                StateReset::NeverMet => false,
            };
            let told = json!({ "reset": true, "route": route, "state": state, "had_begun": met });
            Ok(Answer::json(200, &told))
        }
    }
}

fn unknown(error: RouteError) -> Answer {
    match error {
        RouteError::Script(error) => bad_script(&error),
        RouteError::Unknown { .. } => refusal(404, &error.to_string()),
    }
}

/// What somebody wrote that cannot be right: the message as a terminal shows it, and its place.
fn bad_script(error: &ScriptError) -> Answer {
    let told = json!({
        "message": error.to_string(),
        "status": 400,
        "line": error.line(),
        "column": error.column(),
    });
    Answer::json(400, &json!({ "error": told }))
}

fn not_turned(error: ClockError) -> Answer {
    refusal(409, &error.to_string())
}

/// Milliseconds since the mock's start, to the microsecond.
#[expect(clippy::cast_precision_loss, reason = "exact for the first 285 years")]
fn ms(nanos: u64) -> f64 {
    (nanos / 1_000) as f64 / 1_000.0
}

fn null_or<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Null, Into::into)
}

#[cfg(test)]
mod tests;
