//! A named server, and the gate that all calls to it share.
//!
//! What can go wrong when each call fends for itself: a thousand callers learn of one rate limit a thousand times, a
//! retry is charged to nobody, and an outage is met by everyone's full patience. So calls go through an
//! [`Upstream`], which keeps budget, breaker, limits and cool-down for all of them; clones are the same upstream.
//! Its promises about load hold for one process.

mod attempt;
mod build;
mod credential;
mod end;
mod estimate;
mod hold;
mod keys;
mod refresh;
mod send;
mod state;
mod usage;

pub use build::{
    ANSWER_BYTES_MAX_DEFAULT, ANSWERS_BYTES_MAX_DEFAULT, AddressFault, KEYS_MAX_DEFAULT,
    REPLAY_BYTES_MAX_DEFAULT, UpstreamBuilder, UpstreamError,
};
pub use credential::Credential;
pub use end::{Answer, AttemptNote, CallError, RefusedAnswer, UnknownWrite};
pub use state::{KeyState, KeysState, UpstreamState};

use crate::body::RequestBody;
use crate::http::{Outgoing, Resend, Transport, Versions};
use crate::hub::Hub;
use crate::retry::Rules;
use bytes::Bytes;
use credential::Badge;
use estimate::Estimate;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use keys::{Door, Keys};
use seawall_core::call::{Candidate, Spec};
use seawall_core::classify::Override;
use seawall_core::engine::GateLoad;
use seawall_core::facts::Replay;
use seawall_core::gate::{GateId, GateKey};
use seawall_core::policy::{CallPolicy, Mode, Policy, PolicyError};
use seawall_core::profile::{KEY_HEADER, Profile, Provider};
use seawall_core::rng::Rng;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::Event;
use seawall_core::verdict::Endpoint;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

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
    name: String,
    base: Base,
    provider: Option<Provider>,
    /// What calls begin with; the gate has its own part.
    policy: RwLock<CallPolicy>,
    overrides: Vec<Override>,
    badge: Badge,
    transport: Transport,
    versions: Versions,
    hub: Arc<Hub>,
    candidate: Candidate,
    keys: Keys,
    replay_bytes_max: usize,
    answer_bytes_max: usize,
    answers: Arc<hold::Holding>,
    seed: u64,
    keys_made: AtomicU64,
}

/// The key of an upstream's own gate; those of its keys follow.
const BASE_KEY: GateKey = GateKey(0);

/// Where an upstream's paths begin.
#[derive(Clone, Debug)]
struct Base {
    scheme: http::uri::Scheme,
    authority: http::uri::Authority,
    /// Without a slash at its end; empty for the root.
    path: String,
    /// `api-version=…`, for every call that names none.
    version: Option<String>,
}

/// One call to make.
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

/// A call made ready: what every attempt sends, and what the engine is told.
struct Prepared {
    out: Outgoing,
    profile: &'static Profile,
    endpoint: Endpoint,
    estimate: Estimate,
    replay: Replay,
    key: Option<HeaderValue>,
    resend: Resend,
    /// The body cannot be kept for a second send.
    once: bool,
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

    /// Attempts that are in flight now, those of its keys included.
    pub fn attempts_out(&self) -> u64 {
        self.shared.hub.with(|engine, _| engine.permits_out())
    }

    /// Calls that have begun and not ended, those of its keys included.
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
        let door = shared.keys.door(&shared.hub, shared.candidate.gate, key);
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
        let base = self.shared.candidate.gate;
        let configure = |key, parents: &[_], quota| {
            let configured = self
                .shared
                .hub
                .with(|engine, now| engine.configure(now, key, &policy.gate, parents, quota));
            configured.map(drop)
        };
        match &self.door {
            Door::Base => {
                configure(BASE_KEY, &[], None)?;
                let calls = &self.shared.policy;
                *calls.write().unwrap_or_else(PoisonError::into_inner) = policy.call;
                Ok(())
            }
            Door::Own(own) => configure(own.gate_key, &[base], Some(base)),
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

    /// Sends nothing more, for good: attempts that are out may end, and calls that wait end with `draining`.
    pub fn drain(&self) {
        self.shared.hub.with(|engine, now| engine.drain_calls(now));
    }

    /// What happened since the last time this was asked, in order; only of an upstream that was built to record.
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
        Rules::shared(&self.shared.hub, candidate, &self.call_policy())
    }

