//! Worlds that live: some hundred callers, three upstreams with policies and moods of their own, and an operator who
//! meddles. Everything follows from one seed, and every law is held against every step.
//!
//! What can go wrong: bytes of a fuzzer reach every state of a dozen calls, and never the states that need an hour of
//! traffic: a ring that has turned, a breaker that flaps, a queue of fifty when the policy changes. So a world runs as
//! a driver does: each attempt lands when its server lets it, each wake is answered when it is due, and in some worlds
//! late. Not covered: bytes on a wire, and threads.

mod draw;

use super::book::{Begun, Book, GATES};
use crate::call::{Candidate, DedupId, Spec};
use crate::engine::Engine;
use crate::facts::Replay;
use crate::gate::{GateId, GateKey};
use crate::latch::CredentialId;
use crate::outcome::{Report, Sent, Usage};
use crate::policy::{GatePolicy, Mode, Policy};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Recording, What};
use crate::verdict::{Action, CallId, Permit, Role, Verdict};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use draw::{Fate, Mood, common_policy, fate, millis, one, percent, policy};

/// Steps that no world of this size needs: beyond it somebody goes round in circles.
const STEPS_MAX: u32 = 400_000;
/// Polls in a row that no engine needs.
const TURNS_MAX: usize = 10_000;
/// Gates that every upstream of the pair passes beside its own.
const COMMON: usize = 2;

/// Lives through the world of this seed: the codes of all reasons that were told in it, or the law that broke.
///
/// # Errors
/// The law that broke, with the trace up to there.
pub fn live(seed: u64) -> Result<BTreeSet<&'static str>, String> {
    let mut world = World::new(seed);
    for _ in 0..STEPS_MAX {
        let Some(next) = world.next() else {
            world.at_rest()?;
            return Ok(world.codes);
        };
        world.step(next);
        world.verify()?;
    }
    Err(format!("it never ends\n{}", world.story()))
}

struct World {
    engine: Engine,
    rng: Rng,
    now: Instant,
    /// How far behind the clock is that calls are begun and polled by, for one step.
    behind: Duration,
    sites: [Site; GATES - COMMON],
    /// Parent, quota, and the upstreams.
    gates: [GateId; GATES],
    /// What was taken at each gate after the last step.
    taken: [u32; GATES],
    calls: Vec<Live>,
    book: Book,
    trace: Vec<Event>,
    codes: BTreeSet<&'static str>,
    /// What the engine said in this step, to be found again among its events.
    told: Vec<(u64, &'static str)>,
    is_prompt: bool,
    drains_at: Option<Instant>,
    arrives_at: Instant,
    arrivals_left: u32,
}

/// An upstream.
struct Site {
    policy: Policy,
    mood: Mood,
    mood_until: Instant,
}

struct Live {
    id: CallId,
    number: u64,
    flights: Vec<(Permit, Fate)>,
    leaves_at: Option<Instant>,
}

/// What happens next.
enum Next {
    Wake,
    Lands(usize, usize),
    Commits(usize, usize),
    Leaves(usize),
    Arrives,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        let mut engine = Engine::new(rng.next_u64(), Recording::On);
        let now = Instant::START.after(Duration::from_secs(3_600));
        let mut sites = [(); GATES - COMMON].map(|()| Site {
            policy: policy(&mut rng),
            mood: Mood::Up,
            mood_until: now.after(millis(&mut rng, 0, 20_000)),
        });
        if percent(&mut rng, 30) {
            sites[1].policy = sites[0].policy;
        }
        let (parent_policy, quota_policy) = (common_policy(&mut rng), common_policy(&mut rng));
        let mut gate = |key, policy, parents: &[GateId], quota| {
            let gate = engine.configure(now, GateKey(key), policy, parents, quota);
            gate.expect("three gates in a row at the most")
        };
        let parent = gate(0, &parent_policy, &[], None);
        let quota = gate(1, &quota_policy, &[], None);
        let one = gate(2, &sites[0].policy.gate, &[parent], Some(quota));
        let two = gate(3, &sites[1].policy.gate, &[parent], Some(quota));
        let alone = gate(4, &sites[2].policy.gate, &[], None);
        let [a, b, c] = [0, 1, 2].map(|site: usize| sites[site].policy.gate);
        let is_prompt = percent(&mut rng, 70);
        let arrivals_left = u32::try_from(rng.between(300, 1_500)).expect("a small number");
        let drains = percent(&mut rng, 15).then(|| now.after(millis(&mut rng, 10_000, 200_000)));
        Self {
            engine,
            now,
            behind: Duration::ZERO,
            sites,
            gates: [parent, quota, one, two, alone],
            taken: [0; GATES],
            calls: Vec::new(),
            book: Book::new([parent_policy, quota_policy, a, b, c], is_prompt),
            trace: Vec::new(),
            codes: BTreeSet::new(),
            told: Vec::new(),
            is_prompt,
            drains_at: drains,
            arrives_at: now,
            arrivals_left,
            rng,
        }
    }

