//! An answer that is handed on as it comes.
//!
//! What can go wrong: a reader takes the end of the bytes for the end of the answer, and half of one for all of it; an
//! error in the middle is content to it; what it does not read keeps a place, and what it drops keeps a socket. So an
//! answer ends in one of two ways: `None`, which says that it is complete, or one error that says what broke and what had
//! come, and then `None`. Its place is held up to its last byte (rule I1) or until it is dropped, whichever is first.
//!
//! | ends by | a model's events | anything else |
//! |---|---|---|
//! | the dialect's last word | complete, whatever the connection does then | – |
//! | the body's own end | a break, unless the answer is complete (rule L3) | complete |
//! | an error event, an event that cannot be read | a break | content |
//! | a cut, silence, the total limit | a break, unless the answer is complete | a break |

mod error;

pub use error::StreamError;

use super::Shared;
use super::attempt::is_event_stream;
use super::end::{Answer, Attempts, UnknownWrite};
use super::hold::Held;
use super::open::Begun;
use super::watch::{Fault, Verdict, Watch};
use crate::body::{Complete, EVENT_BYTES_MAX, OwnedBodyFacts, ServerEvent};
use crate::clock::Sleep;
use crate::http::{AnswerBody, Broken, HeaderFacts};
use crate::hub::{Closed, Streaming};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use hyper::body::Body as _;
use seawall_core::classify::classify;
use seawall_core::facts::{BodyFacts, BodyState, Broke, Facts};
use seawall_core::outcome::{Cause, Outcome, Report, Sent, Usage};
use seawall_core::profile::Profile;
use seawall_core::reason::Reason;
use seawall_core::time::Duration;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How long the end of a body is waited for after its dialect's last word, for the connection's sake: 250 ms. Most servers
/// send both at once.
const END_GRACE: Duration = Duration::from_millis(250);

/// An answer whose first content has come, and whose rest is read as it arrives. Its call is not sent again.
///
/// Read it by [`chunk`](Self::chunk) or by [`event`](Self::event), to its end: `None` says that it is complete. Dropped
/// before that, it closes its connection, or over HTTP/2 resets its stream, and gives back what its call held.
pub struct Opened {
    /// The name of the upstream that answers.
    pub upstream: Arc<str>,
    /// The model that answers, where the candidate of a [`Route`](crate::route::Route) named one.
    pub model: Option<Arc<str>>,
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// Every attempt that the call made, in the order in which they ended; last the one that this is the answer of.
    pub attempts: Attempts,
    /// What was waited for, and how long.
    pub waited: Vec<(&'static str, Duration)>,
    tail: Box<Tail>,
}

/// How an answer is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Server-sent events, by [`Opened::event`]; or as they are, by [`Opened::chunk`].
    Events,
    /// Bytes, by [`Opened::chunk`]: JSON, a file, events that are compressed.
    Bytes,
}

/// Where an answer comes from.
pub(super) struct Origin {
    pub(super) shared: Arc<Shared>,
    pub(super) upstream: Arc<str>,
    pub(super) model: Option<Arc<str>>,
    pub(super) profile: &'static Profile,
    /// For the ledger, where the answer breaks.
    pub(super) write: UnknownWrite,
}

/// What its call had behind it.
pub(super) struct Before {
    /// That of the answer is the last.
    pub(super) attempts: Attempts,
    pub(super) waited: Vec<(&'static str, Duration)>,
    /// Of the attempts before.
    pub(super) usage: Usage,
}

impl Opened {
    pub(super) fn streaming(origin: Origin, before: Before, begun: Begun, streaming: Streaming) -> Self {
        let tail = Tail {
            shared: origin.shared,
            profile: origin.profile,
            write: origin.write,
            status: begun.status,
            headers: begun.headers.clone(),
            chunks: begun.ahead.chunks,
            held: Some(begun.ahead.held),
            held_bytes: begun.ahead.bytes,
            watch: begun.ahead.watch,
            source: Some(Source {
                body: begun.body,
                streaming,
            }),
            grace: None,
            state: State::Open,
            received_bytes: 0,
            before: before.usage,
        };
        Self {
            upstream: origin.upstream,
            model: origin.model,
            status: begun.status,
            headers: begun.headers,
            attempts: before.attempts,
            waited: before.waited,
            tail: Box::new(tail),
        }
    }

