//! Recorded calls: when somebody called, and with how many tokens.
//!
//! What can go wrong: a column that is taken for another; a row that cannot be read and is passed over, so that the load
//! is lighter than what was recorded; times of a zone, or of another beginning. So columns go by their names, a row that
//! cannot be read is an error with its line, and times are counted from the first call.
//!
//! Formats: the Azure LLM inference traces (CSV), BurstGPT (CSV), Mooncake (JSON lines), a gateway's access log, the answers
//! of a batch, and a plain one (JSON lines of `{"t": seconds, "in": tokens, "out": tokens, "took": seconds}`) for everything
//! else.

mod own;

use super::events::Moment;
use crate::sim::model::Arrival;
use seawall_core::time::{Duration, Instant};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::ops::Range;
use std::path::Path;

/// The most calls of a trace: 160 MB of them.
pub const TRACE_CALLS_MAX: usize = 10_000_000;
/// The most lines without a call: what is fed by a pipe that says nothing is no trace.
const SKIPPED_MAX: usize = TRACE_CALLS_MAX;
/// The longest line, in bytes: a Mooncake call lists its cache blocks.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How a file begins that gzip has packed, as archives of traces do.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Who wrote a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `TIMESTAMP,ContextTokens,GeneratedTokens`, times as dates.
    Azure,
    /// `Timestamp,…,Request tokens,Response tokens,…`, times in seconds.
    BurstGpt,
    /// `{"timestamp": ms, "input_length": …, "output_length": …}`.
    Mooncake,
    /// `{"t": s, "in": …, "out": …, "took": s}`.
    Jsonl,
    /// A gateway's access log: `{"at": date, "tokens_in": …, "tokens_out": …, "total_ms": …}`.
    Gateway,
    /// The answers of a batch, one in a line, as `seawall batch` writes them.
    Batch,
}

impl Form {
    /// All of them.
    pub(super) const ALL: [Self; 6] = [
        Self::Azure,
        Self::BurstGpt,
        Self::Mooncake,
        Self::Jsonl,
        Self::Gateway,
        Self::Batch,
    ];

    /// The name in files.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Azure => "azure",
            Self::BurstGpt => "burstgpt",
            Self::Mooncake => "mooncake",
            Self::Jsonl => "jsonl",
            Self::Gateway => "gateway",
            Self::Batch => "batch",
        }
    }

    /// What is to be known of its times, where they are not what was recorded.
    pub(super) const fn times_are(self) -> Option<&'static str> {
        match self {
            Self::Azure | Self::BurstGpt | Self::Mooncake | Self::Jsonl | Self::Gateway => None,
            Self::Batch => Some(
                "answers say to the second when they were made: those of one second are spread evenly over it",
            ),
        }
    }
}

/// What a trace holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Its calls in the order of their times, the first at the beginning.
    pub(super) calls: Vec<Arrival>,
    /// Lines that are no call: blank ones.
    pub(super) skipped: usize,
    /// Calls whose answers are known to have taken a time.
    pub(super) timed: Vec<Timed>,
    /// How many had no answer; `None` where the format does not say.
    pub(super) failed: Option<usize>,
}

/// A call that was answered, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub(super) tokens_in: u32,
    pub(super) tokens_out: u32,
    pub(super) took: Duration,
}

/// A call as it stands in a line: when, in nanoseconds since whatever its writer counts from.
struct Row {
    at: i128,
    tokens_in: u32,
    tokens_out: u32,
    took: Option<Duration>,
}

/// Reads a trace.
///
/// # Errors
/// What its user must know, with the trace's own line.
pub(super) fn read(path: &Path, form: Form) -> Result<Reading, String> {
    let shown = path.display();
    if form == Form::Batch {
        return own::batch(path);
    }
    let mut columns: Option<Columns> = None;
    let (mut rows, mut skipped): (Vec<Row>, usize) = (Vec::new(), 0);
    lines(path, |number, line| {
        let told = |why: String| format!("{shown}:{number}: {why}");
        if line.trim().is_empty() {
            skipped += 1;
            return match skipped > SKIPPED_MAX {
                true => Err(format!("{shown}: more than {SKIPPED_MAX} lines are blank")),
                false => Ok(()),
            };
        }
        let row = match form {
            Form::Mooncake => json::<Mooncake>(line).and_then(|row| row.row()),
            Form::Jsonl => json::<Plain>(line).and_then(|row| row.row()),
            Form::Gateway | Form::Batch => json::<own::Logged>(line).and_then(|row| row.row()),
            Form::Azure | Form::BurstGpt => match &columns {
                Some(columns) => columns.row(line, form),
                None => {
                    columns = Some(Columns::of(line, form).map_err(told)?);
                    return Ok(());
                }
            },
        };
        rows.push(row.map_err(told)?);
        match rows.len() > TRACE_CALLS_MAX {
            true => Err(format!(
                "{shown}: more than {TRACE_CALLS_MAX} calls, which is the most"
            )),
            false => Ok(()),
        }
    })?;
    reading(&shown.to_string(), rows, skipped, form)
}

