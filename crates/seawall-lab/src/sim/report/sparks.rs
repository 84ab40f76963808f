//! Load and answers over time in a terminal: a line a policy.

use super::course::{self, Course, Steps};
use super::figures::{NONE, percent, rate, shortened, times};
use super::{Part, Seeds};
use crate::sim::model::Outage;

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks of eighths, where it is a terminal that takes UTF-8.
    Blocks,
    /// ASCII alone: for files, pipes and old terminals.
    Ascii,
}

impl Glyphs {
    /// From nothing to all.
    const fn levels(self) -> &'static [char] {
        match self {
            Self::Blocks => &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &[' ', '.', ':', '-', '=', '+', '*', '#', '@'],
        }
    }

    const fn outage(self) -> char {
        match self {
            Self::Blocks => '▾',
            Self::Ascii => 'v',
        }
    }

    /// The text in what can be shown.
    fn shown(self, text: &str) -> String {
        match self {
            Self::Blocks => text.to_owned(),
            Self::Ascii => text
                .chars()
                .map(|letter| match letter {
                    '×' => 'x',
                    '…' => '~',
                    '\u{a0}' => ' ',
                    '–' => '-',
                    letter if letter.is_ascii() => letter,
                    _ => '?',
                })
                .collect(),
        }
    }
}

/// Letters of a policy's name at the most.
const NAME_MAX: usize = 24;
/// Two spaces between columns.
const GAP: usize = 2;
/// What the figures at the end of a line take: `x4.00  >99.99 %`.
const FIGURES: usize = 16;
/// A chart is never narrower; a line is then longer than the terminal.
const CHART_MIN: usize = 12;
/// Nor wider: from here on it shows nothing new.
const CHART_MAX: usize = 60;

/// Writes the lines of a part, each of which ends.
pub(super) fn write(part: &Part<'_>, glyphs: Glyphs, columns: usize) -> String {
    if part.policies() == 0 || part.tallies.is_empty() {
        return String::new();
    }
    let names: Vec<String> = part.summaries[..part.policies()]
        .iter()
        .map(|summary| glyphs.shown(&shortened(&summary.name, NAME_MAX)))
        .collect();
    let name = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let left = columns.saturating_sub(name + 3 * GAP + FIGURES) / 2;
    let steps = Steps::at_most(part, left.clamp(CHART_MIN, CHART_MAX));
    let courses: Vec<[Course; 2]> = (0..part.policies())
        .map(|policy| {
            let runs = part.lined(policy);
            [
                steps.per_second(runs, |bin| bin.arrivals),
                steps.per_second(runs, |bin| bin.answered),
            ]
        })
        .collect();
    let most = |which: usize| courses.iter().map(|pair| pair[which].most()).fold(0.0, f64::max);
    let (load_most, answers_most) = (most(0), most(1));
    let width = steps.count().max(CHART_MIN);
    let mut lines = vec![line(
        name,
        width,
        "",
        &format!("load, to {}", rate(load_most)),
        &format!("answers, to {}", rate(answers_most)),
        "load   success",
    )];
    let outages = course::outages(part);
    if !outages.is_empty() {
        let marks = marks(&outages, steps, glyphs);
        lines.push(line(name, width, "", &marks, &marks, ""));
    }
    for (policy, [load, answers]) in courses.iter().enumerate() {
        let summary = &part.summaries[policy];
        // Where nobody called there is no share of calls.
        let figures = match summary.calls {
            0 => format!("{NONE}  {NONE}"),
            _ => format!(
                "{}  {}",
                times(summary.amplification),
                percent(summary.success_rate)
            ),
        };
        lines.push(line(
            name,
            width,
            &names[policy],
            &sparks(&load.middle, load_most, glyphs),
            &sparks(&answers.middle, answers_most, glyphs),
            &figures,
        ));
    }
    if let Some(outage) = outages.first() {
        let whose = match part.lined_seeds() {
            Seeds::All => String::new(),
            Seeds::First => format!(", by chance; lines are of seed {} alone", part.study.seed),
        };
        lines.push(format!(
            "{} a server {}{whose}",
            glyphs.outage(),
            course::trouble(outage.how)
        ));
    }
    let lines = lines
        .into_iter()
        .map(|line| format!("{}\n", glyphs.shown(line.trim_end())));
    lines.collect()
}

fn line(name: usize, chart: usize, first: &str, load: &str, answers: &str, figures: &str) -> String {
    format!("{first:<name$}  {load:<chart$}  {answers:<chart$}  {figures}")
}

/// A line of these, of which this would be the most.
pub(crate) fn sparks(values: &[f64], most: f64, glyphs: Glyphs) -> String {
    let levels = glyphs.levels();
    let level = |value: &f64| {
        let top = levels.len() - 1;
        // What is not nothing is seen, and only the most fills its cell.
        (1..=top)
            .rev()
            .find(|level| most > 0.0 && *value >= most * share(*level - 1, top) && *value > 0.0)
    };
    values
        .iter()
        .map(|value| levels[level(value).unwrap_or(0)])
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "eight levels")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Where a server is not well.
fn marks(outages: &[Outage], steps: Steps, glyphs: Glyphs) -> String {
    let half = steps.middle(0);
    let is_out = |step: usize| {
        let (from, to) = (steps.middle(step) - half, steps.middle(step) + half);
        outages.iter().any(|outage| {
            let at = course::seconds(outage.at);
            at < to && at + course::length(outage.lasts) > from
        })
    };
    (0..steps.count())
        .map(|step| if is_out(step) { glyphs.outage() } else { ' ' })
        .collect()
}
