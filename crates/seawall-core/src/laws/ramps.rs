//! What the world knows of ramps and of the share of calls that is hedged (rules H5 and J1).

use crate::breaker::Transition;
use crate::policy::{DEFAULT_BUDGET_WINDOW, GatePolicy, Mode, RAMP_FIRST_PER_MILLE};
use crate::time::{Duration, Instant};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// One whole call, in thousandths.
const CALL: u64 = 1_000;

/// One gate after its breaker closed, and its hedges.
#[derive(Clone, Debug)]
pub(super) struct Ramped {
    /// Whether a latch stands before the automaton, as far as is known.
    latched: bool,
    line: Option<Line>,
    /// When hedges were sent that a share bounds, and when calls ended their first attempt.
    hedges: Vec<Instant>,
    originals: Vec<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    began: Instant,
    length: Duration,
    /// Shares of all who may have come, and calls that were let in beside others.
    earned: u64,
    let_in: u64,
}

impl Ramped {
    pub(super) fn new(policy: &GatePolicy) -> Self {
        Self {
            latched: policy
                .breaker()
                .is_some_and(|breaker| breaker.mode() != Mode::Auto),
            line: None,
            hedges: Vec::new(),
            originals: Vec::new(),
        }
    }

    pub(super) fn forced(&mut self, mode: Mode) {
        self.latched = mode != Mode::Auto;
    }

    /// After a reload a ramp that goes on is looked at no more, and what was latched may be so still.
    pub(super) fn configured(&mut self, now: Instant, old: &GatePolicy, new: &GatePolicy) {
        self.line = None;
        let mode = |policy: &GatePolicy| policy.breaker().map(|breaker| breaker.mode());
        if mode(old) != mode(new) {
            self.latched = mode(new) != Some(Mode::Auto) || mode(old).is_none();
        }
        if window(old) != window(new) {
            // The old sums are carried as one, which is younger than they are.
            self.hedges.clear();
            self.originals.retain(|at| now.since(*at) <= window(old));
            self.originals.fill(now);
        }
    }

    pub(super) fn original(&mut self, now: Instant) {
        self.originals.push(now);
    }

    pub(super) fn turned(&mut self, now: Instant, policy: &GatePolicy, transition: Transition) {
        let ramp = policy.breaker().and_then(|breaker| breaker.ramp());
        self.line = match transition {
            Transition::Closed | Transition::ClosedCautiously => ramp.map(|length| Line {
                began: now,
                length,
                earned: 0,
                let_in: 0,
            }),
            Transition::Opened { .. } | Transition::HalfOpened => None,
        };
    }

    /// Somebody came who may go here.
    pub(super) fn came(&mut self, now: Instant) {
        if let Some(line) = self.line.as_mut().filter(|line| line.holds(now)) {
            line.earned += line.share(now);
        }
    }

    /// Somebody was sent who did not wait for it, beside others. The law that this breaks.
    pub(super) fn let_in(&mut self, now: Instant) -> Option<String> {
        let line = self.line.as_mut().filter(|line| line.holds(now))?;
        if self.latched {
            return None;
        }
        line.let_in += CALL;
        (line.let_in > line.earned + CALL).then(|| {
            let passed = now.since(line.began);
            format!(
                "{} were let in {passed} into a ramp, {} are its line",
                line.let_in, line.earned
            )
        })
    }

    /// A hedge was sent that `most` of a thousand calls may have. The law that this breaks.
    pub(super) fn hedged(&mut self, now: Instant, most: u32, policy: &GatePolicy) -> Option<String> {
        self.hedges.push(now);
        let window = window(policy);
        let within = |at: &&Instant| now.since(**at) < window;
        let hedges = self.hedges.iter().filter(within).count() as u64;
        let calls = self
            .originals
            .iter()
            .filter(|at| now.since(**at) <= window)
            .count() as u64;
        (hedges * CALL > u64::from(most) * calls)
            .then(|| format!("{hedges} of {calls} calls were hedged, where {most} of a thousand may be"))
    }
}

fn window(policy: &GatePolicy) -> Duration {
    policy
        .budget()
        .map_or(DEFAULT_BUDGET_WINDOW, |budget| budget.window())
}

impl Line {
    fn holds(&self, now: Instant) -> bool {
        now.since(self.began) < self.length
    }

    fn share(&self, now: Instant) -> u64 {
        let first = u64::from(RAMP_FIRST_PER_MILLE);
        let passed = u128::from(now.since(self.began).as_nanos());
        let grown = u128::from(CALL - first) * passed / u128::from(self.length.as_nanos());
        // The engine counts finer than thousandths.
        first + u64::try_from(grown).unwrap_or(CALL) + 1
    }
}
