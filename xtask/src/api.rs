//! What users of the library crates may name, as a file per crate that a review sees change.
//!
//! What can go wrong: an item that loses its `pub`, a bound that grows, a type that moves: each breaks somebody's build,
//! and none of it shows in a diff of the code that causes it. So each published library has a snapshot of its public
//! items beside its manifest, with every feature on, and a change to it is a change to that file.
//!
//! The list is read from rustdoc's JSON, which is not stable: it has a number, and this reads one number. So the
//! snapshots are made and checked by the compiler that the house builds with.

use crate::repo::{Error, Repo, cargo, output};
use crate::tidy::Finding;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The crates whose items users may name.
pub const CRATES: [&str; 3] = ["seawall-core", "seawall", "seawall-lab"];

/// The snapshot of one crate, as the code of this moment makes it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Where it stands.
    pub path: String,
    /// One item a line, in order.
    pub text: String,
}

/// The snapshots of all crates. Builds their documentation.
///
/// # Errors
/// A crate that does not build, or a compiler whose rustdoc writes another form.
pub fn snapshots(repo: &Repo) -> Result<Vec<Snapshot>, Error> {
    let folder = documented(repo)?;
    CRATES.iter().map(|name| snapshot(&folder, name)).collect()
}

/// What is not as its snapshot says.
///
/// # Errors
/// As [`snapshots`].
pub fn in_step(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for snapshot in snapshots(repo)? {
        let stands = repo
            .files
            .iter()
            .find(|file| file.path == snapshot.path)
            .map_or("", |file| file.text.as_str());
        if let Some(text) = difference(stands, &snapshot.text) {
            findings.push(Finding::in_file(&snapshot.path, text));
        }
    }
    Ok(findings)
}

/// What differs, an item a line; nothing where nothing does.
fn difference(stands: &str, made: &str) -> Option<String> {
    if stands == made {
        return None;
    }
    let mut text =
        String::from("is not the public API of this code; `cargo xtask api` writes it, a review decides:");
    for (mark, one, other) in [('-', stands, made), ('+', made, stands)] {
        let other: std::collections::BTreeSet<&str> = other.lines().collect();
        for line in one.lines().filter(|line| !other.contains(line)) {
            let _ = write!(text, "\n      {mark} {line}");
        }
    }
    Some(text)
}

/// Documents the libraries as JSON, and says in which folder.
///
/// All of the workspace with every feature and the examples, as the lints see it: a choice of its own would build tokio
/// and all that stands on it again.
fn documented(repo: &Repo) -> Result<PathBuf, Error> {
    let mut command = cargo();
    command
        .current_dir(repo.root())
        .args(["doc", "--locked", "--no-deps", "--workspace", "--all-features"])
        .args(["--lib", "--examples"])
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .env("RUSTDOC", repo.root().join("xtask/rustdoc"));
    output(command)?;
    let metadata = repo.metadata(&["--no-deps"])?;
    let target = metadata["target_directory"].as_str().ok_or_else(|| Error::Form {
        path: "cargo metadata".to_owned(),
        detail: "names no target_directory".to_owned(),
    })?;
    Ok(Path::new(target).join("doc"))
}

fn snapshot(folder: &Path, name: &str) -> Result<Snapshot, Error> {
    let json = folder.join(format!("{}.json", name.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(&json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| Error::Form {
            path: json.display().to_string(),
            detail: format!("{error}; the snapshots are made with the Rust of `rust-version` in Cargo.toml"),
        })?;
    let mut text = String::new();
    for item in api.items() {
        let _ = writeln!(text, "{item}");
    }
    Ok(Snapshot {
        path: format!("crates/{name}/public-api.txt"),
        text,
    })
}

#[cfg(test)]
mod tests;
