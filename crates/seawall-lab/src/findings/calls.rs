//! Which attempts are one call.
//!
//! What can go wrong: by its body alone, a call with a fresh timestamp is a new call at every attempt, and three calls
//! with one prompt are one. So attempts are put together by the best that is known of them, in this order:
//!
//! 1. **named**: whoever kept the log knew whose call it is;
//! 2. **keyed**: the same idempotency key, at the same method and path;
//! 3. **same body**: the same bytes, after an attempt that met no good answer;
//! 4. **same shape**: bodies that differ only in what is made anew each time, after an attempt that met no good answer.
//!
//! A call that had its answer is over: the same body after that is another call, unless the key says it is not. An
//! attempt that comes while all that look like it are still being answered is another call too: two equal calls side by
//! side are more common than a client that overlaps with itself, and where it matters the log can name its calls. Of
//! several that fit, the one that has waited longest is continued.
//!
//! What this does not see: a client that changes the words of a body between attempts, unless they are named or keyed.

use super::log::{Attempt, Met};
use seawall_core::time::Duration;

/// One call, as far as a server can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSeen {
    /// The places of its attempts in the log, in order; never empty.
    pub places: Vec<usize>,
    /// The weakest reason for which any of its attempts was put with it.
    pub by: Likeness,
}

impl CallSeen {
    /// Its attempts, in order.
    pub fn of<'a>(&'a self, attempts: &'a [Attempt]) -> impl ExactSizeIterator<Item = &'a Attempt> + Clone {
        self.places.iter().map(|place| &attempts[*place])
    }

    /// All its waits, from the end of one attempt to the next; `None` where that one had not ended.
    pub fn waits(&self, attempts: &[Attempt]) -> Vec<Option<Duration>> {
        let wait = |pair: &[usize]| {
            let (before, next) = (&attempts[pair[0]], &attempts[pair[1]]);
            let over = before.over().filter(|over| *over <= next.at)?;
            Some(next.at.since(over))
        };
        self.places.windows(2).map(wait).collect()
    }

    /// The waits of its own choice, from its beginning: those after answers that told no hint and refused nothing. The
    /// first that is not of its own choice, or that cannot be told, ends them.
    pub fn own_waits(&self, attempts: &[Attempt]) -> Vec<Wait> {
        let pairs = self.places.windows(2);
        pairs
            .map_while(|pair| {
                let (before, next) = (&attempts[pair[0]], &attempts[pair[1]]);
                let own = before.hint.is_none() && before.met() != Met::Refused;
                let over = before.over().filter(|over| own && *over <= next.at)?;
                Some(Wait {
                    before: pair[1],
                    length: next.at.since(over),
                })
            })
            .collect()
    }

    fn last<'a>(&self, attempts: &'a [Attempt]) -> &'a Attempt {
        let place = self.places.last().expect("a call has its first attempt");
        &attempts[*place]
    }
}

/// A wait between two attempts of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The place of the attempt that ended it.
    pub before: usize,
    /// From the end of the attempt before it.
    pub length: Duration,
}

/// Why an attempt was put with the ones before it, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// The log said so; also a call of one attempt.
    Named,
    /// The same idempotency key.
    Key,
    /// The same body.
    Body,
    /// A body that differs only in what is made anew each time.
    Shape,
}

impl Likeness {
    /// How reports say it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::Key => "same key",
            Self::Body => "same body",
            Self::Shape => "like bodies",
        }
    }
}

/// Puts the attempts of a log together into calls, in the order of their first attempts.
pub fn calls(attempts: &[Attempt]) -> Vec<CallSeen> {
    let mut calls: Vec<CallSeen> = Vec::new();
    for (place, attempt) in attempts.iter().enumerate() {
        let found = calls
            .iter()
            .enumerate()
            .filter_map(|(call, seen)| {
                let likeness = likeness(seen, attempts, attempt)?;
                Some((likeness, seen.last(attempts).over(), call))
            })
            .min();
        match found {
            Some((likeness, _, call)) => {
                calls[call].places.push(place);
                calls[call].by = calls[call].by.max(likeness);
            }
            None => calls.push(CallSeen {
                places: vec![place],
                by: Likeness::Named,
            }),
        }
    }
    calls
}

/// All attempts at one method and path as one call each, in the order of their first attempts: where it is known that a
/// client makes one call.
pub fn calls_by_path(attempts: &[Attempt]) -> Vec<CallSeen> {
    let mut calls: Vec<CallSeen> = Vec::new();
    for (place, attempt) in attempts.iter().enumerate() {
        let here = |call: &&mut CallSeen| {
            let last = call.last(attempts);
            last.method == attempt.method && last.path == attempt.path
        };
        match calls.iter_mut().find(here) {
            Some(call) => call.places.push(place),
            None => calls.push(CallSeen {
                places: vec![place],
                by: Likeness::Named,
            }),
        }
    }
    calls
}

/// Whether an attempt continues a call, and by what.
fn likeness(call: &CallSeen, attempts: &[Attempt], attempt: &Attempt) -> Option<Likeness> {
    let last = call.last(attempts);
    if last.call.is_some() || attempt.call.is_some() {
        return (last.call == attempt.call).then_some(Likeness::Named);
    }
    if last.method != attempt.method || last.path != attempt.path {
        return None;
    }
    let mut keys = call.of(attempts).filter_map(|seen| seen.key.as_ref());
    if attempt.key.is_some() && keys.any(|key| Some(key) == attempt.key.as_ref()) {
        return Some(Likeness::Key);
    }
    let over = last.over().is_some_and(|over| over <= attempt.at);
    if !over || last.met() == Met::Answered {
        return None;
    }
    match (last.body, attempt.body) {
        (None, None) => Some(Likeness::Body),
        (Some(one), Some(other)) if one.exact == other.exact => Some(Likeness::Body),
        // After a refusal a client that goes on with its next item sends a body much like the last.
        (Some(one), Some(other)) if one.shape == other.shape && last.met() != Met::Refused => {
            Some(Likeness::Shape)
        }
        (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => None,
    }
}
