//! The `rows` file: what each id would send, one line a row: `HASH FILE:LINE "id"`.

use crate::error::{BatchError, Change, ChangedRow};
use crate::input::lines::{Line, Lines, Separator};
use crate::input::{Hash, Scan};
use crate::json;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

const HEAD: &str = "seawall-rows 1";
/// Changed rows that are named; more are only counted.
pub(super) const CHANGED_LISTED_MAX: usize = 20;

/// How many of this run's rows the earlier one knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// All: nothing to write down.
    All,
    /// Not all: rows came since.
    Fewer,
}

/// Refuses when a row of the earlier run is missing or would send something else. Rows that came since are fine.
pub(crate) fn compare(path: &Path, scan: &Scan) -> Result<Known, BatchError> {
    let damaged = |number: u64| BatchError::Audit {
        path: path.to_owned(),
        text: format!(
            "line {number} is not what a run writes; --fresh starts over and keeps the old files under other names"
        ),
    };
    let file = File::open(path).map_err(|error| BatchError::io("read", path, error))?;
    let mut lines = Lines::new(BufReader::new(file), Separator::Lf, u64::MAX);
    let mut listed = Vec::new();
    let mut count = 0;
    let mut same = 0;
    let mut first = true;
    while let Some(line) = lines
        .read()
        .map_err(|error| BatchError::io("read", path, error))?
    {
        let (bytes, place) = match line {
            Line::Whole {
                bytes,
                place,
                tail: _,
            } => (bytes, place),
            Line::TooLong { length: _, place } => return Err(damaged(place.number)),
        };
        let text = std::str::from_utf8(bytes).map_err(|_| damaged(place.number))?;
        if first {
            if text != HEAD {
                return Err(damaged(place.number));
            }
            first = false;
            continue;
        }
        let old = Old::parse(text).ok_or_else(|| damaged(place.number))?;
        let how = match scan.find(old.id_hash) {
            Some(at) if scan.rows[at].sends == old.sends => {
                same += 1;
                continue;
            }
            Some(_) => Change::Differs,
            None => Change::Missing,
        };
        count += 1;
        if listed.len() < CHANGED_LISTED_MAX {
            listed.push(ChangedRow {
                id: old.id.to_owned(),
                stood: old.stood.to_owned(),
                how,
            });
        }
    }
    match count {
        0 if same == scan.rows.len() => Ok(Known::All),
        0 => Ok(Known::Fewer),
        count => Err(BatchError::Changed { rows: listed, count }),
    }
}

/// Writes the rows of this run; whole or not at all.
pub(crate) fn write(path: &Path, scan: &Scan) -> Result<(), BatchError> {
    let new = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut out = BufWriter::with_capacity(64 * 1024, File::create(&new)?);
        writeln!(out, "{HEAD}")?;
        let mut line = Vec::new();
        for (at, row) in scan.rows.iter().enumerate() {
            line.clear();
            write!(line, "{} {}:{} ", row.sends, row.file, row.line)?;
            json::write_string(&mut line, scan.id(at));
            line.push(b'\n');
            out.write_all(&line)?;
        }
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| BatchError::io("write", path, error))
}

struct Old<'a> {
    sends: Hash,
    stood: &'a str,
    id: &'a str,
    id_hash: Hash,
}

impl<'a> Old<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (hash, rest) = line.split_once(' ')?;
        let (stood, id) = rest.split_once(' ')?;
        Some(Self {
            sends: Hash::from_hex(hash)?,
            stood,
            id,
            id_hash: Hash::of(json::decode(id)?.as_bytes()),
        })
    }
}
