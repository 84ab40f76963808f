//! What a run comes to, to the last count: whoever makes it faster makes nothing else of it.

use super::World;
use super::sources::Source;
use crate::sim::agenda::Radix;
use crate::sim::bounds::{Bounds, Overrun};
use crate::sim::kit::{at_once, bare, built, contender, plain};
use crate::sim::luck::{Length, Luck};
use crate::sim::model::*;
use crate::sim::tally::Tally;
use expect_test::{Expect, expect};
use seawall_core::policy::{Policy, PolicyBuilder};
use seawall_core::time::{Duration, Instant};
use std::fmt::Write as _;

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn outage(how: Trouble, share: f64) -> Outage {
    Outage {
        at: Instant::START.after(millis(5_000)),
        lasts: millis(4_000),
        how,
        share,
    }
}

fn workers(workers: u32, outages: Vec<Outage>) -> Server {
    Server {
        capacity: Capacity::Workers(workers),
        service: Length::Exponential { mean: millis(20) },
        outages,
        ..Server::default()
    }
}

fn model(load: Load, servers: Vec<Server>) -> Model {
    Model {
        servers,
        warmup: millis(1_000),
        ..plain(load, Server::default(), millis(20_000))
    }
}

fn open(per_second: f64) -> Load {
    Load::Open {
        clients: 50,
        per_second,
        gaps: Gaps::Poisson,
        bursts: vec![Burst {
            at: Instant::START.after(millis(12_000)),
            lasts: millis(1_000),
            factor: 3.0,
        }],
    }
}

