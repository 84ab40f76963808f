//! What clients that people have make of each fault: curl's exit code, Python's exception, Node's error.
//!
//! What can go wrong: a fault that a raw client sees and that a real one never notices, or that is another fault to it.
//! The mock's clock is cranked as fast as it goes, so that slow answers are over at once; a hang is ended by the
//! client's own limit, which is the only real time here.

use super::super::*;
use super::catalogue::{Asked, CATALOGUE, Entry, Spoken};
use super::seen::CHAT_BODY;
use expect_test::expect_file;
use seawall::crank::CrankedClock;
use std::io::Write;
use std::process::{Command, Stdio};

/// A client's limit where the fault is silence, in seconds.
const HANG_LIMIT_SECS: f64 = 0.7;
/// A client's limit elsewhere: it is never met.
const LIMIT_SECS: f64 = 60.0;

/// Name, address, limit in seconds, body: with one it is a POST, else a GET.
type Row = (&'static str, String, f64, Option<&'static str>);

/// One mock for each fault, so that no client brings a connection along from one to the next.
struct Stage {
    mocks: Vec<(&'static Entry, Mock)>,
    cranks: Vec<JoinHandle<()>>,
}

impl Stage {
    async fn start() -> Self {
        let mut stage = Self {
            mocks: Vec::new(),
            cranks: Vec::new(),
        };
        for entry in CATALOGUE.iter().filter(|entry| entry.spoken != Spoken::Http2) {
            let clock = CrankedClock::new();
            let route = format!("* /* = {}", entry.script);
            let mock = Mock::builder().route(route).clock(Arc::new(clock.clone()));
            stage.mocks.push((entry, mock.start().await.unwrap()));
            stage.cranks.push(tokio::spawn(async move {
                loop {
                    clock.awaited().await;
                    clock.step();
                    tokio::task::yield_now().await;
                }
            }));
        }
        stage
    }

    /// What the clients are told to ask.
    fn rows(&self) -> Vec<Row> {
        let rows = self.mocks.iter().map(|(entry, mock)| {
            let silent = ["hang", "stall"].iter().any(|word| entry.script.contains(word));
            let limit = if silent { HANG_LIMIT_SECS } else { LIMIT_SECS };
            let (path, body) = match entry.asked {
                Asked::Report => ("/report", None),
                Asked::Chat => ("/v1/chat/completions", Some(CHAT_BODY)),
            };
            (entry.script, format!("{}{path}", mock.url()), limit, body)
        });
        rows.collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.cranks.iter().for_each(JoinHandle::abort);
    }
}

/// Whether this machine has the program. `.ci/run` sees to it that CI's has.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn curl(rows: &[Row]) -> Vec<String> {
    let asked = rows.iter().map(|(_, url, limit, body)| {
        let output = Command::new("curl")
            .args([
                "-sS",
                "--compressed",
                "--noproxy",
                "*",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}, %{size_download} bytes",
            ])
            .args(["-m", &limit.to_string(), url])
            .args(body.map(|body| ["-d", body]).into_iter().flatten())
            .output()
            .expect("curl is here");
        match output.status.code() {
            Some(0) => String::from_utf8(output.stdout).unwrap(),
            code => code.map_or_else(|| "killed".to_owned(), |code| code.to_string()),
        }
    });
    asked.collect()
}

/// Runs a program of this folder with the rows on its standard input; gives the JSON that it prints.
fn ask(program: &str, arguments: &[&str], rows: &[Row]) -> Value {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .env("no_proxy", "*")
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let asked = serde_json::to_vec(rows).unwrap();
    child.stdin.take().unwrap().write_all(&asked).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {:?}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

#[tokio::test]
async fn each_fault_is_itself_to_curl_python_and_node() {
    // Could break if a fault were healed on its way into a real client: a reset that is an end, half a body that is
    // one. `truncate` must be 18 to curl, an incomplete read to Python, and an abort to Node.
    if let Some(missing) = ["curl", "python3", "node"]
        .into_iter()
        .find(|program| !has(program))
    {
        say_not_run(missing);
        return;
    }
    let stage = Stage::start().await;
    let rows = stage.rows();
    let [of_curl, of_python, of_node] = [0, 1, 2].map(|client| {
        let rows = rows.clone();
        tokio::task::spawn_blocking(move || match client {
            0 => curl(&rows).into(),
            1 => ask("python3", &["-c", include_str!("clients/ask.py")], &rows),
            _ => ask(
                "node",
                &["--input-type=module", "-e", include_str!("clients/ask.mjs")],
                &rows,
            ),
        })
    });
    let (of_curl, of_python, of_node) = (
        of_curl.await.unwrap(),
        of_python.await.unwrap(),
        of_node.await.unwrap(),
    );
    let mut table = String::from("script | curl | Python | Node http | Node fetch\n");
    for (place, (script, ..)) in rows.iter().enumerate() {
        let cells = [
            script.to_string(),
            text(&of_curl[place]),
            text(&of_python[script]),
            text(&of_node[script]["http"]),
            text(&of_node[script]["fetch"]),
        ];
        table += &(cells.join(" | ") + "\n");
    }
    expect_file!["clients/seen.txt"].assert_eq(&table);
}

#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
fn say_not_run(missing: &str) {
    eprintln!("not run: this machine has no {missing}");
}
