//! A gate of one's own: the state that calls of closures share.
//!
//! What can go wrong without one is what goes wrong without an [`Upstream`](crate::Upstream): a thousand callers learn of
//! one outage a thousand times, and no budget bounds what they add to it. A gate is an upstream's state without its
//! HTTP: budget, breaker, limits, cool-down. Its promises about load hold for one process.

use crate::chance::entropy;
use crate::clock::{Clock, HostClock};
use crate::hub::Hub;
use crate::retry::Rules;
use seawall_core::call::Candidate;
use seawall_core::engine::Engine;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::policy::{CallPolicy, Policy};
use seawall_core::trace::{Event, Recording};
use std::fmt;
use std::sync::{Arc, Weak};

/// What calls to one thing share: a database, a queue, a service with a client of its own. Cheap to clone; clones are
/// the same gate.
///
/// Make one for each thing that can fail by itself, once, and give it to [`retry`](crate::retry()) or to
/// [`blocking::retry`](crate::blocking::retry) in place of a policy; tasks and threads may share it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Gate, Policy, Preset};
/// # async fn query() -> std::io::Result<u32> { Ok(7) }
///
/// let database = Gate::new(&Policy::preset(Preset::Interactive));
/// let rows = seawall::retry(|| query(), &database).await?;
/// # assert_eq!(rows, 7);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Gate {
    shared: Arc<Shared>,
}

struct Shared {
    hub: Arc<Hub>,
    candidate: Candidate,
    policy: CallPolicy,
    /// Of a gate among [`Gates`](crate::Gates): it stays there for as long as somebody has this.
    _held: Option<Held>,
}

/// A hold on one of an engine's gates.
pub(crate) struct Held {
    hub: Arc<Hub>,
    gate: GateId,
}

impl Held {
    /// Of a gate that was held by whoever calls this, under the engine's lock.
    pub(crate) fn of(hub: &Arc<Hub>, gate: GateId) -> Self {
        let hub = Arc::clone(hub);
        Self { hub, gate }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.hub.with(|engine, _| engine.let_go(self.gate));
    }
}

/// A handle of a gate that does not keep it.
pub(crate) struct Loose(Weak<Shared>);

impl Loose {
    pub(crate) fn upgrade(&self) -> Option<Gate> {
        self.0.upgrade().map(|shared| Gate { shared })
    }
}

/// Describes a [`Gate`].
#[derive(Clone, Debug)]
#[must_use]
pub struct GateBuilder {
    policy: Policy,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
    recording: Recording,
}

impl Gate {
    /// A gate by this policy, which is also that of its calls.
    pub fn new(policy: &Policy) -> Self {
        Self::builder(policy).build()
    }

    /// Begins to describe a gate by this policy.
    pub const fn builder(policy: &Policy) -> GateBuilder {
        GateBuilder {
            policy: *policy,
            clock: None,
            seed: None,
            recording: Recording::Off,
        }
    }

    /// One of several behind one lock.
    pub(crate) fn held(hub: &Arc<Hub>, gate: GateId, policy: &CallPolicy, held: Held) -> Self {
        Self {
            shared: Arc::new(Shared {
                hub: Arc::clone(hub),
                candidate: Candidate::at(gate),
                policy: *policy,
                _held: Some(held),
            }),
        }
    }

    pub(crate) fn loosely(&self) -> Loose {
        Loose(Arc::downgrade(&self.shared))
    }

    /// Attempts that are out now; of one among [`Gates`](crate::Gates), at all of them.
    pub fn attempts_out(&self) -> u64 {
        self.shared.hub.with(|engine, _| engine.permits_out())
    }

    /// Makes no more attempts, for good, nor does any other of its [`Gates`](crate::Gates): those that are out may end, and calls that wait end with `draining`.
    pub fn drain(&self) {
        self.shared.hub.with(|engine, now| engine.drain_calls(now));
    }

    /// What happened since the last time this was asked, in order; only of a gate that was built to record.
    pub fn events(&self) -> Vec<Event> {
        self.shared.hub.drain()
    }

    /// The engine that its calls share, for drivers and pages.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.shared.hub
    }

    #[inline]
    pub(crate) fn rules(&self) -> Rules<'_> {
        let shared = &*self.shared;
        Rules::of_gate(&shared.hub, shared.candidate, &shared.policy)
    }
}

impl GateBuilder {
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

    /// Whether [`Gate::events`] has anything to say; off unless it is given.
    pub const fn recording(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// The gate.
    pub fn build(self) -> Gate {
        let clock = self.clock.unwrap_or_else(|| Arc::new(HostClock::new()));
        let mut engine = Engine::new(self.seed.unwrap_or_else(entropy), self.recording);
        let gate = engine
            .configure(clock.now(), GateKey(0), &self.policy.gate, &[], None)
            .expect("a gate without parents has a chain of one");
        let shared = Shared {
            hub: Hub::new(engine, clock),
            candidate: Candidate::at(gate),
            policy: self.policy.call,
            _held: None,
        };
        Gate {
            shared: Arc::new(shared),
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
