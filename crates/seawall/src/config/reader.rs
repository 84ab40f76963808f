use super::ConfigError;
use seawall_core::time::Duration;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

pub(super) type Key<'i> = Spanned<DeString<'i>>;
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// One file's text, with typed reads whose errors know their place.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'a>>, ConfigError> {
        DeTable::parse(self.text)
            .map_err(|error| self.error(error.span().unwrap_or(0..0), error.message().replace('\n', ", ")))
    }

    pub(super) fn error(&self, span: Range<usize>, message: String) -> ConfigError {
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |at| start + at);
        let end = self.text.floor_char_boundary(span.end.clamp(start, line_end));
        ConfigError {
            file: self.file.to_owned(),
            line: self.text[..line_start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            width: self.text[start..end].chars().count().max(1),
            text: self.text[line_start..line_end].trim_end_matches('\r').to_owned(),
            message,
        }
    }

    pub(super) fn unknown_key(&self, key: &Key<'_>, place: &str, known: &[&str]) -> ConfigError {
        let given = key.get_ref();
        let message = format!("unknown key `{given}` in {place}; {}", suggestion(given, known));
        self.error(key.span(), message)
    }

    pub(super) fn not_yet(&self, key: &Key<'_>) -> ConfigError {
        let message = format!("`{}` is not supported yet; take it out", key.get_ref());
        self.error(key.span(), message)
    }

    pub(super) fn expected(&self, value: &Value<'_>, what: &str) -> ConfigError {
        let found = value.get_ref().type_str();
        let article = if found.starts_with(['a', 'e', 'i', 'o', 'u']) {
            "an"
        } else {
            "a"
        };
        self.error(value.span(), format!("expected {what}, found {article} {found}"))
    }

    pub(super) fn table<'v, 'i>(
        &self,
        value: &'v Value<'i>,
        what: &str,
    ) -> Result<&'v DeTable<'i>, ConfigError> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.expected(value, what))
    }

    pub(super) fn length(&self, value: &Value<'_>) -> Result<Duration, ConfigError> {
        let text = value.get_ref().as_str().ok_or_else(|| {
            self.expected(
                value,
                "a length of time with its unit, such as \"500ms\" or \"30s\"",
            )
        })?;
        text.parse()
            .map_err(|error| self.error(value.span(), format!("\"{text}\": {error}")))
    }

    pub(super) fn count(&self, value: &Value<'_>) -> Result<u32, ConfigError> {
        let whole = self.decimal(value, 0, "a whole number")?;
        u32::try_from(whole).map_err(|_| self.error(value.span(), format!("{whole} is too large")))
    }

    /// A decimal in units of its last place: 0.25 with three places is 250. Read digit by digit, so that what was
    /// written is what holds.
    pub(super) fn decimal(&self, value: &Value<'_>, places: usize, what: &str) -> Result<u64, ConfigError> {
        let text = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(_)
            | DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => return Err(self.expected(value, what)),
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
            return Err(self.error(value.span(), format!("expected {what}{limit}, found {text}")));
        }
        format!("{whole}{part:0<places$}")
            .parse()
            .map_err(|_| self.error(value.span(), format!("{text} is too large")))
    }

    /// One of the words that `named` knows.
    pub(super) fn word<T>(&self, value: &Value<'_>, known: &[(&str, T)]) -> Result<T, ConfigError>
    where
        T: Copy,
    {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let list = words
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect::<Vec<_>>()
            .join(" or ");
        let text = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.expected(value, &list))?;
        known
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| {
                let message = format!("unknown word \"{text}\"; {}", suggestion(text, &words));
                self.error(value.span(), message)
            })
    }
}

/// The nearest known word, or all of them where none is near.
fn suggestion(given: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|word| distance(given, word));
    match nearest {
        Some(word) if distance(given, word) <= 1 + word.len() / 3 => format!("the nearest known is `{word}`"),
        Some(_) | None => format!("known are {}", known.join(", ")),
    }
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().take(64).collect(), two.chars().collect());
    let mut rows = vec![(0..=two.len()).collect::<Vec<_>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=two.len() {
            let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != two[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == two[j - 2] && one[i - 2] == two[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][two.len()]
}
