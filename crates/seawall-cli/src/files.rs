use crate::failure::Failure;
use seawall::config::{Config, Credential, FILE_BYTES_MAX};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
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
