//! Row 1: the settings of a retry, checked when they are built. Which errors: by their type, never by their text.
use super::once::{ApiError, get};
use seawall::{Duration, Failure, Gate, Jitter, Policy, PolicyError, RetryError};

pub fn policy() -> Result<Policy, PolicyError> {
    Policy::builder()
        .retries(5)
        .backoff_base(Duration::from_secs(1))
        .backoff_factor_tenths(20) // 2.0
        .backoff_cap(Duration::from_secs(60))
        .jitter(Jitter::Proportional { per_mille: 500 }) // ± 50 %, and never above the cap.
        .deadline(Duration::from_secs(300))
        .build()
}

pub async fn run(url: &str, gate: &Gate) -> Result<String, RetryError<ApiError>> {
    seawall::retry(|| get(url), gate)
        .classify(|error: &ApiError| match error {
            ApiError::Status(408 | 429 | 500 | 502 | 503 | 504) => Failure::transient(),
            ApiError::Status(_) => Failure::permanent(),
            ApiError::Unreachable(_) => Failure::transient(),
        })
        .await
}
