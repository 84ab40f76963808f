//! `seawall explain`: what the engine would say to one outcome, and why.
//!
//! It asks the very engine that runs live: the outcome is classified as an adapter would, the call is brought to
//! the attempt that was named, and the verdict is printed. There is no second opinion in here.

mod attempt;
mod case;
pub(crate) use case::read_policy;
mod report;

use crate::Common;
use crate::failure::Failure;
use crate::named::FILE;
use case::Case;
use clap::ValueEnum;
use seawall_core::facts::Replay;
use seawall_core::hint::rfc3339;
use seawall_core::profile::Provider;
use seawall_core::time::{Duration, Wall};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  seawall explain --path /v1/chat/completions --status 429 --header 'Retry-After: 12'
  seawall explain --path /v1/payments --error reset
  seawall explain --method GET --status 503 --attempts 3 --policy batch --json --sample 5";

/// One outcome of one attempt, and the call that it belongs to.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The call's method.
    #[arg(long, default_value = "POST")]
    method: String,
    /// The call's path; the provider is inferred from it.
    #[arg(long, default_value = "/")]
    path: String,
    /// A header of the call; may be repeated.
    #[arg(long = "request-header", value_name = "N: V", allow_hyphen_values = true)]
    request_headers: Vec<OsString>,
    /// The status that was answered.
    #[arg(long, value_parser = clap::value_parser!(u16).range(100..=999))]
    status: Option<u16>,
    /// A header of the answer; may be repeated.
    #[arg(long = "header", value_name = "N: V", allow_hyphen_values = true)]
    headers: Vec<OsString>,
    /// The answer's body; left out, it counts as well-formed.
    #[arg(long, value_name = "TEXT|@FILE", allow_hyphen_values = true)]
    body: Option<OsString>,
    /// What broke.
    #[arg(long)]
    error: Option<Fault>,
    /// The idempotency key that the call carries.
    #[arg(long)]
    key: Option<String>,
    /// What a repeat may do, where method, path and key do not say it: idempotent, keyed, declared or unsafe.
    #[arg(long, value_parser = named("idempotent, keyed, declared, unsafe", Replay::named))]
    replay: Option<Replay>,
    /// Attempts sent so far, this one included.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    attempts: u32,
    /// How long the call has taken so far.
    #[arg(long, value_name = "D", default_value = "0s")]
    elapsed: Duration,
    /// How long the call may take; left out, the policy's own.
    #[arg(long, value_name = "D")]
    deadline: Option<Duration>,
    /// Whose dialect the answer is in: openai, anthropic, azure, gemini, groq, stripe, github or generic; left out, it is
    /// inferred from the path.
    #[arg(long, value_parser = named("openai, anthropic, azure, gemini, groq, stripe, github, generic", Provider::named))]
    provider: Option<Provider>,
    /// A preset (default, interactive, batch, writes, off), or a file with a `[policy]` table [default: default].
    #[arg(long, value_name = "FILE|PRESET")]
    policy: Option<String>,
    /// An upstream of the file of --config: its policy, its dialect and its own word on statuses hold.
    #[arg(long, value_name = "NAME", conflicts_with = "policy")]
    upstream: Option<String>,
    /// The file that the upstream is in.
    #[arg(short, long, value_name = "FILE", default_value = FILE, requires = "upstream")]
    config: PathBuf,
    /// The date that headers with dates are read at; left out, the host's.
    #[arg(long, value_name = "RFC3339", value_parser = date)]
    now: Option<Wall>,
    /// How many delays to draw.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample: u32,
}

/// What broke in an attempt, by the names of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fault {
    Dns,
    Refused,
    ConnectTimeout,
    Tls,
    BadCert,
    Reset,
    Closed,
    ReusedClosed,
    Timeout,
    Idle,
    Truncated,
    Empty,
    #[value(name = "error-in-200")]
    ErrorInside,
    RefusedStream,
    #[value(name = "goaway")]
    GoAway,
}

/// Explains, and prints it.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let case = Case::read(args)?;
    let met = attempt::meet(&case);
    let told = report::tell(&case, &met, common.seed(), args.sample)?;
    if common.json {
        crate::print(&told.json()?)?;
    } else {
        crate::print(&told.text)?;
    }
    common.talk().detail(told.details());
    Ok(ExitCode::SUCCESS)
}

/// A parser of one of our own names.
fn named<T: Clone + Send + Sync + 'static>(
    known: &'static str,
    parse: fn(&str) -> Option<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| parse(text).ok_or_else(|| format!("known are {known}"))
}

fn date(text: &str) -> Result<Wall, String> {
    rfc3339(text).ok_or_else(|| "a date looks like 2026-11-30T12:00:00Z".to_owned())
}
