use crate::failure::Failure;
use seawall::config::{Config, FILE_BYTES_MAX};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

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
