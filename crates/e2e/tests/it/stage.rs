//! Runs live calls while a clock is cranked under them.
//!
//! What can go wrong: time that passes while bytes are on their way makes a prompt answer late, and a test that
//! fails on a busy machine. So the clock turns only when nothing can move by itself: each call has been polled
//! since it was last woken, and every attempt that is out is one that the server keeps waiting on purpose. Nothing
//! is timed and nothing sleeps; on a machine of any speed the same things happen at the same points in time.

use crate::server::Server;
use seawall::crank::{CrankedClock, Players, Turn};
use seawall::http::Transport;
use seawall::upstream::{Upstream, UpstreamBuilder};
use seawall_core::policy::Policy;
use seawall_core::time::Duration;
use seawall_core::trace::Recording;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// A clock, a server, and an upstream that calls it.
pub(crate) struct Stage {
    pub(crate) clock: CrankedClock,
    pub(crate) server: Server,
    pub(crate) upstream: Upstream,
    /// The upstream's connections.
    pub(crate) transport: Transport,
}

/// Something that is run: a call, most often.
pub(crate) type Act<T> = seawall::crank::Act<'static, T>;

impl Stage {
    /// A stage whose upstream has this policy, and what `with` adds to it.
    pub(crate) fn new(
        clock: &CrankedClock,
        server: Server,
        policy: Policy,
        seed: u64,
        with: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder,
    ) -> Self {
        Self::at(&server.url(), clock, server, policy, seed, with)
    }

    /// The same, but the upstream is elsewhere.
    pub(crate) fn at(
        url: &str,
        clock: &CrankedClock,
        server: Server,
        policy: Policy,
        seed: u64,
        with: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder,
    ) -> Self {
        let at = Arc::new(clock.clone());
        let transport = Transport::builder().clock(at.clone()).seed(seed).build().unwrap();
        let builder = Upstream::builder(url)
            .unwrap()
            .policy(policy)
            .clock(at)
            .seed(seed)
            .transport(transport.clone())
            .recording(Recording::On);
        Self {
            clock: clock.clone(),
            server,
            upstream: with(builder).build().unwrap(),
            transport,
        }
    }

    /// Runs one call to its end.
    pub(crate) async fn run<T>(&self, act: impl Future<Output = T> + Send + 'static) -> T {
        let ended: Vec<T> = self.run_all(vec![Box::pin(act)]).await;
        ended.into_iter().next().unwrap()
    }

    /// Runs calls side by side, all to their ends.
    pub(crate) async fn run_all<T>(&self, acts: Vec<Act<T>>) -> Vec<T> {
        let mut players = Players::new(acts);
        let all = poll_fn(|context| {
            let mut moved = players.turn(context) == Turn::Played;
            if players.all_ended() {
                return Poll::Ready(());
            }
            self.server.watch(context.waker());
            if !moved && self.is_quiet() {
                assert!(
                    self.clock.step().is_some(),
                    "calls are left, and nobody waits for anything"
                );
                // Whoever waits for the same time: a server that is due is not one that keeps waiting.
                self.clock.advance(Duration::ZERO);
                moved = true;
            }
            if moved {
                // Not in a loop here: the runtime must see its sockets between two turns.
                context.waker().wake_by_ref();
            }
            Poll::Pending
        });
        soon(all).await;
        players.into_ends()
    }

    /// Whether all that is in flight is kept waiting on purpose.
    fn is_quiet(&self) -> bool {
        self.upstream.attempts_out() == self.server.kept_waiting() as u64
    }
}

/// Guards against a hang: far beyond what any test takes on a machine that is twenty times as slow, so that no test depends
/// on it.
pub(crate) async fn soon<F: Future>(what: F) -> F::Output {
    tokio::time::timeout(std::time::Duration::from_secs(600), what)
        .await
        .expect("it hangs")
}
