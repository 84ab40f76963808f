//! Breakers.

use super::{FAILSAFE, RECLOSER, RESILIENCE, Seen, Trap, seen, virtual_time};
use failsafe::CircuitBreaker as _;
use seawall_bench::ours::poll_once;
use seawall_bench::peers::layered::once;
use seawall_bench::peers::{Fault, answer, fail_next, ready_now};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;
use tower::{Layer as _, Service, ServiceExt as _, service_fn};
use tower_resilience_circuitbreaker::{
    CircuitBreakerError, CircuitBreakerLayer, CircuitState, SlidingWindowType,
};
use tower_resilience_retry::RetryLayer;

pub(super) const TRAPS: [Trap; 11] = [
    Trap {
        id: "V6",
        peer: RESILIENCE,
        right: "a window of failures trips after any history",
        run: a_window_that_never_slides,
    },
    Trap {
        id: "V7",
        peer: RESILIENCE,
        right: "a late answer never closes a newer breaker",
        run: a_late_answer_closes,
    },
    Trap {
        id: "V11",
        peer: RESILIENCE,
        right: "a call costs the same however many are in the window",
        run: a_call_costs_the_window,
    },
    Trap {
        id: "A2",
        peer: RESILIENCE,
        right: "a probe that hangs gives its slot back by a lease",
        run: a_hung_probe_locks_it,
    },
    Trap {
        id: "A7",
        peer: RESILIENCE,
        right: "breakers that tripped together do not come back together",
        run: all_half_open_at_once,
    },
    Trap {
        id: "B15",
        peer: RESILIENCE,
        right: "a refusal by the breaker ends the retries",
        run: refusals_are_retried,
    },
    Trap {
        id: "V9",
        peer: FAILSAFE,
        right: "half-open admits a few probes",
        run: failsafe_half_open_admits_all,
    },
    Trap {
        id: "A5",
        peer: FAILSAFE,
        right: "a late answer never closes a newer breaker",
        run: failsafe_late_answer_closes,
    },
    Trap {
        id: "B12",
        peer: FAILSAFE,
        right: "a refusal of the caller's own says nothing of the server's health",
        run: failsafe_counts_refusals_as_health,
    },
    Trap {
        id: "V9",
        peer: RECLOSER,
        right: "half-open admits a few probes",
        run: recloser_half_open_admits_all,
    },
    Trap {
        id: "B12",
        peer: RECLOSER,
        right: "a refusal of the caller's own says nothing of the server's health",
        run: recloser_counts_refusals_as_health,
    },
];

/// A call whose outcome is told from outside.
type Told = oneshot::Receiver<Result<u32, Fault>>;

async fn as_told(told: Told) -> Result<u32, Fault> {
    told.await.unwrap_or(Err(Fault))
}

fn a_window_that_never_slides() -> Seen {
    let layer = CircuitBreakerLayer::builder()
        .failure_rate_threshold(0.5)
        .sliding_window_size(100)
        .build()
        .expect("the settings are in range");
    let mut breaker = layer.layer_fn(service_fn(|()| answer()));
    for _ in 0..10_000 {
        let _ = ready_now(once(&mut breaker));
    }
    let mut failures = 0;
    while breaker.state_sync() == CircuitState::Closed && failures < 100_000 {
        fail_next(1);
        let _ = ready_now(once(&mut breaker));
        failures += 1;
    }
    seen(
        failures > 1_000,
        format!(
            "50 % of a window of 100: after 10000 successes it opens at the {failures}th failure in a row"
        ),
    )
}

fn a_late_answer_closes() -> Seen {
    let layer = CircuitBreakerLayer::builder()
        .sliding_window_size(2)
        .wait_duration_in_open(Duration::from_secs(30))
        .build()
        .expect("the settings are in range");
    let mut breaker = layer.layer_fn(service_fn(as_told));
    let send = |breaker: &mut _| {
        let (tell, told) = oneshot::channel();
        let mut call = call_with(breaker, told);
        assert!(
            poll_once(call.as_mut()).is_pending(),
            "its outcome is not told yet"
        );
        (tell, call)
    };
    let (tell_old, mut old) = send(&mut breaker);
    for _ in 0..2 {
        let (tell, mut call) = send(&mut breaker);
        let _ = tell.send(Err(Fault));
        let _ = poll_once(call.as_mut());
    }
    let opened = breaker.state_sync() == CircuitState::Open;
    virtual_time::advance(Duration::from_secs(31));
    let (_tell_probe, _probe) = send(&mut breaker);
    let probing = breaker.state_sync() == CircuitState::HalfOpen;
    let _ = tell_old.send(Ok(1));
    let _ = poll_once(old.as_mut());
    let now = breaker.state_sync();
    seen(
        opened && probing && now == CircuitState::Closed,
        format!("half-open with its probe out; an answer to a call from before the trip makes it {now:?}"),
    )
}

