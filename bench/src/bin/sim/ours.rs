//! Our simulations: the common world, a million clients through an outage, and the published jitter experiment.

use crate::shop::{
    BASE, CAP, CLIENTS_EACH, Counts, FAIL, HOP, PER_SECOND, PROCESSES, RETRIES, SERVICE_MEAN, WORKERS,
};
use seawall_core::policy::{Jitter, Policy, Preset};
use seawall_core::time::{Duration, Instant};
use seawall_lab::sim::luck::Length;
use seawall_lab::sim::model::{
    Capacity, Contender, Failures, Fleet, Gaps, Load, Model, Outage, Server, Spread, Start, Tokens, Trouble,
};
use seawall_lab::sim::run;
use seawall_lab::sim::tally::Tally;

/// The seed of all that is measured.
pub const SEED: u64 = 1;

fn of(length: std::time::Duration) -> Duration {
    Duration::from_nanos(length.as_nanos() as u64)
}

fn secs(seconds: f64) -> Duration {
    of(std::time::Duration::from_secs_f64(seconds))
}

/// What a tally says of it.
pub fn counts(tally: &Tally) -> Counts {
    let mean = tally.latency.mean().unwrap_or(Duration::ZERO);
    Counts {
        calls: tally.calls,
        answered: tally.succeeded,
        arrivals: tally.arrivals,
        events: tally.events,
        waited: mean.as_nanos() as f64 / 1e9 * tally.calls as f64,
    }
}

/// So many clients in processes of a thousand, each of whom calls every `every` seconds; workers have twice the room
/// that is needed.
fn model(load: Load, workers: u32, horizon: f64) -> Model {
    Model {
        load,
        tokens: Tokens::NONE,
        hop: Length::Fixed(of(HOP)),
        layers: Vec::new(),
        servers: vec![Server {
            capacity: Capacity::Workers(workers),
            service: Length::Exponential {
                mean: of(SERVICE_MEAN),
            },
            ..Server::default()
        }],
        spread: Spread::Route,
        horizon: secs(horizon),
        warmup: Duration::ZERO,
    }
}

fn open(clients: u32, per_second: f64) -> Load {
    Load::Open {
        clients,
        per_second,
        gaps: Gaps::Poisson,
        bursts: Vec::new(),
    }
}

fn default(clients_each: u32) -> Contender {
    Contender {
        name: "default".to_owned(),
        policy: Policy::preset(Preset::Default),
        fleet: Fleet::PerProcess {
            clients: clients_each,
        },
    }
}

/// The common world for so many seconds.
pub fn shop(seconds: f64) -> Tally {
    let mut model = model(open(CLIENTS_EACH * PROCESSES, PER_SECOND), WORKERS, seconds);
    model.servers[0].failures = Failures::Independent { chance: FAIL };
    let policy = Policy::builder()
        .retries(RETRIES)
        .backoff_base(of(BASE))
        .backoff_cap(of(CAP))
        .backoff_min(Duration::ZERO)
        .jitter(Jitter::Full)
        .build()
        .expect("a right policy");
    run(
        &model,
        &Contender {
            policy,
            ..default(CLIENTS_EACH)
        },
        SEED,
    )
}

/// So many clients of an open load, a call a second of each where there are few, for a million calls.
pub fn calm(clients: u32) -> Tally {
    let per_second = f64::from(clients).min(100_000.0);
    let model = model(
        open(clients, per_second),
        (per_second / 10.0) as u32,
        1e6 / per_second,
    );
    run(&model, &default(CLIENTS_EACH), SEED)
}

/// How the clients of an outage call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Whatever became of the calls before.
    Open,
    /// Each after its last call is over, and after 10 s in the mean.
    Closed,
}

/// Clients of the large run.
pub const MILLION: u32 = 1_000_000;

/// A million clients in processes of a thousand, of whom 100 000 call each second, through an outage of so many seconds,
/// and `around` seconds before it and after it.
pub fn million(callers: Callers, around: f64, outage: f64) -> Tally {
    let per_second = 100_000.0;
    let load = match callers {
        Callers::Open => open(MILLION, per_second),
        Callers::Closed => Load::Closed {
            clients: MILLION,
            think: Length::Exponential {
                mean: secs(f64::from(MILLION) / per_second),
            },
            start: Start::Spread,
            calls_each: None,
        },
    };
    let mut model = model(load, (per_second / 10.0) as u32, 2.0 * around + outage);
    model.servers[0].outages = vec![Outage {
        at: Instant::START.after(secs(around)),
        lasts: secs(outage),
        how: Trouble::FailFast,
        share: 1.0,
    }];
    run(&model, &default(CLIENTS_EACH), SEED)
}

/// Clients that write one row in the jitter experiment.
pub const WRITERS: u32 = 100;

/// The jitter experiment with full jitter: writes that arrived, and when the last client was done, in milliseconds.
pub fn contention(seed: u64) -> (u64, f64) {
    let load = Load::Closed {
        clients: WRITERS,
        think: Length::ZERO,
        start: Start::Together,
        calls_each: Some(1),
    };
    let mut model = model(load, 0, 600.0);
    model.hop = Length::FoldedNormal {
        mean: Duration::from_millis(10),
        deviation: Duration::from_millis(2),
    };
    model.servers = vec![Server {
        capacity: Capacity::OptimisticLock,
        ..Server::default()
    }];
    let policy = Policy::builder()
        .retries(100)
        .deadline(secs(600.0))
        .budget(None)
        .breaker(None)
        .backoff_base(Duration::from_millis(10))
        .backoff_cap(secs(2.0))
        .backoff_min(Duration::ZERO)
        .jitter(Jitter::Full)
        .build()
        .expect("a right policy");
    let contender = Contender {
        policy,
        fleet: Fleet::One,
        ..default(CLIENTS_EACH)
    };
    let tally = run(&model, &contender, seed);
    let done = tally.ended_at.since(Instant::START);
    (tally.arrivals, done.as_nanos() as f64 / 1e6)
}