fn policy(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> Policy {
    change(Policy::builder()).build().expect("a right policy")
}

/// Every count of a run, short: a list is told by its length and by a number that each of its items moves.
fn told(tally: &Tally) -> String {
    let mut out = String::new();
    let counts = (
        tally.calls,
        tally.succeeded,
        tally.retried,
        tally.arrivals,
        tally.extras,
        tally.unreached,
    );
    let mut folded = 0_u64;
    for bin in &tally.bins {
        for count in [
            bin.due,
            bin.answered,
            bin.failed,
            bin.arrivals,
            bin.extras,
            bin.open_gates,
        ] {
            folded = folded.wrapping_mul(0x0100_0000_01b3) ^ u64::from(count);
        }
    }
    let open: u32 = tally.bins.iter().map(|bin| bin.open_gates).sum();
    let means = [&tally.latency, &tally.latency_answered, &tally.latency_retried]
        .map(|latency| latency.mean().map_or(0, Duration::as_nanos));
    writeln!(out, "{counts:?}").unwrap();
    let work = [tally.worked, tally.orphaned].map(Duration::as_nanos);
    writeln!(out, "{means:?} {work:?}").unwrap();
    writeln!(out, "{} bins {folded:016x}, {open} open", tally.bins.len()).unwrap();
    writeln!(out, "{:?}", tally.reasons).unwrap();
    write!(out, "{}", tally.ended_at).unwrap();
    out
}

fn check(model: &Model, policy: Policy, fleet: Fleet, expected: Expect) {
    let contender = Contender {
        name: "one".to_owned(),
        policy,
        fleet,
    };
    expected.assert_eq(&told(&crate::sim::run(model, &contender, 11)));
}

#[test]
fn an_open_load_through_an_outage_counts_what_it_did() {
    // Could break by a draw that moves, by an event that is lost or comes twice, by a gate that is not looked at.
    let model = model(
        open(400.0),
        vec![workers(12, vec![outage(Trouble::FailFast, 1.0)])],
    );
    let policy = policy(|builder| builder.first_byte(millis(800)));
    check(
        &model,
        policy,
        Fleet::PerProcess { clients: 10 },
        expect![[r#"
            (8433, 6347, 320, 7104, 339, 0)
            [203212398, 224488759, 1409693593] [139617413927, 9985917961]
            201 bins 9aa3826b898c167b, 204 open
            {"backing-off": 494, "breaker-open": 1823, "budget-empty": 263, "succeeded": 6347}
            20.034988485s"#]],
    );
}

#[test]
fn a_closed_load_behind_a_server_that_hangs_counts_what_it_did() {
    // Could break by a limit that passes for an attempt that is over, or for none.
    let load = Load::Closed {
        clients: 200,
        think: Length::Exponential { mean: millis(300) },
        start: Start::Spread,
        calls_each: None,
    };
    let model = model(load, vec![workers(20, vec![outage(Trouble::Hang, 1.0)])]);
    let policy = policy(|builder| builder.first_byte(millis(500)).deadline(millis(3_000)));
    check(
        &model,
        policy,
        Fleet::PerClient,
        expect![[r#"
            (9380, 8654, 207, 9730, 639, 0)
            [105252842, 23480779, 2948964450] [210245850742, 21253201872]
            201 bins 85118ecf86123e53, 3050 open
            {"backing-off": 876, "breaker-open": 526, "deadline-passed": 176, "deadline-too-near": 24, "succeeded": 8654}
            20.070354626s"#]],
    );
}

#[test]
fn hedges_over_two_servers_count_what_they_did() {
    // Could break by a loser that is forgotten, or by its work that is.
    let slow = Server {
        service: Length::Bimodal {
            mean: millis(20),
            rare_mean: millis(900),
            rare: 0.1,
        },
        ..workers(40, vec![outage(Trouble::Slow { factor: 3.0 }, 0.5)])
    };
    let mut model = model(open(300.0), vec![slow.clone(), slow]);
    model.hop = Length::Uniform {
        shortest: millis(1),
        longest: millis(3),
    };
    let policy = policy(|builder| builder.hedge_after(millis(120)));
    check(
        &model,
        policy,
        Fleet::One,
        expect![[r#"
            (6421, 6421, 538, 6958, 537, 0)
            [2434533103, 2434533103, 2378146199] [885988282710, 237400304553]
            257 bins 62f4d562e2bfafec, 0 open
            {"succeeded": 6421}
            25.615860685s"#]],
    );
}

#[test]
fn layers_and_a_pool_count_what_they_did() {
    // Could break by a call of a layer that answers another's attempt.
    let load = Load::Pool {
        connections: 60,
        per_second: 300.0,
        gaps: Gaps::Poisson,
    };
    let server = Server {
        failures: Failures::Independent { chance: 0.2 },
        orphans: Orphans::Dropped,
        queue_max: Some(100),
        ..workers(12, vec![outage(Trouble::Refuse, 0.7)])
    };
    let mut model = model(load, vec![server]);
    model.layers = vec![Layer {
        name: "middle".to_owned(),
        policy: None,
        processes: 3,
        told: Told::Attempts,
    }];
    check(
        &model,
        policy(|builder| builder),
        Fleet::One,
        expect![[r#"
            (5791, 4357, 0, 5412, 497, 960)
            [48832727, 52152661, 0] [115823833666, 0]
            205 bins 0344c4fea108bfbe, 0 open
            {"succeeded": 4357, "told-not-to": 1434}
            20.402892608s"#]],
    );
}

#[test]
fn a_client_goes_on_counting_past_what_an_event_holds() {
    // Could break at the last number of 24 bits, or where two clients are past it.
    let load = Load::Closed {
        clients: 2,
        think: Length::ZERO,
        start: Start::Together,
        calls_each: None,
    };
    let mut source = Source::new(&load, &Tokens::NONE, Luck::new(1), millis(1_000));
    for nth in [
        1,
        0xfffd,
        0xff_fffc,
        0xff_fffd,
        0xff_fffe,
        0xff_ffff,
        0x100_0000,
        0xffff_ffff_ffff,
    ] {
        let next = |source: &mut Source<'_>, client, nth| {
            let (next, _) = source
                .ended(client, nth, Instant::START)
                .expect("before the horizon");
            next
        };
        let (first, second) = (next(&mut source, 0, nth), next(&mut source, 1, nth + 7));
        assert_eq!(source.number_of(0, first), nth + 1);
        assert_eq!(source.number_of(1, second), nth + 8);
    }
}

#[test]
fn a_run_that_becomes_too_large_ends_and_says_so() {
    // Could break by work of callers that have left, which no table of calls shows, by a load whose next call keeps a
    // run alive that was ended, or by a look that never comes.
    let bare = |retries: u32| {
        let policy = policy(|builder| {
            let builder = builder.retries(retries).budget(None).breaker(None);
            builder.first_byte(millis(200)).deadline(millis(60_000))
        });
        Contender {
            name: "bare".to_owned(),
            policy: Policy {
                call: policy.call.without_waits(),
                ..policy
            },
            fleet: Fleet::One,
        }
    };
    let slow = workers(1, Vec::new());
    let never = Server {
        failures: Failures::Independent { chance: 1.0 },
        ..Server::default()
    };
    let layer = Layer {
        name: "between".to_owned(),
        policy: None,
        processes: 1,
        told: Told::Nothing,
    };
    let deep = Model {
        layers: vec![layer; 6],
        ..model(open(1.0), vec![never])
    };
    let cases = [
        (
            model(open(5_000.0), vec![slow.clone()]),
            bare(2),
            Bounds::of(1 << 20, u64::MAX),
            Some(Overrun::Memory),
        ),
        (
            model(open(5_000.0), vec![slow]),
            bare(2),
            Bounds::of(u64::MAX, 100_000),
            Some(Overrun::Steps),
        ),
        (
            deep,
            bare(30),
            Bounds::of(u64::MAX, 100_000),
            Some(Overrun::Steps),
        ),
        (
            model(open(50.0), vec![workers(2, Vec::new())]),
            bare(2),
            Bounds::of(u64::MAX, u64::MAX),
            None,
        ),
    ];
    for (model, contender, bounds, expected) in cases {
        let mut world = World::<Radix<_>>::new(&model, &contender, 1, seawall_core::trace::Recording::Off);
        world.bounds = bounds;
        let tally = world.run(|_far| {});
        assert_eq!(tally.overran, expected);
        assert!(
            expected.is_none() || tally.events < 200_000,
            "{} events",
            tally.events
        );
    }
}

#[test]
fn a_run_that_cannot_begin_within_its_bounds_does_not() {
    // Could break by engines that are made before anybody counts them, or by a call that is open for years.
    let contender = |fleet, deadline| Contender {
        name: "each".to_owned(),
        policy: policy(|builder| builder.retries(0).first_byte(deadline).deadline(deadline)),
        fleet,
    };
    let many = |server| Model {
        load: Load::Open {
            clients: 100_000_000,
            per_second: 1.0,
            gaps: Gaps::Constant,
            bursts: Vec::new(),
        },
        ..model(open(1.0), vec![server])
    };
    let renewed = Server {
        renewal: Some(Renewal {
            up: Length::Fixed(Duration::from_nanos(100)),
            down: Length::ZERO,
            how: Trouble::FailFast,
            share: 1.0,
        }),
        ..Server::default()
    };
    let hangs = Outage {
        lasts: Duration::from_secs(400 * 86_400),
        ..outage(Trouble::Hang, 1.0)
    };
    let year = Duration::from_secs(365 * 86_400);
    let second = millis(1_000);
    let cases = [
        (
            many(Server::default()),
            contender(Fleet::PerClient, second),
            Some(Overrun::Memory),
        ),
        (many(Server::default()), contender(Fleet::One, second), None),
        (
            model(open(1e9), vec![Server::default()]),
            contender(Fleet::One, second),
            Some(Overrun::Steps),
        ),
        (
            many(renewed),
            contender(Fleet::One, second),
            Some(Overrun::Memory),
        ),
        (
            many(workers(1, vec![hangs])),
            contender(Fleet::One, year),
            Some(Overrun::Time),
        ),
    ];
    for (model, contender, expected) in cases {
        let tally = crate::sim::run(&model, &contender, 1);
        assert_eq!(tally.overran, expected, "{:?}", contender.fleet);
    }
}

#[test]
fn what_was_due_before_the_warm_up_ended_costs_nothing() {
    // Could break by a bill that is written by the server, which does not know when a call was due.
    let call = |at: u64| Arrival {
        at: Instant::START.after(millis(at)),
        tokens_in: 1_000,
        tokens_out: 10,
    };
    let load = Load::Trace {
        clients: 1,
        calls: [call(0), call(999), call(1_000), call(3_000)].into(),
    };
    let server = Server {
        price: Price {
            per_million_in: 1_000_000,
            per_million_out: 0,
        },
        ..workers(4, Vec::new())
    };
    let contender = Contender {
        name: "one".to_owned(),
        policy: policy(|builder| builder.retries(0)),
        fleet: Fleet::One,
    };
    let tally = crate::sim::run(&model(load, vec![server]), &contender, 1);
    assert_eq!((tally.calls, tally.tokens_in, tally.tokens_out), (2, 2_000, 20));
    assert_eq!(tally.cost_pico_dollars, 2_000 * 1_000_000);
}

#[test]
fn a_line_of_any_length_that_a_breaker_turns_away_at_once_needs_no_stack() {
    // Could break by a call that begins while the one before it ends: behind an open breaker each ends at once, and the
    // stack is as deep as the line is long.
    let load = Load::Pool {
        connections: 2,
        per_second: 5_000.0,
        gaps: Gaps::Constant,
    };
    let server = Server {
        service: Length::Fixed(millis(600)),
        ..workers(2, vec![outage(Trouble::FailFast, 1.0)])
    };
    let contender = Contender {
        name: "one".to_owned(),
        policy: policy(|builder| builder.retries(0)),
        fleet: Fleet::One,
    };
    let model = model(load, vec![server]);
    let run = move || crate::sim::run(&model, &contender, 1);
    let small = std::thread::Builder::new().stack_size(256 * 1024);
    let tally = small
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("it has stack enough");
    let at_once = tally.bins.iter().map(|bin| bin.failed).max();
    assert!(
        at_once > Some(20_000),
        "{at_once:?} of the line were turned away at once"
    );
}

#[test]
fn a_write_whose_caller_has_left_has_reached_its_server() {
    // Could break by an attempt under an optimistic lock that is counted with its write alone: who gives up between the
    // two would put no load on the row, however many they are.
    let lock = Server {
        capacity: Capacity::OptimisticLock,
        ..Server::default()
    };
    let far = Model {
        hop: Length::Fixed(millis(100)),
        warmup: Duration::ZERO,
        ..model(open(2.0), vec![lock])
    };
    let left = |first_byte| {
        let policy = built(bare(0).first_byte(millis(first_byte)));
        World::<Radix<_>>::new(
            &far,
            &contender("it", policy, Fleet::One),
            1,
            seawall_core::trace::Recording::Off,
        )
        .run(|_far| {})
    };
    let (hasty, patient) = (left(150), left(1_000));
    assert!(hasty.succeeded == 0 && patient.succeeded > 10);
    assert_eq!((hasty.arrivals, patient.arrivals), (hasty.calls, patient.calls));
    // Who leaves before its read is there has reached nothing.
    assert_eq!(left(50).arrivals, 0);
}

#[test]
fn a_run_that_gets_nowhere_is_told_of_and_ends_by_its_pace() {
    // Could break by a run of a quarter of an hour that says nothing, or that is found hopeless only at its last step.
    let load = Load::Closed {
        clients: 100,
        think: Length::Fixed(Duration::from_micros(1)),
        start: Start::Together,
        calls_each: None,
    };
    let down = Outage {
        at: Instant::START,
        lasts: Duration::from_secs(3_600),
        how: Trouble::FailFast,
        share: 1.0,
    };
    let down = Server {
        outages: vec![down],
        ..Server::default()
    };
    let hour = Model {
        horizon: Duration::from_secs(3_600),
        ..model(load, vec![down])
    };
    let never_again = contender("none", at_once(bare(0)), Fleet::One);
    let mut world = World::<Radix<_>>::new(&hour, &never_again, 1, seawall_core::trace::Recording::Off);
    world.bounds = Bounds::new(&hour, &never_again, &hour.servers[0].outages).with_pace_over(600_000);
    let mut told = Vec::new();
    let tally = world.run(|far| told.push(far));
    let far = *told.last().expect("somebody hears of it");
    assert_eq!((far.steps, told.len()), (1 << 20, 4));
    let Some(Overrun::Pace { passed, steps }) = tally.overran else {
        panic!("{:?}", tally.overran)
    };
    assert!(passed >= far.now.since(Instant::START) && (1_200_000..1_300_000).contains(&steps));
}
