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
mod compare;

pub use compare::{Agreement, Figure, Verdict, compare};

use super::Halt;
use super::stage::{Act, Stage, Stuck};
use crate::listener::HttpVersions;
use crate::net::{Counter, Mock, MockError, MockOptions};
use crate::passage::TimeScale;
use crate::plan::{Answers, Dialect, Pattern, Rule};
use crate::sim::model::{Capacity, Fleet, Load, Trouble};
use crate::sim::study::{Job, Study};
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
use std::sync::Arc;

/// How a twin's time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// So many times as fast as real time. Timers are exact to about a tenth of a millisecond of real time, which is this
    /// many times as much here.
    Times(TimeScale),
    /// On, whenever nothing can move by itself: as fast as the machine is, and the same on every machine.
    Turned,
}

/// How many runs live beside each other in real time: enough to hide their waits, too few to crowd each other out.
const BESIDE: usize = 8;
/// The most processes, each an upstream with connections of its own kind.
const PROCESSES_MAX: u32 = 1_000;

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
            server.limit.is_some(),
            "limit: the mock's own limit counts the tokens of real bodies",
        );
        lack(
            server.generation.is_some(),
            "generation: the twin's calls are no calls of a model, and its answers no streams",
        );
        let refuses = server.outages.iter().any(|outage| outage.how == Trouble::Refuse);
        lack(
            refuses,
            "outages that refuse connections: the twin keeps connections between attempts",
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
    }
    lacks.dedup();
    lacks
}

/// Lives through every run of a study, and gives the tallies in the order of its jobs; `None` where `halt` was pulled.
/// `progress` is told how many runs are over. Call it outside of any tokio runtime.
///
/// A tally counts what one of a simulation does, but for its events and for the waits among its reasons.
///
/// # Errors
/// The study has switches that a twin cannot do, or the machine does not do what it should.
pub fn live(
    study: &Study,
    speed: Speed,
    halt: &Halt,
    progress: impl Fn(usize),
) -> Result<Option<Vec<Tally>>, TwinError> {
    let lacks = lacks(study);
    if !lacks.is_empty() {
        return Err(TwinError::Lacks(lacks));
    }
    let jobs: Vec<Job> = study.jobs().collect();
    let mut tallies = Vec::with_capacity(jobs.len());
    let beside = match speed {
        Speed::Times(_) => BESIDE,
        // A clock that is turned by hand is turned for one run.
        Speed::Turned => 1,
    };
    for some in jobs.chunks(beside) {
        // A runtime of their own: a server that still works for callers who have left ends with it.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(TwinError::Machine)?;
        let ended = runtime.block_on(async {
            tokio::select! {
                ended = together(study, some, speed) => ended.map(Some),
                () = halt.pulled() => Ok(None),
            }
        })?;
        let Some(ended) = ended else {
            return Ok(None);
        };
        tallies.extend(ended);
        progress(tallies.len());
    }
    Ok(Some(tallies))
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
    let stage = Stage::new(clock, wires, mock);
    for upstream in troupe.upstreams() {
        stage.enter(upstream.clone());
    }
    let stuck = |stuck| TwinError::Stuck(stuck == Stuck::OnItsWay);
    stage.play(troupe.acts()).await.map_err(stuck)?;
    stage.play_one(booth.rested()).await.map_err(stuck)?;
    Ok(booth.add_to(troupe.into_tally()))
}

/// One run, on a clock that runs this many times as fast as real time.
async fn timed(study: &Study, job: Job, scale: TimeScale) -> Result<Tally, TwinError> {
    let clock: Arc<dyn Clock> = Arc::new(Fast::new(scale));
    let booth = Booth::new(&study.model, job.seed);
    let mock = mock(&booth).clock(Arc::clone(&clock)).start().await?;
    let troupe = Troupe::new(study, job, clock, &mock, Transport::builder())?;
    callers::all(troupe.acts()).await;
    booth.rested().await;
    let tally = booth.add_to(troupe.into_tally());
    mock.stop().await;
    Ok(tally)
}

fn mock(booth: &Arc<Booth>) -> MockOptions {
    Mock::builder()
        .rule(Rule {
            dialect: Dialect::Generic,
            ..Rule::new(Pattern::any(), Answers::Mix(booth.mix()))
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
    /// A call did not move for a minute of real time; whether it was on its way somewhere.
    Stuck(bool),
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
            Self::Stuck(true) => {
                f.write_str("something was sent to the mock and did not arrive within a minute")
            }
            Self::Stuck(false) => f.write_str("calls of the twin wait for something that never comes"),
        }
    }
}

impl std::error::Error for TwinError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Mock(error) => error.source(),
            Self::Upstream(error) => error.source(),
            Self::Machine(error) => Some(error),
            Self::Lacks(_) | Self::Stuck(_) => None,
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
