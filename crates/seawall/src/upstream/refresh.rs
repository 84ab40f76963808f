//! A credential that ends, renewed by one caller for all (rule D6).
//!
//! What can go wrong: a token expires, and a thousand calls ask for the next one at once; the caller that asks is
//! cancelled, and everybody else's wait with it; the identity server hangs, and every call behind it; the new token
//! is denied like the old one, and each call fetches another; a late 401 throws away the token that has replaced the
//! one it speaks of. So
//!
//! - there is one refresh at a time: whoever needs it polls the same future, which lives for as long as one of them
//!   waits and no longer. No task is left behind, and no lock is held while it is polled;
//! - nobody waits beyond its own attempt, and no refresh takes longer than [`REFRESH_MAX`]; one that fails, panics or
//!   takes too long is over, and the next caller begins another;
//! - a denial speaks of the version that was sent: where a newer one is there, that is taken, and nobody asks;
//! - a refresh that fails has failed for all attempts that had left by then. Their denials, however late they come, do
//!   not each ask an identity server that is down; the next attempt does;
//! - a version that was made here, that nothing was ever accepted with, and that is younger than a latch lasts is not
//!   replaced: it is denied as any credential is, and latches (rule H9).
//!
//! What it does not cover: how long a token says that it lives. The server's 401 alone is believed.

use crate::clock::Clock;
use crate::http::{Late, Secret, within};
use seawall_core::policy::CREDENTIAL_LATCH;
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The longest that one refresh may take: 30 s, half of what the first byte of an answer may take.
pub(super) const REFRESH_MAX: Duration = Duration::from_secs(30);
/// How much of a refresh's error is kept.
pub(super) const CAUSE_CHARS_MAX: usize = 400;

/// Gets a new version.
pub(super) type Ask = Arc<dyn Fn() -> Asking + Send + Sync>;
/// A refresh that is under way.
pub(super) type Asking = Pin<Box<dyn Future<Output = Result<Secret, String>> + Send>>;

/// One version of a credential.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// From 1; 0 is none.
    pub(super) number: u32,
    pub(super) secret: Secret,
    /// Refreshes that had failed when it was handed out.
    failed_before: u64,
}

/// Keeps the newest version, and gets the next one.
pub(super) struct Refresher {
    ask: Ask,
    clock: Arc<dyn Clock>,
    /// The newest version that a server took.
    accepted: AtomicU32,
    shared: Arc<Shared>,
}

struct Shared(Mutex<State>);

struct State {
    newest: Option<Version>,
    /// The one before it, which a server that denied it may still repeat.
    replaced: Option<Secret>,
    /// When the newest version was made; nothing for one that came with the upstream.
    made: Option<Instant>,
    flights: u64,
    flight: Option<Flight>,
    /// Refreshes that failed, and why the last of them did.
    failures: u64,
    failed: Arc<str>,
}

/// The one refresh that is under way.
struct Flight {
    number: u64,
    /// Nothing while somebody polls it.
    asking: Option<Asking>,
    waiting: usize,
    seats_taken: u64,
    wakers: BTreeMap<u64, Waker>,
}

impl Refresher {
    pub(super) fn new(ask: Ask, first: Option<Secret>, clock: Arc<dyn Clock>) -> Self {
        let state = State {
            newest: first.map(|secret| Version {
                number: 1,
                secret,
                failed_before: 0,
            }),
            replaced: None,
            made: None,
            flights: 0,
            flight: None,
            failures: 0,
            failed: Arc::from(""),
        };
        Self {
            ask,
            clock,
            accepted: AtomicU32::new(0),
            shared: Arc::new(Shared(Mutex::new(state))),
        }
    }

    /// The number of the newest version; 0 where there is none yet.
    pub(super) fn newest(&self) -> u32 {
        self.shared
            .lock()
            .newest
            .as_ref()
            .map_or(0, |newest| newest.number)
    }

