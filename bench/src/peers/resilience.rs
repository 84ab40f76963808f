//! tower-resilience: retry with its token bucket, over the breaker, over the bulkhead, over the time limiter.

use super::layered::once;
use super::{Fault, answer, pending_now, ready_now};
use std::time::Duration;
use tower::{Layer, Service, ServiceExt as _, service_fn};
use tower_resilience_bulkhead::{BulkheadLayer, BulkheadServiceError};
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer};
use tower_resilience_retry::{RetryBudgetBuilder, RetryLayer};
use tower_resilience_timelimiter::{TimeLimiterError, TimeLimiterLayer};

/// The settings of the stack.
pub const SETTINGS: &str = "tower-resilience 0.14.0: retry (3 attempts, 100 ms x2, token bucket 10/s, 100 at most) > \
     circuit breaker (50 % of 100, 30 s, 1 probe) > bulkhead 64 > time limiter 30 s; one service, reused";

/// What the whole stack fails with.
pub type Error = CircuitBreakerError<BulkheadServiceError<TimeLimiterError<Fault>>>;

/// How the breaker stands towards what is measured.
pub enum Breaker {
    /// As it comes.
    Default,
    /// Counts and never trips, where every call fails.
    Counting,
}

/// The whole stack.
pub fn stack(
    breaker: Breaker,
    tokens: usize,
) -> impl Service<(), Response = u32, Error = Error, Future: Send> + Clone + Send {
    let limiter = TimeLimiterLayer::builder()
        .timeout_duration(Duration::from_secs(30))
        .build();
    let bulkhead = BulkheadLayer::builder()
        .max_concurrent_calls(64)
        .build()
        .expect("64 is in range");
    let breaker = match breaker {
        Breaker::Default => CircuitBreakerLayer::builder().build(),
        Breaker::Counting => CircuitBreakerLayer::builder().manual_mode().build(),
    };
    let budget = RetryBudgetBuilder::new()
        .token_bucket()
        .tokens_per_second(10.0)
        .max_tokens(tokens)
        .build()
        .expect("the bucket is in range");
    let retry = RetryLayer::<(), u32, Error>::builder().budget(budget).build();
    let inner = bulkhead.layer(limiter.layer(service_fn(|()| answer())));
    retry.layer(breaker.expect("the defaults are in range").layer_fn(inner))
}

/// A call that is answered.
pub fn success() -> impl FnMut() {
    let mut service = stack(Breaker::Default, 100);
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// A call that is answered, by a clone of the service, as tasks make it that share one.
pub fn success_shared() -> impl FnMut() {
    let service = stack(Breaker::Default, 100);
    move || {
        assert!(ready_now(service.clone().oneshot(())).is_ok());
    }
}

/// A call that fails, and is dropped as soon as it waits.
pub fn failure() -> impl FnMut() {
    let mut service = stack(Breaker::Counting, 1_000_000_000_000);
    move || {
        super::fail_next(1);
        pending_now(once(&mut service));
    }
}

/// Retry with its budget alone.
pub fn retry_alone() -> impl FnMut() {
    let budget = RetryBudgetBuilder::new()
        .token_bucket()
        .build()
        .expect("the defaults are in range");
    let layer = RetryLayer::<(), u32, Fault>::builder().budget(budget).build();
    let mut service = layer.layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// The breaker alone.
pub fn breaker_alone() -> impl FnMut() {
    let layer = CircuitBreakerLayer::builder()
        .build()
        .expect("the defaults are in range");
    let mut service = layer.layer_fn(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// The bulkhead alone.
pub fn bulkhead_alone() -> impl FnMut() {
    let layer = BulkheadLayer::builder()
        .max_concurrent_calls(64)
        .build()
        .expect("64 is in range");
    let mut service = layer.layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// The time limiter alone.
pub fn limiter_alone() -> impl FnMut() {
    let layer = TimeLimiterLayer::builder()
        .timeout_duration(Duration::from_secs(30))
        .build();
    let mut service = layer.layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}
