//! The shared side of sending: settings, TLS, idle connections.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::client::conn::http1::Builder as Http1;
use seawall_core::time::Duration;

use super::http2;
use super::pool::Pool;
use super::tls;
use crate::chance::entropy;
use crate::clock::{Clock, TokioClock};
use crate::crank::Wires;

/// How long an idle connection is kept, at most: 30 s, half of what common load balancers allow. Servers that allow
/// less (Node: 5 s) say so in `Keep-Alive`, and are believed.
pub const DEFAULT_IDLE_FOR: Duration = Duration::from_secs(30);
/// Idle connections kept to one place: 64, what a batch has in flight.
pub const DEFAULT_IDLE_PER_PLACE_MAX: usize = 64;
/// Bytes in an answer's head: 64 KiB, four times what common servers send at most.
pub const DEFAULT_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Headers in an answer: 100, hyper's own bound; another one costs an allocation per answer.
pub const DEFAULT_HEADERS_MAX: usize = 100;

/// Sends attempts. Clones share the connections and the TLS session cache; when the last clone goes, every idle
/// socket is closed. An answer still being read keeps its own socket, or the one that it shares.
///
/// Needs a tokio runtime with I/O and time. Nothing runs there on its own but a name's look-up and, for each HTTP/2
/// connection, the task that moves its bytes: such a connection ends with the runtime on which it was opened.
///
/// ```
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::http::Transport;
/// use seawall::{Duration, Upstream};
///
/// let transport = Transport::builder()
///     .connect_to("api.example.com", "127.0.0.1:8443".parse()?) // For this host, whatever its name resolves to.
///     .idle_for(Duration::from_secs(10))
///     .build()?;
/// let upstream = Upstream::builder("https://api.example.com/v1")?.transport(transport).build()?;
/// # drop(upstream);
/// # Ok(()) }
/// # example().unwrap();
/// ```
#[derive(Clone)]
pub struct Transport {
    pub(super) shared: Arc<Shared>,
}

/// What all clones share.
pub(super) struct Shared {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) http1: Http1,
    pub(super) http2: http2::Settings,
    pub(super) tls: tls::Offers,
    // Answers hold it weakly: an answer that outlives the transport closes its socket instead of keeping it.
    pub(super) pool: Arc<Pool>,
    pub(super) body_bytes_max: u64,
    /// Hosts in lower case whose names are not asked for.
    pub(super) addresses: BTreeMap<String, SocketAddr>,
    pub(super) wires: Option<Wires>,
}

impl Transport {
    /// A builder with every default.
    pub fn builder() -> TransportBuilder {
        TransportBuilder {
            clock: None,
            extra_cas: Vec::new(),
            idle_for: DEFAULT_IDLE_FOR,
            idle_per_place_max: DEFAULT_IDLE_PER_PLACE_MAX,
            head_bytes_max: DEFAULT_HEAD_BYTES_MAX,
            headers_max: DEFAULT_HEADERS_MAX,
            body_bytes_max: u64::MAX,
            seed: None,
            addresses: BTreeMap::new(),
            wires: None,
        }
    }

    /// How many open connections are idle (of those over HTTP/2: without a stream), after closing those that the
    /// servers closed or that were idle for too long.
    pub fn idle_connections(&self) -> usize {
        self.shared.pool.sweep(self.shared.clock.now())
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("pool", &self.shared.pool)
            .field("body_bytes_max", &self.shared.body_bytes_max)
            .finish_non_exhaustive()
    }
}

/// Settings of a [`Transport`].
#[derive(Clone, Debug)]
pub struct TransportBuilder {
    clock: Option<Arc<dyn Clock>>,
    extra_cas: Vec<Vec<u8>>,
    idle_for: Duration,
    idle_per_place_max: usize,
    head_bytes_max: usize,
    headers_max: usize,
    body_bytes_max: u64,
    seed: Option<u64>,
    addresses: BTreeMap<String, SocketAddr>,
    wires: Option<Wires>,
}

impl TransportBuilder {
    /// The clock that all limits are read from; the runtime's own by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Trusts these authorities beside the public ones: PEM with any number of certificates, or one in DER.
    pub fn extra_ca(mut self, certificates: impl Into<Vec<u8>>) -> Self {
        self.extra_cas.push(certificates.into());
        self
    }

    /// The longest time that an idle connection is kept; each keeps between four fifths of it and all of it. Zero
    /// keeps none.
    pub fn idle_for(mut self, idle_for: Duration) -> Self {
        self.idle_for = idle_for;
        self
    }

    /// The most idle connections to one scheme, host and port; zero keeps none.
    pub fn idle_per_place_max(mut self, connections: usize) -> Self {
        self.idle_per_place_max = connections;
        self
    }

    /// The most bytes in an answer's head; more is [`Broke::Protocol`](seawall_core::facts::Broke::Protocol).
    pub fn head_bytes_max(mut self, bytes: usize) -> Self {
        self.head_bytes_max = bytes;
        self
    }

    /// The most headers in an answer; more is [`Broke::Protocol`](seawall_core::facts::Broke::Protocol).
    pub fn headers_max(mut self, headers: usize) -> Self {
        self.headers_max = headers;
        self
    }

    /// The most bytes in an answer's body, streamed or not; more is
    /// [`Broke::Protocol`](seawall_core::facts::Broke::Protocol). No bound by default: nothing here holds a body
    /// unasked.
    pub fn body_bytes_max(mut self, bytes: u64) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Connects to `address`, port included, for whatever goes to `host`, without asking for the name. The host still
    /// stands in `Host`, and is what a certificate must be for. For tests, and for networks where the name means
    /// something else.
    pub fn connect_to(mut self, host: &str, address: SocketAddr) -> Self {
        self.addresses.insert(host.to_ascii_lowercase(), address);
        self
    }

    /// Counts what passes, for whoever cranks a clock under a caller and a server in one process.
    pub fn wires(mut self, wires: &Wires) -> Self {
        self.wires = Some(wires.clone());
        self
    }

    /// Where the spread of idle times is drawn from; the process's own entropy by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Checks the settings and loads the trust.
    ///
    /// # Errors
    /// An extra authority that is no certificate, or TLS settings that the library refuses.
    pub fn build(self) -> Result<Transport, TransportError> {
        let mut http1 = Http1::new();
        http1.max_header_size(self.head_bytes_max);
        if self.headers_max != DEFAULT_HEADERS_MAX {
            http1.max_headers(self.headers_max);
        }
        let tls = tls::Offers::new(&self.extra_cas)?;
        let seed = self.seed.unwrap_or_else(entropy);
        Ok(Transport {
            shared: Arc::new(Shared {
                clock: self.clock.unwrap_or_else(|| Arc::new(TokioClock::new())),
                http1,
                http2: http2::Settings::new(self.head_bytes_max, self.headers_max),
                tls,
                pool: Arc::new(Pool::new(self.idle_for, self.idle_per_place_max, seed)),
                body_bytes_max: self.body_bytes_max,
                addresses: self.addresses,
                wires: self.wires,
            }),
        })
    }
}

/// A transport could not be built from its settings: whoever wrote them must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// Extra authorities that cannot be read.
    #[error("extra authority {nth} cannot be read as a certificate in PEM or DER: {why}")]
    Ca {
        /// Which one, counted from 1.
        nth: usize,
        /// What the reader said.
        why: String,
    },
    /// The TLS library refused its settings.
    #[error("TLS cannot be set up: {why}")]
    Tls {
        /// What the library said.
        why: String,
    },
}
