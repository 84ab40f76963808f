use super::{Config, PolicyConfig};

use super::keys::{self, Takes, decimal, find};
use super::reader::Seen;
use super::types::Place;
use seawall_core::policy::{
    Concurrency, DEFAULT_BREAKER_SLOW_PERCENT, DEFAULT_CONNECT, DEFAULT_FIRST_BYTE, DEFAULT_IDLE, HedgeAfter,
    INFERENCE_DEADLINE, INFERENCE_FIRST_BYTE, INFERENCE_IDLE, Jitter, LongHint, Mode, OnEmpty, OnOpen,
    Policy, Preset, Rates, STREAM_TOTAL,
};
use seawall_core::time::Duration;

/// One value of a policy that holds, and why it is that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<'a> {
    /// Its key, as [`keys`](super::keys) names it.
    pub key: &'static str,
    /// The value, as files write it; for times that depend on the call, each of them.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin<'a>,
    /// What else decided; empty where nothing did.
    pub note: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The default.
    Default,
    /// A preset that differs from the default there.
    Preset(Preset),
    /// The file.
    Written {
        /// Where.
        at: &'a Place,
        /// In whose table.
        layer: Layer,
    },
    /// It follows another key.
    Follows(&'static str),
}

/// Whose table a value was written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// `[policy]`.
    #[default]
    Policy,
    /// The upstream's own policy.
    Upstream,
    /// The table that the setting is of.
    Own,
}

/// A table of a file, and every value that holds in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings<'a> {
    /// What it is: `[policy]`, `upstream main`, `[serve]`.
    pub table: String,
    /// Its values, in the order of the reference.
    pub settings: Vec<Setting<'a>>,
}

const NO_BOUND: &str = "no bound";

/// How a value of a policy is shown, by its key.
type Show = fn(&Policy) -> String;

