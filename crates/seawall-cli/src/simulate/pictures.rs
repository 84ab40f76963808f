//! The pictures of a simulation: a page, files, and a line a policy in a terminal.

use super::{Args, Wanted};
use crate::common::Common;
use crate::failure::Failure;
use crate::files::{self, Places};
use seawall_lab::sim::document::Document;
use seawall_lab::sim::report::Glyphs;
use seawall_lab::sim::tally::Tally;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// How wide a line of a terminal is taken to be.
const COLUMNS: usize = 80;
/// Parts above this have no lines in the text: a page has them.
const PARTS_LINED_MAX: usize = 4;

/// Refuses what cannot be written, before anything is run.
pub(super) fn may_draw(args: &Args, wanted: &Wanted) -> Result<(), Failure> {
    let places = Places {
        files: args.html.iter().map(|path| ("--html", path.as_path())).collect(),
        pictures: args.svg.as_deref(),
    };
    let mut reads: Vec<&Path> = args.file.iter().map(PathBuf::as_path).collect();
    if let Wanted::File(simulation) = wanted {
        reads.extend(simulation.files.iter().map(PathBuf::as_path));
    }
    places.may_be_written(&reads)
}

/// Writes what was asked for as files, and gives the lines for a terminal.
pub(super) fn draw(
    args: &Args,
    common: Common,
    wanted: &Wanted,
    document: &Document,
    tallies: &[Vec<Tally>],
) -> Result<String, Failure> {
    let command = command(args, document);
    document.pictured(wanted.studies(), tallies, &command, |report| {
        if let Some(path) = &args.html {
            files::write_whole("--html", path, &report.html())?;
        }
        if let Some(folder) = &args.svg {
            files::write_all("--svg", folder, &report.svgs())?;
        }
        if common.json || report.parts.len() > PARTS_LINED_MAX {
            return Ok(String::new());
        }
        Ok(report.sparklines(glyphs(), COLUMNS))
    })
}

/// What gives this report again.
fn command(args: &Args, document: &Document) -> String {
    let what = match (&args.file, &args.preset) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(preset)) => format!("--preset {preset}"),
        (None, None) => String::new(),
    };
    format!(
        "seawall simulate {what} --seed {} --seeds {}",
        document.seed, document.seeds
    )
}

/// What stdout can show.
pub(crate) fn glyphs() -> Glyphs {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = named
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty());
    let takes_utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    match std::io::stdout().is_terminal() && takes_utf8 {
        true => Glyphs::Blocks,
        false => Glyphs::Ascii,
    }
}
