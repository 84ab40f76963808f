//! Pages, pictures and lines held to what they promise, over worlds of every kind.

mod chance;
mod degenerate;
pub(super) mod golden;

use super::*;
use crate::sim::kit;
use crate::sim::luck::Length;
use crate::sim::model::{Contender, Fleet, Gaps, Load, Outage, Server, Trouble};
use crate::sim::precheck::precheck;
use seawall_core::policy::Policy;
use seawall_core::time::{Duration, Instant};

/// A study and what came of it, so that a [`Part`] can point at it.
struct Ran {
    study: Study,
    tallies: Vec<Tally>,
    summaries: Vec<Summary>,
    prechecks: Vec<Precheck>,
}

impl Ran {
    fn of(study: Study) -> Self {
        let tallies = study.jobs().map(|job| study.run(job)).collect();
        Self::with(study, tallies)
    }

    fn with(study: Study, tallies: Vec<Tally>) -> Self {
        Self {
            summaries: study.summaries(&tallies),
            prechecks: study
                .contenders
                .iter()
                .map(|contender| precheck(&study.model, contender))
                .collect(),
            study,
            tallies,
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            study: &self.study,
            tallies: &self.tallies,
            summaries: &self.summaries,
            prechecks: &self.prechecks,
        }
    }
}

fn contender(name: &str, retries: u32) -> Contender {
    let builder = Policy::builder()
        .retries(retries)
        .deadline(Duration::from_secs(5));
    let policy = kit::built(builder.budget(None));
    let call = policy.call.without_waits();
    kit::contender(name, Policy { call, ..policy }, Fleet::One)
}

/// Ten calls a second for six seconds, of which the server fails one.
fn tiny() -> Study {
    let server = Server {
        service: Length::Fixed(Duration::from_millis(50)),
        outages: vec![Outage {
            at: Instant::START.after(Duration::from_secs(2)),
            lasts: Duration::from_secs(1),
            how: Trouble::FailFast,
            share: 1.0,
        }],
        ..Server::default()
    };
    let load = Load::Open {
        clients: 3,
        per_second: 10.0,
        gaps: Gaps::Constant,
        bursts: Vec::new(),
    };
    Study {
        name: "a second of failures".to_owned(),
        model: kit::plain(load, server, Duration::from_secs(6)),
        contenders: vec![contender("no retry", 0), contender("two at once", 2)],
        seed: 1,
        seeds: 2,
    }
}
