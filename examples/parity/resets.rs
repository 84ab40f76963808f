//! Row 16: ECONNRESET. Connections are kept alive and made anew where a server closed them; 30 s for the whole call.
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Duration, Policy, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    let policy = Policy::builder().deadline(Duration::from_secs(30)).build()?;
    Ok(Upstream::builder(url)?.policy(policy))
}

pub async fn run(upstream: &Upstream) -> String {
    match upstream.call(Call::get("/v1/models")).await {
        Ok(answer) => format!("{} after {} attempts", answer.status, answer.attempts.len()),
        Err(error) => format!(
            "{}: {:?}",
            error.reason.code(),
            error.cause.map(|cause| cause.name())
        ),
    }
}
