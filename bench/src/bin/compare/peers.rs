//! The contestants, each set up as its own documentation shows, with the settings that all are told.
//!
//! Those that wrap a call and know no HTTP are given one over reqwest, and told the usual: that a status of 429 or from
//! 500 up, and whatever broke, is worth another attempt.

mod clients;
mod wrappers;

use crate::ask::{Able, Ask, Kind, Peer};
use std::fmt;

/// Who is compared, in the order of the columns.
pub fn all() -> Vec<Peer> {
    use Able::{Breaks, Limits, Retries, Writes};
    vec![
        Peer {
            name: "seawall",
            version: "here",
            set_up: "`Upstream` of the provider `openai`, with a policy",
            able: &[Retries, Breaks, Limits, Writes],
            client: clients::seawall,
        },
        Peer {
            name: "backon",
            version: "1.6.0",
            set_up: "`ExponentialBuilder` with jitter, `when`",
            able: &[Retries, Writes],
            client: wrappers::backon,
        },
        Peer {
            name: "tower",
            version: "0.5.3",
            set_up: "the policy of its documentation with budget and backoff, over its concurrency limit and timeout",
            able: &[Retries, Limits, Writes],
            client: wrappers::tower,
        },
        Peer {
            name: "tower-resilience",
            version: "0.14.0",
            set_up: "retry with a token bucket, over breaker, bulkhead and time limiter",
            able: &[Retries, Breaks, Limits, Writes],
            client: wrappers::tower_resilience,
        },
        Peer {
            name: "reqwest",
            version: "0.13.5",
            set_up: "its own `retry::for_host` with a classifier",
            able: &[Retries, Writes],
            client: clients::reqwest,
        },
        Peer {
            name: "reqwest-retry",
            version: "0.9.1",
            set_up: "`RetryTransientMiddleware` with exponential backoff",
            able: &[Retries, Writes],
            client: clients::reqwest_retry,
        },
        Peer {
            name: "failsafe",
            version: "1.3.0",
            set_up: "five failures in a row",
            able: &[Breaks],
            client: wrappers::failsafe,
        },
        Peer {
            name: "async-openai",
            version: "0.43.0",
            set_up: "its own retry layer",
            able: &[Retries],
            client: clients::async_openai,
        },
        Peer {
            name: "tenacity",
            version: "9.1.4",
            set_up: "`wait_random_exponential`, `stop_after_attempt`, over requests",
            able: &[Retries, Writes],
            client: crate::tenacity::client,
        },
    ]
}

/// Why an attempt over reqwest is no answer.
#[derive(Clone, Debug)]
pub enum Flaw {
    /// A status of failure.
    Status(u16),
    /// Whatever broke.
    Broke(String),
}

impl Flaw {
    /// What the documentation of most shows: 429 and what a server says of itself.
    fn is_transient(&self) -> bool {
        match self {
            Self::Status(status) => *status == 429 || *status >= 500,
            Self::Broke(_) => true,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Broke(how) => f.write_str(how),
        }
    }
}

impl std::error::Error for Flaw {}

/// One attempt over reqwest, read whole.
async fn send(client: &reqwest::Client, ask: &Ask) -> Result<u16, Flaw> {
    let broke = |error: reqwest::Error| Flaw::Broke(error.to_string());
    let begun = match ask.kind {
        Kind::Read => client.get(ask.url()),
        Kind::Write => client
            .post(ask.url())
            .header("content-type", "application/json")
            .body(r#"{"amount":5}"#),
    };
    let answer = begun.send().await.map_err(broke)?;
    let status = answer.status().as_u16();
    answer.bytes().await.map_err(broke)?;
    if status < 400 {
        Ok(status)
    } else {
        Err(Flaw::Status(status))
    }
}
