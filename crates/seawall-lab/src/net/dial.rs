//! The mock's own time: real time, so many times faster, or turned by hand.
//!
//! What can go wrong: a speed that is changed while somebody waits. A timer that was set by the old speed ends too
//! early or too late; a time line that is computed anew jumps, and a limit or a window that is older than the change
//! is judged by two clocks. So there is one time line, made of stretches: at each change it goes on from where it is,
//! and whoever waits is woken to set its timer again. It never goes back and never jumps but by hand.
//!
//! Turned by hand it goes from one time that somebody waits for to the next, and whoever turns it sees who is due
//! and has not taken note yet: without that, five seconds at once would be one gap of a stream with twenty.
//!
//! What this does not cover: a machine's timers are exact to about a millisecond of *real* time, which at a scale of
//! 1000 is a second of the mock's.

use crate::passage::{Passage, TimeScale};
use seawall::clock::{Clock, Sleep};
use seawall_core::time::{Duration, Instant, Wall};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A clock whose speed can be changed while it is in use. Clones are the same clock.
#[derive(Clone, Debug)]
pub(super) struct Dial {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// What the time line is laid along.
    real: Arc<dyn Clock>,
    wall_began: Wall,
    line: Mutex<Line>,
}

/// The time line, and who waits on it.
#[derive(Debug)]
struct Line {
    passage: Passage,
    /// The speed that it had last, or has.
    scale: TimeScale,
    /// Where the present stretch began: a real time, and the time that it was by this clock.
    real: Instant,
    here: Instant,
    /// Which stretch it is: a timer set in an earlier one is void.
    stretch: u64,
    next_key: u64,
    /// By time, then in the order in which they began to wait. Who is due stays until it has taken note.
    waiting: BTreeMap<(Instant, u64), Waker>,
}

/// How a mock's clock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockState {
    /// The time since the mock's start, by its own clock.
    pub now: Instant,
    /// How it passes.
    pub passage: Passage,
    /// The speed that it has, or will have when it runs again.
    pub scale: TimeScale,
    /// How many wait for a time to come.
    pub waiting: usize,
    /// The next time that somebody waits for.
    pub next: Option<Instant>,
}

impl Dial {
    /// Begins a time line at [`Instant::START`], along this clock.
    pub(super) fn start(real: Arc<dyn Clock>, passage: Passage) -> Self {
        let scale = match passage {
            Passage::Runs(scale) => scale,
            Passage::Stands => TimeScale::REAL,
        };
        let line = Line {
            passage,
            scale,
            real: real.now(),
            here: Instant::START,
            stretch: 0,
            next_key: 0,
            waiting: BTreeMap::new(),
        };
        Self {
            shared: Arc::new(Shared {
                wall_began: real.wall(),
                real,
                line: Mutex::new(line),
            }),
        }
    }

