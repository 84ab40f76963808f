//! A retry storm: 1 000 calls a second, a server that stalls for five seconds, and who recovers from it.
//!
//! What can go wrong: a stall is over and the failure is not. Work for callers that have left fills the queue, every answer
//! comes after its timeout, and every timeout sends the call again: at λ(1 + r) above the capacity that holds for good.
//! Whether it does depends on how the server stalls, on its headroom and on the policy, and not in the order that one
//! would guess: where it fails fast, retries at once are gone with the stall, while longer waits carry them past its end
//! and into a collapse.
//!
//! The server works on one attempt at a time, first come first served, also for callers that have left; a call waits a
//! second for an answer. Its stall fails fast, or takes what comes and works on nothing.
//!
//! The reference's budget is a bucket for all clients together that holds 1 000 tokens, begins full and gets 100 a second.
//! Ours of 10 % without a floor allows the same to a run that stalls after ten seconds, with a window of 30 s: then 1 000,
//! and 100 more with each second of calls. Its breaker looks at the last hundred calls, is open for a second and then lets
//! all through until they fail; ours lets one through. What makes its recovery is the 3 000 attempts that it lets into the
//! stall: ours lets in as many when half of 3.2 s have to fail, and runs of failures do not count.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Contender, Fleet, Model, Outage, Server, Trouble};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::{median_recovery, peak};
use crate::sim::tally::{Tally, bin_of};
use seawall_core::policy::{Jitter, Policy, PolicyBuilder, Preset};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "retry-storm",
    about: "1000 calls a second, a server that stalls for five seconds, and who recovers",
    source: "the usual sum, 1000 calls a second and three retries are 4000; an independent simulation of the same model",
    seeds: 3,
    parts,
    findings,
};

/// Calls a second.
const OFFERED: f64 = 1_000.0;
const CLIENTS: u32 = 1_000;
const STALL_AT: Instant = Instant::START.after(secs(10));
const STALL: Duration = secs(5);
const HORIZON: Duration = secs(120);
/// What stands for a recovery that never comes, in seconds.
const NEVER_S: f64 = 1e9;

/// What a server does that stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stall {
    FailsFast,
    Hangs,
}

/// How the server stalls, and how many attempts a second it works off.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    how: Stall,
    capacity: u64,
}

const PARTS: [Part; 6] = [
    Part::new(Stall::FailsFast, 1_500),
    Part::new(Stall::FailsFast, 2_000),
    Part::new(Stall::Hangs, 1_200),
    Part::new(Stall::Hangs, 1_500),
    Part::new(Stall::Hangs, 2_000),
    Part::new(Stall::Hangs, 5_000),
];

const NONE: &str = "no retries";
const IMMEDIATE: &str = "3 retries at once";
const EXPONENTIAL: &str = "3, exponential from 0.1 s";
const FULL: &str = "3, full jitter from 0.1 s";
const FULL_SLOW: &str = "3, full jitter from 1 s";
const BUDGET: &str = "3 at once, 10 % budget";
const FULL_BUDGET: &str = "3, full jitter, 10 % budget";
const BREAKER: &str = "3 at once, breaker";
const FULL_BOTH: &str = "3, full jitter, budget and breaker";
const OURS: &str = "seawall's default, one gate";
const OURS_EACH: &str = "seawall's default, a gate a client";

/// What the runs of one policy come to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outcome {
    /// Attempts a second during the stall.
    in_stall: f64,
    /// Attempts in the worst second.
    peak: f64,
    recovery_s: Option<f64>,
    success: f64,
    load: f64,
}

impl Part {
    const fn new(how: Stall, capacity: u64) -> Self {
        Self { how, capacity }
    }

    fn name(self) -> String {
        let how = match self.how {
            Stall::FailsFast => "fails fast",
            Stall::Hangs => "hangs",
        };
        format!("{how}, {} a second", self.capacity)
    }

    fn model(self) -> Model {
        let server = Server {
            capacity: Capacity::Workers(1),
            service: Length::Fixed(secs(1).over(self.capacity)),
            outages: vec![Outage {
                at: STALL_AT,
                lasts: STALL,
                how: match self.how {
                    Stall::FailsFast => Trouble::FailFast,
                    Stall::Hangs => Trouble::Hang,
                },
                share: 1.0,
            }],
            ..Server::default()
        };
        plain(open(CLIENTS, OFFERED), server, HORIZON)
    }
}

