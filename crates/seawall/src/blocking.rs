//! The same calls on a plain thread.
//!
//! | to call | say |
//! |---|---|
//! | a closure, on its own or behind a [`Gate`](crate::Gate) | [`retry`], [`retry_with`] |
#![cfg_attr(feature = "http", doc = "| an HTTP API | [`Upstream`] |")]
//! | a future of yours, by the engine's own loop | [`block_on`] |
//!
//! There is no second loop: [`block_on`] runs a call's future on the thread that wants its answer, parked in between;
//! [`StdClock`] is the clock for it, whose timers are the park's own time limit. Closures need no runtime and no helper
//! thread; calls over HTTP have one.
//!
//! A thread cannot be cut: an attempt that blocks for longer than its call has time ends when it ends, and the call
//! with it. Give the time that is left ([`Attempt::left`](crate::Attempt::left)) to whatever limit your own call takes.

mod call;
#[cfg(feature = "http")]
mod opened;
#[cfg(feature = "http")]
mod upstream;

pub use call::{Retryable, retry, retry_with};
#[cfg(feature = "http")]
pub use opened::Opened;
#[cfg(feature = "http")]
pub use upstream::Upstream;

use crate::clock::{Alarm, Clock, Sleep, host_wall};
use crate::sync::thread::{self, Thread};
use crate::sync::{AtomicBool, thread_local};
use seawall_core::time::{Duration, Instant, Wall};
use std::cell::{Cell, RefCell};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// When the future that this thread runs wants to be polled again at the latest.
    static WAKE_AT: Cell<Instant> = const { Cell::new(Instant::NEVER) };
    /// The park of the future that this thread runs, for timers that may be a park's or a runtime's.
    static PARKING: RefCell<Option<Parking>> = const { RefCell::new(None) };
    /// What woke this thread's last park, for its next one.
    static SPARE: Cell<Option<Arc<Parked>>> = const { Cell::new(None) };
}

/// The host's monotonic clock, counting from its construction. On a thread that [`block_on`] runs, its timers are the
/// park's own time limit; in a task of any executor, one thread of the process keeps them for all.
#[derive(Clone, Copy, Debug)]
pub struct StdClock {
    began: std::time::Instant,
}

impl StdClock {
    /// A clock that begins now.
    #[inline]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is a clock that others read time through"
    )]
    pub fn new() -> Self {
        Self {
            began: std::time::Instant::now(),
        }
    }

    /// This point on its time line.
    fn instant(&self, point: std::time::Instant) -> Instant {
        Instant::START.after(point.saturating_duration_since(self.began).into())
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
        self.instant(std::time::Instant::now())
    }

    fn wall(&self) -> Wall {
        host_wall()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        Box::pin(ParkUntil {
            clock: *self,
            at,
            alarm: None,
        })
    }
}

/// Ends when the clock says so; tells the park how long it may be.
struct ParkUntil {
    clock: StdClock,
    at: Instant,
    /// Where no park polls.
    alarm: Option<Alarm>,
}

impl Future for ParkUntil {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.clock.now() >= this.at {
            return Poll::Ready(());
        }
        let length = this.at.since(Instant::START).into();
        let point = this.clock.began.checked_add(length);
        // Else a time that never comes.
        if let Some(point) = point.filter(|_| this.at < Instant::NEVER)
            && park_until(context.waker(), point) == Keeper::Other
        {
            let alarm = this.alarm.get_or_insert_with(|| Alarm::at(point));
            return Pin::new(alarm).poll(context);
        }
        Poll::Pending
    }
}

/// A park, as timers know it.
struct Parking {
    waker: Waker,
    clock: StdClock,
}

impl Parking {
    /// Makes this the thread's park until the guard goes.
    fn enter(self) -> Entered {
        let outer = PARKING.try_with(|parking| parking.replace(Some(self)));
        Entered(outer.ok().flatten())
    }
}

/// Gives the thread its outer park back, also when a call panics.
struct Entered(Option<Parking>);

impl Drop for Entered {
    fn drop(&mut self) {
        let outer = self.0.take();
        // Where the thread is ending, nobody parks any more.
        let _ = PARKING.try_with(|parking| parking.replace(outer));
    }
}

/// Who keeps a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// The park of this thread: it will end in time.
    Park,
    /// Somebody else: whoever polls is no park.
    Other,
}

/// Asks the park that polls with `waker` to end at `point`, if it is one. A runtime that is run inside a park polls with
/// wakers of its own.
pub(crate) fn park_until(waker: &Waker, point: std::time::Instant) -> Keeper {
    let keeper = PARKING.try_with(|parking| match &*parking.borrow() {
        Some(parking) if parking.waker.will_wake(waker) => {
            WAKE_AT.with(|at| at.set(at.get().min(parking.clock.instant(point))));
            Keeper::Park
        }
        Some(_) | None => Keeper::Other,
    });
    keeper.unwrap_or(Keeper::Other)
}

/// How a thread rests while its future has nothing to do.
pub trait Rest {
    /// What ends the rest when it is called, now or later.
    fn waker(&self) -> Waker;

    /// Rests until the waker was called since the last rest, or until `until`; it may end early.
    fn rest(&self, until: Instant);
}

/// Runs `future` to its end on this thread, which is parked while there is nothing to do. Timers of `clock` are the park's
/// own; others wake it themselves.
pub fn block_on<T>(clock: &StdClock, future: impl Future<Output = T>) -> T {
    // One that is in use is not here: a park inside a park has its own.
    let parked = SPARE.with(Cell::take).unwrap_or_else(|| {
        Arc::new(Parked {
            thread: thread::current(),
            woken: AtomicBool::new(false),
        })
    });
    let park = Park {
        clock: *clock,
        parked,
    };
    let outer = Parking {
        waker: park.waker(),
        clock: *clock,
    }
    .enter();
    let value = block_on_resting(&park, future);
    drop(outer);
    SPARE.with(|spare| spare.set(Some(park.parked)));
    value
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
