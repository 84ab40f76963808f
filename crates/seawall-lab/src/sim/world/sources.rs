//! Where calls come from.

use super::{Agenda, Event, World};
use crate::sim::luck::{Luck, Purpose, whole};
use crate::sim::model::{Burst, Gaps, Load, Start, Tokens};
use seawall_core::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// A call that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) client: u32,
    pub(crate) nth: u64,
    /// Read and written.
    pub(crate) tokens: (u32, u32),
}

/// A call that was due and waits for a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    due: Instant,
    nth: u64,
}

/// The number of a client's call as an event carries it: a table by client would be read at random, and a million
/// clients do not fit in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nth([u8; 3]);

impl Nth {
    const FIRST: Self = Self([1, 0, 0]);
    /// More than it can say.
    const BEYOND: Self = Self([u8::MAX; 3]);

    fn of(number: u64) -> Self {
        match number.to_le_bytes() {
            [low, middle, high, 0, 0, 0, 0, 0] => Self([low, middle, high]),
            _ => Self::BEYOND,
        }
    }
}

/// The load at work.
#[derive(Debug)]
pub(crate) struct Source<'m> {
    load: &'m Load,
    /// `None` where no call has any, or each has its own.
    tokens: Option<&'m Tokens>,
    luck: Luck,
    horizon: Instant,
    /// Calls that were due so far.
    due: u64,
    /// Of an open load: how much of its rate was used up, in calls.
    gone: f64,
    /// Of a closed load: clients whose next call has a number that an event cannot hold, and that number.
    many: BTreeMap<u32, u64>,
    /// Of a pool: connections that are free, and who waits for one.
    free: Vec<u32>,
    line: VecDeque<Waiting>,
}

impl<'m> Source<'m> {
    pub(crate) fn new(load: &'m Load, tokens: &'m Tokens, luck: Luck, horizon: Duration) -> Self {
        let free = match load {
            Load::Pool { connections, .. } => (0..*connections).rev().collect(),
            Load::Closed { .. } | Load::Open { .. } | Load::Trace { .. } => Vec::new(),
        };
        Self {
            load,
            tokens: Some(tokens).filter(|tokens| **tokens != Tokens::NONE),
            luck,
            horizon: Instant::START.after(horizon),
            due: 0,
            gone: 0.0,
            many: BTreeMap::new(),
            free,
            line: VecDeque::new(),
        }
    }

