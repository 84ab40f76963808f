//! The one re-send inside an attempt (rule D5).

use std::sync::Arc;

use http::StatusCode;
use seawall::crank::CrankedClock;
use seawall::http::{Attempted, Connected, Resend, Transport};
use seawall_core::facts::Broke;
use seawall_core::time::Duration;
use tokio::sync::Notify;

use crate::server::{Server, Step, answer};
use crate::{LIMITS, post, soon, transport};

/// Sends a warm-up, which leaves a kept-alive connection, and then the request in question.
async fn after_a_warm_up(transport: &Transport, server: &Server, resend: Resend) -> Attempted {
    let out = post(&server.url("/"), "warm");
    let warm = soon(transport.attempt(&out, &LIMITS, Resend::Never)).await;
    soon(warm.result.unwrap().collect(100)).await.unwrap();
    assert_eq!(transport.idle_connections(), 1);
    let out = post(&server.url("/"), "the same bytes each time");
    soon(transport.attempt(&out, &LIMITS, resend)).await
}

/// A server that takes its second request on a kept-alive connection and leaves without a word.
async fn stale() -> Server {
    Server::start(|nth| match nth {
        1 => vec![Step::Close],
        _ => answer(200, "ok"),
    })
    .await
}

#[tokio::test]
async fn a_stale_connection_is_sent_again_once_where_that_is_allowed() {
    // Breaks when the re-send goes over another old connection, is not told, or carries other bytes.
    let (transport, server) = (transport(), stale().await);
    let attempted = after_a_warm_up(&transport, &server, Resend::StaleOnce).await;
    assert!(attempted.resent);
    assert_eq!(attempted.connected, Connected::Fresh);
    assert_eq!(attempted.result.unwrap().status, StatusCode::OK);
    let seen = server.seen();
    assert_eq!(
        seen.iter().map(|seen| seen.connection).collect::<Vec<_>>(),
        [0, 0, 1]
    );
    assert_eq!((&seen[1].head, &seen[1].body), (&seen[2].head, &seen[2].body));
}

#[tokio::test]
async fn a_stale_connection_is_not_sent_again_where_a_repeat_may_act_twice() {
    // Breaks when "no byte came" is taken for "not done".
    let (transport, server) = (transport(), stale().await);
    let attempted = after_a_warm_up(&transport, &server, Resend::Never).await;
    assert!(!attempted.resent);
    assert_eq!(attempted.connected, Connected::Reused);
    let broken = attempted.result.unwrap_err();
    assert_eq!(broken.broke, Broke::ReusedClosed);
    assert!(broken.sent_bytes > 0);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_reset_of_a_kept_connection_is_stale_too() {
    // Breaks when only FIN is known as a sign of a stale connection (RST and EPIPE are others).
    let server = Server::start(|nth| match nth {
        1 => vec![Step::Reset],
        _ => answer(200, "ok"),
    })
    .await;
    let attempted = after_a_warm_up(&transport(), &server, Resend::Never).await;
    assert_eq!(attempted.result.unwrap_err().broke, Broke::ReusedClosed);
}

#[tokio::test]
async fn a_kept_connection_that_broke_inside_an_answer_is_not_stale() {
    // Breaks when any break of a kept connection is re-sent: this server has begun to act.
    let server = Server::start(|nth| match nth {
        1 => vec![crate::server::write("HTTP/1.1 2"), Step::Close],
        _ => answer(200, "ok"),
    })
    .await;
    let attempted = after_a_warm_up(&transport(), &server, Resend::StaleOnce).await;
    assert!(!attempted.resent);
    assert_eq!(attempted.result.unwrap_err().broke, Broke::Closed);
}

#[tokio::test]
async fn misdirected_and_too_early_are_sent_again_once_on_another_connection() {
    // Breaks when the re-send takes the same connection (421 would come again), or is repeated.
    for status in [421, 425] {
        let server = Server::start(move |nth| match nth {
            1 => answer(status, "elsewhere"),
            _ => answer(200, "ok"),
        })
        .await;
        let attempted = after_a_warm_up(&transport(), &server, Resend::Never).await;
        assert!(attempted.resent);
        assert_eq!(attempted.result.unwrap().status, StatusCode::OK);
        let seen = server.seen();
        assert_eq!(
            seen.iter().map(|seen| seen.connection).collect::<Vec<_>>(),
            [0, 0, 1]
        );
        assert_eq!(seen[1].body, seen[2].body);
    }
}

#[tokio::test]
async fn a_second_misdirection_is_the_answer() {
    // Breaks when two servers that name each other keep an attempt going for ever.
    let server = Server::start(|_| answer(421, "elsewhere")).await;
    let out = post(&server.url("/"), "x");
    let attempted = soon(transport().attempt(&out, &LIMITS, Resend::StaleOnce)).await;
    assert!(attempted.resent);
    assert_eq!(attempted.result.unwrap().status, StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_stale_connection_and_a_misdirection_make_one_re_send() {
    // Breaks when each kind counts its own re-sends: an attempt would then be three sends.
    let server = Server::start(|nth| match nth {
        0 => answer(200, "ok"),
        1 => vec![Step::Close],
        _ => answer(421, "elsewhere"),
    })
    .await;
    let attempted = after_a_warm_up(&transport(), &server, Resend::StaleOnce).await;
    assert_eq!(attempted.result.unwrap().status, StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_re_send_never_takes_another_kept_connection() {
    // Breaks when the pool is asked again: what ended one kept connection has often ended them all.
    for second in [vec![Step::Close], answer(421, "elsewhere")] {
        let server = Server::start(move |nth| match nth {
            2 => second.clone(),
            _ => answer(200, "ok"),
        })
        .await;
        let transport = transport();
        let out = post(&server.url("/"), "x");
        let warm = || async {
            let attempted = transport.attempt(&out, &LIMITS, Resend::Never).await;
            attempted.result.unwrap().collect(100).await.unwrap();
        };
        soon(async { tokio::join!(warm(), warm()) }).await;
        assert_eq!(transport.idle_connections(), 2);
        let attempted = soon(transport.attempt(&out, &LIMITS, Resend::StaleOnce)).await;
        assert!(attempted.resent);
        assert_eq!(attempted.connected, Connected::Fresh);
        assert_eq!(server.seen()[3].connection, 2);
    }
}

#[tokio::test]
async fn a_re_send_does_not_begin_the_first_byte_limit_anew() {
    // Breaks when each send has a limit of its own: an attempt could then take twice what its permit says.
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let go_on = Arc::new(Notify::new());
    let word = Arc::clone(&go_on);
    let server = Server::start(move |nth| match nth {
        0 => {
            let mut steps = vec![Step::Await(Arc::clone(&word))];
            steps.extend(answer(421, "elsewhere"));
            steps
        }
        _ => vec![Step::Hang],
    })
    .await;
    let out = post(&server.url("/"), "x");
    let cranked = async {
        server.has_seen(1).await;
        clock.advance(Duration::from_secs(40));
        go_on.notify_one();
        server.has_seen(2).await;
        clock.advance(Duration::from_secs(20));
    };
    let (attempted, ()) =
        soon(async { tokio::join!(transport.attempt(&out, &LIMITS, Resend::Never), cranked) }).await;
    assert!(attempted.resent);
    assert_eq!(attempted.result.unwrap_err().broke, Broke::Timeout);
}
