//! A server that slows down with its load, and a burst of five seconds: some runs recover, some never do.
//!
//! M. Brooker, "What is Backoff For?" and its simulation `simple_collapse_sim` (2022): an answer takes 1 s and 10 ms more
//! for each attempt that is there already, clients wait 3 s and send a call three times at the most, and for five seconds
//! 80 calls a second come in. Fifty seconds later a run has either recovered or not: the outcome has two humps, so that no
//! mean describes it, and what is compared is the share of seeds that are still down.
//!
//! He shows curves and no table, so the figures here are those of an independent simulation of the same model, a bare
//! heap of events without any engine, over 2 000 seeds.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Burst, Capacity, Contender, Fleet, Gaps, Load, Model, Server, Tokens};
use crate::sim::precheck::{Code, Precheck, precheck};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::has_collapsed;
use crate::sim::tally::Tally;
use seawall_core::policy::{Jitter, Policy};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "collapse",
    about: "a server that slows down with its load: the share of runs that a burst brings down for good",
    source: "M. Brooker, \"What is Backoff For?\" (2022), and its simulator; an independent simulation of the same model",
    seeds: 800,
    parts,
    findings,
};

/// Calls a second, and the share of runs that are down 50 s after the burst, without backoff and with it.
const DOWN: [(f64, f64, f64); 5] = [
    (20.0, 0.0, 0.0),
    (30.0, 0.233, 0.0),
    (40.0, 0.687, 0.001),
    (50.0, 0.976, 0.599),
    (60.0, 1.0, 1.0),
];
/// How far a share may be from that one.
const TOLERANCE: f64 = 0.05;
/// From 21 calls a second on a burst can bring it down for good, at 64 the load alone does.
const VULNERABLE_FROM: f64 = 21.0;
const BEARS: f64 = 64.0;

const BURST_AT: Duration = secs(20);
const BURST_LASTS: Duration = secs(5);
const BURST_PER_SECOND: f64 = 80.0;
const PATIENCE: Duration = secs(3);
/// Fifty seconds after the burst.
const HORIZON: Duration = secs(75);

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |(per_second, _, _)| Study {
        name: name(per_second),
        model: model(per_second),
        contenders: contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    DOWN.into_iter().map(study).collect()
}

fn name(per_second: f64) -> String {
    format!("{per_second} calls a second")
}

fn model(per_second: f64) -> Model {
    let server = Server {
        capacity: Capacity::Coupled { slope: ms(10) },
        service: Length::Fixed(secs(1)),
        ..Server::default()
    };
    let load = Load::Open {
        clients: 100,
        per_second,
        gaps: Gaps::Poisson,
        bursts: vec![Burst {
            at: Instant::START.after(BURST_AT),
            lasts: BURST_LASTS,
            factor: BURST_PER_SECOND / per_second,
        }],
    };
    Model {
        tokens: Tokens::NONE,
        hop: Length::Exponential { mean: ms(100) },
        ..plain(load, server, HORIZON)
    }
}

fn contenders() -> Vec<Contender> {
    let thrice = || bare(2).first_byte(PATIENCE);
    let backoff = thrice()
        .backoff_base(secs(20))
        .backoff_min(Duration::ZERO)
        .backoff_cap(secs(40))
        .jitter(Jitter::Full);
    vec![
        contender("three attempts", at_once(thrice()), Fleet::One),
        contender(
            "three attempts, backoff up to 20 s and 40 s",
            built(backoff),
            Fleet::One,
        ),
        contender(
            "three attempts, 10 % budget",
            at_once(budgeted(thrice(), 100)),
            Fleet::One,
        ),
        contender(
            "seawall's default",
            built(Policy::builder().first_byte(PATIENCE)),
            Fleet::One,
        ),
    ]
}

/// The share of runs that are down at the end.
fn down(tallies: &[Tally]) -> f64 {
    let horizon = Instant::START.after(HORIZON);
    let down = tallies
        .iter()
        .filter(|tally| has_collapsed(tally, horizon))
        .count();
    ratio(down as u64, tallies.len() as u64)
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut claims = analytic();
    let mut rows = Vec::new();
    let run = found(DOWN, |(per_second, _, _)| name(*per_second), studies, tallies);
    for ((per_second, at_once, backoff), study, tallies) in run {
        let groups: Vec<(&Contender, &[Tally])> = by_contender(study, tallies).collect();
        let published = [
            Some(("at once", at_once)),
            Some(("with backoff", backoff)),
            None,
            None,
        ];
        for ((contender, tallies), published) in groups.into_iter().zip(published) {
            let share = down(tallies);
            rows.push(json!({
                "calls_per_s": per_second,
                "strategy": contender.name,
                "p_collapse": rounded(share, 4),
                "stability": precheck(&study.model, contender).stability,
            }));
            claims.extend(published.map(|(how, published)| {
                let name = format!(
                    "Brooker's collapse, simulated independently: share of runs still down at {per_second} calls a second, three \
                     attempts {how}"
                );
                claim(name, published, share, Within::Amount(TOLERANCE))
            }));
        }
    }
    Findings {
        claims,
        table: Some(Value::Array(rows)),
        notes: vec![
            "The outcome of a run has two humps: it recovers within seconds or never. A mean over runs describes neither; \
             the share that never does is what counts."
                .to_owned(),
            "Backoff moves the edge and does not remove it: beyond it the retries still come, only later. A budget does, \
             as long as the load and its extras stay below what the server bears."
                .to_owned(),
        ],
    }
}

/// What closed forms say, beside what was published.
fn analytic() -> Vec<Claim> {
    let contenders = contenders();
    let Some(thrice) = contenders.first() else {
        return Vec::new();
    };
    let found = precheck(&model(40.0), thrice);
    let number = |found: &Precheck, code, name| {
        let finding = found.finding(code);
        finding
            .and_then(|finding| finding.numbers.get(name))
            .copied()
            .unwrap_or(0.0)
    };
    vec![
        claim(
            "Brooker's collapse, simulated independently: calls a second from which it is vulnerable; ours in closed form",
            VULNERABLE_FROM,
            number(&found, Code::NoHeadroom, "calls_borne_per_s"),
            Within::Amount(0.5),
        ),
        claim(
            "Brooker's collapse, simulated independently: calls a second that it bears; ours in closed form",
            BEARS,
            number(&found, Code::LatencyCoupled, "capacity_per_s"),
            Within::Amount(0.5),
        ),
    ]
}
