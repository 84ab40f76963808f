//! The client: chats, embeddings, responses and models of AI APIs, through the engine.
//!
//! What can go wrong: each program writes its own loop around its own request, and gets one of these wrong: the status
//! that means that money is gone, the stream that ended early and looks whole, the fallback that sends one provider's
//! body and key to another, the thousand tasks that outlive whoever wanted their answers. So a call is encoded for the
//! server that it goes to, by the time that it goes there; whether it may go again, where and when is the engine's to
//! say; and all that a call holds hangs on its future.

use super::answered::{Answered, Way, request_id};
use super::builder::ClientBuilder;
use super::error::{Asked, Error};
use super::many::ChatMany;
use super::outbound::{Outbound, Unsaid};
use super::prices::{Prices, Terms};
use super::stream::{Broke, ChatStream};
use super::{
    Assembly, Change, Chat, ChatAnswer, DecodeError, Delivery, Dialect, Embeddings, EmbeddingsAnswer,
    EventError, Models, Responses, ResponsesAnswer, StreamDecoder,
};
use crate::clock::Clock;
use crate::route::{self, Route};
use crate::upstream::{Answer, AttemptNote, Call, Form, Upstream};
use seawall_core::time::Duration;
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// Calls AI APIs: OpenAI's and what speaks like it, Anthropic's, Gemini's. Cheap to clone; clones share connections, and
/// all that was learned of the servers.
///
/// Build one for a program and clone it. Nothing is connected before the first call; with the last clone, and what it
/// still answers, go its sockets and tasks. Needs a tokio runtime with time and IO.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::ai::{Chat, Client};
///
/// let client = Client::builder().openai().key_from_env("OPENAI_API_KEY").build()?;
/// let chat = Chat::new("gpt-5-mini").system("Be brief.").user("What is a seawall?");
/// let answer = client.chat(&chat).await?;
/// println!("{} ({} attempts)", answer.text(), answer.attempts().len());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(super) shared: Arc<Shared>,
    options: Options,
}

/// What a handle says of its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    pub(super) deadline: Option<Duration>,
    pub(super) retries_max: Option<u32>,
}

pub(super) struct Shared {
    /// In the order of the route; one at the least.
    pub(super) legs: Vec<Leg>,
    pub(super) route: Route,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) prices: Prices,
}

/// One server of the route.
#[derive(Clone)]
pub(super) struct Leg {
    pub(super) upstream: Upstream,
    pub(super) dialect: Dialect,
    pub(super) host: String,
    pub(super) base_path: String,
    pub(super) model: Option<String>,
    pub(super) seller: Option<Dialect>,
}

