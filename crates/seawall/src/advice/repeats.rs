//! What is done twice: writes that are declared harmless, retries of retries, and words of the user's own that turn a
//! refusal into a failure (rules C6, D, E1, G3).

use super::fallback::{about_route, endpoint};
use super::figures::sends_max;
use super::subject::speaks;
use super::{Advice, Code, Figure, decimal};
use crate::config::{Config, RouteConfig, Speaks, UpstreamConfig};
use http::Uri;
use seawall_core::classify::{Class, Override};
use seawall_core::facts::Replay;
use seawall_core::verdict::Endpoint;

pub(super) fn of(config: &Config) -> Vec<Advice> {
    let mut advice = Vec::new();
    for route in &config.routes {
        advice.extend(declared(config, route));
    }
    for upstream in &config.upstreams {
        advice.extend(nested(upstream));
        advice.extend(goes_to_itself(config, upstream));
        advice.extend(
            upstream
                .classify
                .iter()
                .filter_map(|word| own_word(upstream, word)),
        );
    }
    advice
}

/// A route that says of its writes that a repeat changes nothing.
fn declared(config: &Config, route: &RouteConfig) -> Option<Advice> {
    let written = route
        .replay
        .as_ref()
        .filter(|replay| replay.value == Replay::Declared)?;
    let first = config.upstream(&route.to.first()?.upstream)?;
    let call = first.policy.policy().call;
    let path = route.matches.path.as_ref().map(|path| path.value.as_str());
    if !call.declared_counts() {
        let text = "replay = \"declared\" is not taken here: the preset `writes` repeats what may have acted only with a \
                    key"
        .to_owned();
        return Some(about_route(Code::DeclaredNotTaken, route, &written.at, text, []));
    }
    let models_alone =
        path.is_some_and(|path| !path.contains('*')) && endpoint(route, first) != Endpoint::General;
    let fallbacks = route
        .fallbacks
        .as_ref()
        .map_or(call.fallbacks(), |fallbacks| fallbacks.value);
    let others = route
        .to
        .iter()
        .filter(|target| target.upstream != route.to[0].upstream)
        .count();
    let moves = fallbacks.min(u32::try_from(others).unwrap_or(u32::MAX));
    let sends = sends_max(call.retries(), moves);
    if models_alone || sends == 1 {
        return None;
    }
    let what = path.map_or_else(|| "any path".to_owned(), |path| format!("`{path}`"));
    let text = format!(
        "a POST to {what} that may have acted is sent again without a key, up to {sends} times in all: each may be a \
         second payment, mail or record; declare only what changes nothing, or let keys make it safe"
    );
    Some(about_route(
        Code::DeclaredWrite,
        route,
        &written.at,
        text,
        [("sends", sends.into())],
    ))
}

fn about(
    code: Code,
    upstream: &UpstreamConfig,
    text: String,
    numbers: Vec<(&'static str, Figure)>,
) -> Advice {
    Advice {
        code,
        upstreams: vec![upstream.name.value.clone()],
        at: Some(upstream.at.clone()),
        text,
        numbers,
    }
}

/// Another gateway of ours, which retries too.
fn nested(upstream: &UpstreamConfig) -> Option<Advice> {
    let policy = upstream.policy.policy();
    let attempts = 1 + u64::from(policy.call.retries());
    if speaks(upstream) != Speaks::Seawall || attempts == 1 {
        return None;
    }
    let worst = attempts * attempts;
    let mut text = format!(
        "this gateway retries, and so does the one behind it: with a policy like this one there, a call becomes up to \
         {attempts} × {attempts} = {worst} attempts"
    );
    let mut numbers = vec![("attempts_each", attempts.into()), ("attempts_max", worst.into())];
    if let Some(budget) = policy.gate.budget() {
        let factor = 1_000 + u64::from(budget.ratio_per_mille());
        // Millionths to thousandths, away from comfort.
        let both = (factor * factor).div_ceil(1_000);
        text += &format!(
            ", and in an outage {} × {} = {} for each",
            decimal(factor),
            decimal(factor),
            decimal(both)
        );
        numbers.push(("load_factor", Figure::Milli(both)));
    }
    text += "; retries = 0 here leaves them to it";
    let mut advice = about(Code::NestedRetries, upstream, text, numbers);
    advice.at = upstream.provider.as_ref().map(|provider| provider.at.clone());
    Some(advice)
}

fn goes_to_itself(config: &Config, upstream: &UpstreamConfig) -> Option<Advice> {
    let listen = config.serve.listen.as_ref()?;
    let (host, port) = listen.value.rsplit_once(':')?;
    let url = upstream.base_url.value.parse::<Uri>().ok()?;
    let to = url.authority()?;
    let to_port = to.port_u16().unwrap_or(if url.scheme_str() == Some("https") {
        443
    } else {
        80
    });
    let is_here = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    let same_host =
        host == to.host() || (is_here(to.host()) && (is_here(host) || matches!(host, "0.0.0.0" | "[::]")));
    (same_host && port.parse() == Ok(to_port)).then(|| {
        let text = format!(
            "its address is where the gateway itself listens ({}): every call would go around until its deadline",
            listen.value
        );
        let mut advice = about(Code::GoesToItself, upstream, text, Vec::new());
        advice.at = Some(upstream.base_url.at.clone());
        advice
    })
}

/// The user's own word on a status, where it undoes what the status is for.
fn own_word(upstream: &UpstreamConfig, word: &Override) -> Option<Advice> {
    let status = word.status?;
    let attempts = 1 + u64::from(upstream.policy.policy().call.retries());
    if word.class != Class::Failed || attempts == 1 {
        return None;
    }
    match status {
        429 => {
            let text = "a 429 that counts as failed cools nothing: its Retry-After holds for one call, every other one goes \
                        on, and each retry is charged; as = \"throttled\", or leave it out"
                .to_owned();
            Some(about(Code::ThrottleAsFailed, upstream, text, Vec::new()))
        }
        400..=406 | 410..=417 | 422 | 451 => {
            let text = format!(
                "a {status} is about the call itself and counts as failed here: a call that may be repeated is sent up to \
                 {attempts} times for it, spends the budget and counts against the breaker"
            );
            let numbers = vec![
                ("status", u64::from(status).into()),
                ("attempts", attempts.into()),
            ];
            Some(about(Code::RefusalAsFailed, upstream, text, numbers))
        }
        _ => None,
    }
}
