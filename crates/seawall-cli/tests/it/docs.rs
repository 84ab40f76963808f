//! The pages about scripts, held to the parser.

use seawall_lab::file::MockFile;
use seawall_lab::plan::Rule;
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
fn every_action_has_a_row_that_says_whether_it_is_served() {
    // A page that promises an action which the mock refuses sends people to the wrong place, and so does the reverse.
    let rows = rows(&page(GRAMMAR), "## Actions");
    for row in &rows {
        let [text, _, served] = row.as_slice() else {
            panic!("a row has three cells: {row:?}");
        };
        assert!(Action::parse(text).is_ok(), "{text} is no action");
        let is_served = Rule::parse(&format!("GET /x = {text}")).is_ok();
        let said = match served.as_str() {
            "today" => true,
            "later" => false,
            other => panic!("{text} is served {other}"),
        };
        assert_eq!(said, is_served, "{text}");
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
    let mut files = 0;
    for path in [GRAMMAR, "docs/guide/mock.md"] {
        for block in page(path).split("```toml\n").skip(1) {
            let (text, _) = block.split_once("```").expect("the block is closed");
            MockFile::parse(path, text).unwrap_or_else(|error| panic!("{error}"));
            files += 1;
        }
    }
    assert!(files >= 2, "{files}");
}
