//! Every switch that decides an outcome, in words: of the world and of a policy.
//!
//! What can go wrong: two figures disagree, and the switch by which they do stands nowhere. So nothing is left out here,
//! defaults neither: whatever a [`Model`] or a policy has is taken apart field by field, and a field more does not
//! compile until it has its row.

use super::course::trouble;
use super::figures::{count, number, percent};
use crate::plan::Limit;
use crate::sim::luck::Length;
use crate::sim::model::{
    Burst, Capacity, Contender, Failures, Fleet, Gaps, Layer, Load, Model, Order, Orphans, Outage, Price, Renewal,
    Server, Spread, Start, Told,
};
use seawall_core::policy::{
    BreakerPolicy, BudgetPolicy, Concurrency, HedgeAfter, Jitter, LimitPolicy, LongHint, Mode, OnEmpty,
    OnOpen, Policy,
};
use seawall_core::time::Duration;

/// A switch and where it stands.
pub(super) type Row = (String, String);

/// How many outages are written one by one.
const OUTAGES_MAX: usize = 12;

/// Of a world.
pub(super) fn of_model(model: &Model) -> Vec<Row> {
    let Model {
        load,
        hop,
        layers,
        servers,
        spread,
        horizon,
        warmup,
    } = model;
    let mut rows = of_load(load);
    rows.push(row("hop, each way", length(*hop)));
    for (number, layer) in layers.iter().enumerate() {
        rows.push(row(&format!("layer {}", number + 1), of_layer(layer)));
    }
    if layers.is_empty() {
        rows.push(row("layers", "none: the clients call the servers"));
    }
    let spread = match spread {
        Spread::Route => "candidates of one route, in order, a gate each",
        Spread::ShardsOneGate => "shards, a call belongs to one; one gate for all",
        Spread::ShardsOwnGates => "shards, a call belongs to one; a gate each",
    };
    rows.push(row("servers", format!("{}: {spread}", servers.len())));
    // Shards are mostly alike: those that are as the one before are told with it.
    let mut first = 0;
    while first < servers.len() {
        let alike = servers[first..]
            .iter()
            .take_while(|server| **server == servers[first])
            .count();
        let name = match alike {
            1 => format!("server {}", first + 1),
            _ => format!("servers {} to {}", first + 1, first + alike),
        };
        rows.extend(
            of_server(&servers[first])
                .into_iter()
                .map(|(key, value)| (format!("{name}: {key}"), value)),
        );
        first += alike;
    }
    rows.push(row("calls begin until", exact(*horizon)));
    rows.push(row("counted from", exact(*warmup)));
    rows
}

/// Of a policy and who wears it.
pub(super) fn of_contender(contender: &Contender) -> Vec<Row> {
    let Contender {
        name: _,
        policy,
        fleet,
    } = contender;
    let shared = match fleet {
        Fleet::PerClient => "each client has its own".to_owned(),
        Fleet::PerProcess { clients } => format!("{} clients have one", count(u64::from(*clients))),
        Fleet::One => "all have one".to_owned(),
    };
    let mut rows = vec![row("gate", shared)];
    rows.extend(of_policy(policy));
    rows
}

