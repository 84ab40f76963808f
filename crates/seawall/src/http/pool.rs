//! Kept-alive connections, by place.
//!
//! What can go wrong: a connection that the server is about to close is handed to a write; a thousand idle sockets
//! are kept for a host that is never called again; sockets that the server closed stay in CLOSE-WAIT because nobody
//! reads them. So an idle time below the common servers' (30 s, shortened by up to a fifth so that many clients do
//! not reconnect in step), cut to one second less than a server's own `Keep-Alive: timeout=N`; a bound per place;
//! one look at the socket before each use; and a sweep over all places at most once a second, on whatever touches
//! the pool. There is no task: with the pool, all its sockets go.
//! What this does not cover: a server that closes while our request is on its way (rule D5 does).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use seawall_core::rng::Rng;
use seawall_core::time::{Duration, Instant};

use super::conn::Conn;
use super::outgoing::Place;

/// How often, at most, every idle connection is looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How much earlier than the server says we let go, so that its close and our request do not cross.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_secs(1);

/// The idle connections of a transport.
pub(super) struct Pool {
    idle_for: Duration,
    idle_per_place_max: usize,
    shelves: Mutex<Shelves>,
}

struct Shelves {
    by_place: BTreeMap<Place, VecDeque<Idle>>,
    sweep_at: Instant,
    rng: Rng,
}

struct Idle {
    conn: Conn,
    until: Instant,
}

impl Pool {
    pub(super) fn new(idle_for: Duration, idle_per_place_max: usize, seed: u64) -> Self {
        Self {
            idle_for,
            idle_per_place_max,
            shelves: Mutex::new(Shelves {
                by_place: BTreeMap::new(),
                sweep_at: Instant::START,
                rng: Rng::new(seed, 0),
            }),
        }
    }

    /// The connection to `place` that was used last and is still open.
    pub(super) fn take(&self, place: &Place, now: Instant) -> Option<Conn> {
        let mut shelves = self.shelves();
        shelves.sweep_when_due(now);
        let shelf = shelves.by_place.get_mut(place)?;
        let mut found = None;
        while let Some(mut idle) = shelf.pop_back() {
            if now < idle.until && idle.conn.is_idle() {
                found = Some(idle.conn);
                break;
            }
        }
        if shelf.is_empty() {
            shelves.by_place.remove(place);
        }
        found
    }

    /// Keeps an idle connection for later; closes it where the server or our bounds say so. `server_keeps_for` is
    /// what the server's `Keep-Alive` said.
    pub(super) fn keep(&self, conn: Conn, server_keeps_for: Option<Duration>, now: Instant) {
        let mut shelves = self.shelves();
        shelves.sweep_when_due(now);
        let cut = shelves.rng.up_to(self.idle_for.as_nanos() / 5);
        let ours = self.idle_for.minus(Duration::from_nanos(cut));
        let idle_for = server_keeps_for.map_or(ours, |theirs| ours.min(theirs.minus(KEEP_ALIVE_MARGIN)));
        if idle_for.is_zero() || self.idle_per_place_max == 0 {
            return;
        }
        let place = Place::clone(conn.place());
        let shelf = shelves.by_place.entry(place).or_default();
        if shelf.len() >= self.idle_per_place_max {
            shelf.pop_front();
        }
        shelf.push_back(Idle {
            conn,
            until: now.after(idle_for),
        });
    }

    /// Closes every idle connection to `place`: its server has just said that it is closing idle ones (408).
    pub(super) fn forget(&self, place: &Place) {
        self.shelves().by_place.remove(place);
    }

    /// Closes what the servers closed and what has been idle for too long; tells how many are left.
    pub(super) fn sweep(&self, now: Instant) -> usize {
        let mut shelves = self.shelves();
        shelves.sweep(now);
        shelves.by_place.values().map(VecDeque::len).sum()
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        // A panic under the lock leaves at worst a connection less.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    fn sweep_when_due(&mut self, now: Instant) {
        if now >= self.sweep_at {
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Instant) {
        self.sweep_at = now.after(SWEEP_EVERY);
        self.by_place.retain(|_, shelf| {
            shelf.retain_mut(|idle| now < idle.until && idle.conn.is_idle());
            !shelf.is_empty()
        });
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("idle_for", &self.idle_for)
            .field("idle_per_place_max", &self.idle_per_place_max)
            .finish_non_exhaustive()
    }
}
