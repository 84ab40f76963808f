//! Reads the input: once to judge every row before anything is sent, and once more, row by row, to send it.
//!
//! What can go wrong: a fault found at row 900,000 after 899,999 paid answers; a million rows kept in memory; a file
//! that changes between the two readings. So the first reading keeps [`Row`]s and ids alone (56 bytes each, 4 more to
//! find them by id, and the id: some 80 MB for a million), the second reads in the same order, which packed files allow too, and
//! compares each row's hash with the first.

mod code;
pub(crate) mod lines;
mod open;
mod row;

pub use code::{FaultCode, Scope, WarningCode};
pub use row::{AbsoluteUrls, DEPTH_MAX, ID_CHARS_USUAL_MAX, RowRules};

use crate::error::BatchError;
use lines::{Line, Lines, Place};
use open::{OpenError, Opened};
use row::{Parsed, Problem};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Longest line that is read: 64 MiB; the longest of a public eval set is 43 MB.
pub const LINE_BYTES_MAX_DEFAULT: u64 = 64 * 1024 * 1024;
/// Faults that are told one by one; more are only counted, so that a million bad rows need no memory.
pub const FAULTS_LISTED_MAX: usize = 1_000;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// How input is read.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What holds for every row.
    pub row: RowRules,
    /// Longest line, in bytes.
    pub line_bytes_max: u64,
}

/// A 128-bit hash: of an id, or of what would be sent. Not for secrets; two of a million rows meet by chance with
/// a probability below 10⁻²⁶.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash([u64; 2]);

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_u128(xxh3_128(bytes))
    }

    /// The hash that prints as these 32 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        digits
            .then(|| u128::from_str_radix(text, 16).ok().map(Self::from_u128))
            .flatten()
    }

    #[expect(clippy::cast_possible_truncation, reason = "two halves of one number")]
    const fn from_u128(hash: u128) -> Self {
        Self([(hash >> 64) as u64, hash as u64])
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0[0], self.0[1])
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// In neither file.
    Pending,
    /// In the output.
    Answered,
    /// In the error file.
    Failed,
}

/// What is kept of a row: 56 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its id.
    pub id: Hash,
    /// What would be sent: method, path and body.
    pub sends: Hash,
    /// Its physical line, from 1.
    pub line: u64,
    /// Where its id begins in the scan's text of all ids; the next row's begins where it ends.
    id_start: u64,
    /// Its file, counted from 0.
    pub file: u32,
    /// What became of it.
    pub state: RowState,
}

/// One input file, as the first reading found it.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its path, as given.
    pub path: PathBuf,
    /// Its bytes, unpacked.
    pub bytes: u64,
    /// The hash of its lines.
    pub content: Hash,
    /// Its rows, the faulty ones included.
    pub rows: u64,
}

/// Something wrong, where it stands, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stable code.
    pub code: FaultCode,
    /// The file.
    pub path: PathBuf,
    /// The lines; none where it is about the whole file.
    pub lines: Vec<u64>,
    /// What is wrong and what to do.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.lines.first() {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} [{}]", self.text, self.code.code())
    }
}

/// How often something odd was seen, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warned {
    /// How often.
    pub count: u64,
    /// The file of the first.
    pub path: PathBuf,
    /// The line of the first.
    pub line: u64,
}

/// What the first reading found.
#[derive(Debug, Default)]
pub struct Scan {
    /// The rows that can be sent, in order.
    pub rows: Vec<Row>,
    /// The files.
    pub inputs: Vec<Input>,
    /// What is wrong, the first [`FAULTS_LISTED_MAX`].
    pub faults: Vec<Fault>,
    /// Faults of rows, listed or not: rows that `--skip-invalid` leaves out.
    pub rows_faulty: u64,
    /// Faults that no leaving out mends.
    pub files_faulty: u64,
    /// What is odd.
    pub warnings: BTreeMap<WarningCode, Warned>,
    by_id: Vec<u32>,
    ids: String,
}

impl Scan {
    /// The id of the row at this place of [`Scan::rows`].
    pub fn id(&self, at: usize) -> &str {
        let place = |row: &Row| usize::try_from(row.id_start).unwrap_or(usize::MAX);
        let start = self.rows.get(at).map_or(self.ids.len(), place);
        let end = self.rows.get(at + 1).map_or(self.ids.len(), place);
        self.ids.get(start..end).unwrap_or_default()
    }

    /// The place of the row of this id among [`Scan::rows`].
    pub fn find(&self, id: Hash) -> Option<usize> {
        let row = |at: &u32| self.rows[*at as usize].id;
        self.by_id
            .binary_search_by_key(&id, row)
            .ok()
            .map(|at| self.by_id[at] as usize)
    }

