//! What is kept beside the output: `OUT.jsonl.seawall/` with `lock`, `meta` and `rows`.
//!
//! What can go wrong: two runs that write one file; a kill between any two bytes; an input that was edited between
//! two runs, so that an id means another question than the one that was answered. So one process holds the lock, and
//! locks on the output and the error file themselves, which another output's run may share;
//! the output files themselves say which rows are done (whole lines, by id: there is no second truth that could
//! differ), a torn last line is cut off; and `rows` keeps what each id would send, written before the first row is.

mod claims;
mod ends;
mod paths;
mod rows;
mod status;

pub(crate) use ends::{Ends, read_ends};
pub(crate) use paths::{Paths, check_input, same_file};
pub use status::{Running, Status, status};

use crate::clock;
use crate::error::BatchError;
use crate::input::{RowState, Scan};
use crate::options::{Existing, Options};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The format of the state directory; a later one is refused, never guessed at.
pub(crate) const FORMAT: u64 = 1;

/// A run's hold on its files. Dropping it lets them go.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) paths: Paths,
    /// Bytes of whole lines in the output and in the error file.
    pub(crate) out_bytes: u64,
    pub(crate) errors_bytes: u64,
    pub(crate) ledger_bytes: u64,
    /// What was repaired or renamed, for people.
    pub(crate) notes: Vec<String>,
    _lock: File,
    _claims: [Option<File>; 2],
}

/// Takes the files for this run, compares an earlier run's rows with `scan`, and marks the rows that are done.
/// Sends nothing; where it refuses, answers that were there are there still.
pub(crate) fn hold(options: &Options, scan: &mut Scan) -> Result<Held, BatchError> {
    let paths = Paths::of(options)?;
    refuse_foreign_files(options, &paths)?;
    let mut notes = Vec::new();
    let mut lock = lock(&paths)?;
    // Before anything is cut, renamed or emptied: another run may be writing these very files under another name.
    let mut claims = [claims::existing(&paths.out)?, claims::existing(&paths.errors)?];
    match options.existing {
        Existing::Continue | Existing::Adopt => {}
        Existing::Fresh => {
            if let Some(note) = paths.set_aside()? {
                notes.push(note);
                lock = self::lock(&paths)?;
            }
        }
        Existing::Overwrite => {
            for path in [&paths.meta, &paths.rows, &paths.ledger, &paths.out, &paths.errors] {
                remove(path)?;
            }
        }
    }
    let known = if paths.meta.exists() {
        check_meta(&paths)?;
        if !paths.rows.exists() {
            return Err(BatchError::Audit {
                path: paths.rows,
                text: "is missing, so nobody knows what the earlier run sent; put it back, or start over with --fresh, \
                       which keeps the old files under other names"
                    .to_owned(),
            });
        }
        rows::compare(&paths.rows, scan)?
    } else {
        rows::Known::Fewer
    };
    let out = ends::recover(&paths.out, RowState::Answered, scan, &mut notes)?;
    let errors = ends::recover(&paths.errors, RowState::Failed, scan, &mut notes)?;
    match known {
        rows::Known::All => {}
        // Written before the first row is sent, and only once nothing can be refused any more.
        rows::Known::Fewer => {
            rows::write(&paths.rows, scan)?;
            write_whole(&paths.meta, meta(&paths, scan).as_bytes())?;
        }
    }
    match options.existing {
        Existing::Continue | Existing::Adopt => {}
        // The old files have other names, or none.
        Existing::Fresh | Existing::Overwrite => claims = [None, None],
    }
    for (claim, path) in claims.iter_mut().zip([&paths.out, &paths.errors]) {
        if claim.is_none() {
            *claim = claims::new(path)?;
        }
    }
    let ledger_bytes = ends::whole_bytes(&paths.ledger)?;
    Ok(Held {
        out_bytes: out,
        errors_bytes: errors,
        ledger_bytes,
        notes,
        paths,
        _lock: lock,
        _claims: claims,
    })
}

