//! A reqwest client behind gates, and the same in a chain of reqwest-middleware, against the mock's faults.

use crate::stage::soon;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, Next};
use seawall::reqwest::{Client, Error, Middleware};
use seawall::seawall_core::facts::Replay;
use seawall::seawall_core::policy::PolicyBuilder;
use seawall::tower::Ended;
use seawall::{Classify, Duration, Failure, Gates, Policy};
use seawall_core::facts::Broke;
use seawall_lab::net::Mock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

fn quick() -> PolicyBuilder {
    Policy::builder()
        .retries(3)
        .backoff_base(Duration::from_millis(1))
        .budget(None)
        .breaker(None)
}

fn client(policy: PolicyBuilder) -> Client {
    // A proxy of the machine would answer for hosts that are nowhere.
    let direct = reqwest::Client::builder().no_proxy().build().unwrap();
    Client::new(direct, &policy.build().unwrap())
}

async fn mock(script: &str) -> Mock {
    Mock::start(&format!("* /v1/things = {script}")).await.unwrap()
}

fn things(mock: &Mock) -> String {
    format!("{}/v1/things", mock.url())
}

fn said(answered: &Result<Response, Error>) -> (Option<u16>, Option<&'static str>) {
    match answered {
        Ok(answer) => (
            Some(answer.status().as_u16()),
            answer
                .extensions()
                .get::<Ended>()
                .map(|ended| ended.reason.code()),
        ),
        Err(error) => (None, error.reason().map(|reason| reason.code())),
    }
}

#[tokio::test]
async fn a_fault_is_retried_where_that_is_safe_and_only_there() {
    // Breaks when a POST that may have acted is sent again, or one that provably did not is given up.
    for (method, script, status, code, seen) in [
        ("GET", "2x 503, 200", Some(200), None, 3),
        ("GET", "reset, close, 200", Some(200), None, 3),
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
        ("PUT", "500, 200", Some(200), None, 2),
        ("PATCH", "500, 200", Some(500), Some("may-have-acted"), 1),
        ("POST", "500, 200", Some(500), Some("may-have-acted"), 1),
        ("POST", "reset, 200", None, Some("may-have-acted"), 1),
        ("POST", "429 retry-after-ms=5, 200", Some(200), None, 2),
    ] {
        let mock = mock(script).await;
        let request = client(quick()).request(method.parse().unwrap(), things(&mock));
        let answered = soon(request.json(&[1, 2]).send()).await;
        let told = said(&answered);
        drop(answered);
        soon(mock.quiet()).await;
        let attempts = mock.journal().attempts.len();
        assert_eq!((told, attempts), ((status, code), seen), "{method} {script}");
    }
}

