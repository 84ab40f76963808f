//! Idempotency keys: which are known, what they stand for, and until when.
//!
//! What can go wrong: a key that is forgotten before its time lets a repeat do the work again, and nothing shows it. So
//! a key leaves for two reasons only, its time and a reset; where there is no room the newcomer is refused, out loud. A
//! key whose first attempt is still being answered has no end: a second beside it would be what keys are there to
//! prevent.

use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// What a key costs beside its own bytes and its answer, in bytes: the maps' own share.
const OVERHEAD_BYTES: usize = 256;

/// A key as it is kept: with the route and the scope it holds in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(Arc<[u8]>);

impl Name {
    pub(super) fn new(route: &str, scope: &[u8], key: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(16 + route.len() + scope.len() + key.len());
        // Lengths first: no part can be taken for the end of the one before.
        for part in [route.as_bytes(), scope] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(key);
        Self(bytes.into())
    }

    /// What every name of this route begins with.
    fn prefix(route: &str) -> Vec<u8> {
        let mut bytes = (route.len() as u64).to_be_bytes().to_vec();
        bytes.extend_from_slice(route.as_bytes());
        bytes
    }
}

/// 128 bits that stand for what an attempt asked: equal attempts have equal ones. Never for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print(u64, u64);

impl Print {
    pub(super) fn of(parts: [&[u8]; 4]) -> Self {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(salt);
            for part in parts {
                hasher.write_usize(part.len());
                hasher.write(part);
            }
            hasher.finish()
        };
        Self(half(0), half(1))
    }
}

/// Proof that an attempt with a key has begun and is not over. Hand it back by `Store::finished` however the attempt
/// ends: until then repeats of the key are told that it is in flight.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a key is in flight until its ticket is handed back"]
pub struct Ticket(u64);

/// What is known of a key.
pub(super) enum Known<A> {
    /// Nothing, or nothing any more.
    New,
    /// It stood for something else.
    Other,
    /// The first attempt with it is not over.
    InFlight,
    /// The first attempt with it got this.
    Answered(A),
}

#[derive(Clone, Debug)]
struct Entry<A> {
    print: Print,
    answer: A,
    bytes: usize,
    serial: u64,
    expires: Instant,
}

/// Every key that is known.
#[derive(Clone, Debug)]
pub(super) struct Keys<A> {
    entries: BTreeMap<Name, Entry<A>>,
    in_flight: BTreeMap<u64, Name>,
    /// Those that are not in flight, by their end.
    ends: BTreeMap<(Instant, u64), Name>,
    /// Goes on over resets: a ticket from before one must not end what came after it.
    serial: u64,
    bytes: usize,
}

impl<A: Clone> Keys<A> {
    pub(super) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            ends: BTreeMap::new(),
            serial: 0,
            bytes: 0,
        }
    }

    /// Lets go of what has come to its end.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some(first) = self.ends.first_entry() {
            if first.key().0 > now {
                break;
            }
            let name = first.remove();
            self.drop_entry(&name);
        }
        self.check();
    }

    pub(super) fn look(&self, name: &Name, print: Print) -> Known<A> {
        match self.entries.get(name) {
            None => Known::New,
            // Before the question whether it is in flight: waiting would not make this one right.
            Some(entry) if entry.print != print => Known::Other,
            Some(entry) if self.in_flight.contains_key(&entry.serial) => Known::InFlight,
            Some(entry) => Known::Answered(entry.answer.clone()),
        }
    }

    /// Bytes that keeping this key would add.
    pub(super) fn bytes_added(name: &Name, answer_bytes: usize) -> usize {
        OVERHEAD_BYTES + name.0.len() + answer_bytes
    }

    /// Keeps a key that is new, in flight.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        name: Name,
        print: Print,
        ttl: Duration,
        answer: A,
        answer_bytes: usize,
    ) -> Ticket {
        self.serial += 1;
        let bytes = Self::bytes_added(&name, answer_bytes);
        self.bytes += bytes;
        self.in_flight.insert(self.serial, name.clone());
        let entry = Entry {
            print,
            answer,
            bytes,
            serial: self.serial,
            expires: now.after(ttl),
        };
        let before = self.entries.insert(name, entry);
        debug_assert!(before.is_none(), "only a new key begins");
        self.check();
        Ticket(self.serial)
    }

    /// The first attempt is over. A ticket from before a reset ends nothing.
    pub(super) fn finish(&mut self, ticket: Ticket) {
        let Some(name) = self.in_flight.remove(&ticket.0) else {
            return;
        };
        let entry = self.entries.get(&name).expect("a key in flight is known");
        self.ends.insert((entry.expires, entry.serial), name);
        self.check();
    }

    /// Forgets every key.
    pub(super) fn clear(&mut self) {
        *self = Self {
            serial: self.serial,
            ..Self::new()
        };
    }

    /// Forgets the keys of one route.
    pub(super) fn clear_route(&mut self, route: &str) {
        let prefix = Name::prefix(route);
        let of_route = |name: &Name| name.0.starts_with(&prefix);
        self.in_flight.retain(|_, name| !of_route(name));
        self.ends.retain(|_, name| !of_route(name));
        let bytes = &mut self.bytes;
        self.entries.retain(|name, entry| {
            let stays = !of_route(name);
            *bytes -= if stays { 0 } else { entry.bytes };
            stays
        });
        self.check();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_entry(&mut self, name: &Name) {
        let entry = self.entries.remove(name).expect("a key that ends is known");
        self.bytes -= entry.bytes;
    }

    /// Every key is in flight or has an end, never both.
    fn check(&self) {
        debug_assert_eq!(self.entries.len(), self.in_flight.len() + self.ends.len());
    }
}
