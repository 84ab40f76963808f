use super::{
    BATCH_CONCURRENCY, Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Concurrency, DEFAULT_BACKOFF_BASE,
    DEFAULT_BACKOFF_CAP, DEFAULT_BACKOFF_FACTOR_TENTHS, DEFAULT_BACKOFF_MIN_DIVISOR,
    DEFAULT_BREAKER_CONSECUTIVE, DEFAULT_BREAKER_FAILURE_PERCENT, DEFAULT_BREAKER_MIN_CALLS,
    DEFAULT_BREAKER_OPEN_FOR, DEFAULT_BREAKER_OPEN_MAX, DEFAULT_BREAKER_PROBE_SUCCESSES,
    DEFAULT_BREAKER_PROBES, DEFAULT_BREAKER_WINDOW, DEFAULT_BUDGET_FLOOR_MILLI, DEFAULT_BUDGET_RATIO_PERCENT,
    DEFAULT_BUDGET_WINDOW, DEFAULT_COOLDOWN_MAX, DEFAULT_DEADLINE, DEFAULT_FALLBACKS, DEFAULT_HINT_MAX,
    DEFAULT_MIN_ATTEMPT, DEFAULT_PATIENCE, DEFAULT_QUEUE, DEFAULT_RETRIES, DEFAULT_TRIES, GatePolicy, Hedge,
    HedgeAfter, Hints, Jitter, LimitPolicy, LongHint, Mode, OnEmpty, OnOpen, Policy, PolicyError, Preset,
    Rates, SlowCall, Timeouts,
};
use crate::time::Duration;

/// Longest length that a setting may have: ten years, so that sums of settings never saturate.
const LENGTH_MAX: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Most tokens a minute that a limit may have: 10^12.
const RATE_MAX: u64 = 1_000_000_000_000;
const MS: Duration = Duration::from_millis(1);

/// Collects settings over a preset; [`build`](Self::build) checks them all at once.
///
/// A setting that is never called keeps the preset's value. Nothing is bent into range: what is out of range is a
/// [`PolicyError`] that names the setting as files do.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct PolicyBuilder {
    policy: Policy,
    min_written: bool,
    /// Kept until there is a hedge to bound, whichever is said first.
    hedge_at_most: Option<u32>,
}

impl Policy {
    /// A builder over the preset `default`.
    pub const fn builder() -> PolicyBuilder {
        PolicyBuilder::from_preset(Preset::Default)
    }

    /// The policy of this name, unchanged.
    pub const fn preset(preset: Preset) -> Self {
        PolicyBuilder::from_preset(preset).policy
    }
}

/// Declares builder methods that set one field.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $type:ty) => $($field:ident).+ = $value:expr;)*) => {
        $($(#[$doc])* pub const fn $name(mut self, $argument: $type) -> Self {
            self.policy.$($field).+ = $value;
            self
        })*
    };
}

impl PolicyBuilder {
    /// A builder that starts from a policy that was built before.
    pub const fn from_policy(policy: Policy) -> Self {
        Self {
            policy,
            min_written: true,
            hedge_at_most: None,
        }
    }

