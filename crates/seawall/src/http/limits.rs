//! The time limits of one attempt, and the timer that holds them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, ready};

use seawall_core::time::{Duration, Instant};

use crate::clock::{Clock, Sleep};

/// How long each phase of one attempt may take (rule F2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Name, connection, TLS handshake and an HTTP/2 server's settings together, over all addresses of the name; also
    /// the wait for a connection that another attempt opens.
    pub connect: Duration,
    /// From the start of sending to the whole head of the answer. A re-send (rule D5) does not begin it anew.
    pub first_byte: Duration,
    /// Silence inside the answer, as far as somebody waits for it: a slow reader is not the server's silence.
    pub idle: Duration,
    /// From the start of the attempt to the last byte; `None` is no such limit.
    pub total: Option<Duration>,
}

/// A phase's limit passed before the phase ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late;

/// A timer that costs nothing until something is in fact waited for.
#[derive(Default)]
pub(super) struct Timer {
    armed: Option<(Instant, Sleep)>,
}

impl Timer {
    /// Ready once the clock has reached `by`. A later `by` than the one armed keeps the old sleep and re-arms when
    /// it ends, so that a limit that moves with every chunk does not cost a timer for every chunk.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, clock: &dyn Clock, by: Instant) -> Poll<()> {
        loop {
            if clock.now() >= by {
                return Poll::Ready(());
            }
            let sleep = match &mut self.armed {
                Some((at, sleep)) if *at <= by => sleep,
                Some(_) | None => &mut self.armed.insert((by, clock.sleep_until(by))).1,
            };
            ready!(sleep.as_mut().poll(cx));
            self.armed = None;
        }
    }
}

/// Runs `phase` until it ends or the clock reaches `by`. The phase is asked first: what is ready is never late.
pub(crate) async fn within<F: Future>(clock: &dyn Clock, by: Instant, phase: F) -> Result<F::Output, Late> {
    let mut phase = pin!(phase);
    let mut timer = Timer::default();
    poll_fn(|cx| match phase.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => timer.poll(cx, clock, by).map(|()| Err(Late)),
    })
    .await
}

#[cfg(test)]
mod tests;
