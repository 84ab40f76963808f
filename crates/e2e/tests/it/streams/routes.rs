//! Streams along a route: another candidate before the first content, and none after it.

use super::stage::{Speaks, Told};
use crate::stage::soon;
use seawall::Route;
use seawall::upstream::Upstream;
use seawall_core::policy::Policy;
use seawall_lab::net::Mock;

async fn mock(script: &str) -> Mock {
    Mock::start(&format!("POST /* = {script}")).await.unwrap()
}

#[tokio::test]
async fn a_stream_moves_on_before_its_first_content_and_never_after_it() {
    // Breaks when a route hands on the first head that comes, or when the second half of an answer is another's.
    for (script, line, asked) in [
        ("stream events=0 then=cut", "failed answer | complete", 1),
        ("503", "failed answer | complete", 1),
        ("stream events=2 then=cut", "answer | already-streaming cut", 0),
    ] {
        let (main, spare) = (mock(script).await, mock("stream events=3").await);
        let policy = Policy::builder().retries(0).build().unwrap();
        let main = Upstream::builder(&main.url())
            .unwrap()
            .name("main")
            .policy(policy)
            .build()
            .unwrap();
        let beside = Upstream::builder(&spare.url())
            .unwrap()
            .name("spare")
            .policy(policy)
            .beside(&main);
        let route = Route::builder()
            .to(&main)
            .to(&beside.build().unwrap())
            .build()
            .unwrap();
        for told in [
            soon(async { Told::read(route.open(Speaks::OpenAi.asks()).await).await }).await,
            soon(async { Told::read(route.open_with(|_| Speaks::OpenAi.asks()).await).await }).await,
        ] {
            assert_eq!(told.line(), line, "{script}");
        }
        assert_eq!(spare.journal().attempts.len(), 2 * asked, "{script}");
        assert_eq!((main.attempts_out(), main.calls_alive()), (0, 0));
    }
}
