//! What the world knows by itself, and every law held against it.

use super::ramps::Ramped;
use super::rates::Taken;
use crate::call::{Candidate, DedupId};
use crate::facts::Replay;
use crate::outcome::{Cause, Outcome, Report, Sent};
use crate::policy::{CallPolicy, GatePolicy, LongHint, Mode, PROBE_LEASE_SLACK};
use crate::reason::Reason;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Held, What};
use crate::verdict::Permit;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Parent, quota, and the three upstreams.
pub(super) const GATES: usize = 5;

/// By upstream: the gates that its attempts pass, and the one that cools.
const CHAINS: [(&[usize], usize); 3] = [(&[2, 0, 1], 1), (&[3, 0, 1], 1), (&[4], 4)];

/// A set of gates.
type Gates = [bool; GATES];

pub(super) struct Book {
    policies: [GatePolicy; GATES],
    prompt: bool,
    calls: BTreeMap<u64, Known>,
    extras: [Vec<Instant>; GATES],
    originals: [Vec<Instant>; GATES],
    cools_until: [Instant; GATES],
    forced_open: Gates,
    draining: bool,
    reloaded_at: Option<Instant>,
    last_at: Instant,
    taken: Taken,
    ramped: [Ramped; GATES],
    turns: u64,
    broken: Option<String>,
}

/// A call as its caller gave it.
pub(super) struct Begun<'a> {
    pub(super) route: &'a [Candidate],
    /// The upstream of its first candidate; the others follow.
    pub(super) first: usize,
    /// What it keeps, whatever is configured after.
    pub(super) policy: CallPolicy,
    pub(super) replay: Replay,
    pub(super) deadline: Instant,
    pub(super) once: bool,
    pub(super) nth: u32,
    pub(super) tokens_in: u32,
    pub(super) tokens_out: u32,
}

struct Known {
    route: Vec<Candidate>,
    first: usize,
    policy: CallPolicy,
    replay: Replay,
    deadline: Instant,
    once: bool,
    tokens_in: u32,
    tokens_out: u32,
    sends: u32,
    visited: Gates,
    /// Attempts that are out.
    out: BTreeMap<u32, Flown>,
    /// What its next send was charged.
    pending: Option<Extra>,
    acted_in: Option<DedupId>,
    committed: bool,
    finished: bool,
    /// By upstream: what the server said.
    not_before: [Instant; 3],
    /// Since when, in order, it stands in a queue or a line.
    stands: Stands,
}

#[derive(Clone, Copy, PartialEq)]
enum Stands {
    Nowhere,
    InQueue(u64),
    ForCredit(u64),
}

struct Flown {
    upstream: usize,
    /// The gates where it is an original.
    original_at: Gates,
    charge: Option<Extra>,
    /// Until when it holds a probe's slot.
    probe_until: Option<Instant>,
}

/// One extra: when it was charged, and at which gates.
#[derive(Clone, Copy)]
struct Extra {
    at: Instant,
    gates: Gates,
}

impl Book {
    pub(super) fn new(policies: [GatePolicy; GATES], prompt: bool) -> Self {
        Self {
            policies,
            prompt,
            calls: BTreeMap::new(),
            extras: Default::default(),
            originals: Default::default(),
            cools_until: [Instant::START; GATES],
            forced_open: [false; GATES],
            draining: false,
            reloaded_at: None,
            last_at: Instant::START,
            taken: Taken::new(),
            ramped: policies.each_ref().map(Ramped::new),
            turns: 0,
            broken: None,
        }
    }

