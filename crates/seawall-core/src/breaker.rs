//! When a gate stops sending, and how it finds out that it may again.
//!
//! What can go wrong: an upstream is down, and every call waits for its own failure while the load keeps it down.
//! A breaker stops that, and the published ones fail in the stopping: a thousand calls stream through half-open,
//! since the count was taken after the check; a probe that never comes home locks it for days; an answer from
//! before the outage closes it; one lucky probe closes it and forgets that it flaps; a hundred processes come back
//! in the same instant; a caller who hung up counts as a failure, or as a success.
//!
//! So every transition begins a new [`Epoch`] with an empty window, and an outcome from an older one feeds
//! statistics only. A probe holds a lease that ends by itself, and counts against `probes` until it ends, whatever
//! the state does meanwhile. Evidence that speaks of one request, and no evidence at all, are different from
//! success. How long it stays open is a matter of its own: `rest`. What a user forces is a latch outside the automaton, which goes on beneath it.
//!
//! What is slow counts against an upstream where the policy says what slow is: `slow` says how those are counted that
//! have not come back. What follows after it closed is a matter of its own: `ramp`.
//!
//! Not covered: who is to blame when half of a model's deployments fail. A gate of a few
//! calls a second may open on five chance failures in a row. Reference: M. Nygard, Release It!, "Circuit Breaker".

mod ramp;
mod rest;
mod slow;
mod words;

use crate::facts::Replay;
use crate::policy::{BREAKER_RATE_SPAN, BREAKER_RUN_SPAN, BreakerPolicy, Mode};
use crate::ring::Ring;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ramp::Ramps;
pub(crate) use ramp::{Crowd, Ramp};
use rest::Rest;
use slow::{Slow, Watch};
pub use words::{Counts, Epoch, Evidence, Pass, Standing, Transition, Trip, View};
use words::{Pace, Ticket};

/// The health of one gate, and what follows from it.
///
/// At each poll, under one lock: [`arrive`](Self::arrive) once per call, [`advance`](Self::advance), ask
/// [`standing`](Self::standing), and where that admits, [`admit`](Self::admit). Each attempt's [`Pass`] comes back
/// once, by [`record`](Self::record) or [`release`](Self::release). It never allocates after it was configured.
///
/// ```
/// use seawall_core::breaker::{Breaker, Evidence, Standing, Transition};
/// use seawall_core::{facts::Replay, policy::Policy, rng::Rng, time::{Duration, Instant}};
/// let policy = Policy::builder().build()?.gate.breaker().expect("the default policy has a breaker");
/// let (mut breaker, mut rng) = (Breaker::new(&policy), Rng::new(42, 0));
/// let mut now = Instant::START;
/// for attempt in 0..5 {
///     now = now.after(Duration::from_millis(150));
///     assert_eq!(breaker.standing(Replay::Idempotent), Standing::Admits);
///     let pass = breaker.admit(now, Replay::Idempotent, attempt, now.after(Duration::from_secs(1)));
///     let transition = breaker.record(now, pass, Evidence::Failure, &mut rng);
///     assert_eq!(attempt == 4, matches!(transition, Some(Transition::Opened { .. })));
/// }
/// assert!(matches!(breaker.standing(Replay::Idempotent), Standing::Refuses { .. }));
/// # Ok::<(), seawall_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Breaker {
    policy: BreakerPolicy,
    mode: Mode,
    now: Instant,
    epoch: Epoch,
    since: Instant,
    state: State,
    ring: Ring<Bucket, 10>,
    counted_last: Instant,
    run: Run,
    /// The number of the bucket that the last failure was counted in.
    failed_in: u64,
    rest: Rest,
    leases: Vec<Lease>,
    other_came: Option<Instant>,
    /// Boxed, as few policies say what slow is.
    slow: Option<Box<Slow>>,
    /// Boxed, as few policies have one.
    ramps: Option<Box<Ramps>>,
    before: Counts,
    late: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen { successes: u32, answers: u32 },
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    successes: u32,
    failures: u32,
    /// When the first of them was recorded.
    first: Instant,
}

