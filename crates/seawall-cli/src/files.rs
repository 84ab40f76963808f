use crate::failure::Failure;
use seawall::config::{Config, Credential, FILE_BYTES_MAX};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// The longest file with a key: what is longer is another file.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// A file's bytes. Counted while they are read: a pipe or a device has no length to ask for.
pub(crate) fn read_at_most(path: &Path, shown: &str, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let failed = |error| Failure::io(shown, &error);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("{shown}: longer than {bytes_max} bytes, which is the most that is read");
        return Err(Failure::usage(message));
    }
    Ok(bytes)
}

/// Where a command is to write.
pub(crate) struct Places<'p> {
    /// Files, each with its option.
    pub(crate) files: Vec<(&'static str, &'p Path)>,
    /// The folder of `--svg`.
    pub(crate) pictures: Option<&'p Path>,
}

impl Places<'_> {
    /// Refuses what could not be written in the end, or would be written over what was read or written before, before minutes
    /// are spent on it. What only shows when it is written (a full disk, a folder of somebody else's) it lets pass.
    pub(crate) fn may_be_written(&self, reads: &[&Path]) -> Result<(), Failure> {
        self.are_of_nobody_else(reads)?;
        for (option, path) in &self.files {
            may_write(option, path)?;
        }
        match self.pictures {
            Some(folder) => self.may_draw(folder, reads),
            None => Ok(()),
        }
    }

    /// Refuses a file that would be written over what was read, or over another one of these.
    pub(crate) fn are_of_nobody_else(&self, reads: &[&Path]) -> Result<(), Failure> {
        for (nth, (option, path)) in self.files.iter().enumerate() {
            let taken = |whose: &str| {
                let path = path.display();
                Err(Failure::usage(format!(
                    "{option} {path}: this is the file {whose}; name another one"
                )))
            };
            if reads.iter().any(|read| is_one_file(path, read)) {
                return taken("that is read");
            }
            let mut before = self.files[..nth].iter();
            if let Some((other, _)) = before.find(|(_, before)| is_one_file(path, before)) {
                return taken(&format!("of {other}, too"));
            }
        }
        Ok(())
    }

    /// What pictures there are is known when they are drawn: any file of that kind in their folder may be one of them.
    fn may_draw(&self, folder: &Path, reads: &[&Path]) -> Result<(), Failure> {
        let taken = |file: &Path, whose: &str| {
            let (folder, file) = (folder.display(), file.display());
            Err(Failure::usage(format!(
                "--svg {folder}: a picture there may be {file}, the file {whose}; name another folder"
            )))
        };
        if let Some(read) = reads.iter().find(|read| may_hold(folder, read)) {
            return taken(read, "that is read");
        }
        for (option, file) in &self.files {
            if is_one_file(folder, file) {
                let folder = folder.display();
                return Err(Failure::usage(format!(
                    "--svg {folder}: this is the file of {option}, too; name another folder"
                )));
            }
            if may_hold(folder, file) {
                return taken(file, &format!("of {option}"));
            }
        }
        may_make("--svg", folder)
    }
}

/// Whether a file can be written there; what is there already is written over.
fn may_write(option: &str, path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritten(option, path, &ErrorKind::IsADirectory.into()));
    }
    // A path leaves out the sign at its end when it is asked for its name.
    if path.to_string_lossy().ends_with(std::path::is_separator) {
        return Err(unwritten(option, path, &ErrorKind::NotADirectory.into()));
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => may_fill(option, path, folder.metadata()),
        None => Ok(()),
    }
}

/// The same of a folder that is made where it is missing.
fn may_make(option: &str, folder: &Path) -> Result<(), Failure> {
    let there = folder.ancestors().find(|folder| folder.exists());
    match there {
        Some(there) => may_fill(option, folder, there.metadata()),
        None => Ok(()),
    }
}

/// Whether both lead to one file, which need not be there yet. A pipe or a device takes what comes from any number.
fn is_one_file(one: &Path, other: &Path) -> bool {
    let is_stream = one
        .metadata()
        .is_ok_and(|there| !there.is_file() && !there.is_dir());
    !is_stream && place(one).is_some_and(|one| place(other) == Some(one))
}

/// Where a file is or would be, by whatever name it goes.
fn place(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    })
}

