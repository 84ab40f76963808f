//! The program, run as users run it.

mod batch;
mod check;
mod common;
mod demo;
mod docs;
mod explain;
mod keys;
mod made;
mod mock;
mod paced;
mod risky;
mod schema;
mod simulate;
mod test;
mod trials;
mod tune;
mod watched;
mod written;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for one test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    /// `name` is the test's alone.
    fn new(name: &str) -> Self {
        let path = Self::path(name);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Where the folder of this name is.
    fn path(name: &str) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // One that is left behind below `target` harms nobody, and a drop has no one to tell.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in this folder.
fn seawall_in(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(words)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .output()
        .expect("the program starts")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the program prints text")
}

/// Sends a signal to a process; one that has just ended hears nothing.
#[cfg(unix)]
fn tell(process: u32, signal: &str) {
    let words = ["-c", "kill -s \"$1\" \"$2\" 2>&-", "sh", signal];
    Command::new("sh")
        .args(words)
        .arg(process.to_string())
        .status()
        .expect("a shell runs");
}
