//! The simulator and the live loop: from one seed one trace, byte for byte.
//!
//! What can go wrong: a simulator asks the engine in an order, or at a time, that no live caller would, and what it shows
//! of a policy is true of itself alone. So small worlds are lived through twice: by `seawall_lab::sim`, and by the live
//! loop on a cranked clock, where each call is a task and the server is written anew for these tests, from the
//! description of the model. What the engines of both wrote down is compared as text.

mod live;

use proptest::prelude::*;
use seawall_core::policy::{Policy, PolicyBuilder, Preset};
use seawall_core::time::{Duration, Instant};
use seawall_lab::sim;
use seawall_lab::sim::luck::{Length, Luck, Purpose};
use seawall_lab::sim::model::{
    Arrival, Capacity, Contender, Failures, Fleet, Load, Model, Outage, Server, Spread, Tokens, Trouble,
};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn at(n: u64) -> Instant {
    Instant::START.after(ms(n))
}

/// Calls of a few clients: so many, with gaps of this mean.
fn calls(seed: u64, clients: u32, count: u64, mean: Duration) -> Load {
    let mut due = Instant::START;
    let calls = (0..count).map(|nth| {
        let mut draws = Luck::new(seed).of(Purpose::Arrival, 0, nth);
        due = due.after(Length::Exponential { mean }.draw(&mut draws));
        Arrival {
            at: due,
            tokens_in: 100,
            tokens_out: 10,
        }
    });
    Load::Trace {
        clients,
        calls: calls.collect(),
    }
}

/// A server with lengths that never tie.
fn server(capacity: Capacity, failures: Failures, outages: Vec<Outage>) -> Server {
    Server {
        capacity,
        service: Length::LogNormal {
            p50: ms(60),
            p99: ms(400),
        },
        failures,
        outages,
        ..Server::default()
    }
}

fn model(load: Load, server: Server) -> Model {
    Model {
        load,
        tokens: Tokens::NONE,
        hop: Length::Uniform {
            shortest: ms(1),
            longest: ms(3),
        },
        layers: Vec::new(),
        servers: vec![server],
        spread: Spread::Route,
        horizon: Duration::from_secs(3_600),
        warmup: Duration::ZERO,
    }
}

/// Lives through a world twice; gives the trace, for those who want to see what is in it.
fn compare(model: &Model, contender: &Contender, seed: u64) -> String {
    let (tally, simulated) = sim::traced(model, contender, seed);
    let lived = live::run(model, contender, seed);
    let mut whole = String::new();
    for (process, (simulated, lived)) in simulated.iter().zip(&lived.events).enumerate() {
        let lines = |events: &[seawall_core::trace::Event]| -> String {
            events.iter().map(|event| format!("{event}\n")).collect()
        };
        let (simulated, lived) = (lines(simulated), lines(lived));
        let pairs = simulated.lines().zip(lived.lines());
        let same = pairs.take_while(|(simulated, lived)| simulated == lived).count();
        // What they agreed on last, and what comes then: the whole is too long to read.
        let near = |lines: &str| -> Vec<String> {
            lines
                .lines()
                .skip(same.saturating_sub(8))
                .take(16)
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            near(&simulated),
            near(&lived),
            "process {process}, line {same}, seed {seed}"
        );
        assert!(simulated == lived, "process {process}, seed {seed}");
        whole.push_str(&simulated);
    }
    assert_eq!(simulated.len(), lived.events.len());
    assert_eq!(tally.arrivals, lived.arrivals, "attempts that reached the server");
    whole
}

/// A policy with everything that makes calls wait for each other.
fn busy() -> PolicyBuilder {
    Policy::builder()
        .retries(3)
        .backoff_base(ms(200))
        .first_byte(ms(900))
        .deadline(Duration::from_secs(8))
        .edit_budget(|budget| budget.ratio_per_mille(150).floor_milli(200))
        .edit_breaker(|breaker| breaker.consecutive(4).open_for(Duration::from_secs(2)))
}

