//! True limits: how much a route admits, by buckets that run off evenly.
//!
//! What can go wrong: a mock that counts in windows of the clock lets twice its limit through around their edges; one
//! whose 429 says a constant wait refuses the client that obeys it, or teaches it to wait ten times too long; and one
//! whose headers, message and `Retry-After` were made apart passes the client that reads the wrong one. So a limit is a
//! bucket in whole numbers, of which one level makes every number of an answer: a client that waits what it was told is
//! let in, and one that comes a nanosecond early is not. A refusal takes nothing, and several limits commit together: one
//! that refuses takes nothing from the others.
//!
//! Tokens are charged before the work, as OpenAI does: what the prompt is estimated at, and the most that the attempt lets
//! be written. Nothing is given back when the answer turns out shorter. A client can foretell that number, and no other is
//! known when an attempt is let in.
//!
//! What this does not cover: windows of the clock, limits of a day, and limits that several routes share.

mod bucket;
mod tell;

pub use bucket::Rate;
pub use tell::{Told, go_duration, headers, message, refusal_headers, retry_delay, status};

use super::{Dialect, STATE_BYTES_MAX};
use bucket::{Bucket, Room};
use seawall_core::time::{Duration, Instant};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// How often a full meter looks for accounts that it can forget: each look goes through all of them.
const SWEEP_EVERY: Duration = SECOND;

/// What a route admits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Whose limit it is.
    pub key: LimitKey,
    /// Attempts a minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Attempts a second.
    pub requests_per_second: Option<NonZeroU32>,
    /// Tokens a minute, read and written.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// Attempts that are being answered at once.
    pub concurrency: Option<NonZeroU32>,
    /// How many attempts may come at once, in place of a minute's worth; where there is no limit of a minute, in place
    /// of a second's worth.
    pub burst: Option<NonZeroU32>,
    /// In whose words it is told.
    pub form: Form,
}

impl Limit {
    /// So many attempts a minute, for everybody together.
    ///
    /// ```
    /// use seawall_core::time::Instant;
    /// use seawall_lab::plan::{Admission, Limit, Meter};
    /// let limit = Limit::per_minute(std::num::NonZeroU32::MIN);
    /// let mut meter = Meter::default();
    /// let first = meter.ask(&limit, Instant::START, b"", 0);
    /// assert!(matches!(first, Admission::Admitted(..)));
    /// let second = meter.ask(&limit, Instant::START, b"", 0);
    /// assert!(matches!(second, Admission::Refused(_)));
    /// ```
    pub fn per_minute(requests: NonZeroU32) -> Self {
        Self {
            requests_per_minute: Some(requests),
            ..Self::default()
        }
    }

    /// The bucket behind one bound; `None` where it is no bucket or is not set.
    pub fn rate(&self, bound: Bound) -> Option<Rate> {
        let (units, time, holds) = match bound {
            Bound::RequestsPerMinute => (self.requests_per_minute, MINUTE, self.burst),
            Bound::RequestsPerSecond => {
                let burst = self.burst.filter(|_| self.requests_per_minute.is_none());
                (self.requests_per_second, SECOND, burst)
            }
            Bound::TokensPerMinute => (self.tokens_per_minute, MINUTE, None),
            Bound::Concurrency => return None,
        };
        let units = units?;
        let holds = holds.unwrap_or(units);
        Some(Rate { holds, units, time })
    }
}

/// Whose limit it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LimitKey {
    /// One for the whole route.
    #[default]
    Route,
    /// One for each value of this header; attempts without it share one.
    Header(String),
}

/// In whose words a limit is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Those of the dialect in which the attempt is answered.
    #[default]
    ByDialect,
    /// `x-ratelimit-*` with lengths of time, `Retry-After` and `retry-after-ms`.
    OpenAi,
    /// `anthropic-ratelimit-*` with dates, and `Retry-After`.
    Anthropic,
    /// `x-ratelimit-*` with whole seconds, `Retry-After` and `retry-after-ms`.
    Azure,
    /// No header: a `RetryInfo` in the body of the refusal.
    Gemini,
    /// As OpenAI's, without `retry-after-ms`.
    Groq,
    /// `RateLimit` and `RateLimit-Policy`, `x-ratelimit-*` with whole seconds, and `Retry-After`.
    Generic,
}

impl Form {
    /// The forms that a file may name.
    pub const NAMED: [Self; 6] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Azure,
        Self::Gemini,
        Self::Groq,
        Self::Generic,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByDialect => "by-dialect",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Azure => "azure",
            Self::Gemini => "gemini",
            Self::Groq => "groq",
            Self::Generic => "generic",
        }
    }

    /// The form in which an answer in this dialect tells its limits; never `ByDialect`.
    #[must_use]
    pub const fn at(self, dialect: Dialect) -> Self {
        match self {
            Self::ByDialect => match dialect {
                Dialect::OpenAi => Self::OpenAi,
                Dialect::Azure => Self::Azure,
                Dialect::Groq => Self::Groq,
                Dialect::Anthropic => Self::Anthropic,
                Dialect::Gemini => Self::Gemini,
                Dialect::GitHub | Dialect::Stripe | Dialect::Generic | Dialect::ByPath => Self::Generic,
            },
            Self::OpenAi | Self::Anthropic | Self::Azure | Self::Gemini | Self::Groq | Self::Generic => self,
        }
    }
}

