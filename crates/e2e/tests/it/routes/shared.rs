//! What upstreams share: a quota, a budget, an engine (rules K3 and G7), and what they do not (rules H9 and K5).

use super::{Town, chat, line, ok, plain, read, s, secret, status};
use crate::server::Step;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use seawall::route::Candidate;
use seawall::upstream::Call;
use seawall_core::time::Duration;

fn throttled(seconds: &str) -> Step {
    Step::answer(429, &[("retry-after", seconds)], "")
}

#[tokio::test]
async fn one_quota_is_one_quota() {
    // Could break if a second upstream of the same account were asked at once what the first was just refused.
    let town = Town::with(
        &["one", "twin", "other"],
        plain(),
        |name, _, _| if name == "other" { ok() } else { throttled("100") },
        |name, builder| {
            if name == "other" {
                builder
            } else {
                builder.quota("account")
            }
        },
    )
    .await;
    let route = town.route();
    let expected = "0 first throttled, 2 fallback answer, other answered";
    town.check(&route, read(), expected).await;
    // The cool-down is the account's.
    let twin = town.upstreams[1].clone();
    let told = town.stage.run(async move { twin.call(read()).await }).await;
    assert_eq!(line(&told), "cooling-down");
    assert_eq!(town.seen(), ["one", "other"]);
}

#[tokio::test]
async fn the_tightest_limit_of_a_quota_holds_for_all_of_it() {
    // Could break if each upstream had the account's limit for itself, or if it were the limit of whoever came first.
    let town = Town::with(
        &["one", "twin"],
        plain().retries(0),
        |_, _, _| ok(),
        |name, builder| {
            let most = if name == "one" { 50 } else { 3 };
            let policy = plain().requests_per_minute(Some(most)).deadline(s(1)).build();
            builder.quota("account").policy(policy.unwrap())
        },
    )
    .await;
    let mut sent = 0;
    for nth in 0..10 {
        let upstream = town.upstreams[nth % 2].clone();
        let told = town.stage.run(async move { upstream.call(read()).await }).await;
        sent += usize::from(told.is_ok());
    }
    assert_eq!(sent, 3);
}

