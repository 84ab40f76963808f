//! Every setting of a policy as JSON, under the keys of a `[policy]` table.

use super::switches::{number, time};
use seawall_core::policy::*;
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;
use serde_json::{Map, Value, json};

/// All settings that the simulator has a use for, those that nobody wrote included: limits that a policy leaves open are
/// those of calls of this kind.
pub(super) fn settings(policy: &Policy, endpoint: Endpoint) -> Value {
    let Policy { call, gate } = policy;
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("retries", json!(call.retries()));
    put("fallbacks", json!(call.fallbacks()));
    put("tries", json!(call.tries()));
    put("patience", time(call.patience()));
    put("throttled_counts", json!(call.throttled_counts()));
    put("deadline", time(call.deadline_for(endpoint)));
    put("backoff", backoff(call.backoff()));
    put("hints", hints(call.hints()));
    put("timeouts", timeouts(*call, endpoint));
    put("budget", gate.budget().map_or(json!("off"), budget));
    put("breaker", gate.breaker().map_or(json!("off"), breaker));
    put("limits", limits(gate.limits()));
    if let Some(hedge) = call.hedge() {
        put("hedge", hedged(hedge));
    }
    Value::Object(all)
}

fn backoff(backoff: Backoff) -> Value {
    let jitter = match backoff.jitter() {
        Jitter::Full => json!("full"),
        Jitter::Equal => json!("equal"),
        Jitter::Decorrelated => json!("decorrelated"),
        Jitter::DecorrelatedAws => json!("decorrelated-aws"),
        Jitter::Proportional { per_mille } => json!({ "proportional": share(per_mille) }),
        Jitter::None => json!("none"),
    };
    json!({
        "base": time(backoff.base()), "factor": number(f64::from(backoff.factor_tenths()) / 10.0),
        "cap": time(backoff.cap()), "min": time(backoff.min()), "jitter": jitter,
    })
}

fn hints(hints: Hints) -> Value {
    let long = match hints.long() {
        LongHint::Stop => "stop",
        LongHint::Clamp => "clamp",
    };
    json!({ "max": time(hints.max()), "long": long, "cooldown_max": time(hints.cooldown_max()) })
}

fn timeouts(call: CallPolicy, endpoint: Endpoint) -> Value {
    let limits = call.limits_for(endpoint, Instant::START, Instant::NEVER);
    let min_attempt = call.timeouts().min_attempt();
    let mut all = json!({ "first_byte": time(limits.first_byte), "min_attempt": time(min_attempt) });
    if limits.total != Duration::MAX {
        all["total"] = time(limits.total);
    }
    all
}

fn budget(budget: BudgetPolicy) -> Value {
    let on_empty = match budget.on_empty() {
        OnEmpty::Stop => "stop",
        OnEmpty::Wait => "wait",
    };
    json!({
        "ratio": share(budget.ratio_per_mille()), "floor": thousandths(budget.floor_milli()),
        "window": time(budget.window()), "on_empty": on_empty,
    })
}

fn breaker(breaker: BreakerPolicy) -> Value {
    let on_open = match breaker.on_open() {
        OnOpen::Fail => "fail",
        OnOpen::Wait => "wait",
    };
    let mode = match breaker.mode() {
        Mode::Auto => "auto",
        Mode::Open => "open",
        Mode::Closed => "closed",
        Mode::Observe => "observe",
    };
    let mut all = json!({
        "consecutive": breaker.consecutive(), "failure_rate": share(breaker.failure_per_mille()),
        "window": time(breaker.window()), "min_calls": breaker.min_calls(),
        "open_for": time(breaker.open_for()), "open_max": time(breaker.open_max()),
        "probes": breaker.probes(), "probe_successes": breaker.probe_successes(),
        "on_open": on_open, "mode": mode,
    });
    if let Some(slow) = breaker.slow_call() {
        all["slow_call"] = json!({ "over": time(slow.over), "rate": share(slow.per_mille) });
    }
    if let Some(ramp) = breaker.ramp() {
        all["ramp"] = time(ramp);
    }
    all
}

fn limits(limits: LimitPolicy) -> Value {
    let mut all = Map::new();
    match limits.concurrency() {
        Concurrency::Unbounded => {}
        Concurrency::AtMost(most) => {
            all.insert("concurrency".to_owned(), json!(most));
        }
        Concurrency::Auto => {
            all.insert("concurrency".to_owned(), json!("auto"));
        }
        Concurrency::Gradient => {
            all.insert("concurrency".to_owned(), json!({ "auto": "first-byte" }));
        }
    }
    all.insert("queue".to_owned(), json!(limits.queue()));
    let rates = limits.rates();
    for (key, rate) in [
        ("requests_per_minute", rates.requests_per_minute()),
        ("tokens_per_minute", rates.tokens_per_minute()),
        ("tokens_in_per_minute", rates.tokens_in_per_minute()),
        ("tokens_out_per_minute", rates.tokens_out_per_minute()),
    ] {
        if let Some(rate) = rate {
            all.insert(key.to_owned(), json!(rate));
        }
    }
    Value::Object(all)
}

fn hedged(hedge: Hedge) -> Value {
    let after = match hedge.after() {
        HedgeAfter::Fixed(length) => time(length),
        HedgeAfter::Percentile { per_mille } if per_mille % 10 == 0 => json!(format!("p{}", per_mille / 10)),
        HedgeAfter::Percentile { per_mille } => json!(format!("p{}.{}", per_mille / 10, per_mille % 10)),
    };
    let mut all = json!({ "after": after });
    if let Some(at_most) = hedge.at_most_per_mille() {
        all["at_most"] = share(at_most);
    }
    all
}

fn share(per_mille: u32) -> Value {
    number(f64::from(per_mille) / 1_000.0)
}

#[expect(clippy::cast_precision_loss, reason = "floors are far below 2^53 thousandths")]
fn thousandths(count: u64) -> Value {
    number(count as f64 / 1_000.0)
}
