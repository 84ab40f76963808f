//! A model, lived through by the live loop: each call a task, one hub for each process, a cranked clock.

use seawall::clock::Clock as _;
use seawall::crank::{Act, CrankedClock};
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::GateKey;
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Report, Sent};
use seawall_core::policy::{CallPolicy, Policy};
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::{Event, Recording};
use seawall_lab::sim::luck::{Draws, Luck, Purpose};
use seawall_lab::sim::model::{Capacity, Contender, Failures, Load, Model, Outage, Server, Trouble};
use std::sync::{Arc, Mutex};

/// What came of it.
pub(super) struct Lived {
    /// What the engine of each process wrote down.
    pub(super) events: Vec<Vec<Event>>,
    /// Attempts that reached the server.
    pub(super) arrivals: u64,
}

/// Lives through a model whose calls are given and whose one server is unbounded or has workers.
pub(super) fn run(model: &Model, contender: &Contender, seed: u64) -> Lived {
    let Load::Trace { clients, calls } = &model.load else {
        panic!("these worlds have given calls");
    };
    let luck = Luck::new(seed);
    let clock = CrankedClock::new();
    let processes: Vec<Process> = (0..contender.fleet.processes(*clients))
        .map(|number| Process::new(&contender.policy, luck, number, &clock))
        .collect();
    let counter = Arc::new(Mutex::new(Counter::new(model.servers[0].clone())));
    let mut acts: Vec<Act<'_, ()>> = Vec::new();
    for (nth, arrival) in (0_u64..).zip(calls.iter()) {
        let client = luck.of(Purpose::Client, 0, nth).below(*clients);
        let process = &processes[contender.fleet.process_of(client) as usize];
        let caller = Caller {
            clock: clock.clone(),
            counter: Arc::clone(&counter),
            model: Arc::new(model.clone()),
            luck,
            who: u64::from(client),
            nth,
        };
        acts.push(Box::pin(call(
            Arc::clone(&process.hub),
            process.route,
            contender.policy.call,
            *arrival,
            caller,
        )));
    }
    clock.play(acts);
    let arrivals = counter.lock().unwrap().arrivals;
    Lived {
        events: processes.iter().map(|process| process.hub.drain()).collect(),
        arrivals,
    }
}

/// A process: a hub with one gate.
struct Process {
    hub: Arc<Hub>,
    route: [Candidate; 1],
}

impl Process {
    fn new(policy: &Policy, luck: Luck, number: u32, clock: &CrankedClock) -> Self {
        let seed = luck.of(Purpose::Engine, u64::from(number) + 1, 0).bits();
        let mut engine = Engine::new(seed, Recording::On);
        let gate = engine.configure(Instant::START, GateKey(0), &policy.gate, &[], None);
        Self {
            hub: Hub::new(engine, Arc::new(clock.clone())),
            route: [Candidate::at(gate.unwrap())],
        }
    }
}

/// Whose call it is, and where it goes.
#[derive(Clone)]
struct Caller {
    clock: CrankedClock,
    counter: Arc<Mutex<Counter>>,
    model: Arc<Model>,
    luck: Luck,
    who: u64,
    nth: u64,
}

async fn call(
    hub: Arc<Hub>,
    route: [Candidate; 1],
    policy: CallPolicy,
    arrival: seawall_lab::sim::model::Arrival,
    caller: Caller,
) {
    caller.clock.sleep_until(arrival.at).await;
    let spec = |now| Spec {
        tokens_in: arrival.tokens_in,
        tokens_out: arrival.tokens_out,
        ..Spec::new(now, &route, &policy, Replay::Idempotent)
    };
    drive(&hub, spec, |leave| attempt(caller.clone(), leave), &mut |()| {}).await;
}

