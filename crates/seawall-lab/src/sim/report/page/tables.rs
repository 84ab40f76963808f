//! The tables of the page.

use crate::sim::agreement::{self, Accord};
use crate::sim::document::Live;
use crate::sim::report::figures::{
    NONE, count, dollars, escaped, length, number, percent, rate, significant, times,
};
use crate::sim::report::switches::Row;
use crate::sim::report::{Expected, Part};
use crate::sim::stats::Interval;
use crate::sim::study::Claim;
use crate::sim::summary::{Difference, Summary};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Rows of a grid that are written; a page of a million is none.
const GRID_ROWS_MAX: usize = 2_000;

/// What a file expects.
pub(super) fn asserts(asserts: &[Expected]) -> String {
    if asserts.is_empty() {
        return String::new();
    }
    let rows = asserts.iter().map(|assert| {
        let (text, measured) = (escaped(&assert.text), escaped(&assert.measured));
        format!(
            "<tr><td>{text}</td><td class=\"n\">{measured}</td><td>{}</td></tr>\n",
            word(assert.holds)
        )
    });
    let rows: String = rows.collect();
    let head = "<tr><th>expected</th><th class=\"n\">measured</th><th></th></tr>";
    section("Expectations", &table(head, &rows))
}

/// Published figures beside ours.
pub(super) fn claims(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let rows = claims.iter().map(|claim| {
        format!(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            escaped(&claim.name),
            significant(claim.published),
            significant(claim.measured),
            word(claim.holds)
        )
    });
    let rows: String = rows.collect();
    let head = "<tr><th>claim</th><th class=\"n\">published</th><th class=\"n\">measured</th><th></th></tr>";
    section("Published figures beside ours", &table(head, &rows))
}

/// What a live twin came to, beside the simulation.
pub(super) fn live(live: &Live) -> String {
    let several = live.agreement.iter().any(|agreed| agreed.part.is_some());
    let rows = live.agreement.iter().map(|agreed| {
        let agreement = &agreed.agreement;
        let write = FIGURES.iter().find(|figure| figure.name == agreement.what);
        let write = write.map_or(significant as fn(f64) -> String, |figure| figure.write);
        let cell = |figure: agreement::Figure| {
            let mean = escaped(&write(figure.mean));
            // Attempts a call are written to a hundredth, where an error of a two-hundredth would read as none.
            let write_error = match agreement.what {
                "amplification" => significant,
                _ => write,
            };
            // One run has none.
            let error = figure.error.map(|error| {
                let error = escaped(&format!("± {}", write_error(error)));
                format!("<span class=\"ci\">{error}</span>")
            });
            format!("<td class=\"n\">{mean}{}</td>", error.unwrap_or_default())
        };
        let part = agreed
            .part
            .as_deref()
            .map(|part| format!("<td>{}</td>", escaped(part)));
        format!(
            "<tr>{}<td>{}</td><td>{}</td>{}{}<td>{}</td></tr>\n",
            part.unwrap_or_default(),
            escaped(&agreement.policy),
            write_name(agreement.what),
            cell(agreement.simulated),
            cell(agreement.live),
            accord(agreement.accord),
        )
    });
    let rows: String = rows.collect();
    let head = format!(
        "<tr>{}<th>policy</th><th>figure</th><th class=\"n\">simulated</th><th class=\"n\">live</th><th></th></tr>",
        if several { "<th>world</th>" } else { "" }
    );
    let passed = format!(
        "<p class=\"muted\">{} runs over sockets, from the same seeds; {}. Means over the runs, with their standard \
         errors: {}.</p>\n",
        live.runs,
        live.passage(),
        escaped(&live.sentence())
    );
    section("Live", &format!("{passed}{}", table(&head, &rows)))
}

/// What a figure is called in the tables.
fn write_name(name: &'static str) -> &'static str {
    let figure = FIGURES.iter().find(|figure| figure.name == name);
    figure.map_or(name, |figure| figure.heading)
}

/// Whether two figures agree: a sign and a word, for who sees no colour.
fn accord(accord: Accord) -> &'static str {
    match accord {
        Accord::Equal => "<span class=\"yes\">✓ equal</span>",
        Accord::Agrees => "<span class=\"yes\">✓ agrees</span>",
        Accord::WithinTheClock => "<span class=\"muted\">≈ within the clock</span>",
        Accord::OneRun => "<span class=\"muted\">one run</span>",
        Accord::Differs => "<span class=\"no\">✗ differs</span>",
    }
}

/// Whether something holds: a sign and a word, for who sees no colour.
fn word(holds: bool) -> &'static str {
    match holds {
        true => "<span class=\"yes\">✓ holds</span>",
        false => "<span class=\"no\">✗ does not hold</span>",
    }
}

/// Stands for a recovery that there was not.
const NEVER: &str = "never";

