//! Retries on top of retries: callers that call callers, each of which tries again.
//!
//! What can go wrong: every layer does the reasonable thing, and the product is not. Of `a` attempts at each of `d` layers
//! a dead server meets a^d for each call of a user: three in five layers are 243 (Amazon Builders' Library, "Timeouts,
//! retries, and backoff with jitter"), four in three are 64 (Site Reliability Engineering, chapter 22). In closed form, of
//! a server that fails each attempt with chance p: (1 − p^(a^d)) / (1 − p). So there is next to nothing to see until it is
//! nearly dead.
//!
//! Budgets multiply as well: 10 % in each of five layers are up to 1.1⁵. What does not multiply is retries that are told:
//! a layer that hears that a call is itself a retry charges it (rule G3), and one that gave up says not to try again (rule
//! M2), so that only the layer next to the trouble tries again.

use super::kit::*;
use super::{Findings, Preset, Scale};
use crate::sim::model::{Contender, Failures, Fleet, Layer, Model, Server, Told};
use crate::sim::study::{Claim, Study};
use crate::sim::tally::Tally;
use seawall_core::time::Duration;
use serde_json::{Value, json};

pub(super) const PRESET: Preset = Preset {
    name: "layers",
    about: "callers that call callers, each of which retries, over a server that fails",
    source: "Amazon Builders' Library, \"Timeouts, retries, and backoff with jitter\"; Site Reliability Engineering (2016), chapter 22",
    seeds: 20,
    parts,
    findings,
};

/// Attempts at each layer, and layers: Amazon's and Google's.
const SHAPES: [Shape; 2] = [
    Shape {
        attempts: 3,
        depth: 5,
    },
    Shape {
        attempts: 4,
        depth: 3,
    },
];
/// How often the server fails.
const CHANCES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];
/// One turn of a budget's ring of eleven seconds. What it lets through repeats with it, so whole turns are measured.
const TURN: Duration = secs(11);
/// Extras of ten seconds' originals, a tenth of them, within the eleven seconds that they count.
const RING: f64 = 1.0 + 0.1 * 10.0 / 11.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    attempts: u32,
    depth: u32,
}

/// What a part is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Every layer retries as if it were the only one.
    Naive { shape: Shape, chance: f64 },
    /// The same with a budget of 10 % at every layer, over a dead server.
    Budgets { shape: Shape },
    /// Attempts are told across layers, over a dead server; with and without budgets.
    Told { shape: Shape },
}

fn all() -> impl Iterator<Item = Part> {
    let naive = SHAPES
        .into_iter()
        .flat_map(|shape| CHANCES.map(|chance| Part::Naive { shape, chance }));
    let budgets = SHAPES.map(|shape| Part::Budgets { shape });
    let told = SHAPES.map(|shape| Part::Told { shape });
    naive.chain(budgets).chain(told)
}

fn parts(scale: &Scale) -> Vec<Study> {
    all()
        .map(|part| Study {
            name: part.name(),
            model: part.model(),
            contenders: part.contenders(),
            seed: scale.seed,
            seeds: scale.seeds,
        })
        .collect()
}

impl Part {
    const fn shape(self) -> Shape {
        match self {
            Self::Naive { shape, .. } | Self::Budgets { shape } | Self::Told { shape } => shape,
        }
    }

    fn name(self) -> String {
        let Shape { attempts, depth } = self.shape();
        match self {
            Self::Naive { chance, .. } => {
                format!("{attempts} attempts in {depth} layers, {chance} failing")
            }
            Self::Budgets { .. } => {
                format!("{attempts} attempts in {depth} layers with budgets, all failing")
            }
            Self::Told { .. } => format!("{attempts} attempts in {depth} layers, told, all failing"),
        }
    }

    fn model(self) -> Model {
        let (chance, told, warmup, horizon) = match self {
            // One call is as good as many where nothing is left to chance.
            Self::Naive { chance, .. } if chance >= 1.0 => (chance, Told::Nothing, Duration::ZERO, ms(200)),
            Self::Naive { chance, .. } => (chance, Told::Nothing, Duration::ZERO, secs(5)),
            Self::Budgets { .. } => (1.0, Told::Nothing, TURN.times(2), TURN.times(5)),
            Self::Told { .. } => (1.0, Told::Attempts, TURN.times(2), TURN.times(5)),
        };
        let server = Server {
            failures: Failures::Independent { chance },
            ..Server::default()
        };
        let layer = |number| Layer {
            name: format!("layer {number}"),
            policy: None,
            processes: 1,
            told,
        };
        Model {
            layers: (2..=self.shape().depth).map(layer).collect(),
            warmup,
            ..plain(open(100, 1_000.0), server, horizon)
        }
    }

