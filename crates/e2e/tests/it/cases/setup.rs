//! What a case's client does: which call, at which provider, under which policy.
//!
//! A case says what the client that failed was set to (`when`); the same settings are made here. Where it says
//! none, the defaults hold.

use super::Case;
use crate::server::LANE;
use http::{HeaderName, HeaderValue, Method};
use seawall::Credential;
use seawall::http::Secret;
use seawall::upstream::Call;
use seawall_core::policy::{Policy, PolicyBuilder};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;

/// The body of every call that has one.
pub(super) const BODY: &str = r#"{"model":"small-1","messages":[{"role":"user","content":"hi"}]}"#;
/// The same, asked for as a stream.
const STREAM_BODY: &str = r#"{"model":"small-1","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The policy of the case's client.
pub(super) fn policy(id: &str) -> Policy {
    let builder = Policy::builder();
    let builder = match id {
        // curl --retry 2 --retry-max-time 5
        "RC-008" => builder.retries(2).deadline(seconds(5)),
        // backoff.max_delay = 2 s
        "RC-014" => builder.backoff_cap(seconds(2)),
        "RC-076" | "RC-173" => builder.first_byte(seconds(1)),
        "RC-092" | "RC-102" => builder.first_byte(seconds(4)),
        "RC-096" => builder.first_byte(seconds(10)),
        // axios-retry's three; the whole answer of the last is what counts.
        "RC-152" | "RC-156" => builder.retries(3),
        "RC-155" => builder.retries(3).first_byte(seconds(10)),
        // curl --max-time 10 --retry 5
        "RC-161" => builder.retries(5).first_byte(seconds(10)).deadline(seconds(10)),
        // curl --retry 10 --retry-max-time 10
        "RC-162" => builder.retries(10).deadline(seconds(10)),
        _ => builder,
    };
    PolicyBuilder::build(builder).unwrap()
}

/// Whose dialect the server speaks where its path does not tell.
pub(super) fn provider(id: &str) -> Option<Provider> {
    match id {
        "RC-052" | "RC-053" => Some(Provider::GitHub),
        _ => None,
    }
}

/// The credential of a client that renews its own: it retried a 401, which nothing but another token mends.
pub(super) fn credential(id: &str) -> Option<Credential> {
    let renews = || async { Secret::bearer("the next token") };
    let first = Secret::bearer("a token that has ended").unwrap();
    (id == "RC-119").then(|| Credential::refreshing(renews).beginning_with(first))
}

/// The largest body that the client keeps for a second send: one that streams its body keeps none.
pub(super) fn replay_bytes_max(case: &Case) -> Option<usize> {
    let streamed = ["stream", "Node Readable"].map(Some);
    streamed.contains(&case.request()["body"].as_str()).then_some(1)
}

/// The case's call; `lane` tells callers apart where there are several.
pub(super) fn call(case: &Case, lane: usize) -> Call {
    let request = case.request();
    let method: Method = request["method"].as_str().unwrap().parse().unwrap();
    let body = match request["stream"].as_bool() {
        Some(true) => STREAM_BODY,
        Some(false) | None => BODY,
    };
    let call = match method {
        Method::GET => Call::get(path(case)),
        Method::POST => Call::post_json(path(case), body),
        method => Call::new(method, path(case)).with_body(body),
    };
    let lane = HeaderValue::from_str(&lane.to_string()).unwrap();
    call.with_header(HeaderName::from_static(LANE), lane)
}

fn path(case: &Case) -> &str {
    let request = case.request();
    if let Some(path) = request["path"].as_str() {
        return path;
    }
    let says = |words: &str| case.given["script"].to_string().contains(words);
    match request["method"].as_str().unwrap() {
        "POST" if provider(&case.id) == Some(Provider::GitHub) => "/repos/o/r/issues",
        // An upstream that honours keys: seawall makes one.
        "POST" if request["key"] == true || case.then.get("same_key") == Some(&true.into()) => "/v1/charges",
        "POST" if request["effect"] == true => "/v1/orders",
        // Both say "keyless POST", and mean a write.
        "POST" if request["keepalive"] == true => "/v1/orders",
        "POST" if says("\"anthropic.") => "/v1/messages",
        "POST" if says("\"gemini.") => "/v1beta/models/small-1:generateContent",
        "POST" if says("responses API") => "/v1/responses",
        "POST" => "/v1/chat/completions",
        _ => "/v1/things",
    }
}
