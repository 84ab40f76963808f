//! Calls that hold their hub instead of borrowing it: for futures that are named, and so cannot borrow from themselves.
//!
//! What can go wrong is what goes wrong with a guard that borrows: it is dropped in the middle, and what it held stays
//! taken. So these give back on drop as well, and are taken up by the guards of the loop where there is more to do than to
//! be answered.

use super::{CallGuard, Hub, Landing, Told};
use seawall_core::call::Spec;
use seawall_core::engine::{self, Opening};
use seawall_core::learned::Learned;
use seawall_core::outcome::{Report, Sent};
use seawall_core::time::Instant;
use seawall_core::verdict::{CallId, Limits, Verdict};
use std::sync::Arc;

/// How a call began.
pub(crate) enum Unborrowed {
    /// Its first attempt is to be sent, and it needs no seat before that has landed.
    Sent(Aloft),
    /// It has a seat, and a first verdict.
    Seated(Begun),
}

/// The first attempt of a call without a seat. Dropping it abandons the attempt and ends the call.
pub(crate) struct Aloft {
    hub: Arc<Hub>,
    /// Given back exactly once: on landing, or on drop.
    opening: Option<Opening>,
    limits: Limits,
}

/// A call with a seat whose first verdict nobody has acted on. Dropping it ends the call.
pub(crate) struct Begun {
    hub: Arc<Hub>,
    call: CallId,
    verdict: Option<Verdict>,
}

impl Hub {
    /// As [`open`](Hub::open), without a borrow.
    #[inline]
    pub(crate) fn open_unborrowed<'s>(
        self: &Arc<Self>,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Unborrowed {
        self.with_state(|state, now| match state.engine.open(now, &spec(now)) {
            engine::Opened::Sent(opening, limits) => Unborrowed::Sent(Aloft {
                hub: Arc::clone(self),
                opening: Some(opening),
                limits,
            }),
            engine::Opened::Seated(call, verdict) => {
                state.seat(call);
                Unborrowed::Seated(Begun {
                    hub: Arc::clone(self),
                    call,
                    verdict: Some(verdict),
                })
            }
        })
    }
}

impl Aloft {
    /// The attempt's limits.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// As [`Leave::learned`](super::Leave::learned).
    pub(crate) fn learned(&self, learned: &Learned) {
        if let Some(opening) = &self.opening
            && *learned != Learned::NOTHING
        {
            self.hub
                .with_state(|state, now| state.engine.head_opening(now, opening, learned));
        }
    }

    /// As `Hub::land_opening`.
    #[inline]
    pub(crate) fn land<'h, 's>(
        mut self,
        hub: &'h Arc<Hub>,
        report: Report,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Landing<'h> {
        let opening = self.opening.take().expect("an attempt lands once");
        hub.settle_opening(opening, report, spec)
    }
}

impl Drop for Aloft {
    #[inline]
    fn drop(&mut self) {
        if let Some(opening) = self.opening.take() {
            self.hub
                .with_state(|state, now| state.engine.drop_opening(now, opening, Sent::Maybe));
        }
    }
}

impl Begun {
    /// The call and its first verdict, for the loop; `hub` is its own.
    pub(crate) fn take_up<'h>(mut self, hub: &'h Arc<Hub>) -> (CallGuard<'h>, Told<'h>) {
        let verdict = self.verdict.take().expect("a call is taken up once");
        let told = hub.with_state(|state, _| hub.tell(state, self.call, verdict));
        (CallGuard::of(hub, self.call), told)
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.verdict.take().is_some() {
            self.hub.with_state(|state, now| state.end(now, self.call));
        }
    }
}
