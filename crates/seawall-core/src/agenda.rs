//! Who is to be polled next: calls that something made ready, in the order in which that happened, and calls whose
//! own time has come.
//!
//! A heap with one entry per call at the most and a place to find it by, so that leaving costs a logarithm and
//! nothing stale is ever left behind. Nothing is allocated once it is warm.

use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// No place in the heap.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
pub(crate) struct Agenda {
    heap: Vec<Entry>,
    /// By slot: where its entry stands in `heap`.
    places: Vec<u32>,
    /// By slot: whether it stands in `ready`.
    is_ready: Vec<bool>,
    ready: VecDeque<u32>,
    armed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    order: u64,
    slot: u32,
}

impl Entry {
    const fn key(&self) -> (Instant, u64) {
        (self.at, self.order)
    }
}

impl Agenda {
    /// Makes room for a slot.
    pub(crate) fn grow_to(&mut self, slots: usize) {
        self.places.resize(slots, NOWHERE);
        self.is_ready.resize(slots, false);
    }

    /// Wakes `slot` at `at`, instead of any other time that it was to be woken at.
    pub(crate) fn arm(&mut self, slot: u32, at: Instant) {
        self.disarm(slot);
        let place = self.heap.len();
        self.heap.push(Entry {
            at,
            order: self.armed,
            slot,
        });
        self.armed += 1;
        self.places[slot as usize] = narrow(place);
        self.rise(place);
    }

    /// Forgets `slot`'s time.
    #[inline]
    pub(crate) fn disarm(&mut self, slot: u32) {
        let place = self.places[slot as usize];
        if place != NOWHERE {
            self.take_out(slot, place);
        }
    }

    fn take_out(&mut self, slot: u32, place: u32) {
        self.places[slot as usize] = NOWHERE;
        let place = place as usize;
        let last = self
            .heap
            .pop()
            .expect("a place in the heap means that it is not empty");
        if place == self.heap.len() {
            return;
        }
        self.heap[place] = last;
        self.places[last.slot as usize] = narrow(place);
        self.rise(place);
        self.sink(self.places[last.slot as usize] as usize);
    }

    /// When `slot` is to be woken.
    pub(crate) fn armed_at(&self, slot: u32) -> Option<Instant> {
        match self.places[slot as usize] {
            NOWHERE => None,
            place => Some(self.heap[place as usize].at),
        }
    }

    /// Puts `slot` behind those that are ready already; once is enough.
    pub(crate) fn make_ready(&mut self, slot: u32) {
        if !self.is_ready[slot as usize] {
            self.is_ready[slot as usize] = true;
            self.ready.push_back(slot);
        }
    }

    /// Takes the first that is ready.
    pub(crate) fn next_ready(&mut self) -> Option<u32> {
        let slot = self.ready.pop_front()?;
        self.is_ready[slot as usize] = false;
        Some(slot)
    }

    /// `slot` asks of its own accord: it need not be told to any more.
    #[inline]
    pub(crate) fn polled(&mut self, slot: u32) {
        if core::mem::take(&mut self.is_ready[slot as usize]) {
            self.ready.retain(|other| *other != slot);
        }
    }

    /// Takes the first whose time has come.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<u32> {
        let first = self.heap.first()?;
        if first.at > now {
            return None;
        }
        let slot = first.slot;
        self.disarm(slot);
        Some(slot)
    }

    /// Forgets all about `slot`.
    #[inline]
    pub(crate) fn forget(&mut self, slot: u32) {
        self.disarm(slot);
        self.polled(slot);
    }

    /// When somebody is to be woken next.
    pub(crate) fn next_wake(&self) -> Option<Instant> {
        if self.ready.is_empty() {
            self.heap.first().map(|entry| entry.at)
        } else {
            Some(Instant::START)
        }
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].key() <= self.heap[place].key() {
                return;
            }
            self.swap(parent, place);
            place = parent;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let Some(child) = [left, left + 1]
                .into_iter()
                .filter(|child| *child < self.heap.len())
                .min_by_key(|child| self.heap[*child].key())
            else {
                return;
            };
            if self.heap[place].key() <= self.heap[child].key() {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.places[self.heap[one].slot as usize] = narrow(one);
        self.places[self.heap[other].slot as usize] = narrow(other);
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).expect("slots are counted in 32 bits")
}
