use crate::listener::HttpVersions;
use crate::net::tests::{ask, status};
use crate::net::{ClockError, Mock, RouteError};
use expect_test::expect;
use seawall_core::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Sends a request that is going to be kept waiting, and returns when it is.
async fn kept_waiting(mock: &Mock, request: &str) -> TcpStream {
    let before = mock.kept_waiting();
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    while mock.kept_waiting() == before {
        tokio::task::yield_now().await;
    }
    stream
}

#[tokio::test]
async fn an_hour_of_delay_passes_when_it_is_told_to() {
    // Could break if a turn left the sleeper behind, or were not noted in the journal's own times.
    let mock = Mock::builder()
        .route("GET /x = 200 delay=1h")
        .manual_clock()
        .start()
        .await
        .unwrap();
    let mut stream = kept_waiting(&mock, "GET /x HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    mock.advance(secs(3_599)).await.unwrap();
    assert_eq!(mock.journal().open, 1);
    assert_eq!(mock.clock().next, Some(Instant::START.after(secs(3_600))));
    mock.advance(secs(1)).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(status(&answer), 200);
    mock.quiet().await;
    assert_eq!(mock.attempts("/x").unwrap()[0].took(), Some(secs(3_600)));
}

#[tokio::test]
async fn whoever_waits_again_and_again_does_each_wait_on_the_way_of_one_turn() {
    // Could break if time went to the end of a turn at once: a body in twenty pieces would take twenty turns.
    let mock = Mock::builder()
        .route("GET /x = drip bps=1")
        .manual_clock()
        .start()
        .await
        .unwrap();
    let mut stream = kept_waiting(&mock, "GET /x HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    mock.advance(secs(600)).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    mock.quiet().await;
    // One byte a second, the first at once.
    let took = mock.attempts("/x").unwrap()[0].took().unwrap();
    assert_eq!(took, secs(body.len() as u64 - 1));
}

#[tokio::test]
async fn steps_go_from_one_wait_to_the_next_and_end_where_nobody_waits() {
    // Could break if a step without anybody went to the end of time.
    let mock = Mock::builder()
        .route("GET /x = 200 delay=3s, 200 delay=2s")
        .manual_clock()
        .start()
        .await
        .unwrap();
    let clients = [
        kept_waiting(&mock, "GET /x HTTP/1.1\r\n\r\n").await,
        kept_waiting(&mock, "GET /x HTTP/1.1\r\n\r\n").await,
    ];
    assert_eq!(mock.step().await.unwrap(), Instant::START.after(secs(2)));
    assert_eq!(mock.step().await.unwrap(), Instant::START.after(secs(3)));
    assert!(
        mock.step()
            .await
            .unwrap_err()
            .to_string()
            .contains("no attempt waits")
    );
    let now = mock.clock().now;
    assert_eq!((now, mock.journal().open), (Instant::START.after(secs(3)), 0));
    drop(clients);
}

#[tokio::test]
async fn a_scale_shrinks_delays_and_not_what_is_said() {
    // Could break if the head were scaled, too: a client that obeys would come a tenth too early by the mock's own time.
    let mock = Mock::builder()
        .route("GET /x = 429 retry-after=120 delay=100s")
        .time_scale("1000".parse().unwrap())
        .start()
        .await
        .unwrap();
    // In real time it would take 100 s; the test's own patience is shorter.
    let answer = ask(&mock, "GET", "/x", "").await;
    assert!(answer.contains("retry-after: 120\r\n"), "{answer}");
    mock.quiet().await;
    let attempt = mock.attempts("/x").unwrap().remove(0);
    assert!(attempt.took().unwrap() >= secs(100));
    assert_eq!(attempt.hint.unwrap().wait, secs(120));
    assert!(
        mock.advance(secs(1))
            .await
            .unwrap_err()
            .to_string()
            .contains("runs by itself")
    );
}

#[tokio::test]
async fn routes_change_between_two_attempts() {
    // Could break if an edit reached a copy of the plan, or began what it did not name again.
    let mock = Mock::start("GET /a = 501, 502").await.unwrap();
    assert_eq!(status(&ask(&mock, "GET", "/a", "").await), 501);
    mock.route("GET /b = 418").unwrap();
    assert_eq!(status(&ask(&mock, "GET", "/b", "").await), 418);
    assert_eq!(status(&ask(&mock, "GET", "/a", "").await), 502);
    mock.reset_route("GET /a").unwrap();
    assert_eq!(status(&ask(&mock, "GET", "/a", "").await), 501);
    mock.remove_route("GET /b").unwrap();
    assert_eq!(status(&ask(&mock, "GET", "/b", "").await), 404);
    assert_eq!(mock.attempts("GET /a").unwrap().len(), 3);
    assert_eq!(mock.attempts("POST /a").unwrap().len(), 0);
    assert_eq!(mock.attempts("/*").unwrap().len(), 5);
}

#[tokio::test]
async fn a_name_that_no_route_has_is_an_error_and_never_nothing() {
    // Could break if a misspelt pattern just matched nothing: "no attempt came" would pass for the client's doing.
    let mock = Mock::start("POST /v1/payments = 503").await.unwrap();
    let told: Vec<String> = [
        mock.remove_route("GET /v1/payments").unwrap_err(),
        mock.reset_route("POST /v1/payment").unwrap_err(),
        mock.reset_route("POST /elsewhere").unwrap_err(),
        mock.reset_route("/v1/payments").unwrap_err(),
    ]
    .iter()
    .map(RouteError::to_string)
    .chain(["v1/payments", "/a b", "/v1/*x", ""].map(|text| mock.attempts(text).unwrap_err().to_string()))
    .collect();
    expect![[r#"
        no route is `GET /v1/payments`; there are POST /v1/payments; did you mean `POST /v1/payments`?
        no route is `POST /v1/payment`; there are POST /v1/payments; did you mean `POST /v1/payments`?
        no route is `POST /elsewhere`; there are POST /v1/payments
        1:1: a route has no path
        1 | /v1/payments
          | ^^^^^^^^^^^^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:1: a route has no path
        1 | v1/payments
          | ^^^^^^^^^^^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:3: a pattern ends after its path
        1 | /a b
          |   ^^
          = expected `PATH` or `METHOD PATH`
        1:1: `*` stands at the end of a path
        1 | /v1/*x
          | ^^^^^^
        1:1: a route has no path
        1 | 
          | ^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
    "#]]
    .assert_eq(&(told.join("\n") + "\n"));
}

#[tokio::test]
async fn a_route_that_no_connection_can_meet_is_refused_while_the_mock_runs_too() {
    // Could break if only what a mock begins with were looked at: the fault would never come, and the test with it pass.
    let mock = Mock::builder().http(HttpVersions::Http1).start().await.unwrap();
    let error = mock.route("GET /x = goaway").unwrap_err().to_string();
    assert!(error.contains("goaway"), "{error}");
    let answer = ask(&mock, "POST", "/__seawall/routes", "GET /x = goaway").await;
    assert_eq!(status(&answer), 400, "{answer}");
    assert_eq!(
        status(&ask(&mock, "GET", "/x", "").await),
        200,
        "nothing was put in"
    );
}

#[tokio::test]
async fn a_clock_that_cannot_go_that_far_says_so_and_stays() {
    // Could break if the end of time were taken for "to whoever is next": the turn is answered well, and nothing has moved.
    let mock = Mock::builder()
        .route("GET /x = 200")
        .manual_clock()
        .start()
        .await
        .unwrap();
    let before = mock.clock().now;
    let error = mock.advance(Duration::MAX).await;
    assert_eq!(error, Err(ClockError::TooFar));
    assert_eq!(mock.clock().now, before);
    mock.advance(secs(3_600)).await.unwrap();
    assert_eq!(mock.clock().now.since(before).as_nanos(), secs(3_600).as_nanos());
}
