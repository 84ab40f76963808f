//! The only door through which time comes in.
//!
//! Whatever waits or reads time does it through a [`Clock`], so that a test cranks the hours by hand and a trace
//! can be replayed. What this does not cover: a peer's clock, and the kernel's own timers.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use crate::blocking::{Keeper, park_until};
use pin_project_lite::pin_project;
use seawall_core::time::{Instant, Wall};

/// A wait that a [`Clock`] has begun.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time and waits for it.
///
/// A driver reads it again after each wait: trust the clock, not the timer. It never goes backwards.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The point on this driver's own time line.
    fn now(&self) -> Instant;

    /// The host's date, used only to read dates in headers.
    fn wall(&self) -> Wall;

    /// A wait that ends at `at` or a little later; at once where that is past, never for [`Instant::NEVER`].
    fn sleep_until(&self, at: Instant) -> Sleep;
}

/// The clock of the tokio runtime, counting from its construction. In a task its timers are the runtime's; on a thread
/// that [`block_on`](crate::blocking::block_on) runs, they are the park's, and there need be no runtime.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    began: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that begins now.
    #[inline]
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else reads time through"
    )]
    pub fn new() -> Self {
        Self {
            began: tokio::time::Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else reads time through"
    )]
    fn now(&self) -> Instant {
        let elapsed = tokio::time::Instant::now().saturating_duration_since(self.began);
        Instant::START.after(elapsed.into())
    }

    fn wall(&self) -> Wall {
        host_wall()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let length = at.since(Instant::START).into();
        match self.began.checked_add(length) {
            Some(point) if at < Instant::NEVER => Box::pin(Timer { point, sleep: None }),
            Some(_) | None => Box::pin(std::future::pending()),
        }
    }
}

pin_project! {
    /// A wait for a point in time; who keeps it is seen when it is polled.
    struct Timer {
        point: tokio::time::Instant,
        #[pin]
        sleep: Option<tokio::time::Sleep>,
    }
}

impl Future for Timer {
    type Output = ();

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else reads time through"
    )]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let point = *this.point;
        match park_until(context.waker(), point.into_std()) {
            Keeper::Park if tokio::time::Instant::now() >= point => return Poll::Ready(()),
            Keeper::Park => return Poll::Pending,
            Keeper::Other => {}
        }
        if this.sleep.is_none() {
            this.sleep.set(Some(tokio::time::sleep_until(point)));
        }
        match this.sleep.as_pin_mut() {
            Some(sleep) => sleep.poll(context),
            None => Poll::Ready(()),
        }
    }
}

/// The host's date.
#[expect(clippy::disallowed_methods, reason = "this is where clocks read dates")]
pub(crate) fn host_wall() -> Wall {
    let now = SystemTime::now();
    let unix_ms = match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    };
    Wall::from_unix_ms(unix_ms)
}
