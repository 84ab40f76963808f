use super::{Section, example, first, shown};
use crate::config::keys::{self, Takes};
use crate::config::reader::{Value, suggestion};
use crate::config::types::Written;
use seawall_core::policy::HedgeAfter;
use seawall_core::time::Duration;
use toml::de::DeValue;

impl Section<'_> {
    pub(in crate::config) fn length(&self, name: &str) -> Option<Written<Duration>> {
        let (key, value) = self.find(name)?;
        self.length_of(key, key.takes, value)
    }

    /// A length, or a percentile of times.
    pub(in crate::config) fn length_or_percentile(&self, name: &str) -> Option<Written<HedgeAfter>> {
        let (key, value) = self.find(name)?;
        let text = value.get_ref().as_str();
        let Some(number) = text.and_then(|text| text.strip_prefix('p')) else {
            let length = self.length_of(key, first(key.takes), value)?;
            return Some(self.written(key, value, HedgeAfter::Fixed(length.value)));
        };
        let Some(per_mille) = percentile(number) else {
            let message = format!(
                "{} is \"p{}\"; a percentile may be \"p50\" to \"p99.9\"",
                setting(key),
                shown(number)
            );
            self.reader
                .error(value.span(), message, "write it as in after = \"p95\"".to_owned());
            return None;
        };
        Some(self.written(key, value, HedgeAfter::Percentile { per_mille }))
    }

    fn length_of(
        &self,
        key: &'static keys::Key,
        takes: Takes,
        value: &Value<'_>,
    ) -> Option<Written<Duration>> {
        let text = value.get_ref().as_str().or_else(|| self.expected(key, value))?;
        let Some(length) = length(text) else {
            let or_word = match key.takes {
                Takes::Either([_, word]) => format!(", or {}", word.expected()),
                _ => String::new(),
            };
            let message = format!(
                "\"{}\": a length of time needs a unit: 500ms, 30s, 2m or 1h30m{or_word}",
                shown(text)
            );
            self.reader.error(value.span(), message, example(key));
            return None;
        };
        if let Takes::Length { min, max } = takes
            && !(min..=max).contains(&length)
        {
            let message = format!("{} is {length}; it may be {min} to {max}", setting(key));
            self.reader.error(value.span(), message, or_default(key));
            return None;
        }
        Some(self.written(key, value, length))
    }

    pub(in crate::config) fn count(&self, name: &str) -> Option<Written<u32>> {
        self.narrow(self.count_wide(name)?)
    }

    pub(in crate::config) fn count_wide(&self, name: &str) -> Option<Written<u64>> {
        let (key, value) = self.find(name)?;
        self.count_of(key, key.takes, value)
    }

    /// A count, or this word; the word reads as nothing in the second place.
    pub(in crate::config) fn count_or(&self, name: &str, word: &str) -> Option<Written<Option<u32>>> {
        let (key, value) = self.find(name)?;
        if value.get_ref().as_str() == Some(word) {
            return Some(self.written(key, value, None));
        }
        let count = self.narrow(self.count_of(key, first(key.takes), value)?)?;
        Some(self.written(key, value, Some(count.value)))
    }

    fn count_of(&self, key: &'static keys::Key, takes: Takes, value: &Value<'_>) -> Option<Written<u64>> {
        let count = self.number(key, "a whole number", 0, value)?;
        if let Takes::Count { min, max } = takes
            && !(min..=max).contains(&count)
        {
            let message = format!("{} is {count}; it may be {min} to {max}", setting(key));
            self.reader.error(value.span(), message, or_default(key));
            return None;
        }
        Some(self.written(key, value, count))
    }

    /// A decimal in units of its last place: 0.25 with three places is 250.
    pub(in crate::config) fn decimal(&self, name: &str) -> Option<Written<u64>> {
        let (key, value) = self.find(name)?;
        let Takes::Decimal {
            places,
            min,
            max,
            what,
        } = key.takes
        else {
            unreachable!("a decimal is read of a key that takes one")
        };
        let units = self.number(key, what, usize::from(places), value)?;
        if !(min..=max).contains(&units) {
            let [given, min, max] = [units, min, max].map(|units| keys::decimal(units, places));
            let message = format!("{} is {given}; it may be {min} to {max}", setting(key));
            self.reader.error(value.span(), message, or_default(key));
            return None;
        }
        Some(self.written(key, value, units))
    }

    pub(in crate::config) fn decimal_narrow(&self, name: &str) -> Option<Written<u32>> {
        self.narrow(self.decimal(name)?)
    }

    fn narrow(&self, wide: Written<u64>) -> Option<Written<u32>> {
        let Written { value, at, key } = wide;
        match u32::try_from(value) {
            Ok(value) => Some(Written { value, at, key }),
            Err(_) => {
                self.reader.error(at.span, format!("{value} is too large"), "");
                None
            }
        }
    }

    /// Read digit by digit, so that what was written is what holds.
    fn number(&self, key: &'static keys::Key, what: &str, places: usize, value: &Value<'_>) -> Option<u64> {
        let text = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(_)
            | DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => return self.expected(key, value),
        };
        let text = text.replace('_', "");
        let digits = text.strip_prefix('+').unwrap_or(&text);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let part = part.trim_end_matches('0');
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(part) || part.len() > places {
            let limit = match places {
                0 => String::new(),
                1 => " with at most 1 decimal place".to_owned(),
                places => format!(" with at most {places} decimal places"),
            };
            let message = format!("expected {what}{limit}, found {}", shown(&text));
            self.reader.error(value.span(), message, example(key));
            return None;
        }
        let read = format!("{whole}{part:0<places$}").parse();
        if read.is_err() {
            let message = format!("{} is too large", shown(&text));
            self.reader.error(value.span(), message, or_default(key));
        }
        read.ok()
    }

    pub(in crate::config) fn size(&self, name: &str) -> Option<Written<u64>> {
        let (key, value) = self.find(name)?;
        let Takes::Size { min, max } = key.takes else {
            unreachable!("a size is read of a key that takes one")
        };
        let text = value.get_ref().as_str().or_else(|| self.expected(key, value))?;
        let bytes = size(text);
        match bytes {
            Some(bytes) if (min..=max).contains(&bytes) => Some(self.written(key, value, bytes)),
            Some(bytes) => {
                let [given, min, max] = [bytes, min, max].map(keys::bytes);
                let message = format!("{} is {given}; it may be {min} to {max}", setting(key));
                self.reader.error(value.span(), message, or_default(key));
                None
            }
            None => {
                let message = format!("\"{}\": a size needs a unit: B, KiB, MiB or GiB", shown(text));
                self.reader.error(value.span(), message, example(key));
                None
            }
        }
    }

    pub(in crate::config) fn flag(&self, name: &str) -> Option<Written<bool>> {
        let (key, value) = self.find(name)?;
        let flag = value.get_ref().as_bool().or_else(|| self.expected(key, value))?;
        Some(self.written(key, value, flag))
    }

    /// One of the words that `meanings` knows, which are those of the key.
    pub(in crate::config) fn word<T: Copy>(&self, name: &str, meanings: &[(&str, T)]) -> Option<Written<T>> {
        let (key, value) = self.find(name)?;
        let given = value.get_ref().as_str().or_else(|| self.expected(key, value))?;
        let found = meanings.iter().find(|(word, _)| *word == given);
        if found.is_none() {
            let words: Vec<&str> = meanings.iter().map(|(word, _)| *word).collect();
            let message = format!("unknown word \"{}\"; {}", shown(given), suggestion(given, &words));
            self.reader.error(value.span(), message, "");
        }
        found.map(|(_, meaning)| self.written(key, value, *meaning))
    }
}

/// A setting as policies call it: without the table that all have.
fn setting(key: &keys::Key) -> &'static str {
    key.path.strip_prefix("policy.").unwrap_or(key.path)
}

fn or_default(key: &keys::Key) -> String {
    format!("the default is {}", key.default)
}

/// A length of time; days too, which budgets of money are written in.
pub(in crate::config) fn length(text: &str) -> Option<Duration> {
    let Some((days, rest)) = text.split_once('d') else {
        return Duration::parse_units(text);
    };
    let days = Duration::parse_decimal(days, 86_400_000_000_000)?;
    match rest {
        "" => Some(days),
        rest => Some(days.plus(Duration::parse_units(rest)?)),
    }
}

fn size(text: &str) -> Option<u64> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    units.iter().find_map(|(unit, bytes)| {
        let number = text.strip_suffix(unit)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = number.parse().ok().filter(|_| plain)?;
        number.checked_mul(*bytes)
    })
}

/// The number of a percentile, `95` or `99.9`, in thousandths.
fn percentile(text: &str) -> Option<u32> {
    let (whole, tenths) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, count: usize| {
        let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let per_mille = digits(whole, 2)? * 10 + digits(tenths, 1)?;
    (500..=999).contains(&per_mille).then_some(per_mille)
}
