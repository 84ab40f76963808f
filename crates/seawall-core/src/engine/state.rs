//! What an engine holds now, for people, pages and tests. Decides nothing, and changes nothing.

use super::Engine;
use crate::breaker::View;
use crate::call::State;
use crate::gate::GateId;
use crate::learned::Kind;
use crate::limiter::GradientState;
use crate::policy::Mode;
use crate::time::Instant;

/// What a gate holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLoad {
    /// Attempts in flight.
    pub in_flight: u32,
    /// Places promised to calls that were woken and have not polled.
    pub promised: u32,
    /// Calls that wait for cool-down, breaker, rate or place.
    pub queued: u32,
    /// Calls that wait for credit.
    pub saving: u32,
    /// Until when the gate cools.
    pub not_before: Instant,
}

impl GateLoad {
    /// What a gate holds that is not there.
    pub const NOTHING: Self = Self {
        in_flight: 0,
        promised: 0,
        queued: 0,
        saving: 0,
        not_before: Instant::START,
    };
}

/// How a gate stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateState {
    /// What it holds.
    pub load: GateLoad,
    /// How many attempts may be in flight; `None` is no bound.
    pub places: Option<u32>,
    /// What that bound goes by, where it goes by first-byte times.
    pub gradient: Option<GradientState>,
    /// What was forced upon it, or its breaker's own mode.
    pub mode: Mode,
    /// Its breaker, as of the last attempt or poll.
    pub breaker: Option<View>,
    /// Its budget, as of the last attempt or poll.
    pub budget: Option<BudgetState>,
    /// Its limits on a minute, by kind as in [`Kind::ALL`].
    pub rates: [RateState; Kind::ALL.len()],
}

/// How a gate's budget stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetState {
    /// Extras granted within the window.
    pub granted: u64,
    /// Extras that the window allows.
    pub allowed: u64,
}

/// How one kind of rate stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateState {
    /// Our own limit on a minute; `None` is no limit.
    pub per_minute: Option<u64>,
    /// What it has room for.
    pub left: Option<u64>,
    /// What the server said was left, less what was sent since; `None` where it said nothing that holds still.
    pub told: Option<u64>,
    /// When the server's window is full again, where it said so.
    pub full_at: Option<Instant>,
}

/// Calls that wait, by the code of the reason that they were told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u32; Waits::CODES.len()]);

impl Waits {
    /// Every reason to wait, by its code.
    pub const CODES: [&str; 7] = [
        "cooling-down",
        "breaker-wait",
        "rate-wait",
        "queued",
        "budget-wait",
        "server-asked",
        "backing-off",
    ];

    /// How many wait for the reason of this code.
    pub fn of(&self, code: &str) -> u32 {
        self.counted()
            .find(|(known, _)| *known == code)
            .map_or(0, |(_, count)| count)
    }

    /// Each reason that somebody waits for, and how many do.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let all = Self::CODES.into_iter().zip(self.0);
        all.filter(|(_, count)| *count > 0)
    }

    /// How many wait.
    pub fn sum(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The same with those of `other`, who are others.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
        self
    }

    fn count(&mut self, code: &str) {
        let place = Self::CODES.iter().position(|known| *known == code);
        self.0[place.expect("a call that waits was told a reason to wait")] += 1;
    }
}

impl Engine {
    /// What a gate holds now: nothing, where it has been let go.
    pub fn load(&self, gate: GateId) -> GateLoad {
        self.gate(gate).map_or(GateLoad::NOTHING, |gate| GateLoad {
            in_flight: gate.limiter.in_flight(),
            promised: gate.limiter.promised(),
            queued: gate.queue.len(),
            saving: gate.savers.len(),
            not_before: gate.cooldown.not_before(),
        })
    }

    /// How a gate stands at `now`; `None` where it has been let go.
    pub fn state(&self, now: Instant, id: GateId) -> Option<GateState> {
        let now = self.now.max(now);
        let gate = self.gate(id)?;
        let ours = gate.rates.as_ref();
        let left = ours.map(|rates| rates.left(now)).unwrap_or_default();
        let limits = ours.map(|rates| rates.limits()).unwrap_or_default();
        let told = gate
            .windows
            .as_ref()
            .map(|windows| windows.left(now))
            .unwrap_or_default();
        let mut rates = [RateState::default(); Kind::ALL.len()];
        for (((rate, per_minute), left), told) in rates.iter_mut().zip(limits).zip(left).zip(told) {
            *rate = RateState {
                per_minute,
                left,
                told: told.map(|(left, _)| left),
                full_at: told.and_then(|(_, full_at)| full_at),
            };
        }
        Some(GateState {
            load: self.load(id),
            places: gate.limiter.most(),
            gradient: gate.limiter.gradient(),
            mode: gate.mode(),
            breaker: gate.breaker.as_ref().map(crate::breaker::Breaker::view),
            budget: gate.budget.as_ref().map(|budget| BudgetState {
                granted: budget.granted(),
                allowed: budget.allowed(),
            }),
            rates,
        })
    }

    /// Who waits among the calls that stand at `gate` or at one below it, and for what. Looks at every call that is
    /// alive: for pages, and not on the way of one.
    pub fn waits(&self, gate: GateId) -> Waits {
        let mut waits = Waits::default();
        if self.gate(gate).is_none() {
            return waits;
        }
        for call in &self.calls {
            let code = match call.state {
                State::Waiting { reason, .. } | State::Queued { reason, .. } => reason.code(),
                State::Saving { .. } => "budget-wait",
                State::Gone
                | State::Ready
                | State::Promised { .. }
                | State::Flying
                | State::Streaming
                | State::Settled
                | State::Ended(_) => continue,
            };
            if self.chain(call.leg().candidate.gate.number).holds(gate.number) {
                waits.count(code);
            }
        }
        waits
    }

    /// Permits granted and neither settled, abandoned nor ended.
    pub const fn permits_out(&self) -> u64 {
        self.permits_out
    }

    /// Calls begun and not ended.
    pub fn calls_alive(&self) -> usize {
        self.calls.len() - self.free.len() + self.openings.out()
    }
}
