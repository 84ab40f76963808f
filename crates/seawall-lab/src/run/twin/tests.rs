//! Twins on a clock that is turned, where every figure is exact.

mod safe;

use super::*;
use crate::sim::agreement::{Accord, compare};
use crate::sim::kit::{self, ms};
use crate::sim::luck::Length;
use crate::sim::model::{Failures, Gaps, Model, Order, Orphans, Outage, Renewal, Server, Start};
use seawall_core::policy::{Jitter, Policy, Preset};
use seawall_core::time::{Duration, Instant};

fn at(n: u64) -> Instant {
    Instant::START.after(ms(n))
}

fn open(per_second: f64) -> Load {
    kit::open(20, per_second)
}

fn study(load: Load, server: Server, policies: &[(&str, Policy)]) -> Study {
    let contenders = policies.iter();
    let contenders = contenders.map(|(name, policy)| kit::contender(*name, *policy, Fleet::One));
    Study {
        name: "twin".to_owned(),
        model: Model {
            hop: Length::Uniform {
                shortest: ms(20),
                longest: ms(40),
            },
            warmup: ms(500),
            ..kit::plain(load, server, Duration::from_secs(4))
        },
        contenders: contenders.collect(),
        seed: 11,
        seeds: 2,
    }
}

fn exponential() -> Policy {
    let builder = Policy::builder()
        .retries(3)
        .backoff_base(ms(100))
        .jitter(Jitter::Full);
    let bare = builder.budget(None).breaker(None).first_byte(ms(600));
    bare.build().expect("a right policy")
}

#[test]
fn what_never_arrives_names_the_limit_that_is_mostly_why() {
    // Could break by an error that names only what happened: who has too few open files waits a minute and learns nothing.
    let told = TwinError::from(Stuck::OnItsWay).to_string();
    assert!(
        told.contains("within a minute") && told.contains("`ulimit -n`"),
        "{told}"
    );
}

/// Simulates and lives through a study, and holds the two to each other.
fn same(study: &Study) -> Vec<Tally> {
    let simulated: Vec<Tally> = study.jobs().map(|job| study.run(job)).collect();
    let lived = live(study, Speed::Turned, &Halt::default()).expect("a twin that lives");
    let lived = lived.expect("nobody halts it");
    for (nth, (simulated, lived)) in simulated.iter().zip(&lived).enumerate() {
        let counts = |tally: &Tally| {
            let tally = tally.clone();
            (
                (tally.calls, tally.succeeded, tally.retried),
                (tally.arrivals, tally.extras),
                (tally.worked, tally.orphaned, tally.cost_pico_dollars),
                tally.failures,
            )
        };
        assert_eq!(counts(lived), counts(simulated), "job {nth}");
        let latencies = |tally: &Tally| {
            let tally = tally.clone();
            (tally.latency, tally.latency_answered, tally.latency_retried)
        };
        // Too long to be printed.
        assert!(
            latencies(lived) == latencies(simulated),
            "job {nth}: latencies differ"
        );
    }
    for agreement in compare(study, &simulated, &lived, Speed::Turned) {
        assert_eq!(agreement.accord, Accord::Equal, "{agreement:?}");
    }
    lived
}

#[test]
fn a_twin_meets_what_the_simulation_met_to_the_nanosecond() {
    // Could break by a draw that goes by anything else than the call and the attempt, a wait that another clock keeps, a
    // status that the client takes for something else than the simulator does.
    let server = Server {
        failures: Failures::Sticky {
            first: 0.2,
            again: 0.5,
        },
        service: Length::LogNormal {
            p50: ms(40),
            p99: ms(700),
        },
        outages: vec![
            Outage {
                at: at(1_000),
                lasts: ms(400),
                how: Trouble::FailFast,
                share: 1.0,
            },
            Outage {
                at: at(2_000),
                lasts: ms(300),
                how: Trouble::Throttle {
                    retry_after: Some(ms(150)),
                },
                share: 0.7,
            },
            Outage {
                at: at(3_000),
                lasts: ms(300),
                how: Trouble::Truncate,
                share: 1.0,
            },
        ],
        ..Server::default()
    };
    let policies = [
        ("exponential", exponential()),
        ("default", Policy::preset(Preset::Default)),
    ];
    let lived = same(&study(open(25.0), server, &policies));
    let counts: Vec<(u64, u64)> = lived.iter().map(|tally| (tally.calls, tally.retried)).collect();
    assert!(
        counts.iter().all(|(calls, retried)| *calls > 50 && *retried > 0),
        "{counts:?}"
    );
}

