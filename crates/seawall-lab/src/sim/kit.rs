//! Plain worlds and naive policies: what presets and tests are made of.

use super::luck::Length;
use super::model::{Contender, Fleet, Gaps, Load, Model, Server, Spread, Tokens};
use seawall_core::policy::{CallPolicy, Jitter, Policy, PolicyBuilder};
use seawall_core::time::Duration;

/// Longer than any experiment: a limit that is never met.
pub(crate) const NEVER: Duration = Duration::from_secs(1_000_000);

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// So many retries and nothing else: no budget, no breaker, no limit that is ever met.
pub(crate) const fn bare(retries: u32) -> PolicyBuilder {
    Policy::builder()
        .retries(retries)
        .deadline(NEVER)
        .first_byte(NEVER)
        .min_attempt(Duration::ZERO)
        .budget(None)
        .breaker(None)
}

pub(crate) fn built(builder: PolicyBuilder) -> Policy {
    builder.build().expect("a policy of ours is right")
}

/// The same, each retry at once.
pub(crate) fn at_once(builder: PolicyBuilder) -> Policy {
    let policy = built(builder.jitter(Jitter::None));
    Policy {
        call: CallPolicy::without_waits(policy.call),
        ..policy
    }
}

/// A budget of so many extras for a thousand originals, without a floor.
pub(crate) fn budgeted(builder: PolicyBuilder, ratio_per_mille: u32) -> PolicyBuilder {
    builder.edit_budget(|budget| budget.ratio_per_mille(ratio_per_mille).floor_milli(0))
}

pub(crate) fn contender(name: impl Into<String>, policy: Policy, fleet: Fleet) -> Contender {
    Contender {
        name: name.into(),
        policy,
        fleet,
    }
}

/// So many clients that call together at this rate, independently, whatever becomes of their calls.
pub(crate) const fn open(clients: u32, per_second: f64) -> Load {
    Load::Open {
        clients,
        per_second,
        gaps: Gaps::Poisson,
        bursts: Vec::new(),
    }
}

/// One server, no layers, no time on the way, everything counted.
pub(crate) fn plain(load: Load, server: Server, horizon: Duration) -> Model {
    Model {
        load,
        tokens: Tokens::NONE,
        hop: Length::ZERO,
        layers: Vec::new(),
        servers: vec![server],
        spread: Spread::Route,
        horizon,
        warmup: Duration::ZERO,
    }
}
