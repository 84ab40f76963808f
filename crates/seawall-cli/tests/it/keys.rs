//! Which keys leave the machine, and under what name.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::{Folder, text};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Answers everything with a chat completion, and keeps what came.
fn server() -> (SocketAddr, Arc<Mutex<String>>) {
    const BODY: &str =
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let came = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&came);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            // The row ends so, and no header does.
            while !bytes.ends_with(b"[]}") {
                let mut part = [0; 4_096];
                let read = stream.read(&mut part).unwrap();
                if read == 0 {
                    break;
                }
                bytes.extend_from_slice(&part[..read]);
            }
            kept.lock().unwrap().push_str(&String::from_utf8(bytes).unwrap());
            let length = BODY.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{BODY}"
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (address, came)
}

/// Runs one row against the server with every provider's key in the environment; what came there, in lower case.
fn sent(name: &str, base: &str, flags: &str) -> String {
    let (address, came) = server();
    let folder = Folder::new(&format!("keys-{name}"));
    folder.file(
        "row.jsonl",
        r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"big","messages":[]}}"#,
    );
    let upstream = format!("http://{address}{base}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_seawall"));
    command
        .args(["batch", "row.jsonl", "-o", "out.jsonl", "--upstream", &upstream])
        .args(flags.split_whitespace())
        .current_dir(&folder.0);
    for variable in [
        "AZURE_OPENAI_API_KEY",
        "GROQ_API_KEY",
        "GITHUB_TOKEN",
        "OPENAI_API_KEY",
    ] {
        command.env(variable, "sesame");
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{name}: {}", text(output.stderr));
    came.lock().unwrap().to_lowercase()
}

const DEPLOYMENT: &str = "/openai/deployments/big?api-version=2024-10-21";

#[test]
fn a_host_that_is_nobodys_gets_no_key_however_it_speaks() {
    // A dialect that was stated, or that the path is in, is no proof of whose host it is.
    for (name, base, flags) in [
        ("azure-path", DEPLOYMENT, ""),
        ("azure", DEPLOYMENT, "--provider azure"),
        ("groq", "/openai/v1", "--provider groq"),
        ("github", "", "--provider github"),
    ] {
        let came = sent(name, base, flags);
        assert!(came.starts_with("post /"), "{name}: {came}");
        assert!(!came.contains("sesame"), "{name}: {came}");
    }
}

#[test]
fn a_key_that_was_named_goes_under_its_providers_header_and_to_the_right_path() {
    // Azure takes a key as `api-key` alone: as a bearer it is a token that is not valid.
    let chat = "post /openai/deployments/big/chat/completions?api-version=2024-10-21 http/1.1\r\n";
    for (name, base, flags, line, header) in [
        (
            "named-azure",
            DEPLOYMENT,
            "--provider azure --credential-env AZURE_OPENAI_API_KEY",
            chat,
            "\r\napi-key: sesame\r\n",
        ),
        (
            "named-azure-path",
            DEPLOYMENT,
            "--credential-env AZURE_OPENAI_API_KEY",
            chat,
            "\r\napi-key: sesame\r\n",
        ),
        (
            "named-groq",
            "/openai/v1",
            "--provider groq --credential-env GROQ_API_KEY",
            "post /openai/v1/chat/completions http/1.1\r\n",
            "\r\nauthorization: bearer sesame\r\n",
        ),
    ] {
        let came = sent(name, base, flags);
        assert!(came.starts_with(line) && came.contains(header), "{name}: {came}");
        assert_eq!(came.matches("sesame").count(), 1, "{name}: {came}");
    }
}
