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
//! several that fit, the one that has waited longest is continued. A call whose last key comes again later goes on by that
//! key and by nothing else: equal calls side by side, each with a key of its own, are not one that changes its key.
//!
//! What this does not see: a client that changes the words of a body between attempts, unless they are named or keyed.

use super::log::{Attempt, Met};
use seawall_core::time::Duration;
use std::collections::BTreeMap;

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
    let mut sorter = Sorter {
        attempts,
        calls: Vec::new(),
        named: BTreeMap::new(),
        keyed: BTreeMap::new(),
        bodies: BTreeMap::new(),
        shapes: BTreeMap::new(),
        last_of_keys: last_of_keys(attempts),
    };
    for place in 0..attempts.len() {
        sorter.sort(place);
    }
    sorter.calls
}

/// The last place of each key at each method and path.
fn last_of_keys(attempts: &[Attempt]) -> BTreeMap<(At<'_>, &str), usize> {
    let keyed = attempts.iter().enumerate().filter_map(|(place, attempt)| {
        let key = attempt.key.as_deref()?;
        Some(((at(attempt), key), place))
    });
    keyed.collect()
}

/// A method and a path.
type At<'a> = (&'a str, &'a str);
/// Calls that may go on: each with the place of the attempt after which it may.
type Waiting<'a> = BTreeMap<(At<'a>, Option<u64>), Vec<(usize, usize)>>;

fn at(attempt: &Attempt) -> At<'_> {
    (&attempt.method, &attempt.path)
}

/// The calls so far, by all that an attempt may be known by: a log of a hundred thousand attempts is sorted in a moment.
struct Sorter<'a> {
    attempts: &'a [Attempt],
    calls: Vec<CallSeen>,
    named: BTreeMap<&'a str, usize>,
    keyed: BTreeMap<(At<'a>, &'a str), usize>,
    bodies: Waiting<'a>,
    shapes: Waiting<'a>,
    last_of_keys: BTreeMap<(At<'a>, &'a str), usize>,
}

impl<'a> Sorter<'a> {
    fn sort(&mut self, place: usize) {
        let attempt = &self.attempts[place];
        let at = at(attempt);
        let found = self.continued(attempt, at);
        let call = match found {
            Some((call, by)) => {
                self.calls[call].places.push(place);
                self.calls[call].by = self.calls[call].by.max(by);
                call
            }
            None => {
                self.calls.push(CallSeen {
                    places: vec![place],
                    by: Likeness::Named,
                });
                self.calls.len() - 1
            }
        };
        if let Some(name) = &attempt.call {
            self.named.insert(name, call);
            return;
        }
        if let Some(key) = &attempt.key {
            self.keyed.insert((at, key), call);
            let last = self.last_of_keys.get(&(at, key.as_str()));
            // It goes on by its key, and by nothing else.
            if last.is_some_and(|last| *last > place) {
                return;
            }
        }
        let met = attempt.met();
        if met != Met::Answered {
            let exact = attempt.body.map(|body| body.exact);
            self.bodies.entry((at, exact)).or_default().push((call, place));
        }
        // After a refusal a client that goes on with its next item sends a body much like the last.
        if let Some(body) = attempt
            .body
            .filter(|_| !matches!(met, Met::Answered | Met::Refused))
        {
            self.shapes
                .entry((at, Some(body.shape)))
                .or_default()
                .push((call, place));
        }
    }

    /// The call that an attempt continues, and by what.
    fn continued(&mut self, attempt: &'a Attempt, at: At<'a>) -> Option<(usize, Likeness)> {
        if let Some(name) = &attempt.call {
            return self.named.get(name.as_str()).map(|call| (*call, Likeness::Named));
        }
        let keyed = attempt
            .key
            .as_ref()
            .and_then(|key| self.keyed.get(&(at, key.as_str())));
        if let Some(call) = keyed {
            return Some((*call, Likeness::Key));
        }
        let exact = attempt.body.map(|body| body.exact);
        if let Some(call) = self.waiting_longest(attempt, Likeness::Body, (at, exact)) {
            return Some((call, Likeness::Body));
        }
        let shape = attempt.body?.shape;
        self.waiting_longest(attempt, Likeness::Shape, (at, Some(shape)))
            .map(|call| (call, Likeness::Shape))
    }

    /// Of the calls that are over and unanswered, the one that has been so for the longest.
    fn waiting_longest(
        &mut self,
        attempt: &Attempt,
        by: Likeness,
        key: (At<'a>, Option<u64>),
    ) -> Option<usize> {
        let (attempts, calls) = (self.attempts, &self.calls);
        let waiting = match by {
            Likeness::Shape => self.shapes.get_mut(&key)?,
            Likeness::Named | Likeness::Key | Likeness::Body => self.bodies.get_mut(&key)?,
        };
        // One that went on, by whatever, waits no more at this place.
        waiting.retain(|(call, place)| calls[*call].places.last() == Some(place));
        let over = |place: usize| attempts[place].over().filter(|over| *over <= attempt.at);
        let longest = waiting
            .iter()
            .filter_map(|(call, place)| Some((over(*place)?, *call)));
        longest.min().map(|(_, call)| call)
    }
}

/// All attempts at one method and path as one call each, in the order of their first attempts: where it is known that a
/// client makes one call.
pub fn calls_by_path(attempts: &[Attempt]) -> Vec<CallSeen> {
    let (mut calls, mut places) = (Vec::<CallSeen>::new(), BTreeMap::<At<'_>, usize>::new());
    for (place, attempt) in attempts.iter().enumerate() {
        let call = *places.entry((&attempt.method, &attempt.path)).or_insert_with(|| {
            calls.push(CallSeen {
                places: Vec::new(),
                by: Likeness::Named,
            });
            calls.len() - 1
        });
        calls[call].places.push(place);
    }
    calls
}
