//! `seawall mock`: a server that fails on purpose.
//!
//! What can go wrong: a test that starts the mock must learn its address, and must not learn it too early. So the
//! first line on stdout says where it listens, once it does, and is flushed into pipes, too; nothing else ever comes
//! before it. All other talk goes to stderr.

use crate::common::Common;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupts::Interrupts;
use crate::open_files::OpenFiles;
use seawall_lab::file::{FILE_BYTES_MAX, MockFile};
use seawall_lab::net::{CONNECTIONS_MAX, DEFAULT_LISTEN, Mock, MockError, MockOptions};
use seawall_lab::passage::{Passage, TimeScale};
use seawall_lab::plan::{Answers, Profile, Rule};
use seawall_lab::script::listener::ListenerScript;
use serde_json::json;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
A script is a list of steps, one for each attempt; the last one repeats:
  503   429 retry-after=5   200 delay=2s   reset   close   hang   truncate at=50%   error-in-200

Examples:
  Fail twice, then work:
    seawall mock --route 'POST /v1/payments = 2x 503, 200'
  Say when to come back, then hang up in the middle of an answer:
    seawall mock --route 'GET /v1/* = 429 retry-after=2, reset after=10, 200'
  A provider with a bad day, the same one each time:
    seawall mock --profile flaky --seed 7 --listen 127.0.0.1:9000
  A port that is closed for two seconds, then speaks TLS, HTTP/1.1 and HTTP/2:
    seawall mock --listener 'for 2s refuse, accept' --tls --ca-out ca.pem
  An hour's window in six minutes, or when the test says so:
    seawall mock --route 'GET /x = for 1h 503, 200' --time-scale 10
    seawall mock --route 'GET /x = for 1h 503, 200' --clock manual

While it runs: GET /__seawall/ lists what can be asked and told (journal, verify, routes, resources, reset, clock).
What came in, as JSON: GET /__seawall/journal. Begin every script again: POST /__seawall/reset.
Ctrl-C ends it, with exit code 130.";

/// Where the mock listens and what it answers.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A mock file (TOML) with routes; those of --route stand before it.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// What attempts at a path meet; may be repeated, the first that matches is taken.
    #[arg(long = "route", value_name = "METHOD PATH = SCRIPT")]
    routes: Vec<String>,
    #[arg(long, value_parser = profile, help = profile_help())]
    profile: Option<Profile>,
    /// Where to listen; port 0 takes a free one [default: the file's, else 127.0.0.1:0].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// How many times as fast as real time the mock's own time runs [default: the file's, else 1].
    #[arg(long, value_name = "N", conflicts_with = "clock")]
    time_scale: Option<TimeScale>,
    /// Lets the mock's time stand still until POST /__seawall/clock turns it on.
    #[arg(long, value_name = "manual", value_enum, hide_possible_values = true)]
    clock: Option<ClockKind>,
    /// What connections meet before any request, as in 'for 5s refuse, accept' [default: the file's].
    #[arg(long, value_name = "SCRIPT")]
    listener: Option<String>,
    /// Speak TLS, by an authority that is made now and thrown away at the end.
    #[arg(long)]
    tls: bool,
    /// Where to write that authority's certificate (PEM), for a client to trust; its key is written nowhere.
    #[arg(long, value_name = "FILE")]
    ca_out: Option<PathBuf>,
}

/// Whose hand turns the clock.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ClockKind {
    /// Whoever tests.
    Manual,
}

/// Serves until it is interrupted.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let told = read_all(args, common)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the mock's runtime", &error))?;
    runtime.block_on(serve(told, common))
}

