//! Why a call to an AI API has no answer, in the words that callers match on.
//!
//! What can go wrong: one kind for a spent balance and a busy minute, so that programs sleep where a person must pay; an
//! error that keeps the last status and loses how often it was tried, or keeps the count and loses the cause; a stream
//! that breaks and takes what was received with it; and a server that repeats the key it was sent, which a log then
//! keeps. So an [`Error`] has a [kind](ErrorKind) that programs match on, keeps the whole [`CallError`] as its source
//! and whatever a stream brought, prints one sentence, and blots out the key wherever a server repeats it.
//!
//! What it does not cover: keys of others in a server's message. A denial's message is not printed for that reason.

mod kind;

pub use kind::{ErrorKind, LimitedBy};

use super::Dialect;
use super::answered::Way;
use super::answered::request_id;
use super::client::Leg;
use super::stream::Broke;
use super::{Assembly, DecodeError, EncodeError, EventError, ProviderError};
use crate::upstream::{Answer, AttemptNote, CallError, StreamError};
use http::HeaderMap;
use seawall_core::outcome::{Cause, Usage};
use seawall_core::time::Duration;
use std::fmt;
use std::time::SystemTime;

/// Longest part of a provider's message in an error's sentence; the whole is in [`Error::provider`].
const MESSAGE_CHARS_MAX: usize = 300;

/// Why a call to an AI API has no answer.
///
/// Match on [`kind`](Self::kind), or on [`root`](Self::root) where it does not matter how often it was tried; show people
/// its `Display`, which is one sentence without secrets. All else that is known is here: every attempt, what the provider
/// said, what a stream had brought, and when it could be worth coming back. The [`CallError`] is its
/// [`source`](std::error::Error::source), where a call was made.
///
/// ```no_run
/// # async fn example(client: seawall::ai::Client, chat: seawall::ai::Chat) {
/// use seawall::ai::ErrorKind;
///
/// match client.chat(chat).await {
///     Ok(answer) => println!("{}", answer.text()),
///     Err(error) => match error.kind() {
///         ErrorKind::RateLimited { retry_after, .. } => println!("later: in {retry_after:?}"),
///         ErrorKind::QuotaSpent => println!("somebody must pay"),
///         ErrorKind::ContextTooLong => println!("shorten it"),
///         ErrorKind::Exhausted { attempts, last } => println!("{attempts} attempts, the last: {last}"),
///         _ => println!("{error}"),
///     },
/// }
/// # }
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    model: String,
    upstream: String,
    provider: Option<ProviderError>,
    detail: Option<String>,
    request_id: Option<String>,
    received: Option<Assembly>,
    attempts: Vec<AttemptNote>,
    usage: Usage,
    retry_after: Option<Duration>,
    source: Source,
}

impl Inner {
    fn new(kind: ErrorKind, asked: &Asked<'_>) -> Self {
        Self {
            kind,
            model: asked.model.to_owned(),
            upstream: asked.upstream.to_owned(),
            provider: None,
            detail: None,
            request_id: None,
            received: None,
            attempts: Vec::new(),
            usage: Usage::NONE,
            retry_after: None,
            source: Source::None,
        }
    }
}

enum Source {
    Call(Box<CallError>),
    Encode(EncodeError),
    Decode(DecodeError),
    Stream(Box<StreamError>),
    None,
}

/// What a client knows of a call that its end does not.
pub(super) struct Asked<'a> {
    /// The server that was asked last.
    pub(super) upstream: &'a str,
    pub(super) model: &'a str,
    /// All that it might have gone to: what is told last may be what an earlier one said.
    pub(super) legs: &'a [Leg],
    /// The date of the end.
    pub(super) now: SystemTime,
}

impl Asked<'_> {
    /// What the provider says in an error, without the key.
    fn provider(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ProviderError {
        self.without_keys(ProviderError::read(status, request_id(headers).as_deref(), body))
    }

    fn without_keys(&self, mut said: ProviderError) -> ProviderError {
        for text in [
            &mut said.code,
            &mut said.kind,
            &mut said.message,
            &mut said.param,
            &mut said.request_id,
        ] {
            *text = text.take().map(|text| self.blotted(text));
        }
        said
    }

    fn blotted(&self, text: String) -> String {
        let upstreams = self.legs.iter().map(|leg| &leg.upstream);
        upstreams.fold(text, |text, upstream| upstream.blotted(text))
    }

    fn request_id(&self, headers: &HeaderMap) -> Option<String> {
        request_id(headers).map(|id| self.blotted(id))
    }
}