    /// Of an answer that came whole before its call ended.
    pub(super) fn whole(origin: Origin, answer: Answer) -> Self {
        let watch = is_event_stream(&answer.headers).then(|| {
            // Whatever is inside was judged.
            let mut watch = Watch::new(None);
            watch.hear(&answer.body, |_| Verdict::Content);
            watch.end(|_| Verdict::Content);
            watch
        });
        let tail = Tail {
            shared: origin.shared,
            profile: origin.profile,
            write: origin.write,
            status: answer.status,
            headers: HeaderMap::new(),
            held_bytes: 0,
            held: None,
            received_bytes: answer.body.len() as u64,
            chunks: [answer.body]
                .into_iter()
                .filter(|body| !body.is_empty())
                .collect(),
            watch,
            source: None,
            grace: None,
            state: State::Open,
            before: answer.usage,
        };
        Self {
            upstream: answer.upstream,
            model: answer.model,
            status: answer.status,
            headers: answer.headers,
            attempts: answer.attempts,
            waited: answer.waited,
            tail: Box::new(tail),
        }
    }

    /// The next bytes of the body, as they came and never empty; those that were held back for the first content come
    /// first. `None` once the answer is complete, and after an error.
    ///
    /// Bytes that were read so are no events any more for [`event`](Self::event).
    ///
    /// # Errors
    /// [`StreamError`], once: the answer is not complete, and nothing more comes. Of a model's stream the bytes of an
    /// error event come before it.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Box<StreamError>>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// As [`chunk`](Self::chunk), for hand-written futures.
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Box<StreamError>>>> {
        if let Some(watch) = &mut self.tail.watch {
            watch.keep_nothing();
        }
        match ready!(self.tail.poll_bytes(cx)) {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None => Poll::Ready(self.tail.end().map(Err)),
        }
    }

    /// The next event. `None` once the answer is complete, and after an error.
    ///
    /// Comments are no events, nor is OpenAI's `[DONE]`, which is told by `None`. Of events at an inference endpoint each
    /// is known to be JSON and no error. An answer without events ([`form`](Self::form)) has none: it ends with an error.
    ///
    /// Events that were read so are no bytes any more for [`chunk`](Self::chunk).
    ///
    /// # Errors
    /// [`StreamError`], once: the answer is not complete, and nothing more comes.
    pub async fn event(&mut self) -> Option<Result<ServerEvent, Box<StreamError>>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// As [`event`](Self::event), for hand-written futures.
    pub fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<ServerEvent, Box<StreamError>>>> {
        loop {
            let Some(watch) = &mut self.tail.watch else {
                self.tail.has_no_events(&self.headers);
                return Poll::Ready(self.tail.end().map(Err));
            };
            if let Some(event) = watch.event() {
                return Poll::Ready(Some(Ok(event)));
            }
            if ready!(self.tail.poll_bytes(cx)).is_none() {
                // The last event may have come with the end.
                let last = self.tail.watch.as_mut().and_then(Watch::event);
                return Poll::Ready(last.map(Ok).or_else(|| self.tail.end().map(Err)));
            }
        }
    }

    /// The whole rest of the body.
    ///
    /// # Errors
    /// [`StreamError`]: the answer is not complete, or is longer than the upstream's
    /// [`answer_bytes_max`](super::UpstreamBuilder::answer_bytes_max). What had come is lost.
    pub async fn rest(&mut self) -> Result<Bytes, Box<StreamError>> {
        let bytes_max = self.tail.shared.answer_bytes_max;
        let mut chunks = Vec::new();
        let mut bytes = 0;
        while let Some(chunk) = self.chunk().await.transpose()? {
            bytes += chunk.len();
            if bytes > bytes_max {
                return Err(self.is_too_long());
            }
            chunks.push(chunk);
        }
        match chunks.len() {
            0 | 1 => Ok(chunks.pop().unwrap_or_default()),
            _ => Ok(chunks.concat().into()),
        }
    }

    /// The longest answer whose reader may keep it.
    pub(crate) fn bytes_max(&self) -> usize {
        self.tail.shared.answer_bytes_max
    }

    /// Its reader keeps it, and may keep no more. Nothing more comes.
    pub(crate) fn is_too_long(&mut self) -> Box<StreamError> {
        self.tail.is_too_long(self.bytes_max())
    }

    /// How the answer is to be read.
    pub const fn form(&self) -> Form {
        match self.tail.watch {
            Some(_) => Form::Events,
            None => Form::Bytes,
        }
    }

