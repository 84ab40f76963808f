//! Each fault is on the wire what its name says, as a raw socket sees it.

use super::*;

mod catalogue;
mod clients;
mod frames;
mod leaves;
mod raw;
mod seen;

#[tokio::test]
async fn a_stop_ends_every_later_connection_without_a_byte() {
    // Could break if the last step went on.
    let mock = Mock::start("GET /x = 200, stop").await.unwrap();
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
    for _ in 0..2 {
        assert_eq!(
            raw(&mock, "GET /x HTTP/1.1\r\n\r\n").await,
            (String::new(), End::Fin)
        );
    }
    mock.quiet().await;
    assert_eq!(mock.journal().attempts[2].fault.as_deref(), Some("stop"));
}

#[tokio::test]
async fn a_position_moves_when_the_attempt_is_matched_and_not_when_it_is_answered() {
    // Could break if a slow first answer held the step: a client that comes back would meet it again.
    let mock = Mock::start("GET /x = hang, 200").await.unwrap();
    let mut first = TcpStream::connect(mock.address()).await.unwrap();
    first.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
    while mock.journal().attempts.is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&ask(&mock, "GET", "/x", "").await), 200);
}

#[tokio::test]
async fn an_error_in_a_200_is_the_dialects_error() {
    let mock = Mock::start("* /* = error-in-200").await.unwrap();
    let answer = ask(&mock, "POST", "/v1/chat/completions", "{}").await;
    assert_eq!(
        (status(&answer), header(&answer, "x-seawall-fault")),
        (200, Some("error-in-200"))
    );
    assert_eq!(json(&answer)["error"]["type"], "server_error");
}

#[tokio::test]
async fn an_action_that_this_protocol_lacks_is_never_a_quiet_200() {
    // Could break if only the loader knew what a protocol has: a listener of both takes it.
    let mix = crate::plan::Mix::new(vec![("goaway".parse().unwrap(), 1)]).unwrap();
    let rule = Rule::new(crate::plan::Pattern::any(), crate::plan::Answers::Mix(mix));
    let mock = Mock::builder().rule(rule).start().await.unwrap();
    let answer = ask(&mock, "GET", "/x", "").await;
    assert_eq!(
        (status(&answer), header(&answer, "x-seawall-fault")),
        (500, Some("not-served"))
    );
}
