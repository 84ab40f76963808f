//! What a simulation came to, as one document: the JSON that other programs read, and the text for people.
//!
//! What can go wrong: a figure without what it was measured in. So a document holds every switch of its scenario and
//! every setting of its policies beside the figures, and from equal seeds it is equal to the byte. How fast it was made
//! is no part of it.
//!
//! The names are those of the JSON report, which others read: add, never rename.

mod live;
mod policy;
mod switches;
mod text;

use super::assert::Judged;
use super::model::{Contender, Model};
use super::precheck::{Precheck, precheck};
use super::preset::{self, Findings, Preset};
use super::report::{Expected, Part, Report};
use super::study::{Claim, Study};
use super::summary::Summary;
use super::tally::Tally;
use crate::scenario::Colour;
use seawall_core::verdict::Endpoint;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use live::{Agreed, Live, Lived};
pub use text::Wants;

/// What a simulation came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// The preset; `None` of a file.
    pub preset: Option<String>,
    /// What it is called: the preset's name, or the file's own.
    pub name: String,
    /// The first seed.
    pub seed: u64,
    /// How many seeds each policy ran with.
    pub seeds: u32,
    /// For each part, every switch, whether somebody wrote it or not, and every policy's settings.
    pub scenario: Vec<Map<String, Value>>,
    /// What closed forms say before anything runs.
    pub precheck: Prechecks,
    /// What each policy came to, part by part.
    pub policies: Vec<Figures>,
    /// Published figures beside ours.
    pub claims: Vec<Claim>,
    /// The grid of a preset that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Value>,
    /// What to know beside the figures.
    pub notes: Vec<String>,
    /// What was asserted, and what came of it.
    pub asserts: Vec<Judged>,
    /// What a live twin came to, where one lived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

/// What closed forms say of every policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prechecks {
    /// Part by part.
    pub policies: Vec<Foretold>,
}

/// What closed forms say of one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foretold {
    /// The part, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// What they say.
    #[serde(flatten)]
    pub precheck: Precheck,
}

/// What one policy came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// The part, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Whether a recovery could be seen: a given outage ends, and early enough before the horizon.
    #[serde(skip)]
    pub sees_recovery: bool,
    /// The figures.
    #[serde(flatten)]
    pub summary: Summary,
}

impl Document {
    /// Of a preset's studies, and of the tallies of each in the order of its jobs.
    pub fn of_preset(preset: &Preset, studies: &[Study], tallies: &[Vec<Tally>]) -> Self {
        let Findings { claims, table, notes } = (preset.findings)(studies, tallies);
        Self {
            preset: Some(preset.name.to_owned()),
            claims,
            table,
            notes,
            ..Self::of(preset.name, studies, tallies)
        }
    }

    /// Of studies, and of the tallies of each in the order of its jobs.
    pub fn of(name: &str, studies: &[Study], tallies: &[Vec<Tally>]) -> Self {
        let several = studies.len() > 1;
        let foretold = studies.iter().flat_map(|study| {
            let contenders = study.contenders.iter();
            contenders.map(move |contender| Foretold {
                part: several.then(|| study.name.clone()),
                precheck: precheck(&study.model, contender),
            })
        });
        Self {
            preset: None,
            name: name.to_owned(),
            seed: studies.first().map_or(0, |study| study.seed),
            seeds: studies.iter().map(|study| study.seeds).max().unwrap_or(0),
            scenario: studies.iter().map(scenario).collect(),
            precheck: Prechecks {
                policies: foretold.collect(),
            },
            policies: figures(studies, tallies),
            claims: Vec::new(),
            table: None,
            notes: Vec::new(),
            asserts: Vec::new(),
            live: None,
        }
    }

