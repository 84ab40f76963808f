//! The mock's clock and its pauses: the one place of this crate that meets real time, because sockets do.

use seawall_core::time::{Duration, Instant};

/// How long to wait before accepting again after the system refused.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How long bytes get to reach the client before a reset: a reset throws away what was not delivered.
pub(super) const DELIVERY_PAUSE: Duration = Duration::from_millis(50);
/// How long a client may go on sending after the mock has said that it will not answer.
pub(super) const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Time since the mock started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began: tokio::time::Instant,
}

impl Pace {
    /// Starts to count.
    pub(super) fn start() -> Self {
        Self { began: tokio_now() }
    }

    /// The time now.
    pub(super) fn now(self) -> Instant {
        Instant::START.after(Duration::from(tokio_now().duration_since(self.began)))
    }

    /// Waits.
    #[expect(
        clippy::disallowed_methods,
        reason = "a mock's delays are real: its clients' sockets wait for them"
    )]
    pub(super) async fn pause(self, length: Duration) {
        tokio::time::sleep(length.into()).await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a mock's journal tells when bytes moved on real sockets"
)]
fn tokio_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}
