use super::credential::{Badge, Credential};
use super::hold::Holding;
use super::keys::{Door, Keys};
use super::{BASE_KEY, Base, Shared, Upstream};
use crate::chance::entropy;
use crate::clock::{Clock, TokioClock};
use crate::http::{Transport, TransportError, Versions};
use crate::hub::Hub;
use http::{HeaderName, Uri};
use seawall_core::call::Candidate;
use seawall_core::classify::Override;
use seawall_core::engine::Engine;
use seawall_core::latch::CredentialId;
use seawall_core::policy::{GatePolicy, Policy, PolicyBuilder, PolicyError, Preset};
use seawall_core::profile::Provider;
use seawall_core::trace::Recording;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};

/// Largest body that is kept for a second send: 64 MiB, above any prompt and any upload that is worth repeating.
pub const REPLAY_BYTES_MAX_DEFAULT: usize = 64 << 20;
/// Largest answer that is read: 256 MiB.
pub const ANSWER_BYTES_MAX_DEFAULT: usize = 256 << 20;
/// Most bytes of answers that are held at once, those of calls that wait for their next attempt included: 1 GiB. A
/// server without an end to its bodies would otherwise fill the machine by as many calls as are in flight.
pub const ANSWERS_BYTES_MAX_DEFAULT: u64 = 1 << 30;

/// Gates of keys that there are at the most: 1 024, at most a KiB each.
pub const KEYS_MAX_DEFAULT: usize = 1_024;

/// Describes an [`Upstream`].
#[derive(Debug)]
#[must_use]
pub struct UpstreamBuilder {
    name: String,
    base: Base,
    provider: Option<Provider>,
    policy: Policy,
    overrides: Vec<Override>,
    credential: Option<(HeaderName, Credential)>,
    transport: Option<Transport>,
    versions: Versions,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
    recording: Recording,
    replay_bytes_max: usize,
    answer_bytes_max: usize,
    answers_bytes_max: u64,
    keys_max: usize,
    keys_policy: Option<GatePolicy>,
}

/// An upstream that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The address is no absolute http or https URL. Never repeats it: secrets travel in addresses.
    #[error("the address {0}; write it whole, as in https://api.example.com/v1")]
    Address(AddressFault),
    /// The gate's policy cannot be.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The transport cannot be built.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// What is wrong with an upstream's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFault {
    /// It is no URL.
    #[error("is no URL")]
    NoUrl,
    /// It has no scheme or no host.
    #[error("lacks a scheme or a host")]
    NotAbsolute,
    /// The scheme cannot be sent.
    #[error("has a scheme other than http and https")]
    Scheme,
    /// The port cannot be connected to.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// It holds a credential.
    #[error("holds a user name or password, which belongs in a credential")]
    UserInfo,
    /// It holds a query other than an `api-version`, or a fragment.
    #[error("holds a fragment, or a query other than api-version, which belongs to calls")]
    Query,
}

impl UpstreamBuilder {
    pub(super) fn new(base_url: &str) -> Result<Self, UpstreamError> {
        let base = Base::parse(base_url).map_err(UpstreamError::Address)?;
        Ok(Self {
            name: base.authority.to_string(),
            base,
            provider: None,
            policy: Policy::preset(Preset::Default),
            overrides: Vec::new(),
            credential: None,
            transport: None,
            versions: Versions::default(),
            clock: None,
            seed: None,
            recording: Recording::Off,
            replay_bytes_max: REPLAY_BYTES_MAX_DEFAULT,
            answer_bytes_max: ANSWER_BYTES_MAX_DEFAULT,
            answers_bytes_max: ANSWERS_BYTES_MAX_DEFAULT,
            keys_max: KEYS_MAX_DEFAULT,
            keys_policy: None,
        })
    }

    /// Its name in errors and ledgers; the host unless it is given.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Whose dialect it speaks; inferred from host and path unless it is given.
    pub const fn provider(mut self, provider: Provider) -> Self {
        self.provider = Some(provider);
        self
    }

    /// The policy of its calls and its gate; the preset `default` unless it is given.
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The user's own word on statuses and codes.
    pub fn classify(mut self, overrides: Vec<Override>) -> Self {
        self.overrides = overrides;
        self
    }

    /// A credential that is sent with each call, in place of any header of that name: a
    /// [`Secret`](crate::http::Secret), or a [`Credential`] that ends and is renewed.
    pub fn credential(mut self, header: HeaderName, credential: impl Into<Credential>) -> Self {
        self.credential = Some((header, credential.into()));
        self
    }

    /// The connections to use, with their TLS settings; own ones unless they are given.
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Speaks HTTP/2 without asking: for a server in clear text that is known to speak it (h2c). Under TLS nothing else
    /// is offered. A server that does not speak it is a failure to connect, before anything of a call has left.
    pub const fn http2_prior_knowledge(mut self) -> Self {
        self.versions = Versions::Http2PriorKnowledge;
        self
    }

