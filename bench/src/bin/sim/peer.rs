//! The same world in NeXosim: a model for each process and one for the server, messages over their ports, one thread.

use crate::shop::{
    CLIENTS_EACH, Chance, Counts, FAIL, HOP, PER_SECOND, PROCESSES, Plain, SERVICE_MEAN, WORKERS,
};
use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, EventSource, Output, SinkState, event_queue};
use nexosim::simulation::{Mailbox, SimInit, SimulationError};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// An attempt on its way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, nexosim::Message)]
pub struct Attempt {
    process: u32,
    nth: u32,
    /// In seconds.
    due: f64,
    is_well: bool,
}

/// The clients of one process, and their policy.
#[derive(Serialize, Deserialize)]
pub struct Process {
    number: u32,
    end: f64,
    policy: Plain,
    chance: Chance,
    counts: (u64, u64, u64, f64),
    to_server: Output<Attempt>,
    over: Output<(u64, u64, u64, f64)>,
}

#[Model]
impl Process {
    /// Ends nothing that was begun; begins nothing after the end.
    pub fn start(&mut self, _: (), cx: &Context<Self>) {
        self.plan_next(cx);
    }

    fn plan_next(&mut self, cx: &Context<Self>) {
        let gap = self.chance.exponential(f64::from(PROCESSES) / PER_SECOND);
        if now(cx) + gap < self.end {
            later(gap, |at| cx.schedule_event(at, schedulable!(Self::due), ()));
        }
    }

    #[nexosim(schedulable)]
    fn due(&mut self, _: (), cx: &Context<Self>) {
        self.counts.2 += 1;
        self.plan_next(cx);
        let _client = self.chance.below(CLIENTS_EACH);
        let call = Attempt {
            process: self.number,
            nth: 1,
            due: now(cx),
            is_well: false,
        };
        if !self.policy.admits(call.due) {
            return self.end_of(&call, call.due);
        }
        self.policy.sent_first();
        self.send(call, cx);
    }

    fn send(&mut self, attempt: Attempt, cx: &Context<Self>) {
        later(HOP.as_secs_f64(), |at| {
            cx.schedule_event(at, schedulable!(Self::reaches), attempt)
        });
    }

    #[nexosim(schedulable)]
    async fn reaches(&mut self, attempt: Attempt) {
        self.to_server.send(attempt).await;
    }

    #[nexosim(schedulable)]
    fn again(&mut self, attempt: Attempt, cx: &Context<Self>) {
        self.counts.2 += 1;
        if self.policy.admits(now(cx)) {
            self.send(attempt, cx);
        } else {
            self.end_of(&attempt, now(cx));
        }
    }

    /// An attempt has landed.
    pub fn lands(&mut self, attempt: Attempt, cx: &Context<Self>) {
        self.counts.2 += 1;
        let now = now(cx);
        if attempt.is_well {
            self.policy.answered();
            self.counts.1 += 1;
            return self.end_of(&attempt, now);
        }
        match self.policy.failed(now, attempt.nth, &mut self.chance) {
            Some(wait) => {
                let next = Attempt {
                    nth: attempt.nth + 1,
                    ..attempt
                };
                later(wait, |at| cx.schedule_event(at, schedulable!(Self::again), next));
            }
            None => self.end_of(&attempt, now),
        }
    }

    fn end_of(&mut self, attempt: &Attempt, now: f64) {
        self.counts.0 += 1;
        self.counts.3 += now - attempt.due;
    }

    /// Says what it counted.
    pub async fn report(&mut self) {
        self.over.send(self.counts).await;
    }
}

/// The server.
#[derive(Serialize, Deserialize)]
pub struct Server {
    working: u32,
    line: VecDeque<Attempt>,
    chance: Chance,
    arrivals: u64,
    events: u64,
    back: Vec<Output<Attempt>>,
    over: Output<(u64, u64)>,
}

