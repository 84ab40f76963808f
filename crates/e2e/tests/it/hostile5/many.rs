//! Many chats whose caller or whose peer is not in its right mind.

use super::peer::{Peer, client};
use crate::stage::soon;
use seawall::ai::{Chat, Dialect};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};

const ANSWER: &[u8] = br#"{"id":"c","model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":18446744073709551615}}"#;

fn chats() -> impl Iterator<Item = Chat> {
    (0..).map(|place: u32| Chat::new("gpt-4.1").user(place.to_string()))
}

#[tokio::test]
async fn chats_without_an_end_take_what_was_asked_for_and_leave_nothing() {
    // Breaks when an iterator is read ahead of its places, when sums of lies overflow, or when what is in flight outlives
    // whoever asked.
    let peer = Peer::answering(200, "content-type: application/json\r\n", ANSWER).await;
    let client = client(Dialect::OpenAi, peer.url());
    let mut many = client.chat_many(chats()).concurrency(5);
    for _ in 0..50 {
        soon(many.next()).await.unwrap().1.unwrap();
    }
    let progress = many.progress();
    assert_eq!((progress.answered, progress.failed), (50, 0));
    assert!(progress.begun <= 55, "{progress:?}");
    assert_eq!(progress.usage.tokens_in, u64::MAX);
    drop(many);
    soon(async {
        while client.attempts_out() > 0 || peer.open() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_iterator_that_panics_takes_no_answer_with_it() {
    // Breaks when a panic of the caller's loses what was answered, or holds its place for good.
    let peer = Peer::answering(200, "content-type: application/json\r\n", ANSWER).await;
    let client = client(Dialect::OpenAi, peer.url());
    let mut taken = 0;
    let mut chats = chats().take(9);
    let chats = std::iter::from_fn(move || {
        taken += 1;
        assert_ne!(taken, 4, "the caller's own");
        chats.next()
    });
    let mut many = client.chat_many(chats).concurrency(5);
    {
        let mut next = pin!(many.next());
        let mut polled = || next.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(catch_unwind(AssertUnwindSafe(&mut polled)).is_err());
    }
    let mut places = Vec::new();
    while let Some((place, answer)) = soon(many.next()).await {
        answer.unwrap();
        places.push(place);
    }
    places.sort_unstable();
    assert_eq!(places, (0..9).collect::<Vec<_>>());
    assert_eq!(client.attempts_out(), 0);
}
