//! What the files say when a run begins, or is asked about.

use super::*;

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

#[test]
fn a_status_that_cannot_be_read_is_no_status() {
    // Could break: a damaged file read as an empty one, whose error file is then looked for under another name.
    let dir = Dir::new();
    let mut options = options(&dir, &MIXED);
    options.errors = Some(dir.path("failures.jsonl"));
    go(&options, &Fake::default()).unwrap();
    fs::write(options.state_dir().join("meta"), "{").unwrap();
    assert_eq!(
        crate::status(options.out.clone()).unwrap_err().exit(),
        Exit::Audit
    );
}
