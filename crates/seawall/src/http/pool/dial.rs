//! One attempt opens a connection that others wait for.
//!
//! What can go wrong: whoever opens is dropped, and the others wait for ever; its own limit is short, and the others
//! are told that the server did not answer; each of a thousand tries its own luck at a server that refuses. So a
//! dial that is dropped or too late hands its leave on, and any other failure is everybody's who waited for it.

use std::sync::Arc;

use seawall_core::facts::Broke;
use seawall_core::time::Instant;
use tokio::sync::watch;

use super::super::broken::Broken;
use super::super::http2::{Lease, Link};
use super::super::outgoing::Place;
use super::Pool;
use crate::clock::Clock;

/// `None` while it is under way.
type Ended = Option<Result<(), Broken>>;

/// A connection that somebody else is opening. Each clone but the pool's waits for it.
#[derive(Clone)]
pub(in crate::http) struct Dial {
    nth: u64,
    ended: watch::Receiver<Ended>,
    clones: Arc<()>,
}

impl Dial {
    pub(super) fn nth(&self) -> u64 {
        self.nth
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        Arc::strong_count(&self.clones) - 1
    }

    /// Ends when it is over; look at the pool again then.
    ///
    /// # Errors
    /// What the dial broke on, where that is true for whoever waited too.
    pub(in crate::http) async fn over(mut self) -> Result<(), Broken> {
        match self.ended.wait_for(Option::is_some).await {
            Ok(ended) => Ended::clone(&ended).unwrap_or(Ok(())),
            // Dropped, or out of its own time: somebody else's turn.
            Err(_) => Ok(()),
        }
    }
}

/// Leave to open a connection. Dropped unused, it goes to the next who asks.
pub(in crate::http) struct Dialing {
    pool: Arc<Pool>,
    place: Arc<Place>,
    awaited: Option<(u64, watch::Sender<Ended>)>,
}

impl Dialing {
    /// A dial that nobody waits for.
    pub(super) fn alone(pool: &Arc<Pool>, place: &Arc<Place>) -> Self {
        Self {
            pool: Arc::clone(pool),
            place: Arc::clone(place),
            awaited: None,
        }
    }

    /// A dial that others may wait for, by its number.
    pub(super) fn awaited(pool: &Arc<Pool>, place: &Arc<Place>, nth: u64) -> (Self, Dial) {
        let (sender, ended) = watch::channel(None);
        let mut dialing = Self::alone(pool, place);
        dialing.awaited = Some((nth, sender));
        let clones = Arc::default();
        (dialing, Dial { nth, ended, clones })
    }

    /// It came up as a connection to share.
    pub(in crate::http) fn shares(mut self, link: Link, clock: &Arc<dyn Clock>) -> Lease {
        let lease = self.pool.share(link, clock);
        self.end(Ok(()));
        lease
    }

    /// It came up as a connection for one at a time.
    pub(in crate::http) fn keeps(mut self, now: Instant) {
        if self.awaited.is_some() {
            self.pool.speaks_http1(&self.place, now);
        }
        self.end(Ok(()));
    }

    /// It did not come up.
    pub(in crate::http) fn broke(mut self, broken: &Broken) {
        match broken.broke {
            // The limit was this attempt's own.
            Broke::ConnectTimeout => {}
            Broke::Dns
            | Broke::Refused
            | Broke::Tls
            | Broke::BadCertificate
            | Broke::Request
            | Broke::Reset
            | Broke::Closed
            | Broke::ReusedClosed
            | Broke::Timeout
            | Broke::Idle
            | Broke::Protocol
            | Broke::RefusedStream
            | Broke::GoAway => self.end(Err(broken.clone())),
        }
    }

    fn end(&mut self, ended: Result<(), Broken>) {
        if let Some((nth, sender)) = self.awaited.take() {
            self.pool.dialed(&self.place, nth);
            sender.send_replace(Some(ended));
        }
    }
}

impl Drop for Dialing {
    fn drop(&mut self) {
        if let Some((nth, _)) = &self.awaited {
            self.pool.dialed(&self.place, *nth);
        }
    }
}
