//! The command `seawall`: arguments in, text or JSON out.
//!
//! Results go to stdout, talk to stderr. Exit codes: 0 as asked, 1 it ran and the answer is "no", 2 bad input or
//! usage, 3 money, 74 I/O, 77 credentials, 130 interrupted.

mod batch;
mod check;
mod common;
mod completions;
mod count;
mod demo;
mod explain;
mod failure;
mod files;
mod interrupts;
mod man;
mod mock;
mod named;
mod open_files;
mod schema;
mod simulate;
mod talk;
mod test;
mod tune;
mod watch;

use clap::{Parser, Subcommand};
use common::Common;
use failure::Failure;
use std::io::Write as _;
use std::process::ExitCode;

/// Keeps retry storms off upstreams and outages off users.
#[derive(Debug, Parser)]
#[command(
    name = "seawall",
    version,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What the engine would say to one outcome, and why.
    Explain(Box<explain::Args>),
    /// Answer every row of JSONL files, once each, resumable.
    Batch(Box<batch::Args>),
    /// Whether a seawall.toml is right, and what holds where it says nothing.
    Check(check::Args),
    /// A server that fails on purpose, to test clients against.
    Mock(Box<mock::Args>),
    /// Whether a client does right when a server fails: scenarios from files.
    Test(Box<test::Args>),
    /// What policies do to a server and its callers, in virtual time.
    Simulate(Box<simulate::Args>),
    /// What ways of retrying do to losses, latency and load: live, in a minute, without a network.
    Demo(demo::Args),
    /// Which policy does best there: a search.
    Tune(Box<tune::Args>),
    /// Completions for a shell.
    Completions(completions::Args),
    /// The manual pages.
    Man(man::Args),
    /// The JSON Schema of our files, for editors.
    Schema(schema::Args),
}

const EXAMPLES: &str = "\
Examples:
  Would this be retried, when, and why?
    seawall explain --path /v1/chat/completions --status 429 --header 'Retry-After: 12'
  Answer a file of prompts, whatever the provider does.
    seawall batch examples/humaneval.jsonl -o answers.jsonl --upstream mock:flaky
  Is my file right, and what holds where it says nothing?
    seawall check examples/seawall.toml --effective
  What does my client do when a server fails twice?
    seawall mock --route 'POST /v1/payments = 2x 503, 200'
  Does it do right? The same failures as files, with what must come of them:
    seawall test examples/scenarios
  What would these policies do to my server, and it to them?
    seawall simulate examples/simulations/stall.toml

Exit codes: 0 as asked, 1 the answer is \"no\", 2 bad input or usage, 3 the money is gone, 70 a bug, 74 I/O,
77 the key is refused, 130 interrupted.
`seawall COMMAND --help` has more.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match &cli.command {
        Command::Explain(args) => explain::run(args, cli.common),
        Command::Batch(args) => batch::run(args, cli.common),
        Command::Check(args) => check::run(args, cli.common),
        Command::Mock(args) => mock::run(args, cli.common),
        Command::Test(args) => test::run(args, cli.common),
        Command::Simulate(args) => simulate::run(args, cli.common),
        Command::Demo(args) => demo::run(args, cli.common),
        Command::Tune(args) => tune::run(args, cli.common),
        Command::Completions(args) => completions::run(args, cli.common),
        Command::Man(args) => man::run(args, cli.common),
        Command::Schema(args) => schema::run(args),
    };
    ended.unwrap_or_else(|failure| {
        failure.tell(cli.common.talk());
        failure.exit_code()
    })
}

/// Prints a line of the result at once, whatever stdout is. A reader that has seen enough (`| head`) is no failure.
fn print(line: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::io("stdout", &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
