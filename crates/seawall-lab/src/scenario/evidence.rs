//! What a run leaves behind: all that a scenario is judged by.

use crate::findings::Log;
use seawall_core::policy::{Backoff, CallPolicy};
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;

/// What was seen of a scenario: one run of its steps, or every run of its client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The runs, in order.
    pub runs: Vec<Run>,
}

/// What was seen of one run against one fresh mock. Times count from the mock's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// What the mock saw. Attempts of a step carry [`Run::call_name`] in their `call`.
    pub log: Log,
    /// How many resources there were at the end, by name.
    pub resources: BTreeMap<String, u64>,
    /// What became of each step, in the order of the file; empty for a client.
    pub steps: Vec<StepSeen>,
    /// What became of the client.
    pub client: Option<ClientSeen>,
}

impl Run {
    /// What to call the attempts of the `send`-th send of the `step`-th step, both counted from 0.
    pub fn call_name(step: usize, send: usize) -> String {
        format!("{}.{}", step + 1, send + 1)
    }

    /// The step and the send, both counted from 0, that a call of this name is of.
    pub(super) fn of_call(name: &str) -> Option<(usize, usize)> {
        let (step, send) = name.split_once('.')?;
        let from_zero = |text: &str| text.parse::<usize>().ok()?.checked_sub(1);
        Some((from_zero(step)?, from_zero(send)?))
    }

    /// What the caller of this send got.
    pub(super) fn got(&self, step: usize, send: usize) -> Option<&Got> {
        match self.steps.get(step)? {
            StepSeen::Sent(gots) => gots.get(send),
            StepSeen::NotSent(_) => None,
        }
    }
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum StepSeen {
    /// It was sent, once or several times; in the order in which they were begun.
    Sent(Vec<Got>),
    /// It could not be sent, and why: an earlier step did not give what it needs.
    NotSent(String),
}

/// What the caller of one send of a step got.
#[derive(Clone, Debug, PartialEq)]
pub struct Got {
    /// The status of the answer; `None` where none came.
    pub status: Option<u16>,
    /// The reason's code.
    pub reason: String,
    /// How many attempts it took.
    pub attempts: u32,
    /// When it was asked for.
    pub began: Instant,
    /// When it ended.
    pub ended: Instant,
    /// What the error says.
    pub error: Option<String>,
    /// The answer's headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The answer's body.
    pub body: Vec<u8>,
    /// What its policy allows its waits to be; `None` where nobody looked.
    pub schedule: Option<Schedule>,
}

/// What a policy allows the waits of one call to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Our own guess.
    pub backoff: Backoff,
    /// The longest hint that is waited for; `None` waits for any.
    pub hint_max: Option<Duration>,
}

impl Schedule {
    /// The schedule of a call policy.
    pub fn of(policy: &CallPolicy) -> Self {
        Self {
            backoff: policy.backoff(),
            hint_max: Some(policy.hints().max()),
        }
    }
}

/// What became of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSeen {
    /// How it ended.
    pub end: End,
    /// From its start to its end.
    pub took: Duration,
    /// The last part of what it wrote.
    pub stdout: String,
    /// The last part of the errors that it wrote.
    pub stderr: String,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal that this runner did not send.
    Signal(i32),
    /// It was killed when its time was over.
    TimedOut,
}
