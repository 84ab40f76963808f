//! What one breaker before many shards does when one of them is down.
//!
//! M. Brooker, "Will circuit breakers solve my problems?" (2022): a breaker over a sharded service turns the failure of a
//! part into one of the whole. A client makes 100 calls a second to one of K shards each, one shard is down, and the
//! breaker opens for 5 s when a share of the last 100 calls has failed, then lets one call through. He gives no figures;
//! those here are of a toy of that description that counts a window of 100 calls.
//!
//! Our breaker counts by time, so its window is the second in which 100 calls are made; its other conditions (a run of
//! failures, open times that grow) are set so that they never decide. Beside it stand a gate for each shard, which
//! restores what the shards that are well can answer, and seawall's default.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::model::{Contender, Fleet, Gaps, Load, Model, Outage, Server, Spread, Trouble};
use crate::sim::precheck::{Code, Precheck, precheck};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::float;
use crate::sim::tally::Tally;
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "sharded-breaker",
    about: "one of K shards is down: a breaker before all of them, and one before each",
    source: "M. Brooker, \"Will circuit breakers solve my problems?\" (2022); an independent simulation of what it describes",
    seeds: 25,
    parts,
    findings,
};

/// Shards, the threshold in thousandths, and the share of calls that is answered behind one breaker.
const SIMULATED: [(usize, u32, f64); 7] = [
    (10, 50, 0.136),
    (10, 100, 0.176),
    (10, 200, 0.83),
    (10, 500, 0.90),
    (4, 200, 0.096),
    (4, 500, 0.75),
    (20, 50, 0.20),
];
const SHARDS: [usize; 3] = [4, 10, 20];
const SPREADS: [Spread; 2] = [Spread::ShardsOneGate, Spread::ShardsOwnGates];
/// How far a share may be from that one.
const TOLERANCE: f64 = 0.05;
/// How far from what the shards that are well can answer; a breaker before each still sends its probes.
const TOLERANCE_OF_OWN: f64 = 0.01;

const PER_SECOND: f64 = 100.0;
const HORIZON: Duration = secs(400);
/// All but the fullest moment of a ring that turns by tenths holds fewer than the 100 calls of its second.
const CALLS_IN_WINDOW: u32 = 91;

fn kinds() -> impl Iterator<Item = (usize, Spread)> {
    SHARDS
        .into_iter()
        .flat_map(|shards| SPREADS.map(|spread| (shards, spread)))
}

fn thresholds(shards: usize) -> impl Iterator<Item = (u32, f64)> {
    let of = SIMULATED.into_iter().filter(move |(of, _, _)| *of == shards);
    of.map(|(_, threshold, published)| (threshold, published))
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |(shards, spread)| Study {
        name: name(shards, spread),
        model: model(shards, spread),
        contenders: contenders(shards),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    kinds().map(study).collect()
}

fn name(shards: usize, spread: Spread) -> String {
    format!("{shards} shards, {}", gates(spread))
}

const fn gates(spread: Spread) -> &'static str {
    match spread {
        Spread::ShardsOneGate => "one gate",
        Spread::ShardsOwnGates => "a gate each",
        Spread::Route => "a route",
    }
}

fn model(shards: usize, spread: Spread) -> Model {
    let down = Server {
        outages: vec![Outage {
            at: Instant::START,
            lasts: HORIZON,
            how: Trouble::FailFast,
            share: 1.0,
        }],
        ..Server::default()
    };
    let mut servers = vec![Server::default(); shards];
    servers[0] = down;
    let load = Load::Open {
        clients: 1,
        per_second: PER_SECOND,
        gaps: Gaps::Constant,
        bursts: Vec::new(),
    };
    Model {
        servers,
        spread,
        ..plain(load, Server::default(), HORIZON)
    }
}

fn breaker_at(threshold: u32) -> String {
    format!("breaker at {} %", f64::from(threshold) / 10.0)
}

fn contenders(shards: usize) -> Vec<Contender> {
    let breakers = thresholds(shards).map(|(threshold, _)| {
        let policy = bare(0).edit_breaker(|breaker| {
            breaker
                .failure_per_mille(threshold)
                .min_calls(CALLS_IN_WINDOW)
                .window(secs(1))
                .consecutive(1_000_000)
                .open_for(secs(5))
                .open_max(secs(5))
                .probes(1)
        });
        contender(breaker_at(threshold), built(policy), Fleet::One)
    });
    [contender("no breaker", built(bare(0)), Fleet::One)]
        .into_iter()
        .chain(breakers)
        .chain([contender(
            "seawall's default",
            Policy::preset(Preset::Default),
            Fleet::One,
        )])
        .collect()
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    let run = found(
        kinds(),
        |(shards, spread)| name(*shards, *spread),
        studies,
        tallies,
    );
    for ((shards, spread), study, tallies) in run {
        for (contender, tallies) in by_contender(study, tallies) {
            let answered = success_of(tallies);
            let found = precheck(&study.model, contender);
            rows.push(json!({
                "shards": shards,
                "gates": gates(spread),
                "strategy": contender.name,
                "availability": rounded(answered, 4),
                "foretold": found.findings.iter().find_map(|finding| {
                    finding.numbers.get("availability_with").or(finding.numbers.get("availability"))
                }),
                "harms": found.finding(Code::BreakerHarms).is_some(),
            }));
            claims.extend(claims_of(shards, spread, contender, &found, answered));
        }
    }
    Findings {
        claims,
        table: Some(Value::Array(rows)),
        notes: vec![
            "A breaker sees one service where there are K: whoever fails, all are refused. A gate for each shard, model or \
             key keeps what is well."
                .to_owned(),
            "Where one gate is all there is, keep `failure_rate` well above the share of the largest part: what is left \
             below it by chance still opens it now and then."
                .to_owned(),
        ],
    }
}

/// What is claimed of a policy that so many shards answered so many calls of.
fn claims_of(
    shards: usize,
    spread: Spread,
    contender: &Contender,
    found: &Precheck,
    answered: f64,
) -> Vec<Claim> {
    let well = 1.0 - 1.0 / float(shards as u64);
    let published = thresholds(shards).find(|(threshold, _)| contender.name == breaker_at(*threshold));
    match (spread, published) {
        (Spread::ShardsOwnGates, _) => vec![claim(
            format!(
                "{shards} shards, a gate each: {} answers what is well, 1 − 1/K",
                contender.name
            ),
            well,
            answered,
            Within::Amount(TOLERANCE_OF_OWN),
        )],
        (Spread::ShardsOneGate, Some((threshold, published))) => {
            let percent = f64::from(threshold) / 10.0;
            // The verdict that is printed before any run must be the one that the run comes to.
            let harms = f64::from(u8::from(found.finding(Code::BreakerHarms).is_some()));
            let harmed = f64::from(u8::from(answered < well - 0.01));
            vec![
                claim(
                    format!(
                        "Brooker's breakers, simulated independently: share answered of {shards} shards with one down, one breaker \
                         at {percent} %"
                    ),
                    published,
                    answered,
                    Within::Amount(TOLERANCE),
                ),
                claim(
                    format!(
                        "{shards} shards, one breaker at {percent} %: it makes it worse (1), as closed forms foretell"
                    ),
                    harms,
                    harmed,
                    Within::Amount(0.0),
                ),
            ]
        }
        (Spread::ShardsOneGate, None) | (Spread::Route, _) => Vec::new(),
    }
}
