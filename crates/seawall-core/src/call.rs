//! One call across its attempts: the table that every driver drives.
//!
//! What can go wrong lies between the states, not in them: a caller leaves between a grant and its send, a breaker
//! opens between two polls, a hedge fails after the first attempt has won. So the states are few, every input is
//! named for every state, and what a row takes from the gates another row gives back. `engine.rs` does the taking
//! and giving; here stands what follows from what.
//!
//! | state | poll | commit | settle, abandon | end |
//! |---|---|---|---|---|
//! | Ready | each gate admits → **Send**, takes place, probe, rate → Flying; a gate makes it wait → **Park**, takes turn → Queued; none ever will → **Finish** | – | – | Gone |
//! | Waiting | too early → **Wait**; time → Ready | – | – | Gone, gives charge |
//! | Queued | still queued → **Park**; deadline → **Finish**, gives turn, charge | – | – | Gone, gives turn, charge |
//! | Promised | as Ready, with a place kept at every gate of its chain, and its part of every rate taken; what it cannot use it gives back, and the next is woken | – | – | Gone, gives promise, rate, charge; the next is woken |
//! | Saving | credit → takes charge → Waiting or Ready; none → **Park** | – | – | Gone, gives turn |
//! | Flying | **InFlight**; a hedge is due and allowed → **Send**, takes place, charge, rate | commit → Streaming; the other attempt has lost | gives place, probe, what it did not use of its rate; answer, or none left out → Settled | Gone, gives place, probe, rate |
//! | Streaming | **InFlight**, naming the attempt that lost | – | gives place; the committed one → Settled | Gone, gives place |
//! | Settled | judged by rule N1: **Finish** → Ended; takes charge, **Wait** → Waiting; no credit, may wait → Saving; moves on (K1) → Ready at another candidate | – | a loser: gives place | Gone |
//! | Ended | the same **Finish** | – | a loser: gives place | Gone |
//! | Gone | **Finish** `cancelled` | – | – | – |
//!
//! An input that a state does not name changes nothing: a stale permit, a second end, a commit after the end. While the
//! engine drains, a poll of a call with nothing out is **Finish** `draining`, but for one that is judged to be over.

use crate::breaker::Pass;
use crate::budget::Charge;
use crate::facts::Replay;
use crate::gate::{CHAIN_MAX, Chain, GateId};
use crate::latch::CredentialId;
use crate::outcome::{Cause, Hint, Outcome, Refusal, Report, Sent};
use crate::policy::CallPolicy;
use crate::rate::{Cost, Reservation};
use crate::reason::Reason;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::verdict::{Action, Endpoint, Limits, Role, Verdict};
use alloc::vec::Vec;

/// Attempts of one call that may be out at once: the first and its hedge.
pub(crate) const OUT_MAX: usize = 2;

/// Names an idempotency store that upstreams may share (rule E4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DedupId(pub u32);

/// Where a call may go: one upstream, model and credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The gate that its attempts pass; the gate knows its parents and its quota.
    pub gate: GateId,
    /// Whose credential, and which version of it.
    pub credential: (CredentialId, u32),
    /// Whether it honours idempotency keys. Of the route's first candidate the caller says so itself, by
    /// [`Replay::Keyed`].
    pub honours_keys: bool,
    /// The idempotency store behind it.
    pub dedup: DedupId,
    /// The model's window in tokens; 0 is unknown.
    pub window: u32,
}

impl Candidate {
    /// A candidate behind `gate` with no credential, no keys and an unknown window.
    pub const fn at(gate: GateId) -> Self {
        Self {
            gate,
            credential: (CredentialId::NONE, 0),
            honours_keys: false,
            dedup: DedupId(0),
            window: 0,
        }
    }
}

/// What the caller promises about one call.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// Where it may go, in order.
    pub route: &'a [Candidate],
    /// The policy that it keeps to its end.
    pub policy: &'a CallPolicy,
    /// Fewer retries than the policy's, where the caller wants that.
    pub retries_max: Option<u32>,
    /// Until when it must be committed.
    pub deadline: Instant,
    /// Whether it may be sent more than once.
    pub replay: Replay,
    /// What kind of endpoint it goes to.
    pub endpoint: Endpoint,
    /// An estimate of the tokens that it sends; 0 is unknown.
    pub tokens_in: u32,
    /// An estimate of the tokens that it is answered with at the most; 0 is unknown.
    pub tokens_out: u32,
    /// How much of `tokens_out` nobody stated: our own limits reserve it, and no word of a server on what is left holds
    /// the call back for it.
    pub tokens_guessed: u32,
    /// Above 1: this is itself a retry made elsewhere (rule G3).
    pub nth: u32,
    /// The body cannot be sent again.
    pub once: bool,
}

