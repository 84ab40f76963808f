//! A batch in a process of its own, killed for good.

use bytes::Bytes;
use seawall::upstream::AttemptNote;
use seawall_batch::{
    Answer, BatchError, Call, Caller, Ended, Options, Snapshot, Summary, Ui, interrupts, run,
};
use seawall_core::outcome::Usage;
use seawall_core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROWS: usize = 2_000;
const CHILD_DIR: &str = "SEAWALL_BATCH_TEST_DIR";

struct Echo;

impl Caller for Echo {
    async fn call(&self, call: Call) -> Ended {
        for _ in 0..call.id.len() * 20 {
            tokio::task::yield_now().await;
        }
        Ended {
            result: Ok(Answer {
                status: 200,
                request_id: None,
                body: Bytes::from(format!("{{\"to\":\"{}\"}}", call.id)),
            }),
            attempts: vec![AttemptNote {
                candidate: 0,
                sent_for: "first",
                outcome: "answer",
                status: Some(200),
                resent: false,
                first_byte: None,
            }],
            waited: Vec::new(),
            usage: Usage::NONE,
            cost_microusd: None,
            first_byte: None,
            total: Duration::ZERO,
        }
    }
}

struct Silent;

impl Ui for Silent {
    fn show(&mut self, _: &Snapshot) {}
    fn note(&mut self, _: &str) {}
    fn finish(&mut self, _: &Snapshot) {}
}

fn options(dir: &Path) -> Options {
    Options::new(vec![dir.join("in.jsonl")], dir.join("out.jsonl"))
}

fn run_here(dir: &Path) -> Result<Summary, BatchError> {
    let (_interrupter, interrupts) = interrupts();
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without IO needs nothing from the system")
        .block_on(run(options(dir), Echo, interrupts, &mut Silent))
}

/// The child's part: nothing unless the parent below asks for it.
#[test]
fn child() {
    if let Some(dir) = std::env::var_os(CHILD_DIR) {
        run_here(Path::new(&dir)).unwrap();
    }
}

#[test]
fn a_killed_process_leaves_files_that_the_same_command_goes_on_with() {
    // Could break: a lock that outlives its process, a line in a buffer that a kill swallows, a row written twice.
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("killed-{}", std::process::id()));
    fs::remove_dir_all(&dir).ok();
    fs::create_dir_all(&dir).unwrap();
    let rows: String = (0..ROWS)
        .map(|n| format!("{{\"custom_id\":\"row-{n}\",\"url\":\"/v1/x\",\"body\":{{}}}}\n"))
        .collect();
    fs::write(dir.join("in.jsonl"), rows).unwrap();
    let out = dir.join("out.jsonl");
    for kill in 1..=8_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact"])
            .env(CHILD_DIR, &dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed once the file has grown past a mark: an event, not a time.
        let mark = kill * 20_000;
        while child.try_wait().unwrap().is_none() && fs::metadata(&out).map_or(0, |found| found.len()) < mark
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Every byte that had reached the file before the kill is an answer that stays.
        let before = fs::read_to_string(&out).unwrap_or_default();
        let whole = before.rfind('\n').map_or("", |end| &before[..=end]);
        if kill % 2 == 0 {
            run_here(&dir).unwrap();
            assert!(fs::read_to_string(&out).unwrap().starts_with(whole));
            let cut = usize::try_from(mark).unwrap();
            let bytes = fs::read(&out).unwrap();
            fs::write(&out, &bytes[..cut.min(bytes.len())]).unwrap();
        }
    }
    let summary = run_here(&dir).unwrap();
    assert_eq!(summary.rows.ok, ROWS as u64);
    let text = fs::read_to_string(&out).unwrap();
    let ids: BTreeSet<&str> = text.lines().map(|line| line.split('"').nth(7).unwrap()).collect();
    assert_eq!((ids.len(), text.lines().count()), (ROWS, ROWS));
    fs::remove_dir_all(&dir).unwrap();
}
