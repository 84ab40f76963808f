//! How much a minute (rule I2): the generic cell rate algorithm, in integers, for attempts and for tokens.
//!
//! What can go wrong: a limit that is taken before the next one refuses has paid for nothing; a call larger than the
//! bucket waits for ever; and an estimate that is given back after it has run off lets more through than the limit.
//! So [`Bucket::room`] asks and takes nothing, until every gate of the chain has room; a call that no bucket can hold
//! is told so; and of what was reserved, only the part that has not run off yet comes back.
//!
//! The algorithm's theoretical arrival time is kept as what it stands for: a level that runs off evenly. Everything
//! that ever came in is counted in whole units, everything that left in unit·nanoseconds per minute, so that nothing
//! is rounded, for any limit and any length of time.

use crate::outcome::{Cause, Outcome, Report, Sent, Usage};
use crate::policy::Rates;
use crate::time::{Duration, Instant};

/// Kinds of things that a limit counts.
pub(crate) const KINDS: usize = 4;

/// A minute in nanoseconds: what one unit weighs.
const MINUTE: u128 = 60_000_000_000;

/// How long a bucket can be in debt: ten minutes. What servers report is a stranger's number, and one answer that is off by
/// a billion must not close a gate for years.
const DEBT_MINUTES_MAX: u64 = 10;

/// What an attempt needs or used of each kind: itself, its tokens, those that it reads, those that it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost(pub(crate) [u64; KINDS]);

impl Cost {
    pub(crate) const NOTHING: Self = Self([0; KINDS]);

    /// One attempt with these tokens.
    pub(crate) const fn of(tokens_in: u64, tokens_out: u64) -> Self {
        Self([1, tokens_in.saturating_add(tokens_out), tokens_in, tokens_out])
    }

    /// The same without those of its tokens to be written that were only guessed.
    pub(crate) const fn without_guess(self, guessed: u32) -> Self {
        let [_, _, tokens_in, tokens_out] = self.0;
        Self::of(tokens_in, tokens_out.saturating_sub(guessed as u64))
    }

    /// The same with one attempt more: the server saw the call twice (rule D5).
    const fn and_again(mut self) -> Self {
        self.0[0] += 1;
        self
    }
}

/// What an attempt that needed `estimate` used, as far as anybody knows.
pub(crate) fn used(report: &Report, estimate: Cost) -> Cost {
    let cost = match (report.usage, report.outcome) {
        (Usage::NONE, _) if !report.was_sent() => Cost::NOTHING,
        (Usage::NONE, Outcome::Answer) => estimate,
        // It answered, and wrote nothing.
        (
            Usage::NONE,
            Outcome::Failed {
                cause: Cause::Status,
                sent: Sent::Maybe,
                ..
            },
        ) => Cost::of(0, 0),
        (Usage::NONE, outcome) => used_without_answer(outcome.sent(), estimate),
        (usage, _) => Cost::of(usage.tokens_in, usage.tokens_out),
    };
    if report.resent { cost.and_again() } else { cost }
}

/// As [`used`], of an attempt that was dropped.
pub(crate) fn used_before_drop(sent: Sent, usage: Usage, estimate: Cost) -> Cost {
    match usage {
        Usage::NONE => used_without_answer(sent, estimate),
        usage => Cost::of(usage.tokens_in, usage.tokens_out),
    }
}

/// A server counts every request that reaches it, and the tokens of those that it worked on.
const fn used_without_answer(sent: Sent, estimate: Cost) -> Cost {
    match sent {
        Sent::No => Cost::NOTHING,
        Sent::NotDone | Sent::Done => Cost::of(0, 0),
        Sent::Maybe => estimate,
    }
}

/// Names what an engine has reserved for one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation(pub(crate) u32);

/// Whether something has room now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Now,
    /// From this point on, if nothing else takes it.
    At(Instant),
    /// When something changes.
    Later,
    /// Never: it needs more than there ever is.
    Never {
        needs: u64,
        holds: u64,
    },
}

impl Room {
    /// What two limits say together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (never @ Self::Never { .. }, _) | (_, never @ Self::Never { .. }) => never,
            (Self::Later, _) | (_, Self::Later) => Self::Later,
            (Self::At(one), Self::At(two)) => Self::At(one.max(two)),
            (at @ Self::At(_), Self::Now) | (Self::Now, at) => at,
        }
    }
}

/// The buckets of one gate, by kind. All are there once one is: a limit that comes and goes by reload counts on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets([Bucket; KINDS]);

/// What a reservation at one gate has to say when it is settled, by kind.
pub(crate) type Marks = [u64; KINDS];

impl Buckets {
    /// Full ones; none where nothing is limited.
    pub(crate) fn new(now: Instant, rates: &Rates) -> Option<Self> {
        let limits = by_kind(rates);
        let any = limits.iter().any(Option::is_some);
        any.then(|| Self(limits.map(|limit| Bucket::new(now, limit))))
    }

    /// Takes other limits, and keeps what runs off still.
    pub(crate) fn configure(&mut self, now: Instant, rates: &Rates) {
        for (bucket, limit) in self.0.iter_mut().zip(by_kind(rates)) {
            bucket.configure(now, limit);
        }
    }

    pub(crate) fn room(&self, now: Instant, cost: Cost) -> Room {
        let buckets = self.0.iter().zip(cost.0);
        buckets.fold(Room::Now, |room, (bucket, needs)| {
            room.and(bucket.room(now, needs))
        })
    }

    /// Keeps room for `cost`, which was there, until it is reserved or let go: what has not been sent runs off not.
    pub(crate) fn pledge(&mut self, cost: Cost) {
        for (bucket, needs) in self.0.iter_mut().zip(cost.0) {
            bucket.pledged += needs;
        }
    }

