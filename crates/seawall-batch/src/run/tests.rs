mod files;
mod line;
mod resume;
mod room;
mod stops;

use super::*;
use crate::caller::{Stop, cause};
use crate::error::{Change, Exit};
use crate::options::Existing;
use crate::sink::Sink;
use crate::testing::{Dir, answered, failed_with};
use seawall::upstream::UnknownWrite;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as StdDuration;

/// What the fake upstream does with a row, by the row's id: `ok…` is answered, `bad…` refused, `dead…` times out,
/// `hang…` never ends, `slow…` takes a minute, `key…` and `money…` stop the run, `write…` may have acted,
/// `panic…` breaks the caller.
#[derive(Clone, Default)]
struct Fake(Arc<Log>);

#[derive(Default)]
struct Log {
    calls: Mutex<Vec<String>>,
    now: AtomicUsize,
    most: AtomicUsize,
    draining: AtomicUsize,
}

struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Fake {
    fn calls(&self) -> Vec<String> {
        self.0.calls.lock().unwrap().clone()
    }
}

impl Caller for Fake {
    async fn call(&self, call: Call) -> Ended {
        self.0.calls.lock().unwrap().push(call.id.clone());
        let now = self.0.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.most.fetch_max(now, Ordering::Relaxed);
        let _in_flight = InFlight(&self.0.now);
        let kind: String = call.id.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        tokio::task::yield_now().await;
        let spent = Reason::AttemptsSpent { sends: 6 };
        let stop = |stop| {
            let mut ended = failed_with(Reason::QuotaSpent, None, Some((402, b"{}")));
            ended.result.as_mut().unwrap_err().reach = Reach::Run(stop);
            ended
        };
        match kind.as_str() {
            "ok" | "new" => answered("{\"x\":1}"),
            "bad" => failed_with(Reason::Refused { status: 400 }, None, Some((400, b"{\"e\":1}"))),
            "dead" => failed_with(spent, Some(cause::TIMEOUT), None),
            "slow" => {
                pass(60).await;
                answered("{}")
            }
            "short" => {
                pass(2).await;
                answered("{}")
            }
            "key" => stop(Stop::Key),
            "money" => stop(Stop::Money),
            "cancelled" => {
                pass(1).await;
                failed_with(Reason::Cancelled, None, None)
            }
            "write" => {
                let mut ended = failed_with(Reason::MayHaveActed, Some(cause::TIMEOUT), None);
                ended.result.as_mut().unwrap_err().unknown = Some(UnknownWrite {
                    upstream: "main".to_owned(),
                    method: call.method,
                    path: call.path,
                    key: None,
                    outcome: "failed",
                });
                ended
            }
            "panic" => panic!("a defect in the caller"),
            _ => std::future::pending().await,
        }
    }

