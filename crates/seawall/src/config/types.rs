use super::{PolicyConfig, keys};
use seawall_core::classify::Override;
use seawall_core::facts::Replay;
use seawall_core::policy::Concurrency;
use seawall_core::profile::Provider;
use seawall_core::time::Duration;
use std::fmt;
use std::ops::Range;

/// Where something stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the file's text, without a byte-order mark.
    pub span: Range<usize>,
}

/// A value, where it was written, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    /// Where the value stands.
    pub at: Place,
    /// Its key, as [`keys`] names it: `upstream.base_url`.
    pub key: &'static str,
}

/// Something that was read and that nothing obeys yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEnforced {
    /// What it is.
    pub what: Later,
    /// Where it stands.
    pub at: Place,
}

/// A key, or one value of a key, that nothing obeys yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The key, as [`keys`] names it; the table where nothing obeys any of its keys.
    pub key: &'static str,
    /// The one value that nothing obeys; empty where that is all of them.
    pub value: &'static str,
    /// What is missing.
    pub missing: &'static str,
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let takes = keys::find(self.key).map(|key| key.takes);
        let is_top = !self.key.contains('.');
        match (self.value, takes) {
            ("", Some(keys::Takes::Tables)) if is_top => write!(f, "[[{}]]", self.key),
            ("", Some(keys::Takes::Table)) if is_top => write!(f, "[{}]", self.key),
            ("", _) => write!(f, "`{}`", self.key),
            (value, _) => write!(f, "`{} = \"{value}\"`", self.key),
        }
    }
}

/// Something that is right and is probably not what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Where it stands.
    pub at: Place,
    /// What it is.
    pub text: String,
}

/// A `[[upstream]]`.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// Where its table stands.
    pub at: Place,
    /// Its name, unique in the file.
    pub name: Written<String>,
    /// Where its calls go: an address that can be called.
    pub base_url: Written<String>,
    /// Its dialect, where it was written.
    pub provider: Option<Written<Speaks>>,
    /// Where its key is read from.
    pub credential: Option<Written<Credential>>,
    /// The name of the quota that it shares.
    pub quota: Option<Written<String>>,
    /// The name of the budget above it.
    pub parent: Option<Written<String>>,
    /// The name of the store of idempotency keys that it shares.
    pub dedup: Option<Written<String>>,
    /// The header of the idempotency keys that it is said to honour.
    pub idempotency: Option<Written<String>>,
    /// The user's own word on its statuses and codes.
    pub classify: Vec<Override>,
    /// `[policy]` with the upstream's own keys over it.
    pub policy: PolicyConfig,
}

/// Whose dialect an upstream speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaks {
    /// A provider's.
    Provider(Provider),
    /// It is another gateway of ours.
    Seawall,
}

/// Where a key is read from; never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// An environment variable.
    Env(String),
    /// A file.
    File(String),
}

/// A `[[model]]`.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// Where its table stands.
    pub at: Place,
    /// Its name, unique at its upstream.
    pub name: Written<String>,
    /// The upstream that has it; one of the file.
    pub upstream: Written<String>,
    /// Millionths of a US dollar per million tokens sent.
    pub input: Option<Written<u64>>,
    /// Millionths of a US dollar per million tokens answered.
    pub output: Option<Written<u64>>,
    /// Millionths of a US dollar per million tokens sent that are read from a cache.
    pub cached_input: Option<Written<u64>>,
    /// Millionths of a US dollar per million tokens sent that are written to a cache.
    pub cache_write: Option<Written<u64>>,
    /// The same, of a cache that is kept for long.
    pub long_cache_write: Option<Written<u64>>,
    /// Tokens that it takes.
    pub window: Option<Written<u64>>,
}

/// A `[[route]]`.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// Where its table stands.
    pub at: Place,
    /// The calls that it is about.
    pub matches: Match,
    /// Its candidates in order, at least one.
    pub to: Vec<Target>,
    /// Which comes first.
    pub order: Order,
    /// Moves to another upstream.
    pub fallbacks: Option<Written<u32>>,
    /// Sends at one upstream while another could send now.
    pub tries: Option<Written<u32>>,
    /// The longest wait at one upstream while another could send now.
    pub patience: Option<Written<Duration>>,
    /// Millionths of a US dollar per million tokens answered that a candidate may cost.
    pub max_price: Option<Written<u64>>,
    /// What it may spend.
    pub money_max: Option<Written<MoneyMax>>,
    /// What a repeat of its calls may do: [`Replay::Declared`] or [`Replay::Unsafe`].
    pub replay: Option<Written<Replay>>,
    /// Answers that are given again.
    pub cache: Option<Written<Cache>>,
    /// How what is too long is cut.
    pub fit: Option<Written<Fit>>,
}

/// The calls that a route is about: all that is written must match.
#[derive(Clone, Debug, Default)]
pub struct Match {
    /// Their path; `*` stands for anything.
    pub path: Option<Written<String>>,
    /// Their model; `*` stands for anything.
    pub model: Option<Written<String>>,
    /// Their task, one of these where there are any.
    pub tasks: Vec<Written<String>>,
    /// Headers in small letters, and their values.
    pub headers: Vec<(String, Written<String>)>,
}