    /// What it holds: the newest version, and the one before it.
    pub(super) fn secrets(&self) -> Vec<Secret> {
        let state = self.shared.lock();
        let newest = state.newest.iter().map(|newest| newest.secret.clone());
        newest.chain(state.replaced.clone()).collect()
    }

    /// The newest version, waited for until `by` where there is none yet. The error says why there is none.
    pub(super) async fn version(&self, by: Instant) -> Result<Version, Arc<str>> {
        // Nothing was sent yet that an earlier failure could speak for.
        self.above(0, u64::MAX, by).await
    }

    /// A newer version than this one, which was sent and denied, waited for until `by`. The error says why there is none.
    pub(super) async fn newer_than(&self, denied: &Version, by: Instant) -> Result<Version, Arc<str>> {
        self.above(denied.number, denied.failed_before, by).await
    }

    async fn above(&self, number: u32, failed_before: u64, by: Instant) -> Result<Version, Arc<str>> {
        let waits = match self.join(number, failed_before) {
            Joined::There(version) => return Ok(version),
            Joined::None(why) => return Err(why),
            Joined::Waits(waits) => waits,
        };
        let began = self.clock.now();
        within(&*self.clock, by, waits).await.unwrap_or_else(|Late| {
            let limit = by.since(began).up_to_millis();
            Err(format!("waiting for a new one took longer than {limit}").into())
        })
    }

    /// A server took this version.
    pub(super) fn accepted(&self, number: u32) {
        self.accepted.fetch_max(number, Ordering::Relaxed);
    }

    /// Joins the refresh under way, or begins one, unless that is not needed or not worth it.
    fn join(&self, number: u32, failed_before: u64) -> Joined {
        let now = self.clock.now();
        let mut state = self.shared.lock();
        if let Some(newest) = &state.newest {
            if newest.number > number {
                return Joined::There(state.handed_out(newest));
            }
            if state.failures > failed_before {
                return Joined::None(Arc::clone(&state.failed));
            }
            let age = state.made.map(|made| now.since(made));
            let was_accepted = self.accepted.load(Ordering::Relaxed) >= newest.number;
            if let Some(age) = age.filter(|age| !was_accepted && *age < CREDENTIAL_LATCH) {
                let age = age.up_to_millis();
                let why = format!("it was made {age} ago and was never accepted; no new one was asked for");
                return Joined::None(why.into());
            }
        }
        if state.flight.is_none() {
            state.flights += 1;
            let by = now.after(REFRESH_MAX);
            state.flight = Some(Flight {
                number: state.flights,
                asking: Some(bounded(Arc::clone(&self.ask), Arc::clone(&self.clock), by)),
                waiting: 0,
                seats_taken: 0,
                wakers: BTreeMap::new(),
            });
        }
        let flight = state.flight.as_mut().expect("a refresh is under way by now");
        flight.waiting += 1;
        flight.seats_taken += 1;
        Joined::Waits(Waits {
            shared: Arc::clone(&self.shared),
            clock: Arc::clone(&self.clock),
            flight: flight.number,
            seat: flight.seats_taken,
            above: number,
        })
    }
}

/// What somebody who needs a newer version meets.
enum Joined {
    There(Version),
    /// None, and none is asked for.
    None(Arc<str>),
    Waits(Waits),
}

/// One refresh, for so long at the most. The user's code is not run before it is polled.
fn bounded(ask: Ask, clock: Arc<dyn Clock>, by: Instant) -> Asking {
    Box::pin(async move {
        within(&*clock, by, async { ask().await })
            .await
            .unwrap_or_else(|Late| Err(format!("it took longer than {}", REFRESH_MAX.up_to_millis())))
    })
}

/// Somebody who waits for a refresh, and polls it when it is their turn.
struct Waits {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    flight: u64,
    seat: u64,
    above: u32,
}

