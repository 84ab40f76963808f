//! The same world as one loop around the standard library's binary heap: what a simulator of one's own comes to.

use crate::shop::{
    CLIENTS_EACH, Chance, Counts, FAIL, HOP, PER_SECOND, PROCESSES, Plain, SERVICE_MEAN, WORKERS,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Due,
    Reaches,
    Served,
    Lands,
    Again,
}

#[derive(Clone, Copy)]
struct Call {
    process: u32,
    attempts: u32,
    due: u64,
    is_well: bool,
}

struct World {
    now: u64,
    pushed: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Kind, u32)>>,
    chance: Chance,
    calls: Vec<Call>,
    free: Vec<u32>,
    policies: Vec<Plain>,
    line: VecDeque<u32>,
    working: u32,
    counts: Counts,
}

/// So many seconds of it.
pub fn run(seconds: f64, seed: u64) -> Counts {
    let mut world = World {
        now: 0,
        pushed: 0,
        agenda: BinaryHeap::new(),
        chance: Chance(seed),
        calls: Vec::new(),
        free: Vec::new(),
        policies: vec![Plain::default(); PROCESSES as usize],
        line: VecDeque::new(),
        working: 0,
        counts: Counts::default(),
    };
    let end = nanos(seconds);
    world.plan_next(end);
    while let Some(Reverse((at, _, kind, call))) = world.agenda.pop() {
        world.now = at;
        world.counts.events += 1;
        match kind {
            Kind::Due => world.due(end),
            Kind::Reaches => world.reaches(call),
            Kind::Served => world.served(call),
            Kind::Lands => world.lands(call),
            Kind::Again => world.again(call),
        }
    }
    world.counts
}

impl World {
    fn push(&mut self, after: u64, kind: Kind, call: u32) {
        self.pushed += 1;
        self.agenda
            .push(Reverse((self.now + after, self.pushed, kind, call)));
    }

    fn plan_next(&mut self, end: u64) {
        let gap = nanos(self.chance.exponential(1.0 / PER_SECOND));
        if self.now + gap < end {
            self.push(gap, Kind::Due, 0);
        }
    }

    fn due(&mut self, end: u64) {
        self.plan_next(end);
        let client = self.chance.below(CLIENTS_EACH * PROCESSES);
        let call = Call {
            process: client / CLIENTS_EACH,
            attempts: 0,
            due: self.now,
            is_well: false,
        };
        let number = match self.free.pop() {
            Some(free) => {
                self.calls[free as usize] = call;
                free
            }
            None => {
                self.calls.push(call);
                self.calls.len() as u32 - 1
            }
        };
        if !self.policies[call.process as usize].admits(seconds(self.now)) {
            return self.over(number);
        }
        self.policies[call.process as usize].sent_first();
        self.send(number);
    }

    fn again(&mut self, call: u32) {
        if self.policies[self.calls[call as usize].process as usize].admits(seconds(self.now)) {
            self.send(call);
        } else {
            self.over(call);
        }
    }

    fn send(&mut self, call: u32) {
        self.calls[call as usize].attempts += 1;
        self.push(HOP.as_nanos() as u64, Kind::Reaches, call);
    }

    fn reaches(&mut self, call: u32) {
        self.counts.arrivals += 1;
        if self.working < WORKERS {
            self.work(call);
        } else {
            self.line.push_back(call);
        }
    }

    fn work(&mut self, call: u32) {
        self.working += 1;
        let service = nanos(self.chance.exponential(SERVICE_MEAN.as_secs_f64()));
        self.push(service, Kind::Served, call);
    }

    fn served(&mut self, call: u32) {
        self.working -= 1;
        self.calls[call as usize].is_well = self.chance.unit() > FAIL;
        self.push(HOP.as_nanos() as u64, Kind::Lands, call);
        if let Some(next) = self.line.pop_front() {
            self.work(next);
        }
    }

    fn lands(&mut self, number: u32) {
        let call = self.calls[number as usize];
        let policy = &mut self.policies[call.process as usize];
        if call.is_well {
            policy.answered();
            self.counts.answered += 1;
            return self.over(number);
        }
        match policy.failed(seconds(self.now), call.attempts, &mut self.chance) {
            Some(wait) => self.push(nanos(wait), Kind::Again, number),
            None => self.over(number),
        }
    }

    fn over(&mut self, number: u32) {
        self.counts.calls += 1;
        self.counts.waited += seconds(self.now - self.calls[number as usize].due);
        self.free.push(number);
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
