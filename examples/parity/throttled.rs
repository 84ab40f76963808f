//! Row 13: when 429s recur, less is sent. A rate of our own; places found out by what is throttled; one word for all.
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Concurrency, Duration, Policy, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    let policy = Policy::builder()
        .requests_per_minute(Some(60)) // Spread over the minute, and waited for within the deadline.
        .concurrency(Concurrency::Auto)
        .deadline(Duration::from_secs(300))
        .build()?;
    Ok(Upstream::builder(url)?.policy(policy))
}

pub async fn run(upstream: &Upstream) -> Result<u16, &'static str> {
    // After a 429 with `Retry-After`, no call of this upstream is sent before its time.
    let ended = upstream.call(Call::get("/v1/models")).await;
    ended
        .map(|answer| answer.status.as_u16())
        .map_err(|error| error.reason.code())
}
