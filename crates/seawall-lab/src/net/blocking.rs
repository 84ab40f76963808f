//! The same mock for tests without a runtime.
//!
//! ```
//! use std::io::{Read as _, Write as _};
//! use seawall_lab::net::blocking::Mock;
//!
//! let mock = Mock::start("GET /x = 503, 200")?;
//! let mut client = std::net::TcpStream::connect(mock.address())?;
//! client.write_all(b"GET /x HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 503 "));
//! assert_eq!(mock.attempts("/x")?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What can go wrong: a mock on a thread of its own outlives its test, or ends on another thread than the one whose panic
//! should print the journal. So dropping it stops the thread and waits for it, and it is the handle that prints, once the thread has ended.

use super::{Attempt, ClockError, ClockState, Journal, MockError, MockOptions, RouteError, VerifyError};
use crate::error::ScriptError;
use crate::plan::Object;
use seawall_core::time::{Duration, Instant};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A running mock on a thread of its own. Dropped, it stops, and its port is free; dropped by a panic, it prints its
/// journal on stderr first. Its methods may block for a moment.
#[derive(Debug)]
pub struct Mock {
    mock: Arc<super::Mock>,
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A mock that runs, as its thread hands it over.
type Started = (super::Mock, Handle);

impl Mock {
    /// Starts a mock with one route, `METHOD PATH = SCRIPT`, on a free port.
    ///
    /// # Errors
    /// As [`MockOptions::start`].
    pub fn start(route: &str) -> Result<Self, MockError> {
        Self::start_with(MockOptions::default().route(route))
    }

    /// Starts what [`Mock::builder`](super::Mock::builder) was told.
    ///
    /// # Errors
    /// As [`MockOptions::start`]; also where the machine gives no thread.
    pub fn start_with(options: MockOptions) -> Result<Self, MockError> {
        let (give, take) = sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            // Nobody takes the answer only where the starter is gone, and then there is nothing to run for.
            match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime.block_on(async {
                    match options.start().await {
                        Ok(mock) => {
                            if give.send(Ok((mock, Handle::current()))).is_ok() {
                                // Told to stop, or left by a handle that is gone: the same. Every socket ends with this
                                // runtime.
                                let _told = stopped.await;
                            }
                        }
                        Err(error) => drop(give.send(Err(error))),
                    }
                }),
                Err(error) => drop(give.send(Err(no_thread(error)))),
            }
        };
        let thread = std::thread::Builder::new()
            .name("seawall-mock".to_owned())
            .spawn(run)
            .map_err(no_thread)?;
        let started: Result<Started, MockError> = take
            .recv()
            .unwrap_or_else(|_| Err(no_thread(io::Error::other("the mock's thread ended early"))));
        let (mock, runtime) = started?;
        Ok(Self {
            mock: Arc::new(mock),
            runtime,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.mock.address()
    }

    /// Where it listens, as a base URL; see [`Mock::url`](super::Mock::url).
    pub fn url(&self) -> String {
        self.mock.url()
    }

    /// The certificate of the mock's own authority; see [`Mock::ca_pem`](super::Mock::ca_pem).
    pub fn ca_pem(&self) -> Option<&str> {
        self.mock.ca_pem()
    }

    /// Every attempt so far, the newest 100 000 of them.
    pub fn journal(&self) -> Journal {
        self.mock.journal()
    }

    /// The journal as a table: what a test that fails prints.
    pub fn timeline(&self) -> String {
        self.mock.timeline()
    }

    /// The attempts so far at a pattern; see [`Mock::attempts`](super::Mock::attempts).
    ///
    /// # Errors
    /// The text is no pattern.
    pub fn attempts(&self, pattern: &str) -> Result<Vec<Attempt>, ScriptError> {
        self.mock.attempts(pattern)
    }

    /// What a resource keeps; see [`Mock::resources`](super::Mock::resources).
    pub fn resources(&self, name: &str) -> Vec<Arc<Object>> {
        self.mock.resources(name)
    }

    /// Whether what came is what was expected; see [`Mock::verify`](super::Mock::verify).
    ///
    /// # Errors
    /// Something did not come as expected; or the text expects nothing that can be.
    pub fn verify(&self, expectations: &str) -> Result<(), VerifyError> {
        let (mock, text) = (Arc::clone(&self.mock), expectations.to_owned());
        self.ask(async move { mock.verify(&text).await })
    }

    /// Begins every script again, empties the journal, and forgets every object and key.
    pub fn reset(&self) {
        self.mock.reset();
    }

    /// Begins one route again; see [`Mock::reset_route`](super::Mock::reset_route).
    ///
    /// # Errors
    /// The text is no pattern, or no route has it.
    pub fn reset_route(&self, pattern: &str) -> Result<(), RouteError> {
        self.mock.reset_route(pattern)
    }

    /// Puts a route in; see [`Mock::route`](super::Mock::route).
    ///
    /// # Errors
    /// The text is no route.
    pub fn route(&self, text: &str) -> Result<(), ScriptError> {
        self.mock.route(text)
    }

    /// Takes a route out; see [`Mock::remove_route`](super::Mock::remove_route).
    ///
    /// # Errors
    /// The text is no pattern, or no route has it.
    pub fn remove_route(&self, pattern: &str) -> Result<(), RouteError> {
        self.mock.remove_route(pattern)
    }

    /// Waits until no attempt is being answered; see [`Mock::quiet`](super::Mock::quiet).
    pub fn quiet(&self) {
        let mock = Arc::clone(&self.mock);
        self.ask(async move { mock.quiet().await });
    }

    /// How the mock's clock stands.
    pub fn clock(&self) -> ClockState {
        self.mock.clock()
    }

    /// Turns a manual clock on; see [`Mock::advance`](super::Mock::advance).
    ///
    /// # Errors
    /// The clock runs by itself.
    pub fn advance(&self, length: impl Into<Duration>) -> Result<(), ClockError> {
        let (mock, length) = (Arc::clone(&self.mock), length.into());
        self.ask(async move { mock.advance(length).await })
    }

    /// Turns a manual clock to the next time that somebody waits for; see [`Mock::step`](super::Mock::step).
    ///
    /// # Errors
    /// The clock runs by itself, or nobody waits.
    pub fn step(&self) -> Result<Instant, ClockError> {
        let mock = Arc::clone(&self.mock);
        self.ask(async move { mock.step().await })
    }

    /// Has the mock's own thread do it: a thread that runs a runtime of its own may ask, too.
    fn ask<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (give, take) = sync_channel(1);
        self.runtime.spawn(async move {
            // The one who asks waits for it.
            let _asked = give.send(work.await);
        });
        take.recv().expect("the mock's thread runs as long as its handle")
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // Its end is the same where the thread has ended already, by a panic that was printed.
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn no_thread(source: io::Error) -> MockError {
    MockError::Thread { source }
}

#[cfg(test)]
mod tests;
