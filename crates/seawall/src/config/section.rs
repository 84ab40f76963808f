use super::blot;
use super::keys::{self, Held, Takes};
use super::reader::{Key, Reader, Value, nearest, suggestion};
use super::text;
use super::types::{Later, Place, Written};
use seawall_core::time::Duration;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The longest list: each entry is looked at beside all others.
const LIST_MAX: usize = 1_000;

/// What others call our keys.
const OTHER_NAMES: [(&str, &str); 16] = [
    ("url", "base_url"),
    ("endpoint", "base_url"),
    ("host", "base_url"),
    ("api_base", "base_url"),
    ("api_key", "credential"),
    ("apikey", "credential"),
    ("key", "credential"),
    ("token", "credential"),
    ("type", "provider"),
    ("attempts", "retries"),
    ("multiplier", "factor"),
    ("timeout", "timeouts"),
    ("circuit_breaker", "breaker"),
    ("rate_limit", "limits"),
    ("rpm", "requests_per_minute"),
    ("tpm", "tokens_per_minute"),
];

/// One table of a file, with typed reads. What is wrong is told to the reader, and reads as absent; so one pass finds
/// every error.
pub(super) struct Section<'s> {
    pub(super) reader: &'s Reader<'s>,
    /// Where the outermost table that this is or is in begins.
    root: usize,
    /// The table's path in [`keys`]; `""` is the file.
    path: &'static str,
    /// What errors call the table.
    shown: String,
    table: &'s DeTable<'s>,
    span: Range<usize>,
    /// Keys that are missing because they are there misspelt.
    misspelt: Vec<&'static str>,
}

impl<'s> Section<'s> {
    /// A table whose keys are those of `path`. Keys that it must not have are errors at once.
    pub(super) fn new(
        reader: &'s Reader<'s>,
        path: &'static str,
        shown: String,
        table: &'s DeTable<'s>,
        span: Range<usize>,
    ) -> Self {
        let mut section = Self {
            reader,
            root: span.start,
            path,
            shown,
            table,
            span,
            misspelt: Vec::new(),
        };
        let known: Vec<&'static str> = keys::within(path).map(keys::Key::name).collect();
        for (key, value) in table {
            if !known.contains(&key.get_ref().as_ref()) {
                section.unknown(key, value, &known);
                if !reader.is_full() {
                    section.misspelt.extend(nearest(key.get_ref(), &known));
                }
            }
        }
        section
    }

    fn unknown(&self, key: &Key<'_>, value: &Value<'_>, known: &[&str]) {
        if self.path == "upstream.credential" {
            self.reader.secret(value.span());
        }
        if self.reader.is_full() {
            return self.reader.error(key.span(), "", "");
        }
        let given = shown(key.get_ref());
        let message = format!(
            "unknown key `{given}` in {}; {}",
            self.shown,
            suggestion(&given, known)
        );
        let help = match nearest(&given, known) {
            Some(_) => String::new(),
            None => elsewhere(&given, known),
        };
        self.reader.error(key.span(), message, help);
    }

    pub(super) fn at(&self) -> Place {
        self.reader.place(self.span.clone())
    }

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The value of this key, and what is known of the key.
    pub(super) fn find(&self, name: &str) -> Option<(&'static keys::Key, &'s Value<'s>)> {
        let key = keys::within(self.path)
            .find(|key| key.name() == name)
            .expect("every key that is read is in the table of keys");
        let (written, value) = self.table.get_key_value(name)?;
        self.reader.see(self.root, key, value.span());
        // The outermost table that nothing obeys stands for all that is in it.
        if let (Held::Later(missing), Held::Today) = (key.held, self.holds()) {
            let value = "";
            self.reader.later(
                Later {
                    key: key.path,
                    value,
                    missing,
                },
                written.span(),
            );
        }
        Some((key, value))
    }

    fn holds(&self) -> Held {
        keys::find(self.path).map_or(Held::Today, keys::Key::holds)
    }

    /// A value that is missing and must be there.
    pub(super) fn missing(&self, name: &str) {
        let key = keys::within(self.path).find(|key| key.name() == name);
        let key = key.expect("every key that is asked for is in the table of keys");
        if self.table.contains_key(name) || self.misspelt.contains(&name) {
            return;
        }
        let message = format!("{} has no `{name}`, which it must have", self.shown);
        self.reader
            .error(self.span(), message, format!("write {name} = {}", sample(key)));
    }

    pub(super) fn length(&self, name: &str) -> Option<Written<Duration>> {
        let (key, value) = self.find(name)?;
        self.length_of(key, key.takes, value)
    }

