//! Simulations from files and by name, run on all cores.
//!
//! What can go wrong: a report depends on how many cores there were; a run that takes minutes cannot be stopped and says
//! nothing meanwhile; a file of ten lines takes all memory. So every run of a study is a job that meets nothing but its own seed, threads take jobs as they
//! come free, and tallies are handed back in the order of the jobs: the same bytes from any number of threads. A run, how
//! many there are, and what is kept of all of them have bounds, and what is beyond them is refused with its name.

mod events;
mod fit;
mod read;
mod schema;
mod trace;

pub use read::{SCENARIO_BYTES_MAX, Simulation, SimulationError, SimulationErrors, Unmeasured};
pub use schema::schema;
pub use trace::TRACE_CALLS_MAX;

use super::Halt;
use crate::sim::bounds::{HowFar, Overrun};
use crate::sim::luck::nanos;
use crate::sim::study::{Job, Study};
use crate::sim::summary::float;
use crate::sim::tally::Tally;
use seawall_core::time::{Duration, Instant};
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// All of them.
    pub of: usize,
    /// Of those under way, the one that is least far: told of runs that take a quarter of a million steps and more.
    pub behind: Option<UnderWay>,
}

/// A run that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// How far it is.
    pub far: HowFar,
    /// Its horizon.
    pub horizon: Duration,
}

impl UnderWay {
    /// How much of its time has passed, 0 to 1: all of it, too, where only calls from before the horizon go on.
    pub fn share(&self) -> f64 {
        (nanos(self.far.now.since(Instant::START)) / nanos(self.horizon)).min(1.0)
    }

    /// How many steps it takes in all if it goes on like this; `None` before any of its time has passed.
    pub fn steps_expected(&self) -> Option<f64> {
        let share = self.share();
        (share > 0.0).then(|| float(self.far.steps) / share)
    }
}

/// Where each thread's run is.
struct Abreast(Mutex<Vec<Option<UnderWay>>>);

impl Abreast {
    fn new(threads: usize) -> Self {
        Self(Mutex::new(vec![None; threads]))
    }

    /// One of them is there now; which is the least far.
    fn at(&self, thread: usize, run: Option<UnderWay>) -> Option<UnderWay> {
        // What each wrote is whole, whoever panicked.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[thread] = run;
        let under_way = all.iter().flatten();
        under_way.copied().min_by(|a, b| a.share().total_cmp(&b.share()))
    }
}

/// The most runs: a million, as many as a file may name seeds.
pub const RUNS_MAX: u64 = 1_000_000;
/// The most that is kept of all runs, until a report is made of them: 8 GiB.
const KEPT_BYTES_MAX: u64 = 8 << 30;

/// Why there are no tallies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// The cord was pulled.
    Halted,
    /// There are so many runs, which are more than there may be.
    TooManyRuns(u64),
    /// A run is larger than one may be.
    TooLarge {
        /// Of this policy.
        policy: String,
        /// With this seed.
        seed: u64,
        /// What it has too much of.
        overran: Overrun,
    },
    /// All of them together are.
    TooMuchToKeep,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Halted => f.write_str("it was stopped"),
            Self::TooManyRuns(runs) => write!(
                f,
                "{runs} runs are too many; at most {RUNS_MAX}, every policy with every seed"
            ),
            Self::TooLarge {
                policy,
                seed,
                overran,
            } => write!(
                f,
                "the run of `{}` with seed {seed} {overran}",
                policy.escape_debug()
            ),
            Self::TooMuchToKeep => write!(
                f,
                "what is kept of all runs takes more than {} GiB; fewer seeds or a shorter horizon make it less",
                KEPT_BYTES_MAX >> 30
            ),
        }
    }
}

impl std::error::Error for Stopped {}

/// Does every job of every study on so many threads, and tells `progress` after each, and now and then within a long one. The tallies of each study stand in
/// the order of its jobs. Where the machine has no more threads, those that there are do all of it.
///
/// A job that has begun is not stopped: it ends before this returns.
///
/// # Errors
/// Where `halt` was pulled; where there are too many runs, or one of them or all together are too large.
pub fn run_studies(
    studies: &[Study],
    threads: NonZeroUsize,
    halt: &Halt,
    progress: impl Fn(Progress) + Sync,
) -> Result<Vec<Vec<Tally>>, Stopped> {
    let runs = studies.iter().map(Study::runs).fold(0, u64::saturating_add);
    if runs > RUNS_MAX {
        return Err(Stopped::TooManyRuns(runs));
    }
    let jobs: Vec<(&Study, Job)> = studies
        .iter()
        .flat_map(|study| study.jobs().map(move |job| (study, job)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![None; jobs.len()]));
    let (finished, kept) = (AtomicUsize::new(0), AtomicU64::new(0));
    let is_too_much = || kept.load(Ordering::Relaxed) > KEPT_BYTES_MAX;
    let threads = threads.get().min(jobs.len()).max(1);
    let abreast = Abreast::new(threads);
    let tell = |thread: usize, run: Option<UnderWay>, done: usize| {
        progress(Progress {
            done,
            of: jobs.len(),
            behind: abreast.at(thread, run),
        });
    };
    let work = |thread: usize| {
        while !halt.is_pulled() && !is_too_much() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((study, job)) = jobs.get(place) else {
                return;
            };
            let horizon = study.model.horizon;
            let tally = study.run_watched(*job, |far| {
                let run = UnderWay { far, horizon };
                tell(thread, Some(run), finished.load(Ordering::Relaxed));
            });
            kept.fetch_add(tally.bytes(), Ordering::Relaxed);
            // A thread that panicked has told why; what the others did is right.
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done[place] = Some(tally);
            drop(done);
            tell(thread, None, finished.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let work = &work;
    thread::scope(|scope| {
        for thread in 1..threads {
            if thread::Builder::new()
                .spawn_scoped(scope, move || work(thread))
                .is_err()
            {
                break;
            }
        }
        work(0);
    });
    if is_too_much() {
        return Err(Stopped::TooMuchToKeep);
    }
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let done: Option<Vec<Tally>> = done.into_iter().collect();
    let done = done.ok_or(Stopped::Halted)?;
    // Of several, the first in order: whichever ended first.
    let mut overruns = jobs.iter().zip(&done);
    let overrun = overruns.find_map(|((study, job), tally)| {
        Some(Stopped::TooLarge {
            policy: study.contenders[job.contender].name.clone(),
            seed: job.seed,
            overran: tally.overran?,
        })
    });
    if let Some(overrun) = overrun {
        return Err(overrun);
    }
    let mut tallies = done.into_iter();
    let of_study = |study: &Study| tallies.by_ref().take(study.jobs().count()).collect();
    Ok(studies.iter().map(of_study).collect())
}

#[cfg(test)]
mod tests;