/// What these rows come to.
fn reading(shown: &str, mut rows: Vec<Row>, skipped: usize, form: Form) -> Result<Reading, String> {
    // Writers of traces put down what has ended first, too.
    rows.sort_by_key(|row| row.at);
    let Some(first) = rows.first().map(|row| row.at) else {
        return Err(format!("{shown}: no call is in this trace"));
    };
    let failed = rows.iter().filter(|row| row.tokens_out == 0).count();
    let failed = match form {
        Form::BurstGpt => Some(failed),
        Form::Azure | Form::Mooncake | Form::Jsonl | Form::Gateway | Form::Batch => None,
    };
    let timed = rows.iter().filter(|row| row.tokens_out > 0).filter_map(|row| {
        Some(Timed {
            tokens_in: row.tokens_in,
            tokens_out: row.tokens_out,
            took: row.took?,
        })
    });
    let timed = timed.collect();
    let calls = rows.into_iter().map(|row| Arrival {
        at: Instant::from_nanos(u64::try_from(row.at - first).unwrap_or(u64::MAX)),
        tokens_in: row.tokens_in,
        tokens_out: row.tokens_out,
    });
    Ok(Reading {
        calls: calls.collect(),
        skipped,
        timed,
        failed,
    })
}

/// The calls of a window, their times counted from where it begins.
pub(super) fn cut(calls: &[Arrival], window: Option<Range<Duration>>) -> Vec<Arrival> {
    let Some(window) = window else {
        return calls.to_vec();
    };
    let within = calls
        .iter()
        .filter(|call| window.contains(&call.at.since(Instant::START)));
    within
        .map(|call| Arrival {
            at: call.at.before(window.start),
            ..*call
        })
        .collect()
}

/// Hands over every line of a file with its number, from 1.
///
/// # Errors
/// The first of `each`; a file that cannot be read, or is no text.
pub(super) fn lines(
    path: &Path,
    mut each: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), String> {
    let shown = path.display();
    let failed = |error: std::io::Error| format!("{shown}: {error}");
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut bytes = Vec::new();
    for number in 1_usize.. {
        bytes.clear();
        let mut line = file.by_ref().take(LINE_BYTES_MAX);
        if line.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        if bytes.len() as u64 == LINE_BYTES_MAX {
            return Err(format!(
                "{shown}:{number}: longer than {LINE_BYTES_MAX} bytes, which is the most of a line"
            ));
        }
        if number == 1 && bytes.starts_with(&GZIP) {
            return Err(format!(
                "{shown}: this is gzip, and no text yet; unpack it first, with gunzip"
            ));
        }
        let text =
            std::str::from_utf8(&bytes).map_err(|_| format!("{shown}:{number}: this is no UTF-8 text"))?;
        let text = if number == 1 {
            text.trim_start_matches('\u{feff}')
        } else {
            text
        };
        each(number, text.trim_end_matches(['\n', '\r']))?;
    }
    Ok(())
}

fn json<'t, T: Deserialize<'t>>(line: &'t str) -> Result<T, String> {
    // A list of as many numbers would be taken for one, whatever each of them is.
    if !line.trim_start().starts_with('{') {
        return Err("expected an object, as in {\"t\": 1.5}".to_owned());
    }
    serde_json::from_str(line).map_err(|error| {
        // The line is the trace's, and stands before this: of the one line that is read here, each is the first.
        let why = error.to_string();
        let at = format!(" at line {} column {}", error.line(), error.column());
        format!(
            "{} at column {}",
            why.strip_suffix(&at).unwrap_or(&why),
            error.column()
        )
    })
}

#[derive(Deserialize)]
struct Mooncake {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
}

/// Ours, so that a key which is none is a mistake: `"inn": 900` would be a prompt of nothing. The others have keys of their
/// own, of which those that are read are needed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    t: f64,
    #[serde(rename = "in", default)]
    tokens_in: u32,
    #[serde(rename = "out", default)]
    tokens_out: u32,
    took: Option<f64>,
}

