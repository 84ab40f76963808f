//! `seawall batch` under limits on a minute.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::{Folder, seawall_in, text};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

/// What each row's body ends with: by their bodies they read some twenty tokens and may write four hundred.
const ROW_END: &str = r#""max_tokens":400}"#;

/// Answers its n-th request with what `answer` makes of n: status, header lines, body.
fn server(answer: impl Fn(usize) -> (u16, &'static str, &'static str) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            while !bytes.ends_with(ROW_END.as_bytes()) {
                let mut part = [0; 4_096];
                match stream.read(&mut part).unwrap() {
                    0 => break,
                    read => bytes.extend_from_slice(&part[..read]),
                }
            }
            let (status, lines, body) = answer(n);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} X\r\n{lines}content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

const ANSWER: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;

/// Runs so many rows with these flags; the summary, and what failed.
fn run(name: &str, rows: usize, upstream: &str, flags: &str) -> (serde_json::Value, String) {
    let folder = Folder::new(&format!("paced-{name}"));
    let mut all = String::new();
    for n in 0..rows {
        let body = format!(r#"{{"model":"small-1","messages":[],{ROW_END}"#);
        writeln!(
            all,
            r#"{{"custom_id":"{n}","url":"/v1/chat/completions","body":{body}}}"#
        )
        .unwrap();
    }
    folder.file("rows.jsonl", all);
    folder.file("seawall.toml", "[batch]\ntpm = 300\nrpm = 9\n");
    let command = format!("batch rows.jsonl -o out.jsonl --json --upstream {upstream} {flags}");
    let output = seawall_in(&folder.0, &command.split(' ').collect::<Vec<_>>());
    let summary =
        serde_json::from_str(&text(output.stdout)).unwrap_or_else(|_| panic!("{}", text(output.stderr)));
    let errors = std::fs::read_to_string(folder.0.join("out.errors.jsonl")).unwrap();
    (summary, errors)
}

#[test]
fn the_twenty_first_row_of_twenty_a_minute_waits_three_seconds() {
    // Could break if the flag reached nothing, or if a minute's worth were not there at once. A machine that takes three
    // seconds for twenty rows would have the next one's place again by then.
    let (summary, _) = run("rpm", 21, "mock:steady", "--rpm 20 --seed 7");
    assert_eq!(summary["rows"]["ok"], 21, "{summary}");
    assert!(summary["elapsed_ms"].as_u64().unwrap() >= 3_000, "{summary}");
    assert!(summary["waited_ms"]["rate-wait"].as_u64() > Some(0), "{summary}");
}

#[test]
fn tokens_come_back_from_answers_that_used_less_and_from_failures() {
    // Could break if what a row may use were taken for what it used, or if a failed attempt kept its part: at a
    // thousand a minute the third row would wait for ten seconds, and the last for minutes.
    let address = server(|n| match n % 3 {
        0 => (503, "retry-after-ms: 1\r\n", r#"{"error":{"message":"busy"}}"#),
        _ => (200, "", ANSWER),
    });
    let upstream = format!("http://{address}");
    let (summary, _) = run("tpm", 12, &upstream, "--tpm 1000 --concurrency 1 --seed 7");
    assert_eq!(summary["rows"]["ok"], 12, "{summary}");
    assert!(summary["attempts"]["total"].as_u64() > Some(15), "{summary}");
    assert_eq!(
        summary["waited_ms"]["rate-wait"],
        serde_json::Value::Null,
        "{summary}"
    );
}

#[test]
fn a_row_that_no_minute_has_room_for_fails_and_says_why() {
    // Could break if it waited for ever, or took the rest of the run with it.
    let (summary, errors) = run("larger", 2, "mock:steady", "--tpm 300");
    assert_eq!(summary["failures"]["limiter-full"], 2, "{summary}");
    assert_eq!(summary["attempts"]["total"], 0, "{summary}");
    assert!(errors.contains("of a limit that holds 300"), "{errors}");
}

#[test]
fn what_the_file_says_of_a_minute_holds_where_nothing_was_typed() {
    // Could break if a bound that is written did not bind, or stood before one that is typed.
    let (summary, _) = run("file", 1, "mock:steady", "--config seawall.toml");
    assert_eq!(summary["failures"]["limiter-full"], 1, "{summary}");
    let (summary, _) = run("typed", 1, "mock:steady", "--config seawall.toml --tpm 1000");
    assert_eq!(summary["rows"]["ok"], 1, "{summary}");
}

#[test]
fn what_the_upstream_bears_is_found_out_where_nobody_says() {
    // Could break if the word were taken for a number, or if nothing at all were sent before anything is known.
    let (summary, _) = run("auto", 40, "mock:steady", "--concurrency auto --seed 7");
    assert_eq!(summary["rows"]["ok"], 40, "{summary}");
}
