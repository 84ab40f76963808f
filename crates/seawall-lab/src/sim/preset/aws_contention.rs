//! AWS's jitter experiment: clients that all want to write one row, optimistically.
//!
//! Published as "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). Each of N clients reads the row's version,
//! writes, and where another was first waits by its strategy and does it again; each message takes |N(10, 2)| ms, and the
//! server takes no time. Calls are writes that reached the server; the time is when the last client heard that it had
//! written.
//!
//! Its exponential kinds count the first retry as 1, so that a base of 5 ms begins at 10 ms, which is our base; its
//! decorrelated kind is our `decorrelated-aws` with the base of 5 ms. Our lower end of full jitter is set to nothing.
//!
//! The reference is measured over 4 000 seeds by another program, and stands beside this file. A mean over S seeds may be
//! 4 · deviation · √(1/S + 1/4000) from it, and half a last digit.

use super::kit::*;
use super::{Findings, Preset, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Contender, Fleet, Load, Model, Server, Start, Tokens};
use crate::sim::stats::Moments;
use crate::sim::study::{Claim, Study};
use crate::sim::summary::{float, millis};
use crate::sim::tally::Tally;
use seawall_core::policy::{Jitter, Policy};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Preset = Preset {
    name: "aws-contention",
    about: "clients that write one row optimistically, with each kind of backoff and jitter",
    source: "M. Brooker, \"Exponential Backoff And Jitter\" (AWS Architecture Blog, 2015), and its simulator",
    seeds: 200,
    parts,
    findings,
};

const REFERENCE: &str = include_str!("aws_contention.csv");
/// Seeds behind the reference.
const REFERENCE_SEEDS: f64 = 4_000.0;
/// Writes that nobody needs as many of.
const RETRIES: u32 = 100;

/// The strategies, in the order of the reference.
const STRATEGIES: [&str; 5] = ["None", "Exponential", "EqualJitter", "FullJitter", "Decorr"];

/// What many runs of one strategy with so many clients come to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    calls: Average,
    time_ms: Average,
}

/// A mean, and the deviation of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Average {
    mean: f64,
    deviation: f64,
}

