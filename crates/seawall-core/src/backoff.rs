//! Our own guess at when to come back, where the server did not say.
//!
//! What can go wrong: calls that failed together wait equally long and come back together, so that the herd that
//! broke a server meets it again; a doubling overflows and the wait becomes nothing; jitter is added after the cap
//! and passes it, or is cut off by it and every call at the cap waits alike; a jitter scaled in whole seconds is
//! none. So a ceiling grows to the cap in integers, and a delay is drawn evenly, to the nanosecond, from a range
//! whose ends are inside the cap. Full jitter is the default: it needs the fewest sends where many compete.
//!
//! Not covered: a guess is about one call. How many retries there may be at all is the budget's to say, and a
//! server's own word goes before any guess. Reference: M. Brooker, "Exponential Backoff And Jitter" (AWS
//! Architecture Blog, 2015).

use crate::policy::{Backoff, Jitter};
use crate::rng::Rng;
use crate::time::Duration;

/// What a delay is drawn from, both ends included. Never above the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayRange {
    /// The shortest delay that may be drawn.
    pub shortest: Duration,
    /// The longest delay that may be drawn.
    pub longest: Duration,
}

impl Backoff {
    /// The ceiling `c(n)` after `retries_made` retries: the base, times the factor per retry, up to the cap
    /// (rule B1). Exact in integers for any number, in a few hundred steps at the most.
    ///
    /// ```
    /// use seawall_core::{policy::Policy, time::Duration};
    /// let backoff = Policy::builder().build()?.call.backoff();
    /// assert_eq!(backoff.ceiling(0), Duration::from_millis(500));
    /// assert_eq!(backoff.ceiling(3), Duration::from_secs(4));
    /// assert_eq!(backoff.ceiling(u32::MAX), Duration::from_secs(30));
    /// # Ok::<(), seawall_core::policy::PolicyError>(())
    /// ```
    pub fn ceiling(&self, retries_made: u32) -> Duration {
        let mut ceiling = self.base.min(self.cap);
        for _ in 0..retries_made {
            let grown = scale(ceiling, self.factor_tenths, 10).min(self.cap);
            // At the cap, or with a factor of 1: the rest of the steps changes nothing.
            if grown <= ceiling {
                break;
            }
            ceiling = grown;
        }
        ceiling
    }

    /// The range that the delay after `retries_made` retries is drawn from (rule B2). `previous` is the last drawn
    /// delay of this call, for the decorrelated kinds; anything below the base, such as zero before the first,
    /// stands for the base.
    pub fn range(&self, retries_made: u32, previous: Duration) -> DelayRange {
        let ceiling = self.ceiling(retries_made);
        let (shortest, longest) = match self.jitter {
            Jitter::Full => (self.min.min(ceiling), ceiling),
            // The odd nanosecond goes below, so that the two halves are never above the whole.
            Jitter::Equal => (ceiling.minus(ceiling.over(2)), ceiling),
            Jitter::Decorrelated | Jitter::DecorrelatedAws => {
                (self.base.min(self.cap), self.thrice(previous).min(self.cap))
            }
            Jitter::Proportional { per_mille } => (
                scale(ceiling, 1_000_u32.saturating_sub(per_mille), 1_000),
                scale(ceiling, per_mille.saturating_add(1_000), 1_000).min(self.cap),
            ),
            Jitter::None => (ceiling, ceiling),
        };
        DelayRange { shortest, longest }
    }

    /// Draws the delay after `retries_made` retries, evenly from the part of its [`range`](Self::range) that is not
    /// above `at_most` (rule F3). `None` where not even the shortest fits: then nothing is drawn.
    ///
    /// Only `decorrelated-aws` is not even: it draws up to thrice the previous delay and then cuts at the cap, as it
    /// was published.
    pub fn draw(
        &self,
        rng: &mut Rng,
        retries_made: u32,
        previous: Duration,
        at_most: Duration,
    ) -> Option<Duration> {
        let DelayRange { shortest, longest } = self.range(retries_made, previous);
        if shortest > at_most {
            return None;
        }
        let longest_drawn = match self.jitter {
            Jitter::DecorrelatedAws if at_most >= self.cap => self.thrice(previous),
            Jitter::Full
            | Jitter::Equal
            | Jitter::Decorrelated
            | Jitter::DecorrelatedAws
            | Jitter::Proportional { .. }
            | Jitter::None => longest.min(at_most),
        };
        Some(rng.length_between(shortest, longest_drawn).min(longest))
    }

    fn thrice(&self, previous: Duration) -> Duration {
        previous.max(self.base).times(3)
    }
}

/// `length × times / of`, the fraction cut off, saturating.
fn scale(length: Duration, times: u32, of: u32) -> Duration {
    let nanos = u128::from(length.as_nanos()) * u128::from(times) / u128::from(of);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
