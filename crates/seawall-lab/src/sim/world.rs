//! One run: an agenda, the callers with the engines that run live, and the servers.
//!
//! What can go wrong: a simulator has a policy of its own that resembles the product's, and then shows what that would
//! do. So nothing here decides: a call is opened, polled, settled, committed and ended by the very methods that the
//! async and the blocking loop call, in the same order, and the trace of a world with few callers is, line for line,
//! the trace of a live run on a cranked clock.
//!
//! Every result of an attempt comes by way of the agenda, also where it takes no time, so that nothing recurses and
//! events of one time keep their order.

mod callers;
mod fleet;
mod patience;
pub(crate) mod sources;

use super::agenda::Agenda;
use super::bounds::{Bounds, HowFar, Look, bins_bytes};
use super::luck::{Draws, Luck, Purpose};
use super::model::{Contender, Load, Model, Outage, Server, Spread, Told, Trouble};
use super::server::{Desk, Fate, Taken, Ticket};
use super::tally::Tally;
use callers::{Attempt, Attempts, Call, Calls};
use fleet::Fleet;
use patience::Patience;
use seawall_core::time::Instant;
use seawall_core::trace;
use sources::{Nth, Source, Waiting};
use std::collections::VecDeque;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The load's next call is due.
    Due,
    /// A client of a closed load calls.
    Calls { client: u32, nth: Nth },
    /// An attempt reaches what its layer calls.
    Reaches { attempt: u32, life: Life },
    /// A server has finished a job.
    Served { server: u16, job: u32 },
    /// The first byte of an attempt's answer leaves its server.
    Speaks { attempt: u32, life: Life },
    /// It reaches its caller.
    Hears { attempt: u32, life: Life },
    /// The write of an optimistic attempt reaches its server.
    Writes { server: u16, job: u32 },
    /// What an attempt came to reaches its caller.
    Lands { attempt: u32, life: Life },
    /// An attempt's limit passes.
    LimitPasses { attempt: u32, life: Life },
    /// The limit of the longest first attempts of a layer passes.
    PatienceEnds { layer: u8 },
    /// A call was told to ask at this time, unless it was told another since.
    Asks { call: u32, told: Life },
    /// A server's stall is over.
    Resumes { server: u16 },
    /// A bin begins: how the gates stand is written down.
    Looks,
}

/// Which of those that have had a place, one after the other, is meant. In 24 bits, so that an event takes eight bytes
/// and its time as many; a place that has had so many is given to nobody any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life([u8; 3]);

impl Life {
    /// The first number that is none's.
    const END: u32 = 1 << 24;

    #[inline]
    fn of(number: u32) -> Self {
        let [low, middle, high, over] = number.to_le_bytes();
        assert!(over == 0, "a place is given up before its lives run out");
        Self([low, middle, high])
    }

    #[inline]
    const fn number(self) -> u32 {
        let [low, middle, high] = self.0;
        u32::from_le_bytes([low, middle, high, 0])
    }
}

/// What came of letting the next thing happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    On,
    /// The same, and the run has looked at itself.
    Looked,
    /// Nothing is left, or it is too much.
    Over,
}

/// A run of one contender in a model.
#[derive(Debug)]
pub(super) struct World<'m, A> {
    model: &'m Model,
    luck: Luck,
    now: Instant,
    agenda: A,
    source: Source<'m>,
    layers: Vec<LayerAtWork<'m>>,
    calls: Calls,
    attempts: Attempts,
    desks: Vec<Desk<&'m Server>>,
    /// Calls that were woken, and how often they had been told what to do; they have not asked yet.
    woken: VecDeque<(u32, u32)>,
    /// Whether those are being asked now.
    passing_on: bool,
    /// Connections of a pool that came free, each with who gets it now.
    next: VecDeque<(u32, Waiting)>,
    tally: Tally,
    bounds: Bounds,
}

/// The callers of one layer: clients, or what stands between them and the servers.
#[derive(Debug)]
struct LayerAtWork<'m> {
    fleet: Fleet<'m>,
    patience: Patience,
    /// Whether the layer below it is told of its attempts.
    told: Told,
}

