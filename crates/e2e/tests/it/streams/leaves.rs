//! A reader that leaves, at every point at which a stream can be waited for.

use super::stage::{Speaks, Stage, Told, recorded};
use crate::cancel::Cut;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;

/// Plays the script again and again; its reader leaves one poll later each time.
async fn check(script: &str, policy: seawall_core::policy::PolicyBuilder, polls_min: u32) {
    for polls in 0.. {
        let stage = Stage::new(script, policy).await;
        let upstream = stage.upstream.clone();
        let whole = async move { Told::read(upstream.open(Speaks::Anthropic.asks()).await).await };
        let told = stage.play(Cut::after(polls, whole)).await;
        stage.nothing_is_left().await;
        let load = stage.upstream.load();
        assert_eq!(
            [load.in_flight, load.promised, load.queued, load.saving],
            [0; 4],
            "in flight, promised, queued, saving after {polls} polls"
        );
        if let Some(told) = told {
            assert!(!told.text().is_empty());
            assert!(polls >= polls_min, "it was over after {polls} polls");
            return;
        }
    }
}

#[tokio::test]
async fn a_reader_that_leaves_leaves_nothing() {
    // Breaks when a stream that is dropped keeps its place, its call or its socket, whatever it waits for.
    check("stream events=3 gap=1s", Policy::builder(), 6).await;
}

#[tokio::test]
async fn a_reader_that_leaves_between_attempts_leaves_nothing() {
    // Breaks when a greeting that was held, or a wait for the next attempt, outlives its caller.
    check(
        "stream events=0 then=cut, 503 retry-after=1, stream events=3 gap=1s",
        Policy::builder(),
        8,
    )
    .await;
}

#[tokio::test]
async fn a_reader_that_leaves_a_hedged_stream_leaves_neither() {
    // Breaks when the loser, or the winner once its loop is over, stays in flight.
    let policy = Policy::builder().hedge_after(Duration::from_secs(1));
    check("stream events=0 then=stall, stream events=3 gap=2s", policy, 6).await;
}

#[tokio::test]
async fn a_reader_that_has_the_last_word_has_its_answer() {
    // Breaks when who stops reading at the last word, as it may, is taken for one that left half an answer.
    let stage = Stage::new("stream events=2", Policy::builder()).await;
    let upstream = stage.upstream.clone();
    stage
        .play(async move {
            let mut opened = upstream.open(Speaks::Anthropic.asks()).await.unwrap();
            while let Some(event) = opened.event().await {
                if event.unwrap().name == "message_stop" {
                    break;
                }
            }
        })
        .await;
    let told = recorded(&stage.upstream.events());
    assert_eq!(
        told,
        ["sent first", "committed", "met answer", "finished succeeded"]
    );
    stage.nothing_is_left().await;
}
