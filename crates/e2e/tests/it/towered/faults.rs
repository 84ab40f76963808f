//! A client of hyper-util behind the layer, against the mock's faults.

use crate::stage::soon;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as HyperError};
use hyper_util::rt::TokioExecutor;
use seawall::seawall_core::facts::Broke;
use seawall::seawall_core::facts::Replay;
use seawall::seawall_core::policy::PolicyBuilder;
use seawall::tower::{Ended, Error, PerCall, SeawallLayer};
use seawall::{Duration, Failure, Gate, Policy};
use seawall_lab::net::Mock;
use tower::{Service, ServiceBuilder, ServiceExt as _};

type Answered = Result<Response<Incoming>, Error<HyperError>>;

fn quick() -> PolicyBuilder {
    Policy::builder()
        .retries(3)
        .backoff_base(Duration::from_millis(1))
        .budget(None)
        .breaker(None)
}

fn service(
    gate: &Gate,
) -> impl Service<Request<Full<Bytes>>, Response = Response<Incoming>, Error = Error<HyperError>, Future: Send>
+ Clone {
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let layer = SeawallLayer::new(gate)
        .classify(|error: &HyperError| match error.is_connect() {
            true => Failure::broke(Broke::Refused),
            false => Failure::transient(),
        })
        .http();
    ServiceBuilder::new().layer(layer).service(client)
}

async fn asked(mock: &Mock, gate: &Gate, method: &str, per_call: PerCall) -> Answered {
    let request = Request::builder()
        .method(method)
        .uri(format!("{}/v1/things", mock.url()))
        .extension(per_call)
        .body(Full::from("{}"))
        .unwrap();
    let answered = soon(service(gate).oneshot(request)).await;
    assert_eq!(gate.attempts_out(), 0);
    answered
}

fn gate(policy: PolicyBuilder) -> Gate {
    Gate::new(&policy.build().unwrap())
}

#[tokio::test]
async fn a_fault_is_retried_where_that_is_safe_and_only_there() {
    // Breaks when a POST that may have acted is sent again, or one that provably did not is given up.
    for (method, script, status, code, seen) in [
        ("GET", "2x 503, 200", Some(200), None, 3),
        ("GET", "2x reset, 200", Some(200), None, 3),
        ("GET", "429 retry-after-ms=5, 200", Some(200), None, 2),
        ("GET", "503", Some(503), Some("attempts-spent"), 4),
        ("GET", "404", Some(404), Some("refused"), 1),
        (
            "GET",
            "429 retry-after=7200",
            Some(429),
            Some("server-asked-too-long"),
            1,
        ),
        ("GET", "reset", None, Some("attempts-spent"), 4),
        ("POST", "500, 200", Some(500), Some("may-have-acted"), 1),
        ("POST", "reset, 200", None, Some("may-have-acted"), 1),
        ("POST", "429 retry-after-ms=5, 200", Some(200), None, 2),
        ("POST", "503 retry-after-ms=5, 200", Some(200), None, 2),
    ] {
        let mock = Mock::start(&format!("{method} /v1/things = {script}"))
            .await
            .unwrap();
        let answered = asked(&mock, &gate(quick()), method, PerCall::default()).await;
        let (got, why) = match &answered {
            Ok(answer) => (
                Some(answer.status().as_u16()),
                answer
                    .extensions()
                    .get::<Ended>()
                    .map(|ended| ended.reason.code()),
            ),
            Err(error) => (None, error.reason().map(|reason| reason.code())),
        };
        drop(answered);
        soon(mock.quiet()).await;
        let attempts = mock.journal().attempts.len();
        assert_eq!((got, why, attempts), (status, code, seen), "{method} {script}");
    }
}

#[tokio::test]
async fn a_caller_says_for_one_request_what_the_layer_says_for_all() {
    // Breaks when what is in a request's extensions is not heard.
    let mock = Mock::start("POST /v1/things = 500, 200").await.unwrap();
    let declared = PerCall::default().replay(Replay::Declared);
    assert_eq!(
        asked(&mock, &gate(quick()), "POST", declared)
            .await
            .unwrap()
            .status(),
        200
    );
    let mock = Mock::start("GET /v1/things = 503").await.unwrap();
    let once = PerCall::default().retries_max(0);
    assert_eq!(
        asked(&mock, &gate(quick()), "GET", once).await.unwrap().status(),
        503
    );
    assert_eq!(mock.journal().attempts.len(), 1);
    let mock = Mock::start("GET /v1/things = hang").await.unwrap();
    let short = PerCall::default().deadline(Duration::from_millis(500));
    let error = asked(&mock, &gate(quick()), "GET", short).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    soon(mock.quiet()).await;
    assert!(
        mock.journal().attempts[0].client_left.is_some(),
        "the socket is closed"
    );
}

#[tokio::test]
async fn a_head_that_does_not_come_is_cut_at_the_first_byte_limit() {
    // Breaks when a layer around HTTP knows the deadline alone: one attempt would use up the whole call.
    let mock = Mock::start("GET /v1/things = hang, 200").await.unwrap();
    let policy = quick()
        .connect(Duration::from_millis(500))
        .first_byte(Duration::from_millis(500));
    assert_eq!(
        asked(&mock, &gate(policy), "GET", PerCall::default())
            .await
            .unwrap()
            .status(),
        200
    );
}

#[tokio::test]
async fn the_server_sees_no_more_extras_than_the_budget_allows() {
    // Breaks when retries of a layer are charged to nobody. The floor is nothing, so ten calls earn one extra.
    let mock = Mock::start("GET /v1/things = 503").await.unwrap();
    let policy = Policy::builder()
        .retries(3)
        .backoff_base(Duration::from_millis(1))
        .edit_budget(|budget| {
            budget
                .floor_milli(0)
                .ratio_per_mille(100)
                .window(Duration::from_secs(600))
        })
        .breaker(None);
    let gate = gate(policy);
    for _ in 0..100 {
        assert_eq!(
            asked(&mock, &gate, "GET", PerCall::default())
                .await
                .unwrap()
                .status(),
            503
        );
    }
    let seen = mock.journal().attempts.len();
    assert!((105..=110).contains(&seen), "{seen} attempts of 100 calls");
}

#[tokio::test]
async fn a_caller_that_leaves_closes_its_connection_and_keeps_no_place() {
    // Breaks when a dropped call goes on in the background.
    let mock = Mock::start("GET /v1/things = hang").await.unwrap();
    let gate = gate(quick().concurrency(1));
    let request = Request::get(format!("{}/v1/things", mock.url()))
        .body(Full::default())
        .unwrap();
    let mut call = Box::pin(service(&gate).oneshot(request));
    soon(std::future::poll_fn(|context| {
        let _pending = call.as_mut().poll(context);
        match mock.journal().attempts.is_empty() {
            true => {
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            }
            false => std::task::Poll::Ready(()),
        }
    }))
    .await;
    assert_eq!(gate.attempts_out(), 1);
    drop(call);
    assert_eq!(gate.attempts_out(), 0);
    soon(mock.quiet()).await;
    assert!(mock.journal().attempts[0].client_left.is_some());
}
