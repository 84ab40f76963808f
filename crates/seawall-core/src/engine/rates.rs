//! What calls take of rates: the configured ones of every gate of their chain, and those that a server told.
//!
//! All of a chain is asked before any of it is taken, under one lock and at one instant, and what was taken is kept
//! in one [`Reserved`], so that it goes back whole.

use super::Engine;
use crate::gate::{CHAIN_MAX, Chain};
use crate::learned::{Learned, Sight, Windows};
use crate::rate::{Cost, Marks, Reservation, Room};
use crate::time::Instant;
use crate::trace::Held;
use crate::verdict::Permit;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What one attempt has taken.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    /// The gates that it passes, whatever the parents are by now.
    chain: Chain,
    cost: Cost,
    /// By place in the chain.
    stakes: [Stake; CHAIN_MAX],
    /// `None` where the server had told nothing yet.
    sight: Option<Sight>,
}

/// What an attempt has of the rates of one gate.
#[derive(Clone, Copy, Debug)]
enum Stake {
    /// There were none.
    Nothing,
    /// Room that is kept for it.
    Pledged,
    /// Its part, since it was sent.
    Taken(Marks),
}

/// What is reserved, by [`Reservation`]: few calls pass a rate, so that it does not stand in each of them.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    all: Vec<Reserved>,
    free: Vec<u32>,
    /// Reservations ever made: the order in which attempts go.
    made: u64,
}

impl Reservations {
    fn put(&mut self, reserved: Reserved) -> Reservation {
        if let Some(place) = self.free.pop() {
            self.all[place as usize] = reserved;
            return Reservation(place);
        }
        let place = u32::try_from(self.all.len()).expect("attempts are counted in 32 bits");
        self.all.push(reserved);
        Reservation(place)
    }

    fn take(&mut self, Reservation(place): Reservation) -> Reserved {
        self.free.push(place);
        self.all[place as usize]
    }

