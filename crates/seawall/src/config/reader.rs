use super::error::{Fault, SHOWN_MAX};
use super::types::{Later, NotEnforced, Place, Remark};
use super::{ConfigError, ConfigErrors, FILE_BYTES_MAX, blot, keys};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

pub(super) type Key<'i> = Spanned<DeString<'i>>;
pub(super) type Value<'i> = Spanned<DeValue<'i>>;

/// How far around a fault its line is looked at, in bytes.
const NEAR_BYTES: usize = 4_096;
/// The longest part of a line that an error quotes, in characters.
const QUOTED_CHARS_MAX: usize = 120;

/// The text of a file, or where it stops being one.
pub(super) fn text_of<'b>(file: &str, bytes: &'b [u8]) -> Result<&'b str, ConfigErrors> {
    let error = |offset: usize, message: &str, help: &str| {
        // What stands before the first byte that is no text is text.
        let text = String::from_utf8_lossy(&bytes[..offset]);
        let (span, message, help) = (text.len()..text.len(), message.to_owned(), help.to_owned());
        ConfigErrors::from(Source::new(file, &text).error(Fault { span, message, help }))
    };
    if bytes.len() > FILE_BYTES_MAX {
        return Err(too_long(file, bytes.len()));
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(error(0, "this file is UTF-16", "save it as UTF-8"));
    }
    std::str::from_utf8(bytes).map_err(|wrong| {
        let message = format!(
            "the byte 0x{:02x} here is no UTF-8 text",
            bytes[wrong.valid_up_to()]
        );
        error(
            wrong.valid_up_to(),
            &message,
            "save the file as UTF-8, or name the file that you meant",
        )
    })
}

fn too_long(file: &str, bytes: usize) -> ConfigErrors {
    let message = format!("the file is {bytes} bytes long; the most is {FILE_BYTES_MAX}");
    let help = "name the file that you meant: a seawall.toml takes a few hundred lines".to_owned();
    let span = 0..0;
    Source::new(file, "").error(Fault { span, message, help }).into()
}

/// A file's text, with the secrets that were found in it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    file: Arc<str>,
    text: Arc<str>,
    /// Where each line begins.
    lines: Arc<[usize]>,
    secrets: Vec<Range<usize>>,
}

impl Source {
    fn new(file: &str, text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file: file.into(),
            text: text.into(),
            lines: std::iter::once(0).chain(starts).collect(),
            secrets: Vec::new(),
        }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1, that this byte is in.
    fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|begin| *begin <= at)
    }

    pub(super) fn place(&self, span: Range<usize>) -> Place {
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        let line = self.line(start);
        let column = self.text[self.lines[line - 1]..start].chars().count() + 1;
        Place { line, column, span }
    }

    /// What stands at a place, on one line, without secrets.
    pub(super) fn written(&self, at: &Place) -> String {
        let text = self.text.get(at.span.clone()).unwrap_or_default();
        let known = self.secrets.iter().filter(|secret| at.span.start <= secret.start);
        let known: Vec<Range<usize>> = known
            .map(|secret| secret.start - at.span.start..secret.end - at.span.start)
            .collect();
        let words: Vec<String> = blot::line(text, &known)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        words.join(" ")
    }

    pub(super) fn error(&self, fault: Fault) -> ConfigError {
        let Fault { span, message, help } = fault;
        let Place { line, column, span } = self.place(span);
        let begin = self.lines[line - 1];
        let end = self.text[begin..]
            .find('\n')
            .map_or(self.text.len(), |at| begin + at);
        let start = self.text.floor_char_boundary(span.start.min(self.text.len()));
        let stop = self
            .text
            .floor_char_boundary(span.end.clamp(start, end.max(start)));
        let (from, near) = self.near(begin..end, start);
        let before = self.text[from..start].chars().count();
        // A fault near the end of a long line keeps some of what stands before it.
        let is_long = from > begin || near.chars().nth(QUOTED_CHARS_MAX).is_some();
        let kept = if is_long { QUOTED_CHARS_MAX / 2 } else { before };
        let skipped = before.saturating_sub(kept);
        let width = self.text[start..stop].chars().take(QUOTED_CHARS_MAX / 2).count();
        ConfigError {
            file: self.file.to_string(),
            line,
            column,
            width: width.max(1),
            text: clipped(&near, skipped),
            message,
            help,
            before: before - skipped,
        }
    }

    /// What stands around a fault in its line, and where that begins, without secrets. A line of a megabyte is not looked
    /// through for each of its faults.
    fn near(&self, line: Range<usize>, fault: usize) -> (usize, String) {
        let from = self
            .text
            .floor_char_boundary(fault.saturating_sub(NEAR_BYTES).max(line.start));
        let to = self.text.floor_char_boundary((fault + NEAR_BYTES).min(line.end));
        let text = self.text[from..to].trim_end_matches('\r');
        let here = self
            .secrets
            .iter()
            .filter(|secret| secret.start < to && secret.end > from);
        let mut secrets: Vec<Range<usize>> = here
            .map(|secret| secret.start.saturating_sub(from)..secret.end - from)
            .collect();
        if from > line.start {
            // Who knows what the word is whose beginning is not in sight.
            secrets.push(0..text.find([' ', '"', '\'']).unwrap_or(text.len()));
        }
        (from, blot::line(text, &secrets))
    }
}

