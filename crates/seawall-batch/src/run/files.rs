//! The files of a run while it runs: lines that wait to be written, and what has been.

use crate::caller::Failure;
use crate::clock;
use crate::error::BatchError;
use crate::input::{Hash, Row, RowState, Scan};
use crate::json;
use crate::output::Rendered;
use crate::sink::{OpenSink, Sink};
use crate::state::{Ends, Held, read_ends};
use seawall::upstream::UnknownWrite;
use std::io;
use std::path::{Path, PathBuf};

/// The output, the error file and the ledger.
pub(super) struct Files {
    out: Waiting,
    errors: Waiting,
    ledger: Waiting,
}

/// A file, and the lines that it has not taken yet.
struct Waiting {
    path: PathBuf,
    sink: Box<dyn Sink>,
    lines: Vec<u8>,
    rows: Vec<usize>,
    trouble: Option<io::Error>,
}

/// What a flush did.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Rows whose lines are in a file now.
    pub(super) rows: Vec<(usize, RowState)>,
    /// Why some are not.
    pub(super) trouble: Option<String>,
}

impl Files {
    pub(super) fn open(held: &Held, open: OpenSink<'_>) -> Result<Self, BatchError> {
        let paths = &held.paths;
        Ok(Self {
            out: Waiting::open(&paths.out, held.out_bytes, open)?,
            errors: Waiting::open(&paths.errors, held.errors_bytes, open)?,
            ledger: Waiting::open(&paths.ledger, held.ledger_bytes, open)?,
        })
    }

    pub(super) fn push(&mut self, at: usize, rendered: Rendered) {
        let file = match rendered.state {
            RowState::Answered => &mut self.out,
            RowState::Failed | RowState::Pending => &mut self.errors,
        };
        file.lines.extend_from_slice(&rendered.line);
        file.rows.push(at);
    }

    /// A write that may have acted, for people to look after. Never its body.
    pub(super) fn push_unknown(&mut self, id: &str, row: &Row, failure: &Failure, write: &UnknownWrite) {
        let entry = serde_json::json!({
            "time_unix_ms": clock::unix_ms(),
            "custom_id": id,
            "upstream": write.upstream,
            "method": write.method,
            "path": write.path,
            "key": write.key,
            "call_hash": row.sends.to_string(),
            "reason": failure.reason.code(),
            "last_outcome": write.outcome,
        });
        self.ledger.lines.extend_from_slice(entry.to_string().as_bytes());
        self.ledger.lines.push(b'\n');
    }

    /// Writes what waits: one append a file. What a file does not take goes on waiting.
    pub(super) fn flush(&mut self) -> Written {
        let mut written = Written::default();
        // The ledger first: a kill in between leaves an entry too many, never one too few.
        self.ledger.flush(RowState::Pending, &mut written);
        if written.trouble.is_none() {
            self.out.flush(RowState::Answered, &mut written);
            self.errors.flush(RowState::Failed, &mut written);
        }
        written
    }

    /// Whether rows that ended wait to be written.
    pub(super) fn holds_rows(&self) -> bool {
        !(self.out.rows.is_empty() && self.errors.rows.is_empty())
    }

    /// Brings everything to the disk; the error says how many rows could not be kept.
    pub(super) fn close(&mut self) -> Result<(), BatchError> {
        let rows = (self.out.rows.len() + self.errors.rows.len()) as u64;
        for file in [&mut self.ledger, &mut self.out, &mut self.errors] {
            if let Some(error) = file.trouble.take() {
                return Err(BatchError::Unwritten {
                    path: file.path.clone(),
                    rows,
                    error,
                });
            }
        }
        for file in [&mut self.ledger, &mut self.out, &mut self.errors] {
            let path = file.path.clone();
            file.sink
                .sync()
                .map_err(|error| BatchError::io("sync", &path, error))?;
        }
        Ok(())
    }
}

impl Waiting {
    fn open(path: &Path, whole_bytes: u64, open: OpenSink<'_>) -> Result<Self, BatchError> {
        let sink = open(path, whole_bytes).map_err(|error| BatchError::io("open", path, error))?;
        Ok(Self {
            path: path.to_owned(),
            sink,
            lines: Vec::new(),
            rows: Vec::new(),
            trouble: None,
        })
    }

    fn flush(&mut self, state: RowState, written: &mut Written) {
        if self.lines.is_empty() {
            return;
        }
        match self.sink.append(&self.lines) {
            Ok(()) => {
                self.trouble = None;
                self.lines.clear();
                written.rows.extend(self.rows.drain(..).map(|at| (at, state)));
            }
            Err(error) => {
                let text = format!("cannot write {}: {error}", self.path.display());
                written.trouble.get_or_insert(text);
                self.trouble = Some(error);
            }
        }
    }
}

/// Reads both files again: each row that ended is in its file, once, and no other is in either.
pub(super) fn audit(held: &Held, scan: &Scan) -> Result<(), BatchError> {
    let mut seen = vec![0_u8; scan.rows.len()];
    for (path, state) in [
        (&held.paths.out, RowState::Answered),
        (&held.paths.errors, RowState::Failed),
    ] {
        let wrong = |text: String| BatchError::Audit {
            path: path.clone(),
            text,
        };
        let ends = read_ends(path, |id, line| {
            let at = scan.find(Hash::of(id.as_bytes()));
            match at.filter(|at| scan.rows[*at].state == state && seen[*at] == 0) {
                Some(at) => {
                    seen[at] = 1;
                    Ok(())
                }
                None => Err(wrong(format!(
                    "line {line} holds the row {id:?}, which does not belong here"
                ))),
            }
        })?;
        match ends {
            Ends::Whole { .. } => {}
            Ends::LfMissing { .. } | Ends::Torn { .. } => {
                return Err(wrong(
                    "the last line is not whole, though this run wrote it".to_owned(),
                ));
            }
        }
    }
    let missing = scan
        .rows
        .iter()
        .zip(&seen)
        .position(|(row, seen)| row.state != RowState::Pending && *seen == 0);
    match missing {
        None => Ok(()),
        Some(at) => {
            let mut id = Vec::new();
            json::write_string(&mut id, scan.id(at));
            Err(BatchError::Audit {
                path: held.paths.out.clone(),
                text: format!("the row {} ended and is in no file", String::from_utf8_lossy(&id)),
            })
        }
    }
}
