//! What a call costs where threads meet: at one key, and spread over a thousand.
//!
//! Told is the wall's time per call, all threads' calls together: half of what one thread alone needs is perfect for
//! two threads on two cores, and the same is as good as taking turns. The middle of several rounds.

use crate::ours::{Live, policy};
use crate::peers::layered::{Timer, once};
use crate::peers::{answer_now, layered, ready_now, resilience};
use crate::rounds::quantile;
use failsafe::CircuitBreaker as _;
use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Calls of each thread in a round: less than a scheduler's slice, or a busy machine is what is measured.
const CALLS: u32 = 5_000;
/// For those whose lock puts threads to sleep: a call takes as long as the host needs to wake one.
const CALLS_ASLEEP: u32 = 2_000;
const ROUNDS: usize = 31;
const KEYS: usize = 1_000;
const THREADS: [usize; 3] = [1, 2, 4];

/// What a thread does: one call at the key of this number.
type Worker = Box<dyn FnMut(usize) + Send>;

/// Makes a worker for each thread, all with the same state.
type Shared = Box<dyn Fn() -> Worker>;

/// A line of the table: its name, calls a thread, and what makes its state for so many keys.
type Row = (&'static str, u32, fn(usize) -> Shared);

/// Prints the table.
pub fn print() {
    println!(
        "\n# Threads meet: ns of wall time per call, all threads' calls together; {CALLS} calls each, {ROUNDS} rounds\n\
         # (tower-resilience's breaker sleeps on a lock: {CALLS_ASLEEP} calls)"
    );
    print!("{:<46}", "contended");
    for keys in ["1 key", "1000 keys"] {
        for threads in THREADS {
            print!(" {:>14}", format!("{keys} x{threads}"));
        }
    }
    println!();
    let rows: [Row; 7] = [
        ("seawall live: an upstream a key", CALLS, upstreams),
        (
            "tower: retry + budget > concurrency > timeout",
            CALLS,
            tower_stacks,
        ),
        ("tower-resilience: the four", CALLS_ASLEEP, resilience_stacks),
        ("failsafe: default", CALLS, failsafes),
        ("recloser: default", CALLS, reclosers),
        ("governor: direct, one a key", CALLS, governors),
        ("governor: one keyed limiter", CALLS, keyed_governor),
    ];
    for (name, calls, make) in rows {
        print!("{name:<46}");
        for keys in [1, KEYS] {
            let shared = make(keys);
            for threads in THREADS {
                print!(" {:>14.1}", contended(&shared, calls, keys, threads));
            }
        }
        println!();
    }
}

fn contended(shared: &Shared, calls: u32, keys: usize, threads: usize) -> f64 {
    let runtime = tokio::runtime::Handle::current();
    let rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let barrier = Arc::new(Barrier::new(threads));
            let workers: Vec<_> = (0..threads)
                .map(|thread| {
                    let (mut work, barrier, runtime) = (shared(), Arc::clone(&barrier), runtime.clone());
                    std::thread::spawn(move || {
                        let _entered = runtime.enter();
                        // Once over all keys, so that the state of none is touched for the first time.
                        (0..keys).for_each(&mut work);
                        let mut key = thread;
                        barrier.wait();
                        let began = Instant::now();
                        for _ in 0..calls {
                            // A prime far from any power of two: every key in turn, neighbours far apart.
                            key = (key + 617) % keys;
                            work(key);
                        }
                        (began, Instant::now())
                    })
                })
                .collect();
            let spans: Vec<_> = workers
                .into_iter()
                .map(|worker| worker.join().expect("a worker does not panic"))
                .collect();
            let began = spans.iter().map(|(began, _)| *began).min();
            let ended = spans.iter().map(|(_, ended)| *ended).max();
            let took = ended
                .zip(began)
                .map_or(Duration::ZERO, |(ended, began)| ended - began);
            took.as_nanos() as f64 / f64::from(calls) / threads as f64
        })
        .collect();
    quantile(&rounds, 0.5)
}

fn upstreams(keys: usize) -> Shared {
    let lives: Arc<Vec<_>> = Arc::new((0..keys).map(|_| Live::new(policy())).collect());
    Box::new(move || {
        let lives = Arc::clone(&lives);
        Box::new(move |key| lives[key].success())
    })
}

fn tower_stacks(keys: usize) -> Shared {
    let delay = || Timer::up_to(Duration::from_secs(30));
    let services: Vec<_> = (0..keys).map(|_| layered::stack(delay(), 10)).collect();
    Box::new(move || {
        let mut services = services.clone();
        Box::new(move |key| assert!(ready_now(once(&mut services[key])).is_ok()))
    })
}

fn resilience_stacks(keys: usize) -> Shared {
    let stack = || resilience::stack(resilience::Breaker::Default, 100);
    let services: Vec<_> = (0..keys).map(|_| stack()).collect();
    Box::new(move || {
        let mut services = services.clone();
        let mut waker = None;
        Box::new(move |key| {
            // The breaker's lock is tokio's: where another has it, the call waits to be woken.
            let waker = waker.get_or_insert_with(|| Waker::from(Arc::new(Unpark(std::thread::current()))));
            assert!(parked(waker, once(&mut services[key])).is_ok());
        })
    })
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until it ends; in between the thread is parked.
fn parked<F: Future>(waker: &Waker, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn failsafes(keys: usize) -> Shared {
    let breakers: Arc<Vec<_>> = Arc::new((0..keys).map(|_| failsafe::Config::new().build()).collect());
    Box::new(move || {
        let breakers = Arc::clone(&breakers);
        Box::new(move |key| assert!(breakers[key].call(answer_now).is_ok()))
    })
}

fn reclosers(keys: usize) -> Shared {
    let breakers: Arc<Vec<_>> = Arc::new((0..keys).map(|_| recloser::Recloser::custom().build()).collect());
    Box::new(move || {
        let breakers = Arc::clone(&breakers);
        Box::new(move |key| assert!(breakers[key].call(answer_now).is_ok()))
    })
}

fn quota() -> Quota {
    Quota::per_second(NonZeroU32::MAX)
}

fn governors(keys: usize) -> Shared {
    let limiters: Arc<Vec<_>> = Arc::new((0..keys).map(|_| RateLimiter::direct(quota())).collect());
    Box::new(move || {
        let limiters = Arc::clone(&limiters);
        Box::new(move |key| assert!(limiters[key].check().is_ok()))
    })
}

fn keyed_governor(_: usize) -> Shared {
    let limiter = Arc::new(RateLimiter::keyed(quota()));
    Box::new(move || {
        let limiter = Arc::clone(&limiter);
        Box::new(move |key| assert!(limiter.check_key(&key).is_ok()))
    })
}
