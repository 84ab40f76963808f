//! The gates of an engine by key: made, changed, retired, and let go where they are worth nothing.
//!
//! What can go wrong: a reload forgets that an upstream is down, and every process of a fleet finds out again; a gate
//! goes while a call still holds a place, and the number stands for another by the time it is given back; and a gate
//! per customer is made for every customer that ever was. So state is kept as long as anybody holds or owes anything,
//! an id names one gate and no later one of its number, and only a gate that stands as a new one would is let go.

use super::Engine;
use crate::gate::{Chain, Gate, GateId, GateKey, Tenure};
use crate::policy::{GatePolicy, Mode, PolicyError};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Gates that one [`Engine::sweep`] looks at: what a caller waits for is bounded.
const SWEEP_MAX: usize = 64;

/// Where gates are found.
#[derive(Debug, Default)]
pub(super) struct Registry {
    keys: BTreeMap<GateKey, GateId>,
    /// Numbers of gates that are gone.
    free: Vec<u32>,
    /// Where the next sweep goes on.
    hand: usize,
}

impl Engine {
    /// Makes the gate behind `key`, or gives it another policy and other parents and keeps its state: a lower limit
    /// drains, an open breaker keeps its time, and what was charged stays charged. Its attempts also pass the parents'
    /// gates and theirs; the cool-down and what the server told are kept by `quota`, or by itself.
    ///
    /// # Errors
    /// [`PolicyError::TooManyParents`]: an attempt would pass more than [`CHAIN_MAX`](crate::gate::CHAIN_MAX) gates.
    /// [`PolicyError::GateGone`]: a parent or the quota has been let go.
    pub fn configure(
        &mut self,
        now: Instant,
        key: GateKey,
        policy: &GatePolicy,
        parents: &[GateId],
        quota: Option<GateId>,
    ) -> Result<GateId, PolicyError> {
        let now = self.advance(now);
        let known = self.registry.keys.get(&key).copied();
        let number = match known {
            Some(id) => id.number,
            None => self.next_number(),
        };
        let mut chain = Chain::of(number);
        for above in parents.iter().chain(quota.as_ref()) {
            let above = self.gate(*above).ok_or(PolicyError::GateGone)?;
            for gate in above.chain.gates() {
                chain.add(*gate)?;
            }
        }
        if let Some(quota) = quota {
            chain.cool_at(quota.number);
        }
        let id = match known {
            Some(id) => {
                self.gates[number as usize].configure(now, policy);
                id
            }
            None => self.make(now, number, key, policy),
        };
        self.rechain(number, chain);
        self.pump(now, number);
        // There may be credit now, or no budget to wait for: whoever comes next would pass those who wait.
        self.wake_saver(now, number);
        Ok(id)
    }

    /// The number that the next new gate takes.
    fn next_number(&self) -> u32 {
        let fresh = u32::try_from(self.gates.len()).expect("gates are counted in 32 bits");
        self.registry.free.last().copied().unwrap_or(fresh)
    }

    fn make(&mut self, now: Instant, number: u32, key: GateKey, policy: &GatePolicy) -> GateId {
        let id = match self.gates.get_mut(number as usize) {
            Some(gone) => {
                self.registry.free.pop();
                let id = GateId {
                    number,
                    life: gone.life.wrapping_add(1),
                };
                *gone = Gate::new(now, id, key, gone.reborn(), policy);
                id
            }
            None => {
                if self.gates.is_empty() {
                    // Most engines have one gate: room for the four that a vector begins with is three too many.
                    self.gates.reserve_exact(1);
                }
                let id = GateId { number, life: 0 };
                self.gates.push(Gate::new(now, id, key, 0, policy));
                id
            }
        };
        self.registry.keys.insert(key, id);
        id
    }

    /// Gives gate `number` another chain.
    fn rechain(&mut self, number: u32, chain: Chain) {
        let before = core::mem::replace(&mut self.gates[number as usize].chain, chain);
        for gate in chain.gates().iter().filter(|gate| **gate != number) {
            self.gates[*gate as usize].children += 1;
        }
        for gate in before.gates().iter().filter(|gate| **gate != number) {
            self.gates[*gate as usize].children -= 1;
            self.let_go_if_retired(*gate);
        }
    }

    /// Keeps a gate from being let go until [`let_go`](Self::let_go), for somebody who means to make calls there. Hold it
    /// as often as there are such holders.
    ///
    /// # Errors
    /// [`PolicyError::GateGone`]: it has been let go before.
    pub fn hold(&mut self, gate: GateId) -> Result<(), PolicyError> {
        self.gate(gate).ok_or(PolicyError::GateGone)?;
        self.visit(gate);
        Ok(())
    }

