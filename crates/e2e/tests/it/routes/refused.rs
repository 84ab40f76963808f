//! What is no candidate to begin with (rule K2), and routes that cannot be.

use super::{Town, chat, ok, plain, read, status};
use seawall::Route;
use seawall::route::{Candidate, Order, Price, RouteError};
use seawall::upstream::{Call, Upstream, UpstreamError};
use seawall_core::policy::Mode;

#[tokio::test]
async fn what_cannot_serve_is_skipped_before_the_first_send() {
    // Could break if a candidate were found out to be none by sending to it.
    let town = Town::new(&["main", "spare"], plain(), |_, _, _| ok()).await;
    let [main, spare] = &town.upstreams[..] else {
        panic!("two were named")
    };
    let long = Call::post_json(
        "/chat/completions",
        format!(r#"{{"messages":["{}"]}}"#, "word ".repeat(4_000)),
    );
    let small = Route::builder()
        .to(Candidate::of(main).window(1_000))
        .to(spare)
        .build()
        .unwrap();
    town.check(&small, long, "1 first answer, spare answered").await;
    let dear = Candidate::of(main).price(Price::micro_usd(0, 20_000_000));
    let cheap = Route::builder()
        .to(dear.clone())
        .to(spare)
        .max_price_micro_usd(10_000_000);
    town.check(&cheap.build().unwrap(), chat(), "1 first answer, spare answered")
        .await;
    main.force(Mode::Open).unwrap();
    town.check(&town.route(), read(), "1 first answer, spare answered")
        .await;
    assert_eq!(town.seen(), ["spare", "spare", "spare"]);
    main.force(Mode::Auto).unwrap();
    // Where nobody is left, nothing is sent at all.
    let none = Route::builder()
        .to(dear)
        .max_price_micro_usd(10_000_000)
        .build()
        .unwrap();
    town.check(&none, chat(), "no-candidate").await;
    assert_eq!(town.seen().len(), 3);
}

#[tokio::test]
async fn the_cheapest_is_what_this_call_costs_least_at() {
    // Could break if one price stood for both: what is cheap to ask may be dear to answer.
    let town = Town::new(&["reads", "writes", "unpriced"], plain(), |_, _, _| ok()).await;
    let [reads, writes, unpriced] = &town.upstreams[..] else {
        panic!("three were named")
    };
    let route = Route::builder()
        .to(unpriced)
        .to(Candidate::of(reads).price(Price::micro_usd(1, 1_000)))
        .to(Candidate::of(writes).price(Price::micro_usd(1_000, 1)))
        .order(Order::Cheapest)
        .build()
        .unwrap();
    let question = format!(r#"{{"max_tokens":1,"messages":["{}"]}}"#, "word ".repeat(400));
    let long_question = Call::post_json("/chat/completions", question);
    town.check(&route, long_question, "1 first answer, reads answered")
        .await;
    let long_answer = Call::post_json("/chat/completions", r#"{"max_tokens":4000}"#);
    town.check(&route, long_answer, "2 first answer, writes answered")
        .await;
}

#[tokio::test]
async fn fallback_goes_by_cost_too() {
    // Could break if only the first candidate were chosen by its price.
    let town = Town::new(
        &["dear", "cheap", "middle"],
        plain().retries(0),
        |name, _, _| match name {
            "cheap" => status(500),
            _ => ok(),
        },
    )
    .await;
    let [dear, cheap, middle] = &town.upstreams[..] else {
        panic!("three were named")
    };
    let priced = |upstream, price| Candidate::of(upstream).price(Price::micro_usd(price, price));
    let route = Route::builder()
        .to(priced(dear, 9))
        .to(priced(cheap, 1))
        .to(priced(middle, 5))
        .order(Order::Cheapest)
        .build()
        .unwrap();
    let expected = "1 first failed, 2 fallback answer, middle answered";
    town.check(&route, chat(), expected).await;
}

#[test]
fn a_route_that_cannot_be_says_what_to_do() {
    // Could break if a call found it out: that is too late, and each call would.
    let upstream = |name: &str| Upstream::builder("http://127.0.0.1:9").unwrap().name(name);
    let main = upstream("main").build().unwrap();
    let elsewhere = upstream("elsewhere").build().unwrap();
    let told = |built: Result<Route, RouteError>| built.unwrap_err().to_string();
    assert_eq!(
        told(Route::builder().build()),
        "the route has no candidate; add one by .to(&upstream)"
    );
    assert_eq!(
        told(Route::builder().to(&main).to(&elsewhere).build()),
        "elsewhere is not beside main; build it by .beside(&upstream), with that one"
    );
    assert_eq!(
        told(Route::builder().to_model(&main, "m").to_model(&main, "m").build()),
        "main/m stands in the route twice; take one of them out, or give it another model"
    );
    assert!(matches!(
        Route::builder().to(&main).tries(0).build(),
        Err(RouteError::Policy(_))
    ));
    assert!(matches!(
        upstream("other").beside(&main).seed(1).build(),
        Err(UpstreamError::EnginesOwn { setting: "seed" })
    ));
}