const SHOWN: &[(&str, Show)] = &[
    ("policy.retries", |policy| policy.call.retries().to_string()),
    ("policy.deadline", deadline),
    ("policy.backoff.base", |policy| time(policy.call.backoff().base())),
    ("policy.backoff.factor", |policy| {
        decimal(u64::from(policy.call.backoff().factor_tenths()), 1)
    }),
    ("policy.backoff.cap", |policy| time(policy.call.backoff().cap())),
    ("policy.backoff.min", |policy| time(policy.call.backoff().min())),
    ("policy.backoff.jitter", jitter),
    ("policy.hints.max", |policy| time(policy.call.hints().max())),
    ("policy.hints.long", long),
    ("policy.hints.cooldown_max", |policy| {
        time(policy.call.hints().cooldown_max())
    }),
    ("policy.timeouts.connect", |policy| {
        limit(
            policy,
            policy.call.timeouts().connect(),
            DEFAULT_CONNECT,
            DEFAULT_CONNECT,
        )
    }),
    ("policy.timeouts.first_byte", |policy| {
        limit(
            policy,
            policy.call.timeouts().first_byte(),
            DEFAULT_FIRST_BYTE,
            INFERENCE_FIRST_BYTE,
        )
    }),
    ("policy.timeouts.idle", |policy| {
        match policy.call.timeouts().idle() {
            Some(idle) => time(idle),
            None => times(DEFAULT_IDLE, INFERENCE_IDLE),
        }
    }),
    ("policy.timeouts.total", |policy| {
        match policy.call.timeouts().total() {
            Some(total) => time(total),
            None => format!("none, streams {}", time(STREAM_TOTAL)),
        }
    }),
    ("policy.timeouts.min_attempt", |policy| {
        time(policy.call.timeouts().min_attempt())
    }),
    ("policy.budget", |policy| {
        if policy.gate.budget().is_some() {
            "on"
        } else {
            "\"off\""
        }
        .to_owned()
    }),
    ("policy.budget.ratio", |policy| {
        budget(policy, |budget| decimal(u64::from(budget.ratio_per_mille()), 3))
    }),
    ("policy.budget.floor", |policy| {
        budget(policy, |budget| decimal(budget.floor_milli(), 3))
    }),
    ("policy.budget.window", |policy| {
        budget(policy, |budget| time(budget.window()))
    }),
    ("policy.budget.on_empty", |policy| {
        budget(policy, |budget| match budget.on_empty() {
            OnEmpty::Stop => "\"stop\"".to_owned(),
            OnEmpty::Wait => "\"wait\"".to_owned(),
        })
    }),
    ("policy.breaker", |policy| {
        if policy.gate.breaker().is_some() {
            "on"
        } else {
            "\"off\""
        }
        .to_owned()
    }),
    ("policy.breaker.consecutive", |policy| {
        breaker(policy, |breaker| breaker.consecutive().to_string())
    }),
    ("policy.breaker.failure_rate", |policy| {
        breaker(policy, |breaker| {
            decimal(u64::from(breaker.failure_per_mille()), 3)
        })
    }),
    ("policy.breaker.window", |policy| {
        breaker(policy, |breaker| time(breaker.window()))
    }),
    ("policy.breaker.min_calls", |policy| {
        breaker(policy, |breaker| breaker.min_calls().to_string())
    }),
    ("policy.breaker.slow_call.over", |policy| {
        breaker(policy, |breaker| {
            breaker
                .slow_call()
                .map_or_else(|| "none".to_owned(), |slow| time(slow.over))
        })
    }),
    ("policy.breaker.slow_call.rate", |policy| {
        breaker(policy, |breaker| {
            let slow = breaker.slow_call();
            let per_mille = slow.map_or(DEFAULT_BREAKER_SLOW_PERCENT * 10, |slow| slow.per_mille);
            decimal(u64::from(per_mille), 3)
        })
    }),
    ("policy.breaker.open_for", |policy| {
        breaker(policy, |breaker| time(breaker.open_for()))
    }),
    ("policy.breaker.open_max", |policy| {
        breaker(policy, |breaker| time(breaker.open_max()))
    }),
    ("policy.breaker.probes", |policy| {
        breaker(policy, |breaker| breaker.probes().to_string())
    }),
    ("policy.breaker.probe_successes", |policy| {
        breaker(policy, |breaker| breaker.probe_successes().to_string())
    }),
    ("policy.breaker.ramp", |policy| {
        breaker(policy, |breaker| {
            breaker.ramp().map_or_else(|| "none".to_owned(), time)
        })
    }),
    ("policy.breaker.on_open", |policy| {
        breaker(policy, |breaker| match breaker.on_open() {
            OnOpen::Fail => "\"fail\"".to_owned(),
            OnOpen::Wait => "\"wait\"".to_owned(),
        })
    }),
    ("policy.breaker.mode", |policy| {
        breaker(policy, |breaker| match breaker.mode() {
            Mode::Auto => "\"auto\"".to_owned(),
            Mode::Open => "\"open\"".to_owned(),
            Mode::Closed => "\"closed\"".to_owned(),
            Mode::Observe => "\"observe\"".to_owned(),
        })
    }),
    ("policy.limits.concurrency", |policy| {
        match policy.gate.limits().concurrency() {
            Concurrency::Unbounded => NO_BOUND.to_owned(),
            Concurrency::AtMost(n) => n.to_string(),
            Concurrency::Auto => "\"auto\"".to_owned(),
            Concurrency::Gradient => "{ auto = \"first-byte\" }".to_owned(),
        }
    }),
    ("policy.limits.queue", |policy| {
        policy.gate.limits().queue().to_string()
    }),
    ("policy.limits.requests_per_minute", |policy| {
        rate(policy, |rates| rates.requests_per_minute())
    }),
    ("policy.limits.tokens_per_minute", |policy| {
        rate(policy, |rates| rates.tokens_per_minute())
    }),
    ("policy.limits.tokens_in_per_minute", |policy| {
        rate(policy, |rates| rates.tokens_in_per_minute())
    }),
    ("policy.limits.tokens_out_per_minute", |policy| {
        rate(policy, |rates| rates.tokens_out_per_minute())
    }),
    ("policy.hedge.after", |policy| {
        policy
            .call
            .hedge()
            .map_or_else(|| "never".to_owned(), |hedge| hedge_after(hedge.after()))
    }),
    ("policy.hedge.at_most", |policy| {
        let share = policy.call.hedge().and_then(|hedge| hedge.at_most_per_mille());
        share.map_or_else(
            || "as the budget allows".to_owned(),
            |share| decimal(u64::from(share), 3),
        )
    }),
];

