//! The search held to a world in which the answer is known, and to itself.

use super::*;
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Failures, Fleet, Gaps, Load, Outage, Server, Spread, Trouble};
use seawall_core::time::Instant;
use std::collections::BTreeSet;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Whether an assert holds.
type Holds = fn(&Summary) -> bool;

/// Asserts made of functions.
struct Asserts(Vec<(&'static str, Holds)>);

impl Demands for Asserts {
    fn texts(&self) -> Vec<String> {
        self.0.iter().map(|(text, _)| (*text).to_owned()).collect()
    }

    fn holds(&self, nth: usize, summary: &Summary) -> bool {
        (self.0[nth].1)(summary)
    }
}

fn world(server: Server, per_second: f64) -> Model {
    Model {
        load: Load::Open {
            clients: 20,
            per_second,
            gaps: Gaps::Poisson,
            bursts: Vec::new(),
        },
        hop: Length::ZERO,
        layers: Vec::new(),
        servers: vec![server],
        spread: Spread::Route,
        horizon: secs(60),
        warmup: Duration::ZERO,
    }
}

/// A server of 15 a second that stalls for 3 s.
fn stalling() -> Model {
    let server = Server {
        capacity: Capacity::Workers(3),
        service: Length::Fixed(ms(200)),
        outages: vec![Outage {
            at: Instant::START.after(secs(15)),
            lasts: secs(3),
            how: Trouble::Hang,
            share: 1.0,
        }],
        ..Server::default()
    };
    world(server, 10.0)
}

fn given(policy: Policy) -> Contender {
    Contender {
        name: "ours".to_owned(),
        policy,
        fleet: Fleet::One,
    }
}

fn task(model: Model, policy: Policy, runs: u64) -> Task {
    Task {
        study: Study {
            name: "a world".to_owned(),
            model,
            contenders: vec![given(policy)],
            seed: 5,
            seeds: 4,
        },
        runs,
        prefers: Prefers::Knee,
    }
}

fn usual() -> Policy {
    Policy::builder()
        .deadline(secs(20))
        .first_byte(secs(2))
        .build()
        .expect("a right policy")
}

/// Runs a search to its end, `at_most` batches of it.
fn search<D: Demands>(task: Task, demands: D, at_most: usize) -> Search<D> {
    let mut search = Search::new(task, demands);
    for _ in 0..at_most {
        let Some(study) = search.ask() else { break };
        assert_eq!(search.ask().as_ref(), Some(&study), "asking changes nothing");
        let tallies = study.jobs().map(|job| study.run(job)).collect();
        search.tell(tallies);
    }
    search
}

#[test]
fn equal_seeds_find_equal_policies_within_the_runs_that_were_allowed() {
    // Could break by an order that depends on addresses or hashes, or by a rung that is not paid for.
    let run = || search(task(stalling(), usual(), 160), Asserts(Vec::new()), usize::MAX).found();
    let found = run();
    assert_eq!(found.json(), run().json());
    assert!(found.complete);
    assert!(found.runs <= 160 && found.runs > 80, "{} runs", found.runs);
    let winner = found.winner.expect("something is best");
    assert_eq!(found.front[0], winner);
    assert_eq!(found.stability, Some(Stability::Stable));
}

#[test]
fn what_closed_forms_call_unsafe_is_never_run() {
    // Could break by a filter behind the run: 13 of 15 a second leave 15 % of headroom, and no room for a ratio of 0.5.
    let mut model = stalling();
    if let Load::Open { per_second, .. } = &mut model.load {
        *per_second = 13.0;
    }
    let search = search(task(model.clone(), usual(), 120), Asserts(Vec::new()), usize::MAX);
    for candidate in search
        .candidates
        .iter()
        .filter(|candidate| candidate.point.is_some())
    {
        assert_eq!(
            precheck(&model, &candidate.contender).stability,
            Stability::Stable,
            "{:?}",
            candidate.contender.policy
        );
    }
    let found = search.found();
    let headroom = found.constraints.iter().find(|limit| limit.name == "headroom");
    assert!(headroom.is_some_and(|limit| limit.refused > 0 && !limit.set_aside));
}

#[test]
fn a_breaker_that_would_close_off_the_well_shards_is_refused() {
    // Could break by a search that likes breakers for the calls that they save.
    let model = Model {
        servers: vec![Server::default(); 4],
        spread: Spread::ShardsOneGate,
        ..world(Server::default(), 100.0)
    };
    let search = search(task(model, usual(), 40), Asserts(Vec::new()), usize::MAX);
    let of_quarter = |candidate: &&Candidate| {
        let breaker = candidate.contender.policy.gate.breaker();
        candidate.point.is_some() && breaker.is_some_and(|breaker| breaker.failure_per_mille() <= 250)
    };
    assert_eq!(search.candidates.iter().filter(of_quarter).count(), 0);
    let found = search.found();
    let harm = found
        .constraints
        .iter()
        .find(|limit| limit.name == "breaker-harm");
    assert!(harm.is_some_and(|limit| limit.refused > 0));
}

#[test]
fn where_failures_are_chance_it_finds_that_retries_answer_nearly_all() {
    // Could break by a front that loses its ends: a tenth fails, so retries and a budget for them answer 99.9 % and more.
    let server = Server {
        failures: Failures::Independent { chance: 0.1 },
        service: Length::Fixed(ms(100)),
        ..Server::default()
    };
    let mut task = task(world(server, 20.0), usual(), 240);
    task.prefers = Prefers::Best(Objective::Success);
    let found = search(task, Asserts(Vec::new()), usize::MAX).found();
    let winner = found.winner.expect("something is best");
    assert!(winner.success_rate > 0.998, "{winner:#?}");
    assert!(winner.policy.call.retries() >= 2);
    let fewest = found
        .front
        .iter()
        .map(|row| row.amplification)
        .fold(f64::INFINITY, f64::min);
    assert!(
        fewest < 1.02,
        "the other end of the front retries nearly never: {fewest}"
    );
}

#[test]
fn an_assert_decides_before_any_figure() {
    // Could break by an assert that is one wish among others.
    let server = Server {
        failures: Failures::Independent { chance: 0.1 },
        service: Length::Fixed(ms(100)),
        ..Server::default()
    };
    let asserts = Asserts(vec![("amplification <= 1.05", |of| of.amplification <= 1.05)]);
    let mut task = task(world(server, 20.0), usual(), 160);
    task.prefers = Prefers::Best(Objective::Success);
    let found = search(task.clone(), asserts, usize::MAX).found();
    let winner = found.winner.expect("something holds to it");
    assert!(
        winner.amplification <= 1.05 && winner.unmet.is_empty(),
        "{winner:#?}"
    );
    let limit = found.constraints.last().expect("the assert");
    assert_eq!(limit.name, "amplification <= 1.05");
    assert!(limit.refused > 0);

    let never = Asserts(vec![("amplification <= 0.5", |of| of.amplification <= 0.5)]);
    let found = search(task, never, usize::MAX).found();
    assert_eq!(found.winner, None, "what nothing meets has no winner");
    assert!(!found.front.is_empty());
}

#[test]
fn a_search_that_is_stopped_has_the_best_so_far() {
    // Could break by a result that stands only at the end.
    let early = search(task(stalling(), usual(), 400), Asserts(Vec::new()), 2);
    let found = early.found();
    assert!(!found.complete);
    assert!(found.runs > 0 && found.winner.is_some());
    let none = search(task(stalling(), usual(), 400), Asserts(Vec::new()), 0).found();
    assert_eq!((none.runs, none.winner), (0, None));
}

#[test]
fn rungs_take_no_more_runs_than_are_there_and_end_with_all_seeds() {
    // Could break by a bound that forgets the policies that stay to the end.
    for runs in [50, 200, 1_000, 20_000] {
        for seeds in [1, 2, 5, 10, 100] {
            for given in [0, 3] {
                let rungs = Rungs::within(runs, seeds, given);
                let last = rungs.0.last().expect("a round");
                assert_eq!(last.seeds, seeds);
                let least = Rungs::within(0, seeds, given).runs(given);
                assert!(
                    rungs.runs(given) <= runs.max(least),
                    "{runs} {seeds} {given}: {rungs:?}"
                );
                assert!(rungs.0.windows(2).all(|two| two[0].seeds < two[1].seeds));
                assert!(
                    rungs
                        .0
                        .windows(2)
                        .all(|two| two[0].candidates >= two[1].candidates)
                );
            }
        }
    }
}

#[test]
fn every_value_of_every_setting_is_tried_as_often_as_the_others() {
    // Could break by a draw that leaves out the last value of each ladder.
    let space = Space::new(usual(), ms(100), Luck::new(3));
    let points = space.spread(84, 1);
    let policies: Vec<Policy> = points.iter().filter_map(|point| space.policy(*point)).collect();
    let retries: BTreeSet<u32> = policies.iter().map(|policy| policy.call.retries()).collect();
    assert_eq!(retries.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 5, 8, 10]);
    let of_two = policies
        .iter()
        .filter(|policy| policy.call.retries() == 2)
        .count();
    assert!((8..=12).contains(&of_two), "{of_two} of {}", policies.len());
    for policy in &policies {
        assert_eq!(policy.call.deadline(), secs(20), "what is not searched stays");
        let first_byte = policy.call.timeouts().first_byte().expect("one is written");
        assert!(first_byte >= ms(200) && first_byte < secs(20));
    }
}