type Sent<R, E> = Pin<Box<dyn Future<Output = Result<R, E>> + Send>>;

fn call_with<S>(service: &mut S, told: Told) -> Sent<S::Response, S::Error>
where
    S: Service<Told>,
    S::Future: Send + 'static,
{
    let ready = ready_now(service.ready());
    assert!(ready.is_ok(), "a breaker is always ready, to send or to refuse");
    Box::pin(service.call(told))
}

fn a_call_costs_the_window() -> Seen {
    let layer = CircuitBreakerLayer::builder()
        .sliding_window_type(SlidingWindowType::TimeBased)
        .sliding_window_duration(Duration::from_secs(60))
        .build()
        .expect("the settings are in range");
    let mut breaker = layer.layer_fn(service_fn(|()| answer()));
    let mut calls = |times: u32| {
        for _ in 0..times {
            let _ = ready_now(once(&mut breaker));
        }
    };
    calls(1_000);
    let short = quickest(20, || calls(5)) / 5;
    calls(18_900);
    let long = quickest(20, || calls(5)) / 5;
    seen(
        long > 4 * short,
        format!("a time window with 1000 calls in it: {short:.1?} a call; with 20000: {long:.1?}"),
    )
}

/// How long `act` takes in the quickest of so many rounds: in one of them the machine does nothing else.
fn quickest(rounds: u32, mut act: impl FnMut()) -> Duration {
    let took = (0..rounds).map(|_| virtual_time::really_takes(&mut act));
    took.min().unwrap_or_default()
}

fn a_hung_probe_locks_it() -> Seen {
    let layer = CircuitBreakerLayer::builder()
        .sliding_window_size(2)
        .wait_duration_in_open(Duration::from_secs(30))
        .build()
        .expect("the settings are in range");
    let mut breaker = layer.layer_fn(service_fn(as_told));
    for _ in 0..2 {
        let (tell, told) = oneshot::channel();
        let _ = tell.send(Err(Fault));
        let _ = ready_now(call_with(&mut breaker, told));
    }
    virtual_time::advance(Duration::from_secs(31));
    let (_hangs, told) = oneshot::channel();
    let mut probe = call_with(&mut breaker, told);
    let hangs = poll_once(probe.as_mut()).is_pending();
    virtual_time::advance(Duration::from_secs(6 * 86_400));
    let (tell, told) = oneshot::channel();
    let _ = tell.send(Ok(1));
    let answered = ready_now(call_with(&mut breaker, told));
    let refused = matches!(answered, Err(CircuitBreakerError::OpenCircuit));
    seen(
        hangs && refused,
        format!("a probe that hangs: six days later the next call is refused: {refused}"),
    )
}

fn all_half_open_at_once() -> Seen {
    let mut breakers: Vec<_> = (0..100)
        .map(|_| {
            let layer = CircuitBreakerLayer::builder().sliding_window_size(2).build();
            layer
                .expect("the settings are in range")
                .layer_fn(service_fn(|()| answer()))
        })
        .collect();
    for breaker in &mut breakers {
        for _ in 0..2 {
            fail_next(1);
            let _ = ready_now(once(breaker));
        }
    }
    virtual_time::advance(Duration::from_millis(29_999));
    let before = breakers
        .iter_mut()
        .filter_map(|breaker| ready_now(once(breaker)).ok())
        .count();
    virtual_time::advance(Duration::from_millis(1));
    let after = breakers
        .iter_mut()
        .filter_map(|breaker| ready_now(once(breaker)).ok())
        .count();
    seen(
        before == 0 && after == 100,
        format!("100 that tripped together: {before} probe after 29.999s, {after} a millisecond later"),
    )
}

fn refusals_are_retried() -> Seen {
    let (layer, handle) = CircuitBreakerLayer::builder()
        .build_with_handle()
        .expect("the defaults are in range");
    ready_now(handle.force_open());
    let retries = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let told = retries.clone();
    let retry = RetryLayer::<(), u32, CircuitBreakerError<Fault>>::builder()
        .on_retry(move |_, _| {
            told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        })
        .build();
    let mut service = retry.layer(layer.layer_fn(service_fn(|()| answer())));
    let mut call = Box::pin(once(&mut service));
    let waits = matches!(poll_once(call.as_mut()), Poll::Pending);
    let retries = retries.load(std::sync::atomic::Ordering::Relaxed);
    seen(
        waits && retries == 1,
        format!(
            "the breaker is open; retry's default waits to send again: {waits}, retries begun: {retries}"
        ),
    )
}

