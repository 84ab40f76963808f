//! What a user decides: a [`Policy`] is a call policy (retries, backoff, hints, timeouts, deadline) and a gate
//! policy (budget, breaker, limits).
//!
//! What can go wrong: a policy that is silently bent into range does something other than what was written, and a
//! default without a source is superstition. So [`PolicyBuilder::build`] refuses what cannot be right, with the
//! numbers and the allowed range, and a built policy has no setters: inside the engine it *is* right. Every
//! default is a constant with its unit and where it comes from.

mod build;
mod error;
mod settings;

use crate::time::Duration;
pub use build::{BreakerEdit, BudgetEdit, PolicyBuilder};
pub use error::PolicyError;
pub use settings::{Setting, SettingValue};

/// First delay before jitter: 500 ms, as the OpenAI and Anthropic SDKs (rule B4).
pub const DEFAULT_BACKOFF_BASE: Duration = Duration::from_millis(500);
/// Growth per retry in tenths: 2.0, the field's standard (rule B4).
pub const DEFAULT_BACKOFF_FACTOR_TENTHS: u32 = 20;
/// Longest delay of our own guess: 30 s (rule B4).
pub const DEFAULT_BACKOFF_CAP: Duration = Duration::from_secs(30);
/// Lower end of full jitter as a part of the base: a tenth, so that a drawn delay is never nothing (rule B4).
pub const DEFAULT_BACKOFF_MIN_DIVISOR: u64 = 10;
/// Retries per call over all upstreams (rule B4).
pub const DEFAULT_RETRIES: u32 = 5;
/// Longest wait a server may ask for before we stop instead: 60 s, the commonest rate window (rule C4).
pub const DEFAULT_HINT_MAX: Duration = Duration::from_secs(60);
/// How long a stated cool-down is believed at the most: a day (rule C6).
pub const DEFAULT_COOLDOWN_MAX: Duration = Duration::from_secs(86_400);
/// One absolute deadline per call up to its commit: 120 s (rule F1).
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(120);
/// The deadline of inference endpoints where nobody wrote one: 600 s, as their SDKs (rule F1).
pub const INFERENCE_DEADLINE: Duration = Duration::from_secs(600);
/// Time to connect, TLS included: 5 s (rule F2).
pub const DEFAULT_CONNECT: Duration = Duration::from_secs(5);
/// Time to the first byte of an answer: 60 s (rule F2).
pub const DEFAULT_FIRST_BYTE: Duration = Duration::from_secs(60);
/// The same for a plain inference call, whose first byte is its last: 300 s (rule F2).
pub const INFERENCE_FIRST_BYTE: Duration = Duration::from_secs(300);
/// Longest silence inside an answer: 30 s (rule F2).
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30);
/// The same for inference: 120 s (rule F2).
pub const INFERENCE_IDLE: Duration = Duration::from_secs(120);
/// A whole stream: 1 h (rule F2). Plain answers have no such limit.
pub const STREAM_TOTAL: Duration = Duration::from_secs(3_600);
/// No wait starts that would leave less than this before the deadline: 100 ms (rule F3).
pub const DEFAULT_MIN_ATTEMPT: Duration = Duration::from_millis(100);
/// Moves to another upstream per call (rule K1).
pub const DEFAULT_FALLBACKS: u32 = 2;
/// Sends of a call at one upstream while another could send now (rule K1).
pub const DEFAULT_TRIES: u32 = 2;
/// Longest wait at one upstream while another could send now: 1 s (rule K1).
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(1);
/// Extras per hundred originals: 10 %, the ratio of the SRE book (rule G1).
pub const DEFAULT_BUDGET_RATIO_PERCENT: u32 = 10;
/// Extras per second whatever the traffic: 1 (rule G1).
pub const DEFAULT_BUDGET_FLOOR_MILLI: u64 = 1_000;
/// The budget's window: 10 s (rule G1).
pub const DEFAULT_BUDGET_WINDOW: Duration = Duration::from_secs(10);
/// Failures in a row that trip a breaker (rule H1).
pub const DEFAULT_BREAKER_CONSECUTIVE: u32 = 5;
/// What such a run must span, so that one bad moment is none: 0.5 s (rule H1).
pub const BREAKER_RUN_SPAN: Duration = Duration::from_millis(500);
/// Failures per hundred attempts that trip a breaker (rule H1).
pub const DEFAULT_BREAKER_FAILURE_PERCENT: u32 = 50;
/// The window of that rate: 30 s (rule H1).
pub const DEFAULT_BREAKER_WINDOW: Duration = Duration::from_secs(30);
/// Attempts below which the rate says nothing (rule H1).
pub const DEFAULT_BREAKER_MIN_CALLS: u32 = 20;
/// What those attempts must span: 1 s (rule H1).
pub const BREAKER_RATE_SPAN: Duration = Duration::from_secs(1);
/// How long a tripped breaker stays open at first: 500 ms, ± 10 %, as long as failures in a row must last (rule H3).
pub const DEFAULT_BREAKER_OPEN_FOR: Duration = Duration::from_millis(500);
/// The longest that it grows to: 5 s (rule H3).
pub const DEFAULT_BREAKER_OPEN_MAX: Duration = Duration::from_secs(5);
/// Probes in flight while half-open (rule H4).
pub const DEFAULT_BREAKER_PROBES: u32 = 3;
/// Probes that must succeed to close (rule H4).
pub const DEFAULT_BREAKER_PROBE_SUCCESSES: u32 = 1;
/// How much longer than its attempt's own limits a probe's lease runs: 1 s (rule H6).
pub const PROBE_LEASE_SLACK: Duration = Duration::from_secs(1);
/// How long a credential that was denied twice is not used: 60 s (rule H9).
pub const CREDENTIAL_LATCH: Duration = Duration::from_secs(60);
/// Waiters at a gate (rule I1).
pub const DEFAULT_QUEUE: u32 = 1_000;
/// Attempts in flight at once in the preset `batch` (rule I1).
pub const BATCH_CONCURRENCY: u32 = 64;
/// Where `concurrency = "auto"` begins: 20, as Netflix's and failsafe-go's limiters (rule I3).
pub const AUTO_CONCURRENCY_START: u32 = 20;
/// The most that it grows to: 1 000, as Envoy's (rule I3).
pub const AUTO_CONCURRENCY_MAX: u32 = 1_000;
/// How often a limit by first-byte times measures anew what an upstream takes that is not crowded: 60 s, ± 15 %, as
/// Envoy's gradient controller (rule I3).
pub const GRADIENT_PROBE_EVERY: Duration = Duration::from_secs(60);
/// First-byte times that one step of it is made of, at the least: 10, as Netflix's windowed limits (rule I3).
pub const GRADIENT_SAMPLES_MIN: u32 = 10;
/// Slow attempts per hundred that trip a breaker which was told what slow is (rule H1).
pub const DEFAULT_BREAKER_SLOW_PERCENT: u32 = 50;
/// The share of calls that a ramp begins with: 10 % (rule H5).
pub const RAMP_FIRST_PER_MILLE: u32 = 100;
/// First-byte times below which no percentile is taken, and no hedge sent that would go by one: 20, of which one is
/// above the 95th (rule J1).
pub const HEDGE_SAMPLES_MIN: u32 = 20;
/// How long those times are gathered before the older half is let go: 60 s, or until there are
/// [`HEDGE_SAMPLES_MIN`] (rule J1).
pub const HEDGE_TIMES_WINDOW: Duration = Duration::from_secs(60);

