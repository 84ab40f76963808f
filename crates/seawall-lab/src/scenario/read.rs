//! Reads a scenario file, and tells all that is wrong with it at once.

mod client;
mod expect;
mod json;
mod policy;
mod step;

pub use expect::DEFAULT_ENDLESS;

use super::{FILE_BYTES_MAX, MockAt, Place, Scenario, ScenarioErrors, Work, Written};
use crate::error::{ScriptError, Source, shown};
use crate::file::{self, MockFile};
use seawall_core::time::Duration;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The most errors that are told of one file.
const ERRORS_MAX: usize = 50;
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

type Value<'a> = Spanned<DeValue<'a>>;
type Key<'a> = Spanned<DeString<'a>>;

impl Scenario {
    /// Reads a scenario file. `file` is what errors and reports call it.
    ///
    /// # Errors
    /// All that cannot be right, in the order of the file; of mistakes in TOML itself the first, and of a mock's tables
    /// the first.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioErrors> {
        Self::read_by(file, text, |reader, table| reader.scenario(table))
    }

    /// Reads expectations that stand alone, for a mock that runs: the keys of `[expect]` that a mock can answer to by
    /// itself, below that head or without it. What they are expected of has no steps.
    ///
    /// # Errors
    /// As [`Scenario::parse`]; also where nothing is expected.
    #[cfg(feature = "net")]
    pub(crate) fn expectations(name: &str, text: &str) -> Result<Self, ScenarioErrors> {
        Self::read_by(name, text, |reader, table| reader.bare_expectations(table))
    }

    fn read_by(
        file: &str,
        text: &str,
        read: impl FnOnce(&Reader<'_>, &DeTable<'_>) -> Option<Self>,
    ) -> Result<Self, ScenarioErrors> {
        let source = Source {
            name: Some(file),
            text,
        };
        if text.len() > FILE_BYTES_MAX {
            let message = format!(
                "the file is {} bytes long; the most is {FILE_BYTES_MAX}",
                text.len()
            );
            return Err(ScenarioErrors(vec![source.error(0..0, message)]));
        }
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = error.message().trim_end_matches('.').replace('\n', ", ");
            ScenarioErrors(vec![source.error(span, message)])
        })?;
        let reader = Reader::new(source);
        let scenario = read(&reader, document.get_ref());
        let mut faults = reader.faults.into_inner();
        faults.sort_by_key(|(at, _)| *at);
        match scenario {
            Some(scenario) if faults.is_empty() => Ok(scenario),
            Some(_) | None => Err(ScenarioErrors(
                faults.into_iter().map(|(_, fault)| fault).collect(),
            )),
        }
    }

    /// Reads a scenario file that may be no text: an editor's UTF-16, an archive, a picture.
    ///
    /// # Errors
    /// As [`Scenario::parse`], and bytes that are no UTF-8, at the first of them.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, ScenarioErrors> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text.strip_prefix('\u{feff}').unwrap_or(text)),
            Err(error) => {
                let sound = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let source = Source {
                    name: Some(file),
                    text: &sound,
                };
                let fault = source
                    .error(sound.len()..sound.len(), "from here on this is no UTF-8 text")
                    .expecting("a file saved as UTF-8");
                Err(ScenarioErrors(vec![fault]))
            }
        }
    }
}

/// Reads values and collects what is wrong with them: `None` has told why.
pub(super) struct Reader<'a> {
    source: Source<'a>,
    line_starts: Vec<usize>,
    /// The last place that was asked for, as byte and column: the next one is seldom far.
    last: Cell<(usize, usize)>,
    faults: RefCell<Vec<(usize, ScriptError)>>,
}

