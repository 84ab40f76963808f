//! What every command has: `--help`, `--version`, volume and colour.

use crate::text;
use std::process::Output;

fn seawall(words: &[&str]) -> Output {
    crate::seawall_in(".".as_ref(), words)
}

#[test]
fn help_and_version_are_results() {
    // On stderr, or with another exit code, `seawall --help | less` and scripts that ask for the version see nothing.
    for words in [
        &["--help"][..],
        &["batch", "--help"],
        &["check", "--help"],
        &["explain", "--help"],
        &["mock", "--help"],
        &["test", "--help"],
        &["completions", "--help"],
        &["man", "--help"],
        &["schema", "--help"],
        &["--version"],
    ] {
        let output = seawall(words);
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}");
        assert!(!output.stdout.is_empty(), "{words:?}");
    }
    let version = format!("seawall {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(text(seawall(&["--version"]).stdout), version);
    assert_eq!(seawall(&[]).status.code(), Some(2));
}

#[test]
fn the_examples_of_the_help_run() {
    // The first thing that is copied from a help text is its example; one with an old flag sends people away.
    for command in ["explain", "mock"] {
        let help = text(seawall(&[command, "--help"]).stdout);
        let examples: Vec<&str> = help
            .lines()
            .filter_map(|line| line.trim().strip_prefix("seawall "))
            .collect();
        assert!(examples.len() >= 3, "{command}: {examples:?}");
        for example in examples {
            // Quotes as a shell takes them; a mock is only asked whether it understands.
            let mut words: Vec<&str> = Vec::new();
            for (nth, part) in example.split('\'').enumerate() {
                match nth % 2 {
                    1 => words.push(part),
                    _ => words.extend(part.split_whitespace()),
                }
            }
            let expected = match command {
                "mock" => {
                    words.extend(["--listen", "nowhere"]);
                    words.retain(|word| *word != "127.0.0.1:9000");
                    words.dedup();
                    2
                }
                _ => 0,
            };
            let output = seawall(&words);
            let said = text(output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{example}: {said}");
            assert!(
                expected == 0 || said.starts_with("error: cannot listen on nowhere"),
                "{said}"
            );
        }
    }
}

#[test]
fn quiet_leaves_errors_and_verbose_adds_details() {
    // A quiet that swallows an error leaves a bare exit code; a verbose on stdout breaks every pipe behind it.
    let asked = ["explain", "--method", "GET", "--status", "503", "--policy"];
    let ask = |policy: &str, flag: &str| {
        let output = seawall(&[&asked[..], &[policy, flag]].concat());
        (text(output.stdout), text(output.stderr))
    };
    let (sentence, nothing) = ask("default", "-q");
    assert_eq!(nothing, "");
    assert_eq!(
        ask("default", "-v"),
        (
            sentence,
            "detail: outcome failed, sent maybe, action wait, reason backing-off, delay 50 to 500 ms\n"
                .to_owned()
        )
    );
    let (nothing, error) = ask("nope", "-q");
    assert_eq!(nothing, "");
    assert!(error.starts_with("error: --policy nope"), "{error}");
}

#[test]
fn pipes_get_no_colour_unasked() {
    // Escape codes in a log are noise; a flag that does nothing is a lie.
    let error = |color: &str| text(seawall(&["explain", "--color", color]).stderr);
    assert!(error("auto").starts_with("error: nothing"));
    assert!(error("never").starts_with("error: nothing"));
    assert!(error("always").starts_with("\x1b[1;31merror:\x1b[0m nothing"));
}
