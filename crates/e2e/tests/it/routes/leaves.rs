//! A caller that leaves on its way from one upstream to the next: nothing of it is left anywhere.

use super::{Town, line, ok, plain, read, s, status};
use crate::cancel::Cut;
use crate::server::Step;
use crate::stage::Act;

#[tokio::test]
async fn a_caller_may_leave_anywhere_on_the_way() {
    // Could break wherever a place at one upstream, or a turn at the other, is held by a future that is gone.
    let script = |name: &str, nth: usize, _: &crate::server::Request| match (name, nth) {
        ("main", 0) => status(500).after(s(1)),
        ("main", _) => Step::answer(429, &[("retry-after", "20")], ""),
        ("spare", 0) => Step::answer(503, &[("retry-after", "3")], "").after(s(1)),
        _ => ok(),
    };
    let mut ended = Vec::new();
    for polls in 0.. {
        let town = Town::new(&["main", "spare"], plain().concurrency(1), script).await;
        let route = town.route();
        let act: Act<Option<String>> = Box::pin(async move {
            let cut = Cut::after(polls, async move { line(&route.call(read()).await) });
            cut.await
        });
        let left = town.stage.run_all(vec![act]).await.remove(0);
        for upstream in &town.upstreams {
            assert_eq!(upstream.attempts_out(), 0, "after {polls} polls");
            assert_eq!(upstream.calls_alive(), 0, "after {polls} polls");
            let load = upstream.load();
            assert_eq!(
                (load.in_flight, load.queued, load.saving),
                (0, 0, 0),
                "after {polls} polls"
            );
        }
        if let Some(whole) = left {
            assert_eq!(
                whole,
                "0 first failed, 0 retry throttled, 1 fallback failed, 1 retry answer, spare answered"
            );
            break;
        }
        ended.push(polls);
    }
    assert!(ended.len() > 5, "the call was left at {ended:?}");
}
