use super::*;
use crate::crank::CrankedClock;
use crate::hub::{CallGuard, Step, Told};
use expect_test::expect;
use seawall_core::call::Spec;
use seawall_core::facts::Replay;
use seawall_core::learned::{Learned, Word};
use seawall_core::policy::Policy;
use std::sync::Arc;

fn begin(upstream: &Upstream, tokens_in: u32) -> (CallGuard<'_>, Told<'_>) {
    let (route, policy) = ([upstream.candidate()], upstream.call_policy());
    upstream.hub().begin(|now| Spec {
        tokens_in,
        ..Spec::new(now, &route, &policy, Replay::Idempotent)
    })
}

#[test]
fn a_page_says_what_is_out_who_waits_for_what_and_what_is_left() {
    // Broken if a page said less than an operator asks in an outage, or a count of another moment.
    let clock = CrankedClock::new();
    let policy = Policy::builder()
        .concurrency(2)
        .requests_per_minute(Some(3))
        .tokens_per_minute(Some(1_000))
        .build()
        .unwrap();
    let upstream = Upstream::builder("http://h")
        .unwrap()
        .name("main")
        .policy(policy)
        .clock(Arc::new(clock.clone()))
        .seed(1)
        .keys_max(1)
        .build()
        .unwrap();
    let one = upstream.keyed("one");
    let (_first, told) = begin(&upstream, 300);
    let Step::Send(mut leave) = told.step else {
        panic!("{told:?}")
    };
    let word = Word {
        limit: Some(50),
        remaining: 40,
        resets_in: Some(Duration::from_millis(6_500)),
    };
    leave.learned(&Learned::NOTHING.with(Kind::Requests, word));
    let _second = begin(&one, 0);
    let _third = begin(&upstream, 0);
    let _fourth = begin(&upstream, 900);
    clock.advance(Duration::from_millis(1_500));
    upstream.force(Mode::Observe).unwrap();
    drop(upstream.keyed("other"));
    expect![[r#"
        main
          in flight   2 of 2
          waiting     2: 1 rate-wait, 1 queued
          breaker     observe by force (closed by itself) for 1.5s, 0 of 0 in its window failed
          budget      0 of 10 extras granted in its window
          requests    1 of 3 a minute left; 39 left by the server's word, full again in 5s
          tokens      725 of 1000 a minute left
          keys        1 of 1 have a gate
          no gate     for a key, so far 1"#]]
    .assert_eq(&upstream.state().to_string());
    expect![[r#"
        {
          "above": null,
          "gate": {
            "breaker": {
              "failed": 0,
              "flapping": false,
              "probes": 0,
              "ramp": null,
              "since_ms": 1500,
              "slow": 0,
              "state": "closed",
              "succeeded": 0
            },
            "budget": {
              "allowed": 10,
              "granted": 0
            },
            "cools_ms": 0,
            "gradient": null,
            "in_flight": 2,
            "mode": "observe",
            "places": 2,
            "queued": 2,
            "rates": {
              "requests": {
                "full_in_ms": 5000,
                "left": 1,
                "per_minute": 3,
                "told": 39
              },
              "tokens": {
                "full_in_ms": null,
                "left": 725,
                "per_minute": 1000,
                "told": null
              }
            },
            "saving": 0
          },
          "key": null,
          "keys": {
            "kept": 1,
            "max": 1,
            "without_gate": 1
          },
          "name": "main",
          "waiting": {
            "queued": 1,
            "rate-wait": 1
          }
        }"#]]
    .assert_eq(&format!("{:#}", upstream.state().to_json()));
    expect![[r#"
        main, key one
          in flight   1
          waiting     0
          breaker     closed for 1.5s, 0 of 0 in its window failed
        main, all keys
          in flight   2 of 2
          waiting     2
          breaker     observe by force (closed by itself) for 1.5s, 0 of 0 in its window failed
          budget      0 of 10 extras granted in its window
          requests    1 of 3 a minute left; 39 left by the server's word, full again in 5s
          tokens      725 of 1000 a minute left
          no gate     for a key, so far 1"#]]
    .assert_eq(&one.state().to_string());
    expect![[r#"{"requests":{"full_in_ms":5000,"left":1,"per_minute":3,"told":39},"tokens":{"full_in_ms":null,"left":725,"per_minute":1000,"told":null}}"#]].assert_eq(&format!("{}", one.state().to_json()["above"]["rates"]));
    expect![[r#"
        main, key other (no gate of its own: all 1 are taken)
          in flight   2 of 2
          waiting     2: 1 rate-wait, 1 queued
          breaker     observe by force (closed by itself) for 1.5s, 0 of 0 in its window failed
          budget      0 of 10 extras granted in its window
          requests    1 of 3 a minute left; 39 left by the server's word, full again in 5s
          tokens      725 of 1000 a minute left
          no gate     for a key, so far 2"#]]
    .assert_eq(&upstream.keyed("other").state().to_string());
}
