//! A named server, and the gate that all calls to it share.
//!
//! What can go wrong when each call fends for itself: a thousand callers learn of one rate limit a thousand times, a
//! retry is charged to nobody, and an outage is met by everyone's full patience. So calls go through an
//! [`Upstream`], which keeps budget, breaker, limits and cool-down for all of them; clones are the same upstream.
//! Its promises about load hold for one process.

mod addressed;
mod attempt;
mod base;
mod build;
mod credential;
mod end;
mod estimate;
mod head;
mod hold;
mod keys;
mod neighbours;
mod open;
mod opened;
mod refresh;
mod send;
mod state;
mod watch;
mod written;

pub(crate) use addressed::OwnCredential;
pub use build::{
    ANSWER_BYTES_MAX_DEFAULT, ANSWERS_BYTES_MAX_DEFAULT, AddressFault, KEYS_MAX_DEFAULT,
    REPLAY_BYTES_MAX_DEFAULT, UpstreamBuilder, UpstreamError,
};
pub use credential::Credential;
pub use end::{Answer, AttemptNote, Attempts, CallError, RefusedAnswer, UnknownWrite};
pub use open::HOLD_BYTES_MAX;
pub use opened::{Form, Opened, StreamError};
pub(crate) use send::{KeyOfCall, Made, Stop, Way, without_candidate};
pub use state::{KeyState, KeysState, UpstreamState};

use crate::body::RequestBody;
use crate::http::{Outgoing, Resend, Transport, Versions};
use crate::hub::Hub;
use crate::retry::Rules;
use base::{Base, Known};
use build::Place;
use bytes::Bytes;
use credential::Badge;
use estimate::Estimate;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use keys::{Door, Keys};
use neighbours::Neighbours;
use seawall_core::call::Candidate;
use seawall_core::classify::Override;
use seawall_core::engine::GateLoad;
use seawall_core::facts::Replay;
use seawall_core::gate::GateId;
use seawall_core::policy::{CallPolicy, Mode, Policy, PolicyError};
use seawall_core::profile::{KEY_HEADER, Profile, Provider};
use seawall_core::time::Duration;
use seawall_core::trace::Event;
use seawall_core::verdict::Endpoint;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// A server that calls go to, with the state that they share. Cheap to clone; clones are the same upstream.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::upstream::{Call, Upstream};
///
/// let upstream = Upstream::builder("https://api.example.com/v1")?.build()?;
/// let answer = upstream.call(Call::get("/models")).await?;
/// println!("{} after {} attempts", answer.status, answer.attempts.len());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Upstream {
    shared: Arc<Shared>,
    door: Door,
}

struct Shared {
    name: Arc<str>,
    base: Base,
    /// Paths that calls went to before.
    paths: Known,
    provider: Option<Provider>,
    /// What calls begin with; the gate has its own part.
    policy: RwLock<Arc<CallPolicy>>,
    overrides: Vec<Override>,
    badge: Badge,
    transport: Transport,
    versions: Versions,
    hub: Arc<Hub>,
    /// What it shares with those beside it.
    neighbours: Arc<Neighbours>,
    place: Place,
    candidate: Candidate,
    /// The quota that it shares with others, where it does.
    quota: Option<GateId>,
    keys: Keys,
    /// The gates of its models in routes.
    models: Keys,
    /// Where it takes idempotency keys, where that is not its provider's to say.
    key_header: Option<HeaderName>,
    replay_bytes_max: usize,
    answer_bytes_max: usize,
    answers: Arc<hold::Holding>,
}

impl Drop for Shared {
    /// The engine may outlive it, for those that were beside it.
    fn drop(&mut self) {
        self.hub.with(|engine, now| {
            for gate in self.keys.gates().into_iter().chain(self.models.gates()) {
                engine.retire(now, gate);
            }
            engine.let_go(self.candidate.gate);
            engine.retire(now, self.candidate.gate);
            for above in self.place.above() {
                self.neighbours.leave(engine, now, above, self.place.member);
            }
        });
    }
}

/// The gate of a model in a route, held for as long as this is there.
#[derive(Clone, Default)]
pub(crate) struct ModelGate(Option<Door>);