    /// One JSON document, over several lines.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers, texts and lists become JSON")
    }

    /// The asserts that do not hold, live ones too.
    pub fn asserts_missed(&self) -> usize {
        let live = self.live.iter().flat_map(|live| &live.asserts);
        let all = self.asserts.iter().chain(live);
        all.filter(|judged| !judged.holds).count()
    }

    /// What there is to look at, of the studies and tallies that this is of: hands `show` a report whose command line is
    /// `command`.
    pub fn pictured<R>(
        &self,
        studies: &[Study],
        tallies: &[Vec<Tally>],
        command: &str,
        show: impl FnOnce(&Report<'_>) -> R,
    ) -> R {
        let summaries: Vec<Summary> = self
            .policies
            .iter()
            .map(|figures| figures.summary.clone())
            .collect();
        let prechecks: Vec<Precheck> = self
            .precheck
            .policies
            .iter()
            .map(|foretold| foretold.precheck.clone())
            .collect();
        let mut from = 0;
        let parts: Vec<Part<'_>> = studies
            .iter()
            .zip(tallies)
            .map(|(study, tallies)| {
                let of = from..from + study.contenders.len();
                from = of.end;
                Part {
                    study,
                    tallies,
                    summaries: &summaries[of.clone()],
                    prechecks: &prechecks[of],
                }
            })
            .collect();
        let asserts: Vec<Expected> = self
            .asserts
            .iter()
            .enumerate()
            .map(|(place, judged)| {
                let live = text::live::judged(self, place);
                let lived = live.map(|live| format!(", live {}", text::measured(self, live)));
                Expected {
                    text: format!("{} of {}", judged.assert, judged.policy),
                    measured: text::measured(self, judged) + &lived.unwrap_or_default(),
                    holds: judged.holds && live.is_none_or(|live| live.holds),
                }
            })
            .collect();
        let about = self.published().map_or_else(String::new, |preset| {
            format!("{}. Claims are of: {}.", capital(preset.about), preset.source)
        });
        show(&Report {
            title: &self.name,
            about: &about,
            parts: &parts,
            claims: &self.claims,
            asserts: &asserts,
            notes: &self.notes,
            table: self.table.as_ref(),
            live: self.live.as_ref(),
            command,
            version: concat!("seawall ", env!("CARGO_PKG_VERSION")),
        })
    }

    /// The preset that this is of.
    fn published(&self) -> Option<&'static Preset> {
        self.preset.as_deref().and_then(preset::named)
    }

    /// For people, as lines that each end.
    pub fn text(&self, wants: Wants, colour: Colour) -> String {
        text::write(self, wants, colour)
    }
}

fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// What each policy of these studies came to.
fn figures(studies: &[Study], tallies: &[Vec<Tally>]) -> Vec<Figures> {
    let several = studies.len() > 1;
    let figures = studies.iter().zip(tallies).flat_map(|(study, tallies)| {
        let part = several.then(|| study.name.clone());
        let sees_recovery = study.recovers_from().is_some();
        let figures = move |summary| Figures {
            part: part.clone(),
            sees_recovery,
            summary,
        };
        study.summaries(tallies).into_iter().map(figures)
    });
    figures.collect()
}

/// Every switch of a study.
fn scenario(study: &Study) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("name".to_owned(), json!(study.name));
    all.extend(model(&study.model));
    let endpoint = study.model.endpoint();
    let policies = study.contenders.iter();
    let policies = policies.map(|policy| Value::Object(contender(policy, endpoint)));
    all.insert("policy".to_owned(), policies.collect());
    all
}

/// Every switch of a world, under the keys that a file has for it.
pub(super) fn model(model: &Model) -> Map<String, Value> {
    switches::model(model)
}

/// Every setting of a policy for calls of a kind that the simulator has a use for, and who shares its gates.
pub(super) fn contender(contender: &Contender, endpoint: Endpoint) -> Map<String, Value> {
    let mut policy = Map::new();
    policy.insert("name".to_owned(), json!(contender.name));
    policy.insert("fleet".to_owned(), switches::fleet(contender.fleet));
    if let Value::Object(settings) = self::policy::settings(&contender.policy, endpoint) {
        policy.extend(settings);
    }
    policy
}

#[cfg(test)]
mod tests;
