//! Connections, by place: kept-alive ones of HTTP/1.1, shared ones of HTTP/2.
//!
//! What can go wrong: a connection that the server is about to close is handed to a write; a thousand idle sockets
//! are kept for a host that is never called again; sockets that the server closed stay in CLOSE-WAIT because nobody
//! reads them; a thousand calls that begin at once open a thousand connections where one would do. So an idle time
//! below the common servers' (30 s, shortened by up to a fifth so that many clients do not reconnect in step), cut to
//! one second less than a server's own `Keep-Alive: timeout=N`; a bound per place; one look at the socket before each
//! use; a sweep over all places at most once a second, on whatever touches the pool; and where a connection could be
//! one to share, one attempt opens it while as many wait as it will take ([`dial`]). With the pool, all its idle
//! sockets go.
//!
//! A shared connection takes as many streams as its server allows. An attempt that finds all of them taken opens
//! another connection instead of waiting: how many may be in flight is the gate's to say (rule I1), and its queue is
//! fair and bounded. The connection that was opened first is filled first, so that the others come to rest.
//! What this does not cover: a server that closes while our request is on its way (rule D5 does).

mod dial;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use seawall_core::rng::Rng;
use seawall_core::time::{Duration, Instant};

use super::conn::Conn;
use super::http2::{Lease, Link, Origin};
use super::line::{Line, Source};
use super::outgoing::Place;
use crate::clock::Clock;

pub(super) use dial::{Dial, Dialing};

/// How often, at most, every idle connection is looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// How much earlier than the server says we let go, so that its close and our request do not cross.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_secs(1);

/// How long it is remembered that a place picked HTTP/1.1, where attempts need not wait for each other's connection.
const HTTP1_KNOWN_FOR: Duration = Duration::from_secs(600);

/// The connections of a transport.
pub(super) struct Pool {
    idle_for: Duration,
    idle_per_place_max: usize,
    shelves: Mutex<Shelves>,
}

struct Shelves {
    by_place: BTreeMap<Place, Shelf>,
    sweep_at: Instant,
    rng: Rng,
    /// Shared connections so far.
    opened: u64,
    /// Dials that could be waited for, so far.
    dialed: u64,
}

/// What there is for one place.
#[derive(Default)]
struct Shelf {
    idle: VecDeque<Idle>,
    shared: Vec<Shared>,
    /// Connections that somebody is opening, where others may wait for them.
    dials: Vec<Dial>,
    /// How many streams the connection that was opened last takes at once; zero where none was yet.
    streams_max: usize,
    /// Until when the place is taken to speak HTTP/1.1.
    http1_until: Instant,
}

struct Idle {
    conn: Conn,
    until: Instant,
}

struct Shared {
    link: Arc<Link>,
    serial: u64,
    streams: usize,
    idle_for: Duration,
    idle_until: Instant,
}

