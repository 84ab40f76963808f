//! A document for people.

pub(super) mod live;

use super::{Document, Figures};
use crate::scenario::Colour;
use crate::sim::assert::{Judged, Unit};
use crate::sim::precheck::{Precheck, Stability, Weight};
use crate::sim::report::figures::dollars;
use crate::sim::report::figures::plain::{digits, length, percent};
use crate::sim::report::harmless;
use crate::sim::study::Claim;
use crate::sim::summary::Summary;
use serde_json::{Map, Value};

/// The longest line of a scenario that is shown, in characters.
const LINE_CHARS_MAX: usize = 160;
/// Parts above this have their scenarios in the JSON only.
const PARTS_SHOWN_MAX: usize = 4;

/// Keys in the order in which people look for them; others follow by the alphabet. A JSON object has no order.
const KEYS_FIRST: [&str; 31] = [
    "clients",
    "strategy",
    "calls",
    "time_ms",
    "tries",
    "depth",
    "base_s",
    "down_s",
    "p",
    "horizon",
    "rate",
    "connections",
    "gaps",
    "capacity",
    "workers",
    "slope",
    "latency",
    "order",
    "queue",
    "orphans",
    "failures",
    "name",
    "fleet",
    "at",
    "for",
    "how",
    "share",
    "retries",
    "deadline",
    "base",
    "factor",
];

/// What of a document is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wants {
    /// The figures, and the scenario that they are of.
    #[default]
    Figures,
    /// Every setting of every policy, too.
    Settings,
}

pub(super) fn write(document: &Document, wants: Wants, colour: Colour) -> String {
    let s = if document.seeds == 1 { "" } else { "s" };
    let (name, seeds, seed) = (line(&document.name), document.seeds, document.seed);
    let mut text = format!("{name}: {seeds} seed{s} from {seed}\n");
    if let Some(preset) = document.published() {
        text.push_str(&format!(
            "  {}\n  claims are of: {}\n",
            preset.about, preset.source
        ));
    }
    if document.scenario.len() <= PARTS_SHOWN_MAX {
        for part in &document.scenario {
            if document.scenario.len() > 1 {
                text.push_str(&format!("\n{}\n", shown(part.get("name"))));
            }
            text.push_str(&scenario(part, wants));
        }
        text.push_str(&foretold(document, wants));
    } else {
        text.push_str(&format!(
            "  {} parts; every switch of each is in --json\n",
            document.scenario.len()
        ));
    }
    match &document.table {
        Some(Value::Array(rows)) => text.push_str(&format!("\n{}", grid(rows))),
        Some(_) | None => text.push_str(&figures(document)),
    }
    if let Some(live) = &document.live {
        text.push_str(&live::write(live));
    }
    if !document.claims.is_empty() {
        text.push_str("\nclaims\n");
        if let Some(preset) = document.published().filter(|preset| seeds < preset.seeds) {
            text.push_str(&format!(
                "  with fewer than {} seeds a figure may miss by chance\n",
                preset.seeds
            ));
        }
        let claims = document.claims.iter().enumerate();
        text.extend(claims.map(|(place, claim)| {
            format!(
                "{}{}\n",
                one_claim(claim, colour),
                live::claim(document, place, colour)
            )
        }));
    }
    if !document.asserts.is_empty() {
        text.push_str("\nasserts\n");
        let asserts = document.asserts.iter().enumerate();
        text.extend(asserts.map(|(place, judged)| {
            let live = live::assert(document, place, colour);
            format!("{}{live}\n", one_assert(document, judged, colour))
        }));
    }
    if !document.notes.is_empty() {
        text.push_str("\nnotes\n");
        let notes = document.notes.iter();
        text.extend(notes.map(|note| format!("  - {}\n", line(note))));
    }
    text
}

