//! Errors in what somebody wrote: the place, the line, what was expected, and the nearest word.
//!
//! What can go wrong: an error that names no place sends its reader through the whole file, and one that quotes a
//! megabyte of it hides the place again. So every error holds one line, clipped around the caret. It does not hold
//! the file: an error may outlive what it is about.

use std::fmt;
use std::ops::Range;

/// The longest part of a source line that an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 120;
/// The longest run of carets under it, in characters.
const CARETS_MAX: usize = 60;
/// A misspelt word longer than this is compared with nothing: it is no misspelling, and comparing costs.
const NEAREST_CHARS_MAX: usize = 40;

/// You wrote something that cannot be right: where, what was expected, and the nearest known word.
///
/// Printed over several lines, the first of which stands alone: `mock.toml:7:11: ...`.
///
/// ```
/// let error = "2x rest, 200".parse::<seawall_lab::Script>().unwrap_err();
/// assert_eq!((error.line(), error.column()), (1, 4));
/// assert!(error.to_string().contains("did you mean `reset`?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    name: Option<String>,
    line: usize,
    column: usize,
    quoted: String,
    caret_offset: usize,
    carets: usize,
    message: String,
    nearest: Option<String>,
    expected: Option<String>,
}

impl ScriptError {
    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Adds what would have been right.
    pub(crate) fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// Adds the known words, and which of them was probably meant.
    pub(crate) fn expecting_one_of(mut self, given: &str, known: &[&str]) -> Self {
        self.0.nearest = nearest(given, known).map(str::to_owned);
        self.0.expected = Some(format!("one of {}", known.join(", ")));
        self
    }

    /// The same finding about another place: the text it was found in stands at `span` of `source`.
    pub(crate) fn moved_to(self, source: Source<'_>, span: Range<usize>) -> Self {
        let mut moved = source.error(span, self.0.message);
        moved.0.nearest = self.0.nearest;
        moved.0.expected = self.0.expected;
        moved
    }

    /// Adds which of these words was probably meant, without listing them.
    pub(crate) fn near(mut self, given: &str, known: &[&str]) -> Self {
        self.0.nearest = nearest(given, known).map(str::to_owned);
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = &self.0;
        if let Some(name) = &parts.name {
            write!(f, "{name}:")?;
        }
        writeln!(f, "{}:{}: {}", parts.line, parts.column, parts.message)?;
        let number = parts.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{number} | {}", parts.quoted)?;
        // Tabs are kept, so that the caret stands under its word whatever a tab is worth.
        let pad: String = parts
            .quoted
            .chars()
            .take(parts.caret_offset)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        write!(f, "{margin} | {pad}{}", "^".repeat(parts.carets))?;
        if let Some(word) = &parts.nearest {
            write!(f, " did you mean `{word}`?")?;
        }
        if let Some(expected) = &parts.expected {
            write!(f, "\n{margin} = expected {expected}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScriptError {}

/// A text that errors can point into, and what to call it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The file's name; `None` for a text that stands alone.
    pub(crate) name: Option<&'a str>,
    /// The whole text.
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// A text that stands alone.
    pub(crate) fn bare(text: &'a str) -> Self {
        Self { name: None, text }
    }

    /// An error about the bytes `span` of this text.
    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        let start = floor_boundary(self.text, span.start);
        let end = floor_boundary(self.text, span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |at| start + at);
        let line_text = self.text[line_start..line_end].trim_end_matches('\r');
        let column = self.text[line_start..start].chars().count() + 1;
        let wide = self.text[start..end.min(line_end)].chars().count();
        // A caret near the end of a long line keeps some of what stands before it.
        let skipped = (column - 1).saturating_sub(QUOTED_CHARS_MAX / 2);
        let quoted: String = line_text
            .chars()
            .skip(skipped)
            .take(QUOTED_CHARS_MAX)
            .map(|c| {
                if c.is_control() && c != '\t' {
                    '\u{fffd}'
                } else {
                    c
                }
            })
            .collect();
        ScriptError(Box::new(Parts {
            name: self.name.map(str::to_owned),
            line: self.text[..start].matches('\n').count() + 1,
            column,
            quoted,
            caret_offset: column - 1 - skipped,
            carets: wide.clamp(1, CARETS_MAX),
            message: message.into(),
            nearest: None,
            expected: None,
        }))
    }
}

/// What somebody wrote, short enough and clean enough to stand in a message.
pub(crate) fn shown(given: &str) -> String {
    let mut short: String = given
        .chars()
        .take(NEAREST_CHARS_MAX)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if given.chars().nth(NEAREST_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

/// The known word that was probably meant; `None` where nothing is close.
pub(crate) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    let given: Vec<char> = given
        .chars()
        .take(NEAREST_CHARS_MAX + 1)
        .flat_map(char::to_lowercase)
        .collect();
    if given.is_empty() || given.len() > NEAREST_CHARS_MAX {
        return None;
    }
    known
        .iter()
        .map(|word| {
            (
                edits(
                    &given,
                    &word.chars().flat_map(char::to_lowercase).collect::<Vec<_>>(),
                ),
                *word,
            )
        })
        .filter(|(edits, word)| *edits <= (given.len().min(word.chars().count()) / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

/// Letters to insert, delete, replace or swap to get from one word to the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let mut least = (last[column] + usize::from(letter != other))
                .min(last[column + 1] + 1)
                .min(next[column] + 1);
            let swapped = row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other;
            if swapped {
                least = least.min(before_last[column - 1] + 1);
            }
            next.push(least);
        }
        before_last = std::mem::replace(&mut last, next);
    }
    last[to.len()]
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests;