    /// Ends a pledge of `cost`.
    pub(crate) fn let_go(&mut self, cost: Cost) {
        for (bucket, needs) in self.0.iter_mut().zip(cost.0) {
            let rest = bucket.pledged.checked_sub(needs);
            bucket.pledged = rest.expect("a pledge is ended once");
        }
    }

    /// Takes `cost` of every bucket; each was asked for room before.
    pub(crate) fn reserve(&mut self, now: Instant, cost: Cost) -> Marks {
        let mut marks = Marks::default();
        for ((bucket, needs), mark) in self.0.iter_mut().zip(cost.0).zip(&mut marks) {
            *mark = bucket.reserve(now, needs);
        }
        marks
    }

    /// Corrects a reservation of `cost` to what was used.
    pub(crate) fn settle(&mut self, now: Instant, marks: &Marks, cost: Cost, used: Cost) {
        for (kind, bucket) in self.0.iter_mut().enumerate() {
            bucket.settle(now, marks[kind], cost.0[kind], used.0[kind]);
        }
    }

    /// Whether all of each has run off. What is pledged is a waiting call's, and a gate with one is not idle.
    pub(crate) fn is_full(&self, now: Instant) -> bool {
        self.0.iter().all(|bucket| bucket.level(now) == 0)
    }

    /// The limits.
    pub(crate) fn limits(&self) -> [Option<u64>; KINDS] {
        self.0.map(|bucket| bucket.per_minute)
    }

    /// How many whole units each has room for now.
    pub(crate) fn left(&self, now: Instant) -> [Option<u64>; KINDS] {
        self.0.map(|bucket| bucket.left(now))
    }
}

const fn by_kind(rates: &Rates) -> [Option<u64>; KINDS] {
    [
        rates.requests_per_minute,
        rates.tokens_per_minute,
        rates.tokens_in_per_minute,
        rates.tokens_out_per_minute,
    ]
}

/// One limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// `None` is no limit: all that comes in has run off at once.
    per_minute: Option<u64>,
    /// Every unit that ever came in.
    taken: u64,
    /// All that ever left: each unit weighs [`MINUTE`], and `per_minute` of that leaves in a nanosecond.
    gone: u128,
    at: Instant,
    /// Units that are kept for calls that were woken and have not been sent.
    pledged: u64,
}

impl Bucket {
    pub(crate) const fn new(now: Instant, per_minute: Option<u64>) -> Self {
        Self {
            per_minute,
            taken: 0,
            gone: 0,
            at: now,
            pledged: 0,
        }
    }

    fn configure(&mut self, now: Instant, per_minute: Option<u64>) {
        self.advance(now);
        self.per_minute = per_minute;
    }

    /// What has come in and has not run off by `now`.
    fn level(&self, now: Instant) -> u128 {
        let Some(per_minute) = self.per_minute else {
            return 0;
        };
        let elapsed = u128::from(now.since(self.at).as_nanos());
        (weight(self.taken) - self.gone).saturating_sub(elapsed * u128::from(per_minute))
    }

    fn advance(&mut self, now: Instant) {
        self.gone = weight(self.taken) - self.level(now);
        self.at = self.at.max(now);
    }

    pub(crate) fn room(&self, now: Instant, needs: u64) -> Room {
        let Some(holds) = self.per_minute else {
            return Room::Now;
        };
        if needs > holds {
            return Room::Never { needs, holds };
        }
        let asked = weight(needs) + weight(self.pledged);
        let over = (self.level(now) + asked).saturating_sub(weight(holds));
        if over == 0 {
            return Room::Now;
        }
        let nanos = over.div_ceil(u128::from(holds));
        Room::At(now.after(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))))
    }

    /// Takes `needs` units. The mark says how much must leave until they have run off.
    pub(crate) fn reserve(&mut self, now: Instant, needs: u64) -> u64 {
        self.advance(now);
        self.taken = self.taken.saturating_add(needs);
        self.taken
    }

    /// Corrects a reservation: what was used beyond it comes in now, what was not goes back as far as it is there.
    ///
    /// A use beyond the estimate is believed until the bucket is in debt by [`DEBT_MINUTES_MAX`].
    ///
    /// Whatever leaves is counted as leaving in the order in which it came, what others give back included, so that
    /// never more goes back than what would not be there, had it never come.
    pub(crate) fn settle(&mut self, now: Instant, mark: u64, reserved: u64, used: u64) {
        self.advance(now);
        let Some(unused) = reserved.checked_sub(used) else {
            self.taken = self.taken.saturating_add(self.believed(now, used - reserved));
            return;
        };
        let still_there = weight(mark).saturating_sub(self.gone);
        self.gone += weight(unused).min(still_there);
    }

    /// What of so many units more may come in.
    fn believed(&self, now: Instant, units: u64) -> u64 {
        let per_minute = self.per_minute.unwrap_or(0);
        let most = weight(per_minute) * u128::from(DEBT_MINUTES_MAX);
        let left = most.saturating_sub(self.level(now)) / MINUTE;
        units.min(u64::try_from(left).unwrap_or(u64::MAX))
    }

    /// Whole units that there is room for.
    fn left(&self, now: Instant) -> Option<u64> {
        let room = weight(self.per_minute?).saturating_sub(self.level(now) + weight(self.pledged));
        Some(u64::try_from(room / MINUTE).unwrap_or(u64::MAX))
    }
}

const fn weight(units: u64) -> u128 {
    units as u128 * MINUTE
}

#[cfg(test)]
mod tests;
