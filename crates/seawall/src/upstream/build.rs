use super::base::{Base, Known};
use super::credential::{Badge, Credential};
use super::hold::Holding;
use super::keys::{Door, Keys};
use super::neighbours::{Above, Neighbours};
use super::{Shared, Upstream};
use crate::chance::entropy;
use crate::clock::{Clock, TokioClock};
use crate::http::{Transport, TransportError, Versions};
use crate::hub::Hub;
use http::HeaderName;
use seawall_core::call::Candidate;
use seawall_core::classify::Override;
use seawall_core::engine::Engine;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::policy::{GatePolicy, Policy, PolicyBuilder, PolicyError, Preset};
use seawall_core::profile::Provider;
use seawall_core::time::Instant;
use seawall_core::trace::Recording;
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
/// Gates of models that there are at the most: 256, above what any upstream has.
const MODELS_MAX: usize = 256;

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
    recording: Option<Recording>,
    beside: Option<Upstream>,
    quota: Option<Arc<str>>,
    parent: Option<Arc<str>>,
    dedup: Option<Arc<str>>,
    key_header: Option<HeaderName>,
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
    /// It is to be built beside another one, and has a setting that holds for the whole engine.
    #[error(
        "the {setting} is the engine's: give it to the upstream that was built first, and none to one beside it"
    )]
    EnginesOwn {
        /// The setting.
        setting: &'static str,
    },
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
            recording: None,
            beside: None,
            quota: None,
            parent: None,
            dedup: None,
            key_header: None,
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
        self.recording = Some(recording);
        self
    }

    /// In the same engine as `other`, so that one call may move between the two, by a
    /// [`Route`](crate::route::Route): for upstreams that stand in for each other. Each keeps its own gate, policy,
    /// credential and keys.
    ///
    /// Clock, seed and recording are the engine's, and so are those of `other`; the connections are `other`'s, too,
    /// unless [`transport`](Self::transport) is given. [`drain`](Upstream::drain) and
    /// [`events`](Upstream::events) are about all that are beside each other. An upstream that is dropped leaves the
    /// others as they are.
    ///
    /// ```
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::{Route, Upstream};
    ///
    /// let main = Upstream::builder("https://api.example.com/v1")?.build()?;
    /// let spare = Upstream::builder("https://spare.example.com/v1")?.beside(&main).build()?;
    /// let route = Route::builder().to(&main).to(&spare).build()?;
    /// # Ok(()) }
    /// # example().unwrap();
    /// ```
    pub fn beside(mut self, other: &Upstream) -> Self {
        self.beside = Some(other.clone());
        self
    }

    /// The quota that it draws on, by a name that others beside it share: one account is one quota. What a server says of
    /// limits and cool-downs to one of them holds for all, and so does the tightest of what their policies say of
    /// limits; a call that was throttled does not move on inside it (rule K3). Its own unless it is given: then each of
    /// its models in a [`Route`](crate::route::Route) has a quota of its own.
    pub fn quota(mut self, name: impl Into<Arc<str>>) -> Self {
        self.quota = Some(name.into());
        self
    }

    /// A budget above several upstreams, by a name that others beside it share: extras of all of them together stay
    /// within the tightest of what their policies say of budgets (rule G7). None unless it is given.
    pub fn parent(mut self, name: impl Into<Arc<str>>) -> Self {
        self.parent = Some(name.into());
        self
    }

    /// The store of idempotency keys behind it, by a name that others beside it share: within one store, a write with a
    /// key may move from one upstream to the other after an attempt that may have acted (rule E4). Its own unless it is
    /// given.
    pub fn dedup(mut self, name: impl Into<Arc<str>>) -> Self {
        self.dedup = Some(name.into());
        self
    }

    /// It honours idempotency keys in this header: each POST is given one (rule E3), whoever's dialect it speaks. As
    /// its provider documents unless it is given.
    pub fn idempotency(mut self, header: HeaderName) -> Self {
        self.key_header = Some(header);
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
        let (neighbours, transport) = self.neighbours()?;
        let hub = Arc::clone(&neighbours.hub);
        let member = neighbours.member();
        let place = Place {
            member,
            gate_key: neighbours.gate_key(),
            parent: self.parent,
            quota: self.quota,
            dedup: self.dedup,
        };
        let placed = hub.with(|engine, now| {
            let placed = place.configure(&neighbours, engine, now, &self.policy.gate)?;
            engine.hold(placed.gate)?;
            Ok::<_, PolicyError>(placed)
        })?;
        let mut candidate = Candidate::at(placed.gate);
        if self.credential.is_some() {
            candidate.credential = (Neighbours::credential(member), 1);
        }
        candidate.dedup = neighbours.domain(member, place.dedup.as_ref());
        let badge = match self.credential {
            Some((header, credential)) => credential.at(header, hub.clock()),
            None => Badge::Lasting(None),
        };
        let shared = Shared {
            name: self.name.into(),
            base: self.base,
            paths: Known::default(),
            provider: self.provider,
            policy: RwLock::new(Arc::new(self.policy.call)),
            overrides: self.overrides,
            badge,
            transport,
            versions: self.versions,
            hub,
            neighbours,
            place,
            candidate,
            quota: placed.quota,
            keys,
            models: Keys::new(MODELS_MAX, GatePolicy::UNBOUNDED),
            key_header: self.key_header,
            replay_bytes_max: self.replay_bytes_max,
            answer_bytes_max: self.answer_bytes_max,
            answers: Arc::new(Holding::new(self.answers_bytes_max)),
        };
        Ok(Upstream {
            shared: Arc::new(shared),
            door: Door::Base,
        })
    }

    /// The engine that it lives in, and its connections.
    fn neighbours(&self) -> Result<(Arc<Neighbours>, Transport), UpstreamError> {
        if let Some(other) = &self.beside {
            for (setting, is_given) in [
                ("clock", self.clock.is_some()),
                ("seed", self.seed.is_some()),
                ("recording", self.recording.is_some()),
            ] {
                if is_given {
                    return Err(UpstreamError::EnginesOwn { setting });
                }
            }
            let transport = self.transport.as_ref().unwrap_or(&other.shared.transport);
            return Ok((Arc::clone(&other.shared.neighbours), transport.clone()));
        }
        let seed = self.seed.unwrap_or_else(entropy);
        let clock = self.clock.clone().unwrap_or_else(|| Arc::new(TokioClock::new()));
        let transport = match &self.transport {
            Some(transport) => transport.clone(),
            None => Transport::builder()
                .clock(Arc::clone(&clock))
                .seed(seed)
                .build()?,
        };
        let engine = Engine::new(seed, self.recording.unwrap_or(Recording::Off));
        let hub = Hub::new(engine, clock);
        Ok((Arc::new(Neighbours::new(hub, seed)), transport))
    }
}