impl<'a> Spec<'a> {
    /// A call along `route` under `policy` that begins at `now`, with the policy's own deadline.
    pub const fn new(now: Instant, route: &'a [Candidate], policy: &'a CallPolicy, replay: Replay) -> Self {
        let endpoint = Endpoint::General;
        let deadline = now.after(policy.deadline_for(endpoint));
        Self {
            route,
            policy,
            retries_max: None,
            deadline,
            replay,
            endpoint,
            tokens_in: 0,
            tokens_out: 0,
            tokens_guessed: 0,
            nth: 1,
            once: false,
        }
    }
}

impl Spec<'_> {
    /// The limits of a first attempt that begins at `now`.
    #[inline(always)]
    pub(crate) fn limits(&self, now: Instant) -> Limits {
        self.policy.limits_for(self.endpoint, now, self.deadline)
    }

    /// What the policy takes of the caller's promise.
    pub(crate) const fn replay_taken(&self) -> Replay {
        match self.replay {
            Replay::Declared if !self.policy.declared_counts => Replay::Unsafe,
            replay => replay,
        }
    }

    /// Whether the call's tokens fit the candidate's window, as far as both are known (rule K2).
    pub(crate) const fn fits(&self, candidate: &Candidate) -> bool {
        candidate.window == 0 || self.tokens_in <= candidate.window
    }
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Gone,
    Ready,
    Waiting {
        until: Instant,
        reason: Reason,
    },
    Queued {
        gate: u32,
        reason: Reason,
    },
    Promised {
        chain: Chain,
        reserved: Option<Reservation>,
    },
    Saving {
        gate: u32,
        resume_at: Instant,
    },
    Flying,
    Streaming,
    Settled,
    Ended(Finish),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finish {
    pub(crate) reason: Reason,
    pub(crate) unknown: bool,
    pub(crate) retry_at: Option<Instant>,
}

impl Finish {
    pub(crate) const fn verdict(self) -> Verdict {
        Verdict {
            action: Action::Finish {
                unknown: self.unknown,
                retry_at: self.retry_at,
            },
            reason: self.reason,
        }
    }
}

/// A candidate, and what this call did there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leg {
    pub(crate) candidate: Candidate,
    pub(crate) sends: u32,
    /// When this call may be sent here again: by the server's word, and by our own guess where it moved on.
    pub(crate) not_before: Instant,
    /// Nothing more is to be had here: quota, window, credential, patience of the server, or time.
    pub(crate) spent: bool,
}

/// An attempt that is out, or the place for one.
// A place is filled and emptied where it stands: it is large, and nearly always most of it stays empty.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// From 1; 0 is an empty place, which has no passes and no charge.
    pub(crate) number: u32,
    pub(crate) leg: u16,
    pub(crate) role: Role,
    pub(crate) began: Instant,
    /// The gates that it passed, whatever the parents are by now.
    pub(crate) chain: Chain,
    pub(crate) passes: [Option<Pass>; CHAIN_MAX],
    /// The budgets that count this attempt as an original, by place in the chain.
    pub(crate) original_at: [bool; CHAIN_MAX],
    /// `None` of a first send, which pays nothing.
    pub(crate) charged: Option<Charged>,
    /// `None` where no gate that it passed has a rate.
    pub(crate) reserved: Option<Reservation>,
}

impl Attempt {
    const NONE: Self = Self {
        number: 0,
        leg: 0,
        role: Role::First,
        began: Instant::START,
        chain: Chain::of(0),
        passes: [const { None }; CHAIN_MAX],
        original_at: [false; CHAIN_MAX],
        charged: None,
        reserved: None,
    };

    pub(crate) const fn is_out(&self) -> bool {
        self.number > 0
    }

