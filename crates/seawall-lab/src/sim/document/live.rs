//! What a live twin came to, beside the simulation that it is a twin of.
//!
//! What can go wrong: two columns that are of different things. So both are counted by the same code from the same kind
//! of tally, under the same names.

use super::{Document, Figures, figures};
use crate::sim::agreement::{Agreement, Speed, compare, sentence};
use crate::sim::assert::Judged;
use crate::sim::preset::Preset;
use crate::sim::study::{Claim, Study};
use crate::sim::tally::Tally;
use serde::Serialize;

/// What a live twin came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Live {
    /// How its time passed: `turned`, or so many times as fast as real time.
    pub speed: Speed,
    /// Runs that were lived through.
    pub runs: usize,
    /// What each policy came to, part by part, as the simulation's `policies`; a twin counts neither events nor waits.
    pub policies: Vec<Figures>,
    /// Figures of both, and whether they agree.
    pub agreement: Vec<Agreed>,
    /// Published figures beside those that were lived, as the simulation's `claims`.
    pub claims: Vec<Claim>,
    /// What came of each assert live, as the simulation's `asserts`.
    pub asserts: Vec<Judged>,
}

/// One figure of one policy, simulated and lived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreed {
    /// The part, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Both, and the verdict.
    #[serde(flatten)]
    pub agreement: Agreement,
}

/// The runs of a simulation's live twin.
#[derive(Clone, Copy, Debug)]
pub struct Lived<'a> {
    /// For each study, the tallies of its jobs in their order.
    pub tallies: &'a [Vec<Tally>],
    /// How time passed.
    pub speed: Speed,
}

impl Document {
    /// The same, with what a live twin of these studies came to beside it.
    #[must_use]
    pub fn with_live(self, studies: &[Study], simulated: &[Vec<Tally>], lived: Lived<'_>) -> Self {
        let several = studies.len() > 1;
        let pairs = studies.iter().zip(simulated.iter().zip(lived.tallies));
        let agreement = pairs.flat_map(|(study, (simulated, live))| {
            let part = several.then(|| study.name.clone());
            let agreed = move |agreement| Agreed {
                part: part.clone(),
                agreement,
            };
            compare(study, simulated, live, lived.speed)
                .into_iter()
                .map(agreed)
        });
        let live = Live {
            speed: lived.speed,
            runs: lived.tallies.iter().map(Vec::len).sum(),
            policies: figures(studies, lived.tallies),
            agreement: agreement.collect(),
            claims: Vec::new(),
            asserts: Vec::new(),
        };
        Self {
            live: Some(live),
            ..self
        }
    }

    /// The same of a preset's studies: what was published stands beside what was lived, too.
    #[must_use]
    pub fn with_live_preset(
        self,
        preset: &Preset,
        studies: &[Study],
        simulated: &[Vec<Tally>],
        lived: Lived<'_>,
    ) -> Self {
        let mut document = self.with_live(studies, simulated, lived);
        if let Some(live) = &mut document.live {
            live.claims = (preset.findings)(studies, lived.tallies).claims;
        }
        document
    }
}

impl Live {
    /// How far it agrees with the simulation, in a sentence.
    pub fn sentence(&self) -> String {
        sentence(self.agreement.iter().map(|agreed| &agreed.agreement))
    }

    /// How its time passed, in words.
    pub fn passage(&self) -> String {
        match self.speed {
            Speed::Turned => "time passed whenever nothing could move".to_owned(),
            Speed::Times(scale) => format!("time passed {scale} times as fast as real time"),
        }
    }
}
