//! The engines of one layer: one for each process, with the gates that its policy has.

use super::callers::Call;
use crate::sim::luck::{Luck, Purpose};
use crate::sim::model::{Contender, Fleet as Scope, Model, Spread, Tokens};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::policy::Policy;
use seawall_core::time::Instant;
use seawall_core::trace::{Event, Recording};
use seawall_core::verdict::{CallId, Endpoint};

/// A process: an engine, and which call has which of its seats.
#[derive(Debug)]
struct Process {
    engine: Engine,
    seats: Vec<u32>,
    /// Of its gates, those that refused or probed when it was last looked at.
    open: u32,
    /// Whether anything was told to its engine since.
    is_touched: bool,
}

/// All processes of one layer.
#[derive(Debug)]
pub(super) struct Fleet<'m> {
    policy: &'m Policy,
    scope: Scope,
    /// Every engine makes the same gates in the same order, so one route is right for all.
    route: Vec<Candidate>,
    spread: Spread,
    endpoint: Endpoint,
    tokens: Tokens,
    processes: Vec<Process>,
    /// Those that are to be looked at again.
    touched: Vec<u32>,
    /// Gates of all processes that refuse or probe, but for what was touched.
    open: u32,
}

impl<'m> Fleet<'m> {
    /// The fleets of all layers, the clients' first. The last has so many gates, the others one.
    pub(super) fn all(
        model: &'m Model,
        contender: &'m Contender,
        luck: Luck,
        gates: usize,
        recording: Recording,
    ) -> Vec<Self> {
        let clients = contender.fleet.processes(model.load.clients());
        let own = [(&contender.policy, contender.fleet, clients)].into_iter();
        let between = model.layers.iter().map(|layer| {
            let policy = layer.policy.as_ref().unwrap_or(&contender.policy);
            (policy, Scope::PerClient, layer.processes)
        });
        let mut seed = 0;
        let mut fleets = Vec::new();
        for (number, (policy, scope, processes)) in own.chain(between).enumerate() {
            let (gates, spread) = if number == model.layers.len() {
                (gates, model.spread)
            } else {
                (1, Spread::Route)
            };
            let mut fleet = Self {
                policy,
                scope,
                route: Vec::new(),
                spread,
                endpoint: model.endpoint(),
                tokens: model.tokens,
                processes: Vec::new(),
                touched: Vec::new(),
                open: 0,
            };
            for _ in 0..processes {
                seed += 1;
                let engine = Engine::new(luck.of(Purpose::Engine, seed, 0).bits(), recording);
                fleet.add(engine, gates);
            }
            fleets.push(fleet);
        }
        fleets
    }

    fn add(&mut self, mut engine: Engine, gates: usize) {
        let route: Vec<Candidate> = (0..gates as u64)
            .map(|gate| {
                let made = engine.configure(Instant::START, GateKey(gate), &self.policy.gate, &[], None);
                Candidate::at(made.expect("a gate without parents can be made"))
            })
            .collect();
        debug_assert!(
            self.route.is_empty() || self.route == route,
            "engines number their gates alike"
        );
        self.route = route;
        self.processes.push(Process {
            engine,
            seats: Vec::new(),
            open: 0,
            is_touched: false,
        });
    }

    pub(super) fn process_of(&self, client: u32) -> u32 {
        self.scope.process_of(client)
    }

    /// A process for a call that comes from above.
    pub(super) fn drawn(&self, luck: Luck, who: u64, nth: u64) -> u32 {
        let processes = u32::try_from(self.processes.len()).expect("processes are counted in 32 bits");
        luck.of(Purpose::Client, who, nth).below(processes)
    }

    #[inline]
    pub(super) fn engine(&mut self, process: u32) -> &mut Engine {
        let touched = &mut self.processes[process as usize];
        if !std::mem::replace(&mut touched.is_touched, true) {
            self.touched.push(process);
        }
        &mut touched.engine
    }

    /// The engine of a call, and what the call promises, as of `began`.
    #[inline]
    pub(super) fn engine_and_spec(
        &mut self,
        began: Instant,
        call: &Call,
        nth: u32,
    ) -> (&mut Engine, Spec<'_>) {
        let shard = usize::from(call.shard);
        let route = match self.spread {
            Spread::Route | Spread::ShardsOneGate => &self.route[..],
            Spread::ShardsOwnGates => &self.route[shard..=shard],
        };
        let spec = Spec {
            tokens_in: call.tokens.0,
            tokens_out: self.tokens.charged(call.tokens.1),
            endpoint: self.endpoint,
            deadline: began.after(self.policy.call.deadline_for(self.endpoint)),
            nth,
            ..Spec::new(began, route, &self.policy.call, Replay::Idempotent)
        };
        let touched = &mut self.processes[call.process as usize];
        if !std::mem::replace(&mut touched.is_touched, true) {
            self.touched.push(call.process);
        }
        (&mut touched.engine, spec)
    }

    /// The engine has given this call a seat.
    #[inline]
    pub(super) fn seat(&mut self, process: u32, id: CallId, call: u32) {
        let seats = &mut self.processes[process as usize].seats;
        if id.slot() >= seats.len() {
            seats.resize(id.slot() + 1, u32::MAX);
        }
        seats[id.slot()] = call;
    }

    /// A call of this process that something made ready, or whose time has come.
    #[inline]
    pub(super) fn woken(&mut self, process: u32, now: Instant) -> Option<u32> {
        let Process { engine, seats, .. } = &mut self.processes[process as usize];
        if engine.next_wake().is_none_or(|at| at > now) {
            return None;
        }
        engine.woken(now).map(|id| seats[id.slot()])
    }

    /// Whether a call may have two attempts out.
    pub(super) const fn hedges(&self) -> bool {
        self.policy.call.hedge().is_some()
    }

    pub(super) const fn has_breakers(&self) -> bool {
        self.policy.gate.breaker().is_some()
    }

    /// What its engines wrote down, process by process.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Vec<Event>> + '_ {
        let processes = self.processes.iter_mut();
        processes.map(|process| process.engine.drain().collect())
    }

    /// How many gates refuse or probe. A breaker leaves its closed state and comes back to it when it is told something,
    /// and not by time alone: only engines that were told something since are asked.
    pub(super) fn open_gates(&mut self, now: Instant) -> u32 {
        for process in self.touched.drain(..) {
            let process = &mut self.processes[process as usize];
            let is_open = |candidate: &&Candidate| {
                let state = process.engine.state(now, candidate.gate);
                let breaker = state.and_then(|state| state.breaker);
                breaker.is_some_and(|view| view.state != "closed")
            };
            let open = u32::try_from(self.route.iter().filter(is_open).count()).expect("few gates");
            self.open = self.open - process.open + open;
            (process.open, process.is_touched) = (open, false);
        }
        self.open
    }
}
