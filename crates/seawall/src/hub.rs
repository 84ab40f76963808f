//! The engine behind one lock, and who is to be woken.
//!
//! What can go wrong: a caller leaves while it waits, parks, sends or streams, and what it held stays taken; a wake
//! goes to a caller that has died and is lost; a waker runs under the lock and asks for it again. So every hold is a
//! guard ([`CallGuard`], [`Leave`]) that gives back on drop; whoever changes the engine passes its wakes on before it
//! lets go; and wakers are called after the lock is open.

use crate::clock::{Clock, Sleep};
use crate::sync::{Mutex, MutexGuard};
use seawall_core::call::Spec;
use seawall_core::engine::Engine;
use seawall_core::outcome::{Report, Sent, Usage};
use seawall_core::time::Instant;
use seawall_core::trace::Event;
use seawall_core::verdict::{CallId, Ended, Limits, Permit, Role, Verdict};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

/// An engine that many callers share.
pub struct Hub {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

struct State {
    engine: Engine,
    /// By the slot of a call.
    seats: Vec<Seat>,
}

/// Where a call waits to be asked again.
#[derive(Default)]
struct Seat {
    waker: Option<Waker>,
    woken: bool,
}

impl Hub {
    /// A hub around `engine`, which was told nothing later than `clock` says now.
    pub fn new(engine: Engine, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                engine,
                seats: Vec::new(),
            }),
            clock,
        })
    }

    /// The clock that the engine is told the time by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Does something to the engine, then passes on whatever wakes follow from it.
    pub fn with<R>(&self, act: impl FnOnce(&mut Engine, Instant) -> R) -> R {
        self.with_state(|state, now| act(&mut state.engine, now))
    }

    fn with_state<R>(&self, act: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut wakers = Vec::new();
        let result = {
            let mut state = self.lock();
            // Read under the lock, so that the engine is told times in order.
            let now = self.clock.now();
            let result = act(&mut state, now);
            let State { engine, seats } = &mut *state;
            while let Some(call) = engine.woken(now) {
                // A call that was begun past the hub has no seat: whoever began it asks by itself.
                if let Some(seat) = seats.get_mut(call.slot()) {
                    seat.woken = true;
                    wakers.extend(seat.waker.take());
                }
            }
            result
        };
        for waker in wakers {
            waker.wake();
        }
        result
    }

    /// What happened since the last drain, in order.
    pub fn drain(&self) -> Vec<Event> {
        self.lock().engine.drain().collect()
    }

    /// Begins a call and asks what to do with it, under one lock. `spec` is told the time.
    pub fn begin<'s>(self: &Arc<Self>, spec: impl FnOnce(Instant) -> Spec<'s>) -> (CallGuard, Verdict) {
        let (call, verdict) = self.with_state(|state, now| {
            let call = state.engine.begin(now, spec(now));
            if state.seats.len() <= call.slot() {
                state.seats.resize_with(call.slot() + 1, Seat::default);
            }
            // The slot's last tenant may have been woken and never have looked.
            state.seats[call.slot()] = Seat::default();
            (call, state.engine.poll(now, call))
        });
        (
            CallGuard {
                hub: Arc::clone(self),
                call,
                ended: None,
            },
            verdict,
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock left the engine between two statements of its own, never between two of ours: its
        // counts may be off by one attempt, and refusing every later call would be worse.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// A call that is alive. Dropping it ends the call, in whatever state it is.
#[derive(Debug)]
pub struct CallGuard {
    hub: Arc<Hub>,
    call: CallId,
    ended: Option<Ended>,
}

impl CallGuard {
    /// Asks what to do with the call now.
    pub fn poll(&self) -> Verdict {
        self.hub.with(|engine, now| engine.poll(now, self.call))
    }

    /// Tells how an attempt ended and asks what to do now, under one lock.
    pub fn settle_and_poll(&self, mut leave: Leave, report: Report) -> Verdict {
        let permit = leave.permit.take();
        self.hub.with(|engine, now| {
            if let Some(permit) = permit {
                engine.settle(now, permit, report);
            }
            engine.poll(now, self.call)
        })
    }

    /// The leave that a permit of this call gives.
    pub fn leave(&self, permit: Permit) -> Leave {
        Leave {
            hub: Arc::clone(&self.hub),
            permit: Some(permit),
            sent: Sent::No,
        }
    }

    /// Waits until the call is woken, or until `until` at the latest.
    pub fn turn(&self, until: Instant) -> Turn<'_> {
        Turn {
            guard: self,
            until,
            sleep: None,
        }
    }

    /// Ends the call and says what was left of it.
    pub fn end(mut self) -> Ended {
        self.end_once()
    }

    fn end_once(&mut self) -> Ended {
        let (hub, call) = (&self.hub, self.call);
        *self
            .ended
            .get_or_insert_with(|| hub.with(|engine, now| engine.end(now, call)))
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.end_once();
    }
}

/// Leave to send one attempt. Dropping it abandons the attempt: its places go back, and it is no evidence.
#[derive(Debug)]
#[must_use = "a leave that is dropped abandons its attempt"]
pub struct Leave {
    hub: Arc<Hub>,
    permit: Option<Permit>,
    sent: Sent,
}

impl Leave {
    /// Which candidate of the route to send to.
    pub fn candidate(&self) -> usize {
        self.permit().candidate()
    }

    /// Which attempt of its call this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.permit().attempt()
    }

    /// What the attempt is for.
    pub fn role(&self) -> Role {
        self.permit().role()
    }

    /// The attempt's limits.
    pub fn limits(&self) -> Limits {
        *self.permit().limits()
    }

    /// From here on the server may have acted. Say so before the first byte of the request is written.
    pub const fn leaving(&mut self) {
        self.sent = Sent::Maybe;
    }

    /// The caller accepted the first content: from here the call is not sent again.
    pub fn commit(&self) {
        self.hub.with(|engine, now| engine.commit(now, self.permit()));
    }

    /// How the attempt ended, with what the caller wants of it.
    pub fn landed<T>(self, report: Report, value: T) -> Landed<T> {
        Landed {
            leave: self,
            report,
            value,
        }
    }

    fn permit(&self) -> &Permit {
        self.permit
            .as_ref()
            .expect("a leave has its permit until it is settled or dropped")
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.hub
                .with(|engine, now| engine.abandon(now, permit, self.sent, Usage::NONE));
        }
    }
}

