//! Clients whose windows do not let an answer through.

use super::*;
use crate::plan::{Limit, Rule};
use std::num::NonZeroU32;

#[tokio::test]
async fn an_answer_that_waits_for_a_window_is_neither_sent_nor_over() {
    // Could break if the place were given back, or the bytes counted, by what the mock means to send: a client that takes
    // its time over a download would let the next one in beside it, and one that leaves would have had nothing of it.
    let rule = Rule {
        limit: Some(Limit {
            concurrency: NonZeroU32::new(1),
            ..Limit::default()
        }),
        ..Rule::parse("GET /x = truncate at=200000").unwrap()
    };
    let mock = Mock::builder().rule(rule).start().await.unwrap();
    let mut raw = Raw::open(&mock, &[(4, 1_000)]).await;
    raw.get(1, "/x").await;
    let frames = [raw.next().await.unwrap(), raw.next().await.unwrap()];
    assert_eq!(
        (kinds(&frames), body_bytes(&frames)),
        (vec![HEADERS, DATA], 1_000)
    );
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 429);
    drop(raw);
    mock.quiet().await;
    let attempts = mock.journal().attempts;
    assert!(attempts[0].client_left.is_some());
    let sent = attempts[0].bytes_out;
    assert!((1_000..2_000).contains(&sent), "{sent}");
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
}
