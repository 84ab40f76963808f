//! The repository as the checks see it: its tracked files, and what cargo says of its crates.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// One file of the repository.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path from the root, with `/` between the parts.
    pub path: String,
    /// Its text; empty for a file that is not UTF-8, about which no text check has anything to say.
    pub text: String,
}

impl File {
    /// A file that exists only in a test.
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Whether this is a Rust source.
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether this is a Rust source that holds tests alone: `tests.rs` beside its module, or below a `tests/`.
    pub fn is_test(&self) -> bool {
        self.is_rust()
            && self
                .path
                .split('/')
                .any(|part| part == "tests" || part == "tests.rs")
    }

    /// Whether this is written by hand for people or compilers, and not data.
    pub fn is_written(&self) -> bool {
        let data = [".jsonl", ".json", ".csv", ".lock", ".gz", ".zst", ".svg", ".html"];
        !data.iter().any(|ending| self.path.ends_with(ending))
    }
}

/// The repository.
#[derive(Clone, Debug)]
pub struct Repo {
    root: PathBuf,
    /// Every tracked file, and every new one that is not ignored, sorted by path.
    pub files: Vec<File>,
}

impl Repo {
    /// Reads the repository that this program was built from.
    pub fn open() -> Result<Self, Error> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("xtask is a folder of the root")
            .to_path_buf();
        let mut files = Vec::new();
        for path in tracked(&root)? {
            let full = root.join(&path);
            // Deleted but not yet committed, or a link to a folder: nothing to read.
            if !full.is_file() {
                continue;
            }
            let bytes = fs::read(&full).map_err(|source| Error::Io { path: full, source })?;
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path, text });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root, files })
    }

    /// A repository that exists only in a test.
    pub fn of(files: Vec<File>) -> Self {
        Self {
            root: PathBuf::new(),
            files,
        }
    }

    /// The folder that holds everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text of one file, an error where there is no such file.
    pub fn text(&self, path: &str) -> Result<&str, Error> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.text.as_str())
            .ok_or_else(|| Error::Missing {
                path: path.to_owned(),
            })
    }

    /// Writes one file, with the folders above it.
    pub fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        let full = self.root.join(path);
        let fail = |source| Error::Io {
            path: full.clone(),
            source,
        };
        if let Some(folder) = full.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        fs::write(&full, text).map_err(fail)
    }

    /// What `cargo` prints for these words at the root. Never touches the network.
    pub fn cargo(&self, words: &[&str]) -> Result<String, Error> {
        let mut command = cargo();
        command.current_dir(&self.root).args(words).arg("--offline");
        output(command)
    }

    /// What `cargo metadata` says, with these words added.
    pub fn metadata(&self, words: &[&str]) -> Result<serde_json::Value, Error> {
        let mut all = vec!["metadata", "--format-version", "1"];
        all.extend(words);
        let text = self.cargo(&all)?;
        serde_json::from_str(&text).map_err(|error| Error::Form {
            path: "cargo metadata".to_owned(),
            detail: error.to_string(),
        })
    }

    /// One TOML file, read.
    pub fn toml(&self, path: &str) -> Result<toml::Table, Error> {
        self.text(path)?
            .parse()
            .map_err(|error: toml::de::Error| Error::Form {
                path: path.to_owned(),
                detail: error.to_string(),
            })
    }
}

/// The cargo that started this program, or the usual one, to be run once more.
///
/// It does not see what the first one said of this package: the build script of ring asks for these variables, so a cargo
/// that sees them builds ring and all that stands on it again, and so does the next one that does not.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "OUT_DIR" {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command to its end; its standard output, or an error that carries its standard error.
pub(crate) fn output(mut command: Command) -> Result<String, Error> {
    let shown = format!("{command:?}");
    let done = command.output().map_err(|source| Error::Io {
        path: command.get_program().into(),
        source,
    })?;
    if !done.status.success() {
        return Err(Error::Command {
            command: shown,
            detail: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn tracked(root: &Path) -> Result<Vec<String>, Error> {
    let mut command = Command::new("git");
    // A checkout that belongs to another user is still the one to check: nothing here runs what it holds.
    command
        .current_dir(root)
        .args(["-c", "safe.directory=*", "ls-files", "-z"]);
    command.args(["--cached", "--others", "--exclude-standard"]);
    let mut paths: Vec<String> = output(command)?
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Why a check could not look.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file or program could not be reached.
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that every checkout has is not there.
    Missing {
        /// Which.
        path: String,
    },
    /// A program failed.
    Command {
        /// What was run.
        command: String,
        /// What it said.
        detail: String,
    },
    /// A file is not of the form that it should have.
    Form {
        /// Which.
        path: String,
        /// What is wrong.
        detail: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Missing { path } => write!(f, "{path} is missing from the repository"),
            Self::Command { command, detail } => write!(f, "{command} failed: {detail}"),
            Self::Form { path, detail } => write!(f, "{path}: {detail}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Missing { .. } | Self::Command { .. } | Self::Form { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
