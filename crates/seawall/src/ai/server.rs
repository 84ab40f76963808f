//! An AI API as a client is told of it: where it is, what it speaks, what lets one in.
//!
//! What can go wrong: a key is sent in another provider's header, or to another server than its own, and is then both
//! refused and known to a stranger; a variable that is not set makes a client that fails at its first call, at night; a
//! newline at the end of a file makes a key that no header carries. So a key belongs to one server, goes in the header
//! of that server's dialect, and whatever is wrong with it is said when the client is built.

use super::{Dialect, KeyHeader};
use crate::http::Secret;
use crate::upstream::{Credential, Upstream, UpstreamBuilder, UpstreamError};
use http::{HeaderName, Uri, header};
use seawall_core::policy::Policy;
use seawall_core::profile::Provider;
use std::env::VarError;
use std::fmt;

/// An API key. It goes in the header that its server's dialect has for it, and is never printed.
///
/// A token that ends is no key: see [`Server::token`].
///
/// ```
/// use seawall::ai::Key;
/// assert_eq!(format!("{:?}", Key::new("sk-very-secret")), "***");
/// let error = Key::from_env("NOBODY_HAS_SET_THIS").expect_err("nobody has");
/// assert!(error.to_string().starts_with("the environment variable NOBODY_HAS_SET_THIS is not set"));
/// ```
#[derive(Clone)]
pub struct Key(String);

/// A key that there is none of, or that cannot be sent. Never repeats it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The variable is not set.
    #[error("the environment variable {variable} is not set; set it to the key")]
    NotSet {
        /// Its name.
        variable: String,
    },
    /// The variable is set to nothing but white space.
    #[error("the environment variable {variable} is empty; set it to the key")]
    Empty {
        /// Its name.
        variable: String,
    },
    /// It holds what no key has: white space, control characters, letters that are not ASCII.
    #[error("the key holds a character that no key has; look whether it was copied whole, and alone")]
    Unsendable,
}

impl Key {
    /// This key. White space around it, which files and shells leave there, is none of it.
    pub fn new(key: impl AsRef<str>) -> Self {
        Self(key.as_ref().trim().to_owned())
    }

    /// The key that this environment variable holds, now.
    ///
    /// # Errors
    /// The variable is not set, or is empty; the error names it.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let key = match std::env::var(variable) {
            Ok(key) => Self::new(key),
            Err(VarError::NotPresent) => {
                let variable = variable.to_owned();
                return Err(KeyError::NotSet { variable });
            }
            Err(VarError::NotUnicode(_)) => return Err(KeyError::Unsendable),
        };
        if key.0.is_empty() {
            let variable = variable.to_owned();
            return Err(KeyError::Empty { variable });
        }
        Ok(key)
    }

    /// The header that carries it.
    fn sent_to(&self, provider: Provider, dialect: Dialect) -> Result<(HeaderName, Secret), KeyError> {
        // A header carries more, but no key has it: an ellipsis, two keys in one.
        if !self.0.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Unsendable);
        }
        let (header, secret) = match (provider, dialect.key_header()) {
            (Provider::Azure, _) => (HeaderName::from_static("api-key"), Secret::new(&self.0)),
            (_, KeyHeader::Bearer) => (header::AUTHORIZATION, Secret::bearer(&self.0)),
            (_, KeyHeader::Named(name)) => (HeaderName::from_static(name), Secret::new(&self.0)),
        };
        let secret = secret.map_err(|_| KeyError::Unsendable)?;
        Ok((header, secret))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// One AI API that a [`Client`](super::Client) may call.
///
/// Everything wrong with it, a variable that is not set among it, is said by
/// [`ClientBuilder::build`](super::ClientBuilder::build).
///
/// ```
/// use seawall::ai::{Client, Key, Server};
///
/// let local = Server::at("http://127.0.0.1:8000/v1").name("the one in the cellar");
/// let backup = Server::anthropic().key(Key::new("sk-ant-0")).model("claude-haiku-4-5");
/// let client = Client::builder().server(local).fallback(backup).build()?;
/// assert_eq!(client.upstreams().count(), 2);
/// # Ok::<(), seawall::ai::BuildError>(())
/// ```
#[must_use]
pub struct Server {
    url: String,
    name: Option<String>,
    dialect: Option<Dialect>,
    provider: Option<Provider>,
    access: Access,
    model: Option<String>,
    policy: Option<Policy>,
    /// Whose prices hold, where that was said and not only inferred.
    seller: Option<Dialect>,
}

