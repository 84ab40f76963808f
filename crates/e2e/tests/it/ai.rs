//! The AI client against mocks that speak as the providers do, on a clock that is cranked.

mod ends;
mod keys;
mod left;
mod many;
mod moves;
pub(crate) mod stage;
mod streams;

use seawall::ai::{Chat, Client, Dialect, Key, Server};
use seawall_core::policy::PolicyBuilder;
use seawall_lab::net::Mock;
use seawall_lab::plan;
use stage::Stage;

/// Each dialect, in the library's words and in the mock's.
const DIALECTS: [(Dialect, plan::Dialect); 3] = [
    (Dialect::OpenAi, plan::Dialect::OpenAi),
    (Dialect::Anthropic, plan::Dialect::Anthropic),
    (Dialect::Gemini, plan::Dialect::Gemini),
];
const OPENAI: (Dialect, plan::Dialect) = DIALECTS[0];

const KEY: &str = "sk-very-secret-0123456789";

/// A client and the one mock that it calls.
struct Scene {
    stage: Stage,
    mock: Mock,
    client: Client,
}

impl Scene {
    async fn new((dialect, spoken): (Dialect, plan::Dialect), script: &str, policy: PolicyBuilder) -> Self {
        let stage = Stage::new();
        let mock = stage.mock(spoken, script).await;
        let builder = stage
            .client(server(dialect, &mock))
            .policy(policy.build().unwrap());
        Self {
            client: builder.build().unwrap(),
            stage,
            mock,
        }
    }

    async fn play<T>(&self, act: impl Future<Output = T> + Send) -> T {
        self.stage.play(&self.client, &[&self.mock], act).await
    }

    fn sends(&self) -> usize {
        self.mock.journal().attempts.len()
    }
}

fn server(dialect: Dialect, mock: &Mock) -> Server {
    let base_url = match dialect {
        Dialect::OpenAi => format!("{}/v1", mock.url()),
        _ => mock.url(),
    };
    Server::of(dialect).base_url(base_url).key(Key::new(KEY))
}

fn chat() -> Chat {
    Chat::new("big").system("Be brief.").user("Hello").max_tokens(50)
}
