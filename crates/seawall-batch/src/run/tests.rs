use super::*;
use crate::caller::{Stop, UnknownWrite, cause};
use crate::error::{Change, Exit};
use crate::options::Existing;
use crate::sink::Sink;
use crate::testing::{Dir, answered, failed_with};
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
        let wait = |secs| tokio::time::timeout(StdDuration::from_secs(secs), std::future::pending::<()>());
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
                let _ = wait(60).await;
                answered("{}")
            }
            "short" => {
                let _ = wait(2).await;
                answered("{}")
            }
            "key" => stop(Stop::Key),
            "money" => stop(Stop::Money),
            "cancelled" => {
                let _ = wait(1).await;
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
fn a_cut_at_any_byte_is_mended_by_the_same_command() {
    // Could break: a torn line glued to the next row, a whole row called again, a row in both files or in none.
    let dir = Dir::new();
    let options = options(&dir, &MIXED);
    go(&options, &Fake::default()).unwrap();
    let (out, errors) = (read(&options.out), read(&options.errors_path()));
    let mut cuts: Vec<(usize, usize)> = (0..=out.len()).map(|cut| (cut, errors.len())).collect();
    cuts.extend((0..=errors.len()).map(|cut| (out.len(), cut)));
    cuts.extend((0..=errors.len()).map(|cut| (cut, cut)));
    for (out_cut, errors_cut) in cuts {
        fs::write(&options.out, &out[..out_cut]).unwrap();
        fs::write(options.errors_path(), &errors[..errors_cut]).unwrap();
        // A row survives when all of it but perhaps its LF is there.
        let survives = |text: &str, cut: usize| -> Vec<String> {
            let mut end = 0;
            let whole = text.lines().filter(|line| {
                end += line.len() + 1;
                end - 1 <= cut
            });
            whole
                .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["custom_id"].to_string())
                .map(|id| id.trim_matches('"').to_owned())
                .collect()
        };
        let mut called: Vec<String> = survives(&out, out_cut);
        called.extend(survives(&errors, errors_cut));
        let fake = Fake::default();
        let summary = go_on_disk(&options, &fake, &Arc::new(AtomicUsize::new(usize::MAX))).unwrap();
        called.extend(fake.calls());
        called.sort_unstable();
        let mut all = MIXED.to_vec();
        all.sort_unstable();
        assert_eq!(called, all, "cut at {out_cut} and {errors_cut}");
        assert_law(&options, &MIXED);
        assert_eq!(summary.rows.ok + summary.rows.failed, 5);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]
    // Could break: states of several kills and restarts one after the other, with rows appended in between.
    #[test]
    fn any_series_of_kills_ends_with_every_row_once(
        kinds in proptest::collection::vec(0_usize..3, 1..12),
        kills in proptest::collection::vec((0.0_f64..=1.0, 0.0_f64..=1.0, 1_usize..12), 0..5),
    ) {
        let dir = Dir::new();
        let all: Vec<String> = kinds.iter().enumerate().map(|(n, k)| format!("{}{n}", ["ok", "bad", "dead"][*k])).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let mut known = 1;
        for (out_cut, errors_cut, rows) in kills {
            known = known.max(rows.min(all.len()));
            let options = options(&dir, &all[..known]);
            go(&options, &Fake::default()).unwrap();
            for (path, part) in [(&options.out, out_cut), (&options.errors_path(), errors_cut)] {
                let bytes = fs::read(path).unwrap();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a part of a length")]
                let cut = (bytes.len() as f64 * part) as usize;
                fs::write(path, &bytes[..cut]).unwrap();
            }
        }
        let options = options(&dir, &all);
        go(&options, &Fake::default()).unwrap();
        assert_law(&options, &all);
    }
}

#[test]
fn a_finished_run_calls_nobody_and_appended_rows_run_alone() {
    // Could break: resume by place instead of id.
    let dir = Dir::new();
    go(&options(&dir, &MIXED), &Fake::default()).unwrap();
    let fake = Fake::default();
    go(&options(&dir, &MIXED), &fake).unwrap();
    assert_eq!(fake.calls(), [""; 0]);
    let grown = ["new0", "ok1", "bad2", "ok3", "dead4", "ok5", "new6"];
    let options = options(&dir, &grown);
    let summary = go(&options, &fake).unwrap();
    assert_eq!(fake.calls(), ["new0", "new6"]);
    assert_eq!((summary.rows.resumed, summary.rows.total), (5, 7));
    assert_law(&options, &grown);
}

