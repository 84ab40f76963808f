//! The live loop on a cranked clock: as tasks of a small executor, and each on a thread of its own.
//!
//! In both, one runs at a time and the rest stand in line in the order in which they were woken; when nobody can
//! run, the clock is cranked to the next time that somebody waits for.
//!
//! A call is made by the loop itself, or as a closure is, where the script says nothing that a closure cannot.

use super::script::{Happens, Ready, Script};
use seawall::blocking::{Rest, block_on_resting};
use seawall::clock::Clock;
use seawall::crank::{Act, CrankedClock, Line};
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave};
use seawall::retry::Rules;
use seawall::{Attempt, Failure, retry_with};
use seawall_core::time::Instant;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};

/// A future that ends early, by dropping what it runs, once somebody said so.
struct Leaving {
    run: Option<Task>,
    left: Arc<Left>,
}

#[derive(Default)]
struct Left {
    said: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Left {
    fn leave(&self) {
        self.said.store(true, Ordering::SeqCst);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }
}

impl Future for Leaving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        *self.left.waker.lock().unwrap() = Some(context.waker().clone());
        if self.left.said.load(Ordering::SeqCst) {
            self.run = None;
        }
        match &mut self.run {
            Some(run) => run.as_mut().poll(context),
            None => Poll::Ready(()),
        }
    }
}

type Lefts = Arc<Vec<Arc<Left>>>;

async fn call(hub: Arc<Hub>, clock: CrankedClock, ready: Arc<Ready>, lefts: Lefts) {
    clock.sleep_until(ready.script.at).await;
    let send = |leave| attempt(clock.clone(), Arc::clone(&ready), Arc::clone(&lefts), leave);
    drive(&hub, |now| ready.spec(now), send, &mut |()| {}).await;
}

async fn call_closure(hub: Arc<Hub>, clock: CrankedClock, ready: Arc<Ready>, lefts: Lefts) {
    clock.sleep_until(ready.script.at).await;
    let make = |attempt: Attempt| closure(clock.clone(), Arc::clone(&ready), Arc::clone(&lefts), attempt);
    let script = &ready.script;
    let rules = Rules::shared(&hub, ready.route[0], &script.policy);
    let mut call = retry_with(make, rules).replay(script.replay);
    if let Some(length) = script.deadline {
        call = call.deadline(length);
    }
    // What it ends with is in the trace.
    let _ = call.await;
}

async fn closure(
    clock: CrankedClock,
    ready: Arc<Ready>,
    lefts: Lefts,
    attempt: Attempt,
) -> Result<(), Failure> {
    for moment in ready.attempt(attempt.number()) {
        clock.sleep_until(clock.now() + moment.after).await;
        match moment.what {
            Happens::Commits => panic!("a closure commits nothing"),
            Happens::Tells(_) => panic!("a closure hears no head"),
            Happens::Kills(other) => lefts[other].leave(),
            Happens::Lands(report) => {
                return match super::script::as_failure(&report).expect("the script was asked before") {
                    Some(failure) => Err(failure),
                    None => Ok(()),
                };
            }
        }
    }
    panic!("a scripted attempt lands in the end")
}

async fn attempt(
    clock: CrankedClock,
    ready: Arc<Ready>,
    lefts: Lefts,
    mut leave: Leave<'_>,
) -> Landed<'_, ()> {
    leave.leaving();
    for moment in ready.attempt(leave.attempt()) {
        clock.sleep_until(clock.now() + moment.after).await;
        match moment.what {
            Happens::Commits => leave.commit(),
            Happens::Tells(learned) => leave.learned(&learned),
            Happens::Kills(other) => lefts[other].leave(),
            Happens::Lands(report) => return leave.landed(report, ()),
        }
    }
    panic!("a scripted attempt lands in the end")
}

type Task = Act<'static, ()>;

/// How a call is made.
#[derive(Clone, Copy)]
enum Made {
    ByTheLoop,
    OfAClosure,
}

