//! How many files and sockets the system lets this process open.
//!
//! What can go wrong: a batch with more attempts in flight than the limit allows meets "too many open files" as if the
//! server had refused, its breaker opens, and the run crawls without a word. So the soft limit is raised as far as
//! the hard one allows, and what still does not fit is not begun.

use std::num::NonZeroU32;

/// Files kept for everything that is no connection of an attempt: streams, inputs, outputs, name look-ups.
const KEPT_APART: u64 = 32;

/// The most files that may be open at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFiles(u64);

impl OpenFiles {
    /// The limit, raised as far as it goes.
    #[cfg(unix)]
    pub(crate) fn raised() -> Self {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // A system that does not let it go up keeps the old one.
        let current = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => raised.current,
            Err(_) => limit.current,
        };
        Self(current.unwrap_or(u64::MAX))
    }

    /// No such limit is known here.
    #[cfg(not(unix))]
    pub(crate) fn raised() -> Self {
        Self(u64::MAX)
    }

    /// How many may be open beside those that are kept apart.
    pub(crate) fn room(self) -> u64 {
        self.0.saturating_sub(KEPT_APART)
    }

    /// How many connections fit; those to a mock in this process have both their ends here.
    pub(crate) fn connections_max(self, is_mock: bool) -> NonZeroU32 {
        let ends = if is_mock { 2 } else { 1 };
        let connections = self.room() / ends;
        NonZeroU32::new(u32::try_from(connections).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_the_limit_and_one_always_goes() {
        // Could break: both ends of a mock's connection counted as one; a tiny limit that allows none at all.
        for (files, is_mock, most) in [
            (1_024, false, 992),
            (1_024, true, 496),
            (64, true, 16),
            (33, false, 1),
            (10, true, 1),
            (u64::MAX, false, u32::MAX),
        ] {
            assert_eq!(OpenFiles(files).connections_max(is_mock).get(), most);
        }
    }
}
