//! Attempts that are dropped: nothing stays open, wherever they were.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use seawall::http::{Outgoing, Resend, Transport};

use crate::server::{Server, Step, write};
use crate::{LIMITS, post, soon, tls, transport};

/// How often a future was polled before it was dropped or done.
enum Polled {
    Dropped,
    Done,
}

/// Polls `what` at most `polls_max` times, and then drops it.
async fn drop_after<F: Future>(polls_max: usize, what: F) -> Polled {
    let mut what = pin!(what);
    let mut polls = 0;
    poll_fn(|cx| {
        if polls == polls_max {
            return Poll::Ready(Polled::Dropped);
        }
        polls += 1;
        match what.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(Polled::Done),
            Poll::Pending if polls == polls_max => Poll::Ready(Polled::Dropped),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Drops a whole call after each number of polls that it survives; tells how many there were.
async fn dropped_everywhere(server: &Server, transport: &Transport, out: &Outgoing) -> usize {
    for polls_max in 0..10_000 {
        let call = async {
            let attempted = transport.attempt(out, &LIMITS, Resend::StaleOnce).await;
            attempted.result.unwrap().collect(1_000).await.unwrap()
        };
        match soon(drop_after(polls_max, call)).await {
            Polled::Dropped => assert_eq!(transport.idle_connections(), 0),
            Polled::Done => return polls_max,
        }
        soon(server.is_alone_after_all()).await;
    }
    panic!("it never ends");
}

/// An answer in pieces, so that there are many points to be dropped at.
fn pieces() -> Vec<Step> {
    let text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n";
    text.as_bytes().chunks(8).map(write).collect()
}

#[tokio::test]
async fn a_call_dropped_at_any_point_closes_its_socket() {
    // Breaks when a task, the pool or a cycle keeps the connection of a call that nobody waits for.
    let server = Server::start(|_| pieces()).await;
    let out = post(&server.url("/"), "x");
    let polls = dropped_everywhere(&server, &transport(), &out).await;
    assert!(polls > 3, "{polls} polls are too few to show anything");
}

#[tokio::test]
async fn a_call_dropped_inside_tls_closes_its_socket() {
    // Breaks when a handshake under way outlives its attempt.
    let (server, pem) = tls::server("127.0.0.1").await;
    let out = post(&format!("https://{}/", server.address), "x");
    for polls_max in 0..10_000 {
        let transport = Transport::builder().extra_ca(pem.clone()).build().unwrap();
        let polled = soon(drop_after(
            polls_max,
            transport.attempt(&out, &LIMITS, Resend::Never),
        ))
        .await;
        match polled {
            Polled::Dropped => assert_eq!(transport.idle_connections(), 0),
            Polled::Done => {
                assert!(polls_max > 2, "{polls_max} polls are too few to show anything");
                return;
            }
        }
        soon(server.is_alone_after_all()).await;
    }
    panic!("it never ends");
}

#[tokio::test]
async fn a_call_dropped_while_the_server_is_silent_closes_its_socket() {
    // Breaks when the close waits for the server's next word.
    let server = Server::start(|_| vec![Step::Hang]).await;
    let out = post(&server.url("/"), "x");
    let transport = transport();
    {
        let mut attempt = pin!(transport.attempt(&out, &LIMITS, Resend::Never));
        let mut seen = pin!(server.has_seen(1));
        soon(poll_fn(|cx| {
            assert!(attempt.as_mut().poll(cx).is_pending());
            seen.as_mut().poll(cx)
        }))
        .await;
    }
    soon(server.is_alone()).await;
}