impl<'m, A: Agenda<Event> + Default> World<'m, A> {
    /// A world in which nothing has happened yet.
    pub(super) fn new(
        model: &'m Model,
        contender: &'m Contender,
        seed: u64,
        recording: trace::Recording,
    ) -> Self {
        let luck = Luck::new(seed);
        let gates = match model.spread {
            Spread::Route | Spread::ShardsOwnGates => model.servers.len(),
            Spread::ShardsOneGate => 1,
        };
        let fleets = Fleet::all(model, contender, luck, gates, recording);
        let below = model.layers.iter().map(|layer| layer.told).chain([Told::Nothing]);
        let layers: Vec<LayerAtWork<'m>> = fleets
            .into_iter()
            .zip(below)
            .map(|(fleet, told)| LayerAtWork {
                patience: Patience::default(),
                fleet,
                told,
            })
            .collect();
        let numbered = (0_u64..).zip(&model.servers);
        let desks: Vec<Desk<&'m Server>> = numbered
            .map(|(number, server)| {
                let outages = server.outages_in(luck, number, model.horizon);
                Desk::new(server, outages, luck)
            })
            .collect();
        let outages: Vec<Outage> = desks.iter().flat_map(Desk::outages).copied().collect();
        let mut world = Self {
            luck,
            now: Instant::START,
            agenda: A::default(),
            source: Source::new(&model.load, &model.tokens, luck, model.horizon),
            layers,
            calls: Calls::default(),
            attempts: Attempts::default(),
            desks,
            woken: VecDeque::new(),
            passing_on: false,
            next: VecDeque::new(),
            tally: Tally::of_layers(model.layers.len() + 1),
            bounds: Bounds::new(model, contender, &outages),
            model,
        };
        world.set_out();
        world
    }

    /// Runs to the end: no call begins after the horizon, and those that are there go on to theirs. `watch` hears now and
    /// then how far it is.
    pub(super) fn run(mut self, mut watch: impl FnMut(HowFar)) -> Tally {
        self.pass(&mut watch);
        self.tally.sum_up();
        self.tally
    }

    /// The same, and what the engines wrote down, process by process.
    pub(super) fn run_traced(mut self) -> (Tally, Vec<Vec<trace::Event>>) {
        self.pass(&mut |_far| {});
        self.tally.sum_up();
        let fleets = self.layers.iter_mut().map(|layer| &mut layer.fleet);
        (self.tally, fleets.flat_map(Fleet::drain).collect())
    }

    /// Lets everything happen.
    fn pass(&mut self, watch: &mut impl FnMut(HowFar)) {
        loop {
            match self.step() {
                Step::On => {}
                Step::Looked => {
                    if let Some(far) = self.bounds.told(self.now) {
                        watch(far);
                    }
                }
                Step::Over => return,
            }
        }
    }

    /// Lets the next thing happen.
    #[inline]
    fn step(&mut self) -> Step {
        let Some((at, event)) = self.agenda.pop() else {
            return Step::Over;
        };
        self.now = at;
        let look = self.bounds.steps();
        if look == Look::Now {
            let bytes = self.bytes();
            self.tally.overran = self.tally.overran.or_else(|| self.bounds.broken(at, bytes));
            if self.tally.overran.is_some() {
                return Step::Over;
            }
        }
        match event {
            Event::Due => self.due(),
            Event::Calls { client, nth } => self.call_again(client, nth),
            Event::Reaches { attempt, life } => {
                // Its caller may have left on the way; the message arrives all the same.
                if self.attempts.is_out(attempt, life.number()) {
                    self.tally.events += 1;
                    self.reaches(attempt, life.number());
                }
            }
            Event::Served { server, job } => self.served(server, job),
            Event::Speaks { attempt, life } => self.speaks(attempt, life),
            Event::Hears { attempt, life } => self.hears(attempt, life),
            Event::Writes { server, job } => self.writes(server, job),
            Event::Lands { attempt, life } => self.lands(attempt, life.number()),
            Event::LimitPasses { attempt, life } => {
                // An answer that has begun has another limit.
                let out = self.attempts.get(attempt, life.number());
                if out.is_some_and(|out| out.until <= at) {
                    self.limit_passes(attempt);
                }
            }
            Event::PatienceEnds { layer } => self.patience_ends(layer),
            Event::Asks { call, told } => {
                if self.calls.is_told(call, told.number()) {
                    self.tally.events += 1;
                    self.turn_comes(call, told.number());
                }
            }
            Event::Resumes { server } => self.work_on(server),
            Event::Looks => self.look(),
        }
        while let Some((connection, waiting)) = self.next.pop_front() {
            self.begin_waiting(connection, waiting);
        }
        match look {
            Look::Now => Step::Looked,
            Look::Later => Step::On,
        }
    }

    /// What is there at once, in bytes, roughly: what grows without end in a world that is too much.
    fn bytes(&self) -> u64 {
        let desks = self.desks.iter().map(Desk::bytes).sum::<u64>();
        let events = self.agenda.len() * (size_of::<Event>() + size_of::<u64>());
        let bins = bins_bytes(self.tally.bins.len());
        self.calls.bytes() + self.attempts.bytes() + self.source.bytes() + desks + events as u64 + bins
    }

