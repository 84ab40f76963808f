//! The traps of `docs/reference/traps.md` and the tests that hold them say the same.

use super::Finding;
use crate::repo::{Error, File, Repo};

/// The page.
const PAGE: &str = "docs/reference/traps.md";

/// Every row of the page names a test that is there, and whose first comment names the row's traps.
pub fn check(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for (number, line) in repo.text(PAGE)?.lines().enumerate() {
        if let Some(fault) = row(repo, line) {
            findings.push(Finding::at(PAGE, number + 1, fault));
        }
    }
    Ok(findings)
}

/// What is wrong with a row of the table; nothing with any other line.
fn row(repo: &Repo, line: &str) -> Option<String> {
    let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
    let &[traps, _, _, held] = cells.as_slice() else {
        return None;
    };
    let (name, path) = held
        .strip_prefix("[`")?
        .strip_suffix(')')?
        .split_once("`](../../")?;
    let Some(file) = repo.files.iter().find(|file| file.path == path) else {
        return Some(format!("there is no {path}"));
    };
    let Some(comment) = first_comment(file, name) else {
        return Some(format!(
            "{path} has no test {name} whose body begins with a comment"
        ));
    };
    let unsaid = traps.split(", ").find(|trap| !says(comment, trap))?;
    Some(format!(
        "the first comment of {name} in {path} does not name trap {unsaid}"
    ))
}

/// The first line of the function's body, where it is a comment.
fn first_comment<'f>(file: &'f File, name: &str) -> Option<&'f str> {
    let declared = format!("fn {name}(");
    let mut lines = file.text.lines().map(str::trim);
    lines.find(|line| line.starts_with(&declared)).and_then(|line| {
        let opens = line.ends_with('{') || lines.any(|line| line.ends_with('{'));
        let first = if opens { lines.next()? } else { return None };
        first.starts_with("//").then_some(first)
    })
}

fn says(comment: &str, trap: &str) -> bool {
    let said = comment.trim_start_matches("// Trap").trim_start_matches('s');
    said.split([' ', ',', '.']).any(|word| word == trap)
}

#[cfg(test)]
mod tests;
