//! A client, the mocks that it calls, and one clock for all of them, turned only while nothing else can happen.

use crate::stage::soon;
use seawall::ai::{Client, ClientBuilder, Server};
use seawall::clock::Clock as _;
use seawall::crank::{Act, CrankedClock, Players, Turn, Wires};
use seawall::http::Transport;
use seawall::{Gate, Upstream};
use seawall_core::time::{Duration, Instant};
use seawall_lab::net::Mock;
use seawall_lab::plan::{Dialect, Rule};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Who knows how many attempts are out.
pub(crate) trait Sender {
    fn attempts_out(&self) -> u64;
}

impl Sender for Client {
    fn attempts_out(&self) -> u64 {
        self.attempts_out()
    }
}

impl Sender for Upstream {
    fn attempts_out(&self) -> u64 {
        self.attempts_out()
    }
}

impl Sender for Gate {
    fn attempts_out(&self) -> u64 {
        self.attempts_out()
    }
}

/// Where time comes from and what is on the wires.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) clock: CrankedClock,
    pub(crate) wires: Wires,
    pub(crate) transport: Transport,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let (clock, wires) = (CrankedClock::new(), Wires::new());
        let transport = Transport::builder()
            .clock(Arc::new(clock.clone()))
            .wires(&wires)
            .seed(1);
        Self {
            clock,
            wires,
            transport: transport.build().unwrap(),
        }
    }

    /// A mock of this dialect that does as `script` says, wherever it is called.
    pub(crate) async fn mock(&self, dialect: Dialect, script: &str) -> Mock {
        let rule = Rule {
            dialect,
            ..Rule::parse(&format!("* /* = {script}")).unwrap()
        };
        let builder = Mock::builder().rule(rule).clock(Arc::new(self.clock.clone()));
        builder.wires(&self.wires).start().await.unwrap()
    }

    /// Whole seconds since the beginning, begun ones counted.
    pub(crate) fn clock_secs(&self) -> u64 {
        self.clock.now().since(Instant::START).as_millis().div_ceil(1_000)
    }

    /// A client on this stage.
    pub(crate) fn client(&self, server: Server) -> ClientBuilder {
        let builder = Client::builder().server(server).seed(1);
        builder
            .clock(Arc::new(self.clock.clone()))
            .transport(self.transport.clone())
    }

    /// Plays one act to its end. Every attempt of `sender` is at one of `mocks`.
    pub(crate) async fn play<T>(
        &self,
        sender: &impl Sender,
        mocks: &[&Mock],
        act: impl Future<Output = T> + Send,
    ) -> T {
        let mut ends = self.play_all(sender, mocks, vec![Box::pin(act)]).await;
        ends.remove(0)
    }

    /// Plays acts side by side to their ends.
    pub(crate) async fn play_all<T>(
        &self,
        sender: &impl Sender,
        mocks: &[&Mock],
        acts: Vec<Act<'_, T>>,
    ) -> Vec<T> {
        let mut players = Players::new(acts);
        let mut still_rounds = 0;
        let all = poll_fn(|context| {
            let moved = players.turn(context) == Turn::Played;
            if players.all_ended() {
                return Poll::Ready(());
            }
            mocks.iter().for_each(|mock| mock.watch(context.waker()));
            self.wires.watch(context.waker());
            let out = sender.attempts_out();
            let kept: u64 = mocks.iter().map(|mock| mock.kept_waiting()).sum();
            let quiet = !moved && out == kept && self.wires.are_still();
            still_rounds = if quiet { still_rounds + 1 } else { 0 };
            if quiet && still_rounds > rounds_of_all() {
                still_rounds = 0;
                assert!(
                    self.clock.step().is_some(),
                    "nobody moves, and nobody waits for anything"
                );
                self.clock.advance(Duration::ZERO);
                players.turn(context);
            }
            if moved || quiet {
                // Not in a loop here: the runtime must see its sockets and its tasks between two turns.
                context.waker().wake_by_ref();
            }
            Poll::Pending
        });
        soon(all).await;
        players.into_ends()
    }
}

/// After how many turns of ours every task of the runtime has had one, too.
fn rounds_of_all() -> usize {
    2 + tokio::runtime::Handle::current().metrics().num_alive_tasks() / 32
}
