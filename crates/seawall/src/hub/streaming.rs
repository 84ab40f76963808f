//! A call from its commit to its last byte.
//!
//! What can go wrong: the loop that drives a call is over at its first content, and its place is not: it stays taken
//! until the body has come whole, broke off, or is given up (rule I1). So what the loop held moves into a guard that
//! owns its hub and goes with the body.

use super::{CallGuard, Flight, Hub, Leave, OUT_MAX, Seated, State, place_of};
use seawall_core::call::Spec;
use seawall_core::outcome::{Report, Sent, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Instant;
use seawall_core::verdict::{Action, Ended};
use std::fmt;
use std::sync::Arc;

/// A call whose first content was accepted, and whose answer is being read; it owns its hub. Dropping it abandons the
/// attempt and ends the call.
#[must_use = "a stream that is dropped abandons its attempt"]
pub struct Streaming {
    hub: Arc<Hub>,
    /// `None` once it is settled.
    seated: Option<Seated>,
    sent: Sent,
    used: Usage,
}

/// How a call ended after its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Why: `succeeded` or `already-streaming`.
    pub reason: Reason,
    /// Whether this is a write that may have acted and got no definite answer (rule E2).
    pub unknown: bool,
    /// When it could be worth coming back.
    pub retry_at: Option<Instant>,
}

impl Hub {
    /// The first attempt of a call that has no seat has brought content that its caller accepts. `spec` is the call's,
    /// told when it began: from here it has a seat, as its end is far.
    pub(crate) fn commit_opening<'s>(
        self: &Arc<Self>,
        leave: Leave<'_>,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Streaming {
        let mut out = leave.out;
        let opening = match std::mem::replace(&mut out.flight, Flight::Over) {
            Flight::Opening(opening) => opening,
            Flight::Seated(_) | Flight::Over => unreachable!("a call's first leave is its opening"),
        };
        let seated = self.with_state(|state, now| {
            let spec = spec(state.engine.began(&opening));
            state.engine.commit_opening(now, &opening);
            let permit = state.engine.seat(opening, &spec);
            let seated = Seated::of(&permit);
            state.seat(seated.call);
            let out = &mut state.seats[seated.call.slot()].out;
            *out = [const { None }; OUT_MAX];
            out[0] = Some(permit);
            seated
        });
        Streaming {
            hub: Arc::clone(self),
            seated: Some(seated),
            sent: out.sent,
            used: out.used,
        }
    }
}

impl CallGuard<'_> {
    /// The attempt of `leave` has brought content that the caller accepts: another that is out has lost.
    pub(crate) fn commit(mut self, mut leave: Leave<'_>) -> Streaming {
        leave.commit();
        let mut out = leave.out;
        let seated = match std::mem::replace(&mut out.flight, Flight::Over) {
            Flight::Seated(seated) => seated,
            Flight::Opening(_) | Flight::Over => unreachable!("a call with a seat has its attempts there"),
        };
        // It goes on without this guard, which would end it.
        self.ended = Some(Ended {
            unknown: false,
            sends: 0,
        });
        Streaming {
            hub: Arc::clone(self.hub),
            seated: Some(seated),
            sent: out.sent,
            used: out.used,
        }
    }
}

impl Streaming {
    /// What the answer says that it used, as far as it came: for one that is dropped on the way.
    pub const fn used(&mut self, usage: Usage) {
        self.used = usage;
    }

    /// The last byte has come, or the answer broke off: settles the attempt, and ends the call.
    pub fn settle(mut self, report: Report) -> Closed {
        let seated = self.seated.take().expect("a stream is settled once");
        self.hub.with_state(|state, now| {
            if let Some(permit) = place_of(&mut state.seats, &seated).and_then(Option::take) {
                state.engine.settle(now, permit, report);
            }
            let verdict = state.engine.poll(now, seated.call);
            let (unknown, retry_at) = match verdict.action {
                Action::Finish { unknown, retry_at } => (unknown, retry_at),
                // Not after a commit; whatever it is, it ends with the call.
                Action::Send(_) | Action::Wait(_) | Action::Park { .. } | Action::InFlight { .. } => {
                    (false, None)
                }
            };
            state.end(now, seated.call);
            Closed {
                reason: verdict.reason,
                unknown,
                retry_at,
            }
        })
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        let Some(seated) = self.seated.take() else {
            return;
        };
        let (sent, used) = (self.sent, self.used);
        self.hub.with_state(|state: &mut State, now| {
            if let Some(permit) = place_of(&mut state.seats, &seated).and_then(Option::take) {
                state.engine.abandon(now, permit, sent, used);
            }
            state.end(now, seated.call);
        });
    }
}

impl fmt::Debug for Streaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming")
            .field("used", &self.used)
            .finish_non_exhaustive()
    }
}
