//! Every switch of a scenario as JSON, under the keys that a file has for it.
//!
//! What can go wrong: a report leaves out what was decided in silence, and nobody can say whether two reports are of one
//! scenario. So all of a [`Model`] and of its policies is here, also what nobody wrote, and a test reads it back as a
//! file that means the same.

use crate::fnv::Fnv;
use crate::plan::{Limit, LimitKey};
use crate::sim::luck::{Amount, Length};
use crate::sim::model::*;
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;
use serde_json::{Map, Value, json};

/// A scenario without its policies.
pub(super) fn model(model: &Model) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("horizon".to_owned(), time(model.horizon));
    all.insert("warmup".to_owned(), time(model.warmup));
    all.insert("hop".to_owned(), length(model.hop));
    all.insert("spread".to_owned(), json!(spread(model.spread)));
    let mut calls = load(&model.load);
    if model.tokens != Tokens::NONE {
        calls["tokens"] = tokens(&model.tokens);
    }
    all.insert("load".to_owned(), calls);
    let servers = model.servers.iter().map(server).collect();
    all.insert("server".to_owned(), servers);
    if !model.layers.is_empty() {
        all.insert(
            "layer".to_owned(),
            model
                .layers
                .iter()
                .map(|one| layer(one, model.endpoint()))
                .collect(),
        );
    }
    all
}

/// Who shares a gate.
pub(super) fn fleet(fleet: Fleet) -> Value {
    match fleet {
        Fleet::PerClient => json!("client"),
        Fleet::PerProcess { clients } => json!({ "process": clients }),
        Fleet::One => json!("one"),
    }
}

const fn spread(spread: Spread) -> &'static str {
    match spread {
        Spread::Route => "route",
        Spread::ShardsOneGate => "shards-one-gate",
        Spread::ShardsOwnGates => "shards-own-gates",
    }
}

fn load(load: &Load) -> Value {
    match load {
        Load::Open {
            clients,
            per_second,
            gaps: spread,
            bursts,
        } => json!({
            "rate": number(*per_second), "gaps": gaps(*spread), "clients": clients,
            "bursts": bursts.iter().map(burst).collect::<Value>(),
        }),
        Load::Closed {
            clients,
            think,
            start,
            calls_each,
        } => {
            let start = match start {
                Start::Together => "together",
                Start::Spread => "spread",
            };
            let mut all = json!({ "clients": clients, "think": length(*think), "start": start });
            if let Some(calls) = calls_each {
                all["calls_each"] = json!(calls);
            }
            all
        }
        Load::Pool {
            connections,
            per_second,
            gaps: spread,
        } => json!({ "connections": connections, "rate": number(*per_second), "gaps": gaps(*spread) }),
        Load::Trace { clients, calls } => {
            let last = calls.last().map_or(Instant::START, |call| call.at);
            json!({
                "calls": calls.len(), "last_at": instant(last), "clients": clients,
                "hash": format!("{:016x}", hash_of(calls)),
            })
        }
    }
}

/// What tells two traces apart that are as long as each other.
fn hash_of(calls: &[Arrival]) -> u64 {
    let mut hash = Fnv::default();
    for call in calls {
        hash.write(&call.at.as_nanos().to_le_bytes());
        hash.write(&call.tokens_in.to_le_bytes());
        hash.write(&call.tokens_out.to_le_bytes());
    }
    hash.sum()
}

const fn gaps(gaps: Gaps) -> &'static str {
    match gaps {
        Gaps::Poisson => "poisson",
        Gaps::Constant => "constant",
    }
}

fn burst(burst: &Burst) -> Value {
    json!({ "at": instant(burst.at), "for": time(burst.lasts), "factor": number(burst.factor) })
}

fn layer(layer: &Layer, endpoint: Endpoint) -> Value {
    let told = match layer.told {
        Told::Nothing => "nothing",
        Told::Attempts => "attempts",
    };
    let mut all = json!({ "name": layer.name, "processes": layer.processes, "told": told });
    if let Some(policy) = &layer.policy {
        all["policy"] = super::policy::settings(policy, endpoint);
    }
    all
}

fn server(server: &Server) -> Value {
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    match server.capacity {
        Capacity::Unbounded => put("capacity", json!("unbounded")),
        Capacity::Workers(workers) => put("workers", json!(workers)),
        Capacity::Coupled { slope } => put("slope", time(slope)),
        Capacity::OptimisticLock => put("capacity", json!("optimistic-lock")),
    };
    match server.capacity {
        Capacity::OptimisticLock => {}
        Capacity::Workers(_) => {
            put("latency", length(server.service));
            let order = match server.order {
                Order::Fifo => "fifo",
                Order::Lifo => "lifo",
            };
            put("order", json!(order));
            put(
                "queue",
                server.queue_max.map_or(json!("unbounded"), |most| json!(most)),
            );
            let orphans = match server.orphans {
                Orphans::Worked => "worked",
                Orphans::Dropped => "dropped",
            };
            put("orphans", json!(orphans));
            put("reject_cost", time(server.reject_cost));
        }
        Capacity::Unbounded | Capacity::Coupled { .. } => {
            put("latency", length(server.service));
        }
    }
    if let Some(generation) = server.generation {
        let stream = match generation.sent {
            AnswerIs::Whole => false,
            AnswerIs::Streamed => true,
        };
        let (read, written) = (generation.per_token_in, generation.per_token_out);
        put(
            "generation",
            json!({ "input": time(read), "output": time(written), "stream": stream }),
        );
    }
    put("failures", failures(server.failures));
    if let Some(bounds) = &server.limit {
        put("limit", limit(bounds));
    }
    match server.renewal {
        None => put("outages", server.outages.iter().map(outage).collect()),
        Some(renewal) => {
            let mut drawn = trouble(renewal.how, renewal.share);
            drawn["up"] = length(renewal.up);
            drawn["down"] = length(renewal.down);
            put("renewal", drawn)
        }
    };
    if server.price != Price::default() {
        let (read, written) = (server.price.per_million_in, server.price.per_million_out);
        put(
            "price",
            json!({ "input": dollars(read), "output": dollars(written) }),
        );
    }
    Value::Object(all)
}

