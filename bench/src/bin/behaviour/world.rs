//! A server with a fault, callers who come at even times, and what was seen.

use crate::virtual_time;
use seawall_core::rng::Rng;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub const SETTINGS: &str = "90 s of 100 calls a second, one every 10 ms; an attempt takes 20 ms; the fault begins at 10 s. \
     'recovered': calls that ended well after a failed attempt. 'amplified': attempts per call from 10 s to 40 s. 'peak/s': the most attempts in one second. 'to open': from the fault's first failure to the first call that was \
     refused without an attempt. 'probes': the most attempts in flight at once from a second after that on, until 40 s. \
     'back': from the fault's end until a whole second's calls all end well; '-' is never.";

const CALLS_EVERY_MS: u64 = 10;
const TICK: Duration = Duration::from_millis(1);
const ATTEMPT_TAKES: Duration = Duration::from_millis(20);
const RUN_MS: u64 = 90_000;
const FAULT_MS: std::ops::Range<u64> = 10_000..40_000;
/// What an attempt takes while nobody answers.
const FAILURE_TAKES: Duration = Duration::from_secs(1);
/// Attempts in flight above which a server with little room to spare answers nobody; its callers have two.
const CAPACITY: u32 = 4;
/// How long such a server is gone at first.
const TRIGGER_MS: std::ops::Range<u64> = 10_000..15_000;
/// After this, what is in flight was let through by a breaker that knows of the fault.
const SETTLED_MS: u64 = 1_000;

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Every attempt fails.
    Outage,
    /// Every fourth attempt fails, by chance.
    Errors,
    /// A short outage, and then a server that fails whatever comes above its capacity: retries can keep it down.
    Overload,
}

impl Fault {
    pub const fn what(self) -> &'static str {
        match self {
            Self::Outage => "A total outage from 10 s to 40 s: every attempt fails after 1 s",
            Self::Errors => "From 10 s to 40 s a quarter of all attempts fails by chance, at once",
            Self::Overload => {
                "A server gone from 10 s to 15 s, that fails whatever comes while more than 4 attempts are in flight"
            }
        }
    }
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server failed")
    }
}

impl std::error::Error for Failed {}

/// The server, and what it saw.
#[derive(Clone)]
pub struct World {
    fault: Fault,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    now_ms: u64,
    rng: Rng,
    in_flight: u32,
    /// By call.
    attempts: Vec<u32>,
    by_second: Vec<u32>,
    in_fault: u32,
    first_failure_ms: Option<u64>,
    first_refusal_ms: Option<u64>,
    probes_most: u32,
}

impl World {
    fn new(fault: Fault) -> Self {
        let seen = Seen {
            now_ms: 0,
            rng: Rng::new(7, 1),
            in_flight: 0,
            attempts: Vec::new(),
            by_second: vec![0; (RUN_MS / 1_000) as usize + 1],
            in_fault: 0,
            first_failure_ms: None,
            first_refusal_ms: None,
            probes_most: 0,
        };
        Self {
            fault,
            seen: Arc::new(Mutex::new(seen)),
        }
    }

    /// One attempt of the call of this number.
    pub async fn attempt(self, call: usize) -> Result<u32, Failed> {
        let fails = self.seen().arrive(self.fault, call);
        let _leaves = Leaves(self.clone());
        let takes = match self.fault {
            Fault::Outage if fails => FAILURE_TAKES,
            Fault::Outage | Fault::Errors | Fault::Overload => ATTEMPT_TAKES,
        };
        tokio::time::sleep(takes).await;
        if fails {
            let mut seen = self.seen();
            seen.first_failure_ms = seen.first_failure_ms.or(Some(seen.now_ms));
            return Err(Failed);
        }
        Ok(1)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn arrive(&mut self, fault: Fault, call: usize) -> bool {
        self.attempts[call] += 1;
        self.by_second[(self.now_ms / 1_000) as usize] += 1;
        self.in_flight += 1;
        let faulty = FAULT_MS.contains(&self.now_ms);
        if faulty {
            self.in_fault += 1;
            let settled = |refused: u64| self.now_ms >= refused + SETTLED_MS;
            if self.first_refusal_ms.is_some_and(settled) {
                self.probes_most = self.probes_most.max(self.in_flight);
            }
        }
        match fault {
            Fault::Outage => faulty,
            Fault::Errors => faulty && self.rng.next_u64() < u64::MAX / 4,
            Fault::Overload => self.in_flight > CAPACITY || TRIGGER_MS.contains(&self.now_ms),
        }
    }
}

/// An attempt that is over, or was dropped.
struct Leaves(World);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.seen().in_flight -= 1;
    }
}

/// How a call of a contestant is made: of the call's number, whether it ended well.
pub type Calls = Box<dyn Fn(usize) -> Pin<Box<dyn Future<Output = bool>>>>;