    fn draining(&self) {
        self.0.draining.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Silent(Vec<String>);

impl Ui for Silent {
    fn show(&mut self, _: &Snapshot) {}
    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
    fn finish(&mut self, _: &Snapshot) {}
}

fn rows(ids: &[&str]) -> String {
    ids.iter()
        .map(|id| format!("{{\"custom_id\":\"{id}\",\"url\":\"/v1/x\",\"body\":{{}}}}\n"))
        .collect()
}

fn options(dir: &Dir, ids: &[&str]) -> Options {
    Options::new(vec![dir.file("in.jsonl", rows(ids))], dir.path("out.jsonl"))
}

fn block<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

/// On a clock that stands still until nothing else can move.
async fn pass(secs: u64) {
    tokio::time::timeout(StdDuration::from_secs(secs), std::future::pending::<()>())
        .await
        .expect_err("what is pending does not end");
}

fn go(options: &Options, fake: &Fake) -> Result<Summary, BatchError> {
    let (_interrupter, interrupts) = crate::interrupts();
    block(run(
        options.clone(),
        fake.clone(),
        interrupts,
        &mut Silent::default(),
    ))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// In order of their names: rows are written as they end, which is any order.
fn ids(path: &Path) -> Vec<String> {
    let mut ids: Vec<String> = read(path)
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["custom_id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    ids.sort_unstable();
    ids
}

/// Every id in exactly one file, once; whole lines only.
#[track_caller]
fn assert_law(options: &Options, wanted: &[&str]) {
    for path in [&options.out, &options.errors_path()] {
        let text = read(path);
        assert!(text.is_empty() || text.ends_with('\n'));
    }
    let mut found = ids(&options.out);
    found.extend(ids(&options.errors_path()));
    found.sort_unstable();
    let mut wanted: Vec<String> = wanted.iter().map(|id| (*id).to_owned()).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
}

const MIXED: [&str; 5] = ["ok1", "bad2", "ok3", "dead4", "ok5"];

#[test]
fn every_row_is_answered_once_and_a_failed_row_cancels_none() {
    // Could break: an error that ends the run, a failure counted as an answer.
    let dir = Dir::new();
    let options = options(&dir, &MIXED);
    let summary = go(&options, &Fake::default()).unwrap();
    assert_eq!(ids(&options.out), ["ok1", "ok3", "ok5"]);
    assert_eq!(ids(&options.errors_path()), ["bad2", "dead4"]);
    assert_eq!(options.errors_path(), dir.path("out.errors.jsonl"));
    assert_eq!(
        (summary.rows.ok, summary.rows.failed, summary.rows.pending),
        (3, 2, 0)
    );
    assert_eq!(summary.exit(), Exit::RowsFailed);
    assert_eq!(
        summary.tally.failures,
        BTreeMap::from([("attempts-spent", 1), ("refused", 1)])
    );
}

#[test]
fn faults_are_found_before_anything_is_sent_and_the_rest_runs_when_asked() {
    // Could break: validation row by row while sending.
    let dir = Dir::new();
    let mut options = options(&dir, &["ok1"]);
    dir.file("in.jsonl", format!("{}{{\n{}", rows(&["ok1"]), rows(&["ok2"])));
    let fake = Fake::default();
    let error = go(&options, &fake).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("in.jsonl:2: not JSON"), "{error}");
    assert!(error.to_string().contains("--skip-invalid"), "{error}");
    assert!(fake.calls().is_empty());
    assert!(!options.state_dir().exists());
    options.invalid = Invalid::Skip;
    let summary = go(&options, &fake).unwrap();
    assert_eq!(
        (summary.rows.total, summary.rows.ok, summary.rows.skipped),
        (3, 2, 1)
    );
    assert_eq!(summary.exit(), Exit::RowsFailed);
    // An id that stands twice is never a matter of leaving one out.
    dir.file("in.jsonl", rows(&["ok1", "ok2", "ok1"]));
    assert!(matches!(
        go(&options, &fake),
        Err(BatchError::Input {
            skippable: Skippable::No,
            ..
        })
    ));
}

#[test]
fn at_most_so_many_rows_are_begun_at_once_and_in_order() {
    // Could break: a task per row.
    let dir = Dir::new();
    let names: Vec<String> = (0..1_500).map(|n| format!("slow{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = options(&dir, &names);
    let fake = Fake::default();
    let summary = go(&options, &fake).unwrap();
    assert_eq!(fake.0.most.load(Ordering::Relaxed), options.begun_max());
    assert_eq!(options.begun_max(), 1_000);
    assert_eq!(fake.calls(), names);
    assert_eq!(summary.elapsed, Duration::from_secs(120));
    let wide = Options {
        concurrency: 300.try_into().unwrap(),
        ..options
    };
    assert_eq!(wide.begun_max(), 1_200);
}

#[test]
fn bodies_in_flight_are_bounded_and_one_row_always_goes() {
    // Could break: a thousand rows of 40 MB held at once; or a row larger than the bound never begun.
    let dir = Dir::new();
    let mut options = options(&dir, &["slow1", "slow2", "slow3", "slow4"]);
    for (begun_bytes_max, most) in [(1, 1), (3, 2), (1_000, 4)] {
        options.begun_bytes_max = begun_bytes_max;
        options.existing = Existing::Overwrite;
        let fake = Fake::default();
        go(&options, &fake).unwrap();
        assert_eq!(fake.0.most.load(Ordering::Relaxed), most);
    }
}

fn interrupted(options: &Options, fake: &Fake, times: &[u64]) -> Summary {
    let (interrupter, interrupts) = crate::interrupts();
    block(async {
        let clicks = async {
            for secs in times {
                pass(*secs).await;
                interrupter.interrupt();
            }
        };
        let mut ui = Silent::default();
        let (summary, ()) = tokio::join!(run(options.clone(), fake.clone(), interrupts, &mut ui), clicks);
        summary.unwrap()
    })
}

/// A disk with so many bytes left, which takes what it can of a line, as a real one does.
struct Full {
    inner: Box<dyn Sink>,
    left: Arc<AtomicUsize>,
}

impl Sink for Full {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        if lines.len() > left {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.left.store(left - lines.len(), Ordering::Relaxed);
        self.inner.append(lines)
    }

    // Only a power loss tells the difference, and a thousand runs are a thousand syncs.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn full(left: &Arc<AtomicUsize>) -> impl Fn(&Path, u64) -> io::Result<Box<dyn Sink>> {
    |path, whole_bytes| {
        Ok(Box::new(Full {
            inner: FileSink::open(path, whole_bytes)?,
            left: Arc::clone(left),
        }))
    }
}

fn go_on_disk(options: &Options, fake: &Fake, left: &Arc<AtomicUsize>) -> Result<Summary, BatchError> {
    let (_interrupter, interrupts) = crate::interrupts();
    block(run_on(
        options.clone(),
        fake.clone(),
        interrupts,
        &mut Silent::default(),
        &full(left),
    ))
}

#[test]
fn an_input_that_changes_while_it_runs_is_told_and_what_ended_is_kept() {
    // Could break: the new line sent under the old row's id.
    let dir = Dir::new();
    let options = options(&dir, &["ok1", "ok2"]);
    let rules = options.rules();
    let scan = input::scan(&options.inputs, &rules).unwrap();
    dir.file("in.jsonl", rows(&["ok1", "ok9"]));
    let mut reader = Rows::new(scan.inputs.clone(), rules);
    assert_eq!(reader.read(&scan.rows).unwrap().unwrap().1.id, "ok1");
    let error = reader.read(&scan.rows).unwrap_err();
    assert_eq!(error.exit(), Exit::Io);
    assert!(error.to_string().contains("in.jsonl:2"), "{error}");
}
