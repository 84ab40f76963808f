//! Scenarios side by side, each on a thread of its own; their entries in order.
//!
//! What can go wrong: more side by side than there are files to open, and a client fails by our lack that did right. So
//! only so many run at once as fit, and one that does not fit by itself is told and not run.

use super::files::Found;
use crate::failure::Failure;
use crate::open_files::OpenFiles;
use seawall::clock::{Clock as _, TokioClock};
use seawall_core::time::Duration;
use seawall_lab::net::MockError;
use seawall_lab::run::{self, Halt, RunError, RunOptions};
use seawall_lab::scenario::{Came, Entry, Scenario, Sends, Work, judge};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tokio::sync::mpsc;

/// Files that a scenario has open beside the connections of its sends: its runtime, its mock, a client's outputs and
/// some connections of a client.
const FILES_EACH: u64 = 16;

/// One scenario with one seed.
pub(super) struct Job {
    file: String,
    scenario: Result<Arc<Scenario>, String>,
    /// Where one was asked for; else it is the file's own.
    seed: Option<u64>,
}

/// Every file so often, with one seed after the other from the one that was typed, else the file's own.
pub(super) fn jobs(found: Vec<Found>, repeat: NonZeroU32, typed: Option<u64>) -> Vec<Job> {
    let of_file = |Found { file, scenario }: Found| -> Vec<Job> {
        let scenario = scenario.map(Arc::new);
        let (repeat, first) = match &scenario {
            Ok(scenario) => (repeat.get(), typed.or(scenario.seed).unwrap_or(0)),
            // What is no scenario is none with the next seed, either.
            Err(_) => (1, 0),
        };
        let seeds = (0..u64::from(repeat)).map(|nth| match (repeat, typed) {
            (1, typed) => typed,
            (_, _) => Some(first.wrapping_add(nth)),
        });
        let job = |seed| Job {
            file: file.clone(),
            scenario: scenario.clone(),
            seed,
        };
        seeds.map(job).collect()
    };
    found.into_iter().flat_map(of_file).collect()
}

/// Jobs that are being played.
pub(super) struct Played {
    entries: mpsc::UnboundedReceiver<(usize, Option<Entry>)>,
    /// Those that came before their turn.
    early: BTreeMap<usize, Option<Entry>>,
    next: usize,
}

impl Played {
    /// Begins to play them, so many side by side, until `halt` is pulled.
    pub(super) fn start(
        jobs: Vec<Job>,
        side_by_side: NonZeroUsize,
        open_files: OpenFiles,
        halt: &Halt,
    ) -> Result<Self, Failure> {
        let (tell, entries) = mpsc::unbounded_channel();
        let room = open_files.room();
        let most = jobs.iter().map(Job::files).filter(|files| *files <= room).max();
        let fit = usize::try_from(room / most.unwrap_or(0).max(FILES_EACH)).unwrap_or(usize::MAX);
        let threads = side_by_side.get().min(fit.max(1)).min(jobs.len());
        let (jobs, taken) = (Arc::new(jobs), Arc::new(AtomicUsize::new(0)));
        for _ in 0..threads {
            let (jobs, taken, tell, halt) =
                (Arc::clone(&jobs), Arc::clone(&taken), tell.clone(), halt.clone());
            let work = move || {
                loop {
                    let place = taken.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place).filter(|_| !halt.is_pulled()) else {
                        return;
                    };
                    // Whoever listened is gone only where the program ends.
                    let _ = tell.send((place, job.play(room, &halt)));
                }
            };
            thread::Builder::new()
                .spawn(work)
                .map_err(|error| Failure::io("a thread for scenarios", &error))?;
        }
        Ok(Self {
            entries,
            early: BTreeMap::new(),
            next: 0,
        })
    }

    /// The next entry in order; after a halt there are none, and this ends when every job has.
    pub(super) async fn next(&mut self) -> Option<Entry> {
        loop {
            while let Some(entry) = self.early.remove(&self.next) {
                self.next += 1;
                if entry.is_some() {
                    return entry;
                }
            }
            let (place, entry) = self.entries.recv().await?;
            self.early.insert(place, entry);
        }
    }
}

impl Job {
    /// The most files that it has open at once, both ends of each connection among them.
    fn files(&self) -> u64 {
        let Ok(scenario) = &self.scenario else {
            return 0;
        };
        let together = match &scenario.work {
            Work::Steps(steps) => steps.iter().map(|step| match step.sends {
                Sends::Together(count) => u64::from(count),
                Sends::Once | Sends::InTurn(_) => 1,
            }),
            Work::Client(_) => return FILES_EACH,
        };
        FILES_EACH + 2 * together.max().unwrap_or(0)
    }

    /// What came of it; nothing where it was stopped.
    fn play(&self, room: u64, halt: &Halt) -> Option<Entry> {
        let clock = TokioClock::new();
        let began = clock.now();
        let came = match &self.scenario {
            Err(why) => Came::Unread(why.clone()),
            // The least is not asked for: it may go well with less than we think.
            Ok(_) if self.files() > room.max(FILES_EACH + 2) => Came::NotRun(format!(
                "its sends `together` take {} open files, and the system lets us open {room}; raise that (ulimit -n), or send fewer",
                self.files()
            )),
            Ok(scenario) => self.judged(scenario, halt)?,
        };
        Some(Entry {
            file: self.file.clone(),
            seed: self.seed,
            took: match &self.scenario {
                Ok(_) => clock.now().since(began),
                Err(_) => Duration::ZERO,
            },
            came,
        })
    }

    fn judged(&self, scenario: &Scenario, halt: &Halt) -> Option<Came> {
        let mut options = RunOptions::default().halt(halt);
        if let Some(seed) = self.seed {
            options = options.seed(seed);
        }
        Some(match run::run(scenario, &options) {
            Ok(evidence) => Came::Judged {
                verdict: judge(scenario, &evidence),
                scenario: Box::new(scenario.clone()),
            },
            Err(RunError::Halted) => return None,
            Err(error) => not_run(&error),
        })
    }
}

/// Whether its author or the machine must act.
fn not_run(error: &RunError) -> Came {
    match error {
        RunError::Scenario(_) | RunError::Policy(_) | RunError::Mock(MockError::Script(_)) => {
            Came::Unread(error.to_string())
        }
        _ => Came::NotRun(error.to_string()),
    }
}
