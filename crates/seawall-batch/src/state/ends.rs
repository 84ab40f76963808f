//! What the output files say: which rows have ended.

use crate::error::BatchError;
use crate::input::lines::{Line, Lines, Separator, Tail};
use crate::input::{Hash, RowState, Scan};
use crate::json;
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

/// How a file of ended rows ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// With the LF of its last line, or it is empty or not there.
    Whole { bytes: u64 },
    /// With a whole row that lacks its LF.
    LfMissing { bytes: u64 },
    /// With the beginning of a row.
    Torn { whole_bytes: u64, torn_bytes: u64 },
}

/// Calls `row` with each id and its line. A line in the middle that is no row is an error: no kill writes it.
pub(crate) fn read_ends(
    path: &Path,
    mut row: impl FnMut(Cow<'_, str>, u64) -> Result<(), BatchError>,
) -> Result<Ends, BatchError> {
    let failed = |error| BatchError::io("read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ends::Whole { bytes: 0 }),
        Err(error) => return Err(failed(error)),
    };
    let length = file.metadata().map_err(failed)?.len();
    let mut lines = Lines::new(BufReader::with_capacity(64 * 1024, file), Separator::Lf, u64::MAX);
    while let Some(line) = lines.read().map_err(failed)? {
        let (bytes, place, tail) = match line {
            Line::Whole { bytes, place, tail } => (bytes, place, tail),
            Line::TooLong { length: _, place } => (&b""[..], place, Tail::Separator),
        };
        match (id_of(bytes), tail) {
            (Some(id), Tail::Separator) => row(id, place.number)?,
            (Some(id), Tail::Nothing) => {
                row(id, place.number)?;
                return Ok(Ends::LfMissing { bytes: length });
            }
            (None, Tail::Nothing) => {
                return Ok(Ends::Torn {
                    whole_bytes: place.offset,
                    torn_bytes: length.saturating_sub(place.offset),
                });
            }
            (None, Tail::Separator) => {
                return Err(BatchError::Audit {
                    path: path.to_owned(),
                    text: format!(
                        "line {} is no row with a custom_id; mend or remove it, or start over with --fresh",
                        place.number
                    ),
                });
            }
        }
    }
    Ok(Ends::Whole { bytes: length })
}

/// Marks the rows that ended in this file, and repairs its tail. Answers with its whole bytes.
pub(super) fn recover(
    path: &Path,
    state: RowState,
    scan: &mut Scan,
    notes: &mut Vec<String>,
) -> Result<u64, BatchError> {
    let ends = read_ends(path, |id, line| mark(path, state, scan, &id, line))?;
    let failed = |error| BatchError::io("repair", path, error);
    match ends {
        Ends::Whole { bytes } => Ok(bytes),
        Ends::LfMissing { bytes } => {
            let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            file.write_all(b"\n").map_err(failed)?;
            notes.push(format!(
                "{}: the last row lacked its line end; added",
                path.display()
            ));
            Ok(bytes + 1)
        }
        Ends::Torn {
            whole_bytes,
            torn_bytes,
        } => {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            file.set_len(whole_bytes).map_err(failed)?;
            notes.push(format!(
                "{}: the last {torn_bytes} bytes were the beginning of a row; cut off, that row is sent again",
                path.display()
            ));
            Ok(whole_bytes)
        }
    }
}

fn mark(path: &Path, state: RowState, scan: &mut Scan, id: &str, line: u64) -> Result<(), BatchError> {
    let wrong = |text: String| BatchError::Audit {
        path: path.to_owned(),
        text,
    };
    let Some(at) = scan.find(Hash::of(id.as_bytes())) else {
        return Err(wrong(format!(
            "line {line} is the row {id:?}, which is not in the input; is it the right output? --fresh starts over"
        )));
    };
    let row = &mut scan.rows[at];
    match row.state {
        RowState::Pending => {
            row.state = state;
            Ok(())
        }
        RowState::Answered | RowState::Failed => Err(wrong(format!(
            "line {line} is the row {id:?} a second time (output and error file together hold each row once); \
             remove one of the two lines"
        ))),
    }
}

fn id_of(line: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(line).ok()?;
    if !text.starts_with('{') || json::validate(text).is_err() {
        return None;
    }
    let custom_id = json::members(text).into_iter().find(|m| m.key == "custom_id")?;
    json::decode(custom_id.value)
}

/// Bytes up to and with the last LF: what an append may follow.
pub(super) fn whole_bytes(path: &Path) -> Result<u64, BatchError> {
    let failed = |error| BatchError::io("read", path, error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(failed(error)),
    };
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let mut lines = Lines::new(BufReader::new(file), Separator::Lf, u64::MAX);
    let mut whole = 0;
    while let Some(line) = lines.read().map_err(failed)? {
        match line {
            Line::Whole {
                tail: Tail::Nothing, ..
            } => return Ok(whole),
            Line::Whole {
                tail: Tail::Separator,
                ..
            }
            | Line::TooLong { .. } => whole = lines.bytes_read(),
        }
    }
    Ok(whole)
}
