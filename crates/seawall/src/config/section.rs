mod values;

use super::blot;
use super::keys::{self, Held, Takes};
use super::reader::{Key, Reader, Value, nearest, suggestion};
use super::text;
use super::types::{Later, Place, Written};
use std::ops::Range;
use toml::de::DeTable;

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
