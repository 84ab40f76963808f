use super::*;
use crate::crank::{CrankedClock, Players};
use crate::retry::Failure;
use crate::{Gate, Policy};
use seawall_core::facts::Replay;
use seawall_core::policy::PolicyBuilder;
use seawall_core::time::Duration;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tower_layer::Layer;
use tower_service::Service;

/// What an inner service does with one attempt.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answers(u32),
    Fails(&'static str),
    Hangs,
    AnswersAfter(u64, u32),
}

/// What all clones of an inner service share.
#[derive(Debug, Default)]
struct Books {
    does: Mutex<Vec<Does>>,
    calls: AtomicUsize,
    out: AtomicUsize,
    /// Clones that were told that they are ready and have not been called.
    reserved: AtomicUsize,
    asked_unready: AtomicUsize,
    places: AtomicUsize,
    dead: AtomicUsize,
}

/// A service as strict as tower's contract: a clone that was not asked whether it is ready is not called, and what it
/// reserved goes back with it.
#[derive(Debug)]
struct Strict {
    books: Arc<Books>,
    clock: CrankedClock,
    ready: bool,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        Self {
            books: Arc::clone(&self.books),
            clock: self.clock.clone(),
            ready: false,
        }
    }
}

impl Drop for Strict {
    fn drop(&mut self) {
        if self.ready {
            self.books.reserved.fetch_sub(1, SeqCst);
        }
    }
}

struct Out(
    Arc<Books>,
    Pin<Box<dyn Future<Output = Result<u32, &'static str>> + Send>>,
);

impl Future for Out {
    type Output = Result<u32, &'static str>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.1.as_mut().poll(context)
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.0.out.fetch_sub(1, SeqCst);
    }
}

impl Service<u32> for Strict {
    type Response = u32;
    type Error = &'static str;
    type Future = Out;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if self.books.dead.load(SeqCst) > 0 {
            return Poll::Ready(Err("dead"));
        }
        if !self.ready {
            if self.books.reserved.load(SeqCst) >= self.books.places.load(SeqCst) {
                return Poll::Pending;
            }
            self.books.reserved.fetch_add(1, SeqCst);
            self.ready = true;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: u32) -> Out {
        use crate::clock::Clock as _;
        if !self.ready {
            self.books.asked_unready.fetch_add(1, SeqCst);
        } else {
            self.books.reserved.fetch_sub(1, SeqCst);
        }
        self.ready = false;
        let nth = self.books.calls.fetch_add(1, SeqCst);
        self.books.out.fetch_add(1, SeqCst);
        let does = self.books.does.lock().unwrap();
        let does = *does.get(nth).unwrap_or(&Does::Answers(0));
        let clock = self.clock.clone();
        let future = Box::pin(async move {
            match does {
                Does::Answers(answer) => Ok(answer),
                Does::Fails(error) => Err(error),
                Does::Hangs => std::future::pending().await,
                Does::AnswersAfter(ms, answer) => {
                    clock
                        .sleep_until(clock.now().after(Duration::from_millis(ms)))
                        .await;
                    Ok(answer)
                }
            }
        });
        Out(Arc::clone(&self.books), future)
    }
}

type ByText = When<fn(&&'static str) -> bool>;
type Layered = Seawall<Strict, ByText>;

struct Scene {
    clock: CrankedClock,
    gate: Gate,
    books: Arc<Books>,
    inner: Strict,
}

impl Scene {
    fn of(policy: PolicyBuilder, does: &[Does]) -> Self {
        let clock = CrankedClock::new();
        let gate = Gate::builder(&policy.build().unwrap())
            .clock(Arc::new(clock.clone()))
            .seed(7)
            .build();
        let books = Arc::new(Books {
            does: Mutex::new(does.to_vec()),
            places: AtomicUsize::new(usize::MAX),
            ..Books::default()
        });
        let inner = Strict {
            books: Arc::clone(&books),
            clock: clock.clone(),
            ready: false,
        };
        Self {
            clock,
            gate,
            books,
            inner,
        }
    }

    fn layer(&self) -> SeawallLayer<ByText> {
        let transient: fn(&&'static str) -> bool = |error| *error != "wrong";
        SeawallLayer::new(&self.gate).when(transient)
    }

    fn service(&self) -> Layered {
        self.layer().layer(self.inner.clone())
    }

    fn calls(&self) -> usize {
        self.books.calls.load(SeqCst)
    }

    fn nothing_is_left(&self) {
        assert_eq!(self.gate.attempts_out(), 0, "permits out");
        assert_eq!(
            self.gate.hub().with(|engine, _| engine.calls_alive()),
            0,
            "calls alive"
        );
        assert_eq!(self.books.out.load(SeqCst), 0, "inner futures");
        assert_eq!(self.books.reserved.load(SeqCst), 0, "inner reservations");
        assert_eq!(
            self.books.asked_unready.load(SeqCst),
            0,
            "calls of what was not ready"
        );
    }
}

/// Whether somebody was woken since the last look.
#[derive(Default)]
struct Woken(AtomicUsize);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(1, SeqCst);
    }
}

