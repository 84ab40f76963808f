//! Many chats at once, and never too many.
//!
//! What can go wrong: a million prompts become a million calls in one go; one failure takes the others' answers with it;
//! a slow first one holds all that came after it in memory; an iterator that reads a file is read to its end before
//! anything is sent; and whoever stops waiting leaves the rest running, and paid for. So a few run at a time, each ends
//! with a result of its own, the next is taken from the iterator only when there is a place for it, what is finished is
//! not begun past until it is handed over, and dropping the whole cancels what is in flight.
//!
//! Each chat runs in a task: while its caller is busy with one answer the others go on, and no limit of theirs passes
//! because nobody looked.

use super::answered::Answered;
use super::client::Client;
use super::error::Error;
use super::prices::{Cost, MicroUsd};
use super::{Chat, ChatAnswer};
use futures_core::Stream;
use seawall_core::outcome::Usage;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::iter::Fuse;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::task::JoinSet;

/// How many chats run at a time unless [`ChatMany::concurrency`] says otherwise: 5, what most such programs are written
/// with, and below any provider's smallest limit.
pub const CONCURRENCY_DEFAULT: usize = 5;

/// In order, how many times as many as run at a time may have been begun past the one that is waited for: 4. A slow one
/// then holds up few, and what is finished behind it stays in bounds.
const AHEAD_FACTOR: usize = 4;

/// Chats that run a few at a time; see [`Client::chat_many`].
///
/// Each yields its place in the input and its result. It is a [`Stream`], and has [`next`](Self::next) for those who
/// want no trait, and [`collect`](Self::collect). Nothing is begun before it is first asked, and nothing new while nobody
/// asks; what is in flight goes on. Dropped, it cancels what is in flight.
///
/// Needs a tokio runtime.
#[must_use = "nothing is sent before it is asked for its first result"]
pub struct ChatMany<I> {
    client: Client,
    chats: Fuse<I>,
    concurrency: usize,
    order: Order,
    running: JoinSet<(usize, Ended)>,
    /// In order: those that ended and are not at their turn.
    early: BTreeMap<usize, Ended>,
    begun: usize,
    handed: usize,
    progress: Progress,
    watch: Option<Watch>,
}

type Ended = Result<Answered<ChatAnswer>, Error>;
type Watch = Box<dyn FnMut(&Progress) + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    AsTheyCome,
    OfInput,
}

/// How far many chats are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Those that were taken from the input.
    pub begun: usize,
    /// Those that have an answer.
    pub answered: usize,
    /// Those that failed.
    pub failed: usize,
    /// Tokens so far, of failed ones as well, as far as the server said.
    pub usage: Usage,
    /// What the answers cost so far, those alone that have a price.
    pub spent: MicroUsd,
    /// Answers whose price nobody knows.
    pub unpriced: usize,
}

impl Progress {
    /// Those that have ended, one way or the other.
    pub const fn ended(&self) -> usize {
        self.answered.saturating_add(self.failed)
    }

    /// Those that run now.
    pub const fn in_flight(&self) -> usize {
        self.begun.saturating_sub(self.ended())
    }
}

impl<I: Iterator<Item = Chat>> ChatMany<I> {
    pub(super) fn new(client: Client, chats: I) -> Self {
        Self {
            client,
            chats: chats.fuse(),
            concurrency: CONCURRENCY_DEFAULT,
            order: Order::AsTheyCome,
            running: JoinSet::new(),
            early: BTreeMap::new(),
            begun: 0,
            handed: 0,
            progress: Progress::default(),
            watch: None,
        }
    }

    /// How many run at a time at the most; one at the least, also where this says 0. What the client's gates let through
    /// may be less.
    pub fn concurrency(mut self, chats: usize) -> Self {
        self.concurrency = chats.max(1);
        self
    }

    /// Yields results in the order of the input, instead of as they come. One that is slow holds up those behind it, but
    /// for a few that are run ahead and kept.
    pub const fn ordered(mut self) -> Self {
        self.order = Order::OfInput;
        self
    }

