//! A policy as the `[policy]` table of a file.
//!
//! What can go wrong: the table that is printed is not the policy that was run. So it holds every setting that differs
//! from the default, and a test reads it back.

use seawall_core::policy::{
    BreakerPolicy, BudgetPolicy, Concurrency, HedgeAfter, Jitter, LongHint, Mode, OnEmpty, OnOpen, Policy,
    Preset,
};
use seawall_core::time::Duration;
use std::fmt::Write as _;

/// The lines of a `[policy]` table that is this policy; each ends. A policy without waits between its attempts, which no
/// file can say, is written with the shortest.
pub fn policy_table(policy: &Policy) -> String {
    let usual = Policy::preset(Preset::Default);
    let mut tables: Vec<(&str, Vec<(&str, String)>)> = vec![("policy", top(policy, &usual))];
    tables.push(("policy.backoff", backoff(policy, &usual)));
    tables.push(("policy.hints", hints(policy, &usual)));
    tables.push(("policy.timeouts", timeouts(policy, &usual)));
    if let (Some(mine), Some(usual)) = (policy.gate.budget(), usual.gate.budget()) {
        tables.push(("policy.budget", budget(&mine, &usual)));
    }
    if let (Some(mine), Some(usual)) = (policy.gate.breaker(), usual.gate.breaker()) {
        tables.push(("policy.breaker", breaker(&mine, &usual)));
    }
    tables.push(("policy.limits", limits(policy, &usual)));
    tables.push(("policy.hedge", hedge(policy)));
    let mut text = String::new();
    for (name, lines) in tables {
        if lines.is_empty() && name != "policy" {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{name}]");
        for (key, value) in lines {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text
}

/// The lines of settings that are not as usual.
fn differing<const N: usize>(all: [(&'static str, String, String); N]) -> Vec<(&'static str, String)> {
    all.into_iter()
        .filter(|(_, mine, usual)| mine != usual)
        .map(|(key, mine, _)| (key, mine))
        .collect()
}

fn top(policy: &Policy, usual: &Policy) -> Vec<(&'static str, String)> {
    let (mine, other) = (&policy.call, &usual.call);
    // Said in any case: it is what is looked for first.
    let mut lines = vec![("retries", mine.retries().to_string())];
    lines.extend(differing([
        (
            "throttled_counts",
            mine.throttled_counts().to_string(),
            other.throttled_counts().to_string(),
        ),
        ("deadline", time(mine.deadline()), time(other.deadline())),
    ]));
    if policy.gate.budget().is_none() {
        lines.push(("budget", "\"off\"".to_owned()));
    }
    if policy.gate.breaker().is_none() {
        lines.push(("breaker", "\"off\"".to_owned()));
    }
    lines
}

fn backoff(policy: &Policy, usual: &Policy) -> Vec<(&'static str, String)> {
    let (mine, other) = (policy.call.backoff(), usual.call.backoff());
    let jitter = |jitter: Jitter| match jitter {
        Jitter::Full => "\"full\"".to_owned(),
        Jitter::Equal => "\"equal\"".to_owned(),
        Jitter::Decorrelated => "\"decorrelated\"".to_owned(),
        Jitter::DecorrelatedAws => "\"decorrelated-aws\"".to_owned(),
        Jitter::Proportional { per_mille } => format!("{{ proportional = {} }}", share(per_mille)),
        Jitter::None => "\"none\"".to_owned(),
    };
    let at_least = |length: Duration| length.max(Duration::from_millis(1));
    let base = at_least(mine.base());
    let mut lines = differing([
        ("base", time(base), time(other.base())),
        (
            "factor",
            decimal(u64::from(mine.factor_tenths()), 1),
            decimal(u64::from(other.factor_tenths()), 1),
        ),
        ("cap", time(at_least(mine.cap())), time(other.cap())),
        ("jitter", jitter(mine.jitter()), jitter(other.jitter())),
    ]);
    // A file that says a base and no lower end means a tenth of it.
    if mine.min() != base.over(10) {
        lines.push(("min", time(mine.min())));
    }
    lines
}

fn hints(policy: &Policy, usual: &Policy) -> Vec<(&'static str, String)> {
    let (mine, other) = (policy.call.hints(), usual.call.hints());
    let long = |long: LongHint| match long {
        LongHint::Stop => "\"stop\"".to_owned(),
        LongHint::Clamp => "\"clamp\"".to_owned(),
    };
    differing([
        ("max", time(mine.max()), time(other.max())),
        ("long", long(mine.long()), long(other.long())),
        (
            "cooldown_max",
            time(mine.cooldown_max()),
            time(other.cooldown_max()),
        ),
    ])
}

fn timeouts(policy: &Policy, usual: &Policy) -> Vec<(&'static str, String)> {
    let mine = policy.call.timeouts();
    let written = [
        ("connect", mine.connect()),
        ("first_byte", mine.first_byte()),
        ("idle", mine.idle()),
        ("total", mine.total()),
    ];
    let mut lines: Vec<(&'static str, String)> = written
        .into_iter()
        .filter_map(|(key, length)| Some((key, time(length?))))
        .collect();
    let usual = usual.call.timeouts().min_attempt();
    lines.extend(differing([(
        "min_attempt",
        time(mine.min_attempt()),
        time(usual),
    )]));
    lines
}

fn budget(mine: &BudgetPolicy, usual: &BudgetPolicy) -> Vec<(&'static str, String)> {
    let on_empty = |what: OnEmpty| match what {
        OnEmpty::Stop => "\"stop\"".to_owned(),
        OnEmpty::Wait => "\"wait\"".to_owned(),
    };
    differing([
        (
            "ratio",
            share(mine.ratio_per_mille()),
            share(usual.ratio_per_mille()),
        ),
        (
            "floor",
            decimal(mine.floor_milli(), 3),
            decimal(usual.floor_milli(), 3),
        ),
        ("window", time(mine.window()), time(usual.window())),
        ("on_empty", on_empty(mine.on_empty()), on_empty(usual.on_empty())),
    ])
}

fn breaker(mine: &BreakerPolicy, usual: &BreakerPolicy) -> Vec<(&'static str, String)> {
    let mut lines = differing([
        (
            "consecutive",
            mine.consecutive().to_string(),
            usual.consecutive().to_string(),
        ),
        (
            "failure_rate",
            share(mine.failure_per_mille()),
            share(usual.failure_per_mille()),
        ),
        ("window", time(mine.window()), time(usual.window())),
        (
            "min_calls",
            mine.min_calls().to_string(),
            usual.min_calls().to_string(),
        ),
        ("open_for", time(mine.open_for()), time(usual.open_for())),
        ("open_max", time(mine.open_max()), time(usual.open_max())),
        ("probes", mine.probes().to_string(), usual.probes().to_string()),
        (
            "probe_successes",
            mine.probe_successes().to_string(),
            usual.probe_successes().to_string(),
        ),
        ("on_open", on_open(mine.on_open()), on_open(usual.on_open())),
        ("mode", mode(mine.mode()), mode(usual.mode())),
    ]);
    if let Some(slow) = mine.slow_call() {
        let written = format!(
            "{{ over = {}, rate = {} }}",
            time(slow.over),
            share(slow.per_mille)
        );
        lines.push(("slow_call", written));
    }
    if let Some(ramp) = mine.ramp() {
        lines.push(("ramp", time(ramp)));
    }
    lines
}

fn on_open(what: OnOpen) -> String {
    match what {
        OnOpen::Fail => "\"fail\"".to_owned(),
        OnOpen::Wait => "\"wait\"".to_owned(),
    }
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Auto => "\"auto\"".to_owned(),
        Mode::Open => "\"open\"".to_owned(),
        Mode::Closed => "\"closed\"".to_owned(),
        Mode::Observe => "\"observe\"".to_owned(),
    }
}

fn limits(policy: &Policy, usual: &Policy) -> Vec<(&'static str, String)> {
    let (mine, other) = (policy.gate.limits(), usual.gate.limits());
    let mut lines = Vec::new();
    match mine.concurrency() {
        Concurrency::Unbounded => {}
        Concurrency::AtMost(most) => lines.push(("concurrency", most.to_string())),
        Concurrency::Auto => lines.push(("concurrency", "\"auto\"".to_owned())),
        Concurrency::Gradient => lines.push(("concurrency", "{ auto = \"first-byte\" }".to_owned())),
    }
    lines.extend(differing([(
        "queue",
        mine.queue().to_string(),
        other.queue().to_string(),
    )]));
    let rates = mine.rates();
    let written = [
        ("requests_per_minute", rates.requests_per_minute()),
        ("tokens_per_minute", rates.tokens_per_minute()),
        ("tokens_in_per_minute", rates.tokens_in_per_minute()),
        ("tokens_out_per_minute", rates.tokens_out_per_minute()),
    ];
    lines.extend(
        written
            .into_iter()
            .filter_map(|(key, rate)| Some((key, rate?.to_string()))),
    );
    lines
}

fn hedge(policy: &Policy) -> Vec<(&'static str, String)> {
    let Some(hedge) = policy.call.hedge() else {
        return Vec::new();
    };
    let after = match hedge.after() {
        HedgeAfter::Fixed(length) => time(length),
        HedgeAfter::Percentile { per_mille } => format!("\"p{}\"", decimal(u64::from(per_mille), 1)),
    };
    let mut lines = vec![("after", after)];
    lines.extend(hedge.at_most_per_mille().map(|most| ("at_most", share(most))));
    lines
}

/// Exactly: what people are shown may leave out what does not matter.
fn time(length: Duration) -> String {
    match length.as_nanos() {
        nanos if nanos % 1_000_000_000 == 0 => format!("\"{length}\""),
        nanos if nanos % 1_000_000 == 0 => format!("\"{}ms\"", nanos / 1_000_000),
        nanos if nanos % 1_000 == 0 => format!("\"{}us\"", nanos / 1_000),
        nanos => format!("\"{nanos}ns\""),
    }
}

fn share(per_mille: u32) -> String {
    decimal(u64::from(per_mille), 3)
}

/// A whole number of parts as people write it: 125 thousandths are 0.125.
fn decimal(parts: u64, places: u32) -> String {
    let one = 10_u64.pow(places);
    let (whole, part) = (parts / one, parts % one);
    if part == 0 {
        return whole.to_string();
    }
    let width = places as usize;
    let part = format!("{part:0width$}");
    format!("{whole}.{}", part.trim_end_matches('0'))
}

// What files say is read by the live crate, which the lab knows only with sockets.
#[cfg(all(test, feature = "net"))]
mod tests;
