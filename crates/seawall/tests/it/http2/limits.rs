//! The limits of an attempt, over HTTP/2.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use seawall::crank::CrankedClock;
use seawall::http::{AttemptLimits, Connected, Resend, Transport};
use seawall_core::facts::Broke;
use seawall_core::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::wire::{
    HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, PING, Step, WINDOW_UPDATE, Wire, answer, data,
    frame, head, settings,
};
use super::{attempt, post2, whole};
use crate::{LIMITS, soon};

fn cranked() -> (Transport, CrankedClock) {
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    (transport, clock)
}

#[tokio::test]
async fn settings_that_do_not_come_are_a_connect_timeout() {
    // Breaks when the wait for the server's settings has no limit, or its end counts as maybe sent.
    let zero = settings(&[(MAX_CONCURRENT_STREAMS, 0)]);
    for opening in [Vec::new(), zero] {
        let (transport, clock) = cranked();
        let server = Wire::opening(opening, |_| Vec::new()).await;
        let out = post2(&server.url(), "x");
        let late = async {
            server.has_seen(|_| true).await;
            clock.awaited().await;
            clock.advance(LIMITS.connect);
        };
        let (attempted, ()) =
            soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), late) }).await;
        let broken = attempted.result.unwrap_err();
        assert_eq!((broken.broke, broken.sent_bytes), (Broke::ConnectTimeout, 0));
        assert_eq!(attempted.connected, Connected::No);
        soon(server.is_alone()).await;
    }
}

#[tokio::test]
async fn who_waits_for_another_dial_has_a_limit_of_its_own() {
    // Breaks when the limit begins with the dial and not with the wait, or the one that opens decides for the others.
    let (transport, clock) = cranked();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let short = AttemptLimits {
        connect: Duration::from_secs(2),
        ..LIMITS
    };
    let begin = |limits: AttemptLimits| {
        let (transport, out) = (transport.clone(), post2(&url, "x"));
        tokio::spawn(async move { transport.attempt(&out, &limits, Resend::Never).await })
    };
    let first = begin(short);
    let (mut silent, _) = soon(listener.accept()).await.unwrap();
    soon(silent.read_u8()).await.unwrap();
    let waits = clock.waits_begun();
    let second = begin(LIMITS);
    soon(async {
        while clock.waits_begun() == waits {
            tokio::task::yield_now().await;
        }
    })
    .await;
    clock.advance(Duration::from_secs(2));
    let first = soon(first).await.unwrap();
    // The first is late; the second dials itself, with what it has left.
    let (mut still_silent, _) = soon(listener.accept()).await.unwrap();
    soon(still_silent.read_u8()).await.unwrap();
    clock.advance(Duration::from_secs(3));
    let second = soon(second).await.unwrap();
    for attempted in [first, second] {
        assert_eq!(attempted.result.unwrap_err().broke, Broke::ConnectTimeout);
    }
}

/// An attempt that waits for its head in vain, and then another; where the second one's connection came from.
async fn after_a_late_head(first_byte: Duration, while_it_waits: Option<Step>) -> Connected {
    let (transport, clock) = cranked();
    let server = Wire::start(|asked| match asked.nth {
        0 => Vec::new(),
        _ => answer(asked.stream, "ok"),
    })
    .await;
    let out = post2(&server.url(), "x");
    let limits = AttemptLimits { first_byte, ..LIMITS };
    let late = async {
        server.was_asked(1).await;
        clock.awaited().await;
        let at_the_end = Duration::from_millis(500);
        clock.advance(first_byte.minus(at_the_end));
        if let Some(step) = while_it_waits {
            server.says(0, step);
            // The echo says that it was read.
            server.has_seen(|seen| seen.kind == PING).await;
        }
        clock.advance(at_the_end);
    };
    let (attempted, ()) =
        soon(async { tokio::join!(transport.attempt(&out, &limits, Resend::Never), late) }).await;
    let broken = attempted.result.unwrap_err();
    assert_eq!(broken.broke, Broke::Timeout, "{broken}");
    assert!(broken.sent_bytes > 0);
    let next = attempt(&transport, &server.url()).await;
    let connected = next.connected;
    assert_eq!(whole(next).await.unwrap().body, "ok");
    connected
}

#[tokio::test]
async fn a_connection_that_is_silent_while_an_attempt_waits_is_given_up() {
    // Breaks when a connection that died without a word is offered to every attempt that follows; attempts with short
    // limits would never notice.
    for first_byte in [LIMITS.first_byte, Duration::from_millis(500)] {
        assert_eq!(after_a_late_head(first_byte, None).await, Connected::Fresh);
    }
}

