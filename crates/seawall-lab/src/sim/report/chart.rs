//! The pictures: small panels with the same axes, one a policy, and one of the figures at a glance.

mod glance;
pub(super) mod grid;
mod over_time;
pub(super) mod panels;
mod times;

use super::svg::Setting;
use super::{Part, Seeds, course};

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Picture {
    /// What files call it.
    pub(super) name: &'static str,
    pub(super) svg: String,
}

/// What every picture of a part is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) part: &'a Part<'a>,
    /// Where the part stands in its report: makes ids differ.
    pub(super) number: usize,
    pub(super) setting: Setting,
}

impl Scene<'_> {
    fn id(&self, name: &str) -> String {
        format!("{name}{}", self.number)
    }

    /// The picture's heading: what it shows, and of what.
    fn heading(&self, shows: &str) -> String {
        format!("{shows}: {}", self.part.study.name)
    }

    /// How lines are to be read.
    fn reading(&self) -> String {
        let study = self.part.study;
        match (study.seeds, self.part.lined_seeds()) {
            (0 | 1, _) => "one seed".to_owned(),
            (_, Seeds::First) => {
                format!(
                    "seed {} alone: outages come by chance, with each seed at other times",
                    study.seed
                )
            }
            (few, Seeds::All) if few <= course::WHOLE_BAND_MAX => {
                format!("the median of {few} seeds; the band holds all of them")
            }
            (seeds, Seeds::All) => format!("the median of {seeds} seeds; the band holds 8 of 10"),
        }
    }
}

/// Every picture of a part that has something to show.
pub(super) fn all(part: &Part<'_>, number: usize, setting: Setting) -> Vec<Picture> {
    if part.policies() == 0 || part.tallies.is_empty() {
        return Vec::new();
    }
    let scene = Scene {
        part,
        number,
        setting,
    };
    let mut pictures = vec![
        picture("load", over_time::load(&scene)),
        picture("glance", glance::write(&scene)),
        picture("latency", times::write(&scene)),
    ];
    if part.tallies.iter().any(|tally| !tally.failures.is_empty()) {
        pictures.push(picture("reasons", over_time::reasons(&scene)));
    }
    let contenders = &part.study.contenders;
    if contenders
        .iter()
        .any(|contender| course::breakers(&part.study.model, contender) > 0)
    {
        pictures.push(picture("breakers", over_time::breakers(&scene)));
    }
    pictures
}

fn picture(name: &'static str, svg: String) -> Picture {
    Picture { name, svg }
}
