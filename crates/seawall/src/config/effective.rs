use super::{Config, PolicyConfig};

use super::keys::{self, Takes};
use super::reader::Seen;
use super::types::Place;
use seawall_core::policy::{
    CallPolicy, DEFAULT_BREAKER_SLOW_PERCENT, DEFAULT_CONNECT, DEFAULT_FIRST_BYTE, DEFAULT_IDLE,
    INFERENCE_DEADLINE, INFERENCE_FIRST_BYTE, INFERENCE_IDLE, Policy, Preset, STREAM_TOTAL, SettingValue,
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

/// Parts of another key's value, which is shown whole.
const PARTS: [&str; 2] = [
    "policy.backoff.jitter.proportional",
    "policy.limits.concurrency.auto",
];

/// The keys of a policy that have a value, in the order of the reference.
fn of_policies() -> impl Iterator<Item = &'static str> {
    let shown = |key: &&keys::Key| {
        let is_group = key.takes == Takes::Table || PARTS.contains(&key.path);
        key.path.starts_with("policy.") && key.path != "policy.preset" && !is_group
    };
    keys::all().filter(shown).map(|key| key.path)
}

/// How the policy's value of a key is shown; empty for a key that the policy has no value of.
pub(super) fn shown(key: &str, policy: &Policy) -> String {
    let name = key.strip_prefix("policy.").filter(|_| !PARTS.contains(&key));
    let Some(name) = name else {
        return String::new();
    };
    let settings = policy.settings();
    let set = settings.iter().find_map(|setting| {
        let part = setting.key.strip_prefix(name)?;
        let value = setting.value.to_string();
        match part.strip_prefix('.') {
            None if part.is_empty() => Some(value),
            Some(part) if PARTS.contains(&format!("{key}.{part}").as_str()) => {
                Some(format!("{{ {part} = {value} }}"))
            }
            Some(_) | None => None,
        }
    });
    set.unwrap_or_else(|| unset(name, policy))
}

/// What holds where a setting has no value.
fn unset(name: &str, policy: &Policy) -> String {
    let (call, gate) = (&policy.call, &policy.gate);
    let text = match name {
        "deadline" => return times(call.deadline(), INFERENCE_DEADLINE),
        "timeouts.connect" => return limit(call, DEFAULT_CONNECT, DEFAULT_CONNECT),
        "timeouts.first_byte" => return limit(call, DEFAULT_FIRST_BYTE, INFERENCE_FIRST_BYTE),
        "timeouts.idle" => return times(DEFAULT_IDLE, INFERENCE_IDLE),
        "timeouts.total" => return format!("none, streams {}", time(STREAM_TOTAL)),
        "breaker.slow_call.rate" if gate.breaker().is_some() => {
            return SettingValue::Thousandths(u64::from(DEFAULT_BREAKER_SLOW_PERCENT) * 10).to_string();
        }
        "budget" | "breaker" => "on",
        "breaker.slow_call.over" | "breaker.ramp" if gate.breaker().is_some() => "none",
        "hedge.after" => "never",
        "hedge.at_most" => "as the budget allows",
        name if name.starts_with("limits.") => "no bound",
        _ => "",
    };
    text.to_owned()
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
    for key in of_policies() {
        let is_off = match key {
            "policy.budget" => policy.gate.budget().is_some(),
            "policy.breaker" => policy.gate.breaker().is_some(),
            key if key.starts_with("policy.budget.") => policy.gate.budget().is_none(),
            key if key.starts_with("policy.breaker.") => policy.gate.breaker().is_none(),
            _ => false,
        };
        if !is_off {
            all.push(Setting {
                key,
                value: shown(key, policy),
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
    SettingValue::Length(length).to_string()
}

/// A length, and another for inference where it differs.
fn times(plain: Duration, inference: Duration) -> String {
    if plain == inference {
        time(plain)
    } else {
        format!("{}, inference {}", time(plain), time(inference))
    }
}

/// A limit of an attempt that nobody wrote: the default of its kind of call, at most the deadline (rule F2). `idle` and
/// `total` are none of these: they hold after the commit, when the deadline no longer does.
fn limit(call: &CallPolicy, plain: Duration, inference: Duration) -> String {
    match call.deadline_written() {
        true => times(plain.min(call.deadline()), inference.min(call.deadline())),
        false => times(plain, inference),
    }
}
