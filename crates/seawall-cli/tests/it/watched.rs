//! `seawall batch`, run as users run it, against a mock that this process watches.

use crate::Folder;
use seawall_lab::net::Mock;
use seawall_lab::plan::Profile;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const ROWS: usize = 164;

fn out(folder: &Folder) -> PathBuf {
    folder.0.join("answers.jsonl")
}

fn input() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/humaneval.jsonl")
}

fn start(out: &Path, upstream: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_seawall"))
        .arg("batch")
        .arg(input())
        .arg("-o")
        .arg(out)
        .args(["--upstream", upstream, "--progress", "none", "--seed", "7"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits off the runtime, on which the mock answers.
async fn end(child: Child) -> Output {
    let ended = tokio::task::spawn_blocking(|| child.wait_with_output());
    ended.await.expect("the wait ends").expect("the program ends")
}

/// How often each id stands in a file of rows.
fn ids(path: &Path) -> BTreeMap<String, u32> {
    let mut ids = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
        let row: Value = serde_json::from_str(line).expect("a row is one JSON object");
        let id = row["custom_id"].as_str().expect("a row has its id");
        *ids.entry(id.to_owned()).or_insert(0) += 1;
    }
    ids
}

/// Every id of the input once in OUT, and none among the errors.
fn all_once(out: &Path) {
    let wanted = ids(&input());
    assert_eq!(wanted.len(), ROWS);
    assert_eq!(ids(out), wanted);
    let errors = out.with_extension("errors.jsonl");
    assert_eq!(ids(&errors), BTreeMap::new());
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn succeeded(output: &Output) {
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
}

#[test]
fn every_row_is_answered_once_and_a_second_run_sends_nothing() {
    // Breaks when a fault of the upstream costs a row, or when a run that is done asks again, and pays again.
    let folder = Folder::new("watched-twice");
    runtime().block_on(async {
        let flaky: Profile = "flaky".parse().expect("a profile");
        let mock = Mock::builder()
            .profile(flaky)
            .seed(7)
            .start()
            .await
            .expect("a mock");
        succeeded(&end(start(&out(&folder), &mock.url())).await);
        all_once(&out(&folder));
        let faults = mock
            .journal()
            .attempts
            .iter()
            .filter(|attempt| attempt.fault.is_some())
            .count();
        assert!(faults > 0, "a mock without a fault proves nothing");
        let answers = std::fs::read(out(&folder)).expect("the answers");
        mock.reset();
        succeeded(&end(start(&out(&folder), &mock.url())).await);
        assert_eq!(mock.journal().attempts.len(), 0, "attempts of the second run");
        assert_eq!(std::fs::read(out(&folder)).expect("the answers"), answers);
    });
}

#[test]
fn a_run_that_is_killed_loses_no_answer_and_repeats_none() {
    // Breaks when a kill leaves half a line, a row in no file, or a row that was answered to be asked again.
    let folder = Folder::new("watched-killed");
    runtime().block_on(async {
        let mut killed = 0;
        // Each mock answers so many rows and then says nothing more: the kill comes when nothing can move.
        for answers in [1, 60, 40] {
            let route = format!("POST /v1/chat/completions = {answers}x 200, hang");
            let mock = Mock::start(&route).await.expect("a mock");
            let before = ids(&out(&folder)).len();
            let mut child = start(&out(&folder), &mock.url());
            until(|| ids_whole(&out(&folder)) == before + answers && mock.journal().open > 0).await;
            // SIGKILL, on every Unix.
            child.kill().expect("a kill");
            child.wait().expect("the killed program ends");
            killed += answers;
            assert_eq!(ids(&out(&folder)).len(), killed);
        }
        let mock = Mock::start("POST /v1/chat/completions = 200")
            .await
            .expect("a mock");
        succeeded(&end(start(&out(&folder), &mock.url())).await);
        all_once(&out(&folder));
        assert_eq!(
            mock.journal().attempts.len(),
            ROWS - killed,
            "answered rows are not sent again"
        );
    });
}

#[test]
fn a_run_that_is_killed_in_full_flight_ends_with_every_row_once() {
    // Breaks when a frame or a line that was half written takes a whole one with it. What was out when the kill came
    // may be asked again; what was down in OUT may not.
    let folder = Folder::new("watched-flight");
    runtime().block_on(async {
        let route = "POST /v1/chat/completions = 200 delay=20ms";
        for seen in [20, 50, 90] {
            let mock = Mock::start(route).await.expect("a mock");
            let mut child = start(&out(&folder), &mock.url());
            until(|| mock.journal().attempts.len() >= seen || ids_whole(&out(&folder)) == ROWS).await;
            child.kill().expect("a kill");
            child.wait().expect("the killed program ends");
        }
        let down = ids_whole(&out(&folder));
        let mock = Mock::start(route).await.expect("a mock");
        succeeded(&end(start(&out(&folder), &mock.url())).await);
        all_once(&out(&folder));
        let sent = mock.journal().attempts.len();
        assert!(sent <= ROWS - down, "{sent} attempts for {} rows", ROWS - down);
    });
}

#[cfg(unix)]
#[test]
fn a_run_that_is_told_to_end_keeps_what_it_has_and_goes_on_with_the_rest() {
    // Breaks when one of the two signals is not heard (a container that is stopped sends TERM), or a second of either
    // does not stop at once, or an answer that is down is asked for again.
    let folder = Folder::new("watched-told");
    runtime().block_on(async {
        let mut down = 0;
        for (signal, answers) in [("INT", 5), ("TERM", 3)] {
            let route = format!("POST /v1/chat/completions = {answers}x 200, hang");
            let mock = Mock::start(&route).await.expect("a mock");
            let child = start(&out(&folder), &mock.url());
            down += answers;
            until(|| ids_whole(&out(&folder)) == down && mock.journal().open > 0).await;
            // The second until it ends: a process that has two of one signal waiting sees one.
            let id = child.id();
            let ended = end(child);
            tokio::pin!(ended);
            let mut again = tokio::time::interval(std::time::Duration::from_millis(50));
            let output = loop {
                tokio::select! {
                    output = &mut ended => break output,
                    _ = again.tick() => crate::tell(id, signal),
                }
            };
            let talk = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(130), "{signal}: {talk}");
            assert!(talk.contains("no more rows are begun"), "{signal}: {talk}");
            assert_eq!(ids(&out(&folder)).len(), down, "{signal}");
        }
        let mock = Mock::start("POST /v1/chat/completions = 200")
            .await
            .expect("a mock");
        succeeded(&end(start(&out(&folder), &mock.url())).await);
        all_once(&out(&folder));
        assert_eq!(mock.journal().attempts.len(), ROWS - down);
    });
}

/// Whole lines of a file that is being written.
fn ids_whole(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Looks again and again until it holds. How often it looks decides nothing.
async fn until(holds: impl Fn() -> bool) {
    // Only a failing test waits so long.
    let patience = std::time::Duration::from_secs(600);
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(5));
    let held = async {
        while !holds() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(patience, held).await.expect("it happens");
}
