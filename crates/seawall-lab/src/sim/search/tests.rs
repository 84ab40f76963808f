//! The search held to a world in which the answer is known, and to itself.

use super::*;
use crate::sim::kit::{ms, open, plain, secs};
use crate::sim::luck::Length;
use crate::sim::model::{Capacity, Failures, Fleet, Layer, Load, Outage, Server, Spread, Told, Trouble};
use crate::sim::precheck::{Stability, precheck};
use seawall_core::policy::Jitter;
use seawall_core::time::Instant;
use std::collections::BTreeSet;

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
    plain(open(20, per_second), server, secs(60))
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
        notes: Vec::new(),
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
    let search = search(task(model.clone(), usual(), 300), Asserts(Vec::new()), usize::MAX);
    for candidate in search
        .candidates
        .iter()
        .filter(|candidate| candidate.origin == Origin::Drawn)
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
        candidate.origin == Origin::Drawn && breaker.is_some_and(|breaker| breaker.failure_per_mille() <= 250)
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
    assert!(winner.figures.success_rate > 0.998, "{winner:#?}");
    assert!(winner.policy.call.retries() >= 2);
    let fewest = found
        .front
        .iter()
        .map(|row| row.figures.amplification)
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
        winner.figures.amplification <= 1.05 && winner.figures.unmet.is_empty(),
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
fn the_one_is_held_to_seeds_that_the_search_has_not_seen() {
    // Could break by a proof with the seeds of the choice, which every lucky choice stands.
    let mut search = Search::new(task(stalling(), usual(), 200), Asserts(Vec::new()));
    let mut last = None;
    while let Some(study) = search.ask() {
        let chosen_by = 5..9;
        let own = study.seed..study.seed + u64::from(study.seeds);
        if search.stage == Stage::Proof {
            assert!(own.start >= chosen_by.end, "{own:?}");
        } else {
            assert!(
                own.start >= chosen_by.start && own.end <= chosen_by.end,
                "{own:?}"
            );
        }
        search.tell(study.jobs().map(|job| study.run(job)).collect());
        last = Some(study);
    }
    let found = search.found();
    let (winner, proof) = (
        found.winner.expect("one is best"),
        found.proof.expect("it was held"),
    );
    assert_eq!((proof.seed, proof.seeds), (9, 4));
    let held = last.expect("a proof is last");
    let place = held.contenders.iter().position(|held| held.name == winner.name);
    let tallies: Vec<Tally> = held.jobs().map(|job| held.run(job)).collect();
    let summary = &held.summaries(&tallies)[place.expect("the winner is held")];
    let out = winner.held_out.expect("its figures are told");
    assert_eq!(
        (out.success_rate, out.amplification, out.p99_ms),
        (summary.success_rate, summary.amplification, summary.p99_ms)
    );
    assert_ne!(out.ci, winner.figures.ci, "these are other runs");
    assert!(proof.policies >= 2 && proof.beside.is_some_and(|beside| beside.than == "ours"));
    assert!(found.given[0].held_out.is_some(), "so is what is there");
}

#[test]
fn a_choice_that_was_luck_is_told() {
    // Could break by a proof that is made and never looked at: this assert holds with the seeds of the search, and with
    // no others.
    struct Lucky(u64);
    impl Demands for Lucky {
        fn texts(&self) -> Vec<String> {
            vec!["luck".to_owned()]
        }
        fn holds(&self, _: usize, summary: &Summary) -> bool {
            summary.calls != self.0
        }
    }
    let task = task(stalling(), usual(), 120);
    let others = Study {
        seed: 9,
        ..task.study.clone()
    };
    // Calls come as they come, whatever the policy.
    let calls = others.jobs().map(|job| others.run(job).calls).sum();
    let found = search(task, Lucky(calls), usize::MAX).found();
    let winner = found.winner.as_ref().expect("with its own seeds it holds");
    assert!(winner.figures.unmet.is_empty());
    let proof = found.proof.as_ref().expect("it was held");
    assert_eq!((proof.standing, &proof.wanted), (Standing::Misses, &None));
    assert!(
        found.text().contains("it misses an assert here"),
        "{}",
        found.text()
    );
}