    fn set_out(&mut self) {
        match &self.model.load {
            Load::Open { .. } | Load::Pool { .. } | Load::Trace { .. } => self.plan_next(),
            Load::Closed { clients, .. } => {
                for client in 0..*clients {
                    if let Some((nth, at)) = self.source.first_of(client) {
                        self.agenda.push(at, Event::Calls { client, nth });
                    }
                }
            }
        }
        for (number, desk) in (0_u16..).zip(&self.desks) {
            let stalls = desk.outages().iter();
            for outage in stalls.filter(|outage| outage.how == Trouble::Hang) {
                let over = outage.at.after(outage.lasts);
                self.agenda.push(over, Event::Resumes { server: number });
            }
        }
        if self.layers.iter().any(|layer| layer.fleet.has_breakers()) {
            self.agenda.push(Instant::START, Event::Looks);
        }
    }

    fn plan_next(&mut self) {
        if let Some(at) = self.source.next() {
            self.agenda.push(at, Event::Due);
        }
    }

    /// The load's next call is due.
    fn due(&mut self) {
        self.tally.events += 1;
        let arrival = self.source.take();
        self.plan_next();
        self.tally.bin(self.now).due += 1;
        match arrival {
            Some(call) => {
                self.begin_for(call.client, call.nth, self.now, call.tokens);
            }
            None => self.source.stand_in_line(self.now),
        }
    }

    fn call_again(&mut self, client: u32, nth: Nth) {
        let nth = self.source.number_of(client, nth);
        self.tally.events += 1;
        self.tally.bin(self.now).due += 1;
        let tokens = self.source.tokens_of(client, nth);
        self.begin_for(client, nth, self.now, tokens);
    }

    /// A client's call, due at `due`, begins now.
    fn begin_for(&mut self, client: u32, nth: u64, due: Instant, tokens: (u32, u32)) {
        let shard = match self.model.spread {
            Spread::Route => 0,
            Spread::ShardsOneGate | Spread::ShardsOwnGates => {
                let servers = u32::try_from(self.desks.len()).expect("few servers");
                self.luck
                    .of(Purpose::Shard, self.source.who(client), nth)
                    .below(servers)
            }
        };
        let process = self.layers[0].fleet.process_of(client);
        let call = Call {
            layer: 0,
            process,
            client,
            who: self.source.who(client),
            nth,
            shard: u16::try_from(shard).expect("few servers"),
            tokens,
            due,
            began: self.now,
            ..Call::VACANT
        };
        self.begin(call, 1);
    }

    /// An attempt has reached what its layer calls: a server, or the next layer.
    fn reaches(&mut self, attempt: u32, life: u32) {
        let Some(out) = self.attempts.get(attempt, life).copied() else {
            return;
        };
        let call = self.calls[out.call];
        let layer = usize::from(call.layer);
        if layer + 1 < self.layers.len() {
            return self.pass_down(attempt, life, &out, &call);
        }
        let server = self.server_of(&out, &call);
        let ticket = Ticket {
            who: call.who,
            nth: call.nth,
            attempt: out.number,
            tokens_in: call.tokens.0,
            tokens_out: call.tokens.1,
            is_counted: self.counts(&call),
            tokens_out_max: self.model.tokens.charged(call.tokens.1),
            until: out.until,
        };
        let name = u64::from(life) << 32 | u64::from(attempt);
        let taken = self.desks[usize::from(server)].take(self.now, name, ticket);
        match taken {
            Taken::Read { job } => {
                let there = self.hop(attempt);
                let back = self.hop(attempt);
                let at = self.now.after(there).after(back);
                self.agenda.push(at, Event::Writes { server, job });
                // Its caller may leave before the write is there; it has reached the server all the same.
                self.count_arrival(&call, &out);
                return;
            }
            Taken::Over(Fate::Refused) => self.count_unreached(&call),
            Taken::Over(_) | Taken::Works { .. } | Taken::Waits { .. } => self.count_arrival(&call, &out),
        }
        match taken {
            Taken::Over(fate) => self.reply(name, fate),
            Taken::Works { job, until } => {
                self.agenda.push(until, Event::Served { server, job });
                if let Some((name, at)) = self.desks[usize::from(server)].speaks_at(job, until) {
                    let (attempt, life) = halves(name);
                    let life = Life::of(life);
                    self.agenda.push(at, Event::Speaks { attempt, life });
                }
            }
            Taken::Waits { .. } | Taken::Read { .. } => {}
        }
    }

    fn server_of(&self, out: &Attempt, call: &Call) -> u16 {
        match self.model.spread {
            Spread::Route => out.candidate,
            Spread::ShardsOneGate | Spread::ShardsOwnGates => call.shard,
        }
    }