/// The switches of one part, one line for each table that a file has.
fn scenario(part: &Map<String, Value>, wants: Wants) -> String {
    let mut text = String::new();
    let mut tell = |what: &str, value: &Value| {
        let mut told = toml(value);
        let cut = told.char_indices().nth(LINE_CHARS_MAX);
        if let (Some((at, _)), Wants::Figures) = (cut, wants) {
            told.truncate(at);
            told.push_str(" … (all of it: --verbose)");
        }
        text.push_str(&format!("  {what:<9} {}\n", line(&told)));
    };
    let is_table = |value: &Value| value.is_object() || value.is_array();
    let plain = part
        .iter()
        .filter(|(key, value)| *key != "name" && !is_table(value));
    let plain: Map<String, Value> = plain.map(|(key, value)| (key.clone(), value.clone())).collect();
    tell("all", &plain.into());
    for key in ["load", "server", "layer", "policy"] {
        match part.get(key) {
            Some(Value::Array(tables)) if key != "policy" || wants == Wants::Settings => {
                tables.iter().for_each(|table| tell(key, table));
            }
            Some(table @ Value::Object(_)) => tell(key, table),
            Some(_) | None => {}
        }
    }
    text
}

/// What closed forms say: a verdict for each policy, and what is likely to hurt.
fn foretold(document: &Document, wants: Wants) -> String {
    let mut text = String::new();
    for foretold in &document.precheck.policies {
        let Precheck {
            policy,
            stability,
            findings,
        } = &foretold.precheck;
        let part = foretold
            .part
            .as_ref()
            .map_or_else(String::new, |part| format!("{}: ", line(part)));
        text.push_str(&format!("  {part}{}: {}\n", line(policy), stands(*stability)));
        for finding in findings {
            let sign = match (finding.weight, wants) {
                (Weight::Warning, _) => '!',
                (Weight::Unknown, _) => '?',
                (Weight::Fact, Wants::Settings) => '-',
                (Weight::Fact, Wants::Figures) => continue,
            };
            text.push_str(&format!("    {sign} {}\n", line(&finding.text)));
        }
    }
    format!("\nbefore any run\n{text}")
}

const fn stands(stability: Stability) -> &'static str {
    match stability {
        Stability::Stable => "stable",
        Stability::Vulnerable => "vulnerable",
        Stability::Metastable => "metastable",
        Stability::Overloaded => "overloaded",
        Stability::Unknown => "not known in closed form",
    }
}

