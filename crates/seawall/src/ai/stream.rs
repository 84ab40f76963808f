//! A chat's answer as it is written.
//!
//! What can go wrong: the end of the bytes is taken for the end of the answer, and half of it is stored as the whole; or it
//! is known to be half, and what came is thrown away with the error; a call of a tool whose arguments broke off is obeyed.
//! So a stream ends in one of two ways: `None`, which says that the answer is complete, or one error, which holds all that
//! came, and then `None`. From its first content on nothing is sent again.

use super::answered::{Answered, Way};
use super::client::Shared;
use super::error::Error;
use super::{
    Assembly, ChatAnswer, Delta, EventError, Finish, Part, ResponsesAnswer, StreamDecoder, StreamState,
};
use crate::upstream::{AttemptNote, Opened, StreamError};
use futures_core::Stream;
use seawall_core::outcome::Usage;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// About what a part takes up, whatever is in it.
const PART_BYTES: usize = size_of::<Part>();

/// The answer to a chat, piece by piece; see [`Client::stream`](super::Client::stream).
///
/// It is a [`Stream`] of [`Delta`]s, and has [`next`](Self::next) for those who want no trait. After `None` the answer is
/// complete. An error comes at most once, holds [what was received](Error::received), and is followed by `None`. Dropped,
/// it closes its connection.
///
/// ```no_run
/// # async fn example(client: seawall::ai::Client) -> Result<(), seawall::ai::Error> {
/// use seawall::ai::{Chat, Delta};
///
/// let mut stream = client.stream(Chat::new("gpt-5-mini").user("Count to ten.")).await?;
/// while let Some(delta) = stream.next().await {
///     if let Delta::Text(text) = delta? {
///         print!("{text}");
///     }
/// }
/// println!("\n{:?}", stream.so_far().usage());
/// # Ok(()) }
/// ```
pub struct ChatStream {
    /// Nothing once it has ended.
    opened: Option<Opened>,
    decoder: StreamDecoder,
    ahead: VecDeque<Delta>,
    assembly: Assembly,
    /// About how many bytes the assembly holds: a peer that never ends must not fill the machine.
    kept: usize,
    way: Way,
    shared: Arc<Shared>,
    leg: usize,
}

impl ChatStream {
    /// An answer that comes piece by piece.
    pub(super) fn of_events(
        opened: Opened,
        decoder: StreamDecoder,
        way: Way,
        (shared, leg): (Arc<Shared>, usize),
    ) -> Self {
        Self {
            opened: Some(opened),
            decoder,
            ahead: VecDeque::new(),
            assembly: Assembly::new(),
            kept: 0,
            way,
            shared,
            leg,
        }
    }

    /// An answer that came in one piece, from a server that knows no streams.
    pub(super) fn of_whole(
        answer: ChatAnswer,
        decoder: StreamDecoder,
        way: Way,
        (shared, leg): (Arc<Shared>, usize),
    ) -> Self {
        Self {
            opened: None,
            decoder,
            ahead: pieces(answer),
            assembly: Assembly::new(),
            kept: 0,
            way,
            shared,
            leg,
        }
    }

    /// The next piece; `None` where the answer is complete, or an error was told.
    ///
    /// Cancel safe: a piece that was not handed over is there the next time.
    ///
    /// # Errors
    /// [`ErrorKind::StreamBroke`](super::ErrorKind::StreamBroke): the stream broke off, with what was received.
    pub async fn next(&mut self) -> Option<Result<Delta, Error>> {
        poll_fn(|context| self.poll(context)).await
    }

    /// What has come so far, put together.
    pub const fn so_far(&self) -> &Assembly {
        &self.assembly
    }

    /// The server that answers, by its name.
    pub fn upstream(&self) -> &str {
        &self.way.upstream
    }

    /// The provider's own number for the request, for its support.
    pub fn request_id(&self) -> Option<&str> {
        self.way.request_id.as_deref()
    }

    /// Every attempt that was made; the one that is answered last.
    pub fn attempts(&self) -> &[AttemptNote] {
        &self.way.attempts
    }

