//! Outages and arrivals as they were: what a route through three providers makes of them, and what it costs.
//!
//! What can go wrong: outages are simulated as people imagine them, one at a time and five seconds long. Here three
//! services are down as three small services were for nine days in 2024 (the flakiest in 96 spells, for one time in
//! nine), and calls come, with their tokens, as they came to a model in 2023. Prices and answer times are ours: the
//! cheapest is the flakiest.
//!
//! Nine days at five calls a second would be four million calls, so 20 s of every ten minutes are lived through, put end
//! to end. What it does not cover: outages that providers share, and prices that change. The data and their licences
//! are in `real_outage/NOTICE.md`; a scenario file takes whole traces and event files by path.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{
    Arrival, Contender, Fleet, Load, Model, Outage, Price, Server, Spread, Tokens, Trouble,
};
use crate::sim::study::{Claim, Study};
use crate::sim::summary::{float, millis};
use crate::sim::tally::{Histogram, Tally};
use seawall_core::policy::{Jitter, Policy, Preset};
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "real-outage",
    about: "three providers that were down as three services really were, called as a model really was",
    source: "events of NoPlagiarism/services-personal-upptime (2024); AzureLLMInferenceTrace of Azure/AzurePublicDataset (2023)",
    seeds: 5,
    parts,
    findings,
};

const OUTAGES: &str = include_str!("real_outage/outages.csv");
const ARRIVALS: &str = include_str!("real_outage/arrivals.csv");
/// How much of each period is lived through. A service that fails on the hour must not be looked at on the hour alone.
const WINDOW: Duration = secs(20);
const PERIOD: Duration = secs(600);
/// Periods of which there are events: nine days.
const PERIODS: u64 = 209 * 6;
/// How much time the arrivals have, and how often they come again.
const ARRIVALS_LAST: Duration = secs(120);
const ROUNDS: u64 = PERIODS * WINDOW.as_secs() / ARRIVALS_LAST.as_secs();

/// A provider: which service it is down with, and what a million tokens cost there, read and written, in millionths of a
/// dollar.
const PROVIDERS: [(&str, Price); 3] = [
    ("breezewiki.r4fo.com", dollars(420_000, 1_100_000)),
    ("wl.vern.cc", dollars(1_000_000, 3_000_000)),
    ("breezewiki.pussthecat.org", dollars(3_000_000, 15_000_000)),
];

const fn dollars(per_million_in: u64, per_million_out: u64) -> Price {
    Price {
        per_million_in,
        per_million_out,
    }
}

/// Which provider is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    CheapestFirst,
    ReliableFirst,
}

const ALL: [Asked; 2] = [Asked::CheapestFirst, Asked::ReliableFirst];

impl Asked {
    const fn name(self) -> &'static str {
        match self {
            Self::CheapestFirst => "cheapest first",
            Self::ReliableFirst => "most reliable first",
        }
    }

    fn providers(self) -> Vec<(&'static str, Price)> {
        let mut providers = PROVIDERS.to_vec();
        match self {
            Self::CheapestFirst => {}
            Self::ReliableFirst => providers.reverse(),
        }
        providers
    }
}

fn parts(scale: &Scale) -> Vec<Study> {
    let study = |asked: Asked| Study {
        name: asked.name().to_owned(),
        model: model(asked),
        contenders: contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    };
    ALL.into_iter().map(study).collect()
}

fn model(asked: Asked) -> Model {
    let server = |(service, price): (&str, Price)| Server {
        service: Length::LogNormal {
            p50: ms(600),
            p99: ms(5_000),
        },
        outages: outages(service),
        price,
        ..Server::default()
    };
    Model {
        load: Load::Trace {
            clients: 100,
            calls: arrivals().into(),
        },
        tokens: Tokens::NONE,
        hop: Length::Fixed(ms(20)),
        layers: Vec::new(),
        servers: asked.providers().into_iter().map(server).collect(),
        spread: Spread::Route,
        horizon: WINDOW.times(PERIODS),
        warmup: Duration::ZERO,
    }
}

