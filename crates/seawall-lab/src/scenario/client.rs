//! A program under test.

mod words;

pub(super) use words::split;

use super::{Place, Written};
use seawall_core::time::Duration;

/// How long a client may run where nothing is written: 60 s, the longest wait of a default policy twice.
pub const DEFAULT_CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// The most runs of a client.
pub const RUNS_MAX: u32 = 1_000;
/// What stands for the mock's address in a client's words and environment.
pub const URL_PLACE: &str = "{url}";

/// `client = { run = "python3 pay.py --amount 5", timeout = "60s" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What to run.
    pub command: Command,
    /// When it is killed.
    pub timeout: Duration,
    /// How often it is run, each time against a fresh mock.
    pub runs: u32,
    /// Variables set for it, beside those that carry the mock's address.
    pub env: Vec<(String, String)>,
    /// The folder it runs in, which counts from the scenario's; where nothing is written, that folder itself.
    pub dir: Option<Written<String>>,
    /// Which of its attempts are one call.
    pub grouping: Grouping,
    /// Where it is written.
    pub at: Place,
}

/// A program and its arguments: words, as the system starts programs. No shell looks at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; never empty.
    pub words: Vec<String>,
}

impl Command {
    /// The words with the mock's address in place of `{url}`.
    ///
    /// ```
    /// use seawall_lab::scenario::Command;
    /// let command = Command { words: vec!["curl".to_owned(), "{url}/v1/models".to_owned()] };
    /// assert_eq!(command.at("http://127.0.0.1:9"), ["curl", "http://127.0.0.1:9/v1/models"]);
    /// ```
    pub fn at(&self, url: &str) -> Vec<String> {
        self.words
            .iter()
            .map(|word| word.replace(URL_PLACE, url))
            .collect()
    }
}

/// Which attempts of a client are one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// By key, body and time: see [`findings::calls`](crate::findings::calls).
    #[default]
    ByLikeness,
    /// All of a run at one method and path: `calls = "one"`.
    One,
}