    /// Reads it to its end, and gives the whole answer.
    ///
    /// # Errors
    /// As [`next`](Self::next). One that was told before is not told again: what came until then is the answer, and its
    /// [`finish`](ChatAnswer::finish) says that no end was told.
    pub async fn collect_answer(mut self) -> Result<Answered<ChatAnswer>, Error> {
        while let Some(delta) = self.next().await {
            delta?;
        }
        Ok(Answered::new(self.assembly.into_answer(), self.way))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Delta, Error>>> {
        loop {
            if let Some(delta) = self.ahead.pop_front() {
                self.assembly.push(delta.clone());
                // Anthropic begins a text with nothing, which is no piece of it.
                if matches!(&delta, Delta::Text(text) if text.is_empty()) {
                    continue;
                }
                return Poll::Ready(Some(Ok(delta)));
            }
            let Some(opened) = &mut self.opened else {
                return Poll::Ready(None);
            };
            let broken = match ready!(opened.poll_event(context)) {
                Some(Ok(event)) => match self.decoder.event(&event.name, event.data.as_bytes()) {
                    Ok(deltas) => {
                        let kept = deltas.iter().map(|delta| kept_of(delta, event.data.len()));
                        self.kept = self.kept.saturating_add(kept.sum());
                        if self.kept <= opened.bytes_max() {
                            self.ahead.extend(deltas);
                            continue;
                        }
                        Some(Broke::Stream(opened.is_too_long()))
                    }
                    Err(error) => Some(Broke::Event(error, opened.usage())),
                },
                Some(Err(error)) => Some(Broke::Stream(error)),
                None if self.decoder.state() == StreamState::Open && !opened.knows_its_end() => {
                    Some(Broke::Early(opened.usage()))
                }
                // Complete as the events of some dialect are, and perhaps not of this one.
                None => {
                    let usage = opened.usage();
                    (!self.has_answer()).then_some(Broke::NoAnswer(usage))
                }
            };
            // Its connection goes with it: whatever still came would be read by nobody.
            self.opened = None;
            return Poll::Ready(broken.map(|broke| Err(self.broken(broke))));
        }
    }

    /// Whether anything of it was an answer in this dialect. Its end was told by what comes from the server.
    fn has_answer(&self) -> bool {
        !self.assembly.message().parts.is_empty() || self.assembly.finish() != &Finish::Unsaid
    }

    fn broken(&mut self, broke: Broke) -> Error {
        let leg = &self.shared.legs[self.leg];
        let received = std::mem::take(&mut self.assembly);
        let asked = self.shared.asked(leg, &self.way.model);
        let error = Error::of_stream(broke, &self.way, &received, &asked);
        self.assembly = received;
        error
    }
}

/// About how much longer an assembly is with this piece, of an event of so many bytes.
fn kept_of(delta: &Delta, event_bytes: usize) -> usize {
    let content = match delta {
        Delta::Text(text)
        | Delta::Refusal(text)
        | Delta::Thinking { text, .. }
        | Delta::Signature { text, .. }
        | Delta::Arguments { text, .. } => text.len(),
        Delta::ToolCall { .. } | Delta::Part(_) | Delta::Cited(_) | Delta::Beside(_) => event_bytes,
        Delta::PartEnded | Delta::Finish(_) => 0,
        // One takes the place of another.
        Delta::Began { .. } | Delta::Usage(_) => return 0,
    };
    // Any of them may begin a part, or make the next one begin one.
    content.saturating_add(PART_BYTES)
}

/// What broke a stream.
pub(super) enum Broke {
    /// Its connection, its end, or the provider's word.
    Stream(Box<StreamError>),
    /// An event that is none of its dialect; and what had been used by then.
    Event(EventError, Usage),
    /// It came to an end, and was no answer of its dialect; and what was used.
    NoAnswer(Usage),
    /// Its body ended well and before its dialect's last word, at a server that is not known for an endpoint of a model:
    /// nobody else looks for that word there.
    Early(Usage),
}

impl From<ResponsesAnswer> for ChatAnswer {
    /// The same answer as one to a chat; its status is in `raw`.
    fn from(answer: ResponsesAnswer) -> Self {
        let mut assembly = Assembly::new();
        assembly.push(Delta::Finish(answer.finish));
        Self {
            id: answer.id,
            model: answer.model,
            message: answer.message,
            usage: answer.usage,
            raw: answer.raw,
            ..assembly.into_answer()
        }
    }
}

/// An answer in the pieces in which a stream would have told it.
fn pieces(answer: ChatAnswer) -> VecDeque<Delta> {
    let mut pieces = VecDeque::new();
    let (id, model) = (answer.id, answer.model);
    pieces.push_back(Delta::Began { id, model });
    for (index, part) in answer.message.parts.into_iter().enumerate() {
        match part {
            Part::Text(text) => pieces.push_back(Delta::Text(text)),
            Part::ToolCall(call) => {
                pieces.push_back(Delta::ToolCall {
                    index,
                    id: call.id,
                    name: call.name,
                    signature: call.signature,
                });
                let text = call.arguments;
                pieces.push_back(Delta::Arguments { index, text });
            }
            other @ (Part::Image(_)
            | Part::Thinking(_)
            | Part::Refusal(_)
            | Part::ToolResult(_)
            | Part::Other(_)) => pieces.push_back(Delta::Part(other)),
        }
        pieces.push_back(Delta::PartEnded);
    }
    pieces.extend(answer.usage.map(Delta::Usage));
    pieces.push_back(Delta::Finish(answer.finish));
    pieces
}

impl Stream for ChatStream {
    type Item = Result<Delta, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatStream")
            .field("upstream", &self.way.upstream)
            .field("so_far", &self.assembly)
            .finish_non_exhaustive()
    }
}
