//! The world held to what is known in closed form, and to itself.

mod tokens;

use super::agenda::Heap;
use super::kit::{self, secs};
use super::luck::Length;
use super::model::*;
use super::*;
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::{Duration, Instant};

const SEED: u64 = 7;

fn at(n: u64) -> Instant {
    Instant::START.after(secs(n))
}

fn contender(name: &str, policy: Policy) -> Contender {
    kit::contender(name, policy, Fleet::One)
}

/// So many retries, each at once, and nothing that stops them.
fn at_once(retries: u32, first_byte: Duration) -> Policy {
    kit::at_once(kit::bare(retries).first_byte(first_byte))
}

fn open(per_second: f64, horizon: Duration, server: Server) -> Model {
    kit::plain(kit::open(100, per_second), server, horizon)
}

fn near(measured: f64, expected: f64, share: f64, what: &str) {
    let off = (measured - expected).abs() / expected;
    assert!(
        off <= share,
        "{what}: {measured}, expected {expected}, {off:.4} off"
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}

#[test]
fn three_retries_of_independent_failures_leave_the_fourth_power() {
    // Could break by a draw that two attempts share, or by an attempt that is counted twice.
    for p in [0.1, 0.5, 0.9] {
        let server = Server {
            failures: Failures::Independent { chance: p },
            ..Server::default()
        };
        let tally = run(
            &open(1_000.0, secs(100), server),
            &contender("three", at_once(3, secs(60))),
            SEED,
        );
        near(
            ratio(tally.succeeded, tally.calls),
            1.0 - p.powi(4),
            0.01,
            "answered",
        );
        near(
            ratio(tally.arrivals, tally.calls),
            1.0 + p + p * p + p * p * p,
            0.01,
            "load",
        );
        near(ratio(tally.calls, 100_000), 1.0, 0.02, "calls");
    }
}

#[test]
fn one_worker_has_the_waits_of_the_textbook() {
    // Could break by a worker that rests while somebody waits, or works on two.
    let server = Server {
        capacity: Capacity::Workers(1),
        service: Length::Exponential {
            mean: Duration::from_millis(100),
        },
        ..Server::default()
    };
    let mut model = open(8.0, secs(30_000), server);
    model.warmup = secs(100);
    let tally = run(&model, &contender("none", at_once(0, secs(100_000))), SEED);
    // At a load of 0.8: a mean of 0.1 / (1 - 0.8), and 99 % below that times the logarithm of 100.
    let mean = tally.latency.mean().expect("calls").as_nanos();
    near(ratio(mean, 500_000_000), 1.0, 0.03, "mean");
    let p99 = tally.latency.percentile(990).expect("calls").as_nanos();
    near(ratio(p99, 2_302_585_093), 1.0, 0.05, "p99");
    near(
        ratio(tally.worked.as_nanos(), 30_000_000_000_000),
        0.8,
        0.02,
        "load",
    );
}

#[test]
fn both_agendas_and_both_halves_of_a_day_tell_the_same() {
    // Could break by a tie that one agenda turns round.
    let server = Server {
        capacity: Capacity::Workers(10),
        service: Length::Fixed(Duration::from_millis(10)),
        failures: Failures::Independent { chance: 0.2 },
        outages: vec![Outage {
            at: at(10),
            lasts: secs(5),
            how: Trouble::Hang,
            share: 1.0,
        }],
        ..Server::default()
    };
    let model = open(800.0, secs(30), server);
    let contender = contender("default", Policy::preset(Preset::Default));
    let tally = run(&model, &contender, SEED);
    assert_eq!(
        tally,
        World::<Heap<_>>::new(&model, &contender, SEED, Recording::Off).run(|_far| {})
    );
    assert_eq!(tally, run(&model, &contender, SEED));
    assert_ne!(tally, run(&model, &contender, SEED + 1));
}

#[test]
fn a_stall_of_five_seconds_is_survived_or_not_as_published() {
    // Could break by work that is dropped when its caller leaves, by a stall that works on, by retries that are lost.
    let stall = |how| Server {
        capacity: Capacity::Workers(1),
        service: Length::Fixed(Duration::from_nanos(1_000_000_000 / 1_500)),
        outages: vec![Outage {
            at: at(100),
            lasts: secs(5),
            how,
            share: 1.0,
        }],
        ..Server::default()
    };
    let naive = contender("naive", at_once(3, secs(1)));
    let none = contender("none", at_once(0, secs(1)));
    let fast = open(1_000.0, secs(200), stall(Trouble::FailFast));
    let hang = open(1_000.0, secs(200), stall(Trouble::Hang));

    let tally = run(&fast, &naive, SEED);
    let arrivals: u32 = tally.bins[1_000..1_050].iter().map(|bin| bin.arrivals).sum();
    near(f64::from(arrivals) / 5.0, 4_028.0, 0.02, "arrivals in the stall");

    let answered = |tally: &Tally, bins: std::ops::Range<usize>| -> u32 {
        tally.bins[bins].iter().map(|bin| bin.answered).sum()
    };
    let tally = run(&hang, &naive, SEED);
    assert_eq!(answered(&tally, 1_900..2_000), 0, "naive never recovers");
    let tally = run(&hang, &none, SEED);
    near(
        f64::from(answered(&tally, 1_160..1_260)),
        10_000.0,
        0.05,
        "without retries it does",
    );
    assert_eq!(answered(&tally, 1_055..1_100), 0, "but not at once");
}
