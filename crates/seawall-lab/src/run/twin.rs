//! The live twin of a simulation: the same calls through the product's own `Upstream`, over real sockets, to the lab's
//! own mock.
//!
//! What can go wrong: a simulator is right about itself. So a run of a study is lived through a second time: the same
//! arrivals, the same failures, lengths and outages (chance goes by the call and the attempt, and each call tells the mock
//! its name), the same policy from the same seed, but with everything in between that a simulation leaves out: a client
//! that writes and reads HTTP, timers, connections, a server that only sees bytes.
//!
//! Time passes so many times as fast as real time ([`Speed::Times`]), and then a machine that is busy shows in the
//! figures; or it is turned on whenever nothing can move ([`Speed::Turned`]), and then the figures are those of the
//! policy alone, on any machine.
//!
//! What it does not cover is refused by name ([`lacks`]), not left out: what a twin cannot do would otherwise look like
//! a simulator that is wrong.

mod booth;
mod callers;
mod clock;

pub use crate::sim::agreement::Speed;

use super::Halt;
use super::stage::{Act, Stage, Stuck};
use crate::listener::HttpVersions;
use crate::net::{Counter, Mock, MockError, MockOptions};
use crate::passage::TimeScale;
use crate::plan::{Answers, Dialect, Pattern, Rule};
use crate::run::simulate::Progress;
use crate::sim::luck::nanos;
use crate::sim::model::{Capacity, Fleet, Load, Trouble};
use crate::sim::study::{Job, Study};
use crate::sim::summary::float;
use crate::sim::tally::Tally;
use booth::Booth;
use callers::Troupe;
use clock::Fast;
use seawall::clock::Clock;
use seawall::crank::{CrankedClock, Wires};
use seawall::http::Transport;
use seawall::upstream::UpstreamError;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most runs that live beside each other in real time: enough to hide their waits.
const BESIDE_MAX: usize = 32;
/// How many attempts a second of real time they may make together: what a thread does in a tenth of its time, so that they
/// do not wait for each other.
const ATTEMPTS_PER_SECOND_MAX: f64 = 800.0;
/// The most processes, each an upstream with connections of its own kind.
const PROCESSES_MAX: u32 = 1_000;
/// The most calls that may wait at a gate, for all of them may go in one instant.
const WAITING_MAX: u32 = 10_000;

/// Switches of a study that its twin cannot do, each by its name in [`model`](crate::sim::model) and why; none of a
/// study that it can.
pub fn lacks(study: &Study) -> Vec<String> {
    let model = &study.model;
    let mut lacks = Vec::new();
    let mut lack = |is: bool, what: &str| {
        if is {
            lacks.push(what.to_owned());
        }
    };
    lack(
        !model.layers.is_empty(),
        "layers: the twin's calls go to the server at once",
    );
    lack(model.servers.len() != 1, "servers: the twin has one");
    for server in &model.servers {
        lack(
            server.capacity == Capacity::OptimisticLock,
            "capacity = optimistic lock: the mock has no rows",
        );
        lack(
            server.generation.is_some(),
            "generation: the twin's calls are no calls of a model, and its answers no streams",
        );
        let given = server.outages.iter().map(|outage| outage.how);
        let troubles: Vec<Trouble> = given.chain(server.renewal.map(|renewal| renewal.how)).collect();
        lack(
            troubles.contains(&Trouble::Refuse),
            "outages that refuse connections: the twin keeps connections between attempts",
        );
        let is_cut = |trouble: &Trouble| match trouble {
            Trouble::Throttle {
                retry_after: Some(wait),
            } => wait.up_to_millis() != *wait,
            Trouble::FailFast
            | Trouble::Refuse
            | Trouble::Hang
            | Trouble::Slow { .. }
            | Trouble::Throttle { retry_after: None }
            | Trouble::Truncate => false,
        };
        lack(
            troubles.iter().any(is_cut),
            "retry_after that is no whole number of milliseconds: on the wire there are only whole milliseconds",
        );
    }
    let pooled = matches!(model.load, Load::Pool { .. });
    for contender in &study.contenders {
        lack(
            pooled && contender.fleet != Fleet::One,
            "a pool whose connections have gates of their own: which is free depends on the machine",
        );
        lack(
            contender.fleet.processes(model.load.clients()) > PROCESSES_MAX,
            "more than 1000 processes: each is an upstream with connections of its own",
        );
        lack(
            contender.policy.gate.limits().queue() > WAITING_MAX,
            "a gate where more than 10000 calls may wait: they may go at once, each on a connection",
        );
    }
    lacks.dedup();
    lacks
}

