use crate::failure::Failure;
use seawall::config::{Config, Credential, FILE_BYTES_MAX};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

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

/// Refuses what could not be written in the end, or would be written over what was read, before minutes are spent on it.
/// What only shows when it is written (a full disk, a folder of somebody else's) it lets pass.
pub(crate) fn may_write(option: &str, path: &Path, reads: Option<&Path>) -> Result<(), Failure> {
    let is_same = |read: &Path| match (path.canonicalize(), read.canonicalize()) {
        (Ok(path), Ok(read)) => path == read,
        _ => false,
    };
    if reads.is_some_and(is_same) {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{option} {path}: this is the file that is read; name another one"
        )));
    }
    if path.is_dir() {
        return Err(unwritten(option, path, &ErrorKind::IsADirectory.into()));
    }
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => may_fill(option, path, folder.metadata()),
        None => Ok(()),
    }
}

/// The same of a folder that is made where it is missing.
pub(crate) fn may_make(option: &str, folder: &Path) -> Result<(), Failure> {
    let there = folder.ancestors().find(|folder| folder.exists());
    match there {
        Some(there) => may_fill(option, folder, there.metadata()),
        None => Ok(()),
    }
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
    if fs::write(&part, text).is_err() {
        // A folder that takes no new file may still hold this one. What is wrong with it is told better by itself.
        let _ = fs::remove_file(&part);
        return fs::write(path, text);
    }
    if let Ok(there) = there {
        fs::set_permissions(&part, there.permissions())?;
    }
    fs::rename(&part, path)
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