/// Everything a user can decide about calls to one upstream. Built by [`Policy::builder`] or [`Policy::preset`].
///
/// ```
/// use seawall_core::{policy::Policy, time::Duration};
/// let policy = Policy::builder().retries(3).deadline(Duration::from_secs(20)).build()?;
/// assert_eq!(policy.call.retries(), 3);
/// # Ok::<(), seawall_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What holds for one call; a call keeps the one that it began with.
    pub call: CallPolicy,
    /// What holds for the gate that calls share.
    pub gate: GatePolicy,
}

/// The policies that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// For most calls: 5 retries, 120 s (inference 600 s).
    Default,
    /// Somebody waits: 2 retries, 30 s, hints up to 10 s.
    Interactive,
    /// Nobody waits: 10 retries, 1 h, hints up to 15 min; waits for breaker and budget.
    Batch,
    /// Payments and other writes: 3 retries, base 1 s; `declared` is not taken.
    Writes,
    /// One attempt; still observes.
    Off,
}

impl Preset {
    /// Every preset, in the order that help texts list them.
    pub const ALL: [Self; 5] = [
        Self::Default,
        Self::Interactive,
        Self::Batch,
        Self::Writes,
        Self::Off,
    ];

    /// The preset's name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Interactive => "interactive",
            Self::Batch => "batch",
            Self::Writes => "writes",
            Self::Off => "off",
        }
    }

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }
}

