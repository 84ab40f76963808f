//! A journal as people read it: one line an attempt.

use super::{Attempt, Journal};
use crate::findings::{Hint, shown};
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::fmt;

/// The most lines that are printed; a storm has a hundred thousand, and its end says enough.
const LINES_MAX: usize = 200;

impl fmt::Display for Journal {
    /// The newest 200 attempts as a table, without a newline at its end: number, when it came since the mock's start, how
    /// long after the attempt before it with the same method and path, on which connection, what it asked for, what it
    /// met, its key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.attempts.is_empty() {
            return match self.dropped {
                0 => f.write_str("no attempt came"),
                dropped => write!(f, "no attempt is kept; {dropped} older ones were dropped"),
            };
        }
        let left_out = self.attempts.len().saturating_sub(LINES_MAX);
        let before = self.dropped + left_out as u64;
        if before > 0 {
            writeln!(f, "{before} earlier attempts are not shown")?;
        }
        let mut last: BTreeMap<(&str, &str), Instant> = BTreeMap::new();
        let mut rows = vec![["#", "at", "gap", "connection", "attempt", "met", "key"].map(str::to_owned)];
        for attempt in &self.attempts {
            let earlier = last.insert((&attempt.method, &attempt.path), attempt.at);
            rows.push(row(attempt, earlier));
        }
        rows.drain(1..=left_out);
        table(f, &rows)
    }
}

fn row(attempt: &Attempt, earlier: Option<Instant>) -> [String; 7] {
    let gap = earlier.map(|earlier| length(attempt.at.since(earlier)));
    let asked = match attempt.method.as_str() {
        "" => "(no request)".to_owned(),
        method => format!("{method} {}", shown(&attempt.path)),
    };
    [
        attempt.number.to_string(),
        length(attempt.at.since(Instant::START)),
        gap.unwrap_or_default(),
        format!("{}.{}", attempt.connection, attempt.on_connection),
        asked,
        met(attempt),
        attempt.key.as_deref().map(shown).unwrap_or_default(),
    ]
}

/// What an attempt met, in words: `503, retry-after 5s`, `reset`, `200 delay, the client left after 2s`.
fn met(attempt: &Attempt) -> String {
    let mut words = match (attempt.status, attempt.fault.as_deref()) {
        (Some(status), Some(fault)) if fault == status.to_string() => fault.to_owned(),
        (Some(status), Some(fault)) => format!("{status} {fault}"),
        (Some(status), None) => status.to_string(),
        (None, Some(fault)) => fault.to_owned(),
        (None, None) => "no answer".to_owned(),
    };
    if let Some(Hint { source, wait, .. }) = &attempt.hint {
        words.push_str(&format!(", {source} {wait}"));
    }
    match (attempt.client_left, attempt.ended) {
        (Some(left), _) => words.push_str(&format!(
            ", the client left after {}",
            length(left.since(attempt.at))
        )),
        (None, None) => words.push_str(", not ended"),
        (None, Some(_)) => {}
    }
    words
}

/// To the millisecond: what is less is the machine's.
fn length(length: Duration) -> String {
    match (length.as_secs(), length.as_millis() % 1_000) {
        (0, ms) => format!("{ms}ms"),
        (secs, ms) => format!("{secs}.{ms:03}s"),
    }
}

fn table<const COLUMNS: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; COLUMNS]]) -> fmt::Result {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for (nth, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        let end = if nth + 1 < rows.len() { "\n" } else { "" };
        write!(f, "{}{end}", line.trim_end())?;
    }
    Ok(())
}
