//! The live side of seawall: it sends what the engine of `seawall-core` permits, and tells it what happened.
//!
//! [`http`] sends one attempt over HTTP/1.1 and says exactly how it ended; it decides nothing. [`clock`] is the
//! only place that reads time. [`body`] reads what bodies say; [`config`] reads what users wrote.

pub mod blocking;
pub mod body;
pub mod clock;
pub mod config;
pub mod crank;
pub mod drive;
#[cfg(feature = "http")]
pub mod http;
pub mod hub;
#[cfg(feature = "http")]
pub mod upstream;
