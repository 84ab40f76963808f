//! One page that holds everything that a report tells.
//!
//! It runs no script, fetches nothing and says so to the browser, so that it can be mailed, printed and opened from a
//! disk; what came from files is escaped. It is well-formed XML, which a test reads back.

pub(super) mod tables;

use super::figures::{escaped, shortened};
use super::ink::{Ink, dark_style};
use super::svg::{FONTS, Setting};
use super::switches::{self, Row};
use super::{PICTURED_MAX, Part, Report, chart};
use crate::sim::precheck::{Stability, Weight};
use std::fmt::Write as _;

/// Writes it.
pub(super) fn write(report: &Report<'_>) -> String {
    let title = escaped(report.title);
    let mut body = format!("<header><h1>{title}</h1>\n");
    if !report.about.is_empty() {
        let _infallible = writeln!(body, "<p class=\"about\">{}</p>", escaped(report.about));
    }
    let _infallible = writeln!(body, "<p class=\"muted\">{}</p></header>", escaped(&made(report)));
    body.push_str(&tables::asserts(report.asserts));
    body.push_str(&tables::claims(report.claims));
    body.push_str(&listed("Notes", report.notes));
    for (number, part) in report.parts.iter().enumerate().take(PICTURED_MAX) {
        body.push_str(&study(report, part, number));
    }
    body.push_str(&rest(report));
    if let Some(table) = report.table {
        body.push_str("<section><h2>The grid</h2>\n");
        for (_, svg) in chart::grid::all(table, Setting::Page) {
            let _infallible = writeln!(body, "<figure>{svg}</figure>");
        }
        body.push_str(&tables::grid(table));
        body.push_str("</section>\n");
    }
    body.push_str(&report.live.map(tables::live).unwrap_or_default());
    body.push_str(&simulated(report));
    body.push_str(DEFINITIONS);
    body.push_str(&again(report));
    framed(report.title, "seawall simulate", &body)
}

/// A whole page: what it is called, what made it, and what is in it.
pub(super) fn framed(title: &str, tool: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <title>{} · {tool}</title>\n<style>{}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(title),
        style()
    )
}

/// What was run, how often, by what.
fn made(report: &Report<'_>) -> String {
    let seeds: Vec<u32> = report.parts.iter().map(|part| part.study.seeds).collect();
    let seeds = match (seeds.iter().min(), seeds.iter().max()) {
        (Some(1), Some(1)) => "one seed".to_owned(),
        (Some(least), Some(most)) if least == most => format!("{most} seeds"),
        (Some(least), Some(most)) => format!("{least} to {most} seeds"),
        (None, _) | (_, None) => "nothing was run".to_owned(),
    };
    let worlds = match report.parts.len() {
        0 | 1 => String::new(),
        worlds => format!("{worlds} worlds, "),
    };
    match report.version {
        "" => format!("Simulated with the engine that runs live: {worlds}{seeds}."),
        version => format!("Simulated by {version} with the engine that runs live: {worlds}{seeds}."),
    }
}

/// The pictures and the figures of one study.
fn study(report: &Report<'_>, part: &Part<'_>, number: usize) -> String {
    let mut section = "<section>\n".to_owned();
    let heading = match report.parts.len() {
        1 => "What happened",
        _ => &part.study.name,
    };
    let _infallible = writeln!(section, "<h2>{}</h2>", escaped(heading));
    for picture in chart::all(part, number, Setting::Page) {
        let _infallible = writeln!(section, "<figure>{}</figure>", picture.svg);
    }
    section.push_str(&tables::figures(part));
    section.push_str(&tables::beside(part));
    section.push_str(&tables::reasons(part));
    section.push_str(&foreseen(part));
    section.push_str("</section>\n");
    section
}

/// The figures of the studies that have no pictures.
fn rest(report: &Report<'_>) -> String {
    let rest = report.parts.get(PICTURED_MAX..).unwrap_or_default();
    if rest.is_empty() {
        return String::new();
    }
    let mut section = format!(
        "<section><h2>{} more worlds</h2>\n<p class=\"muted\">Pictures are of the first {PICTURED_MAX}.</p>\n",
        rest.len()
    );
    for part in rest {
        let _infallible = writeln!(section, "<h3>{}</h3>", escaped(&part.study.name));
        section.push_str(&tables::figures(part));
    }
    section.push_str("</section>\n");
    section
}