/// What came of one contestant.
pub struct Row {
    calls: usize,
    ok: usize,
    recovered: usize,
    amplified: f64,
    peak: u32,
    to_open_ms: Option<u64>,
    probes: Option<u32>,
    back_ms: Option<u64>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds =
            |ms: Option<u64>| ms.map_or("-".to_owned(), |ms| format!("{:.2}s", ms as f64 / 1_000.0));
        write!(
            f,
            "{:>6} {:>6} {:>9} {:>8.2}x {:>9} {:>7} {:>8} {:>8}",
            self.calls,
            self.ok,
            self.recovered,
            self.amplified,
            self.peak,
            seconds(self.to_open_ms),
            self.probes.map_or("-".to_owned(), |probes| probes.to_string()),
            seconds(self.back_ms),
        )
    }
}

/// A call that runs.
struct Running {
    number: usize,
    future: Pin<Box<dyn Future<Output = bool>>>,
    woken: Arc<Woken>,
    waker: Waker,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs the world with the contestant that `begin` makes in it; `None` where it has no such tuning.
pub fn run(fault: Fault, begin: impl FnOnce(&World) -> Option<Calls>) -> Option<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without threads and sockets asks nothing of the host");
    runtime.block_on(async {
        let world = World::new(fault);
        let calls = begin(&world)?;
        let mut came_ms = Vec::new();
        let mut ended_well = Vec::new();
        let mut running: Vec<Running> = Vec::new();
        // Past the end nobody comes any more, and what runs may end.
        for now_ms in 0..RUN_MS + 60_000 {
            world.seen().now_ms = now_ms.min(RUN_MS);
            if now_ms < RUN_MS && now_ms % CALLS_EVERY_MS == 0 {
                let number = came_ms.len();
                came_ms.push(now_ms);
                ended_well.push(false);
                world.seen().attempts.push(0);
                let woken = Arc::new(Woken(AtomicBool::new(true)));
                let waker = Waker::from(Arc::clone(&woken));
                let future = calls(number);
                running.push(Running {
                    number,
                    future,
                    woken,
                    waker,
                });
            }
            turn(&world, &mut running, &mut ended_well).await;
            if running.is_empty() && now_ms > RUN_MS {
                break;
            }
            virtual_time::advance(TICK);
        }
        Some(row(fault, &world.seen(), &came_ms, &ended_well))
    })
}

/// Fires the timers that are due and polls whoever is woken, until nobody is.
async fn turn(world: &World, running: &mut Vec<Running>, ended_well: &mut [bool]) {
    loop {
        tokio::task::yield_now().await;
        let mut polled = false;
        running.retain_mut(|call| {
            if !call.woken.0.swap(false, Ordering::Relaxed) {
                return true;
            }
            polled = true;
            match call.future.as_mut().poll(&mut Context::from_waker(&call.waker)) {
                Poll::Pending => true,
                Poll::Ready(well) => {
                    ended_well[call.number] = well;
                    let mut seen = world.seen();
                    if !well && seen.attempts[call.number] == 0 && seen.first_failure_ms.is_some() {
                        seen.first_refusal_ms = seen.first_refusal_ms.or(Some(seen.now_ms));
                    }
                    false
                }
            }
        });
        if !polled {
            return;
        }
    }
}

fn row(fault: Fault, seen: &Seen, came_ms: &[u64], ended_well: &[bool]) -> Row {
    let in_fault = came_ms.iter().filter(|at| FAULT_MS.contains(at)).count();
    let recovered = ended_well
        .iter()
        .zip(&seen.attempts)
        .filter(|(well, attempts)| **well && **attempts > 1);
    let fault_ends = match fault {
        Fault::Outage | Fault::Errors => FAULT_MS.end,
        Fault::Overload => TRIGGER_MS.end,
    };
    // The first whole second from the fault's end on whose calls all ended well.
    let back = (fault_ends..RUN_MS - 1_000)
        .step_by(CALLS_EVERY_MS as usize)
        .find(|from| {
            let second = *from..*from + 1_000;
            came_ms
                .iter()
                .zip(ended_well)
                .all(|(at, well)| *well || !second.contains(at))
        });
    Row {
        calls: came_ms.len(),
        ok: ended_well.iter().filter(|well| **well).count(),
        recovered: recovered.count(),
        amplified: f64::from(seen.in_fault) / in_fault as f64,
        peak: seen.by_second.iter().copied().max().unwrap_or(0),
        to_open_ms: seen
            .first_refusal_ms
            .zip(seen.first_failure_ms)
            .map(|(refused, failed)| refused - failed),
        probes: seen.first_refusal_ms.map(|_| seen.probes_most),
        back_ms: back.map(|from| from - fault_ends),
    }
}
