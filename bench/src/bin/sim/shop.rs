//! The world that all of them simulate, and what each of them comes to.
//!
//! Calls come to ten processes of a thousand clients each; an attempt is a millisecond on its way, is worked on by one
//! of a thousand workers for 50 ms in the mean, and is a millisecond on its way back; one in fifty fails, and is sent
//! again by full jitter from 500 ms up to five times, within a budget of 10 % and one a second, behind a breaker. Four
//! things happen to an attempt, and to a call one more for each wait: it is due, reaches, is served, lands; is asked about.
//!
//! Whatever is left out of the others makes them faster: they have no limit of an attempt (none passes in this world),
//! no breaker by share of failures, no histograms, and one stream of chance.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Clients of one process.
pub const CLIENTS_EACH: u32 = 1_000;
/// Processes.
pub const PROCESSES: u32 = 10;
/// Calls a second.
pub const PER_SECOND: f64 = 10_000.0;
/// Attempts that are worked on at once.
pub const WORKERS: u32 = 1_000;
/// How long one takes.
pub const SERVICE_MEAN: Duration = Duration::from_millis(50);
/// How long a message is on its way.
pub const HOP: Duration = Duration::from_millis(1);
/// How many attempts fail, 0 to 1.
pub const FAIL: f64 = 0.02;
/// Retries of a call.
pub const RETRIES: u32 = 5;
/// The longest first wait.
pub const BASE: Duration = Duration::from_millis(500);
/// The longest wait of all.
pub const CAP: Duration = Duration::from_secs(30);
/// Budget: retries for each call, retries for each second, and how many of both are kept.
pub const BUDGET_RATIO: f64 = 0.1;
/// See [`BUDGET_RATIO`].
pub const BUDGET_PER_SECOND: f64 = 1.0;
/// See [`BUDGET_RATIO`].
pub const BUDGET_SECONDS: f64 = 10.0;
/// Breaker: failures in a row, over at least so long, and how long it is open then.
pub const BREAKER_FAILURES: u32 = 5;
/// See [`BREAKER_FAILURES`].
pub const BREAKER_SPAN: Duration = Duration::from_millis(500);
/// See [`BREAKER_FAILURES`].
pub const BREAKER_OPEN: Duration = Duration::from_secs(5);

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Calls that ended.
    pub calls: u64,
    /// Of them, those that were answered.
    pub answered: u64,
    /// Attempts that reached the server.
    pub arrivals: u64,
    /// Things that happened to a call or an attempt.
    pub events: u64,
    /// The sum of all latencies, in seconds.
    pub waited: f64,
}

/// A run and the processor's time that it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// What it came to.
    pub counts: Counts,
    /// Seconds of this process on all processors.
    pub cpu: f64,
}

impl Measured {
    /// Measures a run.
    pub fn of(run: impl FnOnce() -> Counts) -> Self {
        let began = cpu();
        let counts = run();
        Self {
            counts,
            cpu: cpu() - began,
        }
    }

    /// Events for each second of the processor.
    pub fn speed(&self) -> f64 {
        self.counts.events as f64 / self.cpu
    }

    /// The shorter of two runs: a machine that is busy only ever adds.
    pub fn or_faster(self, other: Self) -> Self {
        if other.speed() > self.speed() { other } else { self }
    }
}

/// Seconds of the processor that this process has had.
pub fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Chance from one stream: SplitMix64.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Chance(pub u64);

impl Chance {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0 and at most 1.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// From the exponential distribution of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// A whole number below `count`.
    pub fn below(&mut self, count: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u32
    }
}

/// The policy of one process, written plainly. Times are in seconds.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Plain {
    tokens: f64,
    filled_at: f64,
    failures: u32,
    first_failure: f64,
    open_until: f64,
}

impl Plain {
    /// Whether an attempt may leave.
    pub fn admits(&self, now: f64) -> bool {
        now >= self.open_until
    }

    /// A call's first attempt leaves.
    pub fn sent_first(&mut self) {
        self.tokens += BUDGET_RATIO;
    }

    /// An attempt was answered.
    pub fn answered(&mut self) {
        self.failures = 0;
    }

    /// The `nth` attempt of a call failed: how long until the next; `None` where there is none.
    pub fn failed(&mut self, now: f64, nth: u32, chance: &mut Chance) -> Option<f64> {
        if self.failures == 0 {
            self.first_failure = now;
        }
        self.failures += 1;
        if self.failures >= BREAKER_FAILURES && now - self.first_failure >= BREAKER_SPAN.as_secs_f64() {
            self.open_until = now + BREAKER_OPEN.as_secs_f64();
            self.failures = 0;
        }
        if nth > RETRIES || !self.admits(now) {
            return None;
        }
        let most = BUDGET_SECONDS * (BUDGET_PER_SECOND + BUDGET_RATIO * PER_SECOND / f64::from(PROCESSES));
        let earned = BUDGET_PER_SECOND * (now - self.filled_at);
        (self.tokens, self.filled_at) = ((self.tokens + earned).min(most), now);
        if self.tokens < 1.0 {
            return None;
        }
        self.tokens -= 1.0;
        let ceiling = BASE.as_secs_f64() * f64::from(1_u32 << (nth - 1));
        Some(chance.unit() * ceiling.min(CAP.as_secs_f64()))
    }
}
