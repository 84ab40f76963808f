//! Limits that a server tells before it throttles (rule I4).
//!
//! What can go wrong: every process finds the limit by running into it, though each answer said how much was left; or
//! it believes an answer that was overtaken, and counts as free what is on its way already. So a gate keeps what the
//! server said was left, less everything that the server may not have counted yet, and what the newest attempt
//! brought is believed over what an older one brings later.
//!
//! What this does not cover: others that use the same quota. Their use shows in the next answer.

use crate::policy::DEFAULT_COOLDOWN_MAX;
use crate::rate::{Cost, KINDS, Room};
use crate::time::{Duration, Instant};

/// Two points at which a server says that it is full again are the same within this: ways back differ, and many
/// servers speak in whole seconds.
const WORD_NOISE: Duration = Duration::from_secs(1);

/// The longest that a window is believed to last, as long as a cool-down is: a longer one is looked at again by one
/// attempt a day. A date that is off by a century must not close a gate for as long.
const WINDOW_MAX: Duration = DEFAULT_COOLDOWN_MAX;

/// What a server counts in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Requests.
    Requests,
    /// Tokens, read and written.
    Tokens,
    /// Tokens read.
    TokensIn,
    /// Tokens written.
    TokensOut,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; KINDS] = [Self::Requests, Self::Tokens, Self::TokensIn, Self::TokensOut];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::TokensIn => "tokens-in",
            Self::TokensOut => "tokens-out",
        }
    }
}

/// What one answer says of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// What the window holds; `None` where it was not said.
    pub limit: Option<u64>,
    /// What was left when the server answered.
    pub remaining: u64,
    /// When the window is full again, from when the answer came; `None` where it was not said.
    pub resets_in: Option<Duration>,
}

/// What one answer's headers say of the limits in front of the server. [`hint::learned`](crate::hint::learned) reads
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned(pub(crate) [Option<Word>; KINDS]);

impl Learned {
    /// Nothing.
    pub const NOTHING: Self = Self([None; KINDS]);

    /// The same with this said of `kind` too. Where something was said before, the lesser remainder holds, and of two
    /// that are the same the one that says until when.
    #[must_use]
    pub fn with(mut self, kind: Kind, word: Word) -> Self {
        let said = &mut self.0[kind as usize];
        let is_less = |before: Word| {
            (word.remaining, word.resets_in.is_none()) < (before.remaining, before.resets_in.is_none())
        };
        if said.is_none_or(is_less) {
            *said = Some(word);
        }
        self
    }

    /// What was said of `kind`.
    pub const fn word(&self, kind: Kind) -> Option<Word> {
        self.0[kind as usize]
    }
}

/// What a gate has learned, and what it has sent since, by kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    windows: [Option<Window>; KINDS],
    /// All that was ever sent, and what of it is out.
    sent: [u64; KINDS],
    out: [u64; KINDS],
    /// The youngest attempt that has brought word.
    newest: u64,
}

/// One window as the gate believes it to be.
#[derive(Clone, Copy, Debug)]
struct Window {
    limit: Option<u64>,
    left: u64,
    /// When it is full again; `None` where nobody has said.
    full_at: Option<Instant>,
    /// When it was full last, as far as was said.
    was_full_at: Instant,
}

/// What a word says of a window, with what we know of the attempts around the one that brought it.
struct Told {
    limit: Option<u64>,
    /// What is left if the server has counted all that we sent.
    most: u64,
    /// What is left if it has counted none of what is out still.
    likely: u64,
    /// What is left if it has counted none of what was ever out beside the attempt.
    least: u64,
    full_at: Option<Instant>,
    /// Whether no younger attempt has brought word.
    is_newest: bool,
}

impl Told {
    /// The window that it is the first word on.
    const fn window(&self) -> Window {
        Window {
            limit: self.limit,
            left: self.likely,
            full_at: self.full_at,
            was_full_at: Instant::START,
        }
    }
}

/// What an attempt remembers of the windows that it was sent through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// Attempts are numbered in the order in which they were sent.
    ticket: u64,
    /// All that had been sent, itself included, and what was out beside it.
    sent: [u64; KINDS],
    out: [u64; KINDS],
}

impl Sight {
    /// Of an attempt that was sent before anything was learned.
    pub(crate) const NONE: Self = Self {
        ticket: 0,
        sent: [0; KINDS],
        out: [0; KINDS],
    };
}

impl Windows {
    pub(crate) const fn new() -> Self {
        Self {
            windows: [None; KINDS],
            sent: [0; KINDS],
            out: [0; KINDS],
            newest: 0,
        }
    }

    /// Somebody who knows better: nothing was said.
    pub(crate) const fn forget(&mut self) {
        self.windows = [None; KINDS];
    }

    pub(crate) fn room(&self, now: Instant, cost: Cost) -> Room {
        let mut room = Room::Now;
        for (kind, needs) in cost.0.into_iter().enumerate() {
            let Some(window) = self.windows[kind].and_then(|window| window.at(now, self.out[kind])) else {
                continue;
            };
            // Our estimate may be too high; what a full window does not hold, the server is left to refuse.
            let needs = window.limit.map_or(needs, |limit| needs.min(limit));
            if needs <= window.left {
                continue;
            }
            room = room.and(match window.full_at {
                Some(full_at) => Room::At(full_at),
                None if self.out[kind] > 0 => Room::Later,
                // Nobody is out who could bring word.
                None => Room::Now,
            });
        }
        room
    }

