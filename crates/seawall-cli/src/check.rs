//! `seawall check`: whether a `seawall.toml` is right, what in it is worth a look, and what holds where nothing is
//! written.
//!
//! What is wrong is bad input, so it goes to stderr and the exit code is 2; what was found in a file that is right is
//! the result, and goes to stdout. With `--json` both are one document on stdout.

mod report;

use crate::Common;
use crate::failure::Failure;
use crate::files::read_config;
use report::{Finding, Report};
use seawall::config::Config;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  Is my file right?
    seawall check examples/seawall.toml
  What holds for each upstream, and where does it come from?
    seawall check examples/seawall.toml --effective

Exit codes: 0 the file is right, 2 it is not.";

/// A file, and what to tell of it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file.
    #[arg(value_name = "FILE", default_value = "seawall.toml")]
    file: PathBuf,
    /// The same, by the name that other commands call it.
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    config: Option<PathBuf>,
    /// Print every value that holds, and where it comes from.
    #[arg(long)]
    effective: bool,
}

/// Checks, and prints what was found.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let file = args.config.as_ref().unwrap_or(&args.file);
    let config = match read_config(file) {
        Ok(config) => config,
        Err(Failure::Config(errors)) if common.json => {
            crate::print(&report::wrong(&file.display().to_string(), &errors)?)?;
            return Ok(Failure::Config(errors).exit_code());
        }
        Err(failure) => return Err(failure),
    };
    let report = Report {
        config: &config,
        findings: findings(&config),
        settings: if args.effective {
            config.settings()
        } else {
            Vec::new()
        },
    };
    let text = if common.json {
        report.json()?
    } else {
        report.to_string()
    };
    crate::print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// Everything in a right file that its writer should know.
fn findings(config: &Config) -> Vec<Finding> {
    let unenforced = config.not_enforced.iter().map(Finding::not_enforced);
    let remarks = config.remarks.iter().map(Finding::remark);
    unenforced.chain(remarks).collect()
}
