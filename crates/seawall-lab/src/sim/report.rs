//! What a simulation came to, to look at: a page, pictures, and lines for a terminal.
//!
//! What can go wrong: a picture of the lucky seed is shown for all; a mean over runs that either recover or never do
//! is drawn as if one of them had been so; each panel has a scale of its own, so that a storm looks like a calm; what
//! was assumed stands nowhere. So a line is the median over seeds and the band around it holds eight of ten of them,
//! all panels of a picture share their axes, and the page lists every switch of the world and of the policies.
//!
//! Outages that come by chance come at other times with each seed: no median over seeds shows what one does, and no band
//! would be true of all of them. There what happens over time is the first seed's, and says so; figures are of all seeds.
//!
//! Everything here is a function of a [`Report`]: the same one gives the same bytes. Pages need no script and fetch
//! nothing; names from files are made harmless.

mod axis;
mod chart;
mod course;
pub(super) mod figures;
mod front;
mod ink;
mod page;
pub(crate) mod sparks;
mod svg;
mod switches;

use super::document::Live;
use super::precheck::Precheck;
use super::study::{Claim, Study};
use super::summary::Summary;
use super::tally::Tally;
pub use figures::harmless;
pub use front::Searched;
pub use sparks::Glyphs;

/// Pictures are drawn of so many studies of a report at the most; all of them have their figures.
pub const PICTURED_MAX: usize = 8;

/// A study that was run.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// What was run.
    pub study: &'a Study,
    /// What each run counted, in the order of [`Study::jobs`].
    pub tallies: &'a [Tally],
    /// What that comes to, by policy.
    pub summaries: &'a [Summary],
    /// What was known of each policy before any run; empty where nobody asked.
    pub prechecks: &'a [Precheck],
}

/// Something that was expected of the figures, and whether it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// As it was written.
    pub text: String,
    /// What was measured, in words.
    pub measured: String,
    /// Whether it held.
    pub holds: bool,
}

/// All that a page tells. Whoever has less to tell leaves it empty.
///
/// ```
/// use seawall_lab::sim::report::{Glyphs, Report};
/// let report = Report { title: "nothing yet", ..Report::default() };
/// assert!(report.html().contains("<h1>nothing yet</h1>"));
/// assert!(report.svgs().is_empty() && report.sparklines(Glyphs::Ascii, 80).is_empty());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Report<'a> {
    /// The preset's name, or the file's.
    pub title: &'a str,
    /// What it is about, a sentence or two.
    pub about: &'a str,
    /// What was run.
    pub parts: &'a [Part<'a>],
    /// Published figures beside ours.
    pub claims: &'a [Claim],
    /// What a file expects.
    pub asserts: &'a [Expected],
    /// What is worth a sentence.
    pub notes: &'a [String],
    /// A preset's own grid: rows that are objects with the same keys.
    pub table: Option<&'a serde_json::Value>,
    /// What a live twin came to.
    pub live: Option<&'a Live>,
    /// The command line that gives this report again.
    pub command: &'a str,
    /// What ran it.
    pub version: &'a str,
}

impl Report<'_> {
    /// One page that holds everything, pictures included: no script, nothing fetched, readable on paper and in the dark.
    pub fn html(&self) -> String {
        page::write(self)
    }

    /// The pictures as files: a name that ends in `.svg`, and what is in it.
    pub fn svgs(&self) -> Vec<(String, String)> {
        let grid = self
            .table
            .map(|table| chart::grid::all(table, svg::Setting::File));
        let grid = grid.into_iter().flatten();
        let grid = grid.map(|(name, svg)| (format!("{name}.svg"), svg));
        let pictured = self.parts.iter().take(PICTURED_MAX).enumerate();
        pictured
            .flat_map(|(number, part)| {
                let prefix = match self.parts.len() {
                    1 => String::new(),
                    _ => format!("{}-", file_name(number, &part.study.name)),
                };
                let pictures = chart::all(part, number, svg::Setting::File);
                pictures
                    .into_iter()
                    .map(move |picture| (format!("{prefix}{}.svg", picture.name), picture.svg))
            })
            .chain(grid)
            .collect()
    }

    /// A line a policy for a terminal so many letters wide: load and answers over time, with the outage above them.
    pub fn sparklines(&self, glyphs: Glyphs, columns: usize) -> String {
        let pictured = self.parts.iter().take(PICTURED_MAX);
        pictured
            .map(|part| sparks::write(part, glyphs, columns))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Part<'_> {
    /// The runs of one policy.
    fn runs(&self, contender: usize) -> &[Tally] {
        let seeds = self.study.seeds as usize;
        let from = (contender * seeds).min(self.tallies.len());
        let to = (from + seeds).min(self.tallies.len());
        &self.tallies[from..to]
    }

    /// The runs that lines over time are of.
    fn lined(&self, contender: usize) -> &[Tally] {
        let runs = self.runs(contender);
        match self.lined_seeds() {
            Seeds::All => runs,
            Seeds::First => &runs[..runs.len().min(1)],
        }
    }

    /// Which seeds those are.
    fn lined_seeds(&self) -> Seeds {
        let by_chance = self
            .study
            .model
            .servers
            .iter()
            .any(|server| server.renewal.is_some());
        match by_chance && self.study.seeds > 1 {
            true => Seeds::First,
            false => Seeds::All,
        }
    }

    /// How many policies have runs and figures.
    fn policies(&self) -> usize {
        self.study.contenders.len().min(self.summaries.len())
    }
}

/// Whose runs lines over time are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seeds {
    All,
    /// The first one's alone: outages come by chance, and each seed has others.
    First,
}

/// A name that any file system takes, and that no other part has.
fn file_name(number: usize, name: &str) -> String {
    let plain = name.chars().map(|letter| match letter {
        'a'..='z' | '0'..='9' => letter,
        'A'..='Z' => letter.to_ascii_lowercase(),
        _ => '-',
    });
    let plain: String = plain.take(40).collect();
    format!("{:02}-{}", number + 1, plain.trim_matches('-'))
        .trim_end_matches('-')
        .to_owned()
}

#[cfg(test)]
mod tests;
