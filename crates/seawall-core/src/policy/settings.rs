//! What a policy says, setting by setting, under the keys that files have for them.
//!
//! What can go wrong: whoever writes a policy down leaves a setting out, and what is printed is another policy than the
//! one that runs. So there is one list, and it takes a policy apart field by field: a new field does not compile before
//! it stands here.

use super::{
    Backoff, BreakerPolicy, BudgetPolicy, CallPolicy, Concurrency, GatePolicy, Hedge, HedgeAfter, Hints,
    Jitter, LimitPolicy, LongHint, Mode, OnEmpty, OnOpen, Policy, Rates, SlowCall, Timeouts,
};
use crate::time::Duration;
use alloc::vec::Vec;
use core::fmt;

/// A setting of a policy, and what it is set to. Listed by [`Policy::settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key as files have it in a `[policy]` table, with the tables that it is in: `backoff.base`.
    pub key: &'static str,
    /// What it is set to.
    pub value: SettingValue,
}

/// What a setting is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// A whole number.
    Count(u64),
    /// A number of whole tenths.
    Tenths(u64),
    /// A number of whole thousandths, such as a share.
    Thousandths(u64),
    /// A length of time.
    Length(Duration),
    /// One word of a few.
    Word(&'static str),
    /// Yes or no.
    Flag(bool),
    /// As long as so many of a thousand take.
    Percentile {
        /// 950 is p95.
        per_mille: u32,
    },
}

impl fmt::Display for SettingValue {
    /// As a file writes it, exactly: `3`, `0.125`, `"1m30s"`, `"full"`, `true`, `"p95"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Tenths(tenths) => parts(f, tenths, 1),
            Self::Thousandths(thousandths) => parts(f, thousandths, 3),
            Self::Length(length) => length_in_full(f, length),
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Percentile { per_mille } => {
                f.write_str("\"p")?;
                parts(f, per_mille.into(), 1)?;
                f.write_str("\"")
            }
        }
    }
}

/// A whole number of parts as people write it: 125 thousandths are 0.125.
fn parts(f: &mut fmt::Formatter<'_>, parts: u64, places: u32) -> fmt::Result {
    let (whole, mut rest) = (parts / 10_u64.pow(places), parts % 10_u64.pow(places));
    if rest == 0 {
        return write!(f, "{whole}");
    }
    let mut width = places as usize;
    while rest.is_multiple_of(10) {
        rest /= 10;
        width -= 1;
    }
    write!(f, "{whole}.{rest:0width$}")
}

/// What people are shown of a minute and more leaves out what is less than a second.
fn length_in_full(f: &mut fmt::Formatter<'_>, length: Duration) -> fmt::Result {
    let nanos = length.as_nanos();
    match nanos {
        60_000_000_000.. if nanos.is_multiple_of(1_000_000_000) => write!(f, "\"{length}\""),
        60_000_000_000.. if nanos.is_multiple_of(1_000_000) => write!(f, "\"{}ms\"", nanos / 1_000_000),
        60_000_000_000.. => write!(f, "\"{nanos}ns\""),
        _ => write!(f, "\"{length}\""),
    }
}

impl Policy {
    /// Every setting that has a value, each once: what nobody wrote and what bounds nothing (a limit that is the
    /// endpoint's own, a concurrency without an end, the ramp of a breaker that has none) has none. A budget or a breaker
    /// that is off is the word `off` under its name.
    ///
    /// For reports, and for writing a policy down. Not all of these keys are of every file: `fallbacks`, `tries` and
    /// `patience` are a route's there, and `throttled_counts` and `declared_counts` a preset's.
    ///
    /// ```
    /// use seawall_core::policy::{Policy, SettingValue};
    /// let policy = Policy::builder().retries(3).budget(None).build()?;
    /// let settings = policy.settings();
    /// let value = |key| settings.iter().find(|setting| setting.key == key).map(|setting| setting.value);
    /// assert_eq!(value("retries"), Some(SettingValue::Count(3)));
    /// assert_eq!(value("budget"), Some(SettingValue::Word("off")));
    /// assert_eq!(value("timeouts.total"), None);
    /// # Ok::<(), seawall_core::policy::PolicyError>(())
    /// ```
    pub fn settings(&self) -> Vec<Setting> {
        let Self { call, gate } = self;
        let mut list = List(Vec::with_capacity(48));
        list.call(call, gate);
        list.0
    }
}

/// Settings under way.
struct List(Vec<Setting>);

impl List {
    fn put(&mut self, key: &'static str, value: SettingValue) {
        self.0.push(Setting { key, value });
    }

    fn count(&mut self, key: &'static str, count: impl Into<u64>) {
        self.put(key, SettingValue::Count(count.into()));
    }

    fn share(&mut self, key: &'static str, per_mille: u32) {
        self.put(key, SettingValue::Thousandths(per_mille.into()));
    }

    fn length(&mut self, key: &'static str, length: Duration) {
        self.put(key, SettingValue::Length(length));
    }

    fn word(&mut self, key: &'static str, word: &'static str) {
        self.put(key, SettingValue::Word(word));
    }

    fn call(&mut self, call: &CallPolicy, gate: &GatePolicy) {
        let CallPolicy {
            retries,
            fallbacks,
            tries,
            patience,
            throttled_counts,
            declared_counts,
            deadline,
            deadline_written,
            backoff,
            hints,
            timeouts,
            hedge,
        } = *call;
        let GatePolicy {
            budget,
            breaker,
            limits,
        } = *gate;
        self.count("retries", retries);
        self.count("fallbacks", fallbacks);
        self.count("tries", tries);
        self.length("patience", patience);
        self.put("throttled_counts", SettingValue::Flag(throttled_counts));
        self.put("declared_counts", SettingValue::Flag(declared_counts));
        if deadline_written {
            self.length("deadline", deadline);
        }
        if budget.is_none() {
            self.word("budget", "off");
        }
        if breaker.is_none() {
            self.word("breaker", "off");
        }
        self.backoff(backoff);
        self.hints(hints);
        self.timeouts(timeouts);
        if let Some(budget) = budget {
            self.budget(budget);
        }
        if let Some(breaker) = breaker {
            self.breaker(breaker);
        }
        self.limits(limits);
        if let Some(hedge) = hedge {
            self.hedge(hedge);
        }
    }

