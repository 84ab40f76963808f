//! Connections that are kept.

use std::sync::{Arc, mpsc};
use std::thread;

use seawall::crank::CrankedClock;
use seawall::http::{Connected, Resend, Transport};
use seawall_core::time::Duration;
use tokio::sync::Notify;

use crate::server::{Server, Step, answer, write};
use crate::{LIMITS, post, soon, transport};

/// One whole attempt; where its connection came from.
async fn connected(transport: &Transport, server: &Server) -> Connected {
    let out = post(&server.url("/"), "x");
    let attempted = soon(transport.attempt(&out, &LIMITS, Resend::Never)).await;
    assert!(!attempted.resent);
    soon(attempted.result.unwrap().collect(1_000)).await.unwrap();
    attempted.connected
}

#[tokio::test]
async fn a_whole_answer_leaves_its_connection_for_the_next() {
    // Breaks when a connection is handed back too early or never: each call would pay for a handshake.
    let server = Server::start(|nth| match nth {
        0 => answer(200, "length"),
        1 => vec![write(
            "HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        )],
        2 => vec![write("HTTP/1.1 204 X\r\n\r\n")],
        _ => answer(200, ""),
    })
    .await;
    let transport = transport();
    assert_eq!(connected(&transport, &server).await, Connected::Fresh);
    for _ in 0..4 {
        assert_eq!(connected(&transport.clone(), &server).await, Connected::Reused);
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn attempts_at_once_have_a_connection_each() {
    // Breaks when a busy connection is lent out: answers would cross.
    let server = Server::start(|_| answer(200, "ok")).await;
    let transport = transport();
    tokio::join!(connected(&transport, &server), connected(&transport, &server));
    assert_eq!(transport.idle_connections(), 2);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_swept() {
    // Breaks when nobody reads idle sockets: they stay in CLOSE-WAIT until the process runs out of them.
    let close = Arc::new(Notify::new());
    let word = Arc::clone(&close);
    let server = Server::start(move |_| {
        let mut steps = answer(200, "ok");
        steps.extend([Step::Await(Arc::clone(&word)), Step::Close]);
        steps
    })
    .await;
    // A clock that stands still: it cannot be the idle time that closes the socket.
    let transport = Transport::builder()
        .clock(Arc::new(CrankedClock::new()))
        .build()
        .unwrap();
    assert_eq!(connected(&transport, &server).await, Connected::Fresh);
    assert_eq!(transport.idle_connections(), 1);
    close.notify_one();
    soon(server.is_alone()).await;
    soon(async {
        while transport.idle_connections() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(connected(&transport, &server).await, Connected::Fresh);
}

#[tokio::test]
async fn a_server_that_says_so_is_not_asked_again() {
    // Breaks when `Connection: close`, a 408 or a short `Keep-Alive` is not heeded.
    for head in [
        "HTTP/1.1 200 X\r\nconnection: close",
        "HTTP/1.1 408 X\r\nx-a: b",
        "HTTP/1.1 200 X\r\nkeep-alive: timeout=1",
        "HTTP/1.0 200 X\r\nx-a: b",
    ] {
        let server =
            Server::start(move |_| vec![write(format!("{head}\r\ncontent-length: 2\r\n\r\nok"))]).await;
        let transport = transport();
        assert_eq!(connected(&transport, &server).await, Connected::Fresh, "{head}");
        soon(server.is_alone()).await;
        assert_eq!(connected(&transport, &server).await, Connected::Fresh, "{head}");
    }
}

#[tokio::test]
async fn after_a_408_the_next_attempt_has_a_new_connection() {
    // Breaks when the retry of a 408 takes another idle connection, which the server is closing just as well.
    let server = Server::start(|nth| match nth {
        2 => answer(408, "too slow"),
        _ => answer(200, "ok"),
    })
    .await;
    let transport = transport();
    tokio::join!(connected(&transport, &server), connected(&transport, &server));
    assert_eq!(connected(&transport, &server).await, Connected::Reused);
    assert_eq!(transport.idle_connections(), 0);
    assert_eq!(connected(&transport, &server).await, Connected::Fresh);
}

#[tokio::test]
async fn a_break_never_leaves_its_connection() {
    // Breaks when a half-read connection is lent out: the next answer would begin inside the last one.
    let server = Server::start(|nth| match nth {
        0 => vec![
            write("HTTP/1.1 200 X\r\ncontent-length: 9\r\n\r\npart"),
            Step::Hang,
        ],
        _ => answer(200, "ok"),
    })
    .await;
    let transport = transport();
    let attempted = soon(transport.attempt(&post(&server.url("/"), ""), &LIMITS, Resend::Never)).await;
    let mut body = attempted.result.unwrap().body;
    soon(body.chunk()).await.unwrap().unwrap();
    drop(body);
    soon(server.is_alone()).await;
    assert_eq!(transport.idle_connections(), 0);
    assert_eq!(connected(&transport, &server).await, Connected::Fresh);
}

#[tokio::test]
async fn an_idle_connection_is_let_go_before_the_server_does() {
    // Breaks when the server's word is not believed, or ours is exceeded by the spread.
    for (header, kept, gone) in [("x-a: b", 24, 30), ("keep-alive: timeout=5", 3, 4)] {
        let clock = CrankedClock::new();
        let transport = Transport::builder()
            .clock(Arc::new(clock.clone()))
            .build()
            .unwrap();
        let server = Server::start(move |_| {
            vec![write(format!(
                "HTTP/1.1 200 X\r\n{header}\r\ncontent-length: 0\r\n\r\n"
            ))]
        })
        .await;
        connected(&transport, &server).await;
        clock.advance(Duration::from_millis(kept * 1_000 - 1));
        assert_eq!(transport.idle_connections(), 1, "{header}");
        clock.advance(Duration::from_millis((gone - kept) * 1_000 + 1));
        assert_eq!(transport.idle_connections(), 0, "{header}");
        soon(server.is_alone()).await;
    }
}

#[tokio::test]
async fn no_more_connections_are_kept_than_allowed() {
    // Breaks when a burst leaves its sockets open for as long as any are used.
    let server = Server::start(|_| answer(200, "ok")).await;
    let transport = Transport::builder().idle_per_place_max(1).build().unwrap();
    tokio::join!(
        connected(&transport, &server),
        connected(&transport, &server),
        connected(&transport, &server)
    );
    assert_eq!(transport.idle_connections(), 1);
}

#[tokio::test]
async fn the_last_clone_closes_all_idle_sockets() {
    // Breaks when a task or a cycle keeps the pool alive.
    let server = Server::start(|_| answer(200, "ok")).await;
    let transport = transport();
    tokio::join!(connected(&transport, &server), connected(&transport, &server));
    let clone = transport.clone();
    drop(transport);
    assert_eq!(clone.idle_connections(), 2);
    drop(clone);
    soon(server.is_alone()).await;
}

#[tokio::test]
async fn an_answer_outlives_its_transport_and_then_closes() {
    // Breaks when an answer keeps the pool, or the pool's end cuts an answer.
    let server = Server::start(|_| answer(200, &"long ".repeat(50_000))).await;
    let transport = transport();
    let attempted = soon(transport.attempt(&post(&server.url("/"), ""), &LIMITS, Resend::Never)).await;
    drop(transport);
    let whole = soon(attempted.result.unwrap().collect(1 << 20)).await.unwrap();
    assert_eq!(whole.body.len(), 250_000);
    soon(server.is_alone()).await;
}

#[test]
fn a_runtime_that_slept_does_not_trust_what_it_kept() {
    // Breaks when a close that nobody was there to read is met by a write: a program that blocks on one call at a time
    // drives its runtime in between only.
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let close = Arc::new(Notify::new());
    let word = Arc::clone(&close);
    let done = Arc::new(Notify::new());
    let last = Arc::clone(&done);
    let (told, hears) = mpsc::channel();
    let serving = thread::spawn(move || {
        runtime().block_on(async {
            let server = Server::start(move |_| {
                let mut steps = answer(200, "ok");
                steps.extend([Step::Await(Arc::clone(&word)), Step::Close]);
                steps
            })
            .await;
            told.send(server.clone()).unwrap();
            server.has_seen(1).await;
            server.is_alone().await;
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
    assert_eq!(client.block_on(connected(&transport, &server)), Connected::Fresh);
    close.notify_one();
    hears.recv().unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(client.block_on(connected(&transport, &server)), Connected::Fresh);
    done.notify_one();
    serving.join().unwrap();
}
