//! The loop on a plain thread, by the host's own clock.

use crate::server::{Server, answer};
use seawall::blocking::{self, StdClock, block_on};
use seawall::clock::Clock;
use seawall::crank::CrankedClock;
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave};
use seawall::retry::Alone;
use seawall::{Attempt, Call, Failure, Gate, Upstream, retry};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Recording;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

#[test]
fn a_thread_rests_until_its_clock_says_so_and_not_less() {
    // Could break if a park that ends early was taken for the time, or one without a limit for a timer.
    let clock = StdClock::new();
    for ms in [0, 1, 7] {
        let at = clock.now() + Duration::from_millis(ms);
        block_on(&clock, clock.sleep_until(at));
        assert!(clock.now() >= at);
    }
}

#[test]
fn a_wake_from_another_thread_ends_a_rest_without_a_limit() {
    // Could break if a wake between a poll and its park was lost.
    let clock = StdClock::new();
    for _ in 0..200 {
        let shared: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
        let other = Arc::clone(&shared);
        let waking = std::thread::spawn(move || {
            let mut shared = other.lock().unwrap();
            shared.0 = true;
            if let Some(waker) = shared.1.take() {
                waker.wake();
            }
        });
        block_on(
            &clock,
            std::future::poll_fn(|context| {
                let mut shared = shared.lock().unwrap();
                shared.1 = Some(context.waker().clone());
                if shared.0 { Poll::Ready(()) } else { Poll::Pending }
            }),
        );
        waking.join().expect("the waking thread ends");
    }
}

#[test]
fn a_call_on_a_plain_thread_backs_off_and_ends() {
    // Could break if the loop's own waits were timers that only a runtime fires.
    let policy = Policy::builder()
        .backoff_base(Duration::from_millis(2))
        .build()
        .unwrap();
    let clock = StdClock::new();
    let mut engine = Engine::new(1, Recording::Off);
    let gate = engine
        .configure(clock.now(), GateKey(1), &policy.gate, &[], None)
        .unwrap();
    let hub = Hub::new(engine, Arc::new(clock));
    let route = [Candidate::at(gate)];
    let spec = |now| Spec::new(now, &route, &policy.call, Replay::Idempotent);
    let finished = block_on(&clock, drive(&hub, spec, fails_twice, &mut |()| {}));
    assert_eq!((finished.reason.code(), finished.sends), ("succeeded", 3));
}

