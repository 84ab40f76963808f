//! `seawall schema config|script|scenario|simulation`: JSON Schemas, so that editors complete keys and underline mistakes.

use crate::failure::Failure;
use clap::ValueEnum;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  For an editor that reads the line `#:schema ./seawall.schema.json` at the head of a file:
    seawall schema config > seawall.schema.json
  For mock files:
    seawall schema script > mock.schema.json
  For scenarios:
    seawall schema scenario > scenario.schema.json
  For simulations:
    seawall schema simulation > simulation.schema.json

A schema knows names, types and words. What one key says about another only `seawall check`,
`seawall mock`, `seawall test` and `seawall simulate` tell.";

/// Whose schema.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which files.
    #[arg(value_name = "config|script|scenario|simulation", value_enum)]
    of: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// `seawall.toml`.
    Config,
    /// Mock files.
    Script,
    /// Scenario files.
    Scenario,
    /// Files of simulations.
    Simulation,
}

/// Prints it.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let schema = match args.of {
        Kind::Config => format!("{:#}", seawall::config::schema()),
        Kind::Scenario => format!("{:#}", seawall_lab::scenario::schema()),
        Kind::Simulation => format!("{:#}", seawall_lab::run::simulate::schema()),
        Kind::Script => seawall_lab::file::SCHEMA.trim_end().to_owned(),
    };
    crate::print(&schema)?;
    Ok(ExitCode::SUCCESS)
}