pub(super) fn listed(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>\n", escaped(line)))
        .collect();
    format!("<section><h2>{heading}</h2>\n<ul>\n{items}</ul></section>\n")
}

/// What was known before any run.
fn foreseen(part: &Part<'_>) -> String {
    if part.prechecks.is_empty() {
        return String::new();
    }
    let mut list = "<h3>Foreseen without a run</h3>\n<dl>\n".to_owned();
    for precheck in part.prechecks {
        let (sign, word) = match precheck.stability {
            Stability::Stable => ("yes", "✓ stable"),
            Stability::Vulnerable => ("no", "! vulnerable"),
            Stability::Metastable => ("no", "✗ metastable"),
            Stability::Overloaded => ("no", "✗ overloaded"),
            Stability::Unknown => ("muted", "? not known"),
        };
        let name = escaped(&precheck.policy);
        let _infallible = writeln!(list, "<dt>{name} <span class=\"{sign}\">{word}</span></dt>");
        for finding in &precheck.findings {
            let mark = match finding.weight {
                Weight::Fact => "",
                Weight::Warning => "<span class=\"no\">!</span> ",
                Weight::Unknown => "<span class=\"muted\">?</span> ",
            };
            let _infallible = writeln!(list, "<dd>{mark}{}</dd>", escaped(&finding.text));
        }
    }
    list.push_str("</dl>\n");
    list
}

/// Every switch: of the first world, of the others what differs, and of the policies.
fn simulated(report: &Report<'_>) -> String {
    let Some(first) = report.parts.first() else {
        return String::new();
    };
    let known = switches::of_model(&first.study.model);
    let mut section = "<section><h2>What was simulated</h2>\n".to_owned();
    let _infallible = writeln!(section, "<h3>The world: {}</h3>", escaped(&first.study.name));
    section.push_str(&tables::rows(&known));
    let others: Vec<Row> = report.parts[1..]
        .iter()
        .map(|part| {
            let rows = switches::of_model(&part.study.model).into_iter();
            let own: Vec<String> = rows
                .filter(|row| !known.contains(row))
                .map(|(key, value)| format!("{key}: {value}"))
                .collect();
            let own = if own.is_empty() {
                "the same".to_owned()
            } else {
                own.join("; ")
            };
            (part.study.name.clone(), own)
        })
        .collect();
    if !others.is_empty() {
        section.push_str("<h3>The other worlds, where they differ from it</h3>\n");
        section.push_str(&tables::rows(&others));
    }
    section.push_str(&policies(report));
    section.push_str("</section>\n");
    section
}

/// Every switch of the policies: what all have alike, and what each has of its own.
fn policies(report: &Report<'_>) -> String {
    let mut told: Vec<(&str, Vec<Row>)> = Vec::new();
    let contenders = report.parts.iter().flat_map(|part| {
        let contenders = part.study.contenders.iter();
        contenders.map(|contender| (contender, part.study.model.endpoint()))
    });
    for (contender, endpoint) in contenders {
        let policy = (
            contender.name.as_str(),
            switches::of_contender(contender, endpoint),
        );
        if !told.contains(&policy) {
            told.push(policy);
        }
    }
    let Some((_, first)) = told.first().filter(|_| told.len() > 1) else {
        let rows = told
            .first()
            .map(|(name, rows)| format!("<h3>Policy: {}</h3>\n{}", escaped(name), tables::rows(rows)));
        return rows.unwrap_or_default();
    };
    let alike: Vec<Row> = first
        .iter()
        .filter(|row| told.iter().all(|(_, rows)| rows.contains(row)))
        .cloned()
        .collect();
    let mut text = format!("<h3>All policies</h3>\n{}", tables::rows(&alike));
    for (name, rows) in &told {
        let own: Vec<Row> = rows.iter().filter(|row| !alike.contains(row)).cloned().collect();
        let _infallible = writeln!(text, "<h3>Policy: {}</h3>", escaped(&shortened(name, 120)));
        text.push_str(&tables::rows(&own));
    }
    text
}

