//! Row 2: one decorator for functions that block and for those that wait; it tells each attempt, error and delay.
use super::once::{ApiError, get, get_blocking};
use seawall::retry::Notice;
use seawall::{Policy, RetryError};

#[seawall::retry(policy = policy, notify = tell)]
pub fn blocking(policy: &Policy, url: &str) -> Result<String, RetryError<ApiError>> {
    get_blocking(url)
}

#[seawall::retry(policy = policy, notify = tell)]
pub async fn waiting(policy: &Policy, url: &str) -> Result<String, RetryError<ApiError>> {
    get(url).await
}

fn tell(notice: &Notice<'_, ApiError>) {
    let error = notice.error.map_or_else(|| "cut".to_owned(), ToString::to_string);
    println!(
        "attempt {}: {error}; the next in {}",
        notice.attempts, notice.wait
    );
}