    /// Tokens over all attempts, as far as the server has said by now.
    pub fn usage(&self) -> Usage {
        self.tail.usage()
    }

    /// Whether its end is that of its dialect, and not only of its bytes.
    #[cfg(feature = "ai")]
    pub(crate) fn knows_its_end(&self) -> bool {
        self.tail.complete().is_some()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("status", &self.status)
            .field("attempts", &self.attempts)
            .field("received_bytes", &self.tail.received())
            .finish_non_exhaustive()
    }
}

/// Each event in turn; see [`Opened::event`].
#[cfg(feature = "ai")]
impl futures_core::Stream for Opened {
    type Item = Result<ServerEvent, Box<StreamError>>;

    fn poll_next(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_event(cx)
    }
}

/// What is left of an answer.
struct Tail {
    shared: Arc<Shared>,
    profile: &'static Profile,
    write: UnknownWrite,
    status: StatusCode,
    headers: HeaderMap,
    chunks: VecDeque<Bytes>,
    held: Option<Held>,
    held_bytes: usize,
    watch: Option<Watch>,
    /// `None` once the last byte has come, or the body is given up.
    source: Option<Source>,
    /// Since the last word, where the body's end did not come with it.
    grace: Option<Sleep>,
    state: State,
    /// Of the body, once it is gone.
    received_bytes: u64,
    /// What earlier attempts used.
    before: Usage,
}

/// Where the rest comes from, and what it holds until then.
struct Source {
    // Before the place: who is woken by that finds the socket closed.
    body: AnswerBody,
    streaming: Streaming,
}

enum State {
    Open,
    Failed(Box<StreamError>),
    Over,
}

/// What ended an answer too early.
enum Break {
    Broke(Broken),
    Fault(Fault),
    /// The body ended before the stream.
    Early,
    NoRoom(u64),
}

impl Tail {
    /// The next bytes, which have been read on the side; `None` at the end, whichever it is.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(chunk) = self.chunks.pop_front() {
            self.held_bytes -= chunk.len().min(self.held_bytes);
            return Poll::Ready(Some(chunk));
        }
        if let Some(fault) = self.watch.as_mut().and_then(Watch::take_fault) {
            self.breaks(Break::Fault(fault));
        }
        let Some(source) = &mut self.source else {
            return Poll::Ready(None);
        };
        let chunk = match source.body.poll_chunk(cx) {
            Poll::Ready(chunk) => chunk,
            Poll::Pending => {
                ready!(self.poll_grace(cx));
                None
            }
        };
        match chunk {
            Some(Ok(chunk)) => {
                self.hears(&chunk);
                Poll::Ready(Some(chunk))
            }
            Some(Err(broken)) => {
                self.ends(Some(broken));
                Poll::Ready(None)
            }
            None => {
                self.ends(None);
                Poll::Ready(None)
            }
        }
    }

    /// Ready once the body's end was waited for long enough: it has had its last word.
    fn poll_grace(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.complete() {
            Some(Complete::Whole) => {}
            Some(Complete::Not | Complete::Answer) | None => return Poll::Pending,
        }
        let clock = self.shared.hub.clock();
        let grace = self
            .grace
            .get_or_insert_with(|| clock.sleep_until(clock.now().after(END_GRACE)));
        grace.as_mut().poll(cx)
    }

    fn hears(&mut self, chunk: &[u8]) {
        let judge = Judge::of(&self.shared, self.profile, self.status, &self.headers);
        let Some(source) = &mut self.source else {
            return;
        };
        if let Some(watch) = &mut self.watch {
            watch.hear(chunk, |error| judge.inside(error));
            source.streaming.used(watch.used().limited());
            let kept = self.held_bytes + watch.kept_bytes();
            let room = self.held.as_mut().map_or(Ok(()), |held| held.hold(kept));
            if let Err(most) = room {
                self.breaks(Break::NoRoom(most));
                return;
            }
            if watch.fault().is_some() {
                return;
            }
        }
        // With its last byte: who stops reading there has read it all.
        if source.body.is_end_stream() {
            self.ends(None);
        }
    }

    /// The body has come to its end, or broke.
    fn ends(&mut self, broken: Option<Broken>) {
        if let (None, Some(watch)) = (&broken, &mut self.watch) {
            let judge = Judge::of(&self.shared, self.profile, self.status, &self.headers);
            watch.end(|error| judge.inside(error));
            if let Some(fault) = watch.take_fault() {
                self.breaks(Break::Fault(fault));
                return;
            }
        }
        match (self.complete(), broken) {
            (Some(Complete::Answer | Complete::Whole), _) | (None, None) => self.completes(),
            (Some(Complete::Not), None) => self.breaks(Break::Early),
            (Some(Complete::Not) | None, Some(broken)) => self.breaks(Break::Broke(broken)),
        }
    }

    fn completes(&mut self) {
        let usage = self.limited();
        if let Some(Source { body, streaming }) = self.source.take() {
            self.received_bytes = body.received_bytes();
            drop(body);
            streaming.settle(Report {
                usage,
                status: self.status.as_u16(),
                ..Report::of(Outcome::Answer)
            });
        }
    }

    fn breaks(&mut self, why: Break) {
        let Some(Source { body, streaming }) = self.source.take() else {
            return;
        };
        self.received_bytes = body.received_bytes();
        drop(body);
        let (facts, broke, detail) = why.told();
        let judge = Judge::of(&self.shared, self.profile, self.status, &self.headers);
        let report = Report {
            usage: self.limited(),
            ..judge.broken(&facts, broke)
        };
        let closed = streaming.settle(report);
        self.state = State::Failed(Box::new(self.error(&report, closed, facts, detail)));
    }

    fn error(&self, report: &Report, closed: Closed, facts: OwnedBodyFacts, detail: String) -> StreamError {
        let now = self.shared.hub.clock().now();
        // A server that fails may repeat what let its caller in.
        let blotted = |said: Option<String>| said.map(|said| self.shared.badge.blotted(said));
        let cause = match report.outcome {
            Outcome::Failed { cause, .. } => cause,
            Outcome::Answer | Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. } => {
                Cause::Malformed
            }
        };
        StreamError {
            reason: closed.reason,
            cause,
            detail: self.shared.badge.blotted(detail),
            code: blotted(facts.code),
            kind: blotted(facts.kind),
            message: blotted(facts.message),
            received_bytes: self.received_bytes,
            received_events: self.watch.as_ref().map_or(0, Watch::events),
            usage: self.usage(),
            retry_after: closed.retry_at.map(|at| at.since(now)),
            unknown: closed.unknown.then(|| UnknownWrite {
                outcome: report.outcome.name(),
                ..self.write.clone()
            }),
        }
    }

    /// The reader's own limit, or its own mistake: no evidence of the server's.
    fn gives_up(&mut self, cause: Cause, detail: String) -> Box<StreamError> {
        if let Some(Source { body, streaming }) = self.source.take() {
            self.received_bytes = body.received_bytes();
            drop((body, streaming));
        }
        self.chunks.clear();
        self.state = State::Over;
        Box::new(StreamError {
            reason: Reason::AlreadyStreaming,
            cause,
            detail,
            code: None,
            kind: None,
            message: None,
            received_bytes: self.received_bytes,
            received_events: 0,
            usage: self.usage(),
            retry_after: None,
            unknown: None,
        })
    }

    fn is_too_long(&mut self, bytes_max: usize) -> Box<StreamError> {
        self.gives_up(
            Cause::Malformed,
            format!("the answer is longer than {bytes_max} bytes, which is the limit"),
        )
    }

    /// Somebody asks for events where there are none.
    fn has_no_events(&mut self, headers: &HeaderMap) {
        if matches!(self.state, State::Open) {
            let said = |name| {
                headers
                    .get(name)
                    .map(|value| String::from_utf8_lossy(value.as_bytes()))
            };
            let detail = match (said(header::CONTENT_ENCODING), said(header::CONTENT_TYPE)) {
                (Some(coding), _) => {
                    format!("the answer is encoded ({coding}), and no events are read of it")
                }
                (None, Some(kind)) => format!("the answer is {kind}, which holds no events"),
                (None, None) => "the answer does not say that it holds events".to_owned(),
            };
            self.state = State::Failed(self.gives_up(Cause::Malformed, detail));
        }
    }

    /// How the answer ended, told once.
    fn end(&mut self) -> Option<Box<StreamError>> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Failed(error) => Some(error),
            State::Open | State::Over => None,
        }
    }

    fn complete(&self) -> Option<Complete> {
        self.watch.as_ref().and_then(Watch::complete)
    }

    /// What limits count of this answer.
    fn limited(&self) -> Usage {
        let watch = self.watch.as_ref();
        watch.map_or(Usage::NONE, |watch| watch.used().limited())
    }

    /// All that the call used.
    fn usage(&self) -> Usage {
        let watch = self.watch.as_ref();
        let now = watch.map_or(Usage::NONE, |watch| watch.used().used());
        // What came whole was counted with the attempts.
        let now = if self.held.is_some() { now } else { Usage::NONE };
        self.before.plus(now)
    }

    fn received(&self) -> u64 {
        let live = self.source.as_ref().map(|source| source.body.received_bytes());
        live.unwrap_or(self.received_bytes)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // Who leaves after the last word has its answer.
        if let Some(Complete::Answer | Complete::Whole) = self.complete() {
            self.completes();
        }
    }
}

