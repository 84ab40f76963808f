//! `seawall batch` with a `seawall.toml`: where rows go, by which policy, with which key.

use crate::{Folder, text};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output};

/// A folder with three rows.
fn rows(name: &str) -> Folder {
    let folder = Folder::new(&format!("written-{name}"));
    let row = |id: &str| {
        format!(
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{{\"model\":\"m\",\"messages\":[]}}}}\n"
        )
    };
    folder.file("rows.jsonl", ["a", "b", "c"].map(row).concat());
    folder
}

/// Runs `seawall batch rows.jsonl -o out.jsonl` and these words there, with a key in `KEY_OF_A_TEST`.
fn batch(folder: &Folder, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .args(["batch", "rows.jsonl", "-o", "out.jsonl"])
        .args(words)
        .current_dir(&folder.0)
        .env("KEY_OF_A_TEST", "a-key-of-a-test\n")
        .output()
        .expect("the program starts")
}

/// A server that answers every call alike, and tells the heads of what it got.
fn server(calls: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let thread = std::thread::spawn(move || {
        let mut heads = Vec::new();
        while heads.len() < calls {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).expect("a line") == 0 {
                    break;
                }
            }
            let lower = head.to_lowercase();
            let length = lower
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let length = length.map_or(0, |length| length.trim().parse().expect("a length"));
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let answer = r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
            let reply = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{answer}",
                answer.len()
            );
            reader
                .get_mut()
                .write_all(reply.as_bytes())
                .expect("an answer is sent");
            heads.push(lower);
        }
        heads
    });
    (format!("http://{address}"), thread)
}

#[test]
fn a_named_upstream_gets_the_rows_with_its_own_key() {
    // Breaks when the name is taken for an address, when the key of the file is not sent, or when another's is.
    for (credential, expected) in [
        (
            "credential = { env = \"KEY_OF_A_TEST\" }",
            Some("authorization: bearer a-key-of-a-test\r\n"),
        ),
        (
            "credential = { file = \"key\" }",
            Some("authorization: bearer a-key-in-a-file\r\n"),
        ),
        ("", None),
    ] {
        let folder = rows("named");
        let (url, served) = server(3);
        folder.file("key", "a-key-in-a-file\n");
        folder.file(
            "seawall.toml",
            format!("[[upstream]]\nname = \"main\"\nbase_url = \"{url}/v1\"\nprovider = \"openai\"\n{credential}\n"),
        );
        let output = batch(&folder, &["--upstream", "main"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
        for head in served.join().expect("the server ends") {
            assert!(head.starts_with("post /v1/chat/completions "), "{head}");
            match expected {
                Some(line) => assert!(head.contains(line), "{head}"),
                None => assert!(!head.contains("authorization"), "{head}"),
            }
        }
    }
}

#[test]
fn what_was_typed_stands_before_what_was_written() {
    // A default that wins over an argument cannot be turned off; one that is not taken is written for nothing.
    let folder = rows("typed");
    let written =
        "[batch]\nupstream = \"mock:steady\"\nextras = true\nprogress = \"none\"\nmax_line = \"1MiB\"\n";
    folder.file("mine.toml", written);
    let output = batch(&folder, &["--config", "mine.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
    let answers = std::fs::read_to_string(folder.0.join("out.jsonl")).expect("answers");
    assert!(answers.contains("\"seawall\":{\"attempts\":1"), "{answers}");
    assert!(output.stderr.is_empty(), "{}", text(output.stderr));

    folder.file("mine.toml", written.replace("1MiB", "10B"));
    let output = batch(&folder, &["--config", "mine.toml", "--fresh"]);
    assert_eq!(output.status.code(), Some(2));
    let output = batch(
        &folder,
        &["--config", "mine.toml", "--fresh", "--max-line", "64KiB"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(output.stderr));
}

#[test]
fn the_policy_of_the_file_holds_unless_one_is_typed() {
    // A run that says nothing of its policy is run by another than its reader thinks.
    let folder = rows("policy");
    folder.file(
        "seawall.toml",
        "[policy]\npreset = \"writes\"\n[[upstream]]\nname = \"main\"\nbase_url = \"http://127.0.0.1:9\"\npolicy = { retries = 0 }\n",
    );
    let output = batch(&folder, &["--upstream", "main", "-v", "--progress", "none"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(output.stderr);
    assert!(
        said.contains("the policy is that of upstream main in seawall.toml, over the preset writes"),
        "{said}"
    );
    // One attempt each: the upstream's own `retries = 0` holds.
    assert!(text(output.stdout).contains("attempts: 3 "), "{said}");
    let output = batch(
        &folder,
        &[
            "--upstream",
            "main",
            "-v",
            "--progress",
            "none",
            "--fresh",
            "--policy",
            "off",
        ],
    );
    assert!(!text(output.stderr).contains("the policy is that of"));
}

#[test]
fn a_name_that_nobody_has_says_who_is_there() {
    // "no URL" for a misspelt name sends people to look at addresses.
    let folder = rows("unknown");
    let output = batch(&folder, &["--upstream", "mian"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(output.stderr);
    assert!(
        said.contains("--upstream mian: this is no address, and there is no seawall.toml here"),
        "{said}"
    );
    folder.file(
        "seawall.toml",
        "[[upstream]]\nname = \"main\"\nbase_url = \"http://127.0.0.1:9\"\n",
    );
    let output = batch(&folder, &["--upstream", "mian"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(output.stderr);
    assert!(
        said.contains("seawall.toml has no upstream of this name; it has main"),
        "{said}"
    );
}

#[test]
fn a_bound_that_does_not_bind_stops_the_run() {
    // `max_cost` that is read and ignored costs money.
    let folder = rows("bound");
    folder.file(
        "mine.toml",
        "[batch]\nupstream = \"mock:steady\"\nmax_cost = 1.0\n",
    );
    let output = batch(&folder, &["--config", "mine.toml", "--upstream", "mock:steady"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(output.stderr);
    assert!(
        said.contains("is not enforced yet") && said.contains("mine.toml:"),
        "{said}"
    );
    assert!(!folder.0.join("out.jsonl").exists());
}

#[test]
fn a_key_that_is_named_and_not_there_is_told_by_its_name() {
    // Without its key a run fails row by row, an hour later.
    let folder = rows("keyless");
    for (credential, named) in [
        ("{ env = \"NO_SUCH_KEY_OF_A_TEST\" }", "NO_SUCH_KEY_OF_A_TEST"),
        ("{ file = \"no-such-file\" }", "no-such-file"),
    ] {
        folder.file(
            "seawall.toml",
            format!("[[upstream]]\nname = \"main\"\nbase_url = \"http://127.0.0.1:9\"\ncredential = {credential}\n"),
        );
        let output = batch(&folder, &["--upstream", "main"]);
        assert_eq!(output.status.code(), Some(77));
        assert!(text(output.stderr).contains(named));
    }
}