fn failures(failures: Failures) -> Value {
    match failures {
        Failures::None => json!(0),
        Failures::Independent { chance } => number(chance),
        Failures::Sticky { first, again } => json!({ "first": number(first), "again": number(again) }),
    }
}

fn limit(limit: &Limit) -> Value {
    let bounds = [
        ("rpm", limit.requests_per_minute),
        ("rps", limit.requests_per_second),
        ("tpm", limit.tokens_per_minute),
        ("concurrency", limit.concurrency),
        ("burst", limit.burst),
    ];
    let written = bounds.into_iter().filter_map(|(key, bound)| Some((key, bound?)));
    let mut all: Value = written
        .map(|(key, bound)| (key.to_owned(), json!(bound)))
        .collect::<Map<_, _>>()
        .into();
    if let LimitKey::Header(name) = &limit.key {
        all["key"] = json!(format!("header:{name}"));
    }
    all
}

fn outage(outage: &Outage) -> Value {
    let mut all = trouble(outage.how, outage.share);
    all["at"] = instant(outage.at);
    all["for"] = time(outage.lasts);
    all
}

fn trouble(how: Trouble, share: f64) -> Value {
    let mut all = match how {
        Trouble::FailFast => json!({ "how": "503" }),
        Trouble::Refuse => json!({ "how": "refuse" }),
        Trouble::Hang => json!({ "how": "hang" }),
        Trouble::Slow { factor } => json!({ "how": "slow", "factor": number(factor) }),
        Trouble::Throttle { retry_after: None } => json!({ "how": "429" }),
        Trouble::Throttle {
            retry_after: Some(wait),
        } => json!({ "how": "429", "retry_after": time(wait) }),
        Trouble::Truncate => json!({ "how": "truncate" }),
    };
    all["share"] = number(share);
    all
}

/// A distribution of lengths of time.
fn length(length: Length) -> Value {
    match length {
        Length::Fixed(length) => time(length),
        Length::Uniform { shortest, longest } => json!({ "uniform": [time(shortest), time(longest)] }),
        Length::Exponential { mean } => json!({ "exponential": time(mean) }),
        Length::FoldedNormal { mean, deviation } => {
            json!({ "folded_normal": [time(mean), time(deviation)] })
        }
        Length::LogNormal { p50, p99 } => json!({ "p50": time(p50), "p99": time(p99) }),
        Length::Bimodal {
            mean,
            rare_mean,
            rare,
        } => json!({ "exponential": time(mean), "rare": time(rare_mean), "rare_share": number(rare) }),
    }
}

fn tokens(tokens: &Tokens) -> Value {
    let mut all = json!({ "input": amount(tokens.read), "output": amount(tokens.written) });
    if let Some(most) = tokens.written_max {
        all["output_max"] = json!(most);
    }
    all
}

/// A distribution of whole numbers.
fn amount(amount: Amount) -> Value {
    match amount {
        Amount::Fixed(amount) => json!(amount),
        Amount::Uniform { least, most } => json!({ "uniform": [least, most] }),
        Amount::Exponential { mean } => json!({ "exponential": mean }),
        Amount::LogNormal { p50, p99 } => json!({ "p50": p50, "p99": p99 }),
    }
}

fn instant(at: Instant) -> Value {
    time(at.since(Instant::START))
}

/// Exact, and readable where it can be both.
pub(super) fn time(length: Duration) -> Value {
    json!(written(length))
}

pub(super) fn written(length: Duration) -> String {
    let short = length.to_string();
    if Duration::parse_units(&short) == Some(length) {
        return short;
    }
    // Above a minute the short form is in whole seconds.
    let (seconds, nanos) = (length.as_secs(), length.as_nanos() % 1_000_000_000);
    let digits = format!("{nanos:09}");
    format!("{seconds}.{}s", digits.trim_end_matches('0'))
}

/// A whole number without a point.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only where it is whole and far below 2^53"
)]
pub(super) fn number(value: f64) -> Value {
    if libm::trunc(value) == value && value.abs() < 1e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

#[expect(clippy::cast_precision_loss, reason = "prices are far below 2^53 millionths")]
fn dollars(micro: u64) -> Value {
    number(micro as f64 / 1e6)
}
