//! A herd: 5 000 clients whose calls all fail at one moment, and the peaks in which they come back.
//!
//! What can go wrong: jitter is taken for a cure. It spreads the first retries over the base, and no further: 5 000
//! clients within a base of 100 ms are still 5 000 in 100 ms, and with full jitter more, since a client whose first wait
//! was short is back a second time within it. What keeps a peak under P in a bucket of w is a base of at least
//! 1.5 · N · w / P, or somebody who says when to come.
//!
//! Closed form of full jitter, for x up to the base b: N · Σₖ xᵏ / (k! · bᵏ · 2^(k(k−1)/2)) retries within x.
//!
//! Only retries count, the first bucket begins when the calls fail, nobody gives up, and waits are at most 30 s. Our lower
//! end of full jitter is set to nothing. The reference's decorrelated kind is AWS's; ours differs from it at the cap alone.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Contender, Fleet, Load, Model, Outage, Server, Start, Trouble};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::float;
use crate::sim::tally::Tally;
use seawall_core::policy::{Jitter, Policy, Preset};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "herd",
    about: "5000 clients whose calls fail at one moment, and the peaks in which they come back",
    source: "AWS's kinds of jitter, in closed form and in an independent simulation",
    // The reference's own luck is a part of the tolerance; ours had better be a small one.
    seeds: 40,
    parts,
    findings,
};

const REFERENCE: &str = include_str!("herd.csv");
const CLIENTS: u32 = 5_000;
/// More than anybody needs within the longest outage.
const RETRIES: u32 = 100;
/// The longest wait.
const CAP: Duration = secs(30);
/// The strategies, in the order of the reference.
const STRATEGIES: [&str; 4] = ["plain", "equal", "full", "decorr"];
const FULL: usize = 2;

/// What the part is called that shows ours.
const OURS: &str = "seawall's default, down 5 s";

/// One server that is down for so long, and clients whose first ceiling is the base.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    base: Duration,
    down: Duration,
    /// For each strategy: the reference's peak.
    peaks: Vec<f64>,
}

fn all() -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for row in rows(REFERENCE) {
        let [base, down, strategy, peak] = row[..] else {
            unreachable!("the reference has four columns")
        };
        let [base, down] = [length(base), length(down)];
        let peak = number(peak);
        match parts.last_mut() {
            Some(part) if (part.base, part.down) == (base, down) => part.peaks.push(peak),
            Some(_) | None => parts.push(Part {
                base,
                down,
                peaks: vec![peak],
            }),
        }
        let nth = parts.last().map_or(0, |part| part.peaks.len());
        debug_assert_eq!(strategy, STRATEGIES[nth - 1], "in the order of the strategies");
    }
    parts
}

impl Part {
    fn name(&self) -> String {
        format!("base {} s, down {} s", seconds(self.base), seconds(self.down))
    }
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |name, down, contenders| Study {
        name,
        model: model(down),
        contenders,
        seed: scale.seed,
        seeds: scale.seeds,
    };
    let published = all()
        .into_iter()
        .map(|part| study(part.name(), part.down, contenders(part.base)));
    published
        .chain([study(OURS.to_owned(), secs(5), ours())])
        .collect()
}

fn model(down: Duration) -> Model {
    let load = Load::Closed {
        clients: CLIENTS,
        think: Length::ZERO,
        start: Start::Together,
        calls_each: Some(1),
    };
    let server = Server {
        outages: vec![Outage {
            at: Instant::START,
            // All first attempts fail, whenever the server is back.
            lasts: down.max(Duration::from_nanos(1)),
            how: Trouble::FailFast,
            share: 1.0,
        }],
        ..Server::default()
    };
    plain(load, server, secs(120))
}

fn contenders(base: Duration) -> Vec<Contender> {
    let waits = |jitter| -> Policy {
        let builder = bare(RETRIES).backoff_base(base).backoff_cap(CAP);
        built(builder.backoff_min(Duration::ZERO).jitter(jitter))
    };
    let kinds = [Jitter::None, Jitter::Equal, Jitter::Full, Jitter::DecorrelatedAws];
    let named = STRATEGIES.into_iter().zip(kinds);
    named
        .map(|(name, jitter)| contender(name, waits(jitter), Fleet::One))
        .collect()
}