    pub(super) fn break_law(&mut self, law: &str) {
        self.broken.get_or_insert_with(|| law.to_string());
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub(super) const fn broken(&mut self) -> Option<String> {
        self.broken.take()
    }

    pub(super) const fn concurrency(&self, gate: usize) -> Option<u32> {
        self.policies[gate].limits().concurrency().at_most()
    }

    pub(super) fn begin(&mut self, begun: &Begun<'_>) -> u64 {
        let number = self.calls.len() as u64 + 1;
        let known = Known {
            route: begun.route.to_vec(),
            first: begun.first,
            policy: begun.policy,
            replay: begun.replay,
            deadline: begun.deadline,
            once: begun.once,
            tokens_in: begun.tokens_in,
            tokens_out: begun.tokens_out,
            sends: 0,
            visited: [begun.nth > 1; GATES],
            out: BTreeMap::new(),
            pending: None,
            acted_in: None,
            committed: false,
            finished: false,
            not_before: [Instant::START; 3],
            stands: Stands::Nowhere,
        };
        self.calls.insert(number, known);
        number
    }

    fn call(&mut self, number: u64) -> &mut Known {
        self.calls.get_mut(&number).expect("every call is known")
    }

    /// The gate has another policy from now on, and keeps what it counted.
    pub(super) fn configured(&mut self, now: Instant, gate: usize, policy: GatePolicy) {
        let old = core::mem::replace(&mut self.policies[gate], policy);
        self.reloaded_at = Some(now);
        self.ramped[gate].configured(now, &old, &policy);
        if old.limits().rates() != policy.limits().rates() {
            self.taken.configured(gate);
        }
        match (old.budget(), policy.budget()) {
            (Some(old), Some(new)) if old.window() == new.window() => {}
            (Some(old), Some(new)) => {
                // A reload carries the old sums as one, which leave within a turn: until then they are credit, and
                // no longer than until then they are extras.
                let turn = new.window().over(10);
                let leaves = now.after(turn).before(new.window());
                self.originals[gate].retain(|at| now.since(*at) <= old.window());
                self.originals[gate].fill(leaves);
                self.extras[gate].clear();
            }
            (None, _) | (_, None) => {
                self.originals[gate].clear();
                self.extras[gate].clear();
            }
        }
        // The latch outlasts a breaker that goes or comes; a policy that says another mode than the last one sets it.
        let modes = (
            old.breaker().map(|breaker| breaker.mode),
            policy.breaker().map(|breaker| breaker.mode),
        );
        match modes {
            (Some(old), Some(new)) if old != new => self.forced_open[gate] = new == Mode::Open,
            (Some(Mode::Open), None) => self.forced_open[gate] = false,
            (None, Some(Mode::Open)) => self.forced_open[gate] = true,
            _ => {}
        }
        if old.breaker().is_some() != policy.breaker().is_some() {
            let out = self.calls.values_mut().flat_map(|call| call.out.values_mut());
            for flown in out.filter(|flown| CHAINS[flown.upstream].0[0] == gate) {
                flown.probe_until = None;
            }
        }
    }

    pub(super) fn forced(&mut self, gate: usize, mode: Mode) {
        self.forced_open[gate] = mode == Mode::Open;
        self.ramped[gate].forced(mode);
        if mode == Mode::Auto {
            self.cools_until[gate] = Instant::START;
        }
    }

    pub(super) const fn drains(&mut self) {
        self.draining = true;
    }

    pub(super) const fn is_draining(&self) -> bool {
        self.draining
    }

    /// The upstream of the first candidate of a call.
    pub(super) fn first(&self, number: u64) -> usize {
        self.calls[&number].first
    }

    pub(super) fn settled(&mut self, now: Instant, number: u64, permit: &Permit, report: &Report) {
        self.taken.settled((number, permit.attempt()), report);
        let candidate = permit.candidate();
        let call = self.call(number);
        let believes = call.policy.hints().long() == LongHint::Stop;
        let upstream = call.first + candidate;
        if report.earlier == Sent::Maybe || report.outcome.sent() == Sent::Maybe {
            call.acted_in = Some(call.route[candidate].dedup);
        }
        if let Some(hint) = report.outcome.hint()
            && believes
        {
            let until = now.after(hint.wait);
            call.not_before[upstream] = call.not_before[upstream].max(until);
            if hint.cools {
                let cools = &mut self.cools_until[CHAINS[upstream].1];
                *cools = (*cools).max(until);
            }
        }
        if let Outcome::Failed {
            cause: Cause::Request,
            ..
        } = report.outcome
        {
            // Never left: no original.
            if let Some(flown) = self.call(number).out.get_mut(&permit.attempt()) {
                flown.original_at = [false; GATES];
            }
        }
    }

    pub(super) fn abandoned(&mut self, number: u64, permit: &Permit, sent: Sent) {
        self.taken.dropped((number, permit.attempt()), sent);
        let candidate = permit.candidate();
        let call = self.call(number);
        if sent == Sent::Maybe {
            call.acted_in = Some(call.route[candidate].dedup);
        }
    }

    pub(super) fn committed(&mut self, number: u64) {
        self.call(number).committed = true;
    }

    pub(super) fn verify(&mut self, event: &Event) {
        if event.at < self.last_at {
            self.break_law("time went back");
        }
        self.last_at = event.at;
        if let What::Sent(_) | What::Waits(..) | What::Finished(..) = event.what {
            let call = self.call(event.call);
            let upstreams = call.first..call.first + call.route.len();
            for upstream in upstreams {
                self.ramped[CHAINS[upstream].0[0]].came(event.at);
            }
        }
        match event.what {
            What::Sent(_) => self.verify_send(event),
            What::Waits(reason, until) => self.verify_wait(event, reason, until),
            What::Finished(..) => {
                self.uncount_pending(event);
                let call = self.call(event.call);
                call.stands = Stands::Nowhere;
                if core::mem::replace(&mut call.finished, true) {
                    self.break_law("a call ended twice");
                }
            }
            What::Committed => {
                let call = self.call(event.call);
                if let Some(flown) = call.out.get_mut(&event.attempt) {
                    flown.probe_until = None;
                }
            }
            What::Met(_) | What::Abandoned(_) => match self.call(event.call).out.remove(&event.attempt) {
                Some(flown) => {
                    self.count_original(event.at, flown.original_at);
                    if event.gave.has(Held::CHARGE) {
                        self.uncount_extra(flown.charge);
                    }
                }
                None => self.break_law("an attempt ended that was not out"),
            },
            What::Left => {
                let call = self.call(event.call);
                call.stands = Stands::Nowhere;
                for flown in core::mem::take(&mut call.out).into_values() {
                    self.count_original(event.at, flown.original_at);
                }
                self.uncount_pending(event);
            }
            What::Breaker(gate, transition) => {
                let gate = gate as usize;
                self.ramped[gate].turned(event.at, &self.policies[gate], transition);
            }
            What::Resent | What::Cooling(..) | What::Latched(..) => {}
            What::Lost(_) => self.break_law("an event was lost"),
        }
    }

    /// Law 4, and who stands where.
    fn verify_wait(&mut self, event: &Event, reason: Reason, until: Instant) {
        self.uncount_pending(event);
        if event.took.has(Held::CHARGE) {
            self.count_extra(event);
        }
        let turn = self.turns + 1;
        let call = self.call(event.call);
        let policy = call.policy;
        let length = until.since(event.at);
        let mut law = None;
        if until > call.deadline.max(event.at) {
            law = Some("a wait ends past the deadline");
        }
        let asked_until = call.not_before.iter().max().copied().unwrap_or(Instant::START);
        let cap = policy.backoff().cap().up_to_millis();
        let spread = Duration::from_secs(1);
        match reason {
            Reason::BackingOff { .. } | Reason::ServerAsked { .. } => {
                if until.after(policy.timeouts().min_attempt()) > call.deadline {
                    law = Some("a wait leaves no time for the attempt");
                }
                let clamps = policy.hints().long() == LongHint::Clamp;
                // Where a hint is spread, it is so beyond the longer of hint and draw (rule C2).
                let spreads_from = match reason {
                    Reason::ServerAsked { .. } => asked_until.max(event.at.after(cap)),
                    _ => asked_until,
                };
                if length > cap && !clamps && until > spreads_from.after(spread) {
                    law = Some("a delay is above the cap, and nobody asked for it");
                }
            }
            _ => {}
        }
        match (call.stands, reason) {
            (Stands::ForCredit(_), Reason::BudgetWait { .. }) => {}
            (_, Reason::BudgetWait { .. }) => call.stands = Stands::ForCredit(turn),
            // A ticket is kept from queue to queue, until the call is sent.
            (Stands::InQueue(_), _) => {}
            (_, _) if event.took.has(Held::TURN) => call.stands = Stands::InQueue(turn),
            (_, _) => call.stands = Stands::Nowhere,
        }
        self.turns = turn;
        if let Some(law) = law {
            self.break_law(law);
        }
    }

    fn verify_send(&mut self, event: &Event) {
        self.uncount_pending(event);
        if event.took.has(Held::CHARGE) {
            self.count_extra(event);
        }
        let candidate = usize::from(event.candidate);
        let call = self.call(event.call);
        let total = call.policy.timeouts().total();
        let upstream = call.first + candidate;
        let lease = event.at.after(total.unwrap_or(Duration::MAX)).min(call.deadline);
        let flown = Flown {
            upstream,
            original_at: core::array::from_fn(|gate| {
                CHAINS[upstream].0.contains(&gate) && !core::mem::replace(&mut call.visited[gate], true)
            }),
            charge: call.pending.take(),
            probe_until: event
                .took
                .has(Held::PROBE)
                .then(|| lease.after(PROBE_LEASE_SLACK)),
        };
        call.sends += 1;
        let law = self.send_law(event, candidate, upstream);
        self.verify_order(event, candidate, upstream);
        self.verify_rates(event, upstream);
        self.verify_ramp(event, upstream);
        let call = self.call(event.call);
        call.stands = Stands::Nowhere;
        call.out.insert(event.attempt, flown);
        if let Some(law) = law {
            self.break_law(law);
        }
        // A lower limit drains: only who takes a slot may find too many taken.
        if event.took.has(Held::PROBE) {
            self.verify_probes(event.at, upstream);
        }
    }

    /// Laws 3, 4 and 6, and how often and where a call is sent at the most.
    fn send_law(&mut self, event: &Event, candidate: usize, upstream: usize) -> Option<&'static str> {
        let cools_until = self.cools_until[CHAINS[upstream].1];
        if self.draining {
            return Some("a call was sent after the drain began");
        }
        if CHAINS[upstream].0.iter().any(|gate| self.forced_open[*gate]) {
            return Some("a call was sent through a gate that is forced open");
        }
        let call = self.call(event.call);
        let policy = call.policy;
        let to = call.route[candidate];
        if call.committed {
            return Some("a call was sent again after its commit");
        }
        if call.finished {
            return Some("a call was sent after its end");
        }
        if call.once && call.sends > 1 {
            return Some("a body was sent again that was gone");
        }
        if to.window > 0 && call.tokens_in > to.window {
            return Some("a prompt was sent to a window that it does not fit");
        }
        // What is out may act at any moment.
        let out = call
            .out
            .values()
            .map(|flown| call.route[flown.upstream - call.first].dedup);
        let may_have_acted: Vec<DedupId> = out.chain(call.acted_in).collect();
        let honours = candidate == 0 || to.honours_keys;
        match call.replay {
            Replay::Idempotent | Replay::Declared => {}
            Replay::Unsafe if may_have_acted.is_empty() => {}
            Replay::Unsafe => return Some("an unsafe write that may have acted was sent again"),
            Replay::Keyed if may_have_acted.iter().all(|domain| honours && *domain == to.dedup) => {}
            Replay::Keyed => return Some("a keyed write that may have acted was sent where its key is none"),
        }
        if event.at >= call.deadline {
            return Some("an attempt began at or after the deadline");
        }
        if event.at < call.not_before[upstream] {
            return Some("an attempt began before the server's stated time");
        }
        if event.at < cools_until {
            return Some("an attempt began in a cool-down");
        }
        if policy.throttled_counts() && call.sends > 1 + policy.retries() + policy.fallbacks() {
            return Some("more sends than 1 + retries + fallbacks");
        }
        None
    }

