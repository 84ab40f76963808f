//! Runs that end early.

use super::*;

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

#[test]
fn a_caller_that_panics_keeps_no_other_row_from_being_begun() {
    // Could break: the bytes of its body counted as in flight for ever, so that none may follow it.
    let dir = Dir::new();
    let mut options = options(&dir, &["panic1", "ok2", "ok3"]);
    options.begun_bytes_max = 1;
    let summary = go(&options, &Fake::default()).unwrap();
    assert_eq!((summary.rows.ok, summary.rows.pending), (2, 1));
    assert_law(&options, &["ok2", "ok3"]);
}
