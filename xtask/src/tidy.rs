//! The checks: each has a name, and finds every place that breaks one rule.
//!
//! What can go wrong: a rule that lives in a document is broken within a month. So each rule that a program can
//! see is here, runs as a test, and names the line and what to do. What they do not cover is taste.

pub mod arrows;
pub mod guests;
pub mod manifests;
pub mod text;
pub mod traps;
pub mod walls;

#[cfg(test)]
mod tests;

use crate::repo::{Error, Repo};
use crate::{docs, faults};
use std::fmt;

/// One rule and the program that holds it.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What holds where nothing is found.
    pub name: &'static str,
    /// Finds every place where it does not.
    pub run: fn(&Repo) -> Result<Vec<Finding>, Error>,
}

/// Every check, in the order in which they are told.
pub const CHECKS: &[Check] = &[
    Check {
        name: "the core has no dependencies",
        run: walls::no_dependencies,
    },
    Check {
        name: "the core names no clock, thread, chance, net or environment",
        run: walls::names_nothing_outside,
    },
    Check {
        name: "the core says no_std and forbids unsafe",
        run: walls::says_so,
    },
    Check {
        name: "the core compiles where there is no std",
        run: walls::compiles_without_std,
    },
    Check {
        name: "arrows between crates point one way",
        run: arrows::check,
    },
    Check {
        name: "manifests take versions and lints from the workspace",
        run: manifests::check,
    },
    Check {
        name: "every guest has a line that says what it is for",
        run: manifests::reasons,
    },
    Check {
        name: "guests have allowed licences",
        run: guests::licences,
    },
    Check {
        name: "guests come from the registry and none is banned",
        run: guests::sources_and_bans,
    },
    Check {
        name: "no source above 800 lines",
        run: text::sizes,
    },
    Check {
        name: "no unfinished work, machine paths or registry hosts",
        run: text::strangers,
    },
    Check {
        name: "every lint exception has its reason",
        run: text::exceptions,
    },
    Check {
        name: "links between documents lead somewhere",
        run: text::links,
    },
    Check {
        name: "pages show all of their Rust",
        run: text::hidden,
    },
    Check {
        name: "every trap that is told has its test",
        run: traps::check,
    },
    Check {
        name: "the README's first block is what CI runs",
        run: docs::first_block,
    },
    Check {
        name: "generated pages are in step",
        run: docs::in_step,
    },
    Check {
        name: "each feature of the libraries has its row",
        run: docs::features,
    },
    Check {
        name: "every fault has its place",
        run: faults::in_place,
    },
];

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, counted from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong and what to do.
    pub text: String,
}

impl Finding {
    /// A place in a file.
    pub fn at(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            text: text.into(),
        }
    }

    /// A file as a whole.
    pub fn in_file(path: &str, text: impl Into<String>) -> Self {
        Self::at(path, 0, text)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}
