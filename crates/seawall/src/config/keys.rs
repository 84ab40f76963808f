//! Every key of a `seawall.toml`, in one table.
//!
//! What can go wrong: a key is read and not documented, documented and not read, or its range is one thing in the
//! parser and another on the page. So a key is one row: what it takes, its default, where that comes from, and whether
//! anything holds it yet. The parser refuses what is not in the table and takes ranges from it; the reference page is
//! made from it; a test writes each row's example and reads it back.

mod policy;
mod tables;

use seawall_core::time::Duration;
use std::fmt;

/// One key of a `seawall.toml`; all of them are [`all`].
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its tables and its name, joined by dots: `policy.backoff.base`. A list of tables is named as one of them:
    /// `upstream.name`.
    pub path: &'static str,
    /// What may be written.
    pub takes: Takes,
    /// What holds where it is not written, as it would be written or in words.
    pub default: &'static str,
    /// A value that it takes, in TOML.
    pub example: &'static str,
    /// The rule or decision that default and meaning come from; empty where there is none.
    pub source: &'static str,
    /// What it decides, in one sentence without a full stop.
    pub about: &'static str,
    /// Whether anything holds it yet.
    pub held: Held,
}

/// Whether a key that is read is obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is obeyed.
    Today,
    /// It is read and checked, and nothing obeys it yet. Says what is missing.
    Later(&'static str),
}

/// What may be written as a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A length of time with its unit.
    Length {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// A whole number.
    Count {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// A decimal number of at most so many places.
    Decimal {
        /// Decimal places.
        places: u8,
        /// The least, in units of the last place.
        min: u64,
        /// The most, in units of the last place.
        max: u64,
        /// What it is, as in "expected a share such as 0.1".
        what: &'static str,
    },
    /// A number of bytes, as in `"64KiB"`.
    Size {
        /// The least, in bytes.
        min: u64,
        /// The most, in bytes.
        max: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text.
    Text(Text),
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    Texts(Text),
    /// A table with keys of its own, which are rows of their own.
    Table,
    /// A list of such tables.
    Tables,
    /// A table of names and texts that are the user's own.
    Pairs,
    /// A table with the keys of `[policy]`.
    Policy,
    /// Any of these.
    Either(&'static [Takes]),
}

/// What a text must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Any text that is not empty.
    Any,
    /// A name of ours: letters, digits, `-`, `_` and `.`.
    Name,
    /// An `http` or `https` address without a credential, and without a query but `api-version`.
    Url,
    /// The name of an environment variable.
    Env,
    /// The name of a file or folder.
    File,
    /// The name of a header.
    Header,
    /// A path that starts with `/`; `*` stands for anything.
    Path,
    /// A name in which `*` stands for anything.
    Pattern,
    /// `HOST:PORT` to listen on.
    Listen,
    /// A host name, with or without a port.
    Host,
    /// What a browser sends as `Origin`.
    Origin,
    /// A hash of a token.
    Hash,
    /// An upstream, or an upstream and a model: `main/big-1`.
    Target,
    /// Where a batch goes: an upstream's name, an address or `mock:PROFILE`.
    Destination,
    /// A percentile: `p50` to `p99.9`.
    Percentile,
}

/// Every key, tables first, in the order of the reference.
pub fn all() -> impl Iterator<Item = &'static Key> {
    policy::KEYS.iter().chain(tables::KEYS)
}

/// The key of this path.
pub fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.path == path)
}

/// The keys directly in the table of this path; those of the file itself for `""`.
pub fn within(table: &str) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.table() == table)
}

impl Key {
    const fn new(
        path: &'static str,
        takes: Takes,
        default: &'static str,
        example: &'static str,
        source: &'static str,
        about: &'static str,
    ) -> Self {
        let held = Held::Today;
        Self {
            path,
            takes,
            default,
            example,
            source,
            about,
            held,
        }
    }

    const fn later(mut self, missing: &'static str) -> Self {
        self.held = Held::Later(missing);
        self
    }

    /// Its own name, without its tables.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The path of the table it stands in; `""` is the file.
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Whether anything obeys it: the word of the outermost table that nothing obeys counts for all below.
    pub fn holds(&self) -> Held {
        let outer = match self.table() {
            "" => Held::Today,
            table => find(table).map_or(Held::Today, Key::holds),
        };
        match outer {
            Held::Today => self.held,
            Held::Later(_) => outer,
        }
    }
}

impl Takes {
    /// What is expected, as a sentence goes on after "expected".
    pub fn expected(&self) -> String {
        match self {
            Self::Length { .. } => "a length of time with its unit, such as \"500ms\" or \"30s\"".to_owned(),
            Self::Count { .. } => "a whole number".to_owned(),
            Self::Decimal { what, .. } => (*what).to_owned(),
            Self::Size { .. } => "a size with its unit, such as \"64KiB\" or \"1MiB\"".to_owned(),
            Self::Word(words) => quoted(words),
            Self::Text(Text::Percentile) => "a percentile, \"p50\" to \"p99.9\"".to_owned(),
            Self::Text(_) => "a text in quotes".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Texts(_) => "a list of texts".to_owned(),
            Self::Table | Self::Pairs => "a table".to_owned(),
            Self::Policy => "a table with the keys of [policy]".to_owned(),
            Self::Tables => "a list of tables".to_owned(),
            Self::Either(some) => some.iter().map(Self::expected).collect::<Vec<_>>().join(", or "),
        }
    }
}

/// The type with its range, as the reference shows it.
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { min, max } if *max == policy::LENGTH_MAX => write!(f, "time, {min} or more"),
            Self::Length { min, max } => write!(f, "time, {min} to {max}"),
            Self::Count { min, max } => write!(f, "whole number, {min} to {max}"),
            Self::Decimal { places, min, max, .. } => {
                write!(
                    f,
                    "number, {} to {}",
                    decimal(*min, *places),
                    decimal(*max, *places)
                )
            }
            Self::Size { min, max } => write!(f, "size, {} to {}", bytes(*min), bytes(*max)),
            Self::Word(words) => f.write_str(&quoted(words)),
            Self::Text(Text::Percentile) => f.write_str("\"p50\" to \"p99.9\""),
            Self::Text(_) => f.write_str("text"),
            Self::Flag => f.write_str("true or false"),
            Self::Texts(_) => f.write_str("list of texts"),
            Self::Table => f.write_str("table"),
            Self::Tables => f.write_str("list of tables"),
            Self::Pairs => f.write_str("table of texts"),
            Self::Policy => f.write_str("table, as `[policy]`"),
            Self::Either(some) => {
                for (nth, takes) in some.iter().enumerate() {
                    let join = if nth == 0 { "" } else { "; or " };
                    write!(f, "{join}{takes}")?;
                }
                Ok(())
            }
        }
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(" or ")
}

/// Units of the last place as a decimal: 250 with three places is 0.25.
pub(crate) fn decimal(units: u64, places: u8) -> String {
    let Some(scale) = 10_u64.checked_pow(u32::from(places)).filter(|scale| *scale > 1) else {
        return units.to_string();
    };
    let text = format!(
        "{}.{:0width$}",
        units / scale,
        units % scale,
        width = usize::from(places)
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes in the largest unit that divides them.
pub(super) fn bytes(bytes: u64) -> String {
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
        .into_iter()
        .find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit))
        .map_or_else(
            || format!("{bytes}B"),
            |(name, unit)| format!("{}{name}", bytes / unit),
        )
}
