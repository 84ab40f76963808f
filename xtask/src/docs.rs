//! Docs in step: pages that are generated from the code, and the commands that README and CI share.

use crate::api;
use crate::repo::{Error, Repo};
use crate::tidy::Finding;
use seawall_core::reason::{CATALOGUE, Stage};
use std::collections::BTreeSet;
use std::fmt::Write;

/// One generated page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where it stands.
    pub path: &'static str,
    /// What it says.
    pub text: String,
}

/// Every generated page, as the code of this moment makes it.
pub fn pages() -> Vec<Page> {
    vec![Page {
        path: "docs/reference/reasons.md",
        text: reasons(),
    }]
}

/// Every generated page in the repository is what the code makes.
pub fn in_step(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for page in pages() {
        let stands = repo.files.iter().find(|file| file.path == page.path);
        if stands.is_none_or(|file| file.text != page.text) {
            findings.push(Finding::in_file(
                page.path,
                "is not what the code makes; run `cargo xtask docs`",
            ));
        }
    }
    Ok(findings)
}

/// The README's first block holds the two commands that CI takes from it.
pub fn first_block(repo: &Repo) -> Result<Vec<Finding>, Error> {
    let readme = repo.text("README.md")?;
    let block = readme.split("```").nth(1).unwrap_or("");
    let mut findings = Vec::new();
    for start in ["cargo run --release -- batch ", "cargo test --workspace"] {
        if !block.lines().any(|line| line.starts_with(start)) {
            findings.push(Finding::in_file(
                "README.md",
                format!(
                    "the first block must hold a line that starts with `{start}`; .ci/run takes it from there"
                ),
            ));
        }
    }
    Ok(findings)
}

/// The page of features has a row for each feature of each library, and none for another.
pub fn features(repo: &Repo) -> Result<Vec<Finding>, Error> {
    const PAGE: &str = "docs/reference/features.md";
    let page = repo.text(PAGE)?;
    let mut findings = Vec::new();
    for name in api::CRATES {
        let manifest = repo.toml(&format!("crates/{name}/Cargo.toml"))?;
        let there: BTreeSet<&str> = manifest
            .get("features")
            .and_then(toml::Value::as_table)
            .into_iter()
            .flat_map(toml::Table::keys)
            .map(String::as_str)
            .filter(|feature| *feature != "default")
            .collect();
        let rows: BTreeSet<&str> = section(page, &format!("### `{name}`"))
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        for missing in there.difference(&rows) {
            findings.push(Finding::in_file(
                PAGE,
                format!("has no row for feature `{missing}` of {name}"),
            ));
        }
        for gone in rows.difference(&there) {
            findings.push(Finding::in_file(
                PAGE,
                format!("tells of feature `{gone}`, which {name} does not have"),
            ));
        }
    }
    Ok(findings)
}

/// The lines below a heading, up to the next one.
fn section<'a>(page: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let after = page
        .split_once(&format!("{heading}\n"))
        .map_or("", |(_, after)| after);
    after.lines().take_while(|line| !line.starts_with('#'))
}

fn reasons() -> String {
    let mut page = String::from(
        "# Reasons\n\n\
         <!-- Made by `cargo xtask docs` from `seawall_core::reason::CATALOGUE`; change it there. -->\n\n\
         Every verdict has a reason, and every reason a code: the one vocabulary of logs, metrics, response headers,\n\
         pages, reports and tests. A code is never renamed and never used for something else.\n",
    );
    for (stage, title) in [
        (Stage::Send, "On an attempt that is sent"),
        (Stage::Wait, "On a wait"),
        (Stage::End, "On an end"),
    ] {
        push(
            &mut page,
            format_args!("\n## {title}\n\n| code | what it says | what to do |\n|---|---|---|\n"),
        );
        for entry in CATALOGUE.iter().filter(|entry| entry.stage == stage) {
            let cell = |text: &str| text.replace('|', "\\|");
            push(
                &mut page,
                format_args!(
                    "| `{}` | {} | {} |\n",
                    entry.code,
                    cell(entry.meaning),
                    cell(entry.remedy)
                ),
            );
        }
    }
    page
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests;