    /// No limit of a minute is exceeded over any span.
    fn verify_rates(&mut self, event: &Event, upstream: usize) {
        let call = &self.calls[&event.call];
        let (who, tokens) = ((event.call, event.attempt), (call.tokens_in, call.tokens_out));
        let gates = CHAINS[upstream].0;
        if let Some(law) = self.taken.sent(event.at, who, gates, tokens, &self.policies) {
            self.break_law(&law);
        }
    }

    /// Rules H5 and J1: who is let in after a breaker closed, and how many are hedged.
    fn verify_ramp(&mut self, event: &Event, upstream: usize) {
        let gate = CHAINS[upstream].0[0];
        let mut out = self.calls.values().flat_map(|call| call.out.values());
        let is_alone = !out.any(|flown| flown.upstream == upstream);
        let call = &self.calls[&event.call];
        let waited = matches!(call.stands, Stands::InQueue(_));
        let share = call.policy.hedge().and_then(|hedge| hedge.at_most_per_mille());
        if !is_alone
            && !waited
            && let Some(law) = self.ramped[gate].let_in(event.at)
        {
            self.break_law(&law);
        }
        if let (What::Sent(Reason::Hedge), Some(most)) = (event.what, share)
            && let Some(law) = self.ramped[gate].hedged(event.at, most, &self.policies[gate])
        {
            self.break_law(&law);
        }
    }

