//! A metastable failure: a short outage after which nothing is broken, and nothing works.
//!
//! Published as "Metastable Failures in Distributed Systems" (Bronson, Aghayev, Charapko and Zhu, HotOS 2021): a database
//! that answers in 100 ms up to 300 queries a second, an application that tries a second time after a second, a network
//! that is away for 10 s. Below 150 calls a second it recovers; from there to 300 the second attempts themselves keep it
//! from it: at 280 they hold it at 560.
//!
//! What the paper does not say: a budget β protects only while λ(1 + β) is below the capacity. At 280 of 300 one of 10 % is
//! not enough, and without any retries the queue that the outage left takes minutes to be worked off, unanswered.
//!
//! 30 workers of 100 ms each, first come first served, work on for callers that have left; what was sent during the outage
//! arrives after it.

use super::kit::*;
use super::{Findings, Preset, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Contender, Fleet, Model, Outage, Server, Trouble};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::{has_collapsed, median_recovery};
use crate::sim::tally::{Tally, bin_of};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Preset = Preset {
    name: "metastable",
    about: "a database that an outage of 10 s overloads for good, where every call is tried twice",
    source: "N. Bronson, A. Aghayev, A. Charapko, T. Zhu, \"Metastable Failures in Distributed Systems\" (HotOS 2021)",
    seeds: 10,
    parts,
    findings,
};

/// Calls a second, and how long the network is away.
const PARTS: [Part; 6] = [
    Part::new(140, 10),
    Part::new(145, 10),
    Part::new(155, 2),
    Part::new(155, 10),
    Part::new(250, 10),
    Part::new(280, 10),
];
/// Queries a second that the database answers.
const CAPACITY: u32 = 300;
const OUTAGE_AT: Instant = Instant::START.after(secs(60));
const HORIZON: Duration = secs(660);
/// Over how long the end of a run is measured.
const END: Duration = secs(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    per_second: u32,
    away: Duration,
}

/// What the runs of one policy come to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outcome {
    /// Of the seeds: how many are still collapsed at the end.
    collapsed: f64,
    /// Calls a second at the end.
    due: f64,
    /// Attempts a second at the end.
    arrivals: f64,
    /// Answers a second at the end.
    answered: f64,
    recovery_s: Option<f64>,
}

impl Part {
    const fn new(per_second: u32, away_s: u64) -> Self {
        Self {
            per_second,
            away: secs(away_s),
        }
    }

    fn name(self) -> String {
        let (per_second, away_s) = (self.per_second, seconds(self.away));
        format!("{per_second} calls a second, {away_s} s away")
    }

    fn model(self) -> Model {
        let server = Server {
            capacity: Capacity::Workers(CAPACITY / 10),
            service: Length::Fixed(ms(100)),
            outages: vec![Outage {
                at: OUTAGE_AT,
                lasts: self.away,
                how: Trouble::Hang,
                share: 1.0,
            }],
            ..Server::default()
        };
        plain(open(100, f64::from(self.per_second)), server, HORIZON)
    }
}

