//! The stage for scenes that loom plays in every order: one gate, a few callers on threads of their own, and a server
//! that counts what reaches it.
//!
//! What can go wrong: two callers meet at the last place, probe or credit of a gate, and an order that no other test
//! meets lets both in, or leaves one of them asleep for ever. So a scene is played once for each order that its
//! threads' locks, atomics and parks allow; loom ends a play in which all threads sleep, and after each play the gate
//! must hold nothing. Not covered: what the runtime does between polls, and sockets.

use loom::sync::atomic::{AtomicUsize, Ordering};
use seawall::blocking::{StdClock, block_on};
use seawall::clock::{Clock, Sleep};
use seawall::drive::{Finished, drive};
use seawall::hub::{CallGuard, Hub, Landed, Leave, Others, Step, Told};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Report, Sent};
use seawall_core::policy::{Policy, PolicyBuilder};
use seawall_core::time::{Duration, Instant, Wall};
use seawall_core::trace::{Recording, What};
use seawall_core::verdict::Role;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// How many times a thread may be put aside while it could go on.
#[derive(Clone, Copy, Debug)]
pub enum Orders {
    /// As often as there is: every order.
    All,
    /// So often: enough for three threads, of which nearly every fault needs one or two.
    Preempted(usize),
}

/// Plays `scene` in every order, and looks at the stage that it leaves: nothing may be held. The codes of all reasons
/// that were told, over all orders, must be `wanted`: else the scene has not come to the edge that it is about.
///
/// # Panics
/// A law broke, somebody sleeps for ever, or the scene met something else.
pub fn play(orders: Orders, wanted: &[&str], scene: impl Fn() -> Arc<Stage> + Send + Sync + 'static) {
    let met: Arc<Mutex<BTreeSet<&'static str>>> = Arc::default();
    let plays = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let mut model = loom::model::Builder::new();
    model.preemption_bound = match orders {
        Orders::All => None,
        Orders::Preempted(most) => Some(most),
    };
    let (told, count) = (Arc::clone(&met), Arc::clone(&plays));
    model.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        let stage = scene();
        stage.nothing_is_held();
        told.lock().expect("nobody panics here").extend(stage.told());
    });
    let met = met.lock().expect("nobody panics here").clone();
    println!("{} orders, met {met:?}", plays.load(Ordering::Relaxed));
    let wanted: BTreeSet<&str> = wanted.iter().copied().collect();
    assert_eq!(met, wanted, "what the scene met");
}

/// One gate, and what its server counts.
pub struct Stage {
    hub: Arc<Hub>,
    gate: GateId,
    policy: Policy,
    server: Server,
}

struct Server {
    in_flight: AtomicUsize,
    probes: AtomicUsize,
    in_flight_max: usize,
    probes_max: usize,
}

/// A clock that nobody cranks: a short wait is over as soon as it begins, for everybody, and a longer one never. Its
/// hand is no lock of the model, so that it adds no orders to those of the locks that are played.
#[derive(Clone, Debug, Default)]
pub struct Hasty(Arc<AtomicU64>);

/// Waits up to this are for backoff or credit, and pass; longer ones end by a wake or not at all.
const SHORT: Duration = Duration::from_secs(2);

impl Hasty {
    /// Moves the hand on.
    pub fn advance(&self, length: Duration) {
        self.0.fetch_add(length.as_nanos(), Ordering::SeqCst);
    }
}

impl Clock for Hasty {
    fn now(&self) -> Instant {
        Instant::START.after(Duration::from_nanos(self.0.load(Ordering::SeqCst)))
    }

    fn wall(&self) -> Wall {
        Wall::from_unix_ms(0)
    }