#[test]
fn work_for_callers_who_have_left_goes_on_in_a_twin_too() {
    // Could break by a mock that drops its work when a connection closes, or a stall whose end nobody notices.
    let server = Server {
        capacity: Capacity::Workers(2),
        service: Length::Uniform {
            shortest: ms(40),
            longest: ms(80),
        },
        outages: vec![Outage {
            at: at(1_000),
            lasts: ms(1_000),
            how: Trouble::Hang,
            share: 1.0,
        }],
        ..Server::default()
    };
    let lived = same(&study(
        open(20.0),
        server.clone(),
        &[("exponential", exponential())],
    ));
    assert!(
        lived.iter().all(|tally| !tally.orphaned.is_zero()),
        "nobody has left"
    );
    let dropped = Server {
        orphans: Orphans::Dropped,
        order: Order::Lifo,
        queue_max: Some(6),
        ..server
    };
    let lived = same(&study(open(20.0), dropped, &[("exponential", exponential())]));
    assert!(
        lived.iter().all(|tally| tally.reasons["attempts-spent"] > 0),
        "nobody was shed"
    );
}

#[test]
fn clients_in_a_circle_and_connections_of_a_pool_are_the_twins_as_well() {
    // Could break by a client that thinks by another clock, or a connection that is free while its call waits to go again.
    let server = Server {
        failures: Failures::Independent { chance: 0.3 },
        service: Length::Uniform {
            shortest: ms(10),
            longest: ms(30),
        },
        ..Server::default()
    };
    let closed = Load::Closed {
        clients: 5,
        think: Length::Exponential { mean: ms(200) },
        start: Start::Spread,
        calls_each: Some(6),
    };
    same(&study(closed, server.clone(), &[("exponential", exponential())]));
    let pool = Load::Pool {
        connections: 3,
        per_second: 25.0,
        gaps: Gaps::Poisson,
    };
    let lived = same(&study(pool, server, &[("exponential", exponential())]));
    assert!(
        lived.iter().all(|tally| tally.latency.max() > ms(500)),
        "nobody waits for a connection"
    );
}

#[test]
fn what_a_twin_cannot_do_it_refuses_by_name() {
    // Could break by a switch that is left out without a word: two columns would differ, and nobody would know why.
    let server = Server {
        capacity: Capacity::OptimisticLock,
        outages: vec![Outage {
            at: at(1),
            lasts: ms(1),
            how: Trouble::Refuse,
            share: 1.0,
        }],
        ..Server::default()
    };
    let renewed = Server {
        renewal: Some(Renewal {
            up: Length::Fixed(ms(1)),
            down: Length::Fixed(ms(1)),
            how: Trouble::Refuse,
            share: 1.0,
        }),
        ..Server::default()
    };
    let throttled = Server {
        outages: vec![Outage {
            at: at(1),
            lasts: ms(1),
            how: Trouble::Throttle {
                retry_after: Some(Duration::from_micros(1_500)),
            },
            share: 1.0,
        }],
        ..Server::default()
    };
    for (server, told) in [(renewed, "refuse connections"), (throttled, "whole milliseconds")] {
        let lacks = lacks(&study(
            open(1.0),
            server,
            &[("none", Policy::preset(Preset::Off))],
        ));
        assert!(lacks.len() == 1 && lacks[0].contains(told), "{lacks:?}");
    }
    let study = study(open(1.0), server, &[("none", Policy::preset(Preset::Off))]);
    let error = live(&study, Speed::Turned, &Halt::default()).expect_err("it cannot");
    let text = error.to_string();
    for what in ["optimistic lock", "refuse connections", "without --live"] {
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn a_limit_and_the_waits_that_it_asks_for_are_the_twins_as_well() {
    // Could break by a wait that is rounded on the wire, or one of the mock's own buckets that counts beside the server's. Each
    // client has gates of its own: of many who wait at one gate for one instant, who goes first is nobody's promise.
    let text = r#"
        horizon = "20s"
        seeds = 2
        load = { clients = 12, think = { exponential = "500ms" }, start = "spread" }
        server = { capacity = "unbounded", latency = { uniform = ["50ms", "150ms"] }, limit = { rpm = 600, burst = 5 } }
        [[policy]]
        name = "default"
        fleet = "client"
        [[policy]]
        name = "at once"
        naive = "immediate"
        retries = 2
        fleet = "client"
        "#;
    let simulation = crate::run::simulate::Simulation::parse("limited.toml", text).expect("a right file");
    let lived = same(&simulation.study);
    assert!(
        lived.iter().all(|tally| tally.retried > 0),
        "nobody was told to wait"
    );
}

#[test]
fn the_presets_that_have_a_twin_are_those_that_the_reference_names() {
    // Could break by a switch that a preset begins to use and no twin has.
    let scale = crate::sim::preset::Scale { seed: 0, seeds: 1 };
    let all = crate::sim::preset::ALL.iter();
    let lived = all.filter(|preset| refuse(&(preset.parts)(&scale)).is_ok());
    let lived: Vec<&str> = lived.map(|preset| preset.name).collect();
    let reference = include_str!("../../../../../docs/reference/simulation.md");
    let told = reference
        .split("Of the presets, ")
        .nth(1)
        .expect("the sentence is there");
    let told = told.split(" have one;").next().expect("its end is there");
    let told: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
    assert_eq!(lived.len(), told.len(), "{lived:?}");
    assert!(told.iter().all(|name| lived.contains(name)), "{lived:?} {told:?}");
}