/// One call to make: a method, a path, and what holds for this call alone.
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Call, Duration, Replay};
///
/// let read = Call::get("/v1/models").with_deadline(Duration::from_secs(5)).with_retries_max(1);
/// // A write goes again only where a repeat is safe: by a key that the server honours, or by your word.
/// let paid = Call::post_json("/v1/payments", r#"{"amount":5}"#).with_key("order-7".parse()?);
/// let asked = Call::post_json("/v1/search", r#"{"words":"tide"}"#).with_replay(Replay::Declared);
/// # drop((read, paid, asked));
/// # Ok(()) }
/// # example().unwrap();
/// ```
#[derive(Clone)]
pub struct Call {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
    replay: Option<Replay>,
    key: Option<HeaderValue>,
    deadline: Option<Duration>,
    retries_max: Option<u32>,
}

impl Call {
    /// A call with this method and path, which may hold a query. The path is joined to the upstream's base address;
    /// whole segments with which it repeats the base's end stand once (`/openai/v1` and `/v1/models` are
    /// `/openai/v1/models`). Below a deployment of Azure, which has no `/v1`, the path's is left out; the base's
    /// `api-version` goes with every call that names none.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            replay: None,
            key: None,
            deadline: None,
            retries_max: None,
        }
    }

    /// A GET.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// A POST with a JSON body, sent byte for byte.
    pub fn post_json(path: impl Into<String>, body: impl Into<Bytes>) -> Self {
        let json = HeaderValue::from_static("application/json");
        Self::new(Method::POST, path)
            .with_header(http::header::CONTENT_TYPE, json)
            .with_body(body)
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Says what a repeat would do, instead of what the method, the provider and the key say (rule E1).
    #[must_use]
    pub const fn with_replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// The caller's own idempotency key, the same for every attempt. Where the upstream honours keys and none is
    /// given, one is made for each write.
    #[must_use]
    pub fn with_key(mut self, key: HeaderValue) -> Self {
        self.key = Some(key);
        self
    }

    /// How long this call may take up to its answer, instead of the policy's deadline.
    #[must_use]
    pub const fn with_deadline(mut self, length: Duration) -> Self {
        self.deadline = Some(length);
        self
    }

    /// As [`with_replay`](Self::with_replay), where the call does not say so itself.
    pub(crate) fn with_replay_unless_said(mut self, replay: Option<Replay>) -> Self {
        self.replay = self.replay.or(replay);
        self
    }

    /// Fewer retries than the policy's.
    #[must_use]
    pub const fn with_retries_max(mut self, retries: u32) -> Self {
        self.retries_max = Some(retries);
        self
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.split('?').next().unwrap_or("");
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("path", &path)
            .finish_non_exhaustive()
    }
}

/// A call made ready for one candidate: what every attempt there sends, and what the engine is told.
pub(crate) struct Prepared {
    out: Outgoing,
    profile: &'static Profile,
    endpoint: Endpoint,
    estimate: Estimate,
    replay: Replay,
    key: Option<HeaderValue>,
    resend: Resend,
    /// The body cannot be kept for a second send.
    once: bool,
    deadline: Option<Duration>,
    retries_max: Option<u32>,
}

impl Upstream {
    /// Begins to describe the upstream at this address.
    ///
    /// # Errors
    /// The address is not an absolute http or https URL.
    pub fn builder(base_url: &str) -> Result<UpstreamBuilder, UpstreamError> {
        UpstreamBuilder::new(base_url)
    }

    /// Its name, in errors and ledgers.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Attempts that are in flight now in its engine: those of its keys, and of upstreams beside it, included.
    pub fn attempts_out(&self) -> u64 {
        self.shared.hub.with(|engine, _| engine.permits_out())
    }

    /// Calls that have begun and not ended in its engine: those of its keys, and of upstreams beside it, included.
    pub fn calls_alive(&self) -> usize {
        self.shared.hub.with(|engine, _| engine.calls_alive())
    }

    /// What its gate holds now: cheaper than [`state`](Self::state), which says much more.
    pub fn load(&self) -> GateLoad {
        let gate = self.gate();
        self.shared.hub.with(|engine, _| engine.load(gate))
    }

