//! Ours: the core with the time given, and the live loop as `Upstream::call` runs it, with a transport that does
//! nothing.

use seawall::clock::{Clock, Sleep, TokioClock};
use seawall::drive::{Finished, drive};
use seawall::hub::{Hub, Landed, Leave};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Outcome, Report, Sent};
use seawall_core::policy::Policy;
use seawall_core::reason::Reason;
use seawall_core::time::{Duration, Instant, Wall};
use seawall_core::trace::Recording;
use seawall_core::verdict::{Action, CallId, Permit};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A failure that may be sent again.
pub const FAILED: Outcome = Outcome::Failed {
    cause: Cause::Status,
    sent: Sent::Maybe,
    hint: None,
};

/// The settings of every row of ours.
pub const SETTINGS: &str = "seawall: the default policy (5 retries, 500 ms x2 full jitter up to 30 s, budget 10 % + 1/s \
     over 10 s, breaker on 5 in a row or 50 % of 30 s) and a concurrency limit of 64";

/// The default policy, with all that a gate can do on.
pub fn policy() -> Policy {
    Policy::builder()
        .concurrency(Some(64))
        .build()
        .expect("the policy is in range")
}

/// The same, but for its bounds: what fails again and again must not trip what it measures.
pub fn lenient() -> Policy {
    Policy::builder()
        .concurrency(Some(64))
        .edit_budget(|budget| budget.ratio_per_mille(1_000).floor_milli(1_000_000_000))
        .edit_breaker(|breaker| breaker.failure_per_mille(1_000))
        .build()
        .expect("the policy is in range")
}

/// One engine with one gate, and time that is given.
pub struct Core {
    engine: Engine,
    policy: Policy,
    route: [Candidate; 1],
    now: Instant,
    step: Duration,
    failures: u32,
}

impl Core {
    /// An engine whose calls come `step` apart.
    pub fn new(policy: Policy, step: Duration) -> Self {
        let mut engine = Engine::new(1, Recording::Off);
        let gate = engine
            .configure(Instant::START, GateKey(1), &policy.gate, &[], None)
            .expect("one gate has no parents");
        Self {
            engine,
            policy,
            route: [Candidate::at(gate)],
            now: Instant::START,
            step,
            failures: 0,
        }
    }

    /// A call that is answered.
    pub fn success(&mut self) {
        let call = self.begin();
        let permit = self.send(call);
        self.settle(permit, Outcome::Answer);
        assert!(matches!(self.poll(call), Action::Finish { .. }));
        self.engine.end(self.now, call);
    }

    /// A call that fails, and is dropped as soon as it was told to wait. Now and then one is answered, so that the
    /// breaker stays closed.
    pub fn failure(&mut self) {
        self.failures += 1;
        if self.failures.is_multiple_of(256) {
            return self.success();
        }
        let call = self.begin();
        let permit = self.send(call);
        self.settle(permit, FAILED);
        assert!(matches!(self.poll(call), Action::Wait(_)));
        self.engine.end(self.now, call);
    }

    /// A call that fails once and then is answered; the wait is jumped over.
    pub fn recovery(&mut self) {
        let call = self.begin();
        let permit = self.send(call);
        self.settle(permit, FAILED);
        let Action::Wait(until) = self.poll(call) else {
            panic!("a lenient budget allows one retry");
        };
        self.now = until;
        let permit = self.send(call);
        self.settle(permit, Outcome::Answer);
        assert!(matches!(self.poll(call), Action::Finish { .. }));
        self.engine.end(self.now, call);
    }

    fn begin(&mut self) -> CallId {
        self.now = self.now + self.step;
        let spec = Spec::new(self.now, &self.route, &self.policy.call, Replay::Idempotent);
        self.engine.begin(self.now, black_box(spec))
    }

    fn poll(&mut self, call: CallId) -> Action {
        self.engine.poll(self.now, call).action
    }

    fn send(&mut self, call: CallId) -> Permit {
        let Action::Send(permit) = self.poll(call) else {
            panic!("a free gate sends at once");
        };
        black_box(permit)
    }