async fn fails_twice(leave: Leave<'_>) -> Landed<'_, ()> {
    let failed = Outcome::Failed {
        cause: Cause::Status,
        sent: Sent::Maybe,
        hint: None,
    };
    let outcome = if leave.attempt() < 3 {
        failed
    } else {
        Outcome::Answer
    };
    leave.landed(Report::of(outcome), ())
}

/// Backs off for no longer than a test may take.
fn quick() -> Policy {
    Policy::builder()
        .backoff_base(Duration::from_millis(2))
        .build()
        .unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Fails twice, then answers.
fn third_time_lucky(attempt: Attempt) -> Result<u32, Failure> {
    match attempt.number() {
        number @ 3.. => Ok(number),
        _ => Err(Failure::transient()),
    }
}

#[test]
fn a_closure_is_called_again_on_its_own_thread_without_a_runtime() {
    // Could break if a call on its own, or the clock of a gate that tasks may share, waited for timers that only a
    // runtime fires.
    let policy = quick();
    let gate = Gate::new(&policy);
    let here = std::thread::current().id();
    let on_this_thread = |attempt| {
        assert_eq!(std::thread::current().id(), here);
        third_time_lucky(attempt)
    };
    assert_eq!(blocking::retry_with(on_this_thread, &policy).call(), Ok(3));
    assert_eq!(blocking::retry_with(on_this_thread, &gate).call(), Ok(3));
    let mut notices = 0;
    let refused = blocking::retry(|| Err::<(), _>("wrong"), &policy)
        .when(|error| *error != "wrong")
        .notify(|_| notices += 1)
        .call()
        .unwrap_err();
    assert_eq!((refused.reason.code(), refused.last), ("refused", Some("wrong")));
    assert_eq!(notices, 0);
}

#[tokio::test]
async fn a_thread_of_a_runtime_may_block_on_a_gate_that_its_tasks_share() {
    // Could break if a park that stands in a task waited for timers of the runtime that it keeps from running.
    let gate = Gate::new(&quick());
    assert_eq!(blocking::retry_with(third_time_lucky, &gate).call(), Ok(3));
    let shared = gate.clone();
    let thread = tokio::task::spawn_blocking(move || blocking::retry_with(third_time_lucky, &shared).call());
    let task = seawall::retry_with(async |attempt| third_time_lucky(attempt), &gate);
    let (thread, task) = crate::soon(async { tokio::join!(thread, task.into_future()) }).await;
    assert_eq!((thread.unwrap(), task), (Ok(3), Ok(3)));
}

#[test]
fn a_runtime_inside_a_call_keeps_its_own_timers() {
    // Could break if a timer of the inner runtime were left to the park outside, which is not asked before that ends.
    let gate = Gate::new(&quick());
    let runtime = runtime();
    let inner = || {
        let call = retry(async || Ok::<_, Failure>(()), &gate);
        let failing = seawall::retry_with(async |attempt| third_time_lucky(attempt), &gate);
        runtime.block_on(async { call.await.and(failing.await) })
    };
    let outer = blocking::retry(inner, &quick()).when(|_| false).call();
    assert_eq!(outer.unwrap(), 3);
}

#[test]
fn a_thread_and_a_task_tell_the_same_of_the_same_calls() {
    // Could break if the blocking twin asked the engine at another time or once too often.
    let told = |run: &dyn Fn(&Gate, &CrankedClock)| {
        let clock = CrankedClock::new();
        let gate = Gate::builder(&quick())
            .clock(Arc::new(clock.clone()))
            .seed(7)
            .recording(Recording::On)
            .build();
        run(&gate, &clock);
        let lines: Vec<String> = gate.events().iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    let crank = |clock: CrankedClock, waits: usize| {
        std::thread::spawn(move || {
            for _ in 0..waits {
                block_on(&StdClock::new(), clock.awaited());
                clock.step();
            }
        })
    };
    let thread = told(&|gate, clock| {
        let cranking = crank(clock.clone(), 2);
        assert_eq!(blocking::retry_with(third_time_lucky, gate).call(), Ok(3));
        cranking.join().unwrap();
    });
    let task = told(&|gate, clock| {
        let cranking = crank(clock.clone(), 2);
        let call = seawall::retry_with(async |attempt| third_time_lucky(attempt), gate);
        assert_eq!(block_on(&StdClock::new(), call.into_future()), Ok(3));
        cranking.join().unwrap();
    });
    assert_eq!(thread, task);
    assert!(thread.contains("#3@0 retry"), "{thread}");
}

#[test]
fn a_call_on_its_own_lives_by_the_clock_that_it_is_given() {
    // Could break if the park kept time by the host for a call that has a clock of its own: an hour would be one.
    let clock = CrankedClock::new();
    let policy = Policy::builder()
        .backoff_base(Duration::from_secs(3_600))
        .backoff_cap(Duration::from_secs(3_600))
        .deadline(Duration::from_secs(36_000))
        .build()
        .unwrap();
    let cranked = clock.clone();
    let cranking = std::thread::spawn(move || {
        for _ in 0..2 {
            block_on(&StdClock::new(), cranked.awaited());
            cranked.step();
        }
    });
    let alone = Alone::by(&policy).clock(Arc::new(clock.clone())).seed(1);
    assert_eq!(blocking::retry_with(third_time_lucky, alone).call(), Ok(3));
    cranking.join().unwrap();
    assert!(
        clock.now() >= Instant::START + Duration::from_secs(720),
        "{}",
        clock.now()
    );
}

fn upstream_of(server: &Server) -> Upstream {
    Upstream::builder(&server.url("/"))
        .unwrap()
        .policy(quick())
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_thread_calls_an_upstream_and_leaves_nothing() {
    // Could break if sockets had nobody who waits for them, if calls had a runtime each and so a connection each, or if
    // the thread that waits outlived the last clone.
    let server = Server::start(|nth| answer(if nth == 0 { 503 } else { 200 }, "pong")).await;
    let upstream = upstream_of(&server);
    let calls = tokio::task::spawn_blocking(move || {
        let upstream = blocking::Upstream::new(upstream).unwrap();
        let first = upstream.call(Call::get("/a")).unwrap();
        let twin = upstream.clone();
        let second = std::thread::spawn(move || twin.call(Call::get("/b")).unwrap())
            .join()
            .unwrap();
        assert_eq!(upstream.upstream().attempts_out(), 0);
        (first.attempts.len(), second.attempts.len(), second.body)
    });
    let (first, second, body) = crate::soon(calls).await.unwrap();
    assert_eq!((first, second, body.as_ref()), (2, 1, b"pong".as_slice()));
    assert_eq!(server.accepted(), 1);
    crate::soon(server.is_alone()).await;
}

#[test]
fn a_blocking_call_inside_a_task_blocks_and_does_not_panic() {
    // A runtime inside a runtime panics; and a task may use sockets only so often before it must yield, which a park in
    // it cannot do: it would look for ever. So there are more calls here than that, in one task that never yields.
    const CALLS: usize = 200;
    let (tell, told) = std::sync::mpsc::channel();
    let serving = std::thread::spawn(move || {
        runtime().block_on(async {
            let server = Server::start(|_| answer(200, "pong")).await;
            tell.send(server.clone()).unwrap();
            server.has_seen(CALLS).await;
            server.is_alone().await;
        });
    });
    let server = told.recv().unwrap();
    let upstream = blocking::Upstream::new(upstream_of(&server)).unwrap();
    runtime().block_on(async {
        for _ in 0..CALLS {
            assert_eq!(upstream.call(Call::get("/")).unwrap().body, "pong");
        }
    });
    drop(upstream);
    serving.join().unwrap();
}
