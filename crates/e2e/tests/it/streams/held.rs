//! What a stream holds until its last byte, and what is judged at its first.

use super::stage::{Speaks, Stage, Told, recorded};
use seawall::crank::Act;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;

#[tokio::test]
async fn a_place_is_held_to_the_last_byte_and_the_next_call_waits_for_it() {
    // Breaks when a stream gives its place back with its first content: as many as anybody likes would be read at once.
    let stage = Stage::new("stream events=5 gap=1s", Policy::builder().concurrency(Some(1))).await;
    let acts = [0, 1].map(|_| {
        let (upstream, stage) = (stage.upstream.clone(), &stage);
        let act: Act<'_, (String, u64)> = Box::pin(async move {
            let told = Told::read(upstream.open(Speaks::Anthropic.asks()).await).await;
            (told.line(), stage.millis())
        });
        act
    });
    let ended = stage.play_all(acts.into()).await;
    let (one, other) = (ended[0].1.min(ended[1].1), ended[0].1.max(ended[1].1));
    assert!(
        ended.iter().all(|(line, _)| line == "answer | complete"),
        "{ended:?}"
    );
    assert!(one >= 4_000 && other >= 2 * one, "{ended:?}");
    stage.nothing_is_left().await;
}

#[tokio::test]
async fn a_stream_is_judged_at_its_first_content_and_its_end_moves_no_breaker() {
    // Breaks when a stream that is cut in the middle counts against its server, which answered (rule H2): long streams of
    // a busy day would open the breaker; or when one that never began does not count.
    let five = || {
        Policy::builder()
            .retries(0)
            .edit_breaker(|breaker| breaker.consecutive(5))
    };
    for (events, last) in [
        (2, "answer | already-streaming cut"),
        (0, "none | breaker-open -"),
    ] {
        let stage = Stage::new(&format!("stream events={events} then=cut"), five()).await;
        let mut lines = Vec::new();
        for _ in 0..6 {
            lines.push(stage.streams(Speaks::Anthropic.asks()).await.line());
            stage.clock.advance(Duration::from_millis(200));
        }
        let last_line = lines.last().unwrap();
        let is_refused = last_line.contains("breaker-open");
        assert_eq!(is_refused, last.contains("breaker-open"), "{lines:?}");
    }
}

#[tokio::test]
async fn what_a_stream_tells_is_recorded_in_the_order_of_its_life() {
    // Breaks when an attempt is settled twice or never, or when a call is judged again after its commit.
    let stage = Stage::new("stream events=2 then=cut", Policy::builder()).await;
    stage.streams(Speaks::Anthropic.asks()).await;
    let begun = ["sent first", "committed"];
    assert_eq!(
        recorded(&stage.upstream.events()),
        [&begun[..], &["met failed", "finished already-streaming"]].concat()
    );
    let stage = Stage::new("stream events=2", Policy::builder()).await;
    stage.streams(Speaks::Anthropic.asks()).await;
    assert_eq!(
        recorded(&stage.upstream.events()),
        [&begun[..], &["met answer", "finished succeeded"]].concat()
    );
}

#[tokio::test]
async fn of_two_attempts_the_first_with_content_wins_and_the_other_is_closed() {
    // Breaks when the head decides and not the content, when both are handed on, or when the loser is read on for nobody.
    let policy = Policy::builder().hedge_after(Duration::from_secs(1));
    let stage = Stage::new("stream events=0 then=stall, stream events=5 gap=100ms", policy).await;
    let told = stage.streams(Speaks::OpenAi.asks()).await;
    assert_eq!(told.line(), "answer | complete");
    assert_eq!(stage.asked(), 2);
    stage.nothing_is_left().await;
    let journal = stage.mock.journal();
    assert!(
        journal.attempts[0].client_left.is_some(),
        "the loser's socket is closed"
    );
    assert!(journal.attempts[1].client_left.is_none());
}

#[tokio::test]
async fn tokens_are_settled_by_what_the_stream_says() {
    // Breaks when a stream keeps its estimate for ever: a minute's tokens would be gone with a few short answers.
    let policy = Policy::builder().tokens_per_minute(Some(1_000));
    let stage = Stage::new("stream events=3", policy).await;
    let ask = || {
        seawall::Call::post_json(
            Speaks::Anthropic.path(),
            r#"{"model":"small-1","stream":true,"max_tokens":900,"messages":[{"role":"user","content":"Why?"}]}"#,
        )
    };
    for _ in 0..5 {
        assert_eq!(stage.streams(ask()).await.line(), "answer | complete");
    }
    assert!(stage.millis() < 60_000, "{}", stage.millis());
    stage.nothing_is_left().await;
}
