//! The laboratory of seawall: scripts that say how a server fails, and a mock server that follows them to the byte.
//!
//! ```
//! use seawall_lab::Script;
//! let script = Script::parse("2x 503, 429 retry-after=5, 200").expect("a script that can be");
//! assert_eq!(script.steps().len(), 3);
//! let error = Script::parse("2x 503, rest").expect_err("no such action");
//! assert!(error.to_string().contains("did you mean `reset`?"));
//! ```
//!
//! Without features the crate is pure: [`script`] is the grammar, [`file`](mod@file) the mock file, [`plan`] decides what the
//! n-th attempt at a route meets, [`scenario`] the scenario file, its verdict and its reports, and [`findings`] the rules
//! that look at what a server saw. Feature `net` adds `net`, which puts a plan on real
//! sockets, and `run`, which runs scenarios.

pub mod error;
pub mod file;
pub mod findings;
mod fnv;
pub mod listener;
#[cfg(feature = "net")]
pub mod net;
pub mod passage;
mod percent;
pub mod plan;
mod reader;
#[cfg(feature = "net")]
pub mod run;
pub mod scenario;
pub mod script;
pub mod sim;

pub use error::ScriptError;
pub use script::Script;
