//! What happened, in order: one event per verdict and per thing that an attempt or a gate met (rule M1).
//!
//! Events are plain data in a queue that the driver drains: the core never calls out, so nothing runs under its
//! lock. A queue that nobody drains keeps the newest [`EVENTS_MAX`] and says how many it lost.

use crate::breaker::Transition;
use crate::outcome::{Outcome, Sent};
use crate::reason::Reason;
use crate::time::Instant;
use alloc::collections::VecDeque;
use core::fmt;

/// Events that are kept for a driver that is late: 65 536, some megabytes.
pub const EVENTS_MAX: usize = 65_536;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// To which call, in the order of `begin`, from 1; 0 where it is a gate's.
    pub call: u64,
    /// Which attempt of it, from 1; 0 where none was made yet.
    pub attempt: u32,
    /// Which candidate of its route.
    pub candidate: u16,
    /// What.
    pub what: What,
    /// What the call took from its gates by it.
    pub took: Held,
    /// What it gave back.
    pub gave: Held,
}

impl Event {
    /// Something that happened to a gate, and to no call.
    pub(crate) const fn of_gate(at: Instant, what: What) -> Self {
        Self {
            at,
            call: 0,
            attempt: 0,
            candidate: 0,
            what,
            took: Held::NOTHING,
            gave: Held::NOTHING,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A verdict: an attempt is sent, for this reason.
    Sent(Reason),
    /// A verdict: the call waits until this point, for this reason.
    Waits(Reason, Instant),
    /// A verdict: the call is over, for this reason; `true` where its effect is unknown.
    Finished(Reason, bool),
    /// An attempt's first content was handed on.
    Committed,
    /// An attempt ended.
    Met(Outcome),
    /// An attempt was dropped.
    Abandoned(Sent),
    /// A request was sent again inside its attempt (rules D5 and D6).
    Resent,
    /// The caller left.
    Left,
    /// A gate's breaker moved.
    Breaker(u32, Transition),
    /// A gate cools until this point.
    Cooling(u32, Instant),
    /// A credential is not used until this point.
    Latched(u32, Instant),
    /// This many events were lost here, because nobody drained them.
    Lost(u64),
}

/// What a call holds of its gates, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held(u8);

impl Held {
    /// Nothing.
    pub const NOTHING: Self = Self(0);
    /// A place in flight at every gate of its candidate.
    pub const PLACE: Self = Self(1);
    /// A half-open breaker's probe slot.
    pub const PROBE: Self = Self(2);
    /// An extra of the budget.
    pub const CHARGE: Self = Self(4);
    /// A turn in a queue.
    pub const TURN: Self = Self(8);
    /// A part of a rate, or of what a server said was left.
    pub const RATE: Self = Self(16);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// This, where `held`.
    #[must_use]
    pub const fn when(self, held: bool) -> Self {
        if held { self } else { Self::NOTHING }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::PLACE, "place"),
            (Self::PROBE, "probe"),
            (Self::CHARGE, "charge"),
            (Self::TURN, "turn"),
            (Self::RATE, "rate"),
        ];
        let mut first = true;
        for (bit, name) in names {
            if self.0 & bit.0 != 0 {
                if !core::mem::take(&mut first) {
                    f.write_str("+")?;
                }
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Event {
    /// One line: time, call, attempt at candidate, what, the reason's sentence, what was taken and given back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<8}", format_millis(self.at))?;
        if self.call > 0 {
            write!(f, " call {} #{}@{}", self.call, self.attempt, self.candidate)?;
        }
        match self.what {
            What::Sent(reason) => write!(f, " {}", reason.code())?,
            What::Waits(reason, until) => {
                write!(f, " {} until {}", reason.code(), format_millis(until))?;
            }
            What::Finished(reason, unknown) => {
                let unknown = if unknown { " (unknown)" } else { "" };
                write!(f, " {}{unknown}: {reason}", reason.code())?;
            }
            What::Committed => f.write_str(" committed")?,
            What::Met(outcome) => write!(f, " met {}", outcome.name())?,
            What::Abandoned(sent) => write!(f, " abandoned, sent {}", sent.name())?,
            What::Resent => f.write_str(" resent")?,
            What::Left => f.write_str(" cancelled: the caller left")?,
            What::Breaker(gate, transition) => {
                write!(f, " gate {gate} breaker ")?;
                match transition {
                    Transition::Opened { until, flapping, .. } => {
                        let flapping = if flapping { " (flapping)" } else { "" };
                        write!(f, "opened until {}{flapping}", format_millis(until))?;
                    }
                    Transition::HalfOpened => f.write_str("half-opened")?,
                    Transition::Closed => f.write_str("closed")?,
                    Transition::ClosedCautiously => f.write_str("closed with care")?,
                }
            }
            What::Cooling(gate, until) => write!(f, " gate {gate} cools until {}", format_millis(until))?,
            What::Latched(credential, until) => {
                write!(
                    f,
                    " credential {credential} latched until {}",
                    format_millis(until)
                )?;
            }
            What::Lost(count) => write!(f, " {count} events lost")?,
        }
        if self.took != Held::NOTHING {
            write!(f, "  +{}", self.took)?;
        }
        if self.gave != Held::NOTHING {
            write!(f, "  -{}", self.gave)?;
        }
        Ok(())
    }
}

/// A point as milliseconds with the nanoseconds that are not whole ones, so that columns can be read.
fn format_millis(at: Instant) -> Millis {
    Millis(at.as_nanos())
}

struct Millis(u64);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest == 0 {
            return f.pad(&alloc::format!("{whole}ms"));
        }
        let mut width = 6;
        while rest.is_multiple_of(10) {
            rest /= 10;
            width -= 1;
        }
        f.pad(&alloc::format!("{whole}.{rest:0width$}ms"))
    }
}

/// Whether the engine keeps events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// It does; the driver drains them.
    On,
    /// It does not: nobody listens.
    Off,
}

#[derive(Clone, Debug)]
pub(crate) struct Trace {
    events: VecDeque<Event>,
    lost: u64,
    recording: Recording,
}

impl Trace {
    pub(crate) const fn new(recording: Recording) -> Self {
        Self {
            events: VecDeque::new(),
            lost: 0,
            recording,
        }
    }

    /// Whether anybody listens: what nobody hears need not be put together.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        match self.recording {
            Recording::Off => false,
            Recording::On => true,
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        if !self.is_on() {
            return;
        }
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.lost += 1;
        }
        self.events.push_back(event);
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Event> + '_ {
        let at = self.events.front().map_or(Instant::START, |event| event.at);
        let lost = core::mem::take(&mut self.lost);
        let lost = (lost > 0).then_some(Event::of_gate(at, What::Lost(lost)));
        lost.into_iter().chain(self.events.drain(..))
    }
}
