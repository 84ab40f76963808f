//! A mock, an upstream that calls it, and a clock that turns only while nothing is on its way.

use crate::stage::soon;
use seawall::clock::Clock as _;
use seawall::crank::{Act, CrankedClock, Players, Turn, Wires};
use seawall::http::Transport;
use seawall::upstream::{Call, CallError, Opened, StreamError, Upstream, UpstreamBuilder};
use seawall_core::policy::PolicyBuilder;
use seawall_core::time::{Duration, Instant};
use seawall_core::trace::{Event, Recording, What};
use seawall_lab::net::{Mock, MockOptions};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Whose words the mock speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    OpenAi,
    Responses,
    Anthropic,
    Gemini,
}

impl Speaks {
    pub(super) const ALL: [Self; 4] = [Self::OpenAi, Self::Responses, Self::Anthropic, Self::Gemini];

    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::OpenAi => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Anthropic => "/v1/messages",
            Self::Gemini => "/v1beta/models/small-1:streamGenerateContent",
        }
    }

    /// A call that asks for a stream.
    pub(super) fn asks(self) -> Call {
        match self {
            Self::OpenAi | Self::Responses | Self::Anthropic => Call::post_json(
                self.path(),
                r#"{"model":"small-1","stream":true,"max_tokens":50,"input":"Why?","messages":[{"role":"user","content":"Why?"}]}"#,
            ),
            Self::Gemini => Call::post_json(
                format!("{}?alt=sse", self.path()),
                r#"{"contents":[{"parts":[{"text":"Why?"}]}]}"#,
            ),
        }
    }
}

/// A clock, a mock that lives by it, and an upstream that calls it.
pub(super) struct Stage {
    pub(super) clock: CrankedClock,
    pub(super) mock: Arc<Mock>,
    pub(super) upstream: Upstream,
    wires: Wires,
}

impl Stage {
    /// The mock answers every POST by `script`.
    pub(super) async fn new(script: &str, policy: PolicyBuilder) -> Self {
        Self::with(script, policy, |mock| mock, |upstream| upstream).await
    }

    pub(super) async fn with(
        script: &str,
        policy: PolicyBuilder,
        mock: impl FnOnce(MockOptions) -> MockOptions,
        upstream: impl FnOnce(UpstreamBuilder) -> UpstreamBuilder,
    ) -> Self {
        let (clock, wires) = (CrankedClock::new(), Wires::new());
        let at = Arc::new(clock.clone());
        let options = Mock::builder()
            .route(format!("POST /* = {script}"))
            .clock(at.clone())
            .wires(&wires)
            .seed(1);
        let mock = mock(options).start().await.unwrap();
        let transport = Transport::builder()
            .clock(at.clone())
            .wires(&wires)
            .seed(1)
            .build()
            .unwrap();
        let builder = Upstream::builder(&mock.url())
            .unwrap()
            .policy(policy.build().unwrap())
            .clock(at)
            .seed(1)
            .transport(transport)
            .recording(Recording::On);
        Self {
            clock,
            mock: Arc::new(mock),
            upstream: upstream(builder).build().unwrap(),
            wires,
        }
    }

    /// Plays one act to its end.
    pub(super) async fn play<T>(&self, act: impl Future<Output = T> + Send) -> T {
        let ended = self.play_all(vec![Box::pin(act)]).await;
        ended.into_iter().next().unwrap()
    }

