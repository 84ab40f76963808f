//! How much time of processors this process has spent.

/// Time of processors, all threads together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    seconds: f64,
}

impl Spent {
    /// Since the process began; nothing where the system does not tell.
    #[cfg(unix)]
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds of a process are far below 2^53"
    )]
    pub(super) fn so_far() -> Option<Self> {
        use rustix::time::{ClockId, clock_gettime};
        let spent = clock_gettime(ClockId::ProcessCPUTime);
        Some(Self {
            seconds: spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9,
        })
    }

    /// Nothing is told here.
    #[cfg(not(unix))]
    pub(super) fn so_far() -> Option<Self> {
        None
    }

    /// Since then.
    pub(super) fn since(self) -> Option<Self> {
        let seconds = Self::so_far()?.seconds - self.seconds;
        Some(Self { seconds })
    }

    /// How fast so many events were, as JSON.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a speed to a few digits; a negative one saturates at 0"
    )]
    pub(super) fn speed(self, events: u64) -> String {
        let per_second = events as f64 / self.seconds.max(1e-9);
        let (events, cpu_ms) = (events, (self.seconds * 1e3) as u64);
        format!(
            "{{\"events_per_cpu_s\":{},\"events\":{events},\"cpu_ms\":{cpu_ms}}}",
            per_second as u64
        )
    }
}
