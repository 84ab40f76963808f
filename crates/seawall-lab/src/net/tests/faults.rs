//! Each fault is on the wire what its name says, as a raw socket sees it.

use super::*;

#[tokio::test]
async fn a_reset_is_an_rst_and_not_an_end() {
    // Could break if the linger were not set: the client would see a clean end.
    let mock = Mock::start("GET /x = reset").await.unwrap();
    assert_eq!(
        raw(&mock, "GET /x HTTP/1.1\r\n\r\n").await,
        (String::new(), End::Rst)
    );
    let attempt = &mock.journal().attempts[0];
    assert_eq!(
        (attempt.fault.as_deref(), attempt.status, attempt.bytes_out),
        (Some("reset"), None, 0)
    );
}

#[tokio::test]
async fn a_reset_after_some_bytes_delivers_those_bytes() {
    // Could break if the reset threw away what was still on its way.
    let mock = Mock::start("GET /x = reset after=5").await.unwrap();
    let (answer, end) = raw(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
    assert_eq!((status(&answer), body(&answer).len(), end), (200, 5, End::Rst));
    assert_eq!(header(&answer, "x-seawall-fault"), Some("reset"));
}

#[tokio::test]
async fn a_close_is_an_end_without_a_byte() {
    // Could break if the close came before the request was read, or a status were sent first.
    let mock = Mock::start("POST /x = close").await.unwrap();
    let request = format!(
        "POST /x HTTP/1.1\r\ncontent-length: 200000\r\n\r\n{}",
        "a".repeat(200_000)
    );
    assert_eq!(raw(&mock, &request).await, (String::new(), End::Fin));
    mock.quiet().await;
    let attempt = &mock.journal().attempts[0];
    assert_eq!((attempt.fault.as_deref(), attempt.bytes_out), (Some("close"), 0));
    assert_eq!(attempt.bytes_in, request.len() as u64);
}

#[tokio::test]
async fn a_close_after_some_bytes_ends_short_of_the_length() {
    let mock = Mock::start("GET /x = close after=0").await.unwrap();
    let (answer, end) = raw(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
    assert_eq!((status(&answer), body(&answer), end), (200, "", End::Fin));
    assert_ne!(header(&answer, "content-length"), Some("0"));
}

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
async fn a_truncated_answer_promises_more_than_it_sends() {
    // Could break if the length were that of the part: clients would take it for whole.
    for (at, part) in [
        ("50%", None),
        ("0%", Some(0)),
        ("3", Some(3)),
        ("100000", Some(100_000)),
    ] {
        let mock = Mock::start(&format!("GET /x = truncate at={at}")).await.unwrap();
        let (answer, end) = raw(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
        let promised: usize = header(&answer, "content-length").unwrap().parse().unwrap();
        assert_eq!((status(&answer), end), (200, End::Fin), "at={at}");
        assert_eq!(body(&answer).len(), part.unwrap_or(promised / 2), "at={at}");
        assert!(promised > body(&answer).len(), "at={at}: {promised} promised");
        assert_eq!(header(&answer, "x-seawall-fault"), Some("truncate"));
    }
}

#[tokio::test]
async fn a_hang_sends_nothing_until_the_client_leaves() {
    // Could break if the mock had a limit of its own, or missed the client's end.
    let mock = Mock::start("GET /x = hang").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
    let silence = tokio::time::timeout(Duration::from_millis(150), stream.read_u8()).await;
    assert!(silence.is_err(), "the mock said something");
    assert_eq!(mock.journal().open, 1);
    drop(stream);
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("the mock notices");
    let attempt = &mock.journal().attempts[0];
    assert_eq!(
        (attempt.fault.as_deref(), attempt.status, attempt.bytes_out),
        (Some("hang"), None, 0)
    );
    assert!(
        attempt.client_left.is_some_and(|left| left > attempt.at),
        "{attempt:?}"
    );
}

#[tokio::test]
async fn a_hang_after_some_bytes_sends_those_and_stops() {
    let mock = Mock::start("GET /x = hang after=4").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("\r\n\r\n")
        || body(&String::from_utf8_lossy(&bytes)).len() < 4
    {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
    }
    let silence = tokio::time::timeout(Duration::from_millis(100), stream.read_u8()).await;
    assert!(silence.is_err(), "the mock went on");
    assert_eq!(body(&String::from_utf8_lossy(&bytes)).len(), 4);
}

#[tokio::test]
async fn a_delayed_answer_is_late_and_whole() {
    // Could break if the delay came after the first byte, or not at all.
    let mock = Mock::start("GET /x = 200 delay=120ms").await.unwrap();
    let answer = ask(&mock, "GET", "/x", "").await;
    assert_eq!(
        (status(&answer), header(&answer, "x-seawall-fault")),
        (200, Some("delay"))
    );
    mock.quiet().await;
    let attempt = &mock.journal().attempts[0];
    let waited = attempt.answered.unwrap().since(attempt.at);
    assert!((120..10_000).contains(&waited.as_millis()), "{waited}");
}

#[tokio::test]
async fn a_client_that_leaves_during_a_delay_is_noticed_at_once() {
    // Could break if the mock looked at the socket only when it writes.
    let mock = Mock::start("GET /x = 200 delay=1h").await.unwrap();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").await.unwrap();
    while mock.journal().open == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    tokio::time::timeout(PATIENCE, mock.quiet())
        .await
        .expect("the mock notices");
    assert!(mock.journal().attempts[0].client_left.is_some());
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
async fn an_unserved_action_of_a_rule_made_in_code_is_never_a_quiet_200() {
    // Could break if only the loader knew what is served.
    let mix = crate::plan::Mix::new(vec![("goaway".parse().unwrap(), 1)]).unwrap();
    let rule = Rule::new(crate::plan::Pattern::any(), crate::plan::Answers::Mix(mix));
    let mock = Mock::builder().rule(rule).start().await.unwrap();
    let answer = ask(&mock, "GET", "/x", "").await;
    assert_eq!(
        (status(&answer), header(&answer, "x-seawall-fault")),
        (500, Some("not-served"))
    );
}

#[tokio::test]
async fn curl_sees_each_fault_by_its_own_exit_code() {
    // Could break if a fault were another one to a real client: 18 is a partial body, 56 a reset, 52 no answer.
    if std::process::Command::new("curl")
        .arg("--version")
        .output()
        .is_err()
    {
        return;
    }
    for (action, code) in [
        ("200", 0),
        ("truncate at=50%", 18),
        ("reset", 56),
        ("close", 52),
        ("reset after=3", 56),
        ("hang", 28),
    ] {
        let mock = Mock::start(&format!("GET /x = {action}")).await.unwrap();
        let url = format!("{}/x", mock.url());
        let curl = tokio::task::spawn_blocking(move || {
            let limit = if code == 28 { "0.3" } else { "20" };
            std::process::Command::new("curl")
                .args(["-sS", "--noproxy", "*", "-m", limit, &url])
                .output()
        });
        let output = curl.await.unwrap().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{action}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