    fn fault(&mut self, path: &Path, lines: Vec<u64>, problem: Problem) {
        match problem.code.scope() {
            Scope::Row => self.rows_faulty += 1,
            Scope::File => self.files_faulty += 1,
        }
        if self.faults.len() < FAULTS_LISTED_MAX {
            self.faults.push(Fault {
                code: problem.code,
                path: path.to_owned(),
                lines,
                text: problem.text,
            });
        }
    }

    fn warn(&mut self, code: WarningCode, path: &Path, line: u64) {
        let first = || Warned {
            count: 0,
            path: path.to_owned(),
            line,
        };
        self.warnings.entry(code).or_insert_with(first).count += 1;
    }

    fn index_ids(&mut self) {
        let rows = &self.rows;
        let count = u32::try_from(rows.len()).expect("scan_file refuses more rows than a u32 counts");
        let mut by_id: Vec<u32> = (0..count).collect();
        // By place too, so that of equal ids the earlier line is named first.
        by_id.sort_unstable_by_key(|at| (rows[*at as usize].id, *at));
        let twice: Vec<(usize, usize)> = by_id
            .windows(2)
            .map(|pair| (pair[0] as usize, pair[1] as usize))
            .filter(|(first, second)| rows[*first].id == rows[*second].id)
            .collect();
        self.by_id = by_id;
        for (first_at, second_at) in twice {
            let (first, second) = (self.rows[first_at], self.rows[second_at]);
            let first_path = self.inputs[first.file as usize].path.clone();
            let second_path = self.inputs[second.file as usize].path.clone();
            let problem = Problem {
                code: FaultCode::DupId,
                text: format!(
                    "the id {:?} is that of {}:{} too; an id names one row: change one, or leave one out",
                    self.id(second_at),
                    first_path.display(),
                    first.line
                ),
            };
            self.fault(&second_path, vec![second.line, first.line], problem);
        }
    }
}

/// Reads every file once and judges every row. Finding faults is no error here.
///
/// # Errors
/// [`BatchError::Io`] where the system cannot read.
pub fn scan(paths: &[PathBuf], rules: &Rules) -> Result<Scan, BatchError> {
    let mut scan = Scan::default();
    for path in paths {
        scan_file(&mut scan, path, rules)?;
    }
    scan.index_ids();
    Ok(scan)
}

fn scan_file(scan: &mut Scan, path: &Path, rules: &Rules) -> Result<(), BatchError> {
    let file = u32::try_from(scan.inputs.len()).expect("a command line is shorter than that");
    let mut input = Input {
        path: path.to_owned(),
        bytes: 0,
        content: Hash::of(b""),
        rows: 0,
    };
    let scanned = scan_lines(scan, path, rules, file, &mut input);
    let rows = input.rows;
    scan.inputs.push(input);
    match scanned {
        Ok(()) if rows == 0 => {
            let text = "the file has no rows; is it the right one?".to_owned();
            let code = FaultCode::Empty;
            scan.fault(path, Vec::new(), Problem { code, text });
            Ok(())
        }
        Ok(()) => Ok(()),
        Err(OpenError::Kind(problem)) => {
            scan.fault(path, Vec::new(), problem);
            Ok(())
        }
        Err(OpenError::Io(error)) => Err(BatchError::io("read", path, error)),
    }
}

fn scan_lines(
    scan: &mut Scan,
    path: &Path,
    rules: &Rules,
    file: u32,
    input: &mut Input,
) -> Result<(), OpenError> {
    let Opened { reader, separator } = open::open(path)?;
    if separator == lines::Separator::Cr {
        scan.warn(WarningCode::CrOnly, path, 1);
    }
    let mut lines = Lines::new(reader, separator, rules.line_bytes_max);
    let mut content = Xxh3::new();
    loop {
        let line = lines.read().map_err(|error| open::stream_error(path, error))?;
        let Some(line) = line else { break };
        match line {
            Line::TooLong { length, place } => {
                input.rows += 1;
                let text = format!(
                    "the line has {length} bytes; the most is {}: split it, or raise --max-line",
                    rules.line_bytes_max
                );
                let code = FaultCode::LineTooLong;
                scan.fault(path, vec![place.number], Problem { code, text });
            }
            Line::Whole {
                bytes,
                place,
                tail: _,
            } => {
                content.update(bytes);
                content.update(b"\n");
                scan_line(scan, path, rules, file, bytes, place, input);
            }
        }
    }
    input.bytes = lines.bytes_read();
    input.content = Hash::from_u128(content.digest128());
    Ok(())
}