    /// What is due first; a wake before anything else that is due with it. `None` once everybody has gone.
    fn next(&mut self) -> Option<(Instant, Next)> {
        let mut next: Option<(Instant, Next)> = self.engine.next_wake().map(|at| (at, Next::Wake));
        let mut offer = |at: Instant, what: Next| {
            if next.as_ref().is_none_or(|(first, _)| at < *first) {
                next = Some((at, what));
            }
        };
        for (which, call) in self.calls.iter().enumerate() {
            if let Some(at) = call.leaves_at {
                offer(at, Next::Leaves(which));
            }
            for (place, (_, fate)) in call.flights.iter().enumerate() {
                match fate.commits_at {
                    Some(at) => offer(at, Next::Commits(which, place)),
                    None => offer(fate.lands_at, Next::Lands(which, place)),
                }
            }
        }
        if self.arrivals_left > 0 {
            offer(self.arrives_at, Next::Arrives);
        } else if self.calls.is_empty() {
            return None;
        }
        if next.is_none() {
            self.book
                .break_law("a call that nobody wakes any more has no end");
            return Some((self.now, Next::Wake));
        }
        next
    }

    fn step(&mut self, (at, next): (Instant, Next)) {
        self.now = self.now.max(at);
        if !self.is_prompt && percent(&mut self.rng, 3) {
            // A driver that was held up: whatever was due in between is late.
            self.now = self.now.after(millis(&mut self.rng, 1, 30_000));
        }
        self.change_moods();
        match next {
            Next::Wake => {}
            Next::Lands(which, place) => self.land(which, place),
            Next::Commits(which, place) => self.commit(which, place),
            Next::Leaves(which) => self.leave(which),
            Next::Arrives if percent(&mut self.rng, 10) => self.meddle(),
            Next::Arrives => self.arrive(),
        }
        self.behind = Duration::ZERO;
        self.serve();
        self.bury();
    }

    fn change_moods(&mut self) {
        for site in &mut self.sites {
            if self.now >= site.mood_until {
                site.mood = Mood::draw(&mut self.rng);
                site.mood_until = self.now.after(millis(&mut self.rng, 200, 40_000));
            }
        }
    }

    fn arrive(&mut self) {
        self.arrivals_left = self.arrivals_left.saturating_sub(1);
        let gap = one(&mut self.rng, &[0, 0, 20, 20, 200, 200, 2_000, 60_000]);
        self.arrives_at = self.now.after(millis(&mut self.rng, 0, gap));
        let (route, first) = self.route();
        let policy = self.sites[first].policy.call;
        let rng = &mut self.rng;
        let replay = one(
            rng,
            &[
                Replay::Idempotent,
                Replay::Idempotent,
                Replay::Keyed,
                Replay::Declared,
                Replay::Unsafe,
            ],
        );
        let mut spec = Spec::new(self.now, &route, &policy, replay);
        if percent(rng, 30) {
            spec.deadline = self.now.after(millis(rng, 0, 60_000));
        }
        spec.once = percent(rng, 5);
        spec.nth = if percent(rng, 5) { 2 } else { 1 };
        spec.tokens_in = one(rng, &[0, 0, 500, 2_000]);
        spec.tokens_out = one(rng, &[0, 0, 300]);
        let leaves_at = percent(rng, 12).then(|| self.now.after(millis(rng, 0, 5_000)));
        let number = self.book.begin(&Begun {
            route: &route,
            first,
            policy,
            replay: match replay {
                Replay::Declared if !policy.declared_counts() => Replay::Unsafe,
                replay => replay,
            },
            deadline: spec.deadline,
            once: spec.once,
            nth: spec.nth,
            tokens_in: spec.tokens_in,
            tokens_out: spec.tokens_out,
        });
        let id = self.engine.begin(self.now.before(self.behind), spec);
        self.calls.push(Live {
            id,
            number,
            flights: Vec::new(),
            leaves_at,
        });
        self.poll(self.calls.len() - 1);
    }

