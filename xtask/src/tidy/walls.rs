//! The wall around the core.
//!
//! What can go wrong: one `Instant::now` in the core, and no trace replays any more. So the core has no
//! dependencies, names nothing outside `core` and `alloc`, and is compiled against a library folder in which
//! nothing else exists: a name that a scan could miss cannot be missed there.

use super::Finding;
use crate::repo::{Error, Repo, output};
use crate::source::{Word, code_only, words};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const CORE: &str = "crates/seawall-core/src/";
const LIB: &str = "crates/seawall-core/src/lib.rs";

/// Crates that the core must not name: clocks, threads, chance, net, environment and JSON live in them.
const OUTSIDE: &[&str] = &[
    "std",
    "rand",
    "getrandom",
    "fastrand",
    "libc",
    "tokio",
    "futures",
    "serde",
    "serde_json",
    "chrono",
    "jiff",
    "time_core",
];

/// Macros that read the environment of the build or a file beside it.
const OUTSIDE_MACROS: &[&str] = &["env", "option_env", "include", "include_str", "include_bytes"];

/// `cargo tree` of the core is one line.
pub fn no_dependencies(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let tree = repo.cargo(&[
        "tree",
        "-p",
        "seawall-core",
        "-e",
        "normal,build",
        "--prefix",
        "none",
    ])?;
    Ok(tree_is_one_line(&tree))
}

fn tree_is_one_line(tree: &str) -> Vec<Finding> {
    tree.lines()
        .filter(|line| !line.trim().is_empty())
        .skip(1)
        .map(|line| {
            Finding::in_file(
                "crates/seawall-core/Cargo.toml",
                format!("depends on {line}; the core has no dependencies"),
            )
        })
        .collect()
}

/// No source of the core, tests aside, names what lies outside.
pub fn names_nothing_outside(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for file in &repo.files {
        if file.path.starts_with(CORE) && file.is_rust() && !file.is_test() {
            findings.extend(outside(&file.path, &file.text));
        }
    }
    Ok(findings)
}

fn outside(path: &str, source: &str) -> Vec<Finding> {
    let code = code_only(source);
    let words = words(&code);
    let mut findings = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).map_or("", |word| word.text);
        let before = at.checked_sub(1).map_or("", |at| words[at].text);
        let inside_a_path = before == "::" && at >= 2 && is_name(words[at - 2].text);
        let is_path = next == "::" && !inside_a_path;
        let is_import = before == "use" || before == "crate" && at >= 2 && words[at - 2].text == "extern";
        let for_tests = word.text == "std" && before == "crate" && under_cfg_test(&words[..at]);
        if OUTSIDE.contains(&word.text) && (is_path || is_import) && !for_tests {
            findings.push(Finding::at(
                path,
                word.line,
                format!(
                    "`{}` is outside the core; let a driver tell it instead",
                    word.text
                ),
            ));
        }
        if OUTSIDE_MACROS.contains(&word.text) && next == "!" {
            findings.push(Finding::at(
                path,
                word.line,
                format!("`{}!` reads what is outside the core", word.text),
            ));
        }
    }
    findings
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c == '_' || c.is_alphabetic())
}

/// Whether the words before `std` in `#[cfg(test)] extern crate std` are those.
fn under_cfg_test(before: &[Word<'_>]) -> bool {
    let want = ["#", "[", "cfg", "(", "test", ")", "]", "extern", "crate"];
    before.len() >= want.len()
        && before[before.len() - want.len()..]
            .iter()
            .zip(want)
            .all(|(word, want)| word.text == want)
}

/// The core's root says what the other checks hold.
pub fn says_so(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let code = code_only(repo.text(LIB)?);
    let mut flat = String::new();
    for word in words(&code) {
        flat.push_str(word.text);
    }
    let mut findings = Vec::new();
    for want in ["#![no_std]", "#![forbid(unsafe_code)]"] {
        if !flat.contains(want) {
            findings.push(Finding::in_file(LIB, format!("must say `{want}`")));
        }
    }
    Ok(findings)
}

/// The compiler takes the core where only `core` and `alloc` exist.
pub fn compiles_without_std(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let said = compile_bare(&repo.root().join(LIB))?;
    Ok(match said {
        Compiled::Yes => Vec::new(),
        Compiled::No { detail } => vec![Finding::in_file(
            LIB,
            format!("does not compile without std: {detail}"),
        )],
    })
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compiled {
    Yes,
    No { detail: String },
}

/// Compiles one crate root against a library folder that holds `core`, `alloc` and what those need.
pub(super) fn compile_bare(root: &Path) -> Result<Compiled, Error> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut ask = Command::new(&rustc);
    ask.args(["--print", "target-libdir", "--print", "host-tuple"]);
    let said = output(ask)?;
    let mut lines = said.lines();
    let (Some(libraries), Some(host)) = (lines.next(), lines.next()) else {
        return Err(Error::Form {
            path: "rustc --print".to_owned(),
            detail: format!("expected a folder and a target, got {said}"),
        });
    };
    let bare = Bare::new(Path::new(libraries), host)?;
    let mut compile = Command::new(&rustc);
    compile.args([
        "--edition",
        "2024",
        "--crate-type",
        "rlib",
        "--emit",
        "metadata",
        "--sysroot",
    ]);
    compile
        .arg(&bare.root)
        .arg("-o")
        .arg(bare.root.join("out.rmeta"))
        .arg(root);
    Ok(match output(compile) {
        Ok(_) => Compiled::Yes,
        Err(Error::Command { detail, .. }) => Compiled::No { detail },
        Err(other) => return Err(other),
    })
}

/// A library folder without `std`, gone when dropped.
struct Bare {
    root: PathBuf,
}

impl Bare {
    fn new(libraries: &Path, host: &str) -> Result<Self, Error> {
        let root = crate::console::fresh_folder("bare")?;
        let bare = Self { root };
        let folder = bare.root.join("lib/rustlib").join(host).join("lib");
        let fail = |source: io::Error| Error::Io {
            path: libraries.to_path_buf(),
            source,
        };
        fs::create_dir_all(&folder).map_err(fail)?;
        for entry in fs::read_dir(libraries).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let wanted = ["libcore-", "liballoc-", "libcompiler_builtins-"];
            if wanted.iter().any(|start| name.starts_with(start)) {
                fs::copy(entry.path(), folder.join(name)).map_err(fail)?;
            }
        }
        Ok(bare)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // A folder left behind in the temporary folder harms nobody, and a drop has no one to tell.
        let _ = fs::remove_dir_all(&self.root);
    }
}

#[cfg(test)]
mod tests;