#[tokio::test]
async fn a_connection_that_is_alive_survives_a_slow_stream() {
    // Breaks when each timeout costs its siblings' connection.
    let ping = frame(PING, 0, 0, &[7; 8]);
    assert_eq!(
        after_a_late_head(LIMITS.first_byte, Some(ping)).await,
        Connected::Reused
    );
}

#[tokio::test]
async fn who_leaves_after_a_long_silence_gives_the_connection_up() {
    // Breaks when only limits are evidence: callers with timeouts of their own would meet a dead connection for ever.
    for (silent_for, next) in [(900, Connected::Reused), (1_000, Connected::Fresh)] {
        let (transport, clock) = cranked();
        let server = Wire::start(|asked| match asked.nth {
            0 => Vec::new(),
            _ => answer(asked.stream, "ok"),
        })
        .await;
        let out = post2(&server.url(), "x");
        let left = transport.clone();
        let task = tokio::spawn(async move { left.attempt(&out, &LIMITS, Resend::Never).await });
        soon(server.was_asked(1)).await;
        clock.advance(Duration::from_millis(silent_for));
        task.abort();
        assert!(soon(task).await.unwrap_err().is_cancelled());
        assert_eq!(attempt(&transport, &server.url()).await.connected, next);
    }
}

#[tokio::test]
async fn a_window_that_never_opens_is_a_timeout() {
    // Breaks when an upload that the server takes nothing of has no limit.
    let (transport, clock) = cranked();
    let server = Wire::opening(settings(&[(INITIAL_WINDOW_SIZE, 0)]), |_| Vec::new()).await;
    let out = post2(&server.url(), "never leaves");
    let late = async {
        server.has_seen(|seen| seen.kind == HEADERS).await;
        clock.awaited().await;
        clock.advance(LIMITS.first_byte);
    };
    let (attempted, ()) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), late) }).await;
    assert_eq!(attempted.result.unwrap_err().broke, Broke::Timeout);
    drop(transport);
    soon(server.is_alone()).await;
}

#[tokio::test]
async fn silence_inside_a_body_is_idle() {
    // Breaks when frames of the connection, or empty ones, count as this stream's life.
    let (transport, clock) = cranked();
    let server = Wire::start(|asked| vec![head(asked.stream, &[]), data(asked.stream, "part")]).await;
    let mut body = attempt(&transport, &server.url()).await.result.unwrap().body;
    assert_eq!(soon(body.chunk()).await.unwrap().unwrap(), "part");
    let late = async {
        clock.awaited().await;
        let at_the_end = Duration::from_secs(1);
        clock.advance(LIMITS.idle.minus(at_the_end));
        server.says(0, data(1, ""));
        server.says(0, frame(PING, 0, 0, &[7; 8]));
        // The echo says that both were read.
        server.has_seen(|seen| seen.kind == PING).await;
        clock.advance(at_the_end);
    };
    let (rest, ()) = soon(async { tokio::join!(body.collect(100), late) }).await;
    let broken = rest.unwrap_err();
    assert_eq!(
        (broken.broke, broken.received_bytes),
        (Broke::Idle, 4),
        "{broken}"
    );
}

#[tokio::test]
async fn a_peer_that_takes_nothing_keeps_nothing() {
    // Breaks when the last goodbye of a connection is waited for: a peer that does not read would hold its socket, and
    // a task of ours, for ever.
    let large: &'static str = Box::leak("x".repeat(32 << 20).into_boxed_str());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let transport = Transport::builder().build().unwrap();
    let out = post2(&url, large);
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(alive(), 0);
    let _deaf = {
        let mut upload = pin!(transport.attempt(&out, &LIMITS, Resend::Never));
        let mut accepted = pin!(async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let windows = settings(&[(INITIAL_WINDOW_SIZE, (1 << 31) - 1)]);
            stream.write_all(&windows).await.unwrap();
            let Step::Write(more) = frame(WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes()) else {
                unreachable!("a frame is written")
            };
            stream.write_all(&more).await.unwrap();
            // Long enough for the socket to fill: no byte is read on this side.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            stream
        });
        soon(poll_fn(|cx| {
            assert!(upload.as_mut().poll(cx).is_pending());
            accepted.as_mut().poll(cx)
        }))
        .await
    };
    assert_eq!(alive(), 1);
    drop(transport);
    soon(async {
        while alive() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