async fn serve(told: Told, common: Common) -> Result<ExitCode, Failure> {
    let talk = common.talk();
    let open_files = OpenFiles::raised();
    // First of all: whoever reads the address may interrupt at once.
    let mut interrupts = Interrupts::listen().map_err(|error| Failure::io("signals", &error))?;
    let mock = told.options.start().await.map_err(cannot_start)?;
    if let Some(path) = &told.ca_out {
        write_ca(&mock, path)?;
    }
    told.notes.iter().for_each(|note| talk.note(note));
    told.details.iter().for_each(|detail| talk.detail(detail));
    crate::print(&first_line(&mock.url(), common))?;
    talk.detail(format_args!("what came in: {}/__seawall/journal", mock.url()));
    if mock.ca_pem().is_some() {
        talk.detail(format_args!(
            "the certificate to trust: {}/__seawall/ca.pem",
            mock.url()
        ));
    }
    if let Some(note) = unusual(mock.clock().passage, &mock.url()) {
        talk.note(note);
    }
    let room = open_files.connections_max(false).get();
    if usize::try_from(room).is_ok_and(|room| room < CONNECTIONS_MAX) {
        talk.detail(format_args!(
            "room for {room} connections at once: more files may not be open"
        ));
    }
    interrupts.next().await;
    talk.note(farewell(&mock));
    mock.stop().await;
    Ok(ExitCode::from(INTERRUPTED))
}

/// The line is a contract: programs wait for it.
fn first_line(url: &str, common: Common) -> String {
    if common.json {
        json!({ "listening": url }).to_string()
    } else {
        format!("mock listening on {url}")
    }
}

/// A time that passes in another way than a reader of the answers expects is told unasked.
fn unusual(passage: Passage, url: &str) -> Option<String> {
    match passage {
        Passage::Stands => Some(format!(
            "time stands still; turn it with POST {url}/__seawall/clock {{\"advance\":\"5s\"}} or {{\"step\":true}}"
        )),
        Passage::Runs(TimeScale::REAL) => None,
        Passage::Runs(scale) => Some(format!(
            "time runs {scale} times as fast; what the mock says, as in retry-after, is in its own time"
        )),
    }
}

/// Before the first line: whoever has read that may look for the file.
fn write_ca(mock: &Mock, path: &Path) -> Result<(), Failure> {
    let Some(pem) = mock.ca_pem() else {
        return Err(Failure::usage(
            "--ca-out writes what TLS needs, and this mock speaks none; add --tls",
        ));
    };
    std::fs::write(path, pem).map_err(|error| Failure::io(&path.display().to_string(), &error))
}

fn farewell(mock: &Mock) -> String {
    let journal = mock.journal();
    let attempts = journal.attempts.len() as u64 + journal.dropped;
    let faults = journal
        .attempts
        .iter()
        .filter(|attempt| attempt.fault.is_some())
        .count();
    let counted = match journal.dropped {
        0 => String::new(),
        _ => format!(" of the newest {}", journal.attempts.len()),
    };
    format!("interrupted (attempts: {attempts}, with a fault{counted}: {faults})")
}

/// What the mock was told, and what to tell the user about it once it listens.
struct Told {
    options: MockOptions,
    ca_out: Option<PathBuf>,
    notes: Vec<String>,
    details: Vec<String>,
}

