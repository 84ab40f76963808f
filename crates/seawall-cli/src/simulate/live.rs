//! The live twin of what was simulated.

use super::{Args, Screen, Wanted, threads};
use crate::common::Common;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use seawall_lab::run::Halt;
use seawall_lab::run::twin::{self, Speed, TwinError};
use seawall_lab::sim::tally::Tally;
use std::sync::Arc;
use std::thread;
use tokio::sync::{oneshot, watch};

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
    let mut interrupts = Interrupts::listen().map_err(|error| Failure::io("signals", &error))?;
    let (speed, threads) = (args.speed, threads(args.threads));
    let runs: usize = wanted.studies().iter().map(|study| study.jobs().count()).sum();
    common.talk().note(format_args!(
        "{runs} runs live, over real sockets on this machine; {}",
        passage(speed)
    ));
    let halt = Halt::default();
    let (tell, mut told) = watch::channel(None);
    let (studies, cord) = (Arc::clone(wanted), halt.clone());
    let (end, mut ended) = oneshot::channel();
    // A thread that nobody waits for: a runtime would wait for its own.
    thread::Builder::new()
        .spawn(move || {
            let lived = twin::live_studies(studies.studies(), speed, threads, &cord, |progress| {
                tell.send_replace(Some(progress));
            });
            // Nobody listens after an interrupt.
            let _ = end.send(lived);
        })
        .map_err(|error| Failure::io("a thread for the live runs", &error))?;
    let mut screen = Screen::new(common, "live runs");
    loop {
        tokio::select! {
            lived = &mut ended => {
                screen.clear();
                let lived = lived.map_err(|_dropped| Failure::internal("a live run has panicked"))?;
                return lived.map_err(|error| failure(&error));
            }
            Ok(()) = told.changed() => screen.show(*told.borrow_and_update()),
            () = interrupts.next() => {
                screen.clear();
                // Sockets are this process's own, and end with it.
                halt.pull();
                return Ok(None);
            }
        }
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