/// Runs it; the clock is cranked whenever nothing can move by itself.
fn run<F: Future>(clock: &CrankedClock, future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    for _ in 0..10_000 {
        woken.0.store(0, SeqCst);
        if let Poll::Ready(ended) = future.as_mut().poll(&mut context) {
            return ended;
        }
        if woken.0.load(SeqCst) == 0 {
            clock.step();
        }
    }
    panic!("it hangs");
}

async fn called(service: &mut Layered, request: u32) -> Result<u32, Error<&'static str>> {
    poll_fn(|context| service.poll_ready(context)).await?;
    service.call(request).await
}

fn quick() -> PolicyBuilder {
    Policy::builder().retries(3).budget(None)
}

#[test]
fn a_failed_attempt_is_followed_by_another_through_a_service_that_is_ready() {
    // Breaks when a retry calls a clone that nobody asked, as the inner service's contract forbids.
    let scene = Scene::of(quick(), &[Does::Fails("a"), Does::Fails("b"), Does::Answers(3)]);
    assert_eq!(run(&scene.clock, called(&mut scene.service(), 0)), Ok(3));
    assert_eq!(scene.calls(), 3);
    scene.nothing_is_left();
}

#[test]
fn the_last_error_is_kept_with_the_reason_why_there_was_no_other() {
    // Breaks when the layer's error hides the service's own, or the other way round.
    let scene = Scene::of(quick().retries(1), &[Does::Fails("a"), Does::Fails("b")]);
    let error = run(&scene.clock, called(&mut scene.service(), 0)).unwrap_err();
    assert_eq!(error.reason().unwrap().code(), "attempts-spent");
    assert_eq!(error.attempts(), 2);
    assert_eq!(
        error.to_string(),
        "attempts-spent: all 2 attempts that the policy allows were made"
    );
    assert_eq!(error.into_inner(), Some("b"));
    let scene = Scene::of(quick(), &[Does::Fails("wrong")]);
    let error = run(&scene.clock, called(&mut scene.service(), 0)).unwrap_err();
    assert_eq!((error.reason().unwrap().code(), scene.calls()), ("refused", 1));
    scene.nothing_is_left();
}

#[test]
fn a_service_that_is_never_ready_says_so_and_begins_nothing() {
    // Breaks when an error of readiness is retried, or taken for one of a call.
    let scene = Scene::of(quick(), &[]);
    scene.books.dead.store(1, SeqCst);
    let error = run(&scene.clock, called(&mut scene.service(), 0)).unwrap_err();
    assert_eq!(error, Error::Unready("dead"));
    assert_eq!((error.ended(), scene.calls()), (None, 0));
    scene.nothing_is_left();
}

#[test]
fn a_retry_through_a_service_that_has_died_was_not_sent() {
    // Breaks when such an attempt counts as one that may have acted: this write could never be repeated elsewhere.
    let scene = Scene::of(quick().retries(1), &[Does::Fails("a")]);
    let layer = scene.layer().classify(|error: &&str| match *error {
        "a" => Failure::throttled(),
        _ => Failure::transient(),
    });
    let mut service = layer.replay(Replay::Unsafe).layer(scene.inner.clone());
    let books = Arc::clone(&scene.books);
    let error = run(&scene.clock, async {
        poll_fn(|context| service.poll_ready(context)).await?;
        let call = service.call(0);
        books.dead.store(1, SeqCst);
        call.await
    })
    .unwrap_err();
    assert!(!error.ended().unwrap().unknown);
    assert_eq!(error.into_inner(), Some("dead"));
    assert_eq!(scene.calls(), 1);
    scene.nothing_is_left();
}

