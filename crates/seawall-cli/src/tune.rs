//! `seawall tune`: policies that do better in the world of a file.
//!
//! What can go wrong: a search of minutes that Ctrl-C ends with nothing, or that ends with a folder that cannot be
//! written to; a table that cannot be pasted. So whoever stops it gets the best so far, what was found is printed before
//! any file is written, and it is a `[policy]` table that `seawall check` accepts.

use crate::common::Common;
use crate::count;
use crate::failure::{Failure, INTERRUPTED};
use crate::files::{self, Places};
use crate::simulate;
use crate::watch::{Ended, Watch, threads};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use seawall_core::time::Duration;
use seawall_lab::run::simulate::{RUNS_MAX, Simulation};
use seawall_lab::run::tune::{self, Asserts};
use seawall_lab::sim::report::Searched;
use seawall_lab::sim::search::{Found, Prefers, Search, policy_table};
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

const EXAMPLES: &str = "\
Examples:
  Which policy survives this stall best?
    seawall tune examples/simulations/stall.toml
  The one that answers the most calls, as a file that seawall check accepts:
    seawall tune examples/simulations/stall.toml --prefer success -o policy.toml
  The front as a picture, on a page that says all else, too:
    seawall tune examples/simulations/stall.toml --html front.html
  All of the front as one JSON document; the same seed finds the same, on any machine:
    seawall tune examples/simulations/stall.toml --budget-runs 500 --seed 7 --json

Exit codes: 0 a policy was found, 1 none meets every assert, 2 the file cannot be right, 74 the machine would not,
130 interrupted, with the best so far on stdout.";

/// The longest time of a search: as many seconds as a length of time holds in nanoseconds.
const SECONDS_MAX: u64 = u64::MAX / 1_000_000_000;

/// Which world, and how long to search.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The file of a simulation: its first policy is what the search is around, its asserts must hold.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How many runs it may take.
    #[arg(long, value_name = "N", default_value = "2000", value_parser = count::up_to::<NonZeroU64>(RUNS_MAX))]
    budget_runs: NonZeroU64,
    /// Stop after so many seconds with the best so far, which then depends on the machine.
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroU64>(SECONDS_MAX))]
    seconds: Option<NonZeroU64>,
    /// Which of the policies that nothing beats is the one: the nearest to the best of everything, or the best in this.
    #[arg(long, value_name = "FIGURE", default_value = Prefers::Knee.name(), value_parser = figures())]
    prefer: Prefers,
    /// How many seeds the best run with [default: the file's].
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroU32>(RUNS_MAX))]
    seeds: Option<NonZeroU32>,
    /// How many runs side by side [default: one for each core].
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroUsize>(RUNS_MAX))]
    threads: Option<NonZeroUsize>,
    /// Write a page with the front as a picture and all figures, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the picture as an SVG file into this folder, too.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the one as a file with a `[policy]` table, too.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn figures() -> impl TypedValueParser<Value = Prefers> {
    let named = |name: String| Prefers::all().find(|prefers| prefers.name() == name);
    PossibleValuesParser::new(Prefers::all().map(Prefers::name))
        .try_map(move |name| named(name).ok_or("this is no figure of a search"))
}

/// Searches, and prints what was found.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    // Before anybody listens to signals: a pipe may keep us waiting, and Ctrl-C must end that, too.
    let simulation = simulate::read(&args.file, args.seeds, common)?;
    may_write(args, &simulation)?;
    preferred(&simulation, args.prefer)?;
    bounded(args.budget_runs.get(), simulation.study.seeds)?;
    let search = tune::search(&simulation, args.budget_runs.get(), args.prefer);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime", &error))?;
    let search = Arc::new(Mutex::new(search));
    let ended = runtime.block_on(searched(args, common, &search))?;
    let found = search.lock().unwrap_or_else(PoisonError::into_inner).found();
    match ended {
        Ended::OfItself(()) => {}
        Ended::AfterItsTime => common
            .talk()
            .note(format_args!("the time is over: the best of {} runs", found.runs)),
        Ended::Interrupted => common
            .talk()
            .note(format_args!("interrupted: the best of {} runs", found.runs)),
    }
    if common.json {
        crate::print(&found.json())?;
    } else {
        crate::print(found.text().trim_end())?;
    }
    write(args, &found)?;
    Ok(match (ended, &found.winner) {
        (Ended::Interrupted, _) => ExitCode::from(INTERRUPTED),
        (Ended::OfItself(()) | Ended::AfterItsTime, Some(_)) => ExitCode::SUCCESS,
        (Ended::OfItself(()) | Ended::AfterItsTime, None) => ExitCode::from(1),
    })
}

