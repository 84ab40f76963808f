//! Rows about what calls share: breaker, budget, limits, keys of payments, connections.

use super::Scene;
use super::shown::{breaker, budget, inside, payments, resets, throttled};
use http::HeaderValue;
use seawall::upstream::UpstreamBuilder;
use seawall::{Duration, Gate, Policy, Upstream};
use std::collections::BTreeSet;
use std::error::Error;

/// A run of failures opens a breaker if it spans half a second.
const BETWEEN: Duration = Duration::from_millis(150);

impl Scene {
    fn describes(&self, describe: fn(&str) -> Result<UpstreamBuilder, Box<dyn Error>>) -> Upstream {
        self.upstream(describe(&self.mock.url()).unwrap())
    }
}

#[tokio::test]
async fn half_open_lets_three_through_whoever_asks_at_once() {
    // Breaks when each caller looks and then sends: twenty look before the first has sent.
    let scene = Scene::new("GET /v1/models = 5x 503, 200 delay=1s").await;
    let upstream = scene.describes(breaker::upstream);
    let mut said = String::new();
    for _ in 0..5 {
        scene.stage.clock.advance(BETWEEN);
        said = scene.play(&upstream, breaker::run(&upstream)).await;
    }
    assert!(said.ends_with("; open (failures: 5)"), "{said}");
    let said = scene.play(&upstream, breaker::run(&upstream)).await;
    assert!(said.starts_with("not sent: retry after "), "{said}");
    assert!(said.ends_with("; open (failures: 5)"), "{said}");
    assert_eq!(scene.sends(), 5);

    scene.stage.clock.advance(Duration::from_secs(120));
    let said = scene.play_many(&upstream, 20, |_| breaker::run(&upstream)).await;
    assert_eq!(scene.sends(), 8, "three probes");
    let refused = said
        .iter()
        .filter(|said| said.starts_with("not sent: retry after "))
        .count();
    assert_eq!(refused, 17);
    assert_eq!(upstream.state().gate.breaker.unwrap().state, "closed");
}

#[tokio::test]
async fn one_good_probe_closes_nothing_and_one_bad_one_opens_again() {
    // Breaks when the first success is taken for all of them.
    let scene = Scene::new("GET /v1/models = 5x 503, 2x 200, 503, 200").await;
    let upstream = scene.describes(breaker::upstream);
    let mut states = Vec::new();
    for n in 0..9 {
        scene
            .stage
            .clock
            .advance(if n == 5 { Duration::from_secs(120) } else { BETWEEN });
        scene.play(&upstream, breaker::run(&upstream)).await;
        states.push(upstream.state().gate.breaker.unwrap().state);
    }
    assert_eq!(
        states[3..],
        ["closed", "open", "half-open", "half-open", "open", "open"]
    );
    assert_eq!(scene.sends(), 8);
}

#[tokio::test]
async fn a_breaker_counts_attempts_and_not_calls_that_gave_up() {
    // Breaks when the breaker stands around the loop: five calls of four attempts each are twenty.
    let scene = Scene::new("GET /v1/models = 503").await;
    let upstream = scene.describes(inside::upstream);
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(scene.play(&upstream, inside::run(&upstream)).await);
    }
    assert_eq!(
        said,
        [
            "attempts-spent after 4 attempts",
            "breaker-open after 1 attempts",
            "breaker-open after 0 attempts"
        ]
    );
    assert_eq!(scene.sends(), 5);
}

const BANK: &str = "
    [[route]]
    match = 'POST /v1/payments'
    resource = 'payments'
    idempotency = { header = 'Idempotency-Key' }
";

#[tokio::test]
async fn a_payment_has_one_key_over_all_its_attempts_and_is_made_once() {
    // Breaks when the key is made inside the loop: the bank takes three attempts for three payments.
    let scene = Scene::of_file(&format!("{BANK} script = 'apply then reset, 504, 503, 200'")).await;
    let bank = scene.describes(payments::upstream);
    let key = Some(HeaderValue::from_static("order-7"));
    scene.play(&bank, payments::run(&bank, key)).await.unwrap();
    let attempts = scene.mock.journal().attempts;
    let keys: BTreeSet<_> = attempts.iter().map(|attempt| attempt.key.clone()).collect();
    assert_eq!((attempts.len(), keys.len()), (4, 1));
    assert_eq!(scene.mock.resources("payments").len(), 1);
}

#[tokio::test]
async fn a_payment_without_a_key_is_sent_once_and_told_where_it_may_be_done() {
    // Breaks when a lost answer, or a 504, is taken for a payment that was not made.
    for (script, sends) in [
        ("apply then reset", 1),
        ("504", 1),
        ("hang", 1),
        ("429 retry-after=1, 200", 2),
    ] {
        let scene = Scene::new(&format!("POST /v1/payments = {script}")).await;
        let bank = scene.describes(payments::upstream);
        let ended = scene.play(&bank, payments::run(&bank, None)).await;
        assert_eq!(scene.sends(), sends, "{script}: {ended:?}");
        match ended {
            Ok(status) => assert_eq!((status, sends), (200, 2)),
            Err(unknown) => {
                let write = unknown.expect(script);
                assert_eq!(
                    (write.upstream.as_str(), write.path.as_str()),
                    ("bank", "/v1/payments")
                );
            }
        }
    }
}

