use super::*;
use seawall::clock::Clock as _;
use seawall_core::time::Instant;
use std::sync::Arc;

async fn stage() -> Stage {
    let (clock, wires) = (CrankedClock::new(), Wires::new());
    let options = Mock::builder().route("GET /x = 200");
    let mock = options
        .clock(Arc::new(clock.clone()))
        .wires(&wires)
        .start()
        .await
        .unwrap();
    Stage::new(clock, wires, mock)
}

#[tokio::test]
async fn what_can_never_move_is_an_error_and_no_hang() {
    // An act that waits for what nobody does would otherwise wait for ever, without a word.
    let stage = stage().await;
    let never = std::future::pending::<()>();
    assert_eq!(stage.play_one(never).await, Err(Stuck::Still));
}

#[tokio::test]
async fn acts_end_at_their_times_and_are_told_in_their_order() {
    // An order by end instead of by place would give each caller another one's answer.
    let stage = stage().await;
    let clock = stage.clock.clone();
    let act = |seconds: u64| -> Act<'static, (u64, Duration)> {
        let clock = clock.clone();
        Box::pin(async move {
            let began = clock.now();
            clock.sleep_until(began.after(Duration::from_secs(seconds))).await;
            (seconds, clock.now().since(began))
        })
    };
    let ended = stage.play(vec![act(30), act(1), act(30), act(7)]).await.unwrap();
    let expected = [30, 1, 30, 7].map(|seconds| (seconds, Duration::from_secs(seconds)));
    assert_eq!(ended, expected);
}

#[tokio::test]
async fn no_time_passes_while_bytes_are_on_their_way() {
    // On an idle machine bytes arrive at once, and a clock that turns too early is right nearly always.
    let stage = stage().await;
    let caller = "127.0.0.1:9".parse().unwrap();
    let (here, there) = (stage.wires.caller(caller), stage.wires.server(caller));
    here.wrote(1);
    let clock = stage.clock.clone();
    let arrives = tokio::spawn(async move {
        for _ in 0..500 {
            tokio::task::yield_now().await;
        }
        let arrived = clock.now();
        there.read(1);
        // Kept open, as connections are.
        (arrived, there)
    });
    let clock = stage.clock.clone();
    let sleep = clock.sleep_until(clock.now().after(Duration::from_secs(5)));
    stage.play_one(sleep).await.unwrap();
    let (arrived, _there) = arrives.await.unwrap();
    assert_eq!(arrived, Instant::START);
}
