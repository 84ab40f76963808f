//! Time as plain data: points and lengths in nanoseconds, told by the driver.
//!
//! The core reads no clock (rule A1). An [`Instant`] counts from the moment the driver began, so a trace that
//! prints instants can be replayed anywhere; a [`Wall`] exists only to turn dates in headers into lengths.

use core::fmt;
use core::ops::{Add, Sub};

/// A length of time in whole nanoseconds, saturating at about 584 years.
///
/// ```
/// use seawall_core::time::Duration;
/// assert_eq!(Duration::from_millis(1_500).to_string(), "1.5s");
/// assert_eq!("1h30m".parse::<Duration>().unwrap(), Duration::from_secs(5_400));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest length; sums that would pass it stay here.
    pub const MAX: Self = Self(u64::MAX);

    /// A length in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A length in microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A length in milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A length in seconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds, the rest cut off.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole milliseconds, any rest counted as one more.
    pub const fn as_millis_up(self) -> u64 {
        self.0.div_ceil(1_000_000)
    }

    /// Whole seconds, the rest cut off.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// This length rounded up to the whole millisecond, so that a timer never fires early (rule C2).
    pub const fn up_to_millis(self) -> Self {
        Self(self.as_millis_up().saturating_mul(1_000_000))
    }

    /// The sum, saturating.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, zero where `other` is longer.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This length times `factor`, saturating.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// This length divided by `divisor`, which must not be zero.
    pub const fn over(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Reads one or more `NUMBER UNIT` pairs (`h` `m` `s` `ms` `us` `µs` `ns`), the form that Go prints:
    /// `1h30m`, `20ms`, `1m0.5s`. The whole string must match; no sign, no spaces, no bare number.
    /// Rounds up to the nanosecond and saturates. `None` is a string of another form.
    pub fn parse_units(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut sum = Self::ZERO;
        while !rest.is_empty() {
            let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, tail) = rest.split_at(number_end);
            let unit_end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(unit_end);
            let unit_nanos = match unit {
                "h" => 3_600_000_000_000,
                "m" => 60_000_000_000,
                "s" => 1_000_000_000,
                "ms" => 1_000_000,
                "us" | "µs" | "μs" => 1_000,
                "ns" => 1,
                _ => return None,
            };
            sum = sum.plus(Self::parse_decimal(number, unit_nanos)?);
            rest = tail;
        }
        (!text.is_empty()).then_some(sum)
    }

    /// Reads digits with an optional fraction as a count of `unit_nanos`: `12`, `0.493`, `2.`, `.5`.
    /// Rounds up to the nanosecond and saturates. `None` is a string of another form.
    pub fn parse_decimal(text: &str, unit_nanos: u64) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return None;
        }
        let mut units: u64 = 0;
        for digit in whole.bytes() {
            units = units.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        }
        let mut nanos = units.saturating_mul(unit_nanos);
        let mut place = u128::from(unit_nanos);
        let mut part: u128 = 0;
        // 18 places are below a nanosecond for every unit; a longer tail only decides the rounding.
        let scale: u128 = 1_000_000_000_000_000_000;
        place *= scale;
        for digit in fraction.bytes() {
            place /= 10;
            part = part.saturating_add(place * u128::from(digit - b'0'));
        }
        let part = u64::try_from(part.div_ceil(scale)).unwrap_or(u64::MAX);
        nanos = nanos.saturating_add(part);
        Some(Self(nanos))
    }
}

/// The text was not a length of time; says what one looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationError;

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a length of time needs a unit: 500ms, 30s, 2m or 1h30m")
    }
}

impl core::error::Error for DurationError {}

impl core::str::FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        Self::parse_units(text).ok_or(DurationError)
    }
}

impl fmt::Display for Duration {
    /// The shortest exact form in at most two units: `1h30m`, `1m5s`, `12s`, `1.5s`, `250ms`, `40us`, `17ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0;
        let decimal = |f: &mut fmt::Formatter<'_>, unit: u64, name: &str| {
            let (whole, mut rest) = (nanos / unit, nanos % unit);
            if rest == 0 {
                return write!(f, "{whole}{name}");
            }
            let mut width = unit.ilog10() as usize;
            while rest.is_multiple_of(10) {
                rest /= 10;
                width -= 1;
            }
            write!(f, "{whole}.{rest:0width$}{name}")
        };
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => decimal(f, 1_000, "us"),
            1_000_000..1_000_000_000 => decimal(f, 1_000_000, "ms"),
            1_000_000_000..60_000_000_000 => decimal(f, 1_000_000_000, "s"),
            _ => {
                let secs = nanos.div_ceil(1_000_000_000);
                let (hours, minutes, secs) = (secs / 3_600, secs / 60 % 60, secs % 60);
                match (hours, minutes, secs) {
                    (0, m, 0) => write!(f, "{m}m"),
                    (0, m, s) => write!(f, "{m}m{s}s"),
                    (h, 0, 0) => write!(f, "{h}h"),
                    (h, m, 0) => write!(f, "{h}h{m}m"),
                    (h, m, s) => write!(f, "{h}h{m}m{s}s"),
                }
            }
        }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<core::time::Duration> for Duration {
    fn from(other: core::time::Duration) -> Self {
        // In 64 bits: a clock's every reading passes here.
        let secs = other.as_secs().saturating_mul(1_000_000_000);
        Self(secs.saturating_add(u64::from(other.subsec_nanos())))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(other: Duration) -> Self {
        Self::from_nanos(other.0)
    }
}

/// A point on the driver's own clock, in nanoseconds since that driver began. Plain data: constant, printable,
/// replayable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The moment the driver began.
    pub const START: Self = Self(0);
    /// A point that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the driver began.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the driver began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The point this much later, saturating at [`Instant::NEVER`].
    pub const fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.0))
    }

    /// The point this much earlier, saturating at [`Instant::START`].
    pub const fn before(self, length: Duration) -> Self {
        Self(self.0.saturating_sub(length.0))
    }

    /// The length from `earlier` to this point; zero where `earlier` is in fact later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        self.after(length)
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A date: milliseconds since 1970-01-01T00:00:00Z. Used only to read dates in headers (rule A2), never to decide
/// how long something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Wall {
    /// Milliseconds since the epoch, negative before it.
    pub unix_ms: i64,
}

impl Wall {
    /// The date this many milliseconds after the epoch.
    pub const fn from_unix_ms(unix_ms: i64) -> Self {
        Self { unix_ms }
    }

    /// The length from `earlier` to this date; `None` where it is not later.
    pub fn since(self, earlier: Self) -> Option<Duration> {
        let ms = self.unix_ms.saturating_sub(earlier.unix_ms);
        u64::try_from(ms)
            .ok()
            .filter(|ms| *ms > 0)
            .map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests;
