//! What a command says beside its result: errors, notes and details, on stderr.

use clap::ValueEnum;
use seawall_lab::scenario::Colour;
use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};

const RED: &str = "1;31";
const CYAN: &str = "36";

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Volume {
    /// Errors.
    Quiet,
    /// And what the user may not expect.
    Notes,
    /// And what it does.
    Details,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that can, unless NO_COLOR is set.
    Auto,
    /// Into pipes, too.
    Always,
    /// Nowhere.
    Never,
}

/// A voice on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    volume: Volume,
    paint: Paint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Colored,
}

impl Talk {
    pub(crate) fn new(volume: Volume, color: Color) -> Self {
        let paint = paint(
            color,
            std::io::stderr().is_terminal(),
            std::env::var_os("NO_COLOR").as_deref(),
            std::env::var_os("TERM").as_deref(),
        );
        Self { volume, paint }
    }

    /// Why a command could not do what was asked.
    pub(crate) fn error(self, text: impl Display) {
        self.say("error:", RED, text);
    }

    /// What the user may not expect.
    pub(crate) fn note(self, text: impl Display) {
        if self.volume >= Volume::Notes {
            self.say("note:", CYAN, text);
        }
    }

    /// What it does.
    pub(crate) fn detail(self, text: impl Display) {
        if self.volume >= Volume::Details {
            self.say("detail:", CYAN, text);
        }
    }

    fn say(self, label: &str, color: &str, text: impl Display) {
        let text = harmless(&text.to_string());
        let mut stderr = std::io::stderr().lock();
        // Nobody is left to tell where stderr is gone, too; the exit code still says it.
        let _ = match self.paint {
            Paint::Plain => writeln!(stderr, "{label} {text}"),
            Paint::Colored => writeln!(stderr, "\x1b[{color}m{label}\x1b[0m {text}"),
        };
    }
}

/// Without what a terminal would obey: a path, or what somebody wrote into a file, may hold it.
fn harmless(text: &str) -> String {
    let made = text.chars().map(|sign| match sign {
        '\n' | '\t' => sign,
        sign if sign.is_control() => '\u{fffd}',
        sign => sign,
    });
    made.collect()
}

/// Whether results may have colours.
pub(crate) fn on_stdout(color: Color) -> Colour {
    let paint = paint(
        color,
        std::io::stdout().is_terminal(),
        std::env::var_os("NO_COLOR").as_deref(),
        std::env::var_os("TERM").as_deref(),
    );
    match paint {
        Paint::Plain => Colour::Plain,
        Paint::Colored => Colour::Ansi,
    }
}

/// Whether to colour. An empty NO_COLOR counts as absent (no-color.org).
fn paint(color: Color, terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Paint {
    let refused = no_color.is_some_and(|value| !value.is_empty()) || term.is_some_and(|term| term == "dumb");
    match color {
        Color::Always => Paint::Colored,
        Color::Auto if terminal && !refused => Paint::Colored,
        Color::Auto | Color::Never => Paint::Plain,
    }
}

#[cfg(test)]
mod tests;
