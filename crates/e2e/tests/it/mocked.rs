//! The live library against the mock server that users get, on real time: what its scripts name is what is met.

use crate::stage::soon;
use http::HeaderValue;
use seawall::upstream::{Call, Upstream};
use seawall_core::policy::Policy;
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use seawall_lab::net::Mock;
use seawall_lab::plan::{Idempotency, Rule};

#[tokio::test]
async fn each_fault_of_the_mock_is_met_as_what_it_is_called() {
    // Breaks when a fault on the wire is not what its name says, or when the library takes it for another.
    for (script, code, cause, status) in [
        ("200", "succeeded", None, None),
        ("400", "refused", None, Some(400)),
        ("401", "denied", None, Some(401)),
        ("429", "attempts-spent", None, Some(429)),
        ("503", "attempts-spent", Some("status"), Some(503)),
        ("429 retry-after=7200", "attempts-spent", None, Some(429)),
        ("reset", "attempts-spent", Some("cut"), None),
        ("close", "attempts-spent", Some("cut"), None),
        ("reset after=5", "attempts-spent", Some("cut"), Some(200)),
        ("close after=5", "attempts-spent", Some("cut"), Some(200)),
        ("truncate at=50%", "attempts-spent", Some("cut"), Some(200)),
        ("error-in-200", "attempts-spent", Some("malformed"), Some(200)),
    ] {
        let mock = Mock::start(&format!("POST /v1/chat/completions = {script}"))
            .await
            .unwrap();
        let policy = Policy::builder().retries(0).build().unwrap();
        let upstream = Upstream::builder(&mock.url())
            .unwrap()
            .provider(Provider::OpenAi)
            .policy(policy)
            .build()
            .unwrap();
        let asked = Call::post_json("/v1/chat/completions", r#"{"model":"small-1","messages":[]}"#);
        let told = soon(upstream.call(asked)).await;
        let (said, why, answered) = match &told {
            Ok(_) => ("succeeded", None, None),
            Err(error) => (
                error.reason.code(),
                error.cause.map(|cause| cause.name()),
                error.answer.as_ref().map(|answer| answer.status.as_u16()),
            ),
        };
        assert_eq!((said, why, answered), (code, cause, status), "{script}");
        soon(mock.quiet()).await;
        assert_eq!(mock.journal().attempts.len(), 1, "{script}");
    }
}

#[tokio::test]
async fn a_mock_that_hangs_meets_the_callers_own_limit() {
    // Breaks when a silent server holds a caller beyond what the caller said. The limit is what ends this: however
    // slow the machine, there is nothing else that could. It is long enough for the mock to see the call.
    let mock = Mock::start("GET /v1/things = hang").await.unwrap();
    let policy = Policy::builder()
        .retries(0)
        .first_byte(Duration::from_millis(500))
        .build()
        .unwrap();
    let upstream = Upstream::builder(&mock.url())
        .unwrap()
        .policy(policy)
        .build()
        .unwrap();
    let error = soon(upstream.call(Call::get("/v1/things"))).await.unwrap_err();
    assert_eq!(error.cause.map(|cause| cause.name()), Some("timeout"));
    soon(mock.quiet()).await;
    let journal = mock.journal();
    assert!(
        journal.attempts[0].client_left.is_some(),
        "the socket is closed, not left to the server"
    );
}

/// A mock that keeps the payments of `POST /v1/payments`.
async fn paid(script: &str) -> Mock {
    let mut rule = Rule::parse(&format!("POST /v1/payments = {script}")).unwrap();
    rule.resource = Some("payments".to_owned());
    rule.idempotency = Some(Idempotency::default());
    Mock::builder().rule(rule).start().await.unwrap()
}

/// A payer who is patient, but not with one attempt.
fn payer(mock: &Mock) -> Upstream {
    let policy = Policy::builder()
        .retries(4)
        .backoff_base(Duration::from_millis(1))
        .first_byte(Duration::from_secs(3))
        .build()
        .unwrap();
    Upstream::builder(&mock.url())
        .unwrap()
        .policy(policy)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_payment_that_was_done_and_lost_is_paid_once_with_a_key_and_not_repeated_without() {
    // Breaks when a lost answer is paid for twice: by a key that is made anew for each attempt, or by a repeat that
    // nothing makes safe.
    for lost in [
        "apply then reset",
        "apply then hang",
        "truncate at=50%",
        "apply then 503",
    ] {
        let mock = paid(&format!("{lost}, 503, 200")).await;
        let call = Call::post_json("/v1/payments", r#"{"amount":5}"#);
        let keyed = call.clone().with_key(HeaderValue::from_static("order-7"));
        let answer = soon(payer(&mock).call(keyed))
            .await
            .unwrap_or_else(|error| panic!("{lost}: {error}"));
        let replayed = answer.headers.get("idempotent-replayed");
        assert_eq!(replayed.map(HeaderValue::as_bytes), Some(&b"true"[..]), "{lost}");
        soon(mock.quiet()).await;
        let seen: Vec<_> = mock
            .journal()
            .attempts
            .into_iter()
            .map(|attempt| (attempt.key.unwrap_or_default(), attempt.work.unwrap_or("nothing")))
            .collect();
        let one_key = |work| ("order-7".to_owned(), work);
        assert_eq!(seen, ["created", "nothing", "replayed"].map(one_key), "{lost}");
        assert_eq!(mock.resources("payments").len(), 1, "{lost}");
        // Without a key the caller is told that it is not known, and the books say one.
        let mock = paid(&format!("{lost}, 200")).await;
        let told = soon(payer(&mock).call(call)).await;
        assert!(
            told.is_err_and(|error| error.reason.code() == "may-have-acted"),
            "{lost}"
        );
        assert_eq!(mock.resources("payments").len(), 1, "{lost}");
    }
}
