//! What a call costs with many calls in the window: it should not matter.

use crate::ours::{Core, policy};
use crate::peers::layered::once;
use crate::peers::{answer, ready_now};
use crate::rounds::quantile;
use seawall_core::time::Duration;
use std::time::Instant;
use tower::service_fn;
use tower_resilience_circuitbreaker::{CircuitBreakerLayer, SlidingWindowType};

const IN_WINDOW: [u32; 5] = [1_000, 10_000, 30_000, 100_000, 1_000_000];
/// Filling the peer's window costs its square: above this it takes minutes.
const PEER_MOST: u32 = 30_000;
/// The breaker's window.
const WINDOW_NS: u64 = 30_000_000_000;

/// Prints the table.
pub fn print() {
    println!(
        "\n# Calls in the window: seawall's default policy, 30 s of breaker and 10 s of budget; tower-resilience 0.14.0's breaker"
    );
    println!("# alone, time window of 1 h (up to {PEER_MOST}: filling it takes the square).");
    println!(
        "{:<30} {:>16} {:>28}",
        "p50 ns per call", "seawall core", "tower-resilience's breaker"
    );
    for calls in IN_WINDOW {
        let theirs = (calls <= PEER_MOST).then(|| resilience(calls));
        let theirs = theirs.map_or("-".to_owned(), |ns| format!("{ns:.0}"));
        println!("{calls:<30} {:>16.1} {theirs:>28}", ours(calls));
    }
}

fn ours(calls: u32) -> f64 {
    let mut core = Core::new(policy(), Duration::from_nanos(WINDOW_NS / u64::from(calls)));
    for _ in 0..calls {
        core.success();
    }
    batches(|| core.success())
}

fn resilience(calls: u32) -> f64 {
    let layer = CircuitBreakerLayer::builder()
        .sliding_window_type(SlidingWindowType::TimeBased)
        .sliding_window_duration(std::time::Duration::from_secs(3_600))
        .build()
        .expect("the settings are in range");
    let mut breaker = layer.layer_fn(service_fn(|()| answer()));
    let mut call = || assert!(ready_now(once(&mut breaker)).is_ok());
    (0..calls).for_each(|_| call());
    batches(call)
}

fn batches(mut call: impl FnMut()) -> f64 {
    let ns: Vec<f64> = (0..50)
        .map(|_| {
            let began = Instant::now();
            (0..20).for_each(|_| call());
            began.elapsed().as_nanos() as f64 / 20.0
        })
        .collect();
    quantile(&ns, 0.5)
}