    /// Upstreams in a row, from one of them on.
    fn route(&mut self) -> (Vec<Candidate>, usize) {
        let rng = &mut self.rng;
        let (first, last) = one(rng, &[(0, 0), (0, 1), (0, 2), (0, 2), (1, 1), (1, 2), (2, 2)]);
        let in_common = percent(rng, 50);
        let route = (first..=last).map(|site| Candidate {
            credential: (CredentialId(u32::from(percent(rng, 50))), 1),
            honours_keys: percent(rng, 70),
            dedup: DedupId(if in_common {
                0
            } else {
                u32::try_from(site).unwrap_or(0)
            }),
            window: one(rng, &[0, 0, 1_000]),
            ..Candidate::at(self.gates[COMMON + site])
        });
        (route.collect(), first)
    }

    fn poll(&mut self, which: usize) {
        // A poll after a send tells whether a hedge is due, or who lost; each is answered at once.
        for _ in 0..TURNS_MAX {
            let now = self.now.before(self.behind);
            let verdict = self.engine.poll(now, self.calls[which].id);
            match self.heard(which, verdict) {
                Heard::Nothing => return,
                Heard::Moved => {}
            }
        }
        self.book.break_law("a poll that never comes to rest");
    }

    fn heard(&mut self, which: usize, verdict: Verdict) -> Heard {
        let call = &mut self.calls[which];
        let code = verdict.reason.code();
        match verdict.action {
            Action::Send(permit) => {
                self.told.push((call.number, code));
                if permit.role() != Role::Hedge && !call.flights.is_empty() {
                    self.book
                        .break_law("two attempts of one call are out, and neither is a hedge");
                }
                let site = permit.candidate() + self.book.first(call.number);
                let fate = fate(&mut self.rng, self.sites[site].mood, self.now, &permit);
                call.flights.push((permit, fate));
                Heard::Moved
            }
            Action::InFlight {
                lost: Some(attempt), ..
            } => {
                let lost = |(permit, _): &(Permit, Fate)| permit.attempt() == attempt;
                match call.flights.iter().position(lost) {
                    Some(place) => self.abandon(which, place, Sent::Maybe),
                    None => self.book.break_law("an attempt has lost that is not out"),
                }
                Heard::Moved
            }
            Action::Wait(until) | Action::Park { until } => {
                if until < self.now {
                    self.book.break_law("a call was told to wait for the past");
                }
                Heard::Nothing
            }
            Action::InFlight { lost: None, .. } => Heard::Nothing,
            Action::Finish { .. } => {
                self.told.push((call.number, code));
                self.end(which);
                Heard::Nothing
            }
        }
    }

    /// The driver of a call that is over: whatever is still out has lost.
    fn end(&mut self, which: usize) {
        while !self.calls[which].flights.is_empty() {
            self.abandon(which, 0, Sent::Maybe);
        }
        let call = &mut self.calls[which];
        call.leaves_at = Some(Instant::START);
        self.engine.end(self.now, call.id);
    }

    /// Forgets the calls that are over.
    fn bury(&mut self) {
        self.calls.retain(|call| call.leaves_at != Some(Instant::START));
    }