async fn attempt(caller: Caller, mut leave: Leave<'_>) -> Landed<'_, ()> {
    leave.leaving();
    let limits = leave.limits();
    let now = caller.clock.now();
    let lasts = limits
        .first_byte
        .min(limits.total)
        .min(limits.deadline.since(now));
    let number = leave.attempt();
    // The limit is set when the attempt leaves, and comes first at a tie, as it does for a real one.
    let limit = caller.clock.sleep_until(now.after(lasts));
    let report = tokio::select! {
        biased;
        () = limit => failed(Cause::Timeout, Sent::Maybe, 0),
        report = caller.meets(number) => report,
    };
    leave.landed(report, ())
}

impl Caller {
    /// What the attempt of this number meets, once it is told.
    async fn meets(&self, number: u32) -> Report {
        let draws = |purpose| self.luck.of_attempt(purpose, self.who, self.nth, number);
        let mut hops = draws(Purpose::Hop);
        let mut hop = || self.model.hop.draw(&mut hops);
        self.clock.sleep_until(self.clock.now().after(hop())).await;
        let now = self.clock.now();
        let (served, report) = self.counter.lock().unwrap().take(now, number, draws);
        self.clock.sleep_until(served.after(hop())).await;
        report
    }
}

/// The server, as the model describes it: who comes first is worked on first, and whoever has left is worked on too.
struct Counter {
    server: Server,
    /// When each worker is free; none where all are worked on at once.
    workers: Vec<Instant>,
    arrivals: u64,
}

impl Counter {
    fn new(server: Server) -> Self {
        let workers = match server.capacity {
            Capacity::Unbounded => 0,
            Capacity::Workers(workers) => workers as usize,
            Capacity::Coupled { .. } | Capacity::OptimisticLock => panic!("not in these worlds"),
        };
        Self {
            server,
            workers: vec![Instant::START; workers],
            arrivals: 0,
        }
    }

    /// What an attempt of this number meets that comes now, and when it is told.
    fn take(&mut self, now: Instant, number: u32, draws: impl Fn(Purpose) -> Draws) -> (Instant, Report) {
        let trouble = self
            .outage(now)
            .filter(|outage| draws(Purpose::Severity).happens(outage.share));
        let trouble = trouble.map(|outage| outage.how);
        self.arrivals += u64::from(trouble != Some(Trouble::Refuse));
        match trouble {
            Some(Trouble::FailFast) => return (now, failed(Cause::Status, Sent::Maybe, 500)),
            Some(Trouble::Refuse) => return (now, failed(Cause::Connect, Sent::No, 0)),
            Some(Trouble::Throttle { retry_after }) => return (now, throttled(retry_after)),
            Some(Trouble::Hang) => panic!("not in these worlds"),
            Some(Trouble::Slow { .. } | Trouble::Truncate) | None => {}
        }
        let mut lasts = self.server.service.draw(&mut draws(Purpose::Service));
        if let Some(Trouble::Slow { factor }) = trouble {
            lasts = times(lasts, factor);
        }
        let begins = match self.workers.iter_mut().min() {
            None => now,
            Some(free) => {
                let begins = now.max(*free);
                *free = begins.after(lasts);
                begins
            }
        };
        let fails = draws(Purpose::Failure).happens(self.chance(number));
        let report = match trouble {
            Some(Trouble::Truncate) => failed(Cause::Cut, Sent::Maybe, 200),
            _ if fails => failed(Cause::Status, Sent::Maybe, 500),
            _ => Report {
                status: 200,
                ..Report::of(Outcome::Answer)
            },
        };
        (begins.after(lasts), report)
    }
}

impl Counter {
    fn outage(&self, now: Instant) -> Option<Outage> {
        let mut outages = self.server.outages.iter();
        outages
            .find(|outage| outage.at <= now && now < outage.at.after(outage.lasts))
            .copied()
    }

    fn chance(&self, number: u32) -> f64 {
        match self.server.failures {
            Failures::None => 0.0,
            Failures::Independent { chance } => chance,
            Failures::Sticky { first, .. } if number == 1 => first,
            Failures::Sticky { again, .. } => again,
        }
    }
}

fn failed(cause: Cause, sent: Sent, status: u16) -> Report {
    Report {
        status,
        ..Report::of(Outcome::Failed {
            cause,
            sent,
            hint: None,
        })
    }
}

fn throttled(retry_after: Option<Duration>) -> Report {
    let hint = retry_after.map(|wait| Hint {
        wait,
        cools: true,
        source: HintSource::RetryAfter,
    });
    Report {
        status: 429,
        ..Report::of(Outcome::Throttled { hint })
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths of seconds"
)]
fn times(length: Duration, factor: f64) -> Duration {
    Duration::from_nanos((length.as_nanos() as f64 * factor).round() as u64)
}