    fn backoff(&mut self, backoff: Backoff) {
        let Backoff {
            base,
            factor_tenths,
            cap,
            min,
            jitter,
        } = backoff;
        self.length("backoff.base", base);
        self.put("backoff.factor", SettingValue::Tenths(factor_tenths.into()));
        self.length("backoff.cap", cap);
        match jitter {
            Jitter::Full => self.word("backoff.jitter", "full"),
            Jitter::Equal => self.word("backoff.jitter", "equal"),
            Jitter::Decorrelated => self.word("backoff.jitter", "decorrelated"),
            Jitter::DecorrelatedAws => self.word("backoff.jitter", "decorrelated-aws"),
            Jitter::Proportional { per_mille } => self.share("backoff.jitter.proportional", per_mille),
            Jitter::None => self.word("backoff.jitter", "none"),
        }
        self.length("backoff.min", min);
    }

    fn hints(&mut self, hints: Hints) {
        let Hints {
            max,
            long,
            cooldown_max,
        } = hints;
        self.length("hints.max", max);
        let long = match long {
            LongHint::Stop => "stop",
            LongHint::Clamp => "clamp",
        };
        self.word("hints.long", long);
        self.length("hints.cooldown_max", cooldown_max);
    }

    fn timeouts(&mut self, timeouts: Timeouts) {
        let Timeouts {
            connect,
            first_byte,
            idle,
            total,
            min_attempt,
        } = timeouts;
        for (key, written) in [
            ("timeouts.connect", connect),
            ("timeouts.first_byte", first_byte),
            ("timeouts.idle", idle),
            ("timeouts.total", total),
        ] {
            if let Some(length) = written {
                self.length(key, length);
            }
        }
        self.length("timeouts.min_attempt", min_attempt);
    }

    fn budget(&mut self, budget: BudgetPolicy) {
        let BudgetPolicy {
            ratio_per_mille,
            floor_milli,
            window,
            on_empty,
        } = budget;
        self.share("budget.ratio", ratio_per_mille);
        self.put("budget.floor", SettingValue::Thousandths(floor_milli));
        self.length("budget.window", window);
        let on_empty = match on_empty {
            OnEmpty::Stop => "stop",
            OnEmpty::Wait => "wait",
        };
        self.word("budget.on_empty", on_empty);
    }

    fn breaker(&mut self, breaker: BreakerPolicy) {
        let BreakerPolicy {
            consecutive,
            failure_per_mille,
            window,
            min_calls,
            slow_call,
            open_for,
            open_max,
            probes,
            probe_successes,
            ramp,
            on_open,
            mode,
        } = breaker;
        self.count("breaker.consecutive", consecutive);
        self.share("breaker.failure_rate", failure_per_mille);
        self.length("breaker.window", window);
        self.count("breaker.min_calls", min_calls);
        self.length("breaker.open_for", open_for);
        self.length("breaker.open_max", open_max);
        self.count("breaker.probes", probes);
        self.count("breaker.probe_successes", probe_successes);
        let on_open = match on_open {
            OnOpen::Fail => "fail",
            OnOpen::Wait => "wait",
        };
        self.word("breaker.on_open", on_open);
        let mode = match mode {
            Mode::Auto => "auto",
            Mode::Open => "open",
            Mode::Closed => "closed",
            Mode::Observe => "observe",
        };
        self.word("breaker.mode", mode);
        if let Some(SlowCall { over, per_mille }) = slow_call {
            self.length("breaker.slow_call.over", over);
            self.share("breaker.slow_call.rate", per_mille);
        }
        if let Some(ramp) = ramp {
            self.length("breaker.ramp", ramp);
        }
    }

    fn limits(&mut self, limits: LimitPolicy) {
        let LimitPolicy {
            concurrency,
            queue,
            rates,
        } = limits;
        match concurrency {
            Concurrency::Unbounded => {}
            Concurrency::AtMost(most) => self.count("limits.concurrency", most),
            Concurrency::Auto => self.word("limits.concurrency", "auto"),
            Concurrency::Gradient => self.word("limits.concurrency.auto", "first-byte"),
        }
        self.count("limits.queue", queue);
        let Rates {
            requests_per_minute,
            tokens_per_minute,
            tokens_in_per_minute,
            tokens_out_per_minute,
        } = rates;
        for (key, rate) in [
            ("limits.requests_per_minute", requests_per_minute),
            ("limits.tokens_per_minute", tokens_per_minute),
            ("limits.tokens_in_per_minute", tokens_in_per_minute),
            ("limits.tokens_out_per_minute", tokens_out_per_minute),
        ] {
            if let Some(rate) = rate {
                self.count(key, rate);
            }
        }
    }

    fn hedge(&mut self, hedge: Hedge) {
        let Hedge {
            after,
            at_most_per_mille,
        } = hedge;
        match after {
            HedgeAfter::Fixed(length) => self.length("hedge.after", length),
            HedgeAfter::Percentile { per_mille } => {
                self.put("hedge.after", SettingValue::Percentile { per_mille });
            }
        }
        if let Some(share) = at_most_per_mille {
            self.share("hedge.at_most", share);
        }
    }
}
