//! What upstreams beside each other share: one engine, and whatever is numbered or named in it.
//!
//! What can go wrong: two upstreams that draw one account's quota run into its limit one after the other, each by itself
//! (rule K3); two that number their gates from the same beginning have one gate, and two that make keys from the same
//! seed send the same key for two writes; a setting of the one that was named first holds for all, whoever was first.
//! So numbers are given out here, and a gate that several upstreams name has the tightest of what each of them says,
//! in whatever order they came, for as long as they are there.
//!
//! What it does not cover: upstreams in different engines, which no call can move between.

use crate::chance::uuid7;
use crate::hub::Hub;
use http::HeaderValue;
use seawall_core::call::DedupId;
use seawall_core::engine::Engine;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::latch::CredentialId;
use seawall_core::policy::{
    BudgetPolicy, Concurrency, GatePolicy, LimitPolicy, OnEmpty, PolicyBuilder, PolicyError, Preset, Rates,
};
use seawall_core::rng::Rng;
use seawall_core::time::Instant;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One engine, and what is given out in it.
pub(super) struct Neighbours {
    pub(super) hub: Arc<Hub>,
    pub(super) seed: u64,
    /// Gates made so far.
    gates: AtomicU64,
    /// Idempotency keys made so far.
    keys: AtomicU64,
    named: Mutex<Named>,
}

#[derive(Default)]
struct Named {
    /// Upstreams so far: each is one, and so is its credential and its own store of keys.
    members: u32,
    domains: BTreeMap<Arc<str>, DedupId>,
    gates: BTreeMap<(Above, Arc<str>), Shared>,
}

/// What a gate above several upstreams is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Above {
    /// One account: keeps the cool-down and the limits of all its members (rules C6 and K3).
    Quota,
    /// A budget above them (rule G7).
    Parent,
}

/// A gate that several upstreams stand under.
struct Shared {
    gate: GateId,
    gate_key: GateKey,
    members: BTreeMap<u32, GatePolicy>,
}

impl Neighbours {
    pub(super) fn new(hub: Arc<Hub>, seed: u64) -> Self {
        Self {
            hub,
            seed,
            gates: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            named: Mutex::default(),
        }
    }

    /// A key for a gate that is to be made.
    pub(super) fn gate_key(&self) -> GateKey {
        GateKey(self.gates.fetch_add(1, Ordering::Relaxed))
    }

    /// A key for one call, before its first attempt (rule E3): a UUID of version 7.
    pub(super) fn idempotency_key(&self) -> HeaderValue {
        let stream = self.keys.fetch_add(1, Ordering::Relaxed);
        // Streams of calls count up from the first; those of keys count down from the last.
        let rng = Rng::new(self.seed, u64::MAX - stream);
        let text = uuid7(self.hub.clock().wall(), rng);
        HeaderValue::from_bytes(&text).expect("a UUID is a header value")
    }

    /// A number for one more upstream.
    pub(super) fn member(&self) -> u32 {
        let mut named = self.named();
        named.members += 1;
        named.members
    }

    /// The credential of this upstream.
    pub(super) const fn credential(member: u32) -> CredentialId {
        CredentialId(member)
    }

    /// The store of idempotency keys behind an upstream: the named one, or its own (rule E4).
    pub(super) fn domain(&self, member: u32, name: Option<&Arc<str>>) -> DedupId {
        let Some(name) = name else {
            return DedupId(member);
        };
        let mut named = self.named();
        // Whoever named it first lends it the number of its own store, which nothing else has.
        *named.domains.entry(Arc::clone(name)).or_insert(DedupId(member))
    }

    /// Puts an upstream with this policy under the gate of this name, or tells that gate of its new policy.
    pub(super) fn enter(
        &self,
        engine: &mut Engine,
        now: Instant,
        (above, name): (Above, &Arc<str>),
        member: u32,
        policy: &GatePolicy,
    ) -> Result<GateId, PolicyError> {
        let mut named = self.named();
        let key = (above, Arc::clone(name));
        let known = named.gates.get(&key);
        let mut members = known.map(|shared| shared.members.clone()).unwrap_or_default();
        members.insert(member, *policy);
        let gate_key = known.map_or_else(|| self.gate_key(), |shared| shared.gate_key);
        let is_new = known.is_none();
        let policy = above.tightest(members.values())?;
        let gate = engine.configure(now, gate_key, &policy, &[], None)?;
        if is_new {
            engine.hold(gate)?;
        }
        let shared = Shared {
            gate,
            gate_key,
            members,
        };
        named.gates.insert(key, shared);
        Ok(gate)
    }

