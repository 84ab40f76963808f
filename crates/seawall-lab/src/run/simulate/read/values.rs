//! Values that files of simulations have beside those of all files.

use crate::file;
use crate::reader::{Reader, Value};
use crate::scenario::Written;
use crate::sim::assert::Assert;
use crate::sim::luck::Length;
use crate::sim::report::harmless;
use seawall_core::time::{Duration, Instant};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

const LENGTH_KEYS: [&str; 7] = [
    "p50",
    "p99",
    "uniform",
    "exponential",
    "folded_normal",
    "rare",
    "rare_share",
];
const LENGTHS: &str = "\"15s\", { p50 = \"120ms\", p99 = \"2s\" }, { uniform = [\"1s\", \"2s\"] }, { exponential = \"100ms\" }, \
     { exponential = \"100ms\", rare = \"10s\", rare_share = 0.001 } or { folded_normal = [\"10ms\", \"2ms\"] }";

impl Reader<'_> {
    /// What reports call something: what nobody can see there, or a terminal would obey, is no name.
    pub(super) fn name<'v>(&self, value: &'v Value<'_>) -> Option<(&'v str, Range<usize>)> {
        let (name, span) = self.string("name", value)?;
        let why = if name.trim().is_empty() {
            "this name is blank".to_owned()
        } else if harmless(name) != name {
            format!("`{}` holds what no report can show", name.escape_debug())
        } else {
            return Some((name, span));
        };
        self.fault(
            self.error(span, why)
                .expecting("a name that people can read, on one line"),
        )
    }

    /// A whole number that fits 32 bits.
    pub(super) fn count32(&self, what: &str, value: &Value<'_>, min: u64, max: u64) -> Option<u32> {
        let count = self.count(what, value, min, max.min(u64::from(u32::MAX)))?;
        u32::try_from(count).ok()
    }

    /// A number, with a point or without, from `min` to `max`.
    pub(super) fn decimal(&self, what: &str, value: &Value<'_>, min: f64, max: f64) -> Option<f64> {
        match file::decimal_text(value).parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => Some(number),
            Ok(_) | Err(_) => {
                let error = self.error(value.span(), format!("{what} is no number from {min} to {max}"));
                self.fault(error.expecting("such a number, without quotes"))
            }
        }
    }

    /// A share of a whole.
    pub(super) fn share(&self, what: &str, value: &Value<'_>) -> Option<f64> {
        self.decimal(what, value, 0.0, 1.0)
    }

    /// A length of time that is some.
    pub(super) fn some_time(&self, what: &str, value: &Value<'_>) -> Option<Duration> {
        let length = self.length(what, value)?;
        match length.is_zero() {
            false => Some(length),
            true => self.fault(
                self.error(value.span(), format!("{what} is no time at all"))
                    .expecting("a length of time above 0"),
            ),
        }
    }

    /// A point in time, counted from the beginning.
    pub(super) fn instant(&self, what: &str, value: &Value<'_>) -> Option<Instant> {
        Some(Instant::START.after(self.length(what, value)?))
    }

    /// How long something takes: one length, or how lengths are spread.
    pub(super) fn distribution(&self, what: &str, value: &Value<'_>) -> Option<Length> {
        let Some(table) = value.get_ref().as_table() else {
            return match value.get_ref().is_str() {
                true => Some(Length::Fixed(self.length(what, value)?)),
                false => self.fault(
                    self.error(value.span(), format!("{what} is no length of time"))
                        .expecting(LENGTHS),
                ),
            };
        };
        self.keys(table, &LENGTH_KEYS, what);
        let wrong = |message: &str| {
            self.fault(
                self.error(value.span(), format!("{what}: {message}"))
                    .expecting(LENGTHS),
            )
        };
        let get = |key| table.get(key);
        let known = LENGTH_KEYS.iter().filter(|key| table.contains_key(**key));
        match known.copied().collect::<Vec<_>>().as_slice() {
            ["p50", "p99"] => {
                let (p50, p99) = (
                    self.some_time("p50", get("p50")?),
                    self.length("p99", get("p99")?),
                );
                match (p50?, p99?) {
                    (p50, p99) if p50 <= p99 => Some(Length::LogNormal { p50, p99 }),
                    _ => wrong("p50 is above p99"),
                }
            }
            ["uniform"] => match self.pair("uniform", get("uniform")?)? {
                (shortest, longest) if shortest <= longest => Some(Length::Uniform { shortest, longest }),
                _ => wrong("the first length is above the second"),
            },
            ["folded_normal"] => {
                let (mean, deviation) = self.pair("folded_normal", get("folded_normal")?)?;
                Some(Length::FoldedNormal { mean, deviation })
            }
            ["exponential"] => Some(Length::Exponential {
                mean: self.length("exponential", get("exponential")?)?,
            }),
            ["exponential", "rare", "rare_share"] => {
                let mean = self.length("exponential", get("exponential")?);
                let rare_mean = self.length("rare", get("rare")?);
                let rare = self.share("rare_share", get("rare_share")?);
                Some(Length::Bimodal {
                    mean: mean?,
                    rare_mean: rare_mean?,
                    rare: rare?,
                })
            }
            _ => wrong("these keys are no distribution together"),
        }
    }

    /// Two lengths of time.
    pub(super) fn pair(&self, what: &str, value: &Value<'_>) -> Option<(Duration, Duration)> {
        match value.get_ref().as_array().map(|both| &both[..]) {
            Some([one, other]) => {
                let (one, other) = (self.length(what, one), self.length(what, other));
                Some((one?, other?))
            }
            Some(_) | None => self.fault(
                self.error(value.span(), format!("{what} is no list of two lengths of time"))
                    .expecting("[\"1s\", \"2s\"]"),
            ),
        }
    }

    /// A key that must be there.
    pub(super) fn needed<'t, 'i>(
        &self,
        table: &'t DeTable<'i>,
        key: &str,
        of: &Value<'_>,
        right: &str,
    ) -> Option<&'t Value<'i>> {
        match table.get(key) {
            Some(value) => Some(value),
            None => self.fault(
                self.error(of.span(), format!("`{key}` is missing here"))
                    .expecting(right),
            ),
        }
    }

    /// The tables of a list, or one table alone.
    pub(super) fn tables<'v, 'i>(&self, what: &str, value: &'v Value<'i>) -> Option<Vec<&'v Value<'i>>> {
        let wrong = |value: &Value<'_>| {
            let error = self.error(value.span(), format!("{what} is no table"));
            self.fault::<()>(error.expecting(format!("[[{what}]]")));
        };
        match value.get_ref() {
            DeValue::Table(_) => Some(vec![value]),
            DeValue::Array(all) => {
                let wrongs = all.iter().filter(|one| !one.get_ref().is_table());
                if wrongs.inspect(|one| wrong(one)).count() > 0 {
                    return None;
                }
                Some(all.iter().collect())
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {
                wrong(value);
                None
            }
        }
    }

    /// A list of assertions.
    pub(super) fn asserts(&self, value: &Value<'_>) -> Option<Vec<Written<Assert>>> {
        let Some(list) = value.get_ref().as_array() else {
            return self.fault(
                self.error(value.span(), "assert is no list")
                    .expecting("assert = [\"amplification < 1.2\"]"),
            );
        };
        let read: Vec<Option<Written<Assert>>> = list
            .iter()
            .map(|one| {
                let (text, span) = self.string("an assert", one)?;
                let assert = self.inside(text, span.clone(), Assert::parse_in)?;
                Some(Written {
                    value: assert,
                    at: self.place(span),
                })
            })
            .collect();
        read.into_iter().collect()
    }
}
