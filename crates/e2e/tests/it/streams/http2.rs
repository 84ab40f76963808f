//! Streams over HTTP/2: its own faults, and siblings on one connection.

use super::stage::{Speaks, Stage};
use seawall::upstream::UpstreamBuilder;
use seawall_core::policy::Policy;

async fn stage(script: &str) -> Stage {
    Stage::with(
        script,
        Policy::builder(),
        |mock| mock,
        UpstreamBuilder::http2_prior_knowledge,
    )
    .await
}

#[tokio::test]
async fn a_stream_over_http2_ends_as_one_over_http1_does() {
    // Breaks when the end of a stream of frames is taken for the end of the answer.
    for (script, line, asked) in [
        ("stream events=3 gap=10ms", "answer | complete", 1),
        (
            "stream events=2 then=cut, stream",
            "answer | already-streaming cut",
            1,
        ),
        (
            "stream events=2 then=no-done, stream",
            "answer | already-streaming cut",
            1,
        ),
        (
            "stream events=2 then=stall, stream",
            "answer | already-streaming timeout",
            1,
        ),
        (
            "stream events=0 then=cut, stream events=2",
            "failed answer | complete",
            2,
        ),
        ("goaway, stream events=2", "failed answer | complete", 2),
        ("rst-stream, stream events=2", "failed answer | complete", 2),
        (
            "rst-stream error=refused-stream, stream events=2",
            "failed answer | complete",
            2,
        ),
    ] {
        let stage = stage(script).await;
        let told = stage.streams(Speaks::Anthropic.asks()).await;
        assert_eq!((told.line().as_str(), stage.asked()), (line, asked), "{script}");
        stage.nothing_is_left().await;
    }
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_reset_and_its_connection_goes_on() {
    // Breaks when a reader that leaves takes the connection of its siblings with it, or is sent to for ever.
    let stage = stage("stream events=2 then=stall, stream events=2").await;
    let upstream = stage.upstream.clone();
    stage
        .play(async move {
            let mut opened = upstream.open(Speaks::Anthropic.asks()).await.unwrap();
            assert!(opened.event().await.unwrap().is_ok());
        })
        .await;
    stage.nothing_is_left().await;
    assert!(stage.mock.journal().attempts[0].client_left.is_some());
    assert_eq!(
        stage.streams(Speaks::Anthropic.asks()).await.line(),
        "answer | complete"
    );
}
