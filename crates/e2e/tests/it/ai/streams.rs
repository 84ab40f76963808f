//! Streams of the AI client: each ends complete, or with an error that holds what came.
//!
//! What can go wrong: a clean end in the middle is taken for the end of the answer; what came is lost with the error; a
//! chat is asked again after its first words were handed over, and comes twice; half a tool call is obeyed.

use super::stage::Stage;
use super::{DIALECTS, OPENAI, Scene, chat, server as ai_server};
use crate::cancel::Cut;
use crate::server::{self, Deed, Server, Step};
use crate::stage::soon;
use seawall::Policy;
use seawall::ai::{Client, Delta, Error, ErrorKind, Finish, Responses};
use seawall::crank::CrankedClock;
use seawall_core::profile::Provider;
use seawall_core::time::Duration;

/// The texts that came, and how the stream ended.
async fn read(client: &Client) -> Result<(Vec<String>, Option<Error>), Error> {
    let mut stream = client.stream(chat()).await?;
    let mut texts = Vec::new();
    let mut broke = None;
    while let Some(delta) = stream.next().await {
        match delta {
            Ok(Delta::Text(text)) => texts.push(text),
            Ok(_) => {}
            Err(error) => assert!(broke.replace(error).is_none(), "an error is told once"),
        }
    }
    assert!(stream.next().await.is_none(), "the end stays the end");
    assert_eq!(stream.so_far().message().text(), texts.concat());
    Ok((texts, broke))
}

fn broke(by: ErrorKind) -> ErrorKind {
    ErrorKind::StreamBroke { by: Box::new(by) }
}

#[tokio::test]
async fn every_end_of_a_stream_is_told_and_what_came_is_kept() {
    // Breaks when an early end passes for a whole answer, or when what was received goes with the error.
    for dialect in DIALECTS {
        for (end, expected) in [
            ("done", None),
            ("no-done", Some(ErrorKind::Connection)),
            ("cut", Some(ErrorKind::Connection)),
            ("error", Some(ErrorKind::Server { status: 200 })),
            ("stall", Some(ErrorKind::Timeout)),
            ("bad-json", Some(ErrorKind::Undecodable)),
        ] {
            let scene = Scene::new(
                dialect,
                &format!("stream events=3 gap=20ms then={end}"),
                Policy::builder(),
            )
            .await;
            let (texts, error) = scene.play(read(&scene.client)).await.unwrap();
            assert_eq!(texts.len(), 3, "{dialect:?} {end}: {texts:?}");
            assert_eq!(
                error.as_ref().map(|error| error.kind().clone()),
                expected.map(broke),
                "{dialect:?} {end}"
            );
            if let Some(error) = &error {
                let received = error.received().unwrap();
                assert_eq!(received.message().text(), texts.concat(), "{dialect:?} {end}");
                assert_eq!(error.attempts().len(), 1);
                let told = error.to_string();
                let expected = format!("{}: the stream broke off: ", dialect.0.name());
                assert!(
                    told.starts_with(&expected) && told.contains("characters of text"),
                    "{told}"
                );
            }
            assert_eq!(
                (scene.sends(), scene.client.attempts_out()),
                (1, 0),
                "{dialect:?} {end}"
            );
        }
    }
}

#[tokio::test]
async fn an_early_end_is_told_of_a_server_that_nobody_knows_as_well() {
    // Breaks when only a known provider's streams have a last word: half an answer of any other would pass for a whole.
    for (dialect, spoken) in DIALECTS {
        for (end, is_whole) in [("done", true), ("no-done", false)] {
            let stage = Stage::new();
            let script = format!("stream events=3 gap=20ms then={end}");
            let mock = stage.mock(spoken, &script).await;
            let unknown = ai_server(dialect, &mock).provider(Provider::Generic);
            let client = stage.client(unknown).build().unwrap();
            let (texts, error) = stage.play(&client, &[&mock], read(&client)).await.unwrap();
            let kind = error.as_ref().map(|error| error.kind().clone());
            let expected = (!is_whole).then(|| broke(ErrorKind::Connection));
            assert_eq!((texts.len(), kind), (3, expected), "{dialect:?} {end}");
        }
    }
}

#[tokio::test]
async fn what_breaks_before_the_first_content_is_tried_again() {
    // Breaks when a stream is handed over with its head, and every failure after that is the caller's to mend.
    for dialect in DIALECTS {
        for first in [
            "503",
            "reset",
            "stream events=0 then=cut",
            "stream events=0 then=error",
            "stream events=0 then=no-done",
        ] {
            let scene = Scene::new(dialect, &format!("{first}, 200"), Policy::builder()).await;
            let act = async { scene.client.stream(chat()).await.unwrap().collect_answer().await };
            let answer = scene.play(act).await.unwrap();
            assert!(!answer.text().is_empty(), "{dialect:?} {first}");
            assert_eq!(answer.finish, Finish::Stop, "{dialect:?} {first}");
            assert!(answer.usage.is_some(), "{dialect:?} {first}");
            assert_eq!(
                (answer.attempts().len(), scene.sends()),
                (2, 2),
                "{dialect:?} {first}"
            );
        }
        let scene = Scene::new(dialect, "401", Policy::builder()).await;
        let error = scene.play(read(&scene.client)).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Authentication, "{dialect:?}");
    }
}

