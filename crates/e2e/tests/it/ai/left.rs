//! What is left when a caller, or the client itself, goes: nothing.

use super::{DIALECTS, KEY, Scene, chat};
use crate::cancel::Cut;
use crate::server::{Server, Step};
use crate::stage::soon;
use seawall::Policy;
use seawall::ai::{Client, Key};
use seawall::crank::CrankedClock;

#[tokio::test]
async fn a_caller_that_leaves_at_any_point_leaves_nothing() {
    // Breaks when a call that is dropped keeps a place, a seat in the engine or a socket.
    for dialect in DIALECTS {
        for polls in 0.. {
            let scene = Scene::new(dialect, "503, 429 retry-after=1, 200", Policy::builder()).await;
            let ended = scene.play(Cut::after(polls, scene.client.chat(chat()))).await;
            let upstream = scene.client.upstreams().next().unwrap();
            assert_eq!(
                (scene.client.attempts_out(), upstream.calls_alive()),
                (0, 0),
                "after {polls} polls"
            );
            soon(scene.mock.quiet()).await;
            if let Some(ended) = ended {
                ended.unwrap();
                break;
            }
        }
    }
}

#[tokio::test]
async fn the_last_clone_takes_sockets_and_tasks_with_it() {
    // Breaks when a pool, a timer or a task of the client outlives it.
    let clock = CrankedClock::new();
    let body = r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":
        {"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}"#;
    let answer = move |_: usize, _: &crate::server::Request| {
        Step::answer(200, &[("content-type", "application/json")], body)
    };
    let server = Server::start(&clock, answer).await;
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let client = Client::builder()
        .base_url(server.url())
        .key(Key::new(KEY))
        .build()
        .unwrap();
    assert_eq!(server.accepted(), 0, "connections are made lazily");
    let other = client.clone();
    let chats = (0..3).map(|_| chat());
    for result in soon(client.chat_many(chats).collect()).await {
        assert_eq!(result.unwrap().text(), "Hi");
    }
    drop(client);
    assert_eq!(soon(other.chat(chat())).await.unwrap().text(), "Hi");
    drop(other);
    soon(server.has_open(0)).await;
    // The server's own task of a connection ends after it has said so.
    while alive() > before {
        tokio::task::yield_now().await;
    }
}
