//! The only door through which time comes in.
//!
//! Whatever waits or reads time does it through a [`Clock`], so that a test cranks the hours by hand and a trace
//! can be replayed. What this does not cover: a peer's clock, and the kernel's own timers.
//!
//! A call lives by [`TokioClock`] where the feature `tokio` is on, and else by [`StdClock`]. Both keep time wherever they
//! are awaited: on a thread that parks, in a task of a tokio runtime, and in a task of any other executor.

mod alarm;
#[cfg(feature = "tokio")]
mod tokio;

#[cfg(feature = "tokio")]
pub use self::tokio::TokioClock;
pub use crate::blocking::StdClock;
pub(crate) use alarm::Alarm;

use seawall_core::time::{Instant, Wall};
use std::fmt;
use std::pin::Pin;
use std::time::SystemTime;

/// The clock of whoever was given none.
#[cfg(feature = "tokio")]
pub(crate) type HostClock = TokioClock;
#[cfg(not(feature = "tokio"))]
pub(crate) type HostClock = StdClock;

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
