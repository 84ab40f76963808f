//! The pages about scripts and files, held to their parsers.

use seawall::config::Config;
use seawall_lab::file::MockFile;
use seawall_lab::listener::{Fit, Version, fit};
use seawall_lab::script::listener::{ListenerScript, Welcome};
use seawall_lab::script::{Action, Script};
use std::path::Path;

fn page(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("the page is there")
}

const GRAMMAR: &str = "docs/reference/script-grammar.md";

/// The cells of the rows below this heading; the first without its backticks.
fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, rest) = page.split_once(heading).expect("the heading is there");
    let rows = rest
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells = row.trim_matches('|').split(" | ");
        cells
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    })
    .collect()
}

#[test]
fn every_action_has_a_row_that_says_what_each_version_of_http_has() {
    // A page that promises an action which a connection cannot meet sends people to the wrong place, and so does the
    // reverse.
    let rows = rows(&page(GRAMMAR), "## Actions");
    for row in &rows {
        let [text, over_http1, over_http2] = row.as_slice() else {
            panic!("a row has three cells: {row:?}");
        };
        let action = Action::parse(text).unwrap_or_else(|error| panic!("{error}"));
        for (version, cell) in [(Version::Http1, over_http1), (Version::Http2, over_http2)] {
            assert_eq!(fit(&action, version) == Fit::Fits, cell != "–", "{text}");
        }
    }
    // The parser's own list of what it knows.
    let error = Action::parse("?").expect_err("no action").to_string();
    let (_, known) = error.split_once("one of ").expect("it lists what it knows");
    for name in known.split(", ").map(str::trim) {
        let told = rows.iter().any(|row| row[0].split(' ').next() == Some(name));
        assert!(told, "{name} has no row");
    }
}

#[test]
fn the_scripts_and_files_of_the_docs_are_read() {
    // An example that does not parse is the first thing that a reader copies.
    for row in rows(&page(GRAMMAR), "## Steps") {
        Script::parse(&row[0]).unwrap_or_else(|error| panic!("{error}"));
    }
    let listener = rows(&page(GRAMMAR), "## Before any request");
    for welcome in Welcome::ALL {
        let told = listener.iter().any(|row| {
            let script = ListenerScript::parse(&row[0]).unwrap_or_else(|error| panic!("{error}"));
            script.steps().iter().any(|step| step.action.welcome == welcome)
        });
        assert!(told, "{} has no row", welcome.name());
    }
    let mut files = 0;
    for path in [GRAMMAR, "docs/guide/mock.md", "docs/reference/limit.md"] {
        for block in page(path).split("```toml\n").skip(1) {
            let (text, _) = block.split_once("```").expect("the block is closed");
            MockFile::parse(path, text).unwrap_or_else(|error| panic!("{error}"));
            files += 1;
        }
    }
    assert!(files >= 2, "{files}");
}

#[test]
fn the_files_of_the_docs_are_read() {
    // A file that is copied from a page and refused costs the page its readers.
    let mut files = 0;
    for path in ["docs/guide/check.md", "docs/guide/explain.md"] {
        for block in page(path).split("```toml\n").skip(1) {
            let (text, _) = block.split_once("```").expect("the block is closed");
            Config::parse(path, text).unwrap_or_else(|errors| panic!("{errors}"));
            files += 1;
        }
    }
    Config::parse("examples/seawall.toml", &page("examples/seawall.toml")).expect("the example is right");
    assert!(files >= 4, "{files}");
}

#[test]
fn what_is_not_enforced_yet_is_told_as_the_guide_says() {
    // The guide shows what people read; a text that has changed would be looked for in vain.
    let guide = page("docs/guide/check.md");
    let (_, rest) = guide
        .split_once("## What is read and not enforced yet")
        .expect("the heading is there");
    let block = |kind: &str| {
        let (_, rest) = rest
            .split_once(&format!("```{kind}\n"))
            .expect("the block is there");
        rest.split_once("```").expect("the block is closed").0.to_owned()
    };
    let folder = crate::Folder::new("docs-not-enforced");
    folder.file("seawall.toml", block("toml"));
    let output = crate::seawall_in(&folder.0, &["check"]);
    let said = crate::text(output.stdout);
    for line in block("text").lines() {
        assert!(said.contains(line), "{line}\n{said}");
    }
}
