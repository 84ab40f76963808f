//! Fifty random worlds of the live loop: callers that are dropped at any poll, attempts that panic, an operator who
//! reloads, forces and drains; on a cranked clock, and from one seed each.
//!
//! What can go wrong: a guard that gives back in every state but the one that a dropped or unwinding future happens to
//! be in. So after every single poll what the hub counts is held against what is there: attempts by the futures that
//! are alive, calls by the tasks that are. `SEAWALL_WORLD=seed` lives through that world alone.

use seawall::clock::Clock;
use seawall::crank::CrankedClock;
use seawall::drive::{Driven, Flown, drive, drive_to_content};
use seawall::hub::{Hub, Landed, Leave, Streaming};
use seawall_core::call::{Candidate, Spec};
use seawall_core::engine::Engine;
use seawall_core::facts::Replay;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::outcome::{Cause, Hint, HintSource, Outcome, Refusal, Report, Sent};
use seawall_core::policy::{Mode, OnEmpty, OnOpen, Policy, PolicyBuilder, Preset};
use seawall_core::rng::Rng;
use seawall_core::time::Duration;
use seawall_core::trace::{Event, Held, Recording, What};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Worlds of one run; with those of the core they are 200.
const WORLDS: u64 = 50;
/// Polls that no world of this size needs.
const POLLS_MAX: u32 = 1_000_000;
/// What the worlds must come to, or they prove nothing of it.
const MUST_MEET: [&str; 17] = [
    "abandoned",
    "already-streaming",
    "backing-off",
    "breaker-wait",
    "budget-wait",
    "cooling-down",
    "draining",
    "dropped",
    "fallback",
    "first",
    "hedge",
    "left",
    "panicked",
    "probe",
    "queued",
    "retry",
    "succeeded",
];

#[test]
fn no_law_breaks_in_fifty_live_worlds() {
    // Could break wherever a future can be dropped, or unwind, between what it took and what gives it back.
    let named = std::env::var("SEAWALL_WORLD").ok();
    let seeds = match &named {
        Some(seed) => vec![seed.parse().expect("SEAWALL_WORLD is a number")],
        None => (1..=WORLDS).collect(),
    };
    let mut met = BTreeSet::new();
    for seed in seeds {
        let mut world = World::new(seed);
        if let Err(law) = world.live() {
            panic!("SEAWALL_WORLD={seed}: {law}\n{}", world.story());
        }
        met.extend(world.met);
    }
    if named.is_none() {
        let missed: Vec<_> = MUST_MEET.iter().filter(|what| !met.contains(**what)).collect();
        assert!(missed.is_empty(), "no world has met {missed:?}");
    }
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

struct World {
    hub: Arc<Hub>,
    clock: CrankedClock,
    rng: Rng,
    gates: Vec<GateId>,
    tasks: Vec<Option<Guest>>,
    line: Line,
    counts: Arc<Counts>,
    /// What a repeat of each call would do, in the order in which they began.
    begun: Arc<Mutex<Vec<Replay>>>,
    /// By call: what the laws must know of it.
    calls: BTreeMap<u64, Known>,
    trace: Vec<Event>,
    met: BTreeSet<&'static str>,
}

/// A task, and after how many polls its caller loses patience.
struct Guest {
    task: Task,
    polls_left: u32,
}

/// What is alive, by those who live.
#[derive(Default)]
struct Counts {
    attempts: AtomicU64,
    calls: AtomicU64,
}

/// Counts one while it lives.
struct Alive(Arc<Counts>, fn(&Counts) -> &AtomicU64);

impl Alive {
    fn new(counts: &Arc<Counts>, which: fn(&Counts) -> &AtomicU64) -> Self {
        which(counts).fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counts), which)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        (self.1)(&self.0).fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Known {
    committed: bool,
    may_have_acted: bool,
    charges: u64,
    /// Attempts that are out.
    out: BTreeSet<u32>,
}

type Line = Arc<Mutex<VecDeque<usize>>>;

/// Puts its task into the line, once.
struct InLine {
    number: usize,
    line: Line,
}

impl Wake for InLine {
    fn wake(self: Arc<Self>) {
        let mut line = self.line.lock().unwrap();
        if !line.contains(&self.number) {
            line.push_back(self.number);
        }
    }
}

fn one<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[usize::try_from(rng.up_to(all.len() as u64 - 1)).unwrap()]
}

