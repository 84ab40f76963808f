//! The locks, atomics and threads that the live locking is made of.
//!
//! What can go wrong: an order of two threads that no test ever meets loses a wake, and a caller sleeps for ever. So
//! under `--cfg seawall_loom` these names are loom's, and `loom/` plays every order of a few threads at the hub and
//! the parked loop. Everywhere else they are those of std, and this file is nothing. Not here: `Arc`, whose counts
//! decide nothing, and whatever the runtime and the sockets do.

#[cfg(not(seawall_loom))]
pub(crate) use std::{
    sync::atomic::AtomicBool,
    sync::{Mutex, MutexGuard},
    thread, thread_local,
};

#[cfg(seawall_loom)]
pub(crate) use loom::{
    sync::atomic::AtomicBool,
    sync::{Mutex, MutexGuard},
};

/// Loom's, which knows no values that are there before their thread.
#[cfg(seawall_loom)]
macro_rules! modelled_thread_local {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = const { $value:expr };)*) => {
        loom::thread_local! { $($(#[$attribute])* static $name: $type = $value;)* }
    };
}
#[cfg(seawall_loom)]
pub(crate) use modelled_thread_local as thread_local;

/// Loom's threads, for which time does not pass: a park with a limit is one that may end at once.
#[cfg(seawall_loom)]
pub(crate) mod thread {
    pub(crate) use loom::thread::{Thread, current, park};

    pub(crate) fn park_timeout(_length: std::time::Duration) {
        loom::thread::yield_now();
    }
}