/// Lives through every run of a study on this thread, as [`live_studies`] does through those of several.
///
/// # Errors
/// As [`live_studies`].
pub fn live(study: &Study, speed: Speed, halt: &Halt) -> Result<Option<Vec<Tally>>, TwinError> {
    let studies = std::slice::from_ref(study);
    let lived = live_studies(studies, speed, NonZeroUsize::MIN, halt, |_| {})?;
    Ok(lived.and_then(|lived| lived.into_iter().next()))
}

/// Lives through every run of every study, and gives for each study the tallies in the order of its jobs; `None` where
/// `halt` was pulled. `progress` is told how many runs are over. Call it outside of any tokio runtime.
///
/// A tally counts what one of a simulation does, but for its events and for the waits among its reasons. Runs whose time
/// is turned are shared among so many threads; those in real time have one, and live beside each other on it.
///
/// # Errors
/// A study has switches that a twin cannot do, or the machine does not do what it should.
pub fn live_studies(
    studies: &[Study],
    speed: Speed,
    threads: NonZeroUsize,
    halt: &Halt,
    progress: impl Fn(Progress) + Sync,
) -> Result<Option<Vec<Vec<Tally>>>, TwinError> {
    refuse(studies)?;
    let mut batches: Vec<(&Study, Vec<Job>)> = Vec::new();
    for study in studies {
        let jobs: Vec<Job> = study.jobs().collect();
        let some = jobs.chunks(beside(study, speed));
        batches.extend(some.map(|some| (study, some.to_vec())));
    }
    let of = batches.iter().map(|(_, jobs)| jobs.len()).sum();
    let threads = match speed {
        Speed::Turned => threads.get().min(batches.len()),
        // Who lives in real time must not wait for a processor.
        Speed::Times(_) => 1,
    };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let ends = Mutex::new(vec![None; batches.len()]);
    // One that fails ends the others, too.
    let failed = Mutex::new(None);
    let work = || {
        while !halt.is_pulled() && lock(&failed).is_none() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((study, jobs)) = batches.get(place) else {
                return;
            };
            match batch(study, jobs, speed, halt) {
                Ok(ended) => {
                    let lived = ended.as_ref().map_or(0, Vec::len);
                    lock(&ends)[place] = ended;
                    let done = done.fetch_add(lived, Ordering::Relaxed) + lived;
                    progress(Progress {
                        done,
                        of,
                        behind: None,
                    });
                }
                Err(error) => *lock(&failed) = Some(error),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the machine has no more threads, those that there are do all of it.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    if let Some(error) = lock(&failed).take() {
        return Err(error);
    }
    let ends = std::mem::take(&mut *lock(&ends));
    let all: Option<Vec<Vec<Tally>>> = ends.into_iter().collect();
    Ok(all.map(|all| {
        let mut tallies = all.into_iter().flatten();
        let of = |study: &Study| tallies.by_ref().take(study.jobs().count()).collect();
        studies.iter().map(of).collect()
    }))
}

/// Says no where a twin of one of these studies cannot live, and why.
///
/// # Errors
/// [`TwinError::Lacks`], with what is lacking and, of several studies, which cannot.
pub fn refuse(studies: &[Study]) -> Result<(), TwinError> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for study in studies {
        for lack in lacks(study) {
            match all.iter_mut().find(|(known, _)| *known == lack) {
                Some((_, names)) => names.push(&study.name),
                None => all.push((lack, vec![&study.name])),
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    let told = all
        .into_iter()
        .map(|(lack, names)| match (studies.len(), &names[..]) {
            (1, _) => lack,
            (_, [name]) => format!("{name}: {lack}"),
            (of, names) if names.len() == of => lack,
            (of, [first, ..]) => format!("{first} and {} more of {of}: {lack}", names.len() - 1),
            (_, []) => lack,
        });
    Err(TwinError::Lacks(told.collect()))
}

/// How many runs of this study live beside each other.
fn beside(study: &Study, speed: Speed) -> usize {
    let Speed::Times(scale) = speed else {
        // A clock that is turned by hand is turned for one run.
        return 1;
    };
    let seconds = nanos(study.model.horizon) / 1e9 / (f64::from(scale.per_mille()) / 1e3);
    let busiest = (0..study.contenders.len()).map(|contender| {
        // The simulation says how many attempts to expect, and takes next to no time.
        let first = Job {
            contender,
            seed: study.seed,
        };
        study.run(first).arrivals
    });
    let per_second = float(busiest.max().unwrap_or(0)) / seconds;
    let fit = ATTEMPTS_PER_SECOND_MAX / per_second.max(1.0);
    (1..BESIDE_MAX)
        .take_while(|runs| float(*runs as u64 + 1) <= fit)
        .count()
        + 1
}

/// These runs of a study; `None` where the cord was pulled.
fn batch(study: &Study, jobs: &[Job], speed: Speed, halt: &Halt) -> Result<Option<Vec<Tally>>, TwinError> {
    // A runtime of their own: a server that still works for callers who have left ends with it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(TwinError::Machine)?;
    runtime.block_on(async {
        tokio::select! {
            ended = together(study, jobs, speed) => ended.map(Some),
            () = halt.pulled() => Ok(None),
        }
    })
}

/// These runs, side by side.
async fn together(study: &Study, jobs: &[Job], speed: Speed) -> Result<Vec<Tally>, TwinError> {
    let Speed::Times(scale) = speed else {
        let mut tallies = Vec::new();
        for job in jobs {
            tallies.push(turned(study, *job).await?);
        }
        return Ok(tallies);
    };
    let runs = jobs
        .iter()
        .map(|job| Box::pin(timed(study, *job, scale)) as Act<'_, _>);
    callers::all(runs.collect()).await.into_iter().collect()
}

/// One run, on a clock that is turned when nothing can move.
async fn turned(study: &Study, job: Job) -> Result<Tally, TwinError> {
    let (clock, wires) = (CrankedClock::new(), Wires::new());
    let booth = Booth::new(&study.model, job.seed);
    let options = mock(&booth).wires(&wires).clock(Arc::new(clock.clone()));
    let mock = options.start().await?;
    let transport = Transport::builder().wires(&wires);
    let troupe = Troupe::new(study, job, Arc::new(clock.clone()), &mock, transport)?;
    let acts = troupe.acts();
    troupe.begins();
    booth.opens(mock.clock().now);
    let stage = Stage::new(clock, wires, mock);
    for upstream in troupe.upstreams() {
        stage.enter(upstream.clone());
    }
    stage.play(acts).await?;
    stage.play_one(booth.rested()).await?;
    Ok(booth.add_to(troupe.into_tally()))
}

/// One run, on a clock that runs this many times as fast as real time.
async fn timed(study: &Study, job: Job, scale: TimeScale) -> Result<Tally, TwinError> {
    let clock: Arc<dyn Clock> = Arc::new(Fast::new(scale));
    let booth = Booth::new(&study.model, job.seed);
    let mock = mock(&booth).clock(Arc::clone(&clock)).start().await?;
    let troupe = Troupe::new(study, job, clock, &mock, Transport::builder())?;
    let acts = troupe.acts();
    // As late as can be: what it takes to set up is no part of the model's time.
    troupe.begins();
    booth.opens(mock.clock().now);
    callers::all(acts).await;
    booth.rested().await;
    let tally = booth.add_to(troupe.into_tally());
    mock.stop().await;
    Ok(tally)
}

// What it guards is whole wherever a panic may come from: from an allocation.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mock(booth: &Arc<Booth>) -> MockOptions {
    Mock::builder()
        .rule(Rule {
            dialect: Dialect::Generic,
            ..Rule::new(Pattern::any(), Answers::Plain)
        })
        .http(HttpVersions::Http1)
        .counter(Arc::clone(booth) as Arc<dyn Counter>)
}

/// Why a twin did not live.
#[derive(Debug)]
#[non_exhaustive]
pub enum TwinError {
    /// The study has switches that a twin cannot do; what they are, and why.
    Lacks(Vec<String>),
    /// The mock did not start.
    Mock(MockError),
    /// A policy that no gate can have.
    Upstream(UpstreamError),
    /// The machine gives no runtime.
    Machine(io::Error),
    /// Something was sent to the mock and did not arrive within a minute of real time.
    OnItsWay,
    /// Calls wait for something that never comes.
    Still,
}

impl fmt::Display for TwinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lacks(lacks) => write!(
                f,
                "a live twin cannot do this: {}; simulate it without --live",
                lacks.join("; ")
            ),
            Self::Mock(error) => error.fmt(f),
            Self::Upstream(error) => error.fmt(f),
            Self::Machine(error) => write!(f, "a runtime cannot be started: {error}"),
            Self::OnItsWay => f.write_str(
                "something was sent to the mock and did not arrive within a minute; a connection takes two open files, and \
                 where a process may have few of them (`ulimit -n`) that limit is to be raised",
            ),
            Self::Still => f.write_str("calls of the twin wait for something that never comes"),
        }
    }
}

impl std::error::Error for TwinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Mock(error) => error.source(),
            Self::Upstream(error) => error.source(),
            Self::Machine(error) => Some(error),
            Self::Lacks(_) | Self::OnItsWay | Self::Still => None,
        }
    }
}

impl From<Stuck> for TwinError {
    fn from(stuck: Stuck) -> Self {
        match stuck {
            Stuck::OnItsWay => Self::OnItsWay,
            Stuck::Still => Self::Still,
        }
    }
}

impl From<MockError> for TwinError {
    fn from(error: MockError) -> Self {
        Self::Mock(error)
    }
}

#[cfg(test)]
mod tests;