impl Break {
    /// Its facts, where the connection broke, and a sentence for people.
    fn told(self) -> (OwnedBodyFacts, Option<Broke>, String) {
        let facts = |state| OwnedBodyFacts {
            state,
            ..OwnedBodyFacts::default()
        };
        match self {
            Self::Broke(broken) => (facts(broken.body), Some(broken.broke), broken.detail),
            Self::Early => {
                let detail = "the stream ended before its last word";
                (facts(BodyState::Truncated), None, detail.to_owned())
            }
            Self::Fault(Fault::Error(error)) => {
                let name = error.code.as_deref().or(error.kind.as_deref());
                let detail = match name {
                    Some(name) => format!("the server failed in the middle of the stream: {name}"),
                    None => "the server failed in the middle of the stream".to_owned(),
                };
                (*error, None, detail)
            }
            Self::Fault(Fault::Unreadable) => {
                let detail = "an event of the stream is not JSON";
                (facts(BodyState::Undecodable), None, detail.to_owned())
            }
            Self::Fault(Fault::TooLong) => {
                let detail = format!("an event of the stream is longer than {EVENT_BYTES_MAX} bytes");
                (facts(BodyState::Undecodable), None, detail)
            }
            Self::NoRoom(most) => {
                let detail = format!(
                    "the answers held at once are longer than {most} bytes together, which is the limit"
                );
                (facts(BodyState::Undecodable), None, detail)
            }
        }
    }
}

