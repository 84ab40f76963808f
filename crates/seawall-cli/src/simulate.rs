//! `seawall simulate`: policies in virtual time, from a file or a published experiment.
//!
//! What can go wrong: a run of minutes that Ctrl-C does not end; a report that differs from machine to machine. So the
//! work is on threads of its own while this one listens, and what depends on the machine, how fast it went, is said on
//! stderr alone.

pub(crate) mod live;
mod pictures;
mod spent;

pub(crate) use pictures::glyphs;

use crate::common::Common;
use crate::count;
use crate::failure::{Failure, INTERRUPTED};
use crate::files;
use crate::watch::{Ended, Watch, threads};
use clap::builder::{PossibleValue, PossibleValuesParser};
use seawall_lab::run::simulate::{RUNS_MAX, SCENARIO_BYTES_MAX, Simulation, Stopped, run_studies};
use seawall_lab::run::twin::Speed;
use seawall_lab::sim::document::{Document, Lived, Wants};
use seawall_lab::sim::preset::{self, Preset, Scale};
use seawall_lab::sim::study::Study;
use seawall_lab::sim::tally::Tally;
use spent::Spent;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  Who survives a stall of five seconds, and who makes it last?
    seawall simulate examples/simulations/stall.toml
  A published experiment, with its figures beside ours:
    seawall simulate --preset google-budget
  A page with pictures, to look at or to print:
    seawall simulate examples/simulations/stall.toml --html stall.html
  The figures as one JSON document; the same seed gives the same bytes, on any machine:
    seawall simulate --preset google-budget --seed 7 --json
  The same calls a second time over real sockets, and both columns:
    seawall simulate examples/simulations/stall.toml --live

Exit codes: 0 it ran and every assert holds, live too where it lived, 1 an assert does not hold, 2 the file cannot be
right or has no live twin, 74 the machine would not, 130 interrupted.";

/// What is simulated, and how often.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file of a simulation: who calls, what the server does, and the policies.
    #[arg(
        value_name = "FILE",
        required_unless_present = "preset",
        conflicts_with = "preset"
    )]
    file: Option<PathBuf>,
    /// A published experiment in place of a file.
    #[arg(long, value_name = "NAME", value_parser = presets())]
    preset: Option<String>,
    /// Live through every run a second time, with real sockets and a mock in this process, and show both columns.
    #[arg(long)]
    live: bool,
    /// How time passes live: so many times as fast as real time, or `turned`: on whenever nothing can move, which is the
    /// same on every machine.
    #[arg(long, value_name = "N|turned", default_value = "turned", value_parser = live::speed, requires = "live")]
    speed: Speed,
    /// Write a page with all figures and pictures, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the pictures as SVG files into this folder, too.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// How many seeds each policy runs with [default: the file's, or as many as the experiment needs].
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroU32>(RUNS_MAX))]
    seeds: Option<NonZeroU32>,
    /// How many runs side by side [default: one for each core].
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroUsize>(RUNS_MAX))]
    threads: Option<NonZeroUsize>,
}

/// Every preset, with what it shows and whose it is.
fn presets() -> PossibleValuesParser {
    let all = preset::ALL.iter();
    PossibleValuesParser::new(all.map(|preset| {
        PossibleValue::new(preset.name).help(format!("{}; claims are of: {}", preset.about, preset.source))
    }))
}

/// What is to be run, and what becomes a report.
enum Wanted {
    File(Box<Simulation>),
    Preset(&'static Preset, Vec<Study>),
}

impl Wanted {
    fn of(args: &Args, common: Common) -> Result<Self, Failure> {
        if let Some(name) = &args.preset {
            let preset = preset::named(name).ok_or_else(|| {
                Failure::internal(format!("there is no preset `{name}` that the arguments let in"))
            })?;
            let scale = Scale {
                seed: common.seed(),
                seeds: args.seeds.map_or(preset.seeds, NonZeroU32::get),
            };
            return Ok(Self::Preset(preset, (preset.parts)(&scale)));
        }
        let path = args
            .file
            .as_ref()
            .ok_or_else(|| Failure::usage("neither a file nor a preset is named"))?;
        let simulation = read(path, args.seeds, common)?;
        Ok(Self::File(Box::new(simulation)))
    }