#[test]
fn clones_that_stand_by_ready_starve_nobody() {
    // Breaks when a permit is taken in `poll_ready`: two clones that are ready and idle would keep the third out for ever.
    let scene = Scene::of(quick().concurrency(2), &[]);
    let mut idle = [scene.service(), scene.service(), scene.service()];
    let mut context = Context::from_waker(Waker::noop());
    for service in &mut idle {
        assert!(service.poll_ready(&mut context).is_ready());
    }
    assert_eq!(scene.gate.attempts_out(), 0);
    assert_eq!(run(&scene.clock, called(&mut scene.service(), 0)), Ok(0));
    drop(idle);
    scene.nothing_is_left();
}

#[test]
fn a_call_that_waits_at_the_gate_gives_back_what_its_service_had_reserved() {
    // Breaks when a call in the gate's queue keeps a place of the inner service that others could use.
    let scene = Scene::of(
        quick().concurrency(1),
        &[Does::AnswersAfter(1_000, 1), Does::Answers(2)],
    );
    let (mut one, mut two) = (scene.service(), scene.service());
    let mut context = Context::from_waker(Waker::noop());
    assert!(one.poll_ready(&mut context).is_ready() && two.poll_ready(&mut context).is_ready());
    let (mut one, mut two) = (pin!(one.call(0)), pin!(two.call(0)));
    assert_eq!(scene.books.reserved.load(SeqCst), 2);
    assert!(one.as_mut().poll(&mut context).is_pending() && two.as_mut().poll(&mut context).is_pending());
    assert_eq!(scene.books.reserved.load(SeqCst), 0);
    assert_eq!(run(&scene.clock, one), Ok(1));
    assert_eq!(run(&scene.clock, two), Ok(2));
}

#[test]
fn back_pressure_of_the_inner_service_is_passed_on() {
    // Breaks when the layer says that it is ready by itself.
    let scene = Scene::of(quick(), &[]);
    scene.books.places.store(1, SeqCst);
    let (mut one, mut two) = (scene.service(), scene.service());
    let mut context = Context::from_waker(Waker::noop());
    assert!(one.poll_ready(&mut context).is_ready());
    assert!(two.poll_ready(&mut context).is_pending());
    drop(one);
    assert!(two.poll_ready(&mut context).is_ready());
}

#[test]
fn an_attempt_is_cut_at_the_deadline_and_nothing_of_it_is_left() {
    // Breaks when a service that hangs holds its caller beyond what the caller said.
    let scene = Scene::of(quick(), &[Does::Hangs]);
    let mut service = scene
        .layer()
        .deadline(Duration::from_secs(3))
        .layer(scene.inner.clone());
    let error = run(&scene.clock, called(&mut service, 0)).unwrap_err();
    assert_eq!(error.reason().unwrap().code(), "deadline-passed");
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
    use crate::clock::Clock as _;
    assert_eq!(scene.clock.now().to_string(), "3s");
    scene.nothing_is_left();
}

#[test]
fn a_gate_that_is_open_refuses_without_asking_the_service() {
    // Breaks when the layer's breaker counts nothing, or its refusal looks like the service's own failure.
    let fails = [Does::Fails("down"); 8];
    let policy = quick().edit_breaker(|breaker| breaker.consecutive(3));
    let scene = Scene::of(policy, &fails);
    let mut service = scene.service();
    let mut last = None;
    for _ in 0..4 {
        last = Some(run(&scene.clock, called(&mut service, 0)).unwrap_err());
    }
    let error = last.unwrap();
    assert_eq!(error.reason().unwrap().code(), "breaker-open");
    assert!(
        error.retry_after().is_some() && matches!(error, Error::Refused(_)),
        "{error:?}"
    );
    assert!(scene.calls() < 8, "{}", scene.calls());
    scene.nothing_is_left();
}

#[test]
fn a_response_that_is_a_failure_is_retried_and_handed_over_where_nothing_better_comes() {
    // Breaks when a response counts as a success because it is no error, or when the last one is lost.
    let scene = Scene::of(
        quick().retries(1),
        &[
            Does::Answers(500),
            Does::Answers(7),
            Does::Answers(500),
            Does::Answers(503),
        ],
    );
    let met = |response: &u32| match *response {
        status @ 500.. => Met::Failed(Failure::status(u16::try_from(status).unwrap())),
        _ => Met::Answer,
    };
    let mut service = scene.layer().classify_response(met).layer(scene.inner.clone());
    let mut call = async || {
        poll_fn(|context| service.poll_ready(context)).await?;
        service.call(0).await
    };
    assert_eq!(run(&scene.clock, call()), Ok(7));
    assert_eq!(run(&scene.clock, call()), Ok(503));
    assert_eq!(scene.calls(), 4);
    scene.nothing_is_left();
}