/// As much of a line as an error shows, with a mark where more stands before or after.
fn clipped(line: &str, skipped: usize) -> String {
    let clean = |c: char| {
        if c.is_control() && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    let mut shown: Vec<char> = line
        .chars()
        .skip(skipped)
        .take(QUOTED_CHARS_MAX)
        .map(clean)
        .collect();
    if skipped > 0
        && let Some(first) = shown.first_mut()
    {
        *first = '…';
    }
    if line.chars().nth(skipped + QUOTED_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown.into_iter().collect()
}

/// A key that was read.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Where the outermost table that it is in begins.
    pub(super) table: usize,
    pub(super) key: &'static keys::Key,
    /// Its value.
    pub(super) at: Place,
}

/// What was read of a file beside its values.
pub(super) struct Found {
    pub(super) source: Source,
    pub(super) seen: Vec<Seen>,
    pub(super) later: Vec<NotEnforced>,
    pub(super) remarks: Vec<Remark>,
}

/// One file under way: its text, and what was found in it so far.
pub(super) struct Reader<'a> {
    text: &'a str,
    source: RefCell<Source>,
    faults: RefCell<Vec<Fault>>,
    /// Errors that are only counted.
    more: Cell<usize>,
    later: RefCell<Vec<NotEnforced>>,
    seen: RefCell<Vec<Seen>>,
    remarks: RefCell<Vec<Remark>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &str, text: &'a str) -> Result<Self, ConfigErrors> {
        if text.len() > FILE_BYTES_MAX {
            return Err(too_long(file, text.len()));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Self {
            text,
            source: RefCell::new(Source::new(file, text)),
            faults: RefCell::default(),
            more: Cell::new(0),
            later: RefCell::default(),
            seen: RefCell::default(),
            remarks: RefCell::default(),
        })
    }

    /// The document. Where TOML itself is broken the rest cannot be trusted, so nothing else is told then.
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'a>>, ConfigErrors> {
        let (document, broken) = DeTable::parse_recoverable(self.text);
        let faults = broken.iter().map(|error| Fault {
            span: error.span().unwrap_or(0..0),
            message: error.message().trim_end_matches('.').replace('\n', ", "),
            help: self.advice(error.message(), error.span()),
        });
        let mut faults: Vec<Fault> = faults.collect();
        for fault in faults.iter().filter(|fault| fault.message.contains("multi-line")) {
            // What a text over several lines is the value of stands out of sight, and so does whether it is a secret.
            let line = self
                .text
                .get(..fault.span.start)
                .and_then(|before| before.rfind('\n'))
                .map_or(0, |at| at + 1);
            self.secret(line..fault.span.end.max(line));
        }
        // One slip makes several complaints on its line; the first is about the slip.
        faults.sort_by_key(|fault| fault.span.start);
        let source = self.source.borrow();
        faults.dedup_by_key(|fault| source.line(fault.span.start));
        ConfigErrors::of(&source, faults, 0).map_or(Ok(document), Err)
    }

    /// What to do about a mistake of TOML.
    fn advice(&self, message: &str, span: Option<Range<usize>>) -> String {
        let here = span
            .and_then(|span| self.text.get(span.start..))
            .unwrap_or_default();
        let advice = if message.contains("duplicate key") {
            "a key stands in its table once, and a table in its file; join the two, or take one out"
        } else if message.contains("must be quoted") {
            "put the text in quotes"
        } else if here.starts_with(':') {
            "a key and its value are joined by `=`"
        } else {
            ""
        };
        advice.to_owned()
    }

    /// What was read, if nothing in the file was wrong.
    pub(super) fn finish<T>(self, read: T) -> Result<T, ConfigErrors> {
        let (source, faults) = (self.source.into_inner(), self.faults.into_inner());
        ConfigErrors::of(&source, faults, self.more.get()).map_or(Ok(read), Err)
    }

    /// Takes out what a whole file's reading found beside errors.
    pub(super) fn found(&self) -> Found {
        let (mut later, mut remarks) = (self.later.take(), self.remarks.take());
        later.sort_by_key(|later| later.at.span.start);
        later.dedup();
        remarks.sort_by_key(|remark| remark.at.span.start);
        let (source, seen) = (self.source.borrow().clone(), self.seen.take());
        Found {
            source,
            seen,
            later,
            remarks,
        }
    }

    /// Notes that a key is there.
    pub(super) fn see(&self, table: usize, key: &'static keys::Key, span: Range<usize>) {
        let at = self.place(span);
        self.seen.borrow_mut().push(Seen { table, key, at });
    }

    pub(super) fn place(&self, span: Range<usize>) -> Place {
        self.source.borrow().place(span)
    }

    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        if self.is_full() {
            return self.more.set(self.more.get() + 1);
        }
        let (message, help) = (message.into(), help.into());
        self.faults.borrow_mut().push(Fault { span, message, help });
    }

    /// Whether more errors were found than anybody reads; those that follow need no words.
    pub(super) fn is_full(&self) -> bool {
        self.faults.borrow().len() > SHOWN_MAX
    }

    pub(super) fn remark(&self, span: Range<usize>, text: String) {
        let at = self.place(span);
        self.remarks.borrow_mut().push(Remark { at, text });
    }

    /// A key or a value that is read and that nothing obeys yet.
    pub(super) fn later(&self, what: Later, span: Range<usize>) {
        let at = self.place(span);
        self.later.borrow_mut().push(NotEnforced { what, at });
    }

    /// From here on no error shows what stands at this place.
    pub(super) fn secret(&self, span: Range<usize>) {
        self.source.borrow_mut().secrets.push(span);
    }
}