impl Client {
    /// Begins to describe a client; of OpenAI's API, where nothing else is said.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::new()
    }

    pub(super) fn new(shared: Shared, options: Options) -> Self {
        Self {
            shared: Arc::new(shared),
            options,
        }
    }

    /// The same client, whose calls may take so long up to their answers.
    #[must_use]
    pub fn with_deadline(&self, length: impl Into<Duration>) -> Self {
        let mut same = self.clone();
        same.options.deadline = Some(length.into());
        same
    }

    /// The same client, whose calls are retried at the most so often; never more often than the policy says.
    #[must_use]
    pub fn with_retries_max(&self, retries: u32) -> Self {
        let mut same = self.clone();
        same.options.retries_max = Some(retries);
        same
    }

    /// Makes a chat, with whatever attempts, waits and fallbacks the policy allows, and waits for its whole answer.
    ///
    /// Dropping the future cancels it, and closes what is in flight.
    ///
    /// # Errors
    /// [`Error`], whose [`kind`](Error::kind) says what to do.
    pub async fn chat(&self, chat: impl Borrow<Chat>) -> Result<Answered<ChatAnswer>, Error> {
        let chat = chat.borrow();
        let encode = |leg: &Leg| leg.chat(chat, Delivery::Whole);
        self.exchange(&chat.model, encode, Dialect::decode).await
    }

    /// Asks one thing, and gives the text of the answer.
    ///
    /// # Errors
    /// As [`Client::chat`].
    pub async fn ask(&self, model: &str, prompt: &str) -> Result<String, Error> {
        let answer = self.chat(Chat::new(model).user(prompt)).await?;
        Ok(answer.text().into_owned())
    }

    /// Makes a chat whose answer is handed over piece by piece.
    ///
    /// Up to the first content it is as [`chat`](Self::chat): attempts, waits and fallbacks. From there nothing is sent
    /// again; how the stream ends, [`ChatStream`] says. Dropping either cancels the call.
    ///
    /// # Errors
    /// [`Error`]: why the call ended before any content.
    pub async fn stream(&self, chat: impl Borrow<Chat>) -> Result<ChatStream, Error> {
        let chat = chat.borrow();
        let encode = |leg: &Leg| leg.chat(chat, Delivery::Stream);
        self.open(&chat.model, encode, Dialect::stream, Dialect::decode)
            .await
    }

    /// Turns texts into vectors. A fallback would give vectors of another space, and takes part only where it is given no
    /// model of its own.
    ///
    /// # Errors
    /// As [`Client::chat`]; [`Inexpressible`](super::ErrorKind::Inexpressible) where the dialect has no embeddings.
    pub async fn embeddings(
        &self,
        embeddings: impl Borrow<Embeddings>,
    ) -> Result<Answered<EmbeddingsAnswer>, Error> {
        let embeddings = embeddings.borrow();
        let first = &self.shared.legs[0];
        let encode = |leg: &Leg| match &leg.model {
            // Vectors of two models have nothing to do with each other.
            Some(_) if !std::ptr::eq(leg, first) => {
                Err(Unsaid::Operation("vectors of the same model", leg.dialect))
            }
            Some(_) | None => leg.embeddings(embeddings),
        };
        self.exchange(&embeddings.model, encode, Dialect::decode_embeddings)
            .await
    }

    /// Makes a call of OpenAI's Responses, and waits for its whole answer. Servers of other dialects are no fallbacks.
    ///
    /// One that a conversation keeps, or that goes on in the background, is a write: it is not sent again where it may
    /// have acted, and ends as [`MayHaveActed`](super::ErrorKind::MayHaveActed).
    ///
    /// # Errors
    /// As [`Client::chat`]; [`Inexpressible`](super::ErrorKind::Inexpressible) where the dialect has no responses.
    pub async fn responses(&self, call: impl Borrow<Responses>) -> Result<Answered<ResponsesAnswer>, Error> {
        let call = call.borrow();
        let encode = |leg: &Leg| leg.responses(call, Delivery::Whole);
        self.exchange(&call.model, encode, Dialect::decode_responses)
            .await
    }

    /// Makes a call of OpenAI's Responses whose answer is handed over piece by piece, as [`stream`](Self::stream) does.
    ///
    /// # Errors
    /// As [`Client::responses`].
    pub async fn stream_responses(&self, call: impl Borrow<Responses>) -> Result<ChatStream, Error> {
        let call = call.borrow();
        let encode = |leg: &Leg| leg.responses(call, Delivery::Stream);
        let whole = |dialect: Dialect, body: &[u8]| Ok(dialect.decode_responses(body)?.into());
        self.open(
            &call.model,
            encode,
            |_| Dialect::stream_responses(Dialect::OpenAi),
            whole,
        )
        .await
    }

    /// The models of its first server: one page, as the server sends it.
    ///
    /// # Errors
    /// As [`Client::chat`].
    pub async fn models(&self) -> Result<Answered<Models>, Error> {
        self.models_of(&self.shared.legs[0]).await
    }

    /// Makes many chats, [a few at a time](ChatMany::concurrency), each with a result of its own.
    ///
    /// ```no_run
    /// # async fn example(client: seawall::ai::Client, lines: Vec<String>) {
    /// use seawall::ai::Chat;
    ///
    /// let chats = lines.into_iter().map(|line| Chat::new("gpt-5-mini").user(line));
    /// let mut results = client.chat_many(chats).concurrency(20).ordered();
    /// while let Some((place, result)) = results.next().await {
    ///     match result {
    ///         Ok(answer) => println!("{place}: {}", answer.text()),
    ///         Err(error) => println!("{place}: {error}"),
    ///     }
    /// }
    /// # }
    /// ```
    pub fn chat_many<I>(&self, chats: I) -> ChatMany<I::IntoIter>
    where
        I: IntoIterator<Item = Chat>,
    {
        ChatMany::new(self.clone(), chats.into_iter())
    }

    /// The upstreams of its route, in order: for their state, their policy, and to stop them.
    pub fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.shared.legs.iter().map(|leg| &leg.upstream)
    }

    /// Attempts that are in flight now.
    pub fn attempts_out(&self) -> u64 {
        self.shared.legs[0].upstream.attempts_out()
    }

    /// Sends nothing more, for good: attempts that are out may end, and calls that wait end as
    /// [`Draining`](super::ErrorKind::Draining).
    pub fn drain(&self) {
        self.upstreams().for_each(Upstream::drain);
    }

    /// One call along the route, encoded for whom it goes to and decoded as who answered speaks.
    async fn exchange<T>(
        &self,
        model: &str,
        encode: impl Fn(&Leg) -> Result<Outbound, Unsaid>,
        decode: impl Fn(Dialect, &[u8]) -> Result<T, DecodeError>,
    ) -> Result<Answered<T>, Error> {
        let shared = &*self.shared;
        let mut said = self.say(model, encode)?;
        let serves = |nth: usize| said[nth].is_some();
        let make = |leg: &route::Leg<'_>| self.call_of(&said[leg.nth]);
        let ended = shared.route.call_where(serves, make).await;
        let answer = ended.map_err(|error| {
            let leg = error.attempts.last().map_or(0, |attempt| attempt.candidate);
            Error::of_call(error, &shared.asked(&shared.legs[leg], model))
        })?;
        let place = answered_at(&answer.attempts);
        let leg = &shared.legs[place];
        let asked = shared.asked(leg, model);
        let changes = said[place]
            .take()
            .map_or_else(Vec::new, |outbound| outbound.changes);
        shared.decoded(leg, &asked, answer, changes, decode)
    }

    /// One call along the route whose answer is read as it comes, by `decoder`; in one piece, by `whole`.
    async fn open(
        &self,
        model: &str,
        encode: impl Fn(&Leg) -> Result<Outbound, Unsaid>,
        decoder: impl Fn(Dialect) -> StreamDecoder,
        whole: impl Fn(Dialect, &[u8]) -> Result<ChatAnswer, DecodeError>,
    ) -> Result<ChatStream, Error> {
        let shared = &*self.shared;
        let mut said = self.say(model, encode)?;
        let serves = |nth: usize| said[nth].is_some();
        let make = |leg: &route::Leg<'_>| self.call_of(&said[leg.nth]);
        let opened = shared.route.open_where(serves, make).await;
        let mut opened = opened.map_err(|error| {
            let leg = error.attempts.last().map_or(0, |attempt| attempt.candidate);
            Error::of_call(error, &shared.asked(&shared.legs[leg], model))
        })?;
        let place = answered_at(&opened.attempts);
        let leg = &shared.legs[place];
        let asked = shared.asked(leg, model);
        let way = Way {
            upstream: asked.upstream.to_owned(),
            model: asked.model.to_owned(),
            request_id: request_id(&opened.headers),
            attempts: opened.attempts.to_vec(),
            waited: opened.waited.clone(),
            changes: said[place]
                .take()
                .map_or_else(Vec::new, |outbound| outbound.changes),
            terms: shared.terms(leg, asked.model),
        };
        let (decoder, at) = (decoder(leg.dialect), (Arc::clone(&self.shared), place));
        match opened.form() {
            Form::Events => Ok(ChatStream::of_events(opened, decoder, way, at)),
            Form::Bytes => {
                let broke = |broke| Error::of_stream(broke, &way, &Assembly::new(), &asked);
                let body = opened.rest().await.map_err(|error| broke(Broke::Stream(error)))?;
                let answer = whole(leg.dialect, &body)
                    .map_err(|error| broke(Broke::Event(EventError::Undecodable(error), opened.usage())))?;
                Ok(ChatStream::of_whole(answer, decoder, way, at))
            }
        }
    }

    /// The list of one server's models.
    pub(super) async fn models_of(&self, leg: &Leg) -> Result<Answered<Models>, Error> {
        let asked = self.shared.asked(leg, "");
        let outbound = leg.models().map_err(|unsaid| unsaid.told(&asked))?;
        match leg.upstream.call(outbound.call(self.options)).await {
            Ok(answer) => {
                let shared = &*self.shared;
                shared.decoded(leg, &asked, answer, Vec::new(), Dialect::decode_models)
            }
            Err(error) => Err(Error::of_call(error, &asked)),
        }
    }

    /// A call in the words of each server. The first must have words for it; a fallback that has none is none for this
    /// call.
    fn say(
        &self,
        model: &str,
        encode: impl Fn(&Leg) -> Result<Outbound, Unsaid>,
    ) -> Result<Vec<Option<Outbound>>, Error> {
        let [first, fallbacks @ ..] = self.shared.legs.as_slice() else {
            unreachable!("a client has a server");
        };
        let outbound = encode(first).map_err(|unsaid| unsaid.told(&self.shared.asked(first, model)))?;
        let fallbacks = fallbacks.iter().map(|leg| encode(leg).ok());
        Ok(std::iter::once(Some(outbound)).chain(fallbacks).collect())
    }

    fn call_of(&self, said: &Option<Outbound>) -> Call {
        let outbound = said
            .as_ref()
            .expect("who has no words for a call is no candidate of it");
        outbound.call(self.options)
    }
}