    /// A builder that starts from `preset`.
    pub const fn from_preset(preset: Preset) -> Self {
        let mut call = CallPolicy {
            retries: DEFAULT_RETRIES,
            fallbacks: DEFAULT_FALLBACKS,
            tries: DEFAULT_TRIES,
            patience: DEFAULT_PATIENCE,
            throttled_counts: true,
            declared_counts: true,
            deadline: DEFAULT_DEADLINE,
            deadline_written: !matches!(preset, Preset::Default),
            backoff: Backoff {
                base: DEFAULT_BACKOFF_BASE,
                factor_tenths: DEFAULT_BACKOFF_FACTOR_TENTHS,
                cap: DEFAULT_BACKOFF_CAP,
                min: DEFAULT_BACKOFF_BASE.over(DEFAULT_BACKOFF_MIN_DIVISOR),
                jitter: Jitter::Full,
            },
            hints: Hints {
                max: DEFAULT_HINT_MAX,
                long: LongHint::Stop,
                cooldown_max: DEFAULT_COOLDOWN_MAX,
            },
            timeouts: Timeouts {
                connect: None,
                first_byte: None,
                idle: None,
                total: None,
                min_attempt: DEFAULT_MIN_ATTEMPT,
            },
            hedge: None,
        };
        let mut budget = BudgetPolicy {
            ratio_per_mille: DEFAULT_BUDGET_RATIO_PERCENT * 10,
            floor_milli: DEFAULT_BUDGET_FLOOR_MILLI,
            window: DEFAULT_BUDGET_WINDOW,
            on_empty: OnEmpty::Stop,
        };
        let mut breaker = BreakerPolicy {
            consecutive: DEFAULT_BREAKER_CONSECUTIVE,
            failure_per_mille: DEFAULT_BREAKER_FAILURE_PERCENT * 10,
            window: DEFAULT_BREAKER_WINDOW,
            min_calls: DEFAULT_BREAKER_MIN_CALLS,
            slow_call: None,
            open_for: DEFAULT_BREAKER_OPEN_FOR,
            open_max: DEFAULT_BREAKER_OPEN_MAX,
            probes: DEFAULT_BREAKER_PROBES,
            probe_successes: DEFAULT_BREAKER_PROBE_SUCCESSES,
            ramp: None,
            on_open: OnOpen::Fail,
            mode: Mode::Auto,
        };
        let mut limits = LimitPolicy {
            concurrency: Concurrency::Unbounded,
            queue: DEFAULT_QUEUE,
            rates: Rates::NONE,
        };
        match preset {
            Preset::Default => {}
            Preset::Interactive => {
                call.retries = 2;
                call.deadline = Duration::from_secs(30);
                call.hints.max = Duration::from_secs(10);
            }
            Preset::Batch => {
                call.retries = 10;
                call.deadline = Duration::from_secs(3_600);
                call.hints.max = Duration::from_secs(900);
                call.throttled_counts = false;
                budget.on_empty = OnEmpty::Wait;
                breaker.on_open = OnOpen::Wait;
                limits.concurrency = Concurrency::AtMost(BATCH_CONCURRENCY);
            }
            Preset::Writes => {
                call.retries = 3;
                call.backoff.base = Duration::from_secs(1);
                call.backoff.min = Duration::from_millis(100);
                call.declared_counts = false;
            }
            Preset::Off => {
                call.retries = 0;
                call.fallbacks = 0;
                breaker.mode = Mode::Observe;
            }
        }
        let gate = GatePolicy {
            budget: Some(budget),
            breaker: Some(breaker),
            limits,
        };
        Self {
            policy: Policy { call, gate },
            min_written: false,
            hedge_at_most: None,
        }
    }

    setters! {
        /// Retries over all upstreams, 0 to 100.
        retries(n: u32) => call.retries = n;
        /// Moves to another upstream, 0 to 100.
        fallbacks(n: u32) => call.fallbacks = n;
        /// Sends at one upstream while another could send now, 1 to 100.
        tries(n: u32) => call.tries = n;
        /// Longest wait at one upstream while another could send now.
        patience(length: Duration) => call.patience = length;
        /// Whether a throttled attempt counts towards `retries`.
        throttled_counts(yes: bool) => call.throttled_counts = yes;
        /// Growth per retry in tenths, 10 to 100 (rule B1: a factor of 1 to 10).
        backoff_factor_tenths(n: u32) => call.backoff.factor_tenths = n;
        /// The longest delay of our own guess.
        backoff_cap(length: Duration) => call.backoff.cap = length;
        /// How a delay is drawn below its ceiling.
        jitter(jitter: Jitter) => call.backoff.jitter = jitter;
        /// The longest hint that is waited for.
        hints_max(length: Duration) => call.hints.max = length;
        /// What a longer hint does.
        hints_long(what: LongHint) => call.hints.long = what;
        /// How long a stated cool-down is believed.
        cooldown_max(length: Duration) => call.hints.cooldown_max = length;
        /// Name look-up, connect and TLS together.
        connect(length: Duration) => call.timeouts.connect = Some(length);
        /// From the request's last byte to the answer's first.
        first_byte(length: Duration) => call.timeouts.first_byte = Some(length);
        /// Silence inside an answer.
        idle(length: Duration) => call.timeouts.idle = Some(length);
        /// A whole attempt.
        total(length: Duration) => call.timeouts.total = Some(length);
        /// The least that a wait must leave before the deadline.
        min_attempt(length: Duration) => call.timeouts.min_attempt = length;
        /// The budget; `None` bounds nothing.
        budget(budget: Option<BudgetPolicy>) => gate.budget = budget;
        /// The breaker; `None` never stops a call.
        breaker(breaker: Option<BreakerPolicy>) => gate.breaker = breaker;
        /// Calls that may wait at the gate.
        queue(n: u32) => gate.limits.queue = n;
        /// Attempts in a minute, 1 to 10^9; `None` is no limit.
        requests_per_minute(n: Option<u64>) => gate.limits.rates.requests_per_minute = n;
        /// Tokens in a minute, read and written, 1 to 10^12; `None` is no limit.
        tokens_per_minute(n: Option<u64>) => gate.limits.rates.tokens_per_minute = n;
        /// Tokens read in a minute, 1 to 10^12; `None` is no limit.
        tokens_in_per_minute(n: Option<u64>) => gate.limits.rates.tokens_in_per_minute = n;
        /// Tokens written in a minute, 1 to 10^12; `None` is no limit.
        tokens_out_per_minute(n: Option<u64>) => gate.limits.rates.tokens_out_per_minute = n;
    }

