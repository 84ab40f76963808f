//! What a call cost, in whole numbers.
//!
//! What can go wrong: cached tokens are charged twice, once as read and once as cached; a long prompt is charged the low
//! price for its first part, where its seller charges all of it the high one; and a sum of rounded parts is off by a
//! part each. So each token is in one field of [`Billed`], the prices are chosen once, and the sum is rounded once: up,
//! since a cap on money must not be passed by what was rounded away.

use super::Terms;
use seawall_core::outcome::Usage;
use std::fmt;

/// What a cache write costs where its own price is not known, in thousandths of the price of input: 1 250, the price of
/// the shortest time at Anthropic, and that of 52 of the 55 rows of the table's source which state one.
pub const CACHE_WRITE_PER_MILLE: u64 = 1_250;

/// The tokens that a call is billed for. Each token counts in one field alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    /// Read, neither from a cache nor into one.
    pub input: u64,
    /// Read from a cache.
    pub cached_input: u64,
    /// Read, and written into a cache for the usual time.
    pub cache_write: u64,
    /// Read, and written into a cache for long: an hour at Anthropic, half a day and more at OpenAI.
    pub long_cache_write: u64,
    /// Written, hidden reasoning with it.
    pub output: u64,
}

impl Billed {
    /// All that was read.
    pub fn read(&self) -> u64 {
        [self.cached_input, self.cache_write, self.long_cache_write]
            .into_iter()
            .fold(self.input, u64::saturating_add)
    }
}

impl From<Usage> for Billed {
    /// What an answer reported in total: nothing is known of caches, so all of it is charged in full.
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.tokens_in,
            output: usage.tokens_out,
            ..Self::default()
        }
    }
}

impl From<&crate::ai::Usage> for Billed {
    fn from(usage: &crate::ai::Usage) -> Self {
        let read_anew = usage.input.saturating_sub(usage.cached);
        Self {
            input: read_anew.saturating_sub(usage.cache_written),
            cached_input: usage.cached,
            cache_write: usage.cache_written.saturating_sub(usage.cache_written_1h),
            long_cache_write: usage.cache_written_1h,
            output: usage.output,
        }
    }
}

impl From<crate::ai::Usage> for Billed {
    fn from(usage: crate::ai::Usage) -> Self {
        Self::from(&usage)
    }
}

/// What a call cost, or why nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Cost {
    /// So much.
    Priced(MicroUsd),
    /// It may have cost anything.
    Unpriced(Unpriced),
}

/// Why a call has no price. It is never free for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unpriced {
    /// Neither the table nor a `[[model]]` knows the model.
    UnknownModel,
    /// The model is known, and what it reads has no price.
    Input,
    /// The model is known, and what it writes has no price.
    Output,
}

/// Millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroUsd(pub u64);

/// The prices of one call, in millionths of a dollar per million tokens.
struct Rates {
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
}

impl Rates {
    fn of(terms: &Terms, read: u64) -> Self {
        match terms.above {
            Some(above) if read > above.tokens => Self {
                input: above.input.or(terms.input),
                output: above.output.or(terms.output),
                // The low price of a cached token is no price of a long prompt.
                cached_input: above.cached_input,
            },
            Some(_) | None => Self {
                input: terms.input,
                output: terms.output,
                cached_input: terms.cached_input,
            },
        }
    }
}

pub(super) fn of(terms: &Terms, used: Billed) -> Cost {
    let rates = Rates::of(terms, used.read());
    let input = match rates.input {
        Some(input) => input,
        None if used.read() == 0 => 0,
        None => return Cost::Unpriced(Unpriced::Input),
    };
    let output = match rates.output {
        Some(output) => output,
        None if used.output == 0 => 0,
        None => return Cost::Unpriced(Unpriced::Output),
    };
    let long_share = terms.long_write_per_mille.unwrap_or(CACHE_WRITE_PER_MILLE);
    // A price, and the share of it in thousandths: its own where it is stated, else of what input costs.
    let or_share = |price: Option<u64>, share| price.map_or((input, share), |price| (price, 1_000));
    let (cached, cached_share) = or_share(rates.cached_input, 1_000);
    let (write, write_share) = or_share(terms.cache_write, CACHE_WRITE_PER_MILLE);
    let (long, long_share) = or_share(terms.long_cache_write, long_share);
    let parts = [
        (used.input, input, 1_000),
        (used.cached_input, cached, cached_share),
        (used.cache_write, write, write_share),
        (used.long_cache_write, long, long_share),
        (used.output, output, 1_000),
    ];
    let sum = parts
        .into_iter()
        .map(|(tokens, price, per_mille)| {
            u128::from(tokens)
                .saturating_mul(u128::from(price))
                .saturating_mul(u128::from(per_mille))
        })
        .fold(0, u128::saturating_add);
    let micro_usd = sum.div_ceil(1_000 * 1_000_000);
    Cost::Priced(MicroUsd(u64::try_from(micro_usd).unwrap_or(u64::MAX)))
}

impl fmt::Display for MicroUsd {
    /// Dollars, with as many digits as there are: `$12`, `$0.000042`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let digits = format!("{rest:06}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "${dollars}"),
            digits => write!(f, "${dollars}.{digits}"),
        }
    }
}

impl fmt::Display for Unpriced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownModel => "nobody says what this model costs",
            Self::Input => "nobody says what this model charges for what it reads",
            Self::Output => "nobody says what this model charges for what it writes",
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Priced(money) => money.fmt(f),
            Self::Unpriced(why) => write!(f, "unpriced: {why}; write a [[model]] with its prices"),
        }
    }
}