/// Makes a private field readable under its own name.
macro_rules! readable {
    ($($(#[$doc:meta])* $name:ident: $type:ty),* $(,)?) => {
        $($(#[$doc])* pub const fn $name(&self) -> $type { self.$name })*
    };
}

/// What holds for one call across its attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPolicy {
    pub(crate) retries: u32,
    pub(crate) fallbacks: u32,
    pub(crate) tries: u32,
    pub(crate) patience: Duration,
    pub(crate) throttled_counts: bool,
    pub(crate) declared_counts: bool,
    pub(crate) deadline: Duration,
    pub(crate) deadline_written: bool,
    pub(crate) backoff: Backoff,
    pub(crate) hints: Hints,
    pub(crate) timeouts: Timeouts,
    pub(crate) hedge: Option<Hedge>,
}

impl CallPolicy {
    readable! {
        /// Retries over all upstreams.
        retries: u32,
        /// Moves to another upstream.
        fallbacks: u32,
        /// Sends at one upstream while another could send now.
        tries: u32,
        /// Longest wait at one upstream while another could send now.
        patience: Duration,
        /// Whether a throttled attempt counts towards `retries` (not in preset `batch`).
        throttled_counts: bool,
        /// Whether [`Replay::Declared`](crate::facts::Replay) is taken (not in preset `writes`).
        declared_counts: bool,
        /// How long a call may take up to its commit.
        deadline: Duration,
        /// Whether that deadline was written by the user or a preset other than `default`, and so stands before
        /// the inference endpoints' own (rule F1).
        deadline_written: bool,
        /// Our own guess at when to come back.
        backoff: Backoff,
        /// What the server's word is worth.
        hints: Hints,
        /// Limits of one attempt.
        timeouts: Timeouts,
        /// A second attempt beside a slow first one.
        hedge: Option<Hedge>,
    }

    /// The same, with a route's own word on when its calls move on (rule K1).
    #[must_use]
    pub const fn routed(mut self, fallbacks: u32, tries: u32, patience: Duration) -> Self {
        self.fallbacks = fallbacks;
        self.tries = tries;
        self.patience = patience;
        self
    }

    /// The same, with no wait of its own between attempts: what naive clients do. For comparisons with them; no builder
    /// and no file can say it.
    #[must_use]
    pub const fn without_waits(mut self) -> Self {
        self.backoff.base = Duration::ZERO;
        self.backoff.min = Duration::ZERO;
        self.backoff.cap = Duration::ZERO;
        self.backoff.jitter = Jitter::None;
        self
    }
}

/// Our own guess at when to come back (rules B1 to B4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    pub(crate) base: Duration,
    pub(crate) factor_tenths: u32,
    pub(crate) cap: Duration,
    pub(crate) min: Duration,
    pub(crate) jitter: Jitter,
}

impl Backoff {
    readable! {
        /// The first ceiling.
        base: Duration,
        /// Growth per retry, in tenths.
        factor_tenths: u32,
        /// The last ceiling: no drawn delay is above it.
        cap: Duration,
        /// The lower end of full jitter.
        min: Duration,
        /// How a delay is drawn below its ceiling.
        jitter: Jitter,
    }
}

/// How a delay is drawn below its ceiling `c` (rule B2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    /// Evenly from `[min, c]`.
    Full,
    /// `c/2` and evenly up to another half.
    Equal,
    /// Evenly from `[base, min(cap, 3 × previous)]`; the first previous is `base`.
    Decorrelated,
    /// `min(cap, U[base, 3 × previous])`: AWS's published form, which piles up at the cap; for comparison only.
    DecorrelatedAws,
    /// Evenly from `[c(1−p), min(cap, c(1+p))]`, `p` in thousandths.
    Proportional {
        /// The share in thousandths, 1 to 1000.
        per_mille: u32,
    },
    /// Always `c`.
    None,
}

/// What the server's word is worth (rules C1 to C6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    pub(crate) max: Duration,
    pub(crate) long: LongHint,
    pub(crate) cooldown_max: Duration,
}

impl Hints {
    readable! {
        /// The longest hint that is waited for.
        max: Duration,
        /// What a longer one does.
        long: LongHint,
        /// How long a stated cool-down is believed.
        cooldown_max: Duration,
    }
}

