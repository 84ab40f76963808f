//! `seawall batch`: every row of JSONL files through the engine.

mod written;

use crate::common::Common;
use crate::failure::Failure;
use crate::interrupts::Interrupts;
use crate::open_files::OpenFiles;
use clap::ValueEnum;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use seawall::http::Secret;
use seawall::upstream::{Upstream, UpstreamBuilder, UpstreamError};
use seawall_batch::input::AbsoluteUrls;
use seawall_batch::{
    Existing, Extras, Invalid, LINE_MAX_DEFAULT, LiveCaller, Options, Progress, Screen, Shown, Snapshot, Ui,
    interrupts,
};
use seawall_core::policy::{AUTO_CONCURRENCY_MAX, Concurrency, Policy, PolicyBuilder, Preset};
use seawall_core::profile::Provider;
use seawall_lab::net::Mock;
use seawall_lab::plan::Profile;
use std::env::VarError;
use std::io::IsTerminal as _;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::process::ExitCode;
use written::FromFile;

/// What to type where no upstream was named.
const NO_UPSTREAM: &str = "no upstream: say where the rows go\n  \
     --upstream mock:flaky                    the built-in provider, which fails on purpose\n  \
     --upstream https://api.example.com/v1    a real one (its key by --credential-env NAME)";

const EXAMPLES: &str = "\
Examples:
  Every prompt through the built-in provider, which fails on purpose; the same command again sends nothing:
    seawall batch prompts.jsonl -o answers.jsonl --upstream mock:flaky
  Twenty at once, with attempts and times in each row, and the summary as JSON:
    seawall batch prompts.jsonl -o timed.jsonl --upstream mock:steady --concurrency 20 --extras --json
  No more than a plan allows, 500 rows and 200 000 tokens a minute, and as many at once as the server bears:
    seawall batch prompts.jsonl -o paced.jsonl --upstream mock:steady --rpm 500 --tpm 200000 --concurrency auto
  A real upstream, with its key from the environment:
    seawall batch prompts.jsonl -o real.jsonl --upstream https://api.example.com/v1 --credential-env MY_KEY

Exit codes: 0 every row has its answer, 1 some failed or were left out, 2 bad input or usage, 3 the money is gone,
70 the files hold what no run writes, 74 I/O, 77 the key is refused, 130 interrupted. After 3, 74, 77 and 130 the same
command goes on where it stopped. Rows that failed are sent again once their lines are out of the error file.";

/// Answer every row of JSONL files once; the same command goes on after any stop.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// JSONL files, plain, gzip or zstd: OpenAI or Anthropic batch rows, {"custom_id","body"}, {"messages":…} or {"prompt":…}.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Where answers go; the state of the run stands beside it in OUT.seawall/.
    #[arg(short = 'o', long = "out", value_name = "OUT")]
    out: PathBuf,
    /// Where failures go [default: OUT.errors.jsonl].
    #[arg(long, value_name = "ERR")]
    errors: Option<PathBuf>,
    /// Where rows are sent: an address, an upstream's name in the file of --config, or the built-in
    /// provider: mock:steady, mock:flaky, mock:ratelimited, mock:outage or mock:storm.
    #[arg(long, value_name = "URL|NAME|mock:PROFILE")]
    upstream: Option<String>,
    /// A file with upstreams, their policies, and defaults of these arguments; seawall.toml where an upstream is named.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The upstream's dialect, where host and path do not tell: openai, anthropic, azure, gemini, groq, stripe, github or
    /// generic.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The environment variable that holds the upstream's key.
    #[arg(long, value_name = "NAME")]
    credential_env: Option<String>,
    /// A preset (default, interactive, batch, writes, off), or a file with a `[policy]` table [default: what --config
    /// says, else batch].
    #[arg(long, value_name = "FILE|PRESET")]
    policy: Option<String>,
    /// The model of rows that name none.
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Attempts in flight at once; auto finds out what the upstream bears [default: the policy's, 64 in preset batch].
    #[arg(long, value_name = "N|auto", value_parser = concurrency)]
    concurrency: Option<Concurrency>,
    /// Attempts sent in a minute; the first minute's worth may go at once.
    #[arg(long, value_name = "N")]
    rpm: Option<NonZeroU64>,
    /// Tokens used in a minute, read and written: estimated from each row, corrected by its answer.
    #[arg(long, value_name = "N")]
    tpm: Option<NonZeroU64>,
    /// Leave out rows that cannot be sent and run the rest, instead of refusing to start.
    #[arg(long)]
    skip_invalid: bool,
    /// Rename the files of an earlier run and start over.
    #[arg(long, conflicts_with_all = ["resume", "overwrite"])]
    fresh: bool,
    /// Take over the whole lines of an OUT that has no OUT.seawall/.
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Empty the files of an earlier run and start over.
    #[arg(long)]
    overwrite: bool,
    /// Let rows name whole addresses; other hosts get no key.
    #[arg(long)]
    allow_absolute_url: bool,
    /// Longest line that is read: bytes, KiB, MiB or GiB [default: 64MiB].
    #[arg(long, value_name = "SIZE")]
    max_line: Option<String>,
    /// How the run is shown on stderr [default: bar].
    #[arg(long, value_name = "HOW")]
    progress: Option<Showing>,
    /// Add attempts and times to each output row.
    #[arg(long)]
    extras: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Showing {
    /// A bar on a terminal, a line now and then elsewhere.
    Bar,
    /// JSON lines.
    Json,
    /// Notes alone.
    None,
}

/// Runs the batch, prints its summary and says how it ended.
pub(crate) fn run(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::io("the runtime", &error))?;
    runtime.block_on(run_on(args, common))
}

