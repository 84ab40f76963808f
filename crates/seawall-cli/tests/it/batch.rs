//! `seawall batch` as a person types it.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::{Folder, seawall_in, text};

/// A folder with twenty rows.
fn rows(name: &str) -> Folder {
    let folder = Folder::new(&format!("batch-{name}"));
    let all = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/humaneval.jsonl");
    let all = std::fs::read_to_string(all).unwrap();
    let some: String = all.lines().take(20).map(|line| format!("{line}\n")).collect();
    folder.file("prompts.jsonl", some);
    folder
}

fn lines(folder: &Folder, name: &str) -> usize {
    std::fs::read_to_string(folder.0.join(name))
        .unwrap()
        .lines()
        .count()
}

#[test]
fn every_row_is_answered_and_the_same_command_again_sends_nothing() {
    // The first thing that anybody types.
    let folder = rows("twice");
    let command = [
        "batch",
        "prompts.jsonl",
        "-o",
        "answers.jsonl",
        "--upstream",
        "mock:flaky",
        "--seed",
        "7",
    ];
    let first = seawall_in(&folder.0, &command);
    assert_eq!(first.status.code(), Some(0), "{}", text(first.stderr));
    assert!(text(first.stdout).starts_with("20 rows: 20 ok, 0 failed, 0 skipped, 0 pending\n"));
    assert_eq!(
        (
            lines(&folder, "answers.jsonl"),
            lines(&folder, "answers.errors.jsonl")
        ),
        (20, 0)
    );
    let again = seawall_in(&folder.0, &command);
    assert_eq!(again.status.code(), Some(0), "{}", text(again.stderr));
    let said = text(again.stdout);
    assert!(said.contains("attempts: 0 (nothing was sent)"), "{said}");
    assert_eq!(lines(&folder, "answers.jsonl"), 20);
}

#[test]
fn rows_that_failed_are_sent_again_once_their_error_file_is_gone() {
    // The guide says so. Breaks when a second truth beside the two files says that a row is done; or when nobody is
    // told where the failures are.
    let folder = rows("again");
    let run = |upstream: &str| {
        let command = format!("batch prompts.jsonl -o answers.jsonl --policy off --upstream {upstream}");
        seawall_in(&folder.0, &command.split(' ').collect::<Vec<_>>())
    };
    // Nobody listens on port 1.
    let first = run("http://127.0.0.1:1");
    assert_eq!(first.status.code(), Some(1));
    assert_eq!(lines(&folder, "answers.errors.jsonl"), 20);
    let told = text(first.stderr);
    assert!(
        told.contains("why rows failed stands in answers.errors.jsonl"),
        "{told}"
    );
    std::fs::remove_file(folder.0.join("answers.errors.jsonl")).unwrap();
    let again = run("mock:steady");
    assert_eq!(again.status.code(), Some(0), "{}", text(again.stderr));
    assert_eq!(lines(&folder, "answers.jsonl"), 20);
}

#[test]
fn every_profile_is_an_upstream() {
    // Breaks when one of the five is known to the mock and not here.
    for profile in ["steady", "flaky", "ratelimited", "outage", "storm"] {
        let folder = rows(&format!("profile-{profile}"));
        let command = format!(
            "batch prompts.jsonl -o answers.jsonl --concurrency 20 --seed 7 --upstream mock:{profile}"
        );
        let output = seawall_in(&folder.0, &command.split(' ').collect::<Vec<_>>());
        assert_eq!(
            output.status.code(),
            Some(0),
            "{profile}: {}",
            text(output.stderr)
        );
        assert_eq!(lines(&folder, "answers.jsonl"), 20, "{profile}");
    }
}

#[test]
fn without_an_upstream_it_says_what_to_type() {
    // Answers never come from a mock unasked.
    let folder = rows("nowhere");
    let output = seawall_in(&folder.0, &["batch", "prompts.jsonl", "-o", "answers.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(output.stderr);
    assert!(
        said.contains("--upstream mock:flaky") && said.contains("--upstream https://"),
        "{said}"
    );
    assert!(!folder.0.join("answers.jsonl").exists());
}

#[test]
fn the_examples_of_the_help_run() {
    // An example with an old flag sends people away. The one with a real upstream is only asked about its key.
    let folder = rows("help");
    let help = text(seawall_in(&folder.0, &["batch", "--help"]).stdout);
    let examples: Vec<&str> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("seawall "))
        .collect();
    assert_eq!(examples.len(), 4, "{examples:?}");
    for example in examples {
        let words: Vec<&str> = example.split_whitespace().collect();
        let output = seawall_in(&folder.0, &words);
        let expected = if example.contains("MY_KEY") { 77 } else { 0 };
        assert_eq!(
            output.status.code(),
            Some(expected),
            "{example}: {}",
            text(output.stderr)
        );
    }
}

#[test]
fn a_quiet_run_says_nothing_but_its_result() {
    // Cron mails whatever stands on stderr: a bar or a note that nobody asked for is a mail a night.
    let folder = rows("quiet");
    let words = "batch prompts.jsonl -o answers.jsonl --upstream mock:steady --quiet";
    for how in ["bar", "json", "none"] {
        let words: Vec<&str> = words
            .split(' ')
            .chain(["--overwrite", "--progress", how])
            .collect();
        let output = seawall_in(&folder.0, &words);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(output.stderr), "", "{how}");
        assert!(text(output.stdout).starts_with("20 rows: 20 ok"));
    }
}
