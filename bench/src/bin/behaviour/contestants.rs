//! Who is compared, each as its documentation has it and tuned alike.

use crate::world::{Calls, Failed, World};
use backon::{ExponentialBuilder, Retryable as _};
use failsafe::futures::CircuitBreaker as _;
use seawall::clock::TokioClock;
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave};
use seawall_bench::ours::FAILED;
use seawall_bench::peers::layered::{Attempts, Timer};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Outcome, Report};
use seawall_core::policy::{Policy, Preset};
use seawall_core::reason::Reason;
use seawall_core::time::Instant;
use seawall_core::trace::Recording;
use std::sync::Arc;
use std::time::Duration;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::retry::RetryLayer as TowerRetryLayer;
use tower::retry::budget::TpsBudget;
use tower::timeout::TimeoutLayer;
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_resilience_bulkhead::{BulkheadLayer, BulkheadServiceError};
use tower_resilience_circuitbreaker::{CircuitBreakerError, CircuitBreakerLayer, SlidingWindowType};
use tower_resilience_retry::{ExponentialRandomBackoff, RetryBudgetBuilder, RetryLayer};
use tower_resilience_timelimiter::{TimeLimiterError, TimeLimiterLayer};

/// How a contestant is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tuning {
    /// As its documentation has it.
    Default,
    /// As near to seawall's default policy as its settings go.
    Alike,
}

impl Tuning {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Alike => "alike",
        }
    }
}

/// One contestant.
pub struct Contestant {
    pub name: &'static str,
    pub settings: &'static str,
    /// Makes its shared state; `None` where it has no such tuning.
    pub begin: fn(&World, Tuning) -> Option<Calls>,
}

pub const ALL: [Contestant; 6] = [
    Contestant {
        name: "seawall",
        settings: "the default policy: 5 retries, 500 ms x2 full jitter up to 30 s, budget 10 % + 1/s over 10 s, breaker on 5 \
            in a row over 0.5 s or 50 % of 30 s (20 calls, 1 s), open 0.5 s and up to 5 s, 3 probes; that is 'alike' for the others",
        begin: seawall,
    },
    Contestant {
        name: "backon 1.6.0",
        settings: "default: 3 retries, 1 s x2 up to 60 s, no jitter; alike: 5 retries, 500 ms x2 up to 30 s, jitter",
        begin: backon,
    },
    Contestant {
        name: "tower 0.5.3",
        settings: "retry > concurrency limit 64 > timeout 30 s; default: 2 retries, 50 ms x2, TpsBudget 10 s, 10/s, 20 %; alike: \
            5 retries, 500 ms x2 up to 30 s, TpsBudget 10 s, 1/s, 10 %",
        begin: tower,
    },
    Contestant {
        name: "tower-resilience 0.14.0",
        settings: "retry > breaker > bulkhead 64 > time limiter 30 s; default: 3 attempts, 100 ms x2, no budget, breaker 50 % of \
            100, 30 s, 1 probe; alike: 6 attempts, 500 ms x2 +-50 % up to 30 s, token bucket 1/s, 10 at most, breaker 50 % \
            of 30 s (20 calls), 5 s, 3 probes, its refusals not sent again",
        begin: resilience,
    },
    Contestant {
        name: "backon + failsafe 1.3.0",
        settings: "a breaker under each attempt; default: both defaults; alike: backon as above, 5 in a row, 5 s..60 s equal jitter, \
            refusals not sent again",
        begin: with_failsafe,
    },
    Contestant {
        name: "backon + recloser 1.4.0",
        settings: "a breaker under each attempt; default: both defaults; alike: backon as above, 50 % of 20, 5 s, 3 results in \
            half-open, refusals not sent again",
        begin: with_recloser,
    },
];

fn seawall(world: &World, tuning: Tuning) -> Option<Calls> {
    if tuning == Tuning::Alike {
        return None;
    }
    let policy = Policy::preset(Preset::Default);
    let mut engine = Engine::new(1, Recording::Off);
    let gate = engine
        .configure(Instant::START, GateKey(0), &policy.gate, &[], None)
        .expect("one gate has no parents");
    let hub = Hub::new(engine, Arc::new(TokioClock::new()));
    let world = world.clone();
    Some(Box::new(move |number| {
        let (hub, world) = (Arc::clone(&hub), world.clone());
        Box::pin(async move {
            let route = [Candidate::at(gate)];
            let spec = |now| Spec::new(now, &route, &policy.call, Replay::Idempotent);
            let send = |leave| attempt(leave, world.clone(), number);
            drive(&hub, spec, send, &mut |()| {}).await.reason == Reason::Succeeded
        })
    }))
}

async fn attempt(mut leave: Leave<'_>, world: World, number: usize) -> Landed<'_, ()> {
    leave.leaving();
    let outcome = world.attempt(number).await.map_or(FAILED, |_| Outcome::Answer);
    leave.landed(Report::of(outcome), ())
}

fn backon_policy(tuning: Tuning) -> ExponentialBuilder {
    match tuning {
        Tuning::Default => ExponentialBuilder::default(),
        Tuning::Alike => ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(500))
            .with_max_delay(Duration::from_secs(30))
            .with_max_times(5)
            .with_jitter(),
    }
}

fn backon(world: &World, tuning: Tuning) -> Option<Calls> {
    let world = world.clone();
    Some(Box::new(move |number| {
        let world = world.clone();
        Box::pin(async move {
            let call = || world.clone().attempt(number);
            call.retry(backon_policy(tuning)).await.is_ok()
        })
    }))
}