    fn sleep_until(&self, at: Instant) -> Sleep {
        if at.since(self.now()) > SHORT {
            return Box::pin(std::future::pending());
        }
        self.0
            .fetch_max(at.since(Instant::START).as_nanos(), Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

impl Stage {
    /// A gate whose breaker has tripped, and whose next attempt is a probe. What came before is not told.
    ///
    /// # Panics
    /// The policy cannot be.
    pub fn half_open(builder: PolicyBuilder) -> Arc<Self> {
        let clock = Hasty::default();
        let stage = Self::with_clock(builder, clock.clone());
        for _ in 0..2 {
            let (call, leave) = stage.send();
            let mut call = call;
            let _ended = call.settle_and_poll(leave, failed(), Others::None);
            clock.advance(Duration::from_secs(1));
        }
        clock.advance(Duration::from_secs(10));
        stage.hub.drain();
        stage
    }

    /// A gate with this policy, whose backoff is one millisecond. Its server fails the test where more attempts are
    /// in flight than the gate has places, or more probes than its breaker has slots.
    ///
    /// # Panics
    /// The policy cannot be.
    pub fn new(builder: PolicyBuilder) -> Arc<Self> {
        Self::with_clock(builder, Hasty::default())
    }

    /// As [`new`](Self::new), on this clock.
    ///
    /// # Panics
    /// The policy cannot be.
    pub fn with_clock(builder: PolicyBuilder, clock: impl Clock) -> Arc<Self> {
        let policy = builder
            .backoff_base(Duration::from_millis(1))
            .build()
            .expect("a policy in range");
        let mut engine = Engine::new(1, Recording::On);
        let gate = engine
            .configure(Instant::START, GateKey(0), &policy.gate, &[], None)
            .expect("one gate");
        let places = policy.gate.limits().concurrency().at_most();
        Arc::new(Self {
            hub: Hub::new(engine, Arc::new(clock)),
            gate,
            policy,
            server: Server {
                in_flight: AtomicUsize::new(0),
                probes: AtomicUsize::new(0),
                in_flight_max: places.map_or(usize::MAX, |places| places as usize),
                probes_max: policy
                    .gate
                    .breaker()
                    .map_or(0, |breaker| breaker.probes() as usize),
            },
        })
    }

    /// The hub that is played.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Begins a call as a driver does.
    pub fn begin(&self) -> (CallGuard<'_>, Told<'_>) {
        let route = [Candidate::at(self.gate)];
        self.hub
            .begin(|now| Spec::new(now, &route, &self.policy.call, Replay::Idempotent))
    }

    /// Begins a call that is sent at once.
    ///
    /// # Panics
    /// It was not.
    pub fn send(&self) -> (CallGuard<'_>, Leave<'_>) {
        let (call, told) = self.begin();
        (call, sent(told))
    }

    /// Begins a call and waits until it is sent.
    ///
    /// # Panics
    /// It ended instead.
    pub fn send_or_wait(&self) -> (CallGuard<'_>, Leave<'_>) {
        let (call, mut told) = self.begin();
        loop {
            match told.step {
                Step::Send(leave) => return (call, leave),
                Step::Wait(until) | Step::Park { until } => self.block_on(call.turn(until)),
                Step::InFlight { .. } | Step::Finish { .. } => panic!("{}", told.reason.code()),
            }
            told = call.poll();
        }
    }

    /// The stage for guards that go to other threads: it is not given back.
    pub fn for_good(self: &Arc<Self>) -> &'static Self {
        Box::leak(Box::new(Arc::clone(self)))
    }

    /// Gives the gate another policy.
    ///
    /// # Panics
    /// The policy cannot be.
    pub fn reconfigure(&self, builder: PolicyBuilder) {
        let policy = builder.build().expect("a policy in range");
        self.hub.with(|engine, now| {
            engine
                .configure(now, GateKey(0), &policy.gate, &[], None)
                .expect("one gate")
        });
    }

    /// The future of one whole call, whose attempts meet these in turn; the last goes on for ever.
    pub async fn drive(&self, meets: &[Report]) -> Finished {
        let route = [Candidate::at(self.gate)];
        let spec = |now| Spec::new(now, &route, &self.policy.call, Replay::Idempotent);
        let send = |leave| {
            let leave: Leave<'_> = leave;
            let nth = (leave.attempt() as usize).min(meets.len()) - 1;
            self.attempt(leave, meets[nth])
        };
        drive(&self.hub, spec, send, &mut |()| {}).await
    }

    /// One whole call on this thread, which parks while it waits. The code of its end.
    pub fn call(&self, meets: &[Report]) -> &'static str {
        self.block_on(self.drive(meets)).reason.code()
    }

    /// As [`call`](Self::call), on a thread of its own.
    pub fn spawn_call(self: &Arc<Self>, meets: Vec<Report>) -> loom::thread::JoinHandle<&'static str> {
        let stage = Arc::clone(self);
        loom::thread::spawn(move || stage.call(&meets))
    }