#[tokio::test]
async fn retries_are_a_tenth_of_the_traffic_over_all_calls() {
    // Breaks when each call has retries of its own: two hundred calls are six hundred attempts.
    let scene = Scene::new("GET /v1/models = 503").await;
    let upstream = scene.describes(budget::upstream);
    let mut last = Ok(0);
    for _ in 0..200 {
        last = scene.play(&upstream, budget::run(&upstream)).await;
    }
    assert_eq!(last, Err("budget-empty"));
    assert!((205..=220).contains(&scene.sends()), "{}", scene.sends());
    let at = scene.stage.clock_secs();
    scene.play(&upstream, budget::run(&upstream)).await.unwrap_err();
    assert_eq!(scene.stage.clock_secs(), at, "and failures come back at once");
}

#[tokio::test]
async fn a_layer_around_a_layer_does_not_make_nine_of_three() {
    // Breaks when budgets are per call: three times three attempts, and all of it in an outage.
    let scene = Scene::new("GET /v1/models = 503").await;
    let upstream = scene.describes(budget::upstream);
    let outer = Policy::builder().retries(2).breaker(None);
    let outer = outer
        .edit_budget(|budget| budget.ratio_per_mille(100).floor_milli(0))
        .build()
        .unwrap();
    let outer: Gate = scene.gate(&outer, 1);
    for _ in 0..200 {
        let call = seawall::retry(|| budget::run(&upstream), &outer).when(|_| true);
        scene.play(&upstream, call).await.unwrap_err();
    }
    assert!(scene.sends() <= 200 * 11 / 10 * 11 / 10, "{}", scene.sends());
}

#[tokio::test]
async fn recurring_429s_make_fewer_calls_and_not_more() {
    // Breaks when each caller comes back for itself: 39 are refused, then 38 in the next second, 741 in all.
    let scene = Scene::of_file("[[route]]\nmatch = 'GET /v1/models'\nlimit = { rpm = 60, burst = 1 }").await;
    let upstream = scene.describes(throttled::upstream);
    let ended = scene
        .play_many(&upstream, 40, |_| throttled::run(&upstream))
        .await;
    let answered = ended.iter().filter(|ended| **ended == Ok(200)).count();
    let attempts = scene.mock.journal().attempts;
    let refused = attempts
        .iter()
        .filter(|attempt| attempt.status == Some(429))
        .count();
    assert_eq!(answered, 40, "{ended:?}");
    assert!(refused <= 40, "{refused} of {}", attempts.len());
    for pair in attempts.windows(2).filter(|pair| pair[1].at > pair[0].at) {
        let gap = pair[1].at.since(pair[0].at);
        assert!(
            gap >= Duration::from_secs(1),
            "nobody comes before the server's time: {gap}"
        );
    }
}

#[tokio::test]
async fn a_reset_costs_one_attempt_and_a_server_that_is_silent_thirty_seconds() {
    // Breaks when a connection that the server has closed is used again and again, or a call has no end.
    for (script, said, secs) in [
        ("reset, 200", "200 OK after 2 attempts", 1),
        ("close, 200", "200 OK after 2 attempts", 1),
        ("2x reset after=0, 200", "200 OK after 3 attempts", 2),
        ("200", "200 OK after 1 attempts", 0),
        ("hang", "deadline-passed: Some(\"timeout\")", 30),
    ] {
        let scene = Scene::new(&format!("GET /v1/models = {script}")).await;
        let upstream = scene.describes(resets::upstream);
        assert_eq!(
            scene.play(&upstream, resets::run(&upstream)).await,
            said,
            "{script}"
        );
        assert!(
            scene.stage.clock_secs() <= secs,
            "{script}: {}",
            scene.stage.clock_secs()
        );
    }
}

#[tokio::test]
async fn a_connection_is_kept_alive_and_made_anew_when_it_was_closed() {
    // Breaks when every call connects, or when one that the server closed meanwhile fails the next.
    let scene = Scene::new("GET /v1/models = 2x 200, close, 200").await;
    let upstream = scene.describes(resets::upstream);
    for _ in 0..3 {
        let said = scene.play(&upstream, resets::run(&upstream)).await;
        assert_eq!(said, "200 OK after 1 attempts");
    }
    let connections: Vec<_> = scene
        .mock
        .journal()
        .attempts
        .iter()
        .map(|attempt| attempt.connection)
        .collect();
    assert_eq!(connections, [1, 1, 1, 2]);
}
