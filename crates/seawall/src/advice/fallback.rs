//! What routes promise and cannot keep: candidates that fail together, are too small, too dear or come too late (rules
//! C6, I2, K1 to K3).

use super::subject::{Serves, serves, speaks};
use super::{Advice, Code, Figure, counted};
use crate::config::{
    Config, Credential, ModelConfig, Place, PolicyConfig, RouteConfig, Speaks, Target, UpstreamConfig,
};
use http::Uri;
use seawall_core::policy::DEFAULT_TRIES;
use seawall_core::profile::{Provider, RequestFacts};
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;

pub(super) fn of(config: &Config) -> Vec<Advice> {
    let mut advice = Vec::new();
    for route in &config.routes {
        advice.extend(quota_shared(config, route));
        advice.extend(window_smaller(config, route));
        advice.extend(too_dear(config, route));
        advice.extend(comes_late(config, route));
    }
    advice.extend(quotas_apart(config));
    for upstream in &config.upstreams {
        advice.extend(bucket_below_window(config, upstream));
    }
    advice
}

/// A piece of advice about a route, which names its upstreams.
pub(super) fn about_route<const N: usize>(
    code: Code,
    route: &RouteConfig,
    at: &Place,
    text: String,
    numbers: [(&'static str, Figure); N],
) -> Advice {
    let mut upstreams: Vec<String> = Vec::new();
    for target in &route.to {
        if !upstreams.contains(&target.upstream) {
            upstreams.push(target.upstream.clone());
        }
    }
    Advice {
        code,
        upstreams,
        at: Some(at.clone()),
        text,
        numbers: numbers.to_vec(),
    }
}

/// The candidate as files name it.
fn named(target: &Target) -> String {
    match &target.model {
        Some(model) => format!("{}/{model}", target.upstream),
        None => target.upstream.clone(),
    }
}

fn model<'a>(config: &'a Config, target: &Target) -> Option<&'a ModelConfig> {
    let name = target.model.as_ref()?;
    config
        .models
        .iter()
        .find(|model| model.name.value == *name && model.upstream.value == target.upstream)
}

fn quota_shared(config: &Config, route: &RouteConfig) -> Option<Advice> {
    let quota_of = |target: &Target| config.upstream(&target.upstream)?.quota.as_ref();
    let (first, others) = route.to.split_first()?;
    let quota = quota_of(first)?;
    let all_share = others
        .iter()
        .all(|other| quota_of(other).is_some_and(|other| other.value == quota.value));
    (all_share && !others.is_empty()).then(|| {
        let candidates = route.to.len() as u64;
        let all = match candidates {
            2 => "both".to_owned(),
            n => format!("all {n}"),
        };
        let text = format!(
            "{all} candidates share the quota `{}`: when one is throttled, none may be sent to, and there is \
             nowhere to go; add one with a quota of its own",
            quota.value
        );
        about_route(
            Code::QuotaShared,
            route,
            &first.at,
            text,
            [("candidates", candidates.into())],
        )
    })
}

/// One account at one host, and each of its upstreams learns of its limit alone.
fn quotas_apart(config: &Config) -> Vec<Advice> {
    let account = |upstream: &UpstreamConfig| -> Option<(Credential, String)> {
        let credential = upstream.credential.as_ref()?.value.clone();
        let url = upstream.base_url.value.parse::<Uri>().ok()?;
        Some((credential, url.authority()?.as_str().to_ascii_lowercase()))
    };
    let quota = |upstream: &UpstreamConfig| upstream.quota.as_ref().map(|quota| quota.value.clone());
    let mut told: Vec<(Credential, String)> = Vec::new();
    let mut advice = Vec::new();
    for first in &config.upstreams {
        let Some(key) = account(first).filter(|key| !told.contains(key)) else {
            continue;
        };
        let alike: Vec<&UpstreamConfig> = config
            .upstreams
            .iter()
            .filter(|other| account(other).as_ref() == Some(&key))
            .collect();
        let apart = alike
            .iter()
            .any(|other| quota(other).is_none() || quota(other) != quota(first));
        if alike.len() > 1 && apart {
            let n = alike.len() as u64;
            let text = format!(
                "{n} upstreams use one credential at {}: if that is one account with one rate limit, each of the {n} has \
                 to run into it by itself; the same `quota` lets one cool-down hold for all",
                key.1
            );
            advice.push(Advice {
                code: Code::QuotasApart,
                upstreams: alike.iter().map(|upstream| upstream.name.value.clone()).collect(),
                at: first.credential.as_ref().map(|credential| credential.at.clone()),
                text,
                numbers: vec![("upstreams", n.into())],
            });
        }
        told.push(key);
    }
    advice
}

fn window_smaller(config: &Config, route: &RouteConfig) -> Option<Advice> {
    let window = |target: &Target| Some(model(config, target)?.window.as_ref()?.value);
    let (first, others) = route.to.split_first()?;
    let of_first = window(first)?;
    let smaller = others.iter().filter_map(|other| Some((other, window(other)?)));
    let (other, least) = smaller
        .filter(|(_, window)| *window < of_first)
        .min_by_key(|(_, window)| *window)?;
    let text = format!(
        "prompts above {least} tokens cannot fall back to {}: {} takes {of_first}, so an outage there is final for them",
        named(other),
        named(first),
    );
    let numbers = [("window", of_first.into()), ("window_of_fallback", least.into())];
    Some(about_route(
        Code::FallbackWindowSmaller,
        route,
        &other.at,
        text,
        numbers,
    ))
}