fn ours() -> Vec<Contender> {
    let policy = Policy::preset(Preset::Default);
    vec![
        contender("one gate", policy, Fleet::One),
        contender("a gate a client", policy, Fleet::PerClient),
    ]
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let run = found(all(), |part| part.name(), studies, tallies);
    let measured: Vec<(&Part, Vec<f64>)> = run
        .iter()
        .map(|(part, study, tallies)| (part, peaks(study, tallies).map(|(_, peak)| peak).collect()))
        .collect();
    let mut claims = peak_claims(&measured);
    claims.extend(closed_claims(&run));
    let mut notes = vec![
        "Jitter alone cannot hold a herd below any peak: of N clients in buckets of w, full jitter keeps the peak under P \
         from a base of 1.5 · N · w / P on (N · w / P where the first retry succeeds). For 5000 clients and 10 in 100 ms \
         that is 75 s (50 s)."
            .to_owned(),
        "After 30 s all wait at the cap, and the peak no longer depends on the base.".to_owned(),
    ];
    for (_, study, tallies) in found([OURS], |part| (*part).to_owned(), studies, tallies) {
        notes.extend(peaks(study, tallies).map(|(contender, peak)| {
            let peak = rounded(peak, 0);
            format!(
                "{OURS}, {}: at most {peak} retries within 100 ms.",
                contender.name
            )
        }));
    }
    Findings {
        claims,
        table: Some(table(&measured)),
        notes,
    }
}

/// The most retries within 100 ms of each contender, the mean over seeds.
fn peaks<'a>(study: &'a Study, tallies: &'a [Tally]) -> impl Iterator<Item = (&'a Contender, f64)> {
    by_contender(study, tallies).map(|(contender, tallies)| (contender, mean(tallies, peak)))
}

/// The most retries in a bucket.
fn peak(tally: &Tally) -> f64 {
    let retries = tally.bins.iter().map(|bin| u64::from(bin.extras));
    float(retries.max().unwrap_or(0))
}

/// For each strategy: how many peaks are within 3 % of the reference, those of the bases that are compared most, and
/// those that are not within it.
fn peak_claims(measured: &[(&Part, Vec<f64>)]) -> Vec<Claim> {
    let mut claims = Vec::new();
    if measured.is_empty() {
        return claims;
    }
    for (number, strategy) in STRATEGIES.into_iter().enumerate() {
        let (mut all, mut within) = (0_u64, 0_u64);
        for (part, ours) in measured {
            let name = format!(
                "herd: retries in the worst 100 ms, {strategy}, base {} s, down {} s",
                seconds(part.base),
                seconds(part.down)
            );
            let peak = claim(name, part.peaks[number], ours[number], Within::Share(0.03));
            all += 1;
            within += u64::from(peak.holds);
            let is_known = part.down == secs(1) && (part.base == ms(100) || part.base == secs(1));
            if is_known || !peak.holds {
                claims.push(peak);
            }
        }
        claims.push(claim(
            format!("herd: peaks of {strategy} within 3 %"),
            float(all),
            float(within),
            Within::AtLeast,
        ));
    }
    claims
}

/// Full jitter against its closed form, which knows nothing of any program.
fn closed_claims(run: &[(Part, &Study, &[Tally])]) -> Vec<Claim> {
    let full = |base: Duration| {
        let mut run = run.iter();
        let (_, study, tallies) = run.find(|(part, ..)| part.base == base && part.down == secs(1))?;
        by_contender(study, tallies).nth(FULL).map(|(_, tallies)| tallies)
    };
    let retries = |tallies: &[Tally], bin: usize| {
        mean(tallies, |tally| {
            float(tally.bins.get(bin).map_or(0, |bin| u64::from(bin.extras)))
        })
    };
    let mut claims = Vec::new();
    if let Some(tallies) = full(ms(100)) {
        claims.push(claim(
            "herd: closed form, full jitter of base 0.1 s, retries within 0.1 s: more than there are clients",
            within(1.0),
            retries(tallies, 0),
            Within::Share(0.03),
        ));
    }
    if let Some(tallies) = full(secs(1)) {
        claims.push(claim(
            "herd: closed form, full jitter of base 1 s, retries from 0.9 to 1 s",
            within(1.0) - within(0.9),
            retries(tallies, 9),
            Within::Share(0.03),
        ));
    }
    claims
}

/// Retries within this share of the base, up to 1, where the server stays down.
fn within(share: f64) -> f64 {
    let mut sum = 0.0;
    let (mut term, mut halved) = (1.0, 1.0);
    for k in 1..=20_u32 {
        term *= share / f64::from(k) / halved;
        halved *= 2.0;
        sum += term;
    }
    sum * f64::from(CLIENTS)
}

fn table(measured: &[(&Part, Vec<f64>)]) -> Value {
    let rows = measured.iter().flat_map(|(part, peaks)| {
        STRATEGIES.into_iter().zip(peaks).map(|(strategy, peak)| {
            json!({
                "base_s": seconds(part.base),
                "down_s": seconds(part.down),
                "strategy": strategy,
                "peak": rounded(*peak, 1),
            })
        })
    });
    Value::Array(rows.collect())
}