#[test]
fn changed_and_missing_rows_are_named_and_nothing_is_sent() {
    // Could break: an old answer kept for a new question; also for rows that have not been answered yet.
    let dir = Dir::new();
    let first = options(&dir, &MIXED);
    go(&first, &Fake::default()).unwrap();
    let edited = rows(&MIXED[..4]).replacen("{}", "{\"n\":2}", 1);
    dir.file("in.jsonl", edited);
    let fake = Fake::default();
    let error = go(&first, &fake).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    let BatchError::Changed { rows, count: 2 } = &error else {
        panic!("{error}");
    };
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.stood.as_str(), row.how))
        .collect();
    assert_eq!(
        told,
        [
            ("\"ok1\"", "0:1", Change::Differs),
            ("\"ok5\"", "0:5", Change::Missing)
        ]
    );
    assert_eq!(fake.calls(), [""; 0]);
    // Starting over keeps what was paid for.
    let fresh = Options {
        existing: Existing::Fresh,
        ..first.clone()
    };
    go(&fresh, &fake).unwrap();
    assert_eq!(fake.calls().len(), 4);
    assert_eq!(ids(&dir.path("out.jsonl.1")), ["ok1", "ok3", "ok5"]);
    assert_eq!(ids(&dir.path("out.errors.jsonl.1")), ["bad2", "dead4"]);
    assert!(dir.path("out.jsonl.seawall.1").join("rows").exists());
    assert_law(&fresh, &MIXED[..4]);
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
fn files_of_nobodys_run_are_refused_adopted_or_emptied_as_asked() {
    // Could break: a results file of another tool wiped or appended to unasked.
    let dir = Dir::new();
    let mut options = options(&dir, &MIXED);
    let foreign = "{\"custom_id\":\"ok3\",\"mine\":true}";
    dir.file("out.jsonl", foreign);
    let fake = Fake::default();
    let error = go(&options, &fake).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("--resume") && error.to_string().contains("--overwrite"));
    assert_eq!(read(&options.out), foreign);
    assert!(!options.state_dir().exists());
    options.existing = Existing::Adopt;
    go(&options, &fake).unwrap();
    assert_eq!(fake.calls(), ["ok1", "bad2", "dead4", "ok5"]);
    assert!(read(&options.out).starts_with(&format!("{foreign}\n")));
    assert_law(&options, &MIXED);
    options.existing = Existing::Overwrite;
    go(&options, &fake).unwrap();
    assert!(!read(&options.out).contains("mine"));
    assert_law(&options, &MIXED);
}

#[test]
fn a_row_that_stands_twice_or_in_both_files_is_named() {
    // Could break: one of two answers dropped without a word.
    let dir = Dir::new();
    let options = options(&dir, &MIXED);
    go(&options, &Fake::default()).unwrap();
    let (out, errors) = (read(&options.out), read(&options.errors_path()));
    let first = out.lines().next().unwrap();
    for (path, text) in [
        (&options.out, format!("{out}{first}\n")),
        (&options.errors_path(), format!("{errors}{first}\n")),
        (&options.out, format!("{out}{{\"custom_id\":\"stranger\"}}\n")),
        (&options.out, format!("garbage\n{out}")),
    ] {
        fs::write(path, &text).unwrap();
        let fake = Fake::default();
        let error = go(&options, &fake).unwrap_err();
        assert_eq!(error.exit(), Exit::Audit, "{error}");
        assert!(fake.calls().is_empty());
        assert_eq!(read(path), text);
        fs::write(&options.out, &out).unwrap();
        fs::write(options.errors_path(), &errors).unwrap();
    }
}

#[test]
fn one_file_is_never_both_read_and_written() {
    // Could break: another spelling or a link of the same file.
    let dir = Dir::new();
    let good = options(&dir, &MIXED);
    let input = good.inputs[0].clone();
    let around = dir
        .path("../")
        .join(input.parent().unwrap().file_name().unwrap())
        .join("in.jsonl");
    let link = dir.path("link.jsonl");
    fs::hard_link(&input, &link).unwrap();
    for out in [input.clone(), around, link] {
        for options in [
            Options {
                out: out.clone(),
                ..good.clone()
            },
            Options {
                errors: Some(out.clone()),
                ..good.clone()
            },
        ] {
            assert_eq!(go(&options, &Fake::default()).unwrap_err().exit(), Exit::Usage);
        }
    }
    let both = Options {
        errors: Some(good.out.clone()),
        ..good.clone()
    };
    assert_eq!(go(&both, &Fake::default()).unwrap_err().exit(), Exit::Usage);
    assert_eq!(read(&input), rows(&MIXED));
}

