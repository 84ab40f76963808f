//! Attempts that break, each in its own way.

use std::sync::Arc;

use seawall::crank::CrankedClock;
use seawall::http::{AttemptLimits, Broken, Connected, Outgoing, Resend, Transport};
use seawall_core::facts::{BodyState, Broke};
use seawall_core::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Notify;

use crate::server::{Server, Step, answer, write};
use crate::{LIMITS, post, soon, transport};

async fn broken(url: &str) -> Broken {
    let attempted = soon(transport().attempt(&post(url, "ping"), &LIMITS, Resend::StaleOnce)).await;
    assert!(!attempted.resent);
    match attempted.result {
        Ok(answer) => soon(answer.collect(1_000)).await.unwrap_err(),
        Err(broken) => broken,
    }
}

async fn broken_by(steps: impl Fn() -> Vec<Step> + Send + Sync + 'static) -> Broken {
    let server = Server::start(move |_| steps()).await;
    let broken = broken(&server.url("/")).await;
    soon(server.is_alone()).await;
    assert_eq!(server.seen().len(), 1);
    broken
}

#[tokio::test]
async fn a_refused_connection_is_refused() {
    // Breaks when a port that nobody listens at is told as a cut: it would then count as maybe sent.
    // Bound, so that nobody else gets the port meanwhile, and never listening.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = bound.local_addr().unwrap();
    let broken = broken(&format!("http://{address}/")).await;
    assert_eq!((broken.broke, broken.sent_bytes), (Broke::Refused, 0));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_dns() {
    // Breaks when a resolver's failure is told as a refusal. A label of 64 letters is none, which the resolver says without
    // asking a server, that may not be there, or be slower than the limit.
    let nobody = format!("{}.invalid", "a".repeat(64));
    let broken = broken(&format!("http://{nobody}/")).await;
    assert_eq!((broken.broke, broken.sent_bytes), (Broke::Dns, 0));
    assert!(broken.detail.contains(&nobody), "{broken}");
}

#[tokio::test]
async fn a_bad_request_never_leaves() {
    // Breaks when what is the caller's to mend looks like a failure of the upstream (rule D4).
    let broken = broken("http://name:sk-1@127.0.0.1:1/").await;
    assert_eq!(broken.broke, Broke::Request);
    assert!(!broken.detail.contains("sk-1"), "{broken}");
}

#[tokio::test]
async fn a_reset_after_sending_is_a_reset() {
    // Breaks when RST and FIN are told as one, or a reset before any byte as never sent.
    let broken = broken_by(|| vec![Step::Reset]).await;
    assert_eq!(broken.broke, Broke::Reset);
    assert!(broken.sent_bytes > 0);
}

#[tokio::test]
async fn a_close_after_sending_is_closed() {
    // Breaks when a close on a new connection is taken for a stale one, and re-sent.
    let broken = broken_by(|| vec![Step::Close]).await;
    assert_eq!(broken.broke, Broke::Closed);
    assert!(broken.sent_bytes > 0);
    assert!(broken.head.is_none());
}

#[tokio::test]
async fn a_close_inside_the_head_is_closed() {
    // Breaks when half a head passes for an answer.
    let broken = broken_by(|| vec![write("HTTP/1.1 200 OK\r\ncontent-le"), Step::Close]).await;
    assert_eq!(broken.broke, Broke::Closed);
}

#[tokio::test]
async fn a_body_shorter_than_its_length_is_truncated() {
    // Breaks when an early end passes for the end.
    let broken = broken_by(|| {
        vec![
            write("HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 9\r\n\r\nfour"),
            Step::Close,
        ]
    })
    .await;
    assert_eq!((broken.broke, broken.body), (Broke::Closed, BodyState::Truncated));
    assert_eq!(broken.received_bytes, 4);
    let head = broken.head.unwrap();
    assert_eq!(
        (head.status.as_u16(), &head.headers["x-a"]),
        (200, &"b".parse().unwrap())
    );
}

#[tokio::test]
async fn chunks_without_a_last_one_are_truncated() {
    // Breaks when a chunked body may end anywhere.
    let broken = broken_by(|| {
        vec![
            write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n"),
            Step::Close,
        ]
    })
    .await;
    assert_eq!((broken.broke, broken.body), (Broke::Closed, BodyState::Truncated));
    assert_eq!(broken.received_bytes, 4);
}

#[tokio::test]
async fn a_reset_inside_the_body_is_truncated_too() {
    // Breaks when hyper's "connection error" hides what the socket said.
    let broken = broken_by(|| vec![write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"), Step::Reset]).await;
    assert_eq!((broken.broke, broken.body), (Broke::Reset, BodyState::Truncated));
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_break() {
    // Breaks when garbage is told as a close, or read for ever.
    for garbage in [
        "SSH-2.0-OpenSSH_9.6\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n".to_owned(),
        format!("HTTP/1.1 200 OK\r\nx-huge: {}\r\n\r\n", "a".repeat(200_000)),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "x-many: 1\r\n".repeat(200)),
    ] {
        let broken = broken_by(move || vec![write(&garbage), Step::Hang]).await;
        assert_eq!(broken.broke, Broke::Protocol, "{broken}");
    }
}

#[tokio::test]
async fn a_bad_chunk_is_a_protocol_break() {
    // Breaks when bad framing is taken for a cut: it is then re-sent where it will be bad again.
    let broken = broken_by(|| {
        vec![
            write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\nzz\r\n"),
            Step::Hang,
        ]
    })
    .await;
    assert_eq!(broken.broke, Broke::Protocol);
    assert_eq!(broken.received_bytes, 4);
}

#[tokio::test]
async fn bytes_before_a_break_are_handed_on_first() {
    // Breaks when the break overtakes what was merged: a stream's last event would be lost.
    let server = Server::start(|_| {
        vec![
            write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\ntwo\r\nzz\r\n"),
            Step::Close,
        ]
    })
    .await;
    let attempted = soon(transport().attempt(&post(&server.url("/"), ""), &LIMITS, Resend::Never)).await;
    let mut body = attempted.result.unwrap().body;
    let mut came = Vec::new();
    let broken = loop {
        match soon(body.chunk()).await.unwrap() {
            Ok(chunk) => came.extend_from_slice(&chunk),
            Err(broken) => break broken,
        }
    };
    assert_eq!(came, b"onetwo");
    assert_eq!(broken.broke, Broke::Protocol);
    assert!(soon(body.chunk()).await.is_none());
}

#[tokio::test]
async fn a_body_over_the_bound_is_refused_by_its_length_or_as_it_comes() {
    // Breaks when a peer decides how much is held.
    let bounded = Transport::builder().body_bytes_max(10).build().unwrap();
    let declared = Server::start(|_| answer(200, "eleven bytes")).await;
    let attempted = soon(bounded.attempt(&post(&declared.url("/"), ""), &LIMITS, Resend::Never)).await;
    assert_eq!(attempted.result.unwrap_err().broke, Broke::Protocol);
    let streamed = Server::start(|_| {
        vec![
            write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\neleven byte\r\n"),
            Step::Hang,
        ]
    })
    .await;
    let attempted = soon(bounded.attempt(&post(&streamed.url("/"), ""), &LIMITS, Resend::Never)).await;
    let broken = soon(attempted.result.unwrap().collect(100)).await.unwrap_err();
    assert_eq!(broken.broke, Broke::Protocol);
    soon(streamed.is_alone()).await;
}

/// What breaks when the clock passes `limit` after the last of `steps`.
async fn late(
    limits: AttemptLimits,
    limit: Duration,
    steps: impl Fn() -> Vec<Step> + Send + Sync + 'static,
) -> Broken {
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let server = Server::start(move |_| steps()).await;
    let out: Outgoing = post(&server.url("/"), "ping");
    let attempt = async {
        match transport.attempt(&out, &limits, Resend::StaleOnce).await.result {
            Ok(answer) => {
                let mut body = answer.body;
                let first = body.chunk().await.unwrap().unwrap();
                assert_eq!(first, "part");
                crank_when_awaited(&clock, limit, body.collect(100))
                    .await
                    .unwrap_err()
            }
            Err(broken) => broken,
        }
    };
    let broken = if steps_answer(&limits) {
        soon(attempt).await
    } else {
        let cranked = async {
            server.has_seen(1).await;
            clock.awaited().await;
            clock.advance(limit);
        };
        soon(async { tokio::join!(attempt, cranked).0 }).await
    };
    soon(server.is_alone()).await;
    broken
}

/// The head's own limits are one hour in the tests of the body.
fn steps_answer(limits: &AttemptLimits) -> bool {
    limits.first_byte == Duration::from_secs(3_600)
}

async fn crank_when_awaited<F: Future>(clock: &CrankedClock, by: Duration, what: F) -> F::Output {
    let cranked = async {
        clock.awaited().await;
        clock.advance(by);
    };
    tokio::join!(what, cranked).0
}

#[tokio::test]
async fn a_head_that_does_not_come_is_a_timeout() {
    // Breaks when the limit is not armed until the first byte, or not held by a server that drips its head.
    for head in ["", "HTTP/1.1 200 OK\r\nx-slow: "] {
        let broken = late(LIMITS, LIMITS.first_byte, move || vec![write(head), Step::Hang]).await;
        assert_eq!(broken.broke, Broke::Timeout);
        assert!(broken.sent_bytes > 0);
        assert!(broken.detail.contains("1m"), "{broken}");
    }
}

#[tokio::test]
async fn the_total_limit_holds_the_head_too() {
    // Breaks when the shorter of two limits is not the one that holds.
    let total = Duration::from_secs(7);
    let limits = AttemptLimits {
        total: Some(total),
        ..LIMITS
    };
    let broken = late(limits, total, || vec![Step::Hang]).await;
    assert_eq!(broken.broke, Broke::Timeout);
    assert!(broken.detail.contains("7s"), "{broken}");
}

#[tokio::test]
async fn silence_inside_a_body_is_idle() {
    // Breaks when the idle limit counts from the head, or is never armed again after a chunk.
    let limits = AttemptLimits {
        first_byte: Duration::from_secs(3_600),
        ..LIMITS
    };
    let part = || {
        vec![
            write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart"),
            Step::Hang,
        ]
    };
    let broken = late(limits, limits.idle, part).await;
    assert_eq!((broken.broke, broken.received_bytes), (Broke::Idle, 4));
    let total = Duration::from_secs(20);
    let limits = AttemptLimits {
        total: Some(total),
        ..limits
    };
    let broken = late(limits, total, part).await;
    assert_eq!(broken.broke, Broke::Timeout);
}

#[tokio::test]
async fn each_chunk_begins_the_idle_limit_anew() {
    // Breaks when silences add up: a stream of slow but steady events would be cut.
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let go_on = Arc::new(Notify::new());
    let word = Arc::clone(&go_on);
    let server = Server::start(move |_| {
        let mut steps = vec![write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n")];
        for byte in ["a", "b", "c"] {
            steps.extend([Step::Await(Arc::clone(&word)), write(byte)]);
        }
        steps
    })
    .await;
    let attempted = soon(transport.attempt(&post(&server.url("/"), ""), &LIMITS, Resend::Never)).await;
    let mut body = attempted.result.unwrap().body;
    for expected in ["a", "b", "c"] {
        let cranked = async {
            clock.awaited().await;
            clock.advance(Duration::from_secs(20));
            go_on.notify_one();
        };
        let (chunk, ()) = soon(async { tokio::join!(body.chunk(), cranked) }).await;
        assert_eq!(chunk.unwrap().unwrap(), expected);
    }
    assert!(soon(body.chunk()).await.is_none());
}

#[tokio::test]
async fn a_reader_that_pauses_is_not_the_servers_silence() {
    // Breaks when idle time runs while nobody reads: a slow client would then look like a dead upstream.
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let server = Server::start(|_| answer(200, "whole")).await;
    let attempted = soon(transport.attempt(&post(&server.url("/"), ""), &LIMITS, Resend::Never)).await;
    assert_eq!(attempted.connected, Connected::Fresh);
    let answer = attempted.result.unwrap();
    clock.advance(Duration::from_secs(86_400));
    assert_eq!(soon(answer.collect(5)).await.unwrap().body, "whole");
}

#[tokio::test]
async fn a_connection_that_does_not_come_up_is_a_connect_timeout() {
    // Breaks when the TLS handshake runs outside the connect limit: a server that accepts and says nothing would
    // hold the attempt for ever.
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let out = post(&format!("https://{}/", listener.local_addr().unwrap()), "");
    let cranked = async {
        let accepted = listener.accept().await.unwrap();
        clock.awaited().await;
        clock.advance(LIMITS.connect);
        accepted
    };
    let (attempted, _accepted) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), cranked) }).await;
    let broken = attempted.result.unwrap_err();
    assert_eq!((broken.broke, broken.sent_bytes), (Broke::ConnectTimeout, 0));
    assert_eq!(attempted.connected, Connected::No);
}
