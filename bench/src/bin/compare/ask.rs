//! What a contestant is asked to do, and what it is told beforehand.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// One call.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What it does.
    pub kind: Kind,
    /// Where the API begins: `http://…/c7/v1`. Each call has a place of its own, by which its attempts are known.
    pub base: String,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GET /models.
    Read,
    /// POST /payments: twice is twice the money.
    Write,
}

impl Ask {
    /// The whole address.
    pub fn url(&self) -> String {
        match self.kind {
            Kind::Read => format!("{}/models", self.base),
            Kind::Write => format!("{}/payments", self.base),
        }
    }
}

/// What every contestant is told, as far as it can be.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Retries of one call, at most.
    pub retries: u32,
    /// The first wait; doubled with each retry, with the jitter that the contestant has.
    pub base: Duration,
    /// The longest wait.
    pub cap: Duration,
    /// One attempt may take so long.
    pub attempt: Duration,
    /// The call may take so long, attempts and waits together.
    pub deadline: Duration,
    /// So many attempts at once.
    pub at_once: usize,
    /// How long a breaker stays open.
    pub open_for: Duration,
}

/// As the checks mean it, where they do not say otherwise.
pub const USUAL: Settings = Settings {
    retries: 3,
    base: Duration::from_millis(50),
    cap: Duration::from_millis(400),
    attempt: Duration::from_secs(2),
    deadline: Duration::from_secs(5),
    at_once: 64,
    open_for: Duration::from_secs(1),
};

/// How a call ended for its caller.
pub type Ended = Result<u16, String>;

/// What a call is, until it ends.
pub type Calling<'a> = Pin<Box<dyn Future<Output = Ended> + 'a>>;

/// A client under test, shared by all its calls.
pub trait Client {
    /// Makes one call to its end.
    fn call(&self, ask: Ask) -> Calling<'_>;
}

/// Who is compared.
pub struct Peer {
    /// Its name, and that of its column.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What the page says of its set-up.
    pub set_up: &'static str,
    /// What it is made for.
    pub able: &'static [Able],
    /// Makes one with these settings; an error where it cannot run here.
    pub client: fn(&Settings) -> Result<Box<dyn Client>, String>,
}

/// What a contestant is made for; a check that asks for more is not its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Able {
    /// Sends again.
    Retries,
    /// Refuses while an upstream is down.
    Breaks,
    /// Holds how much is out at once.
    Limits,
    /// Sends a body of the caller's own.
    Writes,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// It does what the check is about.
    Yes(String),
    /// It does not.
    No(String),
    /// It is not made for that.
    NotItsJob,
    /// It cannot run here.
    NotRun(String),
}

impl Cell {
    /// Yes or no, with what was seen.
    pub fn of(holds: bool, seen: impl Into<String>) -> Self {
        if holds {
            Self::Yes(seen.into())
        } else {
            Self::No(seen.into())
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes(seen) => write!(f, "yes: {seen}"),
            Self::No(seen) => write!(f, "no: {seen}"),
            Self::NotItsJob => f.write_str("not its job"),
            Self::NotRun(why) => write!(f, "not run: {why}"),
        }
    }
}