async fn run_on(args: &Args, common: Common) -> Result<ExitCode, Failure> {
    let (file, args) = FromFile::read(args)?;
    let (file, args) = (file.as_ref(), &args);
    let is_mock = args.upstream.as_deref().is_some_and(|to| to.starts_with("mock:"));
    let (policy, lowered) = policy(args, file, OpenFiles::raised().connections_max(is_mock))?;
    let options = options(args, &policy)?;
    let destination = args
        .upstream
        .as_deref()
        .ok_or_else(|| Failure::usage(NO_UPSTREAM))?;
    // Started before anything is judged, and stopped when it goes out of scope.
    let (base, mock) = match destination.strip_prefix("mock:") {
        Some(profile) => {
            let mock = mock(profile, common.seed()).await?;
            (mock.url(), Some(mock))
        }
        None => (destination.to_owned(), None),
    };
    let caller = caller(args, file, common, &base, mock.is_some(), policy)?;
    let (interrupter, interrupts) = interrupts();
    // Not before the run waits for the first time: until then nothing is in flight, and Ctrl-C may simply kill.
    let deaf = async {
        match Interrupts::listen() {
            Ok(mut signals) => loop {
                signals.next().await;
                interrupter.interrupt();
            },
            Err(error) => error,
        }
    };
    let mut ui = ui(args, common);
    if let Some(note) = lowered {
        ui.note(&note);
    }
    if let Some(file) = file.filter(|_| args.policy.is_none()) {
        common.talk().detail(file.told());
    }
    let errors = options.errors_path();
    common.talk().detail(format_args!(
        "rows go to {base}, answers to {}, failures to {}, the state of the run to {}",
        options.out.display(),
        errors.display(),
        options.state_dir().display()
    ));
    let summary = tokio::select! {
        biased;
        ran = seawall_batch::run(options, caller, interrupts, ui.as_mut()) => ran.map_err(Failure::Batch)?,
        error = deaf => return Err(Failure::io("signals", &error)),
    };
    if summary.rows.failed > 0 && !common.json {
        let note = format_args!("why rows failed stands in {}", errors.display());
        common.talk().note(note);
    }
    let text = if common.json {
        summary.to_json().to_string()
    } else {
        summary.to_string()
    };
    crate::print(text.trim_end())?;
    Ok(ExitCode::from(summary.exit().code()))
}

/// How the run is shown.
fn ui(args: &Args, common: Common) -> Box<dyn Ui> {
    let screen = if std::io::stderr().is_terminal() {
        Screen::Terminal
    } else {
        Screen::Pipe
    };
    let shown = match args.progress {
        Some(Showing::Bar) | None => Shown::Bar,
        Some(Showing::Json) => Shown::Json,
        Some(Showing::None) => Shown::Nothing,
    };
    if common.is_quiet() {
        Box::new(Silent)
    } else {
        Box::new(Progress::new(shown, screen, Box::new(std::io::stderr())))
    }
}

/// `-q`: errors alone.
struct Silent;

impl Ui for Silent {
    fn show(&mut self, _snapshot: &Snapshot) {}
    fn note(&mut self, _text: &str) {}
    fn finish(&mut self, _snapshot: &Snapshot) {}
}

fn concurrency(text: &str) -> Result<Concurrency, String> {
    if text == "auto" {
        return Ok(Concurrency::Auto);
    }
    let most: Option<NonZeroU32> = text.parse().ok();
    most.map(|most| Concurrency::AtMost(most.get()))
        .ok_or_else(|| "write a whole number from 1, or auto".to_owned())
}

