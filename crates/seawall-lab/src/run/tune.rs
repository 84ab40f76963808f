//! A search on all cores.
//!
//! What can go wrong: a search that is stopped has nothing to show, or one that is not depends on how many cores there
//! were. So it goes by batches whose results are told in their own order, and whoever pulls the halt loses the batch that
//! was under way, and nothing before it.

use super::Halt;
use super::simulate::{Progress, Simulation, Stopped, run_studies};
use crate::sim::assert::Assert;
use crate::sim::search::{Demands, Prefers, Search, Task};
use crate::sim::summary::Summary;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

/// The asserts of a file that hold for every policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Asserts(Vec<Assert>);

impl Demands for Asserts {
    fn texts(&self) -> Vec<String> {
        self.0.iter().map(|assert| assert.text.clone()).collect()
    }

    fn holds(&self, nth: usize, summary: &Summary) -> bool {
        let judged = self.0[nth].judge(std::slice::from_ref(summary));
        judged.iter().all(|judged| judged.holds)
    }
}

/// A search in the world of a file, around its first policy, held to its asserts; those of single policies are about
/// those alone.
pub fn search(simulation: &Simulation, runs: u64, prefers: Prefers) -> Search<Asserts> {
    let asserts = simulation.asserts.iter().filter(|assert| assert.policy.is_none());
    let left_out = simulation.asserts.len() - asserts.clone().count();
    let mut notes = simulation.notes.clone();
    match left_out {
        0 => {}
        1 => notes
            .push("an assert of the file is about a single policy of it, and holds no candidate".to_owned()),
        some => notes.push(format!(
            "{some} asserts of the file are about single policies of it, and hold no candidate"
        )),
    }
    let task = Task {
        study: simulation.study.clone(),
        runs,
        prefers,
        notes,
    };
    Search::new(task, Asserts(asserts.cloned().collect()))
}

/// Searches until it is over or `halt` is pulled; `progress` is told after each run, of all that are allowed, and now and then within a long one. The lock is
/// free while anything runs, so that whoever holds the other end may look at any time.
///
/// # Errors
/// A policy whose run is too large: what was found before it stands.
pub fn run<D: Demands>(
    search: &Mutex<Search<D>>,
    threads: NonZeroUsize,
    halt: &Halt,
    progress: impl Fn(Progress) + Sync,
) -> Result<(), Stopped> {
    // A search is told a whole batch or nothing of it, whoever panicked.
    let locked = || search.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let (asked, before, of) = {
            let search = locked();
            (search.ask(), search.runs(), search.runs_max())
        };
        let Some(study) = asked else { return Ok(()) };
        let count = |runs| usize::try_from(runs).unwrap_or(usize::MAX);
        let tell = |batch: Progress| {
            progress(Progress {
                done: count(before) + batch.done,
                of: count(of),
                behind: batch.behind,
            });
        };
        let tallies = match run_studies(&[study], threads, halt, tell) {
            Ok(tallies) => tallies,
            Err(Stopped::Halted) => return Ok(()),
            Err(stopped) => return Err(stopped),
        };
        locked().tell(tallies.into_iter().flatten().collect());
    }
}

#[cfg(test)]
mod tests;
