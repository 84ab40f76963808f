use super::ConfigError;
use super::reader::{Key, Reader, Value};
use seawall_core::policy::{
    Jitter, LongHint, Mode, OnEmpty, OnOpen, Policy, PolicyBuilder, PolicyError, Preset,
};
use std::collections::BTreeMap;
use std::ops::Range;

const KEYS: [&str; 10] = [
    "preset", "retries", "deadline", "backoff", "hints", "timeouts", "budget", "breaker", "limits", "hedge",
];
const BACKOFF: [&str; 5] = ["base", "factor", "cap", "min", "jitter"];
const HINTS: [&str; 3] = ["max", "long", "cooldown_max"];
const TIMEOUTS: [&str; 5] = ["connect", "first_byte", "idle", "total", "min_attempt"];
const BUDGET: [&str; 4] = ["ratio", "floor", "window", "on_empty"];
const BREAKER: [&str; 12] = [
    "consecutive",
    "failure_rate",
    "window",
    "min_calls",
    "slow_call",
    "open_for",
    "open_max",
    "probes",
    "probe_successes",
    "ramp",
    "on_open",
    "mode",
];
const LIMITS: [&str; 6] = [
    "concurrency",
    "queue",
    "requests_per_minute",
    "tokens_per_minute",
    "tokens_in_per_minute",
    "tokens_out_per_minute",
];
const HEDGE: [&str; 2] = ["after", "at_most"];

const JITTERS: [(&str, Jitter); 5] = [
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("decorrelated-aws", Jitter::DecorrelatedAws),
    ("none", Jitter::None),
];
const MODES: [(&str, Mode); 4] = [
    ("auto", Mode::Auto),
    ("open", Mode::Open),
    ("closed", Mode::Closed),
    ("observe", Mode::Observe),
];

/// Reads one `[policy]` table.
pub(super) fn read(reader: &Reader<'_>, policy: &Value<'_>) -> Result<Policy, ConfigError> {
    let table = reader.table(policy, "a table")?;
    // The preset is the ground that all other keys stand on, wherever it is written.
    let preset = match table.get("preset") {
        Some(value) => reader.word(value, &Preset::ALL.map(|preset| (preset.name(), preset)))?,
        None => Preset::Default,
    };
    let mut draft = Draft {
        reader,
        builder: PolicyBuilder::from_preset(preset),
        written: BTreeMap::new(),
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "preset" => {}
            "retries" => {
                let n = draft.note("retries", value).reader.count(value)?;
                draft.builder = draft.builder.retries(n);
            }
            "deadline" => {
                let length = draft.note("deadline", value).reader.length(value)?;
                draft.builder = draft.builder.deadline(length);
            }
            "backoff" => draft.section(value, Draft::backoff)?,
            "hints" => draft.section(value, Draft::hints)?,
            "timeouts" => draft.section(value, Draft::timeouts)?,
            "budget" if is_off(value) => draft.builder = draft.builder.budget(None),
            "budget" => draft.section(value, Draft::budget)?,
            "breaker" if is_off(value) => draft.builder = draft.builder.breaker(None),
            "breaker" => draft.section(value, Draft::breaker)?,
            "limits" => draft.section(value, Draft::limits)?,
            "hedge" => draft.section(value, Draft::hedge)?,
            _ => return Err(reader.unknown_key(key, "[policy]", &KEYS)),
        }
    }
    draft
        .builder
        .build()
        .map_err(|error| draft.place(&error, policy.span()))
}

fn is_off(value: &Value<'_>) -> bool {
    value.get_ref().as_str() == Some("off")
}

/// A policy under way: what was written so far, and where.
struct Draft<'a> {
    reader: &'a Reader<'a>,
    builder: PolicyBuilder,
    written: BTreeMap<String, Range<usize>>,
}

