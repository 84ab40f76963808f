//! What seawall itself writes down of calls: a gateway's access log, and the answers of a batch.
//!
//! What can go wrong: a batch is read as if its calls had come when they ended, or all at once. Its files hold no time of a
//! row, and a runner sends as fast as it may; but most providers say in the answer itself, to the second, when it was made.
//! So those times are taken where all answers have one, and where one has none the error says what else the file is good
//! for.

use super::{Form, Moment, Reading, Row, json, length, lines, reading};
use crate::error::{nearest, shown};
use seawall_core::time::Duration;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::Path;

const SECOND: i128 = 1_000_000_000;
const NO_TIME: &str = "this answer does not say when it was made (`response.body.created`), and a batch's files hold no \
                       other time";
const ONE_TIME: &str =
    "all answers say that they were made in one second, so nothing tells when their calls came";

/// A line of a gateway's access log: one call, whatever became of it.
#[derive(Deserialize)]
pub(super) struct Logged {
    /// When it came, as a date with a zone.
    at: String,
    #[serde(default)]
    tokens_in: u32,
    #[serde(default)]
    tokens_out: u32,
    total_ms: Option<f64>,
    /// A gateway says more of a call than is read here.
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

/// What is read of a call in a gateway's log; all but the first may be missing.
const LOGGED_KEYS: [&str; 4] = ["at", "tokens_in", "tokens_out", "total_ms"];

impl Logged {
    pub(super) fn row(&self) -> Result<Row, String> {
        let Self { at, total_ms, .. } = self;
        // One that is misspelt would be a call without tokens.
        for other in self.others.keys() {
            if let Some(key) = nearest(other, &LOGGED_KEYS) {
                return Err(format!(
                    "`{}` is nearly `{key}`, and would be passed over",
                    shown(other)
                ));
            }
        }
        let Moment(moment) = Moment::parse(at).ok_or_else(|| format!("`{at}` is no time"))?;
        Ok(Row {
            at: moment,
            tokens_in: self.tokens_in,
            tokens_out: self.tokens_out,
            took: took(*total_ms)?,
        })
    }
}

/// A line of the answers of a batch.
#[derive(Deserialize)]
struct Answered<'t> {
    /// What makes it a line of a batch.
    #[serde(rename = "custom_id", borrow)]
    _custom_id: &'t RawValue,
    #[serde(borrow)]
    response: Option<Response<'t>>,
    /// With `--extras`.
    seawall: Option<Extras>,
}

#[derive(Deserialize)]
struct Response<'t> {
    status_code: u16,
    #[serde(borrow)]
    body: &'t RawValue,
}

#[derive(Deserialize)]
struct Extras {
    total_ms: Option<f64>,
}

/// What an answer says of itself, in the words of any provider.
#[derive(Default, Deserialize)]
struct Body {
    #[serde(alias = "created_at")]
    created: Option<f64>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(alias = "prompt_tokens", default)]
    input_tokens: u32,
    #[serde(alias = "completion_tokens", default)]
    output_tokens: u32,
}

/// Reads the answers of a batch.
///
/// # Errors
/// As [`super::read`]; also where an answer does not say when it was made.
pub(super) fn batch(path: &Path) -> Result<Reading, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!(
            "{shown} is a folder; the answers of a batch are in the file beside it, OUT.jsonl"
        ));
    }
    let (mut rows, mut skipped, mut timeless): (Vec<Row>, usize, Option<usize>) = (Vec::new(), 0, None);
    lines(path, |number, line| {
        if line.trim().is_empty() {
            skipped += 1;
            return Ok(());
        }
        let (created, row) = answer(line).map_err(|why| format!("{shown}:{number}: {why}"))?;
        if created.is_none() {
            timeless = timeless.or(Some(number));
        }
        rows.push(row);
        match rows.len() > super::TRACE_CALLS_MAX {
            true => Err(format!(
                "{shown}: more than {} calls, which is the most",
                super::TRACE_CALLS_MAX
            )),
            false => Ok(()),
        }
    })?;
    if let Some(number) = timeless {
        return Err(format!("{shown}:{number}: {NO_TIME}{}", tokens_of(&rows)));
    }
    let second = |row: &Row| row.at.div_euclid(SECOND);
    if rows.len() > 1 && rows.iter().all(|row| second(row) == second(&rows[0])) {
        return Err(format!("{shown}: {ONE_TIME}{}", tokens_of(&rows)));
    }
    spread_seconds(&mut rows);
    reading(&shown.to_string(), rows, skipped, Form::Batch)
}

/// When the answer was made, in seconds, and its call.
fn answer(line: &str) -> Result<(Option<f64>, Row), String> {
    let answered: Answered<'_> = json(line)?;
    let response = answered.response.filter(|response| response.status_code < 400);
    let Some(response) = response else {
        return Err("this row has no answer; a load is made of OUT.jsonl, not of its error file".to_owned());
    };
    // A body that is no object says nothing of itself.
    let body: Body = serde_json::from_str(response.body.get()).unwrap_or_default();
    let (tokens_in, tokens_out) = body
        .usage
        .map_or((0, 0), |usage| (usage.input_tokens, usage.output_tokens));
    let row = Row {
        at: super::moment(body.created.unwrap_or_default(), 1e9)?,
        tokens_in,
        tokens_out,
        took: took(answered.seawall.and_then(|extras| extras.total_ms))?,
    };
    Ok((body.created, row))
}

/// What these answers are good for without their times.
fn tokens_of(rows: &[Row]) -> String {
    let amount = |count: fn(&Row) -> u32| {
        let mut all: Vec<u32> = rows.iter().map(count).filter(|count| *count > 0).collect();
        all.sort_unstable();
        let at = |per_mille: usize| all.get(all.len() * per_mille / 1_000).copied();
        Some(format!("{{ p50 = {}, p99 = {} }}", at(500)?, at(990)?))
    };
    match (amount(|row| row.tokens_in), amount(|row| row.tokens_out)) {
        (Some(read), Some(written)) => format!(
            "; their tokens can be had with a rate of your own: tokens = {{ input = {read}, output = {written} }}"
        ),
        (None, _) | (_, None) => String::new(),
    }
}

/// Calls of one second come evenly over it, in the order of the file.
fn spread_seconds(rows: &mut [Row]) {
    rows.sort_by_key(|row| row.at);
    for second in rows.chunk_by_mut(|one, other| one.at.div_euclid(SECOND) == other.at.div_euclid(SECOND)) {
        let count = second.len() as i128;
        for (nth, row) in (0_i128..).zip(second) {
            row.at = row.at.div_euclid(SECOND) * SECOND + nth * SECOND / count;
        }
    }
}

fn took(total_ms: Option<f64>) -> Result<Option<Duration>, String> {
    match total_ms {
        Some(total_ms) => Ok(Some(length(total_ms, 1e6)?)),
        None => Ok(None),
    }
}