/// Refuses what cannot be written, before anything is run.
fn may_write(args: &Args, simulation: &Simulation) -> Result<(), Failure> {
    let files = [("--html", &args.html), ("-o", &args.output)];
    let places = Places {
        files: files
            .into_iter()
            .filter_map(|(option, path)| Some((option, path.as_deref()?)))
            .collect(),
        pictures: args.svg.as_deref(),
    };
    let named = simulation.files.iter();
    let reads: Vec<&Path> = [&args.file]
        .into_iter()
        .chain(named)
        .map(PathBuf::as_path)
        .collect();
    places.may_be_written(&reads)
}

/// Refuses a wish for the best in a figure that no run here has: all would be alike in it.
fn preferred(simulation: &Simulation, prefers: Prefers) -> Result<(), Failure> {
    match prefers {
        Prefers::Knee => Ok(()),
        Prefers::Best(figure) => simulation
            .measures(figure)
            .map_err(|unmeasured| Failure::usage(format!("--prefer {}: {unmeasured}", figure.name()))),
    }
}

/// Refuses a search whose best could not run with all seeds.
fn bounded(runs: u64, seeds: u32) -> Result<(), Failure> {
    if u64::from(seeds) > runs {
        let message = format!(
            "no policy can run with {seeds} seeds within {runs} runs; give fewer --seeds, or more --budget-runs"
        );
        return Err(Failure::usage(message));
    }
    Ok(())
}

/// Searches until that is over, however it ends.
async fn searched(
    args: &Args,
    common: Common,
    search: &Arc<Mutex<Search<Asserts>>>,
) -> Result<Ended<()>, Failure> {
    let watch = Watch::begin(common, "runs")?;
    let threads = threads(args.threads);
    let runs = args.budget_runs;
    common
        .talk()
        .detail(format_args!("up to {runs} runs, {threads} side by side"));
    let time = args.seconds.map(|seconds| Duration::from_secs(seconds.get()));
    let search = Arc::clone(search);
    let searched = watch.over(time, move |halt, progress| {
        tune::run(&search, threads, halt, progress)
    });
    match searched.await? {
        Ended::OfItself(Err(stopped)) => Err(Failure::usage(stopped.to_string())),
        Ended::OfItself(Ok(())) => Ok(Ended::OfItself(())),
        Ended::AfterItsTime => Ok(Ended::AfterItsTime),
        Ended::Interrupted => Ok(Ended::Interrupted),
    }
}

/// Writes the files that were asked for.
fn write(args: &Args, found: &Found) -> Result<(), Failure> {
    let command = command(args, found);
    let searched = Searched {
        found,
        command: &command,
        version: concat!("seawall ", env!("CARGO_PKG_VERSION")),
    };
    if let Some(path) = &args.html {
        files::write_whole("--html", path, &searched.html())?;
    }
    if let Some(folder) = &args.svg {
        files::write_all("--svg", folder, &searched.svgs())?;
    }
    if let (Some(path), Some(winner)) = (&args.output, &found.winner) {
        let text = format!(
            "# {} of a search of {} runs in {}.\n{}",
            winner.name,
            found.runs,
            found.name,
            policy_table(&winner.policy)
        );
        files::write_whole("-o", path, &text)?;
    }
    Ok(())
}

/// What finds this again.
fn command(args: &Args, found: &Found) -> String {
    let prefer = match args.prefer {
        Prefers::Knee => String::new(),
        Prefers::Best(figure) => format!(" --prefer {}", figure.name()),
    };
    format!(
        "seawall tune {} --budget-runs {}{prefer} --seed {} --seeds {}",
        args.file.display(),
        args.budget_runs,
        found.seed,
        found.seeds
    )
}
