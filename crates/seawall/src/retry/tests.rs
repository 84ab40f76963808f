//! Calls of closures on a clock that is cranked.

use super::rules::By;
use super::*;
use crate::clock::Clock as _;
use crate::crank::CrankedClock;
use crate::gate::Gate;
use crate::hub::Hub;
use seawall_core::policy::{Jitter, Policy};
use seawall_core::trace::Recording;
use std::cell::{Cell, RefCell};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

mod anywhere;
mod calls;
mod classified;
mod composed;
mod errors;
mod held;
mod leaves;
mod values;

thread_local! {
    /// The hub that a call on its own made for itself.
    pub(super) static OWN_HUB: Cell<Option<Arc<Hub>>> = const { Cell::new(None) };
}

/// Any other would do; with this one the drawn delays below were drawn.
const SEED: u64 = 42;

/// Whether a future was woken since it was polled.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls a future until it has an end or rests.
fn poll<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
        if polled.is_ready() || !woken.0.swap(false, Ordering::SeqCst) {
            return polled;
        }
    }
}

/// Runs a future on this thread, cranking the clock whenever it rests.
fn run<F: Future>(clock: &CrankedClock, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = poll(future.as_mut()) {
            return value;
        }
        clock.step().expect("somebody waits for a time");
    }
}

/// What one attempt does: after how long, and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    after: Duration,
    met: Option<Failure>,
}

impl Step {
    const fn ok(after_ms: u64) -> Self {
        Self {
            after: Duration::from_millis(after_ms),
            met: None,
        }
    }

    const fn fails(after_ms: u64, failure: Failure) -> Self {
        Self {
            after: Duration::from_millis(after_ms),
            met: Some(failure),
        }
    }
}

/// A script and everything that a call of it shows.
#[derive(Clone, Debug)]
struct World {
    steps: Vec<Step>,
    policy: Policy,
    replay: Replay,
    deadline: Option<Duration>,
}

#[derive(Debug, PartialEq, Eq)]
struct Shown {
    end: Result<u32, RetryError<Failure>>,
    attempts: Vec<Attempt>,
    notices: Vec<String>,
    took: Duration,
}

impl World {
    fn of(steps: &[Step]) -> Self {
        Self {
            steps: steps.to_vec(),
            policy: policy(),
            replay: Replay::Declared,
            deadline: None,
        }
    }

    /// Makes the call; the last step repeats.
    fn call<'r>(&self, clock: &CrankedClock, rules: impl Into<Rules<'r>>) -> Shown {
        let attempts = RefCell::new(Vec::new());
        let mut notices = Vec::new();
        let make = |attempt: Attempt| {
            attempts.borrow_mut().push(attempt.clone());
            self.attempt(clock, attempt)
        };
        let mut call = retry_with(make, rules)
            .replay(self.replay)
            .key("the same in both ways")
            .notify(|notice: &Notice<'_, Failure>| {
                let Notice {
                    attempts,
                    reason,
                    wait,
                    ..
                } = notice;
                notices.push(format!("{attempts} {} {wait}", reason.code()));
            });
        if let Some(deadline) = self.deadline {
            call = call.deadline(deadline);
        }
        let began = clock.now();
        let end = run(clock, call.into_future());
        Shown {
            end,
            attempts: attempts.into_inner(),
            notices,
            took: clock.now().since(began),
        }
    }

    async fn attempt(&self, clock: &CrankedClock, attempt: Attempt) -> Result<u32, Failure> {
        let last = self.steps.len() - 1;
        let step = self.steps[last.min(attempt.number() as usize - 1)];
        if !step.after.is_zero() {
            clock.sleep_until(clock.now().after(step.after)).await;
        }
        step.met.map_or(Ok(attempt.number()), Err)
    }

    /// On its own: what it showed, and the trace of the engine that it made, where it made one.
    fn alone(&self) -> (Shown, Option<Vec<String>>) {
        OWN_HUB.set(None);
        let clock = CrankedClock::new();
        let mut alone = Alone::by(&self.policy).clock(Arc::new(clock.clone())).seed(SEED);
        alone.recording = Recording::On;
        let shown = self.call(&clock, alone);
        (shown, OWN_HUB.take().map(|hub| lines(&hub)))
    }

    /// Behind a gate that bounds nothing.
    fn behind_a_gate(&self) -> (Shown, Vec<String>) {
        let clock = CrankedClock::new();
        let gate = unbounded(&self.policy, &clock);
        (self.call(&clock, &gate), lines(gate.hub()))
    }
}

fn policy() -> Policy {
    Policy::builder()
        .jitter(Jitter::None)
        .backoff_base(Duration::from_millis(100))
        .build()
        .unwrap()
}

fn unbounded(policy: &Policy, clock: &CrankedClock) -> Gate {
    let policy = seawall_core::policy::PolicyBuilder::from_policy(*policy)
        .breaker(None)
        .budget(None)
        .build()
        .unwrap();
    gate(&policy, clock)
}

fn gate(policy: &Policy, clock: &CrankedClock) -> Gate {
    Gate::builder(policy)
        .clock(Arc::new(clock.clone()))
        .seed(SEED)
        .recording(Recording::On)
        .build()
}

fn lines(hub: &Hub) -> Vec<String> {
    hub.drain().iter().map(ToString::to_string).collect()
}

/// Nothing is held: no attempt, no place, no turn, no call.
#[track_caller]
fn assert_nothing_is_held(gate: &Gate) {
    let Rules(By::Shared { candidate, .. }) = gate.rules() else {
        panic!("a gate is shared")
    };
    gate.hub().with(|engine, _| {
        let load = engine.load(candidate.gate);
        assert_eq!((engine.permits_out(), engine.calls_alive()), (0, 0));
        assert_eq!(
            (load.in_flight, load.promised, load.queued, load.saving),
            (0, 0, 0, 0)
        );
    });
}
