//! Which files were meant.

use seawall_lab::scenario::{FILE_BYTES_MAX, Scenario};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// One file and what stands in it; an error says what its author has to do.
pub(super) struct Found {
    /// As it was named.
    pub(super) file: String,
    pub(super) scenario: Result<Scenario, String>,
}

/// Reads every file, in order; of a folder every `*.toml` in it, by name.
pub(super) fn find(paths: &[PathBuf]) -> Vec<Found> {
    paths.iter().flat_map(|path| below(path)).collect()
}

fn below(path: &Path) -> Vec<Found> {
    if !path.is_dir() {
        return vec![read(path)];
    }
    let wrong = |why: String| {
        vec![Found {
            file: path.display().to_string(),
            scenario: Err(why),
        }]
    };
    let mut files = match listed(path) {
        Ok(files) => files,
        Err(error) => return wrong(format!("this folder cannot be read: {error}")),
    };
    files.sort();
    match files.is_empty() {
        true => wrong(
            "there is no *.toml in this folder; name the scenarios, or the folder that they are in"
                .to_owned(),
        ),
        false => files.iter().map(|file| read(file)).collect(),
    }
}

fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Found {
    let file = path.display().to_string();
    let scenario =
        text(path).and_then(|text| Scenario::parse(&file, &text).map_err(|errors| errors.to_string()));
    Found { file, scenario }
}

fn text(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    // One byte more than a file may have, so that the reader of the file says that it is too long.
    let most = FILE_BYTES_MAX as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "no such file; name a scenario, or a folder of them".to_owned(),
            _ => format!("this file cannot be read: {error}"),
        })?;
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        format!("byte {place} is no UTF-8; a scenario is text")
    })
}