    /// A second attempt after a first one has run this long.
    pub const fn hedge_after(self, length: Duration) -> Self {
        self.hedge(HedgeAfter::Fixed(length))
    }

    /// A second attempt after a first one has run as long as so many of a thousand at its gate do, 500 to 999: 950 is
    /// p95. See [`HedgeAfter::Percentile`].
    pub const fn hedge_after_percentile(self, per_mille: u32) -> Self {
        self.hedge(HedgeAfter::Percentile { per_mille })
    }

    /// No second attempt, whatever the policy had that this began with.
    pub const fn no_hedge(mut self) -> Self {
        self.policy.call.hedge = None;
        self.hedge_at_most = None;
        self
    }

    const fn hedge(mut self, after: HedgeAfter) -> Self {
        let at_most_per_mille = match self.policy.call.hedge {
            Some(hedge) => hedge.at_most_per_mille,
            None => None,
        };
        self.policy.call.hedge = Some(Hedge {
            after,
            at_most_per_mille,
        });
        self
    }

    /// The largest share of calls that are hedged, in thousandths, 1 to 1 000: at no time were more hedges sent in the
    /// budget's window than this share of the calls that it counts. Needs a hedge.
    pub const fn hedge_at_most_per_mille(mut self, n: u32) -> Self {
        self.hedge_at_most = Some(n);
        self
    }

    /// Attempts in flight at once: a number, `None` for no bound, [`Concurrency::Auto`] or [`Concurrency::Gradient`].
    pub fn concurrency(mut self, most: impl Into<Concurrency>) -> Self {
        self.policy.gate.limits.concurrency = most.into();
        self
    }

    /// How long a call may take up to its commit.
    pub const fn deadline(mut self, length: Duration) -> Self {
        self.policy.call.deadline = length;
        self.policy.call.deadline_written = true;
        self
    }

    /// The first ceiling. The lower end of full jitter follows it (a tenth) unless it is written too.
    pub const fn backoff_base(mut self, length: Duration) -> Self {
        self.policy.call.backoff.base = length;
        if !self.min_written {
            self.policy.call.backoff.min = length.over(DEFAULT_BACKOFF_MIN_DIVISOR);
        }
        self
    }

    /// The lower end of full jitter, at most the base.
    pub const fn backoff_min(mut self, length: Duration) -> Self {
        self.policy.call.backoff.min = length;
        self.min_written = true;
        self
    }

    /// Changes the budget that is there, or the default one where there is none.
    pub fn edit_budget(mut self, edit: impl FnOnce(BudgetEdit) -> BudgetEdit) -> Self {
        let budget = self
            .policy
            .gate
            .budget
            .or(Policy::preset(Preset::Default).gate.budget);
        self.policy.gate.budget = budget.map(|budget| edit(BudgetEdit(budget)).0);
        self
    }

    /// Changes the breaker that is there, or the default one where there is none.
    pub fn edit_breaker(mut self, edit: impl FnOnce(BreakerEdit) -> BreakerEdit) -> Self {
        let breaker = self
            .policy
            .gate
            .breaker
            .or(Policy::preset(Preset::Default).gate.breaker);
        self.policy.gate.breaker = breaker.map(|breaker| edit(BreakerEdit(breaker)).0);
        self
    }

    /// The policy, once every setting is in its range and no two contradict each other.
    ///
    /// # Errors
    /// The first setting that is out of range, with what was given and what may be.
    pub fn build(mut self) -> Result<Policy, PolicyError> {
        if let Some(most) = self.hedge_at_most {
            let hedge = self.policy.call.hedge.as_mut();
            hedge.ok_or(PolicyError::ShareWithoutHedge)?.at_most_per_mille = Some(most);
        }
        check_call(&self.policy.call)?;
        if let Some(budget) = &self.policy.gate.budget {
            check_budget(budget)?;
        }
        if let Some(breaker) = &self.policy.gate.breaker {
            check_breaker(breaker)?;
        }
        check_limits(&self.policy.gate.limits)?;
        Ok(self.policy)
    }
}

