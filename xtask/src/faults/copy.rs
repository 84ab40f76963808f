//! The copies of the tree in which faults are played.
//!
//! What can go wrong: the time goes to builds and not to tests, and then faults are played seldom. So copies are kept
//! from run to run and build only what has changed; what their tests depend on is built once, for the first of them; the
//! tests' program is started as it is, without cargo; and the first test that fails ends it, since one is enough.

use super::{Caught, Fault, Suite, broken};
use crate::repo::{Error, Repo, cargo, output};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// A copy of the tree, with builds of its own.
#[derive(Debug)]
pub(super) struct Copy {
    root: PathBuf,
    builds: PathBuf,
}

/// What cargo made of the tests of a suite.
enum Built {
    /// A program that runs them.
    Program(Program),
    /// Nothing: what the compiler said first.
    Not(String),
}

/// A program that runs tests.
struct Program {
    path: PathBuf,
    /// The folder of its package, which tests are run in.
    folder: PathBuf,
}

impl Copy {
    /// So many copies below `target/faults`, brought up to date, and the first of them built.
    ///
    /// # Errors
    /// A file cannot be read or written, or the tests of the tree do not build as they are.
    pub(super) fn all(repo: &Repo, suite: Suite, count: usize) -> Result<Vec<Self>, Error> {
        let copies: Vec<Self> = (0..count)
            .map(|nth| Self::of(repo, nth))
            .collect::<Result<_, Error>>()?;
        let Some((first, others)) = copies.split_first() else {
            return Ok(copies);
        };
        if let Built::Not(detail) = first.build(suite)? {
            return Err(Error::Command {
                command: format!("the build of the suite {}, without a fault,", suite.name()),
                detail,
            });
        }
        for other in others {
            if !other.builds.exists() {
                link_all(&first.builds, &other.builds)?;
            }
        }
        Ok(copies)
    }

    fn of(repo: &Repo, nth: usize) -> Result<Self, Error> {
        let folder = repo.root().join("target/faults");
        let copy = match nth {
            0 => Self {
                root: folder.join("tree"),
                builds: folder.join("build"),
            },
            _ => Self {
                root: folder.join(format!("tree-{nth}")),
                builds: folder.join(format!("build-{nth}")),
            },
        };
        let mut kept = BTreeSet::new();
        for file in &repo.files {
            let full = repo.root().join(&file.path);
            let bytes = fs::read(&full).map_err(|source| unreached(&full, source))?;
            copy.write(&file.path, &bytes)?;
            kept.insert(copy.root.join(&file.path));
        }
        remove_others(&copy.root, &kept)?;
        Ok(copy)
    }

    /// Puts the fault in, runs its tests, takes it out again.
    ///
    /// # Errors
    /// A file cannot be read or written, or a program cannot be run.
    pub(super) fn play(&self, repo: &Repo, fault: &Fault) -> Result<Caught, Error> {
        let source = repo.text(&fault.file)?;
        let faulty = match broken(source, fault) {
            Ok(faulty) => faulty,
            Err(times) => return Ok(Caught::Misplaced { times }),
        };
        self.write(&fault.file, faulty.as_bytes())?;
        let caught = self.run(fault);
        self.write(&fault.file, source.as_bytes())?;
        caught
    }

    fn run(&self, fault: &Fault) -> Result<Caught, Error> {
        let program = match self.build(fault.suite)? {
            Built::Program(program) => program,
            Built::Not(detail) => return Ok(Caught::Unbuilt { detail }),
        };
        let tests = program.tests()?;
        for test in &fault.tests {
            if !tests.iter().any(|known| known.contains(test.as_str())) {
                return Ok(Caught::Untested { test: test.clone() });
            }
        }
        program.ask(&fault.tests)
    }

