// The crate's page. Its examples use the mock of `seawall-lab`, so they are run where that is: by `e2e`.
#![cfg_attr(not(doctest), doc = include_str!("lib.md"))]

#[cfg(feature = "http")]
pub mod advice;
#[cfg(feature = "ai")]
pub mod ai;
pub mod blocking;
pub mod body;
mod chance;
pub mod clock;
pub mod config;
pub mod crank;
pub mod drive;
mod gate;
mod gates;
#[cfg(feature = "http")]
pub mod http;
pub mod hub;
mod json;
#[cfg(feature = "reqwest")]
pub mod reqwest;
pub mod retry;
#[cfg(feature = "http")]
pub mod route;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "http")]
pub mod trial;
#[cfg(feature = "http")]
pub mod upstream;

pub use gate::{Gate, GateBuilder};
pub use gates::{GATES_MAX_DEFAULT, Gates, GatesBuilder};
pub use retry::{Attempt, Classify, Failure, Held, RetryError, Retryable, retry, retry_with};
#[cfg(feature = "http")]
pub use route::Route;
/// The engine: its policies, reasons and lengths of time are in this crate's signatures.
pub use seawall_core;
pub use seawall_core::facts::{Broke, Replay};
pub use seawall_core::policy::{Concurrency, Jitter, Policy, PolicyBuilder, PolicyError, Preset};
pub use seawall_core::reason::Reason;
pub use seawall_core::time::Duration;
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::RetryError;
/// use std::io;
///
/// #[seawall::retry(policy = "interactive", deadline = "5s")]
/// async fn lookup(name: &str) -> Result<usize, RetryError<io::Error>> {
///     if name.is_empty() {
///         return Err(io::Error::from(io::ErrorKind::InvalidInput));
///     }
///     Ok(name.len())
/// }
///
/// assert_eq!(lookup("seawall").await?, 7);
/// assert_eq!(lookup("").await.unwrap_err().reason.code(), "refused");
/// # Ok(()) }
/// ```
#[cfg(feature = "macros")]
#[doc(inline)]
pub use seawall_macros::retry;
#[cfg(feature = "http")]
pub use upstream::{Answer, Call, CallError, Credential, Opened, StreamError, Upstream, UpstreamError};