    /// Empties the place; its passes and its reservation have come back before.
    #[inline]
    pub(crate) fn come_back(&mut self) {
        debug_assert!(self.passes.iter().all(Option::is_none), "every pass comes back");
        debug_assert!(self.reserved.is_none(), "every reservation comes back");
        self.number = 0;
        self.charged = None;
    }
}

/// What a send at one candidate was charged, whether or not it has come yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub(crate) leg: u16,
    /// The gates that were asked, whatever the parents are by now.
    pub(crate) chain: Chain,
    /// By place in that chain; none where the send is an original, or nothing bounds it, or the server invited it.
    pub(crate) charges: [Option<Charge>; CHAIN_MAX],
}

impl Charged {
    /// A send at `leg` that costs nothing.
    pub(crate) const fn nothing(leg: u16, chain: Chain) -> Self {
        Self {
            leg,
            chain,
            charges: [None; CHAIN_MAX],
        }
    }

    pub(crate) fn is_paid(&self) -> bool {
        self.charges.iter().any(Option::is_some)
    }
}

/// What the attempts of one round met, merged (rule J1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) at: Instant,
    pub(crate) outcome: Outcome,
    pub(crate) status: u16,
    pub(crate) should_retry: Option<bool>,
    pub(crate) hint: Option<Hint>,
    pub(crate) sent: Sent,
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) generation: u32,
    pub(crate) number: u64,
    pub(crate) state: State,
    pub(crate) policy: CallPolicy,
    pub(crate) retries: u32,
    pub(crate) deadline: Instant,
    pub(crate) deadline_length: Duration,
    pub(crate) replay: Replay,
    pub(crate) is_write: bool,
    pub(crate) endpoint: Endpoint,
    /// What one attempt of it needs of a rate, by our estimate.
    pub(crate) cost: Cost,
    /// How many of its tokens nobody stated.
    pub(crate) guessed: u32,
    pub(crate) nth: u32,
    pub(crate) once: bool,
    pub(crate) legs: Vec<Leg>,
    pub(crate) at: u16,
    pub(crate) home: u16,
    pub(crate) sends: u32,
    pub(crate) retries_made: u32,
    pub(crate) fallbacks_made: u32,
    /// The next send at a used candidate does not count towards the retries (preset `batch` after a throttle).
    pub(crate) uncounted: bool,
    pub(crate) out: [Attempt; OUT_MAX],
    pub(crate) hedged: bool,
    /// When a second attempt may go beside the one that was sent last: settled when that was sent, so that it is the
    /// same however often it is asked for. `None` where none may.
    pub(crate) hedge_at: Option<Instant>,
    pub(crate) committed: Option<u32>,
    pub(crate) met: Option<Met>,
    /// Whether `met` is of the round that is out, and not of the one before.
    pub(crate) met_this_round: bool,
    /// Where an attempt may have acted.
    pub(crate) acted_in: Option<DedupId>,
    /// What the next send has been charged.
    pub(crate) charged: Option<Charged>,
    pub(crate) previous_delay: Duration,
    pub(crate) ticket: u64,
    pub(crate) queued_since: Instant,
    pub(crate) rng: Rng,
}

/// What follows from what a call met: rule N1 up to `attempts-spent`; the wait and the budget come after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Judgement {
    /// The call is over, and well.
    Answered,
    /// The call is over.
    End(Reason),
    /// Over at this upstream; another may go on (rule K1).
    Leave(Reason),
    /// May be sent again, if time and budget allow.
    Again,
}

impl Met {
    pub(crate) const fn of(at: Instant, report: &Report) -> Self {
        Self {
            at,
            outcome: report.outcome,
            status: report.status,
            should_retry: report.should_retry,
            hint: report.outcome.hint(),
            sent: report.outcome.sent(),
        }
    }

    /// What two attempts met together: the more definite outcome decides, the hint that ends later holds, and where
    /// either may have acted, the call may have.
    pub(crate) fn merged(mut self, later: Self) -> Self {
        // A hint counts from when it was given, and the call waits from now on: only the rest of it is asked for.
        let passed = later.at.since(self.at);
        self.hint = self.hint.filter(|hint| hint.wait > passed).map(|hint| Hint {
            wait: hint.wait.minus(passed),
            ..hint
        });
        let (more, less) = if definite(&later.outcome) >= definite(&self.outcome) {
            (later, self)
        } else {
            (self, later)
        };
        let hint = match (more.hint, less.hint) {
            (Some(a), Some(b)) => Some(if b.wait > a.wait { b } else { a }),
            (a, b) => a.or(b),
        };
        let sent = match (more.sent, less.sent) {
            (Sent::Done, _) => Sent::Done,
            (_, Sent::Maybe) => Sent::Maybe,
            (sent, _) => sent,
        };
        Self {
            at: later.at,
            hint,
            sent,
            ..more
        }
    }
}

