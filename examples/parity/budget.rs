//! Row 12: retries are at most a tenth of the traffic, over all calls; when they are spent, failures return at once.
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Duration, Policy, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    let policy = Policy::builder()
        .retries(2)
        .breaker(None)
        .edit_budget(|budget| {
            budget
                .ratio_per_mille(100)
                .floor_milli(0)
                .window(Duration::from_secs(10))
        })
        .build()?;
    Ok(Upstream::builder(url)?.policy(policy))
}

pub async fn run(upstream: &Upstream) -> Result<u16, &'static str> {
    let ended = upstream.call(Call::get("/v1/models")).await;
    ended
        .map(|answer| answer.status.as_u16())
        .map_err(|error| error.reason.code())
}