impl Error {
    /// A call that ended without an answer.
    pub(super) fn of_call(mut call: Box<CallError>, asked: &Asked<'_>) -> Self {
        call.detail = call.detail.map(|detail| asked.blotted(detail));
        let answer = call.answer.as_deref();
        let provider =
            answer.map(|answer| asked.provider(answer.status.as_u16(), &answer.headers, &answer.body));
        Self(Box::new(Inner {
            kind: ErrorKind::of(&call, asked.now),
            request_id: answer.and_then(|answer| asked.request_id(&answer.headers)),
            provider: provider.filter(|said| said.message.is_some() || said.code.is_some()),
            detail: call.detail.clone(),
            attempts: call.attempts.to_vec(),
            usage: call.usage,
            retry_after: call.retry_after,
            source: Source::Call(call),
            ..Inner::new(ErrorKind::Connection, asked)
        }))
    }

    /// A call that cannot be said in the dialect of the server that it is for.
    pub(super) fn inexpressible(error: EncodeError, asked: &Asked<'_>) -> Self {
        Self(Box::new(Inner {
            detail: Some(error.to_string()),
            source: Source::Encode(error),
            ..Inner::new(ErrorKind::Inexpressible, asked)
        }))
    }

    /// A dialect that has no such operation.
    pub(super) fn no_such_operation(what: &str, dialect: Dialect, asked: &Asked<'_>) -> Self {
        Self(Box::new(Inner {
            detail: Some(format!("{dialect} has no {what}")),
            ..Inner::new(ErrorKind::Inexpressible, asked)
        }))
    }

    /// A stream that broke off after its first content.
    pub(super) fn of_stream(broke: Broke, way: &Way, received: &Assembly, asked: &Asked<'_>) -> Self {
        let inner = Inner {
            request_id: way.request_id.clone().map(|id| asked.blotted(id)),
            received: Some(received.clone()),
            attempts: way.attempts.clone(),
            ..Inner::new(ErrorKind::Connection, asked)
        };
        let broken = |by| ErrorKind::StreamBroke { by: Box::new(by) };
        Self(Box::new(match broke {
            Broke::Stream(error) => {
                let last = way.attempts.last();
                let said = ProviderError {
                    status: last.and_then(|attempt| attempt.status).unwrap_or(0),
                    code: error.code.clone(),
                    kind: error.kind.clone(),
                    message: error.message.clone(),
                    ..ProviderError::default()
                };
                let has_said = said.code.is_some() || said.kind.is_some() || said.message.is_some();
                Inner {
                    kind: broken(match (error.cause, has_said) {
                        (Cause::Malformed, false) => ErrorKind::Undecodable,
                        (cause, _) => ErrorKind::of_cause(cause, said.status),
                    }),
                    provider: has_said.then(|| asked.without_keys(said)),
                    detail: Some(error.detail.clone()),
                    usage: error.usage,
                    retry_after: error.retry_after,
                    source: Source::Stream(error),
                    ..inner
                }
            }
            Broke::Event(EventError::Provider(said), usage) => Inner {
                kind: broken(ErrorKind::Server { status: said.status }),
                provider: Some(asked.without_keys(*said)),
                usage,
                ..inner
            },
            Broke::NoAnswer(usage) => Inner {
                kind: broken(ErrorKind::Undecodable),
                detail: Some("the stream ended, and no answer of the server's dialect was in it".to_owned()),
                usage,
                ..inner
            },
            Broke::Event(EventError::Undecodable(error), usage) => Inner {
                kind: broken(ErrorKind::Undecodable),
                detail: Some(error.to_string()),
                usage,
                source: Source::Decode(error),
                ..inner
            },
            Broke::Early(usage) => Inner {
                kind: broken(ErrorKind::Connection),
                detail: Some("the stream ended before its last word".to_owned()),
                usage,
                ..inner
            },
        }))
    }

