//! Simulations from files and by name, run on all cores.
//!
//! What can go wrong: a report depends on how many cores there were; a run that takes minutes cannot be stopped and says
//! nothing meanwhile. So every run of a study is a job that meets nothing but its own seed, threads take jobs as they
//! come free, and tallies are handed back in the order of the jobs: the same bytes from any number of threads.

mod events;
mod read;
mod schema;
mod trace;

pub use read::{SCENARIO_BYTES_MAX, Simulation, SimulationError, SimulationErrors};
pub use schema::schema;
pub use trace::TRACE_CALLS_MAX;

use super::Halt;
use crate::sim::study::{Job, Study};
use crate::sim::tally::Tally;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are done.
    pub done: usize,
    /// All of them.
    pub of: usize,
}

/// Does every job of every study on so many threads, and tells `progress` after each; `None` where `halt` was pulled.
/// The tallies of each study stand in the order of its jobs.
///
/// A job that has begun is not stopped: it ends before this returns.
pub fn run_studies(
    studies: &[Study],
    threads: NonZeroUsize,
    halt: &Halt,
    progress: impl Fn(Progress) + Sync,
) -> Option<Vec<Vec<Tally>>> {
    let jobs: Vec<(&Study, Job)> = studies
        .iter()
        .flat_map(|study| study.jobs().map(move |job| (study, job)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![None; jobs.len()]));
    let finished = AtomicUsize::new(0);
    let work = || {
        while !halt.is_pulled() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((study, job)) = jobs.get(place) else {
                return;
            };
            let tally = study.run(*job);
            // A thread that panicked has told why; what the others did is right.
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done[place] = Some(tally);
            drop(done);
            progress(Progress {
                done: finished.fetch_add(1, Ordering::Relaxed) + 1,
                of: jobs.len(),
            });
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(jobs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut tallies = done.into_iter();
    studies
        .iter()
        .map(|study| tallies.by_ref().take(study.jobs().count()).collect())
        .collect()
}

#[cfg(test)]
mod tests;