impl fmt::Debug for Server {
    /// Of its address the host alone: whoever puts a key into an address is told so when the client is built.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.parse::<Uri>().ok();
        f.debug_struct("Server")
            .field("host", &url.as_ref().and_then(Uri::host))
            .field("name", &self.name)
            .field("dialect", &self.dialect)
            .field("access", &self.access)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// What lets a client in.
#[derive(Debug)]
enum Access {
    Open,
    Key(Key),
    Missing(KeyError),
    Credential(HeaderName, Credential),
}

/// A server whose parts were looked at.
pub(super) struct Parts {
    pub(super) builder: UpstreamBuilder,
    pub(super) dialect: Dialect,
    pub(super) host: String,
    pub(super) base_path: String,
    pub(super) model: Option<String>,
    pub(super) seller: Option<Dialect>,
}

impl Server {
    /// The server at this base address. What it speaks is inferred from host and path, and is OpenAI's dialect where they
    /// say nothing: most servers speak it.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self {
            url: base_url.into(),
            name: None,
            dialect: None,
            provider: None,
            access: Access::Open,
            model: None,
            policy: None,
            seller: None,
        }
    }

    /// OpenAI.
    pub fn openai() -> Self {
        Self::of(Dialect::OpenAi)
    }

    /// Anthropic.
    pub fn anthropic() -> Self {
        Self::of(Dialect::Anthropic)
    }

    /// Google's Gemini API.
    pub fn gemini() -> Self {
        Self::of(Dialect::Gemini)
    }

    /// The provider whose dialect this is, where it is [itself](Dialect::base_url).
    pub fn of(dialect: Dialect) -> Self {
        Self::at("").moved_to(dialect)
    }

    /// This provider instead, with the key that it has.
    pub(super) fn moved_to(mut self, dialect: Dialect) -> Self {
        self.seller = Some(dialect);
        self.base_url(dialect.base_url())
            .name(dialect.name())
            .dialect(dialect)
    }

    /// The same server at another address: a proxy, a region, a mock.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.url = base_url.into();
        self
    }

    /// Its name in errors; the host unless it is given.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What it speaks, where host and path do not tell.
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Whose server it is behind a host that does not tell: its words for errors and limits, and the header of its key.
    pub const fn provider(mut self, provider: Provider) -> Self {
        self.provider = Some(provider);
        self
    }

    /// The key that lets one in, sent in the header that its provider has for it, and to no other server.
    pub fn key(mut self, key: Key) -> Self {
        self.access = Access::Key(key);
        self
    }

    /// The key that this environment variable holds when the client is built.
    pub fn key_from_env(mut self, variable: &str) -> Self {
        self.access = match Key::from_env(variable) {
            Ok(key) => Access::Key(key),
            Err(error) => Access::Missing(error),
        };
        self
    }

    /// A token for `Authorization` that ends and is renewed when the server answers 401, once for all calls:
    /// [`Credential::refreshing`], which gives [`Secret::bearer`]s.
    pub fn token(self, token: impl Into<Credential>) -> Self {
        self.credential(header::AUTHORIZATION, token)
    }

    /// What lets one in, in this header: for servers that have one of their own.
    pub fn credential(mut self, header: HeaderName, credential: impl Into<Credential>) -> Self {
        self.access = Access::Credential(header, credential.into());
        self
    }

    /// The model that is called here, whichever one a call names: a fallback seldom has the models of the server before
    /// it.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// What holds at this server's own gate (budget, breaker, limits, limits of an attempt), where it is not the
    /// client's policy.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// What it is called in an error of the builder.
    pub(super) fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("the server without a name")
    }

    /// What an upstream is made of.
    pub(super) fn into_parts(self, policy: Policy) -> Result<Parts, ServerError> {
        let mut builder = Upstream::builder(&self.url)?;
        let url: Uri = self.url.parse().expect("the address of an upstream was read");
        let told = Provider::inferred(url.host(), url.path());
        let provider = match (self.provider, self.dialect, told) {
            (Some(provider), ..) => provider,
            (None, dialect, Provider::Generic) => dialect.unwrap_or(Dialect::OpenAi).provider(),
            (None, Some(_) | None, told) => told,
        };
        let dialect = self.dialect.unwrap_or_else(|| Dialect::of(provider, url.path()));
        builder = builder.provider(provider).policy(self.policy.unwrap_or(policy));
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        builder = match self.access {
            Access::Open => builder,
            Access::Missing(error) => return Err(error.into()),
            Access::Credential(header, credential) => builder.credential(header, credential),
            Access::Key(key) => {
                let (header, secret) = key.sent_to(provider, dialect)?;
                builder.credential(header, secret)
            }
        };
        Ok(Parts {
            builder,
            dialect,
            host: url.host().unwrap_or_default().to_owned(),
            base_path: url.path().to_owned(),
            model: self.model,
            seller: self.seller,
        })
    }
}

/// What is wrong with one server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Its key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Its address, or its policy.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
}
