//! `seawall completions SHELL`: what a shell needs to complete our commands and flags.
//!
//! Made from the same description as `--help`, so that a flag cannot be known to one and not to the other.

use crate::common::Common;
use crate::failure::Failure;
use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  bash, for this user:
    seawall completions bash > ~/.local/share/bash-completion/completions/seawall
  zsh, in a folder of $fpath:
    seawall completions zsh > ~/.zfunc/_seawall
  fish:
    seawall completions fish > ~/.config/fish/completions/seawall.fish";

/// Whose completions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Prints them.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "seawall", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| Failure::internal(format!("completions are no text: {error}")))?;
    if common.json {
        crate::print(&json!({ "shell": args.shell.to_string(), "text": script }).to_string())?;
    } else {
        crate::print(script.trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