/// How much an outcome says, for the choice between two.
const fn definite(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Failed { .. } => 0,
        Outcome::Throttled { .. } => 1,
        Outcome::Denied { .. } => 2,
        Outcome::Refused(_) => 3,
        Outcome::Answer => 4,
    }
}

impl Call {
    /// Rule N1, from the finished answer down to `attempts-spent`.
    pub(crate) fn judge(&self, now: Instant) -> Judgement {
        let Some(met) = &self.met else {
            return Judgement::End(Reason::Cancelled);
        };
        let status = met.status;
        let told = met.should_retry;
        match met.outcome {
            Outcome::Answer => return Judgement::Answered,
            _ if self.committed.is_some() => return Judgement::End(Reason::AlreadyStreaming),
            Outcome::Refused(Refusal::QuotaSpent) => return Judgement::Leave(Reason::QuotaSpent),
            Outcome::Refused(Refusal::ContextTooLong) => return Judgement::Leave(Reason::ContextTooLong),
            Outcome::Failed {
                cause: Cause::Request,
                ..
            } => return Judgement::End(Reason::Refused { status }),
            Outcome::Refused(Refusal::Caller | Refusal::TooLarge) => {
                return Judgement::End(Reason::Refused { status });
            }
            Outcome::Denied { .. } => return Judgement::Leave(Reason::Denied { status }),
            Outcome::Throttled { .. } | Outcome::Failed { .. } => {}
        }
        if told == Some(false) {
            return Judgement::End(Reason::ToldNotTo);
        }
        if !self.may_repeat_at(self.at) {
            return Judgement::End(Reason::MayHaveActed);
        }
        if now >= self.deadline {
            return Judgement::End(Reason::DeadlinePassed {
                deadline: self.deadline_length,
            });
        }
        if self.once {
            return Judgement::End(Reason::BodyTooLarge);
        }
        let counts = self.policy.throttled_counts || !matches!(met.outcome, Outcome::Throttled { .. });
        if counts && self.retries_made >= self.retries {
            return Judgement::Leave(Reason::AttemptsSpent { sends: self.sends });
        }
        Judgement::Again
    }

    /// Whether the retry after what was met is charged to the budget (rule G6): all but one that the server invited.
    pub(crate) const fn is_charged(met: &Met) -> bool {
        !matches!(met.outcome, Outcome::Throttled { hint: Some(_) })
    }

    /// Whether the call may move to `leg` after `why`, as far as the call itself decides (rules K1 and K4).
    pub(crate) fn may_move_to(&self, leg: u16, why: Option<&Reason>) -> bool {
        let to = &self.legs[leg as usize];
        let here = &self.legs[self.at as usize];
        if leg == self.at || to.spent || !self.may_repeat_at(leg) {
            return false;
        }
        // The body went with the first send.
        if self.once && self.sends > 0 {
            return false;
        }
        // An attempt there would begin too near the deadline (rule F3).
        if to.not_before.after(self.policy.timeouts.min_attempt) > self.deadline {
            return false;
        }
        if let Some(Reason::ContextTooLong) = why
            && to.candidate.window <= here.candidate.window
        {
            return false;
        }
        if to.sends == 0 {
            return (self.sends == 0 && leg == self.home) || self.fallbacks_made < self.policy.fallbacks;
        }
        to.sends < self.policy.tries && self.retries_made < self.retries
    }

    /// Rule K4: after an attempt that may have acted, only where a repeat cannot act twice.
    fn may_repeat_at(&self, leg: u16) -> bool {
        match self.acted_in {
            None => true,
            Some(domain) => self.repeats_act_once_at(leg, domain),
        }
    }