/// How to have it again.
fn again(report: &Report<'_>) -> String {
    let mut section = "<section><h2>Once more</h2>\n".to_owned();
    if !report.command.is_empty() {
        let _infallible = writeln!(section, "<pre>{}</pre>", escaped(report.command));
    }
    if let Some(part) = report.parts.first() {
        let (first, count) = (part.study.seed, u64::from(part.study.seeds));
        let seeds = match count {
            0 | 1 => format!("Seed {first}."),
            _ => format!("Seeds {first} to {}.", first.wrapping_add(count - 1)),
        };
        let _infallible = writeln!(
            section,
            "<p>{seeds} All policies met the same arrivals and the same luck at the servers, seed by seed. The same \
             seeds give the same figures on any machine, with any number of threads.</p>"
        );
    }
    section.push_str("</section>\n");
    section
}

/// What is counted: most figures that disagree disagree on this.
const DEFINITIONS: &str = "<section><h2>What is counted</h2>\n<dl>\n\
<dt>success</dt><dd>calls that were answered before their own deadline, of all calls that ended</dd>\n\
<dt>load</dt><dd>attempts that reached a server for each call</dd>\n\
<dt>latency</dt><dd>from when a call was due to its end, failed calls included</dd>\n\
<dt>peak</dt><dd>the most attempts that reached the servers within one second, or 100 ms; the mean over seeds</dd>\n\
<dt>recovery</dt><dd>from the end of the last outage to the first 5 s in which 97 % of what was due was answered; \
the median over seeds</dd>\n\
<dt>collapse</dt><dd>less than half of what was due in the last 20 s was answered in that time</dd>\n\
<dt>intervals</dt><dd>hold the true value 95 times of 100. Runs are the witnesses, not the calls in them: Wilson for \
shares, Student's t for means, a bootstrap of whole runs for percentiles, ranks for the median recovery</dd>\n\
</dl></section>\n";

fn style() -> String {
    let [page, text, muted, grid, main, bad] = [
        Ink::Surface,
        Ink::Text,
        Ink::Muted,
        Ink::Grid,
        Ink::Answers,
        Ink::OutageEdge,
    ];
    let colours = |of: fn(Ink) -> &'static str| {
        format!(
            "body{{background:{};color:{}}}.muted,th,dd,.ci{{color:{}}}td,th,h2,pre{{border-color:{}}}\
             .yes{{color:{}}}.no{{color:{}}}",
            of(page),
            of(text),
            of(muted),
            of(grid),
            of(main),
            of(bad)
        )
    };
    format!(
        "body{{font:15px/1.5 {FONTS};max-width:992px;margin:0 auto;padding:24px 16px 64px}}\
         h1{{font-size:26px;margin:0 0 4px}}h2{{font-size:19px;margin:40px 0 12px;padding-top:16px;\
         border-top:1px solid}}h3{{font-size:15px;margin:20px 0 6px}}\
         p{{margin:6px 0}}figure{{margin:0 0 20px;overflow-x:auto}}svg{{max-width:100%;height:auto;display:block}}\
         .scroll{{overflow-x:auto}}table{{border-collapse:collapse;font-size:13px;margin:8px 0 16px}}\
         td,th{{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid;vertical-align:top}}\
         th{{font-weight:500}}td:first-child{{min-width:9em}}td.n,th.n{{text-align:right;min-width:0;font-variant-numeric:tabular-nums}}td.n,tbody th{{white-space:nowrap}}th.n{{max-width:11em}}\
         .ci{{font-size:11px;display:block}}.yes,.no{{font-weight:600;white-space:nowrap}}\
         dt{{font-weight:600}}dd{{margin:0 0 6px}}pre{{border:1px solid;padding:10px;overflow-x:auto}}\
         {}@media screen and (prefers-color-scheme:dark){{{}}}{}\
         @media print{{body{{max-width:none;padding:0;font-size:11px}}table{{font-size:9px}}td,th{{padding:2px 7px 2px 0}}.ci{{font-size:8px}}figure,tr,dl{{break-inside:avoid}}\
         h2,h3{{break-after:avoid}}.scroll,figure{{overflow:visible}}}}",
        colours(Ink::on_paper),
        colours(Ink::in_the_dark),
        dark_style()
    )
}