    /// Plays acts side by side, all to their ends.
    pub(super) async fn play_all<T>(&self, acts: Vec<Act<'_, T>>) -> Vec<T> {
        let mut players = Players::new(acts);
        let mut still_rounds = 0;
        let all = poll_fn(|context| {
            let mut moved = players.turn(context) == Turn::Played;
            if players.all_ended() {
                return Poll::Ready(());
            }
            self.mock.watch(context.waker());
            self.wires.watch(context.waker());
            still_rounds = if moved || !self.is_quiet() {
                0
            } else {
                still_rounds + 1
            };
            // Whoever was woken and is nobody's attempt has its turn first.
            if still_rounds > 4 {
                still_rounds = 0;
                assert!(
                    self.clock.step().is_some(),
                    "acts are left, and nobody waits for anything"
                );
                self.clock.advance(Duration::ZERO);
                players.turn(context);
                moved = true;
            }
            if moved || still_rounds > 0 {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        });
        soon(all).await;
        players.into_ends()
    }

    /// Whether all that is in flight is kept waiting on purpose.
    fn is_quiet(&self) -> bool {
        self.upstream.attempts_out() == self.mock.kept_waiting() && self.wires.are_still()
    }

    /// Opens a stream and reads its events to their end.
    pub(super) async fn streams(&self, call: Call) -> Told {
        let upstream = self.upstream.clone();
        self.play(async move { Told::read(upstream.open(call).await).await })
            .await
    }

    /// How often the mock was asked.
    pub(super) fn asked(&self) -> usize {
        self.mock.journal().attempts.len()
    }

    /// Nothing is in flight, no call is alive, no socket is open but those that are kept for the next call.
    pub(super) async fn nothing_is_left(&self) {
        assert_eq!(
            (self.upstream.attempts_out(), self.upstream.calls_alive()),
            (0, 0)
        );
        soon(self.mock.quiet()).await;
    }

    /// Now, in milliseconds.
    pub(super) fn millis(&self) -> u64 {
        self.clock.now().since(Instant::START).as_millis()
    }
}

/// All that a stream told its reader.
#[derive(Debug)]
pub(super) struct Told {
    /// What each attempt met, in order.
    pub(super) attempts: Vec<&'static str>,
    /// The text of its events, those before the first content included.
    pub(super) events: Vec<String>,
    pub(super) end: End,
    pub(super) usage: (u64, u64),
}

#[derive(Debug)]
pub(super) enum End {
    Complete,
    Broke(Box<StreamError>),
    /// There never was any content.
    Failed(Box<CallError>),
}

impl Told {
    pub(super) async fn read(opened: Result<Opened, Box<CallError>>) -> Self {
        let mut opened = match opened {
            Ok(opened) => opened,
            Err(error) => {
                return Self {
                    attempts: error.attempts.iter().map(|note| note.outcome).collect(),
                    events: Vec::new(),
                    usage: (error.usage.tokens_in, error.usage.tokens_out),
                    end: End::Failed(error),
                };
            }
        };
        let mut events = Vec::new();
        let end = loop {
            match opened.event().await {
                Some(Ok(event)) => events.push(event.data),
                Some(Err(error)) => break End::Broke(error),
                None => break End::Complete,
            }
        };
        assert!(opened.event().await.is_none(), "an end is told once");
        assert!(opened.chunk().await.is_none(), "after the end there is nothing");
        let usage = opened.usage();
        Self {
            attempts: opened.attempts.iter().map(|note| note.outcome).collect(),
            events,
            end,
            usage: (usage.tokens_in, usage.tokens_out),
        }
    }

    /// The text that the events say, whoever says it.
    pub(super) fn text(&self) -> String {
        self.events.iter().map(|data| text_of(data)).collect()
    }

    /// What the attempts met, how it ended, and what had come.
    pub(super) fn line(&self) -> String {
        let attempts = self.attempts.join(" ");
        match &self.end {
            End::Complete => format!("{attempts} | complete"),
            End::Failed(error) => {
                let cause = error.cause.map_or("-", |cause| cause.name());
                format!("{attempts} | {} {cause}", error.reason.code())
            }
            End::Broke(error) => {
                assert_eq!(error.received_events, self.events.len() as u64, "{error}");
                let code = error.code.as_deref().or(error.kind.as_deref());
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                format!(
                    "{attempts} | {} {}{code}",
                    error.reason.code(),
                    error.cause.name()
                )
            }
        }
    }
}

/// The text inside an event of any dialect.
fn text_of(data: &str) -> String {
    let event: serde_json::Value = serde_json::from_str(data).unwrap();
    let text = event["choices"][0]["delta"]["content"]
        .as_str()
        .or(event["delta"]["text"].as_str())
        .or(event["candidates"][0]["content"]["parts"][0]["text"].as_str())
        .or(event["delta"]
            .as_str()
            .filter(|_| event["type"] == "response.output_text.delta"));
    text.unwrap_or("").to_owned()
}

/// What was recorded, in order.
pub(super) fn recorded(events: &[Event]) -> Vec<String> {
    let what = events.iter().map(|event| match event.what {
        What::Sent(reason) => format!("sent {}", reason.code()),
        What::Waits(reason, _) => format!("waits {}", reason.code()),
        What::Finished(reason, _) => format!("finished {}", reason.code()),
        What::Committed => "committed".to_owned(),
        What::Met(outcome) => format!("met {}", outcome.name()),
        What::Abandoned(sent) => format!("abandoned {}", sent.name()),
        What::Left => "left".to_owned(),
        other => format!("{other:?}"),
    });
    what.collect()
}