fn of_load(load: &Load) -> Vec<Row> {
    match load {
        Load::Open {
            clients,
            per_second,
            gaps,
            bursts,
        } => {
            let mut rows = vec![
                row("load", "open: calls come whether or not earlier ones have ended"),
                row("clients", count(u64::from(*clients))),
                row(
                    "calls a second",
                    format!("{}, {}", number(*per_second), of_gaps(*gaps)),
                ),
            ];
            rows.extend(bursts.iter().map(|burst| {
                let Burst { at, lasts, factor } = burst;
                let value = format!(
                    "from {at} for {}, {} the rate",
                    exact(*lasts),
                    super::figures::times(*factor)
                );
                row("burst", value)
            }));
            rows
        }
        Load::Closed {
            clients,
            think,
            start,
            calls_each,
        } => {
            let start = match start {
                Start::Together => "all at once",
                Start::Spread => "each after one time of thinking",
            };
            let each = calls_each.map_or("any number up to the end".to_owned(), |each| {
                count(u64::from(each))
            });
            vec![
                row(
                    "load",
                    "closed: a client calls, waits for the end, thinks, calls again",
                ),
                row("clients", count(u64::from(*clients))),
                row("thinking", length(*think)),
                row("first calls", start),
                row("calls of each", each),
            ]
        }
        Load::Pool {
            connections,
            per_second,
            gaps,
        } => vec![
            row(
                "load",
                "pool: a call holds a connection to its end, waits included; latency counts from when it was due",
            ),
            row("connections", count(u64::from(*connections))),
            row(
                "calls a second",
                format!("{}, {}", number(*per_second), of_gaps(*gaps)),
            ),
        ],
        Load::Trace { clients, calls } => vec![
            row("load", "trace: recorded calls"),
            row("clients", count(u64::from(*clients))),
            row("calls", count(calls.len() as u64)),
        ],
    }
}

fn of_layer(layer: &Layer) -> String {
    let Layer {
        name,
        policy,
        processes,
        told,
    } = layer;
    let told = match told {
        Told::Nothing => "attempts are not told across",
        Told::Attempts => "attempts are told across (G3, M2)",
    };
    let policy = match policy {
        None => "the clients' policy".to_owned(),
        Some(policy) => {
            let rows = of_policy(policy).into_iter();
            rows.map(|(key, value)| format!("{key}: {value}"))
                .collect::<Vec<_>>()
                .join("; ")
        }
    };
    let processes = count(u64::from(*processes));
    format!("{name}: {processes} processes; {told}; {policy}")
}

fn of_server(server: &Server) -> Vec<Row> {
    let Server {
        capacity,
        service,
        order,
        queue_max,
        reject_cost,
        orphans,
        failures,
        limit,
        outages,
        renewal,
        price,
    } = server;
    let capacity = match capacity {
        Capacity::Unbounded => "all attempts at once".to_owned(),
        Capacity::Workers(workers) => format!("{} at a time", count(u64::from(*workers))),
        Capacity::Coupled { slope } => format!(
            "all at once, each {} slower for each that is there",
            exact(*slope)
        ),
        Capacity::OptimisticLock => "one row under an optimistic lock; no time at the server".to_owned(),
    };
    let order = match order {
        Order::Fifo => "who came first",
        Order::Lifo => "who came last",
    };
    let orphans = match orphans {
        Orphans::Worked => "is done all the same",
        Orphans::Dropped => "is dropped while it waits for a worker",
    };
    let failures = match failures {
        Failures::None => "none".to_owned(),
        Failures::Independent { chance } => format!("{} of attempts", percent(*chance)),
        Failures::Sticky { first, again } => {
            format!(
                "{} of first attempts, {} of those after a failed one",
                percent(*first),
                percent(*again)
            )
        }
    };
    let mut rows = vec![
        row("works on", capacity),
        row("an attempt takes", length(*service)),
        row("next is", order),
        row(
            "may wait",
            queue_max.map_or("any number".to_owned(), |most| count(u64::from(most))),
        ),
        row("a refusal costs a worker", exact(*reject_cost)),
        row("work whose caller has left", orphans),
        row("fails of itself", failures),
        row("limit", limit.as_ref().map_or("none".to_owned(), of_limit)),
        row("price", of_price(*price)),
    ];
    if let Some(Renewal { up, down, how, share }) = renewal {
        let (up, down) = (length(*up), length(*down));
        let (how, share) = (trouble(*how), percent(*share));
        let told = format!("by chance: up for {up}, then down for {down}: {how}, {share} of attempts");
        rows.push(row("outages", told));
    }
    rows.extend(outages.iter().take(OUTAGES_MAX).map(|outage| {
        let Outage {
            at,
            lasts,
            how,
            share,
        } = outage;
        row(
            "outage",
            format!(
                "from {at} for {}: {}, {} of attempts",
                exact(*lasts),
                trouble(*how),
                percent(*share)
            ),
        )
    }));
    match outages.len() {
        0 => rows.push(row("outages", "none")),
        many if many > OUTAGES_MAX => rows.push(row("outages", format!("{} more", many - OUTAGES_MAX))),
        _ => {}
    }
    rows
}

