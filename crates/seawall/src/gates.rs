//! A gate for each key: each host of a client, each tenant, each queue.
//!
//! What can go wrong with one gate for many things: one host that is down opens the breaker for all, and one that is
//! slow takes the places of all. With a gate for each there is another danger: keys come from outside, and a gate for
//! every one of them fills the machine. So there are as many as were agreed. One that nobody has in hand and that stands
//! as a new one would makes room; where none can go, the key shares the gate of all that found none.
//!
//! What this does not cover: the length of keys, and a budget over all gates (give keys a parent: an
//! [`Upstream::keyed`](crate::Upstream)).

use crate::chance::entropy;
use crate::clock::{Clock, HostClock};
use crate::gate::{Gate, Held, Loose};
use crate::hub::Hub;
use seawall_core::engine::Engine;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::policy::Policy;
use seawall_core::time::Instant;
use seawall_core::trace::Recording;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Gates that there are at the most: 1 024, at most a KiB each.
pub const GATES_MAX_DEFAULT: usize = 1_024;

/// Gates by key, all by one policy and none with anything in common. Cheap to clone; clones are the same gates.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Gates, Policy, Preset};
///
/// let hosts = Gates::new(&Policy::preset(Preset::Interactive));
/// let gate = hosts.gate("db-1:5432");
/// let rows = seawall::retry(async || std::io::Result::Ok(7), &gate).await?;
/// # assert_eq!(rows, 7);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Gates {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Arc<Hub>,
    policy: Policy,
    max: usize,
    /// For keys that found no room.
    others: Gate,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: BTreeMap<Arc<str>, Place>,
    /// Gates made so far: their numbers follow that of the others'.
    made: u64,
}

struct Place {
    gate: GateId,
    handle: Loose,
}

/// Describes [`Gates`].
#[derive(Clone, Debug)]
#[must_use]
pub struct GatesBuilder {
    policy: Policy,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
    recording: Recording,
    max: usize,
}

impl Gates {
    /// Gates by this policy, which is also that of their calls.
    pub fn new(policy: &Policy) -> Self {
        Self::builder(policy).build()
    }

    /// Begins to describe gates by this policy.
    pub const fn builder(policy: &Policy) -> GatesBuilder {
        GatesBuilder {
            policy: *policy,
            clock: None,
            seed: None,
            recording: Recording::Off,
            max: GATES_MAX_DEFAULT,
        }
    }

    /// The gate of this key, the same for as long as it knows anything or anybody has it.
    pub fn gate(&self, key: &str) -> Gate {
        let shared = &*self.shared;
        let hub = &shared.hub;
        // Under the engine's lock, so that no gate goes between its look-up and its hold. Nothing here drops a gate's
        // handle, which asks for that lock.
        hub.with(|engine, now| {
            let mut state = shared.lock();
            let known = state.places.get(key);
            if let Some(gate) = known.and_then(|place| place.handle.upgrade()) {
                return gate;
            }
            let known = known.map(|place| place.gate);
            let Some(gate) = shared.held(engine, now, &mut state, known) else {
                return shared.others.clone();
            };
            let handle = Gate::held(hub, gate, &shared.policy.call, Held::of(hub, gate));
            let place = Place {
                gate,
                handle: handle.loosely(),
            };
            state.places.insert(Arc::from(key), place);
            handle
        })
    }

    /// How many keys have a gate of their own now.
    pub fn len(&self) -> usize {
        self.shared.lock().places.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Shared {
    /// The gate that was `known`, where it is there still, with what it knows; else a new one, where there is room. It is
    /// held.
    fn held(
        &self,
        engine: &mut Engine,
        now: Instant,
        state: &mut State,
        known: Option<GateId>,
    ) -> Option<GateId> {
        if let Some(gate) = known
            && engine.hold(gate).is_ok()
        {
            return known;
        }
        if state.places.len() >= self.max {
            // Several at once: to find which keys have lost theirs takes a look at every key.
            if engine.sweep(now, self.max - self.max / 8) > 0 {
                let is_there = |place: &Place| engine.state(now, place.gate).is_some();
                state.places.retain(|_, place| is_there(place));
            }
            if state.places.len() >= self.max {
                return None;
            }
        }
        state.made += 1;
        let made = engine.configure(now, GateKey(state.made), &self.policy.gate, &[], None);
        let gate = made.expect("a gate without parents has a chain of one");
        engine.hold(gate).expect("a gate that was just made is there");
        Some(gate)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GatesBuilder {
    /// The clock to live by; the host's unless it is given.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from: the same seed draws the same delays. From the operating system unless it is given.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether [`Gate::events`] has anything to say; off unless it is given.
    pub const fn recording(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// Gates that there are at the most; [`GATES_MAX_DEFAULT`] unless it is given.
    pub const fn gates_max(mut self, gates: usize) -> Self {
        self.max = gates;
        self
    }

    /// The gates.
    pub fn build(self) -> Gates {
        let clock = self.clock.unwrap_or_else(|| Arc::new(HostClock::new()));
        let mut engine = Engine::new(self.seed.unwrap_or_else(entropy), self.recording);
        let others = engine
            .configure(clock.now(), GateKey(0), &self.policy.gate, &[], None)
            .expect("a gate without parents has a chain of one");
        engine.hold(others).expect("a gate that was just made is there");
        let hub = Hub::new(engine, clock);
        let others = Gate::held(&hub, others, &self.policy.call, Held::of(&hub, others));
        let shared = Shared {
            hub,
            policy: self.policy,
            max: self.max,
            others,
            state: Mutex::default(),
        };
        Gates {
            shared: Arc::new(shared),
        }
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gates")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
