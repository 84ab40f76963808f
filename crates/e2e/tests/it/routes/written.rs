//! Writes along a route: what may have acted stays where it is (rules E3, E4 and K4).

use super::{Town, chat, ok, plain, status, write};
use crate::server::{Deed, Step};
use http::{HeaderName, HeaderValue};
use seawall::route::Leg;
use seawall_core::facts::Replay;

/// The first upstream takes a request and is gone; the second answers.
async fn lost(
    with: fn(&str, seawall::upstream::UpstreamBuilder) -> seawall::upstream::UpstreamBuilder,
) -> Town {
    let script = |name: &str, _: usize, _: &crate::server::Request| match name {
        "main" => Step::of(Deed::Reset),
        _ => ok(),
    };
    Town::with(&["main", "spare"], plain().retries(0), script, with).await
}

#[tokio::test]
async fn a_write_that_may_have_acted_stays_where_it_is() {
    // Could break if a lost answer sent the payment to the next bank.
    let town = lost(|_, builder| builder).await;
    let told = town.call(&town.route(), write()).await.unwrap_err();
    assert_eq!(told.reason.code(), "may-have-acted");
    assert_eq!(told.unknown.unwrap().upstream, "main");
    // A key protects where it was seen, and nowhere else.
    let keyed = write()
        .with_key(HeaderValue::from_static("k"))
        .with_replay(Replay::Keyed);
    let told = town.call(&town.route(), keyed).await.unwrap_err();
    let unknown = told.unknown.unwrap();
    assert_eq!(
        (unknown.upstream.as_str(), unknown.key.as_deref()),
        ("main", Some("k"))
    );
    assert_eq!(town.seen(), ["main", "main"]);
}

#[tokio::test]
async fn a_repeat_that_does_no_harm_moves_on() {
    // Could break if every POST were taken for a payment.
    let town = lost(|_, builder| builder).await;
    let expected = "0 first failed, 1 fallback answer, spare answered";
    town.check(&town.route(), chat(), expected).await;
    let said = town.route_with(|builder| builder.replay(Replay::Declared));
    town.check(&said, write(), expected).await;
}

#[tokio::test]
async fn a_write_moves_within_one_store_with_one_key() {
    // Could break if the second upstream were sent a key of its own: its store would not know the first.
    let header = HeaderName::from_static("x-request-key");
    let town = lost(|_, builder| {
        let header = HeaderName::from_static("x-request-key");
        builder.dedup("ledger").idempotency(header)
    })
    .await;
    let expected = "0 first failed, 1 fallback answer, spare answered";
    town.check(&town.route(), write(), expected).await;
    let requests = town.stage.server.requests();
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header(header.as_str()))
        .collect();
    assert_eq!(keys.len(), 2);
    assert!(keys[0].is_some_and(|key| key.len() == 36), "{keys:?}");
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn two_upstreams_never_make_the_same_key() {
    // Could break if each upstream of one engine drew its keys from the same beginning.
    let town = Town::with(
        &["one", "two"],
        plain(),
        |_, _, _| ok(),
        |_, builder| builder.idempotency(HeaderName::from_static("x-request-key")),
    )
    .await;
    for upstream in town.upstreams.clone() {
        town.stage
            .run(async move { upstream.call(write()).await.unwrap() })
            .await;
    }
    let requests = town.stage.server.requests();
    let [one, two] = &requests[..] else {
        panic!("two were sent")
    };
    assert_ne!(one.header("x-request-key"), two.header("x-request-key"));
}

#[tokio::test]
async fn what_each_candidate_is_sent_is_made_once() {
    // Could break if a retry were made anew, and were another request than the first.
    let town = Town::new(&["main", "spare"], plain(), |_, _, _| status(500)).await;
    let route = town.route();
    let (told, made) = town
        .stage
        .run(async move {
            let made = std::sync::Mutex::new(Vec::new());
            let make = |leg: &Leg<'_>| {
                made.lock().unwrap().push(leg.nth);
                chat()
            };
            (route.call_with(make).await, made.into_inner().unwrap())
        })
        .await;
    assert!(told.unwrap_err().attempts.len() > 2);
    assert_eq!(made, [0, 1]);
}

#[tokio::test]
async fn a_leg_that_cannot_be_made_a_request_ends_the_call() {
    // Could break if a path that nobody can send were met by a panic, or tried again.
    let town = Town::new(&["main", "spare"], plain().retries(0), |_, _, _| status(500)).await;
    let route = town.route();
    let told = town
        .stage
        .run(async move {
            let make = |leg: &Leg<'_>| match leg.nth {
                0 => chat(),
                _ => seawall::Call::get("/\u{7f} no path"),
            };
            route.call_with(make).await
        })
        .await;
    let error = told.unwrap_err();
    assert_eq!(error.reason.code(), "refused");
    assert!(
        error
            .detail
            .as_deref()
            .unwrap()
            .contains("the path cannot be sent")
    );
    assert_eq!(error.attempts[1].candidate, 1);
}