#[test]
fn names_that_are_no_file_are_refused_before_anything_is_made() {
    // Could break: `-` as a file of that name; state beside /dev/stdout where that leads to a regular file; an input
    // named twice told row by row.
    let dir = Dir::new();
    let good = options(&dir, &MIXED);
    let with_slash = dir.path("new.jsonl/");
    for out in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "."]
        .map(std::path::PathBuf::from)
        .into_iter()
        .chain([with_slash])
    {
        let options = Options {
            out: out.clone(),
            ..good.clone()
        };
        let error = go(&options, &Fake::default()).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage, "{}: {error}", out.display());
    }
    assert!(!dir.path("new.jsonl.seawall").exists());
    let twice = Options {
        inputs: vec![good.inputs[0].clone(), good.inputs[0].clone()],
        ..good.clone()
    };
    let error = go(&twice, &Fake::default()).unwrap_err();
    assert!(error.to_string().ends_with("so name it once"), "{error}");
    let stream = Options {
        inputs: vec!["-".into()],
        ..good
    };
    assert_eq!(go(&stream, &Fake::default()).unwrap_err().exit(), Exit::Usage);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_stay_apart() {
    // Could break: two outputs whose names differ in bytes that are not UTF-8, and one state directory for both.
    use std::os::unix::ffi::OsStrExt as _;
    let out = |bytes: &[u8]| Options::new(Vec::new(), std::ffi::OsStr::from_bytes(bytes).into());
    let (one, other) = (out(b"a\xff.jsonl"), out(b"a\xfe.jsonl"));
    assert_ne!(one.state_dir(), other.state_dir());
    assert_ne!(one.errors_path(), other.errors_path());
}

#[test]
fn two_runs_never_share_an_output() {
    // Could break: a lock that is a file's existence (stale after a kill) or not taken at all.
    let dir = Dir::new();
    let options = options(&dir, &MIXED);
    let mut scan = input::scan(&options.inputs, &options.rules()).unwrap();
    let held = state::hold(&options, &mut scan).unwrap();
    let error = go(&options, &Fake::default()).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(
        error
            .to_string()
            .contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    drop(held);
    assert!(go(&options, &Fake::default()).is_ok());
}

#[test]
fn two_outputs_never_share_an_error_file_or_one_file_by_two_names() {
    // Could break: each run locks beside its own output, and writes at its own place in the shared file.
    let dir = Dir::new();
    let first = Options {
        errors: Some(dir.path("shared.jsonl")),
        ..options(&dir, &MIXED)
    };
    let mut scan = input::scan(&first.inputs, &first.rules()).unwrap();
    let held = state::hold(&first, &mut scan).unwrap();
    let link = dir.path("link.jsonl");
    fs::hard_link(&first.out, &link).unwrap();
    for existing in [
        Existing::Continue,
        Existing::Adopt,
        Existing::Fresh,
        Existing::Overwrite,
    ] {
        for (out, errors) in [
            (dir.path("other.jsonl"), first.errors.clone()),
            (link.clone(), None),
        ] {
            let second = Options {
                out,
                errors,
                existing,
                ..first.clone()
            };
            let error = go(&second, &Fake::default()).unwrap_err();
            assert!(matches!(error, BatchError::Locked { .. }), "{error}");
        }
    }
    assert!(first.out.exists() && link.exists());
    drop(held);
    assert!(go(&first, &Fake::default()).is_ok());
}

#[test]
fn another_error_file_than_before_is_refused() {
    // Could break: failed rows of the first run unseen, and so called and written again.
    let dir = Dir::new();
    let mut options = options(&dir, &MIXED);
    go(&options, &Fake::default()).unwrap();
    options.errors = Some(dir.path("other.jsonl"));
    let error = go(&options, &Fake::default()).unwrap_err();
    assert!(error.to_string().contains("--errors out.errors.jsonl"), "{error}");
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
                let _ =
                    tokio::time::timeout(StdDuration::from_secs(*secs), std::future::pending::<()>()).await;
                interrupter.interrupt();
            }
        };
        let mut ui = Silent::default();
        let (summary, ()) = tokio::join!(run(options.clone(), fake.clone(), interrupts, &mut ui), clicks);
        summary.unwrap()
    })
}

