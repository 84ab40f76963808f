//! The HTTP adapter against real sockets: hand-written servers that break on purpose.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod allocations;
#[cfg(feature = "macros")]
mod attribute;
mod blocking;
mod broken;
mod dropped;
mod hostile;
mod http2;
mod panicked;
mod pooled;
mod resent;
mod server;
mod tls;
mod trace;
mod whole;
mod worlds;

use std::future::Future;
use std::time::Duration;

use seawall::http::{AttemptLimits, Outgoing, Transport};
use seawall_core::time::Duration as Length;

/// Limits that no test reaches unless it cranks the clock.
const LIMITS: AttemptLimits = AttemptLimits {
    connect: Length::from_secs(5),
    first_byte: Length::from_secs(60),
    idle: Length::from_secs(30),
    total: None,
};

/// Guards against a hang: far beyond what any test takes on a machine that is twenty times as slow, so that no test depends
/// on it.
async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(600), what)
        .await
        .expect("it hangs")
}

fn transport() -> Transport {
    Transport::builder().seed(1).build().unwrap()
}

fn post(url: &str, body: &'static str) -> Outgoing {
    Outgoing::new(http::Method::POST, url.parse().unwrap()).with_body(body)
}
