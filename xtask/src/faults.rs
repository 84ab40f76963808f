//! Broken builds: each fault of `xtask/faults.toml` is put into a copy of the tree, and the tests that it names must
//! notice.
//!
//! What can go wrong: a test that cannot fail is taken for a proof, and nobody sees when an edit makes it one. So every
//! law has faults that break it on purpose, and a fault that no test notices is a finding, as is one whose place in the
//! source is gone, or that does not compile: what does not build is caught by nobody. What this does not say is that
//! other faults would be noticed.

use crate::repo::{Error, Repo};
use crate::tidy::Finding;
use copy::Copy;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use toml::Table;

mod copy;

/// Where the faults stand.
pub const TABLE: &str = "xtask/faults.toml";
/// The page that says which laws and rules they break, between two marks.
pub const PAGE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- faults: written by `cargo xtask docs` -->";
const END: &str = "<!-- end of faults -->";
/// The most copies of the tree at once: each builds the crate for itself before its first fault, which soon costs more
/// than another copy saves.
const COPIES_MAX: usize = 4;

/// One fault, and who must notice it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it does, as a sentence without an end.
    pub what: String,
    /// Which laws of ARCHITECTURE.md and which rules it breaks.
    pub breaks: String,
    /// The file that it is put into.
    pub file: String,
    /// What stands there once, and only there.
    pub old: String,
    /// What stands there instead.
    pub new: String,
    /// Which suite runs.
    pub suite: Suite,
    /// The tests of it, of which one must fail: the ends of their paths.
    pub tests: Vec<String>,
}

/// A set of tests that is built together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// The unit tests of the core.
    Core,
    /// The unit tests of the live crate.
    Live,
    /// The integration tests of the live crate.
    LiveIt,
    /// The socket tests of client and mock.
    Ends,
    /// The unit tests of the batch crate.
    Batch,
    /// The tests of the lab, over sockets too.
    Lab,
    /// Every order of a few callers.
    Loom,
}

impl Suite {
    const ALL: [Self; 7] = [
        Self::Core,
        Self::Live,
        Self::LiveIt,
        Self::Ends,
        Self::Batch,
        Self::Lab,
        Self::Loom,
    ];

    /// Its name in the table and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Live => "live",
            Self::LiveIt => "live-it",
            Self::Ends => "e2e",
            Self::Batch => "batch",
            Self::Lab => "lab",
            Self::Loom => "loom",
        }
    }

    /// The suite of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| suite.name() == name)
    }

    /// How many copies of the tree it is broken in at once.
    ///
    /// A build of one crate keeps about one processor busy, so each has a copy. A suite that looks at sockets or at the
    /// clock of the host has one: what fails because the machine is busy would pass for a catch.
    fn copies(self) -> usize {
        match self {
            Self::Core => thread::available_parallelism().map_or(1, |count| count.get().min(COPIES_MAX)),
            Self::Live | Self::LiveIt | Self::Ends | Self::Batch | Self::Lab | Self::Loom => 1,
        }
    }

    /// The words after `cargo test`, and the folder to say them in.
    const fn words(self) -> (&'static str, &'static [&'static str]) {
        match self {
            // The core's laws run over hours of virtual time, but who notices a fault does so soon: code that is built four
            // times as fast is worth more than code that runs ten times as fast.
            Self::Core => (
                "",
                &[
                    "-p",
                    "seawall-core",
                    "--lib",
                    "--config",
                    "profile.test.package.seawall-core.opt-level=0",
                    "--config",
                    "profile.test.debug=false",
                ],
            ),
            Self::Live => ("", &["-p", "seawall", "--lib"]),
            Self::LiveIt => ("", &["-p", "seawall", "--test", "it"]),
            Self::Ends => ("", &["-p", "e2e", "--test", "it"]),
            Self::Batch => ("", &["-p", "seawall-batch", "--lib"]),
            Self::Lab => ("", &["-p", "seawall-lab", "--features", "net", "--lib"]),
            Self::Loom => ("loom", &["--release", "--test", "scenes"]),
        }
    }
}

/// What became of one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caught {
    /// This test failed, the first of those that were asked.
    By(String),
    /// Every test passed.
    Nobody,
    /// The place is not there, or there more than once.
    Misplaced {
        /// How often it is there.
        times: usize,
    },
    /// The faulty source does not compile.
    Unbuilt {
        /// What the compiler said first.
        detail: String,
    },
    /// A test that is named is not among those that ran.
    Untested {
        /// Which.
        test: String,
    },
}

impl Caught {
    /// Whether a test has noticed.
    pub const fn is_caught(&self) -> bool {
        match self {
            Self::By(_) => true,
            Self::Nobody | Self::Misplaced { .. } | Self::Unbuilt { .. } | Self::Untested { .. } => false,
        }
    }

    /// As a line says it.
    pub fn said(&self) -> String {
        match self {
            Self::By(test) => format!("caught by {test}"),
            Self::Nobody => "NOBODY noticed; write the test that does".to_owned(),
            Self::Misplaced { times } => {
                format!(
                    "its `old` is there {times} times; it must be there once, so look at the source and mend the table"
                )
            }
            Self::Unbuilt { detail } => format!("does not compile, which no test can notice: {detail}"),
            Self::Untested { test } => format!("there is no test `{test}`; mend the table"),
        }
    }
}

