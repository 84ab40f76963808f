//! Limits of attempts.
//!
//! What can go wrong: a limit of a minute leaves an event on the agenda for a minute, though nearly every attempt is
//! answered in a blink; at a hundred thousand attempts a second that is six million events that nobody needs. First
//! attempts under one policy all have the same limit, so they stand in one line in the order of their ends, and only
//! the line's first is on the agenda. An attempt with another limit has an event of its own.

use super::{Agenda, Event, Life, World};
use seawall_core::time::{Duration, Instant};

/// No attempt.
const NONE: u32 = u32::MAX;

/// The line of a layer's attempts of one limit.
#[derive(Debug)]
pub(super) struct Patience {
    /// The limit that they have; `None` before the first.
    limit: Option<Duration>,
    first: u32,
    last: u32,
    is_armed: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            limit: None,
            first: NONE,
            last: NONE,
            is_armed: false,
        }
    }
}

impl<A: Agenda<Event> + Default> World<'_, A> {
    /// An attempt is given so long.
    pub(super) fn wait_for(&mut self, layer: u8, attempt: u32, life: u32, lasts: Duration) {
        let line = &mut self.layers[usize::from(layer)].patience;
        let limit = *line.limit.get_or_insert(lasts);
        if limit != lasts {
            let at = self.now.after(lasts);
            let life = Life::of(life);
            self.agenda.push(at, Event::LimitPasses { attempt, life });
            return;
        }
        let before = std::mem::replace(&mut line.last, attempt);
        if before == NONE {
            line.first = attempt;
        } else {
            self.attempts.berth(before).after = attempt;
        }
        let berth = self.attempts.berth(attempt);
        (berth.before, berth.after, berth.in_line) = (before, NONE, true);
        let until = berth.attempt.until;
        if !std::mem::replace(&mut line.is_armed, true) {
            self.agenda.push(until, Event::PatienceEnds { layer });
        }
    }

    /// An attempt is waited for no more.
    pub(super) fn wait_no_more(&mut self, attempt: u32) {
        let berth = self.attempts.berth(attempt);
        if !std::mem::replace(&mut berth.in_line, false) {
            return;
        }
        let (before, after, call) = (berth.before, berth.after, berth.attempt.call);
        let layer = self.calls[call].layer;
        let line = &mut self.layers[usize::from(layer)].patience;
        match before {
            NONE => line.first = after,
            before => self.attempts.berth(before).after = after,
        }
        match after {
            NONE => line.last = before,
            after => self.attempts.berth(after).before = before,
        }
    }

    /// The limit of whoever stood first when the line was last looked at has passed.
    pub(super) fn patience_ends(&mut self, layer: u8) {
        loop {
            let line = &mut self.layers[usize::from(layer)].patience;
            if line.first == NONE {
                line.is_armed = false;
                return;
            }
            let first = line.first;
            let until: Instant = self.attempts.berth(first).attempt.until;
            if until > self.now {
                self.agenda.push(until, Event::PatienceEnds { layer });
                return;
            }
            self.limit_passes(first);
        }
    }
}
