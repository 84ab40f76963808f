//! How much at once: places in flight, and the squeeze after a throttle (rules I1 and C6).
//!
//! What can go wrong: a place that is taken before it is needed starves others, one that leaks shrinks the gate for
//! good, and a server that has just asked for less gets everything again the moment its cool-down ends. So a place
//! is held from send to last byte only, a woken call's place is promised and not taken, and a throttle halves what
//! may be in flight until answers have earned it back, one place each.

mod auto;
mod gradient;

use crate::policy::{Concurrency, LimitPolicy};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use auto::Auto;
use gradient::Gradient;

/// Counts places; the queue in front of them is the gate's.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    bound: Bound,
    queue_max: u32,
    in_flight: u32,
    promised: u32,
    squeeze: Option<Squeeze>,
}

/// How many may be in flight.
#[derive(Clone, Debug)]
enum Bound {
    None,
    Fixed(u32),
    Auto(Auto),
    /// Boxed, as few gates have one.
    Gradient(Box<Gradient>),
}

/// What a limit by first-byte times goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradientState {
    /// What the upstream takes where it is not crowded, as far as was measured.
    pub base: Duration,
    /// What the attempts of the last step took on average.
    pub mean: Duration,
}

impl Bound {
    fn most(&self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Fixed(most) => Some(*most),
            Self::Auto(auto) => Some(auto.most()),
            Self::Gradient(gradient) => Some(gradient.most()),
        }
    }
}

impl From<Concurrency> for Bound {
    fn from(concurrency: Concurrency) -> Self {
        match concurrency {
            Concurrency::Unbounded => Self::None,
            Concurrency::AtMost(most) => Self::Fixed(most),
            Concurrency::Auto => Self::Auto(Auto::new()),
            Concurrency::Gradient => Self::Gradient(Box::new(Gradient::new())),
        }
    }
}

/// A temporary bound that grows by one per answer until it is no bound any more.
#[derive(Clone, Copy, Debug)]
struct Squeeze {
    most: u32,
    until: u32,
}

impl Limiter {
    pub(crate) fn new(policy: &LimitPolicy) -> Self {
        Self {
            bound: policy.concurrency.into(),
            queue_max: policy.queue,
            in_flight: 0,
            promised: 0,
            squeeze: None,
        }
    }

    /// Takes another policy; what is in flight stays, so a lower limit drains, and what was found out is kept.
    pub(crate) fn configure(&mut self, policy: &LimitPolicy) {
        self.queue_max = policy.queue;
        match (&self.bound, policy.concurrency) {
            (Bound::Auto(_), Concurrency::Auto) | (Bound::Gradient(_), Concurrency::Gradient) => {}
            (_, concurrency) => self.bound = concurrency.into(),
        }
    }

    /// Whether one more may go. A promised place is as taken as one in flight.
    pub(crate) fn has_place(&self) -> bool {
        self.in_flight.saturating_add(self.promised) < self.most().unwrap_or(u32::MAX)
    }

    /// How many may be in flight now; `None` is no bound.
    pub(crate) fn most(&self) -> Option<u32> {
        match (self.bound.most(), self.squeeze) {
            (Some(most), Some(squeeze)) => Some(most.min(squeeze.most)),
            (None, Some(squeeze)) => Some(squeeze.most),
            (most, None) => most,
        }
    }

    pub(crate) const fn take(&mut self) {
        self.in_flight += 1;
    }

    pub(crate) fn give(&mut self) {
        self.in_flight = self
            .in_flight
            .checked_sub(1)
            .expect("a place is given back only by who took it");
    }

    pub(crate) const fn promise(&mut self) {
        self.promised += 1;
    }

    pub(crate) fn keep_promise(&mut self) {
        self.promised = self
            .promised
            .checked_sub(1)
            .expect("a promise is kept or broken once");
    }

    /// A cool-down begins: halves what may be in flight, counted from what was when it began.
    pub(crate) fn halve(&mut self, now: u32) {
        let until = match (self.bound.most(), self.squeeze) {
            (Some(most), _) => most,
            (None, Some(squeeze)) => squeeze.until.max(now),
            (None, None) => now,
        };
        let most = self.squeeze.map_or(now, |squeeze| squeeze.most.min(now));
        self.squeeze = Some(Squeeze {
            most: (most / 2).max(1),
            until,
        });
    }

    /// A breaker closed on answers that proved nothing (rule H4): begins with this many in flight.
    pub(crate) fn start_with(&mut self, most: u32) {
        let until = self
            .bound
            .most()
            .unwrap_or_else(|| self.in_flight.max(most).saturating_mul(2));
        let (most, until) = match self.squeeze {
            Some(squeeze) => (squeeze.most.min(most), squeeze.until.max(until)),
            None => (most, until),
        };
        self.squeeze = Some(Squeeze {
            most: most.max(1),
            until,
        });
    }

    /// An attempt succeeded that has given its place back already.
    pub(crate) fn succeeded(&mut self) {
        if let Bound::Auto(auto) = &mut self.bound {
            auto.answered(self.in_flight + 1);
        }
    }

    /// Whether it goes by how long first bytes take.
    #[inline]
    pub(crate) const fn goes_by_time(&self) -> bool {
        matches!(self.bound, Bound::Gradient(_))
    }

    /// The first byte of an attempt that began at `began` came after `took`, while `in_flight` were out, itself included.
    pub(crate) fn came(
        &mut self,
        now: Instant,
        began: Instant,
        took: Duration,
        in_flight: u32,
        rng: &mut Rng,
    ) {
        if let Bound::Gradient(gradient) = &mut self.bound {
            gradient.came(now, began, took, in_flight, rng);
        }
    }

    /// An attempt that began at `began` was throttled or timed out.
    pub(crate) fn overloaded(&mut self, now: Instant, began: Instant) {
        match &mut self.bound {
            Bound::Auto(auto) => auto.overloaded(now, began),
            Bound::Gradient(gradient) => gradient.overloaded(now, began),
            Bound::None | Bound::Fixed(_) => {}
        }
    }

    /// What it goes by, where it goes by times.
    pub(crate) fn gradient(&self) -> Option<GradientState> {
        match &self.bound {
            Bound::Gradient(gradient) => Some(GradientState {
                base: gradient.base(),
                mean: gradient.mean(),
            }),
            Bound::None | Bound::Fixed(_) | Bound::Auto(_) => None,
        }
    }

    /// The server answered: one more may be in flight.
    pub(crate) fn answered(&mut self) {
        let Some(squeeze) = &mut self.squeeze else { return };
        squeeze.most = squeeze.most.saturating_add(1);
        if squeeze.most >= squeeze.until {
            self.squeeze = None;
        }
    }

    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) const fn promised(&self) -> u32 {
        self.promised
    }

    pub(crate) const fn queue_max(&self) -> u32 {
        self.queue_max
    }
}

#[cfg(test)]
mod tests;