/// The faults of the table.
///
/// # Errors
/// The table is not of its form.
pub fn read(repo: &Repo) -> Result<Vec<Fault>, Error> {
    let table = repo.toml(TABLE)?;
    let rows = table.get("fault").and_then(toml::Value::as_array);
    rows.into_iter().flatten().map(fault).collect()
}

fn fault(row: &toml::Value) -> Result<Fault, Error> {
    let empty = Table::new();
    let row = row.as_table().unwrap_or(&empty);
    let wrong = |detail: String| Error::Form {
        path: TABLE.to_owned(),
        detail,
    };
    let what = row.get("what").and_then(toml::Value::as_str).unwrap_or("");
    let text = |key: &str| {
        let value = row.get(key).and_then(toml::Value::as_str);
        value
            .map(str::to_owned)
            .ok_or_else(|| wrong(format!("the fault `{what}` has no text `{key}`")))
    };
    let suite = text("suite")?;
    let suite =
        Suite::named(&suite).ok_or_else(|| wrong(format!("the fault `{what}` is of no suite: {suite}")))?;
    let tests = row.get("tests").and_then(toml::Value::as_array);
    let tests: Vec<String> = tests
        .into_iter()
        .flatten()
        .filter_map(|test| test.as_str().map(str::to_owned))
        .collect();
    if tests.is_empty() {
        return Err(wrong(format!("the fault `{what}` names no tests")));
    }
    Ok(Fault {
        what: text("what")?,
        breaks: text("breaks")?,
        file: text("file")?,
        old: text("old")?,
        new: text("new")?,
        suite,
        tests,
    })
}

/// The source with the fault in it.
///
/// # Errors
/// How often its place is there, where that is not once.
pub fn broken(source: &str, fault: &Fault) -> Result<String, usize> {
    match source.matches(&fault.old).count() {
        1 => Ok(source.replacen(&fault.old, &fault.new, 1)),
        times => Err(times),
    }
}

/// Plays the faults, suite by suite as they come, and tells what became of each, in their order.
///
/// # Errors
/// A file cannot be read or written, cargo cannot be run, or `told` fails.
pub fn play(
    repo: &Repo,
    faults: &[Fault],
    mut told: impl FnMut(&Fault, &Caught) -> Result<(), Error>,
) -> Result<(), Error> {
    for faults in faults.chunk_by(|one, next| one.suite == next.suite) {
        let suite = faults[0].suite;
        let count = suite.copies().min(faults.len());
        let copies = Copy::all(repo, suite, count)?;
        let next = AtomicUsize::new(0);
        let (ended, endings) = mpsc::channel();
        thread::scope(|scope| {
            for copy in &copies {
                let (ended, next) = (ended.clone(), &next);
                scope.spawn(move || {
                    while let Some((nth, fault)) = taken(faults, next) {
                        // Nobody listens once the run has failed.
                        if ended.send((nth, copy.play(repo, fault))).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(ended);
            in_order(endings, |nth, caught| told(&faults[nth], &caught?))
        })?;
    }
    Ok(())
}

/// The next fault that no copy has taken, and which it is.
fn taken<'a>(faults: &'a [Fault], next: &AtomicUsize) -> Option<(usize, &'a Fault)> {
    let nth = next.fetch_add(1, Ordering::Relaxed);
    faults.get(nth).map(|fault| (nth, fault))
}

/// Tells the endings by their numbers, from 0 on; one that comes before its turn is kept.
fn in_order<T>(
    endings: impl IntoIterator<Item = (usize, T)>,
    mut told: impl FnMut(usize, T) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut early, mut due) = (BTreeMap::new(), 0);
    for (nth, ending) in endings {
        early.insert(nth, ending);
        while let Some(ending) = early.remove(&due) {
            told(due, ending)?;
            due += 1;
        }
    }
    Ok(())
}

/// The faults as a table of ARCHITECTURE.md.
pub fn rows(faults: &[Fault]) -> String {
    let mut text = String::from("| breaks | fault | must be noticed by |\n|---|---|---|\n");
    for fault in faults {
        let tests: Vec<String> = fault.tests.iter().map(|test| format!("`{test}`")).collect();
        text.push_str(&format!(
            "| {} | {} | {}: {} |\n",
            fault.breaks,
            fault.what,
            fault.suite.name(),
            tests.join(", ")
        ));
    }
    text
}

/// The page with its table of faults as they are now.
///
/// # Errors
/// The page lacks the marks that the table stands between.
pub fn page(repo: &Repo) -> Result<String, Error> {
    let text = repo.text(PAGE)?;
    let marks = text
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = marks else {
        return Err(Error::Form {
            path: PAGE.to_owned(),
            detail: format!("lacks the marks `{BEGIN}` and `{END}`"),
        });
    };
    Ok(format!("{before}{BEGIN}\n{}{END}{after}", rows(&read(repo)?)))
}

/// Every fault has its place, and ARCHITECTURE.md lists them as they are.
pub fn in_place(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for fault in read(repo)? {
        if let Err(times) = broken(repo.text(&fault.file)?, &fault) {
            findings.push(Finding::in_file(
                TABLE,
                format!(
                    "`{}`: its `old` is {times} times in {}; it must be there once",
                    fault.what, fault.file
                ),
            ));
        }
    }
    if page(repo)? != repo.text(PAGE)? {
        findings.push(Finding::in_file(
            PAGE,
            "lists other faults; run `cargo xtask docs`",
        ));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests;