#[tokio::test]
async fn a_write_is_repeated_with_a_key_or_on_its_callers_word() {
    // Breaks when a key is not seen, or is another for each attempt.
    let mock = mock("reset, 500, 200").await;
    let answered = soon(
        client(quick())
            .post(things(&mock))
            .key("order-7")
            .body("{}")
            .send(),
    )
    .await;
    assert_eq!(answered.unwrap().status(), 200);
    soon(mock.quiet()).await;
    let keys: Vec<_> = mock
        .journal()
        .attempts
        .into_iter()
        .map(|attempt| attempt.key)
        .collect();
    assert_eq!(keys, vec![Some("order-7".to_owned()); 3]);
    let mock = self::mock("500, 200").await;
    let declared = client(quick()).post(things(&mock)).replay(Replay::Declared);
    assert_eq!(soon(declared.send()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_body_that_is_a_stream_is_sent_once_and_that_is_said() {
    // Breaks when such a request is repeated without its bytes.
    let mock = mock("503, 200").await;
    let stream = reqwest::Body::wrap(http_body_util::Full::new(bytes::Bytes::from_static(b"{}")));
    let answered = soon(client(quick()).put(things(&mock)).body(stream).send()).await;
    assert_eq!(said(&answered), (Some(503), Some("body-too-large")));
    assert_eq!(mock.journal().attempts.len(), 1);
}

#[tokio::test]
async fn a_body_that_is_cut_is_the_callers_unless_the_client_holds_bodies() {
    // Breaks when a held body that is cut is handed over as if it were whole, or a longer one than is held loses bytes.
    let cut = mock("truncate at=50%, 200").await;
    let answer = soon(client(quick()).get(things(&cut)).send()).await.unwrap();
    assert!(soon(answer.bytes()).await.is_err());
    let cut = mock("truncate at=50%, 200").await;
    let held = client(quick()).hold(1 << 20);
    let answer = soon(held.get(things(&cut)).send()).await.unwrap();
    assert_eq!(answer.url().path(), "/v1/things");
    let whole = soon(answer.bytes()).await.unwrap();
    soon(cut.quiet()).await;
    assert_eq!(cut.journal().attempts.len(), 2);
    let fine = mock("200").await;
    let longer = client(quick()).hold(3);
    let answer = soon(longer.get(things(&fine)).send()).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
    let longer = soon(answer.bytes()).await.unwrap();
    assert_eq!(longer.len(), whole.len());
    assert!(longer.starts_with(b"{") && longer.ends_with(b"}"), "{longer:?}");
}

#[tokio::test]
async fn a_host_that_is_down_leaves_another_alone() {
    // Breaks when all hosts of a client share a breaker.
    let policy = quick().retries(0).edit_breaker(|breaker| breaker.consecutive(2));
    let policy = policy.build().unwrap();
    let gates = Gates::new(&policy);
    let client = Client::new(reqwest::Client::new(), gates.clone());
    let (down, up) = (mock("reset").await, mock("200").await);
    let ended = soon(async {
        loop {
            let error = client.get(things(&down)).send().await.unwrap_err();
            if let Error::Refused(ended) = error {
                return ended;
            }
        }
    });
    assert_eq!(ended.await.reason.code(), "breaker-open");
    assert_eq!(soon(client.get(things(&up)).send()).await.unwrap().status(), 200);
    assert_eq!(gates.len(), 2);
}

#[tokio::test]
async fn an_error_of_reqwest_is_what_it_was_and_kept() {
    // Breaks when "nobody listens" and "cut off in the middle" are one kind: the first is safe to repeat, the second not.
    // Held and not listened at: a port that is let go may be another test's a moment later.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}/", held.local_addr().unwrap());
    let error = soon(client(quick()).post(&nobody).send()).await.unwrap_err();
    assert_eq!(
        (error.reason().unwrap().code(), error.attempts()),
        ("attempts-spent", 4)
    );
    let last = error.into_inner().unwrap();
    assert!(last.is_connect());
    assert_eq!(last.classify(), Failure::broke(Broke::Refused));
    let hangs = mock("hang").await;
    let slow = client(quick())
        .get(things(&hangs))
        .timeout(std::time::Duration::from_millis(30))
        .retries_max(0);
    let last = soon(slow.send()).await.unwrap_err().into_inner().unwrap();
    assert_eq!(last.classify(), Failure::broke(Broke::Timeout));
    let cut = mock("close").await;
    let error = soon(client(quick()).post(things(&cut)).send()).await.unwrap_err();
    assert!(error.ended().unwrap().unknown);
    assert_eq!(
        error.into_inner().unwrap().classify(),
        Failure::broke(Broke::Closed)
    );
    let error = soon(client(quick()).get("no address").send()).await.unwrap_err();
    assert!(matches!(error, Error::Unready(_)), "{error}");
    // A label of 64 letters is none, which the resolver says without asking a server, that may not be there.
    let nowhere = format!("http://{}.invalid/", "a".repeat(64));
    let nowhere = soon(client(quick()).get(nowhere).send()).await.unwrap_err();
    assert_eq!(
        nowhere.into_inner().unwrap().classify(),
        Failure::broke(Broke::Dns)
    );
    let redirects = mock("302 header.location=/v1/things").await;
    let looped = soon(client(quick()).get(things(&redirects)).send())
        .await
        .unwrap_err();
    assert_eq!(looped.reason().unwrap().code(), "refused");
    assert!(looped.into_inner().unwrap().is_redirect());
}

#[tokio::test]
async fn a_deadline_holds_over_attempts_and_a_caller_that_leaves_closes_its_connection() {
    // Breaks when the client's own patience is all that ends an attempt.
    let hangs = mock("hang").await;
    let short = client(quick())
        .get(things(&hangs))
        .deadline(Duration::from_millis(500));
    let error = soon(short.send()).await.unwrap_err();
    assert_eq!(error.reason().unwrap().code(), "deadline-passed");
    soon(hangs.quiet()).await;
    assert!(hangs.journal().attempts[0].client_left.is_some());
}

/// Counts attempts, as a middleware within the retries does.
struct Counts(Arc<AtomicU32>);

impl Counts {
    async fn pass(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        extensions.insert(self.0.fetch_add(1, SeqCst) + 1);
        next.run(request, extensions).await
    }
}

impl reqwest_middleware::Middleware for Counts {
    fn handle<'me, 'ext, 'next, 'all>(
        &'me self,
        request: Request,
        extensions: &'ext mut Extensions,
        next: Next<'next>,
    ) -> std::pin::Pin<Box<dyn Future<Output = reqwest_middleware::Result<Response>> + Send + 'all>>
    where
        'me: 'all,
        'ext: 'all,
        'next: 'all,
        Self: 'all,
    {
        Box::pin(self.pass(request, extensions, next))
    }
}

#[tokio::test]
async fn a_middleware_runs_the_rest_of_the_chain_for_each_attempt() {
    // Breaks when what stands within is run once, or what it notes is lost.
    let mock = mock("2x 503, 200, reset").await;
    let counts = Arc::new(AtomicU32::new(0));
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(Middleware::new(&quick().retries(2).build().unwrap()))
        .with(Counts(Arc::clone(&counts)))
        .build();
    let mut noted = Extensions::new();
    let request = reqwest::Request::new(reqwest::Method::GET, things(&mock).parse().unwrap());
    let answer = soon(client.execute_with_extensions(request, &mut noted))
        .await
        .unwrap();
    assert_eq!((answer.status().as_u16(), counts.load(SeqCst)), (200, 3));
    assert_eq!(noted.get::<u32>(), Some(&3));
    let error = soon(client.get(things(&mock)).send()).await.unwrap_err();
    let reqwest_middleware::Error::Middleware(error) = error else {
        panic!("{error}")
    };
    let error = error
        .downcast_ref::<seawall::tower::Error<reqwest_middleware::Error>>()
        .unwrap();
    assert_eq!(
        (error.reason().unwrap().code(), error.attempts()),
        ("attempts-spent", 3)
    );
}