/// A candidate of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it stands.
    pub at: Place,
    /// The upstream's name; one of the file.
    pub upstream: String,
    /// The model there; the call's own where none is named.
    pub model: Option<String>,
}

/// Which candidate comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they stand.
    #[default]
    Given,
    /// The cheapest.
    Cheapest,
}

/// What a route may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoneyMax {
    /// Millionths of a US dollar.
    pub micro_usd: u64,
    /// In how long.
    pub per: Duration,
}

/// Answers that are given again without a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// For how long.
    pub ttl: Duration,
    /// The calls that it is for.
    pub only: Cached,
}

/// The calls that a cache is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// All.
    Every,
    /// Those whose answer is meant to be the same each time.
    TemperatureZero,
}

/// How a conversation that is too long is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The oldest goes first.
    KeepNewest,
}

/// `[serve]`.
#[derive(Clone, Debug, Default)]
pub struct ServeConfig {
    /// Where it listens.
    pub listen: Option<Written<String>>,
    /// Where its metrics and its dashboard are.
    pub admin: AdminConfig,
    /// The certificate that it answers with.
    pub tls: Option<Written<TlsConfig>>,
    /// The largest body of a call, in bytes.
    pub body_bytes_max: Option<Written<u64>>,
    /// The largest plain answer that is held whole, in bytes.
    pub hold_bytes_max: Option<Written<u64>>,
    /// How long a stream is held before its first content.
    pub hold_max: Option<Written<Duration>>,
    /// How often a held stream says that it lives.
    pub heartbeat: Option<Written<Duration>>,
    /// Where keyed answers are kept.
    pub store: Option<Written<String>>,
    /// The largest answer that is kept, in bytes.
    pub store_bytes_max: Option<Written<u64>>,
    /// Who may call.
    pub clients: Vec<ClientConfig>,
    /// Hosts that it answers to.
    pub allowed_hosts: Vec<Written<String>>,
    /// Web pages that may call.
    pub allowed_origins: Vec<Written<String>>,
    /// How long calls may go on after it was told to stop.
    pub drain: Option<Written<Duration>>,
    /// How it writes its log.
    pub log: Option<Written<LogForm>>,
}

/// The listener of metrics and dashboard.
#[derive(Clone, Debug, Default)]
pub struct AdminConfig {
    /// Where it listens.
    pub listen: Option<Written<String>>,
    /// The hash of the token that it asks for.
    pub token_hash: Option<Written<String>>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The file of the certificate.
    pub cert: String,
    /// The file of its key.
    pub key: String,
}

/// One of `[serve]`'s clients.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Its name, unique among them.
    pub name: Written<String>,
    /// The hash of its token.
    pub token_hash: Written<String>,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogForm {
    /// For people.
    Text,
    /// One JSON document a line.
    Json,
    /// Not at all.
    Off,
}

/// `[batch]`: defaults of `seawall batch`, where its arguments say nothing.
#[derive(Clone, Debug, Default)]
pub struct BatchConfig {
    /// Where rows go: an upstream's name, an address or `mock:PROFILE`.
    pub upstream: Option<Written<String>>,
    /// The model of rows that name none.
    pub model: Option<Written<String>>,
    /// Attempts in flight at once.
    pub concurrency: Option<Written<Concurrency>>,
    /// Attempts per minute.
    pub rpm: Option<Written<u64>>,
    /// Tokens per minute.
    pub tpm: Option<Written<u64>>,
    /// Millionths of a US dollar that a run may cost.
    pub cost_micro_usd_max: Option<Written<u64>>,
    /// Whether answers stand in the order of the rows.
    pub ordered: Option<Written<bool>>,
    /// Whether rows that cannot be sent are left out.
    pub skip_invalid: Option<Written<bool>>,
    /// Whether rows that lack an id get a number.
    pub auto_id: Option<Written<bool>>,
    /// Whether equal rows are answered once.
    pub dedupe: Option<Written<bool>>,
    /// Whether a copy of the input is kept.
    pub spool: Option<Written<bool>>,
    /// Whether rows may name whole addresses.
    pub allow_absolute_url: Option<Written<bool>>,
    /// The longest line that is read, in bytes.
    pub line_bytes_max: Option<Written<u64>>,
    /// How a run is shown.
    pub progress: Option<Written<ProgressForm>>,
    /// Whether attempts and times are added to each output row.
    pub extras: Option<Written<bool>>,
    /// The folder of the state of a run.
    pub journal: Option<Written<String>>,
    /// The file of the JSON Schema that answers must meet.
    pub schema: Option<Written<String>>,
    /// Where a report of the run goes.
    pub report: Option<Written<String>>,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressForm {
    /// A bar on a terminal, a line now and then elsewhere.
    Bar,
    /// JSON lines.
    Json,
    /// Notes alone.
    Off,
}
