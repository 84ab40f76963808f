//! The mock's clock and its pauses.
//!
//! What can go wrong: a test on a cranked clock turns it while bytes are on their way, and a prompt answer is late.
//! So whoever is kept waiting on purpose is counted: while that is all that is in flight, time may pass. What has to
//! do with the machine and not with the script (bytes that need a moment to arrive) takes real time always.

use seawall::clock::{Clock, TokioClock};
use seawall_core::time::{Duration, Instant, Wall};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// How long to wait before accepting again after the system refused.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long bytes that are on their way get to reach the client before a reset.
pub(super) const DELIVERY_PAUSE: Duration = Duration::from_millis(50);
/// How long a client may go on sending after the mock has said that it will not answer.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Time since the mock started, and who waits for it.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    clock: Arc<dyn Clock>,
    began: Instant,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    waiting: u64,
    watchers: Vec<Waker>,
}

impl Pace {
    /// Starts to count on this clock; without one, on the runtime's.
    pub(super) fn start(clock: Option<Arc<dyn Clock>>) -> Self {
        let clock = clock.unwrap_or_else(|| Arc::new(TokioClock::new()));
        Self {
            began: clock.now(),
            clock,
            kept: Arc::default(),
        }
    }

    /// The time now.
    pub(super) fn now(&self) -> Instant {
        Instant::START.after(self.clock.now().since(self.began))
    }

    /// The date now, for headers that tell dates.
    pub(super) fn wall(&self) -> Wall {
        self.clock.wall()
    }

    /// Waits on purpose.
    pub(super) async fn pause(&self, length: Duration) {
        let sleep = self.clock.sleep_until(self.clock.now().after(length));
        let _kept = self.keep_waiting();
        sleep.await;
    }

    /// Counts whoever holds what it gives as kept waiting.
    pub(super) fn keep_waiting(&self) -> Waiting<'_> {
        let mut kept = self.kept();
        kept.waiting += 1;
        let watchers = std::mem::take(&mut kept.watchers);
        drop(kept);
        watchers.into_iter().for_each(Waker::wake);
        Waiting(self)
    }

    /// How many are kept waiting on purpose.
    pub(super) fn kept_waiting(&self) -> u64 {
        self.kept().waiting
    }

    /// Wakes once when somebody begins to be kept waiting.
    pub(super) fn watch(&self, waker: &Waker) {
        let mut kept = self.kept();
        if !kept.watchers.iter().any(|known| known.will_wake(waker)) {
            kept.watchers.push(waker.clone());
        }
    }

    // A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who is kept waiting on purpose.
#[derive(Debug)]
pub(super) struct Waiting<'p>(&'p Pace);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.kept().waiting -= 1;
    }
}

/// Lets the machine have a moment.
#[expect(
    clippy::disallowed_methods,
    reason = "bytes on real sockets need real time, whatever the mock's clock says"
)]
pub(super) async fn moment(length: Duration) {
    tokio::time::sleep(length.into()).await;
}
