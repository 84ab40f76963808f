//! `seawall mock`, as a program that is started, talked to and interrupted.

use crate::Folder;
use expect_test::{Expect, expect};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Long enough for a loaded machine; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(600);

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seawall"));
    command.arg("mock").args(words).env_remove("NO_COLOR");
    command
}

/// A mock that has said where it listens; it goes with the test.
pub(crate) struct Running {
    child: Child,
    first_line: String,
}

impl Running {
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut child = command(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (give, take) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            // Nobody listens any more where the test has failed already.
            let _ = give.send(read.map(|_| line));
            // Held open: a mock whose reader is gone is another test.
            let _ = stdout.read_to_end(&mut Vec::new());
        });
        let line = take.recv_timeout(PATIENCE);
        if line.is_err() {
            child.kill().expect("a silent mock can be stopped");
        }
        let first_line = line.expect("the mock speaks").expect("stdout can be read");
        Self { child, first_line }
    }

    pub(crate) fn url(&self) -> &str {
        let said = self.first_line.strip_prefix("mock listening on ");
        said.expect("the first line is a contract").trim_end()
    }

    fn address(&self) -> &str {
        self.url().strip_prefix("http://").expect("a URL")
    }

    /// What came in so far.
    pub(crate) fn journal(&self) -> String {
        self.ask("GET", "/__seawall/journal")
    }

    /// Sends one request and reads to the end of the connection.
    pub(crate) fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("the mock accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        )
        .expect("the mock reads");
        let mut answer = Vec::new();
        // A reset is an answer, too; what came before it counts.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn status(&self, path: &str) -> String {
        let answer = self.ask("GET", path);
        answer.get(9..12).unwrap_or("none").to_owned()
    }

    /// Tells the mock's clock something; how it stands then.
    fn clock(&self, told: &str) -> serde_json::Value {
        let mut stream = TcpStream::connect(self.address()).expect("the mock accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let length = told.len();
        write!(
            stream,
            "POST /__seawall/clock HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{told}"
        )
        .expect("the mock reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the mock answers");
        let (_, body) = answer.split_once("\r\n\r\n").expect("an answer");
        serde_json::from_str(body).expect("JSON")
    }

    /// Ends it by a signal; the exit code, and what it said on stderr.
    #[cfg(unix)]
    fn end_by(mut self, signal: &str) -> (Option<i32>, String) {
        crate::tell(self.child.id(), signal);
        let mut said = String::new();
        let stderr = self.child.stderr.as_mut().expect("stderr is a pipe");
        stderr.read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ends").code(), said)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already where a signal was the test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_first_line_says_where_and_it_listens_by_then() {
    // Buffered into the pipe, or printed before it listens, the line makes every test that waits for it fail at times.
    let mock = Running::start(&["--route", "GET /x = 2x 503, 200"]);
    assert_eq!(
        mock.first_line,
        format!("mock listening on http://{}\n", mock.address())
    );
    let met: Vec<String> = (0..4).map(|_| mock.status("/x")).collect();
    assert_eq!(met, ["503", "503", "200", "200"]);
    assert_eq!(mock.status("/elsewhere"), "404");
}

#[test]
fn the_line_is_json_where_json_was_asked_for() {
    // A program that asked for JSON would have to know the sentence after all.
    let mock = Running::start(&["--json", "--quiet"]);
    let line: serde_json::Value = serde_json::from_str(&mock.first_line).expect("one JSON document");
    let url = line["listening"].as_str().expect("an address");
    let address = url.strip_prefix("http://").expect("a URL");
    assert!(TcpStream::connect(address).is_ok(), "{url}");
}

#[test]
fn tls_is_said_in_the_first_line_and_only_the_authoritys_certificate_is_written() {
    // A key that is written is trusted by somebody for as long as the file lies there.
    let folder = Folder::new("mock-tls");
    let file = folder.0.join("ca.pem");
    let file_name = file.display().to_string();
    let mock = Running::start(&["--tls", "--ca-out", &file_name]);
    assert!(
        mock.first_line
            .starts_with("mock listening on https://127.0.0.1:"),
        "{}",
        mock.first_line
    );
    let pem = std::fs::read_to_string(&file).expect("the file is there by then");
    assert_eq!(pem.matches("-----BEGIN ").count(), 1, "{pem}");
    assert!(pem.starts_with("-----BEGIN CERTIFICATE-----"), "{pem}");
    check(
        &["--ca-out", &file_name],
        2,
        expect![[r#"
        error: --ca-out writes what TLS needs, and this mock speaks none; add --tls
    "#]],
    );
    check(
        &["--listener", "2x refused, accept"],
        2,
        expect![[r#"
        error: --listener:1:4: `refused` is nothing that a listener does
        1 | 2x refused, accept
          |    ^^^^^^^ did you mean `refuse`?
          = expected one of accept, refuse, reset, close, hang, tls-fail, tls-hang, bad-cert, expired-cert
    "#]],
    );
    check(
        &["--listener", "accept, bad-cert"],
        2,
        expect![[r#"
            error: 1:1: `bad-cert` needs TLS, which this listener does not speak
            1 | bad-cert
              | ^^^^^^^^
              = expected `tls = true` in [listener], `--tls`, or reset, close or hang
        "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_mock_that_was_told_nothing_says_so_and_answers_200() {
    // In silence, a forgotten --route is a green test of nothing.
    let mock = Running::start(&[]);
    assert_eq!(mock.status("/any/path"), "200");
    assert!(
        mock.ask("POST", "/v1/chat/completions")
            .contains("chat.completion")
    );
    let (_, said) = mock.end_by("INT");
    expect![[r#"
        note: told nothing to do: every path answers 200; try --route 'GET /x = 2x 503, 200' or --profile flaky
        note: interrupted (attempts: 2, with a fault: 0)
    "#]]
    .assert_eq(&said);
    let (_, said) = Running::start(&["--quiet"]).end_by("INT");
    assert_eq!(said, "");
}

#[cfg(unix)]
#[test]
fn signals_end_it_with_130_even_amid_an_answer() {
    // A mock that waits for a client which itself waits for ever never ends, and keeps the port.
    for signal in ["INT", "TERM"] {
        let mock = Running::start(&["--route", "GET /x = hang after=3"]);
        let mut stream = TcpStream::connect(mock.address()).expect("the mock accepts");
        stream
            .write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n")
            .expect("it reads");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let mut begun = [0; 1];
        stream.read_exact(&mut begun).expect("the answer begins");
        let address = mock.address().to_owned();
        let (code, said) = mock.end_by(signal);
        assert_eq!(code, Some(130), "{signal}");
        assert_eq!(
            said, "note: interrupted (attempts: 1, with a fault: 1)\n",
            "{signal}"
        );
        assert!(TcpStream::connect(&address).is_err(), "{signal}: {address}");
    }
}

#[test]
fn a_mock_whose_reader_has_gone_serves_on() {
    // `seawall mock | head -0` closes the pipe before the line; a test that only knows the port reads nothing at all.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = command(&["-v"])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    // It says the address here, too, after the line that nobody could read; it ends where it does not.
    let said = stderr
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("http://").map(|(_, rest)| rest.to_owned()));
    let address = said.as_deref().and_then(|url| url.split('/').next());
    let reached = address.is_some_and(|address| TcpStream::connect(address).is_ok());
    child.kill().expect("it can be stopped");
    child.wait().expect("it ends");
    assert!(reached, "{said:?}");
}

const MIX: &[u8] = br#"
seed = 42
[[route]]
match = "GET /x"
mix = { "200" = 0.5, "503" = 0.5 }
"#;

#[test]
fn one_seed_is_the_same_faults_and_the_typed_one_stands_before_the_files() {
    // A failure that was seen once could not be shown again.
    let folder = Folder::new("mock-seed");
    let file = folder.file("mix.toml", MIX);
    let met = |seed: &[&str]| -> Vec<String> {
        let mock = Running::start(&[&[file.as_str()], seed].concat());
        (0..40).map(|_| mock.status("/x")).collect()
    };
    assert_eq!(met(&[]), met(&["--seed", "42"]));
    assert_ne!(met(&[]), met(&["--seed", "43"]));
}

#[test]
fn routes_stand_before_the_file_and_the_file_before_the_profile() {
    // The other way round, a route that is typed to try something changes nothing.
    let folder = Folder::new("mock-order");
    let file = folder.file(
        "m.toml",
        b"[[route]]\nmatch = \"GET /x\"\nscript = \"501\"\n[[route]]\nmatch = \"GET /y\"\nscript = \"502\"\n",
    );
    let mock = Running::start(&[&file, "--route", "GET /x = 418", "--profile", "steady"]);
    let met = ["/x", "/y", "/z"].map(|path| mock.status(path));
    assert_eq!(met, ["418", "502", "200"]);
}

#[test]
fn curl_meets_each_fault_as_its_name_says() {
    // A fault that a real client takes for another one tests the wrong thing.
    let mock = Running::start(&[
        "--route",
        "GET /x = 503 retry-after=5, reset, close, truncate at=50%, hang, 200",
    ]);
    let url = format!("{}/x", mock.url());
    // Only the one that is kept waiting gives up soon; the others have a loaded machine's time.
    let curl = |patience_secs: &str| {
        Command::new("curl")
            .args(["-s", "-m", patience_secs, "--noproxy", "*", "-o"])
            .args([if cfg!(windows) { "NUL" } else { "/dev/null" }, "-w"])
            .args(["%{http_code}", &url])
            .output()
    };
    let Ok(first) = curl("30") else {
        // A machine without curl has the raw sockets of the lab's own tests.
        return;
    };
    let met = |output: std::process::Output| {
        let code = output.status.code().unwrap_or(-1);
        format!("{code}: {}", String::from_utf8_lossy(&output.stdout))
    };
    let mut all = vec![met(first)];
    let waits = ["30", "30", "30", "1", "30"];
    all.extend(waits.map(|secs| met(curl(secs).expect("curl runs again"))));
    // curl's own exit codes: 56 is a reset, 52 no answer, 18 a part of one, 28 too late.
    assert_eq!(
        all,
        ["0: 503", "56: 000", "52: 000", "18: 200", "28: 000", "0: 200"]
    );
}

/// The folder of files that cannot be served.
const WRONG: &str = "mock-wrong";

fn check(words: &[&str], code: i32, expected: Expect) {
    let output = command(words)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{words:?}");
    let folder = Folder::path(WRONG).display().to_string();
    let said = String::from_utf8_lossy(&output.stderr).replace(&folder, "FOLDER");
    expected.assert_eq(&said);
    assert_eq!(output.status.code(), Some(code), "{words:?}");
}

#[test]
fn what_cannot_be_served_is_told_before_anything_listens() {
    // A route that is dropped in silence answers 404, and the test that meets it blames the client.
    let folder = Folder::new(WRONG);
    check(
        &["--route", "GET /x = 2x rest, 200"],
        2,
        expect![[r#"
        error: --route:1:13: `rest` is no action
        1 | GET /x = 2x rest, 200
          |             ^^^^ did you mean `reset`?
          = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
    "#]],
    );
    check(
        &["--route", "GET /x = rst-stream error=refused"],
        2,
        expect![[r#"
            error: --route:1:27: HTTP/2 has no error code `refused`
            1 | GET /x = rst-stream error=refused
              |                           ^^^^^^^
              = expected one of no-error, protocol-error, internal-error, flow-control-error, settings-timeout, stream-closed, frame-size-error, refused-stream, cancel, compression-error, connect-error, enhance-your-calm, inadequate-security, http-1.1-required
        "#]],
    );
    check(
        &["--profile", "outrage"],
        2,
        expect![[r#"
        error: invalid value 'outrage' for '--profile <PROFILE>': `outrage` is no profile; known are steady, flaky, ratelimited, outage, storm

        For more information, try '--help'.
    "#]],
    );
    check(
        &["flaky"],
        2,
        expect![[r#"
        error: flaky: no such file; the profile of that name is --profile flaky
    "#]],
    );
    check(
        &["no/such.toml"],
        2,
        expect![[r#"
        error: no/such.toml: no such file; give a mock file, or say what to answer with --route or --profile
    "#]],
    );
    let file = folder.file("m.toml", b"[[route]]\nmatch = \"GET /x\"\nscirpt = \"503\"\n");
    check(
        &[&file],
        2,
        expect![[r#"
            error: FOLDER/m.toml:3:1: a route has no key `scirpt`
            3 | scirpt = "503"
              | ^^^^^^ did you mean `script`?
              = expected one of match, script, mix, latency, dialect, state, limit, resource, idempotency
        "#]],
    );
    let file = folder.file("bytes.toml", b"seed = 1 # \xff\n");
    check(
        &[&file],
        2,
        expect![[r#"
        error: FOLDER/bytes.toml: byte 11 is no UTF-8; a mock file is text
    "#]],
    );
    check(
        &["--listen", "nowhere"],
        2,
        expect![[r#"
        error: cannot listen on nowhere: invalid socket address; write ADDRESS:PORT, as in --listen 127.0.0.1:9000
    "#]],
    );
}

#[test]
fn a_port_that_is_taken_is_told() {
    // "address in use" alone leaves people to look for what to do.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = command(&["--listen", &address])
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).replace(&address, "ADDRESS");
    assert!(said.starts_with("error: cannot listen on ADDRESS: "), "{said}");
    assert!(
        said.ends_with("or take a free port with --listen 127.0.0.1:0\n"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(74));
}

#[cfg(unix)]
#[test]
fn time_is_turned_by_hand_or_runs_faster_as_it_was_typed_or_written() {
    // Could break if a flag were read and dropped, or if the file's word stood before the typed one. A clock that is not
    // the host's is told unasked: a test that waits in vain for a delay must not have to guess.
    let folder = Folder::new("mock-time");
    let file = folder.file(
        "time.toml",
        b"clock = \"manual\"\n[[route]]\nmatch = \"GET /x\"\nscript = \"for 1h 503, 200\"\n",
    );
    let mock = Running::start(&[&file]);
    assert_eq!(mock.status("/x"), "503");
    let stands = mock.clock("{\"advance\":\"1h\"}");
    assert_eq!(
        (&stands["manual"], &stands["now_ms"]),
        (&true.into(), &3_600_000.0.into())
    );
    assert_eq!(mock.status("/x"), "200");
    let (_, said) = mock.end_by("INT");
    assert!(
        said.starts_with("note: time stands still; turn it with POST http://127.0.0.1:"),
        "{said}"
    );
    let mock = Running::start(&[&file, "--time-scale", "2.5"]);
    let runs = mock.clock("{\"manual\":false}");
    assert_eq!((&runs["manual"], &runs["scale"]), (&false.into(), &2.5.into()));
    let (_, said) = mock.end_by("INT");
    assert!(said.starts_with("note: time runs 2.5 times as fast; "), "{said}");
}

#[test]
fn a_scale_that_is_none_and_two_clocks_at_once_are_usage_errors() {
    // Could break if a scale of 0 stopped the clock in silence, or if one of the two flags won.
    for (words, said) in [
        (
            &["--time-scale", "0"][..],
            "a scale of time is a number from 0.001 to 100000",
        ),
        (&["--time-scale", "fast"], "a scale of time is a number"),
        (&["--clock", "hand"], "invalid value 'hand'"),
        (&["--clock", "manual", "--time-scale", "2"], "cannot be used with"),
    ] {
        let output = command(words).output().expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(said), "{words:?}: {stderr}");
    }
}
