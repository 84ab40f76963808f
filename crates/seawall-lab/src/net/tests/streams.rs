//! Streams on the wire: chunks, and how each end looks to who reads the socket.

use super::*;

const STREAMED: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"Why?"}]}"#;

/// The chunks of a body and whether the last one, which is empty, came.
fn chunks(answer: &str) -> (Vec<&str>, bool) {
    let mut rest = body(answer);
    let mut chunks = Vec::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or_else(|error| panic!("{error}: {answer}"));
        if length == 0 {
            assert_eq!(after, "\r\n", "{answer}");
            return (chunks, true);
        }
        chunks.push(&after[..length]);
        rest = after[length..].strip_prefix("\r\n").expect("a chunk has an end");
    }
    (chunks, false)
}

#[tokio::test]
async fn a_good_answer_to_a_request_for_a_stream_is_one_in_every_dialect() {
    // Could break: a stream of known length, which no provider sends; events joined into one chunk.
    let mock = Mock::builder().start().await.unwrap();
    for (path, content_type, last) in [
        ("/v1/chat/completions", "text/event-stream", "data: [DONE]\n\n"),
        ("/v1/responses", "text/event-stream", "}\n\n"),
        (
            "/v1/messages",
            "text/event-stream",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            "/v1beta/models/m:streamGenerateContent",
            "application/json",
            "}]\n",
        ),
        (
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            "text/event-stream",
            "}\n\n",
        ),
    ] {
        let answer = ask(&mock, "POST", path, STREAMED).await;
        assert_eq!(status(&answer), 200, "{path}");
        assert_eq!(header(&answer, "content-type"), Some(content_type), "{path}");
        assert_eq!(header(&answer, "x-seawall-fault"), None, "{path}");
        assert_eq!(header(&answer, "content-length"), None, "{path}");
        let (chunks, ended) = chunks(&answer);
        assert!(ended && chunks.len() > 4, "{path}: {answer}");
        assert!(chunks.last().unwrap().ends_with(last), "{path}: {answer}");
    }
}

#[tokio::test]
async fn each_end_of_a_stream_is_what_its_name_says() {
    // Could break: a cut whose body ends cleanly, an error after which the right end comes all the same, an end without
    // [DONE] that is no clean one.
    for (then, last, ends, end) in [
        ("done", "data: [DONE]\n\n", true, End::Fin),
        (
            "cut",
            "\"finish_reason\":null,\"index\":0,\"logprobs\":null}]",
            false,
            End::Fin,
        ),
        ("error", "data: {\"error\":{", true, End::Fin),
        ("bad-json", "data: [DONE]\n\n", true, End::Fin),
        (
            "no-done",
            "\"finish_reason\":null,\"index\":0,\"logprobs\":null}]",
            true,
            End::Fin,
        ),
    ] {
        let route = format!("POST /v1/chat/completions = stream events=3 then={then}");
        let mock = Mock::start(&route).await.unwrap();
        // Nobody asked for a stream: the script says what is sent.
        let request =
            "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";
        let (answer, seen) = raw(&mock, request).await;
        let (chunks, ended) = chunks(&answer);
        assert_eq!((ended, seen), (ends, end), "{then}: {answer}");
        assert!(chunks.last().unwrap().contains(last), "{then}: {answer}");
        // The role, three pieces, and what ends.
        let chunks_of_chat = answer.matches("data: {\"choices\":[{\"delta\"").count();
        let expected = match then {
            "done" => 5,
            "bad-json" => 6,
            _ => 4,
        };
        assert_eq!(chunks_of_chat, expected, "{then}: {answer}");
        let fault = format!("stream then={then}");
        let fault = Some(fault.as_str()).filter(|_| then != "done");
        assert_eq!(header(&answer, "x-seawall-fault"), fault, "{then}");
        mock.quiet().await;
        assert_eq!(mock.journal().attempts[0].fault.as_deref(), fault, "{then}");
    }
}

#[tokio::test]
async fn a_stalled_stream_says_nothing_more_until_its_client_leaves() {
    // Could break: a stall that ends by itself, or one before the events that were to come first.
    let mock = Mock::start("POST /v1/messages = stream events=2 then=stall")
        .await
        .unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream
        .write_all(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    let read = async {
        while String::from_utf8_lossy(&bytes).matches("text_delta").count() < 2 {
            assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
        }
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .expect("two events come");
    assert_eq!(mock.journal().open, 1);
    drop(stream);
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("the mock notices");
    assert!(mock.journal().attempts[0].client_left.is_some());
}

#[tokio::test]
async fn what_azure_refuses_it_refuses_before_a_stream() {
    // Could break: a stream for who has no key, because a script said `stream`.
    let mock = Mock::start("POST /openai/* = stream").await.unwrap();
    let answer = ask(
        &mock,
        "POST",
        "/openai/deployments/m/chat/completions?api-version=1",
        STREAMED,
    )
    .await;
    assert_eq!(status(&answer), 401);
}
