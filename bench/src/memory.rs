//! What one more key costs in memory: its own size and what it keeps allocated.

use crate::allocations::bytes_of;
use crate::ours::{Live, policy};
use crate::peers::layered::{Timer, stack};
use crate::peers::resilience;
use governor::{Quota, RateLimiter};
use seawall_core::engine::Engine;
use seawall_core::gate::GateKey;
use seawall_core::time::Instant;
use seawall_core::trace::Recording;
use std::num::NonZeroU32;
use std::time::Duration;

const KEYS: u64 = 1_000;

/// The most that a gate may take.
pub const GATE_BYTES_MAX: u64 = 1_024;

/// Prints the table.
pub fn print() {
    println!("\n# Memory: {KEYS} of each, idle; what they keep allocated, and their own size");
    println!("{:<62} {:>8}", "bytes a key", "bytes");
    let rows: [(&str, u64); 7] = [
        (
            "seawall: a gate of an engine (limit, breaker, budget, queue)",
            gate(),
        ),
        (
            "seawall live: an upstream's hub, engine and gate",
            each(|| Live::new(policy())),
        ),
        (
            "tower: retry + budget > concurrency > timeout",
            each(|| stack(Timer::up_to(Duration::from_secs(30)), 10)),
        ),
        (
            "tower-resilience: the four",
            each(|| resilience::stack(resilience::Breaker::Default, 100)),
        ),
        ("failsafe: default", each(|| failsafe::Config::new().build())),
        ("recloser: default", each(|| recloser::Recloser::custom().build())),
        (
            "governor: direct",
            each(|| RateLimiter::direct(Quota::per_second(NonZeroU32::MAX))),
        ),
    ];
    for (name, bytes) in rows {
        println!("{name:<62} {bytes:>8}");
    }
}

fn each<T>(make: impl Fn() -> T) -> u64 {
    let (bytes, _kept) = bytes_of(|| {
        let mut all = Vec::with_capacity(KEYS as usize);
        all.extend((0..KEYS).map(|_| make()));
        all
    });
    bytes / KEYS
}

/// What one more gate takes, the registry's entry and the room that its vectors have to spare included.
pub fn gate() -> u64 {
    let policy = policy();
    let (bytes, _kept) = bytes_of(|| {
        let mut engine = Engine::new(1, Recording::Off);
        for key in 0..KEYS {
            let made = engine.configure(Instant::START, GateKey(key), &policy.gate, &[], None);
            made.expect("one gate has no parents");
        }
        engine
    });
    bytes / KEYS
}
