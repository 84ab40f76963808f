//! An answer, and how it was come by.

use super::prices::{Cost, Terms, Unpriced};
use super::{Change, ChatAnswer, EmbeddingsAnswer, ResponsesAnswer, Usage};
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
    /// The terms of the model there, where anybody knows them.
    pub(super) terms: Option<Terms>,
}

/// An answer that says what it took.
pub trait Metered {
    /// The tokens that it took, where the provider says.
    fn usage(&self) -> Option<Usage>;
}

impl Metered for ChatAnswer {
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl Metered for EmbeddingsAnswer {
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl Metered for ResponsesAnswer {
    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl<T: Metered> Answered<T> {
    /// What it cost, by the client's [prices](super::ClientBuilder::prices); `None` where the provider does not say what
    /// it took. Failed attempts before it are not in it, whether or not the provider charges them.
    pub fn cost(&self) -> Option<Cost> {
        let usage = self.answer.usage()?;
        Some(match self.way.terms {
            Some(terms) => terms.cost(usage),
            None => Cost::Unpriced(Unpriced::UnknownModel),
        })
    }
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

    /// What the provider's table, or your own word, says of the model that was asked: prices and window.
    pub fn terms(&self) -> Option<&Terms> {
        self.way.terms.as_ref()
    }

    /// Every attempt that was made, the one that was answered last.
    pub fn attempts(&self) -> &[AttemptNote] {
        &self.way.attempts
    }

    /// What was waited for, by reason code, and how long.
    pub fn waited(&self) -> &[(&'static str, Duration)] {
        &self.way.waited
    }

    /// What the server's dialect could not say as it was asked for: what it must have and was not given, what stands at
    /// another place, and what was left out. Of settings only what [`Chat::unsupported`](super::Chat::unsupported) allows
    /// is left out; marks that mean nothing there (another provider's thoughts, an image's detail) always are.
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