#[test]
fn the_first_ctrl_c_keeps_what_ends_in_time_and_the_second_stops_at_once() {
    // Could break: paid answers thrown away, a hanging call that holds the run for ever, a row in a file half.
    let dir = Dir::new();
    let all = ["ok1", "short2", "hang3", "slow4"];
    let options = options(&dir, &all);
    let fake = Fake::default();
    let summary = interrupted(&options, &fake, &[1]);
    assert_eq!(summary.exit(), Exit::Interrupted);
    assert_eq!(ids(&options.out), ["ok1", "short2"]);
    assert_eq!((summary.rows.ok, summary.rows.pending), (2, 2));
    assert_eq!(fake.0.draining.load(Ordering::Relaxed), 1);
    let grace = summary.elapsed.minus(Duration::from_secs(1));
    assert!(
        grace >= Duration::from(GRACE) && grace <= Duration::from(GRACE).plus(Duration::from_millis(100))
    );
    let summary = interrupted(&options, &fake, &[1, 1]);
    assert_eq!(summary.elapsed, Duration::from_secs(2));
    assert_eq!(summary.exit(), Exit::Interrupted);
    // Only what was pending was called again.
    assert_eq!(fake.calls()[4..], ["hang3", "slow4"]);
    assert_law(&options, &["ok1", "short2"]);
}

#[test]
fn a_row_that_the_stop_itself_ended_stays_pending() {
    // Could break: "cancelled" written down as a row's final failure.
    let dir = Dir::new();
    let options = options(&dir, &["cancelled1", "hang2"]);
    let summary = interrupted(&options, &Fake::default(), &[0, 5]);
    assert_eq!(summary.rows.pending, 2);
    assert_law(&options, &[]);
}

#[test]
fn a_refused_key_or_spent_money_stops_the_run_and_loses_no_row() {
    // Could break: a million rows failed for one bad key.
    for (stopper, exit) in [("key2", Exit::Key), ("money2", Exit::Money)] {
        let dir = Dir::new();
        let mut all = vec![
            "ok1".to_owned(),
            stopper.to_owned(),
            "short3".to_owned(),
            "bad4".to_owned(),
        ];
        all.extend((5..3_000).map(|n| format!("slow{n}")));
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let options = options(&dir, &all);
        let fake = Fake::default();
        let summary = go(&options, &fake).unwrap();
        assert_eq!(summary.exit(), exit);
        // What was in flight ended and was kept; nothing else was begun; the row that told stays pending.
        assert_eq!(fake.calls().len(), 1_000);
        assert_eq!((summary.rows.ok, summary.rows.failed), (998, 1));
        assert!(!read(&options.out).contains(stopper) && !read(&options.errors_path()).contains(stopper));
        assert_eq!(summary.rows.pending, all.len() as u64 - 999);
    }
}

#[test]
fn a_write_that_may_have_acted_is_in_the_ledger_and_is_not_sent_again() {
    // Could break: the row left pending by a stop, and its write done twice by the next run.
    let dir = Dir::new();
    let options = options(&dir, &["write1", "ok2"]);
    let fake = Fake::default();
    let summary = go(&options, &fake).unwrap();
    assert_eq!(summary.tally.unknown_writes, 1);
    let entry: serde_json::Value =
        serde_json::from_str(&read(&options.state_dir().join("ledger.jsonl"))).unwrap();
    assert_eq!(
        (&entry["custom_id"], &entry["reason"], &entry["path"]),
        (&"write1".into(), &"may-have-acted".into(), &"/v1/x".into())
    );
    go(&options, &fake).unwrap();
    assert_eq!(fake.calls(), ["write1", "ok2"]);
}

