//! Runs scenarios: a fresh mock, then seawall's own steps or a program under test, and what was seen of either.
//!
//! What can go wrong: a run that waits for real seconds is run seldom; one whose time passes while bytes are on their
//! way fails on busy machines; a program that hangs, floods its output or leaves children behind takes the whole run
//! with it. So steps live in virtual time, which passes only while nothing else can happen (`stage`), and a program is
//! a process group with an end, whose output is read as it comes and kept in part (`process`).
//!
//! A run judges nothing: [`scenario`](crate::scenario) does. Each runs on a runtime of its own on the caller's thread, so
//! that scenarios can run side by side, one on each thread.

mod client;
pub mod demo;
mod mock;
mod process;
pub mod simulate;
mod stage;
mod steps;
pub mod tune;
pub mod twin;

pub use process::TAIL_BYTES_MAX;

use crate::error::ScriptError;
use crate::net::MockError;
use crate::scenario::{Evidence, Scenario, Work};
use seawall::config::ConfigErrors;
use seawall_core::rng::Rng;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// How to run a scenario, beside what its file says.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    seed: Option<u64>,
    halt: Halt,
}

impl RunOptions {
    /// The seed of every chance, in place of the scenario's.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Who may stop it.
    #[must_use]
    pub fn halt(mut self, halt: &Halt) -> Self {
        self.halt = halt.clone();
        self
    }
}

/// A cord that stops every run that was told of it. Clones are the same cord.
#[derive(Clone, Debug, Default)]
pub struct Halt(Arc<watch::Sender<bool>>);

impl Halt {
    /// Stops them: programs are ended with their children, and runs return.
    pub fn pull(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was pulled.
    pub fn is_pulled(&self) -> bool {
        *self.0.borrow()
    }

    async fn pulled(&self) {
        let mut seen = self.0.subscribe();
        // The sender is ours, so that it cannot be gone.
        let _pulled = seen.wait_for(|pulled| *pulled).await;
    }
}

/// Runs a scenario once, on this thread: its steps in virtual time, or its client as often as it says. Call it outside of
/// any tokio runtime.
///
/// # Errors
/// Why it could not be run; what was seen is not judged here.
///
/// ```
/// use seawall_lab::run::{RunOptions, run};
/// use seawall_lab::scenario::Scenario;
/// let scenario = Scenario::parse("wait.toml", r#"
/// [[mock.route]]
/// match = "GET /v1/models"
/// script = "429 retry-after=5, 200"
/// [[step]]
/// send = "GET /v1/models"
/// "#)?;
/// let evidence = run(&scenario, &RunOptions::default())?;
/// let attempts = &evidence.runs[0].log.attempts;
/// assert_eq!(attempts[1].at.since(attempts[0].at).as_secs(), 5, "virtual seconds: nobody waited");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(scenario: &Scenario, options: &RunOptions) -> Result<Evidence, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| RunError::Machine {
            what: "a runtime cannot be started".to_owned(),
            source,
        })?;
    let evidence = runtime.block_on(async {
        let plan = mock::MockPlan::of(scenario, options.seed)?;
        let work = async {
            match &scenario.work {
                Work::Steps(steps) => {
                    let run = steps::run(scenario, steps, &plan).await?;
                    Ok(Evidence { runs: vec![run] })
                }
                Work::Client(client) => client::run(scenario, client, &plan, &options.halt).await,
            }
        };
        match &scenario.work {
            // A client is ended with its children before its run returns.
            Work::Client(_) => work.await,
            Work::Steps(_) => tokio::select! {
                evidence = work => evidence,
                () = options.halt.pulled() => Err(RunError::Halted),
            },
        }
    });
    // A name that is being looked up must not hold up the end.
    runtime.shutdown_background();
    evidence
}

/// The seed of one of several runs: the first has the scenario's own, so that it can be named.
fn seed_of_run(seed: u64, run: u32) -> u64 {
    match run {
        0 => seed,
        later => Rng::new(seed, u64::from(later)).next_u64(),
    }
}

/// Why a scenario could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// You wrote something that only shows when it is run: a mock file that is not there, a program that cannot be
    /// started, a call that nothing can ever end.
    Scenario(ScriptError),
    /// You wrote a policy that cannot be.
    Policy(ConfigErrors),
    /// The mock file that the scenario names cannot be read.
    MockFile {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The mock did not start.
    Mock(MockError),
    /// The machine would not.
    Machine {
        /// What it would not.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// It was stopped.
    Halted,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(error) => error.fmt(f),
            Self::Policy(errors) => errors.fmt(f),
            Self::MockFile { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Mock(error) => error.fmt(f),
            Self::Machine { what, source } => write!(f, "{what}: {source}"),
            Self::Halted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Scenario(error) => Some(error),
            Self::Policy(errors) => Some(errors),
            Self::MockFile { source, .. } | Self::Machine { source, .. } => Some(source),
            Self::Mock(error) => Some(error),
            Self::Halted => None,
        }
    }
}

impl From<ScriptError> for RunError {
    fn from(error: ScriptError) -> Self {
        Self::Scenario(error)
    }
}

impl From<MockError> for RunError {
    fn from(error: MockError) -> Self {
        Self::Mock(error)
    }
}

#[cfg(test)]
mod tests;
