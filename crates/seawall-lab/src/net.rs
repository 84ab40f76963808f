//! The mock server: a plan on real sockets, over HTTP/1.1.
//!
//! What can go wrong: a mock whose faults are not what their names say ("reset" that is a clean end, "drop" that is
//! a 500) proves nothing about a client. A server library keeps connections healthy by design and gets in the way,
//! so requests are read and answers written by hand, and every fault is tested with a raw socket. What this does
//! not cover yet: TLS, HTTP/2, streams, and faults before a request (`[listener]`).

mod control;
mod dial;
mod dialect;
mod exchange;
mod http1;
mod journal;
mod live;
mod pace;
mod score;
mod socket;
mod throttle;
mod verify;
mod work;

pub mod blocking;

pub use dial::ClockState;
pub use journal::{Attempt, CALL_HEADER, Journal};
pub use live::{ClockError, RouteError};
pub(crate) use pace::moment;
pub use verify::VerifyError;

use crate::error::ScriptError;
use crate::file::MockFile;
use crate::passage::{Passage, TimeScale};
use crate::plan::{Object, Plan, Profile, Rule};
use journal::Log;
use pace::{ACCEPT_PAUSE, Pace};
use seawall::clock::Clock;
use seawall::crank::Wires;
use socket::Socket;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use work::Books;

/// Where a mock listens when nobody says: any free port of this machine, for this machine only.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:0";
/// The most connections at once; more wait in the system's queue until one ends.
pub const CONNECTIONS_MAX: usize = 20_000;
/// Connections that may wait to be accepted: a client that opens thousands at once is no error.
const BACKLOG: u32 = 4_096;

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

    /// Starts the mock: it listens when this returns. Call it inside a tokio runtime with time and IO.
    ///
    /// # Errors
    /// A route that cannot be right, or an address where the machine does not let it listen.
    pub async fn start(self) -> Result<Mock, MockError> {
        let (clock, wires) = (self.clock.clone(), self.wires.clone());
        let of_file = self.file.as_ref().and_then(|file| file.passage);
        let passage = self.passage.or(of_file).unwrap_or_default();
        let (plan, address) = self.resolve()?;
        let name = host_of(&address).to_owned();
        let listener = listen(&address).await.map_err(|source| MockError::Listen {
            address: address.clone(),
            source,
        })?;
        let address = listener
            .local_addr()
            .map_err(|source| MockError::Listen { address, source })?;
        let shared = Arc::new(Shared::new(plan, clock, wires, passage, name));
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Mock {
            address,
            shared,
            task,
        })
    }

    fn resolve(self) -> Result<(Plan, String), ScriptError> {
        let read = self.routes.iter().map(|text| Rule::parse(text));
        let mut rules = read.collect::<Result<Vec<_>, _>>()?;
        rules.extend(self.rules);
        let (mut listen, mut seed) = (self.listen, self.seed);
        if let Some(file) = self.file {
            rules.extend(file.rules);
            listen = listen.or(file.listen);
            seed = seed.or(file.seed);
        }
        rules.extend(self.profile.map(Profile::rule));
        if rules.is_empty() {
            rules.push(Rule::plain());
        }
        let plan = Plan::new(rules, seed.unwrap_or(0));
        Ok((plan, listen.unwrap_or_else(|| DEFAULT_LISTEN.to_owned())))
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

    /// Where it listens, as a base URL without a slash at the end: `http://127.0.0.1:9000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
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
            Self::Thread { source } => write!(f, "the mock gets no thread: {source}"),
        }
    }
}

impl std::error::Error for MockError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Script(error) => Some(error),
            Self::Listen { source, .. } | Self::Thread { source } => Some(source),
        }
    }
}

impl From<ScriptError> for MockError {
    fn from(error: ScriptError) -> Self {
        Self::Script(error)
    }
}

/// What the connections of one mock share.
#[derive(Debug)]
struct Shared {
    /// The host's name that it was told to listen at.
    name: String,
    pace: Pace,
    wires: Option<Wires>,
    /// Held by whoever turns the clock by hand: two at once would go the same way once.
    turning: tokio::sync::Mutex<()>,
    plan: Mutex<Plan>,
    /// Locked after the plan where both are; nothing is locked after it.
    store: Mutex<Books>,
    log: Mutex<Log>,
    ended: Notify,
}

impl Shared {
    fn new(
        plan: Plan,
        clock: Option<Arc<dyn Clock>>,
        wires: Option<Wires>,
        passage: Passage,
        name: String,
    ) -> Self {
        Self {
            name,
            wires,
            turning: tokio::sync::Mutex::new(()),
            plan: Mutex::new(plan),
            store: Mutex::new(Books::default()),
            log: Mutex::new(Log::default()),
            pace: Pace::start(clock, passage),
            ended: Notify::new(),
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

    fn reset(&self) {
        // Held over both: an attempt between the two would find its key without its step, or the other way round.
        let mut plan = self.plan();
        plan.reset();
        self.store().clear();
        drop(plan);
        self.log().clear();
    }
}

/// `localhost:9000` without its port.
fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

async fn listen(address: &str) -> io::Result<TcpListener> {
    let mut found = tokio::net::lookup_host(address).await?;
    let address = found
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address"))?;
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A test that starts a mock on the port of the last one must not wait for its old connections.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropping the set, with this task, ends every connection.
    let mut connections = JoinSet::new();
    let mut number = 0_u64;
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                Ok((stream, caller)) => {
                    number += 1;
                    // An answer must not wait for the client to confirm the head. A socket that refuses is only slower.
                    stream.set_nodelay(true).ok();
                    let mut socket = Socket::Plain(stream);
                    if let Some(wires) = &shared.wires {
                        socket = socket.counted(wires.server(caller));
                    }
                    connections.spawn(http1::run(socket, number, Arc::clone(&shared)));
                }
                // Out of file handles, most often: one may be free in a moment, and until then asking again at
                // once would only burn the machine.
                Err(_) => moment(ACCEPT_PAUSE).await,
            },
            // A connection's panic has been printed by the hook; the others go on.
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

#[cfg(test)]
mod tests;