    /// Law 2: probes whose lease runs.
    fn verify_probes(&mut self, now: Instant, upstream: usize) {
        let out = self.calls.values().flat_map(|call| call.out.values());
        let probes = out
            .filter(|flown| flown.upstream == upstream && flown.probe_until.is_some_and(|until| now < until));
        let probes = probes.count();
        let breaker = self.policies[CHAINS[upstream].0[0]].breaker();
        let most = breaker.map_or(0, |breaker| breaker.probes());
        if probes > most as usize {
            let law = format!("{probes} probes of upstream {upstream} are in flight, {most} may be");
            self.break_law(&law);
        }
    }

    /// First come, first served, among calls that can go to this upstream only.
    fn verify_order(&mut self, event: &Event, candidate: usize, upstream: usize) {
        let call = &self.calls[&event.call];
        if !self.prompt || call.route.len() > 1 {
            return;
        }
        let mine = call.stands;
        let passed = |other: &&Known| {
            let alike = other.route.len() == 1
                && other.first == upstream
                && other.route[0].credential == call.route[candidate].credential
                && other.replay != Replay::Unsafe;
            alike
                && match (other.stands, mine) {
                    (Stands::Nowhere, _) => false,
                    (Stands::InQueue(theirs), Stands::InQueue(mine)) => theirs < mine,
                    (Stands::InQueue(_), Stands::Nowhere | Stands::ForCredit(_)) => true,
                    (Stands::ForCredit(_), _) => false,
                }
        };
        if self.calls.values().any(|other| passed(&other)) {
            self.break_law("a call passed one that waits where it waited");
        }
    }

