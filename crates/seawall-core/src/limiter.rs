//! How much at once: places in flight, and the squeeze after a throttle (rules I1 and C6).
//!
//! What can go wrong: a place that is taken before it is needed starves others, one that leaks shrinks the gate for
//! good, and a server that has just asked for less gets everything again the moment its cool-down ends. So a place
//! is held from send to last byte only, a woken call's place is promised and not taken, and a throttle halves what
//! may be in flight until answers have earned it back, one place each.

use crate::policy::LimitPolicy;

/// Counts places; the queue in front of them is the gate's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limiter {
    policy: LimitPolicy,
    in_flight: u32,
    promised: u32,
    squeeze: Option<Squeeze>,
}

/// A temporary bound that grows by one per answer until it is no bound any more.
#[derive(Clone, Copy, Debug)]
struct Squeeze {
    most: u32,
    until: u32,
}

impl Limiter {
    pub(crate) const fn new(policy: &LimitPolicy) -> Self {
        Self {
            policy: *policy,
            in_flight: 0,
            promised: 0,
            squeeze: None,
        }
    }

    /// Takes another policy; what is in flight stays, so a lower limit drains.
    pub(crate) const fn configure(&mut self, policy: &LimitPolicy) {
        self.policy = *policy;
    }

    /// Whether one more may go. A promised place is as taken as one in flight.
    pub(crate) fn has_place(&self) -> bool {
        let most = self.policy.concurrency.unwrap_or(u32::MAX);
        let most = self.squeeze.map_or(most, |squeeze| squeeze.most.min(most));
        self.in_flight.saturating_add(self.promised) < most
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
        let until = match (self.policy.concurrency, self.squeeze) {
            (Some(concurrency), _) => concurrency,
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
            .policy
            .concurrency
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
        self.policy.queue
    }
}