    /// Whether two sends at `leg` do no more than one, where `domain` has seen the first.
    fn repeats_act_once_at(&self, leg: u16, domain: DedupId) -> bool {
        let candidate = &self.legs[leg as usize].candidate;
        match self.replay {
            Replay::Idempotent | Replay::Declared => true,
            // The caller's word that its key is honoured is about the upstream that it addressed.
            Replay::Keyed => (leg == 0 || candidate.honours_keys) && candidate.dedup == domain,
            Replay::Unsafe => false,
        }
    }

    /// Whether a second attempt beside one at `leg` does no more than one (rule J1).
    pub(crate) fn hedges_act_once_at(&self, leg: u16) -> bool {
        self.repeats_act_once_at(leg, self.legs[leg as usize].candidate.dedup)
    }

    /// What the next send at `leg` is for.
    pub(crate) fn role_at(&self, leg: u16) -> Role {
        match (self.sends, self.legs[leg as usize].sends) {
            (0, _) if leg == self.home => Role::First,
            (_, 0) => Role::Fallback,
            (_, _) => Role::Retry,
        }
    }

    /// Counts a send at `leg`, as what it is there: the first, a retry or a fallback.
    #[inline]
    pub(crate) fn count_send(&mut self, leg: u16) {
        let there = &mut self.legs[usize::from(leg)];
        let is_retry = there.sends > 0;
        there.sends += 1;
        if is_retry && !self.uncounted {
            self.retries_made += 1;
        }
        if !is_retry && (self.sends > 0 || leg != self.home) {
            self.fallbacks_made += 1;
        }
        self.uncounted = false;
        self.sends += 1;
        self.at = leg;
        self.ticket = 0;
    }

    /// Puts an attempt out at `leg` that holds nothing yet but what was charged for it.
    #[inline]
    pub(crate) fn put_out(&mut self, began: Instant, leg: u16, role: Role, chain: &Chain) -> &mut Attempt {
        self.state = State::Flying;
        let place = self.out.iter_mut().find(|attempt| !attempt.is_out());
        let attempt = place.expect("a call sends while it has room");
        attempt.number = self.sends;
        attempt.leg = leg;
        attempt.role = role;
        attempt.began = began;
        attempt.chain = *chain;
        if self.charged.is_some() {
            attempt.charged = self.charged.take();
        }
        attempt
    }

    /// Whether this is a write whose effect nobody knows (rule E2).
    pub(crate) const fn unknown(&self) -> bool {
        if !self.is_write || self.acted_in.is_none() {
            return false;
        }
        match &self.met {
            None => true,
            Some(met) => match met.outcome {
                Outcome::Answer => false,
                Outcome::Refused(Refusal::Caller | Refusal::ContextTooLong | Refusal::TooLarge) => false,
                // What is spent now may not have been when an earlier attempt came.
                Outcome::Refused(Refusal::QuotaSpent)
                | Outcome::Throttled { .. }
                | Outcome::Failed { .. }
                | Outcome::Denied { .. } => true,
            },
        }
    }

    /// Whether a cool-down of this length is longer than the call would wait (rule C6).
    pub(crate) fn is_outlasted_by(&self, now: Instant, cooling: Duration) -> bool {
        let left = self.deadline.since(now);
        cooling > self.policy.hints.max || cooling.plus(self.policy.timeouts.min_attempt) > left
    }