    /// The same server behind a gate of its own for this key (a customer, a model, a job), under this upstream's gate:
    /// what is sent through it passes both, so that one key's failures, limits and waits are its own, and the sum of
    /// all is what the upstream allows. The budget for retries and what the server says of its limits are the
    /// upstream's. Asked again with the same key, it is the same gate.
    ///
    /// The gate has the policy of [`UpstreamBuilder::keys_policy`]. There are as many as
    /// [`UpstreamBuilder::keys_max`] says: one that nobody has a handle of, and that stands as a new one would, goes
    /// where another needs its place. Where none can go, nothing is refused: the handle has no gate of its own, passes
    /// the upstream's alone, and [`state`](Self::state) says so; ask again later.
    ///
    /// ```
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use seawall::{Policy, Upstream};
    ///
    /// let each = Policy::builder().concurrency(4).requests_per_minute(Some(60)).build()?;
    /// let upstream = Upstream::builder("https://api.example.com/v1")?
    ///     .keys_policy(&each)
    ///     .build()?;
    /// let customer = upstream.keyed("customer-42");
    /// assert_eq!(customer.state().key.unwrap().key, "customer-42");
    /// # Ok(()) }
    /// # example().unwrap();
    /// ```
    #[must_use]
    pub fn keyed(&self, key: &str) -> Self {
        let shared = Arc::clone(&self.shared);
        let base = shared.candidate.gate;
        let quota = shared.quota.unwrap_or(base);
        let door = shared.keys.door(&shared.neighbours, base, Some(quota), key);
        Self { shared, door }
    }

