//! The mock server: a plan on real sockets, over HTTP/1.1 and HTTP/2, in clear text or TLS.
//!
//! What can go wrong: a mock whose faults are not what their names say ("reset" that is a clean end, "drop" that is
//! a 500) proves nothing about a client. A server library keeps connections healthy by design and gets in the way,
//! so HTTP/1.1 is read and written by hand, HTTP/2 has its frames from a library that lets others stand between them, and
//! every fault is tested with a raw socket.

mod control;
mod counter;
mod dial;
mod dialect;
mod exchange;
mod http1;
mod http2;
mod journal;
mod listener;
mod live;
mod pace;
mod score;
mod socket;
mod throttle;
mod tls;
mod verify;
mod work;

pub mod blocking;

pub(crate) use counter::{Counter, Service};
pub use dial::ClockState;
pub use journal::{Attempt, CALL_HEADER, Journal};
pub use live::{ClockError, RouteError};
pub(crate) use pace::{Pace, Place, moment};
pub use verify::VerifyError;

use crate::error::ScriptError;
use crate::file::MockFile;
use crate::listener::{HttpVersions, Listener, Security, check_rules};
use crate::passage::{Passage, TimeScale};
use crate::plan::{Object, Plan, Profile, Rule};
use crate::script::listener::ListenerScript;
use journal::Log;
use listener::{Port, Progress};
use seawall::clock::Clock;
use seawall::crank::Wires;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tls::{Identity, IdentityError};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use work::Books;

/// Where a mock listens when nobody says: any free port of this machine, for this machine only.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:0";
/// The most connections at once; more wait in the system's queue until one ends.
pub const CONNECTIONS_MAX: usize = 20_000;

/// What a mock is told before it starts.
///
/// Routes come first, then the file's, then the profile's; the first that matches is taken. Told none of them, it
/// answers everything well and at once.
#[derive(Clone, Debug, Default)]
pub struct MockOptions {
    routes: Vec<String>,
    rules: Vec<Rule>,
    file: Option<MockFile>,
    profile: Option<Profile>,
    listen: Option<String>,
    seed: Option<u64>,
    clock: Option<Arc<dyn Clock>>,
    wires: Option<Wires>,
    passage: Option<Passage>,
    counter: Option<Arc<dyn Counter>>,
    listener_script: Option<String>,
    security: Option<Security>,
    http: Option<HttpVersions>,
}

impl MockOptions {
    /// Adds a route, `METHOD PATH = SCRIPT` (see [`Rule::parse`]). It is read at the start.
    #[must_use]
    pub fn route(mut self, text: impl Into<String>) -> Self {
        self.routes.push(text.into());
        self
    }

    /// Adds a rule that is already made; it stands after all routes given as text.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Takes routes, address and seed from a mock file; what is said here by name stands before it.
    #[must_use]
    pub fn file(mut self, file: MockFile) -> Self {
        self.file = Some(file);
        self
    }

