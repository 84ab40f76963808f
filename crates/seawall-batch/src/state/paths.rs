//! The names of a run's files, and which of them may be one another.

use crate::error::BatchError;
use crate::options::{Options, with_suffix};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A run's files.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    pub(crate) out: PathBuf,
    pub(crate) errors: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) meta: PathBuf,
    pub(crate) rows: PathBuf,
    pub(crate) ledger: PathBuf,
}

impl Paths {
    /// The files that these options name; refuses those that would overwrite one another.
    pub(crate) fn of(options: &Options) -> Result<Self, BatchError> {
        let dir = options.state_dir();
        let paths = Self {
            out: options.out.clone(),
            errors: options.errors_path(),
            lock: dir.join("lock"),
            meta: dir.join("meta"),
            rows: dir.join("rows"),
            ledger: dir.join("ledger.jsonl"),
            dir,
        };
        for path in [&paths.out, &paths.errors] {
            check_writable(path)?;
            for input in &options.inputs {
                if same_file(path, input) {
                    return Err(BatchError::Usage(format!(
                        "{} is both read and written; choose another name with -o or --errors",
                        path.display()
                    )));
                }
            }
        }
        if same_file(&paths.out, &paths.errors) {
            return Err(BatchError::Usage(format!(
                "{} is both the output and the error file; choose another name with --errors",
                paths.out.display()
            )));
        }
        Ok(paths)
    }

    /// The error file's name in `meta`: relative to the output, so that a directory can be moved as a whole.
    pub(crate) fn errors_name(&self) -> String {
        let beside = self.errors.parent() == self.out.parent();
        match self.errors.file_name() {
            Some(name) if beside => name.to_string_lossy().into_owned(),
            Some(_) | None => absolute(&self.errors).display().to_string(),
        }
    }

    /// Gives the files of an earlier run other names; says which. Never deletes.
    pub(crate) fn set_aside(&self) -> Result<Option<String>, BatchError> {
        let old = [&self.out, &self.errors, &self.dir];
        let renamed = |path: &Path, number: u32| {
            path.with_file_name(with_suffix(path.file_name(), &format!(".{number}")))
        };
        let used = self.meta.exists() || self.out.exists() || self.errors.exists();
        if !used {
            return Ok(None);
        }
        let number = (1..u32::MAX)
            .find(|number| !old.iter().any(|path| renamed(path, *number).exists()))
            .unwrap_or(u32::MAX);
        for path in old {
            if path.exists() {
                fs::rename(path, renamed(path, number))
                    .map_err(|error| BatchError::io("rename", path, error))?;
            }
        }
        Ok(Some(format!(
            "the files of the earlier run are now {} and so on",
            renamed(&self.out, number).display()
        )))
    }
}

fn check_writable(path: &Path) -> Result<(), BatchError> {
    let ends_in_slash = path.as_os_str().as_encoded_bytes().last() == Some(&b'/');
    if path.file_name().is_none() || ends_in_slash {
        return Err(BatchError::Usage(format!("{} names no file", path.display())));
    }
    if path == Path::new("-") || is_stream(path) {
        return Err(BatchError::Usage(format!(
            "{} is a stream; a batch can be resumed only from a file: name one with -o, and print it afterwards",
            path.display()
        )));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_file() => return Ok(()),
        Ok(_) => {
            return Err(BatchError::Usage(format!(
                "{} is not a regular file; a batch can be resumed only from one",
                path.display()
            )));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            return Err(BatchError::Usage(format!("{}: {error}", path.display())));
        }
        Err(error) => return Err(BatchError::io("look at", path, error)),
    }
    let parent = parent_of(path);
    if parent.is_dir() {
        Ok(())
    } else {
        Err(BatchError::Usage(format!(
            "{} is no directory; create it first",
            parent.display()
        )))
    }
}

/// Refuses an input that is not there, or that cannot be read twice.
pub(crate) fn check_input(path: &Path) -> Result<(), BatchError> {
    if path == Path::new("-") {
        return Err(BatchError::Usage(
            "- is a stream; every row is judged before the first is sent, so save it to a file".to_owned(),
        ));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(BatchError::Usage(format!(
            "{} is not a regular file; every row is judged before the first is sent, so save it to a file",
            path.display()
        ))),
        Err(error) => Err(BatchError::Usage(format!(
            "cannot read {}: {error}",
            path.display()
        ))),
    }
}

/// Whether the name is one of a process's own streams (`/dev/stdout`, `/proc/self/fd/1`), which may lead to a regular
/// file: its state would stand in a directory of devices.
fn is_stream(path: &Path) -> bool {
    let parent = fs::canonicalize(parent_of(path)).unwrap_or_default();
    parent == Path::new("/dev") || parent.starts_with("/dev/fd") || parent.starts_with("/proc")
}

fn parent_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn absolute(path: &Path) -> PathBuf {
    let parent = fs::canonicalize(parent_of(path));
    match (fs::canonicalize(path), parent, path.file_name()) {
        (Ok(whole), _, _) => whole,
        (Err(_), Ok(parent), Some(name)) => parent.join(name),
        (Err(_), _, _) => path.to_owned(),
    }
}

pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    absolute(one) == absolute(other) || same_node(one, other)
}

/// Hard links: two names of one file.
#[cfg(unix)]
fn same_node(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

#[cfg(not(unix))]
fn same_node(_one: &Path, _other: &Path) -> bool {
    false
}
