//! The examples of `examples/parity`: each runs, each is short, and beside each is the fault that its row is known for.
//!
//! What can go wrong: an example that a reader copies and that does not do what its row promises, or does it and keeps the
//! fault that everybody's own client has. So each is run here as it stands there, against a mock that provokes the fault.

mod clients;
mod functions;
mod pages;
mod times;
mod upstreams;

#[path = "../../examples/parity.rs"]
mod shown;

use crate::ai::stage::{Sender, Stage};
use seawall::ai::{Client, ClientBuilder};
use seawall::upstream::{Upstream, UpstreamBuilder};
use seawall::{Gate, Policy};
use seawall_lab::file::MockFile;
use seawall_lab::net::{Mock, MockOptions};
use std::sync::Arc;

/// A mock, and whoever calls it, on one clock that is cranked.
struct Scene {
    stage: Stage,
    mock: Mock,
}

impl Scene {
    /// The mock answers by this route.
    async fn new(route: &str) -> Self {
        Self::of(Mock::builder().route(route)).await
    }

    /// The mock is what this file says.
    async fn of_file(text: &str) -> Self {
        Self::of(Mock::builder().file(MockFile::parse("mock.toml", text).unwrap())).await
    }

    async fn of(options: MockOptions) -> Self {
        let stage = Stage::new();
        let options = options.clock(Arc::new(stage.clock.clone())).wires(&stage.wires);
        let mock = options.seed(1).start().await.unwrap();
        Self { stage, mock }
    }

    /// For clients of others, whose wires nobody watches: the clock turns while none of their attempts is out.
    async fn of_functions(route: &str) -> Self {
        let stage = Stage::new();
        let mock = Mock::start(route).await.unwrap();
        Self { stage, mock }
    }

    fn client(&self, builder: ClientBuilder) -> Client {
        let builder = builder.clock(Arc::new(self.stage.clock.clone())).seed(1);
        builder.transport(self.stage.transport.clone()).build().unwrap()
    }

    fn upstream(&self, builder: UpstreamBuilder) -> Upstream {
        let builder = builder.clock(Arc::new(self.stage.clock.clone())).seed(1);
        builder.transport(self.stage.transport.clone()).build().unwrap()
    }

    fn gate(&self, policy: &Policy, seed: u64) -> Gate {
        let builder = Gate::builder(policy).clock(Arc::new(self.stage.clock.clone()));
        builder.seed(seed).build()
    }

    async fn play<T>(&self, sender: &impl Sender, act: impl Future<Output = T> + Send) -> T {
        self.stage.play(sender, &[&self.mock], act).await
    }

    /// So many of the same at once.
    async fn play_many<T, F>(&self, sender: &impl Sender, count: usize, act: impl Fn(usize) -> F) -> Vec<T>
    where
        F: Future<Output = T> + Send,
    {
        let acts = (0..count).map(|place| {
            let act: seawall::crank::Act<'_, T> = Box::pin(act(place));
            act
        });
        self.stage.play_all(sender, &[&self.mock], acts.collect()).await
    }

    fn sends(&self) -> usize {
        self.mock.journal().attempts.len()
    }

    fn models(&self) -> String {
        format!("{}/v1/models", self.mock.url())
    }
}