#[test]
fn nothing_runs_twice_under_two_names() {
    // Could break by a grid that counts the window of a breaker that is off.
    let search = search(task(stalling(), usual(), 400), Asserts(Vec::new()), usize::MAX);
    for (number, candidate) in search.candidates.iter().enumerate() {
        let policy = &candidate.contender.policy;
        let again = search.candidates[..number]
            .iter()
            .find(|other| other.contender.policy == *policy);
        assert!(
            again.is_none(),
            "{} is {:?}",
            candidate.contender.name,
            again.map(|other| &other.contender.name)
        );
    }
}

#[test]
fn the_policy_that_is_there_is_one_of_the_points() {
    // Could break by a grid without the file's own values: nothing near a good policy would be looked at.
    let odd = Policy::builder()
        .retries(4)
        .deadline(secs(20))
        .first_byte(ms(1_700))
        .backoff_base(ms(333))
        .backoff_cap(secs(7))
        .edit_budget(|budget| budget.ratio_per_mille(77).floor_milli(1_234))
        .edit_breaker(|breaker| breaker.consecutive(7).failure_per_mille(420).open_for(ms(700)))
        .hedge_after(ms(900))
        .build()
        .expect("a right policy");
    for policy in [odd, usual(), Policy::preset(Preset::Default)] {
        let space = Space::new(policy, ms(100), Luck::new(3));
        let own = space.own().expect("it is on the grid");
        assert_eq!(space.policy(own), Some(policy));
        assert_eq!(space.changes(own), 0);
        assert!(space.nearer_to_own(own).is_empty());
        for (knob, point) in space.neighbours(own) {
            assert!(space.changes(point) >= 1, "{knob:?}");
        }
    }
    // No file can say the first one, nobody should write the second, and so no point is one of them.
    let at_once = Policy {
        call: usual().call.without_waits(),
        ..usual()
    };
    let in_step = Policy::builder()
        .jitter(Jitter::None)
        .budget(None)
        .breaker(None)
        .build()
        .expect("a right policy");
    for policy in [at_once, in_step] {
        let space = Space::new(policy, ms(100), Luck::new(3));
        assert_eq!(space.own(), None);
        for point in space.spread(40, 1) {
            let policy = space.policy(point);
            assert!(policy.is_none_or(|policy| policy.call.backoff().jitter() != Jitter::None));
        }
    }
}

#[test]
fn what_binds_would_be_broken_by_one_step() {
    // Could break by a list of all settings, or of those that some other policy would break: 13 of 15 a second leave
    // little room.
    let mut model = stalling();
    if let Load::Open { per_second, .. } = &mut model.load {
        *per_second = 13.0;
    }
    let search = search(task(model.clone(), usual(), 300), Asserts(Vec::new()), usize::MAX);
    let found = search.found();
    let winner = found.winner.expect("something is best");
    let candidate = search
        .candidates
        .iter()
        .find(|candidate| candidate.contender.name == winner.name)
        .expect("it has run");
    let headroom = &found.constraints[0];
    assert_eq!(headroom.name, "headroom");
    let steps = search.space.neighbours(candidate.point.expect("it was drawn"));
    for (knob, point) in steps {
        let Some(policy) = search.space.policy(point) else {
            continue;
        };
        let contender = Contender {
            policy,
            ..candidate.contender.clone()
        };
        let is_safe = matches!(precheck(&model, &contender).stability, Stability::Stable);
        let binds = headroom.binds.iter().any(|key| key == knob.key());
        // A knob binds where either of its two steps is unsafe.
        assert!(is_safe || binds, "{} is unsafe and not told", knob.key());
    }
    for key in &headroom.binds {
        let unsafe_step = search
            .space
            .neighbours(candidate.point.expect("it was drawn"))
            .into_iter()
            .any(|(knob, point)| {
                let policy = search.space.policy(point).filter(|_| knob.key() == key);
                policy.is_some_and(|policy| {
                    let contender = Contender {
                        policy,
                        ..candidate.contender.clone()
                    };
                    precheck(&model, &contender).stability != Stability::Stable
                })
            });
        assert!(unsafe_step, "{key} is told and is safe");
    }
}

