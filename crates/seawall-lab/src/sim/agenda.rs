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
use std::collections::{BinaryHeap, VecDeque};

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

/// One bucket for each bit of a time.
const BUCKETS: usize = 64;

/// Events in a chunk: few enough that what is empty of the last chunk of each bucket is little.
const CHUNK: usize = 256;

/// The agenda of every run.
///
/// A bucket is a list of chunks, and a chunk that was emptied is the next one of whichever bucket needs one: a million
/// events that move from bucket to bucket take the room of a million, and not that of the largest that each has been.
#[derive(Debug)]
pub struct Radix<E> {
    last: u64,
    /// Those of the time that was given last.
    ripe: VecDeque<E>,
    buckets: [Bucket<E>; BUCKETS],
    /// By bit: whether its bucket holds something.
    filled: u64,
    /// Chunks that hold nothing, each with room for all of a chunk.
    spare: Vec<Vec<(u64, E)>>,
    len: usize,
}

/// Events whose times differ from the last one given in the same highest bit, in the order in which they came.
#[derive(Debug)]
struct Bucket<E> {
    /// The earliest of their times.
    least: u64,
    /// The chunk that is being filled.
    tail: Vec<(u64, E)>,
    /// Those before it, all full.
    full: Vec<Vec<(u64, E)>>,
}

impl<E> Bucket<E> {
    const EMPTY: Self = Self {
        least: u64::MAX,
        tail: Vec::new(),
        full: Vec::new(),
    };
}

impl<E> Default for Radix<E> {
    fn default() -> Self {
        Self {
            last: 0,
            ripe: VecDeque::new(),
            buckets: [Bucket::EMPTY; BUCKETS],
            filled: 0,
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<E: Copy> Radix<E> {
    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let Some(bit) = (at ^ self.last).checked_ilog2() else {
            return self.ripe.push_back(event);
        };
        self.filled |= 1 << bit;
        let bucket = &mut self.buckets[bit as usize];
        bucket.least = bucket.least.min(at);
        if bucket.tail.len() == CHUNK {
            // A chunk grows from nothing: few runs ever fill one.
            let fresh = self.spare.pop().unwrap_or_default();
            bucket.full.push(std::mem::replace(&mut bucket.tail, fresh));
        }
        bucket.tail.push((at, event));
    }

    /// Moves the bucket of the earliest events nearer, where there is one.
    #[cold]
    fn turn(&mut self) -> Option<()> {
        if self.filled == 0 {
            return None;
        }
        let bit = self.filled.trailing_zeros() as usize;
        self.filled &= self.filled - 1;
        let bucket = &mut self.buckets[bit];
        self.last = std::mem::replace(&mut bucket.least, u64::MAX);
        let full = std::mem::take(&mut bucket.full);
        let mut tail = std::mem::take(&mut bucket.tail);
        for mut chunk in full {
            self.place_all(&mut chunk);
            self.spare.push(chunk);
        }
        self.place_all(&mut tail);
        // Nothing came back to it: what it held is nearer to the new time in this very bit.
        self.buckets[bit].tail = tail;
        Some(())
    }

    fn place_all(&mut self, chunk: &mut Vec<(u64, E)>) {
        for (at, event) in chunk.drain(..) {
            self.place(at, event);
        }
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
        if self.ripe.is_empty() {
            self.turn()?;
        }
        let event = self.ripe.pop_front().expect("the earliest is ripe after a turn");
        self.len -= 1;
        Some((Instant::from_nanos(self.last), event))
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