    /// An upstream is no more: what it said holds no longer, and with the last the gate goes.
    pub(super) fn leave(
        &self,
        engine: &mut Engine,
        now: Instant,
        (above, name): (Above, &Arc<str>),
        member: u32,
    ) {
        let mut named = self.named();
        let key = (above, Arc::clone(name));
        let Some(shared) = named.gates.get_mut(&key) else {
            return;
        };
        shared.members.remove(&member);
        if shared.members.is_empty() {
            engine.let_go(shared.gate);
            engine.retire(now, shared.gate);
            named.gates.remove(&key);
        } else if let Ok(policy) = above.tightest(shared.members.values()) {
            engine
                .configure(now, shared.gate_key, &policy, &[], None)
                .expect("a gate without parents can always be configured");
        }
    }

    fn named(&self) -> MutexGuard<'_, Named> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Above {
    /// The tightest of what the members say, as far as such a gate is about it.
    fn tightest<'p>(
        self,
        members: impl Iterator<Item = &'p GatePolicy> + Clone,
    ) -> Result<GatePolicy, PolicyError> {
        let bare = PolicyBuilder::from_preset(Preset::Default)
            .budget(None)
            .breaker(None);
        let bare = match self {
            Self::Quota => {
                let limits = members.map(GatePolicy::limits);
                match limits.reduce(|one, other| tighter_limits(&one, &other)) {
                    Some(limits) => limited(bare, &limits),
                    None => bare,
                }
            }
            Self::Parent => {
                let budgets = members.filter_map(GatePolicy::budget);
                bare.budget(budgets.reduce(tighter_budget))
            }
        };
        Ok(bare.build()?.gate)
    }
}

fn limited(builder: PolicyBuilder, limits: &LimitPolicy) -> PolicyBuilder {
    let rates = limits.rates();
    builder
        .concurrency(limits.concurrency())
        .queue(limits.queue())
        .requests_per_minute(rates.requests_per_minute())
        .tokens_per_minute(rates.tokens_per_minute())
        .tokens_in_per_minute(rates.tokens_in_per_minute())
        .tokens_out_per_minute(rates.tokens_out_per_minute())
}

fn tighter_limits(one: &LimitPolicy, other: &LimitPolicy) -> LimitPolicy {
    let less = |read: fn(&Rates) -> Option<u64>| {
        let (one, other) = (read(&one.rates()), read(&other.rates()));
        one.zip(other)
            .map(|(one, other)| one.min(other))
            .or(one)
            .or(other)
    };
    let builder = PolicyBuilder::from_preset(Preset::Default)
        .concurrency(tighter_concurrency(one.concurrency(), other.concurrency()))
        .queue(one.queue().min(other.queue()))
        .requests_per_minute(less(Rates::requests_per_minute))
        .tokens_per_minute(less(Rates::tokens_per_minute))
        .tokens_in_per_minute(less(Rates::tokens_in_per_minute))
        .tokens_out_per_minute(less(Rates::tokens_out_per_minute));
    let built = builder.build();
    built
        .expect("each limit is one of a policy that was built")
        .gate
        .limits()
}

/// A number stands before one that is still to be found.
const fn tighter_concurrency(one: Concurrency, other: Concurrency) -> Concurrency {
    match (one, other) {
        (Concurrency::AtMost(a), Concurrency::AtMost(b)) => Concurrency::AtMost(if a < b { a } else { b }),
        (Concurrency::Unbounded, bound) | (bound, Concurrency::Unbounded) => bound,
        (number @ Concurrency::AtMost(_), Concurrency::Auto | Concurrency::Gradient)
        | (Concurrency::Auto | Concurrency::Gradient, number @ Concurrency::AtMost(_)) => number,
        // It cuts for throttles as the other does, and for a queue, too.
        (Concurrency::Gradient, Concurrency::Auto | Concurrency::Gradient)
        | (Concurrency::Auto, Concurrency::Gradient) => Concurrency::Gradient,
        (Concurrency::Auto, Concurrency::Auto) => Concurrency::Auto,
    }
}

fn tighter_budget(one: BudgetPolicy, other: BudgetPolicy) -> BudgetPolicy {
    let on_empty = match (one.on_empty(), other.on_empty()) {
        (OnEmpty::Wait, OnEmpty::Wait) => OnEmpty::Wait,
        (OnEmpty::Stop, _) | (_, OnEmpty::Stop) => OnEmpty::Stop,
    };
    let builder = PolicyBuilder::from_preset(Preset::Default)
        .budget(Some(one))
        .edit_budget(|budget| {
            budget
                .ratio_per_mille(one.ratio_per_mille().min(other.ratio_per_mille()))
                .floor_milli(one.floor_milli().min(other.floor_milli()))
                .window(one.window().min(other.window()))
                .on_empty(on_empty)
        });
    let built = builder.build();
    let budget = built
        .expect("each setting is one of a budget that was built")
        .gate
        .budget();
    budget.expect("a budget was just edited")
}

#[cfg(test)]
mod tests;