/// What a pool has for an attempt.
pub(super) enum Taken {
    /// A line that is open.
    Line(Line),
    /// Leave to open a connection.
    Dial(Dialing),
    /// Somebody else is opening one that could serve.
    Wait(Dial),
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
                opened: 0,
                dialed: 0,
            }),
        }
    }

    /// A line to `place`: the idle connection that was used last and is still open, or a stream of a shared one; where
    /// there is none, leave to open one, or whom to wait for.
    pub(super) fn take(
        self: &Arc<Self>,
        place: &Arc<Place>,
        source: Source,
        clock: &Arc<dyn Clock>,
    ) -> Taken {
        let now = clock.now();
        let mut shelves = self.shelves();
        shelves.sweep_when_due(now);
        if let Some(shelf) = shelves.by_place.get_mut(&**place) {
            if source == Source::KeptOrNew
                && let Some(conn) = shelf.take_idle(now)
            {
                return Taken::Line(Line::One(Box::new(conn)));
            }
            if let Some(shared) = shelf.shared_with_room(source, now) {
                shared.streams += 1;
                let (link, serial) = (Arc::clone(&shared.link), shared.serial);
                let lease = Lease::new(
                    link,
                    serial,
                    Origin::Shared,
                    Arc::downgrade(self),
                    Arc::clone(clock),
                );
                return Taken::Line(Line::Two(Box::new(lease)));
            }
        }
        if !place.may_speak_http2() {
            return Taken::Dial(Dialing::alone(self, place));
        }
        let shelves = &mut *shelves;
        let shelf = shelves.by_place.entry(Place::clone(place)).or_default();
        if now < shelf.http1_until {
            return Taken::Dial(Dialing::alone(self, place));
        }
        // Nobody waits for a place that others will have taken: a server that takes one stream at a time is dialed by
        // all at once.
        let streams_max = match shelf.streams_max {
            0 => usize::MAX,
            known => known,
        };
        match shelf.dials.iter().find(|dial| 1 + dial.waiting() < streams_max) {
            Some(dial) => Taken::Wait(dial.clone()),
            None => {
                shelves.dialed += 1;
                let (dialing, dial) = Dialing::awaited(self, place, shelves.dialed);
                shelf.dials.push(dial);
                Taken::Dial(dialing)
            }
        }
    }

    /// Whether nobody has looked at the connections for a while.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.shelves().sweep_at
    }

    /// Keeps an idle connection for later; closes it where the server or our bounds say so. `server_keeps_for` is
    /// what the server's `Keep-Alive` said.
    pub(super) fn keep(&self, conn: Conn, server_keeps_for: Option<Duration>, now: Instant) {
        let mut shelves = self.shelves();
        shelves.sweep_when_due(now);
        let ours = shelves.idle_time(self.idle_for);
        let idle_for = server_keeps_for.map_or(ours, |theirs| ours.min(theirs.minus(KEEP_ALIVE_MARGIN)));
        if idle_for.is_zero() || self.idle_per_place_max == 0 {
            return;
        }
        let place = Place::clone(conn.place());
        let shelf = shelves.by_place.entry(place).or_default();
        if shelf.idle.len() >= self.idle_per_place_max {
            shelf.idle.pop_front();
        }
        shelf.idle.push_back(Idle {
            conn,
            until: now.after(idle_for),
        });
    }

    /// Offers a connection to whoever comes, and has its first stream.
    fn share(self: &Arc<Self>, link: Link, clock: &Arc<dyn Clock>) -> Lease {
        let mut shelves = self.shelves();
        shelves.opened += 1;
        let serial = shelves.opened;
        let idle_for = shelves.idle_time(self.idle_for);
        let link = Arc::new(link);
        let shelf = shelves.by_place.entry(Place::clone(link.place())).or_default();
        shelf.streams_max = link.streams_max();
        shelf.shared.push(Shared {
            link: Arc::clone(&link),
            serial,
            streams: 1,
            idle_for,
            idle_until: Instant::NEVER,
        });
        Lease::new(
            link,
            serial,
            Origin::Fresh,
            Arc::downgrade(self),
            Arc::clone(clock),
        )
    }

    /// Takes back a stream's place. With its last stream a shared connection becomes idle.
    pub(super) fn leave(&self, place: &Place, serial: u64, now: Instant) {
        let mut shelves = self.shelves();
        shelves.sweep_when_due(now);
        let Some(shelf) = shelves.by_place.get_mut(place) else {
            return;
        };
        if let Some(shared) = shelf.shared.iter_mut().find(|shared| shared.serial == serial) {
            shared.streams -= 1;
            if shared.streams == 0 {
                shared.idle_until = now.after(shared.idle_for);
            }
        }
        shelf.sweep_shared(now);
        let surplus = shelf
            .idle_shared()
            .count()
            .saturating_sub(self.idle_per_place_max);
        for _ in 0..surplus {
            // From the end: the first is filled first, and is the one worth keeping.
            if let Some(at) = shelf.shared.iter().rposition(|shared| shared.streams == 0) {
                shelf.shared.remove(at);
            }
        }
    }

    /// Closes every idle connection to `place`, and lets no new stream begin on those that are shared: its server has
    /// just said that it is closing idle ones (408).
    pub(super) fn forget(&self, place: &Place) {
        if let Some(shelf) = self.shelves().by_place.get_mut(place) {
            shelf.idle.clear();
            shelf.shared.clear();
        }
    }

    /// Closes what the servers closed and what has been idle for too long; tells how many are left.
    pub(super) fn sweep(&self, now: Instant) -> usize {
        let mut shelves = self.shelves();
        shelves.sweep(now);
        shelves
            .by_place
            .values()
            .map(|shelf| shelf.idle.len() + shelf.idle_shared().count())
            .sum()
    }

    /// Lets nobody else wait for a dial that is over.
    fn dialed(&self, place: &Place, nth: u64) {
        if let Some(shelf) = self.shelves().by_place.get_mut(place) {
            shelf.dials.retain(|dial| dial.nth() != nth);
        }
    }

    /// Remembers that a place picked HTTP/1.1.
    fn speaks_http1(&self, place: &Place, now: Instant) {
        let mut shelves = self.shelves();
        if let Some(shelf) = shelves.by_place.get_mut(place) {
            shelf.http1_until = now.after(HTTP1_KNOWN_FOR);
        }
    }

    fn shelves(&self) -> MutexGuard<'_, Shelves> {
        // A panic under the lock leaves at worst a connection less.
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    /// A time to be idle for, shortened by chance.
    fn idle_time(&mut self, longest: Duration) -> Duration {
        let cut = self.rng.up_to(longest.as_nanos() / 5);
        longest.minus(Duration::from_nanos(cut))
    }

    fn sweep_when_due(&mut self, now: Instant) {
        if now >= self.sweep_at {
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Instant) {
        self.sweep_at = now.after(SWEEP_EVERY);
        self.by_place.retain(|_, shelf| {
            shelf
                .idle
                .retain_mut(|idle| now < idle.until && idle.conn.is_idle());
            shelf.sweep_shared(now);
            !shelf.is_empty(now)
        });
    }
}

impl Shelf {
    fn take_idle(&mut self, now: Instant) -> Option<Conn> {
        while let Some(mut idle) = self.idle.pop_back() {
            if now < idle.until && idle.conn.is_idle() {
                return Some(idle.conn);
            }
        }
        None
    }

    fn shared_with_room(&mut self, source: Source, now: Instant) -> Option<&mut Shared> {
        let opened_after = match source {
            Source::KeptOrNew => 0,
            Source::OpenedAfter(serial) => serial,
            Source::New => return None,
        };
        self.sweep_shared(now);
        self.shared
            .iter_mut()
            .find(|shared| shared.serial > opened_after && shared.streams < shared.link.streams_max())
    }

    /// Lets go of shared connections that are closed, given up or idle for too long. Those with streams close with
    /// their last.
    fn sweep_shared(&mut self, now: Instant) {
        self.shared.retain(|shared| {
            let rested = shared.streams == 0 && now >= shared.idle_until;
            !rested && shared.link.is_usable()
        });
    }

    fn idle_shared(&self) -> impl Iterator<Item = &Shared> {
        self.shared.iter().filter(|shared| shared.streams == 0)
    }

    fn is_empty(&self, now: Instant) -> bool {
        self.idle.is_empty() && self.shared.is_empty() && self.dials.is_empty() && now >= self.http1_until
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
