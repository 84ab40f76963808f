//! Who is let in when a breaker tries again.
//!
//! A breaker that counts after it has checked, or not at all, lets in at half-open whoever has come meanwhile: a herd
//! meets a server that is just getting up. M. Nygard, Release It! ("Circuit Breaker"), says one; our rule H4 says
//! `probes`, three by default, counted under the lock. The most that a policy may say, 100, stands for a breaker that lets
//! in all.
//!
//! Calls here wait while it is open, so that there is a herd. Closing lets it out, whoever probed: only a ramp (rule H5)
//! spreads it, and the last contender shows that.

use super::kit::*;
use super::{Findings, Preset as Published, Scale};
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Contender, Fleet, Gaps, Load, Model, Outage, Server, Trouble};
use crate::sim::study::{Claim, Study};
use crate::sim::tally::{Tally, bin_of};
use seawall_core::policy::OnOpen;
use seawall_core::time::{Duration, Instant};
use serde_json::{Value, json};

pub(super) const PRESET: Published = Published {
    name: "half-open-herd",
    about: "a breaker that tries again: how many it lets in at once, with three probes, with a hundred, with a ramp",
    source: "M. Nygard, Release It!, \"Circuit Breaker\"; rules H4 and H5",
    seeds: 10,
    parts,
    findings,
};

/// Probes of our default, and of a breaker that lets in all.
const FEW: u32 = 3;
const ALL: u32 = 100;

const PER_SECOND: f64 = 500.0;
const DOWN_AT: Duration = secs(10);
const DOWN_FOR: Duration = secs(20);
/// From here on the breaker has opened for the first time, and what is sent are probes.
const OPEN_FROM: Duration = secs(13);
const HORIZON: Duration = secs(60);

fn parts(scale: &Scale) -> Vec<Study> {
    vec![Study {
        name: "a stall of 20 s".to_owned(),
        model: model(),
        contenders: contenders(),
        seed: scale.seed,
        seeds: scale.seeds,
    }]
}

/// A server of 1 000 a second that stalls.
fn model() -> Model {
    let server = Server {
        capacity: Capacity::Workers(10),
        service: Length::Fixed(ms(10)),
        outages: vec![Outage {
            at: Instant::START.after(DOWN_AT),
            lasts: DOWN_FOR,
            how: Trouble::Hang,
            share: 1.0,
        }],
        ..Server::default()
    };
    let load = Load::Open {
        clients: 500,
        per_second: PER_SECOND,
        gaps: Gaps::Poisson,
        bursts: Vec::new(),
    };
    plain(load, server, HORIZON)
}

fn contenders() -> Vec<Contender> {
    let breaker = |probes, ramp| {
        let policy = bare(0).deadline(secs(30)).first_byte(secs(1)).queue(1_000_000);
        built(policy.edit_breaker(|breaker| {
            breaker
                .probes(probes)
                .open_for(secs(5))
                .open_max(secs(5))
                .on_open(OnOpen::Wait)
                .ramp(ramp)
        }))
    };
    vec![
        contender("all are let in", breaker(ALL, None), Fleet::One),
        contender("three probes", breaker(FEW, None), Fleet::One),
        contender(
            "three probes and a ramp",
            breaker(FEW, Some(secs(10))),
            Fleet::One,
        ),
    ]
}

/// The most arrivals in 100 ms between two times, and all of them, of the seed that has the most.
fn arrivals(tallies: &[Tally], from: Duration, to: Duration) -> (u32, u32) {
    let bins = |tally: &Tally| {
        let (from, to) = (
            bin_of(Instant::START.after(from)),
            bin_of(Instant::START.after(to)),
        );
        let bins = tally.bins.iter().take(to).skip(from).map(|bin| bin.arrivals);
        (bins.clone().max().unwrap_or(0), bins.sum())
    };
    let each = tallies.iter().map(bins);
    each.fold((0, 0), |most: (u32, u32), (peak, sum)| {
        (most.0.max(peak), most.1.max(sum))
    })
}

fn findings(studies: &[Study], tallies: &[Vec<Tally>]) -> Findings {
    let mut rows = Vec::new();
    let mut seen = Vec::new();
    for (contender, tallies) in studies
        .iter()
        .zip(tallies)
        .flat_map(|(study, tallies)| by_contender(study, tallies))
    {
        let up_at = DOWN_AT.plus(DOWN_FOR);
        let (peak_down, all_down) = arrivals(tallies, OPEN_FROM, up_at);
        let (peak_up, _) = arrivals(tallies, up_at, HORIZON);
        let answered = success_of(tallies);
        rows.push(json!({
            "strategy": contender.name,
            "peak_down_per_100ms": peak_down,
            "attempts_down": all_down,
            "peak_up_per_100ms": peak_up,
            "success_rate": rounded(answered, 4),
        }));
        seen.push((f64::from(peak_down), f64::from(peak_up)));
    }
    Findings {
        claims: claims(&seen),
        table: Some(Value::Array(rows)),
        notes: vec![
            "Probes say whether a server is up; they are no protection once it is: at closing, all that wait go. Where calls \
             wait for an open breaker, set a ramp as well."
                .to_owned(),
        ],
    }
}

fn claims(seen: &[(f64, f64)]) -> Vec<Claim> {
    let [(all_down, _), (few_down, few_up), (ramp_down, ramp_up)] = seen else {
        return Vec::new();
    };
    vec![
        claim(
            "rule H4: attempts within 100 ms at a server that is down, three probes",
            f64::from(FEW),
            *few_down,
            Within::AtMost,
        ),
        claim(
            "rule H4: the same with three probes and a ramp",
            f64::from(FEW),
            *ramp_down,
            Within::AtMost,
        ),
        claim(
            "a breaker that lets in all: as many as its probes at once",
            f64::from(ALL),
            *all_down,
            Within::Share(0.02),
        ),
        claim(
            "rule H5: the herd at closing, with a ramp, is at most a fifth of that without",
            few_up / 5.0,
            *ramp_up,
            Within::AtMost,
        ),
    ]
}