    /// What waits for a connection takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.line.len() * size_of::<Waiting>()) as u64
    }

    /// When the next call of an open load, a pool or a trace is due; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Instant> {
        let at = match self.load {
            Load::Open {
                per_second,
                gaps,
                bursts,
                ..
            } => self.after_gap(*per_second, *gaps, bursts),
            Load::Pool { per_second, gaps, .. } => self.after_gap(*per_second, *gaps, &[]),
            Load::Trace { calls, .. } => calls.get(usize::try_from(self.due).ok()?)?.at,
            Load::Closed { .. } => return None,
        };
        (at < self.horizon).then_some(at)
    }

    /// When so much of the rate, as many calls as the gap is long at a rate of one, has been used up.
    fn after_gap(&mut self, per_second: f64, gaps: Gaps, bursts: &[Burst]) -> Instant {
        self.gone += match gaps {
            Gaps::Constant => 1.0,
            Gaps::Poisson => self.luck.of(Purpose::Arrival, 0, self.due).exponential(),
        };
        let mut at = Instant::START;
        let mut left = self.gone;
        for burst in bursts {
            let plain = seconds(burst.at.since(at)) * per_second;
            if left <= plain {
                break;
            }
            left -= plain;
            at = burst.at;
            let within = seconds(burst.lasts) * per_second * burst.factor;
            if left <= within {
                return at.after(whole(left / (per_second * burst.factor) * 1e9));
            }
            left -= within;
            at = at.after(burst.lasts);
        }
        at.after(whole(left / per_second * 1e9))
    }

    /// The call that is due now; `None` where it has to wait for a connection.
    pub(crate) fn take(&mut self) -> Option<Next> {
        let nth = self.due;
        self.due += 1;
        match self.load {
            Load::Open { clients, .. } | Load::Trace { clients, .. } => {
                let client = self.luck.of(Purpose::Client, 0, nth).below(*clients);
                let tokens = self.tokens_of(client, nth);
                Some(Next { client, nth, tokens })
            }
            Load::Pool { .. } => {
                let client = self.free.pop()?;
                let tokens = self.tokens_of(client, nth);
                Some(Next { client, nth, tokens })
            }
            Load::Closed { .. } => None,
        }
    }

    /// How many tokens the `nth` call, this client's, reads and writes: drawn for it, or recorded.
    #[inline]
    pub(crate) fn tokens_of(&self, client: u32, nth: u64) -> (u32, u32) {
        match (self.tokens, self.load) {
            (Some(tokens), _) => tokens.of_call(self.luck, self.who(client), nth),
            (None, Load::Trace { calls, .. }) => {
                let call = usize::try_from(nth).ok().and_then(|nth| calls.get(nth));
                call.map_or((0, 0), |call| (call.tokens_in, call.tokens_out))
            }
            (None, Load::Open { .. } | Load::Closed { .. } | Load::Pool { .. }) => (0, 0),
        }
    }

    /// When a client of a closed load first calls.
    pub(crate) fn first_of(&self, client: u32) -> Option<(Nth, Instant)> {
        let Load::Closed { think, start, .. } = self.load else {
            return None;
        };
        let at = match start {
            Start::Together => Instant::START,
            Start::Spread => {
                let mut draws = self.luck.of(Purpose::Think, u64::from(client), 0);
                Instant::START.after(think.draw(&mut draws))
            }
        };
        (at < self.horizon).then_some((Nth::FIRST, at))
    }

    /// Whom the chance of a client's calls is named by. Which connection of a pool is free is no part of a call's luck: it
    /// depends on the policy, and two policies are to meet the same.
    pub(crate) fn who(&self, client: u32) -> u64 {
        match self.load {
            Load::Pool { .. } => 0,
            Load::Open { .. } | Load::Closed { .. } | Load::Trace { .. } => u64::from(client),
        }
    }

    /// The number of the call that a client of a closed load makes now.
    #[inline]
    pub(crate) fn number_of(&mut self, client: u32, nth: Nth) -> u64 {
        match nth {
            Nth::BEYOND => self
                .many
                .remove(&client)
                .expect("what an event cannot hold stands here"),
            Nth([low, middle, high]) => u64::from(u32::from_le_bytes([low, middle, high, 0])),
        }
    }

    /// A client's call is over: when it calls again.
    pub(crate) fn ended(&mut self, client: u32, nth: u64, now: Instant) -> Option<(Nth, Instant)> {
        match self.load {
            Load::Closed {
                think, calls_each, ..
            } => {
                if calls_each.is_some_and(|most| nth >= u64::from(most)) {
                    return None;
                }
                let mut draws = self.luck.of(Purpose::Think, u64::from(client), nth);
                let at = now.after(think.draw(&mut draws));
                if at >= self.horizon {
                    return None;
                }
                let next = Nth::of(nth + 1);
                if next == Nth::BEYOND {
                    self.many.insert(client, nth + 1);
                }
                Some((next, at))
            }
            Load::Pool { .. } => {
                self.free.push(client);
                None
            }
            Load::Open { .. } | Load::Trace { .. } => None,
        }
    }

    /// A call found no connection.
    pub(crate) fn stand_in_line(&mut self, due: Instant) {
        let nth = self.due - 1;
        self.line.push_back(Waiting { due, nth });
    }

    /// Who gets the connection that came free.
    pub(crate) fn next_in_line(&mut self) -> Option<Waiting> {
        if self.line.is_empty() {
            return None;
        }
        self.free.pop()?;
        self.line.pop_front()
    }
}

impl<A: Agenda<Event> + Default> World<'_, A> {
    /// A call that waited has a connection.
    pub(crate) fn begin_waiting(&mut self, connection: u32, waiting: Waiting) {
        let tokens = self.source.tokens_of(connection, waiting.nth);
        self.begin_for(connection, waiting.nth, waiting.due, tokens);
    }
}

fn seconds(length: Duration) -> f64 {
    crate::sim::luck::nanos(length) / 1e9
}
