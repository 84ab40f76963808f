//! The program, run as users run it.

mod batch;
mod common;
mod docs;
mod explain;
mod mock;
mod watched;

use std::path::Path;
use std::process::{Command, Output};

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