fn percent(rng: &mut Rng, n: u64) -> bool {
    rng.up_to(99) < n
}

fn millis(rng: &mut Rng, most: u64) -> Duration {
    Duration::from_millis(rng.up_to(most))
}

fn policy(rng: &mut Rng) -> Policy {
    let presets = [
        Preset::Default,
        Preset::Default,
        Preset::Interactive,
        Preset::Batch,
        Preset::Writes,
    ];
    let on_empty = one(rng, &[OnEmpty::Stop, OnEmpty::Wait]);
    let on_open = one(rng, &[OnOpen::Fail, OnOpen::Wait]);
    let floor = one(rng, &[100, 500, 2_000]);
    let mut builder = PolicyBuilder::from_preset(one(rng, &presets))
        .concurrency(one(rng, &[None, Some(1), Some(2), Some(5)]))
        .queue(one(rng, &[2, 1_000]))
        .patience(one(rng, &[100, 1_000].map(Duration::from_millis)))
        .backoff_base(one(rng, &[50, 500].map(Duration::from_millis)))
        .edit_budget(|budget| budget.floor_milli(floor).on_empty(on_empty))
        .edit_breaker(|breaker| breaker.consecutive(3).probes(1).on_open(on_open));
    if percent(rng, 30) {
        builder = builder.hedge_after(Duration::from_millis(100));
    }
    if percent(rng, 20) {
        builder = builder.budget(None);
    }
    if percent(rng, 20) {
        builder = builder.breaker(None);
    }
    builder.build().unwrap()
}

/// What an attempt does, step by step.
#[derive(Clone, Copy, Debug)]
struct Fate {
    before: Duration,
    commits: Option<Duration>,
    ends: Ends,
}

#[derive(Clone, Copy, Debug)]
enum Ends {
    Lands(Report),
    Panics,
    /// Until it is dropped, or its deadline ends it.
    Hangs,
}

