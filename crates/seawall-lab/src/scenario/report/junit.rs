//! For CI servers: JUnit XML, in the form that Jenkins' and Surefire's schemas have in common.
//!
//! A suite is a file; its cases are the run itself, which has the time, and every expectation. What could not be judged
//! is `skipped` where that is allowed. XML 1.0 has no way to write most control characters, so they are replaced.

use super::text::FINDINGS_MAX;
use super::{Came, Entry, Report};
use crate::findings::Finding;
use crate::scenario::{Check, Scenario, State, Verdict};
use seawall_core::time::Duration;
use std::fmt::Write as _;

pub(super) fn write(report: &Report) -> String {
    let mut suites: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for entry in &report.entries {
        match suites.last_mut().filter(|(file, _)| *file == entry.file) {
            Some((_, entries)) => entries.push(entry),
            None => suites.push((&entry.file, vec![entry])),
        }
    }
    let written: Vec<Suite> = suites
        .into_iter()
        .map(|(file, entries)| suite(file, &entries))
        .collect();
    let mut total = Counts::default();
    for suite in &written {
        total.add(suite.counts);
    }
    let mut xml =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seawall test\"{total}>\n");
    for suite in written {
        xml.push_str(&suite.xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

struct Suite {
    counts: Counts,
    xml: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    took: Duration,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.took = self.took.plus(other.took);
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            tests,
            failures,
            errors,
            skipped,
            took,
        } = self;
        write!(
            f,
            " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\""
        )?;
        write!(f, " time=\"{}\"", seconds(*took))
    }
}

fn suite(file: &str, entries: &[&Entry]) -> Suite {
    let (mut counts, mut cases) = (Counts::default(), String::new());
    for entry in entries {
        let which = match (entries.len(), entry.seed) {
            (2.., Some(seed)) => format!(" [seed {seed}]"),
            (_, _) => String::new(),
        };
        counts.took = counts.took.plus(entry.took);
        counts.tests += 1;
        let name = format!("{}{which}", entry.name());
        let open = case(file, &name, entry.took);
        match &entry.came {
            Came::Judged { scenario, verdict } => {
                let _infallible = writeln!(cases, "{open}/>");
                for check in &verdict.checks {
                    expectation(
                        file,
                        &format!("{}{which}", check.what),
                        scenario,
                        verdict,
                        check,
                        &mut cases,
                        &mut counts,
                    );
                }
            }
            Came::Unread(why) | Came::NotRun(why) => {
                counts.errors += 1;
                let kind = if matches!(entry.came, Came::Unread(_)) {
                    "unread"
                } else {
                    "not-run"
                };
                let message = why.lines().next().unwrap_or_default();
                let _infallible = writeln!(
                    cases,
                    "{open}>\n      <error type=\"{kind}\" message=\"{}\">{}</error>\n    </testcase>",
                    escaped(message),
                    escaped(why)
                );
            }
        }
    }
    let xml = format!(
        "  <testsuite name=\"{}\"{counts}>\n{}{cases}  </testsuite>\n",
        escaped(file),
        seeds(entries)
    );
    Suite { counts, xml }
}

fn seeds(entries: &[&Entry]) -> String {
    let seeds: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.seed)
        .map(|seed| seed.to_string())
        .collect();
    match seeds.is_empty() {
        true => String::new(),
        false => format!(
            "    <properties>\n      <property name=\"seed\" value=\"{}\"/>\n    </properties>\n",
            seeds.join(" ")
        ),
    }
}

fn case(file: &str, name: &str, took: Duration) -> String {
    format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        escaped(file),
        escaped(name),
        seconds(took)
    )
}

fn expectation(
    file: &str,
    name: &str,
    scenario: &Scenario,
    verdict: &Verdict,
    check: &Check,
    cases: &mut String,
    counts: &mut Counts,
) {
    counts.tests += 1;
    let open = case(file, name, Duration::ZERO);
    let message = check
        .findings
        .first()
        .map_or_else(String::new, |finding| match check.state() {
            State::Held | State::Broken => format!("expected {}; seen {}", finding.expected, finding.seen),
            State::NotObservable => format!("not observable: {}", finding.seen),
        });
    let body: String = match (check.state(), verdict.lets_pass(check)) {
        (State::Held, _) => {
            let _infallible = writeln!(cases, "{open}/>");
            return;
        }
        (State::NotObservable, true) => {
            counts.skipped += 1;
            format!("<skipped message=\"{}\"/>", escaped(&message))
        }
        (State::NotObservable, false) | (State::Broken, _) => {
            counts.failures += 1;
            let details: Vec<String> = check
                .findings
                .iter()
                .take(FINDINGS_MAX)
                .map(|finding| detail(scenario, check, finding))
                .collect();
            format!(
                "<failure type=\"{}\" message=\"{}\">{}</failure>",
                if check.state() == State::Broken {
                    "broken"
                } else {
                    "not-observable"
                },
                escaped(&message),
                escaped(&details.join("\n"))
            )
        }
    };
    let _infallible = writeln!(cases, "{open}>\n      {body}\n    </testcase>");
}

fn detail(scenario: &Scenario, check: &Check, finding: &Finding) -> String {
    let place = check.at.as_ref().map_or_else(String::new, |at| {
        format!(
            "{}:{}:{}: {}\n",
            scenario.file(),
            at.line,
            at.column,
            scenario.line(at)
        )
    });
    let run = finding
        .run
        .map_or_else(String::new, |run| format!(" in run {run}"));
    format!(
        "{place}expected: {}\nseen{run}: {}\n{}",
        finding.expected, finding.seen, finding.proof
    )
}

fn seconds(length: Duration) -> String {
    let millis = length.as_millis();
    format!("{}.{:03}", millis / 1_000, millis % 1_000)
}

/// A text as XML may hold it, in an attribute or between tags.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            // Bare, an attribute's reader makes a blank of each.
            '\n' => xml.push_str("&#10;"),
            '\t' => xml.push_str("&#9;"),
            '\r' => xml.push_str("&#13;"),
            sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => xml.push('\u{fffd}'),
            sign => xml.push(sign),
        }
    }
    xml
}
