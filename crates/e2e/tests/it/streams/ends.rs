//! How a stream ends, and what of it may be asked again.

use super::stage::{End, Speaks, Stage};
use seawall_core::policy::Policy;
use seawall_core::time::Duration;

/// Each end of a stream that the mock knows, and what a caller is told of it, in the words of each dialect's errors.
const ENDS: [(&str, &str); 5] = [
    ("cut", "cut"),
    ("error", "malformed"),
    ("stall", "timeout"),
    ("bad-json", "malformed"),
    ("no-done", "cut"),
];

#[tokio::test]
async fn a_stream_that_breaks_after_its_first_content_is_told_once_and_never_asked_again() {
    // Breaks when a cut, an error or a hole passes for the end, or when what was handed on is asked again: the second
    // answer would be well.
    for speaks in Speaks::ALL {
        for (then, cause) in ENDS {
            let stage = Stage::new(
                &format!("stream events=3 gap=20ms then={then}, stream"),
                Policy::builder(),
            )
            .await;
            let told = stage.streams(speaks.asks()).await;
            let line = told.line();
            assert!(
                line.starts_with(&format!("answer | already-streaming {cause}")),
                "{speaks:?} {then}: {line}"
            );
            let End::Broke(error) = &told.end else {
                panic!("{speaks:?} {then}: {told:?}");
            };
            assert_eq!(
                error.code.is_some() || error.kind.is_some(),
                then == "error",
                "{speaks:?}: {error:?}"
            );
            assert!(error.received_bytes > 100, "{speaks:?} {then}: {error:?}");
            assert_eq!(
                told.events.iter().filter(|event| !event.is_empty()).count(),
                told.events.len()
            );
            assert!(
                !told.text().is_empty(),
                "{speaks:?} {then}: what had come is with its reader"
            );
            assert_eq!(stage.asked(), 1, "{speaks:?} {then}");
            stage.nothing_is_left().await;
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_before_its_first_content_is_asked_again_and_nobody_sees_it() {
    // Breaks when a stream is handed on with its head or its greeting: its caller would meet what could have been mended.
    for speaks in Speaks::ALL {
        for (then, _) in ENDS {
            // The mock's own bad event is one of content; before any, it is the first.
            let stage = Stage::new(
                &format!("stream events=0 then={then}, stream events=3"),
                Policy::builder(),
            )
            .await;
            let told = stage.streams(speaks.asks()).await;
            assert_eq!(told.line(), "failed answer | complete", "{speaks:?} {then}");
            assert_eq!(stage.asked(), 2, "{speaks:?} {then}");
            stage.nothing_is_left().await;
        }
    }
}

#[tokio::test]
async fn a_good_stream_is_its_events_and_then_its_end() {
    // Breaks when an event is lost between what was held and what follows, when the last word is one more event, or when
    // a stream that ends well is not settled with what it used.
    for speaks in Speaks::ALL {
        let stage = Stage::new("stream events=5 gap=20ms", Policy::builder()).await;
        let told = stage.streams(speaks.asks()).await;
        assert_eq!(told.line(), "answer | complete", "{speaks:?}");
        assert!(
            told.events.iter().all(|event| event.starts_with('{')),
            "{speaks:?}: {told:?}"
        );
        assert!(told.text().split(' ').count() > 3, "{speaks:?}: {}", told.text());
        // OpenAI's chat says what it used to who asks for it alone.
        if speaks != Speaks::OpenAi {
            assert!(told.usage.0 > 0 && told.usage.1 > 0, "{speaks:?}: {told:?}");
        }
        stage.nothing_is_left().await;
    }
}

#[tokio::test]
async fn what_no_stream_could_begin_with_ends_as_a_call_does() {
    // Breaks when an answer that is none is handed on as one because somebody asked for a stream.
    for (script, line, asked) in [
        ("400", "refused | refused -", 1),
        ("401", "denied | denied -", 1),
        (
            "429 retry-after=1, stream events=2",
            "throttled answer | complete",
            2,
        ),
        (
            "503 retry-after=1, stream events=2",
            "failed answer | complete",
            2,
        ),
        ("503", "failed failed | attempts-spent status", 2),
        ("close, stream events=2", "failed answer | complete", 2),
        ("reset, stream events=2", "failed answer | complete", 2),
        ("hang, stream events=2", "failed answer | complete", 2),
        ("error-in-200, stream events=2", "failed answer | complete", 2),
        ("garbage, stream events=2", "failed answer | complete", 2),
        // What is compressed is not read: it is bytes, and no events.
        ("bad-gzip", "answer | already-streaming malformed", 1),
    ] {
        let stage = Stage::new(script, Policy::builder().retries(1)).await;
        let told = stage.streams(Speaks::OpenAi.asks()).await;
        assert_eq!((told.line().as_str(), stage.asked()), (line, asked), "{script}");
        stage.nothing_is_left().await;
    }
}

#[tokio::test]
async fn a_stream_lives_by_its_own_limits_once_it_has_begun() {
    // Breaks when the deadline of the call cuts a stream that is being read (rule F1), when silence or the whole length
    // are not bounded after it, or when a greeting that has no end holds a caller beyond the deadline.
    let long = Policy::builder().deadline(Duration::from_secs(2)).retries(0);
    let stage = Stage::new("stream events=10 gap=1s", long).await;
    let told = stage.streams(Speaks::Anthropic.asks()).await;
    assert_eq!(told.line(), "answer | complete");
    assert!(stage.millis() >= 9_000);

    let stage = Stage::new("stream events=10 gap=1s", long.total(Duration::from_secs(2))).await;
    let told = stage.streams(Speaks::Anthropic.asks()).await;
    assert_eq!(told.line(), "answer | already-streaming timeout");
    assert_eq!(stage.millis(), 2_000);

    let stage = Stage::new(
        "stream events=2 then=stall",
        Policy::builder().idle(Duration::from_secs(7)),
    )
    .await;
    let told = stage.streams(Speaks::Anthropic.asks()).await;
    assert_eq!(told.line(), "answer | already-streaming timeout");
    assert_eq!(stage.millis(), 7_000);

    let stage = Stage::new("stream events=0 then=stall", long).await;
    let told = stage.streams(Speaks::Anthropic.asks()).await;
    assert_eq!(told.line(), "failed | deadline-passed timeout");
    assert_eq!(stage.millis(), 2_000);
}
