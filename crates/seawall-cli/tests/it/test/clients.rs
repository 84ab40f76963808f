//! Six clients with one thing wrong each, and one that does right, before the same scenarios.

use super::root;
use crate::text;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

/// What does not hold of a client, and in which file.
type Broken = BTreeSet<(String, String)>;

/// Of whom everything must have been seen: of a client that comes back at once, nobody can see whether chance is in its
/// waits.
const SEEN_WHOLE: &str = "right";

/// Python itself: what stands first on the PATH may be a script that looks for it, at every start.
fn python() -> String {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .expect("the clients are in Python: python3 runs");
    text(output.stdout).trim().to_owned()
}

/// Scenarios that are judged by how long a client waits, and by what it does.
const BY_WAITS: &[&str] = &["waits.toml"];
const BY_DEEDS: &[&str] = &["hint.toml", "outage.toml", "pay.toml", "refused.toml"];

fn start(python: &str, client: &str, files: &[&str]) -> Child {
    let files = files.iter().map(|file| format!("examples/clients/{file}"));
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["test", "--json", "--jobs", "4"])
        .args(files)
        .env("CLIENT", format!("{python} -S {client}.py"))
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn broken(client: &str, files: &[&str], child: Child) -> Broken {
    let output = child.wait_with_output().expect("the program ends");
    let printed = text(output.stdout);
    let report: Value = serde_json::from_str(&printed).expect("a report");
    let scenarios = report["scenarios"].as_array().expect("a list");
    assert_eq!(scenarios.len(), files.len(), "{printed}");
    let mut broken = Broken::new();
    for scenario in scenarios {
        assert_eq!(scenario["came"], "judged", "{printed}");
        let file = scenario["file"].as_str().expect("a file has its name");
        let file = file.rsplit('/').next().unwrap_or(file);
        for check in scenario["checks"].as_array().expect("a list") {
            let state = check["state"].as_str().expect("a check has a state");
            if state == "broken" || client == SEEN_WHOLE && state != "held" {
                let what = check["what"].as_str().expect("a check says what it is");
                broken.insert((file.to_owned(), what.to_owned()));
            }
        }
    }
    assert_eq!(output.status.success(), broken.is_empty(), "{printed}");
    broken
}

/// Tries these clients, all at once, and says where one is found guilty of anything else than this.
fn each_is_found(files: &[&str], expected: &[(&str, &[(&str, &str)])]) {
    let python = python();
    let children: Vec<Child> = expected
        .iter()
        .map(|(client, _)| start(&python, client, files))
        .collect();
    for (child, (client, expected)) in children.into_iter().zip(expected) {
        let expected = expected
            .iter()
            .map(|(file, what)| ((*file).to_owned(), (*what).to_owned()));
        assert_eq!(broken(client, files, child), expected.collect(), "{client}");
    }
}

#[test]
fn each_wrong_client_is_caught_by_what_is_wrong_with_it_and_the_right_one_passes() {
    // A check that finds any client guilty finds nothing, and neither does one that lets all pass. What is found beside
    // the one fault that a client has is found wrongly.
    //
    // Waits first, and of those alone whom they tell apart: beside dozens of interpreters that begin, a client's first wait
    // of a tenth of a second is the machine's.
    each_is_found(
        BY_WAITS,
        &[
            ("right", &[]),
            ("no_backoff", &[("waits.toml", "never no-backoff")]),
            ("no_jitter", &[("waits.toml", "never no-jitter")]),
        ],
    );
    each_is_found(
        BY_DEEDS,
        &[
            ("right", &[]),
            ("no_backoff", &[]),
            ("no_jitter", &[]),
            ("ignores_retry_after", &[("hint.toml", "never retry-before-hint")]),
            (
                "new_key",
                &[
                    ("pay.toml", "never duplicate-write"),
                    ("pay.toml", "never new-key"),
                    ("pay.toml", "resources `payments`"),
                    ("pay.toml", "same_key"),
                ],
            ),
            ("retries_400", &[("refused.toml", "never retry-of-refused")]),
            ("endless", &[("outage.toml", "never endless")]),
        ],
    );
}