fn of_limit(limit: &Limit) -> String {
    let parts = [
        (limit.requests_per_minute, "attempts a minute"),
        (limit.requests_per_second, "attempts a second"),
        (limit.tokens_per_minute, "tokens a minute"),
        (limit.concurrency, "at once"),
        (limit.burst, "in a burst"),
    ];
    let told = parts
        .into_iter()
        .filter_map(|(most, what)| Some(format!("{} {what}", count(u64::from(most?.get())))));
    told.collect::<Vec<_>>().join(", ")
}

fn of_price(price: Price) -> String {
    let Price {
        per_million_in,
        per_million_out,
    } = price;
    let dollars = |micro: u64| super::figures::dollars(crate::sim::summary::float(micro) / 1e6);
    match (per_million_in, per_million_out) {
        (0, 0) => "none".to_owned(),
        (read, written) => format!(
            "{} a million tokens read, {} written",
            dollars(read),
            dollars(written)
        ),
    }
}

fn of_gaps(gaps: Gaps) -> &'static str {
    match gaps {
        Gaps::Poisson => "by chance (Poisson)",
        Gaps::Constant => "evenly",
    }
}

fn length(length: Length) -> String {
    match length {
        Length::Fixed(fixed) => exact(fixed),
        Length::Uniform { shortest, longest } => format!("even, {} to {}", exact(shortest), exact(longest)),
        Length::Exponential { mean } => format!("exponential, mean {}", exact(mean)),
        Length::FoldedNormal { mean, deviation } => {
            format!("|normal({}, {})|", exact(mean), exact(deviation))
        }
        Length::LogNormal { p50, p99 } => format!("log-normal, p50 {}, p99 {}", exact(p50), exact(p99)),
        Length::Bimodal {
            mean,
            rare_mean,
            rare,
        } => format!(
            "exponential, mean {}, and of {} mean {}",
            exact(mean),
            percent(rare),
            exact(rare_mean)
        ),
    }
}

fn of_policy(policy: &Policy) -> Vec<Row> {
    let call = &policy.call;
    let (backoff, hints, timeouts) = (call.backoff(), call.hints(), call.timeouts());
    let limit = |length: Option<Duration>| length.map_or("the engine's own".to_owned(), exact);
    let waits = match backoff.cap().is_zero() {
        true => "none: at once".to_owned(),
        false => format!(
            "base {}, times {}, cap {}, least {}, jitter {}",
            exact(backoff.base()),
            number(f64::from(backoff.factor_tenths()) / 10.0),
            exact(backoff.cap()),
            exact(backoff.min()),
            jitter(backoff.jitter())
        ),
    };
    let long = match hints.long() {
        LongHint::Stop => "a longer one ends the call",
        LongHint::Clamp => "a longer one is cut",
    };
    let hedge = call.hedge().map_or("none".to_owned(), |hedge| {
        let after = match hedge.after() {
            HedgeAfter::Fixed(after) => exact(after),
            HedgeAfter::Percentile { per_mille } => format!("p{}", number(f64::from(per_mille) / 10.0)),
        };
        let most = hedge
            .at_most_per_mille()
            .map(|most| format!(", at most {}", per_mille(most)));
        format!("after {after}{}", most.unwrap_or_default())
    });
    let counts = if call.throttled_counts() {
        "count"
    } else {
        "do not count"
    };
    vec![
        row(
            "retries",
            format!("{}; throttled attempts {counts}", call.retries()),
        ),
        row("waits", waits),
        row(
            "hints",
            format!(
                "up to {}; {long}; believed for {}",
                exact(hints.max()),
                exact(hints.cooldown_max())
            ),
        ),
        row(
            "limits of an attempt",
            format!(
                "first byte {}, whole {}; least {}",
                limit(timeouts.first_byte()),
                limit(timeouts.total()),
                exact(timeouts.min_attempt())
            ),
        ),
        row("deadline", exact(call.deadline())),
        row(
            "fallback",
            format!(
                "{} moves, {} sends and {} at one server",
                call.fallbacks(),
                call.tries(),
                exact(call.patience())
            ),
        ),
        row("hedge", hedge),
        row(
            "budget",
            policy.gate.budget().as_ref().map_or("none".to_owned(), of_budget),
        ),
        row(
            "breaker",
            policy
                .gate
                .breaker()
                .as_ref()
                .map_or("none".to_owned(), of_breaker),
        ),
        row("limits of the gate", of_limits(policy.gate.limits())),
    ]
}