fn contenders() -> Vec<Contender> {
    let alone = bare(0).fallbacks(0);
    let retries = bare(3)
        .fallbacks(0)
        .backoff_base(ms(100))
        .backoff_min(Duration::ZERO)
        .jitter(Jitter::Full);
    vec![
        contender("one provider, no retries", built(alone), Fleet::One),
        contender("one provider, three retries", built(retries), Fleet::One),
        contender("seawall's default", Policy::preset(Preset::Default), Fleet::One),
    ]
}

/// The calls of two minutes, again and again.
fn arrivals() -> Vec<Arrival> {
    let calls: Vec<Arrival> = rows(ARRIVALS)
        .map(|[at, read, written]| Arrival {
            at: Instant::START.after(Duration::from_millis(at)),
            tokens_in: tokens(read),
            tokens_out: tokens(written),
        })
        .collect();
    let again = |round| {
        let later = move |call: &Arrival| Arrival {
            at: call.at.after(ARRIVALS_LAST.times(round)),
            ..*call
        };
        calls.iter().map(later)
    };
    (0..ROUNDS).flat_map(again).collect()
}

/// When this service was down, in the time that is lived through.
fn outages(service: &str) -> Vec<Outage> {
    let spells = OUTAGES
        .lines()
        .skip(1)
        .filter_map(|line| line.strip_prefix(service)?.strip_prefix(','));
    let spells = spells.map(numbers::<3>);
    spells
        .flat_map(|[down, up, status]| {
            let how = match status {
                // No answer at all.
                0 => Trouble::Refuse,
                _ => Trouble::FailFast,
            };
            within_windows(secs(down), secs(up)).map(move |(at, lasts)| Outage {
                at,
                lasts,
                how,
                share: 1.0,
            })
        })
        .collect()
}

/// The parts of a spell that are within the windows, where the windows stand end to end.
fn within_windows(from: Duration, to: Duration) -> impl Iterator<Item = (Instant, Duration)> {
    let periods = from.as_nanos() / PERIOD.as_nanos()..PERIODS;
    let within = move |period: u64| {
        let begins = PERIOD.times(period);
        let since = from.minus(begins).min(WINDOW);
        let until = to.minus(begins).min(WINDOW);
        (since < until).then(|| {
            let at = Instant::START.after(WINDOW.times(period)).after(since);
            (at, until.minus(since))
        })
    };
    periods.filter_map(within)
}

fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [u64; N]> {
    text.lines().skip(1).map(numbers)
}

fn numbers<const N: usize>(line: &str) -> [u64; N] {
    let mut fields = line
        .split(',')
        .map(|field| field.parse().expect("our own file has numbers"));
    std::array::from_fn(|_| fields.next().expect("our own file has all its columns"))
}

fn tokens(count: u64) -> u32 {
    u32::try_from(count).expect("our own file has counts of tokens")
}

/// What one policy came to, over all seeds.
struct Seen {
    lost_percent: f64,
    dollars_per_1000: f64,
    load: f64,
    mean_ms: f64,
}

impl Seen {
    fn of(tallies: &[Tally]) -> Self {
        let answered = sum(tallies, |tally| tally.succeeded);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a cost that is shown to a hundredth of a cent"
        )]
        let dollars = tallies.iter().map(|tally| tally.cost_pico_dollars).sum::<u128>() as f64 / 1e12;
        let mut latency = Histogram::default();
        tallies.iter().for_each(|tally| latency.merge(&tally.latency));
        Self {
            lost_percent: 100.0 * (1.0 - success_of(tallies)),
            dollars_per_1000: 1_000.0 * dollars / float(answered.max(1)),
            load: load_of(tallies),
            mean_ms: latency.mean().map_or(0.0, millis),
        }
    }
}

