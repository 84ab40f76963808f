//! Clients that read slowly, never, or leave in the middle of a fault.

use super::super::*;
use seawall::crank::CrankedClock;
use tokio::net::TcpSocket;

/// More than all buffers between mock and client hold.
const HUGE_BYTES: usize = 32 * 1024 * 1024;
/// More than the client's side holds of it, and less than the mock's.
const TAIL_BYTES: usize = 512 * 1024;
/// What the client's side holds.
const CLIENT_BUFFER_BYTES: u32 = 64 * 1024;

async fn begin(mock: &Mock, request: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(CLIENT_BUFFER_BYTES).unwrap();
    let mut stream = socket.connect(mock.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    while mock.journal().open == 0 {
        tokio::task::yield_now().await;
    }
    stream
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future)
        .await
        .expect("it ends in time")
}

#[tokio::test]
async fn a_client_that_never_reads_keeps_nobody_else_waiting() {
    // Could break if a write were waited for with a lock held, or a client that leaves were noticed by reads alone.
    let mock = Mock::builder()
        .route(format!("GET /huge = truncate at={HUGE_BYTES}"))
        .route("GET /x = 200")
        .start()
        .await
        .unwrap();
    let stream = begin(&mock, "GET /huge HTTP/1.1\r\n\r\n").await;
    stream.readable().await.unwrap();
    assert_eq!(status(&in_time(ask(&mock, "GET", "/x", "")).await), 200);
    assert_eq!(mock.journal().open, 1);
    drop(stream);
    in_time(mock.quiet()).await;
    let attempt = &mock.journal().attempts[0];
    assert!(attempt.client_left.is_some(), "{attempt:?}");
    // What the system took before the client left was sent, though the whole was not.
    let sent = usize::try_from(attempt.bytes_out).unwrap();
    assert!((1..HUGE_BYTES).contains(&sent), "{attempt:?}");
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a reader that is slower than any pause of the mock; nothing is right because of it"
)]
async fn a_slow_reader_gets_every_byte_before_the_reset() {
    // Could break if the reset came some fixed time after the last write: it throws away what the system still holds.
    let mock = Mock::start(&format!("GET /x = reset after={HUGE_BYTES}"))
        .await
        .unwrap();
    let mut stream = begin(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(in_time(stream.read_u8()).await.unwrap());
    }
    let mut body = vec![0; HUGE_BYTES - TAIL_BYTES];
    in_time(stream.read_exact(&mut body)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    let mut tail = Vec::new();
    let end = in_time(stream.read_to_end(&mut tail)).await.unwrap_err();
    assert_eq!(
        (end.kind(), tail.len()),
        (io::ErrorKind::ConnectionReset, TAIL_BYTES)
    );
    in_time(mock.quiet()).await;
    let attempt = &mock.journal().attempts[0];
    assert_eq!(attempt.bytes_out, (head.len() + HUGE_BYTES) as u64);
    assert_eq!(attempt.client_left, None);
}

#[tokio::test]
async fn a_client_that_leaves_before_the_reset_is_noticed() {
    // Could break if the mock waited for ever for bytes to leave that nobody takes.
    let mock = Mock::start(&format!("GET /x = reset after={HUGE_BYTES}"))
        .await
        .unwrap();
    let mut stream = begin(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
    let mut most = vec![0; HUGE_BYTES - TAIL_BYTES];
    in_time(stream.read_exact(&mut most)).await.unwrap();
    drop(stream);
    in_time(mock.quiet()).await;
    assert!(mock.journal().attempts[0].client_left.is_some());
}

#[tokio::test]
async fn a_client_that_leaves_during_any_wait_is_noticed_at_once() {
    // Could break if the mock looked at the socket only when it writes: the clock here is never turned.
    for script in [
        "200 delay=1h",
        "drip bps=1",
        "slow-headers",
        "hang",
        "hang after=5",
        "half-close",
        "reset delay=1h",
    ] {
        let clock = CrankedClock::new();
        let mock = Mock::builder()
            .route(format!("GET /x = {script}"))
            .clock(Arc::new(clock));
        let mock = mock.start().await.unwrap();
        let stream = begin(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
        while mock.kept_waiting() == 0 {
            tokio::task::yield_now().await;
        }
        drop(stream);
        in_time(mock.quiet()).await;
        let attempt = &mock.journal().attempts[0];
        assert!(attempt.client_left.is_some(), "{script}: {attempt:?}");
        assert_eq!(mock.kept_waiting(), 0, "{script}");
    }
}

#[tokio::test]
async fn the_journal_says_what_an_attempt_waits_for_while_it_waits() {
    // Could break if an entry were written at its end alone: whoever looks at a stuck client would see nothing.
    let clock = CrankedClock::new();
    let mock = Mock::builder()
        .route("GET /x = drip bps=1")
        .clock(Arc::new(clock));
    let mock = mock.start().await.unwrap();
    let _stream = begin(&mock, "GET /x HTTP/1.1\r\n\r\n").await;
    while mock.kept_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let attempt = &mock.journal().attempts[0];
    assert_eq!(
        (attempt.fault.as_deref(), attempt.status),
        (Some("drip"), Some(200))
    );
    assert_eq!((attempt.route.as_deref(), attempt.ended), (Some("GET /x"), None));
    assert!(attempt.bytes_out > 0 && attempt.answered.is_some(), "{attempt:?}");
}
