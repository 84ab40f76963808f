//! Answers that are held, over all calls of an upstream.
//!
//! What can go wrong: each answer is bounded and their number is not, so a server whose bodies have no end fills the
//! machine. So bytes are counted where they are held, until their call hands them on or forgets them.

use bytes::{Bytes, BytesMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::body::Counts;
use crate::http::{AnswerBody, Broken};
use crate::hub::Leave;

/// What is kept of an answer that was too long: enough to see what it is.
const TOO_LONG_KEPT_BYTES: usize = 64 * 1024;

/// The bytes that all calls hold together.
#[derive(Debug)]
pub(super) struct Holding {
    bytes: AtomicU64,
    bytes_max: u64,
}

/// One answer's part of them; gives it back when dropped.
#[derive(Debug)]
pub(super) struct Held {
    holding: Arc<Holding>,
    bytes: u64,
}

impl Holding {
    pub(super) const fn new(bytes_max: u64) -> Self {
        Self {
            bytes: AtomicU64::new(0),
            bytes_max,
        }
    }
}

impl Held {
    pub(super) fn nothing(holding: &Arc<Holding>) -> Self {
        Self {
            holding: Arc::clone(holding),
            bytes: 0,
        }
    }

    /// Counts more bytes, or says how many may be held at most.
    fn add(&mut self, bytes: usize) -> Result<(), u64> {
        let bytes = bytes as u64;
        let before = self.holding.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if before.saturating_add(bytes) > self.holding.bytes_max {
            return Err(self.holding.bytes_max);
        }
        Ok(())
    }

    /// Counts this many bytes instead of those before, or says how many may be held at most.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), u64> {
        match (bytes as u64).checked_sub(self.bytes) {
            Some(0) => Ok(()),
            Some(_) => self.add(bytes - usize::try_from(self.bytes).unwrap_or(bytes)),
            None => {
                self.cut_to(bytes);
                Ok(())
            }
        }
    }

    fn cut_to(&mut self, bytes: usize) {
        let less = self.bytes.saturating_sub(bytes as u64);
        self.holding.bytes.fetch_sub(less, Ordering::Relaxed);
        self.bytes -= less;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.cut_to(0);
    }
}

/// The bytes of an answer as they come. Dropped on the way, its attempt has used what they say by then.
struct Coming<'a, 'h> {
    bytes: Gathered,
    leave: &'a mut Leave<'h>,
}

/// The first chunk as it came: most answers have no second. Copied only where one follows.
enum Gathered {
    One(Bytes),
    Several(BytesMut),
}

impl Gathered {
    const NOTHING: Self = Self::One(Bytes::new());

    fn bytes(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Several(bytes) => bytes,
        }
    }

    fn add(&mut self, chunk: Bytes) {
        match self {
            Self::One(first) if first.is_empty() => *self = Self::One(chunk),
            Self::One(first) => {
                let mut both = BytesMut::with_capacity(2 * (first.len() + chunk.len()));
                both.extend_from_slice(first);
                both.extend_from_slice(&chunk);
                *self = Self::Several(both);
            }
            Self::Several(bytes) => bytes.extend_from_slice(&chunk),
        }
    }
}

impl Coming<'_, '_> {
    fn take(&mut self) -> Bytes {
        match std::mem::replace(&mut self.bytes, Gathered::NOTHING) {
            Gathered::One(bytes) => bytes,
            Gathered::Several(bytes) => bytes.freeze(),
        }
    }
}

impl Drop for Coming<'_, '_> {
    fn drop(&mut self) {
        let bytes = self.bytes.bytes();
        if !bytes.is_empty() {
            self.leave.used(Counts::of_part(bytes).limited());
        }
    }
}

/// Reads a body to its end or to where it broke, whatever came of it.
pub(super) async fn read_whole(
    body: &mut AnswerBody,
    bytes_max: usize,
    held: &mut Held,
    leave: &mut Leave<'_>,
) -> (Bytes, Option<Broken>) {
    let bytes = Gathered::NOTHING;
    let mut coming = Coming { bytes, leave };
    while let Some(chunk) = body.chunk().await {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(broken) => return (coming.take(), Some(broken)),
        };
        let detail = if coming.bytes.bytes().len().saturating_add(chunk.len()) > bytes_max {
            format!("the answer is longer than {bytes_max} bytes, which is the limit")
        } else if let Err(most) = held.add(chunk.len()) {
            format!("the answers held at once are longer than {most} bytes together, which is the limit")
        } else {
            coming.bytes.add(chunk);
            continue;
        };
        let whole = coming.take();
        // A copy: a part of the whole would keep all of it.
        let kept = Bytes::copy_from_slice(&whole[..whole.len().min(TOO_LONG_KEPT_BYTES)]);
        held.cut_to(kept.len());
        return (kept, Some(Broken::too_long(detail, body.received_bytes())));
    }
    (coming.take(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_together_is_bounded_and_given_back() {
        // Could break: a bound per answer alone; bytes of a call that was dropped counted for ever.
        let holding = Arc::new(Holding::new(100));
        let mut one = Held::nothing(&holding);
        let mut other = Held::nothing(&holding);
        assert_eq!(one.add(60), Ok(()));
        assert_eq!(other.add(40), Ok(()));
        assert_eq!(other.add(1), Err(100));
        other.cut_to(10);
        assert_eq!(one.add(30), Ok(()));
        drop(one);
        assert_eq!(other.add(90), Ok(()));
        drop(other);
        assert_eq!(holding.bytes.load(Ordering::Relaxed), 0);
    }
}
