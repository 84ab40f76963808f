//! The clock of tokio runtimes.

use super::{Alarm, Clock, Sleep, host_wall};
use crate::blocking::{Keeper, park_until};
use pin_project_lite::pin_project;
use seawall_core::time::{Instant, Wall};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// The clock of the tokio runtime, counting from its construction. In a task its timers are the runtime's; on a thread
/// that [`block_on`](crate::blocking::block_on) runs, they are the park's; where there is no runtime, in a task of
/// another executor, they are those of [`StdClock`](super::StdClock).
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
            Some(point) if at < Instant::NEVER => Box::pin(Timer {
                point,
                kept: Kept::Unseen,
            }),
            Some(_) | None => Box::pin(std::future::pending()),
        }
    }
}

pin_project! {
    /// A wait for a point in time; who keeps it is seen when it is polled.
    struct Timer {
        point: tokio::time::Instant,
        #[pin]
        kept: Kept,
    }
}

pin_project! {
    #[project = Keeping]
    enum Kept {
        Unseen,
        Runtime { #[pin] sleep: tokio::time::Sleep },
        Alarm { #[pin] alarm: Alarm },
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
        if let Keeping::Unseen = this.kept.as_mut().project() {
            // A timer of tokio's panics outside of its runtime.
            this.kept.set(match Handle::try_current() {
                Ok(_) => Kept::Runtime {
                    sleep: tokio::time::sleep_until(point),
                },
                Err(_) => Kept::Alarm {
                    alarm: Alarm::at(point.into_std()),
                },
            });
        }
        match this.kept.project() {
            Keeping::Runtime { sleep } => sleep.poll(context),
            Keeping::Alarm { alarm } => alarm.poll(context),
            Keeping::Unseen => unreachable!("it was seen above"),
        }
    }
}