/// Whether a picture of this folder may be this file, by itself or by a link.
fn may_hold(folder: &Path, file: &Path) -> bool {
    let is_picture = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "svg");
    let stands_there = || {
        let place = place(file).filter(is_picture);
        let folder = folder.canonicalize().ok();
        place.is_some_and(|place| place.parent() == folder.as_deref())
    };
    let is_linked = || {
        let listed = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut pictures = listed.map(|entry| entry.path()).filter(is_picture);
        pictures.any(|picture| is_one_file(&picture, file))
    };
    stands_there() || is_linked()
}

fn may_fill(option: &str, path: &Path, folder: io::Result<Metadata>) -> Result<(), Failure> {
    match folder {
        Ok(folder) if folder.is_dir() => Ok(()),
        Ok(_) => Err(unwritten(option, path, &ErrorKind::NotADirectory.into())),
        Err(error) => Err(unwritten(option, path, &error)),
    }
}

/// Writes a file whole or not at all: who is stopped half-way leaves the one that was there. What is no file of its own, a
/// pipe, a device or a link, is written to as it is.
pub(crate) fn write_whole(option: &str, path: &Path, text: &str) -> Result<(), Failure> {
    written(path, text).map_err(|error| unwritten(option, path, &error))
}

/// Writes files, each with its name, into a folder that is made where it is missing.
pub(crate) fn write_all(option: &str, folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| unwritten(option, folder, &error))?;
    for (name, text) in files {
        write_whole(option, &folder.join(name), text)?;
    }
    Ok(())
}

fn written(path: &Path, text: &str) -> io::Result<()> {
    let there = fs::symlink_metadata(path);
    let is_plain = |there: &Metadata| there.is_file() && !there.permissions().readonly();
    let (true, Some(name)) = (there.as_ref().map_or(true, is_plain), path.file_name()) else {
        return fs::write(path, text);
    };
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(".part");
    let part = path.with_file_name(beside);
    if let Err(error) = fs::write(&part, text) {
        let _ = fs::remove_file(&part);
        return match error.kind() {
            // A folder that takes no new file may still hold this one.
            ErrorKind::PermissionDenied => fs::write(path, text),
            // What has no room beside the one that was there has none in its place.
            _ => Err(error),
        };
    }
    let as_before = there.map_or(Ok(()), |there| fs::set_permissions(&part, there.permissions()));
    let placed = as_before.and_then(|()| fs::rename(&part, path));
    if placed.is_err() {
        // Of two errors the first is the one to be told.
        let _ = fs::remove_file(&part);
    }
    placed
}

/// A place that cannot be written to.
pub(crate) fn unwritten(option: &str, path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    Failure::machine(format!(
        "{option} {path}: {error}; name a place in a folder that is there and may be written to"
    ))
}

/// Reads a `seawall.toml`.
pub(crate) fn read_config(path: &Path) -> Result<Config, Failure> {
    let shown = path.display().to_string();
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Failure::usage(format!(
            "{shown}: no such file; name the one that you meant"
        ))),
        Ok(_) | Err(_) => {
            let bytes = read_at_most(path, &shown, FILE_BYTES_MAX as u64)?;
            Ok(Config::from_bytes(&shown, &bytes)?)
        }
    }
}

/// The key that `file` names, and where it is from. What is told of one that is not there is no part of it.
pub(crate) fn read_key(credential: &Credential, file: &str) -> Result<(String, String), Failure> {
    let (text, from) = match credential {
        Credential::Env(name) => {
            let text = std::env::var(name).map_err(|_| {
                Failure::Key(format!("{name}, which {file} names, is not set, or is no text"))
            })?;
            (text, format!("in {name}"))
        }
        Credential::File(name) => {
            let bytes = read_at_most(Path::new(name), name, KEY_BYTES_MAX)
                .map_err(|failure| Failure::Key(failure.to_string()))?;
            // The bytes themselves are told to nobody.
            let text = String::from_utf8(bytes).map_err(|_| Failure::Key(format!("{name} holds no text")))?;
            (text, format!("in {name}"))
        }
    };
    match text.trim() {
        "" => Err(Failure::Key(format!("the key {from} is empty"))),
        key => Ok((key.to_owned(), from)),
    }
}

#[cfg(test)]
mod tests;