/// Failures with no success between.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    failures: u32,
    first: Instant,
    last: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    ticket: u64,
    began: Instant,
    /// A probe of an earlier half-open proves nothing now.
    epoch: Epoch,
    until: Instant,
}

/// Whether a pass still holds a probe's slot.
enum Held {
    Slot,
    Nothing,
}

impl Breaker {
    /// A closed breaker that has seen nothing, in the policy's mode.
    pub fn new(policy: &BreakerPolicy) -> Self {
        Self::reborn(policy, 0)
    }

    /// The same in the place of `earlier` others, whose attempts are no evidence here.
    pub(crate) fn reborn(policy: &BreakerPolicy, earlier: u32) -> Self {
        let mut leases = Vec::new();
        leases.reserve_exact(slots(policy));
        Self {
            policy: *policy,
            mode: policy.mode,
            now: Instant::START,
            epoch: Epoch(u64::from(earlier) << 32),
            since: Instant::START,
            state: State::Closed,
            ring: Ring::new(policy.window),
            counted_last: Instant::START,
            run: Run::default(),
            failed_in: 0,
            rest: Rest::new(policy),
            leases,
            other_came: None,
            slow: policy
                .slow_call
                .map(|slow| Box::new(Slow::new(slow, policy.window))),
            ramps: policy.ramp.map(|length| Box::new(Ramps::new(length))),
            before: Counts::default(),
            late: Counts::default(),
        }
    }

    /// Tells that a call came, whether or not it may send. Tell it once per call, before asking for its standing:
    /// an Unsafe call is a probe only if no other came for `open_max` (rule H4).
    #[inline]
    pub fn arrive(&mut self, now: Instant, replay: Replay) {
        self.now = self.now.max(now);
        match replay {
            Replay::Idempotent | Replay::Keyed | Replay::Declared => self.other_came = Some(self.now),
            Replay::Unsafe => {}
        }
    }

    /// Tells the time: leases end, an open breaker half-opens, a half-open one that got answers and no verdict
    /// closes. Tell it before each [`standing`](Self::standing).
    #[inline]
    pub fn advance(&mut self, now: Instant) -> Option<Transition> {
        self.now = self.now.max(now);
        if self.is_steady() { None } else { self.turn() }
    }

    /// Whether the clock alone changes nothing of it: nearly always.
    #[inline]
    fn is_steady(&self) -> bool {
        matches!(self.state, State::Closed) && self.leases.is_empty() && self.running().is_none()
    }

