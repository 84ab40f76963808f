//! Row 8: retries inside a breaker. It hears of every attempt, and stops the retries of the very call that trips it.
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Duration, Policy, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    let policy = Policy::builder()
        .retries(3)
        .backoff_base(Duration::from_secs(1))
        .edit_breaker(|breaker| breaker.consecutive(5).open_for(Duration::from_secs(60)))
        .build()?;
    Ok(Upstream::builder(url)?.policy(policy))
}

pub async fn run(upstream: &Upstream) -> String {
    match upstream.call(Call::get("/v1/models")).await {
        Ok(answer) => format!("{} after {} attempts", answer.status, answer.attempts.len()),
        Err(error) => format!("{} after {} attempts", error.reason.code(), error.attempts.len()),
    }
}