    /// Credit is for who waits for it before it is for who comes.
    fn verify_credit_order(&mut self, event: &Event) {
        let call = &self.calls[&event.call];
        // A reload wakes who waited for a place and who waited for credit at once, and each asks in its own line.
        if !self.prompt || call.route.len() > 1 || self.reloaded_at == Some(event.at) {
            return;
        }
        let mine = match call.stands {
            Stands::ForCredit(turn) => turn,
            Stands::Nowhere | Stands::InQueue(_) => u64::MAX,
        };
        let passed = |other: &Known| match other.stands {
            Stands::ForCredit(theirs) => other.route.len() == 1 && other.first == call.first && theirs < mine,
            Stands::Nowhere | Stands::InQueue(_) => false,
        };
        if self.calls.values().any(passed) {
            self.break_law("an extra passed one that waits for credit");
        }
    }

    /// Law 1.
    fn count_extra(&mut self, event: &Event) {
        self.verify_credit_order(event);
        let call = self.call(event.call);
        let chain = CHAINS[call.first + usize::from(event.candidate)].0;
        let visited = call.visited;
        let gates: Gates = core::array::from_fn(|gate| chain.contains(&gate) && visited[gate]);
        for (gate, charged) in gates.into_iter().enumerate() {
            let Some(budget) = self.policies[gate].budget() else {
                continue;
            };
            if !charged {
                continue;
            }
            self.extras[gate].push(event.at);
            // The window ends now and does not hold its own beginning; time has one, which it does hold.
            let window = budget.window();
            let within =
                |at: &&Instant| event.at.since(**at) < window || window > event.at.since(Instant::START);
            let granted = self.extras[gate].iter().filter(within).count() as u128;
            let originals = self.originals[gate]
                .iter()
                .filter(|at| event.at.since(**at) <= window)
                .count() as u128;
            let floor = u128::from(budget.floor_milli()) * u128::from(window.as_nanos()) / 1_000_000_000;
            if granted * 1_000 > floor + u128::from(budget.ratio_per_mille()) * originals {
                let law = format!("gate {gate} granted {granted} extras for {originals} originals");
                self.break_law(&law);
            }
        }
        self.call(event.call).pending = Some(Extra { at: event.at, gates });
    }

    /// What the call's next send was charged went back, where this event says so.
    fn uncount_pending(&mut self, event: &Event) {
        if event.gave.has(Held::CHARGE) {
            let pending = self.call(event.call).pending.take();
            self.uncount_extra(pending);
        }
    }

    fn uncount_extra(&mut self, extra: Option<Extra>) {
        let Some(extra) = extra else {
            self.break_law("a charge was given back that was never taken");
            return;
        };
        for (gate, charged) in extra.gates.into_iter().enumerate() {
            if charged && let Some(place) = self.extras[gate].iter().position(|at| *at == extra.at) {
                self.extras[gate].remove(place);
            }
        }
    }

    fn count_original(&mut self, at: Instant, original_at: Gates) {
        for (gate, original) in original_at.into_iter().enumerate() {
            if original {
                self.originals[gate].push(at);
                self.ramped[gate].original(at);
            }
        }
    }
}