    fn settle(&mut self, permit: Permit, outcome: Outcome) {
        self.engine
            .settle(self.now, permit, Report::of(black_box(outcome)));
    }
}

/// What the peers' service answers, as an outcome: no copy of it is forced upon either.
fn served() -> Outcome {
    super::peers::answer_now().map_or(FAILED, |_| Outcome::Answer)
}

/// An attempt that meets what `outcome` says, at once.
async fn attempt<'h>(mut leave: Leave<'h>, outcome: impl Fn(u32) -> Outcome) -> Landed<'h, ()> {
    // As the HTTP adapter does before it sends.
    black_box(leave.limits());
    leave.leaving();
    let outcome = outcome(leave.attempt());
    leave.landed(Report::of(outcome), ())
}

/// One hub with one gate, as an `Upstream` has it.
pub struct Live {
    hub: Arc<Hub>,
    policy: Policy,
    route: [Candidate; 1],
    failures: AtomicU32,
}

impl Live {
    /// A hub on the runtime's clock, as an `Upstream` has it.
    pub fn new(policy: Policy) -> Arc<Self> {
        Self::on(policy, Arc::new(TokioClock::new()))
    }

    /// A hub on this clock.
    pub fn on(policy: Policy, clock: Arc<dyn Clock>) -> Arc<Self> {
        let mut engine = Engine::new(1, Recording::Off);
        let gate = engine
            .configure(clock.now(), GateKey(0), &policy.gate, &[], None)
            .expect("one gate has no parents");
        Arc::new(Self {
            hub: Hub::new(engine, clock),
            policy,
            route: [Candidate::at(gate)],
            failures: AtomicU32::new(0),
        })
    }

    /// One call; `outcome` is told the attempt's number, from 1.
    pub async fn call(&self, outcome: impl Fn(u32) -> Outcome) -> Finished {
        let outcome = &outcome;
        let spec = |now| Spec::new(now, &self.route, &self.policy.call, Replay::Idempotent);
        drive(&self.hub, spec, |leave| attempt(leave, outcome), &mut |()| {}).await
    }

    /// A call that is answered.
    pub fn success(&self) {
        let finished = super::peers::ready_now(self.call(|_| served()));
        assert_eq!(finished.reason, Reason::Succeeded);
    }

    /// A call that fails, and is dropped as soon as it waits. Now and then one is answered, as in [`Core::failure`].
    pub fn failure(&self) {
        if self.failures.fetch_add(1, Ordering::Relaxed) % 256 == 255 {
            return self.success();
        }
        super::peers::fail_next(1);
        super::peers::pending_now(self.call(|_| served()));
    }

    /// A call that fails once and then is answered, on a clock that jumps.
    pub fn recovery(&self) {
        super::peers::fail_next(1);
        let mut call = pin!(self.call(|_| served()));
        // The timer wakes the call, which a runtime would then poll again.
        let ended = (0..3).any(|_| poll_once(call.as_mut()).is_ready());
        assert!(ended, "a wait that is jumped over ends");
    }
}

/// The runtime's clock, but that waiting takes no time: it jumps instead.
#[derive(Debug)]
pub struct Jumping {
    clock: TokioClock,
    jumped_ns: AtomicU64,
}

impl Jumping {
    /// A clock that begins now.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            clock: TokioClock::new(),
            jumped_ns: AtomicU64::new(0),
        })
    }
}

impl Clock for Jumping {
    fn now(&self) -> Instant {
        let jumped = Duration::from_nanos(self.jumped_ns.load(Ordering::Relaxed));
        self.clock.now().after(jumped)
    }

    fn wall(&self) -> Wall {
        self.clock.wall()
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        let left = at.since(self.now());
        self.jumped_ns.fetch_add(left.as_nanos(), Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

/// Polls what must end at once.
#[inline(always)]
pub fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    future.poll(&mut context)
}

/// As [`poll_once`], of a future that is not pinned yet.
// Inlined, so that the move is none.
#[inline(always)]
pub fn poll_new<F: Future>(future: F) -> std::task::Poll<F::Output> {
    poll_once(pin!(future))
}
