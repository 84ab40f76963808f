//! Programs that must not compile, and what the compiler says to them.
//!
//! What can go wrong: a promise that wrong code is refused holds, and who wrote it is told something about a future of
//! a future. So each such program stands beside its crate's tests as a target that nobody builds, and here the words
//! that its author meets are held: the headline, the label under the code, and the notes of ours.

use crate::repo::{Error, Repo, cargo};
use serde_json::Value;

/// What the compiler says first of each error in the target `test`, in order: where, what, what under it, what to do.
pub fn said(repo: &Repo, test: &str) -> Result<Vec<String>, Error> {
    let mut command = cargo();
    // The workspace's own choice of features, so that nothing is built for this but the program.
    command
        .current_dir(repo.root())
        .args([
            "test",
            "--workspace",
            "--no-run",
            "--offline",
            "--message-format=json",
        ])
        .args(["--test", test]);
    let done = command.output().map_err(|source| Error::Io {
        path: command.get_program().into(),
        source,
    })?;
    let text = String::from_utf8_lossy(&done.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages
        .filter(|line| line["reason"] == "compiler-message" && line["message"]["level"] == "error")
        .filter(|line| {
            line["message"]["spans"]
                .as_array()
                .is_some_and(|spans| !spans.is_empty())
        })
        .map(|line| in_short(&line["message"]))
        .collect())
}

fn in_short(message: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut lines = vec![text(&message["message"])];
    for span in list(&message["spans"]) {
        if span["is_primary"] == true {
            lines.push(format!("  line {}: {}", span["line_start"], text(&span["label"])));
        }
    }
    let notes = list(&message["children"]);
    let ours = notes
        .iter()
        .filter(|note| note["level"] == "note")
        .map(|note| text(&note["message"]));
    let ours = ours.take_while(|note| !note.starts_with("required "));
    lines.extend(ours.map(|note| format!("  {note}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests;
