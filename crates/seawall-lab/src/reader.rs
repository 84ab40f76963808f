//! Reads values of a TOML file, and collects all that is wrong with them.
//!
//! What can go wrong: the first mistake hides the other four, and a file is read as often as it has mistakes; a mistake
//! without its place is looked for in the whole file. So a reader goes on after a fault, and every fault has its place.

mod alone;

use crate::error::{ScriptError, Source, shown};
use crate::file;
use crate::scenario::{Place, Written};
use seawall_core::time::Duration;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The most errors that are told of one file.
pub(crate) const ERRORS_MAX: usize = 50;

pub(crate) type Value<'a> = Spanned<DeValue<'a>>;
pub(crate) type Key<'a> = Spanned<DeString<'a>>;

/// Reads a file by `read`, which tells faults and gives nothing where one is in its way.
///
/// # Errors
/// All faults in the order of the file; of mistakes in TOML itself the first. Never none.
pub(crate) fn read_by<T>(
    file: &str,
    text: &str,
    bytes_max: usize,
    read: impl FnOnce(&Reader<'_>, &DeTable<'_>) -> Option<T>,
) -> Result<T, Vec<ScriptError>> {
    let source = Source {
        name: Some(file),
        text,
    };
    if text.len() > bytes_max {
        let message = format!("the file is {} bytes long; the most is {bytes_max}", text.len());
        return Err(vec![source.error(0..0, message)]);
    }
    let document = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim_end_matches('.').replace('\n', ", ");
        vec![source.error(span, message)]
    })?;
    let reader = Reader::new(source);
    let read = read(&reader, document.get_ref());
    let mut faults = reader.faults.into_inner();
    faults.sort_by_key(|(at, _)| *at);
    match read {
        Some(read) if faults.is_empty() => Ok(read),
        Some(_) | None => Err(faults.into_iter().map(|(_, fault)| fault).collect()),
    }
}

/// A file's bytes as text.
///
/// # Errors
/// Bytes that are no UTF-8, at the first of them: an editor's UTF-16, an archive, a picture.
pub(crate) fn text_of<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b str, ScriptError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Err(error) => {
            let sound = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let source = Source {
                name: Some(file),
                text: &sound,
            };
            let fault = source.error(sound.len()..sound.len(), "from here on this is no UTF-8 text");
            Err(fault.expecting("a file saved as UTF-8"))
        }
    }
}

/// Reads values and collects what is wrong with them: `None` has told why.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source<'a>,
    line_starts: Vec<usize>,
    /// The last place that was asked for, as byte and column: the next one is seldom far.
    last: Cell<(usize, usize)>,
    faults: RefCell<Vec<(usize, ScriptError)>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        let ends = source.text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            source,
            line_starts: std::iter::once(0).chain(ends).collect(),
            last: Cell::new((0, 1)),
            faults: RefCell::default(),
        }
    }

    pub(crate) fn error(&self, span: Range<usize>, message: impl Into<String>) -> ScriptError {
        // Looking for a line takes time, and this one will not be told.
        let span = if self.is_full() { 0..0 } else { span };
        self.source.error(span, message)
    }

    /// Whether as many errors are told as ever are.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.borrow().len() >= ERRORS_MAX
    }

    /// Tells a fault; reads as nothing.
    pub(crate) fn fault<T>(&self, error: ScriptError) -> Option<T> {
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

    pub(crate) fn place(&self, span: Range<usize>) -> Place {
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
    pub(crate) fn written<T>(&self, key: &Key<'_>, value: &Value<'_>, read: T) -> Written<T> {
        let (from, to) = (key.span(), value.span());
        let end = to.end.max(from.end);
        Written {
            value: read,
            at: self.place(from.start..end),
        }
    }

    /// Every key that is not known is a fault.
    pub(crate) fn keys(&self, table: &DeTable<'_>, known: &[&str], what: &str) {
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

    pub(crate) fn table<'v, 'i>(
        &self,
        what: &str,
        value: &'v Value<'i>,
        right: &str,
    ) -> Option<&'v DeTable<'i>> {
        match value.get_ref().as_table() {
            Some(table) => Some(table),
            None => self.fault(
                self.error(value.span(), format!("{what} is no table"))
                    .expecting(right),
            ),
        }
    }

    pub(crate) fn string<'v>(&self, what: &str, value: &'v Value<'_>) -> Option<(&'v str, Range<usize>)> {
        match value.get_ref().as_str() {
            Some(text) => Some((text, value.span())),
            None => self.fault(
                self.error(value.span(), format!("{what} is no text"))
                    .expecting("a text in quotes"),
            ),
        }
    }

    /// One of several words.
    pub(crate) fn word<T: Copy>(&self, what: &str, value: &Value<'_>, known: &[(&str, T)]) -> Option<T> {
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

    pub(crate) fn truth(&self, what: &str, value: &Value<'_>) -> Option<bool> {
        match value.get_ref().as_bool() {
            Some(truth) => Some(truth),
            None => self.fault(
                self.error(value.span(), format!("{what} is yes or no"))
                    .expecting("true or false"),
            ),
        }
    }

    /// An expectation that is there or is not: `false` would expect nothing and read as if it did.
    pub(crate) fn flag(&self, key: &Key<'_>, value: &Value<'_>) -> Option<Place> {
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

    pub(crate) fn count(&self, what: &str, value: &Value<'_>, min: u64, max: u64) -> Option<u64> {
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

    pub(crate) fn length(&self, what: &str, value: &Value<'_>) -> Option<Duration> {
        let (text, span) = self.string(what, value)?;
        match Duration::parse_units(text) {
            // What is longer is cut to the greatest, and would stand in reports as another length than was written.
            Some(Duration::MAX) => self.fault(
                self.error(
                    span,
                    format!("{what}: `{}` is longer than any length of time", shown(text)),
                )
                .expecting(format!("less than {}", Duration::MAX)),
            ),
            Some(length) => Some(length),
            None => self.fault(
                self.error(span, format!("{what}: `{}` is no length of time", shown(text)))
                    .expecting("500ms, 30s, 2m or 1h30m"),
            ),
        }
    }

    /// Reads a text that has a grammar of its own, at its place in the file where it stands there as it is.
    pub(crate) fn inside<T>(
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
pub(crate) fn in_order<'v, 'i>(table: &'v DeTable<'i>) -> Vec<(&'v Key<'i>, &'v Value<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A file's name without its folder and its `.toml`.
pub(crate) fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.strip_suffix(".toml").unwrap_or(name).to_owned()
}
