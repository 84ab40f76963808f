//! What a run did, counted.

use crate::caller::{Ended, Stop};
use crate::error::Exit;
use crate::input::{RowState, Scan, Warned, WarningCode};
use crate::output::usd;
use seawall_core::outcome::Usage;
use seawall_core::time::Duration;
use std::collections::BTreeMap;
use std::fmt;

/// What a run did. `Display` is for people, [`Summary::to_json`] for programs.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Rows by what became of them.
    pub rows: RowCounts,
    /// What calls took.
    pub tally: Tally,
    /// What was odd about the input.
    pub warnings: BTreeMap<WarningCode, Warned>,
    /// How long the run took.
    pub elapsed: Duration,
    /// Why it ended.
    pub end: End,
}

/// Rows by what became of them; `total` is the sum of the four after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows of the input.
    pub total: u64,
    /// Rows in the output.
    pub ok: u64,
    /// Rows in the error file.
    pub failed: u64,
    /// Faulty rows that were left out.
    pub skipped: u64,
    /// Rows in neither file: the same command goes on with them.
    pub pending: u64,
    /// Rows that an earlier run had ended, among `ok` and `failed`.
    pub resumed: u64,
}

/// What calls took, in this run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Attempts by the reason they were sent for.
    pub attempts: BTreeMap<&'static str, u64>,
    /// Failed rows by the reason they ended with.
    pub failures: BTreeMap<&'static str, u64>,
    /// Time waited, over all rows together, by its reason.
    pub waited: BTreeMap<&'static str, Duration>,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a dollar, as far as prices are known.
    pub cost_microusd: u64,
    /// Calls without a known price.
    pub unpriced: u64,
    /// Attempts that were in flight when the run let go of them: they may have been answered and paid for.
    pub let_go: u64,
    /// Writes that may have acted; they stand in the ledger.
    pub unknown_writes: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every row has ended.
    Complete,
    /// A person stopped it.
    Interrupted,
    /// No row could go on.
    Stopped(Stop),
    /// The disk was full for a while; what had ended is written.
    NoRoom,
    /// A call ended without an end: a defect in the caller.
    Broken,
}

impl Tally {
    pub(crate) fn count(&mut self, ended: &Ended) {
        for attempt in &ended.attempts {
            *self.attempts.entry(attempt.sent_for).or_default() += 1;
        }
        for (reason_code, length) in &ended.waited {
            let sum = self.waited.entry(reason_code).or_default();
            *sum = sum.plus(*length);
        }
        self.usage = self.usage.plus(ended.usage);
        match ended.cost_microusd {
            Some(cost) => self.cost_microusd = self.cost_microusd.saturating_add(cost),
            None => self.unpriced += 1,
        }
    }
}

impl RowCounts {
    /// Counts the rows of a scan by their states.
    pub(crate) fn of(scan: &Scan, resumed: u64) -> Self {
        let mut counts = Self {
            total: scan.rows.len() as u64 + scan.rows_faulty,
            skipped: scan.rows_faulty,
            resumed,
            ..Self::default()
        };
        for row in &scan.rows {
            match row.state {
                RowState::Pending => counts.pending += 1,
                RowState::Answered => counts.ok += 1,
                RowState::Failed => counts.failed += 1,
            }
        }
        counts
    }
}

impl Summary {
    /// The exit class.
    pub const fn exit(&self) -> Exit {
        match self.end {
            End::Interrupted => Exit::Interrupted,
            End::Stopped(Stop::Key) => Exit::Key,
            End::Stopped(Stop::Money) => Exit::Money,
            End::NoRoom => Exit::Io,
            End::Broken => Exit::Audit,
            End::Complete if self.rows.failed > 0 || self.rows.skipped > 0 => Exit::RowsFailed,
            End::Complete => Exit::Done,
        }
    }