#[tokio::test]
async fn the_answer_of_a_stream_is_that_of_the_same_chat_in_one_piece() {
    // Breaks when pieces are lost, doubled or put together in another order.
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "200", Policy::builder()).await;
        let whole = scene.play(scene.client.chat(chat())).await.unwrap();
        let act = async { scene.client.stream(chat()).await.unwrap().collect_answer().await };
        let streamed = scene.play(act).await.unwrap();
        assert_eq!(streamed.finish, whole.finish);
        assert_eq!(streamed.usage.map(|usage| usage.output > 0), Some(true));
        assert_eq!(streamed.message.role, whole.message.role);
        assert!(!streamed.text().is_empty());
    }
}

#[tokio::test]
async fn half_a_tool_call_is_known_to_be_half() {
    // Breaks when arguments that broke off look like ones that a program may obey.
    let events = concat!(
        r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"pay","arguments":""}}]}}]}"#,
        "\n\n",
        r#"data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"amount\":1"}}]}}]}"#,
        "\n\n",
    );
    let clock = CrankedClock::new();
    let bytes = server::answer(
        200,
        &[("content-type", "text/event-stream")],
        events,
        events.len() + 100,
    );
    let server = Server::with_steps(&clock, vec![Step::of(Deed::WriteClose(bytes))]).await;
    let client = Client::builder()
        .base_url(format!("{}/v1", server.url()))
        .build()
        .unwrap();
    let mut stream = soon(client.stream(chat())).await.unwrap();
    let error = loop {
        match soon(stream.next()).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => break error,
            None => panic!("it is not complete"),
        }
    };
    let received = error.into_received().unwrap();
    let half: Vec<_> = received.half_tool_calls().collect();
    assert_eq!(
        (half.len(), half[0].name.as_str(), half[0].arguments.as_str()),
        (1, "pay", r#"{"amount":1"#)
    );
}

#[tokio::test]
async fn an_answer_in_one_piece_is_a_stream_as_well() {
    // Breaks when a server that knows no streams makes the client fail, or say nothing.
    let script = r#"200 json={"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    let scene = Scene::new(OPENAI, script, Policy::builder()).await;
    let (texts, error) = scene.play(read(&scene.client)).await.unwrap();
    assert_eq!((texts, error.is_none()), (vec!["Hi".to_owned()], true));
}

#[tokio::test]
async fn a_stream_moves_on_to_the_next_server_before_its_first_content() {
    // Breaks when streams know no fallback, or are read in the first server's dialect.
    let stage = Stage::new();
    let mut mocks = Vec::new();
    for ((_, spoken), script) in DIALECTS
        .into_iter()
        .zip(["503", "stream events=0 then=cut", "200"])
    {
        mocks.push(stage.mock(spoken, script).await);
    }
    let [first, second, third] =
        [0, 1, 2].map(|place: usize| super::server(DIALECTS[place].0, &mocks[place]));
    let client = stage
        .client(first)
        .policy(Policy::builder().retries(4).build().unwrap());
    let client = client
        .fallback(second.model("claude"))
        .fallback(third.model("gem"))
        .build()
        .unwrap();
    let mocks: Vec<_> = mocks.iter().collect();
    let act = async {
        let stream = client.stream(chat()).await.unwrap();
        assert_eq!(stream.upstream(), "gemini");
        stream.collect_answer().await
    };
    let answer = stage.play(&client, &mocks, act).await.unwrap();
    assert_eq!((answer.upstream(), answer.model_asked()), ("gemini", "gem"));
    assert!(!answer.text().is_empty());
}

#[tokio::test]
async fn a_reader_that_leaves_at_any_point_leaves_nothing() {
    // Breaks when a stream that is dropped keeps its place, its socket or its call.
    for dialect in DIALECTS {
        for polls in 0.. {
            let scene = Scene::new(
                dialect,
                "503, stream events=3 gap=20ms then=done",
                Policy::builder(),
            )
            .await;
            let ended = scene.play(Cut::after(polls, read(&scene.client))).await;
            let upstream = scene.client.upstreams().next().unwrap();
            assert_eq!(
                (scene.client.attempts_out(), upstream.calls_alive()),
                (0, 0),
                "after {polls} polls"
            );
            // What the server still waits for before it notices.
            scene.stage.clock.advance(Duration::from_secs(1));
            soon(scene.mock.quiet()).await;
            if let Some(ended) = ended {
                let (texts, error) = ended.unwrap();
                assert_eq!((texts.len(), error.is_none()), (3, true));
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_response_comes_piece_by_piece_as_a_chat_does() {
    // Breaks when the other API's events are read as a chat's, or when its early end passes for an answer.
    let asked = || Responses::new("big").user("Hello");
    let scene = Scene::new(OPENAI, "503, 200", Policy::builder()).await;
    let act = async {
        scene
            .client
            .stream_responses(asked())
            .await
            .unwrap()
            .collect_answer()
            .await
    };
    let answer = scene.play(act).await.unwrap();
    assert!(!answer.text().is_empty() && answer.usage.is_some());
    assert_eq!(scene.sends(), 2);
    let scene = Scene::new(OPENAI, "stream events=3 then=no-done", Policy::builder()).await;
    let act = async {
        scene
            .client
            .stream_responses(asked())
            .await
            .unwrap()
            .collect_answer()
            .await
    };
    let error = scene.play(act).await.unwrap_err();
    assert_eq!(error.kind(), &broke(ErrorKind::Connection));
    assert!(!error.received().unwrap().message().text().is_empty());
    assert_eq!(scene.sends(), 1);
}