fn jitter(jitter: Jitter) -> String {
    match jitter {
        Jitter::Full => "full".to_owned(),
        Jitter::Equal => "equal".to_owned(),
        Jitter::Decorrelated => "decorrelated".to_owned(),
        Jitter::DecorrelatedAws => "decorrelated-aws".to_owned(),
        Jitter::Proportional { per_mille: share } => format!("± {}", per_mille(share)),
        Jitter::None => "none".to_owned(),
    }
}

fn of_budget(budget: &BudgetPolicy) -> String {
    let empty = match budget.on_empty() {
        OnEmpty::Stop => "ends the call",
        OnEmpty::Wait => "waits",
    };
    format!(
        "{} of calls and {} a second, over {}; empty {empty}",
        per_mille(budget.ratio_per_mille()),
        number(crate::sim::summary::float(budget.floor_milli()) / 1_000.0),
        exact(budget.window())
    )
}

fn of_breaker(breaker: &BreakerPolicy) -> String {
    let open = match breaker.on_open() {
        OnOpen::Fail => "calls end",
        OnOpen::Wait => "calls wait",
    };
    let mode = match breaker.mode() {
        Mode::Auto => "",
        Mode::Open => "; held open",
        Mode::Closed => "; held closed",
        Mode::Observe => "; observes only",
    };
    let slow = breaker.slow_call().map_or(String::new(), |slow| {
        format!(
            "; slow over {}, {} trip",
            exact(slow.over),
            per_mille(slow.per_mille)
        )
    });
    let ramp = breaker
        .ramp()
        .map_or(String::new(), |ramp| format!("; ramp {}", exact(ramp)));
    format!(
        "{} in a row, or {} of {} or more within {}; open {} to {}, then {open}; {} probes, {} must succeed{slow}{ramp}{mode}",
        breaker.consecutive(),
        per_mille(breaker.failure_per_mille()),
        breaker.min_calls(),
        exact(breaker.window()),
        exact(breaker.open_for()),
        exact(breaker.open_max()),
        breaker.probes(),
        breaker.probe_successes()
    )
}

fn of_limits(limits: LimitPolicy) -> String {
    let most = match limits.concurrency() {
        Concurrency::Unbounded => "any number at once".to_owned(),
        Concurrency::AtMost(most) => format!("{} at once", count(u64::from(most))),
        Concurrency::Auto => "as many at once as are not throttled".to_owned(),
        Concurrency::Gradient => "as many at once as are answered without delay".to_owned(),
    };
    let rates = limits.rates();
    let rates = [
        (rates.requests_per_minute(), "attempts"),
        (rates.tokens_per_minute(), "tokens"),
        (rates.tokens_in_per_minute(), "tokens read"),
        (rates.tokens_out_per_minute(), "tokens written"),
    ];
    let rates = rates
        .into_iter()
        .filter_map(|(rate, what)| rate.map(|rate| format!(", {} {what} a minute", count(rate))));
    format!(
        "{most}, {} may wait{}",
        count(u64::from(limits.queue())),
        rates.collect::<String>()
    )
}

fn per_mille(of: u32) -> String {
    percent(f64::from(of) / 1_000.0)
}

/// To the nanosecond.
fn exact(length: Duration) -> String {
    length.to_string()
}

fn row(key: &str, value: impl Into<String>) -> Row {
    (key.to_owned(), value.into())
}
