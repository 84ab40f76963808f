//! Measuring what is too short to measure once: batches, percentiles of batches, and an allocator that counts.
//!
//! What can go wrong: a batch longer than a scheduler's slice measures the neighbours, and a mean measures the worst
//! of them. So batches are short and many, and p10 and p50 over batches are told: far apart, they say that the
//! machine was busy. What is compared is measured in turns, batch by batch, so that a busy second hits all alike.

pub mod allocations;
#[cfg(feature = "peers")]
pub mod calls;
#[cfg(feature = "peers")]
pub mod contended;
#[cfg(feature = "peers")]
pub mod layer;
#[cfg(feature = "peers")]
pub mod memory;
#[cfg(feature = "peers")]
pub mod ours;
#[cfg(feature = "peers")]
pub mod peers;
pub mod rounds;
#[cfg(feature = "peers")]
pub mod speed;
#[cfg(feature = "peers")]
pub mod window;
#[cfg(feature = "peers")]
pub mod wire;

use std::process::Command;
use std::time::Instant;

/// Iterations of one batch: tens of microseconds, well within a scheduler's slice.
pub const BATCH_ITERATIONS: u32 = 2_000;
/// Batches of one measurement.
pub const BATCHES: usize = 600;

/// What one iteration cost, and what it allocated.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Nanoseconds per iteration in the batch that a tenth of the batches were faster than.
    pub p10_ns: f64,
    /// Nanoseconds per iteration in the middle batch.
    pub p50_ns: f64,
    /// Allocations over all batches, after one batch to warm up.
    pub allocations: u64,
}

/// Runs `iteration` in batches.
pub fn measure(mut iteration: impl FnMut()) -> Cost {
    for _ in 0..BATCH_ITERATIONS {
        iteration();
    }
    let mut per_iteration_ns = Vec::with_capacity(BATCHES);
    let allocated_before = allocations::count();
    for _ in 0..BATCHES {
        let began = Instant::now();
        for _ in 0..BATCH_ITERATIONS {
            iteration();
        }
        per_iteration_ns.push(began.elapsed().as_nanos() as f64 / f64::from(BATCH_ITERATIONS));
    }
    let allocations = allocations::count() - allocated_before;
    per_iteration_ns.sort_by(f64::total_cmp);
    Cost {
        p10_ns: per_iteration_ns[BATCHES / 10],
        p50_ns: per_iteration_ns[BATCHES / 2],
        allocations,
    }
}

/// The cargo that started this program, to build another.
///
/// It does not see what the first one said of this package: the build script of ring asks for these variables, and all that
/// stands on ring would be built again.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "OUT_DIR" {
            command.env_remove(&name);
        }
    }
    command
}
