//! How a mock's time passes: as it does, so many times faster, or by hand.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// How a mock's time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// By itself, so many times as fast as real time.
    Runs(TimeScale),
    /// Not at all, until somebody turns it on.
    Stands,
}

impl Default for Passage {
    /// As real time does.
    fn default() -> Self {
        Self::Runs(TimeScale::REAL)
    }
}

/// How many times as fast as real time a mock's own time runs, to three places.
///
/// ```
/// use seawall_lab::passage::TimeScale;
/// let scale: TimeScale = "2.5".parse()?;
/// assert_eq!(scale.to_string(), "2.5");
/// assert!("0".parse::<TimeScale>().is_err());
/// # Ok::<(), seawall_lab::passage::TimeScaleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeScale {
    per_mille: NonZeroU32,
}

impl TimeScale {
    /// Real time.
    pub const REAL: Self = Self {
        per_mille: NonZeroU32::new(1_000).unwrap(),
    };
    /// The slowest, in thousandths: a thousandth.
    pub const PER_MILLE_MIN: u32 = 1;
    /// The fastest, in thousandths: 100 000 times, at which a real millisecond, the least that a machine's timers tell
    /// apart, is more than a minute and a half.
    pub const PER_MILLE_MAX: u32 = 100_000_000;

    /// So many thousandths of real time's speed; `None` below [`TimeScale::PER_MILLE_MIN`] and above
    /// [`TimeScale::PER_MILLE_MAX`].
    pub fn from_per_mille(per_mille: u32) -> Option<Self> {
        let per_mille = NonZeroU32::new(per_mille)?;
        (per_mille.get() <= Self::PER_MILLE_MAX).then_some(Self { per_mille })
    }

    /// In thousandths.
    pub fn per_mille(self) -> u32 {
        self.per_mille.get()
    }
}

impl Default for TimeScale {
    fn default() -> Self {
        Self::REAL
    }
}

impl fmt::Display for TimeScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.per_mille() / 1_000, self.per_mille() % 1_000);
        match part {
            0 => write!(f, "{whole}"),
            part => write!(f, "{whole}.{}", format!("{part:03}").trim_end_matches('0')),
        }
    }
}

impl FromStr for TimeScale {
    type Err = TimeScaleError;

    fn from_str(text: &str) -> Result<Self, TimeScaleError> {
        let (whole, part) = match text.split_once('.') {
            Some((_, "")) => return Err(TimeScaleError),
            Some(parts) => parts,
            None => (text, ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
            return Err(TimeScaleError);
        }
        // A fraction of fewer than three places is filled up to thousandths.
        format!("{whole}{part:0<3}")
            .parse()
            .ok()
            .and_then(Self::from_per_mille)
            .ok_or(TimeScaleError)
    }
}

/// The text was no scale of time; says what one looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScaleError;

impl fmt::Display for TimeScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scale of time is a number from 0.001 to 100000, as in 10 or 0.5")
    }
}

impl std::error::Error for TimeScaleError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_read_as_it_is_written_and_nothing_else_is_one() {
        // Could break: a fraction read as if it had three places; a zero that stops time without a word; an overflow.
        for (text, per_mille) in [
            ("10", 10_000),
            ("1", 1_000),
            ("0.5", 500),
            ("2.25", 2_250),
            ("0.001", 1),
            ("100000", 100_000_000),
        ] {
            let scale: TimeScale = text.parse().unwrap();
            assert_eq!((scale.per_mille(), scale.to_string().as_str()), (per_mille, text));
        }
        for text in [
            "",
            "0",
            "0.0",
            "-1",
            "+1",
            "1e3",
            "0.0001",
            "100001",
            "99999999999",
            "1.",
            ".5",
            "ten",
            "1 0",
        ] {
            assert_eq!(text.parse::<TimeScale>(), Err(TimeScaleError), "{text}");
        }
    }
}
