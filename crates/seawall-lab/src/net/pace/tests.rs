use super::*;
use seawall::crank::CrankedClock;

#[tokio::test]
async fn whom_time_has_come_for_is_not_kept_waiting_until_his_turn() {
    // Counted until his task runs, he lets whoever turns the clock turn it on past what he is about to do.
    let clock = CrankedClock::new();
    let pace = Pace::start(Some(Arc::new(clock.clone())), Passage::default());
    let waits = {
        let pace = pace.clone();
        tokio::spawn(async move { pace.pause(Duration::from_secs(1)).await })
    };
    clock.awaited().await;
    assert_eq!(pace.kept_waiting(), 1);
    assert!(clock.step().is_some());
    assert_eq!(pace.kept_waiting(), 0, "nothing else has run since");
    waits.await.unwrap();
    assert_eq!(pace.kept_waiting(), 0);
}