fn scan_line(
    scan: &mut Scan,
    path: &Path,
    rules: &Rules,
    file: u32,
    bytes: &[u8],
    place: Place,
    input: &mut Input,
) {
    let (bytes, place) = without_bom(bytes, place);
    if place.bom {
        let code = if place.number == 1 {
            WarningCode::Bom
        } else {
            WarningCode::BomMid
        };
        scan.warn(code, path, place.number);
    }
    if is_blank(bytes) {
        scan.warn(WarningCode::Blank, path, place.number);
        return;
    }
    input.rows += 1;
    match row::parse(bytes, place.offset, place.number, &rules.row) {
        Ok(_) if scan.rows.len() >= u32::MAX as usize => {
            let code = FaultCode::Form;
            let text = "more than 4,294,967,295 rows; split the input".to_owned();
            scan.fault(path, vec![place.number], Problem { code, text });
        }
        Ok(parsed) => {
            for code in &parsed.warnings {
                scan.warn(*code, path, place.number);
            }
            scan.rows.push(Row {
                id: Hash::of(parsed.id.as_bytes()),
                sends: sends(&parsed),
                line: place.number,
                id_start: scan.ids.len() as u64,
                file,
                state: RowState::Pending,
            });
            scan.ids.push_str(&parsed.id);
        }
        Err(problem) => scan.fault(path, vec![place.number], problem),
    }
}

struct Unmarked {
    number: u64,
    offset: u64,
    bom: bool,
}

fn without_bom(bytes: &[u8], place: Place) -> (&[u8], Unmarked) {
    let stripped = bytes.strip_prefix(BOM);
    let cut = if stripped.is_some() { BOM.len() as u64 } else { 0 };
    let unmarked = Unmarked {
        number: place.number,
        offset: place.offset + cut,
        bom: stripped.is_some(),
    };
    (stripped.unwrap_or(bytes), unmarked)
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// What a row sends, as one hash; lengths go in too, so that no byte can move from one part to the next unseen.
fn sends(parsed: &Parsed<'_>) -> Hash {
    let mut hash = Xxh3::new();
    for part in [&parsed.method, &parsed.path, &parsed.body] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    Hash::from_u128(hash.digest128())
}

/// A row as it is sent.
#[derive(Debug)]
pub(crate) struct Sendable {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: bytes::Bytes,
}

/// The second reading: hands out pending rows in order.
pub(crate) struct Rows {
    inputs: Vec<Input>,
    rules: Rules,
    current: Option<(u32, Lines<Box<dyn BufRead + Send>>)>,
    next: usize,
}

impl Rows {
    pub(crate) fn new(inputs: Vec<Input>, rules: Rules) -> Self {
        Self {
            inputs,
            rules,
            current: None,
            next: 0,
        }
    }

    /// The next pending row of `rows` and its place there; nothing after the last.
    pub(crate) fn read(&mut self, rows: &[Row]) -> Result<Option<(usize, Sendable)>, BatchError> {
        while let Some(row) = rows.get(self.next) {
            let at = self.next;
            self.next += 1;
            match row.state {
                RowState::Answered | RowState::Failed => {}
                RowState::Pending => return self.read_row(row).map(|sendable| Some((at, sendable))),
            }
        }
        Ok(None)
    }

    fn read_row(&mut self, row: &Row) -> Result<Sendable, BatchError> {
        let path = &self.inputs[row.file as usize].path;
        let changed = || BatchError::InputChanged {
            path: path.clone(),
            line: row.line,
        };
        let lines = match &mut self.current {
            Some((file, lines)) if *file == row.file => lines,
            Some(_) | None => {
                let opened = open::open(path).map_err(|error| match error {
                    OpenError::Kind(_) => changed(),
                    OpenError::Io(error) => BatchError::io("read", path, error),
                })?;
                let lines = Lines::new(opened.reader, opened.separator, self.rules.line_bytes_max);
                &mut self.current.insert((row.file, lines)).1
            }
        };
        loop {
            let read = lines
                .read()
                .map_err(|error: io::Error| BatchError::io("read", path, error))?;
            match read {
                Some(Line::Whole {
                    bytes,
                    place,
                    tail: _,
                }) if place.number == row.line => {
                    let (bytes, place) = without_bom(bytes, place);
                    let parsed = row::parse(bytes, place.offset, place.number, &self.rules.row)
                        .map_err(|_| changed())?;
                    if Hash::of(parsed.id.as_bytes()) != row.id || sends(&parsed) != row.sends {
                        return Err(changed());
                    }
                    return Ok(Sendable {
                        id: parsed.id.into_owned(),
                        method: parsed.method.into_owned(),
                        path: parsed.path.into_owned(),
                        body: bytes::Bytes::copy_from_slice(parsed.body.as_bytes()),
                    });
                }
                Some(Line::Whole { place, .. } | Line::TooLong { place, .. }) if place.number < row.line => {}
                Some(_) | None => return Err(changed()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
