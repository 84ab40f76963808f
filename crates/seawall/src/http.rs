//! One attempt over HTTP/1.1 or HTTP/2: send, and say exactly how it ended.
//!
//! What can go wrong: a pooled connection that the server has closed looks like a failed call; a client library
//! that re-sends on its own turns a write into two; one error type for "never left" and "maybe acted" makes every
//! retry unsafe; a connection task that outlives its caller holds a socket that nobody waits for. So
//!
//! - every phase (name, connect, TLS, send, head, body) ends in its own [`Broke`](seawall_core::facts::Broke);
//! - bytes are counted at the socket, so "nothing was sent" is a fact and not a guess; over HTTP/2 the server's own
//!   word counts too, where it says that it did not look at a stream;
//! - an HTTP/1.1 connection is driven inside the attempt's own future: dropping the future closes the socket, there
//!   and then, and no task is left. An HTTP/2 connection has many holders, and a task that ends with the last of them;
//!   dropping an attempt resets its stream;
//! - a re-send happens once, inside the attempt, only where rule D5 allows it, and is told.
//!
//! Under TLS the server picks the version; in clear text HTTP/1.1 is spoken unless [`Versions`] says otherwise.
//! It decides nothing else: no retry, no redirect, no decoding; a 500 is an [`Answer`] like any other. What it
//! does not cover: proxies, upgrades, pushed answers.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::http::{AttemptLimits, Outgoing, Resend, Secret, Transport};
//! use seawall_core::time::Duration;
//!
//! let transport = Transport::builder().build()?;
//! let out = Outgoing::new(http::Method::POST, "https://api.example.com/v1/chat/completions".parse()?)
//!     .with_header("content-type", "application/json")?
//!     .with_secret("authorization", Secret::bearer("a token")?)?
//!     .with_body(r#"{"model":"small-1"}"#);
//! let limits = AttemptLimits {
//!     connect: Duration::from_secs(5),
//!     first_byte: Duration::from_secs(60),
//!     idle: Duration::from_secs(30),
//!     total: None,
//! };
//! let attempted = transport.attempt(&out, &limits, Resend::Never).await;
//! let whole = attempted.result?.collect(1 << 20).await?;
//! println!("{} {} bytes", whole.status, whole.body.len());
//! # Ok(()) }
//! ```

mod answer;
mod attempt;
mod broken;
mod conn;
mod connect;
mod http2;
mod limits;
mod line;
mod outgoing;
mod pool;
mod secrecy;
mod socket;
mod tls;
mod transport;
mod versions;

pub(crate) use answer::learned;
pub use answer::{Answer, AnswerBody, HeaderFacts, Hold, Whole};
pub use attempt::{Attempted, Connected, Resend};
pub use broken::{Broken, Head};
pub use limits::AttemptLimits;
pub(crate) use limits::{Late, within};
pub use outgoing::{Outgoing, RequestError, Secret};
pub(crate) use secrecy::{has_secret_query, is_secret};
pub use transport::{
    DEFAULT_HEAD_BYTES_MAX, DEFAULT_HEADERS_MAX, DEFAULT_IDLE_FOR, DEFAULT_IDLE_PER_PLACE_MAX, Transport,
    TransportBuilder, TransportError,
};
pub use versions::Versions;
