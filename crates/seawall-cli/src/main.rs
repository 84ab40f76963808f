//! The command `seawall`: arguments in, text or JSON out.
//!
//! Results go to stdout, talk to stderr. Exit codes: 0 as asked, 1 it ran and the answer is "no", 2 bad input or
//! usage, 74 I/O.

mod batch;
mod explain;
mod failure;

use clap::{Parser, Subcommand};
use failure::Failure;
use std::io::Write as _;
use std::process::ExitCode;

/// Keeps retry storms off upstreams and outages off users.
#[derive(Debug, Parser)]
#[command(
    name = "seawall",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

/// Flags of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
struct Common {
    /// Print one JSON document on stdout.
    #[arg(long, global = true)]
    json: bool,
    /// Draw from this seed; the same seed prints the same.
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What the engine would say to one outcome, and why.
    Explain(Box<explain::Args>),
    /// Answer every row of JSONL files, once each, resumable.
    Batch(Box<batch::Args>),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ran = match &cli.command {
        Command::Explain(args) => explain::run(args, cli.common).map(|text| (text, ExitCode::SUCCESS)),
        Command::Batch(args) => batch::run(args, cli.common),
    };
    match ran.and_then(|(text, code)| print(text).map(|()| code)) {
        Ok(code) => code,
        Err(failure) => {
            // Nobody is left to tell where stderr is gone, too; the exit code still says it.
            let _ = writeln!(std::io::stderr().lock(), "error: {failure}");
            failure.exit_code()
        }
    }
}

/// Prints a result. A reader that has seen enough (`| head`) is no failure.
fn print(text: String) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::io("stdout", &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
