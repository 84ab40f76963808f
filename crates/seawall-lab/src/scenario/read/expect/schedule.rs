//! `schedule = { base = "500ms", cap = "8s" }`: what a client promises about its waits, in the words of
//! `[policy.backoff]`.

use crate::scenario::read::{Key, Reader, Value};
use crate::scenario::{Promised, Written};
use seawall_core::policy::{Jitter, Policy};
use seawall_core::time::Duration;
use toml::de::{DeTable, DeValue};

/// The keys of a schedule.
pub(in crate::scenario) const SCHEDULE_KEYS: [&str; 5] = ["base", "factor", "cap", "min", "jitter"];
const JITTERS: [(&str, Jitter); 5] = [
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("decorrelated-aws", Jitter::DecorrelatedAws),
    ("none", Jitter::None),
];

impl Reader<'_> {
    pub(super) fn schedule(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Written<Promised>> {
        let table = self.table("schedule", value, "schedule = { base = \"500ms\", cap = \"8s\" }")?;
        self.keys(table, &SCHEDULE_KEYS, "a schedule");
        let length = |name: &str| self.optional(table, name, |value| self.length(name, value));
        let (base, cap, min) = (length("base"), length("cap"), length("min"));
        let factor = self.optional(table, "factor", |value| self.tenths(value));
        let jitter = self.optional(table, "jitter", |value| self.jitter(value));
        let mut builder = Policy::builder();
        if let Some(base) = base? {
            builder = builder.backoff_base(base);
        }
        if let Some(cap) = cap? {
            builder = builder.backoff_cap(cap);
        }
        if let Some(factor) = factor? {
            builder = builder.backoff_factor_tenths(factor);
        }
        if let Some(jitter) = jitter? {
            builder = builder.jitter(jitter);
        }
        // Nothing written is nothing promised: a client may come back at once, where seawall's own `min` would not.
        builder = builder.backoff_min(min?.unwrap_or(Duration::ZERO));
        match builder.build() {
            Ok(policy) => {
                let backoff = policy.call.backoff();
                Some(self.written(key, value, Promised { backoff }))
            }
            Err(error) => {
                self.fault(self.error(self.culprit(table, value, error.setting()), error.to_string()))
            }
        }
    }

    fn culprit(&self, table: &DeTable<'_>, whole: &Value<'_>, setting: &str) -> std::ops::Range<usize> {
        let name = setting.split('.').nth(1).unwrap_or_default();
        table.get(name).map_or(whole.span(), |value| value.span())
    }

    fn jitter(&self, value: &Value<'_>) -> Option<Jitter> {
        let Some(table) = value.get_ref().as_table() else {
            return self.word("jitter", value, &JITTERS);
        };
        self.keys(table, &["proportional"], "a jitter");
        let share = table.get("proportional").and_then(|value| scaled(value, 1_000));
        match share {
            Some(per_mille) => Some(Jitter::Proportional { per_mille }),
            None => self.fault(
                self.error(value.span(), "this is no jitter")
                    .expecting("{ proportional = 0.25 }, or \"full\""),
            ),
        }
    }

    fn tenths(&self, value: &Value<'_>) -> Option<u32> {
        scaled(value, 10).or_else(|| {
            self.fault(
                self.error(value.span(), "factor is no number")
                    .expecting("2 or 1.5"),
            )
        })
    }
}

/// A number with a fraction, in whole parts of `whole`; finer fractions are none.
fn scaled(value: &Value<'_>, whole: u32) -> Option<u32> {
    let text = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        DeValue::Integer(_)
        | DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return None,
    };
    let places = usize::try_from(whole.ilog10()).ok()?;
    let (number, part) = text.split_once('.').unwrap_or((text, ""));
    let part = part.trim_end_matches('0');
    if part.len() > places {
        return None;
    }
    let number: u32 = number.parse().ok()?;
    let part: u32 = format!("{part:0<places$}").parse().ok()?;
    number.checked_mul(whole)?.checked_add(part)
}
