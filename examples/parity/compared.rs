//! Row 20: strategies compared over a thousand calls of which a tenth fail: how many are lost, and what waiting costs.
use seawall::{Call, Duration, Jitter, Policy, PolicyBuilder, Upstream};

pub fn strategies() -> [(&'static str, PolicyBuilder); 3] {
    let alone = Policy::builder().budget(None).breaker(None);
    let drawn = alone.retries(3).backoff_base(Duration::from_secs(1));
    let fixed = drawn.backoff_factor_tenths(10).jitter(Jitter::None);
    [("none", alone.retries(0)), ("fixed", fixed), ("drawn", drawn)]
}

/// Calls lost, and the mean and the spread of the seconds that the others waited.
pub async fn run(upstream: &Upstream) -> (usize, f64, f64) {
    let mut secs = Vec::new();
    for _ in 0..1_000 {
        if let Ok(answer) = upstream.call(Call::get("/v1/models")).await {
            let waited: u64 = answer.waited.iter().map(|(_, wait)| wait.as_millis()).sum();
            secs.push(waited as f64 / 1_000.0);
        }
    }
    let mean = secs.iter().sum::<f64>() / secs.len() as f64;
    let squares: f64 = secs.iter().map(|waited| (waited - mean).powi(2)).sum();
    (1_000 - secs.len(), mean, (squares / secs.len() as f64).sqrt())
}
