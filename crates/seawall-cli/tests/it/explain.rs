//! `seawall explain`, held to a table of outcomes and to its texts.

use expect_test::{Expect, expect};
use serde_json::Value;
use std::process::{Command, Output};

const ROWS: &str = include_str!("explain.rows");

fn explain(args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .arg("explain")
        .args(args)
        .output()
        .expect("the program starts")
}

/// Splits as a shell would, with single quotes alone.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (nth, part) in line.split('\'').enumerate() {
        if nth % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

fn json(args: &[String]) -> Value {
    let output = explain(args);
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_str(&text).expect("one JSON document")
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The columns of one answer, as the table writes them.
fn columns(said: &Value) -> [String; 4] {
    let delay = match &said["delay_ms"] {
        Value::Null => "-".to_owned(),
        range => format!("{}..{}", range["min"], range["max"]),
    };
    let hint = match &said["hint_ms"] {
        Value::Null => word(&said["hint_source"]),
        ms => format!("{ms} {}", word(&said["hint_source"])),
    };
    [
        format!("{} {}", word(&said["outcome"]), word(&said["sent"])),
        format!("{} {}", word(&said["action"]), word(&said["reason"])),
        delay,
        hint,
    ]
}

#[test]
fn every_outcome_gets_its_verdict() {
    // One wrong cell repeats a payment, hammers a server or gives up on a user; the table says which.
    let mut wrong = Vec::new();
    let mut asked = 0;
    for line in ROWS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [id, args, expected @ ..] = cells.as_slice() else {
            panic!("a row has six cells: {line}");
        };
        let mut args = split(args);
        args.extend(split("--json --now 2026-01-01T00:00:00Z"));
        let said = json(&args);
        asked += 1;
        if columns(&said) != expected {
            wrong.push(format!(
                "{id}: {}\n  expected {}",
                columns(&said).join(" | "),
                expected.join(" | ")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {asked} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(asked >= 200, "{asked} rows are too few to trust");
}

#[test]
fn samples_stay_in_the_range_that_is_printed() {
    // A range that the draws leave is a promise broken; draws that never come near its ends are no jitter.
    for args in [
        "--method GET --status 500 --attempts 4",
        "--method GET --status 500 --header 'Retry-After: 5'",
        "--method GET --status 429 --header 'Retry-After: 5'",
        "--method GET --status 500 --elapsed 119.8s",
    ] {
        let mut args = split(args);
        args.extend(split("--json --sample 400 --seed 9"));
        let said = json(&args);
        let samples: Vec<u64> = said["samples_ms"]
            .as_array()
            .expect("samples")
            .iter()
            .map(|sample| sample.as_u64().expect("milliseconds"))
            .collect();
        let (min, max) = (&said["delay_ms"]["min"], &said["delay_ms"]["max"]);
        let (min, max) = (min.as_u64().expect("a number"), max.as_u64().expect("a number"));
        assert_eq!(samples.len(), 400);
        assert!(
            samples.iter().all(|sample| (min..=max).contains(sample)),
            "{args:?} {min}..{max}: {samples:?}"
        );
        let (low, high) = (samples.iter().min(), samples.iter().max());
        let slack = (max - min) / 20;
        assert!(
            low <= Some(&(min + slack)) && high >= Some(&(max - slack)),
            "{args:?}: {low:?} {high:?}"
        );
    }
}

#[test]
fn one_seed_says_the_same_and_another_something_else() {
    // Without the first nothing can be replayed; without the second "random" is a constant.
    let ask = |seed: &str| {
        explain(&split(&format!(
            "--method GET --status 500 --json --sample 50 --seed {seed}"
        )))
        .stdout
    };
    assert_eq!(ask("1"), ask("1"));
    assert_ne!(ask("1"), ask("2"));
}

#[test]
fn header_values_are_bytes() {
    // A value that is not text is the server's junk, never the user's mistake.
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        let value = std::ffi::OsStr::from_bytes(b"Retry-After: \xff\xfe5");
        let output = Command::new(env!("CARGO_BIN_EXE_seawall"))
            .args([
                "explain", "--method", "GET", "--status", "503", "--json", "--header",
            ])
            .arg(value)
            .output()
            .expect("the program starts");
        let said: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        assert_eq!(word(&said["reason"]), "backing-off");
    }
}

fn check(args: &str, code: i32, expected: Expect) {
    let output = explain(&split(args));
    let text = [output.stdout, output.stderr].concat();
    expected.assert_eq(&String::from_utf8_lossy(&text));
    assert_eq!(output.status.code(), Some(code), "{args}");
}

#[test]
fn the_texts_are_these() {
    // JSON keys and sentences are read by people and programs; a change must be seen.
    let twelve = "--path /v1/chat/completions --status 429 --header 'Retry-After: 12'";
    check(
        twelve,
        0,
        expect![[r#"
        the server asked for 12s; waiting 12s, and the whole gate with it
    "#]],
    );
    check(
        &format!("{twelve} --json"),
        0,
        expect![[r#"
        {"outcome":"throttled","sent":"not-done","action":"wait","reason":"server-asked","role":"retry","delay_ms":{"min":12000,"max":12000},"hint_ms":12000,"hint_source":"retry-after","text":"the server asked for 12s; waiting 12s, and the whole gate with it","samples_ms":[12000]}
    "#]],
    );
    check(
        "--path /v1/payments --error reset --json",
        0,
        expect![[r#"
        {"outcome":"failed","sent":"maybe","action":"finish","reason":"may-have-acted","text":"the write may have acted, and nothing makes a repeat safe"}
    "#]],
    );
    check(
        "--method GET --status 429 --header 'Retry-After: 7200' --json",
        0,
        expect![[r#"
            {"outcome":"throttled","sent":"not-done","action":"finish","reason":"server-asked-too-long","hint_ms":7200000,"hint_source":"retry-after","retry_after_ms":7200000,"text":"the server asked for 2h; the longest wait possible is 1m"}
        "#]],
    );
    check(
        "--method GET --status 503 --attempts 6",
        0,
        expect![[r#"
        all 6 attempts that the policy allows were made
    "#]],
    );
    check(
        "--method GET --status 503 --attempts 3 --elapsed 500s",
        0,
        expect![[r#"
            the deadline of 2m passed
        "#]],
    );
}

#[test]
fn what_cannot_be_asked_is_told() {
    // "error: invalid input" leaves people to guess; each of these says what to type instead.
    check(
        "",
        2,
        expect![[r#"
        error: nothing to explain; say what the attempt met, with --status 503 or --error reset
    "#]],
    );
    check(
        "--status 429 --policy nope",
        2,
        expect![[r#"
        error: --policy nope: no such file, and the presets are default, interactive, batch, writes, off
    "#]],
    );
    check(
        "--status 429 --header 'Retry-After 5'",
        2,
        expect![[r#"
        error: --header "Retry-After 5" is no header; write 'Name: value'
    "#]],
    );
    check(
        "--status 429 --provider opneai",
        2,
        expect![[r#"
        error: invalid value 'opneai' for '--provider <PROVIDER>': known are openai, anthropic, azure, gemini, groq, stripe, github, generic

        For more information, try '--help'.
    "#]],
    );
    check(
        "--status 429 --elapsed 5",
        2,
        expect![[r#"
        error: invalid value '5' for '--elapsed <D>': a length of time needs a unit: 500ms, 30s, 2m or 1h30m

        For more information, try '--help'.
    "#]],
    );
    check(
        "--status 429 --now yesterday",
        2,
        expect![[r#"
        error: invalid value 'yesterday' for '--now <RFC3339>': a date looks like 2026-11-30T12:00:00Z

        For more information, try '--help'.
    "#]],
    );
    check(
        "--status 429 --body @no/such/file",
        2,
        expect![[r#"
        error: --body @no/such/file: No such file or directory (os error 2)
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_file_without_an_end_or_a_text_is_refused() {
    // Could break: a device has no length to ask for, and is read until memory is full.
    check(
        "--status 429 --body @/dev/zero",
        2,
        expect![[r#"
        error: --body @/dev/zero: longer than 67108864 bytes, which is the most that is read
    "#]],
    );
    check(
        "--status 429 --policy /dev/zero",
        2,
        expect![[r#"
        error: --policy /dev/zero: longer than 1048576 bytes, which is the most that is read
    "#]],
    );
    check(
        "--status 429 --policy /",
        2,
        expect![[r#"
        error: --policy /: Is a directory (os error 21)
    "#]],
    );
}

#[test]
fn a_policy_file_decides() {
    // A file that is read and not used is a lie that nobody sees.
    let dir = std::env::temp_dir().join(format!("seawall-explain-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let file = dir.join("policy.toml");
    let ask = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        explain(&[
            "--method".into(),
            "GET".into(),
            "--status".into(),
            "500".into(),
            "--json".into(),
            "--policy".into(),
            file.display().to_string(),
        ])
    };
    let said: Value =
        serde_json::from_slice(&ask("[policy.backoff]\nbase = \"2s\"\njitter = \"none\"\n").stdout)
            .expect("one JSON document");
    assert_eq!(said["delay_ms"].to_string(), r#"{"max":2000,"min":2000}"#);
    let bad = ask("[policy]\nretrys = 3\n");
    let stderr = String::from_utf8_lossy(&bad.stderr).replace(&file.display().to_string(), "policy.toml");
    expect![[r#"
        error: policy.toml:2:1: unknown key `retrys` in [policy]; the nearest known is `retries`
          |
        2 | retrys = 3
          | ^^^^^^
    "#]]
    .assert_eq(&stderr);
    assert_eq!(bad.status.code(), Some(2));
    std::fs::remove_dir_all(&dir).expect("the directory goes");
}

#[test]
fn a_named_upstream_decides() {
    // The file that runs and the file that is asked about must say the same.
    let folder = crate::Folder::new("explain-upstream");
    folder.file(
        "seawall.toml",
        "[policy]\nretries = 9\n[[upstream]]\nname = \"main\"\nbase_url = \"https://api.openai.com/v1\"\n\
         classify = [{ status = 446, as = \"throttled\" }]\npolicy = { backoff = { base = \"2s\", jitter = \"none\" } }\n\
         [[upstream]]\nname = \"later\"\nbase_url = \"https://b\"\npolicy = { breaker = { probes = 1 } }\n",
    );
    let ask = |words: &[&str]| {
        let words: Vec<&str> = ["explain", "--method", "GET", "--json"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        crate::seawall_in(&folder.0, &words)
    };
    let said = ask(&["--status", "446", "--upstream", "main"]);
    let said: Value = serde_json::from_slice(&said.stdout).expect("one JSON document");
    assert_eq!(
        (&said["outcome"], &said["delay_ms"]["min"]),
        (&"throttled".into(), &2000.into())
    );
    let said = ask(&[
        "--status",
        "503",
        "--attempts",
        "9",
        "--upstream",
        "main",
        "-c",
        "seawall.toml",
    ]);
    let said: Value = serde_json::from_slice(&said.stdout).expect("one JSON document");
    assert_eq!(said["action"], "wait");
    let unknown = ask(&["--status", "503", "--upstream", "mian"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("has no upstream of this name; it has main, later")
    );
}
