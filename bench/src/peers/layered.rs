//! tower: retry with its budget, over a concurrency limit, over a time limit.

use super::{Fault, answer, pending_now, ready_now};
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;
use tower::limit::ConcurrencyLimitLayer;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::budget::{Budget, TpsBudget};
use tower::retry::{Policy, RetryLayer};
use tower::timeout::TimeoutLayer;
use tower::{BoxError, Layer, Service, ServiceExt as _, service_fn};

/// The settings of the stack.
pub const SETTINGS: &str = "tower 0.5.3: retry (2 retries, ExponentialBackoff 50 ms.., TpsBudget 10 s, 10/s, 20 %) > \
     ConcurrencyLimit 64 > Timeout 30 s; one service, reused; no breaker";

/// How a policy waits before it sends again.
pub trait Delay: Clone {
    /// The wait.
    type Future: Future<Output = ()>;

    /// The next wait.
    fn next(&mut self) -> Self::Future;
}

/// tower's own backoff, on the runtime's timer.
#[derive(Clone)]
pub struct Timer(ExponentialBackoff);

impl Timer {
    /// tower's documented default, but at most this long.
    pub fn up_to(most: Duration) -> Self {
        Self::between(Duration::from_millis(50), most)
    }

    /// From this long on, at most that long, with the default jitter.
    pub fn between(base: Duration, most: Duration) -> Self {
        let mut maker = ExponentialBackoffMaker::new(base, most, 0.99, Default::default())
            .expect("the default of the crate is in its range");
        Self(maker.make_backoff())
    }
}

impl Delay for Timer {
    type Future = tokio::time::Sleep;

    fn next(&mut self) -> Self::Future {
        self.0.next_backoff()
    }
}

/// No wait, so that what comes after it is measured too.
#[derive(Clone)]
pub struct Skipped;

impl Delay for Skipped {
    type Future = Ready<()>;

    fn next(&mut self) -> Self::Future {
        ready(())
    }
}

/// The policy of tower's documentation: a failure is sent again while attempts and budget last.
#[derive(Clone)]
pub struct Attempts<D> {
    /// Retries left.
    pub left: u32,
    /// What all calls share.
    pub budget: Arc<TpsBudget>,
    /// The wait.
    pub delay: D,
}

impl<Req: Clone, Res, E, D: Delay> Policy<Req, Res, E> for Attempts<D> {
    type Future = D::Future;

    fn retry(&mut self, _: &mut Req, result: &mut Result<Res, E>) -> Option<Self::Future> {
        if result.is_ok() {
            self.budget.deposit();
            return None;
        }
        if self.left == 0 || !self.budget.withdraw() {
            return None;
        }
        self.left -= 1;
        Some(self.delay.next())
    }

    fn clone_request(&mut self, request: &Req) -> Option<Req> {
        Some(request.clone())
    }
}

fn attempts<D: Delay>(delay: D, per_second_min: u32) -> Attempts<D> {
    Attempts {
        left: 2,
        budget: Arc::new(TpsBudget::new(Duration::from_secs(10), per_second_min, 0.2)),
        delay,
    }
}

/// Calls a service once, as its contract says: ready, then call.
pub fn once<S: Service<()>>(service: &mut S) -> S::Future {
    let mut context = Context::from_waker(Waker::noop());
    assert!(
        matches!(service.poll_ready(&mut context), std::task::Poll::Ready(Ok(()))),
        "a service without load is ready"
    );
    service.call(())
}

/// The whole stack.
pub fn stack<D: Delay<Future: Send> + Send>(
    delay: D,
    per_second_min: u32,
) -> impl Service<(), Response = u32, Error = BoxError, Future: Send> + Clone + Send {
    let limited = TimeoutLayer::new(Duration::from_secs(30)).layer(service_fn(|()| answer()));
    let limited = ConcurrencyLimitLayer::new(64).layer(limited);
    RetryLayer::new(attempts(delay, per_second_min)).layer(limited)
}

/// A call that is answered.
pub fn success() -> impl FnMut() {
    let mut service = stack(Timer::up_to(Duration::from_secs(30)), 10);
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// A call that is answered, by a clone of the service, as tasks make it that share one.
pub fn success_shared() -> impl FnMut() {
    let service = stack(Timer::up_to(Duration::from_secs(30)), 10);
    move || {
        assert!(ready_now(service.clone().oneshot(())).is_ok());
    }
}

/// A call that fails, and is dropped as soon as it waits.
pub fn failure() -> impl FnMut() {
    let mut service = stack(Timer::up_to(Duration::from_secs(30)), 100_000_000);
    move || {
        super::fail_next(1);
        pending_now(once(&mut service));
    }
}

/// A call that fails once and then is answered.
pub fn recovery() -> impl FnMut() {
    let mut service = stack(Skipped, 100_000_000);
    move || {
        super::fail_next(1);
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// Retry and budget alone.
pub fn retry_alone() -> impl FnMut() {
    let layer = RetryLayer::new(attempts(Timer::up_to(Duration::from_secs(30)), 10));
    let mut service = layer.layer(service_fn(|()| answer()));
    move || {
        assert_eq!(ready_now(once(&mut service)), Ok::<u32, Fault>(1));
    }
}

/// The concurrency limit alone.
pub fn concurrency_alone() -> impl FnMut() {
    let mut service = ConcurrencyLimitLayer::new(64).layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// The time limit alone.
pub fn timeout_alone() -> impl FnMut() {
    let mut service = TimeoutLayer::new(Duration::from_secs(30)).layer(service_fn(|()| answer()));
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}

/// The service without any layer.
pub fn bare() -> impl FnMut() {
    let mut service = service_fn(|()| answer());
    move || {
        assert!(ready_now(once(&mut service)).is_ok());
    }
}
