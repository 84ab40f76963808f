//! The runner's own time: for the bar, for the grace after Ctrl-C, for dates in state files. It decides nothing
//! about a call; that is the engine's, behind [`crate::Caller`].

use std::time::UNIX_EPOCH;

/// Now, on tokio's clock: a test that pauses it cranks the runner too.
#[expect(
    clippy::disallowed_methods,
    reason = "tokio's clock is paused and cranked in tests, and decides nothing about a call"
)]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// The date, for people who look into state files.
#[expect(
    clippy::disallowed_methods,
    reason = "written down, never read back to decide"
)]
pub(crate) fn unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}
