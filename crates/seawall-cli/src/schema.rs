//! `seawall schema script`: JSON Schemas, so that editors complete keys and underline mistakes.

use crate::failure::Failure;
use clap::ValueEnum;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  For an editor that reads the line `#:schema ./mock.schema.json` at the head of a file:
    seawall schema script > mock.schema.json

A schema knows names, types and words. What one key says about another only the command tells that reads the file.";

/// Whose schema.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which files.
    #[arg(value_name = "script", value_enum)]
    of: Kind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Mock files.
    Script,
}

/// Prints it.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let schema = match args.of {
        Kind::Script => seawall_lab::file::SCHEMA,
    };
    crate::print(schema.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
