//! Calls over HTTP from plain threads.
//!
//! What can go wrong: sockets need somebody who waits for them. A runtime that runs only while a call is made leaves
//! its idle connections unwatched in between, so that a server's close is met by the next call instead of by nobody;
//! one that is started inside another panics; and a call that is polled inside somebody else's task may be told to
//! yield to a runtime that waits for this very thread. So one thread of its own runs the calls and their sockets, and
//! whoever makes a call is parked: that may stand anywhere where blocking may.

use super::{Opened, StdClock, block_on};
use crate::upstream::{Answer, Call, CallError};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::task::JoinError;

/// An [`Upstream`](crate::Upstream) for threads without a runtime. Cheap to clone; clones are the same upstream, and so
/// are the async ones that it was made of.
///
/// In async code use [`seawall::Upstream`](crate::Upstream): here each call blocks its thread until it has an end.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use seawall::{Call, Upstream, blocking};
///
/// let upstream = blocking::Upstream::new(Upstream::builder("https://api.example.com/v1")?.build()?)?;
/// let answer = upstream.call(Call::get("/models"))?;
/// println!("{} after {} attempts", answer.status, answer.attempts.len());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Upstream {
    upstream: crate::Upstream,
    sockets: Arc<Sockets>,
}

impl Upstream {
    /// Makes calls to `upstream` from threads. Starts the thread that runs them and waits for their sockets; it ends with
    /// the last clone.
    ///
    /// # Errors
    /// The operating system gives no thread, or nothing to wait for sockets with.
    pub fn new(upstream: crate::Upstream) -> io::Result<Self> {
        Ok(Self {
            upstream,
            sockets: Arc::new(Sockets::watched()?),
        })
    }

    /// Makes one call and waits for its end on this thread. See [`Upstream::call`](crate::Upstream::call).
    ///
    /// # Errors
    /// [`CallError`]: why the call ended, the last real answer, and every attempt.
    pub fn call(&self, call: Call) -> Result<Answer, Box<CallError>> {
        let upstream = self.upstream.clone();
        self.sockets.run(async move { upstream.call(call).await })
    }

    /// Makes one call and waits for its first content on this thread. See [`Upstream::open`](crate::Upstream::open).
    ///
    /// # Errors
    /// [`CallError`]: why the call ended before any content, the last real answer, and every attempt.
    pub fn open(&self, call: Call) -> Result<Opened, Box<CallError>> {
        let upstream = self.upstream.clone();
        let opened = self.sockets.run(async move { upstream.open(call).await })?;
        Ok(Opened::new(opened, Arc::clone(&self.sockets)))
    }

    /// The same server behind a gate of its own for this key. See [`Upstream::keyed`](crate::Upstream::keyed).
    #[must_use]
    pub fn keyed(&self, key: &str) -> Self {
        Self {
            upstream: self.upstream.keyed(key),
            sockets: Arc::clone(&self.sockets),
        }
    }

    /// The same upstream for tasks: its name, how it stands, its policy, its events, its engine.
    pub const fn upstream(&self) -> &crate::Upstream {
        &self.upstream
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.upstream.fmt(f)
    }
}

/// The thread that runs calls and waits for their sockets.
pub(super) struct Sockets {
    handle: Handle,
    ends: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Sockets {
    fn watched() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let ends = Arc::new(Notify::new());
        let ended = Arc::clone(&ends);
        let thread = std::thread::Builder::new()
            .name("seawall-sockets".to_owned())
            .spawn(move || runtime.block_on(ended.notified()))?;
        Ok(Self {
            handle,
            ends,
            thread: Some(thread),
        })
    }
}

impl Sockets {
    /// Runs a call there, and waits for its end here.
    fn run<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> T {
        let running = self.handle.spawn(call);
        // In a task, a runtime would count this as its own: it would be told to yield, and cannot.
        let ended = block_on(&StdClock::new(), tokio::task::unconstrained(running));
        match ended.map_err(JoinError::try_into_panic) {
            Ok(end) => end,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => unreachable!("the thread of the sockets outlives every call"),
        }
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        self.ends.notify_one();
        if let Some(thread) = self.thread.take() {
            // It runs no code but ours; where even that panicked, its sockets are closed as well.
            let _ = thread.join();
        }
    }
}