/// What a hint above `hints.max` does (rule C4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongHint {
    /// Ends the call here: clamping retries too early and re-arms the limit.
    Stop,
    /// Waits `hints.max` instead, for those who want it.
    Clamp,
}

/// Limits of one attempt (rules F2 and F3). `None` is the endpoint's own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub(crate) connect: Option<Duration>,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) total: Option<Duration>,
    pub(crate) min_attempt: Duration,
}

impl Timeouts {
    readable! {
        /// Name look-up, connect and TLS together, where written.
        connect: Option<Duration>,
        /// From the request's last byte to the answer's first, where written.
        first_byte: Option<Duration>,
        /// Silence inside an answer, where written.
        idle: Option<Duration>,
        /// A whole attempt, where written.
        total: Option<Duration>,
        /// The least that a wait must leave before the deadline.
        min_attempt: Duration,
    }
}

/// A second attempt beside a slow first one (rule J1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    pub(crate) after: HedgeAfter,
    pub(crate) at_most_per_mille: Option<u32>,
}

impl Hedge {
    readable! {
        /// How long the first attempt runs alone.
        after: HedgeAfter,
        /// The largest share of calls that are hedged, in thousandths; `None` leaves it to the budget.
        at_most_per_mille: Option<u32>,
    }

    /// Whether the gate must keep something for it.
    pub(crate) const fn needs_the_gate(&self) -> bool {
        matches!(self.after, HedgeAfter::Percentile { .. }) || self.at_most_per_mille.is_some()
    }
}

/// How long a first attempt runs alone (rule J1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HedgeAfter {
    /// This long.
    Fixed(Duration),
    /// As long as so many of a thousand attempts at its gate take to their first byte, lately. Where fewer than
    /// [`HEDGE_SAMPLES_MIN`] are known, or none would be above it, no hedge is sent.
    Percentile {
        /// 500 to 999: 950 is p95, 999 is p99.9.
        per_mille: u32,
    },
}

/// What holds for a gate: the state that calls to one upstream share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatePolicy {
    pub(crate) budget: Option<BudgetPolicy>,
    pub(crate) breaker: Option<BreakerPolicy>,
    pub(crate) limits: LimitPolicy,
}

impl GatePolicy {
    /// A gate that bounds nothing: what a parent starts from.
    pub const UNBOUNDED: Self = Self {
        budget: None,
        breaker: None,
        limits: LimitPolicy {
            concurrency: Concurrency::Unbounded,
            queue: DEFAULT_QUEUE,
            rates: Rates::NONE,
        },
    };

    readable! {
        /// How many extras the gate allows; `None` bounds nothing.
        budget: Option<BudgetPolicy>,
        /// When the gate stops sending; `None` never does.
        breaker: Option<BreakerPolicy>,
        /// How much at once.
        limits: LimitPolicy,
    }
}

/// How many extras a gate allows (rule G1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetPolicy {
    pub(crate) ratio_per_mille: u32,
    pub(crate) floor_milli: u64,
    pub(crate) window: Duration,
    pub(crate) on_empty: OnEmpty,
}

impl BudgetPolicy {
    readable! {
        /// Extras per thousand originals.
        ratio_per_mille: u32,
        /// Thousandths of an extra per second whatever the traffic.
        floor_milli: u64,
        /// Over how long both are counted.
        window: Duration,
        /// What a call does that finds nothing left.
        on_empty: OnEmpty,
    }
}

/// What a call does that finds the budget empty (rule G5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnEmpty {
    /// Ends with the outcome that it has.
    Stop,
    /// Waits for credit within its deadline.
    Wait,
}

/// When a gate stops sending (rules H1 to H10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    pub(crate) consecutive: u32,
    pub(crate) failure_per_mille: u32,
    pub(crate) window: Duration,
    pub(crate) min_calls: u32,
    pub(crate) slow_call: Option<SlowCall>,
    pub(crate) open_for: Duration,
    pub(crate) open_max: Duration,
    pub(crate) probes: u32,
    pub(crate) probe_successes: u32,
    pub(crate) ramp: Option<Duration>,
    pub(crate) on_open: OnOpen,
    pub(crate) mode: Mode,
}