fn fate(rng: &mut Rng, mood: u64) -> Fate {
    let hint = (mood.is_multiple_of(2)).then_some(Hint {
        wait: millis(rng, 3_000),
        cools: percent(rng, 80),
        source: HintSource::RetryAfter,
    });
    let failed = |cause, sent, hint| Outcome::Failed { cause, sent, hint };
    let outcome = match (mood, rng.up_to(9)) {
        (0..=1, 0..=7) => Outcome::Throttled { hint },
        (2..=3, 0..=7) => failed(Cause::Status, Sent::Maybe, None),
        (4, 0..=7) => failed(Cause::Connect, Sent::No, None),
        (5, 0..=5) => failed(Cause::Status, Sent::NotDone, hint),
        (_, 8) => Outcome::Refused(Refusal::Caller),
        (_, 9) => Outcome::Denied { latches: false },
        _ => Outcome::Answer,
    };
    let answers = outcome == Outcome::Answer;
    Fate {
        before: millis(rng, if mood == 6 { 5_000 } else { 200 }),
        commits: (answers && percent(rng, 40)).then(|| millis(rng, 1_000)),
        ends: match rng.up_to(99) {
            0..=3 => Ends::Panics,
            4..=7 => Ends::Hangs,
            _ => Ends::Lands(Report::of(outcome)),
        },
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        let clock = CrankedClock::new();
        let mut engine = Engine::new(rng.next_u64(), Recording::On);
        let policies: Vec<Policy> = (0..3).map(|_| policy(&mut rng)).collect();
        let mut gates: Vec<GateId> = Vec::new();
        for (number, policy) in (0_u64..).zip(&policies) {
            // The first is the parent of the second.
            let parents = if number == 1 { gates.clone() } else { Vec::new() };
            let gate = engine.configure(clock.now(), GateKey(number), &policy.gate, &parents, None);
            gates.push(gate.unwrap());
        }
        let hub = Hub::new(engine, Arc::new(clock.clone()));
        let mut world = Self {
            hub,
            clock,
            gates,
            tasks: Vec::new(),
            line: Line::default(),
            counts: Arc::default(),
            begun: Arc::default(),
            calls: BTreeMap::new(),
            trace: Vec::new(),
            met: BTreeSet::new(),
            rng,
        };
        let mut at = Duration::ZERO;
        for _ in 0..world.rng.between(60, 150) {
            let gap = one(&mut world.rng, &[0, 50, 300, 5_000]);
            at = at.plus(millis(&mut world.rng, gap));
            world.invite(at, &policies);
        }
        world.operator(at);
        world
    }

    /// A call that begins at `at`.
    fn invite(&mut self, at: Duration, policies: &[Policy]) {
        let rng = &mut self.rng;
        let first = usize::try_from(rng.up_to(2)).unwrap();
        let length = if percent(rng, 40) { 2 } else { 1 };
        let route: Vec<Candidate> = (0..length)
            .map(|n| Candidate::at(self.gates[(first + n) % 3]))
            .collect();
        let call_policy = policies[first].call;
        let replays = [Replay::Idempotent, Replay::Idempotent, Replay::Unsafe];
        let replay = one(rng, &replays);
        let deadline = percent(rng, 30).then(|| millis(rng, 20_000));
        let mood = rng.up_to(12);
        let fates: Vec<Fate> = (0..12).map(|_| fate(rng, mood)).collect();
        let (hub, clock, counts) = (
            Arc::clone(&self.hub),
            self.clock.clone(),
            Arc::clone(&self.counts),
        );
        let polls_left = if percent(rng, 25) {
            u32::try_from(rng.between(1, 12)).unwrap()
        } else {
            u32::MAX
        };
        let begun = Arc::clone(&self.begun);
        let (streams, breaks) = (percent(rng, 50), percent(rng, 30));
        let task = async move {
            clock.sleep_until(clock.now().after(at)).await;
            let alive = Alive::new(&counts, |counts| &counts.calls);
            let fate_of = |leave: &Leave<'_>| {
                let fate = fates[(leave.attempt() as usize - 1).min(fates.len() - 1)];
                (fate, Alive::new(&counts, |counts| &counts.attempts))
            };
            let told = AtomicBool::new(false);
            let spec = |now| {
                // Told again where a call without a seat takes one.
                if !told.swap(true, Ordering::Relaxed) {
                    begun.lock().unwrap().push(replay);
                }
                let mut spec = Spec::new(now, &route, &call_policy, replay);
                if let Some(deadline) = deadline {
                    spec.deadline = now.after(deadline);
                }
                spec
            };
            if streams {
                let send = |leave| {
                    let (fate, alive) = fate_of(&leave);
                    attempt_to_content(clock.clone(), alive, fate, leave)
                };
                match drive_to_content(&hub, spec, send, &mut |()| {}).await {
                    Driven::Finished(_) => {}
                    Driven::Streams(streaming, rest) => rest.read(clock.clone(), streaming, breaks).await,
                }
            } else {
                let send = |leave| {
                    let (fate, alive) = fate_of(&leave);
                    attempt(clock.clone(), alive, fate, leave)
                };
                drive(&hub, spec, send, &mut |()| {}).await;
            }
            drop(alive);
        };
        let task: Task = Box::pin(task);
        self.tasks.push(Some(Guest { task, polls_left }));
    }

    /// Reloads, forces and, in some worlds, drains.
    fn operator(&mut self, until: Duration) {
        let rng = &mut self.rng;
        let mut acts: Vec<(Duration, Act)> = (0..rng.up_to(8))
            .map(|_| (millis(rng, until.as_millis()), Act::draw(rng)))
            .collect();
        if percent(rng, 20) {
            acts.push((until.over(2), Act::Drain));
        }
        acts.sort_by_key(|(at, _)| *at);
        let (hub, clock, gates) = (Arc::clone(&self.hub), self.clock.clone(), self.gates.clone());
        let task: Task = Box::pin(async move {
            let began = clock.now();
            for (at, act) in acts {
                clock.sleep_until(began.after(at)).await;
                act.on(&hub, &gates);
            }
            // Whoever waits behind a gate that was forced open must come to an end.
            for gate in &gates {
                hub.with(|engine, now| engine.force(now, *gate, Mode::Auto));
            }
        });
        self.tasks.push(Some(Guest {
            task,
            polls_left: u32::MAX,
        }));
    }

    fn live(&mut self) -> Result<(), String> {
        *self.line.lock().unwrap() = (0..self.tasks.len()).collect();
        for _ in 0..POLLS_MAX {
            let next = self.next();
            let Some(number) = next else {
                if self.clock.step().is_none() {
                    return self.at_rest();
                }
                continue;
            };
            self.poll(number);
            self.verify()?;
        }
        Err("it never ends".to_owned())
    }

    /// Any of those who can go on: their order is the world's.
    fn next(&mut self) -> Option<usize> {
        let mut line = self.line.lock().unwrap();
        let last = (line.len() as u64).checked_sub(1)?;
        let place = usize::try_from(self.rng.up_to(last)).unwrap();
        line.remove(place)
    }

    fn poll(&mut self, number: usize) {
        let waker = Waker::from(Arc::new(InLine {
            number,
            line: Arc::clone(&self.line),
        }));
        let Some(guest) = &mut self.tasks[number] else {
            return;
        };
        let mut context = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| guest.task.as_mut().poll(&mut context)));
        guest.polls_left -= 1;
        match polled {
            Ok(Poll::Pending) if guest.polls_left > 0 => return,
            Ok(Poll::Pending) => self.met.insert("dropped"),
            Ok(Poll::Ready(())) => false,
            Err(_) => self.met.insert("panicked"),
        };
        self.tasks[number] = None;
    }

    fn verify(&mut self) -> Result<(), String> {
        let (loads, out, alive) = self.hub.with(|engine, _| {
            let loads: Vec<_> = self.gates.iter().map(|gate| engine.load(*gate)).collect();
            (loads, engine.permits_out(), engine.calls_alive() as u64)
        });
        let attempts = self.counts.attempts.load(Ordering::Relaxed);
        let calls = self.counts.calls.load(Ordering::Relaxed);
        // The second passes the first, its parent.
        let in_flight = u64::from(loads[0].in_flight) + u64::from(loads[2].in_flight);
        if (in_flight, out) != (attempts, attempts) || loads[1].in_flight > loads[0].in_flight {
            return Err(format!(
                "{attempts} attempts are alive, {out} permits are out, {in_flight} are in flight"
            ));
        }
        if alive != calls {
            return Err(format!("{calls} calls are alive, the hub counts {alive}"));
        }
        for event in self.hub.drain() {
            self.trace.push(event);
            self.hear(&event)?;
        }
        Ok(())
    }

    /// Laws 3, 5 and 6, as the events tell them.
    fn hear(&mut self, event: &Event) -> Result<(), String> {
        let known = self.calls.entry(event.call).or_default();
        if event.took.has(Held::CHARGE) {
            known.charges += 1;
        }
        if event.gave.has(Held::CHARGE) {
            known.charges = known.charges.checked_sub(1).ok_or("a charge went back twice")?;
        }
        match event.what {
            What::Sent(reason) => {
                self.met.insert(reason.code());
                if known.committed {
                    return Err("a call was sent again after its commit".to_owned());
                }
                let beside = !known.out.is_empty();
                if (known.may_have_acted || beside) && self.is_unsafe(event) {
                    return Err("a write that may have acted was sent again".to_owned());
                }
                let known = self.calls.entry(event.call).or_default();
                known.out.insert(event.attempt);
            }
            What::Waits(reason, _) | What::Finished(reason, _) => {
                self.met.insert(reason.code());
            }
            What::Committed => known.committed = true,
            What::Met(outcome) => {
                known.may_have_acted |= outcome.sent() == Sent::Maybe;
                if !known.out.remove(&event.attempt) {
                    return Err("an attempt ended twice".to_owned());
                }
            }
            What::Abandoned(sent) => {
                self.met.insert("abandoned");
                known.may_have_acted |= sent == Sent::Maybe;
                if !known.out.remove(&event.attempt) {
                    return Err("an attempt ended twice".to_owned());
                }
            }
            What::Left => {
                self.met.insert("left");
            }
            What::Lost(_) => return Err("events were lost".to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Whether the call of this event is a write without a key.
    fn is_unsafe(&self, event: &Event) -> bool {
        let place = usize::try_from(event.call).unwrap() - 1;
        self.begun.lock().unwrap()[place] == Replay::Unsafe
    }

    fn at_rest(&mut self) -> Result<(), String> {
        let asleep = self.tasks.iter().filter(|task| task.is_some()).count();
        if asleep > 0 {
            return Err(format!("{asleep} callers sleep for ever"));
        }
        let held = self.hub.with(|engine, _| {
            let loads = self.gates.iter().map(|gate| engine.load(*gate));
            let held = loads.map(|load| load.in_flight + load.promised + load.queued + load.saving);
            held.sum::<u32>()
        });
        if held > 0 {
            return Err(format!("{held} places, promises or turns are still held"));
        }
        Ok(())
    }

    fn story(&self) -> String {
        let from = self.trace.len().saturating_sub(60);
        let lines = self.trace[from..].iter().map(ToString::to_string);
        lines.map(|line| line + "\n").collect()
    }
}

async fn attempt(clock: CrankedClock, alive: Alive, fate: Fate, mut leave: Leave<'_>) -> Landed<'_, ()> {
    clock.sleep_until(clock.now().after(fate.before.over(2))).await;
    leave.leaving();
    clock.sleep_until(clock.now().after(fate.before)).await;
    if let Some(length) = fate.commits {
        leave.commit();
        clock.sleep_until(clock.now().after(length)).await;
    }
    match fate.ends {
        Ends::Lands(report) => {
            drop(alive);
            leave.landed(report, ())
        }
        // Without the panic's message, which nobody needs.
        Ends::Panics => resume_unwind(Box::new("on purpose")),
        Ends::Hangs => {
            clock.sleep_until(leave.limits().deadline).await;
            drop(alive);
            let timeout = Outcome::Failed {
                cause: Cause::Timeout,
                sent: Sent::Maybe,
                hint: None,
            };
            leave.landed(Report::of(timeout), ())
        }
    }
}

/// As [`attempt`], but what follows its first content is for the caller to read.
async fn attempt_to_content(
    clock: CrankedClock,
    alive: Alive,
    fate: Fate,
    mut leave: Leave<'_>,
) -> Flown<'_, (), Rest> {
    let Some(length) = fate.commits else {
        return Flown::Landed(attempt(clock, alive, fate, leave).await);
    };
    clock.sleep_until(clock.now().after(fate.before.over(2))).await;
    leave.leaving();
    clock.sleep_until(clock.now().after(fate.before)).await;
    Flown::Content(leave, Rest { length, fate, alive })
}

/// What is left of an attempt's answer.
struct Rest {
    length: Duration,
    fate: Fate,
    alive: Alive,
}

impl Rest {
    async fn read(self, clock: CrankedClock, streaming: Streaming, breaks: bool) {
        clock.sleep_until(clock.now().after(self.length)).await;
        let cut = Outcome::Failed {
            cause: Cause::Cut,
            sent: Sent::Maybe,
            hint: None,
        };
        let report = match self.fate.ends {
            Ends::Lands(_) if breaks => Report::of(cut),
            Ends::Lands(report) => report,
            Ends::Panics => resume_unwind(Box::new("on purpose")),
            // Dropped by its caller, in the middle.
            Ends::Hangs => return,
        };
        drop(self.alive);
        streaming.settle(report);
    }
}

/// What an operator does.
enum Act {
    Reload(u64, Box<Policy>),
    Force(usize, Mode),
    Drain,
}

impl Act {
    fn draw(rng: &mut Rng) -> Self {
        if percent(rng, 60) {
            return Self::Reload(rng.up_to(2), Box::new(policy(rng)));
        }
        let modes = [Mode::Auto, Mode::Open, Mode::Closed, Mode::Observe];
        Self::Force(usize::try_from(rng.up_to(2)).unwrap(), one(rng, &modes))
    }

    fn on(self, hub: &Hub, gates: &[GateId]) {
        hub.with(|engine, now| match self {
            Self::Reload(key, policy) => {
                let parents = if key == 1 { &gates[..1] } else { &[] };
                let gate = engine.configure(now, GateKey(key), &policy.gate, parents, None);
                assert!(gates.contains(&gate.unwrap()), "a reload keeps the gate");
            }
            Self::Force(gate, mode) => engine.force(now, gates[gate], mode),
            Self::Drain => engine.drain_calls(now),
        });
    }
}
