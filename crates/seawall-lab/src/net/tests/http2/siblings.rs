//! Streams of one connection that ask for its end at the same time.

use super::*;

#[tokio::test]
async fn siblings_that_ask_for_the_end_at_once_all_end() {
    // Could break if the connection waited for its streams to end, and one of them for its own demand to be heard: it
    // stays open in the journal for ever, and whoever waits for quiet waits with it.
    for action in [
        "close",
        "reset",
        "half-close",
        "garbage",
        "goaway",
        "reset after=5",
    ] {
        let mock = mock(action).await;
        let mut raw = Raw::open(&mock, &[]).await;
        for stream in (1..41).step_by(2) {
            raw.get(stream, "/x").await;
        }
        while raw.next().await.is_ok() {}
        drop(raw);
        let quiet = tokio::time::timeout(PATIENCE, mock.quiet()).await;
        quiet.unwrap_or_else(|_| panic!("{action}: {} are open", mock.journal().open));
        let fault = action.split(' ').next();
        let journal = mock.journal();
        assert!(!journal.attempts.is_empty(), "{action}");
        for attempt in &journal.attempts {
            assert_eq!(attempt.fault.as_deref(), fault, "{action}: {attempt:?}");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_an_unfinished_goaway_leaves_nothing_open() {
    // Could break if who asked for the GOAWAY waited for the streams before it, and nobody told it of the client's end.
    let told = Mock::builder().route("GET /x = goaway").route("GET /hang = hang");
    let mock = told.start().await.unwrap();
    let mut raw = Raw::open(&mock, &[]).await;
    raw.get(1, "/hang").await;
    while mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    raw.get(3, "/x").await;
    assert_eq!(raw.next().await.unwrap().kind, GOAWAY);
    drop(raw);
    let quiet = tokio::time::timeout(PATIENCE, mock.quiet()).await;
    quiet.unwrap_or_else(|_| panic!("{} are open", mock.journal().open));
    let attempts = mock.journal().attempts;
    assert!(attempts[0].client_left.is_some(), "the hang was kept, and left");
    assert_eq!(attempts[1].fault.as_deref(), Some("goaway"));
    assert!(attempts[1].client_left.is_none(), "it had its GOAWAY");
}