#[test]
fn an_assert_binds_where_something_better_misses_it_alone() {
    // Could break by looking among those alone that have run to the end: what misses an assert has been dropped by then.
    let server = Server {
        failures: Failures::Independent { chance: 0.1 },
        service: Length::Fixed(ms(100)),
        ..Server::default()
    };
    let asserts = Asserts(vec![("amplification <= 1.05", |of| of.amplification <= 1.05)]);
    let mut task = task(world(server, 20.0), usual(), 200);
    task.prefers = Prefers::Best(Objective::Success);
    let search = search(task, asserts, usize::MAX);
    let found = search.found();
    let winner = found.winner.expect("something holds to it");
    let limit = found.constraints.last().expect("the assert");
    assert!(!limit.binds.is_empty());
    for name in &limit.binds {
        let mut all = search.candidates.iter();
        let kept_out = all
            .find(|candidate| candidate.contender.name == *name)
            .expect("it ran");
        let summary = &kept_out.came_to.summary;
        assert!(summary.amplification > 1.05 && summary.success_rate > winner.figures.success_rate);
    }
}

#[test]
fn what_is_told_of_a_share_is_never_more_than_it_is() {
    // Could break by numbers that are rounded here in a way of their own: 99.996 of 100 is not all.
    let mut found = search(task(stalling(), usual(), 60), Asserts(Vec::new()), usize::MAX).found();
    for row in found
        .front
        .iter_mut()
        .chain(&mut found.given)
        .chain(&mut found.winner)
    {
        row.figures.success_rate = 0.999_96;
    }
    let text = found.text();
    assert!(text.contains("> 99.99 %") && !text.contains("100.00 %"), "{text}");
    // A world without an outage has no recovery, and one that bills nothing no cost.
    assert!(text.contains("recovery") && !text.contains("cost"), "{text}");
    found.tells.recovery = false;
    assert!(!found.text().contains("recovery"));
}

#[test]
fn what_is_left_out_is_counted() {
    // Could break by points that vanish: a base above its cap is no policy, and the grid has some.
    let mut search = search(task(stalling(), usual(), 400), Asserts(Vec::new()), usize::MAX);
    search.task.notes.push("a note".to_owned());
    assert!(search.contradictions > 0);
    let notes = search.found().notes;
    assert_eq!(notes[0], "a note");
    assert!(
        notes[1].starts_with(&format!("{} policies", search.contradictions)),
        "{notes:?}"
    );
}

#[test]
fn what_no_file_can_say_has_no_table() {
    // Could break by the table of another policy under its name.
    let at_once = Policy {
        call: usual().call.without_waits(),
        ..usual()
    };
    let found = search(task(stalling(), at_once, 60), Asserts(Vec::new()), usize::MAX).found();
    let json: serde_json::Value = serde_json::from_str(&found.json()).expect("it is JSON");
    assert!(json["given"][0]["toml"].is_null());
    assert!(json["winner"]["toml"].is_string());
}

#[test]
fn layers_keep_what_they_have_and_it_is_told() {
    // Could break by a search that changes a policy that somebody else owns, or by one that says nothing of whose
    // policy it is.
    let mut model = stalling();
    let layer = |name: &str, policy| Layer {
        name: name.to_owned(),
        policy,
        processes: 1,
        told: Told::Nothing,
    };
    let theirs = Policy::builder()
        .retries(1)
        .deadline(secs(20))
        .build()
        .expect("a right policy");
    model.layers = vec![layer("edge", Some(theirs)), layer("inner", None)];
    let mut search = Search::new(task(model, usual(), 60), Asserts(Vec::new()));
    let mut policies = BTreeSet::new();
    while let Some(study) = search.ask() {
        assert_eq!(study.model.layers[0].policy, Some(theirs));
        assert_eq!(study.model.layers[1].policy, None);
        policies.extend(study.contenders.iter().map(|of| policy_table(&of.policy)));
        search.tell(study.jobs().map(|job| study.run(job)).collect());
    }
    assert!(policies.len() > 5);
    let notes = search.found().notes.join("\n");
    assert!(
        notes.contains("without one of their own: inner") && notes.contains("keep their own: edge"),
        "{notes}"
    );
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
