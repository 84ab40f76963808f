//! Row 10: full jitter by default, from a tenth of the base up to min(cap, base · 2^n); the others to compare.
use super::once::{ApiError, get};
use seawall::{Duration, Gate, Jitter, Policy, PolicyError};

pub const KINDS: [Jitter; 3] = [Jitter::Full, Jitter::Equal, Jitter::Decorrelated];

pub fn policy(jitter: Jitter) -> Result<Policy, PolicyError> {
    let builder = Policy::builder()
        .backoff_base(Duration::from_millis(500))
        .backoff_cap(Duration::from_secs(30))
        .jitter(jitter);
    builder
        .retries(8)
        .deadline(Duration::from_secs(600))
        .budget(None)
        .breaker(None)
        .build()
}

pub async fn run(url: &str, gate: &Gate) -> Vec<Duration> {
    let mut waits = Vec::new();
    let call = seawall::retry(|| get(url), gate).notify(|notice| waits.push(notice.wait));
    let _ended: Result<String, seawall::RetryError<ApiError>> = call.await;
    waits
}