/// A table's entries as TOML writes them on a line.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries = in_order(entries).into_iter().map(|(key, value)| match value {
                Value::Object(_) => format!("{key} = {{ {} }}", toml(value)),
                _ => format!("{key} = {}", toml(value)),
            });
            entries.collect::<Vec<_>>().join(", ")
        }
        Value::Array(values) => {
            let values = values.iter().map(|value| match value {
                Value::Object(_) => format!("{{ {} }}", toml(value)),
                _ => toml(value),
            });
            format!("[{}]", values.collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// The entries of an object, those first that people look for first.
fn in_order(entries: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut all: Vec<(&String, &Value)> = entries.iter().collect();
    all.sort_by_key(|(key, _)| {
        let first = KEYS_FIRST.iter().position(|first| first == key);
        first.unwrap_or(KEYS_FIRST.len())
    });
    all
}

/// A row for each policy.
fn figures(document: &Document) -> String {
    let costs = document.policies.iter().any(|of| of.summary.cost_usd > 0.0);
    let mut head = vec![
        "policy",
        "success",
        "attempts/call",
        "p50",
        "p99",
        "peak/s",
        "recovery",
        "collapsed",
    ];
    if costs {
        head.push("cost");
    }
    let mut text = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut part: Option<&String> = None;
    for of in &document.policies {
        if of.part.as_ref() != part {
            if let (Some(before), false) = (part, rows.is_empty()) {
                text.push_str(&format!("\n{}\n{}", line(before), table(&head, &rows)));
            }
            rows.clear();
            part = of.part.as_ref();
        }
        rows.push(row(of, costs));
    }
    match part {
        Some(part) => text.push_str(&format!("\n{}\n{}", line(part), table(&head, &rows))),
        None => text.push_str(&format!("\n{}", table(&head, &rows))),
    }
    text
}

fn row(of: &Figures, costs: bool) -> Vec<String> {
    let Summary { name, .. } = &of.summary;
    let sum = &of.summary;
    let millis = |time: Option<f64>| time.map_or_else(|| "–".to_owned(), length);
    let recovery = match (sum.recovery_s, of.sees_recovery) {
        (Some(seconds), _) => length(seconds * 1e3),
        (None, true) => "never".to_owned(),
        (None, false) => "–".to_owned(),
    };
    // Where nobody called there is no share of calls.
    let of_calls = |figure: String| if sum.calls > 0 { figure } else { "–".to_owned() };
    let mut row = vec![
        line(name),
        of_calls(percent(sum.success_rate)),
        of_calls(digits(sum.amplification, 3)),
        millis(sum.p50_ms),
        millis(sum.p99_ms),
        digits(sum.peak_per_s, 4),
        recovery,
        sum.p_collapse.map_or_else(|| "–".to_owned(), percent),
    ];
    if costs {
        // A cent is much for a run of a few calls; and lines of a terminal are searched with plain spaces.
        row.push(dollars(sum.cost_usd).replace('\u{a0}', " "));
    }
    row
}

/// A preset's own rows, whose keys are the columns.
fn grid(rows: &[Value]) -> String {
    let first = rows.first().and_then(Value::as_object);
    let head: Vec<&str> = first.map_or_else(Vec::new, |first| {
        in_order(first).into_iter().map(|(key, _)| key.as_str()).collect()
    });
    let cell = |row: &Value, key: &&str| match row.get(key) {
        Some(Value::String(text)) => line(text),
        Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (None, Some(float)) => digits(float, 5),
            (Some(_), _) | (None, None) => number.to_string(),
        },
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| head.iter().map(|key| cell(row, key)).collect())
        .collect();
    table(&head, &rows)
}

/// Columns as wide as what stands in them: the first to the left, the others to the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let wide = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let cells = cells.map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(head[column].chars().count())
    };
    let widths: Vec<usize> = (0..head.len()).map(wide).collect();
    let one = |cells: Vec<&str>| {
        let cells = cells.into_iter().zip(&widths).enumerate();
        let line: Vec<String> = cells
            .map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        format!("  {}\n", line.join("  ").trim_end())
    };
    let mut text = one(head.to_vec());
    text.extend(
        rows.iter()
            .map(|row| one(row.iter().map(String::as_str).collect())),
    );
    text
}

fn one_claim(claim: &Claim, colour: Colour) -> String {
    let (published, measured) = (digits(claim.published, 4), digits(claim.measured, 4));
    format!(
        "  {} {}: published {published}, measured {measured}",
        mark(claim.holds, colour),
        line(&claim.name)
    )
}

fn one_assert(document: &Document, judged: &Judged, colour: Colour) -> String {
    format!(
        "  {} {} of {}: {}",
        mark(judged.holds, colour),
        line(&judged.assert),
        line(&judged.policy),
        measured(document, judged)
    )
}

/// What an assertion was held to, with its unit.
pub(super) fn measured(document: &Document, judged: &Judged) -> String {
    let of = document
        .policies
        .iter()
        .find(|of| of.summary.name == judged.policy);
    match (judged.unit, judged.measured) {
        (Unit::Share, Some(share)) => percent(share),
        (Unit::Plain, Some(figure)) => digits(figure, 4),
        (Unit::Time, Some(millis)) => format!("{} ms", digits(millis, 4)),
        (Unit::LongTime, Some(seconds)) => format!("{} s", digits(seconds, 4)),
        (Unit::LongTime, None) if of.is_some_and(|of| of.sees_recovery) => "never".to_owned(),
        (Unit::Share | Unit::Plain | Unit::Time | Unit::LongTime, None) => "nothing to measure".to_owned(),
    }
}

fn mark(holds: bool, colour: Colour) -> &'static str {
    match (holds, colour) {
        (true, Colour::Plain) => "holds ",
        (false, Colour::Plain) => "MISSED",
        (true, Colour::Ansi) => "\x1b[32mholds \x1b[0m",
        (false, Colour::Ansi) => "\x1b[31mMISSED\x1b[0m",
    }
}

fn shown(value: Option<&Value>) -> String {
    line(value.and_then(Value::as_str).unwrap_or_default())
}

/// What somebody wrote, on one line, and without what moves a cursor or turns letters round.
fn line(text: &str) -> String {
    harmless(text)
}
