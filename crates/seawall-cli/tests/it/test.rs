//! `seawall test`, run as users run it.

mod clients;
mod examples;
#[cfg(unix)]
mod stopped;

use crate::{Folder, seawall_in, text};
use expect_test::{Expect, expect};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Two scenarios that pass and two that do not.
fn four(folder: &Folder) {
    let route = |script: &str| format!("[[mock.route]]\nmatch = \"GET /x\"\nscript = \"{script}\"\n");
    let step = "[[step]]\nsend = \"GET /x\"\nexpect = { status = 200 }\n";
    folder.file("a-passes.toml", format!("{}{step}", route("2x 503, 200")));
    folder.file(
        "b-fails.toml",
        format!("{}{step}[expect]\nattempts = {{ \"/x\" = 2 }}\n", route("400")),
    );
    folder.file("c-is-none.toml", format!("{}{step}expekt = 1\n", route("200")));
    folder.file(
        "d-passes.toml",
        format!("{}{step}", route("429 retry-after=5, 200")),
    );
    folder.file("notes.txt", "no scenario, and not asked for");
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// What is printed, with `[time]` in the place of what differs from run to run.
fn check(output: Output, code: i32, expected: Expect) {
    let (printed, said) = (text(output.stdout), text(output.stderr));
    let timeless: Vec<String> = printed.lines().map(timeless).collect();
    expected.assert_eq(&format!("{}\n", timeless.join("\n")));
    assert_eq!((output.status.code(), said.as_str()), (Some(code), ""));
}

/// `(2 expectations, 12.3ms)` without its time.
fn timeless(line: &str) -> String {
    let Some((head, rest)) = line.split_once(" expectation") else {
        return line.to_owned();
    };
    match (rest.find(", "), rest.rfind([',', ')'])) {
        (Some(from), Some(to)) if to > from => {
            format!("{head} expectation{}, [time]{}", &rest[..from], &rest[to..])
        }
        (Some(from), _) => format!("{head} expectation{}, [time])", &rest[..from]),
        (None, _) => line.to_owned(),
    }
}

#[test]
fn every_file_is_told_in_its_place_whatever_becomes_of_the_others() {
    // A bad file that stops the others hides what they would have shown; an order that depends on who is faster
    // cannot be compared from run to run.
    let folder = Folder::new("test-four");
    four(&folder);
    check(
        seawall_in(&folder.0, &["test", "."]),
        2,
        expect![[r#"
        ok   ./a-passes.toml: a-passes (1 expectation, [time])
        FAIL ./b-fails.toml: b-fails (2 expectations, [time])
          x step 1: status (./b-fails.toml:6: expect = { status = 200 })
              expected  200
              seen      400, refused: the request was refused with 400; the same request will fail again
                #1  0s  0s  GET /x  400
          x attempts at /x (./b-fails.toml:8: attempts = { "/x" = 2 })
              expected  2 attempts at /x
              seen      1
                (the attempts are those above)
        BAD  ./c-is-none.toml
          ./c-is-none.toml:7:1: a step has no key `expekt`
          7 | expekt = 1
            | ^^^^^^ did you mean `expect`?
            = expected one of name, send, headers, body, json, policy, deadline, key, replay, times, together, after, capture, expect
        ok   ./d-passes.toml: d-passes (1 expectation, [time])
        4 scenarios: 2 passed, 1 failed, 1 could not be read
    "#]],
    );
}

#[test]
fn the_exit_code_says_the_gravest_of_what_became_of_all() {
    // A CI server sees nothing else: 0 for a file that was never run lets everything through.
    let folder = Folder::new("test-codes");
    four(&folder);
    for (files, expected) in [
        (&["a-passes.toml", "d-passes.toml"][..], 0),
        (&["a-passes.toml", "b-fails.toml"], 1),
        (&["b-fails.toml", "c-is-none.toml"], 2),
        (&["gone.toml", "a-passes.toml"], 2),
        (&["notes.txt"], 2),
    ] {
        let output = seawall_in(&folder.0, &[&["test"], files].concat());
        assert_eq!(code(&output), Some(expected), "{files:?}");
        let quiet = seawall_in(&folder.0, &[&["test", "-q"], files].concat());
        assert_eq!(code(&quiet), Some(expected));
        assert_eq!(
            quiet.stdout.is_empty(),
            expected == 0,
            "{files:?}: quiet tells failures alone"
        );
    }
    assert_eq!(code(&seawall_in(&folder.0, &["test"])), Some(2));
    let empty = Folder::new("test-empty");
    let output = seawall_in(&empty.0, &["test", "."]);
    assert_eq!(code(&output), Some(2));
    assert!(text(output.stdout).contains("there is no *.toml in this folder"));
    // The results are told, whatever becomes of the file that was to hold them.
    let output = seawall_in(
        &folder.0,
        &["test", "a-passes.toml", "--junit", "no/such/folder.xml"],
    );
    assert_eq!(code(&output), Some(74));
    assert!(text(output.stdout).contains("1 scenario: 1 passed"));
    let said = text(output.stderr);
    assert!(said.starts_with("error: --junit no/such/folder.xml: "), "{said}");
    // Nor do they take the place of the scenario.
    let scenario = || std::fs::read(folder.0.join("a-passes.toml")).expect("it is there");
    let before = scenario();
    let output = seawall_in(&folder.0, &["test", ".", "--junit", "./a-passes.toml"]);
    assert_eq!(code(&output), Some(2));
    assert!(text(output.stderr).contains("this is the file that is read"));
    assert_eq!(scenario(), before);
}

#[test]
fn a_report_is_one_document_for_programs_and_a_file_for_ci_servers() {
    // Text between the JSON, or a second document, breaks whoever reads it; a file that is not whole loses the results.
    let folder = Folder::new("test-reports");
    four(&folder);
    let output = seawall_in(&folder.0, &["test", ".", "--json", "--junit", "out.xml"]);
    assert_eq!((code(&output), text(output.stderr).as_str()), (Some(2), ""));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let files: Vec<&str> = report["scenarios"]
        .as_array()
        .expect("scenarios are a list")
        .iter()
        .map(|entry| entry["file"].as_str().expect("a file has its name"))
        .collect();
    assert_eq!(
        files,
        [
            "./a-passes.toml",
            "./b-fails.toml",
            "./c-is-none.toml",
            "./d-passes.toml"
        ]
    );
    let junit = std::fs::read_to_string(folder.0.join("out.xml")).expect("the file is written");
    assert!(junit.starts_with("<?xml") && junit.trim_end().ends_with("</testsuites>"));
    assert_eq!(junit.matches("<testsuite ").count(), 4);
}

#[test]
fn a_failure_by_chance_tells_the_seed_that_has_it_again() {
    // Without the seed, a failure of one run in ten is a rumour.
    let folder = Folder::new("test-seeds");
    folder.file(
        "chance.toml",
        "[[mock.route]]\nmatch = \"GET /x\"\nmix = { \"200\" = 0.7, \"400\" = 0.3 }\n\
         [[step]]\nsend = \"GET /x\"\nexpect = { status = 200 }\n",
    );
    let output = seawall_in(
        &folder.0,
        &["test", "chance.toml", "--repeat", "40", "--seed", "100"],
    );
    assert_eq!(code(&output), Some(1));
    let printed = text(output.stdout);
    let seeds: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_once(", seed "))
        .map(|(_, seed)| seed.trim_end_matches(')'))
        .collect();
    assert!((2..30).contains(&seeds.len()), "{printed}");
    assert!(
        !printed.contains("ok  "),
        "of those that pass the number alone is told: {printed}"
    );
    for seed in seeds {
        let again = seawall_in(&folder.0, &["test", "chance.toml", "--seed", seed]);
        assert_eq!(code(&again), Some(1), "seed {seed}");
    }
}

#[test]
fn scenarios_run_side_by_side() {
    // One after the other, sixteen waits of a second would take sixteen seconds; a hurried machine shows it by far.
    let folder = Folder::new("test-jobs");
    for nth in 0..16 {
        folder.file(
            &format!("{nth:02}.toml"),
            "client = { run = 'sleep 1' }\n[[mock.route]]\nmatch = \"GET /x\"\n",
        );
    }
    let output = seawall_in(&folder.0, &["test", ".", "--jobs", "16", "--json"]);
    assert_eq!(code(&output), Some(0), "{}", text(output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let took = |entry: &Value| entry["took_ms"].as_f64().expect("a time");
    let scenarios = report["scenarios"].as_array().expect("a list");
    assert!(scenarios.iter().all(|entry| took(entry) >= 1_000.0));
    assert_eq!(scenarios.len(), 16);
}

#[cfg(unix)]
#[test]
fn what_the_system_does_not_let_us_open_is_no_failure_of_a_client() {
    // With too few files to open, connections of a scenario that does right fail, and it is called a wrong one.
    let folder = Folder::new("test-files");
    let step = "[[step]]\nsend = \"GET /x\"\nexpect = { status = 200 }\n";
    let route = "[[mock.route]]\nmatch = \"GET /x\"\nscript = \"503, 200\"\n";
    for nth in 0..60 {
        folder.file(&format!("{nth:02}.toml"), format!("{route}{step}"));
    }
    let limited = |files: &str| {
        std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -n 64; exec \"$0\" test --jobs 60 \"$1\"",
                env!("CARGO_BIN_EXE_seawall"),
                files,
            ])
            .current_dir(&folder.0)
            .output()
            .expect("a shell runs")
    };
    let output = limited(".");
    assert_eq!(code(&output), Some(0), "{}", text(output.stdout));
    folder.file(
        "many.toml",
        format!("[[mock.route]]\nmatch = \"GET /x\"\n{step}times = 100\ntogether = true\n")
            .replace("expect", "#"),
    );
    let output = limited("many.toml");
    assert_eq!(code(&output), Some(74));
    let told = text(output.stdout);
    assert!(
        told.contains("take 216 open files, and the system lets us open 32"),
        "{told}"
    );
}

#[test]
fn more_runs_than_anybody_reads_are_refused_and_not_begun() {
    // What becomes of each is kept: without a bound it would end with the memory.
    let folder = Folder::new("test-repeat");
    four(&folder);
    let output = seawall_in(&folder.0, &["test", ".", "--repeat", "100000"]);
    assert_eq!(code(&output), Some(2));
    assert_eq!(
        text(output.stderr),
        "error: --repeat 100000: that is 400000 runs, and 100000 are the most at once; ask for fewer, or name fewer files\n"
    );
}