    fn contenders(self) -> Vec<Contender> {
        let retries = self.shape().attempts - 1;
        let naive = contender("retries", at_once(bare(retries)), Fleet::One);
        let policy = at_once(budgeted(bare(retries), 100));
        let budgets = contender("retries, 10 % budgets", policy, Fleet::One);
        match self {
            Self::Naive { .. } => vec![naive],
            Self::Budgets { .. } => vec![budgets],
            Self::Told { .. } => vec![naive, budgets],
        }
    }

    /// What is claimed of it, of the leaf calls of its contenders.
    fn claims(self, leaf_calls: &[f64]) -> Vec<Claim> {
        let Shape { attempts, depth } = self.shape();
        let named = |what: &str| format!("layers: {attempts} attempts in {depth} layers, {what}");
        match (self, leaf_calls) {
            (Self::Naive { chance: p, .. }, [naive]) => vec![claim(
                named(&format!("{p} failing: (1 − p^(a^d)) / (1 − p)")),
                self.shape().leaf_calls(p),
                *naive,
                Within::Share(0.01),
            )],
            (Self::Budgets { .. }, [budgets]) => vec![
                claim(
                    named("budgets of 10 % without floor, all failing: no more than 1.1^d"),
                    libm::pow(1.1, f64::from(depth)),
                    *budgets,
                    Within::AtMost,
                ),
                claim(
                    named("the same by the budget's ring, which counts extras over 11 s: (1 + 1/11)^d"),
                    libm::pow(RING, f64::from(depth)),
                    *budgets,
                    Within::Share(0.01),
                ),
            ],
            (Self::Told { .. }, [naive, budgets]) => vec![
                claim(
                    named("told, no budgets, all failing: those of one layer"),
                    f64::from(attempts),
                    *naive,
                    Within::Share(0.01),
                ),
                claim(
                    named("told, budgets of 10 %, all failing: no more than 1.15"),
                    1.15,
                    *budgets,
                    Within::AtMost,
                ),
                claim(
                    named("told, budgets of 10 %, all failing: those of one ring, 1 + 1/11"),
                    RING,
                    *budgets,
                    Within::Share(0.01),
                ),
            ],
            (Self::Naive { .. } | Self::Budgets { .. } | Self::Told { .. }, _) => Vec::new(),
        }
    }
}

impl Shape {
    /// In closed form: attempts at a server that fails so many, for each call.
    fn leaf_calls(self, chance: f64) -> f64 {
        let most = libm::pow(f64::from(self.attempts), f64::from(self.depth));
        if chance >= 1.0 {
            most
        } else {
            (1.0 - libm::pow(chance, most)) / (1.0 - chance)
        }
    }
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for (part, study, tallies) in found(all(), |part| part.name(), studies, tallies) {
        let leaf_calls: Vec<f64> = by_contender(study, tallies)
            .map(|(_, tallies)| load_of(tallies))
            .collect();
        claims.extend(part.claims(&leaf_calls));
        for (contender, tallies) in by_contender(study, tallies) {
            match part {
                Part::Naive { shape, chance } => rows.push(row(shape, chance, tallies)),
                Part::Budgets { .. } | Part::Told { .. } => notes.push(format!(
                    "{}, {}: attempts of each layer, the clients' first, for each call: {}.",
                    study.name,
                    contender.name,
                    listed(&per_layer(tallies))
                )),
            }
        }
    }
    Findings {
        claims,
        table: Some(Value::Array(rows)),
        notes,
    }
}

fn row(shape: Shape, chance: f64, tallies: &[Tally]) -> Value {
    json!({
        "tries": shape.attempts,
        "depth": shape.depth,
        "p": chance,
        "leaf_calls": rounded(load_of(tallies), 3),
        "per_layer": per_layer(tallies),
    })
}

/// Attempts of each layer for each call of a client.
fn per_layer(tallies: &[Tally]) -> Vec<f64> {
    let calls = sum(tallies, |tally| tally.calls);
    let layers = tallies.first().map_or(0, |tally| tally.by_layer.len());
    (0..layers)
        .map(|layer| rounded(ratio(sum(tallies, |tally| tally.by_layer[layer]), calls), 3))
        .collect()
}

fn listed(figures: &[f64]) -> String {
    let figures: Vec<String> = figures.iter().map(|figure| format!("{figure:.3}")).collect();
    figures.join(", ")
}
