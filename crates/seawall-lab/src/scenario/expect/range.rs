//! Ranges of counts and lengths, as they are written: `3`, `"2..=3"`, `"1s..4s"`.

use seawall_core::time::Duration;
use std::fmt;

/// How many: both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountRange {
    /// At least so many.
    pub min: u64,
    /// At most so many; `None` has no end.
    pub max: Option<u64>,
}

/// How long: both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthRange {
    /// At least so long.
    pub min: Duration,
    /// At most so long; `None` has no end.
    pub max: Option<Duration>,
}

/// What a text that should be a range is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scenario) enum NoRange {
    /// Not of the form.
    Form,
    /// Its end comes before its beginning.
    Backwards,
    /// It is any number at all.
    Anything,
    /// It leaves its last number out, as Rust does; people read `2..3` as either.
    Ambiguous,
}

impl CountRange {
    /// Exactly so many.
    pub const fn exactly(count: u64) -> Self {
        Self {
            min: count,
            max: Some(count),
        }
    }

    /// Whether it has this count in it.
    pub fn holds(&self, count: u64) -> bool {
        self.min <= count && self.max.is_none_or(|max| count <= max)
    }

    pub(in crate::scenario) fn read(text: &str) -> Result<Self, NoRange> {
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| NoRange::Form);
        let Some((from, to)) = text.split_once("..") else {
            return number(text).map(Self::exactly);
        };
        let (from, to) = (from.trim(), to.trim());
        let min = match from {
            "" => 0,
            from => number(from)?,
        };
        let max = match to.strip_prefix('=') {
            Some(to) => Some(number(to)?),
            None if to.is_empty() => None,
            None => {
                number(to)?;
                return Err(NoRange::Ambiguous);
            }
        };
        match max {
            None if from.is_empty() => Err(NoRange::Anything),
            Some(max) if max < min => Err(NoRange::Backwards),
            max => Ok(Self { min, max }),
        }
    }
}

impl LengthRange {
    /// Whether it has this length in it.
    pub fn holds(&self, length: Duration) -> bool {
        self.min <= length && self.max.is_none_or(|max| length <= max)
    }

    pub(in crate::scenario) fn read(text: &str) -> Result<Self, NoRange> {
        let length = |text: &str| Duration::parse_units(text.trim()).ok_or(NoRange::Form);
        let (from, to) = text.split_once("..").ok_or(NoRange::Form)?;
        let (from, to) = (from.trim(), to.trim().trim_start_matches('='));
        let min = match from {
            "" => Duration::ZERO,
            from => length(from)?,
        };
        match to {
            "" if from.is_empty() => Err(NoRange::Anything),
            "" => Ok(Self { min, max: None }),
            to => match length(to)? {
                max if max < min => Err(NoRange::Backwards),
                max => Ok(Self { min, max: Some(max) }),
            },
        }
    }
}

impl fmt::Display for CountRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, Some(max)) if min == max => write!(f, "{min}"),
            (0, Some(max)) => write!(f, "at most {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
            (min, None) => write!(f, "at least {min}"),
        }
    }
}

impl fmt::Display for LengthRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (Duration::ZERO, Some(max)) => write!(f, "at most {max}"),
            (min, Some(max)) => write!(f, "{min} to {max}"),
            (min, None) => write!(f, "at least {min}"),
        }
    }
}