/// What the classification table makes of an answer with this head.
pub(super) struct Judge<'a> {
    shared: &'a Shared,
    profile: &'static Profile,
    status: StatusCode,
    headers: &'a HeaderMap,
}

impl<'a> Judge<'a> {
    pub(super) const fn of(
        shared: &'a Shared,
        profile: &'static Profile,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Self {
        Self {
            shared,
            profile,
            status,
            headers,
        }
    }

    /// Whether the head alone is that of an answer.
    pub(super) fn accepts(&self) -> bool {
        matches!(self.report(BodyFacts::default(), None).outcome, Outcome::Answer)
    }

    /// What the user makes of an error inside.
    pub(super) fn inside(&self, error: &OwnedBodyFacts) -> Verdict {
        match self.report(error.facts(), None).outcome {
            Outcome::Answer => Verdict::Content,
            Outcome::Refused(_)
            | Outcome::Throttled { .. }
            | Outcome::Failed { .. }
            | Outcome::Denied { .. } => Verdict::Failure,
        }
    }

    /// What a break after the commit is: whatever the user makes of it, its caller has no answer, and the server had
    /// begun to act.
    fn broken(&self, facts: &OwnedBodyFacts, broke: Option<Broke>) -> Report {
        let report = self.report(facts.facts(), broke);
        let outcome = match report.outcome {
            Outcome::Failed { cause, hint, .. } => Outcome::Failed {
                cause,
                hint,
                sent: Sent::Maybe,
            },
            Outcome::Answer => Outcome::Failed {
                cause: Cause::Malformed,
                hint: None,
                sent: Sent::Maybe,
            },
            other @ (Outcome::Refused(_) | Outcome::Throttled { .. } | Outcome::Denied { .. }) => other,
        };
        Report { outcome, ..report }
    }

    fn report(&self, body: BodyFacts<'_>, broke: Option<Broke>) -> Report {
        let facts = Facts {
            status: Some(self.status.as_u16()),
            headers: &HeaderFacts(self.headers),
            body,
            broke,
            wall: self.shared.hub.clock().wall(),
        };
        classify(self.profile, &self.shared.overrides, &facts).report
    }
}
