//! What moves a call on, and how far (rule K1).

use super::{Town, chat, error, line, ok, plain, read, s, secret, status, whose};
use crate::server::{Deed, Step};
use seawall::route::Candidate;
use seawall_core::policy::OnEmpty;
use seawall_core::time::Duration;

/// The first upstream does `step` whenever it is asked; the second answers.
async fn broken(policy: seawall_core::policy::PolicyBuilder, step: Step) -> Town {
    Town::new(&["main", "spare"], policy, move |name, _, _| match name {
        "main" => step.clone(),
        _ => ok(),
    })
    .await
}

#[tokio::test]
async fn each_end_at_one_upstream_is_a_beginning_at_the_next() {
    // Could break if one of these reasons ended the call while an upstream that works stood beside.
    let no_credit = || plain().edit_budget(|budget| budget.ratio_per_mille(0).floor_milli(0));
    let asked = |status, seconds| Step::answer(status, &[("retry-after", seconds)], "");
    for (policy, step, first) in [
        (plain().retries(0), status(500), "0 first failed"),
        (no_credit(), status(500), "0 first failed"),
        (plain(), asked(503, "100"), "0 first failed"),
        (plain(), asked(429, "100"), "0 first throttled"),
        (plain(), error(429, "insufficient_quota"), "0 first refused"),
        (plain(), status(401), "0 first denied"),
        (plain(), status(403), "0 first denied"),
        (plain().retries(0), Step::of(Deed::Reset), "0 first failed"),
    ] {
        let town = broken(policy, step).await;
        let expected = format!("{first}, 1 fallback answer, spare answered");
        town.check(&town.route(), read(), &expected).await;
        assert_eq!(town.seen(), ["main", "spare"]);
    }
}

#[tokio::test]
async fn what_one_call_met_sends_the_next_one_elsewhere_at_once() {
    // Could break if cool-down, latch or breaker of the first upstream were asked only once something was sent there.
    let one_by_one = plain()
        .edit_breaker(|breaker| breaker.consecutive(2).open_for(s(60)))
        .retries(0);
    let asked = Step::answer(429, &[("retry-after", "100")], "");
    for (policy, step) in [
        (plain(), asked),
        (one_by_one, status(500)),
        (plain(), status(401)),
    ] {
        let town = Town::with(
            &["main", "spare"],
            policy,
            move |name, _, _| match name {
                "main" => step.clone(),
                _ => ok(),
            },
            |name, builder| builder.credential(http::header::AUTHORIZATION, secret(name)),
        )
        .await;
        let route = town.route();
        for _ in 0..3 {
            let told = town.call(&route, read()).await;
            assert!(told.is_ok(), "{}", line(&told));
            town.advance(s(1));
        }
        let before = town.seen().len();
        town.check(&route, read(), "1 fallback answer, spare answered")
            .await;
        assert_eq!(town.seen()[before..], ["spare"]);
    }
}

#[tokio::test]
async fn a_full_upstream_is_passed_by() {
    // Could break if a call waited in a line that has no end while somebody else is free.
    let policy = plain().concurrency(1).queue(0);
    let town = Town::new(&["main", "spare"], policy, |name, _, _| match name {
        "main" => ok().after(s(10)),
        _ => ok(),
    })
    .await;
    let calls = (0..2).map(|_| {
        let route = town.route();
        let act: crate::stage::Act<String> = Box::pin(async move { line(&route.call(read()).await) });
        act
    });
    let ends = town.stage.run_all(calls.collect()).await;
    assert_eq!(
        ends,
        [
            "0 first answer, main answered",
            "1 fallback answer, spare answered"
        ]
    );
}

