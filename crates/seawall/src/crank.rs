//! A clock that is cranked by hand: hours pass in microseconds, and two runs are the same to the byte.

mod line;
mod players;
mod wires;

pub use line::Line;
pub use players::{Act, Players, Turn};
pub use wires::{WireEnd, Wires};

use crate::clock::{Clock, Sleep};
use crate::sync::{Mutex, MutexGuard};
use seawall_core::time::{Duration, Instant, Wall};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

/// A clock that stands still until somebody cranks it. Clones are the same clock.
///
/// ```
/// use seawall::clock::Clock;
/// use seawall::crank::CrankedClock;
/// use seawall_core::time::Duration;
/// let clock = CrankedClock::new();
/// clock.advance(Duration::from_secs(3_600));
/// assert_eq!(clock.now().to_string(), "1h");
/// ```
#[derive(Clone, Debug, Default)]
pub struct CrankedClock {
    crank: Arc<Mutex<Crank>>,
}

#[derive(Debug, Default)]
struct Crank {
    now: Instant,
    began: u64,
    /// By time, then in the order in which they began to wait.
    sleepers: BTreeMap<(Instant, u64), Waker>,
    /// Who is told when somebody begins to wait.
    watchers: Vec<Waker>,
}

impl CrankedClock {
    /// A clock at its start. Its date is 2026-01-01.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns to the next time that somebody waits for, and wakes the one that began to wait for it first. `None`
    /// where nobody waits.
    pub fn step(&self) -> Option<Instant> {
        let (at, waker) = self.lock().next_by(Instant::NEVER)?;
        waker.wake();
        Some(at)
    }

    /// Turns by this much, waking whoever waits for a time on the way, in order.
    pub fn advance(&self, length: Duration) {
        let end = self.now().after(length);
        loop {
            let (_, waker) = {
                let mut crank = self.lock();
                let Some(next) = crank.next_by(end) else {
                    // Under the lock that found nobody: who begins to wait after it sees the new time.
                    crank.now = crank.now.max(end);
                    return;
                };
                next
            };
            waker.wake();
        }
    }

    /// How many waits have begun so far. Whoever had to be polled before it could wait has been, once this has grown.
    pub fn waits_begun(&self) -> u64 {
        self.lock().began
    }

    /// Ends once somebody waits for a time to come.
    pub async fn awaited(&self) {
        poll_fn(|context| {
            let mut crank = self.lock();
            if crank.sleepers.is_empty() {
                crank.watchers.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, Crank> {
        self.crank.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Crank {
    /// Turns to the next time up to `end` that somebody waits for, and forgets the one who waits: to be woken once
    /// the lock is open.
    fn next_by(&mut self, end: Instant) -> Option<(Instant, Waker)> {
        let next = self.sleepers.first_entry().filter(|next| next.key().0 <= end)?;
        let ((at, _), waker) = next.remove_entry();
        self.now = self.now.max(at);
        Some((at, waker))
    }
}

impl Clock for CrankedClock {
    fn now(&self) -> Instant {
        self.lock().now
    }

    fn wall(&self) -> Wall {
        const NEW_YEAR_2026_MS: i64 = 1_767_225_600_000;
        let passed = i64::try_from(self.now().since(Instant::START).as_millis()).unwrap_or(i64::MAX);
        Wall::from_unix_ms(NEW_YEAR_2026_MS.saturating_add(passed))
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(Cranked {
            clock: self.clone(),
            at,
            key: None,
        })
    }
}

/// A wait for a cranked clock; whoever stops waiting is forgotten.
struct Cranked {
    clock: CrankedClock,
    at: Instant,
    key: Option<(Instant, u64)>,
}

impl Future for Cranked {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        let mut crank = clock.lock();
        if crank.now >= self.at {
            return Poll::Ready(());
        }
        if self.at == Instant::NEVER {
            return Poll::Pending;
        }
        let key = self.key.unwrap_or_else(|| {
            crank.began += 1;
            (self.at, crank.began)
        });
        self.key = Some(key);
        crank.sleepers.insert(key, context.waker().clone());
        let watchers = std::mem::take(&mut crank.watchers);
        drop(crank);
        watchers.into_iter().for_each(Waker::wake);
        Poll::Pending
    }
}

impl Drop for Cranked {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.clock.lock().sleepers.remove(&key);
        }
    }
}
