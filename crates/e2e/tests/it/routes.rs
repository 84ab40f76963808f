//! Calls along routes, over sockets: where they move on, and where they must not (rules K1 to K5).
//!
//! What can go wrong lies between the upstreams: a wait that belongs to one is waited at the other, a write acts at both,
//! a key of the first is sent to the second, and what one of them said is forgotten by the next call. So one server
//! plays all upstreams, each below a path of its own, and each test looks at what was sent where.

mod leaves;
mod moves;
mod refused;
mod shared;
mod worlds;
mod written;

use crate::server::{Request, Server, Step};
use crate::stage::Stage;
use seawall::crank::CrankedClock;
use seawall::route::RouteBuilder;
use seawall::upstream::{Answer, Call, CallError, Upstream, UpstreamBuilder};
use seawall::{Credential, Route};
use seawall_core::policy::{Policy, PolicyBuilder};
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;

type Told = Result<Answer, Box<CallError>>;

/// Upstreams beside each other, and the server that plays them all.
struct Town {
    stage: Stage,
    upstreams: Vec<Upstream>,
}

impl Town {
    /// Upstreams of these names. `script` is told whose request it is, and which of that upstream's it is, from 0.
    async fn new(
        names: &'static [&'static str],
        policy: PolicyBuilder,
        script: impl Fn(&str, usize, &Request) -> Step + Send + Sync + 'static,
    ) -> Self {
        Self::with(names, policy, script, |_, builder| builder).await
    }

    /// The same, with what `with` adds to the upstream of each name.
    async fn with(
        names: &'static [&'static str],
        policy: PolicyBuilder,
        script: impl Fn(&str, usize, &Request) -> Step + Send + Sync + 'static,
        with: impl Fn(&str, UpstreamBuilder) -> UpstreamBuilder,
    ) -> Self {
        let clock = CrankedClock::new();
        let counts: Mutex<BTreeMap<String, usize>> = Mutex::default();
        let server = Server::start(&clock, move |_, request| {
            let name = whose(request);
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(name.to_owned()).or_default();
            *count += 1;
            script(name, *count - 1, request)
        })
        .await;
        let policy: Policy = policy.build().unwrap();
        let url = |name: &str| format!("{}/{name}/v1", server.url());
        let (first_url, first) = (url(names[0]), names[0]);
        let urls: Vec<String> = names.iter().map(|name| url(name)).collect();
        let stage = Stage::at(&first_url, &clock, server, policy, 1, |builder| {
            with(first, builder.name(first).provider(Provider::OpenAi))
        });
        let mut upstreams = vec![stage.upstream.clone()];
        for (name, url) in names.iter().zip(&urls).skip(1) {
            let builder = Upstream::builder(url).unwrap().name(*name).policy(policy);
            let builder = builder.provider(Provider::OpenAi).beside(&stage.upstream);
            upstreams.push(with(name, builder).build().unwrap());
        }
        Self { stage, upstreams }
    }

    /// A route over all of them, as they were named.
    fn route(&self) -> Route {
        self.route_with(|builder| builder)
    }

    fn route_with(&self, with: impl FnOnce(RouteBuilder) -> RouteBuilder) -> Route {
        let to_all = self.upstreams.iter().fold(Route::builder(), RouteBuilder::to);
        with(to_all).build().unwrap()
    }

    async fn call(&self, route: &Route, call: Call) -> Told {
        let route = route.clone();
        self.stage.run(async move { route.call(call).await }).await
    }

    /// Makes the call and holds what was told against this line.
    async fn check(&self, route: &Route, call: Call, expected: &str) {
        assert_eq!(line(&self.call(route, call).await), expected);
    }

    /// Whose requests came, in order.
    fn seen(&self) -> Vec<String> {
        let requests = self.stage.server.requests();
        requests.iter().map(|request| whose(request).to_owned()).collect()
    }

    fn advance(&self, length: Duration) {
        self.stage.clock.advance(length);
    }
}

/// The upstream that a request was sent to.
fn whose(request: &Request) -> &str {
    request.head.split('/').nth(1).unwrap()
}

/// All that an end tells of its way: each attempt as `candidate role outcome`, then who answered, or why nobody did.
fn line(told: &Told) -> String {
    let (attempts, end) = match told {
        Ok(answer) => (&answer.attempts, format!("{} answered", answer.upstream)),
        Err(error) => (&error.attempts, error.reason.code().to_owned()),
    };
    let mut words: Vec<String> = attempts
        .iter()
        .map(|note| format!("{} {} {}", note.candidate, note.sent_for, note.outcome))
        .collect();
    words.push(end);
    words.join(", ")
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// No waits of our own that a test would have to know, and no jitter.
fn plain() -> PolicyBuilder {
    Policy::builder().jitter(seawall_core::policy::Jitter::None)
}

fn ok() -> Step {
    Step::answer(200, &[("content-type", "application/json")], r#"{"ok":true}"#)
}

fn status(status: u16) -> Step {
    Step::answer(status, &[], "")
}

fn error(status: u16, code: &str) -> Step {
    let body = format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#);
    Step::answer(status, &[("content-type", "application/json")], &body)
}

fn read() -> Call {
    Call::get("/things")
}

/// A repeat costs money and changes nothing.
fn chat() -> Call {
    Call::post_json("/chat/completions", r#"{"model":"big-1","messages":[]}"#)
}

/// A repeat may act twice.
fn write() -> Call {
    Call::post_json("/orders", r#"{"amount":5}"#)
}

fn secret(text: &str) -> Credential {
    seawall::http::Secret::bearer(text).unwrap().into()
}
