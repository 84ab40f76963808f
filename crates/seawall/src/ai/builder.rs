//! A client, described.

use super::Dialect;
use super::client::{Client, Leg, Options, Shared};
use super::prices::Prices;
use super::server::{Key, Server, ServerError};
use crate::chance::entropy;
use crate::clock::{Clock, TokioClock};
use crate::http::{Transport, TransportError};
use crate::route::{Route, RouteError};
use crate::upstream::{ANSWER_BYTES_MAX_DEFAULT, Credential, UpstreamBuilder};
use http::HeaderName;
use seawall_core::policy::{Policy, Preset};
use seawall_core::time::Duration;
use seawall_core::trace::Recording;
use std::sync::Arc;

/// Describes a [`Client`]; see [`Client::builder`].
#[derive(Debug)]
#[must_use]
pub struct ClientBuilder {
    first: Server,
    fallbacks: Vec<Fallback>,
    policy: Policy,
    deadline: Option<Duration>,
    transport: Option<Transport>,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
    recording: Recording,
    prices: Prices,
    answer_bytes_max: usize,
}

#[derive(Debug)]
enum Fallback {
    Server(Box<Server>),
    Model(String),
}

/// A client that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Something is wrong with one of its servers.
    #[error("{server}: {error}")]
    Server {
        /// Its name.
        server: String,
        /// What.
        error: ServerError,
    },
    /// Its servers are no route.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The connections cannot be made.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

impl ClientBuilder {
    pub(super) fn new() -> Self {
        Self {
            first: Server::at(Dialect::OpenAi.base_url()),
            fallbacks: Vec::new(),
            policy: Policy::preset(Preset::Default),
            deadline: None,
            transport: None,
            clock: None,
            seed: None,
            recording: Recording::Off,
            prices: Prices::builtin(),
            answer_bytes_max: ANSWER_BYTES_MAX_DEFAULT,
        }
    }

    /// Calls OpenAI, as it does where nothing is said.
    pub fn openai(mut self) -> Self {
        self.first = self.first.moved_to(Dialect::OpenAi);
        self
    }

    /// Calls Anthropic.
    pub fn anthropic(mut self) -> Self {
        self.first = self.first.moved_to(Dialect::Anthropic);
        self
    }

    /// Calls Google's Gemini API.
    pub fn gemini(mut self) -> Self {
        self.first = self.first.moved_to(Dialect::Gemini);
        self
    }

    /// Calls this address; see [`Server::at`].
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.first = self.first.base_url(base_url);
        self
    }

    /// What is spoken there, where host and path do not tell.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.first = self.first.dialect(dialect);
        self
    }

    /// The key that lets one in there; see [`Server::key`].
    pub fn key(mut self, key: Key) -> Self {
        self.first = self.first.key(key);
        self
    }

    /// The key that this environment variable holds now; see [`Server::key_from_env`].
    pub fn key_from_env(mut self, variable: &str) -> Self {
        self.first = self.first.key_from_env(variable);
        self
    }

    /// A token that ends and is renewed; see [`Server::token`].
    pub fn token(mut self, token: impl Into<Credential>) -> Self {
        self.first = self.first.token(token);
        self
    }

    /// What lets one in, in a header of its own; see [`Server::credential`].
    pub fn credential(mut self, header: HeaderName, credential: impl Into<Credential>) -> Self {
        self.first = self.first.credential(header, credential);
        self
    }

    /// Calls this server, in place of all that was said of one.
    pub fn server(mut self, server: Server) -> Self {
        self.first = server;
        self
    }

    /// A server to turn to when those before it cannot serve a call; in the order in which they are given.
    pub fn fallback(mut self, server: Server) -> Self {
        self.fallbacks.push(Fallback::Server(Box::new(server)));
        self
    }

    /// Another model of the first server to turn to: what limits the server limits both.
    pub fn fallback_model(mut self, model: impl Into<String>) -> Self {
        self.fallbacks.push(Fallback::Model(model.into()));
        self
    }

    /// The policy of calls, and of the gate of each server that has none of its own; the preset `default` unless it is
    /// given.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How long a call may take up to its answer, or to the first content of a stream, instead of the policy's deadline.
    pub fn deadline(mut self, length: impl Into<Duration>) -> Self {
        self.deadline = Some(length.into());
        self
    }

    /// The connections to use, with their TLS settings; own ones unless they are given.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The clock to live by; the runtime's unless it is given.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from: the same seed draws the same delays. From the operating system unless it is given.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether [`Upstream::events`](crate::Upstream::events) has anything to say; off unless it is given.
    pub const fn recording(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// The prices that answers are [priced](super::Answered::cost) by; the table that the crate carries unless they are
    /// given. A server sells at the prices of the provider that it was said to be ([`Server::openai`] at another address, too),
    /// else of the one that its host is.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Longest answer that is read, and the most that is kept of a stream; [`ANSWER_BYTES_MAX_DEFAULT`] unless it is given. A
    /// longer answer is a failed attempt, a longer stream breaks off with what was received.
    pub const fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    /// The client. Nothing is connected before its first call.
    ///
    /// # Errors
    /// An address that is none, a key that is not there or cannot be sent, a policy that cannot be; each names its
    /// server.
    pub fn build(self) -> Result<Client, BuildError> {
        let seed = self.seed.unwrap_or_else(entropy);
        let clock = self.clock.unwrap_or_else(|| Arc::new(TokioClock::new()));
        let transport = match self.transport {
            Some(transport) => transport,
            None => {
                let builder = Transport::builder().clock(Arc::clone(&clock)).seed(seed);
                builder.build()?
            }
        };
        let first = leg(self.first, self.policy, |builder| {
            let builder = builder.clock(Arc::clone(&clock)).seed(seed);
            let builder = builder.answer_bytes_max(self.answer_bytes_max);
            builder.recording(self.recording).transport(transport.clone())
        })?;
        let mut legs = vec![first];
        for fallback in self.fallbacks {
            let first = &legs[0];
            let next = match fallback {
                Fallback::Model(model) => Leg {
                    model: Some(model),
                    ..first.clone()
                },
                // In one engine with the first: a call may move between them.
                Fallback::Server(server) => leg(*server, self.policy, |builder| {
                    let builder = builder.answer_bytes_max(self.answer_bytes_max);
                    builder.beside(&first.upstream).transport(transport.clone())
                })?,
            };
            legs.push(next);
        }
        let mut prices = self.prices;
        for leg in &legs {
            if let Some(seller) = leg.seller {
                prices = prices.with_seller(leg.upstream.name(), seller.name());
            }
        }
        let mut route = Route::builder();
        for leg in &legs {
            route = match &leg.model {
                Some(model) => route.to_model(&leg.upstream, model.as_str()),
                None => route.to(&leg.upstream),
            };
        }
        let route = route.build()?;
        let options = Options {
            deadline: self.deadline,
            retries_max: None,
        };
        Ok(Client::new(
            Shared {
                legs,
                route,
                clock,
                prices,
            },
            options,
        ))
    }
}

/// One server of the route, built with what `with` adds.
fn leg(
    server: Server,
    policy: Policy,
    with: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder,
) -> Result<Leg, BuildError> {
    let label = server.label().to_owned();
    let built = server.into_parts(policy).and_then(|parts| {
        Ok(Leg {
            upstream: with(parts.builder).build()?,
            dialect: parts.dialect,
            host: parts.host,
            base_path: parts.base_path,
            model: parts.model,
            seller: parts.seller,
        })
    });
    built.map_err(|error| BuildError::Server { server: label, error })
}
