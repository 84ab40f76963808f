//! What users write: a `seawall.toml`, read key by key.
//!
//! What can go wrong: a misspelt key is skipped and its setting never holds, a `30` without a unit is taken for
//! milliseconds by one and for seconds by another, an error that names no line sends people searching, one that hides
//! the next nine sends them there ten times, and one that quotes a key's line prints a secret. So an unknown key is an
//! error that names the nearest known one, a length of time has its unit, a share is read as a decimal and never as a
//! binary fraction, every error of a file is told at once with its line, and secrets in those lines are blotted out. A
//! key that is right but that nothing obeys yet is told, too: it is in [`Config::not_enforced`].

mod address;
mod blot;
mod effective;
mod error;
pub mod keys;
mod policy;
mod reader;
mod route;
mod schema;
mod section;
mod serve;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod types;
mod upstream;

#[cfg(feature = "http")]
pub(crate) use blot::is_secret as looks_secret;
pub use effective::{Layer, Origin, Setting, Settings};
pub use error::{ConfigError, ConfigErrors};
pub use policy::PolicyConfig;
pub use schema::schema;
pub use types::{
    AdminConfig, BatchConfig, Cache, Cached, ClientConfig, Credential, Fit, Later, LogForm, Match,
    ModelConfig, MoneyMax, NotEnforced, Order, Place, ProgressForm, Remark, RouteConfig, ServeConfig, Speaks,
    Target, TlsConfig, UpstreamConfig, Written,
};

use error::Fault;
use reader::{Reader, Seen, Source};
use seawall_core::policy::Policy;

/// The longest file that is read: 1 MiB, a thousand times what one takes.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// A whole `seawall.toml` that is right: every key read, every name found.
///
/// Read one with [`Config::parse`], or with [`Config::from_bytes`] where it may be no text. It never holds a secret:
/// credentials are named by variable or file, and nothing here looks into either.
///
/// ```
/// use seawall::config::Config;
/// let config = Config::parse("seawall.toml", r#"
///     policy = { retries = 3 }
///     [[upstream]]
///     name = "main"
///     base_url = "https://api.example.com/v1"
///     policy = { deadline = "20s" }
/// "#)?;
/// let main = config.upstream("main").expect("it is there");
/// assert_eq!(main.policy.policy().call.retries(), 3);
/// assert_eq!(main.policy.policy().call.deadline().to_string(), "20s");
/// # Ok::<(), seawall::config::ConfigErrors>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    source: Source,
    seen: Vec<Seen>,
    /// `[policy]`: what holds for upstreams that say nothing else.
    pub policy: PolicyConfig,
    /// The upstreams, in order.
    pub upstreams: Vec<UpstreamConfig>,
    /// What is said of models, in order.
    pub models: Vec<ModelConfig>,
    /// The routes, in order.
    pub routes: Vec<RouteConfig>,
    /// `[serve]`.
    pub serve: ServeConfig,
    /// `[batch]`.
    pub batch: BatchConfig,
    /// Keys that were read and that nothing obeys yet, in the order of the file.
    pub not_enforced: Vec<NotEnforced>,
    /// What is right and is probably not what was meant, in the order of the file.
    pub remarks: Vec<Remark>,
}

impl Config {
    /// Reads a whole file. `file` is what errors call it.
    ///
    /// # Errors
    /// Everything that cannot be right, in the order of the file: mistakes of TOML alone where there are any, else
    /// unknown keys, values of the wrong kind or out of range, names that nothing has, settings that contradict each
    /// other.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigErrors> {
        let reader = Reader::new(file, text)?;
        let document = reader.parse()?;
        let config = tables::read(&reader, &document);
        reader.finish(config)
    }

    /// Reads a whole file that may be no text: an editor's UTF-16, an archive, a picture.
    ///
    /// # Errors
    /// As [`Config::parse`], and bytes that are no UTF-8, at the first of them.
    pub fn from_bytes(file: &str, bytes: &[u8]) -> Result<Self, ConfigErrors> {
        Self::parse(file, reader::text_of(file, bytes)?)
    }

    /// The file's name, as it was given.
    pub fn file(&self) -> &str {
        self.source.file()
    }

    /// The upstream of this name.
    pub fn upstream(&self, name: &str) -> Option<&UpstreamConfig> {
        self.upstreams.iter().find(|upstream| upstream.name.value == name)
    }

    /// A finding of your own about a place in this file, shown as errors are: file, line, column, the line itself.
    pub fn finding(&self, at: &Place, message: impl Into<String>) -> ConfigError {
        let (span, message, help) = (at.span.clone(), message.into(), String::new());
        self.source.error(Fault { span, message, help })
    }

    /// Every value that holds, table by table, and where it comes from: `[policy]`, then each upstream with the policy
    /// that it has, then models, routes, `[serve]` and `[batch]` where they are written.
    pub fn settings(&self) -> Vec<Settings<'_>> {
        effective::all(self)
    }
}

/// Reads the `[policy]` table of a `seawall.toml`; a file without one means the preset `default`.
///
/// Other tables of a `seawall.toml` are not looked into; a table that no `seawall.toml` has is an error, and so is a
/// key that nothing obeys yet: whoever acts on a policy must not act on half of it. [`Config::parse`] reads the whole
/// file and says which keys those are.
///
/// # Errors
/// Everything that cannot be right, with its place. Settings that contradict each other are told at the one that is
/// written.
///
/// ```
/// use seawall::config::read_policy;
/// let policy = read_policy("seawall.toml", "[policy]\nretries = 3\nbackoff.base = \"1s\"\n").expect("a right file");
/// assert_eq!(policy.call.retries(), 3);
/// let errors = read_policy("seawall.toml", "[policy]\nretrys = 3\n").expect_err("no such key");
/// let error = errors.first();
/// assert_eq!(error.message, "unknown key `retrys` in [policy]; the nearest known is `retries`");
/// assert_eq!((error.line, error.column), (2, 1));
/// ```
pub fn read_policy(file: &str, text: &str) -> Result<Policy, ConfigErrors> {
    let reader = Reader::new(file, text)?;
    let document = reader.parse()?;
    let policy = tables::policy_alone(&reader, &document);
    reader.finish(policy).map(|policy| *policy.policy())
}
