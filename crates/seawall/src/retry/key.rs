//! The idempotency key of a call.
//!
//! What can go wrong: a key for each attempt, which lets a server do each of them. So a call has one, made once before
//! the first attempt and the same for all of them, hedges too (rule E3).

use crate::chance::{KeyText, uuid7};
use seawall_core::rng::Rng;
use seawall_core::time::Wall;
use std::fmt;
use std::sync::Arc;

/// A call's idempotency key: a UUID of version 7, or [the caller's own](super::Retry::key).
///
/// The same for every attempt of a call, and for no two calls. Give it to your server where it takes one, and say
/// [`replay(Replay::Keyed)`](super::Retry::replay) where it honours it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Text);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Text {
    // As text at once, for who asks for it wants it in a header.
    Made(KeyText),
    Own(Arc<str>),
}

/// What a call's key is made of once somebody asks for it. All attempts of a call have the same, and so the same key.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// When the first attempt was made, and what chance gave it.
    // The date cannot wait until it is asked for: attempts share no place where the first to ask could leave it.
    Drawn {
        date: Wall,
        seed: u64,
    },
    Own(Arc<str>),
}

impl Origin {
    pub(super) fn key(&self) -> Key {
        match self {
            Self::Drawn { date, seed } => Key::made(*date, *seed),
            Self::Own(own) => Key(Text::Own(Arc::clone(own))),
        }
    }
}

impl From<Key> for Origin {
    fn from(key: Key) -> Self {
        match key.0 {
            Text::Own(own) => Self::Own(own),
            Text::Made(_) => Self::Own(key.as_str().into()),
        }
    }
}

/// Streams of calls count up from the first; that of the key is the last.
const STREAM: u64 = u64::MAX;

impl Key {
    fn made(date: Wall, seed: u64) -> Self {
        Self(Text::Made(uuid7(date, Rng::new(seed, STREAM))))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Made(text) => std::str::from_utf8(text).expect("a UUID is digits and hyphens"),
            Text::Own(text) => text,
        }
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Key {
    fn from(own: &str) -> Self {
        Self(Text::Own(own.into()))
    }
}

impl From<String> for Key {
    fn from(own: String) -> Self {
        Self(Text::Own(own.into()))
    }
}

impl From<Arc<str>> for Key {
    fn from(own: Arc<str>) -> Self {
        Self(Text::Own(own))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
