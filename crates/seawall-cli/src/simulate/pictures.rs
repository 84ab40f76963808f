//! What there is to look at: a page, files, and lines of a terminal.

use super::Args;
use crate::common::Common;
use crate::failure::Failure;
use seawall_lab::sim::report::{Glyphs, Report};
use std::io::IsTerminal as _;
use std::path::Path;

/// How wide the lines of a terminal are.
const COLUMNS: usize = 80;

/// Draws it where a terminal looks on, and writes what was asked for.
pub(super) fn show(args: &Args, common: Common, report: &Report<'_>) -> Result<(), Failure> {
    if !common.json && std::io::stdout().is_terminal() {
        crate::print(&format!("\n{}", report.sparklines(glyphs(), COLUMNS).trim_end()))?;
    }
    if let Some(path) = &args.html {
        write("--html", path, &report.html())?;
        common.talk().note(format_args!("the page is {}", path.display()));
    }
    if let Some(folder) = &args.svg {
        std::fs::create_dir_all(folder).map_err(|error| unwritten("--svg", folder, &error))?;
        let pictures = report.svgs();
        for (name, svg) in &pictures {
            write("--svg", &folder.join(name), svg)?;
        }
        common.talk().note(format_args!(
            "{} pictures are in {}",
            pictures.len(),
            folder.display()
        ));
    }
    Ok(())
}

fn write(option: &str, path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| unwritten(option, path, &error))
}

fn unwritten(option: &str, path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::machine(format!(
        "{option} {path}: {error}; name a place in a folder that is there and may be written to"
    ))
}

/// Blocks, where the host's words are in UTF-8.
fn glyphs() -> Glyphs {
    let is_unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|value| value.to_ascii_lowercase().replace('-', "").contains("utf8"));
    if is_unicode { Glyphs::Blocks } else { Glyphs::Ascii }
}
