//! Those that wrap any call.

use super::{Flaw, send};
use crate::ask::{Ask, Calling, Client, Settings};
use backon::{ExponentialBuilder, Retryable as _};
use failsafe::futures::CircuitBreaker as _;
use failsafe::{Config, StateMachine, backoff, failure_policy};
use std::sync::Arc;
use tower::limit::ConcurrencyLimitLayer;
use tower::retry::backoff::{Backoff as _, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff as _};
use tower::retry::budget::{Budget as _, TpsBudget};
use tower::retry::{Policy, RetryLayer};
use tower::timeout::TimeoutLayer;
use tower::util::BoxCloneService;
use tower::{BoxError, ServiceBuilder, ServiceExt as _, service_fn};
use tower_resilience_circuitbreaker::CircuitBreakerError;

struct Backon {
    http: reqwest::Client,
    backoff: ExponentialBuilder,
}

pub(super) fn backon(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let backoff = ExponentialBuilder::default()
        .with_jitter()
        .with_min_delay(settings.base)
        .with_max_delay(settings.cap)
        .with_total_delay(Some(settings.deadline))
        .with_max_times(settings.retries as usize);
    Ok(Box::new(Backon {
        http: http(settings)?,
        backoff,
    }))
}

impl Client for Backon {
    fn call(&self, ask: Ask) -> Calling<'_> {
        Box::pin(async move {
            let made = (|| send(&self.http, &ask))
                .retry(self.backoff)
                .when(Flaw::is_transient);
            made.await.map_err(|flaw| flaw.to_string())
        })
    }
}

/// The policy that tower's documentation shows, with its budget and its backoff.
#[derive(Clone)]
struct Attempts {
    left: u32,
    budget: Arc<TpsBudget>,
    backoff: ExponentialBackoff,
}

impl Policy<Ask, u16, BoxError> for Attempts {
    type Future = tokio::time::Sleep;

    fn retry(&mut self, _: &mut Ask, result: &mut Result<u16, BoxError>) -> Option<Self::Future> {
        match result {
            Ok(_) => {
                self.budget.deposit();
                None
            }
            Err(error) => {
                let refused = error
                    .downcast_ref::<Flaw>()
                    .is_some_and(|flaw| !flaw.is_transient());
                if refused || self.left == 0 || !self.budget.withdraw() {
                    return None;
                }
                self.left -= 1;
                Some(self.backoff.next_backoff())
            }
        }
    }

    fn clone_request(&mut self, ask: &Ask) -> Option<Ask> {
        Some(ask.clone())
    }
}

type Service = BoxCloneService<Ask, u16, BoxError>;

struct Layers(Service);

impl Client for Layers {
    fn call(&self, ask: Ask) -> Calling<'_> {
        let service = self.0.clone();
        Box::pin(async move { service.oneshot(ask).await.map_err(|error| error.to_string()) })
    }
}

pub(super) fn tower(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let http = http(settings)?;
    let mut maker = ExponentialBackoffMaker::new(settings.base, settings.cap, 0.99, Default::default())
        .map_err(|error| error.to_string())?;
    let attempts = Attempts {
        left: settings.retries,
        budget: Arc::new(TpsBudget::default()),
        backoff: maker.make_backoff(),
    };
    let service = ServiceBuilder::new()
        .layer(TimeoutLayer::new(settings.deadline))
        .layer(RetryLayer::new(attempts))
        .layer(ConcurrencyLimitLayer::new(settings.at_once))
        .layer(TimeoutLayer::new(settings.attempt))
        .service(service_fn(move |ask: Ask| {
            let http = http.clone();
            async move { send(&http, &ask).await }
        }));
    Ok(Box::new(Layers(BoxCloneService::new(service))))
}

pub(super) fn tower_resilience(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let http = http(settings)?;
    let one = service_fn(move |ask: Ask| {
        let http = http.clone();
        async move { send(&http, &ask).await }
    });
    let limiter = tower_resilience_timelimiter::TimeLimiterLayer::builder()
        .timeout_duration(settings.attempt)
        .build();
    let bulkhead = tower_resilience_bulkhead::BulkheadLayer::builder()
        .max_concurrent_calls(settings.at_once)
        .build()
        .map_err(|error| error.to_string())?;
    let breaker = tower_resilience_circuitbreaker::CircuitBreakerLayer::builder()
        .wait_duration_in_open(settings.open_for)
        .build()
        .map_err(|error| error.to_string())?;
    let budget = tower_resilience_retry::RetryBudgetBuilder::new()
        .token_bucket()
        .build()
        .map_err(|error| error.to_string())?;
    let whole = tower_resilience_timelimiter::TimeLimiterLayer::builder()
        .timeout_duration(settings.deadline)
        .build();
    let guarded = ServiceBuilder::new()
        .layer(bulkhead)
        .layer(limiter)
        .service(one)
        .map_err(Into::<BoxError>::into);
    let guarded = BoxCloneService::new(breaker.layer_fn(guarded));
    let retry = tower_resilience_retry::RetryLayer::builder()
        .max_attempts(settings.retries as usize + 1)
        .exponential_backoff(settings.base)
        .retry_on(|error: &CircuitBreakerError<BoxError>| !is_refusal(error))
        .budget(budget)
        .build();
    let service = ServiceBuilder::new()
        .layer(whole)
        .layer(retry)
        .service(guarded)
        .map_err(|error| BoxError::from(error.to_string()));
    Ok(Box::new(Layers(BoxCloneService::new(service))))
}

/// Whether an error of its layers has a refusal at its root, which they tell in words alone.
fn is_refusal(error: &CircuitBreakerError<BoxError>) -> bool {
    let words = error.to_string();
    words.contains("status 4") && !words.contains("status 429")
}

type Breaker = StateMachine<failure_policy::ConsecutiveFailures<backoff::Exponential>, ()>;

struct Failsafe {
    http: reqwest::Client,
    breaker: Breaker,
}

pub(super) fn failsafe(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let waits = backoff::exponential(settings.open_for, settings.open_for * 2);
    let breaker = Config::new()
        .failure_policy(failure_policy::consecutive_failures(5, waits))
        .build();
    Ok(Box::new(Failsafe {
        http: http(settings)?,
        breaker,
    }))
}

impl Client for Failsafe {
    fn call(&self, ask: Ask) -> Calling<'_> {
        Box::pin(async move {
            let made = self.breaker.call(send(&self.http, &ask));
            made.await.map_err(|error| error.to_string())
        })
    }
}

/// The client below: one attempt, with the time that one may take.
pub(super) fn http(settings: &Settings) -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .timeout(settings.attempt)
        .retry(reqwest::retry::never())
        .build()
        .map_err(|error| error.to_string())
}
