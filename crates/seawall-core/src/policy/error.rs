use crate::time::Duration;
use core::fmt;

/// A policy that cannot be right: you configured, and here are the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// A length of time is outside its range.
    Length {
        /// The setting's name in files.
        setting: &'static str,
        /// What was given.
        given: Duration,
        /// The shortest allowed.
        min: Duration,
        /// The longest allowed.
        max: Duration,
    },
    /// A number is outside its range.
    Number {
        /// The setting's name in files.
        setting: &'static str,
        /// What was given.
        given: u64,
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
        /// The unit, as written after the number.
        unit: &'static str,
    },
    /// One setting must not be above another.
    Above {
        /// The setting that is too long.
        setting: &'static str,
        /// What was given for it.
        given: Duration,
        /// The setting that bounds it.
        bound: &'static str,
        /// The bound's value.
        most: Duration,
    },
    /// A gate stands under more others than an attempt can pass.
    TooManyParents {
        /// Gates that an attempt passes at the most, its own and its quota included.
        most: usize,
    },
    /// A gate was to stand under one that has been let go.
    GateGone,
    /// A share of calls that may be hedged, and no hedge.
    ShareWithoutHedge,
    /// A budget that waits for credit and has no floor may wait for ever.
    WaitWithoutFloor,
}

impl PolicyError {
    /// The setting at fault, as files name it (`backoff.cap`).
    pub const fn setting(&self) -> &'static str {
        match self {
            Self::Length { setting, .. } | Self::Number { setting, .. } | Self::Above { setting, .. } => {
                setting
            }
            Self::TooManyParents { .. } | Self::GateGone => "parent",
            Self::WaitWithoutFloor => "budget.on_empty",
            Self::ShareWithoutHedge => "hedge.at_most",
        }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { setting, given, min, max } if *max == Duration::MAX => {
                write!(f, "{setting} is {given}; the least is {min}")
            }
            Self::Length { setting, given, min, max } => {
                write!(f, "{setting} is {given}; it may be {min} to {max}")
            }
            Self::Number { setting, given, min, max, unit } => {
                write!(f, "{setting} is {given}{unit}; it may be {min}{unit} to {max}{unit}")
            }
            Self::Above { setting, given, bound, most } => {
                write!(f, "{setting} is {given}, above {bound}, which is {most}")
            }
            Self::GateGone => f.write_str("parent is a gate that has been let go; configure it anew first"),
            Self::TooManyParents { most } => {
                write!(f, "an upstream, its parents and its quota are more than {most} gates; join some")
            }
            Self::ShareWithoutHedge => {
                f.write_str("hedge.at_most bounds nothing: no hedge is sent without hedge.after; set it too")
            }
            Self::WaitWithoutFloor => f.write_str(
                "budget.on_empty is \"wait\" and budget.floor is 0: a call could wait for credit that never comes; \
                 set a floor or \"stop\"",
            ),
        }
    }
}

impl core::error::Error for PolicyError {}
