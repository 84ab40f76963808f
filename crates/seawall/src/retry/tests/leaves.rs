//! Callers that leave and closures that panic: what was held goes back.

use super::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A gate at which calls wait for each thing that a gate can make them wait for.
fn narrow(clock: &CrankedClock) -> Gate {
    let policy = seawall_core::policy::PolicyBuilder::from_policy(policy())
        .edit_budget(|budget| {
            budget
                .ratio_per_mille(0)
                .floor_milli(200)
                .on_empty(seawall_core::policy::OnEmpty::Wait)
        })
        .concurrency(Some(1))
        .build()
        .unwrap();
    gate(&policy, clock)
}

/// Counts the futures of attempts that are alive.
struct Alive(Rc<Cell<u32>>);

impl Alive {
    fn one_more(count: &Rc<Cell<u32>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

const RESTS: [&str; 5] = [
    "backing-off",
    "budget-wait",
    "cooling-down",
    "queued",
    "server-asked",
];

/// Stands for a caller's task, which its wakers keep.
struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_caller_who_left_is_kept_by_nobody() {
    // Broken if the waker of a wait stayed where it was stored: it holds the caller's task, so that those who gave up in
    // an outage would stay in memory until as many others wait.
    let clock = CrankedClock::new();
    let gate = narrow(&clock);
    let task = Arc::new(Task);
    let make = || std::future::pending::<Result<(), Failure>>();
    let mut calls = [(); 3].map(|()| Box::pin(retry(make, &gate).into_future()));
    for call in &mut calls {
        let waker = Waker::from(Arc::clone(&task));
        let polled = call.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    // From the last, so that nobody's end wakes another.
    calls.into_iter().rev().for_each(drop);
    assert_eq!(Arc::strong_count(&task), 1);
}

#[test]
fn a_call_that_is_dropped_after_any_poll_holds_nothing() {
    // Could break in any state that a call can rest in: sent, backing off, cooling down, queued, waiting for credit.
    let mut rested_for = std::collections::BTreeSet::new();
    for polls in 0..60 {
        let clock = CrankedClock::new();
        let gate = narrow(&clock);
        let alive = Rc::new(Cell::new(0));
        let make = |attempt: Attempt| {
            let (alive, clock) = (Alive::one_more(&alive), clock.clone());
            async move {
                let _alive = alive;
                let after = Duration::from_millis(200);
                clock.sleep_until(clock.now().after(after)).await;
                match attempt.number() {
                    2 => Err::<(), _>(Failure::throttled().retry_after(Duration::from_secs(3))),
                    _ => Err(Failure::transient()),
                }
            }
        };
        let mut calls = [(); 3].map(|()| Some(Box::pin(retry_with(make, &gate).into_future())));
        for _ in 0..polls {
            for place in &mut calls {
                if let Some(call) = place
                    && poll(call.as_mut()).is_ready()
                {
                    *place = None;
                }
            }
            clock.step();
        }
        for line in lines(gate.hub()) {
            rested_for.extend(RESTS.into_iter().filter(|code| line.contains(code)));
        }
        drop(calls);
        assert_nothing_is_held(&gate);
        assert_eq!(alive.get(), 0, "after {polls} polls");
    }
    assert_eq!(rested_for.into_iter().collect::<Vec<_>>(), RESTS);
}

#[test]
fn a_call_on_its_own_that_is_dropped_drops_its_attempt() {
    // Could break if the attempt that is made ahead of the engine, or one that the loop ordered, outlived its call.
    for polls in 0..6 {
        let clock = CrankedClock::new();
        let policy = policy();
        let alive = Rc::new(Cell::new(0));
        let make = || {
            let (alive, clock) = (Alive::one_more(&alive), clock.clone());
            async move {
                let _alive = alive;
                let after = Duration::from_millis(200);
                clock.sleep_until(clock.now().after(after)).await;
                Err::<(), _>(Failure::transient())
            }
        };
        let alone = Alone::by(&policy).clock(Arc::new(clock.clone())).seed(SEED);
        let mut call = Box::pin(retry(make, alone).into_future());
        for _ in 0..polls {
            assert!(poll(call.as_mut()).is_pending());
            clock.step();
        }
        drop(call);
        assert_eq!(alive.get(), 0, "after {polls} polls");
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    MakingTheAttempt,
    InTheAttempt,
    Classifying,
    HearingOfTheWait,
}

#[test]
fn a_closure_that_panics_leaves_its_gate_as_it_was() {
    // Could break if the panic left a permit with nobody, in the first attempt or in a later one.
    for place in [
        Panics::MakingTheAttempt,
        Panics::InTheAttempt,
        Panics::Classifying,
        Panics::HearingOfTheWait,
    ] {
        for nth in 1..=2 {
            let clock = CrankedClock::new();
            let gate = narrow(&clock);
            let made = Cell::new(0);
            let panics = |here: Panics| assert!((here, made.get()) != (place, nth), "on purpose");
            let call = retry(
                || {
                    made.set(made.get() + 1);
                    panics(Panics::MakingTheAttempt);
                    async {
                        panics(Panics::InTheAttempt);
                        Err::<(), _>(())
                    }
                },
                &gate,
            )
            .classify(|()| {
                panics(Panics::Classifying);
                Failure::transient()
            })
            .notify(|_| panics(Panics::HearingOfTheWait));
            let ended = catch_unwind(AssertUnwindSafe(|| run(&clock, call.into_future())));
            assert!(ended.is_err(), "{place:?} of attempt {nth}");
            assert_nothing_is_held(&gate);
            let answer = run(&clock, retry(async || Ok::<_, Failure>(7), &gate).into_future());
            assert_eq!(answer, Ok(7));
        }
    }
}