/// The policy, and what is to be said where the machine allows fewer attempts at once than were asked for.
fn policy(
    args: &Args,
    file: Option<&FromFile>,
    connections_max: NonZeroU32,
) -> Result<(Policy, Option<String>), Failure> {
    let policy = match (&args.policy, file) {
        (Some(name), _) => crate::explain::read_policy(name)?,
        (None, Some(file)) => *file.policy().policy(),
        (None, None) => Policy::preset(Preset::Batch),
    };
    let limits = policy.gate.limits();
    let asked = args.concurrency.unwrap_or(limits.concurrency());
    let concurrency = match asked {
        Concurrency::AtMost(most) => Concurrency::AtMost(most.min(connections_max.get())),
        Concurrency::Auto | Concurrency::Gradient if connections_max.get() < AUTO_CONCURRENCY_MAX => {
            Concurrency::AtMost(connections_max.get())
        }
        Concurrency::Auto | Concurrency::Gradient | Concurrency::Unbounded => asked,
    };
    let lowered = (concurrency != asked).then(|| {
        format!(
            "at most {connections_max} attempts are in flight at once: the system allows this process no more open \
             files (ulimit -n)"
        )
    });
    let mut builder = PolicyBuilder::from_policy(policy)
        .concurrency(concurrency)
        // Rows that are begun may all have to wait at the gate.
        .queue(
            limits
                .queue()
                .max(most_at_once(concurrency).saturating_mul(4).max(1_000)),
        );
    if let Some(rpm) = args.rpm {
        builder = builder.requests_per_minute(Some(rpm.get()));
    }
    if let Some(tpm) = args.tpm {
        builder = builder.tokens_per_minute(Some(tpm.get()));
    }
    let policy = builder.build().map_err(|error| {
        let flag = match error.setting() {
            "limits.requests_per_minute" => "--rpm",
            "limits.tokens_per_minute" => "--tpm",
            _ => "--concurrency",
        };
        Failure::usage(format!("{flag}: {error}"))
    })?;
    Ok((policy, lowered))
}

/// The most attempts that may be in flight; 0 where nobody says.
const fn most_at_once(concurrency: Concurrency) -> u32 {
    match concurrency {
        Concurrency::AtMost(most) => most,
        Concurrency::Auto | Concurrency::Gradient => AUTO_CONCURRENCY_MAX,
        Concurrency::Unbounded => 0,
    }
}

/// How many rows may stand in line: enough that no place stays empty, and no more than are sent in half the time that
/// each has.
fn line_max(policy: &Policy) -> usize {
    let limits = policy.gate.limits();
    let places = limits.concurrency().at_most().unwrap_or(0);
    let enough = usize::try_from(places)
        .unwrap_or(usize::MAX)
        .max(LINE_MAX_DEFAULT);
    let Some(rpm) = limits.rates().requests_per_minute() else {
        return enough;
    };
    let sent = rpm.saturating_mul(policy.call.deadline().as_secs()) / 120;
    usize::try_from(sent).map_or(enough, |sent| sent.clamp(1, enough))
}

fn options(args: &Args, policy: &Policy) -> Result<Options, Failure> {
    let mut options = Options::new(args.inputs.clone(), args.out.clone());
    options.errors = args.errors.clone();
    options.model = args.model.clone();
    if let Some(concurrency) = NonZeroU32::new(most_at_once(policy.gate.limits().concurrency())) {
        options.concurrency = concurrency;
    }
    options.line_max = line_max(policy);
    options.existing = match (args.fresh, args.resume, args.overwrite) {
        (true, _, _) => Existing::Fresh,
        (_, true, _) => Existing::Adopt,
        (_, _, true) => Existing::Overwrite,
        (false, false, false) => Existing::Continue,
    };
    options.invalid = if args.skip_invalid {
        Invalid::Skip
    } else {
        Invalid::Refuse
    };
    options.absolute_urls = if args.allow_absolute_url {
        AbsoluteUrls::Allow
    } else {
        AbsoluteUrls::Refuse
    };
    options.line_bytes_max = size(args.max_line.as_deref().unwrap_or("64MiB"))?;
    options.extras = if args.extras { Extras::On } else { Extras::Off };
    Ok(options)
}

/// A size as formats.md writes them: `64MiB`, `512KiB`, `1GiB`, or bytes.
fn size(text: &str) -> Result<u64, Failure> {
    let units = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("B", 1),
        ("", 1),
    ];
    let parsed = units.iter().find_map(|(unit, bytes)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*bytes)
    });
    parsed
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| Failure::usage(format!("--max-line: {text:?} is no size; write it as in 64MiB")))
}