fn too_dear(config: &Config, route: &RouteConfig) -> Option<Advice> {
    let max = route.max_price.as_ref()?;
    let price = |target: &Target| Some(model(config, target)?.output.as_ref()?.value);
    let dear: Vec<(&Target, u64)> = route
        .to
        .iter()
        .filter_map(|target| Some((target, price(target)?)))
        .filter(|(_, price)| *price > max.value)
        .collect();
    let (dearest, price) = dear.iter().max_by_key(|(_, price)| *price)?;
    let numbers = [
        ("max_price_usd", Figure::Micro(max.value)),
        ("price_usd", Figure::Micro(*price)),
        ("candidates_left", ((route.to.len() - dear.len()) as u64).into()),
    ];
    let left = route.to.len() - dear.len();
    let (code, then) = match left {
        0 => (
            Code::RouteWithoutCandidate,
            "no candidate is left, and every call of this route ends with `no-candidate`".to_owned(),
        ),
        left => (
            Code::CandidateTooDear,
            format!(
                "it is never sent to, and {} left",
                counted(left as u64, "candidate is", "candidates are")
            ),
        ),
    };
    let text = format!(
        "{} costs {} USD per million output tokens, and max_price is {}: {then}",
        named(dearest),
        super::micro(*price),
        super::micro(max.value),
    );
    Some(about_route(code, route, &max.at, text, numbers))
}

/// How long the first upstream may hang, and what that leaves for the next.
fn comes_late(config: &Config, route: &RouteConfig) -> Option<Advice> {
    let (first, others) = route.to.split_first()?;
    let next = others.iter().find(|other| other.upstream != first.upstream)?;
    let upstream = config.upstream(&first.upstream)?;
    // The call policy is that of the first candidate (rule K1).
    let call = upstream.policy.policy().call;
    let endpoint = endpoint(route, upstream);
    let deadline = Instant::START.after(call.deadline_for(endpoint));
    let tries = route
        .tries
        .as_ref()
        .map_or(DEFAULT_TRIES, |tries| tries.value)
        .min(call.retries() + 1);
    let mut now = Instant::START;
    for sent in 0..tries {
        if sent > 0 {
            now = now.after(call.backoff().range(sent - 1, Duration::ZERO).shortest);
        }
        now = now.after(call.limits_for(endpoint, now, deadline).first_byte);
    }
    let left = deadline.since(now);
    let each = call.limits_for(endpoint, Instant::START, deadline).first_byte;
    (left < call.timeouts().min_attempt()).then(|| {
        let whole = call.deadline_for(endpoint);
        let text = format!(
            "an upstream that hangs takes {each} for each of {}, and {whole} are all that a call has: {left} are left for \
             {}; a shorter timeouts.first_byte or tries = 1 leaves it more",
            counted(tries.into(), "send", "sends"),
            named(next),
        );
        let numbers = [
            ("first_byte_ms", each.into()),
            ("sends", tries.into()),
            ("deadline_ms", whole.into()),
            ("left_ms", left.into()),
        ];
        about_route(Code::FallbackComesLate, route, &next.at, text, numbers)
    })
}

/// Where the calls of a route go, as far as its path says.
pub(super) fn endpoint(route: &RouteConfig, upstream: &UpstreamConfig) -> Endpoint {
    let Some(path) = route.matches.path.as_ref().map(|path| path.value.as_str()) else {
        return match serves(upstream) {
            Serves::Models => Endpoint::Inference,
            Serves::NoModels | Serves::Anything => Endpoint::General,
        };
    };
    let provider = match speaks(upstream) {
        Speaks::Provider(provider) => provider,
        Speaks::Seawall => Provider::inferred(None, path),
    };
    provider.profile().endpoint("POST", path, RequestFacts::default())
}

fn bucket_below_window(config: &Config, upstream: &UpstreamConfig) -> Vec<Advice> {
    let policy: &PolicyConfig = &upstream.policy;
    let rates = policy.policy().gate.limits().rates();
    let buckets = [
        ("policy.limits.tokens_per_minute", rates.tokens_per_minute()),
        ("policy.limits.tokens_in_per_minute", rates.tokens_in_per_minute()),
    ];
    let models = config
        .models
        .iter()
        .filter(|model| model.upstream.value == upstream.name.value);
    let largest = models
        .filter_map(|model| Some((model, model.window.as_ref()?.value)))
        .max_by_key(|(_, window)| *window);
    let Some((model, window)) = largest else {
        return Vec::new();
    };
    let small = buckets
        .into_iter()
        .filter_map(|(key, bucket)| Some((key, bucket.filter(|bucket| *bucket < window)?)));
    small
        .map(|(key, bucket)| Advice {
            code: Code::BucketBelowWindow,
            upstreams: vec![upstream.name.value.clone()],
            at: policy.place(key).cloned(),
            text: format!(
                "a call of more than {bucket} tokens is refused, however long it waits: the bucket of a minute holds no \
                 more, and {} takes {window}; raise {} or keep prompts below it",
                model.name.value,
                key.rsplit('.').next().unwrap_or(key),
            ),
            numbers: vec![("bucket", bucket.into()), ("window", window.into())],
        })
        .collect()
}
