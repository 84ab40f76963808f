//! How long answers take.

use seawall_core::rng::Rng;
use seawall_core::time::Duration;

/// The 99th percentile of the standard normal distribution.
const Z_P99: f64 = 2.326_347_874_040_840_8;

/// How long answers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// No time but the machine's own.
    None,
    /// Always this long.
    Fixed(Duration),
    /// Evenly between the two.
    Uniform {
        /// The least.
        shortest: Duration,
        /// The most.
        longest: Duration,
    },
    /// Log-normal, by two of its percentiles: what servers' latencies look like.
    LogNormal {
        /// Half of the answers take at most this.
        p50: Duration,
        /// 99 of 100 take at most this.
        p99: Duration,
    },
}

impl Latency {
    /// One latency, to the microsecond.
    pub fn draw(self, rng: &mut Rng) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Fixed(length) => length,
            Self::Uniform { shortest, longest } => rng.length_between(shortest, longest),
            Self::LogNormal { p50, p99 } => log_normal(rng, p50, p99),
        }
    }
}

fn log_normal(rng: &mut Rng, p50: Duration, p99: Duration) -> Duration {
    let (middle, high) = (nanos(p50), nanos(p99));
    let sigma = (high.ln() - middle.ln()) / Z_P99;
    // Box and Muller; the first number is never 0, whose logarithm has no end.
    let radius = (-2.0 * (1.0 - unit(rng)).ln()).sqrt();
    let normal = radius * (std::f64::consts::TAU * unit(rng)).cos();
    let micros = (middle.ln() + sigma * normal).exp() / 1_000.0;
    Duration::from_micros(whole(micros.round()))
}

/// A number in `0.0..1.0`, of 53 bits.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a drawn latency is exact to the microsecond only"
)]
fn nanos(length: Duration) -> f64 {
    length.as_nanos().max(1) as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates at both ends, which is meant"
)]
fn whole(number: f64) -> u64 {
    number as u64
}
