use std::fmt;
use std::str::FromStr;

/// So many a second, in whole thousandths.
///
/// ```
/// use seawall::advice::Rate;
/// let rate: Rate = "2.5".parse()?;
/// assert_eq!(rate.milli(), 2_500);
/// assert_eq!(rate.to_string(), "2.5");
/// # Ok::<(), seawall::advice::RateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

/// A text that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateError;

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a rate is a number above 0 with at most 3 decimal places, such as 50 or 0.5, and is per second",
        )
    }
}

impl std::error::Error for RateError {}

impl Rate {
    /// From thousandths.
    pub const fn from_milli(milli: u64) -> Self {
        Self(milli)
    }

    /// In thousandths.
    pub const fn milli(self) -> u64 {
        self.0
    }

    /// From a number a minute, rounded down.
    pub(super) fn per_minute(n: u64) -> Self {
        Self(u64::try_from(u128::from(n) * 1_000 / 60).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
            return Err(RateError);
        }
        match format!("{whole}{part:0<3}").parse() {
            Ok(0) | Err(_) => Err(RateError),
            Ok(milli) => Ok(Self(milli)),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::decimal(self.0))
    }
}

/// What a file cannot say and the user may: how much comes in, what an upstream takes, how many processes there are.
///
/// Nothing is assumed: what was not said is not reckoned with.
#[derive(Clone, Debug)]
pub struct Traffic {
    calls: Said,
    capacity: Said,
    processes: u32,
}

/// Rates by upstream; those without a name hold for every other.
#[derive(Clone, Debug, Default)]
struct Said(Vec<(Option<String>, Rate)>);

impl Said {
    fn of(&self, upstream: Option<&str>) -> Option<Rate> {
        let named = self
            .0
            .iter()
            .rev()
            .find(|(name, _)| name.is_some() && name.as_deref() == upstream);
        let other = || self.0.iter().rev().find(|(name, _)| name.is_none());
        named.or_else(other).map(|(_, rate)| *rate)
    }
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            calls: Said::default(),
            capacity: Said::default(),
            processes: 1,
        }
    }
}

impl Traffic {
    /// Calls a second that come in for `upstream`, or for each that is not named.
    #[must_use]
    pub fn calls(mut self, upstream: Option<&str>, rate: Rate) -> Self {
        self.calls.0.push((upstream.map(str::to_owned), rate));
        self
    }

    /// Attempts a second that `upstream` takes, or each that is not named.
    #[must_use]
    pub fn capacity(mut self, upstream: Option<&str>, rate: Rate) -> Self {
        self.capacity.0.push((upstream.map(str::to_owned), rate));
        self
    }

    /// Processes that share the calls; at least one.
    #[must_use]
    pub fn processes(mut self, n: u32) -> Self {
        self.processes = n.max(1);
        self
    }

    /// The upstreams that were named.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let all = self.calls.0.iter().chain(&self.capacity.0);
        all.filter_map(|(name, _)| name.as_deref())
    }

    pub(super) fn calls_of(&self, upstream: Option<&str>) -> Option<Rate> {
        self.calls.of(upstream)
    }

    pub(super) fn capacity_of(&self, upstream: Option<&str>) -> Option<Rate> {
        self.capacity.of(upstream)
    }

    pub(super) fn process_count(&self) -> u32 {
        self.processes
    }
}
