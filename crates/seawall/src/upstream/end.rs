//! How a call ended: its answer, or everything that is known of why there is none.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use seawall_core::outcome::{Cause, Usage};
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The answer of a call.
#[derive(Clone)]
pub struct Answer {
    /// The name of the upstream that answered.
    pub upstream: Arc<str>,
    /// The model that answered, where the candidate of a [`Route`](crate::route::Route) named one.
    pub model: Option<Arc<str>>,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, whole.
    pub body: Bytes,
    /// Every attempt that the call made, in the order in which they ended.
    pub attempts: Attempts,
    /// What was waited for, and how long.
    pub waited: Vec<(&'static str, Duration)>,
    /// Tokens over all attempts, as far as the server said.
    pub usage: Usage,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer")
            .field("upstream", &self.upstream)
            .field("model", &self.model)
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}

/// One attempt of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptNote {
    /// Where it was sent: the candidate's place in its route as that was written, from 0.
    pub candidate: usize,
    /// Why it was sent, as a reason code: `first`, `retry`, `probe`, `hedge`, `fallback`.
    pub sent_for: &'static str,
    /// What it met, as an outcome's name.
    pub outcome: &'static str,
    /// The status that was answered, where one was.
    pub status: Option<u16>,
    /// Whether the request went out more than once inside it (rules D5 and D6).
    pub resent: bool,
    /// From its beginning to the first byte of its answer, where one came.
    pub first_byte: Option<Duration>,
}

/// The attempts of one call, as a slice of [`AttemptNote`]s. Nearly every call has one, and that one needs no memory of
/// its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts(Notes);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Notes {
    #[default]
    None,
    One([AttemptNote; 1]),
    Several(Vec<AttemptNote>),
}

impl Attempts {
    /// Adds one at the end.
    pub fn push(&mut self, note: AttemptNote) {
        self.0 = match std::mem::take(&mut self.0) {
            Notes::None => Notes::One([note]),
            Notes::One([first]) => Notes::Several(vec![first, note]),
            Notes::Several(mut notes) => {
                notes.push(note);
                Notes::Several(notes)
            }
        };
    }

    /// Them, in memory of their own.
    pub fn into_vec(self) -> Vec<AttemptNote> {
        match self.0 {
            Notes::None => Vec::new(),
            Notes::One(one) => one.to_vec(),
            Notes::Several(notes) => notes,
        }
    }

    /// Each note, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut AttemptNote> {
        let notes: &mut [AttemptNote] = match &mut self.0 {
            Notes::None => &mut [],
            Notes::One(one) => one,
            Notes::Several(notes) => notes,
        };
        notes.iter_mut()
    }
}

impl Deref for Attempts {
    type Target = [AttemptNote];

    fn deref(&self) -> &[AttemptNote] {
        match &self.0 {
            Notes::None => &[],
            Notes::One(one) => one,
            Notes::Several(notes) => notes,
        }
    }
}

impl From<Vec<AttemptNote>> for Attempts {
    fn from(notes: Vec<AttemptNote>) -> Self {
        notes.into_iter().collect()
    }
}

impl FromIterator<AttemptNote> for Attempts {
    fn from_iter<I: IntoIterator<Item = AttemptNote>>(notes: I) -> Self {
        let mut attempts = Self::default();
        attempts.extend(notes);
        attempts
    }
}

impl Extend<AttemptNote> for Attempts {
    fn extend<I: IntoIterator<Item = AttemptNote>>(&mut self, notes: I) {
        notes.into_iter().for_each(|note| self.push(note));
    }
}

impl IntoIterator for Attempts {
    type Item = AttemptNote;
    type IntoIter = std::vec::IntoIter<AttemptNote>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Attempts {
    type Item = &'a AttemptNote;
    type IntoIter = std::slice::Iter<'a, AttemptNote>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// A call that has no good answer, and why.
///
/// Match on its `reason`; its `Display` is for people.
///
/// ```no_run
/// # async fn example(upstream: seawall::Upstream) {
/// use seawall::{Call, Reason};
///
/// match upstream.call(Call::get("/v1/models")).await {
///     Ok(answer) => println!("{} after {} attempts", answer.status, answer.attempts.len()),
///     Err(error) => match error.reason {
///         Reason::ServerAskedTooLong { .. } | Reason::CoolingDown { .. } | Reason::BreakerOpen { .. } => {
///             println!("come back in {:?}", error.retry_after);
///         }
///         Reason::Refused { .. } => println!("refused: {:?}", error.answer.map(|answer| answer.status)),
///         _ => println!("{error}"),
///     },
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct CallError {
    /// The name of the upstream of the last attempt; where none was sent, of the first candidate.
    pub upstream: Arc<str>,
    /// The model of that attempt, where its candidate named one.
    pub model: Option<Arc<str>>,
    /// Why the call ended.
    pub reason: Reason,
    /// What broke in the last attempt, where something did.
    pub cause: Option<Cause>,
    /// What the last attempt said of itself, for people.
    pub detail: Option<String>,
    /// The last real answer that any attempt got: its error, unchanged. Its body is as much as came.
    pub answer: Option<Box<RefusedAnswer>>,
    /// Every attempt that the call made, in the order in which they ended.
    pub attempts: Attempts,
    /// What was waited for, and how long.
    pub waited: Vec<(&'static str, Duration)>,
    /// Tokens over all attempts, as far as the server said.
    pub usage: Usage,
    /// In how long it could be worth coming back, where anybody knows.
    pub retry_after: Option<Duration>,
    /// A write that may have acted and got no definite answer (rule E2).
    pub unknown: Option<UnknownWrite>,
}

/// An answer that the call could not end with.
#[derive(Clone)]
pub struct RefusedAnswer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, as much as came.
    pub body: Bytes,
    /// Whether it is shorter than the answer said, empty where one was due, or not what it says it is.
    pub state: seawall_core::facts::BodyState,
}

impl fmt::Debug for RefusedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusedAnswer")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// A write whose outcome nobody knows: one for the ledger. Never holds its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWrite {
    /// The upstream that may have acted.
    pub upstream: String,
    /// The call's method.
    pub method: String,
    /// The call's path, without its query.
    pub path: String,
    /// The idempotency key that was sent, where one was.
    pub key: Option<String>,
    /// What the last attempt met, as an outcome's name.
    pub outcome: &'static str,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.code(), self.reason)?;
        if let Some(detail) = &self.detail {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("upstream", &self.upstream)
            .field("model", &self.model)
            .field("reason", &self.reason)
            .field("cause", &self.cause)
            .field("detail", &self.detail)
            .field("answer", &self.answer)
            .field("attempts", &self.attempts)
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for CallError {}
