//! Calls that are no guards of a loop: for futures that are named, and so cannot borrow from themselves.
//!
//! What can go wrong is what goes wrong with a guard that borrows: it is dropped in the middle, and what it held stays
//! taken. So these give back on drop as well, and are taken up by the guards of the loop where there is more to do than to
//! be answered.

use super::{CallGuard, Hub, Landing, Told};
use seawall_core::call::Spec;
use seawall_core::engine::{self, Opening};
#[cfg(feature = "tower")]
use seawall_core::learned::Learned;
use seawall_core::outcome::{Report, Sent};
use seawall_core::time::Instant;
use seawall_core::verdict::{CallId, Limits, Verdict};
use std::borrow::Borrow;
use std::sync::Arc;

/// How a call began.
pub(crate) enum Unborrowed<H: Borrow<Arc<Hub>>> {
    /// Its first attempt is to be sent within these limits, and it needs no seat before that has landed.
    Sent(Aloft<H>, Limits),
    /// It has a seat, and a first verdict.
    Seated(Begun),
}

/// The first attempt of a call without a seat, which knows its hub by `H`. Dropping it abandons the attempt and ends the
/// call.
pub(crate) struct Aloft<H: Borrow<Arc<Hub>>> {
    hub: H,
    /// Given back exactly once: on landing, or on drop.
    opening: Option<Opening>,
}

/// A call with a seat whose first verdict nobody has acted on. Dropping it ends the call.
pub(crate) struct Begun {
    hub: Arc<Hub>,
    call: CallId,
    verdict: Option<Verdict>,
}

impl Hub {
    /// As [`open`](Hub::open), without a guard.
    #[inline]
    pub(crate) fn open_unborrowed<'s, H: Borrow<Arc<Self>>>(
        hold: H,
        spec: impl FnOnce(Instant) -> Spec<'s>,
    ) -> Unborrowed<H> {
        let hub: &Arc<Self> = hold.borrow();
        let mut seated = None;
        let sent = hub.with_state(|state, now| match state.engine.open(now, &spec(now)) {
            engine::Opened::Sent(opening, limits) => Some((opening, limits)),
            engine::Opened::Seated(call, verdict) => {
                state.seat(call);
                seated = Some(Begun {
                    hub: Arc::clone(hub),
                    call,
                    verdict: Some(verdict),
                });
                None
            }
        });
        match sent {
            Some((opening, limits)) => Unborrowed::Sent(
                Aloft {
                    hub: hold,
                    opening: Some(opening),
                },
                limits,
            ),
            None => Unborrowed::Seated(seated.expect("a call that is not sent has a seat")),
        }
    }
}

impl Aloft<&Arc<Hub>> {
    /// The same, for a loop that outlives the borrow.
    pub(crate) fn owned(mut self) -> Aloft<Arc<Hub>> {
        Aloft {
            hub: Arc::clone(self.hub),
            opening: self.opening.take(),
        }
    }
}

impl<H: Borrow<Arc<Hub>>> Aloft<H> {
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        self.hub.borrow()
    }

    /// As [`Leave::learned`](super::Leave::learned).
    #[cfg(feature = "tower")]
    pub(crate) fn learned(&self, learned: &Learned) {
        if let Some(opening) = &self.opening
            && *learned != Learned::NOTHING
        {
            self.hub()
                .with_state(|state, now| state.engine.head_opening(now, opening, learned));
        }
    }

    /// The attempt has brought its call's answer, as `report` has it: the call is over.
    #[inline]
    pub(crate) fn answered(&mut self, report: &Report) {
        let opening = self.opening.take().expect("an attempt lands once");
        self.hub()
            .with_state(|state, now| state.engine.answer_opening(now, opening, report));
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

impl<H: Borrow<Arc<Hub>>> Drop for Aloft<H> {
    #[inline]
    fn drop(&mut self) {
        if let Some(opening) = self.opening.take() {
            self.hub()
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
