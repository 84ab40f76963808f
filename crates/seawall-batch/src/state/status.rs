//! How far a run is, read from its files while it runs or after it.

use super::Paths;
use super::ends::read_ends;
use crate::error::BatchError;
use crate::input::lines::{Line, Lines, Separator};
use crate::options::Options;
use std::fs::{self, File};
use std::io::BufReader;
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
    let meta = fs::read_to_string(&paths.meta).map_err(|error| BatchError::io("read", &paths.meta, error))?;
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap_or_default();
    if let Some(name) = meta["errors"].as_str() {
        // A bare name stands beside the output; an absolute path replaces it.
        options.errors = Some(options.out.with_file_name("").join(name));
    }
    let rows = count_rows(&paths)?;
    let ok = count_ends(&options.out)?;
    let failed = count_ends(&options.errors_path())?;
    Ok(Status {
        rows,
        ok,
        failed,
        pending: rows.saturating_sub(ok + failed),
        running: running(&paths),
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

fn running(paths: &Paths) -> Running {
    match File::open(&paths.lock).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) | Err(_) => Running::No,
        Ok(Err(_)) => Running::Now,
    }
}