/// Where an upstream stands in its engine.
pub(super) struct Place {
    pub(super) member: u32,
    pub(super) gate_key: GateKey,
    pub(super) parent: Option<Arc<str>>,
    pub(super) quota: Option<Arc<str>>,
    pub(super) dedup: Option<Arc<str>>,
}

/// The gates of an upstream that was placed.
pub(super) struct Placed {
    pub(super) gate: GateId,
    /// The quota that it shares, where it shares one.
    pub(super) quota: Option<GateId>,
}

impl Place {
    /// Makes the upstream's gate, or gives it another policy, and tells the gates above.
    pub(super) fn configure(
        &self,
        neighbours: &Neighbours,
        engine: &mut Engine,
        now: Instant,
        policy: &GatePolicy,
    ) -> Result<Placed, PolicyError> {
        let mut enter = |above, name: Option<&Arc<str>>| {
            name.map(|name| neighbours.enter(engine, now, (above, name), self.member, policy))
                .transpose()
        };
        let parent = enter(Above::Parent, self.parent.as_ref())?;
        let quota = enter(Above::Quota, self.quota.as_ref())?;
        let gate = engine.configure(now, self.gate_key, policy, parent.as_slice(), quota)?;
        Ok(Placed { gate, quota })
    }

    /// The names of the gates above.
    pub(super) fn above(&self) -> impl Iterator<Item = (Above, &Arc<str>)> {
        let parent = self.parent.iter().map(|name| (Above::Parent, name));
        parent.chain(self.quota.iter().map(|name| (Above::Quota, name)))
    }
}
