//! The live twin of what was simulated.

use super::{Args, Wanted};
use crate::common::Common;
use crate::failure::Failure;
use crate::watch::{Ended, Watch, threads};
use seawall_lab::run::twin::{self, Speed, TwinError};
use seawall_lab::sim::tally::Tally;
use std::sync::Arc;

/// Reads how fast a twin's time is to pass.
pub(crate) fn speed(text: &str) -> Result<Speed, String> {
    text.parse().map_err(|error| format!("{error}, or `turned`"))
}

/// Why a twin did not live.
pub(crate) fn failure(error: &TwinError) -> Failure {
    match error {
        TwinError::Lacks(_) => Failure::usage(error.to_string()),
        error => Failure::machine(error.to_string()),
    }
}

/// Says no before anything runs where a twin of this cannot live.
pub(super) fn refuse(wanted: &Wanted) -> Result<(), Failure> {
    twin::refuse(wanted.studies()).map_err(|error| failure(&error))
}

/// What every run counted live; nothing where it was interrupted.
pub(super) async fn tallies(
    args: &Args,
    common: Common,
    wanted: &Arc<Wanted>,
) -> Result<Option<Vec<Vec<Tally>>>, Failure> {
    let watch = Watch::begin(common, "live runs")?;
    let (speed, threads) = (args.speed, threads(args.threads));
    let runs: usize = wanted.studies().iter().map(|study| study.jobs().count()).sum();
    common.talk().note(format_args!(
        "{runs} runs live, over real sockets on this machine; {}",
        passage(speed)
    ));
    let wanted = Arc::clone(wanted);
    let lived = watch.over(None, move |halt, progress| {
        twin::live_studies(wanted.studies(), speed, threads, halt, progress)
    });
    match lived.await? {
        Ended::OfItself(lived) => lived.map_err(|error| failure(&error)),
        // Sockets are this process's own, and end with it.
        Ended::AfterItsTime | Ended::Interrupted => Ok(None),
    }
}

fn passage(speed: Speed) -> String {
    match speed {
        Speed::Turned => {
            "time passes whenever nothing can move (--speed 10: ten times as fast as real time)".to_owned()
        }
        Speed::Times(scale) => format!("time passes {scale} times as fast as real time"),
    }
}
