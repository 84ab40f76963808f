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
//! Needs a tokio runtime with time and IO. Feature `http` (on by default) is the HTTP/1.1 adapter, [`upstream`] and
//! `http`; without it the crate is the loop ([`drive`]), the shared engine ([`hub`]), the clocks ([`clock`],
//! [`crank`], [`blocking`]) and the readers of bodies and files ([`body`], [`config`]), for an adapter of your own.
//!
//! Promises about load hold for one process.

pub mod blocking;
pub mod body;
pub mod clock;
pub mod config;
pub mod crank;
pub mod drive;
#[cfg(feature = "http")]
pub mod http;
pub mod hub;
mod sync;
#[cfg(feature = "http")]
pub mod upstream;

/// The engine: its policies, reasons and lengths of time are in this crate's signatures.
pub use seawall_core;
pub use seawall_core::policy::{Policy, PolicyError, Preset};
pub use seawall_core::reason::Reason;
pub use seawall_core::time::Duration;
#[cfg(feature = "http")]
pub use upstream::{Answer, Call, CallError, Upstream, UpstreamError};
