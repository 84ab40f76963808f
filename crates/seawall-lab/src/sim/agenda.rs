//! What happens when: a queue of events by time, and by order of arrival among those of one time.
//!
//! What can go wrong: two events of one nanosecond change places between two runs, or between two machines, and the
//! same seed tells another story. So ties are first come, first served, by construction; a binary heap with a counter,
//! slower and plainer, is the oracle that tests hold the fast one to.
//!
//! [`Radix`] is a monotone radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, 1990): it takes nothing earlier than what it
//! gave last, which no simulation does. An event waits in the bucket of the highest bit in which its time differs from
//! the last one given, so two of one time are always in one bucket, in their order, wherever they go.

use seawall_core::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of events by time, first come, first served among those of one time.
pub trait Agenda<E> {
    /// Puts `event` at `at`; a time that has passed is now.
    fn push(&mut self, at: Instant, event: E);

    /// Takes what happens next.
    fn pop(&mut self) -> Option<(Instant, E)>;

    /// How many wait.
    fn len(&self) -> usize;

    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One bucket for equal times and one for each bit of a time.
const BUCKETS: usize = 65;

/// The agenda of every run.
#[derive(Debug)]
pub struct Radix<E> {
    last: u64,
    buckets: [Vec<(u64, E)>; BUCKETS],
    /// Of the buckets 1 to 64: which hold something.
    filled: u64,
    /// How many of bucket 0 were given.
    given: usize,
    len: usize,
}

impl<E> Default for Radix<E> {
    fn default() -> Self {
        Self {
            last: 0,
            buckets: [const { Vec::new() }; BUCKETS],
            filled: 0,
            given: 0,
            len: 0,
        }
    }
}

impl<E: Copy> Radix<E> {
    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let bucket = (u64::BITS - (at ^ self.last).leading_zeros()) as usize;
        if bucket > 0 {
            self.filled |= 1 << (bucket - 1);
        }
        self.buckets[bucket].push((at, event));
    }

    /// Moves the bucket of the earliest events nearer; `false` where nothing is left.
    #[cold]
    fn turn(&mut self) -> bool {
        self.buckets[0].clear();
        self.given = 0;
        if self.filled == 0 {
            return false;
        }
        let bucket = self.filled.trailing_zeros() as usize + 1;
        self.filled &= self.filled - 1;
        let mut moved = std::mem::take(&mut self.buckets[bucket]);
        self.last = moved
            .iter()
            .map(|(at, _)| *at)
            .min()
            .expect("a bucket that is filled holds an event");
        for (at, event) in moved.drain(..) {
            self.place(at, event);
        }
        // Nothing came back to it: what it held is nearer to the new time in this very bit.
        self.buckets[bucket] = moved;
        true
    }
}

impl<E: Copy> Agenda<E> for Radix<E> {
    #[inline]
    fn push(&mut self, at: Instant, event: E) {
        self.len += 1;
        self.place(at.as_nanos().max(self.last), event);
    }

    #[inline]
    fn pop(&mut self) -> Option<(Instant, E)> {
        if self.given == self.buckets[0].len() && !self.turn() {
            return None;
        }
        let (at, event) = self.buckets[0][self.given];
        self.given += 1;
        self.len -= 1;
        Some((Instant::from_nanos(at), event))
    }

    fn len(&self) -> usize {
        self.len
    }
}

/// The oracle: a binary heap, with a counter for ties.
#[derive(Debug)]
pub struct Heap<E> {
    last: u64,
    heap: BinaryHeap<Reverse<Entry<E>>>,
    pushed: u64,
}

#[derive(Debug)]
struct Entry<E> {
    key: (u64, u64),
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self {
            last: 0,
            heap: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

impl<E> Agenda<E> for Heap<E> {
    fn push(&mut self, at: Instant, event: E) {
        self.pushed += 1;
        let key = (at.as_nanos().max(self.last), self.pushed);
        self.heap.push(Reverse(Entry { key, event }));
    }

    fn pop(&mut self) -> Option<(Instant, E)> {
        let Reverse(entry) = self.heap.pop()?;
        self.last = entry.key.0;
        Some((Instant::from_nanos(entry.key.0), entry.event))
    }

    fn len(&self) -> usize {
        self.heap.len()
    }
}

#[cfg(test)]
mod tests;