    /// One JSON object: `rows`, `attempts`, `failures`, `tokens`, `cost_usd`, `waited_ms`, `warnings`, `elapsed_ms`,
    /// `end`, `exit`. `cost_usd` is null where no call had a known price.
    pub fn to_json(&self) -> serde_json::Value {
        let rows = &self.rows;
        let tally = &self.tally;
        let waited: BTreeMap<_, _> = tally
            .waited
            .iter()
            .map(|(code, d)| (*code, d.as_millis()))
            .collect();
        let warnings: BTreeMap<_, _> = self
            .warnings
            .iter()
            .map(|(code, w)| (code.code(), w.count))
            .collect();
        serde_json::json!({
            "rows": {
                "total": rows.total, "ok": rows.ok, "failed": rows.failed, "skipped": rows.skipped,
                "pending": rows.pending, "resumed": rows.resumed,
            },
            "attempts": { "total": tally.attempts.values().sum::<u64>(), "by_reason": tally.attempts },
            "let_go": tally.let_go,
            "failures": tally.failures,
            "tokens": { "in": tally.usage.tokens_in, "out": tally.usage.tokens_out },
            "cost_usd": self.cost_usd(),
            "unpriced": tally.unpriced,
            "unknown_writes": tally.unknown_writes,
            "waited_ms": waited,
            "warnings": warnings,
            "elapsed_ms": self.elapsed.as_millis(),
            "end": self.end.name(),
            "exit": self.exit().code(),
        })
    }

    fn cost_usd(&self) -> Option<serde_json::Number> {
        match (self.tally.cost_microusd, self.tally.unpriced) {
            (0, 1..) => None,
            (cost, _) => usd(cost).parse().ok(),
        }
    }
}

impl End {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Stopped(Stop::Key) => "key",
            Self::Stopped(Stop::Money) => "money",
            Self::NoRoom => "no-room",
            Self::Broken => "broken",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::Complete => "every row has ended",
            Self::Interrupted => "interrupted; the same command goes on",
            Self::Stopped(Stop::Key) => {
                "stopped: the credential was refused, or one is missing; mend it, the same command goes on"
            }
            Self::Stopped(Stop::Money) => "stopped: the money or the quota is gone; the same command goes on",
            Self::NoRoom => {
                "stopped: there was no room to write; what had ended is written, the same command goes on"
            }
            Self::Broken => "a call ended without an end, which is a defect; the same command goes on",
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = &self.rows;
        let tally = &self.tally;
        writeln!(
            f,
            "{}: {} ok, {} failed, {} skipped, {} pending",
            counted(rows.total, "row"),
            rows.ok,
            rows.failed,
            rows.skipped,
            rows.pending
        )?;
        if rows.resumed > 0 {
            writeln!(f, "  {} of them ended in an earlier run", rows.resumed)?;
        }
        let attempts: Vec<String> = tally
            .attempts
            .iter()
            .map(|(code, n)| format!("{n} {code}"))
            .collect();
        if attempts.is_empty() && tally.let_go == 0 {
            writeln!(f, "attempts: 0 (nothing was sent)")?;
        } else if !attempts.is_empty() {
            let all: u64 = tally.attempts.values().sum();
            writeln!(f, "attempts: {all} ({})", attempts.join(", "))?;
        }
        if tally.let_go > 0 {
            writeln!(
                f,
                "let go: {} in flight, which may have been answered; their rows are sent again",
                tally.let_go
            )?;
        }
        for (code, count) in &tally.failures {
            writeln!(f, "failed: {count} {code}")?;
        }
        if tally.usage != Usage::NONE {
            writeln!(
                f,
                "tokens: {} in, {} out",
                tally.usage.tokens_in, tally.usage.tokens_out
            )?;
        }
        if tally.cost_microusd > 0 {
            write!(f, "money: ${}", usd(tally.cost_microusd))?;
            match tally.unpriced {
                0 => writeln!(f)?,
                unpriced => writeln!(f, ", and {} without a known price", counted(unpriced, "call"))?,
            }
        }
        for (code, length) in &tally.waited {
            let length = length.up_to_millis();
            writeln!(f, "waited: {length} {code} (all rows together)")?;
        }
        if tally.unknown_writes > 0 {
            writeln!(
                f,
                "writes that may have acted: {}; look after them: OUT.seawall/ledger.jsonl",
                tally.unknown_writes
            )?;
        }
        for (code, warned) in &self.warnings {
            let (path, line) = (warned.path.display(), warned.line);
            writeln!(
                f,
                "note: {}, {}, first at {path}:{line} [{}]",
                code.meaning(),
                counted(warned.count, "time"),
                code.code()
            )?;
        }
        let elapsed = self.elapsed.up_to_millis();
        write!(f, "{} ({elapsed})", self.end.sentence())
    }
}

/// `1 row`, `2 rows`.
fn counted(count: u64, one: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {one}{plural}")
}

#[cfg(test)]
mod tests;