    /// Ends one [`hold`](Self::hold): a gate that nobody holds may be swept.
    pub fn let_go(&mut self, gate: GateId) {
        self.unvisit(gate);
    }

    /// Takes no new calls at a gate, and lets it go with the last call that may still hold it. Its key means a new
    /// gate from here on.
    pub fn retire(&mut self, now: Instant, gate: GateId) {
        self.advance(now);
        if self.gate(gate).is_none() {
            return;
        }
        let it = &mut self.gates[gate.number as usize];
        it.tenure = Tenure::Retired;
        self.registry.keys.remove(&it.key);
        self.let_go_if_retired(gate.number);
    }

    /// Lets go of gates that nobody holds and that know nothing or are retired, as long as there are more than `most`:
    /// looks at some of them and goes on there the next time. Says how many it let go.
    pub fn sweep(&mut self, now: Instant, most: usize) -> usize {
        let now = self.advance(now);
        let mut let_go = 0;
        for _ in 0..SWEEP_MAX.min(self.gates.len()) {
            if self.gates_alive() <= most {
                break;
            }
            let number = self.registry.hand % self.gates.len();
            self.registry.hand = number + 1;
            let gate = &mut self.gates[number];
            let is_spare = match gate.tenure {
                Tenure::Kept => gate.is_idle() && gate.knows_nothing(now),
                // A parent that a reload took from its children while attempts were passing it: nobody that came back
                // since has looked at it.
                Tenure::Retired => gate.is_idle(),
                Tenure::Gone => false,
            };
            if !is_spare {
                continue;
            }
            if gate.tenure == Tenure::Kept {
                gate.tenure = Tenure::Retired;
                self.registry.keys.remove(&gate.key);
            }
            self.let_go_if_retired(u32::try_from(number).expect("gates are counted in 32 bits"));
            let_go += 1;
        }
        let_go
    }

    /// Gates that are there, retired ones that somebody still holds included.
    pub fn gates_alive(&self) -> usize {
        self.gates.len() - self.registry.free.len()
    }

    /// The gate of this id, where it has not been let go.
    pub(super) fn gate(&self, id: GateId) -> Option<&Gate> {
        let gate = self.gates.get(id.number as usize)?;
        (gate.life == id.life && gate.tenure != Tenure::Gone).then_some(gate)
    }

    /// Whether the gate of this id takes new calls.
    #[inline]
    pub(super) fn takes_calls(&self, id: GateId) -> bool {
        self.gate(id).is_some_and(|gate| gate.tenure == Tenure::Kept)
    }

    /// Counts a live call's route at a gate.
    #[inline]
    pub(super) fn visit(&mut self, id: GateId) {
        if self.gate(id).is_some() {
            self.gates[id.number as usize].visits += 1;
        }
    }

    /// A call whose route the gate stood in has ended.
    #[inline]
    pub(super) fn unvisit(&mut self, id: GateId) {
        if self.gate(id).is_some() {
            let gate = &mut self.gates[id.number as usize];
            gate.visits -= 1;
            if gate.tenure != Tenure::Kept {
                self.let_go_if_retired(id.number);
            }
        }
    }

    /// Lets a retired gate go that nobody holds any more, and those above it that were held by it alone.
    #[cold]
    fn let_go_if_retired(&mut self, number: u32) {
        let gate = &mut self.gates[number as usize];
        if gate.tenure != Tenure::Retired || !gate.is_idle() {
            return;
        }
        gate.tenure = Tenure::Gone;
        self.registry.free.push(number);
        self.rechain(number, Chain::of(number));
    }

    /// Latches a gate outside its breaker's automaton, whether or not it has one, or gives it back; a latch outlasts
    /// reloads that take the breaker away and bring it back. `Auto` also ends the gate's cool-down (rule C6)
    /// and forgets what its server told of limits. Nothing happens to a gate that has been let go.
    pub fn force(&mut self, now: Instant, gate: GateId, mode: Mode) {
        let now = self.advance(now);
        if self.gate(gate).is_none() {
            return;
        }
        let it = &mut self.gates[gate.number as usize];
        it.force(now, mode);
        match mode {
            Mode::Auto => {
                it.cooldown.end();
                if let Some(windows) = &mut it.windows {
                    windows.forget();
                }
            }
            Mode::Open | Mode::Closed | Mode::Observe => {}
        }
        self.pump(now, gate.number);
    }
}
