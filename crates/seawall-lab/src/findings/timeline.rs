//! What proves a finding: the attempts of a call in time, or the waits of several calls side by side.

use super::calls::{CallSeen, Wait};
use super::log::{Attempt, Log};
use seawall_core::time::{Duration, Instant};
use std::fmt;

/// The most attempts that one time-line has: the first half of them and the last.
const ROWS_MAX: usize = 24;
/// The most calls whose waits are shown side by side.
const CALLS_MAX: usize = 12;
/// The most waits that are shown of one call.
const WAITS_MAX: usize = 12;
/// The longest key, path or text that is shown, in characters.
const TEXT_CHARS_MAX: usize = 48;

/// What proves a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// There is nothing to show beside the finding's own words.
    None,
    /// The attempts of one call, or of one path.
    Attempts(TimeLine),
    /// The waits of several calls.
    Waits(Vec<WaitsOf>),
}

/// Attempts in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLine {
    /// The attempts, in order.
    pub rows: Vec<Row>,
    /// How many are not shown, in the middle.
    pub left_out: usize,
    /// After how many rows they would stand.
    pub gap_after: usize,
}

/// One attempt of a time-line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which attempt of the run, counted from 1.
    pub number: usize,
    /// When it came.
    pub at: Instant,
    /// How long it came after the end of the one before; `None` for the first, and where that had not ended.
    pub wait: Option<Duration>,
    /// How long it took; `None` where it never ended.
    pub took: Option<Duration>,
    /// Method and path.
    pub what: String,
    /// Status, fault, and what the client did.
    pub met: String,
    /// The idempotency key.
    pub key: Option<String>,
    /// What its answer said about waiting, as in `retry-after: 5`.
    pub hint: Option<String>,
    /// What is wrong with it.
    pub note: Option<String>,
}

/// The waits of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitsOf {
    /// Which run, counted from 1.
    pub run: usize,
    /// Its waits, in order.
    pub waits: Vec<Duration>,
}

impl TimeLine {
    /// The attempts of a call, with a note at those places of the log that have one.
    pub fn of_call(log: &Log, call: &CallSeen, notes: &[(usize, String)]) -> Self {
        Self::of(log, &call.places, notes)
    }

    /// These attempts of a log, by their places.
    pub fn of(log: &Log, places: &[usize], notes: &[(usize, String)]) -> Self {
        let (gap_after, left_out) = match places.len() {
            all @ 0..=ROWS_MAX => (all, 0),
            all => (ROWS_MAX / 2, all - ROWS_MAX),
        };
        let row = |index: &usize| {
            let place = places[*index];
            let before = index.checked_sub(1).map(|before| &log.attempts[places[before]]);
            let note = notes
                .iter()
                .find(|(at, _)| *at == place)
                .map(|(_, note)| note.clone());
            Row::of(place, &log.attempts[place], before, note)
        };
        let shown: Vec<usize> = (0..gap_after).chain(gap_after + left_out..places.len()).collect();
        Self {
            rows: shown.iter().map(row).collect(),
            left_out,
            gap_after,
        }
    }
}

impl Row {
    fn of(place: usize, attempt: &Attempt, before: Option<&Attempt>, note: Option<String>) -> Self {
        let wait = before
            .and_then(Attempt::over)
            .filter(|over| *over <= attempt.at)
            .map(|over| attempt.at.since(over));
        Self {
            number: place + 1,
            at: attempt.at,
            wait,
            took: attempt.over().map(|over| over.since(attempt.at)),
            what: shown(&format!("{} {}", attempt.method, attempt.path)),
            met: met(attempt),
            key: attempt.key.as_deref().map(shown),
            hint: attempt
                .hint
                .as_ref()
                .map(|hint| shown(&format!("{}: {}", hint.source, hint.text))),
            note,
        }
    }
}

impl Proof {
    /// The waits of these calls, as many as are shown.
    pub(super) fn waits<'a>(calls: impl Iterator<Item = (usize, &'a [Wait])>) -> Self {
        let waits = calls.take(CALLS_MAX).map(|(run, waits)| WaitsOf {
            run: run + 1,
            waits: waits.iter().take(WAITS_MAX).map(|wait| wait.length).collect(),
        });
        Self::Waits(waits.collect())
    }
}

/// What an attempt met, in few words: `503`, `200, truncate`, `no answer, the client left`.
fn met(attempt: &Attempt) -> String {
    let status = attempt
        .status
        .map_or_else(|| "no answer".to_owned(), |status| status.to_string());
    let fault = attempt
        .fault
        .as_deref()
        .filter(|fault| *fault != status)
        .map_or_else(String::new, |fault| format!(", {}", shown(fault)));
    let left = match (attempt.client_left, attempt.ended) {
        (Some(_), _) => ", the client left",
        (None, None) => ", never ended",
        (None, Some(_)) => "",
    };
    format!("{status}{fault}{left}")
}

/// A length as a person reads it: to the millisecond, below 10 ms to a tenth.
pub fn rounded(length: Duration) -> Duration {
    let grain = match length.as_millis() {
        0..10 => 100_000,
        _ => 1_000_000,
    };
    Duration::from_nanos(length.as_nanos().saturating_add(grain / 2) / grain * grain)
}

/// A point in time as a person reads it.
fn offset(at: Instant) -> Duration {
    rounded(at.since(Instant::START))
}

/// A text of a stranger, short and without signs that move a terminal's cursor.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(TEXT_CHARS_MAX)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(TEXT_CHARS_MAX).is_some() {
        short.push('…');
    }
    short
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Attempts(timeline) => timeline.fmt(f),
            Self::Waits(calls) => {
                for call in calls {
                    let waits: Vec<String> =
                        call.waits.iter().map(|wait| rounded(*wait).to_string()).collect();
                    writeln!(f, "run {}: waits {}", call.run, waits.join(", "))?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for TimeLine {
    /// A line for each attempt, in columns; every line ends.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells: Vec<[String; 8]> = self.rows.iter().map(cells).collect();
        let widths: [usize; 7] = std::array::from_fn(|column| {
            let width = |row: &[String; 8]| row[column].chars().count();
            cells.iter().map(width).max().unwrap_or_default()
        });
        for (place, row) in cells.iter().enumerate() {
            if place == self.gap_after && self.left_out > 0 {
                writeln!(f, "… {} more", self.left_out)?;
            }
            let mut line = format!("{:>1$}", row[0], widths[0]);
            for (column, width) in widths.iter().enumerate().skip(1).filter(|(_, width)| **width > 0) {
                line.push_str("  ");
                // Times stand under each other by their ends, words by their beginnings.
                match column {
                    1..=3 => line.push_str(&format!("{:>width$}", row[column])),
                    _ => line.push_str(&format!("{:<width$}", row[column])),
                }
            }
            if !row[7].is_empty() {
                line.push_str("  ");
                line.push_str(&row[7]);
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn cells(row: &Row) -> [String; 8] {
    let sign = |wait: Duration| format!("+{}", rounded(wait));
    [
        format!("#{}", row.number),
        offset(row.at).to_string(),
        row.wait.map(sign).unwrap_or_default(),
        row.took
            .map_or_else(|| "-".to_owned(), |took| rounded(took).to_string()),
        row.what.clone(),
        row.met.clone(),
        [row.key.as_ref().map(|key| format!("key {key}")), row.hint.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("  "),
        row.note
            .as_ref()
            .map(|note| format!("<- {note}"))
            .unwrap_or_default(),
    ]
}
