//! The page of a search.

use super::{Searched, plot};
use crate::sim::report::chart::panels::recovery;
use crate::sim::report::figures::{NONE, dollars, escaped, length, percent, times};
use crate::sim::report::page::tables::{interval, section, table};
use crate::sim::report::page::{framed, listed};
use crate::sim::report::svg::Setting;
use crate::sim::search::{Figures, Found, Limit, Row, policy_table};
use std::fmt::Write as _;

/// Writes it.
pub(super) fn write(searched: &Searched<'_>) -> String {
    let found = searched.found;
    let made = match searched.version {
        "" => String::new(),
        version => format!(" Searched by {}.", escaped(version)),
    };
    let mut body = format!(
        "<header><h1>{}</h1>\n<p class=\"muted\">{} runs of {} policies.{made}</p></header>",
        escaped(&found.name),
        found.runs,
        found.candidates
    );
    body.push_str(&chosen(found));
    if let Some(svg) = plot::write(found, Setting::Page) {
        let _infallible = writeln!(body, "<section><h2>The front</h2>\n<figure>{svg}</figure>");
        body.push_str(&rows(found, found.front.iter(), |row| Some(&row.figures)));
        let given = found.given.iter().filter(|row| !found.front.contains(row));
        if given.clone().next().is_some() {
            body.push_str("<h3>The file's own that are not of it</h3>\n");
            body.push_str(&rows(found, given, |row| Some(&row.figures)));
        }
        body.push_str("</section>\n");
    }
    body.push_str(&proof(found));
    body.push_str(&constraints(&found.constraints));
    let foreseen: Vec<String> = found
        .precheck
        .iter()
        .map(|finding| finding.text.clone())
        .collect();
    body.push_str(&listed("Foreseen of it without a run", &foreseen));
    body.push_str(&listed("Notes", &found.notes));
    if !searched.command.is_empty() {
        let command = format!("<pre>{}</pre>\n", escaped(searched.command));
        body.push_str(&section("Once more", &command));
    }
    framed(&found.name, "seawall tune", &body)
}

/// The one, as it is pasted.
fn chosen(found: &Found) -> String {
    match &found.winner {
        Some(winner) => {
            let table = escaped_lines(&policy_table(&winner.policy));
            let heading = format!("The one: {}", escaped(&winner.name));
            section(&heading, &format!("<pre>{table}</pre>\n"))
        }
        None => section(
            "There is no winner",
            "<p>No policy that ran meets every constraint.</p>\n",
        ),
    }
}

fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

/// What seeds say that nothing was chosen by.
fn proof(found: &Found) -> String {
    let Some(proof) = &found.proof else {
        return String::new();
    };
    let others = found.given.iter().filter(|row| !found.front.contains(row));
    let all = found.front.iter().chain(others);
    let verdict = format!("<p>{}.</p>\n", escaped(&proof.text()));
    let table = rows(found, all, |row| row.held_out.as_ref());
    let last = u64::from(proof.seeds.saturating_sub(1));
    let heading = format!(
        "With seeds {} to {}, which nothing was chosen by",
        proof.seed,
        proof.seed.wrapping_add(last)
    );
    section(&heading, &(verdict + &table))
}

fn constraints(limits: &[Limit]) -> String {
    let rows = limits.iter().map(|limit| {
        let what = match limit.set_aside {
            true => "left out: no policy meets it here".to_owned(),
            false => format!("kept out {}", limit.refused),
        };
        format!(
            "<tr><td>{}</td><td>{}</td><td>{what}</td><td>{}</td></tr>\n",
            escaped(&limit.name),
            escaped(&limit.text),
            escaped(&limit.binds.join(", "))
        )
    });
    let rows: String = rows.collect();
    let head = "<tr><th>constraint</th><th>asks</th><th></th><th>binds</th></tr>";
    section("Constraints", &table(head, &rows))
}

/// A figure of the tables.
struct Column {
    heading: &'static str,
    /// What its interval is called.
    name: &'static str,
    of: fn(&Figures) -> Option<f64>,
    write: fn(f64) -> String,
    /// What stands for none.
    none: &'static str,
}

const COLUMNS: [Column; 7] = [
    Column {
        heading: "success",
        name: "success_rate",
        of: |figures| Some(figures.success_rate),
        write: percent,
        none: NONE,
    },
    Column {
        heading: "99 of 100 answered within",
        name: "",
        of: |figures| figures.answered_99_ms,
        write: length,
        none: "never",
    },
    Column {
        heading: "p99",
        name: "p99_ms",
        of: |figures| figures.p99_ms,
        write: length,
        none: NONE,
    },
    Column {
        heading: "load",
        name: "amplification",
        of: |figures| Some(figures.amplification),
        write: times,
        none: NONE,
    },
    Column {
        heading: "collapse",
        name: "p_collapse",
        of: |figures| figures.p_collapse,
        write: percent,
        none: NONE,
    },
    Column {
        heading: "recovery",
        name: "recovery_s",
        of: |figures| figures.recovery_s,
        write: back_in,
        none: "never",
    },
    Column {
        heading: "cost",
        name: "cost_usd",
        of: |figures| Some(figures.cost_usd),
        write: dollars,
        none: NONE,
    },
];

fn back_in(seconds: f64) -> String {
    match seconds.is_finite() {
        true => recovery(seconds),
        false => "never".to_owned(),
    }
}

/// Policies, one a row; those without figures of this kind are left out.
fn rows<'a>(
    found: &Found,
    rows: impl Iterator<Item = &'a Row>,
    of: impl Fn(&'a Row) -> Option<&'a Figures>,
) -> String {
    let shown = || {
        COLUMNS.iter().filter(|column| match column.name {
            "recovery_s" => found.tells.recovery,
            "cost_usd" => found.tells.cost,
            _ => true,
        })
    };
    let heads = shown().map(|column| format!("<th class=\"n\">{}</th>", column.heading));
    let head = format!(
        "<tr><th>policy</th>{}<th>misses</th></tr>",
        heads.collect::<String>()
    );
    let rows = rows.filter_map(|row| {
        let figures = of(row)?;
        let is_chosen = found
            .winner
            .as_ref()
            .is_some_and(|winner| winner.name == row.name);
        let mark = if is_chosen {
            "<span class=\"yes\">✓</span> "
        } else {
            ""
        };
        let cells = shown().map(|column| {
            let value = (column.of)(figures).map_or_else(|| column.none.to_owned(), column.write);
            let ci = figures.ci.get(column.name);
            let ci = ci.map_or_else(String::new, |ci| interval(*ci, column.write));
            format!("<td class=\"n\">{value}{ci}</td>")
        });
        let mut misses = figures.unmet.clone();
        misses.extend(row.breaks.iter().map(|name| (*name).to_owned()));
        Some(format!(
            "<tr><td>{mark}{}</td>{}<td>{}</td></tr>\n",
            escaped(&row.name),
            cells.collect::<String>(),
            escaped(&misses.join(", "))
        ))
    });
    let rows: String = rows.collect();
    table(&head, &rows)
}