/// The settings of a budget, for [`PolicyBuilder::edit_budget`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct BudgetEdit(BudgetPolicy);

impl BudgetEdit {
    /// Extras per thousand originals, 0 to 10 000.
    pub const fn ratio_per_mille(mut self, n: u32) -> Self {
        self.0.ratio_per_mille = n;
        self
    }

    /// Thousandths of an extra per second whatever the traffic.
    pub const fn floor_milli(mut self, n: u64) -> Self {
        self.0.floor_milli = n;
        self
    }

    /// Over how long both are counted, 1 s to 1 h.
    pub const fn window(mut self, length: Duration) -> Self {
        self.0.window = length;
        self
    }

    /// What a call does that finds nothing left.
    pub const fn on_empty(mut self, what: OnEmpty) -> Self {
        self.0.on_empty = what;
        self
    }
}

/// The settings of a breaker, for [`PolicyBuilder::edit_breaker`].
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct BreakerEdit(BreakerPolicy);

/// Declares methods that set one field of a breaker.
macro_rules! breaker_setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        $($(#[$doc])* pub const fn $name(mut self, value: $type) -> Self {
            self.0.$name = value;
            self
        })*
    };
}

impl BreakerEdit {
    /// The share of slow attempts that trips it, in thousandths, where the policy says what slow is.
    pub const fn slow_rate(mut self, per_mille: u32) -> Self {
        if let Some(slow) = &mut self.0.slow_call {
            slow.per_mille = per_mille;
        }
        self
    }

    /// How long it stays open at first, and half as long again each time that this was not enough, up to `open_max`. Where
    /// that is what it is by default, it is moved out of the way of a longer time: give it afterwards.
    pub fn open_for(mut self, length: Duration) -> Self {
        let breaker = &mut self.0;
        if breaker.open_max == DEFAULT_BREAKER_OPEN_MAX.max(breaker.open_for) {
            breaker.open_max = DEFAULT_BREAKER_OPEN_MAX.max(length);
        }
        breaker.open_for = length;
        self
    }

