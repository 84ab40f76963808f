//! For people.

use super::{Came, Colour, Entry, Tally};
use crate::findings::{Finding, Kind, Proof, TimeLine, rounded};
use crate::scenario::{Check, Passed, Scenario, State, Verdict};

/// The most of a line of the file that is quoted, in characters.
const LINE_CHARS_MAX: usize = 100;
/// The most findings of one expectation that are shown; eight runs that fail alike are told by three.
pub(super) const FINDINGS_MAX: usize = 3;

pub(super) fn entry(entry: &Entry, colour: Colour) -> String {
    let seed = entry
        .seed
        .map_or_else(String::new, |seed| format!(", seed {seed}"));
    match &entry.came {
        Came::Judged { scenario, verdict } => {
            let mark = match verdict.passed() {
                Passed::Yes => painted("ok  ", GREEN, colour),
                Passed::No => painted("FAIL", RED, colour),
            };
            let count = verdict.checks.len();
            let s = if count == 1 { "" } else { "s" };
            let took = rounded(entry.took);
            let (file, name) = (line(&entry.file), line(&scenario.name));
            let head = format!("{mark} {file}: {name} ({count} expectation{s}, {took}{seed})\n");
            head + &findings(scenario, verdict, colour)
        }
        Came::Unread(why) => format!(
            "{} {}\n{}\n",
            painted("BAD ", RED, colour),
            line(&entry.file),
            indented(why, 2)
        ),
        Came::NotRun(why) => {
            let mark = painted("FAIL", RED, colour);
            format!(
                "{mark} {}: it could not be run{seed}\n{}\n",
                line(&entry.file),
                indented(why, 2)
            )
        }
    }
}

pub(super) fn findings(scenario: &Scenario, verdict: &Verdict, colour: Colour) -> String {
    let (mut text, mut shown) = (String::new(), Vec::new());
    for check in &verdict.checks {
        let sign = match (check.state(), verdict.lets_pass(check)) {
            (State::Held, _) => continue,
            (State::Broken, _) => painted("x", RED, colour),
            (State::NotObservable, true) => painted("?", YELLOW, colour),
            (State::NotObservable, false) => painted("x", RED, colour),
        };
        let what = line(&check.what);
        text.push_str(&format!("  {sign} {what}{}\n", place(scenario, check)));
        for finding in check.findings.iter().take(FINDINGS_MAX) {
            text.push_str(&one(finding, &mut shown));
        }
        if let more @ 1.. = check.findings.len().saturating_sub(FINDINGS_MAX) {
            text.push_str(&format!("      … and {more} more like this\n"));
        }
    }
    text
}

/// Where an expectation is written: ` (pay.toml:12: same_key = true)`.
fn place(scenario: &Scenario, check: &Check) -> String {
    let Some(at) = &check.at else {
        return String::new();
    };
    let whole = scenario.line(at);
    let mut quoted: String = whole.chars().take(LINE_CHARS_MAX).map(visible).collect();
    if whole.chars().nth(LINE_CHARS_MAX).is_some() {
        quoted.push('…');
    }
    format!(" ({}:{}: {quoted})", line(scenario.file()), at.line)
}

fn one(finding: &Finding, shown: &mut Vec<TimeLine>) -> String {
    let run = finding
        .run
        .map_or_else(String::new, |run| format!(" (run {run})"));
    let seen = line(&finding.seen);
    match finding.kind {
        Kind::NotObservable => format!("      not observable: {seen}{run}\n"),
        Kind::Broken => {
            let expected = line(&finding.expected);
            let proof = indented(&proof(&finding.proof, shown), 8);
            let proof = if proof.is_empty() { proof } else { proof + "\n" };
            format!("      expected  {expected}\n      seen      {seen}{run}\n{proof}")
        }
    }
}

/// A proof as a text; of attempts that stand further up already, only what is wrong with them.
fn proof(proof: &Proof, shown: &mut Vec<TimeLine>) -> String {
    let Proof::Attempts(timeline) = proof else {
        return proof.to_string();
    };
    let mut bare = timeline.clone();
    bare.rows.iter_mut().for_each(|row| row.note = None);
    if !shown.contains(&bare) {
        shown.push(bare);
        return proof.to_string();
    }
    let noted = timeline.rows.iter().filter_map(|row| {
        let note = row.note.as_ref()?;
        Some(format!("#{} <- {note}\n", row.number))
    });
    "(the attempts are those above)\n".to_owned() + &noted.collect::<String>()
}

pub(super) fn summary(tally: Tally) -> String {
    let all = tally.passed + tally.failed + tally.unread + tally.not_run;
    let mut text = format!(
        "{all} scenario{}: {} passed",
        if all == 1 { "" } else { "s" },
        tally.passed
    );
    let parts = [
        (tally.failed, "failed"),
        (tally.not_run, "could not be run"),
        (tally.unread, "could not be read"),
    ];
    for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {what}"));
    }
    if tally.not_observable > 0 {
        let s = if tally.not_observable == 1 { "" } else { "s" };
        text.push_str(&format!(
            "; {} expectation{s} not observable",
            tally.not_observable
        ));
    }
    text + "\n"
}

fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|one| format!("{:by$}{}", "", line(one)))
        .collect();
    lines.join("\n")
}

/// What came from a client's output, a file or its name, on one line.
fn line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// What came from elsewhere must not move the cursor of whoever reads about it.
fn visible(sign: char) -> char {
    match sign {
        '\n' => '⏎',
        sign if sign.is_control() => '\u{fffd}',
        sign => sign,
    }
}

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

fn painted(text: &str, paint: &str, colour: Colour) -> String {
    match colour {
        Colour::Plain => text.to_owned(),
        Colour::Ansi => format!("{paint}{text}{PLAIN}"),
    }
}