async fn mock(profile: &str, seed: u64) -> Result<Mock, Failure> {
    let profile: Profile = profile
        .parse()
        .map_err(|error| Failure::usage(format!("--upstream mock: {error}")))?;
    let mock = Mock::builder().profile(profile).seed(seed).start().await;
    mock.map_err(|error| Failure::internal(format!("the built-in provider does not start: {error}")))
}

fn caller(
    args: &Args,
    file: Option<&FromFile>,
    common: Common,
    base: &str,
    is_mock: bool,
    policy: Policy,
) -> Result<LiveCaller, Failure> {
    let uri: Option<Uri> = base.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or("");
    let known = Provider::inferred(Some(host), "/");
    let provider = match &args.provider {
        Some(name) => Some(provider(name)?),
        None if known == Provider::Generic => None,
        None => Some(known),
    };
    let describe = move |base: &str| -> Result<UpstreamBuilder, UpstreamError> {
        let builder = Upstream::builder(base)?.policy(policy);
        Ok(match common.seed_typed() {
            Some(seed) => builder.seed(seed),
            None => builder,
        })
    };
    let mut builder = describe(base).map_err(|error| Failure::usage(format!("--upstream: {error}")))?;
    if let Some(provider) = provider {
        builder = builder.provider(provider);
    }
    // How a key is sent goes by the address's path as well, which an Azure deployment behind another host tells.
    let path = uri.as_ref().map_or("/", Uri::path);
    let spoken = provider.unwrap_or_else(|| Provider::inferred(Some(host), path));
    if let Some((header, secret)) = credential(args, host, spoken, is_mock)? {
        builder = builder.credential(header, secret);
    }
    if let Some(file) = file {
        // What was typed stands before what is written.
        builder = file.describe(builder, args)?.policy(policy);
        builder = match provider {
            Some(provider) => builder.provider(provider),
            None => builder,
        };
    }
    let upstream = builder
        .build()
        .map_err(|error| Failure::usage(format!("--upstream: {error}")))?;
    let mut headers = HeaderMap::new();
    if provider == Some(Provider::Anthropic) {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    let elsewhere = move |origin: &str| describe(origin)?.build();
    Ok(LiveCaller::new(upstream, base, headers, Box::new(elsewhere)))
}

fn provider(name: &str) -> Result<Provider, Failure> {
    Provider::named(name).ok_or_else(|| {
        let names: Vec<&str> = Provider::ALL.iter().map(|provider| provider.name()).collect();
        Failure::usage(format!(
            "--provider: {name:?} is none; there are {}",
            names.join(", ")
        ))
    })
}

/// The variable that people keep a host's key in; none where the host is nobody's that is known.
fn usual_variable(host: &str) -> Option<&'static str> {
    match Provider::inferred(Some(host), "/") {
        Provider::OpenAi => Some("OPENAI_API_KEY"),
        Provider::Anthropic => Some("ANTHROPIC_API_KEY"),
        Provider::Azure => Some("AZURE_OPENAI_API_KEY"),
        Provider::Gemini => Some("GEMINI_API_KEY"),
        Provider::Groq => Some("GROQ_API_KEY"),
        Provider::Stripe => Some("STRIPE_API_KEY"),
        Provider::GitHub => Some("GITHUB_TOKEN"),
        Provider::Generic => None,
    }
}

/// The upstream's key: from the variable that was named, or from the provider's own where the host is the provider's.
fn credential(
    args: &Args,
    host: &str,
    provider: Provider,
    is_mock: bool,
) -> Result<Option<(HeaderName, Secret)>, Failure> {
    // A key goes to a host by name only: where the dialect was merely stated, its variable must be stated too.
    let usual = usual_variable(host).filter(|_| args.provider.is_none() && !is_mock);
    let token = match (&args.credential_env, usual) {
        (Some(name), _) => std::env::var(name)
            .map_err(|_| Failure::Key(format!("--credential-env: {name} is not set, or is no text")))?,
        (None, Some(name)) => match std::env::var(name) {
            Ok(token) => token,
            Err(VarError::NotPresent) => return Ok(None),
            Err(VarError::NotUnicode(_)) => {
                return Err(Failure::Key(format!("the key in {name} is no text")));
            }
        },
        (None, None) => return Ok(None),
    };
    if token.trim().is_empty() {
        let name = args.credential_env.as_deref().or(usual).unwrap_or_default();
        return Err(Failure::Key(format!(
            "the key in {name} is empty; set it, or unset it to send none"
        )));
    }
    let secret = Secret::for_provider(provider, &token);
    secret
        .map(Some)
        .map_err(|error| Failure::Key(format!("the key cannot be sent: {error}")))
}

#[cfg(test)]
mod tests;
