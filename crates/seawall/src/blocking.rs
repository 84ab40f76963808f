//! The same loop on a plain thread.
//!
//! [`block_on`] runs a call's future on the thread that wants its answer, parked in between; [`StdClock`] is the
//! clock for it, whose timers are the park's own time limit. No runtime, no helper thread.

use crate::clock::{Clock, Sleep, host_wall};
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicBool, thread_local};
use seawall_core::time::{Duration, Instant, Wall};
use std::cell::Cell;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// When the future that this thread runs wants to be polled again at the latest.
    static WAKE_AT: Cell<Instant> = const { Cell::new(Instant::NEVER) };
}

/// The host's monotonic clock, counting from its construction, for futures that [`block_on`] runs.
#[derive(Clone, Copy, Debug)]
pub struct StdClock {
    began: std::time::Instant,
}

impl StdClock {
    /// A clock that begins now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is a clock that others read time through"
    )]
    pub fn new() -> Self {
        Self {
            began: std::time::Instant::now(),
        }
    }
}

impl Default for StdClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for StdClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is a clock that others read time through"
    )]
    fn now(&self) -> Instant {
        Instant::START.after(
            std::time::Instant::now()
                .saturating_duration_since(self.began)
                .into(),
        )
    }

    fn wall(&self) -> Wall {
        host_wall()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(ParkUntil { clock: *self, at })
    }
}

/// Ends when the clock says so; tells the park how long it may be.
struct ParkUntil {
    clock: StdClock,
    at: Instant,
}

impl Future for ParkUntil {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        WAKE_AT.with(|at| at.set(at.get().min(self.at)));
        Poll::Pending
    }
}

/// How a thread rests while its future has nothing to do.
pub trait Rest {
    /// What ends the rest when it is called, now or later.
    fn waker(&self) -> Waker;

    /// Rests until the waker was called since the last rest, or until `until`; it may end early.
    fn rest(&self, until: Instant);
}

/// Runs `future` to its end on this thread, which is parked while there is nothing to do. Its timers must be those
/// of `clock`, or wake it themselves.
pub fn block_on<T>(clock: &StdClock, future: impl Future<Output = T>) -> T {
    let parked = Arc::new(Parked {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let park = Park {
        clock: *clock,
        parked,
    };
    block_on_resting(&park, future)
}

/// As [`block_on`], for a thread that rests in its own way.
pub fn block_on_resting<T>(rest: &impl Rest, future: impl Future<Output = T>) -> T {
    let waker = rest.waker();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        let outer = WAKE_AT.with(|at| at.replace(Instant::NEVER));
        let polled = future.as_mut().poll(&mut context);
        let wake_at = WAKE_AT.with(|at| at.replace(outer));
        match polled {
            Poll::Ready(value) => return value,
            Poll::Pending => rest.rest(wake_at),
        }
    }
}

/// Parks the thread, for as long as its clock says.
struct Park {
    clock: StdClock,
    parked: Arc<Parked>,
}

impl Rest for Park {
    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.parked))
    }

    fn rest(&self, until: Instant) {
        while !self.parked.woken.swap(false, Ordering::Acquire) {
            let left = until.since(self.clock.now());
            match until {
                Instant::NEVER => thread::park(),
                _ if left == Duration::ZERO => return,
                _ => thread::park_timeout(left.into()),
            }
        }
    }
}

struct Parked {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        // A swap and no store: the model takes a store beside the other side's swap to be reordered with it, which
        // no memory model allows.
        self.woken.swap(true, Ordering::AcqRel);
        self.thread.unpark();
    }
}
