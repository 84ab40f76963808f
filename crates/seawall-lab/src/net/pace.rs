//! The mock's clock and its pauses.
//!
//! What can go wrong: a test on a cranked clock turns it while bytes are on their way, and a prompt answer is late.
//! So whoever is kept waiting on purpose is counted: while that is all that is in flight, time may pass. What has to
//! do with the machine and not with the script (bytes that need a moment to arrive) takes real time always.

use super::dial::Dial;
use crate::passage::Passage;
use seawall::clock::{Clock, TokioClock};
use seawall_core::time::{Duration, Instant, Wall};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// How long to wait before accepting again after the system refused.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long bytes that are on their way get to reach the client before a reset.
pub(super) const DELIVERY_PAUSE: Duration = Duration::from_millis(50);
/// How long a client may go on sending after the mock has said that it will not answer.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Time since the mock started, and who waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    dial: Dial,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    waiting: u64,
    watchers: Vec<Waker>,
}

impl Pace {
    /// Starts to count on this clock; without one, on the runtime's.
    pub(super) fn start(clock: Option<Arc<dyn Clock>>, passage: Passage) -> Self {
        let clock = clock.unwrap_or_else(|| Arc::new(TokioClock::new()));
        Self {
            dial: Dial::start(clock, passage),
            kept: Arc::default(),
        }
    }

    /// The time now, since the mock's start.
    pub(crate) fn now(&self) -> Instant {
        self.dial.now()
    }

    /// The date now, by the mock's own clock: what it says in dates agrees with how its time passes.
    pub(super) fn wall(&self) -> Wall {
        self.dial.wall()
    }

    /// The clock itself.
    pub(super) fn dial(&self) -> &Dial {
        &self.dial
    }

    /// Waits on purpose.
    pub(crate) async fn pause(&self, length: Duration) {
        let mut sleep = self.dial.sleep_until(self.dial.now().after(length));
        let waiting = self.keep_waiting();
        poll_fn(|context| {
            waiting.place.take();
            let until_woken = Waker::from(Arc::new(UntilWoken {
                place: waiting.place.clone(),
                task: context.waker().clone(),
            }));
            sleep.as_mut().poll(&mut Context::from_waker(&until_woken))
        })
        .await;
    }

    /// Waits until this time, for nobody.
    pub(crate) async fn until(&self, at: Instant) {
        self.dial.sleep_until(at).await;
    }

    /// Counts whoever holds what it gives as kept waiting.
    pub(crate) fn keep_waiting(&self) -> Waiting {
        let place = Place {
            kept: Arc::clone(&self.kept),
            taken: Arc::default(),
        };
        place.take();
        Waiting { place }
    }

    /// How many are kept waiting on purpose.
    pub(super) fn kept_waiting(&self) -> u64 {
        self.kept().waiting
    }

    /// Wakes once when somebody begins or ends to be kept waiting.
    pub(super) fn watch(&self, waker: &Waker) {
        let mut kept = self.kept();
        if !kept.watchers.iter().any(|known| known.will_wake(waker)) {
            kept.watchers.push(waker.clone());
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }
}

// A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody who is kept waiting on purpose.
#[derive(Debug)]
pub(crate) struct Waiting {
    place: Place,
}

impl Waiting {
    /// Its place, for whoever ends the wait.
    pub(crate) fn place(&self) -> Place {
        self.place.clone()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.place.leave();
    }
}

/// A place among those who are kept waiting, taken or not.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    kept: Arc<Mutex<Kept>>,
    taken: Arc<AtomicBool>,
}

impl Place {
    fn take(&self) {
        if !self.taken.swap(true, Ordering::SeqCst) {
            self.change(|waiting| *waiting += 1);
        }
    }

    /// It is kept waiting no more: something else has come to pass that it will hear of.
    pub(crate) fn leave(&self) {
        if self.taken.swap(false, Ordering::SeqCst) {
            self.change(|waiting| *waiting -= 1);
        }
    }

    fn change(&self, change: impl FnOnce(&mut u64)) {
        let mut kept = lock(&self.kept);
        change(&mut kept.waiting);
        let watchers = std::mem::take(&mut kept.watchers);
        drop(kept);
        watchers.into_iter().for_each(Waker::wake);
    }
}

/// Leaves the place the moment that time has come, not when its task has its turn: in between, whoever turns a clock
/// would turn it on past what is due.
struct UntilWoken {
    place: Place,
    task: Waker,
}

impl Wake for UntilWoken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.place.leave();
        self.task.wake_by_ref();
    }
}

/// Lets the machine have a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "bytes on real sockets need real time, whatever the mock's clock says"
)]
pub(crate) async fn moment(length: Duration) {
    tokio::time::sleep(length.into()).await;
}

#[cfg(test)]
mod tests;
