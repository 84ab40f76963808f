//! Time that stands still until it is advanced, for every clock of the program: ours, the runtime's, and those of peers
//! that read the host's clock and let nobody give them another.
//!
//! The host's `clock_gettime` is what `std::time::Instant::now` calls; the program that this module is part of has a
//! function of that name of its own, which the linker takes. So this stands in programs of its own, never beside what
//! measures speed, and on Linux alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Long after zero, so that peers may subtract.
const FIRST_NS: u64 = 1_000_000_000_000_000;

static NOW_NS: AtomicU64 = AtomicU64::new(FIRST_NS);
static REAL: AtomicU64 = AtomicU64::new(0);

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanos: i64,
}

#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: i64 = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: i64 = 113;
const MONOTONIC: i32 = 1;

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

/// Takes the place of the host's function of this name.
///
/// # Safety
/// `at` can be written to, as the host's function asks, too.
// SAFETY: the signature and the meaning are those of POSIX; no other function of the program has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: i32, at: *mut Timespec) -> i32 {
    if REAL.load(Ordering::Relaxed) > 0 {
        // SAFETY: the kernel's own call, with the arguments that it was given.
        return i32::from(unsafe { syscall(CLOCK_GETTIME, clock, at) } != 0);
    }
    let now = NOW_NS.load(Ordering::Relaxed);
    let now = Timespec {
        seconds: (now / 1_000_000_000) as i64,
        nanos: (now % 1_000_000_000) as i64,
    };
    // SAFETY: the caller's promise.
    unsafe { at.write(now) };
    0
}

/// Lets time pass.
pub fn advance(length: Duration) {
    NOW_NS.fetch_add(length.as_nanos() as u64, Ordering::Relaxed);
}

/// How long `act` takes by the host's clock; the program's own stands still.
#[allow(dead_code, reason = "each program that has this module uses its part")]
pub fn really_takes(act: impl FnOnce()) -> Duration {
    let began = real_ns();
    act();
    Duration::from_nanos(real_ns() - began)
}

/// Runs `act` on the host's clock.
#[allow(dead_code, reason = "each program that has this module uses its part")]
pub fn on_real_time<T>(act: impl FnOnce() -> T) -> T {
    REAL.fetch_add(1, Ordering::Relaxed);
    let result = act();
    REAL.fetch_sub(1, Ordering::Relaxed);
    result
}

fn real_ns() -> u64 {
    let mut at = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: the kernel writes to a place of ours.
    unsafe { syscall(CLOCK_GETTIME, MONOTONIC, &raw mut at) };
    at.seconds as u64 * 1_000_000_000 + at.nanos as u64
}
