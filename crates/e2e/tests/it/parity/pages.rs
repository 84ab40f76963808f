//! The files themselves: short, run, and told of.

use super::shown::{ROWS, show};
use crate::stage::soon;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a reader copies in one look.
const LINES_MAX: usize = 25;
/// What the examples about functions share: a client as somebody has it already, and no row.
const SHARED: &str = "once";

fn repo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn examples() -> BTreeSet<String> {
    let files = fs::read_dir(repo().join("examples/parity")).unwrap();
    let names = files.map(|file| file.unwrap().path());
    names
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != SHARED)
        .collect()
}

#[test]
fn each_example_is_short_and_says_which_row_it_is() {
    // Breaks when an example grows beyond what is copied, or when nobody can tell what it is for.
    let mut rows = Vec::new();
    for name in examples() {
        let text = fs::read_to_string(repo().join(format!("examples/parity/{name}.rs"))).unwrap();
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines");
        let row = text
            .strip_prefix("//! Row ")
            .and_then(|rest| rest.split_once(':'));
        rows.push((row.unwrap().0.parse::<usize>().unwrap(), name));
    }
    rows.sort_unstable();
    let expected: Vec<_> = ROWS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    let numbered: Vec<_> = (1..=ROWS.len()).zip(expected).collect();
    assert_eq!(rows, numbered);
}

#[test]
fn an_example_that_there_is_not_is_said_to_be_none() {
    // Breaks when a name that is misspelt runs nothing, and looks as if all were well.
    let error = super::shown::run(&["brake".to_owned()]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("there is no example brake; there are settings, ")
    );
}

#[tokio::test]
async fn each_example_runs_as_its_reader_would_run_it() {
    // Breaks when `cargo run -p e2e --example parity` does: in real time, against its own mock.
    for (name, ..) in ROWS {
        let (came, saw) = soon(show(name))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            !came.is_empty() && saw.lines().count() > 1,
            "{name}: {came}\n{saw}"
        );
    }
}

#[test]
fn the_page_has_every_row_with_its_example_and_tests_that_exist() {
    // Breaks when a row is added or a test renamed, and the page goes on to name what is not there.
    let page = fs::read_to_string(repo().join("docs/guide/parity.md")).unwrap();
    let tests: String = ["clients", "functions", "times", "upstreams"]
        .map(|file| fs::read_to_string(repo().join(format!("crates/e2e/tests/it/parity/{file}.rs"))).unwrap())
        .concat();
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains("examples/parity/"))
        .collect();
    assert_eq!(rows.len(), ROWS.len());
    let mut named = BTreeSet::new();
    for (line, (name, ..)) in rows.iter().zip(ROWS) {
        assert!(
            line.contains(&format!("[`{name}`](../../examples/parity/{name}.rs)")),
            "{line}"
        );
        let held = line.rsplit('|').nth(1).unwrap();
        let of_line: Vec<&str> = held.split('`').skip(1).step_by(2).collect();
        assert!(!of_line.is_empty(), "{line}");
        for test in of_line {
            assert!(
                tests.contains(&format!("fn {test}(")),
                "{name}: there is no test {test}"
            );
            named.insert(test.to_owned());
        }
    }
    let written: BTreeSet<_> = tests
        .split("#[tokio::test]\n")
        .skip(1)
        .map(|rest| {
            rest.trim_start_matches("async fn ")
                .split('(')
                .next()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(named, written);
}