#[Model]
impl Server {
    /// An attempt has come.
    pub fn take(&mut self, attempt: Attempt, cx: &Context<Self>) {
        self.arrivals += 1;
        self.events += 1;
        if self.working < WORKERS {
            self.work(attempt, cx);
        } else {
            self.line.push_back(attempt);
        }
    }

    fn work(&mut self, attempt: Attempt, cx: &Context<Self>) {
        self.working += 1;
        let service = self.chance.exponential(SERVICE_MEAN.as_secs_f64());
        later(service, |at| {
            cx.schedule_event(at, schedulable!(Self::served), attempt)
        });
    }

    #[nexosim(schedulable)]
    fn served(&mut self, attempt: Attempt, cx: &Context<Self>) {
        self.events += 1;
        self.working -= 1;
        let is_well = self.chance.unit() > FAIL;
        let done = Attempt { is_well, ..attempt };
        later(HOP.as_secs_f64(), |at| {
            cx.schedule_event(at, schedulable!(Self::answers), done)
        });
        if let Some(next) = self.line.pop_front() {
            self.work(next, cx);
        }
    }

    #[nexosim(schedulable)]
    async fn answers(&mut self, attempt: Attempt) {
        self.back[attempt.process as usize].send(attempt).await;
    }

    /// Says what it counted.
    pub async fn report(&mut self) {
        self.over.send((self.arrivals, self.events)).await;
    }
}

fn now<M: Model>(cx: &Context<M>) -> f64 {
    let since = cx.time().duration_since(MonotonicTime::EPOCH);
    since.as_secs_f64()
}

/// What is drawn to be at once is a nanosecond later: it schedules nothing for now.
fn later<E: std::fmt::Debug>(seconds: f64, schedule: impl FnOnce(Duration) -> Result<(), E>) {
    let length = Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
    schedule(length).expect("a time ahead can be scheduled");
}

/// So many seconds of it.
pub fn run(seconds: f64, seed: u64) -> Result<Counts, SimulationError> {
    let mut bench = SimInit::with_num_threads(1);
    let mut server = Server {
        working: 0,
        line: VecDeque::new(),
        chance: Chance(seed),
        arrivals: 0,
        events: 0,
        back: Vec::new(),
        over: Output::default(),
    };
    let at_server = Mailbox::new();
    let (sink, mut from_server) = event_queue(SinkState::Enabled);
    server.over.connect_sink(sink);
    let ask_server = EventSource::new()
        .connect(Server::report, &at_server)
        .register(&mut bench);
    let (sink, mut from_processes) = event_queue(SinkState::Enabled);
    let (mut start, mut ask) = (EventSource::new(), EventSource::new());
    for number in 0..PROCESSES {
        let mut process = Process {
            number,
            end: seconds,
            policy: Plain::default(),
            chance: Chance(seed ^ (u64::from(number + 1) << 32)),
            counts: (0, 0, 0, 0.0),
            to_server: Output::default(),
            over: Output::default(),
        };
        let mailbox = Mailbox::new();
        process.to_server.connect(Server::take, &at_server);
        process.over.connect_sink(sink.clone());
        let mut back = Output::default();
        back.connect(Process::lands, &mailbox);
        server.back.push(back);
        start = start.connect(Process::start, &mailbox);
        ask = ask.connect(Process::report, &mailbox);
        bench = bench.add_model(process, mailbox, &format!("process {number}"));
    }
    let (start, ask) = (start.register(&mut bench), ask.register(&mut bench));
    let mut world = bench
        .add_model(server, at_server, "server")
        .init(MonotonicTime::EPOCH)?;
    world.process_event(&start, ())?;
    world.run()?;
    world.process_event(&ask, ())?;
    world.process_event(&ask_server, ())?;
    let mut counts = Counts::default();
    if let Some((arrivals, events)) = from_server.try_read() {
        (counts.arrivals, counts.events) = (arrivals, events);
    }
    while let Some((calls, answered, events, waited)) = from_processes.try_read() {
        counts.calls += calls;
        counts.answered += answered;
        counts.events += events;
        counts.waited += waited;
    }
    Ok(counts)
}
