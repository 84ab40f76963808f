//! The mock of a scenario: where its routes come from, and a fresh one for each run.

use super::{RunError, seed_of_run};
use crate::file::{FILE_BYTES_MAX, MockFile};
use crate::net::{DEFAULT_LISTEN, Mock, MockOptions};
use crate::passage::Passage;
use crate::plan::Rule;
use crate::scenario::{MockAt, Scenario, Written};
use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// What each run's mock begins with.
pub(super) struct MockPlan<'s> {
    pub(super) file: Cow<'s, MockFile>,
    seed: u64,
}

impl<'s> MockPlan<'s> {
    /// Reads the mock's file where the scenario names one. `seed` stands before what is written.
    pub(super) fn of(scenario: &'s Scenario, seed: Option<u64>) -> Result<Self, RunError> {
        let file = match &scenario.mock {
            MockAt::Inline(file) => Cow::Borrowed(&**file),
            MockAt::Path(path) => Cow::Owned(turned_by_itself(scenario, path, read(scenario, path)?)?),
        };
        for resource in &scenario.expect.resources {
            let (name, _) = &resource.value;
            let is_kept = |rule: &Rule| rule.resource.as_ref() == Some(name);
            if !file.rules.iter().any(is_kept) {
                let message =
                    format!("no route of this mock keeps `{name}`; a route does with resource = \"{name}\"");
                return Err(scenario.finding(&resource.at, message).into());
            }
        }
        let seed = seed.or(scenario.seed).or(file.seed).unwrap_or(0);
        Ok(Self { file, seed })
    }

    /// The seed of the `run`-th run, counted from 0.
    pub(super) fn seed(&self, run: u32) -> u64 {
        seed_of_run(self.seed, run)
    }

    /// A mock for the `run`-th run. Where the file says to listen does not count: scenarios run side by side.
    pub(super) fn options(&self, run: u32) -> MockOptions {
        Mock::builder()
            .file(self.file.clone().into_owned())
            .listen(DEFAULT_LISTEN)
            .seed(self.seed(run))
    }
}

/// The folder that a scenario's paths count from.
pub(super) fn folder(scenario: &Scenario) -> PathBuf {
    match Path::new(scenario.file()).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn read(scenario: &Scenario, path: &Written<String>) -> Result<MockFile, RunError> {
    let at = folder(scenario).join(&path.value);
    let shown = at.display().to_string();
    // A pipe that nobody writes into would be waited for without an end.
    if std::fs::metadata(&at).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let message = format!("{shown} is no file: a mock is read from one");
        return Err(scenario.finding(&path.at, message).into());
    }
    let mut bytes = Vec::new();
    // One byte more than a file may have, so that the reader of the file says that it is too long.
    let most = FILE_BYTES_MAX as u64 + 1;
    let opened = File::open(&at).and_then(|file| file.take(most).read_to_end(&mut bytes));
    if let Err(source) = opened {
        return Err(match source.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => {
                let message = format!("the mock file {shown} cannot be read: {source}");
                scenario.finding(&path.at, message).into()
            }
            _ => RunError::MockFile { path: at, source },
        });
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("byte {place} of the mock file {shown} is no UTF-8");
        scenario.finding(&path.at, message)
    })?;
    Ok(MockFile::parse(&shown, &text)?)
}

/// Refuses a mock whose time stands still until somebody turns it: in a scenario nobody does.
fn turned_by_itself(
    scenario: &Scenario,
    path: &Written<String>,
    file: MockFile,
) -> Result<MockFile, RunError> {
    match file.passage {
        Some(Passage::Stands) => {
            let message = "this mock's clock is turned by hand (`clock = \"manual\"`), and in a scenario nobody turns it";
            Err(scenario.finding(&path.at, message).into())
        }
        Some(Passage::Runs(_)) | None => Ok(file),
    }
}