fn contenders() -> Vec<Contender> {
    let retrying = |retries| bare(retries).first_byte(secs(1));
    let waits = |base, jitter| {
        let builder = retrying(3).backoff_base(base).backoff_min(Duration::ZERO);
        builder.jitter(jitter)
    };
    let full = waits(ms(100), Jitter::Full);
    let ours = built(PolicyBuilder::from_preset(Preset::Default).first_byte(secs(1)));
    let one = |name, policy: Policy| contender(name, policy, Fleet::One);
    vec![
        one(NONE, at_once(retrying(0))),
        one(IMMEDIATE, at_once(retrying(3))),
        one(EXPONENTIAL, built(waits(ms(100), Jitter::None))),
        one(FULL, built(full)),
        one(FULL_SLOW, built(waits(secs(1), Jitter::Full))),
        one(BUDGET, at_once(bucket(retrying(3)))),
        one(FULL_BUDGET, built(bucket(full))),
        one(BREAKER, at_once(broken(retrying(3)))),
        one(FULL_BOTH, built(broken(bucket(full)))),
        one(OURS, ours),
        contender(OURS_EACH, ours, Fleet::PerClient),
    ]
}

/// The reference's budget, as ours says it.
fn bucket(builder: PolicyBuilder) -> PolicyBuilder {
    budgeted(builder, 100).edit_budget(|budget| budget.window(secs(30)))
}

/// The reference's breaker, as near as ours comes.
fn broken(builder: PolicyBuilder) -> PolicyBuilder {
    builder.edit_breaker(|breaker| {
        breaker
            .consecutive(1_000_000)
            .failure_per_mille(500)
            .window(ms(3_200))
            .min_calls(100)
            .open_for(secs(1))
            .open_max(secs(1))
            .probes(1)
    })
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
    fn of(tallies: &[Tally]) -> Self {
        let end = STALL_AT.after(STALL);
        let stall = bin_of(STALL_AT)..bin_of(end);
        let in_stall = mean(tallies, |tally| {
            let bins = tally.bins.get(stall.clone()).unwrap_or_default();
            bins.iter().map(|bin| f64::from(bin.arrivals)).sum::<f64>() / seconds(STALL)
        });
        Self {
            in_stall,
            peak: mean(tallies, |tally| peak(tally, Duration::ZERO, 10)),
            recovery_s: median_recovery(tallies, end, Instant::START.after(HORIZON)),
            success: success_of(tallies),
            load: load_of(tallies),
        }
    }
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut claims = Vec::new();
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for (study, tallies) in studies.iter().zip(tallies) {
        let outcomes: Vec<(&str, Outcome)> = by_contender(study, tallies)
            .map(|(contender, tallies)| (contender.name.as_str(), Outcome::of(tallies)))
            .collect();
        let part = PARTS.into_iter().find(|part| part.name() == study.name);
        claims.extend(part.map_or_else(Vec::new, |part| claims_of(part, &outcomes)));
        notes.extend(beside(study, &outcomes));
        rows.extend(
            outcomes
                .iter()
                .map(|(policy, outcome)| row(study, policy, outcome)),
        );
    }
    notes.push(
        "Longer waits are not always safer: where the server fails fast, full jitter from 1 s carries the retries past the \
         stall, to where they meet the usual load; with little headroom that collapses, though retries at once do not."
            .to_owned(),
    );
    Findings {
        claims,
        table: Some(Value::Array(rows)),
        notes,
    }
}

/// Ours with a gate for each client, beside ours with one.
fn beside(study: &Study, outcomes: &[(&str, Outcome)]) -> Option<String> {
    let find = |wanted: &str| outcomes.iter().find(|(name, _)| *name == wanted);
    let ((_, one), (_, each)) = (find(OURS)?, find(OURS_EACH)?);
    let said = |outcome: &Outcome| {
        let recovers = outcome.recovery_s.map_or("never recovers".to_owned(), |seconds| {
            format!("recovers in {seconds:.1} s")
        });
        format!(
            "{recovers}, worst second {:.2} times the load",
            outcome.peak / OFFERED
        )
    };
    Some(format!(
        "{}: seawall's default with one gate {}; with a gate a client {}.",
        study.name,
        said(one),
        said(each)
    ))
}