    /// An answer that came whole and is none.
    pub(super) fn undecodable(error: DecodeError, answer: &Answer, asked: &Asked<'_>) -> Self {
        let status = answer.status;
        let detail = match (status.is_redirection(), answer.body.is_empty()) {
            (true, _) => {
                format!("status {status} sends it elsewhere, which is not followed; mend the base URL")
            }
            (false, true) => format!("status {status} came without a body"),
            (false, false) => error.to_string(),
        };
        Self(Box::new(Inner {
            request_id: asked.request_id(&answer.headers),
            detail: Some(detail),
            attempts: answer.attempts.to_vec(),
            usage: answer.usage,
            source: Source::Decode(error),
            ..Inner::new(ErrorKind::Undecodable, asked)
        }))
    }

    /// What went wrong, and, where several attempts did, that they are [spent](ErrorKind::Exhausted).
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What the last attempt met: of an [exhausted](ErrorKind::Exhausted) call its `last`, of a [stream that
    /// broke](ErrorKind::StreamBroke) what broke it; else the kind itself.
    pub fn root(&self) -> &ErrorKind {
        self.0.kind.root()
    }

    /// In how long it could be worth coming back, where anybody knows.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What the provider said: its code, its message, whole but for the key, should it repeat it.
    pub fn provider(&self) -> Option<&ProviderError> {
        self.0.provider.as_ref()
    }

    /// What a stream had brought when it broke off: text, tool calls that may be half, usage.
    pub fn received(&self) -> Option<&Assembly> {
        self.0.received.as_ref()
    }

    /// The same, to keep.
    pub fn into_received(self) -> Option<Assembly> {
        self.0.received
    }

    /// Every attempt that was made, in the order in which they ended.
    pub fn attempts(&self) -> &[AttemptNote] {
        &self.0.attempts
    }

    /// The server that said so, or would have been called.
    pub fn upstream(&self) -> &str {
        &self.0.upstream
    }

    /// The model that was asked there.
    pub fn model(&self) -> &str {
        &self.0.model
    }

    /// The provider's own number for the request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Tokens over all attempts, as far as the server said: what failed may be charged, too.
    pub fn usage(&self) -> Usage {
        self.0.usage
    }

    /// The engine's account of the call: its reason, the last answer as it came, and a write that may have acted.
    pub fn call(&self) -> Option<&CallError> {
        match &self.0.source {
            Source::Call(call) => Some(call),
            Source::Encode(_) | Source::Decode(_) | Source::Stream(_) | Source::None => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "{}: ", inner.upstream)?;
        inner.kind.write(f, Some(&inner.model))?;
        if let Some(received) = inner.received.as_ref().filter(|_| inner.kind.is_a_break()) {
            write!(
                f,
                ", after {} characters of text",
                received.message().text().chars().count()
            )?;
        }
        // A denial's message repeats the key, whole or in part, more often than any other.
        let said = inner
            .provider
            .as_ref()
            .filter(|_| !inner.kind.root().is_a_denial());
        let said = said.and_then(|provider| provider.message.as_deref());
        match said.or(inner.detail.as_deref()).map(shortened) {
            Some(said) if !said.is_empty() => write!(f, ": {said}"),
            Some(_) | None => Ok(()),
        }
    }
}

/// One line, and not a page.
fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.trim_end_matches('.');
    match words.char_indices().nth(MESSAGE_CHARS_MAX) {
        None => words.to_owned(),
        Some((end, _)) => format!("{}…", &words[..end]),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        f.debug_struct("Error")
            .field("kind", &inner.kind)
            .field("upstream", &inner.upstream)
            .field("model", &inner.model)
            .field("request_id", &inner.request_id)
            .field("attempts", &inner.attempts)
            .field("detail", &inner.detail)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Source::Call(call) => Some(call.as_ref()),
            Source::Encode(error) => Some(error),
            Source::Decode(error) => Some(error),
            Source::Stream(error) => Some(error.as_ref()),
            Source::None => None,
        }
    }
}