    /// A length, or this word; the word reads as nothing in the second place.
    pub(super) fn length_or(&self, name: &str, word: &str) -> Option<Written<Option<Duration>>> {
        let (key, value) = self.find(name)?;
        if value.get_ref().as_str() == Some(word) {
            return Some(self.written(key, value, None));
        }
        let length = self.length_of(key, first(key.takes), value)?;
        Some(self.written(key, value, Some(length.value)))
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

    pub(super) fn count(&self, name: &str) -> Option<Written<u32>> {
        self.narrow(self.count_wide(name)?)
    }

    pub(super) fn count_wide(&self, name: &str) -> Option<Written<u64>> {
        let (key, value) = self.find(name)?;
        self.count_of(key, key.takes, value)
    }

    /// A count, or this word; the word reads as nothing in the second place.
    pub(super) fn count_or(&self, name: &str, word: &str) -> Option<Written<Option<u32>>> {
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
    pub(super) fn decimal(&self, name: &str) -> Option<Written<u64>> {
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

    pub(super) fn decimal_narrow(&self, name: &str) -> Option<Written<u32>> {
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

    pub(super) fn size(&self, name: &str) -> Option<Written<u64>> {
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

    pub(super) fn flag(&self, name: &str) -> Option<Written<bool>> {
        let (key, value) = self.find(name)?;
        let flag = value.get_ref().as_bool().or_else(|| self.expected(key, value))?;
        Some(self.written(key, value, flag))
    }

    /// One of the words that `meanings` knows, which are those of the key.
    pub(super) fn word<T: Copy>(&self, name: &str, meanings: &[(&str, T)]) -> Option<Written<T>> {
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

    /// A text that is there, whatever is wrong with it.
    pub(super) fn raw_text(&self, name: &str) -> Option<&'s str> {
        self.table.get(name)?.get_ref().as_str()
    }

    pub(super) fn is_word(&self, name: &str, word: &str) -> bool {
        self.table.get(name).and_then(|value| value.get_ref().as_str()) == Some(word)
    }

    pub(super) fn text(&self, name: &str) -> Option<Written<String>> {
        let (key, value) = self.find(name)?;
        self.text_of(key, first(key.takes), value)
    }

    fn text_of(&self, key: &'static keys::Key, takes: Takes, value: &Value<'_>) -> Option<Written<String>> {
        let text = value.get_ref().as_str().or_else(|| self.expected(key, value))?;
        let (Takes::Text(kind) | Takes::Texts(kind)) = takes else {
            unreachable!("a text is read of a key that takes one")
        };
        if let Some((message, help)) = text::fault(kind, text) {
            // What is no name of a variable, and what is no hash, may be the secret itself.
            if matches!(kind, keys::Text::Env | keys::Text::Hash) {
                self.reader.secret(value.span());
            }
            self.reader.error(value.span(), message, help);
            return None;
        }
        Some(self.written(key, value, text.to_owned()))
    }

    pub(super) fn texts(&self, name: &str) -> Vec<Written<String>> {
        let Some((key, value)) = self.find(name) else {
            return Vec::new();
        };
        let Some(list) = value.get_ref().as_array().or_else(|| self.expected(key, value)) else {
            return Vec::new();
        };
        list.iter()
            .filter_map(|value| self.text_of(key, key.takes, value))
            .collect()
    }

    /// Names and texts that are the user's own.
    pub(super) fn pairs(&self, name: &str) -> Vec<(String, Written<String>, Range<usize>)> {
        let Some((key, value)) = self.find(name) else {
            return Vec::new();
        };
        let Some(table) = value.get_ref().as_table().or_else(|| self.expected(key, value)) else {
            return Vec::new();
        };
        let pair = |(name, value): (&Key<'_>, &Value<'_>)| {
            let Some(text) = value.get_ref().as_str() else {
                let message = format!("expected a text in quotes, found {}", kind(value));
                self.reader.error(value.span(), message, example(key));
                return None;
            };
            let written = self.written(key, value, text.to_owned());
            Some((name.get_ref().to_string(), written, name.span()))
        };
        table.iter().filter_map(pair).collect()
    }

    /// The table below this key.
    pub(super) fn section(&self, name: &str) -> Option<Section<'s>> {
        let (key, value) = self.find(name)?;
        self.section_of(key, value)
    }

    fn section_of(&self, key: &'static keys::Key, value: &'s Value<'s>) -> Option<Section<'s>> {
        let table = value.get_ref().as_table().or_else(|| self.expected(key, value))?;
        let (path, shown) = match key.takes {
            Takes::Policy => ("policy", format!("[{}]", key.path)),
            // The tables of an upstream's own policy are called by the upstream's.
            _ if self.path.starts_with("policy") => {
                let outer = self.shown.trim_matches(['[', ']']);
                (key.path, format!("[{outer}.{}]", key.name()))
            }
            _ => (key.path, format!("[{}]", key.path)),
        };
        Some(self.below(Section::new(self.reader, path, shown, table, value.span())))
    }

    /// The list of tables below this key.
    pub(super) fn sections(&self, name: &str) -> Vec<Section<'s>> {
        let Some((key, value)) = self.find(name) else {
            return Vec::new();
        };
        let Some(list) = value.get_ref().as_array().or_else(|| self.expected(key, value)) else {
            return Vec::new();
        };
        let list = self.at_most(key, value, list);
        list.iter()
            .filter_map(|value| {
                let table = value.get_ref().as_table().or_else(|| self.expected(key, value))?;
                let shown = format!("[[{}]]", key.path);
                let section = Section::new(self.reader, key.path, shown, table, value.span());
                Some(self.below(section))
            })
            .collect()
    }

    /// A section of this one, which counts as part of the same outermost table.
    fn below(&self, mut section: Section<'s>) -> Section<'s> {
        if !self.path.is_empty() {
            section.root = self.root;
        }
        section
    }

    /// As much of a list as anybody writes; more is an error.
    fn at_most<'v>(&self, key: &keys::Key, value: &Value<'_>, list: &'v [Value<'s>]) -> &'v [Value<'s>] {
        if list.len() > LIST_MAX {
            let message = format!("{} has {} entries; the most is {LIST_MAX}", key.path, list.len());
            self.reader.error(value.span(), message, "");
        }
        &list[..list.len().min(LIST_MAX)]
    }

    pub(super) fn written<T>(&self, key: &'static keys::Key, value: &Value<'_>, read: T) -> Written<T> {
        Written {
            value: read,
            at: self.reader.place(value.span()),
            key: key.path,
        }
    }

    /// Tells that a value is of the wrong kind.
    pub(super) fn expected<T>(&self, key: &'static keys::Key, value: &Value<'_>) -> Option<T> {
        let message = match (key.takes, value.get_ref().as_table()) {
            (Takes::Tables, Some(_)) => {
                format!("expected a list of tables: write [[{0}]], not [{0}]", key.path)
            }
            _ => format!("expected {}, found {}", key.takes.expected(), kind(value)),
        };
        self.reader.error(value.span(), message, example(key));
        None
    }
}

/// What to do about a key that is near none of its table's.
fn elsewhere(given: &str, known: &[&str]) -> String {
    let meant = OTHER_NAMES.iter().find(|(other, _)| *other == given);
    if let Some((_, meant)) = meant.filter(|(_, meant)| known.contains(meant)) {
        let key = keys::all()
            .find(|key| key.name() == *meant)
            .map_or("", |key| key.example);
        return format!("write {meant} = {key}");
    }
    let given = meant.map_or(given, |(_, meant)| meant);
    let places: Vec<String> = keys::all()
        .filter(|key| key.name() == given && !key.table().is_empty())
        .map(|key| format!("[{}]", key.table()))
        .collect();
    match places.as_slice() {
        [] => String::new(),
        [one] => format!("`{given}` is a key of {one}"),
        some => format!("`{given}` is a key of {}", some.join(", ")),
    }
}

/// A setting as policies call it: without the table that all have.
fn setting(key: &keys::Key) -> &'static str {
    key.path.strip_prefix("policy.").unwrap_or(key.path)
}

fn example(key: &keys::Key) -> String {
    match key.takes {
        Takes::Tables => String::new(),
        Takes::Table => format!("write [{}], and its keys below", key.path),
        Takes::Either([Takes::Table, ..]) => format!("write [{}] and its keys below, or a word", key.path),
        _ => format!("write it as in {} = {}", key.name(), key.example),
    }
}

/// An example to write; that of a hash would be taken over as it is.
fn sample(key: &keys::Key) -> &'static str {
    match key.takes {
        Takes::Text(keys::Text::Hash) => "\"sha256:…\"",
        _ => key.example,
    }
}

fn or_default(key: &keys::Key) -> String {
    format!("the default is {}", key.default)
}

/// The first of several things that a key takes; for the others the key's reader has looked.
fn first(takes: Takes) -> Takes {
    match takes {
        Takes::Either([first, ..]) => *first,
        other => other,
    }
}

fn kind(value: &Value<'_>) -> String {
    let found = value.get_ref().type_str();
    let article = if found.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {found}")
}

/// What somebody wrote, short and clean enough to stand in a message, and no secret.
pub(super) fn shown(given: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let short: String = blot::line(given, &[]).chars().take(40).map(clean).collect();
    match given.chars().nth(40) {
        Some(_) => format!("{short}…"),
        None => short,
    }
}

/// A length of time; days too, which budgets of money are written in.
pub(super) fn length(text: &str) -> Option<Duration> {
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