/// What the reference says of a part, held to what its policies came to.
struct Held<'a> {
    part: Part,
    outcomes: &'a [(&'a str, Outcome)],
}

impl Held<'_> {
    fn found(&self, wanted: &str) -> Option<Outcome> {
        let found = self.outcomes.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, outcome)| *outcome)
    }

    fn named(&self, policy: &str, what: &str) -> String {
        format!("stall that {}, {policy}: {what}", self.part.name())
    }

    fn recovers(&self, policy: &str, published: f64) -> Option<Claim> {
        // The reference tells the first whole second from which it is well.
        let measured = self.found(policy)?.recovery_s.map_or(NEVER_S, libm::ceil);
        let name = self.named(policy, "whole seconds to recovery");
        Some(claim(name, published, measured, Within::Amount(1.0)))
    }

    fn never(&self, policy: &str) -> Option<Claim> {
        let recovered = f64::from(u8::from(self.found(policy)?.recovery_s.is_some()));
        let name = self.named(policy, "recovers (1) or never does (0)");
        Some(claim(name, 0.0, recovered, Within::AtMost))
    }

    fn in_stall(&self, policy: &str, published: f64) -> Option<Claim> {
        let name = self.named(policy, "attempts a second in the stall");
        let measured = self.found(policy)?.in_stall;
        Some(claim(name, published, measured, Within::Share(0.02)))
    }

    /// Ours has no reference, but bounds.
    fn ours(&self) -> [Option<Claim>; 2] {
        let at_most = |what: &str, most: f64, measured: fn(Outcome) -> f64| {
            let measured = measured(self.found(OURS)?);
            Some(claim(self.named(OURS, what), most, measured, Within::AtMost))
        };
        [
            at_most("seconds to recovery, no more than", 6.0, |ours| {
                ours.recovery_s.unwrap_or(NEVER_S)
            }),
            at_most("worst second, times the load, no more than", 1.5, |ours| {
                ours.peak / OFFERED
            }),
        ]
    }
}

fn claims_of(part: Part, outcomes: &[(&str, Outcome)]) -> Vec<Claim> {
    let held = Held { part, outcomes };
    let claims = match (part.how, part.capacity) {
        (Stall::FailsFast, 1_500) => vec![
            held.in_stall(IMMEDIATE, 4_028.0),
            held.in_stall(EXPONENTIAL, 3_815.0),
            held.in_stall(FULL_SLOW, 2_910.0),
            held.recovers(IMMEDIATE, 0.0),
            held.never(FULL_SLOW),
        ],
        (Stall::FailsFast, 2_000) => vec![held.recovers(IMMEDIATE, 0.0), held.recovers(FULL_SLOW, 0.0)],
        (Stall::Hangs, 1_200) => vec![
            held.never(IMMEDIATE),
            held.recovers(NONE, 20.0),
            held.recovers(BREAKER, 3.0),
        ],
        (Stall::Hangs, 1_500) => [
            held.in_stall(IMMEDIATE, 2_821.0),
            held.never(IMMEDIATE),
            held.never(EXPONENTIAL),
            held.never(FULL),
            held.recovers(NONE, 7.0),
            held.recovers(BUDGET, 13.0),
            held.recovers(BREAKER, 3.0),
        ]
        .into_iter()
        .chain(held.ours())
        .collect(),
        (Stall::Hangs, 2_000) => vec![
            held.never(IMMEDIATE),
            held.recovers(NONE, 3.0),
            held.recovers(BUDGET, 5.0),
            held.recovers(BREAKER, 1.0),
        ],
        (Stall::Hangs, 5_000) => vec![
            held.recovers(IMMEDIATE, 7.0),
            held.recovers(NONE, 0.0),
            held.recovers(BUDGET, 1.0),
        ],
        // The reference has no other.
        (Stall::FailsFast | Stall::Hangs, _) => Vec::new(),
    };
    claims.into_iter().flatten().collect()
}

fn row(study: &Study, policy: &str, outcome: &Outcome) -> Value {
    json!({
        "stall": study.name,
        "policy": policy,
        "arrivals_in_stall_per_s": rounded(outcome.in_stall, 0),
        "peak_per_s": rounded(outcome.peak, 0),
        "recovery_s": outcome.recovery_s.map(|seconds| rounded(seconds, 1)),
        "success_rate": rounded(outcome.success, 4),
        "amplification": rounded(outcome.load, 3),
    })
}
