//! What became of scenarios, for people, programs and CI servers.
//!
//! What can go wrong: a report that a CI server cannot read loses every other result with it: a control character from a
//! client's output in XML, a number that is no number. So what came from outside is made harmless at the border of each
//! format, and each format is read back in tests.

mod json;
mod junit;
mod text;

use super::{Passed, Scenario, State, Verdict};
use seawall_core::time::Duration;

/// What became of a run of scenarios.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One for each file, or one for each seed of it, in the order of the files.
    pub entries: Vec<Entry>,
}

/// What became of one scenario with one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The file, as it was named.
    pub file: String,
    /// The seed that was taken; with it the run can be had again.
    pub seed: Option<u64>,
    /// How long it took, in real time.
    pub took: Duration,
    /// What came of it.
    pub came: Came,
}

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Came {
    /// It ran, and was judged.
    Judged {
        /// What was expected.
        scenario: Box<Scenario>,
        /// What became of that.
        verdict: Verdict,
    },
    /// The file is no scenario, or cannot be read: what its author has to do.
    Unread(String),
    /// It could not be run, and why.
    NotRun(String),
}

/// Whether a text may have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// None: for files and pipes.
    #[default]
    Plain,
    /// ANSI colours: for terminals.
    Ansi,
}

/// How many entries ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    unread: usize,
    not_run: usize,
    not_observable: usize,
}

/// What does not fit, as a text of lines that each end; nothing where all holds and could be judged.
#[cfg(feature = "net")]
pub(crate) fn failures(scenario: &Scenario, verdict: &Verdict) -> String {
    text::findings(scenario, verdict, Colour::Plain)
}

/// Every expectation and what became of it, as in [`Report::json`].
#[cfg(feature = "net")]
pub(crate) fn checks(verdict: &Verdict) -> serde_json::Value {
    verdict.checks.iter().map(json::check).collect()
}

impl Entry {
    /// Whether it passed. What could not be read or run did not.
    pub fn passed(&self) -> Passed {
        match &self.came {
            Came::Judged { verdict, .. } => verdict.passed(),
            Came::Unread(_) | Came::NotRun(_) => Passed::No,
        }
    }

    /// The entry as a text of one line or more, each of which ends: for printing as it comes.
    pub fn text(&self, colour: Colour) -> String {
        text::entry(self, colour)
    }

    /// What reports call it: the scenario's name, or the file's.
    pub fn name(&self) -> &str {
        match &self.came {
            Came::Judged { scenario, .. } => &scenario.name,
            Came::Unread(_) | Came::NotRun(_) => &self.file,
        }
    }
}

impl Report {
    /// Whether all passed.
    pub fn passed(&self) -> Passed {
        match self.entries.iter().all(|entry| entry.passed() == Passed::Yes) {
            true => Passed::Yes,
            false => Passed::No,
        }
    }

    /// Every entry and a last line with the numbers.
    pub fn text(&self, colour: Colour) -> String {
        let mut text: String = self.entries.iter().map(|entry| entry.text(colour)).collect();
        text.push_str(&self.summary());
        text
    }

    /// The last line alone: `3 scenarios: 2 passed, 1 failed`.
    pub fn summary(&self) -> String {
        text::summary(self.tally())
    }

    /// One JSON document; its shape is in the reference.
    pub fn json(&self) -> String {
        json::write(self)
    }

    /// JUnit XML, as CI servers read it: a suite for each file, a case for each run and each expectation.
    pub fn junit(&self) -> String {
        junit::write(self)
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for entry in &self.entries {
            match &entry.came {
                Came::Judged { verdict, .. } => {
                    match verdict.passed() {
                        Passed::Yes => tally.passed += 1,
                        Passed::No => tally.failed += 1,
                    }
                    let unseen = verdict
                        .checks
                        .iter()
                        .filter(|check| check.state() == State::NotObservable);
                    tally.not_observable += unseen.count();
                }
                Came::Unread(_) => tally.unread += 1,
                Came::NotRun(_) => tally.not_run += 1,
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests;
