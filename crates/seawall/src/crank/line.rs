//! Who was woken, one after the other.
//!
//! What can go wrong: what is woken together is polled in the order of a list, and a queue that is fair looks as if it were
//! not. So who is woken first plays first.

use super::{Act, CrankedClock};
use crate::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Wake, Waker};

/// Numbers in the order in which they were woken, each once. Clones are the same line.
///
/// For whoever plays futures or threads by hand: give each the [`waker`](Self::waker) of its number, let the
/// [`next`](Self::next) one run, and crank the clock where nobody stands in line.
///
/// ```
/// use seawall::crank::Line;
/// let line = Line::new(2);
/// assert_eq!((line.next(), line.next(), line.next()), (Some(0), Some(1), None));
/// line.waker(1).wake();
/// line.waker(0).wake();
/// line.waker(1).wake();
/// assert_eq!((line.next(), line.next(), line.next()), (Some(1), Some(0), None));
/// ```
#[derive(Clone, Debug)]
pub struct Line {
    standing: Arc<Mutex<VecDeque<usize>>>,
}

impl Line {
    /// So many, of which each stands in line once, in the order of the numbers.
    pub fn new(count: usize) -> Self {
        Self {
            standing: Arc::new(Mutex::new((0..count).collect())),
        }
    }

    /// Who is next, and leaves the line; `None` where nobody stands in it.
    pub fn next(&self) -> Option<usize> {
        self.lock().pop_front()
    }

    /// Puts this number at the end of the line, where it does not stand in it.
    pub fn waker(&self, number: usize) -> Waker {
        let line = self.clone();
        Waker::from(Arc::new(InLine { number, line }))
    }

    // A lock is poisoned only by a panic in a push or a pop; what it guards is whole either way.
    fn lock(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct InLine {
    number: usize,
    line: Line,
}

impl Wake for InLine {
    fn wake(self: Arc<Self>) {
        let mut line = self.line.lock();
        if !line.contains(&self.number) {
            line.push_back(self.number);
        }
    }
}

impl CrankedClock {
    /// Plays acts until none can go on: each when it was woken, in the order of the wakes, and the clock turns when nobody
    /// was. An act that waits for something else than this clock is left where it is.
    ///
    /// ```
    /// use seawall::clock::Clock as _;
    /// use seawall::crank::CrankedClock;
    /// use seawall_core::time::{Duration, Instant};
    /// let clock = CrankedClock::new();
    /// let hour = Instant::START.after(Duration::from_secs(3_600));
    /// clock.play(vec![clock.sleep_until(hour)]);
    /// assert_eq!(clock.now(), hour);
    /// ```
    pub fn play(&self, acts: Vec<Act<'_, ()>>) {
        let mut acts: Vec<Option<Act<'_, ()>>> = acts.into_iter().map(Some).collect();
        let line = Line::new(acts.len());
        loop {
            let Some(number) = line.next() else {
                if self.step().is_none() {
                    return;
                }
                continue;
            };
            let waker = line.waker(number);
            if let Some(act) = &mut acts[number]
                && act.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            {
                acts[number] = None;
            }
        }
    }
}
