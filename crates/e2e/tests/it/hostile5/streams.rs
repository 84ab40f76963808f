//! Streams of peers that are out of their minds.
//!
//! What can go wrong: a stream of another dialect comes to its end, and an empty answer is taken for one; a server says
//! nothing by a word that is empty, and is believed to have finished; a stream without an end fills the machine.

use super::peer::{Peer, client};
use crate::stage::soon;
use seawall::ai::{Assembly, Chat, Client, Dialect, Error, ErrorKind};

fn event(data: &str) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

fn chunk(delta: &str, finish: &str) -> Vec<u8> {
    event(&format!(
        r#"{{"id":"c","model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#
    ))
}

async fn read(client: &Client) -> Result<Assembly, Error> {
    let mut stream = soon(client.stream(Chat::new("m").user("Hello").max_tokens(5))).await?;
    while let Some(delta) = soon(stream.next()).await {
        delta?;
    }
    Ok(stream.so_far().clone())
}

fn broke(by: ErrorKind) -> ErrorKind {
    ErrorKind::StreamBroke { by: Box::new(by) }
}

#[tokio::test]
async fn a_stream_of_another_dialect_is_no_answer() {
    // Breaks when whatever ends well is an answer: an empty one, of which nobody is told that it is none.
    let openai = || {
        vec![
            chunk(r#"{"content":"Hi"}"#, "null"),
            chunk("{}", r#""stop""#),
            event("[DONE]"),
        ]
    };
    let anthropic = || {
        vec![
            event(r#"{"type":"message_start","message":{"id":"a"}}"#),
            event(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#),
            event(r#"{"type":"message_stop"}"#),
        ]
    };
    let gemini = || {
        vec![event(
            r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}"#,
        )]
    };
    let end = || vec![event("[DONE]")];
    let stop = || vec![event(r#"{"type":"message_stop"}"#)];
    for (dialect, pieces) in [
        (Dialect::OpenAi, anthropic()),
        (Dialect::OpenAi, gemini()),
        (Dialect::OpenAi, end()),
        (Dialect::Anthropic, openai()),
        (Dialect::Anthropic, gemini()),
        (Dialect::Anthropic, stop()),
        (Dialect::Gemini, openai()),
        (Dialect::Gemini, anthropic()),
        (Dialect::Gemini, end()),
    ] {
        let peer = Peer::streaming(pieces).await;
        let error = read(&client(dialect, peer.url())).await.unwrap_err();
        assert_eq!(
            error.kind(),
            &broke(ErrorKind::Undecodable),
            "{dialect:?}: {error}"
        );
        assert_eq!(peer.asked(), 1, "nothing is sent again after an event of content");
    }
    for (dialect, pieces) in [
        (Dialect::OpenAi, openai()),
        (Dialect::Anthropic, anthropic()),
        (Dialect::Gemini, gemini()),
    ] {
        let peer = Peer::streaming(pieces).await;
        let whole = read(&client(dialect, peer.url())).await.unwrap();
        assert_eq!(whole.message().text(), "Hi", "{dialect:?}");
    }
}

#[tokio::test]
async fn an_end_by_its_last_word_alone_is_an_end() {
    // Breaks when a server that gives no reason, and says `[DONE]`, is taken for one that broke off.
    let peer = Peer::streaming(vec![chunk(r#"{"content":"Hi"}"#, "null"), event("[DONE]")]).await;
    let whole = read(&client(Dialect::OpenAi, peer.url())).await.unwrap();
    assert_eq!(whole.message().text(), "Hi");
}

#[tokio::test]
async fn an_empty_reason_in_every_event_is_no_end() {
    // Breaks when the cut of a server that fills in every member is taken for the end of its answer.
    let peer = Peer::streaming(vec![chunk(r#"{"content":"Hi"}"#, r#""""#)]).await;
    let error = read(&client(Dialect::OpenAi, peer.url())).await.unwrap_err();
    assert_eq!(error.kind(), &broke(ErrorKind::Connection));
    assert_eq!(error.received().unwrap().message().text(), "Hi");
}

#[tokio::test]
async fn what_is_kept_of_a_stream_is_bounded() {
    // Breaks when the answer so far grows for as long as a peer goes on: with words, with parts, with members beside.
    let words = || chunk(&format!(r#"{{"content":"{}"}}"#, "a".repeat(1_000)), "null");
    let calls = |index: u32| {
        chunk(
            &format!(r#"{{"tool_calls":[{{"index":{index},"id":"c{index}","function":{{"name":"f"}}}}]}}"#),
            "null",
        )
    };
    let beside = |index: u32| {
        event(&format!(
            r#"{{"id":"c","m{index}":"{}","choices":[]}}"#,
            "a".repeat(1_000)
        ))
    };
    for pieces in [
        (0..200).map(|_| words()).collect::<Vec<_>>(),
        (0..2_000).map(calls).collect(),
        std::iter::once(words()).chain((0..200).map(beside)).collect(),
    ] {
        let pieces = pieces.into_iter().chain([chunk("{}", r#""stop""#)]).collect();
        let peer = Peer::streaming(pieces).await;
        let builder = Client::builder().base_url(format!("{}/v1", peer.url()));
        let error = read(&builder.answer_bytes_max(100_000).build().unwrap())
            .await
            .unwrap_err();
        assert_eq!(error.kind(), &broke(ErrorKind::Undecodable));
        assert!(error.to_string().contains("longer than 100000 bytes"), "{error}");
        assert!(!error.received().unwrap().message().parts.is_empty());
    }
}
