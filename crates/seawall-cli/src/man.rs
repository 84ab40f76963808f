//! `seawall man [DIR]`: the manual pages, one for each command.
//!
//! Made from the same description as `--help`, so that the two never differ.

use crate::common::Common;
use crate::failure::Failure;
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  Read it:
    seawall man | man -l -
  Install every page, for `man seawall-batch`:
    seawall man ~/.local/share/man/man1";

/// Where to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A folder that is there, for the pages of all commands; left out, the first page goes to stdout.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// One manual page.
struct Page {
    file: String,
    roff: String,
}

/// Prints the first page, or writes all of them.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let mut command = crate::Cli::command();
    command.build();
    match &args.folder {
        Some(folder) => write_all(&pages(command)?, folder, common)?,
        None => show(&page(command)?, common)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(page: &Page, common: Common) -> Result<(), Failure> {
    if common.json {
        crate::print(&json!({ "file": page.file, "text": page.roff }).to_string())
    } else {
        crate::print(page.roff.trim_end())
    }
}

fn write_all(pages: &[Page], folder: &Path, common: Common) -> Result<(), Failure> {
    let mut written = Vec::with_capacity(pages.len());
    for page in pages {
        let path = folder.join(&page.file).display().to_string();
        std::fs::write(&path, &page.roff).map_err(|error| Failure::io(&path, &error))?;
        written.push(path);
    }
    if common.json {
        crate::print(&json!({ "written": written }).to_string())
    } else {
        crate::print(&written.join("\n"))
    }
}

/// The page of this command, and those of the commands below it.
fn pages(command: Command) -> Result<Vec<Page>, Failure> {
    let mut pages = Vec::new();
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages.extend(self::pages(below.clone())?);
    }
    pages.insert(0, page(command)?);
    Ok(pages)
}

fn page(command: Command) -> Result<Page, Failure> {
    let man = Man::new(command).manual("seawall");
    let mut roff = Vec::new();
    man.render(&mut roff)
        .map_err(|error| Failure::internal(format!("a manual page cannot be made: {error}")))?;
    let roff = String::from_utf8(roff)
        .map_err(|error| Failure::internal(format!("a manual page is no text: {error}")))?;
    Ok(Page {
        file: man.get_filename(),
        roff: with_examples(&roff),
    })
}

/// The page with its examples line by line: filled like prose, they would run into each other.
fn with_examples(roff: &str) -> String {
    let Some((before, extra)) = roff.split_once("\n.SH EXTRA\n") else {
        return roff.to_owned();
    };
    let end = extra.find("\n.SH ").map_or(extra.len(), |at| at + 1);
    let (lines, after) = extra.split_at(end);
    format!("{before}\n.SH EXAMPLES\n.nf\n{lines}.fi\n{after}")
}
