use super::reader::Source;
use std::fmt;
use std::ops::Range;

/// Something in a file that cannot be right: you wrote, and here is where.
///
/// Printed over several lines, of which the first stands alone; no line of it shows a secret of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigError {
    /// The file's name, as it was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// How many characters are at fault, at least 1.
    pub width: usize,
    /// The line itself, clipped around the fault where it is long, its secrets blotted out.
    pub text: String,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What to write or do instead; empty where the message says it.
    pub help: String,
    /// Characters of `text` before the fault.
    pub(super) before: usize,
}

/// An error before its line is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) span: Range<usize>,
    pub(super) message: String,
    pub(super) help: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = self.line.to_string().len();
        writeln!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{} | {}", self.line, self.text)?;
        // Tabs are kept, so that the caret stands under its word whatever a tab is worth.
        let pad: String = self
            .text
            .chars()
            .take(self.before)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        write!(f, "{:gutter$} | {pad}{}", "", "^".repeat(self.width))?;
        if !self.help.is_empty() {
            write!(f, "\n{:gutter$} = {}", "", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Everything in a file that cannot be right, in the order of the file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {
    first: Box<ConfigError>,
    rest: Vec<ConfigError>,
    unshown: usize,
}

/// Errors of one file that are told; a file with more has one cause, or is none of ours.
pub(super) const SHOWN_MAX: usize = 50;

impl ConfigErrors {
    /// The errors in the order of the file, `more` of which are only counted; `None` where there are none.
    pub(super) fn of(source: &Source, mut faults: Vec<Fault>, more: usize) -> Option<Self> {
        faults.sort_by(|one, two| (one.span.start, &one.message).cmp(&(two.span.start, &two.message)));
        faults.dedup();
        let unshown = faults.len().saturating_sub(SHOWN_MAX) + more;
        // Only what is shown is worked out: a long line costs its length for each error on it.
        let mut errors = faults
            .into_iter()
            .take(SHOWN_MAX)
            .map(|fault| source.error(fault));
        Some(Self {
            first: Box::new(errors.next()?),
            rest: errors.collect(),
            unshown,
        })
    }

    /// The first.
    pub fn first(&self) -> &ConfigError {
        &self.first
    }

    /// All that are told, in the order of the file: at most fifty.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        std::iter::once(self.first()).chain(&self.rest)
    }

    /// How many there are, those that are not told included.
    pub fn count(&self) -> usize {
        1 + self.rest.len() + self.unshown
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(first: ConfigError) -> Self {
        let (first, rest, unshown) = (Box::new(first), Vec::new(), 0);
        Self { first, rest, unshown }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        for error in &self.rest {
            write!(f, "\n\n{error}")?;
        }
        match self.unshown {
            0 => Ok(()),
            unshown => write!(f, "\n\nand {unshown} more"),
        }
    }
}

impl std::error::Error for ConfigErrors {}
