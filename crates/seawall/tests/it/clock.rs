//! A clock that is cranked by hand.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use seawall::clock::{Clock, Sleep};
use seawall_core::time::{Duration, Instant, Wall};

/// Time that passes only when told to.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandClock(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    now: Instant,
    sleepers: Vec<Waker>,
    watchers: Vec<Waker>,
}

impl HandClock {
    /// Lets time pass.
    pub(crate) fn crank(&self, by: Duration) {
        let sleepers = {
            let mut state = self.0.lock().unwrap();
            state.now = state.now.after(by);
            std::mem::take(&mut state.sleepers)
        };
        sleepers.into_iter().for_each(Waker::wake);
    }

    /// Ends once somebody waits for time to pass.
    pub(crate) async fn awaited(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if state.sleepers.is_empty() {
                state.watchers.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }

    fn wall(&self) -> Wall {
        Wall::default()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let clock = self.clone();
        Box::pin(poll_fn(move |cx| {
            let mut state = clock.0.lock().unwrap();
            if state.now >= at {
                return Poll::Ready(());
            }
            state.sleepers.push(cx.waker().clone());
            std::mem::take(&mut state.watchers)
                .into_iter()
                .for_each(Waker::wake);
            Poll::Pending
        }))
    }
}
