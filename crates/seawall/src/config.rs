//! What users write: TOML tables, read key by key.
//!
//! What can go wrong: a misspelt key is skipped and its setting never holds, a `30` without a unit is taken for
//! milliseconds by one and for seconds by another, and an error that names no line sends people searching. So an
//! unknown key is an error that names the nearest known one, a length of time has its unit, a share is read as a
//! decimal and never as a binary fraction, and every error carries file, line, column and the line itself.

mod policy;
mod reader;
#[cfg(test)]
mod tests;

use reader::Reader;
use seawall_core::policy::Policy;
use std::fmt;

/// A file that cannot be right: you wrote, and here is where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file's name, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How many characters are at fault, at least 1.
    pub width: usize,
    /// The line itself.
    pub text: String,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            width,
            text,
            message,
        } = self;
        let gutter = line.to_string().len();
        writeln!(f, "{file}:{line}:{column}: {message}")?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {text}")?;
        write!(
            f,
            "{:gutter$} | {}{}",
            "",
            " ".repeat(column - 1),
            "^".repeat(*width)
        )
    }
}

impl std::error::Error for ConfigError {}

/// Reads the `[policy]` table of a `seawall.toml`; a file without one means the preset `default`.
///
/// Other tables of a `seawall.toml` are not looked into; a table that no `seawall.toml` has is an error.
///
/// # Errors
/// The first thing that cannot be right, with its place. Settings that contradict each other are told at the one
/// that is written.
///
/// ```
/// use seawall::config::read_policy;
/// let policy = read_policy("seawall.toml", "[policy]\nretries = 3\nbackoff.base = \"1s\"\n").expect("a right file");
/// assert_eq!(policy.call.retries(), 3);
/// let error = read_policy("seawall.toml", "[policy]\nretrys = 3\n").expect_err("no such key");
/// assert_eq!(error.message, "unknown key `retrys` in [policy]; the nearest known is `retries`");
/// assert_eq!((error.line, error.column), (2, 1));
/// ```
pub fn read_policy(file: &str, text: &str) -> Result<Policy, ConfigError> {
    let reader = Reader { file, text };
    let top = reader.parse()?;
    let mut found = None;
    for (key, value) in top.get_ref() {
        match key.get_ref().as_ref() {
            "policy" => found = Some(value),
            "upstream" | "model" | "route" | "serve" | "batch" => {}
            _ => return Err(reader.unknown_key(key, "the file", &TABLES)),
        }
    }
    match found {
        Some(table) => policy::read(&reader, table),
        None => Ok(Policy::preset(seawall_core::policy::Preset::Default)),
    }
}

/// The tables of a `seawall.toml`.
const TABLES: [&str; 6] = ["policy", "upstream", "model", "route", "serve", "batch"];