/// The reference: for each number of clients, a cell for each strategy.
fn reference() -> Vec<(u32, Vec<Cell>)> {
    let mut grid: Vec<(u32, Vec<Cell>)> = Vec::new();
    for row in rows(REFERENCE) {
        let [clients, strategy, figures @ ..] = &row[..] else {
            unreachable!("the reference has six columns")
        };
        let clients = clients.parse().expect("clients are a whole number");
        let figures: Vec<f64> = figures.iter().map(|figure| number(figure)).collect();
        let [calls, sd_calls, time_ms, sd_time_ms] = figures[..] else {
            unreachable!("the reference has six columns")
        };
        let cell = Cell {
            calls: Average {
                mean: calls,
                deviation: sd_calls,
            },
            time_ms: Average {
                mean: time_ms,
                deviation: sd_time_ms,
            },
        };
        match grid.last_mut() {
            Some((last, cells)) if *last == clients => cells.push(cell),
            Some(_) | None => grid.push((clients, vec![cell])),
        }
        let cells = grid.last().map_or(0, |(_, cells)| cells.len());
        debug_assert_eq!(*strategy, STRATEGIES[cells - 1], "in the order of the strategies");
    }
    grid
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |(clients, _)| Study {
        name: name(clients),
        model: model(clients),
        contenders: contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    reference().into_iter().map(study).collect()
}

fn name(clients: u32) -> String {
    format!("{clients} clients")
}

fn model(clients: u32) -> Model {
    let load = Load::Closed {
        clients,
        think: Length::ZERO,
        start: Start::Together,
        calls_each: Some(1),
    };
    let server = Server {
        capacity: Capacity::OptimisticLock,
        ..Server::default()
    };
    Model {
        tokens: Tokens::NONE,
        hop: Length::FoldedNormal {
            mean: ms(10),
            deviation: ms(2),
        },
        ..plain(load, server, secs(120))
    }
}

fn contenders() -> Vec<Contender> {
    let waits = |base, jitter| -> Policy {
        let builder = bare(RETRIES).backoff_base(base).backoff_cap(secs(2));
        built(builder.backoff_min(Duration::ZERO).jitter(jitter))
    };
    let policies = [
        at_once(bare(RETRIES)),
        waits(ms(10), Jitter::None),
        waits(ms(10), Jitter::Equal),
        waits(ms(10), Jitter::Full),
        waits(ms(5), Jitter::DecorrelatedAws),
    ];
    let named = STRATEGIES.into_iter().zip(policies);
    named
        .map(|(name, policy)| contender(name, policy, Fleet::One))
        .collect()
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let run = found(reference(), |(clients, _)| name(*clients), studies, tallies);
    let pairs = run.into_iter().map(|(theirs, study, tallies)| {
        let ours: Vec<Cell> = by_contender(study, tallies)
            .map(|(_, tallies)| Cell::of(tallies))
            .collect();
        (theirs, ours)
    });
    let (reference, measured): (Vec<_>, Vec<_>) = pairs.unzip();
    let seeds = studies.first().map_or(1, |study| study.seeds);
    let mut claims = cell_claims(&reference, &measured, seeds);
    claims.extend(fact_claims(&reference, &measured));
    let given_up = tallies
        .iter()
        .map(|tallies| sum(tallies, |tally| tally.calls - tally.succeeded));
    claims.push(claim(
        "every client writes in the end",
        0.0,
        float(given_up.sum()),
        Within::AtMost,
    ));
    Findings {
        claims,
        table: Some(table(&reference, &measured)),
        notes: vec![
            format!(
                "A figure holds within 4 · deviation · √(1/{seeds} + 1/4000) of the reference, whose deviation it is."
            ),
            "Not in the blog: equal jitter makes fewer calls than full jitter from about 170 clients on.".to_owned(),
            "Not in the blog: no backoff at all is done first, since this server is free. What a call costs must be part \
             of a model, or the policy that calls most wins."
                .to_owned(),
        ],
    }
}

impl Cell {
    fn of(tallies: &[Tally]) -> Self {
        Self {
            calls: Average::of(tallies, |tally| float(tally.arrivals)),
            time_ms: Average::of(tallies, |tally| millis(tally.ended_at.since(Instant::START))),
        }
    }
}

impl Average {
    fn of(tallies: &[Tally], value: impl Fn(&Tally) -> f64) -> Self {
        let moments = Moments::of(&tallies.iter().map(value).collect::<Vec<f64>>());
        Self {
            mean: moments.mean,
            deviation: moments.deviation(),
        }
    }

    /// How far the mean of so many seeds may be from this reference, which was written to `digit`.
    fn tolerance(self, seeds: u32, digit: f64) -> f64 {
        let seeds = 1.0 / f64::from(seeds) + 1.0 / REFERENCE_SEEDS;
        4.0 * self.deviation * libm::sqrt(seeds) + digit / 2.0
    }
}

/// For each strategy: how many figures are within their tolerance, and those of 100 clients by themselves.
fn cell_claims(reference: &[(u32, Vec<Cell>)], measured: &[Vec<Cell>], seeds: u32) -> Vec<Claim> {
    let mut claims = Vec::new();
    if measured.is_empty() {
        return claims;
    }
    for (number, strategy) in STRATEGIES.into_iter().enumerate() {
        let (mut all, mut within) = (0_u64, 0_u64);
        for ((clients, theirs), ours) in reference.iter().zip(measured) {
            let (theirs, ours) = (theirs[number], ours[number]);
            let pairs = [
                ("calls", theirs.calls, ours.calls, 0.001),
                ("milliseconds", theirs.time_ms, ours.time_ms, 0.01),
            ];
            for (what, theirs, ours, digit) in pairs {
                let name = format!("AWS 2015: {what} of {clients} clients, {strategy}");
                let tolerance = theirs.tolerance(seeds, digit);
                let cell = claim(name, theirs.mean, ours.mean, Within::Amount(tolerance));
                all += 1;
                within += u64::from(cell.holds);
                // What is off is told by itself wherever it is.
                if *clients == 100 || !cell.holds {
                    claims.push(cell);
                }
            }
        }
        claims.push(claim(
            format!("AWS 2015: figures of {strategy} within their tolerance"),
            float(all),
            float(within),
            Within::AtLeast,
        ));
    }
    claims
}

/// What the blog says of its curves, and two facts that it does not show.
fn fact_claims(reference: &[(u32, Vec<Cell>)], measured: &[Vec<Cell>]) -> Vec<Claim> {
    const NONE: usize = 0;
    const EXPONENTIAL: usize = 1;
    const EQUAL: usize = 2;
    const FULL: usize = 3;
    let grid = || reference.iter().zip(measured);
    let at = |wanted: u32| grid().find(|((clients, _), _)| *clients == wanted);
    let mut claims = Vec::new();
    if let Some(((_, theirs), ours)) = at(100) {
        let cut = |cells: &[Cell]| cells[EXPONENTIAL].calls.mean / cells[FULL].calls.mean;
        claims.push(claim(
            "AWS 2015: full jitter cuts the calls of 100 clients by \"more than half\", times",
            cut(theirs),
            cut(ours),
            Within::Share(0.03),
        ));
    }
    let slowest = grid()
        .filter(|((clients, _), _)| *clients >= 20)
        .map(|(_, cells)| cells[EXPONENTIAL].time_ms.mean / cells[FULL].time_ms.mean)
        .min_by(f64::total_cmp);
    claims.extend(slowest.map(|slowest| {
        claim(
            "exponential without jitter takes at least so many times as long as with full jitter, 20 clients and more",
            12.0,
            slowest,
            Within::AtLeast,
        )
    }));
    if let Some(((_, theirs), ours)) = at(200) {
        let calls = |cells: &[Cell]| cells[EQUAL].calls.mean / cells[FULL].calls.mean;
        let time = |cells: &[Cell]| cells[NONE].time_ms.mean / cells[FULL].time_ms.mean;
        claims.push(claim(
            "not in the blog: calls of equal jitter by those of full, 200 clients",
            calls(theirs),
            calls(ours),
            Within::Share(0.005),
        ));
        claims.push(claim(
            "not in the blog: time without backoff by that of full jitter, 200 clients",
            time(theirs),
            time(ours),
            Within::Share(0.03),
        ));
    }
    claims
}

fn table(reference: &[(u32, Vec<Cell>)], measured: &[Vec<Cell>]) -> Value {
    let rows = reference.iter().zip(measured).flat_map(|((clients, _), cells)| {
        STRATEGIES.into_iter().zip(cells).map(move |(strategy, cell)| {
            json!({
                "clients": clients,
                "strategy": strategy,
                "calls": rounded(cell.calls.mean, 3),
                "time_ms": rounded(cell.time_ms.mean, 2),
                "sd_calls": rounded(cell.calls.deviation, 3),
                "sd_time_ms": rounded(cell.time_ms.deviation, 2),
            })
        })
    });
    Value::Array(rows.collect())
}