#[test]
fn a_request_that_cannot_be_made_again_is_sent_once() {
    // Breaks when the layer asks for a copy that there is not, or says that the attempts were spent.
    let scene = Scene::of(quick(), &[Does::Fails("a"), Does::Answers(1)]);
    let mut service = scene.layer().once().layer(scene.inner.clone());
    let error = run(&scene.clock, async {
        poll_fn(|context| service.poll_ready(context)).await?;
        service.call(0).await
    })
    .unwrap_err();
    assert_eq!(error.reason().unwrap().code(), "body-too-large");
    assert_eq!((error.into_inner(), scene.calls()), (Some("a"), 1));
    // Nor is it lost where the call has to wait before it is sent at all.
    let scene = Scene::of(
        quick().concurrency(1),
        &[Does::AnswersAfter(10, 1), Does::Answers(2)],
    );
    let layer = scene.layer().once();
    let (mut one, mut two) = (layer.layer(scene.inner.clone()), layer.layer(scene.inner.clone()));
    let mut context = Context::from_waker(Waker::noop());
    assert!(one.poll_ready(&mut context).is_ready() && two.poll_ready(&mut context).is_ready());
    let (mut one, mut two) = (pin!(one.call(0)), pin!(two.call(0)));
    assert!(one.as_mut().poll(&mut context).is_pending() && two.as_mut().poll(&mut context).is_pending());
    assert_eq!((run(&scene.clock, one), run(&scene.clock, two)), (Ok(1), Ok(2)));
}

#[test]
fn who_makes_requests_again_may_stop_at_any_time() {
    // Breaks when a closure that made one request again is taken at its word for all that follow: the call would panic.
    for (again, sends) in [(1, 2), (2, 3)] {
        let scene = Scene::of(quick(), &[Does::Fails("a"), Does::Fails("b"), Does::Fails("c")]);
        let left = Arc::new(AtomicUsize::new(again));
        let again = move |request: &u32| {
            let one = left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
            one.ok().map(|_| *request)
        };
        let mut service = scene.layer().again(again).layer(scene.inner.clone());
        let error = run(&scene.clock, async {
            poll_fn(|context| service.poll_ready(context)).await?;
            service.call(0).await
        })
        .unwrap_err();
        assert_eq!(
            (error.reason().unwrap().code(), scene.calls()),
            ("refused", sends)
        );
        assert_eq!(error.into_inner(), Some(if sends == 2 { "b" } else { "c" }));
        scene.nothing_is_left();
    }
}

#[test]
fn an_unsafe_call_is_not_repeated_after_an_attempt_that_may_have_acted() {
    // Breaks when what the layer was told of repeats does not reach the engine.
    let scene = Scene::of(quick(), &[Does::Fails("a"), Does::Answers(1)]);
    let mut service = scene.layer().replay(Replay::Unsafe).layer(scene.inner.clone());
    let error = run(&scene.clock, called(&mut service, 0)).unwrap_err();
    assert_eq!(error.reason().unwrap().code(), "may-have-acted");
    assert!(error.ended().unwrap().unknown);
    assert_eq!(scene.calls(), 1);
}

#[test]
fn a_hedge_goes_beside_the_first_and_the_loser_is_dropped() {
    // Breaks when the second attempt waits for the first, or when the loser goes on.
    let policy = quick().hedge_after(Duration::from_millis(100));
    let scene = Scene::of(policy, &[Does::Hangs, Does::AnswersAfter(50, 9)]);
    assert_eq!(run(&scene.clock, called(&mut scene.service(), 0)), Ok(9));
    use crate::clock::Clock as _;
    assert_eq!(scene.clock.now().to_string(), "150ms");
    scene.nothing_is_left();
}