    /// The first byte of an answer is ready, unless a stall keeps it.
    #[inline(never)]
    fn speaks(&mut self, attempt: u32, life: Life) {
        let Some(out) = self.attempts.get(attempt, life.number()).copied() else {
            return;
        };
        let server = self.server_of(&out, &self.calls[out.call]);
        if let Some(later) = self.desks[usize::from(server)].held_up(self.now) {
            self.agenda.push(later, Event::Speaks { attempt, life });
            return;
        }
        self.tally.events += 1;
        let at = self.now.after(self.hop(attempt));
        self.agenda.push(at, Event::Hears { attempt, life });
    }

    fn served(&mut self, server: u16, job: u32) {
        let desk = &mut self.desks[usize::from(server)];
        if let Some(later) = desk.held_up(self.now) {
            self.agenda.push(later, Event::Served { server, job });
            return;
        }
        self.tally.events += 1;
        let done = desk.finish(job);
        let (attempt, life) = halves(done.job.attempt);
        self.tally.worked = self.tally.worked.plus(done.worked);
        if !self.attempts.is_out(attempt, life) {
            self.tally.orphaned = self.tally.orphaned.plus(done.worked);
        }
        if done.is_billed() {
            self.bill(server, &done.job.ticket);
        }
        self.reply(done.job.attempt, done.fate);
        self.work_on(server);
    }

    /// Free workers take what waits.
    fn work_on(&mut self, server: u16) {
        let Self {
            desks,
            attempts,
            agenda,
            ..
        } = self;
        let desk = &mut desks[usize::from(server)];
        while let Some((job, until)) = desk.start_next(self.now, |name| {
            let (attempt, life) = halves(name);
            attempts.is_out(attempt, life)
        }) {
            agenda.push(until, Event::Served { server, job });
            if let Some((name, at)) = desk.speaks_at(job, until) {
                let (attempt, life) = halves(name);
                let life = Life::of(life);
                agenda.push(at, Event::Speaks { attempt, life });
            }
        }
    }

    fn writes(&mut self, server: u16, job: u32) {
        self.tally.events += 1;
        let done = self.desks[usize::from(server)].write(job);
        self.reply(done.job.attempt, done.fate);
    }

    /// Sends what an attempt came to back to its caller, where one still waits.
    fn reply(&mut self, name: u64, fate: Fate) {
        let (attempt, life) = halves(name);
        if let Some(out) = self.attempts.get_mut(attempt, life) {
            out.fate = fate;
            let at = self.now.after(self.hop(attempt));
            let life = Life::of(life);
            self.agenda.push(at, Event::Lands { attempt, life });
        }
    }

    /// How long the next message of this attempt is on its way.
    #[inline]
    fn hop(&mut self, attempt: u32) -> seawall_core::time::Duration {
        self.model.hop.draw(self.attempts.hops(attempt))
    }

    fn hops_of(&self, call: &Call, number: u32) -> Draws {
        self.luck.of_attempt(Purpose::Hop, call.who, call.nth, number)
    }

    /// An attempt has reached a server.
    fn count_arrival(&mut self, call: &Call, out: &Attempt) {
        let is_extra = call.is_extra || out.number > 1;
        self.count_reached(call);
        let bin = self.tally.bin(self.now);
        bin.arrivals += 1;
        bin.extras += u32::from(is_extra);
        if self.counts(call) {
            self.tally.arrivals += 1;
            self.tally.extras += u64::from(is_extra);
        }
    }

    /// An attempt has reached what its layer calls.
    fn count_reached(&mut self, call: &Call) {
        self.tally.by_layer[usize::from(call.layer)] += u64::from(self.counts(call));
    }

    fn count_unreached(&mut self, call: &Call) {
        self.tally.unreached += u64::from(self.counts(call));
    }

    fn bill(&mut self, server: u16, ticket: &Ticket) {
        if !ticket.is_counted {
            return;
        }
        let price = self.model.servers[usize::from(server)].price;
        self.tally.bill(price, ticket.tokens_in, ticket.tokens_out);
    }

    /// Whether the call was due after the warm-up.
    fn counts(&self, call: &Call) -> bool {
        call.due.as_nanos() >= self.model.warmup.as_nanos()
    }

    fn look(&mut self) {
        let open: u32 = self
            .layers
            .iter_mut()
            .map(|layer| layer.fleet.open_gates(self.now))
            .sum();
        self.tally.bin(self.now).open_gates = open;
        if self.now.as_nanos() < self.model.horizon.as_nanos() {
            self.agenda.push(self.now.after(super::tally::BIN), Event::Looks);
        }
    }
}

/// The attempt and its life, from the name that a server knows it by.
#[expect(clippy::cast_possible_truncation, reason = "the two halves are what is meant")]
const fn halves(name: u64) -> (u32, u32) {
    (name as u32, (name >> 32) as u32)
}

#[cfg(test)]
mod tests;
