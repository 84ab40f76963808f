//! A reverse proxy in thirty lines: an answer's body passes through as it comes.

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use http_body_util::BodyExt as _;
use seawall::Duration;
use seawall::http::{AttemptLimits, Outgoing, Resend, Transport};
use seawall_lab::net::Mock;
use tower::ServiceExt as _;

const LIMITS: AttemptLimits = AttemptLimits {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(60),
    idle: Duration::from_secs(30),
    total: None,
};

/// Sends a request on, once, and its answer back. `AnswerBody` is a `hyper::body::Body`: nothing of it is held.
async fn pass(State((transport, base)): State<(Transport, String)>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let (Ok(url), Ok(body)) = (format!("{base}{path}").parse(), body.collect().await) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let out = Outgoing::new(head.method, url).with_body(body.to_bytes());
    match transport.attempt(&out, &LIMITS, Resend::StaleOnce).await.result {
        Ok(answer) => (answer.status, Body::new(answer.body)).into_response(),
        Err(broken) => (StatusCode::BAD_GATEWAY, broken.to_string()).into_response(),
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mock = Mock::start("GET /v1/things = 200").await?;
    mock.route("GET /v1/cut = truncate at=50%")?;
    let transport = Transport::builder().build()?;
    let proxy = Router::new().fallback(pass).with_state((transport, mock.url()));
    let ask = |path| {
        proxy
            .clone()
            .oneshot(http::Request::get(path).body(Body::empty()).expect("a request"))
    };

    let answer = ask("/v1/things").await?;
    assert_eq!(answer.status(), 200);
    assert!(!answer.into_body().collect().await?.to_bytes().is_empty());
    // A body that is cut upstream is cut for the proxy's caller too: no clean end is made up.
    assert!(ask("/v1/cut").await?.into_body().collect().await.is_err());
    Ok(())
}