fn refuse_foreign_files(options: &Options, paths: &Paths) -> Result<(), BatchError> {
    match options.existing {
        Existing::Adopt | Existing::Fresh | Existing::Overwrite => return Ok(()),
        Existing::Continue if paths.meta.exists() => return Ok(()),
        Existing::Continue => {}
    }
    for path in [&paths.out, &paths.errors] {
        if fs::metadata(path).is_ok_and(|found| found.len() > 0) {
            return Err(BatchError::Usage(format!(
                "{} is there, and {} is not: nobody knows which run wrote it; --resume takes its whole lines over, \
                 --overwrite empties it, --fresh gives it another name",
                path.display(),
                paths.dir.display()
            )));
        }
    }
    Ok(())
}

fn lock(paths: &Paths) -> Result<File, BatchError> {
    let path = &paths.lock;
    fs::create_dir_all(&paths.dir).map_err(|error| BatchError::io("create", &paths.dir, error))?;
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| BatchError::io("open", path, error))?;
    match file.try_lock() {
        Ok(()) => {
            let written = file
                .set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
            written.map_err(|error| BatchError::io("write", path, error))?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let holder = match file.read_to_string(&mut pid) {
                Ok(_) if !pid.is_empty() => format!("process {pid}"),
                Ok(_) | Err(_) => "its process is not known".to_owned(),
            };
            Err(BatchError::Locked {
                path: path.clone(),
                holder,
            })
        }
        Err(TryLockError::Error(error)) => Err(BatchError::io("lock", path, error)),
    }
}

/// What a run wrote down when it began, as far as a later one needs it.
struct Meta {
    /// Where failures went: a bare name beside the output, or a whole path.
    errors: String,
}

impl Meta {
    fn read(path: &Path) -> Result<Self, BatchError> {
        let damaged = |what: &str| BatchError::Audit {
            path: path.to_owned(),
            text: format!("{what}; --fresh starts over and keeps the old files under other names"),
        };
        let text = fs::read_to_string(path).map_err(|error| BatchError::io("read", path, error))?;
        let meta: serde_json::Value = serde_json::from_str(&text).map_err(|_| damaged("is not JSON"))?;
        let format = meta["format"]
            .as_u64()
            .ok_or_else(|| damaged("names no format"))?;
        if format != FORMAT {
            return Err(BatchError::Usage(format!(
                "{} has format {format}, this version knows {FORMAT}; go on with the version that wrote it",
                path.display()
            )));
        }
        let errors = meta["errors"]
            .as_str()
            .ok_or_else(|| damaged("names no error file"))?;
        Ok(Self {
            errors: errors.to_owned(),
        })
    }
}

fn check_meta(paths: &Paths) -> Result<(), BatchError> {
    let Meta { errors } = Meta::read(&paths.meta)?;
    if errors != paths.errors_name() {
        return Err(BatchError::Usage(format!(
            "the earlier run wrote its failures to {errors}; pass --errors {errors}, or start over with --fresh",
        )));
    }
    Ok(())
}

fn meta(paths: &Paths, scan: &Scan) -> String {
    let inputs: Vec<serde_json::Value> = scan
        .inputs
        .iter()
        .map(|input| {
            serde_json::json!({
                "path": input.path.display().to_string(),
                "bytes": input.bytes,
                "content": input.content.to_string(),
                "rows": input.rows,
            })
        })
        .collect();
    let meta = serde_json::json!({
        "format": FORMAT,
        "seawall": env!("CARGO_PKG_VERSION"),
        "started_unix_ms": clock::unix_ms(),
        "errors": paths.errors_name(),
        "inputs": inputs,
    });
    format!("{meta:#}\n")
}

/// A file that is there whole or as it was before: written under another name, synced, renamed.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), BatchError> {
    let new = path.with_extension("new");
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(|error| BatchError::io("write", path, error))
}

fn remove(path: &PathBuf) -> Result<(), BatchError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BatchError::io("empty", path, error)),
    }
}
