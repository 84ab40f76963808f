//! What the caller says of one call, instead of its policy.

use seawall_core::call::{Candidate, Spec};
use seawall_core::facts::Replay;
use seawall_core::policy::CallPolicy;
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;

/// What the caller says of its call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) replay: Replay,
    pub(super) deadline: Option<Duration>,
    pub(super) retries_max: Option<u32>,
    /// Longest attempt.
    pub(super) total: Option<Duration>,
}

impl Promise {
    pub(super) const NOTHING: Self = Self {
        replay: Replay::Declared,
        deadline: None,
        retries_max: None,
        total: None,
    };

    pub(super) fn deadline(&self, policy: &CallPolicy) -> Duration {
        self.deadline
            .unwrap_or_else(|| policy.deadline_for(Endpoint::General))
    }

    /// When an attempt is cut that is made at `now`, where the policy allows it `total` and its call ends at `deadline`.
    pub(super) fn cut_at(&self, now: Instant, total: Duration, deadline: Instant) -> Instant {
        let total = self.total.map_or(total, |own| own.min(total));
        deadline.min(now.after(total))
    }

    pub(super) fn spec<'s>(&self, now: Instant, route: &'s [Candidate], policy: &'s CallPolicy) -> Spec<'s> {
        Spec {
            retries_max: self.retries_max,
            deadline: now.after(self.deadline(policy)),
            ..Spec::new(now, route, policy, self.replay)
        }
    }
}
