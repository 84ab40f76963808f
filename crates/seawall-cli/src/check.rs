//! `seawall check`: whether a `seawall.toml` is right, what in it is worth a look, and what holds where nothing is
//! written.
//!
//! What is wrong is bad input, so it goes to stderr and the exit code is 2; what was found in a file that is right is
//! the result, and goes to stdout. With `--json` both are one document on stdout.

mod keys;
mod report;
mod traffic;

use crate::Common;
use crate::failure::Failure;
use crate::files::read_config;
use report::{Finding, Report};
use seawall::advice::{self, Traffic};
use seawall::config::Config;
use seawall_core::time::Duration;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  Is my file right?
    seawall check examples/seawall.toml
  What holds for each upstream, and where does it come from?
    seawall check examples/seawall.toml --effective
  Does an upstream that takes 100 a second bear 80 calls a second from 4 processes?
    seawall check examples/seawall.toml --rate 80 --capacity 100 --processes 4

Exit codes: 0 the file is right, 2 it is not; with --keys also 77 a key is refused, 1 one could not be tried.";

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
    #[command(flatten)]
    traffic: traffic::Numbers,
    /// Try each upstream's key by one call that changes nothing.
    #[arg(long)]
    keys: bool,
    /// How long a key's call may take.
    #[arg(long, value_name = "D", default_value = "10s", requires = "keys")]
    timeout: Duration,
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
    let traffic = args.traffic.read(&config)?;
    let tried = if args.keys {
        Some(keys::try_all(&config, args.timeout)?)
    } else {
        None
    };
    let report = Report {
        config: &config,
        findings: findings(&config, &traffic)?,
        keys: tried.as_deref(),
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
    Ok(tried.map_or(ExitCode::SUCCESS, |tried| keys::exit_code(&tried)))
}

/// Everything in a right file that its writer should know.
fn findings(config: &Config, traffic: &Traffic) -> Result<Vec<Finding>, Failure> {
    let unenforced = config.not_enforced.iter().map(Finding::not_enforced);
    let remarks = config.remarks.iter().map(Finding::remark);
    let mut findings: Vec<Finding> = unenforced.chain(remarks).collect();
    for advice in advice::of(config, traffic) {
        findings.push(Finding::advice(&advice)?);
    }
    Ok(findings)
}