/// The script's calls, leavers and reloads, in the order in which they begin to wait.
fn tasks(script: &Script, seed: u64, made: Made) -> (Arc<Hub>, CrankedClock, Vec<Task>) {
    let clock = CrankedClock::new();
    let (engine, ready, reloads) = script.begin(seed);
    let hub = Hub::new(engine, Arc::new(clock.clone()));
    let mut tasks: Vec<Task> = Vec::new();
    let lefts: Lefts = Arc::new(ready.iter().map(|_| Arc::new(Left::default())).collect());
    for (number, ready) in ready.into_iter().enumerate() {
        let (hub, clock, ready) = (Arc::clone(&hub), clock.clone(), Arc::new(ready));
        let run: Task = match made {
            Made::ByTheLoop => Box::pin(call(hub, clock, ready, Arc::clone(&lefts))),
            Made::OfAClosure => Box::pin(call_closure(hub, clock, ready, Arc::clone(&lefts))),
        };
        let (run, left) = (Some(run), Arc::clone(&lefts[number]));
        tasks.push(Box::pin(Leaving { run, left }));
    }
    for (call, at) in &script.leaves {
        let (clock, at, left) = (clock.clone(), *at, Arc::clone(&lefts[*call]));
        tasks.push(Box::pin(async move {
            clock.sleep_until(at).await;
            left.leave();
        }));
    }
    for reload in reloads {
        let (clock, hub) = (clock.clone(), Arc::clone(&hub));
        tasks.push(Box::pin(async move {
            clock.sleep_until(reload.at).await;
            hub.with(|engine, now| reload.happen(engine, now));
        }));
    }
    (hub, clock, tasks)
}

fn lines(hub: &Hub) -> Vec<String> {
    hub.drain().iter().map(ToString::to_string).collect()
}

pub(super) fn run_async(script: &Script, seed: u64) -> Vec<String> {
    run_tasks(tasks(script, seed, Made::ByTheLoop))
}

/// As closures, where the script says nothing that a closure cannot.
pub(super) fn run_closures(script: &Script, seed: u64) -> Option<Vec<String>> {
    script
        .fits_closures()
        .then(|| run_tasks(tasks(script, seed, Made::OfAClosure)))
}

fn run_tasks((hub, clock, tasks): (Arc<Hub>, CrankedClock, Vec<Task>)) -> Vec<String> {
    clock.play(tasks);
    lines(&hub)
}

/// Who may run: one thread at a time.
struct Baton {
    held: Mutex<Holding>,
    passed: Condvar,
}

struct Holding {
    holder: Option<usize>,
    ended: Vec<bool>,
}

impl Baton {
    fn wait_for(&self, me: Option<usize>) {
        let mut held = self.held.lock().unwrap();
        while held.holder != me {
            held = self.passed.wait(held).unwrap();
        }
    }

    fn pass(&self, to: Option<usize>) {
        self.held.lock().unwrap().holder = to;
        self.passed.notify_all();
    }

    /// Gives the baton to `number` and waits for it to come back; nothing where that thread needs no more turns.
    fn turn_of(&self, number: usize) {
        if !self.held.lock().unwrap().ended[number] {
            self.pass(Some(number));
            self.wait_for(None);
        }
    }

    /// Says so before the baton is passed: a turn that is given to a thread which is about to end never comes back.
    fn end(&self, number: usize) {
        self.held.lock().unwrap().ended[number] = true;
        self.pass(None);
    }
}

pub(super) fn run_blocking(script: &Script, seed: u64) -> Vec<String> {
    let (hub, clock, tasks) = tasks(script, seed, Made::ByTheLoop);
    let line = Line::new(tasks.len());
    let baton = Arc::new(Baton {
        held: Mutex::new(Holding {
            holder: None,
            ended: vec![false; tasks.len()],
        }),
        passed: Condvar::new(),
    });
    let threads: Vec<_> = tasks
        .into_iter()
        .enumerate()
        .map(|(number, task)| {
            let (line, baton) = (line.clone(), Arc::clone(&baton));
            let turns = Turns { number, line, baton };
            std::thread::spawn(move || {
                turns.baton.wait_for(Some(number));
                block_on_resting(&turns, task);
                turns.baton.end(number);
            })
        })
        .collect();
    loop {
        match line.next() {
            Some(number) => baton.turn_of(number),
            None if clock.step().is_none() => break,
            None => {}
        }
    }
    for thread in threads {
        thread.join().expect("a call's thread ends");
    }
    lines(&hub)
}

/// A thread that rests while it has not the baton, and stands in line when it is woken.
struct Turns {
    number: usize,
    line: Line,
    baton: Arc<Baton>,
}

impl Rest for Turns {
    fn waker(&self) -> Waker {
        self.line.waker(self.number)
    }

    fn rest(&self, _until: Instant) {
        // The cranked clock wakes whoever waits for it; no park has a time limit here.
        self.baton.pass(None);
        self.baton.wait_for(Some(self.number));
    }
}
