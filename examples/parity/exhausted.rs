//! Row 3: when retries are spent, the error has the number of attempts and the last error, through `?` and any box.
use super::once::{ApiError, get};
use seawall::{Policy, RetryError};
use std::error::Error;

pub async fn run(url: &str, policy: &Policy) -> Result<String, Box<dyn Error + Send + Sync>> {
    Ok(seawall::retry(|| get(url), policy).await?)
}

pub fn report(error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.downcast_ref::<RetryError<ApiError>>() {
        Some(end) => format!(
            "{} attempts ({}), the last: {:?}",
            end.attempts,
            end.reason.code(),
            end.last
        ),
        None => error.to_string(),
    }
}
