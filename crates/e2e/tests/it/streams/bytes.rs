//! Answers by their bytes: unchanged, and complete by what the connection says.

use super::stage::{Speaks, Stage};
use seawall::upstream::{Call, Form};
use seawall_core::policy::Policy;

/// Every chunk of the answer, joined, and how it ended.
async fn read(stage: &Stage, call: Call) -> (Vec<u8>, String) {
    let upstream = stage.upstream.clone();
    stage
        .play(async move {
            let mut opened = match upstream.open(call).await {
                Ok(opened) => opened,
                Err(error) => return (Vec::new(), format!("{} before any", error.reason.code())),
            };
            let mut bytes = Vec::new();
            loop {
                match opened.chunk().await {
                    Some(Ok(chunk)) => {
                        assert!(!chunk.is_empty());
                        bytes.extend_from_slice(&chunk);
                    }
                    Some(Err(error)) => {
                        assert_eq!(error.received_bytes, bytes.len() as u64);
                        return (
                            bytes,
                            format!("{} after {}", error.cause.name(), opened.attempts.len()),
                        );
                    }
                    None => return (bytes, format!("complete after {}", opened.attempts.len())),
                }
            }
        })
        .await
}

#[tokio::test]
async fn the_bytes_of_a_stream_are_those_that_came_error_and_all() {
    // Breaks when what was held is lost or comes twice, or when an error event is kept from who passes bytes on (L4).
    for speaks in Speaks::ALL {
        let stage = Stage::new(
            "stream events=4 gap=5ms, stream events=4 gap=5ms",
            Policy::builder(),
        )
        .await;
        let (bytes, end) = read(&stage, speaks.asks()).await;
        assert_eq!(end, "complete after 1");
        // The same mock says the same to who reads the whole.
        let upstream = stage.upstream.clone();
        let call = speaks.asks();
        let whole = stage
            .play(async move { upstream.call(call).await })
            .await
            .unwrap();
        assert_eq!(bytes.len(), whole.body.len(), "{speaks:?}");
    }
    let stage = Stage::new("stream events=2 then=error", Policy::builder()).await;
    let (bytes, end) = read(&stage, Speaks::OpenAi.asks()).await;
    assert_eq!(end, "malformed after 1");
    assert!(String::from_utf8(bytes).unwrap().contains("\"error\""));
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_judged_whole_and_handed_on_so() {
    // Breaks when a truncated answer, or an error under a 200, is handed on at its first byte though its caller could have
    // been spared it.
    let json = || Call::post_json(Speaks::OpenAi.path(), r#"{"model":"small-1","messages":[]}"#);
    for script in [
        "truncate at=50%, 200",
        "error-in-200, 200",
        "close after=20, 200",
        "bad-chunk, 200",
    ] {
        let stage = Stage::new(script, Policy::builder()).await;
        let (bytes, end) = read(&stage, json()).await;
        assert_eq!(end, "complete after 2", "{script}");
        assert!(
            serde_json::from_slice::<serde_json::Value>(&bytes).is_ok(),
            "{script}"
        );
        stage.nothing_is_left().await;
    }
    let stage = Stage::new("200", Policy::builder()).await;
    let upstream = stage.upstream.clone();
    let (form, event) = stage
        .play(async move {
            let mut opened = upstream.open(json()).await.unwrap();
            (opened.form(), opened.event().await)
        })
        .await;
    assert_eq!(form, Form::Bytes);
    let error = event.unwrap().unwrap_err();
    assert!(error.detail.contains("application/json"), "{error}");
}

#[tokio::test]
async fn any_other_answer_is_handed_on_at_its_first_byte() {
    // Breaks when a download is kept until it is whole, or is asked again after its first byte.
    let file = || Call::post_json("/files/report", "{}");
    for (script, end) in [
        ("200, 200", "complete after 1"),
        ("drip bps=1000, 200", "complete after 1"),
        ("truncate at=50%, 200", "cut after 1"),
        ("reset after=8, 200", "cut after 1"),
        ("close after=8, 200", "cut after 1"),
        ("bad-chunk, 200", "malformed after 1"),
    ] {
        let stage = Stage::new(script, Policy::builder()).await;
        let (bytes, told) = read(&stage, file()).await;
        assert_eq!(told, end, "{script}");
        assert!(!bytes.is_empty(), "{script}");
        assert_eq!(stage.asked(), 1, "{script}");
        stage.nothing_is_left().await;
    }
}
