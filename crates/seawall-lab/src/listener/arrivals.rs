//! Which connection meets what, and when the port itself is closed.
//!
//! What can go wrong: whoever is refused is never seen, so a position that moves only when somebody comes would keep a
//! closed port closed for ever. So the times of a listener's script count from its start, not from the first arrival, and
//! a step that is spent gives way at once. What is left to arrivals is counting those that are seen.

use crate::script::listener::{ListenerScript, Reception, Welcome};
use crate::script::{End, Step};
use seawall_core::time::Instant;

/// How far a listener has come in its script.
#[derive(Clone, Debug)]
pub struct Arrivals {
    began: Instant,
    last: Instant,
    step: usize,
    step_began: Instant,
    met: u32,
}

/// What a connection meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// This.
    Met(Reception),
    /// No step holds now: it is served.
    Plain,
    /// The script has stopped: accepted, then closed without a byte.
    Stop,
}

/// Whether the port takes connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// It does; look again at this time, or after an arrival.
    Open(Instant),
    /// The system refuses them; look again at this time.
    Shut(Instant),
}

impl Arrivals {
    /// The beginning of a script.
    pub fn new(script: &ListenerScript, now: Instant) -> Self {
        let mut arrivals = Self {
            began: now,
            last: now,
            step: 0,
            step_began: now,
            met: 0,
        };
        arrivals.enter(script, 0, now);
        arrivals
    }

    /// What the connection that was accepted at `now` meets; moves on.
    pub fn next(&mut self, script: &ListenerScript, now: Instant) -> Arrival {
        let now = self.settle(script, now);
        if now < self.step_began {
            return Arrival::Plain;
        }
        let step = &script.steps()[self.step];
        if self.is_spent(script, now) && script.end() == End::Stop {
            return Arrival::Stop;
        }
        self.met = self.met.saturating_add(1);
        let met = Arrival::Met(step.action);
        self.settle(script, now);
        met
    }

    /// Whether the port takes connections at `now`.
    pub fn door(&mut self, script: &ListenerScript, now: Instant) -> Door {
        let now = self.settle(script, now);
        let steps = script.steps();
        let (step, later) = (&steps[self.step], &steps[self.step + 1..]);
        let ends = step.length.map(|length| self.step_began.after(length));
        let begins = later
            .iter()
            .filter_map(|later| later.at)
            .map(|at| self.began.after(at));
        let until = begins
            .chain(ends)
            .chain([self.step_began])
            .filter(|change| *change > now)
            .min()
            .unwrap_or(Instant::NEVER);
        let stopped = self.is_spent(script, now) && script.end() == End::Stop;
        let shut = step.action.welcome == Welcome::Refuse
            && most(script, self.step).is_none()
            && now >= self.step_began
            && !stopped;
        match shut {
            true => Door::Shut(until),
            false => Door::Open(until),
        }
    }

    /// Moves past what is over at `now`.
    fn settle(&mut self, script: &ListenerScript, now: Instant) -> Instant {
        let steps = script.steps();
        let now = now.max(self.last);
        self.last = now;
        let come = |step: &Step<Reception>| step.at.is_some_and(|at| now >= self.began.after(at));
        // A time that has come takes over, however many steps before it were never met.
        if let Some(later) = steps[self.step + 1..].iter().rposition(come) {
            self.enter(script, self.step + 1 + later, now);
        }
        while self.step + 1 < steps.len() && self.is_spent(script, now) {
            let until = steps[self.step]
                .length
                .map(|length| self.step_began.after(length));
            let ended = until.filter(|until| *until <= now).unwrap_or(now);
            self.enter(script, self.step + 1, ended);
        }
        now
    }

    fn enter(&mut self, script: &ListenerScript, step: usize, began: Instant) {
        self.step = step;
        self.met = 0;
        self.step_began = script.steps()[step].at.map_or(began, |at| self.began.after(at));
    }

    fn is_spent(&self, script: &ListenerScript, now: Instant) -> bool {
        let length = script.steps()[self.step].length;
        let timed_out = length.is_some_and(|length| now >= self.step_began.after(length));
        timed_out || most(script, self.step).is_some_and(|most| self.met >= most)
    }
}

/// How many connections a step is for; `None` for one that holds for a time, or for good.
fn most(script: &ListenerScript, nth: usize) -> Option<u32> {
    let (step, next) = (&script.steps()[nth], script.steps().get(nth + 1));
    let holds = match next {
        Some(next) => next.at.is_some(),
        None => script.end() == End::Repeat,
    };
    match step.count {
        Some(count) => Some(count.get()),
        None if step.length.is_some() || holds => None,
        None => Some(1),
    }
}

#[cfg(test)]
mod tests;