#[test]
fn a_caller_that_panics_costs_its_row_alone_and_says_so() {
    // Could break: the row counted as done, or the run hanging on it.
    let dir = Dir::new();
    let options = options(&dir, &["ok1", "panic2", "ok3"]);
    let summary = go(&options, &Fake::default()).unwrap();
    assert_eq!((summary.rows.ok, summary.rows.pending), (2, 1));
    assert_eq!(summary.exit(), Exit::Audit);
    assert_law(&options, &["ok1", "ok3"]);
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

fn go_on_disk(options: &Options, fake: &Fake, left: &Arc<AtomicUsize>) -> Result<Summary, BatchError> {
    let (_interrupter, interrupts) = crate::interrupts();
    let open = |path: &Path, whole_bytes: u64| -> io::Result<Box<dyn Sink>> {
        Ok(Box::new(Full {
            inner: FileSink::open(path, whole_bytes)?,
            left: Arc::clone(left),
        }))
    };
    block(run_on(
        options.clone(),
        fake.clone(),
        interrupts,
        &mut Silent::default(),
        &open,
    ))
}

#[test]
fn a_full_disk_stops_the_sending_and_the_same_command_goes_on() {
    // Could break: a torn line, a row marked done that is in no file, an exit code that says "fine".
    let dir = Dir::new();
    let all = ["ok1", "short2", "bad3", "short4", "ok5"];
    let options = options(&dir, &all);
    for left in (0..900).step_by(37) {
        for path in [&options.out, &options.errors_path()] {
            let _ = fs::remove_file(path);
        }
        let fake = Fake::default();
        match go_on_disk(&options, &fake, &Arc::new(AtomicUsize::new(left))) {
            Ok(summary) => assert_eq!(summary.rows.pending, 0),
            Err(error) => {
                assert_eq!(error.exit(), Exit::Io, "{error}");
                let BatchError::Unwritten { rows, .. } = error else {
                    panic!("{error}");
                };
                let written = ids(&options.out).len() + ids(&options.errors_path()).len();
                assert_eq!(usize::try_from(rows).unwrap() + written, all.len());
            }
        }
        let written = ids(&options.out).len() + ids(&options.errors_path()).len();
        let again = Fake::default();
        go(&options, &again).unwrap();
        assert_eq!(again.calls().len() + written, all.len());
        assert_law(&options, &all);
    }
}

#[test]
fn answers_wait_for_room_even_when_nothing_is_in_flight_any_more() {
    // Could break: the last call ends while the disk is full, and its paid answer is dropped at once; or the run, which
    // began no more rows, says that it is complete.
    let dir = Dir::new();
    let names: Vec<String> = (0..1_200).map(|n| format!("ok{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = options(&dir, &names);
    let left = Arc::new(AtomicUsize::new(0));
    let (_interrupter, interrupts) = crate::interrupts();
    let open = |path: &Path, whole_bytes: u64| -> io::Result<Box<dyn Sink>> {
        Ok(Box::new(Full {
            inner: FileSink::open(path, whole_bytes)?,
            left: Arc::clone(&left),
        }))
    };
    let mut ui = Silent::default();
    let summary = block(async {
        let room = async {
            let _ = tokio::time::timeout(StdDuration::from_secs(5), std::future::pending::<()>()).await;
            left.store(usize::MAX, Ordering::Relaxed);
        };
        let run = run_on(options.clone(), Fake::default(), interrupts, &mut ui, &open);
        tokio::join!(run, room).0.unwrap()
    });
    assert_eq!((summary.rows.ok, summary.rows.pending), (1_000, 200));
    assert_eq!(summary.exit(), Exit::Io);
    assert_eq!(ids(&options.out).len(), 1_000);
    go(&options, &Fake::default()).unwrap();
    assert_law(&options, &names);
}

#[test]
fn an_answer_that_found_no_room_is_written_once_there_is_room() {
    // Could break: held answers dropped though the disk was emptied while others were in flight.
    let dir = Dir::new();
    let options = options(&dir, &["ok1", "short2"]);
    let left = Arc::new(AtomicUsize::new(0));
    let (_interrupter, interrupts) = crate::interrupts();
    let open = |path: &Path, whole_bytes: u64| -> io::Result<Box<dyn Sink>> {
        Ok(Box::new(Full {
            inner: FileSink::open(path, whole_bytes)?,
            left: Arc::clone(&left),
        }))
    };
    let mut ui = Silent::default();
    let summary = block(async {
        let room = async {
            let _ = tokio::time::timeout(StdDuration::from_secs(1), std::future::pending::<()>()).await;
            left.store(10_000, Ordering::Relaxed);
        };
        let run = run_on(options.clone(), Fake::default(), interrupts, &mut ui, &open);
        tokio::join!(run, room).0.unwrap()
    });
    assert_eq!(summary.exit(), Exit::Done);
    assert!(ui.0[0].contains("no more rows are begun"), "{:?}", ui.0);
    assert_law(&options, &["ok1", "short2"]);
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

#[test]
fn a_status_is_read_while_a_run_holds_its_files() {
    // Could break: a reader that takes the lock, or counts a torn row.
    let dir = Dir::new();
    let mut options = options(&dir, &["ok1", "bad2", "hang3"]);
    assert_eq!(
        crate::status(options.out.clone()).unwrap_err().exit(),
        Exit::Usage
    );
    options.errors = Some(dir.path("failures.jsonl"));
    interrupted(&options, &Fake::default(), &[1, 0]);
    let ended = crate::Status {
        rows: 3,
        ok: 1,
        failed: 1,
        pending: 1,
        running: crate::Running::No,
    };
    assert_eq!(crate::status(options.out.clone()).unwrap(), ended);
    let mut scan = input::scan(&options.inputs, &options.rules()).unwrap();
    let _held = state::hold(&options, &mut scan).unwrap();
    let running = crate::status(options.out.clone()).unwrap();
    assert_eq!(
        running,
        crate::Status {
            running: crate::Running::Now,
            ..ended
        }
    );
    assert_eq!(judge(&options).unwrap().rows, 3);
}