    /// Answers what no route matches as this profile does.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Listens there: `ADDRESS:PORT`, port 0 for a free one. Default: [`DEFAULT_LISTEN`].
    #[must_use]
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = Some(address.into());
        self
    }

    /// The seed of every chance; the same seed is the same faults. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The clock by which delays, windows and limits pass; a cranked one for exact virtual time. Default: the runtime's.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Counts what passes, for whoever cranks a clock under a mock and a caller in one process.
    #[must_use]
    pub fn wires(mut self, wires: &Wires) -> Self {
        self.wires = Some(wires.clone());
        self
    }

    /// Lets the mock's time run so many times as fast as its clock: delays shrink, windows and limits run off sooner.
    /// What it says, as in `retry-after`, stays as it is, in its own time. Default: the file's, else as the clock.
    #[must_use]
    pub fn time_scale(mut self, scale: TimeScale) -> Self {
        self.passage = Some(Passage::Runs(scale));
        self
    }

    /// Lets the mock's time stand still until it is turned on by [`Mock::advance`], [`Mock::step`] or the control plane.
    #[must_use]
    pub fn manual_clock(mut self) -> Self {
        self.passage = Some(Passage::Stands);
        self
    }

    /// Lets somebody else decide which part of its rule's mix each attempt meets, and when. Over HTTP/1.1 alone.
    pub(crate) fn counter(mut self, counter: Arc<dyn Counter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// What connections meet before any request: `for 2s refuse, accept` (see [`ListenerScript`]). It is read at the start.
    #[must_use]
    pub fn listener(mut self, script: impl Into<String>) -> Self {
        self.listener_script = Some(script.into());
        self
    }

    /// Speaks TLS, by an authority that is made at the start ([`Mock::ca_pem`]) and thrown away with the mock. Its
    /// certificate is for `localhost`, 127.0.0.1, ::1 and wherever it listens.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.security = Some(Security::Tls);
        self
    }

    /// Which versions of HTTP it speaks. Default: both.
    #[must_use]
    pub fn http(mut self, versions: HttpVersions) -> Self {
        self.http = Some(versions);
        self
    }

    /// Starts the mock: it listens when this returns, unless its listener's script begins with a refusal. Call it inside a
    /// tokio runtime with time and IO.
    ///
    /// # Errors
    /// A route or a listener's script that cannot be right, or an address where the machine does not let it listen.
    pub async fn start(self) -> Result<Mock, MockError> {
        let (clock, wires) = (self.clock.clone(), self.wires.clone());
        let counter = self.counter.clone();
        let of_file = self.file.as_ref().and_then(|file| file.passage);
        let passage = self.passage.or(of_file).unwrap_or_default();
        let (plan, listen, listener) = self.resolve()?;
        let name = host_of(&listen).to_owned();
        let port = Port::open(&listen).await.map_err(|source| MockError::Listen {
            address: listen.clone(),
            source,
        })?;
        let address = port.address();
        let identity = match listener.security {
            Security::Plain => None,
            Security::Tls => Some(Identity::new(&name, address, listener.http).map_err(MockError::Identity)?),
        };
        let setting = Setting {
            name,
            wires,
            http: listener.http,
            identity,
            counter,
        };
        let shared = Arc::new(Shared::new(
            plan,
            Pace::start(clock, passage),
            listener.script,
            setting,
        ));
        let task = tokio::spawn(listener::accept(port, Arc::clone(&shared)));
        Ok(Mock {
            address,
            shared,
            task,
        })
    }

    fn resolve(self) -> Result<(Plan, String, Listener), ScriptError> {
        let read = self.routes.iter().map(|text| Rule::parse(text));
        let mut rules = read.collect::<Result<Vec<_>, _>>()?;
        rules.extend(self.rules);
        let (mut listen, mut seed) = (self.listen, self.seed);
        let mut listener = Listener::default();
        if let Some(file) = self.file {
            listener = file.listener;
            rules.extend(file.rules);
            listen = listen.or(file.listen);
            seed = seed.or(file.seed);
        }
        rules.extend(self.profile.map(Profile::rule));
        if rules.is_empty() {
            rules.push(Rule::plain());
        }
        listener.security = self.security.unwrap_or(listener.security);
        listener.http = self.http.unwrap_or(listener.http);
        if let Some(text) = self.listener_script {
            listener.script = Some(ListenerScript::parse(&text)?);
        }
        listener.check()?;
        check_rules(&rules, listener.http)?;
        let plan = Plan::new(rules, seed.unwrap_or(0));
        let listen = listen.unwrap_or_else(|| DEFAULT_LISTEN.to_owned());
        Ok((plan, listen, listener))
    }
}

/// A running mock. Dropped, it stops: no task and no socket outlives it by more than a turn of the runtime. Dropped by a
/// panic, as in a test that fails, it prints its journal on stderr first.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall_lab::net::Mock;
/// let mock = Mock::start("POST /v1/payments = 2x 503, 200").await?;
/// // ... let a client loose on mock.url() ...
/// assert!(mock.attempts("/v1/payments")?.is_empty());
/// # Ok(())
/// # }
/// ```
///
/// For tests without a runtime there is [`blocking::Mock`].
#[derive(Debug)]
pub struct Mock {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Mock {
    /// What to tell a mock before it starts.
    pub fn builder() -> MockOptions {
        MockOptions::default()
    }

