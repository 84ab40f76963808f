//! The one re-send inside an attempt (rule D5), over HTTP/2.

use std::sync::{Arc, mpsc};
use std::thread;

use seawall::crank::CrankedClock;
use seawall::http::{Attempted, Connected, Resend, Transport};
use seawall_core::facts::Broke;
use seawall_core::time::Duration;
use tokio::sync::Notify;

use super::wire::{
    END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, NO_ERROR, OneStep, REFUSED_STREAM, Step, Wire,
    answer, frame, go_away, reset,
};
use super::{attempt, post2, whole};
use crate::{LIMITS, soon, transport};

/// Sends a warm-up, which leaves a connection to share, and then the request in question.
async fn after_a_warm_up(transport: &Transport, server: &Wire, resend: Resend) -> Attempted {
    let warm = attempt(transport, &server.url()).await;
    whole(warm).await.unwrap();
    let out = post2(&server.url(), "the same bytes each time");
    soon(transport.attempt(&out, &LIMITS, resend)).await
}

async fn second(steps: impl Fn(u32) -> Vec<Step> + Send + Sync + 'static) -> Wire {
    Wire::start(move |asked| match asked.nth {
        1 => steps(asked.stream),
        _ => answer(asked.stream, "ok"),
    })
    .await
}

#[tokio::test]
async fn a_goodbye_that_crosses_a_request_costs_nothing() {
    // Breaks when a server that restarts fails the write that its GOAWAY crossed, though it says that it did nothing;
    // or when the re-send takes the same connection.
    for resend in [Resend::Never, Resend::StaleOnce] {
        let server = second(|stream| vec![go_away(stream - 1, NO_ERROR)]).await;
        let attempted = after_a_warm_up(&transport(), &server, resend).await;
        assert!(attempted.resent);
        assert_eq!(attempted.connected, Connected::Fresh);
        assert_eq!(whole(attempted).await.unwrap().body, "ok");
        let asked: Vec<_> = server
            .seen()
            .iter()
            .filter(|seen| seen.kind == HEADERS)
            .map(|seen| (seen.connection, seen.stream))
            .collect();
        assert_eq!(asked, [(0, 1), (0, 3), (1, 1)]);
    }
}

#[tokio::test]
async fn a_server_that_says_goodbye_to_everything_is_asked_twice() {
    // Breaks when each goodbye is answered by another send.
    let server = Wire::start(|asked| match asked.nth {
        0 => answer(asked.stream, "ok"),
        _ => vec![go_away(asked.stream - 1, NO_ERROR)],
    })
    .await;
    let attempted = after_a_warm_up(&transport(), &server, Resend::StaleOnce).await;
    assert!(attempted.resent);
    assert_eq!(attempted.result.unwrap_err().broke, Broke::GoAway);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn a_server_in_trouble_is_not_asked_again_at_once() {
    // Breaks when a refusal for load is answered by another send, before the engine has said a word.
    let cases: [(OneStep, Broke); 2] = [
        (|stream| go_away(stream - 1, ENHANCE_YOUR_CALM), Broke::GoAway),
        (|stream| reset(stream, REFUSED_STREAM), Broke::RefusedStream),
    ];
    for (step, broke) in cases {
        let server = second(move |stream| vec![step(stream)]).await;
        let attempted = after_a_warm_up(&transport(), &server, Resend::StaleOnce).await;
        assert!(!attempted.resent);
        assert_eq!(attempted.result.unwrap_err().broke, broke);
        assert_eq!(server.accepted(), 1);
    }
}

#[tokio::test]
async fn a_stale_connection_is_sent_again_once_where_that_is_allowed() {
    // Breaks when the end of a shared connection is told as a cut, or "no byte came" is taken for "not done".
    for end in [Step::Close, Step::Reset] {
        let cut = end.clone();
        let server = second(move |_| vec![cut.clone()]).await;
        let attempted = after_a_warm_up(&transport(), &server, Resend::Never).await;
        assert!(!attempted.resent);
        let broken = attempted.result.unwrap_err();
        assert_eq!(broken.broke, Broke::ReusedClosed, "{broken}");
        let server = second(move |_| vec![end.clone()]).await;
        let attempted = after_a_warm_up(&transport(), &server, Resend::StaleOnce).await;
        assert!(attempted.resent);
        assert_eq!(whole(attempted).await.unwrap().body, "ok");
    }
}

#[tokio::test]
async fn a_connection_that_ended_while_idle_is_not_offered() {
    // Breaks when nobody reads an idle connection: the next attempt would be lost on it.
    for end in [Step::Close, Step::Reset, go_away(1, NO_ERROR)] {
        let server = Wire::start(|asked| answer(asked.stream, "ok")).await;
        let transport = transport();
        whole(attempt(&transport, &server.url()).await).await.unwrap();
        assert_eq!(transport.idle_connections(), 1);
        server.says(0, end);
        soon(async {
            while transport.idle_connections() > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let next = attempt(&transport, &server.url()).await;
        assert_eq!((next.connected, next.resent), (Connected::Fresh, false));
        assert_eq!(whole(next).await.unwrap().body, "ok");
    }
}

#[tokio::test]
async fn a_misdirected_request_goes_over_another_connection_once() {
    // Breaks when the re-send is another stream of the connection that was the wrong one.
    let server = second(|stream| {
        // `:status: 421` as a literal with an indexed name.
        let block = [8, 3, b'4', b'2', b'1'];
        vec![frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)]
    })
    .await;
    let attempted = after_a_warm_up(&transport(), &server, Resend::Never).await;
    assert!(attempted.resent);
    assert_eq!(whole(attempted).await.unwrap().body, "ok");
    assert_eq!(server.accepted(), 2);
}

#[test]
fn a_runtime_that_slept_wakes_to_a_new_connection() {
    // Breaks when a close that nobody was there to read is met by a write: a program that blocks on one call at a time
    // drives its connections in between only.
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let (told, hears) = mpsc::channel();
    let done = Arc::new(Notify::new());
    let last = Arc::clone(&done);
    let serving = thread::spawn(move || {
        runtime().block_on(async {
            let server = Wire::start(|asked| answer(asked.stream, "ok")).await;
            told.send(server.clone()).unwrap();
            server.has_closed(1).await;
            told.send(server).unwrap();
            last.notified().await;
        });
    });
    let server = hears.recv().unwrap();
    let clock = CrankedClock::new();
    let transport = Transport::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let client = runtime();
    let call = async || {
        let attempted = attempt(&transport, &server.url()).await;
        let (connected, resent) = (attempted.connected, attempted.resent);
        (connected, resent, whole(attempted).await.unwrap().body)
    };
    let fresh = (Connected::Fresh, false, "ok".into());
    assert_eq!(client.block_on(call()), fresh);
    server.says(0, Step::Close);
    hears.recv().unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(client.block_on(call()), fresh);
    done.notify_one();
    serving.join().unwrap();
}