/// An attempt that ended.
#[derive(Debug)]
pub struct Landed<T> {
    pub(crate) leave: Leave,
    pub(crate) report: Report,
    pub(crate) value: T,
}

/// A wait for a call's turn. See [`CallGuard::turn`].
pub struct Turn<'a> {
    guard: &'a CallGuard,
    until: Instant,
    sleep: Option<Sleep>,
}

impl Future for Turn<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let hub = &self.guard.hub;
        {
            let mut state = hub.lock();
            let seat = &mut state.seats[self.guard.call.slot()];
            if std::mem::take(&mut seat.woken) {
                return Poll::Ready(());
            }
            seat.waker = Some(context.waker().clone());
        }
        let (clock, until) = (Arc::clone(&hub.clock), self.until);
        let sleep = self.sleep.get_or_insert_with(|| clock.sleep_until(until));
        if sleep.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        // Trust the clock, not the timer: the engine says whose time has come, in its own order, and this call's
        // waker is among those that it has called when the call's time is up.
        let hub = &self.guard.hub;
        let now = hub.with(|_, now| now);
        let told = hub.lock().seats[self.guard.call.slot()].woken;
        match (told, now >= self.until) {
            (true, _) => Poll::Pending,
            (false, true) => Poll::Ready(()),
            (false, false) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}