    fn prepare(&self, call: &Call, url: Uri) -> Prepared {
        let shared = &*self.shared;
        let path = url.path().to_owned();
        let provider = shared
            .provider
            .unwrap_or_else(|| Provider::inferred(url.host(), &path));
        let profile = provider.profile();
        let method = call.method.as_str();
        let body = match call.method {
            Method::POST => RequestBody::read(&call.body),
            _ => RequestBody::default(),
        };
        let mut facts = body.facts;
        let mut headers = call.headers.clone();
        let named = headers.get(KEY_HEADER).cloned();
        let makes_one = profile.honours_keys() && call.method == Method::POST;
        let key = call
            .key
            .clone()
            .or(named)
            .or_else(|| makes_one.then(|| self.make_key()));
        if let Some(key) = &key {
            headers.insert(HeaderName::from_static(KEY_HEADER), key.clone());
            facts.key = true;
        }
        if let Badge::Lasting(Some((name, secret))) = &shared.badge {
            headers.insert(name.clone(), secret.to_value());
        }
        let replay = call
            .replay
            .unwrap_or_else(|| profile.replay_of(method, &path, facts));
        let once = call.body.len() > shared.replay_bytes_max;
        let resend = match replay {
            Replay::Idempotent | Replay::Keyed | Replay::Declared if !once => Resend::StaleOnce,
            Replay::Idempotent | Replay::Keyed | Replay::Declared | Replay::Unsafe => Resend::Never,
        };
        let endpoint = profile.endpoint(method, &path, facts);
        let estimate = Estimate::of(endpoint, &path, &body);
        let out = Outgoing {
            method: call.method.clone(),
            url,
            headers,
            body: call.body.clone(),
            versions: shared.versions,
        };
        Prepared {
            out,
            profile,
            endpoint,
            estimate,
            replay,
            key,
            resend,
            once,
        }
    }

    /// A key for one call, before its first attempt (rule E3): a UUID of version 7.
    fn make_key(&self) -> HeaderValue {
        let shared = &*self.shared;
        let stream = shared.keys_made.fetch_add(1, Ordering::Relaxed);
        // Streams of calls count up from the first; those of keys count down from the last.
        let mut rng = Rng::new(shared.seed, u64::MAX - stream);
        let mut random = [0; 10];
        for (place, byte) in random.iter_mut().zip(
            rng.next_u64()
                .to_le_bytes()
                .into_iter()
                .chain(rng.next_u64().to_le_bytes()),
        ) {
            *place = byte;
        }
        let unix_ms = u64::try_from(shared.hub.clock().wall().unix_ms).unwrap_or(0);
        let key = uuid::Builder::from_unix_timestamp_millis(unix_ms, &random).into_uuid();
        HeaderValue::from_str(&key.to_string()).expect("a UUID is a header value")
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
    fn call_policy(&self) -> CallPolicy {
        let policy = &self.shared.policy;
        *policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn spec<'s>(
        policy: &'s CallPolicy,
        call: &Call,
        prepared: &Prepared,
        route: &'s [Candidate],
        now: Instant,
    ) -> Spec<'s> {
        let deadline = call
            .deadline
            .unwrap_or_else(|| policy.deadline_for(prepared.endpoint));
        Spec {
            retries_max: call.retries_max,
            deadline: now.after(deadline),
            endpoint: prepared.endpoint,
            tokens_in: prepared.estimate.tokens_in,
            tokens_out: prepared.estimate.tokens_out,
            tokens_guessed: prepared.estimate.tokens_guessed,
            once: prepared.once,
            ..Spec::new(now, route, policy, prepared.replay)
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}

impl Base {
    /// The address of `path` below this base.
    fn join(&self, path: &str) -> Result<Uri, http::Error> {
        let slash = if path.starts_with('/') { "" } else { "/" };
        let path = format!("{slash}{path}");
        let path = match path.strip_prefix("/v1") {
            Some(rest) if self.is_deployment() && rest.starts_with('/') => rest,
            Some(_) | None => &path,
        };
        // The longest end of the base that the path repeats, in whole segments.
        let starts = self.path.match_indices('/').map(|(at, _)| at);
        let repeated = starts.into_iter().find(|at| {
            path.strip_prefix(&self.path[*at..])
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        });
        let base = &self.path[..repeated.unwrap_or(self.path.len())];
        let (mark, version) = match (&self.version, path.split_once('?')) {
            (Some(version), None) => ("?", version.as_str()),
            (Some(version), Some((_, query))) if !query.split('&').any(is_version) => ("&", version.as_str()),
            (Some(_) | None, _) => ("", ""),
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(format!("{base}{path}{mark}{version}"))
            .build()
    }

    /// Whether it is a deployment of Azure, whose version is a query.
    fn is_deployment(&self) -> bool {
        self.path.contains("/openai/deployments/")
    }
}

/// Whether this part of a query says which version of an API is meant: the one thing of a query that is an upstream's,
/// and no secret.
fn is_version(pair: &str) -> bool {
    pair.starts_with("api-version=")
}

#[cfg(test)]
mod tests;
