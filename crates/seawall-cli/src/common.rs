use crate::talk::{self, Color, Talk, Volume};
use seawall_lab::scenario::Colour;

/// Flags of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// Print JSON on stdout.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Where chance comes from; the same seed draws the same.
    #[arg(long, global = true, value_name = "N")]
    seed: Option<u64>,
    /// Say nothing on stderr but errors.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more on stderr.
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Colour what people read; `auto` does on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "auto|always|never", value_enum, default_value_t = Color::Auto,
        hide_possible_values = true)]
    color: Color,
}

impl Common {
    /// The seed to draw from.
    pub(crate) fn seed(self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The seed that was typed; nothing where a file may still say one.
    pub(crate) fn seed_typed(self) -> Option<u64> {
        self.seed
    }

    /// Whether nothing but errors is said.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether more is wanted than is needed.
    pub(crate) fn is_verbose(self) -> bool {
        self.verbose
    }

    /// Whether results on stdout may have colours.
    pub(crate) fn colour(self) -> Colour {
        talk::on_stdout(self.color)
    }

    /// How to talk on stderr.
    pub(crate) fn talk(self) -> Talk {
        let volume = match (self.quiet, self.verbose) {
            (true, _) => Volume::Quiet,
            (false, false) => Volume::Notes,
            (false, true) => Volume::Details,
        };
        Talk::new(volume, self.color)
    }
}
