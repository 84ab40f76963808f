//! Scenarios: a server that fails as planned, somebody who calls it, and what must come of that.
//!
//! ```
//! use seawall_lab::scenario::{Scenario, Work};
//! let text = r#"
//! name = "a payment survives a lost answer"
//! [[mock.route]]
//! match = "POST /v1/payments"
//! script = "2x 503, 200"
//! [[step]]
//! send = "POST /v1/payments"
//! body = '{"amount":5}'
//! policy = "writes"
//! [expect]
//! attempts = { "/v1/payments" = 3 }
//! never = ["retry-before-hint", "overlap"]
//! "#;
//! let scenario = Scenario::parse("pay.toml", text)?;
//! assert!(matches!(&scenario.work, Work::Steps(steps) if steps.len() == 1));
//! # Ok::<(), seawall_lab::scenario::ScenarioErrors>(())
//! ```
//!
//! What can go wrong: a key that is skipped expects nothing and passes; an expectation that nothing was seen of passes;
//! the first failure hides the other four; a failure without its history cannot be told from a flake. So unknown keys
//! are errors, all errors of a file are told at once, [`judge`] reports every expectation that does not hold with what
//! was expected (and where that is written), what was seen, and the time-line; and what cannot be judged says so.
//!
//! Everything here is pure: a runner sends the steps or runs the client, writes down the [`Evidence`], and asks. One
//! file is one scenario.

mod bounds;
mod client;
mod evidence;
mod expect;
mod judge;
mod place;
mod read;
mod report;
mod schema;
mod step;

pub use bounds::{Bounds, bounds};
pub use client::{Client, Command, DEFAULT_CLIENT_TIMEOUT, Grouping, RUNS_MAX, URL_PLACE};
pub use evidence::{ClientSeen, End, Evidence, Got, Run, Schedule, StepSeen};
pub use expect::{
    BodyIs, CountRange, Elapsed, ExitIs, Expect, HeaderIs, LengthRange, Never, Observe, PathCount, Promised,
    Scalar, StatusIs, StepExpect,
};
pub use judge::{Check, Passed, State, Verdict, judge};
pub use place::{Place, ScenarioErrors, Written};
pub use read::DEFAULT_ENDLESS;
pub use report::{Came, Colour, Entry, Report};
#[cfg(feature = "net")]
pub(crate) use report::{checks, failures};
pub use schema::schema;
pub use step::{Body, Capture, JsonBody, JsonPath, PolicyAt, SENDS_MAX, Send, Sends, Step, Template};

use crate::file::MockFile;
use std::sync::Arc;

/// The longest scenario file, in bytes: 256 KiB, a hundred times what one takes.
pub const FILE_BYTES_MAX: usize = 256 * 1024;

/// What a scenario file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is about: the file's own name where nothing is written.
    pub name: String,
    /// The seed of every chance, of the mock and of the policies.
    pub seed: Option<u64>,
    /// The server that fails.
    pub mock: MockAt,
    /// Who calls it.
    pub work: Work,
    /// What must come of that.
    pub expect: Expect,
    pub(crate) file: Arc<str>,
    pub(crate) text: Arc<str>,
}

/// Where a scenario's mock stands.
#[derive(Clone, Debug, PartialEq)]
pub enum MockAt {
    /// In the scenario itself, under `[mock]`.
    Inline(Box<MockFile>),
    /// In a file of its own; the path counts from the scenario's folder. Reading it is the runner's.
    Path(Written<String>),
}

/// Who calls the mock.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Calls that seawall makes itself, one after the other.
    Steps(Vec<Step>),
    /// A program under test.
    Client(Client),
}