fn tower(world: &World, tuning: Tuning) -> Option<Calls> {
    let budget = match tuning {
        Tuning::Default => TpsBudget::default(),
        Tuning::Alike => TpsBudget::new(Duration::from_secs(10), 1, 0.1),
    };
    let budget = Arc::new(budget);
    let limit = GlobalConcurrencyLimitLayer::new(64);
    let world = world.clone();
    Some(Box::new(move |number| {
        let world = world.clone();
        let attempt = service_fn(move |number| world.clone().attempt(number));
        // A maker's backoffs are all alike (trap V2): each call gets one of its own.
        let (left, delay) = match tuning {
            Tuning::Default => (2, Timer::between(Duration::from_millis(50), Duration::MAX / 4)),
            Tuning::Alike => (
                5,
                Timer::between(Duration::from_millis(500), Duration::from_secs(30)),
            ),
        };
        let attempts = Attempts {
            left,
            budget: Arc::clone(&budget),
            delay,
        };
        let limited = limit.layer(TimeoutLayer::new(Duration::from_secs(30)).layer(attempt));
        let service = TowerRetryLayer::new(attempts).layer(limited);
        Box::pin(async move { service.oneshot(number).await.is_ok() })
    }))
}

type ResilienceError = CircuitBreakerError<BulkheadServiceError<TimeLimiterError<Failed>>>;

fn resilience(world: &World, tuning: Tuning) -> Option<Calls> {
    let world = world.clone();
    let attempt = service_fn(move |number| world.clone().attempt(number));
    let limiter = TimeLimiterLayer::builder()
        .timeout_duration(Duration::from_secs(30))
        .build();
    let bulkhead = BulkheadLayer::builder().max_concurrent_calls(64).build().ok()?;
    let breaker = match tuning {
        Tuning::Default => CircuitBreakerLayer::builder(),
        Tuning::Alike => CircuitBreakerLayer::builder()
            .sliding_window_type(SlidingWindowType::TimeBased)
            .sliding_window_duration(Duration::from_secs(30))
            .minimum_number_of_calls(20)
            .wait_duration_in_open(Duration::from_secs(5))
            .permitted_calls_in_half_open(3),
    };
    let retry = RetryLayer::<usize, u32, ResilienceError>::builder();
    let retry = match tuning {
        Tuning::Default => retry,
        Tuning::Alike => {
            let budget = RetryBudgetBuilder::new()
                .token_bucket()
                .tokens_per_second(1.0)
                .max_tokens(10);
            let waits = ExponentialRandomBackoff::new(Duration::from_millis(500), 0.5).ok()?;
            retry
                .max_attempts(6)
                .backoff(waits.max_interval(Duration::from_secs(30)))
                .budget(budget.build().ok()?)
                .retry_on(|error| !matches!(error, CircuitBreakerError::OpenCircuit))
        }
    };
    let inner = bulkhead.layer(limiter.layer(attempt));
    let service = retry.build().layer(breaker.build().ok()?.layer_fn(inner));
    Some(Box::new(move |number| {
        let service = service.clone();
        Box::pin(async move { service.oneshot(number).await.is_ok() })
    }))
}

fn with_failsafe(world: &World, tuning: Tuning) -> Option<Calls> {
    match tuning {
        Tuning::Default => Some(behind_failsafe(world, tuning, failsafe::Config::new().build())),
        Tuning::Alike => {
            let waits = failsafe::backoff::equal_jittered(Duration::from_secs(5), Duration::from_secs(60));
            let policy = failsafe::failure_policy::consecutive_failures(5, waits);
            let breaker = failsafe::Config::new().failure_policy(policy).build();
            Some(behind_failsafe(world, tuning, breaker))
        }
    }
}

fn behind_failsafe<P, I>(world: &World, tuning: Tuning, breaker: failsafe::StateMachine<P, I>) -> Calls
where
    P: failsafe::FailurePolicy + Send + Sync + 'static,
    I: failsafe::Instrument + Send + Sync + 'static,
{
    let (world, breaker) = (world.clone(), Arc::new(breaker));
    Box::new(move |number| {
        let (world, breaker) = (world.clone(), Arc::clone(&breaker));
        Box::pin(async move {
            let call = || breaker.call(world.clone().attempt(number));
            let retry = call.retry(backon_policy(tuning));
            let retry = retry
                .when(move |error| tuning == Tuning::Default || !matches!(error, failsafe::Error::Rejected));
            retry.await.is_ok()
        })
    })
}

fn with_recloser(world: &World, tuning: Tuning) -> Option<Calls> {
    let breaker = match tuning {
        Tuning::Default => recloser::Recloser::custom(),
        Tuning::Alike => recloser::Recloser::custom()
            .closed_len(20)
            .half_open_len(3)
            .open_wait(Duration::from_secs(5)),
    };
    let (world, breaker) = (world.clone(), recloser::AsyncRecloser::from(breaker.build()));
    Some(Box::new(move |number| {
        let (world, breaker) = (world.clone(), breaker.clone());
        Box::pin(async move {
            let call = || breaker.call(world.clone().attempt(number));
            let retry = call.retry(backon_policy(tuning));
            let retry = retry
                .when(move |error| tuning == Tuning::Default || !matches!(error, recloser::Error::Rejected));
            retry.await.is_ok()
        })
    }))
}
