//! For programs.

use super::{Came, Entry, Report};
use crate::findings::{Finding, Kind, Proof, Row, TimeLine};
use crate::scenario::{Check, Passed, State};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) fn write(report: &Report) -> String {
    let tally = report.tally();
    let document = json!({
        "passed": report.passed() == Passed::Yes,
        "summary": {
            "passed": tally.passed,
            "failed": tally.failed,
            "unread": tally.unread,
            "not_run": tally.not_run,
            "not_observable": tally.not_observable,
        },
        "scenarios": report.entries.iter().map(entry).collect::<Vec<_>>(),
    });
    document.to_string()
}

fn entry(entry: &Entry) -> Value {
    let (error, checks) = match &entry.came {
        Came::Judged { verdict, .. } => (Value::Null, verdict.checks.iter().map(check).collect()),
        Came::Unread(why) | Came::NotRun(why) => (Value::from(why.as_str()), Vec::new()),
    };
    json!({
        "file": entry.file,
        "name": entry.name(),
        "seed": entry.seed,
        "passed": entry.passed() == Passed::Yes,
        "came": match &entry.came {
            Came::Judged { .. } => "judged",
            Came::Unread(_) => "unread",
            Came::NotRun(_) => "not-run",
        },
        "took_ms": ms(entry.took),
        "error": error,
        "checks": checks,
    })
}

pub(super) fn check(check: &Check) -> Value {
    json!({
        "what": check.what,
        "line": check.at.as_ref().map(|at| at.line),
        "column": check.at.as_ref().map(|at| at.column),
        "state": match check.state() {
            State::Held => "held",
            State::Broken => "broken",
            State::NotObservable => "not-observable",
        },
        "findings": check.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    let (attempts, left_out, waits) = match &finding.proof {
        Proof::None => (Vec::new(), 0, Vec::new()),
        Proof::Attempts(TimeLine { rows, left_out, .. }) => {
            (rows.iter().map(row).collect(), *left_out, Vec::new())
        }
        Proof::Waits(calls) => {
            let waits = calls.iter().map(|call| {
                json!({ "run": call.run, "waits_ms": call.waits.iter().map(|wait| ms(*wait)).collect::<Vec<_>>() })
            });
            (Vec::new(), 0, waits.collect())
        }
    };
    json!({
        "kind": match finding.kind {
            Kind::Broken => "broken",
            Kind::NotObservable => "not-observable",
        },
        "run": finding.run,
        "expected": finding.expected,
        "seen": finding.seen,
        "attempts": attempts,
        "attempts_left_out": left_out,
        "waits": waits,
    })
}

fn row(row: &Row) -> Value {
    json!({
        "number": row.number,
        "at_ms": ms(row.at.since(Instant::START)),
        "wait_ms": row.wait.map(ms),
        "took_ms": row.took.map(ms),
        "what": row.what,
        "met": row.met,
        "key": row.key,
        "hint": row.hint,
        "note": row.note,
    })
}

/// Milliseconds, to the microsecond.
#[expect(clippy::cast_precision_loss, reason = "exact for the first 285 years")]
fn ms(length: Duration) -> f64 {
    (length.as_nanos() / 1_000) as f64 / 1_000.0
}