impl Shared {
    /// What is known of the price and the window of this model there.
    fn terms(&self, leg: &Leg, model: &str) -> Option<Terms> {
        let listing = self.prices.find_at(leg.upstream.name(), &leg.host, model)?;
        Some(listing.terms)
    }

    fn decoded<T>(
        &self,
        leg: &Leg,
        asked: &Asked<'_>,
        answer: Answer,
        changes: Vec<Change>,
        decode: impl Fn(Dialect, &[u8]) -> Result<T, DecodeError>,
    ) -> Result<Answered<T>, Error> {
        let decoded = match decode(leg.dialect, &answer.body) {
            Ok(decoded) => decoded,
            Err(error) => return Err(Error::undecodable(error, &answer, asked)),
        };
        let way = Way {
            upstream: asked.upstream.to_owned(),
            model: asked.model.to_owned(),
            request_id: request_id(&answer.headers),
            attempts: answer.attempts.to_vec(),
            waited: answer.waited,
            changes,
            terms: self.terms(leg, asked.model),
        };
        Ok(Answered::new(decoded, way))
    }

    /// What is asked of this server, for errors.
    pub(super) fn asked<'a>(&'a self, leg: &'a Leg, model: &'a str) -> Asked<'a> {
        let unix_ms = u64::try_from(self.clock.wall().unix_ms).unwrap_or(0);
        let since = std::time::Duration::from_millis(unix_ms);
        Asked {
            upstream: leg.upstream.name(),
            model: leg.model.as_deref().unwrap_or(model),
            legs: &self.legs,
            now: SystemTime::UNIX_EPOCH
                .checked_add(since)
                .unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }
}

/// The server that gave the answer, by its place in the route.
fn answered_at(attempts: &[AttemptNote]) -> usize {
    let answered = attempts.iter().rev().find(|attempt| attempt.outcome == "answer");
    answered.map_or(0, |attempt| attempt.candidate)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.upstreams().map(Upstream::name).collect();
        f.debug_struct("Client")
            .field("upstreams", &names)
            .finish_non_exhaustive()
    }
}
