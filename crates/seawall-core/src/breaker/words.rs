//! What a breaker is told and what it answers.

use super::slow::Watch;
use crate::policy::Mode;
use crate::time::{Duration, Instant};

/// Which stretch between two transitions something belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub(super) u64);

impl Epoch {
    pub(crate) const START: Self = Self(0);
}

/// What the breaker says to a call that wants to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Standing {
    /// It may.
    Admits,
    /// It may, and its outcome decides what follows.
    AdmitsProbe,
    /// It may not.
    Refuses {
        /// When a probe may go at the earliest, as far as the clock can tell. A probe's outcome may come first.
        retry_at: Instant,
    },
    /// It may not, until the latch is lifted: nobody knows when.
    ForcedOpen,
}

/// Leave to send one attempt, as far as the breaker goes. Given back once, by
/// [`Breaker::record`](super::Breaker::record) or [`Breaker::release`](super::Breaker::release); not a copy, so that
/// no outcome counts twice.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a probe's slot is held until its pass comes back or its lease ends"]
pub struct Pass {
    pub(super) epoch: Epoch,
    pub(super) ticket: Ticket,
    pub(super) began: Instant,
    /// As what it is counted among those that are out, where the policy has slow calls.
    pub(super) watch: Watch,
}

impl Pass {
    /// Of an attempt that a closed breaker let through in `epoch`, at `began`, when it watched nobody.
    pub(crate) const fn plain(epoch: Epoch, began: Instant) -> Self {
        Self {
            epoch,
            ticket: Ticket::Plain,
            began,
            watch: Watch::NONE,
        }
    }

    /// The epoch that the attempt was admitted in.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the attempt is a probe.
    pub const fn is_probe(&self) -> bool {
        match self.ticket {
            Ticket::Probe(_) => true,
            Ticket::Plain => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticket {
    Plain,
    Probe(u64),
}

/// What an attempt's outcome says about the upstream's health (rule H2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// An answer.
    Success,
    /// A failure.
    Failure,
    /// The server answered, and what it said is about the request, the rate or the credential: Refused, Throttled,
    /// Denied. No verdict, but a sign of life.
    Answered,
    /// Nothing about health: cancelled, rejected here, a status about one request.
    Neutral,
}

/// A change of state, told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Sends stop.
    Opened {
        /// When the first probe may go.
        until: Instant,
        /// What decided.
        trip: Trip,
        /// Of its last trip from closed: whether it came before one whole window had passed, of an upstream that was as
        /// bad as what trips it. Such a one is rested for longer, as one is whose probe fails.
        flapping: bool,
    },
    /// Probes may go.
    HalfOpened,
    /// Sends go on.
    Closed,
    /// Sends go on with care: `open_max` passed with answers and no verdict. What is in flight is to be bounded by
    /// `probes`, and by one more per answer.
    ClosedCautiously,
}

/// Why a breaker opened, with the numbers that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trip {
    /// Failures in a row.
    Run {
        /// How many.
        failures: u32,
        /// From the first to the last.
        span: Duration,
    },
    /// The share of failures in the window.
    Share {
        /// Failures in it.
        failures: u64,
        /// Attempts that counted in it.
        counted: u64,
    },
    /// The share of slow attempts in the window, those that are out and overdue included.
    Slow {
        /// Slow attempts.
        slow: u64,
        /// Attempts that counted.
        counted: u64,
    },
    /// A probe failed.
    Probe,
    /// A probe was slow, or has been out for too long.
    SlowProbe {
        /// How long it took, so far.
        took: Duration,
    },
}

/// Whether an attempt took longer than the policy's `slow_call.over`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    InTime,
    Slow,
}

/// Outcomes that counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// For the upstream.
    pub successes: u64,
    /// Against it.
    pub failures: u64,
}

/// A breaker's state, for metrics and pages. Decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// `closed`, `open` or `half-open`: the automaton's, whatever the latch.
    pub state: &'static str,
    /// Since when.
    pub since: Instant,
    /// The latch.
    pub mode: Mode,
    /// Transitions so far.
    pub transitions: u64,
    /// The window, since the last transition at the most.
    pub counts: Counts,
    /// The window as it was at the last transition.
    pub before: Counts,
    /// Outcomes that came after the state they belonged to.
    pub late: Counts,
    /// Probes whose lease runs.
    pub probes: u32,
    /// Attempts in the window that were slow; of those that are out none is counted.
    pub slow: u64,
    /// The share of calls that is let in while it ramps, in thousandths.
    pub ramp_per_mille: Option<u32>,
    /// Whether it tripped again before it was closed for one whole window, was as bad as what trips it, and has not been
    /// closed so long since.
    pub flapping: bool,
}

impl Counts {
    pub(super) fn add(&mut self, evidence: Evidence) {
        match evidence {
            Evidence::Success => self.successes += 1,
            Evidence::Failure => self.failures += 1,
            Evidence::Answered | Evidence::Neutral => {}
        }
    }
}