    fn build(&self, suite: Suite) -> Result<Built, Error> {
        let (folder, target) = suite.words();
        let done = cargo()
            .current_dir(self.root.join(folder))
            .args(["test", "--offline", "--color", "never", "--no-run"])
            .args(["--message-format", "json-render-diagnostics"])
            .args(target)
            .env("CARGO_TARGET_DIR", self.builds.join(folder))
            .output()
            .map_err(|source| unreached(Path::new("cargo"), source))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let first = said.lines().find(|line| line.starts_with("error"));
            return Ok(Built::Not(first.unwrap_or("cargo failed").to_owned()));
        }
        let said = String::from_utf8_lossy(&done.stdout);
        let program = said.lines().find_map(program).ok_or_else(|| Error::Form {
            path: "cargo test --no-run".to_owned(),
            detail: format!("names no program of the suite {}", suite.name()),
        })?;
        Ok(Built::Program(program))
    }

    /// Writes one file, where it is another than the one that is there: what keeps its time is not built again.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let full = self.root.join(path);
        if fs::read(&full).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).map_err(|source| unreached(folder, source))?;
        }
        fs::write(&full, bytes).map_err(|source| unreached(&full, source))
    }
}

/// The program of tests that this message of cargo tells of, if it does.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    message["profile"]["test"].as_bool().filter(|is_test| *is_test)?;
    Some(Program {
        path: message["executable"].as_str()?.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.into(),
    })
}

impl Program {
    /// As cargo would start it.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// The paths of all its tests.
    fn tests(&self) -> Result<Vec<String>, Error> {
        let mut command = self.command();
        command.arg("--list");
        let text = output(command)?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// Runs those with these parts of paths until the first fails.
    fn ask(&self, tests: &[String]) -> Result<Caught, Error> {
        let fail = |source| unreached(&self.path, source);
        let mut running = self
            .command()
            .args(["--color", "never"])
            .args(tests)
            // What a fault breaks is the test's own news; a shrunk case of it is not worth its time here.
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            // Whether a fault is noticed must not be luck: the same cases in every run.
            .env("PROPTEST_RNG_SEED", "1")
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(fail)?;
        let said = running.stdout.take().expect("asked for above");
        let failed = first_failure(BufReader::new(said));
        if !matches!(failed, Ok(None)) {
            // It may have ended by itself.
            let _ = running.kill();
        }
        let status = running.wait().map_err(fail)?;
        Ok(match failed.map_err(fail)? {
            Some(test) => Caught::By(test),
            None if status.success() => Caught::Nobody,
            // A process that a fault brings down names no test; that it went down is what was to be seen.
            None => Caught::By(format!("{} (its process ended)", tests.join(" or "))),
        })
    }
}

/// The first test that failed, by what libtest prints; reads no further.
fn first_failure(said: impl BufRead) -> io::Result<Option<String>> {
    for line in said.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let test = line.strip_prefix("test ");
        if let Some(test) = test.and_then(|line| line.strip_suffix(" ... FAILED")) {
            return Ok(Some(test.to_owned()));
        }
    }
    Ok(None)
}

/// Takes over the builds of another copy by links: of those it makes none again that come from elsewhere, and its own have
/// other names. Locks, and what tells that a build of its own goes on, are not shared.
fn link_all(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(|source| unreached(to, source))?;
    for entry in fs::read_dir(from).map_err(|source| unreached(from, source))? {
        let path = entry.map_err(|source| unreached(from, source))?.path();
        let name = path.file_name().unwrap_or_default();
        let there = to.join(name);
        if path.is_dir() {
            if name != OsStr::new("incremental") {
                link_all(&path, &there)?;
            }
        } else if !name.to_string_lossy().starts_with('.') {
            fs::hard_link(&path, &there).map_err(|source| unreached(&there, source))?;
        }
    }
    Ok(())
}

/// Removes from the copy what the tree has no more; lock files that cargo writes beside manifests stay.
fn remove_others(folder: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), Error> {
    let fail = |source| unreached(folder, source);
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) && path.extension().is_none_or(|end| end != "lock") {
            fs::remove_file(&path).map_err(fail)?;
        }
    }
    Ok(())
}

fn unreached(path: &Path, source: io::Error) -> Error {
    Error::Io {
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests;
