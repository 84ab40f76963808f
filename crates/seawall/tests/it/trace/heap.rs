//! The bare loop: a heap of events and the engine's own methods, as the simulator calls them.

use super::script::{Happens, Ready, Reload, Script};
use seawall_core::engine::Engine;
use seawall_core::outcome::{Sent, Usage};
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::{Action, CallId, Permit};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug)]
enum Due {
    Begins(usize),
    Leaves(usize),
    Reloads(usize),
    /// The `moment`-th moment of the attempt in `flight`.
    Moment {
        call: usize,
        flight: u64,
        moment: usize,
    },
    /// The time that the call was told, unless it was told another since.
    Asks {
        call: usize,
        told: u64,
    },
}

#[derive(Default)]
struct Seat {
    id: Option<CallId>,
    flights: Vec<(u64, Permit)>,
    told: u64,
    left: bool,
}

struct Heap {
    engine: Engine,
    now: Instant,
    ready: Vec<Ready>,
    reloads: Vec<Reload>,
    seats: Vec<Seat>,
    agenda: BTreeMap<(Instant, u64), Due>,
    order: u64,
    turns: VecDeque<usize>,
}

pub(super) fn run(script: &Script, seed: u64) -> Vec<String> {
    let (engine, ready, reloads) = script.begin(seed);
    let seats = ready.iter().map(|_| Seat::default()).collect();
    let mut heap = Heap {
        engine,
        now: Instant::START,
        ready,
        reloads,
        seats,
        agenda: BTreeMap::new(),
        order: 0,
        turns: VecDeque::new(),
    };
    for (call, script) in script.calls.iter().enumerate() {
        match script.at {
            Instant::START => heap.happen(Due::Begins(call)),
            at => heap.schedule(at, Due::Begins(call)),
        }
    }
    for (call, at) in &script.leaves {
        heap.schedule(*at, Due::Leaves(*call));
    }
    for reload in 0..heap.reloads.len() {
        heap.schedule(heap.reloads[reload].at, Due::Reloads(reload));
    }
    while let Some(((at, _), due)) = heap.agenda.pop_first() {
        heap.now = heap.now.max(at);
        heap.happen(due);
        while let Some(call) = heap.turns.pop_front() {
            heap.turn(call);
        }
    }
    heap.engine.drain().map(|event| event.to_string()).collect()
}

impl Heap {
    fn schedule(&mut self, at: Instant, due: Due) {
        self.order += 1;
        self.agenda.insert((at, self.order), due);
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Begins(call) => {
                let id = self.engine.begin(self.now, self.ready[call].spec(self.now));
                self.seats[call].id = Some(id);
                self.ask(call);
            }
            Due::Leaves(call) => self.kill(call),
            Due::Reloads(reload) => {
                self.reloads[reload].happen(&mut self.engine, self.now);
                self.pass_on();
            }
            Due::Moment { call, flight, moment } => self.moment(call, flight, moment),
            Due::Asks { call, told } => {
                if self.seats[call].told == told && self.seats[call].id.is_some() {
                    self.pass_on();
                    if !self.turns.contains(&call) {
                        self.ask(call);
                    }
                }
            }
        }
    }

    fn kill(&mut self, call: usize) {
        self.seats[call].left = true;
        self.line_up(call);
    }

    fn line_up(&mut self, call: usize) {
        if !self.turns.contains(&call) {
            self.turns.push_back(call);
        }
    }

    fn leave(&mut self, call: usize) {
        let seat = &mut self.seats[call];
        let Some(id) = seat.id.take() else { return };
        for (_, permit) in std::mem::take(&mut seat.flights) {
            self.engine.abandon(self.now, permit, Sent::Maybe, Usage::NONE);
            self.pass_on();
        }
        self.engine.end(self.now, id);
        self.pass_on();
    }

    fn moment(&mut self, call: usize, flight: u64, moment: usize) {
        let seat = &mut self.seats[call];
        let Some(place) = seat.flights.iter().position(|(it, _)| *it == flight) else {
            return;
        };
        let number = seat.flights[place].1.attempt();
        match self.ready[call].attempt(number)[moment].what {
            Happens::Commits => {
                let (_, permit) = &seat.flights[place];
                self.engine.commit(self.now, permit);
                self.pass_on();
                self.fly(call, flight, number, moment + 1);
            }
            Happens::Tells(learned) => {
                let (_, permit) = &seat.flights[place];
                self.engine.head(self.now, permit, &learned);
                self.pass_on();
                self.fly(call, flight, number, moment + 1);
            }
            Happens::Kills(other) => {
                self.kill(other);
                self.fly(call, flight, number, moment + 1);
            }
            Happens::Lands(report) => {
                let (_, permit) = seat.flights.remove(place);
                self.engine.settle(self.now, permit, report);
                self.ask(call);
            }
        }
    }

    fn fly(&mut self, call: usize, flight: u64, number: u32, moment: usize) {
        let after = self.ready[call].attempt(number)[moment].after;
        if after == Duration::ZERO {
            return self.moment(call, flight, moment);
        }
        self.schedule(self.now + after, Due::Moment { call, flight, moment });
    }

    /// A call whose turn it is asks, or leaves.
    fn turn(&mut self, call: usize) {
        if self.seats[call].left {
            self.leave(call);
        } else if self.seats[call].id.is_some() {
            self.ask(call);
        }
    }

    /// Polls until the call has something to wait for.
    fn ask(&mut self, call: usize) {
        let Some(id) = self.seats[call].id else { return };
        self.seats[call].told += 1;
        let told = self.seats[call].told;
        let verdict = self.engine.poll(self.now, id);
        self.pass_on();
        match verdict.action {
            Action::Send(permit) => {
                self.order += 1;
                let (flight, number) = (self.order, permit.attempt());
                self.seats[call].flights.push((flight, permit));
                self.fly(call, flight, number, 0);
                self.ask(call);
            }
            Action::InFlight {
                lost: Some(attempt), ..
            } => {
                let flights = &mut self.seats[call].flights;
                let place = flights.iter().position(|(_, permit)| permit.attempt() == attempt);
                let (_, permit) = flights.remove(place.expect("what lost is out"));
                self.engine.abandon(self.now, permit, Sent::Maybe, Usage::NONE);
                self.pass_on();
                self.ask(call);
            }
            Action::InFlight {
                hedge_at: Some(at), ..
            } => self.schedule(at, Due::Asks { call, told }),
            Action::InFlight { hedge_at: None, .. } => {}
            Action::Wait(at) => self.schedule(at, Due::Asks { call, told }),
            Action::Park { until } => self.schedule(until, Due::Asks { call, told }),
            Action::Finish { .. } => {
                for (_, permit) in std::mem::take(&mut self.seats[call].flights) {
                    self.engine.abandon(self.now, permit, Sent::Maybe, Usage::NONE);
                    self.pass_on();
                }
                self.seats[call].id = None;
                self.engine.end(self.now, id);
                self.pass_on();
            }
        }
    }

    /// Those that were woken ask in turn.
    fn pass_on(&mut self) {
        while let Some(id) = self.engine.woken(self.now) {
            let call = self.seats.iter().position(|seat| seat.id == Some(id));
            self.line_up(call.expect("a woken call has a seat"));
        }
    }
}