impl Draft<'_> {
    fn note(&mut self, setting: &str, value: &Value<'_>) -> &mut Self {
        self.written.insert(setting.to_owned(), value.span());
        self
    }

    /// A policy's own error at the place that the user wrote: the setting, else the one that it contradicts.
    fn place(&self, error: &PolicyError, table: Range<usize>) -> ConfigError {
        let other = match error {
            PolicyError::Above { bound, .. } => *bound,
            _ => "budget.floor",
        };
        let span = self.written.get(error.setting()).or(self.written.get(other));
        self.reader
            .error(span.cloned().unwrap_or(table), error.to_string())
    }

    fn section(
        &mut self,
        value: &Value<'_>,
        set: fn(&mut Self, &Key<'_>, &Value<'_>) -> Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        for (key, value) in self.reader.table(value, "a table")? {
            set(self, key, value)?;
        }
        Ok(())
    }

    fn backoff(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("backoff.{name}"), value);
        self.builder = match name {
            "base" => builder.backoff_base(reader.length(value)?),
            "factor" => builder.backoff_factor_tenths(tenths(reader, value)?),
            "cap" => builder.backoff_cap(reader.length(value)?),
            "min" => builder.backoff_min(reader.length(value)?),
            "jitter" => builder.jitter(self.jitter(value)?),
            _ => return Err(reader.unknown_key(key, "[policy.backoff]", &BACKOFF)),
        };
        Ok(())
    }

    fn jitter(&mut self, value: &Value<'_>) -> Result<Jitter, ConfigError> {
        let Some(table) = value.get_ref().as_table() else {
            return self.reader.word(value, &JITTERS);
        };
        let mut jitter = Err(self.reader.expected(value, "{ proportional = 0.5 }"));
        for (key, value) in table {
            if key.get_ref() != "proportional" {
                return Err(self.reader.unknown_key(key, "jitter", &["proportional"]));
            }
            self.note("backoff.jitter.proportional", value);
            let per_mille = per_mille(self.reader, value)?;
            jitter = Ok(Jitter::Proportional { per_mille });
        }
        jitter
    }

    fn hints(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("hints.{name}"), value);
        self.builder = match name {
            "max" => builder.hints_max(reader.length(value)?),
            "long" => builder
                .hints_long(reader.word(value, &[("stop", LongHint::Stop), ("clamp", LongHint::Clamp)])?),
            "cooldown_max" => builder.cooldown_max(reader.length(value)?),
            _ => return Err(reader.unknown_key(key, "[policy.hints]", &HINTS)),
        };
        Ok(())
    }

    fn timeouts(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("timeouts.{name}"), value);
        self.builder = match name {
            "connect" => builder.connect(reader.length(value)?),
            "first_byte" => builder.first_byte(reader.length(value)?),
            "idle" => builder.idle(reader.length(value)?),
            "total" => builder.total(reader.length(value)?),
            "min_attempt" => builder.min_attempt(reader.length(value)?),
            _ => return Err(reader.unknown_key(key, "[policy.timeouts]", &TIMEOUTS)),
        };
        Ok(())
    }

    fn budget(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("budget.{name}"), value);
        self.builder = match name {
            "ratio" => {
                let share = per_mille(reader, value)?;
                builder.edit_budget(|budget| budget.ratio_per_mille(share))
            }
            "floor" => {
                let floor = reader.decimal(value, 3, "extras per second")?;
                builder.edit_budget(|budget| budget.floor_milli(floor))
            }
            "window" => {
                let length = reader.length(value)?;
                builder.edit_budget(|budget| budget.window(length))
            }
            "on_empty" => {
                let what = reader.word(value, &[("stop", OnEmpty::Stop), ("wait", OnEmpty::Wait)])?;
                builder.edit_budget(|budget| budget.on_empty(what))
            }
            _ => return Err(reader.unknown_key(key, "[policy.budget]", &BUDGET)),
        };
        Ok(())
    }

    fn breaker(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("breaker.{name}"), value);
        let count = || reader.count(value);
        let length = || reader.length(value);
        self.builder = match name {
            "consecutive" => count().map(|n| builder.edit_breaker(|edit| edit.consecutive(n)))?,
            "failure_rate" => {
                per_mille(reader, value).map(|n| builder.edit_breaker(|edit| edit.failure_per_mille(n)))?
            }
            "window" => length().map(|long| builder.edit_breaker(|edit| edit.window(long)))?,
            "min_calls" => count().map(|n| builder.edit_breaker(|edit| edit.min_calls(n)))?,
            "open_for" => length().map(|long| builder.edit_breaker(|edit| edit.open_for(long)))?,
            "open_max" => length().map(|long| builder.edit_breaker(|edit| edit.open_max(long)))?,
            "probes" => count().map(|n| builder.edit_breaker(|edit| edit.probes(n)))?,
            "probe_successes" => count().map(|n| builder.edit_breaker(|edit| edit.probe_successes(n)))?,
            "on_open" => {
                let what = reader.word(value, &[("fail", OnOpen::Fail), ("wait", OnOpen::Wait)])?;
                builder.edit_breaker(|edit| edit.on_open(what))
            }
            "mode" => {
                let mode = reader.word(value, &MODES)?;
                builder.edit_breaker(|edit| edit.mode(mode))
            }
            "slow_call" | "ramp" => return Err(reader.not_yet(key)),
            _ => return Err(reader.unknown_key(key, "[policy.breaker]", &BREAKER)),
        };
        Ok(())
    }

    fn limits(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("limits.{name}"), value);
        self.builder = match name {
            "concurrency" if value.get_ref().as_str() == Some("auto") => {
                let message = "concurrency = \"auto\" is not supported yet; give a number".to_owned();
                return Err(reader.error(value.span(), message));
            }
            "concurrency" => builder.concurrency(Some(reader.count(value)?)),
            "queue" => builder.queue(reader.count(value)?),
            "requests_per_minute"
            | "tokens_per_minute"
            | "tokens_in_per_minute"
            | "tokens_out_per_minute" => {
                return Err(reader.not_yet(key));
            }
            _ => return Err(reader.unknown_key(key, "[policy.limits]", &LIMITS)),
        };
        Ok(())
    }

    fn hedge(&mut self, key: &Key<'_>, value: &Value<'_>) -> Result<(), ConfigError> {
        let (reader, builder) = (self.reader, self.builder);
        let name = key.get_ref().as_ref();
        self.note(&format!("hedge.{name}"), value);
        self.builder = match name {
            "after" if value.get_ref().as_str() == Some("p95") => {
                let message = "after = \"p95\" is not supported yet; give a length of time".to_owned();
                return Err(reader.error(value.span(), message));
            }
            "after" => builder.hedge_after(reader.length(value)?),
            "at_most" => return Err(reader.not_yet(key)),
            _ => return Err(reader.unknown_key(key, "[policy.hedge]", &HEDGE)),
        };
        Ok(())
    }
}

fn tenths(reader: &Reader<'_>, value: &Value<'_>) -> Result<u32, ConfigError> {
    narrow(reader, value, reader.decimal(value, 1, "a number")?)
}

fn per_mille(reader: &Reader<'_>, value: &Value<'_>) -> Result<u32, ConfigError> {
    narrow(reader, value, reader.decimal(value, 3, "a share such as 0.1")?)
}

fn narrow(reader: &Reader<'_>, value: &Value<'_>, wide: u64) -> Result<u32, ConfigError> {
    u32::try_from(wide).map_err(|_| reader.error(value.span(), "this number is too large".to_owned()))
}
