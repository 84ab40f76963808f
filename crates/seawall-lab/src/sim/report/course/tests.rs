use super::*;
use crate::sim::luck::Length;
use crate::sim::model::{Failures as Fails, Gaps, Load, Server, Tokens};
use crate::sim::study::Study;
use proptest::prelude::*;
use seawall_core::policy::Policy;

fn study(horizon: Duration) -> Study {
    Study {
        name: String::new(),
        model: Model {
            load: Load::Open {
                clients: 3,
                per_second: 50.0,
                gaps: Gaps::Poisson,
                bursts: Vec::new(),
            },
            tokens: Tokens::NONE,
            hop: Length::ZERO,
            layers: Vec::new(),
            servers: vec![Server {
                failures: Fails::Independent { chance: 0.3 },
                ..Server::default()
            }],
            spread: Spread::Route,
            horizon,
            warmup: Duration::from_secs(2),
        },
        contenders: vec![Contender {
            name: String::new(),
            policy: Policy::builder().retries(1).build().expect("a right policy"),
            fleet: Fleet::PerProcess { clients: 2 },
        }],
        seed: 1,
        seeds: 1,
    }
}

proptest! {
    #[test]
    fn steps_hold_every_bin_once_and_are_few(millis in 0_u64..200_000_000, steps_max in 0_usize..500) {
        // Could break by a last step that is left out, or by a run of years.
        let study = study(Duration::from_millis(millis));
        let mut tally = Tally::default();
        tally.bins.resize((millis / 100) as usize + 7, Bin { due: 1, ..Bin::default() });
        let part = Part { study: &study, tallies: &[tally], summaries: &[], prechecks: &[] };
        for (steps, most) in [(Steps::of(&part), STEPS_MAX), (Steps::at_most(&part, steps_max), steps_max.max(1))] {
            prop_assert!((1..=most).contains(&steps.count()));
            let mut next = 0;
            for step in 0..steps.count() {
                let (from, to) = steps.bounds(step);
                prop_assert!(from == next && to > from);
                next = to;
            }
            prop_assert_eq!(next, steps.end);
            prop_assert!(next >= (millis / 100) as usize);
        }
    }
}

#[test]
fn failures_by_reason_are_all_failures() {
    // Could break by a call that fails and is told nowhere, by one told twice, by a second that is counted as a step.
    let study = study(Duration::from_secs(20));
    let tallies: Vec<Tally> = study.jobs().map(|job| study.run(job)).collect();
    let failed: u64 = tallies[0].bins.iter().map(|bin| u64::from(bin.failed)).sum();
    let told: u64 = tallies[0]
        .failures
        .values()
        .flatten()
        .map(|count| u64::from(*count))
        .sum();
    assert!(failed > 50);
    assert_eq!(told, failed);
    let summaries = study.summaries(&tallies);
    let part = Part {
        study: &study,
        tallies: &tallies,
        summaries: &summaries,
        prechecks: &[],
    };
    let steps = Steps::at_most(&part, 10);
    let failures = steps.failures(&part);
    let drawn: f64 = failures.by_policy[0].iter().flatten().sum();
    let seconds = steps.seconds() / float(steps.count() as u64);
    let within: u32 = tallies[0].bins[..200].iter().map(|bin| bin.failed).sum();
    assert!(
        (drawn * seconds - f64::from(within)).abs() < 1e-6,
        "{drawn} a second in steps of {seconds} s, {within} up to the horizon"
    );
}

#[test]
fn gates_are_those_of_the_clients_and_of_every_layer() {
    // Could break by a share of gates above one: by a process, a server or a layer that is not counted.
    let mut study = study(Duration::from_secs(1));
    assert_eq!(
        breakers(&study.model, &study.contenders[0]),
        2,
        "three clients, two to a process"
    );
    study.model.servers.push(Server::default());
    assert_eq!(
        breakers(&study.model, &study.contenders[0]),
        4,
        "a gate for each server of a route"
    );
    study.model.spread = Spread::ShardsOneGate;
    assert_eq!(breakers(&study.model, &study.contenders[0]), 2);
    study.model.layers.push(crate::sim::model::Layer {
        name: String::new(),
        policy: None,
        processes: 5,
        told: crate::sim::model::Told::Nothing,
    });
    study.model.spread = Spread::ShardsOwnGates;
    assert_eq!(
        breakers(&study.model, &study.contenders[0]),
        2 + 5 * 2,
        "one to the layer, two from there"
    );
    let policy = Policy::builder().breaker(None).build().expect("a right policy");
    study.contenders[0].policy = policy;
    assert_eq!(breakers(&study.model, &study.contenders[0]), 0);
}

#[test]
fn a_band_holds_all_of_a_few_runs_and_eight_of_ten_of_many() {
    // Could break by a rank that is rounded down: then the band is wider than its words.
    let study = study(Duration::from_millis(100));
    for runs in 2..40_u32 {
        let tallies: Vec<Tally> = (1..=runs)
            .map(|due| Tally {
                bins: vec![Bin {
                    due,
                    ..Bin::default()
                }],
                ..Tally::default()
            })
            .collect();
        let part = Part {
            study: &study,
            tallies: &tallies,
            summaries: &[],
            prechecks: &[],
        };
        let course = Steps::of(&part).per_second(&tallies, |bin| bin.due);
        let outside = tallies.iter().filter(|tally| {
            let value = 10.0 * f64::from(tally.bins[0].due);
            value < course.low[0] || value > course.high[0]
        });
        let outside = u32::try_from(outside.count()).expect("few");
        match runs <= WHOLE_BAND_MAX {
            true => assert_eq!(outside, 0, "{runs} runs"),
            false => assert!(
                (2..=runs.div_ceil(5)).contains(&outside),
                "{outside} of {runs} runs"
            ),
        }
    }
}
