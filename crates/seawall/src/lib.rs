//! Calls to AI and HTTP APIs that succeed when they can and fail fast when they cannot.
//!
//! An [`Upstream`] is a server with the state that all calls to it share: retry budget, breaker,
//! limits, cool-downs. Its [`call`](Upstream::call) sends what the engine of [`seawall_core`] permits, tells
//! it what happened, and ends with an answer or with everything that is known of why there is none.
//!
//! ```no_run
//! # #[cfg(feature = "http")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::{Call, Upstream};
//!
//! let upstream = Upstream::builder("https://api.example.com/v1")?.build()?;
//! match upstream.call(Call::get("/models")).await {
//!     Ok(answer) => println!("{} after {} attempts", answer.status, answer.attempts.len()),
//!     Err(error) => println!("{error}"),
//! }
//! # Ok(()) }
//! ```
//!
//! An AI API has a client of its own, `ai::Client`, with the feature `ai`: chats, streams and
//! errors that are the same for every provider.
//!
//! ```no_run
//! # #[cfg(feature = "ai")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use seawall::ai::{Chat, Client, Server};
//!
//! let client = Client::builder()
//!     .openai()
//!     .key_from_env("OPENAI_API_KEY")
//!     .fallback(Server::anthropic().key_from_env("ANTHROPIC_API_KEY").model("claude-haiku-4-5"))
//!     .build()?;
//! let answer = client.chat(Chat::new("gpt-5-mini").user("What is a seawall?").max_tokens(200)).await?;
//! println!("{}: {}", answer.upstream(), answer.text());
//! # Ok(()) }
//! ```
//!
//! Anything else that can fail is a call as well: [`retry`](retry()) makes one of a closure, under a policy or behind a
//! [`Gate`] that calls share.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # async fn fetch() -> std::io::Result<u32> { Ok(7) }
//! let policy = seawall::Policy::preset(seawall::Preset::Interactive);
//! let answer = seawall::retry(|| fetch(), &policy).await?;
//! # assert_eq!(answer, 7);
//! # Ok(()) }
//! ```
//!
//! Calls of closures are awaited on any executor, or made on a thread by [`blocking`]; calls over HTTP need a tokio runtime,
//! which `blocking` brings along. Feature `http` (on by default) is the HTTP adapter, [`upstream`] and `http`, for HTTP/1.1
//! and HTTP/2; without it the crate is calls of closures, the loop ([`drive`]), the shared engine ([`hub`]), the clocks
//! ([`clock`], [`crank`]) and the readers of bodies and files ([`body`], [`config`]), for an adapter of your own. Without
//! the feature `tokio` (on by default, and part of `http`) it does not depend on tokio.
//!
//! Promises about load hold for one process.

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
pub use seawall_core::policy::{Policy, PolicyError, Preset};
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
