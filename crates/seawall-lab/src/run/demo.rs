//! Two of the worlds of `three-strategies`, lived through for people: real sockets, no network, less than a minute.
//!
//! What can go wrong: a demonstration shows a run that was lucky. So beside each figure that was lived stands the one that
//! was simulated from the same seeds, and whether the two agree.

use super::Halt;
use super::twin::{self, Speed, TwinError};
use crate::sim::agreement::{self, Agreement};
use crate::sim::preset::{self, Scale};
use crate::sim::report::{self, Glyphs};
use crate::sim::study::Study;
use crate::sim::summary::{Summary, float};
use crate::sim::tally::{Bin, Tally};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What is demonstrated: a preset, and two of its parts.
const PRESET: &str = "three-strategies";
const PARTS: [&str; 2] = ["down 5 s of 50", "pool of 20, sticky"];
/// How often each policy lives through each: all of a part's runs fit beside each other.
const RUNS: u32 = 2;
/// How wide a sparkline is.
const WIDTH: usize = 40;

/// What was demonstrated.
#[derive(Debug)]
pub struct Demo {
    shown: Vec<Shown>,
}

#[derive(Debug)]
struct Shown {
    study: Study,
    simulated: Vec<Summary>,
    live: Vec<Summary>,
    tallies: Vec<Tally>,
    agreement: Vec<Agreement>,
}

/// Lives through both; `None` where `halt` was pulled. `begins` is told of each before it begins. Call it outside of any
/// tokio runtime.
///
/// # Errors
/// As [`twin::live`].
pub fn demo(
    seed: u64,
    speed: Speed,
    halt: &Halt,
    mut begins: impl FnMut(&str),
) -> Result<Option<Demo>, TwinError> {
    let preset = preset::named(PRESET).expect("it is one of the presets");
    let studies = (preset.parts)(&Scale { seed, seeds: RUNS });
    let mut shown = Vec::new();
    for study in studies
        .into_iter()
        .filter(|study| PARTS.contains(&study.name.as_str()))
    {
        begins(&study.name);
        let Some(tallies) = twin::live(&study, speed, halt)? else {
            return Ok(None);
        };
        let simulated: Vec<Tally> = study.jobs().map(|job| study.run(job)).collect();
        shown.push(Shown {
            agreement: agreement::compare(&study, &simulated, &tallies, speed),
            simulated: study.summaries(&simulated),
            live: study.summaries(&tallies),
            tallies,
            study,
        });
    }
    Ok(Some(Demo { shown }))
}

impl Demo {
    /// For programs: one document.
    pub fn json(&self) -> Value {
        let models = self.shown.iter().map(|shown| {
            json!({
                "model": shown.study.name,
                "seed": shown.study.seed,
                "seeds": shown.study.seeds,
                "live": shown.live,
                "simulated": shown.simulated,
                "agreement": shown.agreement,
            })
        });
        json!({ "preset": PRESET, "models": models.collect::<Vec<_>>() })
    }

    /// For people, as lines that each end.
    pub fn text(&self, glyphs: Glyphs) -> String {
        let mut text = String::new();
        for shown in &self.shown {
            shown.write(&mut text, glyphs);
        }
        text
    }
}

impl Shown {
    fn write(&self, text: &mut String, glyphs: Glyphs) {
        let runs = self.study.seeds as usize;
        let calls = self.live.first().map_or(0, |live| live.calls) / u64::from(self.study.seeds.max(1));
        // Writing to a string has no end but success.
        let _ = writeln!(
            text,
            "{}: {calls} calls a run, {runs} runs; live (simulated)",
            self.study.name
        );
        let _ = writeln!(
            text,
            "  {:<36} {:>16} {:>20} {:>17}  lost over time",
            "policy", "lost", "mean", "attempts a call"
        );
        let rows = self
            .live
            .iter()
            .zip(&self.simulated)
            .zip(self.tallies.chunks(runs));
        for ((live, simulated), tallies) in rows {
            let lost = |summary: &Summary| format!("{:.1} %", 100.0 * (1.0 - summary.success_rate));
            let mean = |summary: &Summary| {
                let mean = summary.mean_ms.map(|mean| format!("{mean:.0} ms"));
                mean.unwrap_or_else(|| "–".to_owned())
            };
            let load = |summary: &Summary| format!("{:.3}", summary.amplification);
            let pair = |of: &dyn Fn(&Summary) -> String| format!("{} ({})", of(live), of(simulated));
            let _ = writeln!(
                text,
                "  {:<36} {:>16} {:>20} {:>17}  |{}|",
                live.name,
                pair(&lost),
                pair(&mean),
                pair(&load),
                sparkline(tallies, glyphs)
            );
        }
        let _ = writeln!(text, "  {}\n", agreement::sentence(self.agreement.iter()));
    }
}

/// The share of calls that were lost, from none to all, over the time of the runs.
fn sparkline(tallies: &[Tally], glyphs: Glyphs) -> String {
    let bins = tallies.iter().map(|tally| tally.bins.len()).max().unwrap_or(0);
    let wide = bins.div_ceil(WIDTH).max(1);
    let column = |column: usize| {
        let range = column * wide..(column + 1) * wide;
        let within = |of: fn(&Bin) -> u32| -> u64 {
            let bins = tallies.iter().flat_map(|tally| {
                let end = range.end.min(tally.bins.len());
                &tally.bins[range.start.min(end)..end]
            });
            bins.map(|bin| u64::from(of(bin))).sum()
        };
        let (answered, failed) = (within(|bin| bin.answered), within(|bin| bin.failed));
        float(failed) / float(answered + failed).max(1.0)
    };
    let shares: Vec<f64> = (0..bins.div_ceil(wide)).map(column).collect();
    report::sparks::sparks(&shares, 1.0, glyphs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_when_calls_were_lost_and_no_more() {
        // Could break by a column that is left out, or a share above one.
        let bin = |answered, failed| Bin {
            answered,
            failed,
            ..Bin::default()
        };
        let mut tally = Tally::default();
        tally
            .bins
            .extend([bin(4, 0), bin(2, 2), bin(0, 4), bin(99, 1), bin(0, 0)]);
        assert_eq!(sparkline(std::slice::from_ref(&tally), Glyphs::Ascii), " +@. ");
        assert_eq!(sparkline(&[tally], Glyphs::Blocks), " ▅█▁ ");
        assert_eq!(sparkline(&[], Glyphs::Ascii), "");
    }

    #[test]
    fn both_worlds_are_shown_with_what_was_lived_and_what_was_simulated() {
        // Could break by a part of another name, a policy without a row, or a twin that differs.
        let demo = demo(1, Speed::Turned, &Halt::default(), |_| {}).expect("it lives");
        let demo = demo.expect("nobody halts it");
        let text = demo.text(Glyphs::Ascii);
        for what in [
            "down 5 s of 50",
            "pool of 20, sticky",
            "seawall's default",
            "9.0 % (9.0 %)",
        ] {
            assert!(text.contains(what), "{text}");
        }
        assert_eq!(text.matches("12 of 12 figures agree").count(), 2, "{text}");
        let json = demo.json();
        assert_eq!(json["models"][1]["live"][3]["name"], "seawall's default");
    }
}
