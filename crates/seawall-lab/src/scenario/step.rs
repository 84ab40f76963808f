//! A call that seawall makes itself.

mod body;
mod path;
mod template;

pub use body::{Body, JsonBody};
pub use path::JsonPath;
pub use template::Template;
pub(super) use template::{Names, is_name};

use super::{Place, StepExpect, Written};
use seawall_core::facts::Replay;
use seawall_core::policy::Preset;
use seawall_core::time::Duration;

/// The most sends of one step.
pub const SENDS_MAX: u32 = 10_000;

/// One `[[step]]`: a call, or several alike, through a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What reports call it; `step 2` where nothing is written.
    pub name: Option<String>,
    /// Where it stands.
    pub at: Place,
    /// Method and target.
    pub send: Send,
    /// Headers, as they are written.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Body,
    /// Whose rules it is made by.
    pub policy: PolicyAt,
    /// Its deadline, before the policy's.
    pub deadline: Option<Duration>,
    /// Its idempotency key; where nothing is written, the engine makes one if the mock's route honours keys (rule E3).
    pub key: Option<Template>,
    /// What it promises about being sent again; where nothing is written, the method says.
    pub replay: Option<Replay>,
    /// How often, and whether side by side.
    pub sends: Sends,
    /// How long to wait before it.
    pub after: Duration,
    /// What to keep of its answer for later steps.
    pub captures: Vec<Capture>,
    /// What its caller must get.
    pub expect: StepExpect,
}

/// `POST /v1/payments?x=1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Send {
    /// The method.
    pub method: String,
    /// The path, and a query where there is one.
    pub target: Template,
    /// Where it is written.
    pub at: Place,
}

/// How often a step is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sends {
    /// Once.
    #[default]
    Once,
    /// So often, each after the end of the one before.
    InTurn(u32),
    /// So many at once, which share an upstream: its budget, its breaker and its cool-downs.
    Together(u32),
}

impl Sends {
    /// How many calls that is.
    pub const fn count(self) -> u32 {
        match self {
            Self::Once => 1,
            Self::InTurn(count) | Self::Together(count) => count,
        }
    }
}

/// Whose rules a step is made by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PolicyAt {
    /// Nothing is written: the preset `default`.
    #[default]
    Default,
    /// A preset.
    Preset(Written<Preset>),
    /// Keys of a `[policy]`.
    Table {
        /// The scenario file with all else blanked out: a text that `seawall::config::read_policy` takes, and in which
        /// its errors stand at the very line and column at which they stand in the scenario file.
        toml: String,
        /// Where it is written.
        at: Place,
    },
}

/// One name of `capture = { id = "$.id" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// What later steps write as `{{name}}`.
    pub name: String,
    /// Where it stands in the answer's body.
    pub path: JsonPath,
    /// Where it is written.
    pub at: Place,
}

#[cfg(test)]
mod tests;