    fn studies(&self) -> &[Study] {
        match self {
            Self::File(simulation) => std::slice::from_ref(&simulation.study),
            Self::Preset(_, studies) => studies,
        }
    }

    fn document(&self, tallies: &[Vec<Tally>], lived: Option<Lived<'_>>) -> Document {
        match (self, lived) {
            (Self::File(simulation), None) => simulation.document(only(tallies)),
            (
                Self::File(simulation),
                Some(Lived {
                    tallies: lived,
                    speed,
                }),
            ) => simulation.document_with_live(only(tallies), only(lived), speed),
            (Self::Preset(preset, studies), None) => Document::of_preset(preset, studies, tallies),
            (Self::Preset(preset, studies), Some(lived)) => Document::of_preset(preset, studies, tallies)
                .with_live_preset(preset, studies, tallies, lived),
        }
    }
}

/// The simulation of a file, with the seeds that were asked for.
pub(crate) fn read(path: &Path, seeds: Option<NonZeroU32>, common: Common) -> Result<Simulation, Failure> {
    let shown = path.display().to_string();
    let bytes = files::read_at_most(path, &shown, SCENARIO_BYTES_MAX as u64)?;
    let mut simulation = Simulation::from_bytes(&shown, &bytes)?;
    let study = &mut simulation.study;
    study.seed = common.seed_typed().unwrap_or(study.seed);
    study.seeds = seeds.map_or(study.seeds, NonZeroU32::get);
    Ok(simulation)
}

/// The tallies of the one study that a file has.
fn only(tallies: &[Vec<Tally>]) -> &[Tally] {
    tallies.first().map_or(&[], Vec::as_slice)
}

/// Runs it.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    // Before anybody listens to signals: a pipe may keep us waiting, and Ctrl-C must end that, too.
    let wanted = Arc::new(Wanted::of(args, common)?);
    pictures::may_draw(args, &wanted)?;
    if args.live {
        live::refuse(&wanted)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime", &error))?;
    let began = Spent::so_far();
    let Some(tallies) = runtime.block_on(tallies(args, common, &wanted))? else {
        common.talk().note("interrupted");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let events: u64 = tallies.iter().flatten().map(|tally| tally.events).sum();
    if let Some(spent) = began.and_then(Spent::since) {
        common.talk().note(spent.speed(events));
    }
    let lived = match args.live {
        true => match runtime.block_on(live::tallies(args, common, &wanted))? {
            None => {
                common.talk().note("interrupted");
                return Ok(ExitCode::from(INTERRUPTED));
            }
            lived => lived,
        },
        false => None,
    };
    let lived = lived.as_deref().map(|tallies| Lived {
        tallies,
        speed: args.speed,
    });
    let document = wanted.document(&tallies, lived);
    let lines = pictures::draw(args, common, &wanted, &document, &tallies)?;
    if common.json {
        crate::print(&document.json())?;
    } else {
        let wants = if common.is_verbose() {
            Wants::Settings
        } else {
            Wants::Figures
        };
        let text = document.text(wants, common.colour());
        crate::print(format!("{text}\n{lines}").trim_end())?;
    }
    Ok(match document.asserts_missed() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    })
}

/// What every run counted; nothing where it was interrupted.
async fn tallies(
    args: &Args,
    common: Common,
    wanted: &Arc<Wanted>,
) -> Result<Option<Vec<Vec<Tally>>>, Failure> {
    let watch = Watch::begin(common, "runs")?;
    let threads = threads(args.threads);
    let runs: u64 = wanted.studies().iter().map(Study::runs).sum();
    common
        .talk()
        .detail(format_args!("{runs} runs, {threads} side by side"));
    let wanted = Arc::clone(wanted);
    let ran = watch.over(None, move |halt, progress| {
        run_studies(wanted.studies(), threads, halt, progress)
    });
    match ran.await? {
        Ended::OfItself(Ok(tallies)) => Ok(Some(tallies)),
        Ended::OfItself(Err(Stopped::Halted)) | Ended::AfterItsTime | Ended::Interrupted => Ok(None),
        Ended::OfItself(Err(stopped)) => Err(Failure::usage(stopped.to_string())),
    }
}
