//! Among tower's own layers.

use crate::stage::soon;
use seawall::tower::{Error, SeawallLayer};
use seawall::{Duration, Gate, Policy};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tower::util::BoxCloneService;
use tower::{Service, ServiceBuilder, ServiceExt as _, service_fn};

fn gate() -> Gate {
    let policy = Policy::builder()
        .retries(3)
        .backoff_base(Duration::from_millis(1))
        .budget(None);
    Gate::new(&policy.build().unwrap())
}

/// Fails so many times, then answers how often it was asked.
fn failing(
    times: u32,
) -> impl Service<u32, Response = u32, Error = io::Error, Future: Send> + Clone + Send + Sync + 'static {
    let asked = Arc::new(AtomicU32::new(0));
    service_fn(move |_: u32| {
        let asked = Arc::clone(&asked);
        async move {
            match asked.fetch_add(1, SeqCst) {
                nth if nth < times => Err(io::ErrorKind::ConnectionReset.into()),
                nth => Ok(nth + 1),
            }
        }
    })
}

#[tokio::test]
async fn it_works_under_a_buffer_around_a_limit_and_in_a_box() {
    // Breaks when the service is not what tower's combinators need: Clone, Send, and as patient as its inner one.
    let gate = gate();
    let service = ServiceBuilder::new()
        .buffer(4)
        .layer(SeawallLayer::new(&gate))
        .concurrency_limit(1)
        .service(failing(2));
    let mut boxed = BoxCloneService::new(service);
    let answer = soon(async { boxed.ready().await.unwrap().call(0).await }).await;
    assert_eq!(answer.unwrap(), 3);
    assert_eq!(gate.attempts_out(), 0);
}

#[tokio::test]
async fn a_limit_within_is_held_by_attempts_and_not_by_waits() {
    // Breaks when a call keeps the inner service's only place while it waits for its next attempt: the retry itself, or
    // the other call, would wait for it for ever.
    let gate = gate();
    let service = ServiceBuilder::new()
        .layer(SeawallLayer::new(&gate))
        .concurrency_limit(1)
        .service(failing(4));
    let calls = (0..4).map(|_| tokio::spawn(service.clone().oneshot(0)));
    for call in calls.collect::<Vec<_>>() {
        assert!(soon(call).await.unwrap().is_ok());
    }
}

#[tokio::test]
async fn a_timeout_around_it_ends_the_call_and_gives_everything_back() {
    // Breaks when a call that an outer layer drops keeps its place.
    let gate = gate();
    let hangs = service_fn(|_: u32| std::future::pending::<Result<u32, io::Error>>());
    let service = ServiceBuilder::new()
        .timeout(std::time::Duration::from_millis(20))
        .layer(SeawallLayer::new(&gate))
        .service(hangs);
    let error = soon(service.oneshot(0)).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>(), "{error}");
    assert_eq!(gate.attempts_out(), 0);
}

#[tokio::test]
async fn a_timeout_within_it_is_an_attempt_that_may_be_repeated() {
    // Breaks when an inner layer's limit looks like an error of the service.
    let gate = gate();
    let asked = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&asked);
    let slow_once = service_fn(move |_: u32| {
        let nth = counts.fetch_add(1, SeqCst);
        async move {
            if nth == 0 {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(nth)
        }
    });
    let layer =
        SeawallLayer::new(&gate).when(|error: &tower::BoxError| error.is::<tower::timeout::error::Elapsed>());
    let service = ServiceBuilder::new()
        .layer(layer)
        .timeout(std::time::Duration::from_millis(20))
        .service(slow_once);
    assert_eq!(soon(service.oneshot(0)).await.unwrap(), 1);
}

#[tokio::test]
async fn a_service_that_has_died_is_told_apart_from_a_call_that_failed() {
    // Breaks when an error of readiness is lost or retried.
    let layered = SeawallLayer::new(gate()).when(|_: &tower::BoxError| true);
    let (service, worker) = tower::buffer::Buffer::pair(failing(0), 1);
    drop(worker);
    let mut service = tower::Layer::layer(&layered, service);
    assert!(matches!(soon(service.ready()).await, Err(Error::Unready(_))));
}