/// The nearest known word, or all of them where none is near.
pub(super) fn suggestion(given: &str, known: &[&str]) -> String {
    match nearest(given, known) {
        Some(word) => format!("the nearest known is `{word}`"),
        None => format!("known are {}", known.join(", ")),
    }
}

/// The known word that was probably meant.
pub(super) fn nearest<'k>(given: &str, known: &[&'k str]) -> Option<&'k str> {
    let by_letters = known
        .iter()
        .map(|word| (distance(given, word), *word))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, word)| *distance <= 1 + word.len() / 3);
    // `max_retries` is far from `retries` by letters and close by meaning.
    let by_part = || {
        let parts = |text: &str| text.split(['_', '-']).map(str::to_lowercase).collect::<Vec<_>>();
        let given = parts(given);
        known
            .iter()
            .copied()
            .find(|word| word.len() > 3 && parts(word).iter().all(|part| given.contains(part)))
    };
    by_letters.map(|(_, word)| word).or_else(by_part)
}

/// How many letters must be put in, taken out, changed or swapped with their neighbour.
pub(super) fn distance(one: &str, two: &str) -> usize {
    let one: Vec<char> = one.to_lowercase().chars().take(64).collect();
    let two: Vec<char> = two.chars().take(64).collect();
    let mut rows = vec![(0..=two.len()).collect::<Vec<_>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=two.len() {
            let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != two[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == two[j - 2] && one[i - 2] == two[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][two.len()]
}
