use super::*;
use crate::testing::{answered, failed_with};
use expect_test::expect;
use seawall_core::reason::Reason;

fn summary() -> Summary {
    let mut tally = Tally::default();
    let mut priced = answered("{}");
    priced.cost_microusd = Some(1_500);
    tally.count(&priced);
    tally.count(&failed_with(Reason::Refused { status: 400 }, None, None));
    tally.failures.insert("refused", 1);
    Summary {
        rows: RowCounts {
            total: 5,
            ok: 2,
            failed: 1,
            skipped: 1,
            pending: 1,
            resumed: 1,
        },
        tally,
        warnings: BTreeMap::from([(
            WarningCode::Blank,
            Warned {
                count: 3,
                path: "in.jsonl".into(),
                line: 7,
            },
        )]),
        elapsed: Duration::from_millis(1_500),
        end: End::Interrupted,
    }
}

#[test]
fn people_and_programs_get_the_same_numbers() {
    // Could break: a key renamed under a program that reads it.
    expect![[r#"
        5 rows: 2 ok, 1 failed, 1 skipped, 1 pending
          1 of them ended in an earlier run
        attempts: 2 (2 first)
        failed: 1 refused
        tokens: 7 in, 3 out
        money: $0.0015, and 1 call without a known price
        waited: 500ms backing-off (all rows together)
        note: blank lines were passed over, 3 times, first at in.jsonl:7 [W_BLANK]
        interrupted; the same command goes on (1.5s)"#]]
    .assert_eq(&summary().to_string());
    expect![[r#"
        {
          "attempts": {
            "by_reason": {
              "first": 2
            },
            "total": 2
          },
          "cost_usd": 0.0015,
          "elapsed_ms": 1500,
          "end": "interrupted",
          "exit": 130,
          "failures": {
            "refused": 1
          },
          "let_go": 0,
          "rows": {
            "failed": 1,
            "ok": 2,
            "pending": 1,
            "resumed": 1,
            "skipped": 1,
            "total": 5
          },
          "tokens": {
            "in": 7,
            "out": 3
          },
          "unknown_writes": 0,
          "unpriced": 1,
          "waited_ms": {
            "backing-off": 500
          },
          "warnings": {
            "W_BLANK": 3
          }
        }"#]]
    .assert_eq(&format!("{:#}", summary().to_json()));
}

#[test]
fn a_summary_counts_as_people_do() {
    // Could break if one of something were called several, or a time printed to the nanosecond.
    let mut summary = summary();
    summary.rows.total = 1;
    summary.elapsed = Duration::from_nanos(5_098_896_787);
    summary.warnings.values_mut().for_each(|warned| warned.count = 1);
    let text = summary.to_string();
    assert!(text.starts_with("1 row: "), "{text}");
    assert!(text.contains("passed over, 1 time, first at"), "{text}");
    assert!(text.ends_with("goes on (5.099s)"), "{text}");
}

#[test]
fn each_end_has_its_exit_code() {
    // Could break: a run with failed rows that says 0 to a shell.
    let code = |end, failed, skipped| {
        let mut summary = summary();
        summary.end = end;
        summary.rows.failed = failed;
        summary.rows.skipped = skipped;
        summary.exit().code()
    };
    assert_eq!(code(End::Complete, 0, 0), 0);
    assert_eq!(code(End::Complete, 1, 0), 1);
    assert_eq!(code(End::Complete, 0, 1), 1);
    assert_eq!(code(End::Stopped(Stop::Money), 1, 0), 3);
    assert_eq!(code(End::Broken, 0, 0), 70);
    assert_eq!(code(End::NoRoom, 0, 0), 74);
    assert_eq!(code(End::Stopped(Stop::Key), 1, 0), 77);
    assert_eq!(code(End::Interrupted, 1, 0), 130);
}
