//! Files that are right and may hurt, each with the warning and the number that it must get.

use crate::{Folder, seawall_in, text};
use expect_test::expect_file;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/check/risky")
}

/// The risky files: name, and the arguments that their first line asks for.
fn files() -> Vec<(String, Vec<String>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| {
            let file = std::fs::read_to_string(&path).expect("a file");
            let asked = file.strip_prefix("# check:").and_then(|rest| rest.lines().next());
            let asked = asked.expect("the first line says how it is checked");
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, asked.split_whitespace().map(str::to_owned).collect())
        })
        .collect();
    files.sort();
    files
}

fn check(name: &str, asked: &[String], more: &[&str]) -> std::process::Output {
    let mut words = vec!["check", name];
    words.extend(asked.iter().map(String::as_str));
    words.extend(more);
    seawall_in(&folder(), &words)
}

#[test]
fn a_risky_file_is_right_and_is_warned_about_with_its_numbers() {
    // A warning that goes, or whose number is another, is found by an outage otherwise.
    let files = files();
    assert!(files.len() >= 10, "{files:?}");
    for (name, asked) in files {
        let output = check(&name, &asked, &[]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(output.stderr));
        let said = text(output.stdout);
        let warnings: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("warning: ") && !line.contains("not enforced yet"))
            .collect();
        assert!(!warnings.is_empty(), "{name} gets no warning");
        expect_file![folder().join(&name).with_extension("txt")].assert_eq(&(warnings.join("\n") + "\n"));
    }
}

#[test]
fn json_says_of_each_finding_what_where_and_by_which_numbers() {
    // Programs that watch files of many teams read the numbers, not the sentences.
    for (name, asked) in files() {
        let output = check(&name, &asked, &["--json"]);
        let said: Value = serde_json::from_str(&text(output.stdout)).expect("one document");
        let findings = said["findings"].as_array().expect("a list");
        for finding in findings {
            assert!(
                finding["text"].is_string() && finding["code"].is_string(),
                "{finding}"
            );
            assert!(
                matches!(finding["severity"].as_str(), Some("note" | "warning")),
                "{finding}"
            );
            let numbers = finding
                .get("numbers")
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            for (number, value) in numbers {
                assert!(value.is_number(), "{name}: {number} is {value}");
            }
        }
        let with_numbers = findings.iter().filter(|finding| finding.get("numbers").is_some());
        assert!(with_numbers.count() >= 2, "{name}");
    }
    let output = check(
        "no-headroom.toml",
        &["--rate=95".to_owned(), "--capacity=100".to_owned()],
        &["--json"],
    );
    let said: Value = serde_json::from_str(&text(output.stdout)).expect("one document");
    let findings = said["findings"].as_array().expect("a list");
    let finding = findings
        .iter()
        .find(|finding| finding["code"] == "no-headroom")
        .expect("it is told");
    assert_eq!(finding["numbers"]["attempts_per_s"], 105.5);
    assert_eq!(finding["numbers"]["calls_borne_per_s"], 90);
    assert_eq!(finding["upstreams"], serde_json::json!(["main"]));
}

#[test]
fn a_plain_file_gets_facts_and_no_warning() {
    // Rule G8: what a budget does not promise is printed, and a file that is fine is not complained about.
    let folder = Folder::new("plain-config");
    folder.file(
        "seawall.toml",
        "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.example.com/v1\"\n",
    );
    let said = text(seawall_in(&folder.0, &["check"]).stdout);
    assert!(!said.contains("warning:"), "{said}");
    for fact in [
        "below 10 calls a second the floor of 1 a second is more than the ratio of 10 %",
        "the first second of an outage may see 2 times the load and 10 attempts more, until the breaker opens",
        "budgets are per process: each further process may send 1 extra a second more",
        "the budget protects only while calls a second times 1.1 plus 1 are below what the upstream takes",
    ] {
        assert!(said.contains(fact), "{said}");
    }
}

#[test]
fn the_example_of_the_docs_is_not_warned_about() {
    // The first file that people copy must not be one that we advise against.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = seawall_in(&root, &["check", "examples/seawall.toml"]);
    let said = text(output.stdout);
    let warned = said
        .lines()
        .find(|line| line.starts_with("warning: ") && !line.contains("not enforced yet"));
    assert_eq!((output.status.code(), warned), (Some(0), None));
}

#[test]
fn numbers_that_are_none_and_upstreams_that_are_none_are_told() {
    // A rate that is silently for nobody makes the file look fine.
    let ask = |words: &[&str]| {
        let output = seawall_in(&folder(), &[&["check", "retry-storm.toml"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        text(output.stderr)
    };
    assert!(ask(&["--rate", "mian=5"]).contains("mian is no upstream of retry-storm.toml; there are main"));
    assert!(ask(&["--rate", "=5"]).contains("no upstream stands before the `=`"));
    assert!(ask(&["--rate", "fast"]).contains("a rate is a number above 0"));
    assert!(ask(&["--capacity", "main="]).contains("a rate is a number above 0"));
    assert!(ask(&["--processes", "0"]).contains("0 is not in 1..=1000000"));
    assert!(ask(&["--timeout", "1s"]).contains("--keys"));
}

#[test]
fn a_number_is_given_once_for_each_upstream() {
    // Could break by the last of two that wins: the advice would be of another load than somebody gave.
    let ask = |words: &[&str]| {
        let output = seawall_in(&folder(), &[&["check", "retry-storm.toml"], words].concat());
        (output.status.code(), text(output.stderr))
    };
    for (words, told) in [
        (
            ["--rate", "5", "--rate", "6"],
            "--rate is 5 and 6 for each upstream; give one of them",
        ),
        (
            ["--rate", "main=5", "--rate", "main=5"],
            "--rate is 5 and 5 for main; give one of them",
        ),
        (
            ["--capacity", "main=1.5", "--capacity", "main=2"],
            "--capacity is 1.5 and 2 for main; give one of them",
        ),
    ] {
        assert_eq!(ask(&words), (Some(2), format!("error: {told}\n")), "{words:?}");
    }
    // One for all and another for one of them contradict nobody.
    let (code, said) = ask(&["--rate", "5", "--rate", "main=6", "--capacity", "100"]);
    assert_eq!(code, Some(0), "{said}");
}
