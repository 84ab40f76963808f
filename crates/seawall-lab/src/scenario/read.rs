//! Reads a scenario file, and tells all that is wrong with it at once.

mod client;
mod expect;
mod json;
mod policy;
mod step;

pub use expect::DEFAULT_ENDLESS;

use super::{FILE_BYTES_MAX, MockAt, Scenario, ScenarioErrors, Work};
use crate::file::MockFile;
use crate::reader::{self, Key, Reader, Value, in_order, stem};
use toml::de::{DeTable, DeValue};

/// The keys of a scenario file.
pub(super) const TOP_KEYS: [&str; 6] = ["name", "seed", "mock", "step", "client", "expect"];

/// The keys of `[expect]` that a mock can answer to by itself.
#[cfg(feature = "net")]
pub(crate) const ALONE_KEYS: [&str; 8] = [
    "attempts",
    "same_key",
    "same_body",
    "resources",
    "waits",
    "never",
    "schedule",
    "observe",
];

impl Scenario {
    /// Reads a scenario file. `file` is what errors and reports call it.
    ///
    /// # Errors
    /// All that cannot be right, in the order of the file; of mistakes in TOML itself the first, and of a mock's tables
    /// the first.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioErrors> {
        reader::read_by(file, text, FILE_BYTES_MAX, |reader, table| reader.scenario(table))
            .map_err(ScenarioErrors)
    }

    /// Reads expectations that stand alone, for a mock that runs: the keys of `[expect]` that a mock can answer to by
    /// itself, below that head or without it. What they are expected of has no steps.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; also where nothing is expected.
    #[cfg(feature = "net")]
    pub(crate) fn expectations(name: &str, text: &str) -> Result<Self, ScenarioErrors> {
        let read = |reader: &Reader<'_>, table: &DeTable<'_>| reader.bare_expectations(table);
        reader::read_by(name, text, FILE_BYTES_MAX, read).map_err(ScenarioErrors)
    }

    /// Reads a scenario file that may be no text: an editor's UTF-16, an archive, a picture.
    ///
    /// # Errors
    /// As [`Scenario::parse`], and bytes that are no UTF-8, at the first of them.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, ScenarioErrors> {
        let text = reader::text_of(file, bytes).map_err(|error| ScenarioErrors(vec![error]))?;
        Self::parse(file, text)
    }
}

impl Reader<'_> {
    fn scenario(&self, table: &DeTable<'_>) -> Option<Scenario> {
        self.keys(table, &TOP_KEYS, "a scenario");
        let name = table.get("name").and_then(|value| self.string("name", value));
        let name = name.map_or_else(
            || stem(self.source.name.unwrap_or_default()),
            |(name, _)| name.to_owned(),
        );
        let seed = table
            .get("seed")
            .and_then(|value| self.count("seed", value, 0, u64::MAX));
        let mock = self.mock(table);
        let work = self.work(table);
        let expect = match table.get("expect") {
            Some(value) => self.expect(value, work.as_ref()),
            None => Some(super::Expect::default()),
        };
        Some(Scenario {
            name,
            seed,
            mock: mock?,
            work: work?,
            expect: expect?,
            file: self.source.name.unwrap_or_default().into(),
            text: self.source.text.into(),
        })
    }

    #[cfg(feature = "net")]
    fn bare_expectations(&self, table: &DeTable<'_>) -> Option<Scenario> {
        let table = match table.get("expect") {
            Some(value) if table.len() == 1 => {
                self.table("expect", value, "[expect] with attempts, never, …")?
            }
            Some(_) | None => table,
        };
        self.keys(table, &ALONE_KEYS, "what a mock can be asked");
        if table.is_empty() {
            let error = self.error(0..0, "nothing is expected");
            return self
                .fault(error.expecting("attempts = { \"/v1/payments\" = 2 }, never = [\"overlap\"], …"));
        }
        Some(Scenario {
            name: stem(self.source.name.unwrap_or_default()),
            seed: None,
            mock: MockAt::Inline(Box::default()),
            work: Work::Steps(Vec::new()),
            expect: self.expect_in(table, None)?,
            file: self.source.name.unwrap_or_default().into(),
            text: self.source.text.into(),
        })
    }

    fn mock(&self, table: &DeTable<'_>) -> Option<MockAt> {
        let right = "[[mock.route]] with match and script, or mock = \"mocks/pay.toml\"";
        let Some((key, value)) = table.get_key_value("mock") else {
            return self.fault(self.error(0..0, "this scenario has no mock").expecting(right));
        };
        match value.get_ref() {
            DeValue::String(path) if path.is_empty() => {
                self.fault(self.error(value.span(), "mock names no file").expecting(right))
            }
            DeValue::String(path) => Some(MockAt::Path(self.written(key, value, path.clone().into_owned()))),
            DeValue::Table(tables) => {
                if let Some((key, _)) = tables.get_key_value("listen") {
                    let message = "a scenario's mock listens on a port of its own choice";
                    self.fault::<()>(self.error(key.span(), message).expecting("no `listen` here"));
                }
                if let Some((key, _)) = tables.get_key_value("clock") {
                    let message = "nobody turns the clock of a scenario's mock by hand";
                    self.fault::<()>(self.error(key.span(), message).expecting("no `clock` here"));
                }
                match MockFile::read(self.source, tables, "a mock") {
                    Ok(file) => Some(MockAt::Inline(Box::new(file))),
                    Err(error) => self.fault(error),
                }
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => self.fault(self.error(value.span(), "this is no mock").expecting(right)),
        }
    }

    fn work(&self, table: &DeTable<'_>) -> Option<Work> {
        match (table.get_key_value("step"), table.get_key_value("client")) {
            (Some((_, steps)), None) => self.steps(steps).map(Work::Steps),
            (None, Some((key, client))) => self.client(key, client).map(Work::Client),
            (Some(_), Some((key, _))) => {
                let message = "a scenario has steps or a client, not both";
                let fix = "[[step]] for calls that seawall makes, client for a program under test";
                self.fault(self.error(key.span(), message).expecting(fix))
            }
            (None, None) => {
                let message = "nobody calls this scenario's mock";
                let fix =
                    "[[step]] with send = \"POST /v1/payments\", or client = { run = \"python3 pay.py\" }";
                self.fault(self.error(0..0, message).expecting(fix))
            }
        }
    }
}

#[cfg(test)]
mod tests;
