//! A handler of axum that calls an upstream through the layer, and tells its own caller how that ended.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as HyperError};
use hyper_util::rt::TokioExecutor;
use seawall::seawall_core::facts::Broke;
use seawall::tower::{Error, SeawallLayer};
use seawall::{Duration, Failure, Gate, Policy};
use seawall_lab::net::Mock;
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt as _};

type Upstream = BoxCloneSyncService<http::Request<Empty<Bytes>>, Response, Error<HyperError>>;

#[derive(Clone)]
struct App {
    upstream: Upstream,
    address: String,
}

/// Your own client of hyper-util, behind a gate.
fn upstream(gate: &Gate) -> Upstream {
    let client: Client<HttpConnector, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let layer = SeawallLayer::new(gate)
        .classify(|error: &HyperError| match error.is_connect() {
            true => Failure::broke(Broke::Refused),
            false => Failure::transient(),
        })
        .http();
    let client = client.map_response(|answer| answer.map(axum::body::Body::new));
    BoxCloneSyncService::new(ServiceBuilder::new().layer(layer).service(client))
}

async fn things(State(app): State<App>) -> Result<Response, Response> {
    let request = http::Request::get(&app.address).body(Empty::new());
    let request = request.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())?;
    app.upstream.oneshot(request).await.map_err(refused)
}

/// What a caller is told of a call without an answer: a status, when to come back, and why.
fn refused(error: Error<HyperError>) -> Response {
    let status = match &error {
        Error::TimedOut(_) => StatusCode::GATEWAY_TIMEOUT,
        Error::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_GATEWAY,
    };
    let reason = error.reason().map_or("unready", |reason| reason.code());
    let mut response = (status, reason).into_response();
    if let Some(wait) = error.retry_after() {
        let seconds = wait.as_millis_up().div_ceil(1_000);
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mock = Mock::start("GET /v1/things = 503, 200, 30x reset").await?;
    let policy = Policy::builder()
        .retries(2)
        .backoff_base(Duration::from_millis(1))
        .budget(None)
        .edit_breaker(|breaker| breaker.consecutive(3))
        .build()?;
    let app = App {
        upstream: upstream(&Gate::new(&policy)),
        address: format!("{}/v1/things", mock.url()),
    };
    let router = Router::new().route("/things", get(things)).with_state(app);
    let ask = async |router: Router| {
        let answer = router
            .oneshot(http::Request::get("/things").body(axum::body::Body::empty())?)
            .await?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok::<_, Box<dyn std::error::Error>>((
            head.status.as_u16(),
            String::from_utf8_lossy(&body).into_owned(),
        ))
    };

    // The 503 was retried behind the handler's back.
    assert_eq!(ask(router.clone()).await?.0, 200);
    assert_eq!(ask(router.clone()).await?, (502, "attempts-spent".to_owned()));
    let mut last = ask(router.clone()).await?;
    for _ in 0..200 {
        if last.0 == 503 {
            break;
        }
        last = ask(router.clone()).await?;
    }
    // Now nothing is asked any more: the breaker is open.
    assert_eq!(last, (503, "breaker-open".to_owned()));
    Ok(())
}