    /// Speaks HTTP/1.1 alone, where else TLS would negotiate HTTP/2.
    pub const fn http1_only(mut self) -> Self {
        self.versions = Versions::Http1Only;
        self
    }

    /// The clock to live by; the runtime's unless it is given.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from: the same seed draws the same delays and makes the same keys. From the operating system
    /// unless it is given.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether [`Upstream::events`] has anything to say; off unless it is given.
    pub const fn recording(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// Largest body that is kept for a second send: a call with a larger one has one attempt, and ends with
    /// `body-too-large` where another would have followed.
    pub const fn replay_bytes_max(mut self, bytes: usize) -> Self {
        self.replay_bytes_max = bytes;
        self
    }

    /// Largest answer that is read; a larger one is a failed attempt.
    pub const fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    /// Most bytes of answers that are held at once, over all calls; an answer that would need more is a failed attempt.
    pub const fn answers_bytes_max(mut self, bytes: u64) -> Self {
        self.answers_bytes_max = bytes;
        self
    }

    /// Gates that there are at the most for [keys](Upstream::keyed); [`KEYS_MAX_DEFAULT`] unless it is given.
    pub const fn keys_max(mut self, gates: usize) -> Self {
        self.keys_max = gates;
        self
    }

    /// What holds for the gate of each [key](Upstream::keyed), beside what holds for the upstream's; the gate part of a
    /// policy alone counts. Unless it is given, a key has a breaker as the upstream has, and no limit or budget of its
    /// own.
    pub const fn keys_policy(mut self, policy: &Policy) -> Self {
        self.keys_policy = Some(policy.gate);
        self
    }

    /// The policy of keys' gates.
    fn policy_of_keys(&self) -> Result<GatePolicy, PolicyError> {
        if let Some(policy) = self.keys_policy {
            return Ok(policy);
        }
        let breaker = self.policy.gate.breaker();
        let bounded = PolicyBuilder::from_preset(Preset::Default).budget(None);
        Ok(bounded.breaker(breaker).build()?.gate)
    }

    /// The upstream. Nothing is connected before the first call.
    ///
    /// # Errors
    /// A gate's policy that cannot be, or a transport that cannot be built.
    pub fn build(self) -> Result<Upstream, UpstreamError> {
        let keys = Keys::new(self.keys_max, self.policy_of_keys()?);
        let seed = self.seed.unwrap_or_else(entropy);
        let clock = self.clock.unwrap_or_else(|| Arc::new(TokioClock::new()));
        let transport = match self.transport {
            Some(transport) => transport,
            None => Transport::builder()
                .clock(Arc::clone(&clock))
                .seed(seed)
                .build()?,
        };
        let mut engine = Engine::new(seed, self.recording);
        let gate = engine.configure(clock.now(), BASE_KEY, &self.policy.gate, &[], None)?;
        engine.hold(gate)?;
        let mut candidate = Candidate::at(gate);
        if self.credential.is_some() {
            candidate.credential = (CredentialId(1), 1);
        }
        let badge = match self.credential {
            Some((header, credential)) => credential.at(header, &clock),
            None => Badge::Lasting(None),
        };
        let shared = Shared {
            name: self.name,
            base: self.base,
            provider: self.provider,
            policy: RwLock::new(self.policy.call),
            overrides: self.overrides,
            badge,
            transport,
            versions: self.versions,
            hub: Hub::new(engine, clock),
            candidate,
            keys,
            replay_bytes_max: self.replay_bytes_max,
            answer_bytes_max: self.answer_bytes_max,
            answers: Arc::new(Holding::new(self.answers_bytes_max)),
            seed,
            keys_made: AtomicU64::new(0),
        };
        Ok(Upstream {
            shared: Arc::new(shared),
            door: Door::Base,
        })
    }
}

impl Base {
    fn parse(url: &str) -> Result<Self, AddressFault> {
        // The parser drops a fragment without a word.
        if url.contains('#') {
            return Err(AddressFault::Query);
        }
        let uri: Uri = url.parse().map_err(|_| AddressFault::NoUrl)?;
        let (Some(scheme), Some(authority)) = (uri.scheme().cloned(), uri.authority().cloned()) else {
            return Err(AddressFault::NotAbsolute);
        };
        if scheme != http::uri::Scheme::HTTP && scheme != http::uri::Scheme::HTTPS {
            return Err(AddressFault::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(AddressFault::UserInfo);
        }
        let host = authority.host();
        if host.is_empty() {
            return Err(AddressFault::NotAbsolute);
        }
        let port = authority.as_str().strip_prefix(host).unwrap_or_default();
        let port_fits = matches!(port, "" | ":") || authority.port_u16().is_some_and(|port| port > 0);
        if !port_fits {
            return Err(AddressFault::Port);
        }
        let version = match uri.query() {
            None => None,
            Some(query) if super::is_version(query) && !query.contains('&') => Some(query.to_owned()),
            Some(_) => return Err(AddressFault::Query),
        };
        let path = uri.path().trim_end_matches('/').to_owned();
        Ok(Self {
            scheme,
            authority,
            path,
            version,
        })
    }
}
