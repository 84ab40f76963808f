//! How far a run is, read from its files while it runs or after it.

use super::ends::read_ends;
use super::{Meta, Paths};
use crate::error::BatchError;
use crate::input::lines::{Line, Lines, Separator};
use crate::options::Options;
use std::fs::{File, TryLockError};
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rows that the run began with, as `rows` in its state directory has them.
    pub rows: u64,
    /// Rows in the output.
    pub ok: u64,
    /// Rows in the error file.
    pub failed: u64,
    /// Rows in neither.
    pub pending: u64,
    /// Whether it runs now.
    pub running: Running,
}

/// Whether a run holds its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// A process holds the lock.
    Now,
    /// Nobody does: it ended, was interrupted, or was killed.
    No,
}

/// Reads how far the run that writes to `out` is. Changes nothing, and can be called while it runs.
///
/// # Errors
/// No run wrote there, its files cannot be read, or they hold what no run writes.
pub fn status(out: PathBuf) -> Result<Status, BatchError> {
    let mut options = Options::new(Vec::new(), out);
    let paths = Paths::of(&options)?;
    if !paths.meta.exists() {
        return Err(BatchError::Usage(format!(
            "{} is not there, so no run wrote to {}",
            paths.meta.display(),
            paths.out.display()
        )));
    }
    // A bare name stands beside the output; an absolute path replaces it.
    options.errors = Some(
        options
            .out
            .with_file_name("")
            .join(Meta::read(&paths.meta)?.errors),
    );
    let rows = count_rows(&paths)?;
    let ok = count_ends(&options.out)?;
    let failed = count_ends(&options.errors_path())?;
    Ok(Status {
        rows,
        ok,
        failed,
        pending: rows.saturating_sub(ok + failed),
        running: running(&paths)?,
    })
}

fn count_rows(paths: &Paths) -> Result<u64, BatchError> {
    let failed = |error| BatchError::io("read", &paths.rows, error);
    let file = File::open(&paths.rows).map_err(failed)?;
    let mut lines = Lines::new(BufReader::new(file), Separator::Lf, u64::MAX);
    let mut count = 0_u64;
    while let Some(line) = lines.read().map_err(failed)? {
        match line {
            Line::Whole { .. } | Line::TooLong { .. } => count += 1,
        }
    }
    // The first line names the format.
    Ok(count.saturating_sub(1))
}

fn count_ends(path: &std::path::Path) -> Result<u64, BatchError> {
    let mut count = 0;
    read_ends(path, |_, _| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

fn running(paths: &Paths) -> Result<Running, BatchError> {
    let failed = |error| BatchError::io("lock", &paths.lock, error);
    let file = match File::open(&paths.lock) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Running::No),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Running::No),
        Err(TryLockError::WouldBlock) => Ok(Running::Now),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
