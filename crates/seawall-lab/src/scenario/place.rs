//! Where something stands in a scenario file, and all that is wrong with one.

use super::Scenario;
use crate::error::{ScriptError, Source};
use std::fmt;
use std::ops::{Deref, Range};

/// Where something is written in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// Its bytes in the file.
    pub span: Range<usize>,
}

/// A value and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Where it is written.
    pub at: Place,
}

impl<T> Deref for Written<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl Scenario {
    /// The file's name, as it was given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line of the file on which something stands, without the blanks around it.
    pub fn line(&self, at: &Place) -> &str {
        self.text.lines().nth(at.line - 1).unwrap_or_default().trim()
    }

    /// A finding of your own about a place in this file, shown as its errors are: file, line, column, the line itself.
    /// For what only a runner can know: a mock file that is not there, a policy that cannot be.
    pub fn finding(&self, at: &Place, message: impl Into<String>) -> ScriptError {
        self.source().error(at.span.clone(), message)
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source {
            name: Some(&self.file),
            text: &self.text,
        }
    }
}

/// Everything that is wrong with a scenario file, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(pub(super) Vec<ScriptError>);

impl ScenarioErrors {
    /// The first of them.
    pub fn first(&self) -> &ScriptError {
        self.0.first().expect("errors are at least one")
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &ScriptError> {
        self.0.iter()
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.0.iter().enumerate() {
            match place {
                0 => write!(f, "{error}")?,
                _ => write!(f, "\n{error}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}
