//! Where the loop leaves its orders, and finds what came of them.
//!
//! What can go wrong: the loop is boxed, so that a call's future can be named and its first attempt needs no box; a box
//! that held the caller's futures would force them to be `Send`, or keep the whole call from being it. So the loop
//! orders attempts over this desk and holds nothing of the caller's; the call's own future makes them. Both sides run
//! in one poll of one task: the lock is never waited for.

use crate::drive::Log;
use crate::hub::{Landed, Leave};
use seawall_core::learned::Learned;
use seawall_core::outcome::Report;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use seawall_core::verdict::{Limits, Role};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// Attempts of one call that may be out at once: the first and its hedge.
pub(crate) const PLACES: usize = 2;

/// One call's desk. Clones are the same desk.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Mutex<Papers>>);

struct Papers {
    places: [Place; PLACES],
    /// What the first attempt met, where it was made before the loop was asked.
    ahead: Option<Report>,
    waits: Option<(Reason, Duration)>,
    waited: Duration,
}

/// One attempt, from its order to its end.
enum Place {
    Empty,
    Ordered(Order),
    /// It was taken up and is out.
    Out,
    /// It brought what its caller keeps: the call is not sent again, and its place stays taken.
    Accepted,
    /// The engine knows that.
    Held,
    Landed(Report, Learned),
    /// The loop wants it no more.
    Dropped,
}

/// What the loop knows of an attempt that it wants made.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) number: u32,
    pub(crate) role: Role,
    pub(crate) limits: Limits,
}

/// What the call's future has to do about a place.
pub(crate) enum Change {
    Nothing,
    /// Make this attempt.
    Make(Order),
    /// Drop the attempt that is out.
    Drop,
}

impl Desk {
    pub(crate) fn new(ahead: Option<Report>) -> Self {
        Self(Arc::new(Mutex::new(Papers {
            places: [const { Place::Empty }; PLACES],
            ahead,
            waits: None,
            waited: Duration::ZERO,
        })))
    }

    /// For the loop: the attempt that `leave` allows.
    pub(crate) fn order<'h>(&self, mut leave: Leave<'h>) -> Ordered<'h> {
        // From here on nobody can tell whether it acted.
        leave.leaving();
        let mut papers = self.papers();
        let place = match papers.ahead.take() {
            Some(report) => papers.take_place(Place::Landed(report, Learned::NOTHING)),
            None => papers.take_place(Place::Ordered(Order {
                number: leave.attempt(),
                role: leave.role(),
                limits: *leave.limits(),
            })),
        };
        drop(papers);
        Ordered {
            desk: self.clone(),
            place,
            leave: Some(leave),
        }
    }

    /// For the call's future: what has changed at `place`.
    pub(crate) fn change(&self, place: usize) -> Change {
        let mut papers = self.papers();
        let place = &mut papers.places[place];
        match place {
            Place::Ordered(order) => {
                let order = *order;
                *place = Place::Out;
                Change::Make(order)
            }
            Place::Dropped => {
                *place = Place::Empty;
                Change::Drop
            }
            Place::Empty | Place::Out | Place::Accepted | Place::Held | Place::Landed(..) => Change::Nothing,
        }
    }

    /// For the call's future: how the attempt at `place` ended.
    pub(crate) fn land(&self, place: usize, report: Report) {
        self.land_telling(place, report, Learned::NOTHING);
    }

    /// For the call's future: how the attempt at `place` ended, and what its answer says of the server's limits.
    pub(crate) fn land_telling(&self, place: usize, report: Report, learned: Learned) {
        let mut papers = self.papers();
        match papers.places[place] {
            Place::Out | Place::Held => papers.places[place] = Place::Landed(report, learned),
            Place::Empty | Place::Ordered(_) | Place::Accepted | Place::Landed(..) | Place::Dropped => {}
        }
    }

    /// For the call's future: the attempt at `place` brought what its caller keeps, for now.
    pub(crate) fn accept(&self, place: usize) {
        self.papers().places[place] = Place::Accepted;
    }

    /// For the call's future: the place of the attempt that is held, once the engine knows of it.
    pub(crate) fn held(&self) -> Option<usize> {
        let papers = self.papers();
        papers
            .places
            .iter()
            .position(|place| matches!(place, Place::Held))
    }

    /// For the call's future: the wait that begins now, told once.
    pub(crate) fn take_waits(&self) -> Option<(Reason, Duration)> {
        self.papers().waits.take()
    }

    pub(crate) fn waited(&self) -> Duration {
        self.papers().waited
    }

    fn papers(&self) -> MutexGuard<'_, Papers> {
        // No code of a caller runs under it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Papers {
    fn take_place(&mut self, filled: Place) -> usize {
        let free = |place: &Place| matches!(place, Place::Empty | Place::Dropped);
        let place = self.places.iter().position(free);
        let place = place.expect("the engine has two attempts of a call out at the most");
        self.places[place] = filled;
        place
    }
}

impl Log<()> for Desk {
    fn landed(&mut self, (): ()) {}

    fn waits(&mut self, reason: Reason, length: Duration) {
        self.papers().waits = Some((reason, length));
    }

    fn waited(&mut self, _reason: Reason, length: Duration) {
        let mut papers = self.papers();
        papers.waited = papers.waited.plus(length);
    }
}

/// An attempt as the loop sees it: it lands when the call's future says so.
pub(crate) struct Ordered<'h> {
    desk: Desk,
    place: usize,
    leave: Option<Leave<'h>>,
}

impl<'h> Future for Ordered<'h> {
    type Output = Landed<'h, ()>;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Landed<'h, ()>> {
        // Nobody is woken: whoever lands it polls the loop next.
        let this = &mut *self;
        let mut papers = this.desk.papers();
        match papers.places[this.place] {
            Place::Landed(report, learned) => {
                papers.places[this.place] = Place::Empty;
                drop(papers);
                let mut leave = this.leave.take().expect("an attempt lands once");
                leave.learned(&learned);
                Poll::Ready(leave.landed(report, ()))
            }
            Place::Accepted => {
                papers.places[this.place] = Place::Held;
                drop(papers);
                let leave = this.leave.as_mut();
                leave.expect("what is held has not landed").commit();
                Poll::Pending
            }
            Place::Empty | Place::Ordered(_) | Place::Out | Place::Held | Place::Dropped => Poll::Pending,
        }
    }
}

impl Drop for Ordered<'_> {
    fn drop(&mut self) {
        // The leave goes after this, and abandons.
        if self.leave.is_some() {
            self.desk.papers().places[self.place] = Place::Dropped;
        }
    }
}
