//! The live loop on a cranked clock: as tasks of a small executor, and each on a thread of its own.
//!
//! In both, one runs at a time and the rest stand in line in the order in which they were woken; when nobody can
//! run, the clock is cranked to the next time that somebody waits for.

use super::script::{Happens, Ready, Script};
use seawall::clock::Clock;
use seawall::crank::CrankedClock;
use seawall::drive::drive;
use seawall::hub::{Hub, Landed, Leave};
use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// A future that ends early, by dropping what it runs, once somebody said so.
struct Leaving<F> {
    run: Option<Pin<Box<F>>>,
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

impl<F: Future<Output = ()>> Future for Leaving<F> {
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
    let send = |leave: Leave| attempt(clock.clone(), Arc::clone(&ready), Arc::clone(&lefts), leave);
    drive(&hub, |now| ready.spec(now), send, &mut |()| {}).await;
}

async fn attempt(clock: CrankedClock, ready: Arc<Ready>, lefts: Lefts, mut leave: Leave) -> Landed<()> {
    leave.leaving();
    for moment in ready.attempt(leave.attempt()) {
        clock.sleep_until(clock.now() + moment.after).await;
        match moment.what {
            Happens::Commits => leave.commit(),
            Happens::Kills(other) => lefts[other].leave(),
            Happens::Lands(report) => return leave.landed(report, ()),
        }
    }
    panic!("a scripted attempt lands in the end")
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The script's calls and leavers, in the order in which they begin to wait.
fn tasks(script: &Script, seed: u64) -> (Arc<Hub>, CrankedClock, Vec<Task>) {
    let clock = CrankedClock::new();
    let (engine, ready) = script.begin(seed);
    let hub = Hub::new(engine, Arc::new(clock.clone()));
    let mut tasks: Vec<Task> = Vec::new();
    let lefts: Lefts = Arc::new(ready.iter().map(|_| Arc::new(Left::default())).collect());
    for (number, ready) in ready.into_iter().enumerate() {
        let run = call(
            Arc::clone(&hub),
            clock.clone(),
            Arc::new(ready),
            Arc::clone(&lefts),
        );
        let (run, left) = (Some(Box::pin(run)), Arc::clone(&lefts[number]));
        tasks.push(Box::pin(Leaving { run, left }));
    }
    for (call, at) in &script.leaves {
        let (clock, at, left) = (clock.clone(), *at, Arc::clone(&lefts[*call]));
        tasks.push(Box::pin(async move {
            clock.sleep_until(at).await;
            left.leave();
        }));
    }
    (hub, clock, tasks)
}

fn lines(hub: &Hub) -> Vec<String> {
    hub.drain().iter().map(ToString::to_string).collect()
}

/// Puts its number into the line, once.
struct InLine {
    number: usize,
    line: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for InLine {
    fn wake(self: Arc<Self>) {
        let mut line = self.line.lock().unwrap();
        if !line.contains(&self.number) {
            line.push_back(self.number);
        }
    }
}

pub(super) fn run_async(script: &Script, seed: u64) -> Vec<String> {
    let (hub, clock, tasks) = tasks(script, seed);
    let mut tasks: Vec<Option<Task>> = tasks.into_iter().map(Some).collect();
    let line = Arc::new(Mutex::new((0..tasks.len()).collect::<VecDeque<_>>()));
    loop {
        let next = line.lock().unwrap().pop_front();
        let Some(number) = next else {
            if clock.step().is_none() {
                return lines(&hub);
            }
            continue;
        };
        let waker = Waker::from(Arc::new(InLine {
            number,
            line: Arc::clone(&line),
        }));
        if let Some(task) = &mut tasks[number]
            && task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            tasks[number] = None;
        }
    }
}

/// Who may run: one thread at a time.
#[derive(Default)]
struct Baton {
    holder: Mutex<Option<usize>>,
    passed: Condvar,
}

impl Baton {
    fn wait_for(&self, me: Option<usize>) {
        let mut holder = self.holder.lock().unwrap();
        while *holder != me {
            holder = self.passed.wait(holder).unwrap();
        }
    }

    fn pass(&self, to: Option<usize>) {
        *self.holder.lock().unwrap() = to;
        self.passed.notify_all();
    }
}

pub(super) fn run_blocking(script: &Script, seed: u64) -> Vec<String> {
    let (hub, clock, tasks) = tasks(script, seed);
    let line = Arc::new(Mutex::new((0..tasks.len()).collect::<VecDeque<_>>()));
    let baton = Arc::new(Baton::default());
    let threads: Vec<_> = tasks
        .into_iter()
        .enumerate()
        .map(|(number, task)| {
            let (line, baton) = (Arc::clone(&line), Arc::clone(&baton));
            std::thread::spawn(move || on_a_thread(number, task, line, &baton))
        })
        .collect();
    loop {
        let next = line.lock().unwrap().pop_front();
        match next {
            // A thread that has ended has nothing more to do with its turn.
            Some(number) if threads[number].is_finished() => {}
            Some(number) => {
                baton.pass(Some(number));
                baton.wait_for(None);
            }
            None if clock.step().is_none() => break,
            None => {}
        }
    }
    for thread in threads {
        thread.join().expect("a call's thread ends");
    }
    lines(&hub)
}

/// The same loop as a future that blocks its thread, which rests while it has not the baton.
fn on_a_thread(number: usize, task: Task, line: Arc<Mutex<VecDeque<usize>>>, baton: &Baton) {
    let waker = Waker::from(Arc::new(InLine { number, line }));
    let mut context = Context::from_waker(&waker);
    let mut task = pin!(task);
    loop {
        baton.wait_for(Some(number));
        let done = task.as_mut().poll(&mut context).is_ready();
        if done {
            // Gone before the baton is: nobody gives a turn to a thread that is about to end.
            baton.pass(None);
            return;
        }
        baton.pass(None);
    }
}