/// How the policy's value of a key is shown; empty for a key that no policy has a value of.
pub(super) fn shown(key: &str, policy: &Policy) -> String {
    let show = SHOWN.iter().find(|(known, _)| *known == key);
    show.map_or_else(String::new, |(_, show)| show(policy))
}

/// Every value of every table.
pub(super) fn all(config: &Config) -> Vec<Settings<'_>> {
    let mut all = vec![Settings {
        table: "[policy]".to_owned(),
        settings: of_policy(&config.policy),
    }];
    for upstream in &config.upstreams {
        let mut settings = of_table(config, "upstream", &upstream.at);
        settings.extend(of_policy(&upstream.policy));
        let table = format!("upstream {}", upstream.name.value);
        all.push(Settings { table, settings });
    }
    for model in &config.models {
        let table = format!("model {}/{}", model.upstream.value, model.name.value);
        let settings = of_table(config, "model", &model.at);
        all.push(Settings { table, settings });
    }
    for (nth, route) in config.routes.iter().enumerate() {
        let table = format!("route {}", nth + 1);
        let settings = of_table(config, "route", &route.at);
        all.push(Settings { table, settings });
    }
    for table in ["serve", "batch"] {
        if let Some(seen) = config.seen.iter().find(|seen| seen.key.path == table) {
            let (table, settings) = (format!("[{table}]"), of_table(config, table, &seen.at));
            all.push(Settings { table, settings });
        }
    }
    all
}

/// The values of a table that begins at this place: what was written, as it was, else the defaults.
fn of_table<'a>(config: &'a Config, path: &str, at: &Place) -> Vec<Setting<'a>> {
    let below = |key: &keys::Key| {
        key.path
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let mut settings = Vec::new();
    for key in keys::all().filter(|key| below(key)) {
        let is_here = |seen: &&Seen| seen.table == at.span.start && seen.key.path == key.path;
        let mut places: Vec<&Place> = config.seen.iter().filter(is_here).map(|seen| &seen.at).collect();
        places.dedup();
        let is_group = matches!(key.takes, Takes::Table | Takes::Tables | Takes::Policy);
        let values = match (places.is_empty(), is_group) {
            // What is written in a group stands in the rows of its keys, and a policy is shown as it comes out.
            (false, true) => Vec::new(),
            (true, _) if key.table() != path || key.takes == Takes::Policy => Vec::new(),
            (true, _) => vec![(key.default.to_owned(), Origin::Default)],
            (false, false) => {
                let layer = Layer::Own;
                let written = |at: &'a Place| (config.source.written(at), Origin::Written { at, layer });
                places.into_iter().map(written).collect()
            }
        };
        settings.extend(values.into_iter().map(|(value, origin)| Setting {
            key: key.path,
            value,
            origin,
            note: String::new(),
        }));
    }
    settings
}

/// Every value of a policy, in the order of the reference. What is off has no values of its own.
fn of_policy(config: &PolicyConfig) -> Vec<Setting<'_>> {
    let policy = config.policy();
    let mut all = vec![Setting {
        key: "policy.preset",
        value: format!("\"{}\"", config.preset().name()),
        origin: config.origin("policy.preset"),
        note: String::new(),
    }];
    for (key, show) in SHOWN {
        let is_off = match *key {
            "policy.budget" => policy.gate.budget().is_some(),
            "policy.breaker" => policy.gate.breaker().is_some(),
            key if key.starts_with("policy.budget.") => policy.gate.budget().is_none(),
            key if key.starts_with("policy.breaker.") => policy.gate.breaker().is_none(),
            _ => false,
        };
        if !is_off {
            all.push(Setting {
                key: find(key).map_or(key, |key| key.path),
                value: show(policy),
                origin: config.origin(key),
                note: note(key, config),
            });
        }
    }
    all
}