    /// Calls `watch` each time one was begun and each time one has ended, from within [`next`](Self::next).
    pub fn on_progress(mut self, watch: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// How far it is.
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// The next result, and the place in the input of the chat that it is of; `None` after the last.
    ///
    /// Cancel safe: a result that was not handed over is there the next time.
    pub async fn next(&mut self) -> Option<(usize, Result<Answered<ChatAnswer>, Error>)> {
        poll_fn(|context| self.poll(context)).await
    }

    /// All results, in the order of the input. One failure takes nothing from the others.
    pub async fn collect(mut self) -> Vec<Result<Answered<ChatAnswer>, Error>> {
        // In whichever order they end: none holds up another, since all are kept anyway.
        self.order = Order::AsTheyCome;
        let mut all = std::mem::take(&mut self.early);
        while let Some((place, ended)) = self.next().await {
            all.insert(place, ended);
        }
        all.into_values().collect()
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, Ended)>> {
        loop {
            self.begin_what_has_a_place();
            if let Some(ended) = self.early.remove(&self.handed) {
                return Poll::Ready(Some(self.hand_over(self.handed, ended)));
            }
            let Some(joined) = ready!(self.running.poll_join_next(context)) else {
                return Poll::Ready(None);
            };
            let (place, ended) = match joined {
                Ok(ended) => ended,
                Err(error) => match error.try_into_panic() {
                    // Of a hook of the caller's, most likely: it goes where it would have gone without the task.
                    Ok(panic) => std::panic::resume_unwind(panic),
                    // The runtime is being shut down, and this with it.
                    Err(_) => continue,
                },
            };
            self.note(&ended);
            match self.order {
                Order::AsTheyCome => return Poll::Ready(Some(self.hand_over(place, ended))),
                Order::OfInput => {
                    self.early.insert(place, ended);
                }
            }
        }
    }

    fn begin_what_has_a_place(&mut self) {
        while self.has_a_place() {
            let Some(chat) = self.chats.next() else {
                return;
            };
            let (client, place) = (self.client.clone(), self.begun);
            self.running
                .spawn(async move { (place, client.chat(chat).await) });
            self.begun += 1;
            self.progress.begun = self.begun;
            self.tell();
        }
    }

    fn has_a_place(&self) -> bool {
        let ahead = self.begun - self.handed;
        match self.order {
            Order::AsTheyCome => self.running.len() < self.concurrency,
            Order::OfInput => {
                self.running.len() < self.concurrency && ahead < self.concurrency.saturating_mul(AHEAD_FACTOR)
            }
        }
    }

    fn hand_over(&mut self, place: usize, ended: Ended) -> (usize, Ended) {
        self.handed += 1;
        (place, ended)
    }

    fn note(&mut self, ended: &Ended) {
        let used = match ended {
            Ok(answer) => {
                self.progress.answered += 1;
                match answer.cost() {
                    Some(Cost::Priced(MicroUsd(spent))) => {
                        let MicroUsd(sum) = self.progress.spent;
                        self.progress.spent = MicroUsd(sum.saturating_add(spent));
                    }
                    Some(Cost::Unpriced(_)) | None => self.progress.unpriced += 1,
                }
                answer.usage.map_or(Usage::NONE, |usage| Usage {
                    tokens_in: usage.input,
                    tokens_out: usage.output,
                })
            }
            Err(error) => {
                self.progress.failed += 1;
                error.usage()
            }
        };
        self.progress.usage = self.progress.usage.plus(used);
        self.tell();
    }

    fn tell(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch(&self.progress);
        }
    }
}

impl<I: Iterator<Item = Chat> + Unpin> Stream for ChatMany<I> {
    type Item = (usize, Result<Answered<ChatAnswer>, Error>);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context)
    }
}

impl<I> fmt::Debug for ChatMany<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatMany")
            .field("concurrency", &self.concurrency)
            .field("order", &self.order)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