    fn is_over(&self, which: usize) -> bool {
        self.calls[which].leaves_at == Some(Instant::START)
    }

    fn land(&mut self, which: usize, place: usize) {
        if percent(&mut self.rng, 2) {
            // Its driver drops the attempt, as one does that has had enough of it.
            let sent = one(&mut self.rng, &[Sent::No, Sent::Maybe]);
            self.abandon(which, place, sent);
            return self.poll(which);
        }
        let (permit, fate) = self.calls[which].flights.swap_remove(place);
        let number = self.calls[which].number;
        self.book.settled(self.now, number, &permit, &fate.report);
        self.engine.settle(self.now, permit, fate.report);
        self.poll(which);
    }

    fn commit(&mut self, which: usize, place: usize) {
        let call = &mut self.calls[which];
        let (permit, fate) = &mut call.flights[place];
        fate.commits_at = None;
        if let Some(learned) = &fate.learned {
            self.engine.head(self.now, permit, learned);
        }
        self.book.committed(call.number);
        self.engine.commit(self.now, permit);
        self.poll(which);
    }

    fn abandon(&mut self, which: usize, place: usize, sent: Sent) {
        let (permit, _) = self.calls[which].flights.swap_remove(place);
        self.book.abandoned(self.calls[which].number, &permit, sent);
        self.engine.abandon(self.now, permit, sent, Usage::NONE);
    }

    /// A caller leaves in whatever state its call is.
    fn leave(&mut self, which: usize) {
        let drops_first = percent(&mut self.rng, 50);
        if drops_first {
            let sent = one(&mut self.rng, &[Sent::No, Sent::Maybe]);
            while !self.calls[which].flights.is_empty() {
                self.abandon(which, 0, sent);
            }
        }
        let call = &mut self.calls[which];
        call.leaves_at = Some(Instant::START);
        self.engine.end(self.now, call.id);
        for (permit, _) in call.flights.drain(..) {
            // Void since the end.
            self.engine
                .settle(self.now, permit, Report::of(crate::outcome::Outcome::Answer));
        }
    }

    /// Answers every wake that is due.
    fn serve(&mut self) {
        for _ in 0..TURNS_MAX {
            let Some(id) = self.engine.woken(self.now) else {
                return;
            };
            match self.calls.iter().position(|call| call.id == id) {
                Some(which) if !self.is_over(which) => self.poll(which),
                Some(_) | None => self.book.break_law("a call was woken that is not there"),
            }
        }
        self.book.break_law("a wake that never ends");
    }

    /// What an operator and a bad clock do, now and then.
    fn meddle(&mut self) {
        if self.drains_at.is_some_and(|at| at <= self.now) {
            self.drains_at = None;
            self.book.drains();
            self.engine.drain_calls(self.now);
            return;
        }
        match self.rng.up_to(9) {
            0..=4 => self.reload(),
            5..=7 => {
                let gate = COMMON + usize::try_from(self.rng.up_to(2)).expect("a small number");
                let modes = [Mode::Auto, Mode::Auto, Mode::Open, Mode::Closed, Mode::Observe];
                let mode = one(&mut self.rng, &modes);
                self.force(gate, mode);
            }
            _ => {
                // A clock that goes back, which the engine takes for one that stands.
                self.force(1, Mode::Auto);
                self.serve();
                self.behind = Duration::from_secs(10);
                self.arrive();
            }
        }
    }

    fn reload(&mut self) {
        let gate = usize::try_from(self.rng.up_to(4)).expect("a small number");
        let new: GatePolicy = match gate.checked_sub(COMMON) {
            None => common_policy(&mut self.rng),
            Some(site) => {
                self.sites[site].policy = policy(&mut self.rng);
                self.sites[site].policy.gate
            }
        };
        let (parents, quota): (&[GateId], _) = match gate {
            2 | 3 => (&self.gates[..1], Some(self.gates[1])),
            _ => (&[], None),
        };
        // What is out by now may stay, whatever the new policy says.
        let load = self.engine.load(self.gates[gate]);
        self.taken[gate] = load.in_flight + load.promised;
        let key = GateKey(gate as u64);
        let id = self.engine.configure(self.now, key, &new, parents, quota);
        if id.ok() != Some(self.gates[gate]) {
            self.book.break_law("a gate was made anew by its reload");
        }
        self.book.configured(self.now, gate, new);
    }

