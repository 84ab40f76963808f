//! Refusals that cost, and calls of models: held to what is known in closed form.

use super::*;
use crate::plan::Limit;
use crate::sim::luck::Amount;
use std::num::NonZeroU32;

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// So many tokens for every call.
fn tokens(read: Amount, written: Amount) -> Tokens {
    Tokens {
        read,
        written,
        written_max: None,
    }
}

fn model_of(per_token_in: Duration, per_token_out: Duration, sent: AnswerIs) -> Server {
    Server {
        generation: Some(Generation {
            per_token_in,
            per_token_out,
            sent,
        }),
        ..Server::default()
    }
}

#[test]
fn what_is_refused_is_missing_from_what_is_served() {
    // Could break by a refusal that costs nothing, or the attempt's whole time. Ten workers take 100 ms for an answer and
    // 20 ms for a refusal; of λ attempts a second g are answered where g · 0.1 + (λ - g) · 0.02 = 10, and from λ = 500 on
    // the server does nothing but refuse.
    let server = |reject_cost| Server {
        capacity: Capacity::Workers(10),
        service: Length::Fixed(millis(100)),
        queue_max: Some(5),
        reject_cost,
        ..Server::default()
    };
    let goodput = |per_second: f64, reject_cost| {
        let model = open(per_second, secs(200), server(reject_cost));
        let tally = run(&model, &contender("none", at_once(0, secs(3_600))), SEED);
        let bins = &tally.bins[100..2_000];
        let answered: u32 = bins.iter().map(|bin| bin.answered).sum();
        f64::from(answered) / 190.0
    };
    for per_second in [200.0, 300.0, 400.0] {
        near(goodput(per_second, Duration::ZERO), 100.0, 0.01, "free refusals");
        let expected = (10.0 - per_second * 0.02) / (0.1 - 0.02);
        near(goodput(per_second, millis(20)), expected, 0.03, "dear refusals");
    }
    assert!(goodput(600.0, millis(20)) < 1.0, "it does nothing but refuse");
}

#[test]
fn a_models_answers_take_and_cost_what_their_tokens_do() {
    // Could break by tokens that one attempt has and the next has not, or by a token that is paid for twice.
    let mut server = model_of(Duration::from_micros(200), millis(20), AnswerIs::Whole);
    server.price = Price {
        per_million_in: 3_000_000,
        per_million_out: 15_000_000,
    };
    server.failures = Failures::Independent { chance: 0.5 };
    let mut model = open(100.0, secs(400), server);
    model.tokens = tokens(
        Amount::LogNormal {
            p50: 1_020,
            p99: 4_142,
        },
        Amount::Exponential { mean: 150 },
    );
    // Every attempt is billed, the ones that failed with them: 1 + 1/2 + 1/4 + 1/8 of each call.
    let policy = at_once(3, secs(3_600));
    let tally = run(&model, &contender("three", policy), SEED);
    let (read, written) = (model.tokens.read.mean(), model.tokens.written.mean());
    near(ratio(tally.tokens_in, tally.arrivals), read, 0.01, "read");
    near(ratio(tally.tokens_out, tally.arrivals), written, 0.01, "written");
    near(ratio(tally.arrivals, tally.calls), 1.875, 0.01, "attempts");
    let dollars = tally.cost_pico_dollars as f64 / 1e12;
    let each = (read * 3.0 + written * 15.0) / 1e6;
    near(dollars, each * ratio(tally.arrivals, 1), 0.01, "cost");
    // The calls that were answered in one attempt took 0.2 ms for each token read and 20 ms for each written.
    let mean_s = tally.latency.mean().expect("calls").as_nanos() as f64 / 1e9;
    near(mean_s, (read * 0.0002 + written * 0.02) * 1.875, 0.02, "seconds");
}

#[test]
fn calls_of_closed_and_pooled_loads_have_the_same_tokens_whatever_the_policy() {
    // Could break by tokens that are drawn by the connection that is free, or anew for each attempt.
    let mut server = model_of(Duration::ZERO, millis(1), AnswerIs::Whole);
    server.failures = Failures::Independent { chance: 0.3 };
    let closed = Load::Closed {
        clients: 20,
        think: Length::Exponential { mean: millis(200) },
        start: Start::Together,
        calls_each: Some(200),
    };
    let pool = Load::Pool {
        connections: 20,
        per_second: 40.0,
        gaps: Gaps::Poisson,
    };
    for load in [closed, pool] {
        let mut model = open(1.0, secs(100), server.clone());
        (model.load, model.tokens) = (
            load,
            tokens(Amount::Uniform { least: 1, most: 99 }, Amount::Fixed(50)),
        );
        let billed = |retries| {
            let tally = run(&model, &contender("x", at_once(retries, secs(60))), SEED);
            (
                ratio(tally.tokens_in, tally.arrivals),
                tally.tokens_in,
                tally.calls,
            )
        };
        let (none, some) = (billed(0), billed(4));
        near(none.0, 50.0, 0.03, "the mean of what is read");
        near(some.0, 50.0, 0.03, "the mean of what is read");
        assert_eq!(none.2, some.2, "the same calls");
        assert!(some.1 > none.1, "retries are billed, too");
    }
}

