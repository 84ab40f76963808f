//! Gates by key under one upstream, and no more of them than were agreed.
//!
//! What can go wrong: a gate for every customer that ever called fills the machine; one that goes while somebody means
//! to call through it sends the next call nowhere; one that goes while its breaker is open forgets an outage; and a
//! call that is refused for want of a gate was refused for nothing. So a gate is held by its handles, goes only where
//! nobody holds it and it stands as a new one would, and a key that finds no room passes the upstream's gate alone.
//!
//! What it does not cover: the length of keys, which are the caller's own.

use super::neighbours::Neighbours;
use crate::hub::Hub;
use seawall_core::engine::Engine;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::policy::GatePolicy;
use seawall_core::time::Instant;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Which gate a handle's calls go to.
#[derive(Clone)]
pub(super) enum Door {
    /// The upstream's.
    Base,
    /// One of its own, below the upstream's.
    Own(Arc<Own>),
    /// The upstream's, for want of one of its own for this key.
    None(Arc<str>),
}

impl Door {
    /// The gate, where it is not the upstream's.
    pub(super) fn gate(&self) -> Option<GateId> {
        match self {
            Self::Own(own) => Some(own.gate),
            Self::Base | Self::None(_) => None,
        }
    }
}

/// A gate of a key, held for as long as this is there.
pub(super) struct Own {
    pub(super) key: Arc<str>,
    pub(super) gate: GateId,
    pub(super) gate_key: GateKey,
    hub: Arc<Hub>,
}

impl Drop for Own {
    fn drop(&mut self) {
        self.hub.with(|engine, _| engine.let_go(self.gate));
    }
}

/// The gates of an upstream's keys.
pub(super) struct Keys {
    max: usize,
    policy: GatePolicy,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: BTreeMap<Arc<str>, Place>,
    without: u64,
}

struct Place {
    gate: GateId,
    gate_key: GateKey,
    own: Weak<Own>,
}

/// How many gates of keys there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) kept: usize,
    pub(super) max: usize,
    pub(super) without: u64,
}

impl Keys {
    pub(super) fn new(max: usize, policy: GatePolicy) -> Self {
        Self {
            max,
            policy,
            state: Mutex::default(),
        }
    }

    pub(super) fn count(&self) -> Count {
        let state = self.lock();
        Count {
            kept: state.places.len(),
            max: self.max,
            without: state.without,
        }
    }

    /// The door of `key`, below the gate `base`. The cool-down and what the server tells are kept by `quota`, or by the
    /// key's own gate.
    pub(super) fn door(
        &self,
        neighbours: &Neighbours,
        base: GateId,
        quota: Option<GateId>,
        key: &str,
    ) -> Door {
        let hub = &neighbours.hub;
        // Under the engine's lock, so that wakers are called once both locks are open. Nothing here drops an `Own`,
        // which asks for that lock.
        hub.with(|engine, now| {
            let mut state = self.lock();
            let known = state.places.get(key);
            if let Some(own) = known.and_then(|place| place.own.upgrade()) {
                return Door::Own(own);
            }
            let known = known.map(|place| (place.gate, place.gate_key));
            let fresh = || neighbours.gate_key();
            let Some((gate, gate_key)) = self.gate(engine, now, &mut state, known, (base, quota), fresh)
            else {
                state.without = state.without.saturating_add(1);
                return Door::None(Arc::from(key));
            };
            let key: Arc<str> = Arc::from(key);
            let own = Arc::new(Own {
                key: Arc::clone(&key),
                gate,
                gate_key,
                hub: Arc::clone(hub),
            });
            let place = Place {
                gate,
                gate_key,
                own: Arc::downgrade(&own),
            };
            state.places.insert(key, place);
            Door::Own(own)
        })
    }

    /// The gate that was `known`, where it is there still, with what it knows; else a new one, where there is room.
    fn gate(
        &self,
        engine: &mut Engine,
        now: Instant,
        state: &mut State,
        known: Option<(GateId, GateKey)>,
        (base, quota): (GateId, Option<GateId>),
        fresh: impl FnOnce() -> GateKey,
    ) -> Option<(GateId, GateKey)> {
        if let Some((gate, _)) = known
            && engine.hold(gate).is_ok()
        {
            return known;
        }
        if state.places.len() >= self.max {
            // Several at once: to find which keys have lost theirs takes a look at every key. Gates that are no key's
            // count too, and are held.
            let others = engine.gates_alive().saturating_sub(state.places.len() + 1);
            if engine.sweep(now, others + self.max - self.max / 8) > 0 {
                let is_there = |place: &Place| engine.state(now, place.gate).is_some();
                state.places.retain(|_, place| is_there(place));
            }
            if state.places.len() >= self.max {
                return None;
            }
        }
        let gate_key = fresh();
        let made = engine.configure(now, gate_key, &self.policy, &[base], quota);
        let gate = made.expect("an upstream holds its own gate, and leaves room for one below it");
        engine.hold(gate).expect("a gate that was just made is there");
        Some((gate, gate_key))
    }

    /// The gates that there are, for when their upstream goes.
    pub(super) fn gates(&self) -> Vec<GateId> {
        self.lock().places.values().map(|place| place.gate).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
