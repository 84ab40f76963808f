//! An answer, and how it was come by.

use super::Change;
use crate::upstream::AttemptNote;
use http::HeaderMap;
use seawall_core::time::Duration;
use std::fmt;
use std::ops::Deref;

/// Headers in which providers number a request for their support.
const REQUEST_IDS: [&str; 4] = [
    "x-request-id",
    "request-id",
    "apim-request-id",
    "x-goog-request-id",
];

/// An answer, and how it was come by: who gave it, at which attempt, after which waits. It derefs to the answer.
#[derive(Clone, PartialEq)]
pub struct Answered<T> {
    answer: T,
    way: Way,
}

/// How an answer was come by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Way {
    pub(super) upstream: String,
    pub(super) model: String,
    pub(super) request_id: Option<String>,
    pub(super) attempts: Vec<AttemptNote>,
    pub(super) waited: Vec<(&'static str, Duration)>,
    pub(super) changes: Vec<Change>,
}

impl<T> Answered<T> {
    pub(super) const fn new(answer: T, way: Way) -> Self {
        Self { answer, way }
    }

    /// The answer alone.
    pub fn into_inner(self) -> T {
        self.answer
    }

    /// The server that answered, by its name.
    pub fn upstream(&self) -> &str {
        &self.way.upstream
    }

    /// The model that was asked there.
    pub fn model_asked(&self) -> &str {
        &self.way.model
    }

    /// The provider's own number for the request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        self.way.request_id.as_deref()
    }

    /// Every attempt that was made, the one that was answered last.
    pub fn attempts(&self) -> &[AttemptNote] {
        &self.way.attempts
    }

    /// What was waited for, by reason code, and how long.
    pub fn waited(&self) -> &[(&'static str, Duration)] {
        &self.way.waited
    }

    /// What was asked for and left out, because the server's dialect has no words for it; nothing unless
    /// [`Chat::unsupported`](super::Chat::unsupported) allows that.
    pub fn changes(&self) -> &[Change] {
        &self.way.changes
    }
}

impl<T> Deref for Answered<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.answer
    }
}

impl<T: fmt::Debug> fmt::Debug for Answered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answered")
            .field("answer", &self.answer)
            .field("upstream", &self.way.upstream)
            .field("attempts", &self.way.attempts)
            .finish_non_exhaustive()
    }
}

/// The provider's own number for a request.
pub(super) fn request_id(headers: &HeaderMap) -> Option<String> {
    let mut found = REQUEST_IDS
        .iter()
        .filter_map(|name| headers.get(*name)?.to_str().ok());
    found.next().map(str::to_owned)
}
