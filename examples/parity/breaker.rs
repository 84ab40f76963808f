//! Row 7: a breaker. Five failures open it for 60 s, then three probes go, and three that succeed close it.
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Duration, Policy, Reason, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    let policy = Policy::builder().retries(0).edit_breaker(|breaker| {
        let breaker = breaker.consecutive(5).open_for(Duration::from_secs(60));
        breaker.probes(3).probe_successes(3)
    });
    Ok(Upstream::builder(url)?.policy(policy.build()?))
}

pub async fn run(upstream: &Upstream) -> String {
    let ended = upstream.call(Call::get("/v1/models")).await;
    let said = match ended.map_err(|error| error.reason) {
        Ok(answer) => answer.status.to_string(),
        Err(Reason::BreakerOpen { retry_in }) => format!("not sent: retry after {retry_in}"),
        Err(reason) => reason.code().to_owned(),
    };
    let view = upstream.state().gate.breaker.expect("the policy has a breaker");
    let failures = view.before.failures.max(view.counts.failures);
    format!("{said}; {} (failures: {failures})", view.state)
}