#[test]
fn a_caller_that_leaves_at_any_poll_leaves_nothing() {
    // Breaks when a dropped future keeps a permit, a place in the queue, or an attempt.
    let does = [
        Does::AnswersAfter(50, 500),
        Does::Fails("a"),
        Does::AnswersAfter(50, 1),
    ];
    for hedge in [None, Some(Duration::from_millis(20))] {
        for polls in 0..40 {
            let mut policy = quick().concurrency(1);
            if let Some(after) = hedge {
                policy = quick().concurrency(2).hedge_after(after);
            }
            let scene = Scene::of(policy, &does);
            let met = |response: &u32| match *response {
                500 => Met::Failed(Failure::status(500)),
                _ => Met::Answer,
            };
            let mut service = scene.layer().classify_response(met).layer(scene.inner.clone());
            let mut context = Context::from_waker(Waker::noop());
            assert!(service.poll_ready(&mut context).is_ready());
            let mut call = Box::pin(service.call(0));
            let ended = (0..polls).any(|_| {
                let ended = call.as_mut().poll(&mut context).is_ready();
                scene.clock.step();
                ended
            });
            drop((call, service));
            scene.nothing_is_left();
            if ended {
                break;
            }
            assert!(polls < 39, "it never ends");
        }
    }
}

#[test]
fn calls_side_by_side_share_the_gate_in_order() {
    // Breaks when clones have gates of their own: more would be out than the gate allows.
    let scene = Scene::of(quick().concurrency(2), &[Does::AnswersAfter(100, 1); 6]);
    let service = scene.service();
    let acts = (0..6).map(|_| {
        let mut service = service.clone();
        let act: crate::crank::Act<'static, _> = Box::pin(async move { called(&mut service, 0).await });
        act
    });
    let mut players = Players::new(acts.collect());
    let context = Context::from_waker(Waker::noop());
    while !players.all_ended() {
        while players.turn(&context) == crate::crank::Turn::Played {}
        assert!(scene.books.out.load(SeqCst) <= 2);
        scene.clock.step();
    }
    assert_eq!(players.into_ends(), [const { Ok(1) }; 6]);
    use crate::clock::Clock as _;
    assert_eq!(scene.clock.now().to_string(), "300ms");
    drop(service);
    scene.nothing_is_left();
}

#[test]
fn a_service_and_its_calls_are_what_the_inner_ones_are() {
    // Breaks when the layer adds a part that is not Send: nobody could spawn a call.
    fn is_send_and_clone<T: Send + Sync + Clone>(_: &T) {}
    fn is_send<T: Send + 'static>(_: &T) {}
    let scene = Scene::of(quick(), &[]);
    let mut service = scene.service();
    is_send_and_clone(&service);
    is_send_and_clone(&scene.layer());
    let _ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
    is_send(&service.call(0));
}

/// Answers at once.
#[derive(Clone)]
struct Bare;

impl Service<u32> for Bare {
    type Response = u32;
    type Error = &'static str;
    type Future = std::future::Ready<Result<u32, &'static str>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        std::future::ready(Ok(request))
    }
}

#[test]
fn a_call_that_is_answered_at_once_allocates_nothing() {
    // Breaks when the future is boxed, or a timer or a seat in the table is made for every call.
    let gate = Gate::new(&Policy::builder().concurrency(64).build().unwrap());
    let mut service = SeawallLayer::new(&gate).when(|_: &&str| true).layer(Bare);
    let mut context = Context::from_waker(Waker::noop());
    let mut call = || {
        assert!(service.poll_ready(&mut context).is_ready());
        assert_eq!(pin!(service.call(7)).poll(&mut context), Poll::Ready(Ok(7)));
    };
    (0..20).for_each(|_| call());
    let counted = allocation_counter::measure(|| (0..100).for_each(|_| call()));
    assert_eq!(counted.count_total, 0);
}

#[cfg(feature = "http")]
#[test]
fn a_grpc_code_that_may_have_acted_is_a_failure_and_a_callers_own_is_for_good() {
    // Breaks when one of the codes of a broken server is taken for the caller's mistake.
    let metadata = ::http::HeaderMap::new();
    for code in [2, 13] {
        assert_eq!(grpc_failure(code, &metadata), Failure::status(500), "{code}");
    }
    assert_eq!(grpc_failure(8, &metadata), Failure::throttled());
    for code in [1, 3, 5, 6, 9, 10, 11, 12, 15] {
        assert_eq!(grpc_failure(code, &metadata), Failure::permanent(), "{code}");
    }
}