impl<'a> Reader<'a> {
    fn new(source: Source<'a>) -> Self {
        let ends = source.text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            source,
            line_starts: std::iter::once(0).chain(ends).collect(),
            last: Cell::new((0, 1)),
            faults: RefCell::default(),
        }
    }

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

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        // Looking for a line takes time, and this one will not be told.
        let span = if self.is_full() { 0..0 } else { span };
        self.source.error(span, message)
    }

    /// Whether as many errors are told as ever are.
    fn is_full(&self) -> bool {
        self.faults.borrow().len() >= ERRORS_MAX
    }

    /// Tells a fault; reads as nothing.
    fn fault<T>(&self, error: ScriptError) -> Option<T> {
        let line = self
            .line_starts
            .get(error.line() - 1)
            .copied()
            .unwrap_or_default();
        if !self.is_full() {
            self.faults.borrow_mut().push((line + error.column(), error));
        }
        None
    }

    fn place(&self, span: Range<usize>) -> Place {
        let line = self.line_starts.partition_point(|start| *start <= span.start);
        let (mut from, mut column) = (self.line_starts[line - 1], 1);
        let (last, last_column) = self.last.get();
        if (from..=span.start).contains(&last) {
            (from, column) = (last, last_column);
        }
        let between = self.source.text.get(from..span.start);
        column += between.map_or(0, |between| between.chars().count());
        self.last.set((span.start, column));
        Place { line, column, span }
    }

    /// A value of a key, and where both stand.
    fn written<T>(&self, key: &Key<'_>, value: &Value<'_>, read: T) -> Written<T> {
        let (from, to) = (key.span(), value.span());
        let end = to.end.max(from.end);
        Written {
            value: read,
            at: self.place(from.start..end),
        }
    }

    /// Every key that is not known is a fault.
    fn keys(&self, table: &DeTable<'_>, known: &[&str], what: &str) {
        for key in table
            .keys()
            .filter(|key| !known.contains(&key.get_ref().as_ref()))
        {
            if self.is_full() {
                return;
            }
            let name = key.get_ref().as_ref();
            let message = format!("{what} has no key `{}`", shown(name));
            self.fault::<()>(self.error(key.span(), message).expecting_one_of(name, known));
        }
    }

    fn table<'v, 'i>(&self, what: &str, value: &'v Value<'i>, right: &str) -> Option<&'v DeTable<'i>> {
        match value.get_ref().as_table() {
            Some(table) => Some(table),
            None => self.fault(
                self.error(value.span(), format!("{what} is no table"))
                    .expecting(right),
            ),
        }
    }

    fn string<'v>(&self, what: &str, value: &'v Value<'_>) -> Option<(&'v str, Range<usize>)> {
        match value.get_ref().as_str() {
            Some(text) => Some((text, value.span())),
            None => self.fault(
                self.error(value.span(), format!("{what} is no text"))
                    .expecting("a text in quotes"),
            ),
        }
    }

    /// One of several words.
    fn word<T: Copy>(&self, what: &str, value: &Value<'_>, known: &[(&str, T)]) -> Option<T> {
        let (text, span) = self.string(what, value)?;
        if let Some((_, found)) = known.iter().find(|(word, _)| *word == text) {
            return Some(*found);
        }
        if self.is_full() {
            return None;
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let message = format!("{what} cannot be `{}`", shown(text));
        self.fault(self.error(span, message).expecting_one_of(text, &words))
    }

    fn truth(&self, what: &str, value: &Value<'_>) -> Option<bool> {
        match value.get_ref().as_bool() {
            Some(truth) => Some(truth),
            None => self.fault(
                self.error(value.span(), format!("{what} is yes or no"))
                    .expecting("true or false"),
            ),
        }
    }

    /// An expectation that is there or is not: `false` would expect nothing and read as if it did.
    fn flag(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Place> {
        let what = key.get_ref();
        match self.truth(what, value)? {
            true => Some(self.written(key, value, ()).at),
            false => {
                let message = format!("{what} = false expects nothing");
                self.fault(
                    self.error(value.span(), message)
                        .expecting("true, or no such key"),
                )
            }
        }
    }

    fn count(&self, what: &str, value: &Value<'_>, min: u64, max: u64) -> Option<u64> {
        let read = value
            .get_ref()
            .as_integer()
            .and_then(|number| u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok());
        let expected = match max {
            u64::MAX => format!("a whole number from {min}"),
            max => format!("a whole number from {min} to {max}"),
        };
        match read {
            Some(count) if (min..=max).contains(&count) => Some(count),
            Some(count) => self.fault(
                self.error(value.span(), format!("{what} is {count}"))
                    .expecting(expected),
            ),
            None => self.fault(
                self.error(value.span(), format!("{what} is no such number"))
                    .expecting(expected),
            ),
        }
    }

    fn length(&self, what: &str, value: &Value<'_>) -> Option<Duration> {
        let (text, span) = self.string(what, value)?;
        match Duration::parse_units(text) {
            Some(length) => Some(length),
            None => self.fault(
                self.error(span, format!("{what}: `{}` is no length of time", shown(text)))
                    .expecting("500ms, 30s, 2m or 1h30m"),
            ),
        }
    }

    /// Reads a text that has a grammar of its own, at its place in the file where it stands there as it is.
    fn inside<T>(
        &self,
        text: &str,
        span: Range<usize>,
        read: impl Fn(Source<'_>, Range<usize>) -> Result<T, ScriptError>,
    ) -> Option<T> {
        if self.is_full() {
            return None;
        }
        let read = match file::unquoted(self.source, text, span.clone()) {
            Some(inner) => read(self.source, inner),
            None => {
                read(Source::bare(text), 0..text.len()).map_err(|error| error.moved_to(self.source, span))
            }
        };
        read.map_or_else(|error| self.fault(error), Some)
    }
}

/// The entries of a table in the order of the file.
fn in_order<'v, 'i>(table: &'v DeTable<'i>) -> Vec<(&'v Key<'i>, &'v Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A file's name without its folder and its `.toml`.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests;