    /// Reservations that have not come back.
    pub(super) fn out(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

impl Engine {
    /// Tells what an answer's headers say of the server's limits (rule I4), as soon as they are there: what is said
    /// at once holds up others before they run into it.
    pub fn head(&mut self, now: Instant, permit: &Permit, learned: &Learned) {
        let now = self.advance(now);
        let Some((slot, place)) = self.find(permit) else {
            return;
        };
        let attempt = &self.calls[slot as usize].out[place];
        let quota = attempt.chain.quota();
        let reserved = attempt
            .reserved
            .map(|Reservation(at)| &self.reserved.all[at as usize]);
        // An attempt that was sent before anything was told is not counted among those that are out.
        let (sight, counted) = reserved
            .and_then(|reserved| Some((reserved.sight?, reserved.cost)))
            .unwrap_or((Sight::NONE, Cost::NOTHING));
        self.learn_at(now, quota, &sight, counted, learned);
    }

    /// What an attempt with this sight was told at its quota. `counted` is what of it the windows have counted as out.
    pub(super) fn learn_at(
        &mut self,
        now: Instant,
        quota: u32,
        sight: &Sight,
        counted: Cost,
        learned: &Learned,
    ) {
        if *learned == Learned::NOTHING {
            return;
        }
        let gate = &mut self.gates[quota as usize];
        let beside = gate.limiter.in_flight().saturating_sub(1);
        let windows = gate.windows.get_or_insert_with(|| Box::new(Windows::new()));
        windows.learn(now, sight, counted, beside, learned);
        self.pump(now, quota);
    }

    /// Whether the rates of gate `number` have room for an attempt of `slot` at a chain that has its quota at `quota`.
    pub(super) fn rate_room(&self, now: Instant, slot: u32, number: u32, quota: u32) -> Room {
        let gate = &self.gates[number as usize];
        let call = &self.calls[slot as usize];
        let cost = call.cost;
        let ours = gate
            .rates
            .as_ref()
            .map_or(Room::Now, |rates| rates.room(now, cost));
        match &gate.windows {
            // A server that has tokens left knows better than our guess whether they are enough.
            Some(windows) if number == quota => ours.and(windows.room(now, cost.without_guess(call.guessed))),
            Some(_) | None => ours,
        }
    }

    /// Keeps room in every rate of a chain for an attempt of `slot`; each was asked for it before. `None` where there
    /// is no rate.
    #[inline(always)]
    pub(super) fn pledge(&mut self, now: Instant, slot: u32, chain: &Chain) -> Option<Reservation> {
        let has_rate = |number: &u32| {
            let gate = &self.gates[*number as usize];
            gate.rates.is_some() || (*number == chain.quota() && gate.windows.is_some())
        };
        let any = chain.gates().iter().any(has_rate);
        any.then(|| self.pledge_at_all(now, slot, chain))
    }

    #[cold]
    fn pledge_at_all(&mut self, now: Instant, slot: u32, chain: &Chain) -> Reservation {
        let cost = self.calls[slot as usize].cost;
        let mut stakes = [Stake::Nothing; CHAIN_MAX];
        for (number, stake) in chain.gates().iter().zip(&mut stakes) {
            if let Some(rates) = &mut self.gates[*number as usize].rates {
                rates.pledge(cost);
                *stake = Stake::Pledged;
            }
        }
        self.reserved.made += 1;
        let ticket = self.reserved.made;
        let windows = &mut self.gates[chain.quota() as usize].windows;
        let sight = windows.as_mut().map(|windows| windows.send(now, ticket, cost));
        self.reserved.put(Reserved {
            chain: *chain,
            cost,
            stakes,
            sight,
        })
    }

    /// What an attempt that is sent along `chain` takes of its rates: what was `pledged` to it, where that was along
    /// the same chain.
    #[inline]
    pub(super) fn reserve(
        &mut self,
        now: Instant,
        slot: u32,
        chain: &Chain,
        pledged: Option<Reservation>,
    ) -> Option<Reservation> {
        let all = &self.reserved.all;
        let reservation = match pledged {
            Some(Reservation(at)) if all[at as usize].chain == *chain => pledged,
            elsewhere => {
                self.settle_reserved(now, elsewhere, |_| Cost::NOTHING);
                self.pledge(now, slot, chain)
            }
        }?;
        let Self { reserved, gates, .. } = self;
        let reserved = &mut reserved.all[reservation.0 as usize];
        for (number, stake) in reserved.chain.gates().iter().zip(&mut reserved.stakes) {
            if let (Some(rates), Stake::Pledged) = (&mut gates[*number as usize].rates, &stake) {
                rates.let_go(reserved.cost);
                *stake = Stake::Taken(rates.reserve(now, reserved.cost));
            }
        }
        Some(reservation)
    }

    /// Ends a reservation: what was used of its cost stays taken, and the rest goes back as far as it is there still.
    #[inline]
    pub(super) fn settle_reserved(
        &mut self,
        now: Instant,
        reservation: Option<Reservation>,
        used: impl FnOnce(Cost) -> Cost,
    ) -> Held {
        let Some(reservation) = reservation else {
            return Held::NOTHING;
        };
        let reserved = self.reserved.take(reservation);
        let (cost, used) = (reserved.cost, used(reserved.cost));
        for (number, stake) in reserved.chain.gates().iter().zip(&reserved.stakes) {
            let rates = &mut self.gates[*number as usize].rates;
            match (rates, stake) {
                (Some(rates), Stake::Pledged) => rates.let_go(cost),
                (Some(rates), Stake::Taken(marks)) => rates.settle(now, marks, cost, used),
                (_, Stake::Nothing) | (None, Stake::Pledged | Stake::Taken(_)) => {}
            }
        }
        let windows = &mut self.gates[reserved.chain.quota() as usize].windows;
        if let (Some(windows), Some(_)) = (windows, reserved.sight) {
            windows.land(now, cost, used);
        }
        Held::RATE
    }
}
