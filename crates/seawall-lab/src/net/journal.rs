//! What the mock saw: one entry per attempt, the newest 100 000.
//!
//! It holds no queries, no bodies and no headers but three: a credential that is not kept cannot leak.

mod heard;
mod timeline;

pub(super) use heard::Heard;

use crate::findings::{Fingerprint, Hint, Word};
use seawall_core::time::{Duration, Instant};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most attempts that are kept; older ones are dropped, and counted.
pub(super) const ATTEMPTS_MAX: usize = 100_000;
/// The header by which a client may say whose call an attempt is, so that nobody has to guess.
pub const CALL_HEADER: &str = "x-seawall-call";
/// The longest part of a path, a method or a header that is kept, in characters.
const TEXT_CHARS_MAX: usize = 512;

/// Every attempt that a mock saw, as far as it is kept.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// The attempts, in the order in which they were matched.
    pub attempts: Vec<Attempt>,
    /// How many older ones were dropped.
    pub dropped: u64,
    /// How many attempts are being answered now.
    pub open: u64,
}

/// One attempt, as the mock saw it. Times count from the mock's start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Which attempt at this mock, counted from 1; a reset does not begin again.
    pub number: u64,
    /// On which connection, counted from 1.
    pub connection: u64,
    /// Which attempt on that connection, counted from 1.
    pub on_connection: u64,
    /// The method; empty where the head could not be read.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The pattern of the rule that matched, once the whole request was read.
    pub route: Option<Arc<str>>,
    /// Whose call it is, where the client says so ([`CALL_HEADER`]): attempts of one call have one name.
    pub call: Option<String>,
    /// What tells its body apart, once that was read; `None` where there was none.
    pub body: Option<Fingerprint>,
    /// The idempotency key.
    pub key: Option<String>,
    /// What `x-stainless-retry-count` said.
    pub retry_count: Option<String>,
    /// The status that was answered.
    pub status: Option<u16>,
    /// The fault that was injected, by its name in scripts; `delay` for an answer that was only late.
    pub fault: Option<Cow<'static, str>>,
    /// What the attempt did where its route keeps something: `created`, `read`, `listed`, `changed`, `removed`, `done`
    /// (a keyed answer without a resource), `replayed`, `missing`, `not-allowed`, `declined`, or why it was refused:
    /// `key-reused`, `key-in-flight`, `key-missing`, `key-empty`, `key-too-long`, `bad-query`, `store-full`. `None` where
    /// it did not get to any work.
    pub work: Option<&'static str>,
    /// The id of the object that it created, read, changed or removed.
    pub object: Option<String>,
    /// What the answer said about waiting.
    pub hint: Option<Hint>,
    /// What the answer said about sending it again.
    pub word: Word,
    /// When the head was read.
    pub at: Instant,
    /// When the first byte of the answer was sent.
    pub answered: Option<Instant>,
    /// When the last byte was sent, or the attempt broke; `None` while it is being answered.
    pub ended: Option<Instant>,
    /// When the client left before it had the whole answer.
    pub client_left: Option<Instant>,
    /// How many content events of a stream were sent; `None` where the answer was no stream.
    pub events: Option<u64>,
    /// Bytes read, head included.
    pub bytes_in: u64,
    /// Bytes written, head included.
    pub bytes_out: u64,
}

impl Attempt {
    /// How long the answer took; `None` while it is being answered.
    pub fn took(&self) -> Option<Duration> {
        self.ended.map(|ended| ended.since(self.at))
    }
}

/// What becomes known of an attempt after it was matched.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) body: Option<Fingerprint>,
    pub(super) route: Option<Arc<str>>,
    /// The key, where the route has a header of its own for it.
    pub(super) key: Option<String>,
    pub(super) work: Option<&'static str>,
    pub(super) object: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) answered: Option<Instant>,
    pub(super) client_left: Option<Instant>,
    pub(super) events: Option<u64>,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) fault: Option<Cow<'static, str>>,
    /// What its answer says, once a head is sent.
    pub(super) heard: Heard,
}

