//! `seawall demo`: three strategies and seawall's default, live, in less than a minute and without a network.

use crate::common::Common;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupts::Interrupts;
use crate::simulate::{glyphs, live};
use seawall_lab::run::Halt;
use seawall_lab::run::demo::{self, Demo};
use seawall_lab::run::twin::Speed;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  What does a way of retrying do to losses, latency and load?
    seawall demo
  In real time, four times as fast: what the machine adds is in the figures, and told.
    seawall demo --speed 4

Two worlds: a server that is down for 5 s of 50, and a pool of connections that fills up. The mock, the load and the
engine run in this process. The others, and what they are compared with: seawall simulate --preset three-strategies";

/// How fast.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// So many times as fast as real time, or `turned`: on whenever nothing can move, the same on every machine.
    #[arg(long, value_name = "N|turned", default_value = "turned", value_parser = live::speed)]
    speed: Speed,
}

/// Shows it.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let Some(demo) = lived(args, common)? else {
        common.talk().note("interrupted; nothing is left running");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    if common.json {
        let text = serde_json::to_string_pretty(&demo.json()).expect("numbers, texts and lists become JSON");
        crate::print(&text)?;
    } else {
        crate::print(demo.text(glyphs()).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The demonstration, on a thread of its own; nothing where it was interrupted.
fn lived(args: &Args, common: Common) -> Result<Option<Demo>, Failure> {
    let (seed, speed) = (common.seed_typed().unwrap_or(1), args.speed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime", &error))?;
    let halt = Halt::default();
    runtime.block_on(async {
        let mut interrupts = Interrupts::listen().map_err(|error| Failure::io("signals", &error))?;
        let cord = halt.clone();
        let mut living = tokio::task::spawn_blocking(move || {
            demo::demo(seed, speed, &cord, |name| {
                common
                    .talk()
                    .note(format_args!("live, over real sockets on this machine: {name}"));
            })
        });
        let ended = tokio::select! {
            ended = &mut living => ended,
            () = interrupts.next() => {
                halt.pull();
                living.await
            }
        };
        let ended = ended.map_err(|_panicked| Failure::internal("the demonstration has panicked"))?;
        ended.map_err(|error| live::failure(&error))
    })
}
