//! A clock that runs so many times as fast as real time.

use crate::passage::TimeScale;
use seawall::clock::{Clock, Sleep, StdClock};
use seawall_core::time::{Duration, Instant, Wall};

/// It keeps time by a thread's timers and not by the runtime's: those are exact to a tenth of a millisecond, these to a
/// whole one, and every error is multiplied here.
#[derive(Clone, Debug)]
pub(super) struct Fast {
    real: StdClock,
    scale: TimeScale,
}

impl Fast {
    pub(super) fn new(scale: TimeScale) -> Self {
        Self {
            real: StdClock::new(),
            scale,
        }
    }

    fn real_of(&self, at: Instant) -> Instant {
        if at == Instant::NEVER {
            return at;
        }
        let nanos = u128::from(at.as_nanos()) * 1_000;
        // Up, so that it is not asked again before its time.
        let real = nanos.div_ceil(u128::from(self.scale.per_mille()));
        Instant::START.after(Duration::from_nanos(u64::try_from(real).unwrap_or(u64::MAX)))
    }
}

impl Clock for Fast {
    fn now(&self) -> Instant {
        let passed = u128::from(self.real.now().as_nanos()) * u128::from(self.scale.per_mille()) / 1_000;
        Instant::START.after(Duration::from_nanos(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    fn wall(&self) -> Wall {
        self.real.wall()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        self.real.sleep_until(self.real_of(at))
    }
}