#[tokio::test]
async fn a_model_that_is_throttled_is_not_the_upstream() {
    // Could break if the quota were the upstream's while nothing says so: the next model there would be out of reach.
    let town = Town::new(&["main"], plain(), |_, _, request| {
        let is_big = request.body.windows(5).any(|word| word == b"big-1");
        if is_big { throttled("100") } else { ok() }
    })
    .await;
    let main = &town.upstreams[0];
    let route = seawall::Route::builder()
        .to_model(main, "big-1")
        .to_model(main, "small-1");
    let route = route.build().unwrap();
    let told = town.call(&route, chat()).await;
    assert_eq!(line(&told), "0 first throttled, 1 fallback answer, main answered");
    assert_eq!(told.unwrap().model.as_deref(), Some("small-1"));
    let bodies: Vec<_> = town
        .stage
        .server
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(bodies[0], r#"{"model":"big-1","messages":[]}"#);
    assert_eq!(bodies[1], r#"{"model":"small-1","messages":[]}"#);
}

#[tokio::test]
async fn a_budget_above_several_bounds_them_together() {
    // Could break if each upstream brought extras of its own into an outage of what all of them stand before.
    let policy = || plain().edit_budget(|budget| budget.ratio_per_mille(0).floor_milli(200).window(s(10)));
    let town = Town::with(
        &["one", "two", "three"],
        policy().edit_breaker(|breaker| breaker.mode(seawall_core::policy::Mode::Observe)),
        |_, _, _| status(500),
        |_, builder| builder.parent("all"),
    )
    .await;
    for upstream in &town.upstreams {
        let upstream = upstream.clone();
        let told = town.stage.run(async move { upstream.call(read()).await }).await;
        assert_eq!(told.unwrap_err().reason.code(), "budget-empty");
    }
    // Two extras in the window, whoever asks.
    assert_eq!(town.seen().len(), 3 + 2);
}

#[tokio::test]
async fn a_denied_credential_is_its_own_upstreams() {
    // Could break if one latch stood for all credentials of an engine.
    let town = Town::with(
        &["main", "spare"],
        plain(),
        |name, _, _| if name == "main" { status(401) } else { ok() },
        |name, builder| builder.credential(AUTHORIZATION, secret(name)),
    )
    .await;
    for _ in 0..2 {
        let main = town.upstreams[0].clone();
        let _denied = town.stage.run(async move { main.call(read()).await }).await;
    }
    let [main, spare] = &town.upstreams[..] else {
        panic!("two were named")
    };
    let (main, spare) = (main.clone(), spare.clone());
    let told = town.stage.run(async move { main.call(read()).await }).await;
    assert_eq!(line(&told), "denied-latched");
    let told = town.stage.run(async move { spare.call(read()).await }).await;
    assert_eq!(line(&told), "0 first answer, spare answered");
}

#[tokio::test]
async fn a_callers_own_key_goes_to_nobody_else() {
    // Could break if what one upstream is sent were sent to the next as it is.
    let with_key = |call: Call| {
        call.with_header(AUTHORIZATION, HeaderValue::from_static("Bearer CALLERS"))
            .with_header("x-api-key".parse().unwrap(), HeaderValue::from_static("CALLERS"))
    };
    let script = |name: &str, _: usize, _: &crate::server::Request| match name {
        "main" => status(500),
        _ => ok(),
    };
    let town = Town::with(
        &["main", "open", "own"],
        plain().retries(0),
        script,
        |name, builder| {
            if name == "own" {
                builder.credential(AUTHORIZATION, secret("OWN"))
            } else {
                builder
            }
        },
    )
    .await;
    // Without a key of its own, `open` could only be sent the caller's.
    let expected = "0 first failed, 2 fallback answer, own answered";
    town.check(&town.route(), with_key(chat()), expected).await;
    let requests = town.stage.server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer CALLERS"));
    assert_eq!(requests[0].header("x-api-key"), Some("CALLERS"));
    assert_eq!(requests[1].header("authorization"), Some("Bearer OWN"));
    assert!(!requests[1].head.contains("CALLERS"));
    // In an address, it is part of the call.
    let in_address = Call::get("/things?key=CALLERS");
    town.check(&town.route(), in_address, "0 first failed, attempts-spent")
        .await;
    // A call without one goes anywhere.
    let expected = "0 first failed, 1 fallback answer, open answered";
    town.check(&town.route(), chat(), expected).await;
}

#[tokio::test]
async fn a_key_that_is_made_for_a_leg_is_that_legs() {
    // Could break if what the caller made for one candidate were taken for its own key, and withheld.
    let town = Town::new(&["main", "spare"], plain().retries(0), |name, _, _| match name {
        "main" => status(500),
        _ => ok(),
    })
    .await;
    let route = town.route();
    let told = town
        .stage
        .run(async move {
            let make = |leg: &seawall::route::Leg<'_>| {
                let key = format!("Bearer {}", leg.upstream.name());
                chat().with_header(AUTHORIZATION, HeaderValue::from_str(&key).unwrap())
            };
            route.call_with(make).await
        })
        .await;
    assert_eq!(line(&told), "0 first failed, 1 fallback answer, spare answered");
    let keys: Vec<_> = town.stage.server.requests();
    let keys: Vec<_> = keys
        .iter()
        .map(|request| request.header("authorization").unwrap())
        .collect();
    assert_eq!(keys, ["Bearer main", "Bearer spare"]);
}

#[tokio::test]
async fn what_is_dropped_leaves_the_others_as_they_are() {
    // Could break if an upstream that goes took its neighbours' gates with it, or left its own behind for ever.
    let town = Town::with(
        &["one", "two"],
        plain(),
        |_, _, _| ok(),
        |_, builder| builder.quota("both"),
    )
    .await;
    let hub = town.upstreams[0].hub().clone();
    let gates = || hub.with(|engine, _| engine.gates_alive());
    let before = gates();
    for _ in 0..3 {
        let one = &town.upstreams[0];
        let url = format!("{}/third", town.stage.server.url());
        let builder = seawall::Upstream::builder(&url).unwrap().beside(one);
        let third = builder.quota("both").parent("its own").build().unwrap();
        let keyed = third.keyed("somebody");
        let route = seawall::Route::builder()
            .to(one)
            .to(Candidate::of(&third).model("m"));
        let route = route.build().unwrap();
        assert_eq!(gates(), before + 4);
        drop((third, keyed, route));
        assert_eq!(gates(), before);
    }
    town.check(&town.route(), read(), "0 first answer, one answered")
        .await;
    town.advance(Duration::from_secs(1));
}