    /// Gives the upstream another policy and keeps its state: calls that have begun keep theirs, a lower limit drains,
    /// an open breaker keeps its time, and what was charged stays charged. Its keys keep the policy that they have.
    ///
    /// Of a [`keyed`](Self::keyed) one it changes that key's gate alone, for as long as the gate is there; its calls
    /// go on with the upstream's call policy.
    ///
    /// # Errors
    /// [`PolicyError::GateGone`]: a keyed one that has no gate of its own.
    pub fn configure(&self, policy: &Policy) -> Result<(), PolicyError> {
        let shared = &*self.shared;
        let base = shared.candidate.gate;
        match &self.door {
            Door::Base => {
                shared.hub.with(|engine, now| {
                    let neighbours = &shared.neighbours;
                    let placed = shared.place.configure(neighbours, engine, now, &policy.gate);
                    placed.map(drop)
                })?;
                *shared.policy.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy.call);
                Ok(())
            }
            Door::Own(own) => shared.hub.with(|engine, now| {
                let quota = shared.quota.unwrap_or(base);
                let configured = engine.configure(now, own.gate_key, &policy.gate, &[base], Some(quota));
                configured.map(drop)
            }),
            Door::None(_) => Err(PolicyError::GateGone),
        }
    }

    /// Latches it open, closed or watching, with or without a breaker, or gives it back ([`Mode::Auto`]), which also ends a
    /// cool-down and forgets what the server told of its limits. Of a [`keyed`](Self::keyed) one, that of its own
    /// gate; those are the upstream's.
    ///
    /// # Errors
    /// [`PolicyError::GateGone`]: a keyed one that has no gate of its own.
    pub fn force(&self, mode: Mode) -> Result<(), PolicyError> {
        let gate = match &self.door {
            Door::Base => self.shared.candidate.gate,
            Door::Own(own) => own.gate,
            Door::None(_) => return Err(PolicyError::GateGone),
        };
        self.shared.hub.with(|engine, now| engine.force(now, gate, mode));
        Ok(())
    }

    /// Sends nothing more, for good: attempts that are out may end, and calls that wait end with `draining`. Those
    /// beside it neither.
    pub fn drain(&self) {
        self.shared.hub.with(|engine, now| engine.drain_calls(now));
    }

    /// What happened in its engine since the last time this was asked, in order; only of an upstream that was built to
    /// record.
    pub fn events(&self) -> Vec<Event> {
        self.shared.hub.drain()
    }

    /// The engine that its calls share, for drivers and pages.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.shared.hub
    }

    pub(crate) fn rules(&self) -> Rules<'_> {
        let mut candidate = self.shared.candidate;
        candidate.gate = self.gate();
        Rules::kept(&self.shared.hub, candidate, Arc::clone(&self.policy_now()))
    }

    /// Makes the call ready for this upstream. `key_of_call` is what all its candidates have in common.
    pub(crate) fn prepare(&self, call: Call, key_of_call: &KeyOfCall) -> Made {
        let shared = &*self.shared;
        let url = shared.paths.join(&shared.base, &call.path)?;
        let provider = shared
            .provider
            .unwrap_or_else(|| Provider::inferred(url.host(), url.path()));
        let profile = provider.profile();
        let method = call.method.as_str();
        let body = match call.method {
            Method::POST => RequestBody::read(&call.body),
            _ => RequestBody::default(),
        };
        let mut facts = body.facts;
        let mut headers = call.headers;
        let key_header = match &shared.key_header {
            Some(header) => header.clone(),
            None => HeaderName::from_static(KEY_HEADER),
        };
        let is_honoured = profile.honours_keys() || shared.key_header.is_some();
        let given = call.key.or_else(|| headers.get(&key_header).cloned());
        let key = match given {
            Some(given) => Some(key_of_call.get_or_init(|| given).clone()),
            None if is_honoured && call.method == Method::POST => {
                let made = || shared.neighbours.idempotency_key();
                Some(key_of_call.get_or_init(made).clone())
            }
            None => None,
        };
        if let Some(key) = &key {
            headers.insert(key_header, key.clone());
            facts.key = true;
        }
        let replay = call.replay.unwrap_or_else(|| {
            match profile.replay_of(method, url.path(), facts) {
                // The user's word on this upstream stands before what its provider documents.
                Replay::Unsafe if facts.key && shared.key_header.is_some() => Replay::Keyed,
                replay => replay,
            }
        });
        let once = call.body.len() > shared.replay_bytes_max;
        let resend = match replay {
            Replay::Idempotent | Replay::Keyed | Replay::Declared if !once => Resend::StaleOnce,
            Replay::Idempotent | Replay::Keyed | Replay::Declared | Replay::Unsafe => Resend::Never,
        };
        let endpoint = profile.endpoint(method, url.path(), facts);
        let estimate = Estimate::of(endpoint, url.path(), &body);
        Ok(Prepared {
            out: Outgoing {
                method: call.method,
                url,
                headers,
                body: call.body,
                versions: shared.versions,
                credential: shared.badge.lasting(),
            },
            profile,
            endpoint,
            estimate,
            replay,
            key,
            resend,
            once,
            deadline: call.deadline,
            retries_max: call.retries_max,
        })
    }

    /// The header that it was said to take idempotency keys in.
    pub(crate) fn key_header(&self) -> Option<&HeaderName> {
        self.shared.key_header.as_ref()
    }

    /// Whether the other is this upstream, keyed or not.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether calls of the other come to the same gate.
    pub(crate) fn is_same_door(&self, other: &Self) -> bool {
        self.is_same(other) && self.gate() == other.gate()
    }

    /// Whether a call may move from one to the other.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared.neighbours, &other.shared.neighbours)
    }

    /// The text with its credential blotted out, should a server repeat it.
    #[cfg(feature = "ai")]
    pub(crate) fn blotted(&self, text: String) -> String {
        self.shared.badge.blotted(text)
    }

    /// Whether its calls have a credential that is not their caller's.
    pub(crate) fn has_credential(&self) -> bool {
        match &self.shared.badge {
            Badge::Lasting(secret) => secret.is_some(),
            Badge::Ending(_, _) => true,
        }
    }

    /// The gate of one of its models: below its own, with a cool-down and a quota of its own where the upstream shares
    /// none. Where no gate is left, and behind a key, it is the upstream's, or the key's.
    pub(crate) fn gate_of_model(&self, model: &str) -> ModelGate {
        let shared = &*self.shared;
        match &self.door {
            Door::Base => {
                let base = shared.candidate.gate;
                let door = shared.models.door(&shared.neighbours, base, shared.quota, model);
                ModelGate(Some(door))
            }
            Door::Own(_) | Door::None(_) => ModelGate::default(),
        }
    }

    /// The upstream as a candidate of a route's call that begins now.
    pub(crate) fn candidate_at(&self, gate: &ModelGate) -> Candidate {
        let shared = &*self.shared;
        let mut candidate = self.candidate();
        if let Some(gate) = gate.0.as_ref().and_then(Door::gate) {
            candidate.gate = gate;
        }
        let provider = shared
            .provider
            .unwrap_or_else(|| Provider::inferred(Some(shared.base.authority.host()), &shared.base.path));
        // Whoever names the store behind it says that there is one.
        candidate.honours_keys =
            shared.key_header.is_some() || shared.place.dedup.is_some() || provider.profile().honours_keys();
        candidate
    }

    /// Its name, to be kept.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.shared.name)
    }

    /// The gate that its calls come to first.
    fn gate(&self) -> GateId {
        self.door.gate().unwrap_or(self.shared.candidate.gate)
    }

    /// The upstream as a candidate of a call that begins now.
    fn candidate(&self) -> Candidate {
        let mut candidate = self.shared.candidate;
        candidate.gate = self.gate();
        if let Badge::Ending(_, refresher) = &self.shared.badge {
            candidate.credential.1 = refresher.newest();
        }
        candidate
    }

    /// The policy that a call keeps which begins now.
    pub(crate) fn call_policy(&self) -> CallPolicy {
        **self.policy_now()
    }

    fn policy_now(&self) -> RwLockReadGuard<'_, Arc<CallPolicy>> {
        let policy = &self.shared.policy;
        policy.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
