//! What a budget of 10 % does to the load of retries.
//!
//! Two publications. Site Reliability Engineering, chapter 21: up to three attempts a call make "just below 3X" of the
//! load of a server that rejects nearly all, a budget per client of 10 % makes 1.1X. M. Brooker, "Fixing retries with
//! token buckets and circuit breakers" (2022): a hundred clients, failures that no load changes, and what each way of
//! holding retries back does to success and load.
//!
//! Both have closed forms: rejections of chance r make 1 + r + r² attempts of at most three; three retries leave p⁴.
//!
//! Ours is not Brooker's bucket: that begins with five tokens, ours with none, and counts over a window. So where he finds
//! that short-lived clients live on their first tokens, ours stays below its bound, and where a client makes less than
//! ten calls in a window, it has no retry at all unless the policy gives it a floor. Both are shown.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Contender, Failures, Fleet, Model, Server, Tokens};
use crate::sim::study::{Claim, Study};
use crate::sim::tally::Tally;
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::Duration;
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "google-budget",
    about: "a server that rejects calls, and clients that retry with and without a budget of 10 %",
    source: "Site Reliability Engineering (2016), chapter 21; M. Brooker, \"Fixing retries with token buckets and circuit breakers\" (2022)",
    seeds: 10,
    parts,
    findings,
};

/// Chances of a rejection.
const REJECTED: [f64; 3] = [0.5, 0.9, 0.98];
/// Brooker's chances of a failure, with the load of three retries that he shows for each.
const FAILED: [(f64, f64); 6] = [
    (0.01, 1.010),
    (0.05, 1.053),
    (0.10, 1.111),
    (0.20, 1.250),
    (0.50, 1.879),
    (0.90, 3.435),
];
/// His numbers of clients that make 100 calls a second together, with the load of his buckets at half failing.
const CLIENTS: [(u32, f64); 3] = [(10, 1.102), (100, 1.121), (1_000, 1.297)];

/// One turn of a budget's ring of eleven seconds. What it lets through repeats with it, so whole turns are measured.
const TURN: Duration = secs(11);

/// What a part is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// Google's: three attempts at the most.
    Rejected { chance: f64 },
    /// Brooker's table by chance.
    Failed { chance: f64, published: f64 },
    /// Brooker's effect of the number of clients.
    Clients { clients: u32, published: f64 },
}

impl Part {
    fn name(self) -> String {
        match self {
            Self::Rejected { chance } => format!("{:.0} % rejected", 100.0 * chance),
            Self::Failed { chance, .. } => format!("{:.0} % failing", 100.0 * chance),
            Self::Clients { clients, .. } => format!("{clients} clients"),
        }
    }
}

fn all() -> impl Iterator<Item = Part> {
    let rejected = REJECTED.map(|chance| Part::Rejected { chance });
    let failed = FAILED.map(|(chance, published)| Part::Failed { chance, published });
    let clients = CLIENTS.map(|(clients, published)| Part::Clients { clients, published });
    rejected.into_iter().chain(failed).chain(clients)
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |part: Part| {
        let (model, contenders) = match part {
            Part::Rejected { chance } => (
                Model {
                    warmup: TURN,
                    ..failing(10, 1_000.0, chance, TURN.times(11))
                },
                google(),
            ),
            Part::Failed { chance, .. } => (failing(100, 1_000.0, chance, secs(100)), brooker()),
            Part::Clients { clients, .. } => (failing(clients, 100.0, 0.5, secs(200)), brooker()),
        };
        Study {
            name: part.name(),
            model,
            contenders,
            seed: scale.seed,
            seeds: scale.seeds,
        }
    };
    all().map(study).collect()
}

/// A server that fails so many attempts, whatever its load.
fn failing(clients: u32, per_second: f64, chance: f64, horizon: Duration) -> Model {
    let server = Server {
        failures: Failures::Independent { chance },
        ..Server::default()
    };
    Model {
        tokens: Tokens::NONE,
        hop: Length::Exponential { mean: ms(10) },
        ..plain(open(clients, per_second), server, horizon)
    }
}