fn read_all(args: &Args, common: Common) -> Result<Told, Failure> {
    let file = args.file.as_deref().map(read).transpose()?;
    // The error quotes the route, so that it need not be counted.
    let parse = |text: &String| Rule::parse(text).map_err(|error| Failure::usage(format!("--route:{error}")));
    let rules = args.routes.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let of_file = file.iter().flat_map(|file| &file.rules);
    let mut details: Vec<String> = rules.iter().chain(of_file).map(shown).collect();
    let mut notes = Vec::new();
    match args.profile {
        Some(profile) => details.push(format!("every other path is {}", profile.name())),
        None if details.is_empty() => notes.push(
            "told nothing to do: every path answers 200; try --route 'GET /x = 2x 503, 200' or --profile flaky"
                .to_owned(),
        ),
        None => {}
    }
    let mut options = rules.into_iter().fold(Mock::builder(), MockOptions::rule);
    if let Some(text) = &args.listener {
        // Read here for the error's sake: at the start it would not say which option it is about.
        ListenerScript::parse(text).map_err(|error| Failure::usage(format!("--listener:{error}")))?;
        options = options.listener(text);
    }
    if args.tls {
        options = options.tls();
    }
    if let Some(file) = file {
        options = options.file(file);
    }
    if let Some(profile) = args.profile {
        options = options.profile(profile);
    }
    if let Some(listen) = &args.listen {
        options = options.listen(listen);
    }
    if let Some(seed) = common.seed_typed() {
        options = options.seed(seed);
    }
    if let Some(scale) = args.time_scale {
        options = options.time_scale(scale);
    }
    match args.clock {
        Some(ClockKind::Manual) => options = options.manual_clock(),
        None => {}
    }
    Ok(Told {
        options,
        ca_out: args.ca_out.clone(),
        notes,
        details,
    })
}

fn shown(rule: &Rule) -> String {
    let answers = match &rule.answers {
        Answers::Plain => "200".to_owned(),
        Answers::Outage => "an outage".to_owned(),
        Answers::Storm => "a storm".to_owned(),
        Answers::Script(script) => script.to_string(),
        Answers::Mixes { whole, stream } => format!(
            "a mix of {} actions, for streams of {}",
            whole.parts().len(),
            stream.parts().len()
        ),
        Answers::Mix(mix) => format!("a mix of {} actions", mix.parts().len()),
    };
    format!("{} = {answers}", rule.pattern)
}

fn read(path: &Path) -> Result<MockFile, Failure> {
    let name = path.display().to_string();
    let fail = |error: &std::io::Error| match (error.kind(), name.parse::<Profile>()) {
        (ErrorKind::NotFound, Ok(profile)) => Failure::usage(format!(
            "{name}: no such file; the profile of that name is --profile {}",
            profile.name()
        )),
        (ErrorKind::NotFound, Err(_)) => Failure::usage(format!(
            "{name}: no such file; give a mock file, or say what to answer with --route or --profile"
        )),
        (_, _) => Failure::io(&name, error),
    };
    let mut bytes = Vec::new();
    // One byte more than a file may have, so that the reader of the file says that it is too long.
    let most = FILE_BYTES_MAX as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| fail(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::usage(format!("{name}: byte {place} is no UTF-8; a mock file is text"))
    })?;
    MockFile::parse(&name, &text).map_err(|error| Failure::usage(error.to_string()))
}

fn cannot_start(error: MockError) -> Failure {
    match error {
        MockError::Listen { address, source } => cannot_listen(&address, &source),
        other => Failure::usage(other.to_string()),
    }
}

/// What the system refused, and what to do about it.
fn cannot_listen(address: &str, source: &std::io::Error) -> Failure {
    let what = format!("cannot listen on {address}: {source}");
    match source.kind() {
        ErrorKind::InvalidInput => Failure::usage(format!(
            "{what}; write ADDRESS:PORT, as in --listen 127.0.0.1:9000"
        )),
        ErrorKind::AddrInUse => Failure::machine(format!(
            "{what}; stop what listens there, or take a free port with --listen {DEFAULT_LISTEN}"
        )),
        ErrorKind::PermissionDenied => Failure::machine(format!(
            "{what}; take a port above 1023, or --listen {DEFAULT_LISTEN}"
        )),
        _ => Failure::machine(format!(
            "{what}; take an address of this machine, as in --listen {DEFAULT_LISTEN}"
        )),
    }
}

fn profile_help() -> String {
    let known = Profile::ALL.map(Profile::name).join(", ");
    format!("What all other attempts meet, one of: {known}")
}

fn profile(text: &str) -> Result<Profile, String> {
    text.parse::<Profile>().map_err(|error| {
        let known = Profile::ALL.map(Profile::name).join(", ");
        format!("{}; known are {known}", error.message())
    })
}