/// What else decided a value.
fn note(key: &str, config: &PolicyConfig) -> String {
    let (call, timeouts) = (&config.policy().call, config.policy().call.timeouts());
    let inherited = match key {
        "policy.timeouts.connect" => (timeouts.connect(), DEFAULT_CONNECT, DEFAULT_CONNECT),
        "policy.timeouts.first_byte" => (timeouts.first_byte(), DEFAULT_FIRST_BYTE, INFERENCE_FIRST_BYTE),
        _ => return String::new(),
    };
    let (None, plain, inference) = inherited else {
        return String::new();
    };
    let deadline = call.deadline();
    if !call.deadline_written() || inference.max(plain) <= deadline {
        return String::new();
    }
    let from = match (plain > deadline, plain == inference) {
        (true, true) => plain.to_string(),
        (true, false) => format!("{plain} and inference {inference}"),
        (false, _) => format!("inference {inference}"),
    };
    format!("lowered from {from} to the deadline")
}

/// A length of time, exactly: those of a minute and more are printed in whole seconds elsewhere.
fn time(length: Duration) -> String {
    let nanos = length.as_nanos();
    match nanos {
        60_000_000_000.. if nanos.is_multiple_of(1_000_000_000) => format!("\"{length}\""),
        60_000_000_000.. if nanos.is_multiple_of(1_000_000) => format!("\"{}ms\"", nanos / 1_000_000),
        60_000_000_000.. => format!("\"{nanos}ns\""),
        _ => format!("\"{length}\""),
    }
}

/// A length, and another for inference where it differs.
fn times(plain: Duration, inference: Duration) -> String {
    if plain == inference {
        time(plain)
    } else {
        format!("{}, inference {}", time(plain), time(inference))
    }
}

fn hedge_after(after: HedgeAfter) -> String {
    match after {
        HedgeAfter::Fixed(length) => time(length),
        HedgeAfter::Percentile { per_mille } => format!("\"p{}\"", decimal(u64::from(per_mille), 1)),
    }
}

fn deadline(policy: &Policy) -> String {
    let deadline = policy.call.deadline();
    if policy.call.deadline_written() {
        time(deadline)
    } else {
        times(deadline, INFERENCE_DEADLINE)
    }
}

/// A limit of an attempt: written, or the default of its kind of call, each at most the deadline (rule F2). `idle` and
/// `total` are none of these: they hold after the commit, when the deadline no longer does.
fn limit(policy: &Policy, written: Option<Duration>, plain: Duration, inference: Duration) -> String {
    let call = &policy.call;
    match written {
        Some(length) => time(length),
        None if call.deadline_written() => times(plain.min(call.deadline()), inference.min(call.deadline())),
        None => times(plain, inference),
    }
}

fn jitter(policy: &Policy) -> String {
    match policy.call.backoff().jitter() {
        Jitter::Full => "\"full\"".to_owned(),
        Jitter::Equal => "\"equal\"".to_owned(),
        Jitter::Decorrelated => "\"decorrelated\"".to_owned(),
        Jitter::DecorrelatedAws => "\"decorrelated-aws\"".to_owned(),
        Jitter::Proportional { per_mille } => {
            format!("{{ proportional = {} }}", decimal(u64::from(per_mille), 3))
        }
        Jitter::None => "\"none\"".to_owned(),
    }
}

fn long(policy: &Policy) -> String {
    match policy.call.hints().long() {
        LongHint::Stop => "\"stop\"".to_owned(),
        LongHint::Clamp => "\"clamp\"".to_owned(),
    }
}

fn rate(policy: &Policy, read: impl Fn(Rates) -> Option<u64>) -> String {
    read(policy.gate.limits().rates()).map_or_else(|| NO_BOUND.to_owned(), |n| n.to_string())
}

fn budget(policy: &Policy, show: impl Fn(seawall_core::policy::BudgetPolicy) -> String) -> String {
    policy.gate.budget().map_or_else(String::new, show)
}

fn breaker(policy: &Policy, show: impl Fn(seawall_core::policy::BreakerPolicy) -> String) -> String {
    policy.gate.breaker().map_or_else(String::new, show)
}
