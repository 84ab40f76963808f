//! Streams on plain threads.

use super::upstream::Sockets;
use super::{StdClock, block_on};
use crate::body::ServerEvent;
use crate::upstream::StreamError;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// An answer that is read as it comes, by a thread that waits for each part. See [`Opened`](crate::upstream::Opened),
/// whose fields are to be had by [`answer`](Self::answer).
///
/// Each event in turn, as an iterator; it ends where the answer is complete, or after the error that says why it is not.
pub struct Opened {
    // Before the thread that waits for its socket.
    opened: crate::upstream::Opened,
    _sockets: Arc<Sockets>,
}

impl Opened {
    pub(super) const fn new(opened: crate::upstream::Opened, sockets: Arc<Sockets>) -> Self {
        Self {
            opened,
            _sockets: sockets,
        }
    }

    /// The next bytes. See [`Opened::chunk`](crate::upstream::Opened::chunk).
    ///
    /// # Errors
    /// [`StreamError`], once: the answer is not complete.
    pub fn chunk(&mut self) -> Option<Result<Bytes, Box<StreamError>>> {
        waited_for(self.opened.chunk())
    }

    /// The next event. See [`Opened::event`](crate::upstream::Opened::event).
    ///
    /// # Errors
    /// [`StreamError`], once: the answer is not complete.
    pub fn event(&mut self) -> Option<Result<ServerEvent, Box<StreamError>>> {
        waited_for(self.opened.event())
    }

    /// The whole rest of the body. See [`Opened::rest`](crate::upstream::Opened::rest).
    ///
    /// # Errors
    /// [`StreamError`]: the answer is not complete, or too long.
    pub fn rest(&mut self) -> Result<Bytes, Box<StreamError>> {
        waited_for(self.opened.rest())
    }

    /// Its status, headers, attempts and usage.
    pub const fn answer(&self) -> &crate::upstream::Opened {
        &self.opened
    }
}

impl Iterator for Opened {
    type Item = Result<ServerEvent, Box<StreamError>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.event()
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.opened.fmt(f)
    }
}

/// The sockets have a thread of their own, which wakes this one.
fn waited_for<T>(future: impl Future<Output = T>) -> T {
    // In a task, a runtime would count this as its own: it would be told to yield, and cannot.
    block_on(&StdClock::new(), tokio::task::unconstrained(future))
}