#[tokio::test]
async fn a_refusal_moves_nothing() {
    // Could break if whatever is no success went on: every upstream would be asked what none can answer.
    for status in [400, 404, 422] {
        let town = broken(plain(), self::status(status)).await;
        town.check(&town.route(), read(), "0 first refused, refused")
            .await;
        assert_eq!(town.seen(), ["main"]);
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_goes_to_a_larger_window_alone() {
    // Could break if the next candidate were as small: it costs money to hear the same.
    let town = Town::new(&["main", "twin", "large"], plain(), |name, _, _| match name {
        "large" => ok(),
        _ => error(400, "context_length_exceeded"),
    })
    .await;
    let [main, twin, large] = &town.upstreams[..] else {
        panic!("three were named")
    };
    let route = seawall::Route::builder()
        .to(Candidate::of(main).window(1_000))
        .to(Candidate::of(twin).window(1_000))
        .to(Candidate::of(large).window(9_000))
        .build()
        .unwrap();
    let expected = "0 first refused, 2 fallback answer, large answered";
    town.check(&route, chat(), expected).await;
    let route = seawall::Route::builder()
        .to(Candidate::of(main).window(1_000))
        .to(Candidate::of(twin).window(1_000))
        .build()
        .unwrap();
    town.check(&route, chat(), "0 first refused, context-too-long")
        .await;
}

#[tokio::test]
async fn tries_and_patience_say_when_to_move() {
    // Could break if a call spent all its retries on the first upstream, or left it at the first stumble.
    let town = broken(plain(), status(500)).await;
    let expected = "0 first failed, 0 retry failed, 1 fallback answer, spare answered";
    town.check(&town.route(), read(), expected).await;
    let town = broken(plain(), status(500)).await;
    let once = town.route_with(|builder| builder.tries(1));
    town.check(&once, read(), "0 first failed, 1 fallback answer, spare answered")
        .await;
    // A wait of half a second is within a patience of one, and beyond one of a tenth.
    let town = broken(plain(), status(500)).await;
    let impatient = town.route_with(|builder| builder.patience(Duration::from_millis(100)));
    town.check(
        &impatient,
        read(),
        "0 first failed, 1 fallback answer, spare answered",
    )
    .await;
}

#[tokio::test]
async fn fallbacks_are_counted_over_the_whole_route() {
    // Could break if each upstream granted the call fallbacks of its own.
    let names = &["one", "two", "three", "four"];
    let town = Town::new(names, plain().retries(0), |_, _, _| status(500)).await;
    let expected = "0 first failed, 1 fallback failed, 2 fallback failed, attempts-spent";
    town.check(&town.route(), read(), expected).await;
    let none = town.route_with(|builder| builder.fallbacks(0));
    town.check(&none, read(), "0 first failed, attempts-spent").await;
}

#[tokio::test]
async fn one_deadline_holds_over_all_upstreams() {
    // Could break if the second upstream began with a deadline of its own.
    let policy = plain().deadline(s(10)).first_byte(s(8)).retries(0);
    let town = Town::new(&["main", "spare"], policy, |_, _, _| Step::of(Deed::Stall)).await;
    let began = seawall::clock::Clock::now(&town.stage.clock);
    let told = town.call(&town.route(), read()).await;
    let took = seawall::clock::Clock::now(&town.stage.clock).since(began);
    assert_eq!(took, s(10));
    assert_eq!(line(&told), "0 first failed, 1 fallback failed, deadline-passed");
}

#[tokio::test]
async fn each_upstream_bounds_its_own_attempts() {
    // Could break if an attempt at the second had the limits of the first, whose server is quick.
    let policy = plain().retries(0).first_byte(s(2));
    let slow = plain().first_byte(s(30)).build().unwrap();
    let town = Town::with(
        &["main", "spare"],
        policy,
        |name, _, _| match name {
            "main" => Step::of(Deed::Stall),
            _ => ok().after(s(20)),
        },
        move |name, builder| match name {
            "spare" => builder.policy(slow),
            _ => builder,
        },
    )
    .await;
    let expected = "0 first failed, 1 fallback answer, spare answered";
    town.check(&town.route(), read(), expected).await;
}

#[tokio::test]
async fn where_none_can_send_now_the_call_waits_for_the_one_that_is_free_first() {
    // Could break if the last one asked were the one that is waited for.
    let policy = plain().edit_budget(|budget| budget.on_empty(OnEmpty::Stop));
    let town = Town::new(&["main", "spare"], policy, |name, nth, _| match (name, nth) {
        ("main", 0) => Step::answer(429, &[("retry-after", "30")], ""),
        ("spare", 0) => Step::answer(429, &[("retry-after", "5")], ""),
        _ => ok(),
    })
    .await;
    let expected = "0 first throttled, 1 fallback throttled, 1 retry answer, spare answered";
    town.check(&town.route(), read(), expected).await;
    let last = town.stage.server.requests().pop().unwrap();
    assert_eq!(whose(&last), "spare");
}
