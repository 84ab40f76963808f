//! The live library against the mock over TLS and HTTP/2: what each fault says about whether it is safe to send again.

use crate::stage::soon;
use seawall::http::Transport;
use seawall::upstream::{Call, CallError, Upstream};
use seawall_core::policy::Policy;
use seawall_core::time::Duration;
use seawall_lab::net::{Mock, MockOptions};

/// How the two find each other.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// TLS; HTTP/2 is agreed on.
    Tls,
    /// Clear text; HTTP/2 is known.
    Clear,
}

async fn stage(way: Way, told: MockOptions, retries: u32) -> (Mock, Upstream) {
    let told = match way {
        Way::Tls => told.tls(),
        Way::Clear => told,
    };
    let mock = told.start().await.unwrap();
    let mut transport = Transport::builder();
    if let Some(pem) = mock.ca_pem() {
        transport = transport.extra_ca(pem);
    }
    let policy = Policy::builder()
        .retries(retries)
        .backoff_base(Duration::from_millis(1))
        .build()
        .unwrap();
    let builder = Upstream::builder(&mock.url())
        .unwrap()
        .policy(policy)
        .transport(transport.build().unwrap());
    let builder = match way {
        Way::Tls => builder,
        Way::Clear => builder.http2_prior_knowledge(),
    };
    (mock, builder.build().unwrap())
}

/// A write without a key, which is sent again only where the server promised that it did not look at it.
fn payment() -> Call {
    Call::post_json("/v1/payments", r#"{"amount":5}"#)
}

async fn asked(way: Way, script: &str, retries: u32) -> (Mock, Result<u16, Box<CallError>>) {
    let route = format!("POST /v1/payments = {script}");
    let (mock, upstream) = stage(way, Mock::builder().route(route), retries).await;
    let told = soon(upstream.call(payment())).await;
    (mock, told.map(|answer| answer.status.as_u16()))
}

fn attempts(mock: &Mock) -> Vec<(Option<String>, u64)> {
    let attempts = mock.journal().attempts;
    let seen = attempts
        .iter()
        .map(|attempt| (attempt.fault.as_deref().map(str::to_owned), attempt.connection));
    seen.collect()
}

#[tokio::test]
async fn a_write_is_sent_again_where_the_server_said_that_it_did_not_look() {
    // Breaks when the mock's GOAWAY names the stream that it leaves out, or its reset lacks its code.
    for way in [Way::Tls, Way::Clear] {
        for (script, fault) in [
            ("goaway, 200", "goaway"),
            ("rst-stream error=refused-stream, 200", "rst-stream"),
        ] {
            let (mock, told) = asked(way, script, 1).await;
            assert_eq!(told.unwrap(), 200, "{way:?} {script}");
            soon(mock.quiet()).await;
            let seen = attempts(&mock);
            assert_eq!(seen.len(), 2, "{way:?} {script}: {seen:?}");
            assert_eq!(seen[0].0.as_deref(), Some(fault));
            // A GOAWAY ends its connection, a reset stream does not.
            assert_eq!(seen[0].1 == seen[1].1, fault == "rst-stream", "{seen:?}");
        }
    }
}

#[tokio::test]
async fn a_write_that_may_have_acted_is_not_sent_again() {
    // Breaks when a broken stream or connection passes for one that nobody looked at.
    for way in [Way::Tls, Way::Clear] {
        for script in [
            "rst-stream, 200",
            "rst-stream error=cancel, 200",
            "apply then rst-stream, 200",
            "reset, 200",
            "close, 200",
            "half-close, 200",
            "garbage, 200",
            "truncate at=50%, 200",
        ] {
            let (mock, told) = asked(way, script, 1).await;
            let error = told.expect_err(script);
            assert_eq!(error.reason.code(), "may-have-acted", "{way:?} {script}");
            soon(mock.quiet()).await;
            assert_eq!(attempts(&mock).len(), 1, "{way:?} {script}");
        }
    }
}

#[tokio::test]
async fn a_port_that_is_closed_for_a_time_is_waited_for() {
    // Breaks when a refusal for a time is served by a listener that resets: the write would not be sent again.
    let told = Mock::builder()
        .listener("for 300ms refuse, accept")
        .route("POST /v1/payments = 200");
    let mock = told.start().await.unwrap();
    let policy = Policy::builder()
        .retries(20)
        .backoff_base(Duration::from_millis(20))
        .build()
        .unwrap();
    let upstream = Upstream::builder(&mock.url())
        .unwrap()
        .policy(policy)
        .build()
        .unwrap();
    let told = soon(upstream.call(payment())).await;
    assert_eq!(told.unwrap().status.as_u16(), 200);
    soon(mock.quiet()).await;
    assert_eq!(
        mock.journal().attempts.len(),
        1,
        "nobody saw those that were refused"
    );
}

#[tokio::test]
async fn a_wrong_certificate_is_met_as_one() {
    // Breaks when the library trusts what the mock shows it, or takes a bad certificate for a server that is down.
    for (script, code, cause) in [
        ("bad-cert", "refused", "request"),
        ("expired-cert", "refused", "request"),
        ("tls-fail", "attempts-spent", "connect"),
    ] {
        let told = Mock::builder().listener(script);
        let (_mock, upstream) = stage(Way::Tls, told, 0).await;
        let error = soon(upstream.call(payment())).await.unwrap_err();
        let named = (error.reason.code(), error.cause.map(|cause| cause.name()));
        assert_eq!(named, (code, Some(cause)), "{script}: {error}");
    }
}