    /// The attempts that are out.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        self.out.iter().filter(|attempt| attempt.is_out())
    }

    pub(crate) fn attempts_out(&self) -> usize {
        self.attempts().count()
    }

    /// The reservations that it holds: those of its attempts, and of a promise made to it.
    pub(crate) fn reservations(&self) -> usize {
        let promised = matches!(
            self.state,
            State::Promised {
                reserved: Some(_),
                ..
            }
        );
        let out = self.attempts().filter(|attempt| attempt.reserved.is_some());
        out.count() + usize::from(promised)
    }

    pub(crate) fn leg(&self) -> &Leg {
        &self.legs[self.at as usize]
    }

    /// A tenant for a slot that has none yet.
    pub(crate) fn vacant(policy: &CallPolicy) -> Self {
        Self {
            generation: 0,
            number: 0,
            state: State::Gone,
            policy: *policy,
            retries: 0,
            deadline: Instant::START,
            deadline_length: Duration::ZERO,
            replay: Replay::Unsafe,
            is_write: false,
            endpoint: Endpoint::General,
            cost: Cost::NOTHING,
            guessed: 0,
            nth: 1,
            once: false,
            legs: Vec::new(),
            at: 0,
            home: 0,
            sends: 0,
            retries_made: 0,
            fallbacks_made: 0,
            uncounted: false,
            out: [const { Attempt::NONE }; OUT_MAX],
            hedged: false,
            hedge_at: None,
            committed: None,
            met: None,
            met_this_round: false,
            acted_in: None,
            charged: None,
            previous_delay: Duration::ZERO,
            ticket: 0,
            queued_since: Instant::START,
            rng: Rng::new(0, 0),
        }
    }

    /// Moves a new tenant in, keeping what is warm.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant, number: u64, rng: Rng, spec: &Spec<'_>) {
        self.number = number;
        self.state = State::Ready;
        self.policy = *spec.policy;
        self.retries = spec
            .retries_max
            .map_or(spec.policy.retries, |max| max.min(spec.policy.retries));
        self.deadline = spec.deadline;
        self.deadline_length = spec.deadline.since(now);
        self.is_write = matches!(spec.replay, Replay::Keyed | Replay::Unsafe);
        self.replay = spec.replay_taken();
        self.endpoint = spec.endpoint;
        self.cost = Cost::of(u64::from(spec.tokens_in), u64::from(spec.tokens_out));
        self.guessed = spec.tokens_guessed;
        self.nth = spec.nth.max(1);
        self.once = spec.once;
        self.legs.clear();
        self.legs.extend(spec.route.iter().map(|candidate| Leg {
            candidate: *candidate,
            sends: 0,
            not_before: Instant::START,
            spent: !spec.fits(candidate),
        }));
        self.sends = 0;
        self.retries_made = 0;
        self.fallbacks_made = 0;
        self.uncounted = false;
        self.hedged = false;
        self.hedge_at = None;
        self.committed = None;
        self.met = None;
        self.met_this_round = false;
        self.acted_in = None;
        self.charged = None;
        self.previous_delay = spec.policy.backoff.base;
        self.ticket = 0;
        self.rng = rng;
    }
}

/// How a candidate stands towards a call, now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Standing {
    /// Would send at once.
    Now,
    /// Would make it wait in the queue of `gate`, until `known` where a time is known.
    Waits {
        gate: u32,
        reason: Reason,
        known: Option<Instant>,
    },
    /// Will not take it.
    Refuses {
        reason: Reason,
        retry_at: Option<Instant>,
    },
}

/// The best of the candidates that a call may move to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Others {
    /// The first that would send at once.
    pub(crate) now: Option<u16>,
    /// The one whose wait is known to end first.
    pub(crate) soonest: Option<(u16, Instant)>,
    /// The first with a queue to stand in, for nobody knows how long.
    pub(crate) in_line: Option<u16>,
}

impl Others {
    /// Where to wait, if none can send now: for the first that is known to be free, else in line.
    pub(crate) fn to_wait_for(self) -> Option<u16> {
        self.soonest.map(|(leg, _)| leg).or(self.in_line)
    }
}

/// Where a call that may be sent goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// To this candidate, at once.
    Send(u16),
    /// To its own candidate's queue.
    Stay,
    /// To this other candidate's queue.
    Move(u16),
    /// Nowhere.
    Refuse(Reason, Option<Instant>),
}

/// Rule K1 before a send: while another could send now, no wait above `patience`; if none can, the first that is free.
pub(crate) fn choose(
    here: (u16, Standing),
    others: Others,
    now: Instant,
    waited: Duration,
    patience: Duration,
) -> Choice {
    let (at, standing) = here;
    match standing {
        Standing::Now => Choice::Send(at),
        Standing::Refuses { reason, retry_at } => match others {
            Others { now: Some(other), .. } => Choice::Send(other),
            others => match others.to_wait_for() {
                Some(other) => Choice::Move(other),
                None => Choice::Refuse(reason, retry_at),
            },
        },
        Standing::Waits { known, .. } => {
            let wait = known.map_or(waited, |until| until.since(now));
            if wait <= patience && (known.is_some() || waited < patience) {
                return Choice::Stay;
            }
            match (others.now, others.soonest, known) {
                (Some(other), _, _) => Choice::Send(other),
                (None, Some((other, theirs)), Some(ours)) if theirs < ours => Choice::Move(other),
                (None, _, _) => Choice::Stay,
            }
        }
    }
}
