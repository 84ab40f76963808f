//! `seawall test`: scenarios from files, side by side, told in the order of the files.
//!
//! What can go wrong: one bad file, or one that hangs, hides what the others would have shown; an interrupt leaves
//! programs under test behind; a failure by chance cannot be had again. So every file has its own entry whatever becomes
//! of the others, an interrupt ends each program with its children before we end, and a run that was given a seed tells
//! it.

mod files;
mod play;

use crate::common::Common;
use crate::count;
use crate::failure::{Failure, INTERRUPTED};
use crate::files::{Places, write_whole};
use crate::interrupts::Interrupts;
use crate::open_files::OpenFiles;
use files::Found;
use play::Played;
use seawall_lab::run::Halt;
use seawall_lab::scenario::{Came, Entry, Passed, Report};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most runs at once, of all files together: what became of each is kept until the end.
const RUNS_MAX: u64 = 100_000;

const EXAMPLES: &str = "\
Examples:
  Every scenario of a folder:
    seawall test examples/scenarios
  The same for a CI server, with its own file of results:
    seawall test examples/scenarios --junit out.xml
  Is it chance? A hundred seeds; the seed of one that fails has it again with --seed:
    seawall test examples/scenarios/pay-once.toml --repeat 100

Exit codes: 0 all passed, 1 a scenario failed, 2 a file is no scenario or cannot be run, which stands before 1,
74 the machine would not, 130 interrupted.";

/// Which scenarios, and how often.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Scenario files, or folders: a folder is every *.toml in it.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the results as JUnit XML, too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Run each so often, with one seed after the other; of those that pass only the number is told. 100 000 runs in
    /// all are the most.
    #[arg(long, value_name = "N", default_value = "1", value_parser = count::up_to::<NonZeroU32>(RUNS_MAX))]
    repeat: NonZeroU32,
    /// How many run side by side [default: one for each core].
    #[arg(long, value_name = "N", value_parser = count::up_to::<NonZeroUsize>(RUNS_MAX))]
    jobs: Option<NonZeroUsize>,
}

/// Runs them all.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    // Before anybody listens to signals: a pipe may keep us waiting, and Ctrl-C must end that, too.
    let found = files::find(&args.files);
    let runs = u64::from(args.repeat.get()).saturating_mul(found.len() as u64);
    if args.repeat.get() > 1 && runs > RUNS_MAX {
        return Err(Failure::usage(format!(
            "--repeat {}: that is {runs} runs, and {RUNS_MAX} are the most at once; ask for fewer, or name fewer files",
            args.repeat
        )));
    }
    let reads: Vec<&Path> = found.iter().map(|found| Path::new(&found.file)).collect();
    let writes = Places {
        files: args
            .junit
            .iter()
            .map(|path| ("--junit", path.as_path()))
            .collect(),
        pictures: None,
    };
    writes.are_of_nobody_else(&reads)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime", &error))?;
    let report = runtime.block_on(play_all(args, found, common))?;
    let Some(report) = report else {
        common.talk().note("interrupted; nothing is left running");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    if common.json {
        crate::print(report.json().trim_end())?;
    } else if !common.is_quiet() {
        crate::print(report.summary().trim_end())?;
    }
    if let Some(path) = &args.junit {
        write_whole("--junit", path, &report.junit())?;
    }
    Ok(ExitCode::from(exit_code(&report)))
}

/// Every entry, printed as it comes in the order of the files; nothing where it was interrupted.
async fn play_all(args: &Args, found: Vec<Found>, common: Common) -> Result<Option<Report>, Failure> {
    let mut interrupts = Interrupts::listen().map_err(|error| Failure::io("signals", &error))?;
    let halt = Halt::default();
    let jobs = play::jobs(found, args.repeat, common.seed_typed());
    let side_by_side = args.jobs.unwrap_or_else(|| {
        // A machine that does not say has one core.
        std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
    });
    let mut played = Played::start(jobs, side_by_side, OpenFiles::raised(), &halt)?;
    let voice = Voice {
        common,
        tells: match (common.is_quiet(), args.repeat.get()) {
            (false, 1) => Tells::All,
            (true, _) | (false, _) => Tells::Failures,
        },
    };
    let mut report = Report::default();
    loop {
        tokio::select! {
            entry = played.next() => match entry {
                Some(entry) => {
                    voice.tell(&entry)?;
                    report.entries.push(entry);
                }
                None => return Ok(Some(report)),
            },
            () = interrupts.next() => {
                halt.pull();
                // Each ends its program first.
                while played.next().await.is_some() {}
                return Ok(None);
            }
        }
    }
}

/// What is told of entries as they come.
#[derive(Clone, Copy)]
enum Tells {
    All,
    Failures,
}

struct Voice {
    common: Common,
    tells: Tells,
}

impl Voice {
    fn tell(&self, entry: &Entry) -> Result<(), Failure> {
        let told = match (self.tells, entry.passed()) {
            _ if self.common.json => false,
            (Tells::Failures, Passed::Yes) => false,
            (Tells::All, _) | (Tells::Failures, Passed::No) => true,
        };
        match told {
            true => crate::print(entry.text(self.common.colour()).trim_end()),
            false => Ok(()),
        }
    }
}

/// The gravest of what became of all: what was not run says more of the whole than what failed.
fn exit_code(report: &Report) -> u8 {
    let of_entry = |entry: &Entry| match &entry.came {
        Came::NotRun(_) => 74,
        Came::Unread(_) => 2,
        Came::Judged { verdict, .. } => match verdict.passed() {
            Passed::Yes => 0,
            Passed::No => 1,
        },
    };
    report.entries.iter().map(of_entry).max().unwrap_or(0)
}
