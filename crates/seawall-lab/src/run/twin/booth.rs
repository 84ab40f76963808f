//! The server of a twin: the very one of the simulation, in the mock's time, deciding what the mock answers and when.
//!
//! What can go wrong: a mock that draws its own faults meets other calls than the simulation did, and two columns differ
//! by luck. So what an attempt meets goes by its call's name, which the caller sends along, and by its number, and all else
//! (workers, a queue, work for callers who have left, outages) is kept by the simulator's own [`Desk`].

use crate::net::{Counter, Pace, Place, Service};
use crate::script::Action;
use crate::sim::luck::{Length, Luck, Purpose};
use crate::sim::model::{Model, Server, Trouble};
use crate::sim::server::{Desk, Fate, Taken, Ticket};
use crate::sim::tally::Tally;
use seawall_core::time::Instant;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use tokio::sync::{Notify, oneshot};

/// What chance goes by, as a header: `WHO-NTH-READ-WRITTEN-COUNTS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) who: u64,
    pub(super) nth: u64,
    /// Read and written.
    pub(super) tokens: (u32, u32),
    /// Whether it was due after the warm-up.
    pub(super) counts: bool,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            nth,
            tokens,
            counts,
        } = self;
        write!(f, "{who}-{nth}-{}-{}-{}", tokens.0, tokens.1, u8::from(*counts))
    }
}

impl Name {
    fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(text).ok()?.split('-');
        let name = Self {
            who: parts.next()?.parse().ok()?,
            nth: parts.next()?.parse().ok()?,
            tokens: (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?),
            counts: parts.next()? == "1",
        };
        parts.next().is_none().then_some(name)
    }
}

/// The server of one run.
#[derive(Debug)]
pub(super) struct Booth {
    me: Weak<Self>,
    luck: Luck,
    hop: Length,
    server: Arc<Server>,
    /// When stalls end.
    stalls: Vec<Instant>,
    /// When the model's time began, by the mock's.
    opened: OnceLock<Instant>,
    state: Mutex<State>,
    /// A worker has finished.
    finished: Notify,
}

#[derive(Debug)]
struct State {
    desk: Desk<Arc<Server>>,
    /// Attempts so far, by call.
    sends: BTreeMap<(u64, u64), u32>,
    waiting: BTreeMap<u64, Waiter>,
    names: u64,
    tally: Tally,
}

/// An attempt that the desk has.
#[derive(Debug)]
struct Waiter {
    told: oneshot::Sender<Fate>,
    place: Place,
}

