//! From one provider to the next: the same chat in other words, with each server's own key and model.
//!
//! What can go wrong: the second server is sent the first one's body, model or key; a refusal that is the caller's own
//! fault is tried at all of them; who answered is not told.

use super::stage::Stage;
use super::{DIALECTS, OPENAI, chat, server};
use seawall::Policy;
use seawall::ai::{Client, ErrorKind, Server, Unsupported};
use seawall_lab::net::Mock;

/// A client that turns from OpenAI to Anthropic to Gemini, and their mocks.
struct Chain {
    stage: Stage,
    mocks: Vec<Mock>,
    client: Client,
}

impl Chain {
    async fn new(scripts: [&str; 3]) -> Self {
        let stage = Stage::new();
        let mut mocks = Vec::new();
        for ((_, spoken), script) in DIALECTS.into_iter().zip(scripts) {
            mocks.push(stage.mock(spoken, script).await);
        }
        let servers: Vec<Server> = DIALECTS
            .into_iter()
            .zip(&mocks)
            .map(|((dialect, _), mock)| server(dialect, mock))
            .collect();
        let [first, second, third] = <[Server; 3]>::try_from(servers).expect("three servers");
        let client = stage
            .client(first)
            .policy(Policy::builder().retries(4).build().unwrap())
            .fallback(second.model("claude"))
            .fallback(third.model("gemini-small"));
        Self {
            client: client.build().unwrap(),
            stage,
            mocks,
        }
    }

    async fn play<T>(&self, act: impl Future<Output = T> + Send) -> T {
        let mocks: Vec<&Mock> = self.mocks.iter().collect();
        self.stage.play(&self.client, &mocks, act).await
    }

    /// The paths that each mock saw.
    fn paths(&self) -> Vec<Vec<String>> {
        let paths = |mock: &Mock| {
            mock.journal()
                .attempts
                .into_iter()
                .map(|attempt| attempt.path)
                .collect()
        };
        self.mocks.iter().map(paths).collect()
    }
}

#[tokio::test]
async fn a_chat_moves_on_in_the_words_of_each_server() {
    // Breaks when a body, a path, a header or a model goes where it does not belong: the mocks would not answer it.
    let chain = Chain::new(["503", "529", "200"]).await;
    let answer = chain.play(chain.client.chat(chat())).await.unwrap();
    assert_eq!(
        (answer.upstream(), answer.model_asked()),
        ("gemini", "gemini-small")
    );
    let [openai, anthropic, gemini] = <[Vec<String>; 3]>::try_from(chain.paths()).unwrap();
    assert!(!openai.is_empty() && openai.iter().all(|path| path == "/v1/chat/completions"));
    assert!(!anthropic.is_empty() && anthropic.iter().all(|path| path == "/v1/messages"));
    assert_eq!(gemini, ["/v1beta/models/gemini-small:generateContent"]);
    let asked: Vec<usize> = answer
        .attempts()
        .iter()
        .map(|attempt| attempt.candidate)
        .collect();
    assert!(asked.is_sorted() && asked.last() == Some(&2), "{asked:?}");
}

#[tokio::test]
async fn a_spent_balance_moves_on_and_a_bad_request_does_not() {
    // Breaks when one empty account ends the call, or when a chat that is wrong is sent to everybody.
    let chain = Chain::new(["429 code=insufficient_quota", "200", "200"]).await;
    let answer = chain.play(chain.client.chat(chat())).await.unwrap();
    assert_eq!(answer.upstream(), "anthropic");

    let chain = Chain::new(["400", "200", "200"]).await;
    let error = chain.play(chain.client.chat(chat())).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.upstream()),
        (&ErrorKind::Refused { status: 400 }, "openai")
    );
    assert_eq!(chain.paths().iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
}

#[tokio::test]
async fn who_has_no_words_for_a_chat_is_passed_over_unless_it_may_be_left_out() {
    // Breaks when a setting is lost on the way to a fallback and nobody is told.
    let chain = Chain::new(["503", "200", "200"]).await;
    let answer = chain.play(chain.client.chat(chat().seed(7))).await.unwrap();
    assert_eq!(answer.upstream(), "gemini", "anthropic has no seed");

    let chain = Chain::new(["503", "200", "200"]).await;
    let asked = chat().seed(7).unsupported(Unsupported::LeaveOut);
    let answer = chain.play(chain.client.chat(asked)).await.unwrap();
    assert_eq!((answer.upstream(), answer.changes().len()), ("anthropic", 1));
}

#[tokio::test]
async fn another_model_of_the_same_server_is_a_fallback_as_well() {
    // Breaks when the smaller model is asked for under the larger one's name, or at a gate of its own.
    let stage = Stage::new();
    let mock = stage
        .mock(OPENAI.1, r#"400 code=context_length_exceeded, 503, 503, 200"#)
        .await;
    let client = stage
        .client(server(OPENAI.0, &mock))
        .fallback_model("small")
        .build()
        .unwrap();
    let error = stage
        .play(&client, &[&mock], client.chat(chat()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::ContextTooLong);
    let answer = stage.play(&client, &[&mock], client.chat(chat())).await.unwrap();
    assert_eq!((answer.upstream(), answer.model_asked()), ("openai", "small"));
    assert!(answer.text().len() > 1);
}