/// One of the bounds of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Attempts a minute.
    RequestsPerMinute,
    /// Attempts a second.
    RequestsPerSecond,
    /// Tokens a minute.
    TokensPerMinute,
    /// Attempts at once.
    Concurrency,
}

impl Bound {
    /// Every bound that is a bucket.
    pub const BUCKETS: [Self; 3] = [
        Self::RequestsPerMinute,
        Self::RequestsPerSecond,
        Self::TokensPerMinute,
    ];

    /// The name in words, with its usual abbreviation where it has one.
    pub const fn words(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests per min (RPM)",
            Self::RequestsPerSecond => "requests per second (RPS)",
            Self::TokensPerMinute => "tokens per min (TPM)",
            Self::Concurrency => "concurrent requests",
        }
    }
}

/// How a bucket stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which.
    pub bound: Bound,
    /// How much it holds.
    pub limit: u64,
    /// How much of that has room now.
    pub remaining: u64,
    /// How long until all of it has room again: what `reset` says.
    pub full_in: Duration,
    /// How long it takes from empty to full.
    pub lasts: Duration,
}

/// How all buckets of one key stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing([Option<Window>; 3]);

impl Standing {
    /// The buckets that there are.
    pub fn windows(&self) -> impl Iterator<Item = Window> + '_ {
        self.0.iter().flatten().copied()
    }

    /// The bucket that counts attempts; of two, the one with less room, and of two with the same, the slower.
    pub fn requests(&self) -> Option<Window> {
        self.windows()
            .filter(|window| window.bound != Bound::TokensPerMinute)
            .min_by_key(|window| (window.remaining, std::cmp::Reverse(window.full_in)))
    }

    /// The bucket that counts tokens.
    pub fn tokens(&self) -> Option<Window> {
        self.windows()
            .find(|window| window.bound == Bound::TokensPerMinute)
    }
}

/// What a meter says to an attempt.
#[derive(Debug)]
#[must_use]
pub enum Admission {
    /// It is let in, and was charged.
    Admitted(Standing, Seat),
    /// It is not, and was not.
    Refused(Refusal),
    /// The meter cannot keep another key apart; forgetting one that is in use would give it its whole limit again.
    Full,
}

/// Why an attempt is not let in, and when it would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The bound that refuses; of several, the one that will the longest.
    pub bound: Bound,
    /// How much of that there is in all.
    pub limit: u64,
    /// How much of that the attempt needs.
    pub needs: u64,
    /// Until when.
    pub wait: Wait,
    /// How all buckets stand.
    pub standing: Standing,
}

impl Refusal {
    /// Whether it is about tokens, not about attempts.
    pub fn counts_tokens(&self) -> bool {
        self.bound == Bound::TokensPerMinute
    }
}

/// How long an attempt that was refused is refused still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// For exactly this long, if nobody else takes the room; never zero.
    For(Duration),
    /// Until another attempt ends, which nobody can foretell.
    UntilOneEnds,
    /// For ever: it needs more than the bucket holds.
    Never,
}

/// How many attempts are being answered.
#[derive(Debug, Default)]
pub(super) struct Crowd(Arc<AtomicU32>);

impl Crowd {
    /// Seats one more.
    pub(super) fn enter(&self) -> Seat {
        // The count publishes nothing but itself.
        self.0.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(&self.0))
    }

    /// How many seats are out.
    pub(super) fn count(&self) -> u64 {
        u64::from(self.0.load(Ordering::Relaxed))
    }
}

/// A copy counts on its own: the seats that are out are the original's.
impl Clone for Crowd {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// An attempt's place among those that are being answered. Dropped, however the attempt ends, the place is free; a meter
/// that is thrown away before is not hurt by it.
pub struct Seat(Arc<AtomicU32>);

impl Drop for Seat {
    fn drop(&mut self) {
        let before = self.0.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a seat is given back once");
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seat")
    }
}

/// What every key of one limit has used. A copy has the same buckets and no seats out.
#[derive(Clone, Default)]
pub struct Meter {
    accounts: BTreeMap<Box<[u8]>, Account>,
    bytes: usize,
    /// When it may be looked through for accounts to forget.
    sweep_at: Instant,
}

impl Meter {
    /// Asks for room for one attempt with so many tokens, and takes it where all bounds have it. Ask once per attempt,
    /// when it has come whole; the seat is the attempt's until it ends.
    ///
    /// `limit` is the same each time; the meter of another limit is another meter. A time before an earlier one is taken
    /// for that one.
    pub fn ask(&mut self, limit: &Limit, now: Instant, key: &[u8], tokens: u64) -> Admission {
        match self.account(limit, now, key) {
            Some(account) => account.ask(limit, now, tokens),
            None => Admission::Full,
        }
    }