impl Booth {
    pub(super) fn new(model: &Model, seed: u64) -> Arc<Self> {
        let luck = Luck::new(seed);
        let server = Arc::new(model.servers[0].clone());
        let outages = server.outages_in(luck, 0, model.horizon);
        let stalls = outages.iter().filter(|outage| outage.how == Trouble::Hang);
        let stalls = stalls.map(|outage| outage.at.after(outage.lasts)).collect();
        Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            luck,
            hop: model.hop,
            stalls,
            opened: OnceLock::new(),
            state: Mutex::new(State {
                desk: Desk::new(Arc::clone(&server), outages, luck),
                sends: BTreeMap::new(),
                waiting: BTreeMap::new(),
                names: 0,
                tally: Tally::default(),
            }),
            server,
            finished: Notify::new(),
        })
    }

    /// The model's time begins, now by the mock's.
    pub(super) fn opens(&self, now: Instant) {
        self.opened.get_or_init(|| now);
    }

    /// The model's time.
    fn now(&self, pace: &Pace) -> Instant {
        Instant::START.after(pace.now().since(self.opened()))
    }

    /// The same time by the mock's clock.
    fn at(&self, at: Instant) -> Instant {
        self.opened().after(at.since(Instant::START))
    }

    fn opened(&self) -> Instant {
        // A stranger who comes before anybody plays sees a model that begins when the mock does.
        self.opened.get().copied().unwrap_or(Instant::START)
    }

    /// Waits until no work is left, that for callers who have gone included.
    pub(super) async fn rested(&self) {
        loop {
            let finished = self.finished.notified();
            tokio::pin!(finished);
            // Registered before it is looked, so that an end between the two is not missed.
            finished.as_mut().enable();
            if self.state().desk.is_idle() {
                return;
            }
            finished.await;
        }
    }

    /// Adds what the server saw to what the callers saw.
    pub(super) fn add_to(&self, mut callers: Tally) -> Tally {
        let seen = &self.state().tally;
        for (place, bin) in seen.bins.iter().enumerate() {
            let at = Instant::START.after(crate::sim::tally::BIN.times(place as u64));
            let into = callers.bin(at);
            into.arrivals += bin.arrivals;
            into.extras += bin.extras;
        }
        callers.arrivals = seen.arrivals;
        callers.extras = seen.extras;
        callers.by_layer = vec![seen.arrivals];
        callers.worked = seen.worked;
        callers.orphaned = seen.orphaned;
        callers.tokens_in = seen.tokens_in;
        callers.tokens_out = seen.tokens_out;
        callers.cost_pico_dollars = seen.cost_pico_dollars;
        callers
    }

    /// An attempt of this call, from its sending to what it came to.
    async fn serve_attempt(self: Arc<Self>, name: Name, pace: Pace) -> Box<Action> {
        let number = self.begin(&name, &pace);
        let mut hops = self.luck.of_attempt(Purpose::Hop, name.who, name.nth, number);
        pace.pause(self.hop.draw(&mut hops)).await;
        let fate = self.work(&name, number, &pace).await;
        pace.pause(self.hop.draw(&mut hops)).await;
        action_of(fate)
    }

    /// Which attempt of its call it is, from 1.
    fn begin(&self, name: &Name, pace: &Pace) -> u32 {
        let mut state = self.state();
        if state.sends.is_empty() {
            self.plan_ends_of_stalls(pace);
        }
        let sends = state.sends.entry((name.who, name.nth)).or_default();
        *sends += 1;
        *sends
    }

    /// At the end of a stall free workers take what waits.
    fn plan_ends_of_stalls(&self, pace: &Pace) {
        for over in self.stalls.iter().copied() {
            let (booth, pace) = (Weak::clone(&self.me), pace.clone());
            let over = self.at(over);
            tokio::spawn(async move {
                pace.until(over).await;
                if let Some(booth) = booth.upgrade() {
                    booth.work_on(&mut booth.state(), &pace);
                    booth.finished.notify_waiters();
                }
            });
        }
    }

    /// An attempt has reached the server: what it comes to.
    async fn work(&self, name: &Name, number: u32, pace: &Pace) -> Fate {
        // Held to the end of the wait, whoever ends it.
        let waits = pace.keep_waiting();
        let told = {
            let mut state = self.state();
            let now = self.now(pace);
            state.count(now, number, name.counts);
            state.names += 1;
            let attempt = state.names;
            let ticket = Ticket {
                who: name.who,
                nth: name.nth,
                attempt: number,
                tokens_in: name.tokens.0,
                tokens_out: name.tokens.1,
                is_counted: name.counts,
                // A twin's server has no limit.
                tokens_out_max: name.tokens.1,
                // The server is not told how long its caller waits.
                until: Instant::NEVER,
            };
            let taken = state.desk.take(now, attempt, ticket);
            if let Taken::Over(fate) = taken {
                return fate;
            }
            let (told, hears) = oneshot::channel();
            let place = waits.place();
            state.waiting.insert(attempt, Waiter { told, place });
            if let Taken::Works { job, until } = taken {
                self.plan_end(job, until, pace);
            }
            hears
        };
        let fate = told.await;
        drop(waits);
        // Whoever drops the desk ends the run.
        fate.unwrap_or(Fate::Failed)
    }

    fn plan_end(&self, job: u32, until: Instant, pace: &Pace) {
        let (booth, pace) = (Weak::clone(&self.me), pace.clone());
        tokio::spawn(async move {
            let mut until = until;
            loop {
                let Some(at) = booth.upgrade().map(|booth| booth.at(until)) else {
                    return;
                };
                pace.until(at).await;
                let Some(booth) = booth.upgrade() else {
                    return;
                };
                match booth.end(job, &pace) {
                    Some(later) => until = later,
                    None => return,
                }
            }
        });
    }

    /// A worker has finished; a later time where a stall holds it up.
    fn end(&self, job: u32, pace: &Pace) -> Option<Instant> {
        let mut state = self.state();
        if let Some(later) = state.desk.held_up(self.now(pace)) {
            return Some(later);
        }
        let done = state.desk.finish(job);
        let waiter = state.waiting.remove(&done.job.attempt);
        let waiter = waiter.filter(|waiter| !waiter.told.is_closed());
        state.tally.worked = state.tally.worked.plus(done.worked);
        if waiter.is_none() {
            state.tally.orphaned = state.tally.orphaned.plus(done.worked);
        }
        let Ticket {
            tokens_in,
            tokens_out,
            is_counted,
            ..
        } = done.job.ticket;
        if is_counted && done.is_billed() {
            state.tally.bill(self.server.price, tokens_in, tokens_out);
        }
        self.work_on(&mut state, pace);
        drop(state);
        self.finished.notify_waiters();
        if let Some(Waiter { told, place }) = waiter {
            // Before it is told: from now on it moves by itself.
            place.leave();
            // Who has left meanwhile hears nothing.
            let _left = told.send(done.fate);
        }
        None
    }

    fn work_on(&self, state: &mut State, pace: &Pace) {
        let State { desk, waiting, .. } = state;
        let waits_for = |name: u64| waiting.get(&name).is_some_and(|waiter| !waiter.told.is_closed());
        while let Some((job, until)) = desk.start_next(self.now(pace), waits_for) {
            self.plan_end(job, until, pace);
        }
    }

    // What it guards is whole wherever a panic may come from: from an allocation.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self, now: Instant, number: u32, counts: bool) {
        let is_extra = number > 1;
        let bin = self.tally.bin(now);
        bin.arrivals += 1;
        bin.extras += u32::from(is_extra);
        if counts {
            self.tally.arrivals += 1;
            self.tally.extras += u64::from(is_extra);
        }
    }
}

impl Counter for Booth {
    fn serve(&self, call: Option<&[u8]>, pace: &Pace) -> Service {
        let (booth, pace) = (self.me.upgrade(), pace.clone());
        let name = call.and_then(Name::parse);
        Box::pin(async move {
            match (booth, name) {
                (Some(booth), Some(name)) => booth.serve_attempt(name, pace).await,
                // A stranger on this port, or a run that is over.
                (None, _) | (_, None) => action_of(Fate::Failed),
            }
        })
    }
}

/// What this is on the wire.
fn action_of(fate: Fate) -> Box<Action> {
    let text = match fate {
        Fate::Answered => "200".to_owned(),
        // The last three are of ports, of rows and of layers, which a twin has none of.
        Fate::Failed | Fate::Shed | Fate::Refused | Fate::Conflict | Fate::GivenUp => "503".to_owned(),
        Fate::Truncated => "truncate at=50%".to_owned(),
        Fate::Throttled { retry_after: None } => "429".to_owned(),
        Fate::Throttled {
            retry_after: Some(wait),
        } => format!("429 retry-after-ms={}", wait.up_to_millis().as_millis()),
    };
    Box::new(Action::parse(&text).expect("an action that a script can have"))
}