fn failsafe_after_trip() -> impl failsafe::CircuitBreaker + failsafe::futures::CircuitBreaker {
    let waits = failsafe::backoff::constant(Duration::from_secs(10));
    let policy = failsafe::failure_policy::consecutive_failures(5, waits);
    let breaker = failsafe::Config::new().failure_policy(policy).build();
    for _ in 0..5 {
        let _ = failsafe::CircuitBreaker::call(&breaker, || Err::<(), Fault>(Fault));
    }
    let open = !failsafe::CircuitBreaker::is_call_permitted(&breaker);
    assert!(open, "five failures in a row open it");
    virtual_time::advance(Duration::from_secs(11));
    breaker
}

fn failsafe_half_open_admits_all() -> Seen {
    let breaker = failsafe_after_trip();
    let calls = (0..1_000).filter(|_| failsafe::CircuitBreaker::is_call_permitted(&breaker));
    let admitted = calls.count();
    seen(
        admitted == 1_000,
        format!("half-open: {admitted} of 1000 calls admitted at once"),
    )
}

fn failsafe_late_answer_closes() -> Seen {
    let waits = failsafe::backoff::constant(Duration::from_secs(10));
    let policy = failsafe::failure_policy::consecutive_failures(5, waits);
    let breaker = failsafe::Config::new().failure_policy(policy).build();
    let (tell, told) = oneshot::channel();
    let mut old = Box::pin(failsafe::futures::CircuitBreaker::call(&breaker, as_told(told)));
    let _ = poll_once(old.as_mut());
    let fail = || drop(breaker.call(|| Err::<(), Fault>(Fault)));
    (0..5).for_each(|_| fail());
    let open = !failsafe::CircuitBreaker::is_call_permitted(&breaker);
    virtual_time::advance(Duration::from_secs(11));
    // A probe is out.
    let half = failsafe::CircuitBreaker::is_call_permitted(&breaker);
    let _ = tell.send(Ok(1));
    let _ = poll_once(old.as_mut());
    // Half-open, the next failure would open it again; closed, it takes five.
    fail();
    let closed = failsafe::CircuitBreaker::is_call_permitted(&breaker);
    seen(
        open && half && closed,
        format!("half-open; an answer to a call from before the trip closed it: {closed}"),
    )
}

fn failsafe_counts_refusals_as_health() -> Seen {
    let breaker = failsafe_after_trip();
    let no_failure = |_: &Fault| false;
    let _ = failsafe::CircuitBreaker::call_with(&breaker, no_failure, || Err::<(), Fault>(Fault));
    let _ = failsafe::CircuitBreaker::call(&breaker, || Err::<(), Fault>(Fault));
    let closed = failsafe::CircuitBreaker::is_call_permitted(&breaker);
    seen(
        closed,
        format!("half-open; an error that is to be ignored closed it: {closed}"),
    )
}

fn recloser_after_trip() -> recloser::Recloser {
    let breaker = recloser::Recloser::custom().build();
    let open = (0..1_000).any(|_| {
        let refused = breaker.call(|| Err::<(), Fault>(Fault));
        matches!(refused, Err(recloser::Error::Rejected))
    });
    assert!(open, "a thousand failures open it");
    virtual_time::advance(Duration::from_secs(31));
    breaker
}

fn recloser_half_open_admits_all() -> Seen {
    let breaker = recloser::AsyncRecloser::from(recloser_after_trip());
    let mut out = Vec::new();
    for _ in 0..1_000 {
        let (tell, told) = oneshot::channel();
        let mut call = Box::pin(breaker.call(as_told(told)));
        if poll_once(call.as_mut()).is_pending() {
            out.push((tell, call));
        }
    }
    let admitted = out.len();
    seen(
        admitted == 1_000,
        format!("half-open: {admitted} of 1000 calls in flight at once"),
    )
}

fn recloser_counts_refusals_as_health() -> Seen {
    let breaker = recloser_after_trip();
    for _ in 0..20 {
        let _ = breaker.call_with(|_: &Fault| false, || Err::<(), Fault>(Fault));
    }
    // Closed, it takes another hundred.
    let closed = (0..50).all(|_| {
        let refused = breaker.call(|| Err::<(), Fault>(Fault));
        !matches!(refused, Err(recloser::Error::Rejected))
    });
    seen(
        closed,
        format!("half-open; errors that are to be ignored closed it: {closed}"),
    )
}