#[test]
fn a_stream_is_accepted_at_its_first_token_and_sent_to_nobody_else_from_there() {
    // Could break by a first byte that comes with the last: an answer of 2.1 s would never be had with a limit of 500 ms.
    let streamed = model_of(millis(1), millis(20), AnswerIs::Streamed);
    let whole = model_of(millis(1), millis(20), AnswerIs::Whole);
    let of = |server: Server, retries| {
        let mut model = open(50.0, secs(60), server);
        model.hop = Length::Fixed(millis(5));
        model.tokens = tokens(Amount::Fixed(100), Amount::Fixed(100));
        run(&model, &contender("x", at_once(retries, millis(500))), SEED)
    };
    let tally = of(streamed.clone(), 2);
    assert_eq!(
        (tally.succeeded, tally.arrivals),
        (tally.calls, tally.calls),
        "{:?}",
        tally.reasons
    );
    let mean = tally.latency.mean().expect("calls");
    assert_eq!(mean, millis(5 + 100 + 2_000 + 5), "to the last byte");
    let tally = of(whole, 2);
    assert_eq!(tally.succeeded, 0, "what is whole in 2.1 s is not had in 500 ms");
    near(
        ratio(tally.arrivals, tally.calls),
        3.0,
        0.001,
        "each attempt in vain",
    );
    let broken = Server {
        outages: vec![Outage {
            at: at(0),
            lasts: secs(1_000),
            how: Trouble::Truncate,
            share: 1.0,
        }],
        ..streamed
    };
    let tally = of(broken, 2);
    assert_eq!(tally.arrivals, tally.calls, "what has begun is not sent again");
    assert_eq!(
        tally.reasons.get("already-streaming"),
        Some(&tally.calls),
        "{:?}",
        tally.reasons
    );
}

#[test]
fn the_first_of_two_streams_ends_the_other_and_passes_through_layers() {
    // Could break by a hedge that nobody ends, or by a layer that keeps the first byte until the last.
    let server = Server {
        service: Length::Bimodal {
            mean: millis(50),
            rare_mean: secs(20),
            rare: 0.2,
        },
        ..model_of(Duration::ZERO, millis(10), AnswerIs::Streamed)
    };
    let mut model = open(50.0, secs(100), server);
    model.tokens = tokens(Amount::Fixed(10), Amount::Fixed(300));
    let hedged = Policy::builder()
        .hedge_after(millis(400))
        .budget(None)
        .breaker(None);
    let hedged = hedged.first_byte(secs(30)).build().expect("a right policy");
    let tally = run(&model, &contender("hedged", hedged), SEED);
    assert_eq!(tally.succeeded, tally.calls, "{:?}", tally.reasons);
    let share = ratio(tally.arrivals, tally.calls) - 1.0;
    assert!((0.15..0.3).contains(&share), "{share} hedges");
    let p95 = tally.latency.percentile(950).expect("calls");
    assert!(p95 < secs(6), "{p95}: whoever is slow is hedged");
    model.layers = vec![Layer {
        name: "between".to_owned(),
        policy: None,
        processes: 1,
        told: Told::Nothing,
    }];
    model.servers[0].service = Length::Fixed(millis(100));
    let tally = run(&model, &contender("x", at_once(2, millis(500))), SEED);
    assert_eq!(
        (tally.succeeded, tally.arrivals),
        (tally.calls, tally.calls),
        "{:?}",
        tally.reasons
    );
}

#[test]
fn a_policy_that_knows_a_servers_limit_of_tokens_is_never_refused() {
    // Could break by a policy that is not told its calls' tokens, or by a server that charges others than it was told.
    let limit = Limit {
        tokens_per_minute: NonZeroU32::new(60_000),
        ..Limit::default()
    };
    let server = Server {
        limit: Some(limit),
        service: Length::Fixed(millis(50)),
        ..Server::default()
    };
    // 4.5 calls a second of 300 tokens are 81 000 a minute.
    let mut model = open(4.5, secs(600), server);
    model.tokens = tokens(
        Amount::Uniform {
            least: 100,
            most: 300,
        },
        Amount::Exponential { mean: 100 },
    );
    let tally = |knows: Option<u64>| {
        let builder = Policy::builder().retries(0).deadline(secs(3_600)).budget(None);
        let builder = builder.breaker(None).first_byte(secs(60)).queue(10_000);
        let policy = builder.tokens_per_minute(knows).build();
        run(&model, &contender("x", policy.expect("a right policy")), SEED)
    };
    let (blind, sees) = (tally(None), tally(Some(60_000)));
    assert!(blind.succeeded < blind.calls, "{:?}", blind.reasons);
    assert_eq!(sees.succeeded, sees.calls, "{:?}", sees.reasons);
    assert!(sees.reasons.contains_key("rate-wait"), "{:?}", sees.reasons);
}