impl BreakerPolicy {
    readable! {
        /// Failures in a row that trip it.
        consecutive: u32,
        /// Failures per thousand that trip it.
        failure_per_mille: u32,
        /// The window of that rate.
        window: Duration,
        /// Attempts below which the rate says nothing.
        min_calls: u32,
        /// Which attempts are slow, and how many of them trip it; `None` is none.
        slow_call: Option<SlowCall>,
        /// How long it stays open at first.
        open_for: Duration,
        /// How long at the most: where that is not written, [`DEFAULT_BREAKER_OPEN_MAX`], or `open_for` where that is longer.
        open_max: Duration,
        /// Probes in flight while half-open.
        probes: u32,
        /// Probes that must succeed to close.
        probe_successes: u32,
        /// Over how long the admitted share grows after it closed; `None` admits everything at once.
        ramp: Option<Duration>,
        /// What a call does that finds it open.
        on_open: OnOpen,
        /// Whether the automaton rules, or a latch outside it.
        mode: Mode,
    }

    /// How long it stays open where it was open for `length` and that was not enough: half as long again, up to
    /// `open_max` (rule H3).
    pub const fn open_longer(&self, length: Duration) -> Duration {
        let longer = length.times(3).over(2);
        if longer.as_nanos() < self.open_max.as_nanos() {
            longer
        } else {
            self.open_max
        }
    }

    /// Whether so many failures are the share that trips it.
    pub(crate) fn is_share_reached(&self, failures: u64, counted: u64) -> bool {
        failures.saturating_mul(1_000) >= counted.saturating_mul(self.failure_per_mille.into())
    }
}

/// When slow attempts trip a breaker (rule H1). An attempt is slow whose first content, or whose whole answer where
/// that is what is waited for, takes longer than `over`; one that is out still is slow from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCall {
    /// An attempt that takes longer is slow.
    pub over: Duration,
    /// Slow attempts per thousand that trip it, 1 to 1 000.
    pub per_mille: u32,
}

/// What a call does that finds a breaker open (rule H10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnOpen {
    /// Ends at once.
    Fail,
    /// Waits for the next probe within its deadline.
    Wait,
}

/// A latch outside the breaker's automaton (rule H8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The automaton rules.
    Auto,
    /// Refuses everything.
    Open,
    /// Refuses nothing.
    Closed,
    /// Decides and reports, refuses nothing.
    Observe,
}

/// How much at once and how much a minute (rules I1 to I3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitPolicy {
    pub(crate) concurrency: Concurrency,
    pub(crate) queue: u32,
    pub(crate) rates: Rates,
}

impl LimitPolicy {
    readable! {
        /// Attempts in flight.
        concurrency: Concurrency,
        /// Calls that may wait at the gate.
        queue: u32,
        /// What may be sent in a minute.
        rates: Rates,
    }
}

/// How many attempts may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// As many as come.
    Unbounded,
    /// This many.
    AtMost(u32),
    /// As many as the upstream bears, found out by what it throttles (rule I3).
    Auto,
    /// As many as the upstream answers without delay, found out by its first-byte times, and by what it throttles
    /// (rule I3).
    Gradient,
}

impl Concurrency {
    /// The number, where one was given.
    pub const fn at_most(self) -> Option<u32> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::Unbounded | Self::Auto | Self::Gradient => None,
        }
    }
}

impl From<u32> for Concurrency {
    fn from(most: u32) -> Self {
        Self::AtMost(most)
    }
}

impl From<Option<u32>> for Concurrency {
    fn from(most: Option<u32>) -> Self {
        most.map_or(Self::Unbounded, Self::AtMost)
    }
}

/// What may be sent in a minute (rule I2). Each is a bucket that holds one minute's worth, is full at first, and fills
/// evenly; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    pub(crate) requests_per_minute: Option<u64>,
    pub(crate) tokens_per_minute: Option<u64>,
    pub(crate) tokens_in_per_minute: Option<u64>,
    pub(crate) tokens_out_per_minute: Option<u64>,
}

impl Rates {
    /// No limit of any kind.
    pub const NONE: Self = Self {
        requests_per_minute: None,
        tokens_per_minute: None,
        tokens_in_per_minute: None,
        tokens_out_per_minute: None,
    };

    readable! {
        /// Attempts.
        requests_per_minute: Option<u64>,
        /// Tokens, read and written.
        tokens_per_minute: Option<u64>,
        /// Tokens read.
        tokens_in_per_minute: Option<u64>,
        /// Tokens written.
        tokens_out_per_minute: Option<u64>,
    }
}