impl Future for Waits {
    type Output = Result<Version, Arc<str>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut asking = {
            let mut state = self.shared.lock();
            let Some(flight) = state.flight_of(self.flight) else {
                return Poll::Ready(state.outcome(self.above));
            };
            // Before it is polled: a wake that comes while it is reaches at least the one who holds it.
            flight.wakers.insert(self.seat, context.waker().clone());
            let Some(asking) = flight.asking.take() else {
                return Poll::Pending;
            };
            asking
        };
        let waker = Waker::from(Arc::clone(&self.shared));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            asking.as_mut().poll(&mut Context::from_waker(&waker))
        }));
        match polled {
            Ok(Poll::Pending) => {
                let mut state = self.shared.lock();
                let flight = state
                    .flight_of(self.flight)
                    .expect("a refresh is under way for as long as somebody waits for it");
                flight.asking = Some(asking);
                Poll::Pending
            }
            Ok(Poll::Ready(met)) => Poll::Ready(self.land(met)),
            Err(_) => Poll::Ready(self.land(Err("asking for it panicked".to_owned()))),
        }
    }
}

impl Waits {
    /// Ends the refresh, for everybody.
    fn land(&self, met: Result<Secret, String>) -> Result<Version, Arc<str>> {
        let now = self.clock.now();
        let (outcome, over) = {
            let mut state = self.shared.lock();
            state.take_in(met, now);
            (state.outcome(self.above), state.flight.take())
        };
        for waker in over.map(|flight| flight.wakers).into_iter().flatten() {
            waker.1.wake();
        }
        outcome
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let Some(flight) = state.flight_of(self.flight) else {
            return;
        };
        flight.waiting -= 1;
        flight.wakers.remove(&self.seat);
        if flight.waiting > 0 {
            // A wake that came while this one polled may have reached it alone: whoever was woken with it found nothing to
            // poll, and waits again.
            let wakers = std::mem::take(&mut flight.wakers);
            drop(state);
            wakers.into_values().for_each(Waker::wake);
            return;
        }
        // Dropped outside the lock: what a refresh holds may ask for a version when it goes.
        let over = state.flight.take();
        drop(state);
        drop(over);
    }
}

impl State {
    fn flight_of(&mut self, number: u64) -> Option<&mut Flight> {
        self.flight.as_mut().filter(|flight| flight.number == number)
    }

    fn take_in(&mut self, met: Result<Secret, String>, now: Instant) {
        let secret = match met {
            Ok(secret) => secret,
            Err(why) => return self.fail(format!("a new one could not be had: {why}").into()),
        };
        let number = match &self.newest {
            Some(newest) if newest.secret.to_value() == secret.to_value() => {
                return self.fail(Arc::from("the new one is the same as before"));
            }
            Some(newest) => newest.number.saturating_add(1),
            None => 1,
        };
        let replaced = self.newest.replace(Version {
            number,
            secret,
            failed_before: self.failures,
        });
        self.replaced = replaced.map(|version| version.secret);
        self.made = Some(now);
    }

    fn fail(&mut self, why: Arc<str>) {
        self.failures += 1;
        self.failed = why;
    }

    /// This version, for an attempt that leaves now.
    fn handed_out(&self, version: &Version) -> Version {
        Version {
            failed_before: self.failures,
            ..version.clone()
        }
    }

    fn outcome(&self, above: u32) -> Result<Version, Arc<str>> {
        match &self.newest {
            Some(newest) if newest.number > above => Ok(self.handed_out(newest)),
            Some(_) | None => Err(Arc::clone(&self.failed)),
        }
    }
}

impl Shared {
    // A panic under the lock is one between two plain assignments; the state is whole either way.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whatever wakes a refresh wakes all who wait for it: the first of them polls it.
impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        let wakers = {
            let mut state = self.lock();
            let Some(flight) = &mut state.flight else {
                return;
            };
            std::mem::take(&mut flight.wakers)
        };
        wakers.into_values().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests;
