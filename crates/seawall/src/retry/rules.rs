//! Whose rules a call of a closure goes by.

use crate::chance::entropy;
use crate::clock::Clock;
use crate::gate::Gate;
use crate::hub::Hub;
use seawall_core::call::Candidate;
use seawall_core::policy::{CallPolicy, Policy};
use seawall_core::trace::Recording;
use std::sync::Arc;

/// Whose rules a call goes by: a policy's alone, or those of a gate that it shares. Made of a reference to either.
#[derive(Clone, Debug)]
pub struct Rules<'a>(pub(super) By<'a>);

#[derive(Clone, Debug)]
pub(super) enum By<'a> {
    Alone(Alone<'a>),
    Shared {
        hub: &'a Arc<Hub>,
        candidate: Candidate,
        policy: Terms<'a>,
    },
}

/// The policy of a call that shares a gate.
#[derive(Clone, Debug)]
pub(super) enum Terms<'a> {
    Of(&'a CallPolicy),
    /// The call keeps it: that of an upstream may be another for the next call.
    Kept(Arc<CallPolicy>),
}

impl Terms<'_> {
    pub(super) fn policy(&self) -> &CallPolicy {
        match self {
            Self::Of(policy) => policy,
            Self::Kept(policy) => policy,
        }
    }
}

impl<'a> Rules<'a> {
    /// Those of a gate of your own engine, for drivers; a [`Gate`] or an [`Upstream`](crate::Upstream) is one already.
    pub fn shared(hub: &'a Arc<Hub>, candidate: Candidate, policy: &CallPolicy) -> Self {
        Self::kept(hub, candidate, Arc::new(*policy))
    }

    /// As [`shared`](Self::shared), of a policy that others keep too.
    pub(crate) const fn kept(hub: &'a Arc<Hub>, candidate: Candidate, policy: Arc<CallPolicy>) -> Self {
        Self(By::Shared {
            hub,
            candidate,
            policy: Terms::Kept(policy),
        })
    }

    /// As [`shared`](Self::shared), of a policy that stays where it is.
    #[inline]
    pub(crate) const fn of_gate(hub: &'a Arc<Hub>, candidate: Candidate, policy: &'a CallPolicy) -> Self {
        Self(By::Shared {
            hub,
            candidate,
            policy: Terms::Of(policy),
        })
    }

    /// What calls share: of rules by which a call is on its own, nothing.
    #[cfg(feature = "tower")]
    pub(crate) fn parts(&self) -> Option<(&'a Arc<Hub>, Candidate, &CallPolicy)> {
        match &self.0 {
            By::Alone(_) => None,
            By::Shared {
                hub,
                candidate,
                policy,
            } => Some((hub, *candidate, policy.policy())),
        }
    }
}

impl<'a> From<&'a Policy> for Rules<'a> {
    #[inline]
    fn from(policy: &'a Policy) -> Self {
        Alone::by(policy).into()
    }
}

impl<'a> From<Alone<'a>> for Rules<'a> {
    #[inline]
    fn from(alone: Alone<'a>) -> Self {
        Self(By::Alone(alone))
    }
}

impl<'a> From<&'a Gate> for Rules<'a> {
    #[inline]
    fn from(gate: &'a Gate) -> Self {
        gate.rules()
    }
}

#[cfg(feature = "http")]
impl<'a> From<&'a crate::Upstream> for Rules<'a> {
    #[inline]
    fn from(upstream: &'a crate::Upstream) -> Self {
        upstream.rules()
    }
}

/// A policy for a call on its own, with a clock or a seed of the caller's: for tests, and for time of another kind. A
/// plain `&policy` does without.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::crank::CrankedClock;
/// use seawall::retry::Alone;
/// use seawall::{Policy, Preset};
/// use std::sync::Arc;
///
/// let policy = Policy::preset(Preset::Default);
/// let clock = CrankedClock::new();
/// let alone = Alone::by(&policy).clock(Arc::new(clock)).seed(7);
/// assert_eq!(seawall::retry(async || std::io::Result::Ok(1), alone).await?, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Alone<'a> {
    pub(super) policy: &'a CallPolicy,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) seed: Option<u64>,
    /// For tests of the engine that the call makes for itself: nobody else can see it.
    pub(super) recording: Recording,
}

impl<'a> Alone<'a> {
    /// A call by the call policy of `policy`; its gate policy has nothing to rule.
    #[inline]
    pub const fn by(policy: &'a Policy) -> Self {
        Self {
            policy: &policy.call,
            clock: None,
            seed: None,
            recording: Recording::Off,
        }
    }

    /// The clock to live by; the host's unless it is given, with timers of whoever awaits: a tokio runtime, another
    /// executor, a thread.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from: the same seed draws the same delays. From the operating system unless it is given.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    pub(super) fn seed_or_entropy(&self) -> u64 {
        self.seed.unwrap_or_else(entropy)
    }
}
