//! The loop on a plain thread, by the host's own clock.

use seawall::blocking::{StdClock, block_on};
use seawall::clock::Clock;
use seawall::drive::drive;
use seawall::hub::{Hub, Leave};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::Policy;
use seawall_core::time::Duration;
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
    let send = |leave: Leave| async move {
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
    };
    let spec = |now| Spec::new(now, &route, &policy.call, Replay::Idempotent);
    let finished = block_on(&clock, drive(&hub, spec, send, &mut |()| {}));
    assert_eq!((finished.reason.code(), finished.sends), ("succeeded", 3));
}
