//! What gRPC says of a call: a code, and how long to wait.
//!
//! What can go wrong: gRPC answers every call with HTTP 200, and says in a header or a trailer that it failed; a client
//! that looks at the status sees nothing but successes. Where there are no messages the code stands in the head, and that
//! is where a server that is not available says so. A code in the trailers comes after the response was handed over: a
//! layer around typed calls sees it, with [`grpc_failure`]. Reference: gRPC's status codes, and A6 for the push-back.

use super::answers::{Answers, Met};
use crate::clock::Clock;
use crate::retry::Failure;
use crate::tower::error::Ended;
use crate::tower::http::HttpAnswers;
use http::{HeaderMap, Response};
use seawall_core::facts::Broke;
use seawall_core::outcome::Report;
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use seawall_core::verdict::Limits;

/// What a gRPC code is, with what its metadata says of waiting (`grpc-retry-pushback-ms`; one that is negative or no
/// number means not at all).
///
/// UNAVAILABLE is worth another attempt, and so are UNKNOWN, INTERNAL and DEADLINE_EXCEEDED, which may have acted;
/// RESOURCE_EXHAUSTED is a throttle. All others stay as they are, ABORTED too: its transaction begins further up.
///
/// ```
/// use seawall::Failure;
/// use seawall::tower::grpc_failure;
///
/// let mut metadata = http::HeaderMap::new();
/// assert_eq!(grpc_failure(14, &metadata), Failure::status(503));
/// metadata.insert("grpc-retry-pushback-ms", "-1".parse()?);
/// assert_eq!(grpc_failure(14, &metadata), Failure::permanent());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grpc_failure(code: u32, metadata: &HeaderMap) -> Failure {
    let failure = match code {
        14 => Failure::status(503),
        8 => Failure::throttled(),
        4 => Failure::broke(Broke::Timeout),
        2 | 13 => Failure::status(500),
        7 => Failure::status(403),
        16 => Failure::status(401),
        _ => Failure::permanent(),
    };
    let Some(pushback) = metadata.get("grpc-retry-pushback-ms") else {
        return failure;
    };
    match pushback
        .to_str()
        .ok()
        .and_then(|ms| ms.trim().parse::<u64>().ok())
    {
        Some(ms) => failure.retry_after(Duration::from_millis(ms)),
        None => Failure::permanent(),
    }
}

/// Responses of gRPC over HTTP: a code in the head is what counts, else the HTTP status.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcAnswers;

const OVER_HTTP: HttpAnswers = HttpAnswers::of(Provider::Generic);

impl<B> Answers<Response<B>> for GrpcAnswers {
    fn report(&self, response: &Response<B>, clock: &dyn Clock) -> Report {
        let Some(code) = response.headers().get("grpc-status") else {
            return OVER_HTTP.report(response, clock);
        };
        match code.to_str().ok().and_then(|code| code.parse::<u32>().ok()) {
            Some(0) => Met::Answer.report(),
            // One that cannot be read is UNKNOWN.
            code => grpc_failure(code.unwrap_or(2), response.headers()).report(),
        }
    }

    fn limit(&self, limits: &Limits) -> Duration {
        Answers::<Response<B>>::limit(&OVER_HTTP, limits)
    }

    fn ended(&self, response: &mut Response<B>, ended: Ended) {
        OVER_HTTP.ended(response, ended);
    }
}