    /// Goes on from here in another way. Whoever waits goes on waiting for the same time.
    pub(super) fn pass(&self, passage: Passage) {
        let real = self.shared.real.now();
        let mut line = self.line();
        line.here = line.now(real);
        line.real = real;
        line.stretch += 1;
        line.passage = passage;
        if let Passage::Runs(scale) = passage {
            line.scale = scale;
        }
        let wakers: Vec<Waker> = line.waiting.values().cloned().collect();
        drop(line);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Turns to the next time up to `end` that somebody waits for, and wakes all who wait for it.
    pub(super) fn turn(&self, end: Instant) -> Turned {
        let mut line = self.line();
        if let Passage::Runs(_) = line.passage {
            return Turned::Runs;
        }
        let here = line.here;
        let Some(next) = line.next().filter(|next| *next <= end) else {
            // Under the lock that found nobody: who begins to wait after it sees the new time.
            if end < Instant::NEVER {
                line.here = here.max(end);
            }
            return Turned::Nobody;
        };
        line.here = next;
        let due: Vec<Waker> = line
            .waiting
            .range(..=(next, u64::MAX))
            .map(|(_, waker)| waker.clone())
            .collect();
        drop(line);
        due.into_iter().for_each(Waker::wake);
        Turned::To(next)
    }

    /// How many are due and have not taken note.
    pub(super) fn due(&self) -> usize {
        let real = self.shared.real.now();
        let line = self.line();
        line.waiting.range(..=(line.now(real), u64::MAX)).count()
    }

    /// How it stands.
    pub(super) fn state(&self) -> ClockState {
        let real = self.shared.real.now();
        let line = self.line();
        let now = line.now(real);
        let mut coming = line.waiting.range((now, u64::MAX)..);
        ClockState {
            now,
            passage: line.passage,
            scale: line.scale,
            next: coming.next().map(|((at, _), _)| *at),
            waiting: line.waiting.range((now, u64::MAX)..).count(),
        }
    }

    // A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.shared.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of turning a clock by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turned {
    /// It is this time now, and somebody was woken.
    To(Instant),
    /// Nobody waits for a time up to that end, and it is that time now; an end that never comes changes nothing.
    Nobody,
    /// It runs by itself and was not touched.
    Runs,
}

impl Line {
    fn now(&self, real: Instant) -> Instant {
        match self.passage {
            Passage::Stands => self.here,
            Passage::Runs(scale) => {
                let passed = u128::from(real.since(self.real).as_nanos());
                let passed = passed * u128::from(scale.per_mille()) / 1_000;
                self.here.after(nanos(passed))
            }
        }
    }

    /// The first real time at which it is `at` here, at this speed.
    fn real_time_of(&self, at: Instant, scale: TimeScale) -> Instant {
        let left = u128::from(at.since(self.here).as_nanos()) * 1_000;
        self.real
            .after(nanos(left.div_ceil(u128::from(scale.per_mille()))))
    }

    /// The first time after now that somebody waits for, while it stands.
    fn next(&self) -> Option<Instant> {
        let mut coming = self.waiting.range((self.here, u64::MAX)..);
        coming.next().map(|((at, _), _)| *at)
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Clock for Dial {
    fn now(&self) -> Instant {
        let real = self.shared.real.now();
        self.line().now(real)
    }

    fn wall(&self) -> Wall {
        let passed = self.now().since(Instant::START).as_millis();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        Wall::from_unix_ms(self.shared.wall_began.unix_ms.saturating_add(passed))
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(Wait {
            dial: self.clone(),
            at,
            key: None,
            timer: None,
        })
    }
}

/// A wait for a time; whoever stops waiting is forgotten.
struct Wait {
    dial: Dial,
    at: Instant,
    key: Option<u64>,
    /// The real timer, and the stretch that it was set in.
    timer: Option<(u64, Sleep)>,
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let real = this.dial.shared.real.now();
            let mut line = this.dial.line();
            if line.now(real) >= this.at {
                if let Some(key) = this.key.take() {
                    line.waiting.remove(&(this.at, key));
                }
                return Poll::Ready(());
            }
            if this.at == Instant::NEVER {
                return Poll::Pending;
            }
            let key = *this.key.get_or_insert(line.next_key);
            line.next_key = line.next_key.max(key + 1);
            line.waiting.insert((this.at, key), context.waker().clone());
            let (stretch, until) = match line.passage {
                Passage::Stands => {
                    this.timer = None;
                    return Poll::Pending;
                }
                Passage::Runs(scale) => (line.stretch, line.real_time_of(this.at, scale)),
            };
            drop(line);
            let timer = match &mut this.timer {
                Some((set, timer)) if *set == stretch => timer,
                timer => {
                    &mut timer
                        .insert((stretch, this.dial.shared.real.sleep_until(until)))
                        .1
                }
            };
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            // The clock is asked again: its word counts, not the timer's.
            this.timer = None;
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.dial.line().waiting.remove(&(self.at, key));
        }
    }
}

#[cfg(test)]
mod tests;