    /// How many keys are kept apart.
    pub fn keys(&self) -> usize {
        self.accounts.len()
    }

    fn account(&mut self, limit: &Limit, now: Instant, key: &[u8]) -> Option<&mut Account> {
        if !self.accounts.contains_key(key) {
            let bytes = bytes_of(key);
            if self.bytes + bytes > STATE_BYTES_MAX && now >= self.sweep_at {
                self.sweep(limit, now);
            }
            if self.bytes + bytes > STATE_BYTES_MAX {
                return None;
            }
            self.bytes += bytes;
            self.accounts.insert(key.into(), Account::new(now));
        }
        self.accounts.get_mut(key)
    }

    /// Forgets every account that is as new: nothing is lost with it.
    fn sweep(&mut self, limit: &Limit, now: Instant) {
        self.sweep_at = now.after(SWEEP_EVERY);
        let bytes = &mut self.bytes;
        self.accounts.retain(|key, account| {
            let keeps = account.is_in_use(limit, now);
            if !keeps {
                *bytes -= bytes_of(key);
            }
            keeps
        });
    }
}

/// Keys are credentials, most often: how many there are is all that is printed.
impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter")
            .field("keys", &self.accounts.len())
            .finish_non_exhaustive()
    }
}

fn bytes_of(key: &[u8]) -> usize {
    // A node of the map, beside what it holds, costs about as much as the account itself.
    key.len() + 2 * size_of::<Account>()
}

/// What one key has used.
#[derive(Clone)]
struct Account {
    buckets: [Bucket; 3],
    crowd: Crowd,
}

impl Account {
    fn new(now: Instant) -> Self {
        Self {
            buckets: [Bucket::new(now); 3],
            crowd: Crowd::default(),
        }
    }

    fn ask(&mut self, limit: &Limit, now: Instant, tokens: u64) -> Admission {
        self.advance(limit, now);
        match self.refusal(limit, tokens) {
            Some((bound, wait)) => Admission::Refused(Refusal {
                bound,
                limit: holds(limit, bound),
                needs: needs(bound, tokens),
                wait,
                standing: self.standing(limit),
            }),
            None => {
                for (bound, bucket) in Bound::BUCKETS.into_iter().zip(&mut self.buckets) {
                    if let Some(rate) = limit.rate(bound) {
                        bucket.take(rate, needs(bound, tokens));
                    }
                }
                Admission::Admitted(self.standing(limit), self.crowd.enter())
            }
        }
    }

    /// The bound that refuses the longest: for ever, then until something unforeseen, then by the time it takes.
    fn refusal(&self, limit: &Limit, tokens: u64) -> Option<(Bound, Wait)> {
        let mut longest = None;
        for (bound, bucket) in Bound::BUCKETS.into_iter().zip(&self.buckets) {
            let Some(rate) = limit.rate(bound) else { continue };
            match bucket.room(rate, needs(bound, tokens)) {
                Room::Now => {}
                Room::Never => return Some((bound, Wait::Never)),
                Room::In(wait) => longest = longest.max(Some((wait, bound))),
            }
        }
        let full = limit
            .concurrency
            .is_some_and(|most| self.crowd.count() >= u64::from(most.get()));
        if full {
            return Some((Bound::Concurrency, Wait::UntilOneEnds));
        }
        longest.map(|(wait, bound)| (bound, Wait::For(wait)))
    }

    fn standing(&self, limit: &Limit) -> Standing {
        let mut standing = Standing::default();
        for ((bound, bucket), window) in Bound::BUCKETS.into_iter().zip(&self.buckets).zip(&mut standing.0) {
            *window = limit.rate(bound).map(|rate| Window {
                bound,
                limit: u64::from(rate.holds.get()),
                remaining: bucket.left(rate),
                full_in: bucket.full_in(rate),
                lasts: rate.lasts(),
            });
        }
        standing
    }

    fn is_in_use(&mut self, limit: &Limit, now: Instant) -> bool {
        self.advance(limit, now);
        let runs_off = self
            .standing(limit)
            .windows()
            .any(|window| !window.full_in.is_zero());
        runs_off || self.crowd.count() > 0
    }

    fn advance(&mut self, limit: &Limit, now: Instant) {
        for (bound, bucket) in Bound::BUCKETS.into_iter().zip(&mut self.buckets) {
            if let Some(rate) = limit.rate(bound) {
                bucket.advance(now, rate);
            }
        }
    }
}

fn needs(bound: Bound, tokens: u64) -> u64 {
    match bound {
        Bound::RequestsPerMinute | Bound::RequestsPerSecond | Bound::Concurrency => 1,
        Bound::TokensPerMinute => tokens,
    }
}

fn holds(limit: &Limit, bound: Bound) -> u64 {
    let holds = match limit.rate(bound) {
        Some(rate) => Some(rate.holds),
        None => limit.concurrency,
    };
    holds.map_or(0, |holds| u64::from(holds.get()))
}

#[cfg(test)]
mod tests;