fn google() -> Vec<Contender> {
    vec![
        contender("three attempts", at_once(bare(2)), Fleet::PerClient),
        contender(
            "three attempts, 10 % budget",
            at_once(budgeted(bare(2), 100)),
            Fleet::PerClient,
        ),
    ]
}

fn brooker() -> Vec<Contender> {
    let budget = at_once(budgeted(bare(3), 100));
    vec![
        contender("no retries", at_once(bare(0)), Fleet::PerClient),
        contender("three retries", at_once(bare(3)), Fleet::PerClient),
        contender("three retries, 10 % budget a client", budget, Fleet::PerClient),
        contender("three retries, 10 % budget for all", budget, Fleet::One),
        contender(
            "seawall's default",
            Policy::preset(Preset::Default),
            Fleet::PerClient,
        ),
    ]
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    for (part, study, tallies) in found(all(), |part| part.name(), studies, tallies) {
        let groups: Vec<(&Contender, &[Tally])> = by_contender(study, tallies).collect();
        let seen: Vec<(f64, f64)> = groups
            .iter()
            .map(|(_, tallies)| (success_of(tallies), load_of(tallies)))
            .collect();
        claims.extend(claims_of(part, &seen));
        rows.extend(
            groups
                .iter()
                .zip(&seen)
                .map(|((contender, _), seen)| row(study, contender, *seen)),
        );
    }
    Findings {
        claims,
        table: Some(Value::Array(rows)),
        notes: vec![
            "A budget counts extras over up to 11 s and originals over at most 10 s, so as never to err in the caller's \
             favour: a ratio of 10 % gives 9.1 % where retries take all that there is."
                .to_owned(),
            "A budget of each client's own rounds down to whole retries: a client with fewer than ten calls in 10 s has \
             none. A floor (1 a second by default) gives it some, and is then more than 10 %: the bound for all \
             clients together is a budget that they share."
                .to_owned(),
            "Brooker's token buckets begin full; ours begin empty, so that many short-lived clients add nothing beyond the \
             ratio."
                .to_owned(),
            "A breaker takes chance failures for an outage: where half of all fail whatever the load, seawall's default \
             mostly refuses, and fewer calls succeed than without it."
                .to_owned(),
        ],
    }
}

/// What is claimed of a part, of the success and load of its contenders.
fn claims_of(part: Part, seen: &[(f64, f64)]) -> Vec<Claim> {
    match (part, seen) {
        (Part::Rejected { chance: r }, [(_, without), (_, with)]) => vec![
            claim(
                format!("SRE book, chapter 21: load at {r} rejected, three attempts, 1 + r + r²"),
                1.0 + r + r * r,
                *without,
                Within::Share(0.01),
            ),
            claim(
                format!("SRE book, chapter 21: load at {r} rejected, with a budget of 10 %"),
                1.1,
                *with,
                Within::Amount(0.01),
            ),
        ],
        (Part::Failed { chance: p, published }, [(none, _), (three, load), ..]) => vec![
            claim(
                format!("Brooker 2022: success at {p} failing without retries, 1 − p"),
                1.0 - p,
                *none,
                Within::Share(0.01),
            ),
            claim(
                format!("Brooker 2022: success at {p} failing with three retries, 1 − p⁴"),
                1.0 - p * p * p * p,
                *three,
                Within::Share(0.01),
            ),
            claim(
                format!("Brooker 2022: load at {p} failing with three retries"),
                published,
                *load,
                Within::Share(0.01),
            ),
        ],
        (Part::Clients { clients, published }, [_, _, (_, each), ..]) => vec![claim(
            format!(
                "Brooker 2022: load of {clients} clients with a bucket each, half failing; ours is no more"
            ),
            published,
            *each,
            Within::AtMost,
        )],
        (Part::Rejected { .. } | Part::Failed { .. } | Part::Clients { .. }, _) => Vec::new(),
    }
}

fn row(study: &Study, contender: &Contender, (success, load): (f64, f64)) -> Value {
    json!({
        "part": study.name,
        "strategy": contender.name,
        "success_rate": rounded(success, 4),
        "load": rounded(load, 3),
    })
}