impl Mooncake {
    fn row(&self) -> Result<Row, String> {
        Ok(Row {
            at: moment(self.timestamp, 1e6)?,
            tokens_in: self.input_length,
            tokens_out: self.output_length,
            took: None,
        })
    }
}

impl Plain {
    fn row(&self) -> Result<Row, String> {
        Ok(Row {
            at: moment(self.t, 1e9)?,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            took: match self.took {
                Some(seconds) => Some(length(seconds, 1e9)?),
                None => None,
            },
        })
    }
}

/// A length of time in units of so many nanoseconds.
fn length(units: f64, nanos: f64) -> Result<Duration, String> {
    let length = moment(units, nanos)
        .ok()
        .and_then(|nanos| u64::try_from(nanos).ok());
    length
        .map(Duration::from_nanos)
        .ok_or_else(|| format!("{units} is no length of time"))
}

/// A time in units of so many nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "checked to be far below 2^127 before"
)]
fn moment(units: f64, nanos: f64) -> Result<i128, String> {
    let at = units * nanos;
    match at.abs() < 1e27 {
        true => Ok(libm::round(at) as i128),
        false => Err(format!("{units:e} is no time")),
    }
}

/// Where a CSV file has what we look for.
struct Columns {
    at: usize,
    tokens_in: usize,
    tokens_out: usize,
    took: Option<usize>,
}

impl Columns {
    fn of(head: &str, form: Form) -> Result<Self, String> {
        let names = match form {
            Form::Azure => ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
            Form::BurstGpt | Form::Mooncake | Form::Jsonl | Form::Gateway | Form::Batch => {
                ["Timestamp", "Request tokens", "Response tokens"]
            }
        };
        let columns = cells(head);
        let place = |name: &str| {
            only_column(&columns, name)?.ok_or_else(|| {
                format!(
                    "the first line names no column `{name}`, so this is no {} trace",
                    form.name()
                )
            })
        };
        Ok(Self {
            at: place(names[0])?,
            tokens_in: place(names[1])?,
            tokens_out: place(names[2])?,
            // Its first releases have no such column.
            took: only_column(&columns, "Elapsed time")?,
        })
    }

    fn row(&self, line: &str, form: Form) -> Result<Row, String> {
        let cells = cells(line);
        let cell = |column: usize| {
            let cell = cells.get(column).map(|cell| cell.trim());
            cell.ok_or_else(|| {
                format!(
                    "this row has {} cells, and column {} is missing",
                    cells.len(),
                    column + 1
                )
            })
        };
        let tokens = |column: usize| {
            let text = cell(column)?;
            let count: Result<f64, _> = text.parse();
            whole_tokens(count.ok()).ok_or_else(|| format!("`{text}` is no number of tokens"))
        };
        let text = cell(self.at)?;
        let at = match form {
            Form::Azure => Moment::parse(text).map(|moment| moment.0),
            Form::BurstGpt | Form::Mooncake | Form::Jsonl | Form::Gateway | Form::Batch => {
                text.parse().ok().and_then(|units: f64| moment(units, 1e9).ok())
            }
        };
        Ok(Row {
            at: at.ok_or_else(|| format!("`{text}` is no time"))?,
            tokens_in: tokens(self.tokens_in)?,
            tokens_out: tokens(self.tokens_out)?,
            took: match self.took {
                Some(column) => {
                    let text = cell(column)?;
                    let seconds = text
                        .parse()
                        .map_err(|_| format!("`{text}` is no length of time"))?;
                    Some(length(seconds, 1e9)?)
                }
                None => None,
            },
        })
    }
}

/// Where the first line of a CSV file has the column of this name; `None`: nowhere.
///
/// # Errors
/// It has two, and nothing tells which is meant.
pub(super) fn only_column(head: &[String], name: &str) -> Result<Option<usize>, String> {
    let named = head.iter().enumerate().filter(|(_, cell)| cell.trim() == name);
    let mut places = named.map(|(place, _)| place);
    match (places.next(), places.next()) {
        (place, None) => Ok(place),
        (_, Some(_)) => Err(format!(
            "the first line names the column `{name}` twice; keep the one that is meant"
        )),
    }
}

/// Some writers write whole numbers with a point.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number of 32 bits"
)]
fn whole_tokens(count: Option<f64>) -> Option<u32> {
    let count = count?;
    let fits = (0.0..=f64::from(u32::MAX)).contains(&count) && libm::trunc(count) == count;
    fits.then_some(count as u32)
}

/// The cells of a line of CSV; a comma between quotes is none.
pub(super) fn cells(line: &str) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut cell)),
            sign => cell.push(sign),
        }
    }
    all.push(cell);
    all
}

#[cfg(test)]
mod tests;