    /// Whether every call may send, at any time, until something is recorded or forced.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        match self.mode {
            // Of an attempt that may be slow it must know when it began.
            Mode::Auto | Mode::Closed | Mode::Observe => self.is_steady() && self.slow.is_none(),
            Mode::Open => false,
        }
    }

    #[cold]
    fn turn(&mut self) -> Option<Transition> {
        self.end_leases();
        match self.state {
            State::Closed => {
                if let Some(ramps) = &mut self.ramps {
                    ramps.turn_to(self.now);
                }
                None
            }
            State::Open { until } if self.now < until => None,
            State::Open { .. } => {
                self.enter(State::HalfOpen {
                    successes: 0,
                    answers: 0,
                });
                Some(Transition::HalfOpened)
            }
            State::HalfOpen { .. } => self.close_if_overdue(),
        }
    }

    /// Looks at the attempts that are out: too many that have taken too long already open it as those do that have ended
    /// slow, and a probe among them as a failed one does. Look before each [`standing`](Self::standing); where the policy
    /// has no slow calls there is nothing to see.
    #[inline]
    pub fn look(&mut self, now: Instant, rng: &mut Rng) -> Option<Transition> {
        self.slow.as_ref()?;
        self.now = self.now.max(now);
        self.look_at_slow(rng)
    }

    #[cold]
    fn look_at_slow(&mut self, rng: &mut Rng) -> Option<Transition> {
        match self.state {
            State::Closed => {
                let trip = self.slow_trip()?;
                Some(self.trip(trip, rng))
            }
            State::HalfOpen { .. } => {
                let probes = self.leases.iter().filter(|lease| lease.epoch == self.epoch);
                let began = probes.map(|lease| lease.began).min()?;
                let took = self.now.since(began);
                match self.pace(took) {
                    Pace::Slow => Some(self.open_again(Trip::SlowProbe { took }, rng)),
                    Pace::InTime => None,
                }
            }
            State::Open { .. } => None,
        }
    }

    /// What a call hears that wants to send, as of the last [`advance`](Self::advance). Takes nothing.
    #[inline]
    pub fn standing(&self, replay: Replay) -> Standing {
        match self.mode {
            Mode::Auto => self.finding(replay),
            Mode::Open => Standing::ForcedOpen,
            Mode::Closed | Mode::Observe => Standing::Admits,
        }
    }

    /// What the automaton itself would say, whatever the latch: what an observing gate reports.
    #[inline]
    pub fn finding(&self, replay: Replay) -> Standing {
        match self.state {
            State::Closed => Standing::Admits,
            State::Open { .. } | State::HalfOpen { .. } => self.finding_broken(replay),
        }
    }

    #[cold]
    fn finding_broken(&self, replay: Replay) -> Standing {
        match self.state {
            State::Closed => Standing::Admits,
            State::Open { until } => Standing::Refuses {
                retry_at: until.max(self.probes_from(replay)),
            },
            State::HalfOpen { .. } => {
                // A probe that is out is judged long before its lease ends; how long a failed one keeps the breaker
                // open is the better guess.
                let slot_at = if self.free_probes() > 0 {
                    self.now
                } else {
                    self.lease_end()
                        .min(self.now.after(self.rest.longer(&self.policy)))
                };
                let probe_at = slot_at.max(self.probes_from(replay));
                if probe_at <= self.now {
                    Standing::AdmitsProbe
                } else {
                    Standing::Refuses {
                        retry_at: probe_at.min(self.overdue_at()),
                    }
                }
            }
        }
    }

    /// Takes leave for one attempt. Call it only where [`standing`](Self::standing) admits, at the same `now`, under
    /// the same lock. `ticket` names the attempt and is never used twice; a probe's slot is free again at
    /// `lease_until` at the latest. An attempt that only a latch lets through is no probe and moves nothing.
    #[cold]
    pub fn admit(&mut self, now: Instant, replay: Replay, ticket: u64, lease_until: Instant) -> Pass {
        self.now = self.now.max(now);
        debug_assert!(
            matches!(self.standing(replay), Standing::Admits | Standing::AdmitsProbe),
            "an attempt is admitted only where its call may send"
        );
        self.end_leases();
        let ticket = match self.finding(replay) {
            Standing::AdmitsProbe => {
                self.leases.push(Lease {
                    ticket,
                    began: self.now,
                    epoch: self.epoch,
                    until: lease_until,
                });
                Ticket::Probe(ticket)
            }
            Standing::Admits | Standing::Refuses { .. } | Standing::ForcedOpen => Ticket::Plain,
        };
        debug_assert!(self.leases.len() <= self.leases.capacity());
        let watch = match (&mut self.slow, self.state) {
            (Some(slow), State::Closed) => slow.watch(self.now),
            (Some(_), State::Open { .. } | State::HalfOpen { .. }) | (None, _) => Watch::NONE,
        };
        Pass {
            epoch: self.epoch,
            ticket,
            began: self.now,
            watch,
        }
    }

    /// As [`admit`](Self::admit), where any pass is a [plain](Pass::plain) one: says of which epoch. `None` where it may
    /// be another.
    #[inline]
    pub(crate) fn admit_plain(&mut self, now: Instant) -> Option<Epoch> {
        self.now = self.now.max(now);
        (self.is_steady() && self.slow.is_none()).then_some(self.epoch)
    }

    /// Tells what an attempt met: at its commit, or when it is settled without one. An outcome of an older epoch, or
    /// of a probe whose lease has ended, feeds statistics only.
    #[inline]
    pub fn record(
        &mut self,
        now: Instant,
        pass: Pass,
        evidence: Evidence,
        rng: &mut Rng,
    ) -> Option<Transition> {
        // A transition by the clock makes the pass one of an older epoch: no two transitions come at once.
        let by_clock = self.advance(now);
        let held = self.end_lease(&pass);
        let pace = match self.slow {
            Some(_) => self.come_back(&pass),
            None => Pace::InTime,
        };
        if pass.epoch != self.epoch {
            self.late.add(evidence);
            return by_clock;
        }
        self.count(evidence, pace);
        match (self.state, held) {
            (State::Closed, _) => self.judge(rng),
            (State::HalfOpen { .. }, Held::Slot) => {
                let took = self.now.since(pass.began);
                self.judge_probe(evidence, took, rng)
            }
            // Only a latch let these through; the automaton would not have sent them.
            (State::HalfOpen { .. }, Held::Nothing) | (State::Open { .. }, _) => None,
        }
    }

    /// Tells that an attempt was dropped: no evidence, and a probe's slot is free again.
    pub fn release(&mut self, now: Instant, pass: Pass) {
        self.now = self.now.max(now);
        self.end_lease(&pass);
        if self.slow.is_some() {
            self.come_back(&pass);
        }
    }

    /// Takes another policy and keeps the state (a reload): an open breaker keeps its time, probes in flight keep
    /// theirs, and a changed window starts with the old counts in its oldest bucket. A latch that was forced stays,
    /// unless the policy's own mode changed.
    pub fn configure(&mut self, now: Instant, policy: &BreakerPolicy) {
        self.now = self.now.max(now);
        self.ring.turn_to(self.now);
        if policy.window != self.policy.window {
            let counts = self.counts();
            let carried = Bucket {
                successes: u32::try_from(counts.successes).unwrap_or(u32::MAX),
                failures: u32::try_from(counts.failures).unwrap_or(u32::MAX),
                first: self.counted_first(),
            };
            self.ring.restart(self.now, policy.window, carried);
            self.failed_in = self.ring.newest_number();
        }
        if policy.mode != self.policy.mode {
            self.mode = policy.mode;
        }
        match (&mut self.slow, policy.slow_call) {
            (Some(slow), Some(policy_slow)) => slow.configure(self.now, policy_slow, policy.window),
            (slow, policy_slow) => {
                *slow = policy_slow.map(|slow| Box::new(Slow::new(slow, policy.window)));
            }
        }
        match (&mut self.ramps, policy.ramp) {
            // One that runs goes on to its own end.
            (Some(ramps), Some(length)) => ramps.configure(length),
            (ramps, length) => *ramps = length.map(|length| Box::new(Ramps::new(length))),
        }
        self.leases
            .reserve_exact(slots(policy).saturating_sub(self.leases.len()));
        self.rest.configure(policy);
        self.policy = *policy;
    }

    /// Sets or, with [`Mode::Auto`], lifts the latch. The automaton goes on beneath it and is not moved.
    pub fn force(&mut self, now: Instant, mode: Mode) {
        self.now = self.now.max(now);
        self.mode = mode;
    }

    /// Bytes that it keeps allocated beside itself: fixed by its policy, whatever it has seen.
    pub fn bytes_kept(&self) -> usize {
        let slow = self.slow.as_ref().map_or(0, |slow| size_of_val(&**slow));
        let ramps = self.ramps.as_ref().map_or(0, |ramps| size_of_val(&**ramps));
        self.leases.capacity() * size_of::<Lease>() + slow + ramps
    }

    /// Probes that may be admitted now; none unless half-open.
    pub fn free_probes(&self) -> u32 {
        match self.state {
            State::Closed | State::Open { .. } => 0,
            State::HalfOpen { .. } => self.policy.probes.saturating_sub(self.probes()),
        }
    }

    /// When the clock alone changes something next: an open time or a probe's lease ends, or a half-open breaker is
    /// overdue, or a ramp ends. `None` while closed otherwise.
    pub fn next_change(&self) -> Option<Instant> {
        let at = match self.state {
            State::Closed => self.running().map_or(Instant::NEVER, Ramp::end),
            State::Open { until } => until,
            State::HalfOpen { .. } => self.lease_end().min(self.overdue_at()),
        };
        (at < Instant::NEVER).then_some(at)
    }

    /// The line along which calls are let in, while there is one that holds: a latch stands before it.
    pub(crate) fn ramp(&self) -> Option<&Ramp> {
        match self.mode {
            Mode::Auto => self.running(),
            Mode::Open | Mode::Closed | Mode::Observe => None,
        }
    }

    /// The same, to be told who came and who went.
    pub(crate) fn ramp_mut(&mut self) -> Option<&mut Ramp> {
        let ramps = self.ramps.as_mut()?;
        match self.mode {
            Mode::Auto => ramps.running_mut(),
            Mode::Open | Mode::Closed | Mode::Observe => None,
        }
    }

    /// The same, whatever the latch.
    fn running(&self) -> Option<&Ramp> {
        self.ramps.as_ref()?.running()
    }

    /// The latch.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// What was forced upon it; `Auto` where its policy's own mode holds.
    pub(crate) fn forced(&self) -> Mode {
        if self.mode == self.policy.mode {
            Mode::Auto
        } else {
            self.mode
        }
    }

    /// The current epoch.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether it stands at `now` as a new one would: closed, and with nothing in its window.
    pub(crate) fn knows_nothing(&mut self, now: Instant) -> bool {
        self.now = self.now.max(now);
        self.ring.turn_to(self.now);
        self.is_steady()
            && self.mode == self.policy.mode
            && self.counts() == Counts::default()
            && self.rest.is_calm(self.now)
    }

    /// The state as of the last time told, for metrics and pages.
    pub fn view(&self) -> View {
        let (state, calm) = match self.state {
            State::Closed => ("closed", self.rest.is_calm(self.now)),
            State::Open { .. } => ("open", false),
            State::HalfOpen { .. } => ("half-open", false),
        };
        View {
            state,
            since: self.since,
            mode: self.mode,
            transitions: self.epoch.0 & u64::from(u32::MAX),
            counts: self.counts(),
            before: self.before,
            late: self.late,
            probes: self.probes(),
            slow: self.slow.as_ref().map_or(0, |slow| slow.seen()),
            ramp_per_mille: self.running().map(|ramp| ramp.per_mille(self.now)),
            flapping: self.rest.flapping() && !calm,
        }
    }

    #[inline]
    fn count(&mut self, evidence: Evidence, pace: Pace) {
        self.ring.turn_to(self.now);
        let (successes, failures) = match evidence {
            Evidence::Success => (1, 0),
            Evidence::Failure => (0, 1),
            // No verdict: breaks no run of failures, and dilutes no share.
            Evidence::Answered | Evidence::Neutral => return,
        };
        self.counted_last = self.now;
        if let (Pace::Slow, Some(slow)) = (pace, &mut self.slow) {
            slow.end(self.now);
        }
        let bucket = self.ring.newest_mut();
        if bucket.is_empty() {
            bucket.first = self.now;
        }
        bucket.successes = bucket.successes.saturating_add(successes);
        bucket.failures = bucket.failures.saturating_add(failures);
        if successes > 0 {
            self.run = Run::default();
            return;
        }
        if self.run.failures == 0 {
            self.run.first = self.now;
        }
        self.failed_in = self.ring.newest_number();
        self.run.last = self.now;
        self.run.failures = self.run.failures.saturating_add(1);
    }

    /// Rule H1.
    #[inline]
    fn judge(&mut self, rng: &mut Rng) -> Option<Transition> {
        let run = self.run;
        let span = run.last.since(run.first);
        if run.failures >= self.policy.consecutive && span >= BREAKER_RUN_SPAN {
            return Some(self.trip(
                Trip::Run {
                    failures: run.failures,
                    span,
                },
                rng,
            ));
        }
        if self.slow.is_some()
            && let Some(trip) = self.slow_trip()
        {
            return Some(self.trip(trip, rng));
        }
        if self.failed_in < self.ring.oldest_number() {
            // Without a failure in the window no share of failures is reached, and nothing need be summed up.
            return None;
        }
        let counts = self.counts();
        let counted = counts.successes + counts.failures;
        let enough = counted >= u64::from(self.policy.min_calls);
        let share_reached = self.policy.is_share_reached(counts.failures, counted);
        if enough && share_reached && self.counted_last.since(self.counted_first()) >= self.share_span() {
            let failures = counts.failures;
            return Some(self.trip(Trip::Share { failures, counted }, rng));
        }
        None
    }

    /// Rule H1, of slow attempts. One that is out counts as what it is already: an attempt, and slow.
    #[cold]
    fn slow_trip(&mut self) -> Option<Trip> {
        self.ring.turn_to(self.now);
        let (counts, ended_from, ended_last) = (self.counts(), self.counted_first(), self.counted_last);
        let slow = self.slow.as_mut()?;
        let (overdue, overdue_from) = slow.overdue(self.now);
        let all_slow = slow.ended(self.now) + overdue;
        let counted = counts.successes + counts.failures + overdue;
        let per_mille = u64::from(slow.per_mille());
        let share_reached =
            all_slow > 0 && all_slow.saturating_mul(1_000) >= counted.saturating_mul(per_mille);
        let span = match (overdue, counts.successes + counts.failures) {
            (0, _) => ended_last.since(ended_from),
            (_, 0) => self.now.since(overdue_from),
            (_, _) => self.now.since(overdue_from.min(ended_from)),
        };
        let enough = counted >= u64::from(self.policy.min_calls) && span >= self.share_span();
        (enough && share_reached).then_some(Trip::Slow {
            slow: all_slow,
            counted,
        })
    }

    /// How an attempt of this length stands to what the policy calls slow.
    fn pace(&self, took: Duration) -> Pace {
        match &self.slow {
            Some(slow) if slow.is_slow(took) => Pace::Slow,
            Some(_) | None => Pace::InTime,
        }
    }

    /// The attempt with this pass is out no more, or has proved to be well. Says how long it took.
    #[cold]
    fn come_back(&mut self, pass: &Pass) -> Pace {
        if let Some(slow) = &mut self.slow {
            slow.unwatch(self.now, pass.began, pass.watch);
        }
        self.pace(self.now.since(pass.began))
    }

    #[cold]
    fn judge_probe(&mut self, evidence: Evidence, took: Duration, rng: &mut Rng) -> Option<Transition> {
        if let (Evidence::Success, Pace::Slow) = (evidence, self.pace(took)) {
            return Some(self.open_again(Trip::SlowProbe { took }, rng));
        }
        let State::HalfOpen { successes, answers } = &mut self.state else {
            return None;
        };
        match evidence {
            Evidence::Success => {
                *successes = successes.saturating_add(1);
                *answers = answers.saturating_add(1);
                if *successes >= self.policy.probe_successes {
                    return Some(self.close(Transition::Closed));
                }
            }
            Evidence::Failure => return Some(self.open_again(Trip::Probe, rng)),
            Evidence::Answered => *answers = answers.saturating_add(1),
            Evidence::Neutral => {}
        }
        self.close_if_overdue()
    }

    /// Opens from half-open, for longer.
    fn open_again(&mut self, trip: Trip, rng: &mut Rng) -> Transition {
        self.rest.go_on(&self.policy);
        self.open(trip, rng)
    }

    /// Opens from closed: for longer where the last closing proved too early.
    fn trip(&mut self, trip: Trip, rng: &mut Rng) -> Transition {
        let met = self.counts();
        self.rest.trip(self.now, &self.policy, trip, met);
        self.open(trip, rng)
    }

    fn open(&mut self, trip: Trip, rng: &mut Rng) -> Transition {
        let until = self.rest.until(self.now, &self.policy, rng);
        self.enter(State::Open { until });
        Transition::Opened {
            until,
            trip,
            flapping: self.rest.flapping(),
        }
    }

    fn close(&mut self, how: Transition) -> Transition {
        self.enter(State::Closed);
        self.rest.end(self.now, &self.policy);
        if let Some(ramps) = &mut self.ramps {
            ramps.begin(self.now);
        }
        how
    }

    fn close_if_overdue(&mut self) -> Option<Transition> {
        (self.now >= self.overdue_at()).then(|| self.close(Transition::ClosedCautiously))
    }

    /// Begins an epoch. Leases go on: what was sent is in flight, whatever it would prove.
    fn enter(&mut self, state: State) {
        self.ring.turn_to(self.now);
        self.before = self.counts();
        self.ring.clear();
        if let Some(slow) = &mut self.slow {
            slow.clear(self.now);
        }
        if let Some(ramps) = &mut self.ramps {
            ramps.stop();
        }
        self.run = Run::default();
        self.epoch.0 += 1;
        self.since = self.now;
        self.state = state;
    }

    fn end_leases(&mut self) {
        let now = self.now;
        self.leases.retain(|lease| now < lease.until);
    }

    fn end_lease(&mut self, pass: &Pass) -> Held {
        let Ticket::Probe(ticket) = pass.ticket else {
            return Held::Nothing;
        };
        match self.leases.iter().position(|lease| lease.ticket == ticket) {
            Some(index) => {
                self.leases.swap_remove(index);
                Held::Slot
            }
            None => Held::Nothing,
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for bucket in self.ring.all() {
            counts.successes += u64::from(bucket.successes);
            counts.failures += u64::from(bucket.failures);
        }
        counts
    }

    /// When the oldest outcome in the window was recorded.
    fn counted_first(&self) -> Instant {
        let filled = self.ring.all().iter().filter(|bucket| !bucket.is_empty());
        filled
            .map(|bucket| bucket.first)
            .min()
            .unwrap_or(self.counted_last)
    }

    /// What the outcomes behind a share must span. A window below two seconds can't be asked for a whole one: what
    /// its ten buckets hold may span less.
    fn share_span(&self) -> Duration {
        BREAKER_RATE_SPAN.min(self.policy.window.over(2))
    }

    /// From when a call may be a probe: at once, but for one that must not act twice.
    fn probes_from(&self, replay: Replay) -> Instant {
        match (replay, self.other_came) {
            (Replay::Unsafe, Some(came)) => came.after(self.policy.open_max),
            (Replay::Unsafe, None) | (Replay::Idempotent | Replay::Keyed | Replay::Declared, _) => {
                Instant::START
            }
        }
    }

    fn probes(&self) -> u32 {
        let running = self.leases.iter().filter(|lease| self.now < lease.until);
        u32::try_from(running.count()).unwrap_or(u32::MAX)
    }

    fn lease_end(&self) -> Instant {
        self.leases
            .iter()
            .map(|lease| lease.until)
            .min()
            .unwrap_or(Instant::NEVER)
    }

    /// When a half-open breaker closes without a verdict; never while nothing answered.
    fn overdue_at(&self) -> Instant {
        match self.state {
            State::HalfOpen { answers: 1.., .. } => self.since.after(self.policy.open_max),
            State::HalfOpen { answers: 0, .. } | State::Closed | State::Open { .. } => Instant::NEVER,
        }
    }
}

impl Bucket {
    const fn is_empty(&self) -> bool {
        self.successes == 0 && self.failures == 0
    }
}

fn slots(policy: &BreakerPolicy) -> usize {
    usize::try_from(policy.probes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
