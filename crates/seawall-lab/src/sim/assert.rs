//! What a file asserts of its policies: `amplification < 1.2`.
//!
//! What can go wrong: an assertion that nothing was measured for passes. So "never recovered" is longer than any bound,
//! a time of no calls is no time, and both miss.

use super::summary::{Summary, float};
use crate::error::{ScriptError, Source, shown};
use seawall_core::time::Duration;
use serde::Serialize;
use std::ops::Range;

/// One assertion.
#[derive(Clone, Debug, PartialEq)]
pub struct Assert {
    /// As it was written.
    pub text: String,
    /// Which policy it is about; `None` is each.
    pub policy: Option<usize>,
    metric: Metric,
    bound: Bound,
    limit: f64,
}

/// What became of an assertion about one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// As it was written.
    pub assert: String,
    /// The policy.
    pub policy: String,
    /// What was measured, in the unit of the report; absent where there was nothing to measure, or a recovery never came.
    pub measured: Option<f64>,
    /// Whether it holds.
    pub holds: bool,
    /// What the figure is measured in.
    #[serde(skip)]
    pub unit: Unit,
}

/// What can be asserted: the figures of a report.
#[derive(Clone, Copy, Debug)]
struct Metric {
    name: &'static str,
    unit: Unit,
    read: fn(&Summary) -> Option<f64>,
}

/// What a figure is measured in, and its bound written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number.
    Plain,
    /// A number from 0 to 1, or so many percent.
    Share,
    /// A length of time; reports have it in milliseconds.
    Time,
    /// A length of time; reports have it in seconds.
    LongTime,
}

/// How the figure stands to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Below,
    AtMost,
    Above,
    AtLeast,
}

const METRICS: [Metric; 14] = [
    Metric::new("amplification", Unit::Plain, |of| of_calls(of, of.amplification)),
    Metric::new("success_rate", Unit::Share, |of| of_calls(of, of.success_rate)),
    Metric::new("p_collapse", Unit::Share, |of| of.p_collapse),
    Metric::new("mean", Unit::Time, |of| of.mean_ms),
    Metric::new("mean_retried", Unit::Time, |of| of.mean_retried_ms),
    Metric::new("p50", Unit::Time, |of| of.p50_ms),
    Metric::new("p95", Unit::Time, |of| of.p95_ms),
    Metric::new("p99", Unit::Time, |of| of.p99_ms),
    Metric::new(RECOVERY, Unit::LongTime, |of| of.recovery_s),
    Metric::new("peak_per_s", Unit::Plain, |of| of_calls(of, of.peak_per_s)),
    Metric::new("peak_per_100ms", Unit::Plain, |of| {
        of_calls(of, of.peak_per_100ms)
    }),
    Metric::new(COST, Unit::Plain, |of| of_calls(of, of.cost_usd)),
    Metric::new("calls", Unit::Plain, |of| Some(float(of.calls))),
    Metric::new("attempts", Unit::Plain, |of| Some(float(of.attempts))),
];
/// A figure of calls: where nobody called there is none, and nothing holds of it.
fn of_calls(of: &Summary, figure: f64) -> Option<f64> {
    (of.calls > 0).then_some(figure)
}

const RECOVERY: &str = "recovery";
const COST: &str = "cost_usd";
const OPERATORS: [(&str, Bound); 4] = [
    ("<=", Bound::AtMost),
    (">=", Bound::AtLeast),
    ("<", Bound::Below),
    (">", Bound::Above),
];

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Metric {
    const fn new(name: &'static str, unit: Unit, read: fn(&Summary) -> Option<f64>) -> Self {
        Self { name, unit, read }
    }
}

