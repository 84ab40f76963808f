//! Ten thousand callers at once, ten to a key, against a mock that fails in every way it can: how many payments are made?

use crate::server::Server;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Callers, each with a connection of its own.
pub(crate) const CALLERS: usize = 10_000;
/// Keys that they share, ten callers to each.
pub(crate) const KEYS: usize = 1_000;
/// How long a caller waits for an answer before it asks again.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it waits before it asks again, so that a thousand keys in flight are not asked in a circle.
const PAUSE: Duration = Duration::from_millis(50);

const MOCK: &str = r#"
seed = 7
[[route]]
match = "POST /v1/payments"
resource = "payments"
idempotency = { header = "Idempotency-Key", ttl = "24h" }
latency = { uniform = ["0ms", "20ms"] }
mix = { "200" = 0.5, "503" = 0.1, "reset" = 0.1, "apply then reset" = 0.1, "apply then 500" = 0.05, "close" = 0.05, "truncate at=50%" = 0.05, "reset after=5" = 0.04, "hang" = 0.01 }
"#;

/// What came of it.
pub(crate) struct Counted {
    pub(crate) made: usize,
    pub(crate) attempts: usize,
}

/// Every caller asks until it has a good answer.
pub(crate) async fn storm(program: &Path) -> Counted {
    let server = Server::mock_of(program, MOCK);
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let address = server.address.clone();
        callers.spawn(async move { paid(&address, caller % KEYS).await });
    }
    let mut attempts = 0;
    while let Some(caller) = callers.join_next().await {
        attempts += caller.expect("a caller does not panic");
    }
    let told = read(
        &server.address,
        "GET /__seawall/resources/payments HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
    )
    .await;
    let made = told
        .split_once("\"made\":")
        .and_then(|(_, rest)| rest.split([',', '}']).next())
        .and_then(|made| made.parse().ok())
        .unwrap_or_else(|| panic!("the mock does not tell what it made: {told}"));
    Counted { made, attempts }
}

/// One caller; how often it asked.
async fn paid(address: &str, key: usize) -> usize {
    let body = format!("{{\"amount\":{key}}}");
    let request = format!(
        "POST /v1/payments HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\nidempotency-key: key-{key}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    for attempt in 1_usize.. {
        let answer = tokio::time::timeout(PATIENCE, read(address, &request))
            .await
            .unwrap_or_default();
        if is_whole_and_good(&answer) {
            return attempt;
        }
        tokio::time::sleep(PAUSE).await;
    }
    unreachable!("a caller asks without end")
}

fn is_whole_and_good(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    head.starts_with("HTTP/1.1 200") && length.and_then(|length| length.parse().ok()) == Some(body.len())
}

/// What comes until the connection ends, however it does.
async fn read(address: &str, request: &str) -> String {
    let mut bytes = Vec::new();
    // A connection that fails in any way is what this is about: what had come by then is looked at.
    if let Ok(mut stream) = TcpStream::connect(address).await
        && stream.write_all(request.as_bytes()).await.is_ok()
    {
        stream.read_to_end(&mut bytes).await.ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