    /// Runs a future on this thread, by the product's own parked loop.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        block_on(&StdClock::new(), future)
    }

    async fn attempt<'h>(&self, mut leave: Leave<'h>, report: Report) -> Landed<'h, ()> {
        leave.leaving();
        let role = leave.role();
        self.server.enters(role);
        self.server.leaves(role);
        leave.landed(report, ())
    }

    /// The codes of all that was told.
    fn told(&self) -> Vec<&'static str> {
        let codes = self.hub.drain().into_iter().filter_map(|event| match event.what {
            What::Sent(reason) | What::Waits(reason, _) | What::Finished(reason, _) => Some(reason.code()),
            What::Left => Some("left"),
            _ => None,
        });
        codes.collect()
    }

    /// Law 5: nothing is held once everybody has gone.
    fn nothing_is_held(&self) {
        self.hub.with(|engine, _| {
            let load = engine.load(self.gate);
            let held = [load.in_flight, load.promised, load.queued, load.saving];
            assert_eq!(held, [0; 4], "in flight, promised, queued, saving");
            assert_eq!(
                (engine.permits_out(), engine.calls_alive()),
                (0, 0),
                "permits, calls"
            );
        });
    }

    /// What is in flight is what permits are out: the law, at any moment.
    ///
    /// # Panics
    /// It is not.
    pub fn in_flight_is_what_is_out(&self) {
        self.hub.with(|engine, _| {
            let in_flight = u64::from(engine.load(self.gate).in_flight);
            assert_eq!(in_flight, engine.permits_out(), "in flight and out");
        });
    }
}

impl Server {
    fn enters(&self, role: Role) {
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(now <= self.in_flight_max, "{now} are in flight");
        if role == Role::Probe {
            let probes = self.probes.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(probes <= self.probes_max, "{probes} probes are in flight");
        }
    }

    fn leaves(&self, role: Role) {
        if role == Role::Probe {
            self.probes.fetch_sub(1, Ordering::SeqCst);
        }
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The leave that was given.
///
/// # Panics
/// It gives none.
pub fn sent(told: Told<'_>) -> Leave<'_> {
    match told.step {
        Step::Send(leave) => leave,
        other => panic!("{other:?} is no leave to send: {}", told.reason.code()),
    }
}

/// Polls `future` once, with a waker that wakes nobody, and leaves it there.
pub fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Runs `future` for so many polls at the most and drops it: `None` where it had not ended.
pub fn leave_after<F: Future>(stage: &Stage, polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    stage.block_on(poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }))
}

/// An answer.
pub const fn answer() -> Report {
    Report::of(Outcome::Answer)
}

/// A 500.
pub const fn failed() -> Report {
    Report::of(Outcome::Failed {
        cause: Cause::Status,
        sent: Sent::Maybe,
        hint: None,
    })
}

/// A 429 that says to come back after so long.
pub const fn throttled(wait: Duration) -> Report {
    Report::of(Outcome::Throttled {
        hint: Some(Hint {
            wait,
            cools: true,
            source: HintSource::RetryAfter,
        }),
    })
}
