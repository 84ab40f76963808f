//! Many chats at once.
//!
//! What can go wrong: more at once than was agreed, an input that is read ahead of what is sent, a failure that takes the
//! others with it, results in an order that nobody said, and calls that run on when nobody waits for them.

use super::{OPENAI, Scene};
use seawall::Policy;
use seawall::ai::{Chat, ChatMany, ErrorKind, Progress};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// So many chats, and how many of them were taken from the iterator.
fn counted(chats: usize) -> (impl Iterator<Item = Chat> + Send, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let chats = (0..chats).map(move |place| {
        count.fetch_add(1, Ordering::SeqCst);
        Chat::new("m").user(format!("number {place}"))
    });
    (chats, taken)
}

async fn all<I: Iterator<Item = Chat> + Send>(mut many: ChatMany<I>) -> Vec<(usize, bool)> {
    let mut ended = Vec::new();
    while let Some((place, result)) = many.next().await {
        ended.push((place, result.is_ok()));
    }
    assert!(many.next().await.is_none(), "the end stays the end");
    ended
}

#[tokio::test]
async fn so_many_run_at_a_time_and_no_more() {
    // Breaks when the bound is off by one either way: twenty of one second each, five at once, are four seconds.
    for (concurrency, secs) in [
        (None, 4),
        (Some(1), 20),
        (Some(0), 20),
        (Some(20), 1),
        (Some(1_000), 1),
    ] {
        let scene = Scene::new(OPENAI, "200 delay=1s", Policy::builder()).await;
        let many = scene.client.chat_many(counted(20).0);
        let many = match concurrency {
            Some(chats) => many.concurrency(chats),
            None => many,
        };
        let mut ended = scene.play(all(many)).await;
        ended.sort_unstable();
        assert_eq!(ended, (0..20).map(|place| (place, true)).collect::<Vec<_>>());
        assert_eq!(
            (scene.stage.clock_secs(), scene.sends()),
            (secs, 20),
            "{concurrency:?}"
        );
    }
}

#[tokio::test]
async fn one_failure_takes_nothing_from_the_others() {
    // Breaks when an error ends the whole, or when its result is lost.
    let scene = Scene::new(OPENAI, "200, 400, 200", Policy::builder()).await;
    let results = scene
        .play(scene.client.chat_many(counted(4).0).concurrency(1).collect())
        .await;
    let kinds: Vec<_> = results
        .iter()
        .map(|result| result.as_ref().err().map(|error| error.kind().clone()))
        .collect();
    assert_eq!(
        kinds,
        [None, Some(ErrorKind::Refused { status: 400 }), None, None]
    );
}

#[tokio::test]
async fn results_come_as_they_end_or_in_order_and_what_is_kept_has_a_bound() {
    // Breaks when one that is slow lets thousands be run and kept behind it, or when the order is not the input's.
    for ordered in [false, true] {
        let scene = Scene::new(OPENAI, "200 delay=60s, 200 delay=1s", Policy::builder()).await;
        let (chats, taken) = counted(40);
        let many = scene.client.chat_many(chats).concurrency(2);
        let mut many = if ordered { many.ordered() } else { many };
        let act = async {
            let mut places = Vec::new();
            let mut ahead_max = 0;
            while let Some((place, result)) = many.next().await {
                result.unwrap();
                ahead_max = ahead_max.max(taken.load(Ordering::SeqCst) - places.len());
                places.push(place);
            }
            (places, ahead_max)
        };
        let (places, ahead_max) = scene.play(act).await;
        assert_eq!(places.is_sorted(), ordered, "{places:?}");
        assert_eq!(places.len(), 40);
        assert_eq!(ahead_max, if ordered { 8 } else { 2 });
    }
}

#[tokio::test]
async fn nothing_is_taken_or_sent_before_it_is_asked_for() {
    // Breaks when a file of a million lines is read before the first is answered.
    let scene = Scene::new(OPENAI, "200", Policy::builder()).await;
    let (chats, taken) = counted(1_000);
    let mut many = scene.client.chat_many(chats).concurrency(3);
    assert_eq!((taken.load(Ordering::SeqCst), scene.sends()), (0, 0));
    scene.play(many.next()).await.unwrap().1.unwrap();
    assert!(taken.load(Ordering::SeqCst) <= 3);
}

#[tokio::test]
async fn progress_is_told_of_every_begin_and_every_end() {
    // Breaks when a count misses one, or tokens are those of the last answer alone.
    let scene = Scene::new(OPENAI, "200, 400, 200", Policy::builder()).await;
    let told: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let keeper = Arc::clone(&told);
    let many = scene.client.chat_many(counted(3).0).concurrency(2);
    let many = many.on_progress(move |progress| keeper.lock().unwrap().push(*progress));
    scene.play(all(many)).await;
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 6);
    assert!(told.iter().all(|progress| progress.in_flight() <= 2));
    let last = told.last().unwrap();
    assert_eq!(
        (last.begun, last.answered, last.failed, last.in_flight()),
        (3, 2, 1, 0)
    );
    assert!(last.usage.tokens_in > 0 && last.usage.tokens_out > told[2].usage.tokens_out);
}

#[tokio::test]
async fn whoever_stops_waiting_stops_what_is_in_flight() {
    // Breaks when tasks outlive the one who wanted their answers, and are paid for.
    let scene = Scene::new(OPENAI, "200, hang", Policy::builder()).await;
    let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut many = scene.client.chat_many(counted(10).0).concurrency(4);
    scene.play(many.next()).await.unwrap().1.unwrap();
    drop(many);
    crate::stage::soon(scene.mock.quiet()).await;
    assert_eq!((scene.client.attempts_out(), scene.sends()), (0, scene.sends()));
    let left = scene
        .mock
        .journal()
        .attempts
        .iter()
        .filter(|attempt| attempt.client_left.is_some())
        .count();
    assert_eq!(left, scene.sends() - 1);
    let now = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert!(
        now <= alive + scene.sends(),
        "what is left are the mock's connections: {now}, {alive} before"
    );
}