impl Outcome {
    fn enter(self, attempt: &mut Attempt) {
        attempt.body = self.body;
        attempt.route = self.route;
        attempt.status = self.status;
        attempt.fault = self.fault;
        attempt.answered = self.answered;
        attempt.client_left = self.client_left;
        attempt.events = self.events;
        attempt.bytes_in = self.bytes_in;
        attempt.bytes_out = self.bytes_out;
        attempt.key = self.key.or(attempt.key.take());
        attempt.work = self.work;
        attempt.object = self.object;
        if attempt.status.is_some() {
            attempt.hint = self.heard.hint.map(|hint| *hint);
            attempt.word = self.heard.word;
        }
    }
}

/// The journal as it grows.
#[derive(Debug)]
pub(super) struct Log {
    attempts: VecDeque<Attempt>,
    next: u64,
    dropped: u64,
    open: u64,
    attempts_max: usize,
}

impl Default for Log {
    fn default() -> Self {
        Self::keeping(ATTEMPTS_MAX)
    }
}

impl Log {
    /// A journal of at most so many attempts.
    pub(super) fn keeping(attempts_max: usize) -> Self {
        Self {
            attempts: VecDeque::new(),
            next: 1,
            dropped: 0,
            open: 0,
            attempts_max,
        }
    }

    /// Counts an attempt that begins. It is to be entered, and ended.
    pub(super) fn begin(&mut self) {
        self.open += 1;
    }

    /// Enters an attempt; gives it its number.
    pub(super) fn enter(&mut self, mut attempt: Attempt) -> u64 {
        let number = self.next;
        attempt.number = number;
        self.next += 1;
        if self.attempts.len() == self.attempts_max {
            self.attempts.pop_front();
            self.dropped += 1;
        }
        self.attempts.push_back(attempt);
        number
    }

    /// Shows what is known of an attempt that goes on. One that was dropped or cleared meanwhile is let go.
    pub(super) fn show(&mut self, number: u64, outcome: Outcome) {
        if let Some(attempt) = self.attempt(number) {
            outcome.enter(attempt);
        }
    }

    /// Completes an attempt. One that was dropped or cleared meanwhile is only counted.
    pub(super) fn end(&mut self, number: u64, now: Instant, outcome: Outcome) {
        self.open -= 1;
        if let Some(attempt) = self.attempt(number) {
            outcome.enter(attempt);
            attempt.ended = Some(now);
        }
    }

    fn attempt(&mut self, number: u64) -> Option<&mut Attempt> {
        let first = self.next - self.attempts.len() as u64;
        let place = usize::try_from(number.checked_sub(first)?).ok()?;
        self.attempts.get_mut(place)
    }

    /// Forgets every attempt.
    pub(super) fn clear(&mut self) {
        self.attempts.clear();
        self.dropped = 0;
    }

    /// Whether this is so of any attempt that is kept.
    pub(super) fn any(&self, is: impl Fn(&Attempt) -> bool) -> bool {
        self.attempts.iter().any(is)
    }

    /// How many attempts are being answered.
    pub(super) fn open(&self) -> u64 {
        self.open
    }

    /// What is kept.
    pub(super) fn journal(&self) -> Journal {
        self.journal_since(0)
    }

    /// What is kept of the attempts after number `since`.
    pub(super) fn journal_since(&self, since: u64) -> Journal {
        let first = self.next - self.attempts.len() as u64;
        let skipped = usize::try_from(since.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        Journal {
            attempts: self.attempts.iter().skip(skipped).cloned().collect(),
            dropped: self.dropped,
            open: self.open,
        }
    }
}

/// A text from a stranger, as much of it as is kept.
pub(super) fn kept(text: &[u8]) -> String {
    let some = &text[..text.len().min(4 * TEXT_CHARS_MAX)];
    String::from_utf8_lossy(some)
        .chars()
        .take(TEXT_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests;