fn contenders() -> Vec<Contender> {
    let retrying = |retries| bare(retries).first_byte(secs(1));
    vec![
        contender("one retry", at_once(retrying(1)), Fleet::One),
        contender(
            "one retry, 10 % budget",
            at_once(budgeted(retrying(1), 100)),
            Fleet::One,
        ),
        contender("no retries", at_once(retrying(0)), Fleet::One),
    ]
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |part: Part| Study {
        name: part.name(),
        model: part.model(),
        contenders: contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    PARTS.into_iter().map(study).collect()
}

impl Outcome {
    fn of(part: Part, tallies: &[Tally]) -> Self {
        let horizon = Instant::START.after(HORIZON);
        let end = bin_of(horizon.before(END))..bin_of(horizon);
        let rate = |count: fn(&crate::sim::tally::Bin) -> u32| {
            mean(tallies, |tally| {
                let bins = tally.bins.get(end.clone()).unwrap_or_default();
                bins.iter().map(|bin| f64::from(count(bin))).sum::<f64>() / seconds(END)
            })
        };
        let collapsed = tallies.iter().filter(|tally| has_collapsed(tally, horizon));
        Self {
            collapsed: ratio(collapsed.count() as u64, tallies.len() as u64),
            due: rate(|bin| bin.due),
            arrivals: rate(|bin| bin.arrivals),
            answered: rate(|bin| bin.answered),
            recovery_s: median_recovery(tallies, OUTAGE_AT.after(part.away), horizon),
        }
    }
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let outcomes: Vec<(Part, Vec<Outcome>)> = found(PARTS, |part| part.name(), studies, tallies)
        .into_iter()
        .map(|(part, study, tallies)| {
            let outcomes = by_contender(study, tallies).map(|(_, tallies)| Outcome::of(part, tallies));
            (part, outcomes.collect())
        })
        .collect();
    let mut claims = Vec::from_iter(threshold(&outcomes));
    for (part, outcomes) in &outcomes {
        if let [retry, budget, none] = outcomes[..] {
            claims.extend(claims_of(*part, retry, budget, none));
        }
    }
    let rows = outcomes.iter().flat_map(|(part, outcomes)| {
        contenders()
            .into_iter()
            .zip(outcomes)
            .map(|(contender, outcome)| row(*part, &contender, outcome))
    });
    Findings {
        claims,
        table: Some(Value::Array(rows.collect())),
        notes: vec![
            "A budget β protects only while λ(1 + β) stays below the capacity: 280 · 1.1 = 308 of 300 does not.".to_owned(),
            "Where nothing sheds what nobody waits for any more, even no retries at all leave minutes without an answer: the \
             backlog is worked off at capacity less load."
                .to_owned(),
        ],
    }
}

/// Between which loads one retry turns an outage into a collapse; `None` where not both sides of it were run.
fn threshold(outcomes: &[(Part, Vec<Outcome>)]) -> Option<Claim> {
    let of = |collapses: bool| {
        let those = outcomes.iter().filter(move |(part, outcomes)| {
            let collapsed = outcomes.first().is_some_and(|retry| retry.collapsed > 0.5);
            part.away == secs(10) && collapsed == collapses
        });
        those.map(|(part, _)| f64::from(part.per_second))
    };
    let highest_safe = of(false).max_by(f64::total_cmp)?;
    let lowest_lost = of(true).min_by(f64::total_cmp)?;
    Some(claim(
        "HotOS 2021: calls a second from which one retry does not recover, of 300",
        150.0,
        f64::midpoint(highest_safe, lowest_lost),
        Within::Amount(5.0),
    ))
}

fn claims_of(part: Part, retry: Outcome, budget: Outcome, none: Outcome) -> Vec<Claim> {
    let Part { per_second, away } = part;
    let named = |what: &str| {
        format!(
            "HotOS 2021: {per_second} calls a second, {} s away, {what}",
            seconds(away)
        )
    };
    let share = |what: &str, published, outcome: Outcome| {
        claim(
            named(&format!("{what}: runs that collapse")),
            published,
            outcome.collapsed,
            Within::Amount(0.05),
        )
    };
    let offered = f64::from(per_second);
    let is_lost = f64::from(u8::from(2 * per_second > CAPACITY));
    let budget_is_lost = f64::from(u8::from(11 * per_second > 10 * CAPACITY));
    let mut claims = vec![
        share("one retry", is_lost, retry),
        share("one retry with a budget of 10 %", budget_is_lost, budget),
        share("no retries", 0.0, none),
    ];
    if 2 * per_second > CAPACITY {
        claims.push(claim(
            named("one retry: arrivals at the end, of the load"),
            2.0,
            retry.arrivals / retry.due,
            Within::Share(0.02),
        ));
    }
    if 11 * per_second > 10 * CAPACITY {
        claims.push(claim(
            named("budget of 10 %: arrivals at the end"),
            308.0,
            budget.arrivals,
            Within::Share(0.02),
        ));
        // What came in the outage, less what is waited for a second only, at capacity less load.
        let backlog = offered * seconds(away) - f64::from(CAPACITY);
        claims.push(claim(
            named("no retries: seconds until it answers again, (10 λ − C) / (C − λ)"),
            backlog / (f64::from(CAPACITY) - offered),
            none.recovery_s.unwrap_or(f64::from(u32::MAX)),
            Within::Share(0.2),
        ));
    }
    claims
}

fn row(part: Part, contender: &Contender, outcome: &Outcome) -> Value {
    json!({
        "per_second": part.per_second,
        "away_s": seconds(part.away),
        "policy": contender.name,
        "p_collapse": rounded(outcome.collapsed, 3),
        "arrivals_per_s": rounded(outcome.arrivals, 1),
        "answered_per_s": rounded(outcome.answered, 1),
        "recovery_s": outcome.recovery_s.map(|seconds| rounded(seconds, 1)),
    })
}
