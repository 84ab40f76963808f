//! The one door to the engine: a [`Caller`] turns a row's call into an end.

use bytes::Bytes;
use seawall::upstream::{AttemptNote, UnknownWrite};
use seawall_core::engine::Waits;
use seawall_core::outcome::Usage;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::future::Future;

/// Makes calls: the live library, or a fake in tests.
///
/// The runner begins many calls at once ([`crate::Options::begun_max`]) and leaves to the caller how many are in
/// flight: a row that waits for a rate, a budget or a breaker must hold no concurrency slot, and only the engine
/// knows which do. Dropping the future abandons the call.
pub trait Caller: Send + Sync + 'static {
    /// Makes one call, with whatever attempts and waits it takes.
    fn call(&self, call: Call) -> impl Future<Output = Ended> + Send;

    /// Attempts that are out now, where the caller knows: of the calls begun, the others wait.
    fn in_flight(&self) -> Option<u64> {
        None
    }

    /// How its calls stand, where the caller knows: rows are begun only as fast as those before them are sent.
    fn line(&self) -> Option<Line> {
        None
    }

    /// What its calls wait for, for those who watch.
    fn waits(&self) -> Waits {
        Waits::default()
    }

    /// Told once when the run begins no more rows (Ctrl-C, a gate-wide stop, a full disk). Calls with nothing in
    /// flight may end at once with [`Reason::Cancelled`] or [`Reason::Draining`]; their rows stay pending.
    fn draining(&self) {}
}

/// How a caller's calls stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Calls that it knows of and that have not ended. A row that was begun a moment ago is not among them yet.
    pub begun: u64,
    /// Of those, the ones that stand in line: for a place, a rate, a cool-down or a breaker.
    pub queued: u64,
}

/// One row as a call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The row's id, the same in every run: what an idempotency key is made from.
    pub id: String,
    /// The method.
    pub method: String,
    /// The path, or an absolute URL where the options allow them.
    pub path: String,
    /// The body, byte for byte as in the file.
    pub body: Bytes,
}

/// How a call ended, and what it took.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The answer, or why there is none.
    pub result: Result<Answer, Failure>,
    /// Every attempt, in order.
    pub attempts: Vec<AttemptNote>,
    /// Time waited, by the code of the reason for it.
    pub waited: Vec<(&'static str, Duration)>,
    /// Tokens, over all attempts.
    pub usage: Usage,
    /// What it cost in millionths of a dollar, over all attempts; nothing where the model has no known price.
    pub cost_microusd: Option<u64>,
    /// From the beginning to the first byte of the last answer.
    pub first_byte: Option<Duration>,
    /// From the beginning to the end.
    pub total: Duration,
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The server's name for it (`x-request-id`), where it gave one.
    pub request_id: Option<String>,
    /// The body, as far as it came.
    pub body: Bytes,
}

/// Why a call has no good answer.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Why it ended.
    pub reason: Reason,
    /// What broke in the last attempt, where something did: [`cause`] names some.
    pub cause: Option<&'static str>,
    /// A sentence for people.
    pub message: String,
    /// The last real answer, where there was one.
    pub answer: Option<Answer>,
    /// A write that may have acted, for the ledger.
    pub unknown: Option<UnknownWrite>,
    /// What the failure says about the rows to come.
    pub reach: Reach,
}

/// Causes that the error file treats apart.
pub mod cause {
    /// A limit passed.
    pub const TIMEOUT: &str = "timeout";
    /// An answer without a body where one was due.
    pub const EMPTY_BODY: &str = "empty-body";
    /// An answer shorter than it said; what came is kept whole, as base64.
    pub const TRUNCATED: &str = "truncated";
}

/// Whom a failure concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This row.
    Row,
    /// Every row, because no candidate is left: the run stops, and this row stays pending.
    Run(Stop),
}

/// Why no row can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The credential is refused.
    Key,
    /// The money or the quota is gone.
    Money,
}