    /// Counts what is sent.
    pub(crate) fn send(&mut self, now: Instant, ticket: u64, cost: Cost) -> Sight {
        let out = self.out;
        for (kind, needs) in cost.0.into_iter().enumerate() {
            self.windows[kind] = self.windows[kind].and_then(|window| window.at(now, self.out[kind]));
            self.sent[kind] = self.sent[kind].saturating_add(needs);
            self.out[kind] = self.out[kind].saturating_add(needs);
            if let Some(window) = &mut self.windows[kind] {
                window.left = window.left.saturating_sub(needs);
            }
        }
        Sight {
            ticket,
            sent: self.sent,
            out,
        }
    }

    /// What an attempt with this sight was told by its answer.
    ///
    /// `counted` is what of the attempt is among what is out: nothing, where it was sent before anything was learned.
    /// `beside` counts the attempts that are out with it, those from then included.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        sight: &Sight,
        counted: Cost,
        beside: u32,
        learned: &Learned,
    ) {
        let others = Cost::of(0, 0).0.map(|one| one.saturating_mul(u64::from(beside)));
        let is_newest = sight.ticket >= self.newest;
        for (kind, word) in learned.0.iter().enumerate() {
            let Some(word) = word else { continue };
            let out = self.out[kind].saturating_sub(counted.0[kind]).max(others[kind]);
            let after = self.sent[kind].saturating_sub(sight.sent[kind]);
            let told = Told {
                limit: word.limit,
                most: word.remaining,
                likely: word.remaining.saturating_sub(out),
                least: word
                    .remaining
                    .saturating_sub(sight.out[kind].saturating_add(after).max(out)),
                full_at: word.resets_in.map(|length| now.after(length.min(WINDOW_MAX))),
                is_newest,
            };
            let before = self.windows[kind].and_then(|window| window.at(now, self.out[kind]));
            self.windows[kind] = Some(match before {
                Some(before) => before.after_word(&told),
                None => told.window(),
            });
        }
        self.newest = self.newest.max(sight.ticket);
    }

    /// An attempt of this cost is out no more; `used` says what of it the server may have counted.
    pub(crate) fn land(&mut self, now: Instant, cost: Cost, used: Cost) {
        for (kind, took) in cost.0.into_iter().enumerate() {
            if used == Cost::NOTHING {
                // It was never sent.
                self.windows[kind] = self.windows[kind].and_then(|window| window.at(now, self.out[kind]));
                self.sent[kind] = self.sent[kind].saturating_sub(took);
                if let Some(window) = &mut self.windows[kind] {
                    let left = window.left.saturating_add(took);
                    window.left = window.limit.map_or(left, |limit| left.min(limit));
                }
            }
            self.out[kind] = self.out[kind].saturating_sub(took);
        }
    }

    /// Whether every window that was told is full again.
    pub(crate) fn bounds_nothing(&self, now: Instant) -> bool {
        let mut windows = self.windows.iter().flatten();
        windows.all(|window| window.full_at.is_none_or(|full_at| now >= full_at))
    }

    /// What is believed to be left of each, and when it is full again.
    pub(crate) fn left(&self, now: Instant) -> [Option<(u64, Option<Instant>)>; KINDS] {
        let mut left = [None; KINDS];
        for (kind, left) in left.iter_mut().enumerate() {
            let window = self.windows[kind].and_then(|window| window.at(now, self.out[kind]));
            *left = window.map(|window| (window.left, window.full_at));
        }
        left
    }
}

impl Window {
    /// This window after a word on it.
    ///
    /// The point at which a server is full again only ever moves on, as it serves: a word that names a later one is of
    /// a later window, and one that names an earlier one was said before, whoever brings it. Within a window our own
    /// count stands, as long as the word does not rule it out: it is exact where nobody else uses the quota.
    fn after_word(self, told: &Told) -> Self {
        let later = |one: Option<Instant>, two: Option<Instant>| match (one, two) {
            (Some(one), Some(two)) => one > two.after(WORD_NOISE),
            _ => false,
        };
        let was_full_at = Some(self.was_full_at.after(WORD_NOISE));
        let is_stale =
            self.was_full_at > Instant::START && told.full_at.is_some() && told.full_at <= was_full_at;
        if is_stale || later(self.full_at, told.full_at) {
            return self;
        }
        if later(told.full_at, self.full_at) {
            return Self {
                was_full_at: self.was_full_at,
                ..told.window()
            };
        }
        let left = if self.left > told.most {
            told.likely
        } else if told.is_newest {
            self.left.max(told.least)
        } else {
            self.left
        };
        Self {
            limit: told.limit.or(self.limit),
            left,
            full_at: self.full_at.or(told.full_at),
            was_full_at: self.was_full_at,
        }
    }

    /// The window at `now`: from its time on it is full, less what is on its way already and may be counted in the new
    /// one; and where nobody said how much that is, it bounds nothing.
    fn at(self, now: Instant, out: u64) -> Option<Self> {
        match self.full_at {
            Some(full_at) if now >= full_at => self.limit.map(|limit| Self {
                limit: self.limit,
                left: limit.saturating_sub(out),
                full_at: None,
                was_full_at: full_at,
            }),
            Some(_) | None => Some(self),
        }
    }
}

#[cfg(test)]
mod tests;