/// One figure of a summary in the tables: its heading, its name, itself, how it is written, and what stands where it is
/// none.
struct Figure {
    heading: &'static str,
    name: &'static str,
    of: fn(&Summary) -> Option<f64>,
    write: fn(f64) -> String,
    none: &'static str,
}

const FIGURES: [Figure; 10] = [
    Figure {
        heading: "success",
        name: "success_rate",
        of: |summary| Some(summary.success_rate),
        write: percent,
        none: NONE,
    },
    Figure {
        heading: "load",
        name: "amplification",
        of: |summary| Some(summary.amplification),
        write: times,
        none: NONE,
    },
    Figure {
        heading: "collapse",
        name: "p_collapse",
        of: |summary| summary.p_collapse,
        write: percent,
        none: NONE,
    },
    Figure {
        heading: "recovery",
        name: "recovery_s",
        of: |summary| summary.recovery_s,
        write: seconds,
        none: NEVER,
    },
    Figure {
        heading: "mean",
        name: "mean_ms",
        of: |summary| summary.mean_ms,
        write: length,
        none: NONE,
    },
    Figure {
        heading: "mean, retried",
        name: "mean_retried_ms",
        of: |summary| summary.mean_retried_ms,
        write: length,
        none: NONE,
    },
    Figure {
        heading: "p50",
        name: "p50_ms",
        of: |summary| summary.p50_ms,
        write: length,
        none: NONE,
    },
    Figure {
        heading: "p99",
        name: "p99_ms",
        of: |summary| summary.p99_ms,
        write: length,
        none: NONE,
    },
    Figure {
        heading: "peak",
        name: "peak_per_s",
        of: |summary| Some(summary.peak_per_s),
        write: rate,
        none: NONE,
    },
    Figure {
        heading: "cost",
        name: "cost_usd",
        of: |summary| Some(summary.cost_usd),
        write: dollars,
        none: NONE,
    },
];

fn seconds(seconds: f64) -> String {
    match seconds.is_finite() {
        true => length(seconds * 1_000.0),
        false => NEVER.to_owned(),
    }
}

/// The figures of a study's policies, each with its interval below it.
pub(super) fn figures(part: &Part<'_>) -> String {
    let has_outage = part.study.recovers_from().is_some();
    let costs = part.summaries.iter().any(|summary| summary.cost_usd > 0.0);
    let shown: Vec<&Figure> = FIGURES
        .iter()
        .filter(|figure| match figure.name {
            "recovery_s" => has_outage,
            "cost_usd" => costs,
            _ => true,
        })
        .collect();
    let heads: String = shown
        .iter()
        .map(|figure| format!("<th class=\"n\">{}</th>", figure.heading))
        .collect();
    let mut rows = String::new();
    for summary in &part.summaries[..part.policies()] {
        let _infallible = write!(
            rows,
            "<tr><td>{}</td><td class=\"n\">{}</td>",
            escaped(&summary.name),
            count(summary.calls)
        );
        for figure in &shown {
            let value = (figure.of)(summary).map_or_else(|| figure.none.to_owned(), figure.write);
            let ci = summary.ci.get(figure.name).map(|ci| interval(*ci, figure.write));
            let _infallible = write!(rows, "<td class=\"n\">{value}{}</td>", ci.unwrap_or_default());
        }
        rows.push_str("</tr>\n");
    }
    table(
        &format!("<tr><th>policy</th><th class=\"n\">calls</th>{heads}</tr>"),
        &rows,
    )
}

/// From where to where, the unit once; where both ends read alike, that nothing is to be seen of luck.
pub(in crate::sim::report) fn interval(ci: Interval, write: fn(f64) -> String) -> String {
    let (low, high) = (write(ci.low), write(ci.high));
    let text = match (low.rsplit_once('\u{a0}'), high.rsplit_once('\u{a0}')) {
        _ if low == high && ci.high.is_finite() => "± 0".to_owned(),
        _ if low == high => high,
        (Some((least, unit)), Some((_, other))) if unit == other => format!("{least} to {high}"),
        _ => format!("{low} to {high}"),
    };
    format!("<span class=\"ci\">{}</span>", escaped(&text))
}

/// Each policy beside the first, on the same seeds.
pub(super) fn beside(part: &Part<'_>) -> String {
    let Some(than) = part.summaries.iter().find_map(|summary| summary.beside.as_ref()) else {
        return String::new();
    };
    let cell = |difference: Option<&Difference>, write: fn(f64) -> String| {
        difference.map_or("<td></td>".to_owned(), |difference| {
            format!(
                "<td class=\"n\">{}{}</td>",
                escaped(&write(difference.mean)),
                interval(difference.ci, write)
            )
        })
    };
    let rows = part.summaries.iter().filter_map(|summary| {
        let differences = &summary.beside.as_ref()?.differences;
        Some(format!(
            "<tr><td>{}</td>{}{}{}</tr>\n",
            escaped(&summary.name),
            cell(differences.get("success_rate"), points),
            cell(differences.get("amplification"), signed_times),
            cell(differences.get("mean_ms"), signed_length)
        ))
    });
    let rows: String = rows.collect();
    let head = "<tr><th>policy</th><th class=\"n\">success</th><th class=\"n\">load</th><th class=\"n\">mean</th></tr>";
    format!(
        "<h3>Beside {}, on the same seeds</h3>\n{}",
        escaped(&than.than),
        table(head, &rows)
    )
}