    fn force(&mut self, gate: usize, mode: Mode) {
        self.book.forced(gate, mode);
        self.engine.force(self.now, self.gates[gate], mode);
    }

    fn verify(&mut self) -> Result<(), String> {
        let mut heard = core::mem::take(&mut self.told);
        let mut recorded = Vec::new();
        let events: Vec<Event> = self.engine.drain().collect();
        for event in events {
            self.trace.push(event);
            self.book.verify(&event);
            if let What::Sent(reason) | What::Finished(reason, _) | What::Waits(reason, _) = event.what {
                self.codes.insert(reason.code());
            }
            if let What::Sent(reason) | What::Finished(reason, _) = event.what {
                recorded.push((event.call, reason.code()));
            }
        }
        heard.sort_unstable();
        recorded.sort_unstable();
        if heard != recorded {
            let law = format!("what was told is not what was recorded: {heard:?}, {recorded:?}");
            self.book.break_law(&law);
        }
        self.verify_places();
        match self.book.broken() {
            None => Ok(()),
            Some(law) => Err(format!("{law}\n{}", self.story())),
        }
    }

    /// Law 5: what is in flight is what is out, by the engine's count and by ours.
    fn verify_places(&mut self) {
        let load = self.gates.map(|gate| self.engine.load(gate));
        let held = load.map(|load| u64::from(load.in_flight));
        let out: usize = self.calls.iter().map(|call| call.flights.len()).sum();
        let permits = self.engine.permits_out();
        if held[2] + held[3] + held[4] != permits || held[2] + held[3] != held[0] || held[0] != held[1] {
            self.book.break_law("in flight is not what is out");
        }
        if out as u64 != permits || self.calls.len() != self.engine.calls_alive() {
            self.book
                .break_law("the engine counts other calls or permits than there are");
        }
        for (gate, load) in load.iter().enumerate() {
            let taken = load.in_flight + load.promised;
            // A lower limit drains: what was taken before may be above it, and may not grow.
            if let Some(most) = self.book.concurrency(gate)
                && taken > most.max(self.taken[gate])
            {
                let law = format!("more than {most} places are taken at gate {gate}: {load:?}");
                self.book.break_law(&law);
            }
            self.taken[gate] = taken;
        }
    }

    /// Once everybody has gone nothing is held, and in a while every upstream is tried again.
    fn at_rest(&mut self) -> Result<(), String> {
        self.verify()?;
        for gate in self.gates {
            let load = self.engine.load(gate);
            if (load.in_flight, load.promised, load.queued, load.saving) != (0, 0, 0, 0) {
                return Err(format!("something is still held: {load:?}\n{}", self.story()));
            }
        }
        if self.book.is_draining() {
            return Ok(());
        }
        for gate in COMMON..GATES {
            self.force(gate, Mode::Auto);
        }
        self.now = self.now.after(Duration::from_secs(2 * 86_400));
        let policy = Policy::builder().build().expect("the default is in range");
        for gate in &self.gates[COMMON..] {
            let route = [Candidate::at(*gate)];
            let spec = Spec::new(self.now, &route, &policy.call, Replay::Idempotent);
            let call = self.engine.begin(self.now, spec);
            if !matches!(self.engine.poll(self.now, call).action, Action::Send(_)) {
                return Err(format!("gate {gate:?} is closed for good\n{}", self.story()));
            }
            self.engine.end(self.now, call);
        }
        Ok(())
    }

    fn story(&self) -> String {
        let from = self.trace.len().saturating_sub(80);
        let lines = self.trace[from..].iter().map(ToString::to_string);
        lines.map(|line| line + "\n").collect()
    }
}

/// Whether a verdict is to be followed by another poll at once.
enum Heard {
    Moved,
    Nothing,
}

#[cfg(test)]
mod tests;