/// How many of the calls come while this service is down, in percent.
fn recorded(service: &str) -> f64 {
    let (outages, arrivals) = (outages(service), arrivals());
    let is_down = |at: Instant| {
        // A call reaches its server 20 ms after it was made.
        let at = at.after(ms(20));
        outages
            .iter()
            .any(|outage| outage.at <= at && at < outage.at.after(outage.lasts))
    };
    let down = arrivals.iter().filter(|call| is_down(call.at)).count();
    100.0 * ratio(down as u64, arrivals.len() as u64)
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for (_, study, tallies) in found(ALL, |asked| asked.name().to_owned(), studies, tallies) {
        let seen: Vec<Seen> = by_contender(study, tallies)
            .map(|(_, tallies)| Seen::of(tallies))
            .collect();
        rows.extend(
            study
                .contenders
                .iter()
                .zip(&seen)
                .map(|(contender, seen)| row(study, contender, seen)),
        );
        all.push(seen);
    }
    let [cheapest, reliable] = &all[..] else {
        return Findings::default();
    };
    let ([alone, _, routed], [dear, _, dear_routed]) = (&cheapest[..], &reliable[..]) else {
        return Findings::default();
    };
    Findings {
        claims: claims(alone, routed, dear, dear_routed),
        table: Some(Value::Array(rows)),
        notes: vec![
            format!(
                "Through the cheapest provider alone {:.2} % of the calls are lost; with seawall and two others behind it \
                 {:.3} %, at {:.2} instead of {:.2} dollars for a thousand answers.",
                alone.lost_percent, routed.lost_percent, routed.dollars_per_1000, alone.dollars_per_1000
            ),
            format!(
                "What asking the cheapest first makes: {:.2} dollars for a thousand answers, where asking the most reliable \
                 first costs {:.2}, {:.0} % less; {:.3} and {:.3} % are lost.",
                routed.dollars_per_1000,
                dear_routed.dollars_per_1000,
                100.0 * (1.0 - routed.dollars_per_1000 / dear_routed.dollars_per_1000),
                routed.lost_percent,
                dear_routed.lost_percent
            ),
            "Spells without any answer are refused connections here, those with a status are failures at once; a provider \
             that is down bills nothing."
                .to_owned(),
            "Data: NoPlagiarism/services-personal-upptime (MIT) and AzureLLMInferenceTrace (CC-BY-4.0; Patel et al., \
             Splitwise, ISCA 2024), 20 s of every ten minutes of 2024-10-30 to 2024-11-07."
                .to_owned(),
        ],
    }
}

fn claims(alone: &Seen, routed: &Seen, dear: &Seen, dear_routed: &Seen) -> Vec<Claim> {
    let [(cheap_name, _), .., (dear_name, _)] = PROVIDERS;
    let best = PROVIDERS
        .iter()
        .map(|(service, _)| recorded(service))
        .fold(f64::INFINITY, f64::min);
    let down = |name: &str, seen: &Seen| {
        let text = format!("{name} alone, no retries: calls that are lost, in percent, as recorded");
        claim(text, recorded(name), seen.lost_percent, Within::Amount(0.02))
    };
    vec![
        down(cheap_name, alone),
        down(dear_name, dear),
        claim(
            "cheapest first with seawall: percent lost is at most that of the best provider alone",
            best,
            routed.lost_percent,
            Within::AtMost,
        ),
        claim(
            "most reliable first with seawall: percent lost is at most that of the best provider alone",
            best,
            dear_routed.lost_percent,
            Within::AtMost,
        ),
        claim(
            "dollars for a thousand answers, cheapest first, are at most those of the most reliable first",
            dear_routed.dollars_per_1000,
            routed.dollars_per_1000,
            Within::AtMost,
        ),
    ]
}

fn row(study: &Study, contender: &Contender, seen: &Seen) -> Value {
    json!({
        "order": study.name,
        "strategy": contender.name,
        "availability_percent": rounded(100.0 - seen.lost_percent, 4),
        "cost_usd_per_1000_answers": rounded(seen.dollars_per_1000, 4),
        "attempts_per_call": rounded(seen.load, 4),
        "mean_ms": rounded(seen.mean_ms, 1),
    })
}