impl Assert {
    /// The names of what can be asserted.
    pub fn metrics() -> impl Iterator<Item = &'static str> {
        METRICS.iter().map(|metric| metric.name)
    }

    /// Reads one, about every policy.
    ///
    /// # Errors
    /// What is no figure of a policy, no comparison or no bound, and what to write.
    ///
    /// ```
    /// use seawall_lab::sim::assert::Assert;
    /// assert!(Assert::parse("amplification < 1.2").is_ok());
    /// let error = Assert::parse("p99 < fast").expect_err("no time");
    /// assert!(error.to_string().contains("500ms"), "{error}");
    /// ```
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        Self::parse_in(Source::bare(text), 0..text.len())
    }

    /// Reads one that stands at `span` of `source`.
    pub(crate) fn parse_in(source: Source<'_>, span: Range<usize>) -> Result<Self, ScriptError> {
        let text = &source.text[span.clone()];
        let found = OPERATORS
            .iter()
            .find_map(|(sign, bound)| Some((text.find(sign)?, *sign, *bound)));
        let Some((at, sign, bound)) = found else {
            let error = source.error(span, "this compares nothing");
            return Err(
                error.expecting("a figure, one of < <= > >=, and a bound, as in \"amplification < 1.2\"")
            );
        };
        let place = |part: &str, from: usize| {
            let from = span.start + from + (part.len() - part.trim_start().len());
            from..from + part.trim().len()
        };
        let (name, limit) = (&text[..at], &text[at + sign.len()..]);
        let Some(metric) = METRICS.iter().find(|metric| metric.name == name.trim()) else {
            let names: Vec<&str> = Self::metrics().collect();
            let message = format!("`{}` is no figure of a policy", shown(name.trim()));
            return Err(source
                .error(place(name, 0), message)
                .expecting_one_of(name.trim(), &names));
        };
        let read = metric.unit.read(limit.trim()).ok_or_else(|| {
            let message = format!("`{}` is no bound of {}", shown(limit.trim()), metric.name);
            source
                .error(place(limit, at + sign.len()), message)
                .expecting(metric.unit.right())
        })?;
        if bound.always_holds(metric.unit, read) {
            let error = source.error(span, "this holds whatever happens, and so asserts nothing");
            return Err(error.expecting("a bound that a run may miss"));
        }
        if bound.never_holds(metric.unit, read) {
            let error = source.error(span, "this cannot hold, whatever happens");
            return Err(error.expecting("a bound that a run may keep"));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            policy: None,
            metric: *metric,
            bound,
            limit: read,
        })
    }

    /// Whether it is about the end of a given outage: without one nothing recovers, and it cannot hold.
    pub fn is_about_recovery(&self) -> bool {
        self.metric.name == RECOVERY
    }

    /// Whether it is about money: where nothing has a price, that is always none.
    pub fn is_about_cost(&self) -> bool {
        self.metric.name == COST
    }

    /// What becomes of it, given what each policy came to.
    pub fn judge(&self, summaries: &[Summary]) -> Vec<Judged> {
        let numbered = summaries.iter().enumerate();
        let meant = numbered.filter(|(number, _)| self.policy.is_none_or(|policy| policy == *number));
        meant
            .map(|(_, summary)| {
                let measured = (self.metric.read)(summary);
                Judged {
                    assert: self.text.clone(),
                    policy: summary.name.clone(),
                    measured,
                    holds: measured.is_some_and(|measured| self.bound.holds(measured, self.limit)),
                    unit: self.metric.unit,
                }
            })
            .collect()
    }
}

impl Bound {
    /// Whether no figure of this kind, which are never negative, misses it. A time may be one that never came.
    fn always_holds(self, unit: Unit, limit: f64) -> bool {
        match (self, unit) {
            (Self::AtLeast, Unit::Plain | Unit::Share) => limit <= 0.0,
            (Self::AtMost, Unit::Share) => limit >= 1.0,
            (Self::AtLeast, Unit::Time | Unit::LongTime)
            | (Self::AtMost, Unit::Plain | Unit::Time | Unit::LongTime)
            | (Self::Below | Self::Above, _) => false,
        }
    }

    /// Whether no figure of this kind keeps it.
    fn never_holds(self, unit: Unit, limit: f64) -> bool {
        match (self, unit) {
            (Self::Below, _) => limit <= 0.0,
            (Self::Above, Unit::Share) => limit >= 1.0,
            (Self::AtMost | Self::AtLeast, _) | (Self::Above, Unit::Plain | Unit::Time | Unit::LongTime) => {
                false
            }
        }
    }

    fn holds(self, measured: f64, limit: f64) -> bool {
        match self {
            Self::Below => measured < limit,
            Self::AtMost => measured <= limit,
            Self::Above => measured > limit,
            Self::AtLeast => measured >= limit,
        }
    }
}

impl Unit {
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Plain => plain(text),
            Self::Share => match text.strip_suffix('%') {
                Some(percent) => Some(plain(percent.trim_end())? / 100.0),
                None => plain(text),
            }
            .filter(|share| *share <= 1.0),
            Self::Time => Some(float(Duration::parse_units(text)?.as_nanos()) / 1e6),
            Self::LongTime => Some(float(Duration::parse_units(text)?.as_nanos()) / 1e9),
        }
    }

    const fn right(self) -> &'static str {
        match self {
            Self::Plain => "a number from 0, as in 1.2",
            Self::Share => "a number from 0 to 1, or a percentage, as in 0.99 or 99%",
            Self::Time | Self::LongTime => "500ms, 30s, 2m or 1h30m",
        }
    }
}

/// A number that is neither negative nor none.
fn plain(text: &str) -> Option<f64> {
    let looks_right = text.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.');
    let number: f64 = looks_right.then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests;
