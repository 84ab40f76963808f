//! Timers for whoever has none: tasks of executors that keep no time.
//!
//! What can go wrong: a future that waits is polled by an executor that knows nothing of time, and nobody ever wakes it.
//! So one thread of the process keeps a list of who is to be woken when. It begins with the first wait and goes when
//! nothing has been waited for in a while; a wait that is dropped leaves nothing on the list. It calls wakers and nothing
//! else, outside its lock.
//!
//! What this does not cover: exactness. A thread wakes when the host lets it; whoever waited reads its clock again.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long the thread stays with nothing to wait for: some hundred times what it costs to begin it.
const IDLE_MAX: Duration = Duration::from_secs(5);

static BOARD: Board = Board {
    list: Mutex::new(List {
        wakers: BTreeMap::new(),
        next: 0,
        watch: Watch::Nobody,
    }),
    changed: Condvar::new(),
};

/// A wait for a point of the host's clock.
#[derive(Debug)]
pub(crate) struct Alarm {
    at: Instant,
    /// Its place on the board, once it was polled.
    place: Option<Place>,
}

/// By time, and by who came first.
type Place = (Instant, u64);

struct Board {
    list: Mutex<List>,
    changed: Condvar,
}

struct List {
    wakers: BTreeMap<Place, Waker>,
    next: u64,
    watch: Watch,
}

/// Whether the thread is there.
enum Watch {
    Nobody,
    Kept,
}

impl Alarm {
    pub(crate) const fn at(at: Instant) -> Self {
        Self { at, place: None }
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if now() >= self.at {
            return Poll::Ready(());
        }
        match BOARD.set(self.place, self.at, context.waker()) {
            Ok(place) => self.place = Some(place),
            // No thread is to be had: asked again at once, it is late for nobody.
            Err(NoThread) => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // A waker may hold a task that holds alarms: it goes outside the lock.
            let waker = BOARD.list().wakers.remove(&place);
            drop(waker);
        }
    }
}

struct NoThread;

impl Board {
    /// Puts a waker at its place, or at a new one.
    fn set(&'static self, place: Option<Place>, at: Instant, waker: &Waker) -> Result<Place, NoThread> {
        let waker = waker.clone();
        let mut list = self.list();
        if let Watch::Nobody = list.watch {
            let watch = thread::Builder::new().name("seawall-alarm".to_owned());
            watch.spawn(|| self.watch()).map_err(|_| NoThread)?;
            list.watch = Watch::Kept;
        }
        let place = place.unwrap_or_else(|| {
            list.next += 1;
            (at, list.next)
        });
        let earlier = list.wakers.insert(place, waker);
        let is_next = list.wakers.keys().next() == Some(&place);
        drop(list);
        drop(earlier);
        if is_next {
            self.changed.notify_one();
        }
        Ok(place)
    }

    /// Wakes whose time has come, until there has been nobody for a while.
    fn watch(&self) {
        let mut list = self.list();
        loop {
            let due = list.take_due(now());
            if !due.is_empty() {
                drop(list);
                for waker in due {
                    // Whoever panics in a waker of its own has been told so; others still wait.
                    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                }
                list = self.list();
                continue;
            }
            let next = list.wakers.keys().next().map(|(at, _)| *at);
            let length = next.map_or(IDLE_MAX, |at| at.saturating_duration_since(now()));
            let waited = self.changed.wait_timeout(list, length);
            let (rested, over) = waited.unwrap_or_else(PoisonError::into_inner);
            list = rested;
            if next.is_none() && over.timed_out() && list.wakers.is_empty() {
                list.watch = Watch::Nobody;
                return;
            }
        }
    }

    fn list(&self) -> MutexGuard<'_, List> {
        // No code of a caller runs under it.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn take_due(&mut self, now: Instant) -> Vec<Waker> {
        let mut due = Vec::new();
        while let Some(next) = self.wakers.first_entry() {
            if next.key().0 > now {
                break;
            }
            due.push(next.remove());
        }
        due
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "these are the timers of clocks that others read time through"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