fn points(share: f64) -> String {
    signed(share, &format!("{}\u{a0}points", number(share.abs() * 100.0)))
}

fn signed_times(factor: f64) -> String {
    signed(factor, &number(factor.abs()))
}

fn signed_length(millis: f64) -> String {
    signed(millis, &length(millis.abs()))
}

fn signed(value: f64, size: &str) -> String {
    match value {
        below if below < 0.0 => format!("−{size}"),
        above if above > 0.0 => format!("+{size}"),
        _ => size.to_owned(),
    }
}

/// How often each reason was told, by policy.
pub(super) fn reasons(part: &Part<'_>) -> String {
    let codes: BTreeSet<&str> = part
        .summaries
        .iter()
        .flat_map(|summary| summary.reasons.keys().copied())
        .collect();
    if codes.is_empty() {
        return String::new();
    }
    let names: String = part
        .summaries
        .iter()
        .map(|summary| format!("<th class=\"n\">{}</th>", escaped(&summary.name)))
        .collect();
    let rows = codes.into_iter().map(|code| {
        let cells = part
            .summaries
            .iter()
            .map(|summary| match summary.reasons.get(code) {
                Some(told) => format!("<td class=\"n\">{}</td>", count(*told)),
                None => "<td></td>".to_owned(),
            });
        format!(
            "<tr><td>{}</td>{}</tr>\n",
            escaped(code),
            cells.collect::<String>()
        )
    });
    let rows: String = rows.collect();
    let head = format!("<tr><th>reason</th>{names}</tr>");
    format!("<h3>Reasons told, all seeds</h3>\n{}", table(&head, &rows))
}

/// Switches.
pub(super) fn rows(rows: &[Row]) -> String {
    let rows = rows
        .iter()
        .map(|(key, value)| format!("<tr><th>{}</th><td>{}</td></tr>\n", escaped(key), escaped(value)));
    table("", &rows.collect::<String>())
}

/// A preset's own grid: rows that are objects; of anything else, what it is.
pub(super) fn grid(value: &Value) -> String {
    let rows = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let columns = columns(rows);
    if columns.is_empty() {
        return format!("<pre>{}</pre>\n", escaped(&value.to_string()));
    }
    let heads: String = columns
        .iter()
        .map(|column| format!("<th{}>{}</th>", column.class, escaped(column.key)))
        .collect();
    let body = rows.iter().take(GRID_ROWS_MAX).map(|row| {
        let cells = columns.iter().map(|column| {
            let text = row.get(column.key).map(cell).unwrap_or_default();
            format!("<td{}>{text}</td>", column.class)
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    });
    let body: String = body.collect();
    let more = match rows.len().checked_sub(GRID_ROWS_MAX) {
        Some(more) if more > 0 => format!("<p class=\"muted\">and {more} more rows</p>\n"),
        Some(_) | None => String::new(),
    };
    format!("{}{more}", table(&format!("<tr>{heads}</tr>"), &body))
}

struct Column<'a> {
    key: &'a str,
    class: &'static str,
}

/// Words first, then numbers, each by name.
fn columns(rows: &[Value]) -> Vec<Column<'_>> {
    let keys: BTreeSet<&str> = rows
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|row| row.keys().map(String::as_str))
        .collect();
    let is_number = |key: &str| {
        rows.iter()
            .filter_map(|row| row.get(key))
            .all(|value| value.is_number() || value.is_null())
    };
    let mut columns: Vec<Column<'_>> = keys
        .into_iter()
        .map(|key| Column {
            key,
            class: if is_number(key) { " class=\"n\"" } else { "" },
        })
        .collect();
    columns.sort_by_key(|column| !column.class.is_empty());
    columns
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => NONE.to_owned(),
        Value::Number(number) => number.as_f64().map_or(NONE.to_owned(), significant),
        Value::String(text) => escaped(text),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => escaped(&value.to_string()),
    }
}

pub(in crate::sim::report) fn section(heading: &str, body: &str) -> String {
    format!("<section><h2>{heading}</h2>\n{body}</section>\n")
}

pub(in crate::sim::report) fn table(head: &str, rows: &str) -> String {
    let head = match head {
        "" => String::new(),
        head => format!("<thead>{head}</thead>\n"),
    };
    format!("<div class=\"scroll\"><table>\n{head}<tbody>\n{rows}</tbody></table></div>\n")
}