#[test]
fn a_live_run_on_a_cranked_clock_gives_the_trace_of_the_simulator() {
    // Could break if the simulator asked once more, or earlier, or in another order, than a live caller does: at a
    // retry, a hedge that wins or loses, a limit, a queue, a break, a probe, a cool-down.
    let outages = vec![
        Outage {
            at: at(4_000),
            lasts: ms(1_500),
            how: Trouble::FailFast,
            share: 1.0,
        },
        Outage {
            at: at(9_000),
            lasts: ms(2_000),
            how: Trouble::Throttle {
                retry_after: Some(ms(700)),
            },
            share: 0.5,
        },
        Outage {
            at: at(13_000),
            lasts: ms(1_000),
            how: Trouble::Slow { factor: 6.0 },
            share: 1.0,
        },
    ];
    let failures = Failures::Sticky {
        first: 0.1,
        again: 0.4,
    };
    let server = server(Capacity::Workers(3), failures, outages);
    let policy = busy().hedge_after(ms(250)).concurrency(5).queue(20);
    let contender = Contender {
        name: "busy".to_owned(),
        policy: policy.build().unwrap(),
        fleet: Fleet::PerProcess { clients: 3 },
    };
    let mut met = String::new();
    for seed in 1..=8 {
        met.push_str(&compare(
            &model(calls(seed, 6, 300, ms(60)), server.clone()),
            &contender,
            seed,
        ));
    }
    // A world that meets none of it would prove nothing.
    for what in [
        " first",
        " retry",
        " hedge",
        " probe",
        "backing-off",
        "queued",
        "cools",
        "opened",
        "abandoned",
        "budget-empty",
        "breaker-open",
        "attempts-spent",
        "succeeded",
    ] {
        assert!(met.contains(what), "no world has met {what}");
    }
}

/// What a small world may be like.
#[derive(Clone, Debug)]
struct Drawn {
    seed: u64,
    clients: u32,
    calls: u64,
    gap: u64,
    workers: Option<u32>,
    first: f64,
    again: f64,
    outage: Option<(u64, u64, u8)>,
    fleet: u8,
    retries: u32,
    limit: Option<u32>,
    hedge: Option<u64>,
    first_byte: u64,
    preset: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let load = (any::<u64>(), 1..6_u32, 1..60_u64, 5..200_u64);
    let server = (
        proptest::option::of(1..5_u32),
        0.0..0.6_f64,
        0.0..0.9_f64,
        proptest::option::of((0..4_000_u64, 1..3_000_u64, 0..5_u8)),
    );
    let policy = (
        0..3_u8,
        0..5_u32,
        proptest::option::of(1..6_u32),
        proptest::option::of(20..400_u64),
        100..1_500_u64,
        any::<bool>(),
    );
    (load, server, policy).prop_map(|(load, server, policy)| Drawn {
        seed: load.0,
        clients: load.1,
        calls: load.2,
        gap: load.3,
        workers: server.0,
        first: server.1,
        again: server.2,
        outage: server.3,
        fleet: policy.0,
        retries: policy.1,
        limit: policy.2,
        hedge: policy.3,
        first_byte: policy.4,
        preset: policy.5,
    })
}

impl Drawn {
    fn model(&self) -> Model {
        let outages = self.outage.map(|(from, lasts, how)| Outage {
            at: at(from),
            lasts: ms(lasts),
            share: if how == 3 { 0.5 } else { 1.0 },
            how: match how {
                0 => Trouble::FailFast,
                1 => Trouble::Refuse,
                2 => Trouble::Slow { factor: 4.5 },
                3 => Trouble::Truncate,
                _ => Trouble::Throttle { retry_after: None },
            },
        });
        let capacity = self.workers.map_or(Capacity::Unbounded, Capacity::Workers);
        let failures = Failures::Sticky {
            first: self.first,
            again: self.again,
        };
        model(
            calls(self.seed, self.clients, self.calls, ms(self.gap)),
            server(capacity, failures, outages.into_iter().collect()),
        )
    }

    fn contender(&self) -> Contender {
        let policy = if self.preset {
            PolicyBuilder::from_preset(Preset::Batch)
        } else {
            busy()
        };
        let policy = policy
            .retries(self.retries)
            .first_byte(ms(self.first_byte))
            .concurrency(self.limit);
        // Under a limit, one call's hedge and another's attempt may be due in the same instant: a hedge is a fixed time
        // after an attempt, which goes when a third has had its fixed time. Which is first no clock promises.
        let policy = match (self.hedge, self.limit) {
            // Nor which of a hedge and the end of its own attempt is: every other time of a call is in whole milliseconds.
            (Some(after), None) => policy.hedge_after(ms(after).plus(Duration::from_nanos(500_000))),
            (None, _) | (_, Some(_)) => policy,
        };
        Contender {
            name: "drawn".to_owned(),
            policy: policy.build().unwrap(),
            fleet: match self.fleet {
                0 => Fleet::PerClient,
                1 => Fleet::PerProcess { clients: 2 },
                _ => Fleet::One,
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_small_world_has_one_trace(drawn in drawn()) {
        // Could break wherever two things are due in an order that only one of the two drivers keeps.
        compare(&drawn.model(), &drawn.contender(), drawn.seed);
    }
}