    /// Starts a mock with one route, `METHOD PATH = SCRIPT`, on a free port.
    ///
    /// # Errors
    /// As [`MockOptions::start`].
    pub async fn start(route: &str) -> Result<Self, MockError> {
        Self::builder().route(route).start().await
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as a base URL without a slash at the end: `http://127.0.0.1:9000`, `https` with TLS.
    pub fn url(&self) -> String {
        let scheme = match self.shared.setting.identity {
            Some(_) => Security::Tls.scheme(),
            None => Security::Plain.scheme(),
        };
        format!("{scheme}://{}", self.address)
    }

    /// The certificate of the mock's own authority, as PEM; `None` without TLS. A client that trusts it trusts this mock
    /// and nothing else: the key is gone.
    pub fn ca_pem(&self) -> Option<&str> {
        self.shared.setting.identity.as_ref().map(Identity::ca_pem)
    }

    /// Every attempt so far, the newest 100 000 of them.
    pub fn journal(&self) -> Journal {
        self.shared.log().journal()
    }

    /// What a resource keeps, in the order of making; empty for one that nothing was made in.
    pub fn resources(&self, name: &str) -> Vec<Arc<Object>> {
        self.shared.store().page(name, 0, usize::MAX).objects
    }

    /// Begins every script again, empties the journal, and forgets every object and key. [`Mock::reset_route`] does less.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// How many attempts are kept waiting on purpose, by a delay, a gap or a hang. A clock that is cranked by hand may
    /// turn while that is all that is in flight.
    pub fn kept_waiting(&self) -> u64 {
        self.shared.pace.kept_waiting()
    }

    /// Wakes this waker, once, when another attempt begins to be kept waiting.
    pub fn watch(&self, waker: &Waker) {
        self.shared.pace.watch(waker);
    }

    /// Waits until no attempt is being answered: then every attempt's journal entry is complete. It does not wait
    /// for attempts that were sent and have not arrived.
    pub async fn quiet(&self) {
        loop {
            let ended = self.shared.ended.notified();
            tokio::pin!(ended);
            // Registered before the count is read, so that an end between the two is not missed.
            ended.as_mut().enable();
            if self.shared.log().open() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Stops, and returns when the port is free and every connection is closed.
    pub async fn stop(mut self) {
        self.task.abort();
        // The only end of an aborted accept loop is that it was aborted.
        let _aborted = (&mut self.task).await;
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.task.abort();
        self.shared.tell_if_panicking();
    }
}

/// Serves until the future is dropped. `ready` is told the address once the mock listens; nothing is printed.
///
/// # Errors
/// As [`MockOptions::start`].
pub async fn serve(options: MockOptions, ready: impl FnOnce(SocketAddr)) -> Result<(), MockError> {
    let mut mock = options.start().await?;
    ready(mock.address());
    // The accept loop has no end of its own.
    let _ended = (&mut mock.task).await;
    Ok(())
}

/// Why a mock did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum MockError {
    /// You wrote a route that cannot be right.
    Script(ScriptError),
    /// The machine does not let it listen there.
    Listen {
        /// Where it was told to listen.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// No certificate can be made for where it was told to listen, or the machine has no randomness for a key.
    Identity(IdentityError),
    /// The machine gives it no thread to run on.
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for MockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(error) => error.fmt(f),
            Self::Listen { address, source } => write!(f, "cannot listen on {address}: {source}"),
            Self::Identity(source) => write!(f, "cannot make a certificate: {source}"),
            Self::Thread { source } => write!(f, "the mock gets no thread: {source}"),
        }
    }
}

impl std::error::Error for MockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Script(error) => Some(error),
            Self::Listen { source, .. } | Self::Thread { source } => Some(source),
            Self::Identity(source) => Some(source.as_ref()),
        }
    }
}

impl From<ScriptError> for MockError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}

/// What does not change while a mock runs.
#[derive(Debug)]
struct Setting {
    /// The host's name that it was told to listen at.
    name: String,
    wires: Option<Wires>,
    http: HttpVersions,
    identity: Option<Identity>,
    counter: Option<Arc<dyn Counter>>,
}

/// What the connections of one mock share.
#[derive(Debug)]
struct Shared {
    setting: Setting,
    pace: Pace,
    /// Held by whoever turns the clock by hand: two at once would go the same way once.
    turning: tokio::sync::Mutex<()>,
    plan: Mutex<Plan>,
    /// Locked after the plan where both are; nothing is locked after it.
    store: Mutex<Books>,
    log: Mutex<Log>,
    ended: Notify,
    progress: Mutex<Progress>,
    /// The listener's script has begun again.
    begun_again: Notify,
}

impl Shared {
    fn new(plan: Plan, pace: Pace, script: Option<ListenerScript>, setting: Setting) -> Self {
        Self {
            setting,
            turning: tokio::sync::Mutex::new(()),
            plan: Mutex::new(plan),
            store: Mutex::new(Books::default()),
            log: Mutex::new(Log::default()),
            ended: Notify::new(),
            progress: Mutex::new(Progress::new(script, pace.now())),
            begun_again: Notify::new(),
            pace,
        }
    }

    // A lock is poisoned only by a panic between two plain assignments; what it guards is whole either way.
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self) -> MutexGuard<'_, Books> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self) {
        // Held over both: an attempt between the two would find its key without its step, or the other way round.
        let mut plan = self.plan();
        plan.reset();
        self.store().clear();
        drop(plan);
        self.log().clear();
        self.progress().reset(self.pace.now());
        self.begun_again.notify_one();
    }
}

/// `localhost:9000` without its port.
fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

#[cfg(test)]
mod tests;
