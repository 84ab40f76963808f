//! Rows about functions: settings, the decorator, what is left of an error, kinds of jitter.

use super::Scene;
use super::shown::once::ApiError;
use super::shown::{exhausted, functions, jitter, settings};
use seawall::{Duration, Jitter, Policy, PolicyBuilder, RetryError};
use std::collections::BTreeSet;
use std::error::Error as _;

const MODELS: &str = "GET /v1/models";

/// The same as `policy`, without a wait that anybody would notice.
fn quick(policy: PolicyBuilder) -> Policy {
    let policy = policy.backoff_base(Duration::from_millis(1)).jitter(Jitter::None);
    policy.build().unwrap()
}

#[tokio::test]
async fn the_text_of_an_error_decides_nothing() {
    // Breaks when names are looked for in messages: this refusal says "503", "timeout" and "rate limit".
    for (script, sends) in [
        (r#"400 text="503 timeout: rate limit, connection reset""#, 1),
        (r#"503 text="bad input, not found, unauthorized", 200"#, 2),
    ] {
        let scene = Scene::of_functions(&format!("{MODELS} = {script}")).await;
        let gate = scene.gate(&settings::policy().unwrap(), 1);
        let url = scene.models();
        let ended = scene.play(&gate, settings::run(&url, &gate)).await;
        assert_eq!((ended.is_ok(), scene.sends()), (sends == 2, sends), "{script}");
    }
}

#[tokio::test]
async fn jitter_never_waits_longer_than_the_cap() {
    // Breaks when jitter is added after the cap: 4 s and a half more are 6 s.
    let capped = PolicyBuilder::from_policy(settings::policy().unwrap()).backoff_cap(Duration::from_secs(4));
    let policy = capped.budget(None).breaker(None).build().unwrap();
    let mut longest = Duration::ZERO;
    for seed in 0..20 {
        let scene = Scene::of_functions(&format!("{MODELS} = 503")).await;
        let gate = scene.gate(&policy, seed);
        let url = scene.models();
        let waits = scene.play(&gate, jitter::run(&url, &gate)).await;
        assert_eq!(waits.len(), 5);
        for (wait, ceiling_ms) in waits.iter().zip([1_000, 2_000, 4_000, 4_000, 4_000]) {
            let ms = wait.as_millis();
            assert!(
                ceiling_ms / 2 <= ms && ms <= 4_000.min(ceiling_ms * 3 / 2),
                "{waits:?}"
            );
            longest = longest.max(*wait);
        }
    }
    assert!(
        longest > Duration::from_millis(3_700),
        "and up to it they go: {longest}"
    );
}

#[tokio::test]
async fn functions_that_block_and_those_that_wait_end_alike() {
    // Breaks when the two have loops of their own, and one is mended.
    for script in [
        "503",
        "2x 503, 200",
        "400",
        "429 retry-after=7200",
        "3x reset, 200",
        "404",
    ] {
        let policy = quick(Policy::builder().retries(3));
        let mut ends = Vec::new();
        for blocks in [true, false] {
            let scene = Scene::of_functions(&format!("{MODELS} = {script}")).await;
            let url = scene.models();
            let ended = if blocks {
                let call = move || functions::blocking(&policy, &url);
                tokio::task::spawn_blocking(call).await.unwrap()
            } else {
                functions::waiting(&policy, &url).await
            };
            let end = ended.map(|_| ()).map_err(|end| (end.reason.code(), end.attempts));
            ends.push((end, scene.sends()));
        }
        assert_eq!(ends[0], ends[1], "{script}");
    }
}

#[tokio::test]
async fn the_cause_and_the_count_come_through_any_box() {
    // Breaks when the last error becomes text on the way, or stands for all of them without their number.
    let policy = quick(Policy::builder().retries(2));
    let scene = Scene::of_functions(&format!("{MODELS} = 500, 502, 503")).await;
    let error = exhausted::run(&scene.models(), &policy).await.unwrap_err();
    assert_eq!(
        exhausted::report(&*error),
        "3 attempts (attempts-spent), the last: Some(Status(503))"
    );
    let end = error.downcast_ref::<RetryError<ApiError>>().unwrap();
    let cause = end.source().and_then(|cause| cause.downcast_ref::<ApiError>());
    assert!(matches!(cause, Some(ApiError::Status(503))), "{cause:?}");

    let scene = Scene::of_functions(&format!("{MODELS} = reset")).await;
    let error = exhausted::run(&scene.models(), &policy).await.unwrap_err();
    let mut depth = 0;
    let mut cause = error.source();
    while let Some(below) = cause {
        depth += 1;
        cause = below.source();
    }
    assert!(depth >= 3, "ours, the client's, and the system's: {depth}");
}

#[tokio::test]
async fn each_jitter_keeps_its_own_bounds_and_draws_apart() {
    // Breaks when a floor or a cap is left, or when callers who failed together come back together.
    let secs = |n: u64| n * 1_000;
    for kind in jitter::KINDS {
        let policy = jitter::policy(kind).unwrap();
        let mut firsts = BTreeSet::new();
        for seed in 0..20 {
            let scene = Scene::of_functions(&format!("{MODELS} = 503")).await;
            let gate = scene.gate(&policy, seed);
            let url = scene.models();
            let waits = scene.play(&gate, jitter::run(&url, &gate)).await;
            assert_eq!(waits.len(), 8);
            for (n, wait) in (0_u32..).zip(&waits) {
                let (ms, ceiling) = (wait.as_millis(), secs(30).min(500 << n));
                let (floor, top) = match kind {
                    Jitter::Full => (50, ceiling),
                    Jitter::Equal => (ceiling / 2, ceiling),
                    _ => (500, secs(30).min(500 * 3_u64.pow(n + 1))),
                };
                assert!(floor <= ms && ms <= top, "{kind:?}: {waits:?}");
            }
            firsts.insert(waits[0]);
        }
        assert!(firsts.len() >= 19, "{kind:?}: {firsts:?}");
    }
}