    breaker_setters! {
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
        /// How long it stays open at the most: 5 s by default, or `open_for` where that is longer.
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
}

fn check_call(call: &CallPolicy) -> Result<(), PolicyError> {
    number("retries", call.retries, 0, 100, "")?;
    number("fallbacks", call.fallbacks, 0, 100, "")?;
    number("tries", call.tries, 1, 100, "")?;
    length("patience", call.patience, Duration::ZERO, LENGTH_MAX)?;
    length("deadline", call.deadline, MS, LENGTH_MAX)?;
    check_backoff(&call.backoff)?;
    length("hints.max", call.hints.max, MS, LENGTH_MAX)?;
    length("hints.cooldown_max", call.hints.cooldown_max, MS, LENGTH_MAX)?;
    let timeouts = &call.timeouts;
    length(
        "timeouts.min_attempt",
        timeouts.min_attempt,
        Duration::ZERO,
        LENGTH_MAX,
    )?;
    for (setting, written) in [
        ("timeouts.connect", timeouts.connect),
        ("timeouts.first_byte", timeouts.first_byte),
        ("timeouts.idle", timeouts.idle),
        ("timeouts.total", timeouts.total),
    ] {
        let Some(written) = written else { continue };
        length(setting, written, MS, LENGTH_MAX)?;
        // A stream's total outlives the deadline, which ends at the commit; the other two cannot.
        if setting != "timeouts.total" {
            not_above(setting, written, "deadline", call.deadline)?;
        }
    }
    if let Some(hedge) = call.hedge {
        match hedge.after {
            HedgeAfter::Fixed(after) => length("hedge.after", after, MS, LENGTH_MAX)?,
            HedgeAfter::Percentile { per_mille } => number("hedge.after", per_mille, 500, 999, " per mille")?,
        }
        if let Some(most) = hedge.at_most_per_mille {
            number("hedge.at_most", most, 1, 1_000, " per mille")?;
        }
    }
    Ok(())
}

fn check_backoff(backoff: &Backoff) -> Result<(), PolicyError> {
    length("backoff.base", backoff.base, MS, LENGTH_MAX)?;
    length("backoff.cap", backoff.cap, MS, LENGTH_MAX)?;
    not_above("backoff.base", backoff.base, "backoff.cap", backoff.cap)?;
    not_above("backoff.min", backoff.min, "backoff.base", backoff.base)?;
    if !(10..=100).contains(&backoff.factor_tenths) {
        let given = u64::from(backoff.factor_tenths);
        return Err(PolicyError::Number {
            setting: "backoff.factor",
            given,
            min: 10,
            max: 100,
            unit: " tenths",
        });
    }
    if let Jitter::Proportional { per_mille } = backoff.jitter {
        number("backoff.jitter.proportional", per_mille, 1, 1_000, " per mille")?;
    }
    Ok(())
}

fn check_budget(budget: &BudgetPolicy) -> Result<(), PolicyError> {
    number("budget.ratio", budget.ratio_per_mille, 0, 10_000, " per mille")?;
    length(
        "budget.window",
        budget.window,
        Duration::from_secs(1),
        Duration::from_secs(3_600),
    )?;
    if budget.floor_milli > 1_000_000_000 {
        let given = budget.floor_milli;
        let (setting, unit) = ("budget.floor", " thousandths per second");
        return Err(PolicyError::Number {
            setting,
            given,
            min: 0,
            max: 1_000_000_000,
            unit,
        });
    }
    match budget.on_empty {
        OnEmpty::Wait if budget.floor_milli == 0 => Err(PolicyError::WaitWithoutFloor),
        OnEmpty::Wait | OnEmpty::Stop => Ok(()),
    }
}

fn check_breaker(breaker: &BreakerPolicy) -> Result<(), PolicyError> {
    number("breaker.consecutive", breaker.consecutive, 1, 1_000_000, "")?;
    number(
        "breaker.failure_rate",
        breaker.failure_per_mille,
        1,
        1_000,
        " per mille",
    )?;
    number("breaker.min_calls", breaker.min_calls, 1, 1_000_000, "")?;
    length(
        "breaker.window",
        breaker.window,
        Duration::from_secs(1),
        Duration::from_secs(86_400),
    )?;
    if let Some(slow) = breaker.slow_call {
        length("breaker.slow_call.over", slow.over, MS, LENGTH_MAX)?;
        number("breaker.slow_call.rate", slow.per_mille, 1, 1_000, " per mille")?;
    }
    if let Some(ramp) = breaker.ramp {
        length("breaker.ramp", ramp, MS, LENGTH_MAX)?;
    }
    length("breaker.open_for", breaker.open_for, MS, LENGTH_MAX)?;
    length("breaker.open_max", breaker.open_max, MS, LENGTH_MAX)?;
    not_above(
        "breaker.open_for",
        breaker.open_for,
        "breaker.open_max",
        breaker.open_max,
    )?;
    number("breaker.probes", breaker.probes, 1, 100, "")?;
    number("breaker.probe_successes", breaker.probe_successes, 1, 1_000, "")
}

fn check_limits(limits: &LimitPolicy) -> Result<(), PolicyError> {
    if let Concurrency::AtMost(n) = limits.concurrency {
        number("limits.concurrency", n, 1, 1_000_000, "")?;
    }
    number("limits.queue", limits.queue, 0, 10_000_000, "")?;
    let rates = &limits.rates;
    let requests = rates.requests_per_minute;
    let bounds = [
        ("limits.requests_per_minute", requests, 1_000_000_000),
        ("limits.tokens_per_minute", rates.tokens_per_minute, RATE_MAX),
        (
            "limits.tokens_in_per_minute",
            rates.tokens_in_per_minute,
            RATE_MAX,
        ),
        (
            "limits.tokens_out_per_minute",
            rates.tokens_out_per_minute,
            RATE_MAX,
        ),
    ];
    for (setting, given, max) in bounds {
        if let Some(given) = given
            && !(1..=max).contains(&given)
        {
            let (min, unit) = (1, "");
            return Err(PolicyError::Number {
                setting,
                given,
                min,
                max,
                unit,
            });
        }
    }
    Ok(())
}

fn number(
    setting: &'static str,
    given: u32,
    min: u64,
    max: u64,
    unit: &'static str,
) -> Result<(), PolicyError> {
    let given = u64::from(given);
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(PolicyError::Number {
        setting,
        given,
        min,
        max,
        unit,
    })
}

fn length(setting: &'static str, given: Duration, min: Duration, max: Duration) -> Result<(), PolicyError> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(PolicyError::Length {
        setting,
        given,
        min,
        max,
    })
}

fn not_above(
    setting: &'static str,
    given: Duration,
    bound: &'static str,
    most: Duration,
) -> Result<(), PolicyError> {
    if given <= most {
        return Ok(());
    }
    Err(PolicyError::Above {
        setting,
        given,
        bound,
        most,
    })
}
