//! Where in its script a state value is. See [`crate::script`] for the rules of the grammar.

use super::Choice;
use crate::script::{End, Script, Step};
use seawall_core::time::Instant;

/// How far one state value has come in its script.
#[derive(Clone, Debug)]
pub(super) struct Position {
    first: Instant,
    last: Instant,
    step: usize,
    step_began: Instant,
    met: u32,
}

impl Position {
    /// The beginning, at the first attempt.
    pub(super) fn new(script: &Script, now: Instant) -> Self {
        let mut position = Self {
            first: now,
            last: now,
            step: 0,
            step_began: now,
            met: 0,
        };
        position.enter(script, 0, now);
        position
    }

    /// The step, counted from 0.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// What the attempt at `now` meets; moves on.
    pub(super) fn next(&mut self, script: &Script, now: Instant) -> Choice {
        let steps = script.steps();
        let now = now.max(self.last);
        self.last = now;
        let come = |step: &Step| step.at.is_some_and(|at| now >= self.first.after(at));
        // A time that has come takes over, however many steps before it were never met.
        if let Some(later) = steps[self.step + 1..].iter().rposition(come) {
            self.enter(script, self.step + 1 + later, now);
        }
        loop {
            let step = &steps[self.step];
            if now < self.step_began {
                return Choice::Plain;
            }
            let next = steps.get(self.step + 1);
            match (self.end_of(step, next, now), next) {
                (None, _) => {
                    self.met = self.met.saturating_add(1);
                    return Choice::Step(self.step);
                }
                (Some(ended), Some(_)) => self.enter(script, self.step + 1, ended),
                (Some(_), None) => {
                    return match script.end() {
                        End::Repeat => Choice::Step(self.step),
                        End::Stop => Choice::Stop,
                    };
                }
            }
        }
    }

    fn enter(&mut self, script: &Script, step: usize, began: Instant) {
        self.step = step;
        self.met = 0;
        self.step_began = script.steps()[step].at.map_or(began, |at| self.first.after(at));
    }

    /// When the step ended; `None` while it holds.
    fn end_of(&self, step: &Step, next: Option<&Step>, now: Instant) -> Option<Instant> {
        let until = step.length.map(|length| self.step_began.after(length));
        if let Some(until) = until.filter(|until| now >= *until) {
            return Some(until);
        }
        let open = step.length.is_some() || next.is_some_and(|next| next.at.is_some());
        let most = match step.count {
            Some(count) => Some(count.get()),
            None if open => None,
            None => Some(1),
        };
        most.filter(|most| self.met >= *most).map(|_| now)
    }
}
