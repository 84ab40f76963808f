//! Locks on the output and the error file: two runs with other outputs may name one error file, or one output by two
//! names, and neither's lock beside its output would tell.

use crate::error::BatchError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Claims a file if it is there.
pub(super) fn existing(path: &Path) -> Result<Option<File>, BatchError> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => claim(path, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BatchError::io("open", path, error)),
    }
}

/// Claims a file, made if need be.
pub(super) fn new(path: &Path) -> Result<Option<File>, BatchError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    claim(path, file.map_err(|error| BatchError::io("open", path, error))?)
}

#[cfg(unix)]
fn claim(path: &Path, file: File) -> Result<Option<File>, BatchError> {
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(BatchError::Locked {
            path: path.to_owned(),
            holder: "under another output's name".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(BatchError::io("lock", path, error)),
    }
}

/// Elsewhere a lock would keep the run itself from writing through another handle.
#[cfg(not(unix))]
fn claim(_path: &Path, _file: File) -> Result<Option<File>, BatchError> {
    Ok(None)
}
